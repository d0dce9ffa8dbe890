// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"context"
	"strings"
	"unicode"

	"github.com/retcon-bench/retcon/scoring"
)

// LexicalPairs scores pairs by their words alone, so that the baseline runs
// where there is no model. It knows nothing of meaning and is named as such
// wherever its figures appear: they say nothing about entailment models.
//
// Two sentences that share most of their content words (half of the shorter
// one's, two at least) and that differ in a negation, in a number or in one of
// a few opposites contradict each other, with the shared part as probability.
type LexicalPairs struct{}

// Name says that it is a stopgap.
func (LexicalPairs) Name() string { return "lexical fallback (no model)" }

// ScorePairs never fails.
func (LexicalPairs) ScorePairs(ctx context.Context, pairs []Pair) ([]PairScore, error) {
	out := make([]PairScore, len(pairs))
	seen := map[string]*lexical{}
	of := func(s string) *lexical {
		l := seen[s]
		if l == nil {
			l = readLexical(s)
			seen[s] = l
		}
		return l
	}
	for k, p := range pairs {
		c := of(p.Premise).against(of(p.Hypothesis))
		out[k] = PairScore{Neutral: 1 - c, Contradiction: c}
	}
	return out, ctx.Err()
}

// lexical is a sentence as LexicalPairs sees it.
type lexical struct {
	content map[string]bool
	numbers map[string]bool
	negated bool
}

func readLexical(sentence string) *lexical {
	l := &lexical{content: map[string]bool{}, numbers: map[string]bool{}}
	for _, w := range scoring.Words(sentence) {
		switch {
		case negations[w]:
			l.negated = !l.negated
		case numerals[w] || unicode.IsDigit(rune(w[0])):
			l.numbers[w] = true
		case !functionWords[w]:
			l.content[w] = true
		}
	}
	return l
}

// against is the probability that the two contradict each other, from 0.5 up,
// or 0.
func (l *lexical) against(m *lexical) float64 {
	shared := 0
	for w := range l.content {
		if m.content[w] {
			shared++
		}
	}
	least := min(len(l.content), len(m.content))
	if shared < 2 || 2*shared < least {
		return 0
	}
	differ := l.negated != m.negated || len(l.numbers) > 0 && len(m.numbers) > 0 && !overlap(l.numbers, m.numbers)
	for w := range l.content {
		differ = differ || opposites[w] != "" && m.content[opposites[w]] && !m.content[w] && !l.content[opposites[w]]
	}
	if !differ {
		return 0
	}
	return 0.5 + 0.5*float64(shared)/float64(least+1)
}

func overlap(a, b map[string]bool) bool {
	for w := range a {
		if b[w] {
			return true
		}
	}
	return false
}

func wordSet(list string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(list) {
		out[w] = true
	}
	return out
}

var (
	negations = wordSet("not no never none nobody nothing neither nor without cannot cant dont doesnt didnt isnt wasnt werent wont wouldnt couldnt hasnt hadnt havent")
	numerals  = wordSet("one two three four five six seven eight nine ten eleven twelve thirteen twenty thirty forty fifty hundred thousand")
	// functionWords say too little for two sentences to be about one thing.
	functionWords = wordSet(`a an the and or but if then than so as of in on at to from by with for into upon over under up down out off
		he she it they them him her his hers its their theirs we us our you your i me my who whom whose which that this these those there here
		is are was were be been being am has have had do does did will would shall should can could may might must
		when while where why how what all any some each every very too also just still again once now only own same such more most other`)
	opposites = func() map[string]string {
		out := map[string]string{}
		for _, pair := range strings.Fields(`alive/dead living/dead open/closed open/shut old/young rich/poor tall/short large/small big/little
			black/white hot/cold warm/cold day/night morning/evening brother/sister son/daughter king/queen husband/wife man/woman boy/girl
			north/south east/west left/right first/last full/empty wet/dry light/dark strong/weak summer/winter true/false always/never
			blind/seeing friend/enemy happy/sad good/wicked kind/cruel`) {
			a, b, _ := strings.Cut(pair, "/")
			if out[a] == "" {
				out[a] = b
			}
			if out[b] == "" {
				out[b] = a
			}
		}
		return out
	}()
)
