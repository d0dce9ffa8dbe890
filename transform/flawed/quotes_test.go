// SPDX-License-Identifier: Apache-2.0

package flawed

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/retcon-bench/retcon/schemas"
)

// remarks are what judges write around a quote; %s is the quote.
var remarks = []string{
	"%s", `"%s"`, "“%s”", "**%s**", "*“%s”*", "‘%s’",
	`"%s" (this goes by the other fact)`, "“%s” – because it is so", "“%s” — the name is new here", `"%s" - the name is new`,
	"%s (contradicts the early line)", "%s [sentence 12]", `"%s": the number is another`, "“%s” → not what act 1 says",
	"\"%s\"\n(This is told otherwise before.)", "\"%s\"\n- it was never told why", "S12: \"%s\"", "Sentence 3 - %s", "1. “%s” (see above)",
}

// TestQuoteWithRemark: whatever a judge writes around a quote, the quote means
// its own sentence and no other.
func TestQuoteWithRemark(t *testing.T) {
	for _, s := range embedded(t) {
		v := plainVariant("", s.Text)
		q := quotesOf(&v, -1)
		sents := sentencesOf(&v)
		for i, sent := range sents {
			for k, form := range remarks {
				if (i+k)%5 != 0 { // each sentence with some, each form on many
					continue
				}
				item := strings.Replace(form, "%s", oneLine(sent), 1)
				got := q.find(item, func(id int) bool { return id == i })
				if !slices.Equal(got, []int{i}) {
					t.Errorf("%s: %s: sentences %v, want %d", s.StoryID, item, got, i)
				}
			}
		}
	}
}

// TestQuotePartWithRemark: the same of the beginning of a sentence, and of two
// quotes in one item.
func TestQuotePartWithRemark(t *testing.T) {
	stories := embedded(t)
	variants := make([]schemas.Variant, len(stories))
	qs := make([]*quotes, len(stories))
	for i, s := range stories {
		variants[i] = plainVariant("", s.Text)
		qs[i] = quotesOf(&variants[i], -1)
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, len(stories)-1).Draw(t, "story")
		sents := sentencesOf(&variants[n])
		i := rapid.IntRange(0, len(sents)-1).Draw(t, "sentence")
		j := rapid.IntRange(0, len(sents)-1).Draw(t, "other")
		words := strings.Fields(sents[i])
		like := func(id int) bool { return id == i || id == j }
		// Five words and more of it, or all.
		if k := rapid.IntRange(8, 30).Draw(t, "words"); k < len(words) {
			part := strings.TrimRight(strings.Join(words[:k], " "), `,;:-–—"“”'’!?.`)
			if strings.ContainsAny(part, "\"“”.!?") {
				return
			}
			if slices.ContainsFunc(sents, func(s string) bool { return s != sents[i] && strings.Contains(oneLine(s), part) }) {
				return // a refrain: nobody can tell which is meant
			}
			form := rapid.SampledFrom([]string{"“%s...” (the other fact)", `"%s" (the other fact)`, "“%s …” – a new name"}).Draw(t, "form")
			if got := qs[n].find(strings.Replace(form, "%s", part, 1), like); !slices.Equal(got, []int{i}) {
				t.Fatalf("%q in %s: %v, want %d (%q)", part, form, got, i, sents[i])
			}
			return
		}
		if i != j && oneLine(sents[i]) == oneLine(sents[j]) {
			return // one sentence twice: nobody can tell which is meant
		}
		item := "“" + oneLine(sents[i]) + "” and “" + oneLine(sents[j]) + "” (both)"
		got := qs[n].find(item, like)
		if !slices.Equal(got, union([]int{i}, []int{j})) {
			t.Fatalf("%s: %v, want %d and %d", item, got, i, j)
		}
	})
}

// TestQuoteTable: cases by hand.
func TestQuoteTable(t *testing.T) {
	v := plainVariant("", "Anna had 5 lamps. She ran. The old miller lived by the river with his two sons and a grey cat. “Who calls?” he asked. "+
		"She ran down the hill to the mill. The lamp – the red one – was lit at dusk every day. He did not own a boat in those days.")
	q := quotesOf(&v, -1)
	for item, want := range map[string][]int{
		"Anna had 6 lamps.":                        nil, // never another number
		"He owned a boat in those days.":           nil, // never without its "not"
		`"She ran." (too early)`:                   {1},
		"She ran – before the call":                {1},
		"She ran down the hill":                    {4},
		"ran":                                      nil,
		"The lamp – the red one – was lit at dusk": {5},
		"“The lamp – the red one – was lit” – by whom?":                                   {5},
		"“Who calls?” he asked. (Nobody did.)":                                            {3},
		"The old miler lived by the river with his two sons and a grey cat (another cat)": {2},
		"<m>She ran.</m>":        {1},
		"This is said otherwise": nil,
	} {
		if got := q.find(item, nil); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", item, got, want)
		}
	}
}
