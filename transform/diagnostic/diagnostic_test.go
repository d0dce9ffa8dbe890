// SPDX-License-Identifier: Apache-2.0

package diagnostic

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/retcon-bench/retcon/ingest/tales"
	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/llm/llmtest"
	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform"
	"github.com/retcon-bench/retcon/transform/flawed"
)

func embedded(t *testing.T) []schemas.Story {
	t.Helper()
	var out []schemas.Story
	for it, err := range tales.Corpus.Open(context.Background(), "", nil) {
		if err != nil {
			t.Fatal(err)
		}
		b, err := it.Load(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range b.Stories {
			if s.GroupID = s.StoryID; s.Kind == schemas.KindStory {
				out = append(out, s)
			}
		}
	}
	if len(out) < 10 {
		t.Fatalf("%d embedded tales", len(out))
	}
	return out
}

// Whatever the rules put into the embedded tales: spans hold, the fact stands
// before the contradiction, no sentence belongs to two injections, and any of
// them can be taken out alone; all of them taken out give the tale back.
func TestRulesOnTheEmbeddedTales(t *testing.T) {
	stories := embedded(t)
	survey := flawed.NewSurvey()
	for _, s := range stories {
		survey.Add(s)
	}
	found := map[string]int{}
	for seed := range uint64(2) {
		in := New(Config{Seed: seed, Survey: survey})
		for _, s := range stories {
			pass := transform.NewPass(seed, "diagnostic", s.StoryID, nil, nil)
			d, err := in.Inject(context.Background(), pass, s)
			if err != nil {
				t.Fatal(err)
			}
			again, err := in.Inject(context.Background(), pass, s)
			if diff := cmp.Diff(d, again); err != nil || diff != "" {
				t.Fatalf("%s: another run gives another text: %v %s", s.StoryID, err, diff)
			}
			owner := map[int]string{}
			for _, x := range d.Injections {
				found[x.Category]++
				for _, sp := range slices.Concat([]schemas.Span{x.Fact, x.Contra}, x.Facts, x.Contras) {
					if by, taken := owner[sp.Sentence]; taken && by != x.ID {
						t.Errorf("%s: sentence %d belongs to %s and %s", s.StoryID, sp.Sentence, by, x.ID)
					}
					owner[sp.Sentence] = x.ID
				}
				rest, err := d.Undo(func(o schemas.Injection) bool { return o.ID == x.ID })
				if err != nil {
					t.Fatal(err)
				}
				var others []string
				for _, o := range d.Injections {
					if o.ID != x.ID {
						others = append(others, o.Category)
					}
				}
				w, err := in.With(context.Background(), pass, s, others)
				if err != nil || w.Story != rest {
					t.Errorf("%s: without %s the story should be what undoing it leaves: %v", s.StoryID, x.ID, err)
				}
			}
			src, err := d.Undo(nil)
			if err != nil || src != s.Text {
				t.Errorf("%s: undoing everything does not give the tale back: %v", s.StoryID, err)
			}
		}
	}
	for _, c := range schemas.Categories {
		if found[c.Name] == 0 {
			t.Errorf("nothing of %s in two draws over %d tales", c.Name, len(stories))
		}
	}
}

// Each sentence of the table is one sentence, and the pair's own matter is
// among the words that must not stand in the story.
func TestPairTable(t *testing.T) {
	subtypes := map[string]bool{}
	for _, p := range pairTable() {
		subtypes[p.subtype] = true
		for _, s := range []string{p.first, p.second} {
			s = strings.ReplaceAll(s, "{X}", "Anna")
			if s != "-" && len(text.Sentences(s)) != 1 {
				t.Errorf("%s: %q is not one sentence", p.class, s)
			}
		}
		if p.first == "-" {
			continue
		}
		shared := false
		for _, w := range wordsOf(p.first) {
			shared = shared || slices.Contains(p.forbids, w)
		}
		if !shared || p.first == p.second || strings.Contains(p.first, "{X}") != strings.Contains(p.second, "{X}") {
			t.Errorf("%s: %q and %q", p.class, p.first, p.second)
		}
	}
	if len(subtypes) < 10 {
		t.Errorf("the table has %d subtypes", len(subtypes))
	}
	for _, c := range schemas.Categories {
		for _, s := range c.Subtypes {
			if definitions()[s.Name] == "" {
				t.Errorf("%s has no definition", s.Name)
			}
		}
	}
}

func TestFirstPerson(t *testing.T) {
	for in, want := range map[string]string{
		"He took his hat and hurried home.":             "I took my hat and hurried home.",
		"He was glad, for he had found himself a room.": "I was glad, for I had found myself a room.",
		"He is glad of his hat today.":                  "", // the present tense has other forms
		"He saw that Peter was gone by then.":           "", // a name
		"He saw the king and gave him his hat.":         "", // another man
		"The hat was his and he took it.":               "",
		"He said the hat was his.":                      "",
		"He knows the way to his house.":                "",
	} {
		got := ""
		if changes, ok := toFirst(in, text.Range{End: len(in)}); ok {
			got = in
			for i := len(changes) - 1; i >= 0; i-- {
				c := changes[i]
				got = got[:c.Start] + c.New + got[c.End:]
			}
		}
		if got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

const lamp = "Mara had a red lamp. She lit it every night at the window. The sea was loud. In spring the red lamp fell from the sill. Tom swept the floor. Tom swept the floor."

func answer(fact, passage, replacement string) string {
	return "<fact>\n" + fact + "\n</fact>\n<passage>" + passage + "</passage>\n<replacement>" + replacement + "</replacement>\n<explanation>It was red.</explanation>"
}

func TestModelAnswers(t *testing.T) {
	s := schemas.Story{StoryID: "s", GroupID: "s", Kind: schemas.KindStory, Language: "en", Text: lamp, TextHash: schemas.HashText(lamp)}
	const fact, passage = "Mara had a red lamp.", "In spring the red lamp fell from the sill."
	for _, c := range []struct{ name, answer, reason, contra, edit string }{
		{"good", answer(fact, passage, "In spring the green lamp fell from the sill."), "", "In spring the green lamp fell from the sill.", "red>green"},
		{"other quotation marks and blanks", answer("“Mara had  a red lamp.”", passage, "In spring the green  lamp fell from the sill."), "", "", ""},
		{"words put in", answer(fact, passage, "In spring the red lamp, which had always been green, fell from the sill."), "", "In spring the red lamp, which had always been green, fell from the sill.", ">, which had always been green,"},
		{"words taken out", answer(fact, passage, "In spring the lamp fell from the sill."), "", "In spring the lamp fell from the sill.", " red > "},
		{"no change", answer(fact, passage, "In spring the red lamp fell from the sill!"), "noop_edit", "", ""},
		{"a fact that is not there", answer("Mara had a blue lamp that she loved.", passage, "In spring the green lamp fell from the sill."), "fact_not_found", "", ""},
		{"a changed number or word in the passage", answer(fact, "In autumn the red lamp fell down the stairs at once.", "In spring the green lamp fell."), "passage_not_found", "", ""},
		{"a passage that stands there twice", answer(fact, "Tom swept the floor.", "Tom never swept the floor."), "passage_ambiguous", "", ""},
		{"the fact behind the passage", answer("Tom swept the floor.", fact, "Mara had a green lamp."), "", "", ""},
		{"the wrong way round", answer(passage, fact, "Mara had a green lamp."), "wrong_order", "", ""},
		{"fact and change in one sentence", answer(passage, passage, "In spring the green lamp fell from the sill."), "wrong_order", "", ""},
		{"another story", answer(fact, passage, "Nobody knew where Anna went when summer came and everything was over and done."), "too_different", "", ""},
		{"it points at itself", answer(fact, passage, "In spring the green lamp (a contradiction!) fell from the sill."), "points_at_itself", "", ""},
		{"bold", answer(fact, passage, "In spring the **green** lamp fell from the sill."), "", "In spring the green lamp fell from the sill.", "red>green"},
		{"marks", answer(fact, passage, "In spring the [green] lamp fell from the sill."), "points_at_itself", "", ""},
		{"headings", "**Fact:** " + fact + "\n**Passage:** " + passage + "\n**Replacement:** In spring the green lamp fell from the sill.\n**Explanation:** Red, then green.", "", "In spring the green lamp fell from the sill.", "red>green"},
		{"headings, one missing", "**Fact:** " + fact + "\n**Replacement:** In spring the green lamp fell from the sill.", "parse_failed", "", ""},
		{"no place", "<none>Nothing is said of that.</none>", "no_place", "", ""},
		{"no place and no word why", "<none></none>", "no_place", "", ""},
		{"cut", "<fact>" + fact, "unclosed_tag", "", ""},
		{"refused", "I'm sorry, but I can't help with that.", "refusal", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			script := &llmtest.Script{Func: func(req llm.Request) (llm.Answer, error) {
				return llm.Answer{Text: c.answer, FinishReason: "stop"}, nil
			}}
			client, err := llm.New(llm.Options{Engine: script, Models: []llm.Model{{Name: "m"}}})
			if err != nil {
				t.Fatal(err)
			}
			in := New(Config{Seed: 1, Model: "m"})
			pass := transform.NewPass(1, "diagnostic", "s", client, nil)
			p, reason, detail, err := in.propose(context.Background(), pass, s, text.NewAnchorer(s.Text), "appearance_mismatches")
			if err != nil {
				t.Fatal(err)
			}
			if c.name == "the fact behind the passage" {
				if reason != "passage_ambiguous" && reason != "wrong_order" && reason != "fact_not_found" {
					t.Errorf("reason %q (%s)", reason, detail)
				}
				return
			}
			if reason != c.reason {
				t.Fatalf("reason %q (%s), want %q", reason, detail, c.reason)
			}
			if reason != "" {
				want := tries
				if reason == noPlace {
					want = 1 // an answer like another
				}
				if n := len(script.Asked()); n != want {
					t.Errorf("asked %d times", n)
				}
				return
			}
			d, why, err := in.build(s, []proposal{p})
			if err != nil || why != "" {
				t.Fatalf("%s, %v", why, err)
			}
			x := d.Injections[0]
			if x.Fact.Text != fact || x.Category != "factual_detail" || x.Checked != "nobody" || c.contra != "" && x.Contra.Text != c.contra {
				t.Errorf("injection %+v", x)
			}
			if e := x.Edits[0]; c.edit != "" && e.Old+">"+e.Text != c.edit {
				t.Errorf("edit %q>%q, want %s", e.Old, e.Text, c.edit)
			}
		})
	}
}

// The judge has the last word, and an unreadable judge is no yes.
func TestJudge(t *testing.T) {
	s := schemas.Story{StoryID: "s", GroupID: "s", Kind: schemas.KindStory, Language: "en", Text: lamp, TextHash: schemas.HashText(lamp)}
	for verdict, want := range map[string]string{"<answer>Yes.</answer>": "", "<answer>No</answer>": "judge_says_no", "<answer>Yes - the colour differs.</answer>": "", "<answer>**No**, it may be another lamp.</answer>": "judge_says_no", "<answer>Yes and no.</answer>": "judge_unreadable", "<answer>Yes or No</answer>": "judge_unreadable", "": "judge_unreadable"} {
		script := &llmtest.Script{Func: func(req llm.Request) (llm.Answer, error) {
			if req.Stage == JudgeStage {
				if req.Model != "j" || !strings.Contains(req.Messages[1].Content, "green lamp") {
					return llm.Answer{}, errors.New("the judge should be asked about the changed story")
				}
				return llm.Answer{Text: verdict, FinishReason: "stop"}, nil
			}
			return llm.Answer{Text: answer("Mara had a red lamp.", "In spring the red lamp fell from the sill.", "In spring the green lamp fell from the sill."), FinishReason: "stop"}, nil
		}}
		client, err := llm.New(llm.Options{Engine: script, Models: []llm.Model{{Name: "m"}, {Name: "j"}}})
		if err != nil {
			t.Fatal(err)
		}
		pass := transform.NewPass(1, "diagnostic", "s", client, nil)
		d, err := New(Config{Seed: 1, Model: "m", Judge: "j"}).Inject(context.Background(), pass, s)
		if err != nil {
			t.Fatal(err)
		}
		if want == "" {
			// Five categories answered with the same edit: one of them stays.
			if len(d.Injections) != 1 || d.Injections[0].Checked != "judge" || d.Engine != "model" {
				t.Errorf("%+v", d.Injections)
			}
			continue
		}
		if !d.Control || len(pass.Dropped()) != 5 || pass.Dropped()[0].Reason != want {
			t.Errorf("verdict %q: %d injections, dropped %+v", verdict, len(d.Injections), pass.Dropped())
		}
	}
}

// A subtype that the story gives no place for makes room for the next of its
// category; a category that has none of two is given up.
func TestNextSubtype(t *testing.T) {
	s := schemas.Story{StoryID: "s", GroupID: "s", Kind: schemas.KindStory, Language: "en", Text: lamp, TextHash: schemas.HashText(lamp)}
	for _, places := range []bool{true, false} {
		asked := map[string]int{}
		script := &llmtest.Script{Func: func(req llm.Request) (llm.Answer, error) {
			_, rest, _ := strings.Cut(req.Messages[1].Content, "of this kind into the story:\n\n")
			kind, _, _ := strings.Cut(rest, ":")
			if asked[kind]++; places && asked[kind] == 2 && strings.HasPrefix(kind, "Factual") {
				return llm.Answer{Text: answer("Mara had a red lamp.", "In spring the red lamp fell from the sill.", "In spring the green lamp fell from the sill."), FinishReason: "stop"}, nil
			}
			return llm.Answer{Text: "<none>Nothing is said of that.</none>", FinishReason: "stop"}, nil
		}}
		client, err := llm.New(llm.Options{Engine: script, Models: []llm.Model{{Name: "m"}}, Concurrency: 1})
		if err != nil {
			t.Fatal(err)
		}
		pass := transform.NewPass(1, "diagnostic", "s", client, nil)
		d, err := New(Config{Seed: 1, Model: "m"}).Inject(context.Background(), pass, s)
		if err != nil {
			t.Fatal(err)
		}
		injected, dropped := 0, 2*len(schemas.Categories)
		if places {
			injected, dropped = 1, dropped-1
		}
		if len(d.Injections) != injected || len(pass.Dropped()) != dropped || len(script.Asked()) != 2*len(schemas.Categories) {
			t.Errorf("places %t: %d injections, %d set aside, %d asked", places, len(d.Injections), len(pass.Dropped()), len(script.Asked()))
		}
	}
}

// Any edit a model makes of a passage undoes to the story.
func TestDifferenceUndoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.SampledFrom([]string{"red", "lamp", "Zoë’s", "👒", "fell", "the", "sea,", "—", "loud."}), 3, 12)
		old := strings.Join(words.Draw(t, "old"), " ")
		now := strings.Join(words.Draw(t, "new"), " ")
		story := "Before it. " + old + " After it."
		r := text.Range{Start: len("Before it. "), End: len("Before it. ") + len(old)}
		c, why := difference(story, r, now)
		if why != "" {
			t.Skip()
		}
		if c.Start < r.Start || c.End > r.End || c.New == "" {
			t.Fatalf("change %+v of %q outside %+v", c, story, r)
		}
		if got := story[:c.Start] + c.New + story[c.End:]; got != story[:r.Start]+now+story[r.End:] {
			t.Fatalf("%q became %q, want %q in place of %q", story, got, now, old)
		}
	})
}

