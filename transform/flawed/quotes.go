// SPDX-License-Identifier: Apache-2.0

package flawed

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

// quotes maps what an answer quotes to sentences of a story.
type quotes struct {
	anchor *text.Anchorer
	sents  []text.Range
	folds  [][]string // words
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
		words, _ := foldWords(r.Of(v.Text))
		q.folds = append(q.folds, words)
	}
	q.anchor = text.NewAnchorer(v.Text[:to])
	return q
}

// find returns the sentences that an item of an answer's list stands for. A
// quote of fewer than four words counts only as a whole sentence; numbers and
// negations are never bridged (see text.Anchorer). Of several equal places the
// first that prefer likes is taken, else the first; prefer may be nil.
//
// What a judge adds to a quote (a remark in brackets, behind a dash, on the
// next line) says nothing of the story: it neither hides the quote nor brings
// in a sentence of its own.
func (q *quotes) find(item string, prefer func(id int) bool) []int {
	item = strings.NewReplacer(markOpen, " ", markClose, " ").Replace(item)
	var out []int
	for i, line := range strings.Split(item, "\n") {
		line = quoteLabel.ReplaceAllString(bullet.ReplaceAllString(line, ""), "")
		if i > 0 && !opensQuote(line) {
			continue // a remark on a line of its own
		}
		out = union(out, q.line(line, prefer))
	}
	return out
}

// quoteLabel is the number that answers put before a quote.
var quoteLabel = regexp.MustCompile(`(?i)^[\s*_\[(]*(?:s|l|line|sentence|act|paragraph)\s*\d+[\])*_]*\s*[:.)–—-]\s*[*_]*`)

// line reads one line: a quote, or several one after the other, with or
// without remarks.
func (q *quotes) line(line string, prefer func(id int) bool) []int {
	words, ends := foldWords(line)
	if len(words) == 0 {
		return nil
	}
	// All of it, word for word.
	whole, n := q.sentences(words, prefer)
	if n == len(words) {
		return whole
	}
	m := text.Match{}
	if len(words) >= minQuote {
		if m = q.anchor.Find(line, -1); m.Class.Normalised() && !(m.Flagged && n > 0) {
			return q.at(m, prefer)
		}
	}
	// Whole sentences, then a remark or the next quote.
	if n > 0 {
		if gap, rest := cutGap(line[ends[n-1]:]); endsQuote(gap) {
			if next, ok := nextQuote(rest); ok {
				return union(whole, q.line(next, prefer))
			}
			if joins(gap) {
				return union(whole, q.line(rest, prefer))
			}
			return whole
		}
	}
	// A part of a sentence in quotation marks, or before a bracket. The longest
	// that stands in the story word for word, or by an ellipsis; else the
	// nearest.
	var near text.Match
	nearEnd := 0
	cuts := cutPoints(line)
	for i := len(cuts) - 1; i >= 0; i-- {
		part := line[:cuts[i]]
		if w, _ := foldWords(part); len(w) < minQuote {
			break
		}
		c := q.anchor.Find(part, -1)
		if c.Class.Found() && c.Class != text.ClassFuzzy {
			return union(q.at(c, prefer), q.next(line[cuts[i]:], prefer))
		}
		if c.Class.Found() && c.Similarity > near.Similarity {
			near, nearEnd = c, cuts[i]
		}
	}
	if m.Class.Found() && (m.Class != text.ClassFuzzy || near.Similarity <= m.Similarity) {
		return q.trim(m, words, q.at(m, prefer))
	}
	if near.Class.Found() {
		w, _ := foldWords(line[:nearEnd])
		return union(q.trim(near, w, q.at(near, prefer)), q.next(line[nearEnd:], prefer))
	}
	return nil
}

// next reads the quote that a remark or an "and" leads to.
func (q *quotes) next(rest string, prefer func(int) bool) []int {
	if next, ok := nextQuote(rest); ok {
		return q.line(next, prefer)
	}
	return nil
}

