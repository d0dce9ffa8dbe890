// SPDX-License-Identifier: Apache-2.0

package text

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/retcon-bench/retcon/internal/sharedtest"
)

func TestWords(t *testing.T) {
	for _, c := range []struct {
		in       string
		split    int
		cjkAware int
	}{
		{"", 0, 0},
		{" \n ", 0, 0},
		{"The  lamp\n\nwent out", 4, 4},
		{"well-known mother-in-law", 2, 2},
		{"day — night", 3, 3},
		{"day—night", 1, 1},
		{"a\u00a0b\u3000c\u2003d\u0085e", 5, 5},
		{"a\u200bb \ufeffc", 2, 2},
		{"a\x1cb\x1fc", 3, 3},
		{"她点亮了灯。", 1, 6},
		{"カメラは3台。", 1, 7}, // four kana, the digit, an ideograph, the stop
		{"第3章 The lamp", 3, 5},
		{"등불을 켰다", 2, 2},
	} {
		if got := Words(c.in); got != c.split {
			t.Errorf("Words(%q) = %d, want %d", c.in, got, c.split)
		}
		if got := WordsCJK(c.in); got != c.cjkAware {
			t.Errorf("WordsCJK(%q) = %d, want %d", c.in, got, c.cjkAware)
		}
	}
}

// TestWordsOracle compares with counts by the reference code.
func TestWordsOracle(t *testing.T) {
	data, err := os.ReadFile(sharedtest.Path(t, "oracles/constory/word_count_cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Text  string
		Split int `json:"official_split_words"`
		CJK   int `json:"cjk_aware_words"`
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range cases {
		if got := Words(c.Text); got != c.Split {
			t.Errorf("Words(%q) = %d, want %d", c.Text, got, c.Split)
		}
		if got := WordsCJK(c.Text); got != c.CJK {
			t.Errorf("WordsCJK(%q) = %d, want %d", c.Text, got, c.CJK)
		}
	}
}

func TestWordRanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := fiction.Draw(t, "text")
		var got []string
		for r := range WordRanges(s) {
			got = append(got, r.Of(s))
		}
		if diff := cmp.Diff(strings.FieldsFunc(s, isSpace), got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("words of %q:\n%s", s, diff)
		}
	})
	for r := range WordRanges("one two") {
		if r != (Range{0, 3}) {
			t.Errorf("first word is %v", r)
		}
		break // the iterator stops when asked to
	}
}

// Eight bytes at once must count as one character at a time does.
func TestWordsProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOfN(rapid.OneOf(
			rapid.RuneFrom([]rune(" \t\n\r\v\f\x00\x08\x0e\x1b\x1c\x1f!~\x7f")),
			rapid.RuneFrom([]rune("a\u0085\u00a0é\u2003—あ"))), 0, 40).Draw(t, "s"))
		want, in := 0, false
		for _, r := range s {
			if space := isSpace(r); space {
				in = false
			} else if !in {
				in = true
				want++
			}
		}
		if got := Words(s); got != want {
			t.Fatalf("Words(%q) = %d, want %d", s, got, want)
		}
		n := 0
		for r := range WordRanges(s) {
			if w := r.Of(s); w == "" || strings.IndexFunc(w, isSpace) >= 0 {
				t.Fatalf("WordRanges(%q) gives %q", s, w)
			}
			n++
		}
		if n != want {
			t.Fatalf("WordRanges(%q) gives %d words, want %d", s, n, want)
		}
	})
}
