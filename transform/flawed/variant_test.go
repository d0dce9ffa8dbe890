// SPDX-License-Identifier: Apache-2.0

package flawed

import (
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

// edits' sentence is the one that holds the first letter of what was put in,
// in every variant of every item, and in texts made of random edits.
func TestEditNamesItsSentence(t *testing.T) {
	check := func(fail func(string, ...any), v *schemas.Variant) {
		r := []rune(v.Text)
		for _, e := range v.Edits {
			at := e.Start
			for at < e.End && unicode.IsSpace(r[at]) {
				at++
			}
			if at == e.End {
				continue // nothing, or blanks
			}
			if b := v.Sentences[e.Sentence]; at < b.Start || at >= b.End {
				fail("%s: %q is said to stand in sentence %d, %q", v.Name, e.Text, e.Sentence, string(r[b.Start:b.End]))
			}
		}
	}
	stories := embedded(t)
	cfg := Config{Seed: 1, Survey: surveyOf(stories)}
	_, d := fullItem(t, cfg, stories)
	for _, v := range []*schemas.Variant{d.Patched, d.Counterfactual, d.Resolved} {
		check(func(f string, a ...any) { t.Errorf(f, a...) }, v)
	}
	source := stories[0].Text
	sents := text.Sentences(source)
	rapid.Check(t, func(t *rapid.T) {
		var edits []replace
		for i := rapid.IntRange(0, len(sents)-2).Draw(t, "from"); i < len(sents)-1 && len(edits) < 3; i += rapid.IntRange(1, 9).Draw(t, "step") {
			end := sents[i].End
			if rapid.Bool().Draw(t, "insert") {
				edits = append(edits, replace{text.Range{Start: end, End: end}, rapid.SampledFrom([]string{" It was told.", "\n\nIt was told.", " “So it is,” he said. He went."}).Draw(t, "passage")})
			} else {
				edits = append(edits, replace{text.Range{Start: sents[i].Start, End: sents[i].Start + strings.IndexAny(source[sents[i].Start:], " ,.;")}, "Yonder"})
			}
		}
		v, err := newVariant(schemas.VariantPatched, source, edits, 0)
		if err != nil {
			t.Skip(err)
		}
		check(t.Fatalf, &v)
		if back, err := Undo(v); err != nil || back != source {
			t.Fatalf("undo: %v", err)
		}
	})
}

func TestUnwrapContext(t *testing.T) {
	for in, want := range map[string]string{
		"The bell was painted in May. Nobody minded.":               "The bell was painted in May. Nobody minded.",
		`"The bell was painted in May. Nobody minded."`:             "The bell was painted in May. Nobody minded.",
		"“The bell was painted in May.” “Nobody minded.”":           "The bell was painted in May. Nobody minded.",
		"\"The bell was painted.\"\n\"Nobody minded.\"":             "The bell was painted. Nobody minded.",
		"- *“The bell was painted.”*":                               "The bell was painted.",
		"> The bell was painted.":                                   "The bell was painted.",
		"**The bell was painted.**":                                 "The bell was painted.",
		"“They called it ‘the old one’ from then on.”":              "They called it ‘the old one’ from then on.",
		"“They called it “the old one” from then on.”":              "They called it “the old one” from then on.",
		`"They called it "the old one" from then on."`:              `They called it "the old one" from then on.`,
		`"It is painted," she said. "Leave it."`:                    `"It is painted," she said. "Leave it."`,
		"“It is painted,” she said. “Leave it.”":                    "“It is painted,” she said. “Leave it.”",
		`She said: "It is painted."`:                                `She said: "It is painted."`,
		"'Twas painted in May.":                                     "'Twas painted in May.",
		"`The bell was painted.`":                                   "The bell was painted.",
		"“The bell was painted in May. Nobody minded.":              "",
		`The bell was painted in May. Nobody minded."`:              "",
		"1. The bell was painted.\n2. Nobody minded.":               "The bell was painted. Nobody minded.",
		"‘The bell was painted.’":                                   "The bell was painted.",
		"“She said: ‘It is painted.’ Nobody minded.”":               "She said: ‘It is painted.’ Nobody minded.",
		"“The bell, he said, was painted: ‘red’.” – “And cracked.”": "The bell, he said, was painted: ‘red’. And cracked.",
	} {
		if got := unwrapContext(in); got != want {
			t.Errorf("%s\n got %q\nwant %q", in, got, want)
		}
	}
}

// TestStated: a fact is explicit where its own sentence says it.
func TestStated(t *testing.T) {
	d := &schemas.Draft{Original: plainVariant("", "The giant lived in a hill near the church. She never looked at the farmer again. There were three mills.")}
	for _, c := range []struct {
		fact, other string
		evidence    []int
		want        bool
	}{
		{"The giant lives in a hill", "The giant lives in a cave", []int{0}, true},
		{"The woman hates the farmer", "The woman likes the farmer", []int{1}, false},
		{"There are three mills", "There are two mills", []int{2}, true},
		{"There is a mill", "There is no mill", []int{2}, true},
		{"The giant is shy", "The giant is bold", []int{0}, false},
		{"The giant lives in a hill", "The giant lives in a cave", nil, false},
	} {
		d.Fact = &schemas.Fact{Statement: c.fact, Counterfactual: c.other, Evidence: c.evidence}
		if got := stated(d); got != c.want {
			t.Errorf("%s / %s: %v", c.fact, c.other, got)
		}
	}
}

// TestTitleNames: a title that only the source's story bears out gives a
// counterfactual story away.
func TestTitleNames(t *testing.T) {
	source := plainVariant("", "A hat lay by the road. Its owner came for the hat at night.")
	now := plainVariant("", "A cup lay by the road. Its owner came for the cup at night.")
	for title, want := range map[string]string{"The Hat": "hat", "The Hat's Owner": "hat", "The Owner": "", "Roads": "", "Of Kings": ""} {
		if got := titleNames(&schemas.Draft{Title: title, Original: source}, &now); got != want {
			t.Errorf("%s: %q, want %q", title, got, want)
		}
	}
}