// sentences returns the longest run of whole sentences that words begin with,
// and how many words it takes.
func (q *quotes) sentences(words []string, prefer func(int) bool) (ids []int, n int) {
	best := 0
	var starts []int
	for id := range q.folds {
		at := 0
		for k := id; k < len(q.folds); k++ {
			f := q.folds[k]
			if len(f) == 0 || at+len(f) > len(words) || !slices.Equal(words[at:at+len(f)], f) {
				break
			}
			at += len(f)
		}
		switch {
		case at > best:
			best, starts = at, []int{id}
		case at == best && at > 0:
			starts = append(starts, id)
		}
	}
	for _, id := range choose(starts, prefer) {
		for at := 0; at < best; id++ {
			ids = append(ids, id)
			at += len(q.folds[id])
		}
	}
	return ids, best
}

// at returns the sentences of a match.
func (q *quotes) at(m text.Match, prefer func(int) bool) []int {
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

// trim takes out the sentences that a near match merely runs into: those of
// which the quote holds fewer than four words and fewer than half. One is left.
func (q *quotes) trim(m text.Match, words []string, ids []int) []int {
	if m.Class != text.ClassFuzzy || len(ids) < 2 {
		return ids
	}
	var out []int
	most, top := -1, 0
	for _, id := range ids {
		n := lcs(words, q.folds[id])
		if n > most {
			most, top = n, id
		}
		if 2*n >= len(q.folds[id]) && (n >= minQuote || n == len(q.folds[id])) {
			out = append(out, id)
		}
	}
	if len(out) == 0 {
		return []int{top}
	}
	return out
}

const (
	openMarks  = "\"“„«'‘"
	closeMarks = "\"”“»'’"
)

// opensQuote reports a line that begins with a quotation mark.
func opensQuote(s string) bool {
	r, _ := utf8.DecodeRuneInString(strings.TrimLeft(s, " \t*_"))
	return strings.ContainsRune(openMarks, r)
}

// cutGap parts what stands between two words from what follows.
func cutGap(s string) (gap, rest string) {
	i := strings.IndexFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
	if i < 0 {
		return s, ""
	}
	return s[:i], s[i:]
}

// endsQuote reports signs that can end a quote: the end of a sentence, a
// quotation mark, a bracket, a dash, a colon, an arrow. A comma cannot.
func endsQuote(gap string) bool {
	return strings.ContainsAny(gap, ".!?…\"”“»()[]–—:;→|/*") || strings.Contains(gap, " - ") || strings.Contains(gap, "->") || strings.Contains(gap, "--")
}

// joins reports signs behind which the quote goes on: it was not closed by
// more than the sentence's own end.
func joins(gap string) bool {
	return !strings.ContainsAny(gap, "()[]–—:;→|*") && !strings.Contains(gap, " - ") && !strings.Contains(gap, "->") && !strings.Contains(gap, "--")
}

// nextQuote finds the quote that follows a connecting word: `and "..."`.
func nextQuote(s string) (rest string, ok bool) {
	m := joinedQuote.FindStringIndex(s)
	if m == nil {
		return "", false
	}
	_, size := utf8.DecodeLastRuneInString(s[:m[1]])
	return s[m[1]-size:], true
}

var joinedQuote = regexp.MustCompile(`(?i)^[\s\pP]*(?:and|or|also|as well as|then|&|/|\+)?[\s,;*_]*(?:"|“|„|«)`)

// cutPoints returns the bytes of a line at which a quote may end, ascending:
// before a closing quotation mark, where the line opens with one, and before a
// bracket.
func cutPoints(line string) []int {
	var out []int
	quoted := opensQuote(line)
	first := strings.IndexFunc(line, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
	for i, r := range line {
		switch {
		case i <= first:
		case r == '(' || r == '[' || r == '→':
			out = append(out, i)
		case quoted && strings.ContainsRune(closeMarks, r):
			next, _ := utf8.DecodeRuneInString(line[i+utf8.RuneLen(r):])
			if !unicode.IsLetter(next) && !unicode.IsDigit(next) {
				out = append(out, i)
			}
		}
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
	words, _ := foldWords(s)
	return strings.Join(words, " ")
}

// foldWords returns the words of s in lower case, without apostrophes, and the
// byte behind each.
func foldWords(s string) (words []string, ends []int) {
	var b strings.Builder
	end := 0
	flush := func() {
		if b.Len() > 0 {
			words, ends = append(words, strings.ToLower(b.String())), append(ends, end)
			b.Reset()
		}
	}
	for i, r := range s {
		switch {
		case r == '’' || r == '\'':
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
			end = i + utf8.RuneLen(r)
		default:
			flush()
		}
	}
	flush()
	return words, ends
}
