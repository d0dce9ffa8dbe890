// SPDX-License-Identifier: Apache-2.0

package flawed

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/retcon-bench/retcon/ingest"
	"github.com/retcon-bench/retcon/ingest/fairytaleqa"
	"github.com/retcon-bench/retcon/ingest/gutenberg"
	"github.com/retcon-bench/retcon/internal/llm/rules"
	"github.com/retcon-bench/retcon/internal/sharedtest"
	"github.com/retcon-bench/retcon/schemas"
)

// undoes checks that each variant is its source with edits: undoing them gives
// the source back, byte for byte, act 1 of the plot hole is untouched, and the
// counterfactual story goes on as the plot hole does.
func undoes(t testing.TB, s schemas.Story, d schemas.Draft) {
	t.Helper()
	fail := func(format string, args ...any) { t.Helper(); t.Errorf(d.MatchID+": "+format, args...) }
	act2 := string([]rune(s.Text)[:d.Acts.Act2])
	if !strings.HasPrefix(d.Patched.Text, act2) {
		fail("act 1 was touched")
	}
	for _, v := range []*schemas.Variant{d.Patched, d.Counterfactual, d.Resolved, d.EditControl} {
		if v == nil {
			continue
		}
		if v.TextHash != schemas.HashText(v.Text) || len(v.Edits) == 0 {
			fail("%s: hash or edits", v.Name)
		}
		if back, err := Undo(*v); err != nil || back != s.Text {
			fail("%s: undoing the edits does not give the source: %v", v.Name, err)
		}
		for _, e := range v.Edits {
			if err := e.Check(v.Text); err != nil {
				fail("%s: %v", v.Name, err)
			}
			if old, err := (schemas.Bounds{Start: e.SourceStart, End: e.SourceStart + len([]rune(e.Old))}).Slice(s.Text); err != nil || old != e.Old {
				fail("%s: the source has %q where the edit says %q stood: %v", v.Name, old, e.Old, err)
			}
		}
	}
	if c := d.Counterfactual; c != nil {
		// A1' A2' A3': behind act 1 it is the plot hole, letter for letter.
		if !strings.HasSuffix(c.Text, strings.TrimPrefix(d.Patched.Text, act2)) {
			fail("acts 2 and 3 of the counterfactual story are not the plot hole's")
		}
	}
}

// sound checks what must hold of every item, whoever answered.
func sound(t *testing.T, s schemas.Story, d schemas.Draft) {
	t.Helper()
	fail := func(format string, args ...any) { t.Helper(); t.Errorf(d.MatchID+": "+format, args...) }
	if d.Original.Text != s.Text || d.MatchID != schemas.MatchID(d.GroupID, d.Fact.Statement, d.Fact.Counterfactual) || d.DraftID != d.MatchID {
		fail("original or ids changed")
	}
	undoes(t, s, d)
	if r := d.Resolved; r != nil && len(r.Edits) != len(d.Patched.Edits)+1 {
		fail("the resolved story has %d edits, the plot hole %d", len(r.Edits), len(d.Patched.Edits))
	}
	if len(d.Errors) == 0 || len(d.Contradicted) == 0 || len(changed(d.Patched)) > most {
		fail("gold: %d errors, %d contradicted, %d changed sentences", len(d.Errors), len(d.Contradicted), len(changed(d.Patched)))
		return
	}
	sents := sentencesOf(d.Patched)
	for _, g := range d.Errors {
		if g.Sentence <= d.Contradicted[len(d.Contradicted)-1].Sentence || !holds(sents[g.Sentence], d.Fact.New) || holds(sents[g.Sentence], d.Fact.Old) {
			fail("error sentence %d: %q", g.Sentence, sents[g.Sentence])
		}
	}
	for _, g := range d.Contradicted {
		if !holds(sents[g.Sentence], d.Fact.Old) || holds(sents[g.Sentence], d.Fact.New) {
			fail("contradicted sentence %d: %q", g.Sentence, sents[g.Sentence])
		}
	}
	if d.Explanation == "" || d.Difficulty == nil || d.Difficulty.Words <= 0 && d.Difficulty.Sentences < 1 || d.Flaw.Sites < 1 || d.Flaw.Kind == "" {
		fail("explanation %q, difficulty %+v, flaw %+v", d.Explanation, d.Difficulty, d.Flaw)
	}
	if _, _, ok := schemas.FindSubtype(d.Flaw.Subtype); !ok {
		fail("subtype %q", d.Flaw.Subtype)
	}
}

