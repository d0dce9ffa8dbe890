// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

var sentencePool = []string{"He slept.", "Rain fell on Kell.", "She had five lamps.", "“Who lit it?” she asked.", "灯塔的光照着海面。", "Zoë’s 👒 hat fell.",
	"The *Whisper* lay still.", "He slept again, and nobody came.", "It wasn't 1983.", "\n\n", "Mara left — for good."}

// Whatever two quotes a judge gives, in whatever order: the earlier passage is
// the fact, spans hold in the story, and the order in which the judge named the
// two changes nothing.
func TestFindingIsOrdered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom(sentencePool), 2, 12).Draw(t, "story")
		s := text.Trim(text.Freeze(strings.Join(parts, " ")))
		quote := func(name string) []string {
			i := rapid.IntRange(0, len(parts)-1).Draw(t, name)
			q := parts[i]
			switch rapid.IntRange(0, 4).Draw(t, name+" how") {
			case 1:
				q = strings.ToLower(q)
			case 2:
				q = strings.Trim(q, ".”“ ")
			case 3:
				return nil
			case 4:
				q += " And this was never said by anybody."
			}
			return []string{q}
		}
		a, b := quote("a"), quote("b")
		if a == nil {
			a = []string{"He slept."}
		}
		loc := newLocator(s)
		f := loc.Finding("factual_detail", "quantitative_mismatches", Item{Fact: a, Contra: b}, -1)
		for _, e := range []schemas.Evidence{f.Fact, f.Contra} {
			for _, sp := range e.Spans {
				if err := sp.Check(s); err != nil {
					t.Fatal(err)
				}
			}
		}
		if len(f.Fact.Spans) > 0 && len(f.Contra.Spans) > 0 {
			x, y := f.Fact.Spans[0], f.Contra.Spans[0]
			if y.Start < x.Start || x == y {
				t.Fatalf("fact at %d, contradiction at %d", x.Start, y.Start)
			}
		}
		if f.Status == Anchored && (len(f.Fact.Spans) == 0 || f.Contra.Quote != "" && len(f.Contra.Spans) == 0) {
			t.Fatalf("anchored without evidence: %+v", f)
		}
		if b == nil || f.Status != Anchored {
			return
		}
		g := loc.Finding("factual_detail", "quantitative_mismatches", Item{Fact: b, Contra: a}, -1)
		if g.Status != Anchored || !SamePair(f, g) {
			t.Fatalf("the other way round it is another pair:\n%+v\n%+v", f, g)
		}
	})
}

// Merging is blind to doubles: a run merged with itself is the same findings,
// each with the support of both, and every finding of a run is in the result.
func TestMergeKeepsAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var run []schemas.Finding
		for range rapid.IntRange(0, 8).Draw(t, "n") {
			span := func(name string) schemas.Evidence {
				at := rapid.IntRange(0, 60).Draw(t, name)
				return schemas.Evidence{Quote: name, Class: "exact", Spans: []schemas.Span{{Offsets: schemas.Offsets{Start: at, End: at + rapid.IntRange(1, 12).Draw(t, name+" length")}}}}
			}
			sub := rapid.SampledFrom(schemas.Categories[3].Subtypes).Draw(t, "subtype").Name
			run = append(run, schemas.Finding{Category: "factual_detail", Subtype: sub, Status: Anchored, Fact: span("a"), Contra: span("b")})
		}
		run = once(run)
		merged := Merge([][]schemas.Finding{run, run}, func(int, string) bool { return true })
		if len(merged) != len(run) && len(once(run)) == len(run) {
			t.Fatalf("%d findings of %d", len(merged), len(run))
		}
		for _, f := range merged {
			if f.Support != 2 || f.Asked != 2 {
				t.Fatalf("support %d of %d", f.Support, f.Asked)
			}
		}
	})
}

func FuzzReadItem(f *testing.F) {
	for _, s := range []string{
		`{"fact_quote": "a", "contradiction_pair": "b"}`, `{"exact_quote": ["a", {"text": "b"}], "contradiction_pair": null}`, `{"quote": {"quote": {"quote": "x"}}}`,
		`{"exact_quote": 3, "location": ["p1", 2]}`, `[]`, `{"": ""}`, "{\"fact_quote\": \"\\ud800\"}",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		it, err := ReadItem(json.RawMessage(s))
		if err != nil {
			return
		}
		if len(it.Fact) == 0 {
			t.Fatal("an item without a quote was accepted")
		}
		again, err := ReadItem(json.RawMessage(encode(map[string]any{"fact_quote": it.Fact, "contradiction_pair": it.Contra})))
		if err != nil || !cmp.Equal(it.Fact, again.Fact) || !cmp.Equal(it.Contra, again.Contra) {
			t.Errorf("read again it is another: %+v, %+v, %v", it, again, err)
		}
	})
}

// FuzzAnswer takes any text as a judge's answer through the reference protocol:
// it is either findings, or a status that says that there are none to read.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{lists("factual_detail", nil), `{"appearance_mismatches": "none"}`, "```json\n{}\n```", `{"appearance_mismatches": [{"fact_quote": "He was right."}]}`, "No."} {
		f.Add(s)
	}
	cat := schemas.Categories[3]
	f.Fuzz(func(t *testing.T, s string) {
		r, _, _ := llm.Classify(llm.Model{}, llm.Request{}, llm.Answer{Text: s, FinishReason: "stop"})
		if r == nil {
			return
		}
		found, err := items(r, cat)
		if err != nil {
			return
		}
		loc := newLocator(story)
		for _, it := range found {
			fd := loc.Finding(cat.Name, it.Subtype, it, -1)
			if _, ok := subtypeOf(cat, fd.Subtype); !ok {
				t.Errorf("subtype %q", fd.Subtype)
			}
			for _, e := range []schemas.Evidence{fd.Fact, fd.Contra} {
				for _, sp := range e.Spans {
					if err := sp.Check(story); err != nil {
						t.Error(err)
					}
				}
			}
		}
	})
}
