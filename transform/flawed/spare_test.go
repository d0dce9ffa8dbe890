// SPDX-License-Identifier: Apache-2.0

package flawed

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform"
)

// TestSpareFacts: a fact that gives no plot hole leaves its place to the next
// by the seeded hash, up to spare_facts of them.
func TestSpareFacts(t *testing.T) {
	stories := embedded(t)
	cfg := Config{Seed: 1, Survey: surveyOf(stories)}
	cfg.Make.FactsPerSource = 1
	var s schemas.Story
	var items []schemas.Draft // all facts of a story that give an item
	for _, s = range stories {
		c := cfg
		c.Make.FactsPerSource = 9
		if items = run(t, c, good{}.model(), s).Outs; len(items) >= 3 {
			break
		}
	}
	if len(items) < 3 {
		t.Fatal("no embedded tale gives three items")
	}
	slices.SortFunc(items, func(a, b schemas.Draft) int {
		rank := func(d schemas.Draft) float64 {
			return hash01(cfg.Seed, "choose", d.GroupID, d.Fact.Statement, d.Fact.Counterfactual)
		}
		if rank(a) < rank(b) {
			return -1
		}
		return 1
	})
	refuse := func(n int) func(llm.Request, string) llm.Answer {
		return func(req llm.Request, text string) llm.Answer {
			if req.Stage == "flawed/rewrite" {
				for _, d := range items[:n] {
					if strings.Contains(req.Messages[1].Content, "held instead: "+d.Fact.Counterfactual) {
						return says("I would rather not.")
					}
				}
			}
			return says(text)
		}
	}
	for _, c := range []struct{ spare, refused, want int }{{0, 0, 0}, {0, 1, -1}, {1, 0, 0}, {1, 1, 1}, {2, 2, 2}, {1, 2, -1}} {
		cfg.Make.SpareFacts = c.spare
		o := run(t, cfg, good{spoil: refuse(c.refused)}.model(), s)
		switch {
		case c.want < 0 && len(o.Outs) > 0:
			t.Errorf("%+v: %s", c, o.Outs[0].MatchID)
		case c.want >= 0 && (len(o.Outs) != 1 || o.Outs[0].MatchID != items[c.want].MatchID):
			t.Errorf("%+v: %d items: %v", c, len(o.Outs), o.Dropped)
		}
		n := 0
		for _, d := range o.Dropped {
			if d.Reason == "not_chosen" {
				n++
			}
		}
		var facts int
		for _, tl := range o.Tallies[:5] {
			facts = tl.Out
		}
		if n == 0 && facts < 3 || facts > 1+c.spare {
			t.Errorf("%+v: %d facts went on, %d are recorded as not chosen", c, facts, n)
		}
	}
}

// TestVariantsKeepTheirVotes: what was said of a negative stays with it, and
// why one was refused says how many said what.
func TestVariantsKeepTheirVotes(t *testing.T) {
	stories := embedded(t)
	cfg := Config{Seed: 1, Survey: surveyOf(stories)}
	controls := 0
	for i, s := range stories {
		if i >= 8 && controls > 0 {
			break // enough
		}
		for _, d := range run(t, cfg, good{spoil: sampleOf("coherence", 0, func(string) llm.Answer { return says("Hm.") })}.model(), s).Outs {
			for _, v := range []*schemas.Variant{d.Counterfactual, d.Resolved, d.EditControl} {
				if v == nil {
					continue
				}
				want := schemas.JudgeVotes{Asked: 5, No: 4, Bad: 1}
				if v == d.Resolved {
					want = schemas.JudgeVotes{Asked: 5, No: 5}
				}
				if v.Judge == nil || *v.Judge != want {
					t.Errorf("%s %s: votes %+v, want %+v", d.MatchID, v.Name, v.Judge, want)
				}
			}
			if c := d.EditControl; c != nil {
				controls++
				if c.Detail == nil || c.Detail.Statement == d.Fact.Statement || c.Detail.Class == "" {
					t.Errorf("%s: control of %+v changes %+v", d.MatchID, d.Fact, c.Detail)
				}
			}
		}
	}
	if controls == 0 {
		t.Error("no control among the tales")
	}
	s, _ := fullItem(t, cfg, stories)
	o := run(t, cfg, good{spoil: func(req llm.Request, text string) llm.Answer {
		if req.Stage == "flawed/coherence" && req.Sample < 2 {
			return says(verdictText(true, marked(req.Messages[1].Content), []string{firstOf(req.Messages[1].Content)}))
		}
		return says(text)
	}}.model(), s)
	if i := slices.IndexFunc(o.Dropped, func(d schemas.Dropped) bool { return d.Reason == "cf_incoherent" }); i < 0 || !strings.HasPrefix(o.Dropped[i].Detail, "3 of 5 say") {
		t.Errorf("%+v", o.Dropped)
	}
}

// TestResolveStaysBeforeEveryChange: the limit of the context is the first
// changed sentence, gold or not, and the prompt marks all of them.
func TestResolveStaysBeforeEveryChange(t *testing.T) {
	const story = "The bell was brass. It hung in the tower. The boy rang the brass bell. He slept. He woke up late. The brass bell rang again. All was well."
	d := schemas.Draft{Original: plainVariant(schemas.VariantOriginal, story), Fact: &schemas.Fact{}, Acts: &schemas.Acts{Act2: 42, Act3: 100}}
	edit := func(old string, n int) replace {
		at := strings.Index(story, old)
		for range n {
			at += len(old) + strings.Index(story[at+len(old):], old)
		}
		e := replace{New: "wooden"}
		e.Start, e.End = at, at+len(old)
		return e
	}
	v, err := newVariant(schemas.VariantPatched, story, []replace{edit("brass", 1), edit("brass", 2)}, 0)
	if err != nil {
		t.Fatal(err)
	}
	d.Patched = &v
	d.Contradicted = []schemas.GoldSentence{{Sentence: 0}, {Sentence: 3}} // the second stands behind a changed one
	d.Errors = []schemas.GoldSentence{{Sentence: 5}}                      // sentence 2 is changed, and no vote cites it
	m := &maker{cfg: cfgOfTest()}
	for after, want := range map[string]string{"The bell was brass.": "", "“It hung in the tower.” (there is room)": "", "The boy rang the wooden bell.": "bridge_place", "He slept.": "bridge_place", "He woke up late.": "bridge_place"} {
		got, err := m.bridge(&d, bridging{after: after, words: "It was melted down, and a wooden one was hung."}, false)
		var drop *transform.DropError
		if errors.As(err, &drop) {
			if drop.Reason != want {
				t.Errorf("%s: %q, want %q", after, drop.Reason, want)
			}
		} else if err != nil || want != "" {
			t.Errorf("%s: %v, want %q", after, err, want)
		}
		if want == "" && got == nil {
			t.Errorf("%s: nothing", after)
		}
	}
}

func cfgOfTest() Config { return Config{}.complete() }
