// SPDX-License-Identifier: Apache-2.0

package flawed

import (
	"strings"
	"unicode"

	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

// quotes maps what an answer quotes to sentences of a story.
type quotes struct {
	anchor *text.Anchorer
	sents  []text.Range
	folds  []string
}

// minQuote is the least number of words that a part of a sentence must quote.
const minQuote = 4

// quotesOf reads the part of a variant before code point end; a negative end
// means all of it.
func quotesOf(v *schemas.Variant, end int) *quotes {
	ix := text.NewIndex(v.Text)
	q := &quotes{}
	to := len(v.Text)
	for _, b := range v.Sentences {
		if end >= 0 && b.Start >= end {
			to = byteRange(ix, b).Start
			break
		}
		r := byteRange(ix, b)
		q.sents = append(q.sents, r)
		q.folds = append(q.folds, foldQuote(r.Of(v.Text)))
	}
	q.anchor = text.NewAnchorer(v.Text[:to])
	return q
}

// find returns the sentences that a quote stands for. A quote of fewer than
// four words counts only as a whole sentence; numbers and negations are never
// bridged (see text.Anchorer). Of several equal places the first that prefer
// likes is taken, else the first; prefer may be nil.
func (q *quotes) find(quote string, prefer func(id int) bool) []int {
	quote = strings.NewReplacer(markOpen, " ", markClose, " ").Replace(quote)
	want := foldQuote(quote)
	if want == "" {
		return nil
	}
	if len(strings.Fields(want)) < minQuote {
		var same []int
		for id, f := range q.folds {
			if f == want {
				same = append(same, id)
			}
		}
		return choose(same, prefer)
	}
	m := q.anchor.Find(quote, -1)
	if !m.Class.Found() {
		return nil
	}
	if m.Occurrences > 1 && len(m.Ranges) == 1 {
		var places []int // first sentence of each place
		for _, at := range m.Starts {
			if ids := q.over(text.Range{Start: at, End: at + 1}); len(ids) > 0 {
				places = append(places, ids[0])
			}
		}
		if id := choose(places, prefer); len(id) > 0 {
			for k, p := range places {
				if p == id[0] {
					at := m.Starts[k]
					return q.over(text.Range{Start: at, End: at + m.Ranges[0].Len()})
				}
			}
		}
	}
	var out []int
	for _, r := range m.Ranges {
		out = union(out, q.over(r))
	}
	return out
}

// choose returns the one of ids that prefer likes first, else the first.
func choose(ids []int, prefer func(int) bool) []int {
	for _, id := range ids {
		if prefer != nil && prefer(id) {
			return []int{id}
		}
	}
	if len(ids) > 0 {
		return ids[:1]
	}
	return nil
}

// over returns the sentences that a range of bytes touches.
func (q *quotes) over(r text.Range) []int {
	var out []int
	for id, s := range q.sents {
		if s.Start < r.End && r.Start < s.End {
			out = append(out, id)
		}
	}
	return out
}

// foldQuote folds case, punctuation and white space.
func foldQuote(s string) string {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "’", ""), "'", "")
	return strings.Join(strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), " ")
}
