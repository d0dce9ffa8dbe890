// SPDX-License-Identifier: Apache-2.0

package flawed

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/llm/llmtest"
	"github.com/retcon-bench/retcon/internal/llm/rules"
	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

func storyOf(id, s string) schemas.Story {
	s = text.Trim(text.Freeze(s))
	return schemas.Story{StoryID: id, GroupID: id, Kind: schemas.KindStory, Language: "en", Text: s, TextHash: schemas.HashText(s), Words: text.Words(s)}
}

// TestEvidenceIsQuotedFromTheStory: a quote with other quotes and dashes than
// the story's means its sentence (C34); one with another number or without a
// negation means none (C35).
func TestEvidenceIsQuotedFromTheStory(t *testing.T) {
	s := storyOf("c:lamps", "Ada’s lamp — the red one — fell off the wall. She had 5 lamps in the house. Tom did not light any of them that night. In the morning he was gone. Nobody saw him again.")
	d, err := Start(s)
	if err != nil {
		t.Fatal(err)
	}
	d.Acts = &schemas.Acts{Act2: d.Original.Sentences[3].Start, Act3: d.Original.Sentences[4].Start}
	for quote, want := range map[string]string{
		"Ada's lamp - the red one - fell off the wall.": "[0]",
		"“She had 5 lamps in the house.”":               "[1]",
		"She had 6 lamps in the house.":                 "[]",
		"Tom did light any of them that night.":         "[]",
		"In the morning he was gone.":                   "[]", // act 2
		"NA":                                            "[]",
	} {
		client, err := llm.New(llm.Options{Engine: &llmtest.Script{Func: func(llm.Request) (llm.Answer, error) {
			return says("Characters:\n- Fact: Ada has lamps; Counterfactual: Ada has candles\n  Evidence: " + quote + "\n  Type: continuity / quantitative_mismatches"), nil
		}}})
		if err != nil {
			t.Fatal(err)
		}
		m := &maker{cfg: Config{}.complete()}
		res, err := factsCall.Do(t.Context(), client, m.source(&d), 0)
		if err != nil || !res.OK() || len(res.Value.facts) != 1 {
			t.Fatalf("%q: %+v, %v", quote, res, err)
		}
		if got := fmt.Sprint(res.Value.facts[0].Evidence); got != want {
			t.Errorf("%q: sentences %s, want %s", quote, got, want)
		}
	}
}

// TestTagsOfTheStoryStay: what looks like a model's tag and stands in the story
// is text (C33).
func TestTagsOfTheStoryStay(t *testing.T) {
	base := embedded(t)[2]
	const rune_ = "The rune over the door read <think> and glowed, and under it stood <b>5 < 6</b> in chalk."
	i := strings.Index(base.Text, "\n\n") + 2
	s := storyOf("c:rune", base.Text[:i]+rune_+"\n\n"+base.Text[i:]+"\n\n"+strings.Replace(rune_, "glowed", "faded", 1))
	o := run(t, Config{}, &llmtest.Script{Func: standIn(Config{}, nil)}, s)
	if len(o.Outs) != 2 {
		t.Fatalf("%d drafts: %+v", len(o.Outs), o.Dropped)
	}
	for _, d := range o.Outs {
		undoes(t, s, d)
		if !strings.Contains(d.Patched.Text, rune_) || !strings.Contains(d.Patched.Text, "<think> and faded") {
			t.Errorf("%s: the rune is gone", d.MatchID)
		}
	}
}

// standIn answers as a plan's stand-ins do, but where change gives another answer.
func standIn(cfg Config, change func(req llm.Request) string) func(llm.Request) (llm.Answer, error) {
	say := StandIn(cfg)
	return func(req llm.Request) (llm.Answer, error) {
		if change != nil {
			if s := change(req); s != "" {
				return says(s), nil
			}
		}
		return says(say(req)), nil
	}
}

// TestAnyRewritingUndoes: whatever a model does to the sentences of the three
// acts, to a bridge and to a control, each variant that comes of it undoes to
// the source, byte for byte, in all offsets.
func TestAnyRewritingUndoes(t *testing.T) {
	stories := embedded(t)
	made := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		s := stories[rapid.IntRange(0, len(stories)-1).Draw(rt, "story")]
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		cfg := Config{Seed: 1}
		cfg.Make.FactsPerSource, cfg.Make.MaxSites, cfg.Make.JudgeAsk, cfg.Make.JudgeNeed = 1, 50, 1, 1
		o := run(t, cfg, &llmtest.Script{Func: standIn(cfg, func(req llm.Request) string {
			p := req.Messages[len(req.Messages)-1].Content
			switch req.Stage {
			case rewriteCall.Stage:
				return "## Counterfactual Story\n" + scramble(r, p, 1) + scramble(r, p, 2) + scramble(r, p, 3)
			case controlCall.Stage:
				return "## Changed Story\n" + scramble(r, p, 2) + scramble(r, p, 3)
			}
			return ""
		})}, s)
		for _, d := range o.Outs {
			undoes(t, s, d)
			for _, v := range []*schemas.Variant{d.Patched, d.Counterfactual, d.Resolved, d.EditControl} {
				if v != nil {
					made[v.Name]++
				}
			}
		}
	})
	for _, name := range []string{schemas.VariantPatched, schemas.VariantCounterfactual, schemas.VariantResolved, schemas.VariantEditControl} {
		if made[name] < 20 {
			t.Errorf("only %d %s variants were made: the test shows little", made[name], name)
		}
	}
	t.Log(made)
}

