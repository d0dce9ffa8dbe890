// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/retcon-bench/retcon/schemas"
)

func story(id, text string) schemas.Story {
	return schemas.Story{StoryID: id, GroupID: id, TextHash: schemas.HashText(text), Kind: schemas.KindStory, Text: text, Source: schemas.Source{Corpus: strings.SplitN(id, ":", 2)[0]}}
}

func defaults() Settings { return Settings{DedupRecipe: schemas.DefaultRecipe().Dedup} }

// dedupe takes stories through the three calls.
func dedupe(t testing.TB, set Settings, stories ...schemas.Story) (*Decisions, error) {
	t.Helper()
	by := map[string]schemas.Story{}
	var sigs []Signature
	for _, s := range stories {
		by[s.StoryID] = s
		sigs = append(sigs, Sign(s, set))
	}
	fetch := func(id string) (schemas.Story, error) {
		s, ok := by[id]
		if !ok {
			return s, errors.New("no such story")
		}
		return s, nil
	}
	return Choose(context.Background(), sigs, fetch, set)
}

func TestShortTextsAreComparedWhole(t *testing.T) { // C50
	d, err := dedupe(t, defaults(), story("a:1", "The cat slept"), story("a:2", "A dog ran"), story("a:3", "the cat  slept!"))
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Duplicates) != 1 || d.Duplicates[0].StoryID != "a:3" || d.Duplicates[0].KeptID != "a:1" || d.Duplicates[0].Kind != KindExact {
		t.Errorf("duplicates: %+v", d.Duplicates)
	}
}

func TestFold(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"The King's  well-known _Lamp_.", "the kings well known lamp "},
		{"Esmé’s cœur, ÆSOP", "esmes coeur aesop "},
		{"猫が 3匹", "猫 が 3 匹 "},
		{"½ a loaf", "1 2 a loaf "},
		{"e\u0301te\u0301", "ete "},
		{"", ""},
		{"* * *", ""},
	} {
		var f folded
		f.fold(c.in)
		if got := string(f.bytes()); got != c.want {
			t.Errorf("fold(%q) = %q, want %q", c.in, got, c.want)
		}
		if n := strings.Count(c.want, " "); n != len(f.hashes) {
			t.Errorf("fold(%q): %d hashes for %d words", c.in, len(f.hashes), n)
		}
	}
}

func TestNearAndExcerpt(t *testing.T) {
	words := func(seed, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "w%d ", (seed*7919+i*i*31+i*seed)%5003)
		}
		return b.String()
	}
	a := words(1, 2000)
	f := strings.Fields(a)
	d, err := dedupe(t, defaults(), story("a:whole", a), story("a:near", strings.Replace(a, f[700], "x", 1)),
		story("a:excerpt", strings.Join(f[900:1100], " ")), story("a:other", words(2, 2000)))
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintln(d.Duplicates)
	if len(d.Duplicates) != 2 || d.Duplicates[0].Kind != KindExcerpt || d.Duplicates[1].Kind != KindNear {
		t.Error(got)
	}
}
