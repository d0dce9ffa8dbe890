// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/text"
)

// window is a part of a story that goes into one prompt.
type window struct {
	text.Range
	part, parts int // 1-based
}

// tokens estimates the tokens of a text, on the safe side: the quick estimate
// is within a tenth on English prose.
func tokens(s string) int { return safe(llm.RoughTokens(s)) }

func safe(rough int) int { return rough*11/10 + 1 }

// windows cuts a story into parts of at most budget tokens, at paragraphs, and
// inside a paragraph that is too long at sentences, inside a sentence that is
// too long anywhere. Together the parts are the story. Budget 0 is no limit.
func windows(story string, budget int) []window {
	if budget <= 0 || tokens(story) <= budget {
		return []window{{text.Range{Start: 0, End: len(story)}, 1, 1}}
	}
	var out []window
	start, used := 0, 0
	flush := func(end int) {
		if end > start {
			out = append(out, window{Range: text.Range{Start: start, End: end}})
		}
		start, used = end, 0
	}
	take := func(from, to int) {
		n := llm.RoughTokens(story[from:to]) // these add up; rounded ones do not
		if safe(used+n) > budget {
			flush(from)
		}
		used += n
	}
	for from := 0; from < len(story); {
		to := len(story)
		if i := strings.IndexByte(story[from:], '\n'); i >= 0 {
			to = from + i + 1
		}
		if tokens(story[from:to]) <= budget {
			take(from, to)
		} else {
			for _, s := range pieces1(story, from, to, budget) {
				take(s.Start, s.End)
			}
		}
		from = to
	}
	flush(len(story))
	for i := range out {
		out[i].part, out[i].parts = i+1, len(out)
	}
	return out
}

// pieces1 cuts one paragraph into sentences, with what stands between them, and
// sentences over the budget into runs of characters.
func pieces1(story string, from, to, budget int) []text.Range {
	var cuts []int
	for _, s := range text.Sentences(story[from:to]) {
		cuts = append(cuts, from+s.Start)
	}
	if len(cuts) == 0 || cuts[0] != from {
		cuts = append([]int{from}, cuts...)
	}
	cuts = append(cuts, to)
	var out []text.Range
	for i := range len(cuts) - 1 {
		r := text.Range{Start: cuts[i], End: cuts[i+1]}
		for tokens(r.Of(story)) > budget {
			// A token has at least a byte: budget/2 bytes are always few enough.
			cut := r.Start + max(budget/2, utf8.UTFMax)
			for cut > r.Start && !utf8.RuneStart(story[cut]) {
				cut--
			}
			out = append(out, text.Range{Start: r.Start, End: cut})
			r.Start = cut
		}
		out = append(out, r)
	}
	return out
}

// minWindow is the least room for story text, in tokens, that makes sense.
const minWindow = 200

// factsShare is the part of a prompt's room that facts of earlier windows may
// take, as one in so many.
const factsShare = 4

// budgets divides a context budget: tokens for the story's part, and for the
// facts noted before. overhead is what the prompt has beside the two.
func budgets(context, overhead int, withFacts bool) (story, facts int, err error) {
	if context <= 0 {
		return 0, 0, nil
	}
	room := context - overhead
	if withFacts {
		facts = room / factsShare
	}
	story = room - facts
	if story < minWindow {
		least := overhead + minWindow
		if withFacts {
			least = overhead + minWindow*factsShare/(factsShare-1) + 1
		}
		return 0, 0, fmt.Errorf("a context budget of %d tokens leaves no room for the story: the prompt alone has %d; give at least %d", context, overhead, least)
	}
	return story, facts, nil
}