// scramble repeats an act of a prompt with one to four sentences changed, all
// marked: words put in, taken out or replaced, sentences added and left out.
func scramble(r *rand.Rand, prompt string, n int) string {
	act := quoted(prompt, fmt.Sprintf("act%d", n))
	sents := text.Sentences(act)
	hit := map[int]bool{}
	for range 1 + r.IntN(4) {
		hit[r.IntN(len(sents))] = true
	}
	var b strings.Builder
	at := 0
	for i, st := range sents {
		b.WriteString(act[at:st.Start])
		at = st.End
		s := st.Of(act)
		words := strings.Fields(s)
		k := r.IntN(len(words))
		switch {
		case !hit[i]:
			b.WriteString(s)
		case r.IntN(5) == 0 && k > 0:
			b.WriteString(markOpen + strings.Replace(s, words[k], words[k]+" Zoë’s 👒", 1) + markClose)
		case r.IntN(4) == 0:
			b.WriteString(markOpen + s + " Nobody had thought of it." + markClose)
		case r.IntN(4) == 0 && k > 0:
			b.WriteString(markOpen + strings.Replace(s, " "+words[k], "", 1) + markClose)
		case r.IntN(4) == 0:
			b.WriteString(markOpen + "Something else 😀 came of it." + markClose)
		default:
			b.WriteString(markOpen + strings.Replace(s, words[k], "otherwise", 1) + markClose)
		}
	}
	return fmt.Sprintf("### Act %d:\n%s\n\n", n, b.String()+act[at:])
}

// longStory makes a story of about so many words, of which no sentence stands
// twice: a traveller's days, with a red lantern at the beginning and at the end.
func longStory(words int) schemas.Story {
	r := rand.New(rand.NewPCG(7, 7))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	var b strings.Builder
	b.WriteString("In the town of Aldermoor lived a ferryman called Osric, who owned a red lantern. The red lantern hung from the prow. He had three sons.\n\n")
	for day := 1; text.Words(b.String()) < words-60; day++ {
		fmt.Fprintf(&b, "On the morning of day %d they came by the %s to %s number %d. %s said that the water was %s there, and that nobody should %s before noon. They %s until the bell struck %d, and then they went on.\n\n",
			day, pick("river", "old road", "causeway", "marsh"), pick("a village", "a mill", "an inn", "a chapel"), day*3,
			pick("The miller", "A widow", "The priest", "An old soldier", "The toll keeper"), pick("deep", "brown", "still", "cold", "high"),
			pick("cross it", "drink of it", "fish in it", "trust it"), pick("rested", "waited under the trees", "mended the sail", "shared their bread"), day%12+1)
	}
	b.WriteString("At last they saw the town again. The red lantern burned at the prow as it had on the first evening. The three sons tied up the boat, and Osric put out the red lantern and went home.")
	return storyOf(fmt.Sprintf("c:long-%d", words), b.String())
}

// TestLongStories: stories of 4,000 to 32,000 words go through the same stages;
// the limits of the default recipe set them aside with a reason.
func TestLongStories(t *testing.T) {
	for _, words := range []int{4_000, 32_000} {
		s := longStory(words)
		if n := s.Words; n < words-200 || n > words+200 {
			t.Fatalf("%d words, want %d", n, words)
		}
		cfg := Config{Seed: 1}
		cfg.Make.MaxWords, cfg.Make.FactsPerSource, cfg.Make.JudgeAsk, cfg.Make.JudgeNeed = 33_000, 1, 2, 2
		room := map[string]llm.StageSetting{}
		for _, stage := range []string{rewriteCall.Stage, controlCall.Stage} {
			room[stage] = llm.StageSetting{Params: llm.Params{MaxTokens: 65_536}}
		}
		client, err := llm.New(llm.Options{Engine: &llmtest.Script{Func: standIn(cfg, nil)}, Stages: room})
		if err != nil {
			t.Fatal(err)
		}
		o := walk(t, cfg, client, s)
		if len(o.Outs) != 1 {
			t.Fatalf("%d words: %d drafts, %+v", words, len(o.Outs), o.Dropped)
		}
		for _, d := range o.Outs {
			undoes(t, s, d)
			if d.Counterfactual == nil || d.Resolved == nil || d.EditControl == nil {
				t.Errorf("%d words: variants are missing: %+v", words, o.Dropped)
			}
			if d.Difficulty.Words < words/10 || d.SourceWords != s.Words {
				t.Errorf("%d words: difficulty %+v, %d source words", words, d.Difficulty, d.SourceWords)
			}
		}
		if o := run(t, cfg, &llmtest.Script{Func: standIn(cfg, nil)}, s); words > 16_000 && (len(o.Outs) != 0 || o.Dropped[len(o.Dropped)-1].Reason != "answer_too_long") {
			t.Errorf("%d words: a rewriting is asked for that max_tokens cuts off: %+v", words, o.Dropped)
		}
		made := 0
		for _, d := range run(t, cfg, rules.New(), s).Outs {
			sound(t, s, d)
			made++
		}
		if made == 0 {
			t.Errorf("%d words: the rules make nothing of the lantern and the sons", words)
		}
		cfg.Make.MaxWords = schemas.DefaultRecipe().Make.MaxWords
		if o := run(t, cfg, rules.New(), s); s.Words > cfg.Make.MaxWords && (len(o.Dropped) != 1 || o.Dropped[0].Reason != "too_long") {
			t.Errorf("%d words: %+v", words, o.Dropped)
		}
	}
}