func TestChoose(t *testing.T) {
	var offers []Offer
	all := []string{"timeline_plot", "characterization", "world_building", "factual_detail", "narrative_style"}
	for i := range 30 {
		o := Offer{StoryID: fmt.Sprint("s", i)}
		switch {
		case i < 8:
			o.Categories = all
		case i < 20:
			o.Categories = []string{"factual_detail", "timeline_plot"}
		}
		offers = append(offers, o)
	}
	chosen, b := Choose(offers, Targets{Stories: 10, PerStory: 5, Controls: 6}, 1)
	if b.InjectedStories != 10 || b.ControlStories != 6 || len(chosen) != 16 {
		t.Errorf("%+v", b)
	}
	for _, c := range b.PerCategory {
		want := map[string]int{"factual_detail": 10, "timeline_plot": 10}[c.Category]
		if want == 0 {
			want = 8
		}
		if c.Target != 10 || c.Injected != want || c.Short() != 10-want {
			t.Errorf("%+v", c)
		}
	}
	slices.Reverse(offers)
	if again, _ := Choose(offers, Targets{Stories: 10, PerStory: 5, Controls: 6}, 1); !cmp.Equal(chosen, again) {
		t.Error("the choice depends on the order of the stories")
	}
	// One a story: the five stay level.
	_, b = Choose(offers, Targets{Stories: 10, PerStory: 1, Controls: 99}, 1)
	for _, c := range b.PerCategory {
		if c.Target != 2 || c.Injected != 2 {
			t.Errorf("%+v", c)
		}
	}
	if b.ControlStories != 20 || b.Controls != 99 {
		t.Errorf("%d controls of %d", b.ControlStories, b.Controls)
	}
}
