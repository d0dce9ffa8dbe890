// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retcon-bench/retcon/schemas"
)

func sequence(stories []schemas.Story) iter.Seq2[schemas.Story, error] {
	return func(yield func(schemas.Story, error) bool) {
		for _, s := range stories {
			if !yield(s, nil) {
				return
			}
		}
	}
}

func against(t *testing.T, set Settings, name string, stories ...schemas.Story) *Against {
	t.Helper()
	a, err := ReadAgainst(context.Background(), name, "5ha", sequence(stories), fetcher(stories), set)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAgainst(t *testing.T) {
	p := newProse(20)
	tale, other, fresh, short := p.text(700), p.text(900), p.text(800), "The cat slept"
	part := other[:len(other)/4]
	row := func(id, group, text string) schemas.Story { // a released row
		s := story(id, text)
		s.GroupID = group
		return s
	}
	past := []schemas.Story{
		row("rc-1", "g:tale", p.edited(tale, 0.02)), row("rc-2", "g:tale", p.edited(tale, 0.06)), // variants of one source
		row("rc-3", "g:part", part), row("rc-4", "g:short", short), row("rc-5", "g:renewed", p.text(300)),
	}
	ours := []schemas.Story{
		story("a:tale", tale), story("a:copy", tale), story("a:other", other), story("a:short", "the cat slept."),
		story("a:fresh", fresh), story("a:fresh2", p.edited(fresh, 0.02)), story("g:renewed", p.text(300)),
	}
	for _, memory := range []int64{0, 1} {
		for _, mark := range []bool{false, true} {
			t.Run(fmt.Sprintf("mark=%v memory=%d", mark, memory), func(t *testing.T) {
				set := defaults()
				set.Mark, set.Memory = mark, memory
				set.Compare = []*Against{against(t, set, "empty"), against(t, set, "v1", past...)}
				d, err := choose(set, ours...)
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, s := range ours {
					kept, drop := d.Apply(s)
					line := s.StoryID + " stays"
					if drop != nil {
						line = s.StoryID + " " + drop.Reason + " " + drop.Evidence[0].Value
					}
					for _, seen := range kept.Seen {
						line += fmt.Sprintf(" [%s %s %s]", seen.Where, seen.ID, seen.Kind)
					}
					got = append(got, line)
				}
				removed := []string{
					"a:tale seen_before rc-1", "a:copy seen_before rc-1", "a:other seen_before rc-3", "a:short seen_before rc-4",
					"a:fresh stays", "a:fresh2 near a:fresh", "g:renewed seen_before g:renewed",
				}
				marked := []string{
					"a:tale exact a:copy", "a:copy stays [v1 rc-1 near] [v1 rc-2 near]", "a:other stays [v1 rc-3 excerpt]", "a:short stays [v1 rc-4 exact]",
					"a:fresh stays", "a:fresh2 near a:fresh", "g:renewed stays [v1 g:renewed source]",
				}
				want := removed
				proof := schemas.Overlap{Against: "v1", SHA256: "5ha", Proof: schemas.ProofSource, Compared: 7, Removed: 5, Holds: true}
				if mark {
					want = marked
					proof = schemas.Overlap{Against: "v1", SHA256: "5ha", Proof: schemas.ProofSource, Compared: 7, SharedSource: 1, NearText: 3}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				clean := schemas.Overlap{Against: "empty", SHA256: "5ha", Proof: schemas.ProofSource, Compared: 7, Holds: true}
				if diff := cmp.Diff([]schemas.Overlap{clean, proof}, d.Overlap); diff != "" {
					t.Errorf("proof (-want +got):\n%s", diff)
				}
				for _, dup := range d.Duplicates {
					if (dup.Against != "") != (dup.StoryID != "a:fresh2" && !(mark && dup.StoryID == "a:tale")) {
						t.Errorf("against is %q of %+v", dup.Against, dup)
					}
				}
			})
		}
	}
}

func TestAgainstFails(t *testing.T) {
	broken := errors.New("torn page")
	_, err := ReadAgainst(context.Background(), "v1", "", func(yield func(schemas.Story, error) bool) { yield(schemas.Story{}, broken) }, nil, defaults())
	if !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

// Two hundred stories, of which every fifth is a re-edition of one in a corpus
// of five hundred that is itself full of copies.
func TestAgainstFindsAll(t *testing.T) {
	p := newProse(21)
	var theirs, ours []schemas.Story
	for i := range 500 {
		text := p.text(300)
		if i%7 == 3 {
			text = theirs[i-1].Text
		}
		theirs = append(theirs, story(fmt.Sprintf("t:%d", i), text))
	}
	for i := range 200 {
		text := p.text(300)
		if i%5 == 0 {
			text = p.edited(theirs[i].Text, 0.05)
		}
		ours = append(ours, story(fmt.Sprintf("a:%d", i), text))
	}
	set := defaults()
	set.Compare = []*Against{against(t, set, "t", theirs...)}
	d, err := choose(set, ours...)
	if err != nil {
		t.Fatal(err)
	}
	if d.Overlap[0].Removed != 40 || len(d.kept) != 160 {
		t.Errorf("%+v, %d kept", d.Overlap[0], len(d.kept))
	}
}

// TestAgreesWithMinhashLSH: on the same stories the bands find at least what
// github.com/ekzhu/minhash-lsh finds.
func TestAgreesWithMinhashLSH(t *testing.T) {
	p := newProse(22)
	var stories []schemas.Story
	for i := range 150 {
		tale := p.text(60 + p.r.IntN(900))
		stories = append(stories, story(fmt.Sprintf("a:%d", i), tale), story(fmt.Sprintf("b:%d", i), p.edited(tale, p.r.Float64()*0.2)))
	}
	set := defaults()
	set.Excerpts = false
	ours := map[string]bool{}
	for _, l := range mustChoose(t, set, stories...) {
		ours[l] = true
	}
	set.Index = IndexMinhashLSH
	theirs := mustChoose(t, set, stories...)
	for _, l := range theirs {
		if !ours[l] {
			t.Errorf("only minhash-lsh found %s", l)
		}
	}
	if len(theirs) < 100 {
		t.Errorf("minhash-lsh found %d of 150: too few to compare with", len(theirs))
	}
	t.Logf("bands %d, minhash-lsh %d of 150", len(ours), len(theirs))
	set.Memory = 1 << 20
	if _, err := choose(set, stories...); err == nil {
		t.Error("minhash-lsh under a memory limit: no error")
	}
}
