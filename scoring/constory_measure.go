// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/retcon-bench/retcon/internal/text"
)

// Locator finds quotes of one story.
type Locator interface {
	// Locate fills in the place of q: quote k of the subtype's column, the
	// first (pair false) or the second.
	Locate(column string, k int, pair bool, q *Quoted)
}

// MeasureOptions say how [Measure] locates quotes.
type MeasureOptions struct {
	// Echoes are the examples of the judge's prompt; a quote copied from them
	// is not located. May be nil.
	Echoes *text.Echoes
	// Locator replaces the anchoring of package text.
	Locator func(*CheckRow) Locator
	// Workers is the number of stories measured at the same time; 0 is one.
	// Results do not depend on it.
	Workers int
}

// anchors locates with package text. Most quotes are verbatim, which needs no
// index; it is made for the first that is not.
type anchors struct {
	story  string
	a      *text.Anchorer
	echoes *text.Echoes
}

func (l *anchors) Locate(_ string, _ int, _ bool, q *Quoted) {
	start, end, ok := verbatim(l.story, q.Text)
	var more []text.Range
	if !ok {
		if l.a == nil {
			l.a = text.NewAnchorer(l.story)
		}
		var m text.Match
		if l.echoes != nil {
			var kind string
			m, kind = l.a.FindOrEcho(q.Text, -1, l.echoes)
			q.Copied = kind != ""
		} else {
			m = l.a.Find(q.Text, -1)
		}
		if !m.Class.Found() || len(m.Ranges) == 0 {
			return
		}
		start, end, more = m.Ranges[0].Start, m.Ranges[0].End, m.Ranges[1:]
	}
	q.Located = true
	q.Start = utf8.RuneCountInString(l.story[:start])
	q.End = q.Start + utf8.RuneCountInString(l.story[start:end])
	for _, p := range more {
		from := utf8.RuneCountInString(l.story[:p.Start])
		q.More = append(q.More, [2]int{from, from + utf8.RuneCountInString(l.story[p.Start:p.End])})
	}
}

// verbatim finds the first place of quote in story that starts and ends at the
// edge of a word.
func verbatim(story, quote string) (start, end int, ok bool) {
	if !strings.ContainsFunc(quote, wordRune) {
		return 0, 0, false
	}
	i := strings.Index(story, quote)
	if i < 0 {
		return 0, 0, false
	}
	j := i + len(quote)
	first, _ := utf8.DecodeRuneInString(quote)
	last, _ := utf8.DecodeLastRuneInString(quote)
	before, _ := utf8.DecodeLastRuneInString(story[:i])
	after, _ := utf8.DecodeRuneInString(story[j:])
	if wordRune(first) && wordRune(before) && i > 0 || wordRune(last) && wordRune(after) && j < len(story) {
		return 0, 0, false
	}
	return i, j, true
}

func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// Measure reduces a row to its numbers.
func Measure(row CheckRow, o MeasureOptions) CheckRecord {
	// Cloned: the fields of a CSV row share one string with its story.
	r := CheckRecord{ID: strings.Clone(row.ID), Model: strings.Clone(row.Model), TaskType: strings.Clone(row.TaskType),
		Language: strings.Clone(row.Language), Judge: strings.Clone(row.Judge), Protocol: strings.Clone(row.Protocol), State: strings.Clone(row.State), Status: row.Status}
	if row.HasStory {
		r.Words, r.WordsCJK = text.Words(row.Story), text.WordsCJK(row.Story)
	}
	r.HasText = r.Words > 0
	var loc Locator
	var ref *referenceLocator
	length := 0
	if r.HasText {
		length = utf8.RuneCountInString(row.Story)
		if o.Locator != nil {
			loc = o.Locator(&row)
		} else {
			loc = &anchors{story: row.Story, echoes: o.Echoes}
		}
	}
	var seen []*CheckFinding
	var earlier, later [][2]int
	for i := range row.Cells {
		cell := &row.Cells[i]
		if cell.Flagged {
			r.Counts[SubtypeFlags][i] = 1
		}
		r.Counts[Instances][i] = int32(len(cell.Findings))
		for k := range cell.Findings {
			f := &cell.Findings[k]
			if loc != nil {
				for _, q := range []*Quoted{&f.Quote, &f.Pair} {
					if !q.done && !q.Missing && !q.Null {
						loc.Locate(subtypes[i].column, k, q == &f.Pair, q)
					}
					q.done = true
				}
				if ref == nil {
					ref = newReferenceLocator(row.Story)
				}
				r.Positions = append(r.Positions, positionOf(i, f, ref, length))
			}
			if len(row.Tokens) > 0 {
				a, b := f.Quote.spans(), f.Pair.spans()
				if f.Quote.Located && f.Pair.Located && f.Quote.Start > f.Pair.Start {
					a, b = b, a
				}
				earlier, later = append(earlier, a...), append(later, b...)
			}
			evidence := f.Quote.Located && (f.Pair.Located || f.Pair.Null)
			if f.Quote.Located {
				r.Counts[QuoteLocated][i]++
			}
			if evidence {
				r.Counts[EvidenceLocated][i]++
				r.Counts[FlagsLocated][i] = 1
			}
			again := false
			for _, s := range seen {
				if sameFinding(s, f) {
					again = true
					break
				}
			}
			if !again {
				seen = append(seen, f)
				r.Counts[Distinct][i]++
				if evidence {
					r.Counts[DistinctLocated][i]++
				}
			}
		}
	}
	switch {
	case row.TokensErr != "":
		r.Tokens = &TokenRecord{Err: row.TokensErr}
	case r.HasText && len(row.Tokens) > 0:
		t, err := TokensOf(row.Story, row.Tokens, earlier, later)
		if err != nil {
			t = TokenRecord{Err: err.Error()}
		}
		r.Tokens = &t
	}
	return r
}

// spans are the places of a quote, none if it was not located.
func (q *Quoted) spans() [][2]int {
	if !q.Located {
		return nil
	}
	return append([][2]int{{q.Start, q.End}}, q.More...)
}

// sameFinding reports whether two findings are about the same two passages, in
// either order: the places overlap, or where one has none, the words are the
// same.
func sameFinding(a, b *CheckFinding) bool {
	return sameQuote(&a.Quote, &b.Quote) && sameQuote(&a.Pair, &b.Pair) ||
		sameQuote(&a.Quote, &b.Pair) && sameQuote(&a.Pair, &b.Quote)
}

func sameQuote(a, b *Quoted) bool {
	if a.Located && b.Located {
		return a.Start < b.End && b.Start < a.End
	}
	if a.Located != b.Located {
		return false
	}
	return a.Text == b.Text || strings.EqualFold(collapse(a.Text), collapse(b.Text))
}

// MeasureRows measures all rows, in their order, up to o.Workers at the same
// time.
func MeasureRows(name string, rows iter.Seq2[CheckRow, error], o MeasureOptions) (CheckRun, error) {
	run := CheckRun{Name: name}
	workers := max(o.Workers, 1)
	batch := make([]CheckRow, 0, 8*workers)
	flush := func() {
		from := len(run.Records)
		run.Records = append(run.Records, make([]CheckRecord, len(batch))...)
		parallel(len(batch), workers, func(i int) { run.Records[from+i] = Measure(batch[i], o) })
		clear(batch)
		batch = batch[:0]
	}
	for row, err := range rows {
		if err != nil {
			return run, err
		}
		if batch = append(batch, row); len(batch) == cap(batch) {
			flush()
		}
	}
	flush()
	return run, nil
}