const most = 5 // sentences behind act 1, for the offline engine

// classes are those of the offline engine, with whether an embedded tale must
// show it.
var classes = map[string]bool{
	"colour": true, "material": true, "hair_eyes": true, "direction": true, "kin_count": true, "count": true, "duration": true,
	"season": true, "time_of_day": true, "species": true, "role": true, "object": true,
	"name": false, "place": false, "quality": false,
}

func TestRulesOnTales(t *testing.T) {
	stories := embedded(t)
	cfg := Config{Seed: 1, Survey: surveyOf(stories)}
	seen := map[string]int{}
	n := map[string]int{}
	for _, s := range stories {
		for _, d := range run(t, cfg, rules.New(), s).Outs {
			sound(t, s, d)
			seen[d.Fact.Class]++
			n["items"]++
			for _, v := range []*schemas.Variant{d.Counterfactual, d.Resolved, d.EditControl} {
				if v != nil {
					n[v.Name]++
				}
			}
		}
	}
	for c := range seen {
		if _, ok := classes[c]; !ok {
			t.Errorf("class %q is in no list", c)
		}
	}
	for c, must := range classes {
		if must && seen[c] == 0 {
			t.Errorf("no embedded tale shows the class %s", c)
		}
	}
	if n["items"] < 40 || n[schemas.VariantCounterfactual] < 35 || n[schemas.VariantResolved] < 15 || n[schemas.VariantEditControl] < 10 {
		t.Errorf("%v", n)
	}
	t.Logf("%v; classes %v", n, seen)
}

// TestRulesOnCorpora: figures on the real corpora, which are not part of the
// repository. Titles stand in for dedup.
func TestRulesOnCorpora(t *testing.T) {
	corpora := sharedtest.Path(t, "corpora")
	var stories []schemas.Story
	for _, c := range []ingest.Corpus{gutenberg.Corpus, fairytaleqa.Corpus} {
		for item, err := range c.Open(context.Background(), filepath.Join(corpora, c.Name), c.Defaults) {
			if err != nil {
				t.Fatal(err)
			}
			b, err := item.Load(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range b.Stories {
				if s.GroupID == "" {
					s.GroupID = s.StoryID
				}
				stories = append(stories, s)
			}
		}
	}
	cfg := Config{Seed: 1, Survey: surveyOf(stories)}
	titles, sources, class := map[string]bool{}, map[string]bool{}, map[string]int{}
	items, resolved := 0, 0
	for _, s := range stories {
		if key := schemas.Slug(s.Title); titles[key] {
			continue
		} else {
			titles[key] = true
		}
		for _, d := range run(t, cfg, rules.New(), s).Outs {
			sound(t, s, d)
			if d.SourceWords >= 4000 {
				continue // lands in no config
			}
			items++
			class[d.Fact.Class]++
			sources[d.GroupID] = true
			if d.Resolved != nil {
				resolved++
			}
		}
	}
	t.Logf("%d items from %d of %d sources, %d resolved: %v", items, len(sources), len(titles), resolved, class)
	if items < 80 || len(sources) < 60 || resolved < 20 {
		t.Errorf("%d items from %d sources, %d of them resolved; want 80 from 60, and 20", items, len(sources), resolved)
	}
	for c, n := range class {
		if 2*n > items {
			t.Errorf("class %s has %d of %d items", c, n, items)
		}
	}
}
