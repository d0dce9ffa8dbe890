// SPDX-License-Identifier: Apache-2.0

package flawed

import (
	"strings"
	"unicode"

	"github.com/retcon-bench/retcon/schemas"
)

// quotes maps what an answer quotes to sentences of a story.
type quotes struct {
	ids   []int
	folds []string // folded sentences
}

// minQuote is the least number of words that a part of a sentence must quote.
const minQuote = 4

// newQuotes indexes the original's sentences that start at code points [from, to).
func newQuotes(d *schemas.Draft, from, to int) *quotes {
	return quotesOf(&d.Original, from, to)
}

func quotesOf(v *schemas.Variant, from, to int) *quotes {
	q := &quotes{}
	sents := sentencesOf(v)
	for i, b := range v.Sentences {
		if b.Start >= from && b.Start < to {
			q.ids = append(q.ids, i)
			q.folds = append(q.folds, foldQuote(sents[i]))
		}
	}
	return q
}

// find returns the sentences that a quote stands for: those it is, holds or is
// part of, else the one that is nearly it. Numbers and negations are never
// bridged; a quote of fewer than four words counts only as a whole sentence.
func (q *quotes) find(quote string) []int {
	want := foldQuote(quote)
	if want == "" {
		return nil
	}
	n := len(strings.Fields(want))
	var out []int
	for i, s := range q.folds {
		switch {
		case s == want:
			out = append(out, q.ids[i])
		case n >= minQuote && strings.Contains(" "+s+" ", " "+want+" "):
			out = append(out, q.ids[i])
		case len(strings.Fields(s)) >= minQuote && strings.Contains(" "+want+" ", " "+s+" "):
			out = append(out, q.ids[i])
		}
	}
	if len(out) > 0 {
		return out
	}
	best, at := 0.0, -1
	words := strings.Fields(want)
	if len(words) < minQuote {
		return nil
	}
	for i, s := range q.folds {
		got := strings.Fields(s)
		f := 2 * float64(lcs(words, got)) / float64(len(words)+len(got))
		if f > best && sameGuards(words, got) {
			best, at = f, i
		}
	}
	if at < 0 || best < 0.8 {
		return nil
	}
	return []int{q.ids[at]}
}

// foldQuote folds case, punctuation, white space and tags.
func foldQuote(s string) string {
	s = strings.ReplaceAll(strings.ReplaceAll(s, markOpen, " "), markClose, " ")
	s = strings.ReplaceAll(strings.ReplaceAll(s, "’", ""), "'", "")
	return strings.Join(strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), " ")
}

var guardWords = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields("not no never none nobody nothing neither nor cannot dont didnt wont isnt wasnt two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred thousand first second third") {
		m[w] = true
	}
	return m
}()

// sameGuards reports whether two lists of words hold the same numbers and
// negations.
func sameGuards(a, b []string) bool {
	count := map[string]int{}
	add := func(words []string, d int) {
		for _, w := range words {
			if guardWords[w] || strings.ContainsAny(w, "0123456789") {
				count[w] += d
			}
		}
	}
	add(a, 1)
	add(b, -1)
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}
