// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

// Statuses of a finding.
const (
	Anchored   = "anchored"   // every quote the judge gave stands in the story
	Unanchored = "unanchored" // quarantine: a quote is nowhere in the story
	Copied     = "copied"     // quarantine: a quote is an example of the prompt
)

// Why a second quote is no evidence although it stands in the story.
const whySame = "the same passage as the other quote"

// Locator finds the quotes of one story. It reads the story when it is first
// asked, and may be used by several goroutines.
type Locator struct {
	story  string
	echoes *text.Echoes
	once   sync.Once
	anch   *text.Anchorer
	index  *text.Index
}

// NewLocator returns a locator for a story; offsets count in it as it stands.
// Shown knows the passages of the judge's prompt that are no quotes when they
// come back; nil for none. Our own prompts show [Examples].
func NewLocator(story string, shown *text.Echoes) *Locator {
	return &Locator{story: story, echoes: shown}
}

// newLocator is NewLocator for our own prompts, whose examples are read once.
func newLocator(story string) *Locator { return NewLocator(story, echoes()) }

func (l *Locator) load() {
	l.once.Do(func() { l.anch, l.index = text.NewAnchorer(l.story), text.NewIndex(l.story) })
}

// place is a quote with where it was found.
type place struct {
	schemas.Evidence
	matches []text.Match // one a piece that was asked for
	copied  bool
}

func (p *place) found() bool { return len(p.Spans) > 0 }

// bytes is the range from the first to the last byte.
func (p *place) bytes() text.Range {
	r := text.Range{Start: p.Spans[0].ByteStart, End: p.Spans[0].ByteEnd}
	for _, s := range p.Spans[1:] {
		r.Start, r.End = min(r.Start, s.ByteStart), max(r.End, s.ByteEnd)
	}
	return r
}

// find looks for a quote, given in one or more pieces. near is a byte of the
// story that chooses among places that fit equally well, -1 for none.
func (l *Locator) find(quote []string, location string, near int) place {
	l.load()
	p := place{Evidence: schemas.Evidence{Quote: strings.Join(quote, " ... "), Location: location, Spans: []schemas.Span{}}}
	if len(quote) == 0 {
		return p
	}
	worst := text.ClassExact
	var ranges []text.Range
	var why []string
	for _, q := range quote {
		m, kind := l.anch.FindOrEcho(q, near, l.echoes)
		p.matches = append(p.matches, m)
		p.copied = p.copied || kind != ""
		worst = farther(worst, m.Class)
		p.Flagged = p.Flagged || m.Flagged
		if w := reason(m); w != "" {
			why = append(why, w)
		}
		ranges = append(ranges, m.Ranges...)
	}
	if len(quote) > 1 && worst.Found() {
		worst = farther(worst, text.ClassPieces)
	}
	p.Class, p.Why = string(worst), strings.Join(why, "; ")
	if !worst.Found() {
		p.Flagged = false
		return p
	}
	for _, r := range ranges {
		p.Spans = append(p.Spans, schemas.Span{Offsets: schemas.Offsets(l.index.Span(r)), Sentence: -1, Text: r.Of(l.story)})
	}
	return p
}

// reason is what a reader should know of a match.
func reason(m text.Match) string {
	why := m.Why
	for i, c := range m.Changes {
		sep := ", "
		if i == 0 {
			sep = ": "
		}
		switch {
		case c.Quote == "":
			why += fmt.Sprintf("%sthe story also has %q", sep, c.Story)
		case c.Story == "":
			why += fmt.Sprintf("%sthe story has no %q", sep, c.Quote)
		default:
			why += fmt.Sprintf("%s%q for the story's %q", sep, c.Quote, c.Story)
		}
	}
	if m.Occurrences > 1 {
		if why != "" {
			why += "; "
		}
		why += fmt.Sprintf("%d places fit equally well", m.Occurrences)
	}
	return why
}

func farther(a, b text.Class) text.Class {
	order := text.Classes()
	if slices.Index(order, b) > slices.Index(order, a) {
		return b
	}
	return a
}

// Finding anchors an item. Fact becomes the earlier passage by offset, whatever
// the judge called it. near is a byte of the story near which the passages are
// expected, -1 for none. Identity, judge and protocol are the caller's to fill
// in ([Locator.Seal]).
func (l *Locator) Finding(category, subtype string, it Item, near int) schemas.Finding {
	a, b := l.find(it.Fact, it.FactAt, near), l.find(it.Contra, it.ContraAt, near)
	a, b = l.nearest(it, a, b)
	return l.pair(category, subtype, it, a, b)
}

// pair makes the finding of two places.
func (l *Locator) pair(category, subtype string, it Item, a, b place) schemas.Finding {
	if a.found() && b.found() {
		ra, rb := a.bytes(), b.bytes()
		switch {
		case ra == rb:
			b.Class, b.Why, b.Flagged, b.Spans = string(text.ClassNone), whySame, false, []schemas.Span{}
		case ra.Start < rb.End && rb.Start < ra.End && len(a.Spans) == 1 && len(b.Spans) == 1:
			b.Flagged, b.Why = true, strings.TrimPrefix(b.Why+"; the two passages overlap", "; ")
		}
	}
	f := schemas.Finding{Category: category, Subtype: subtype, Also: []string{}, Element: it.Element, Reasoning: it.Reasoning, Context: it.Context,
		Status: Anchored, AnswerKeys: []string{}}
	switch {
	case a.copied || b.copied:
		f.Status = Copied
	case !a.found(), b.Class != "" && !b.found():
		f.Status = Unanchored
	}
	if a.found() && b.found() && before(b.bytes(), a.bytes()) {
		a, b = b, a
	}
	if !a.found() && b.found() && f.Status != Anchored {
		a, b = b, a // the place that is known comes first
	}
	f.Fact, f.Contra = a.Evidence, b.Evidence
	for _, e := range []*schemas.Evidence{&f.Fact, &f.Contra} {
		if e.Spans == nil { // of a passage that is not there: an empty list in a record
			e.Spans = []schemas.Span{}
		}
	}
	return f
}

func before(a, b text.Range) bool {
	return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End)) < 0
}

// mostPlaces is how many places of a repeated quote are looked at.
const mostPlaces = 200

// nearest chooses among the places of quotes that fit in several: the two that
// are nearest to each other and do not overlap, the first of those that are
// equally near. It does not matter which of the two the judge named first.
func (l *Locator) nearest(it Item, a, b place) (place, place) {
	if !a.found() || !b.found() || !several(a) && !several(b) {
		return a, b
	}
	as, bs := a.starts(), b.starts()
	na, nb := a.bytes().Len(), b.bytes().Len()
	best, dist := [2]int{-1, -1}, 0
	for _, x := range as {
		for _, y := range bs {
			if x < y+nb && y < x+na {
				continue
			}
			d := max(x-(y+nb), y-(x+na))
			if best[0] < 0 || d < dist || d == dist && min(x, y) < min(best[0], best[1]) {
				best, dist = [2]int{x, y}, d
			}
		}
	}
	if best[0] < 0 {
		return a, b
	}
	if several(a) {
		a = l.find(it.Fact, it.FactAt, best[0])
	}
	if several(b) {
		b = l.find(it.Contra, it.ContraAt, best[1])
	}
	return a, b
}

// several reports whether a quote of one piece fits in several places.
func several(p place) bool { return len(p.matches) == 1 && p.matches[0].Occurrences > 1 }

// starts are the places of a found quote.
func (p *place) starts() []int {
	if several(*p) {
		all := p.matches[0].Starts
		return all[:min(len(all), mostPlaces)]
	}
	return []int{p.bytes().Start}
}

// Seal fills in whose finding it is, and its id, which depends on story, text,
// judge, protocol, kind and places.
func Seal(f *schemas.Finding, t Text, judge, protocol string) {
	f.StoryID, f.TextHash, f.Judge, f.Protocol = t.ID, t.TextHash, judge, protocol
	h := sha256.New()
	part := func(s string) { fmt.Fprintf(h, "%d:%s", len(s), s) }
	for _, s := range []string{f.StoryID, f.TextHash, judge, protocol, f.Category, f.Subtype} {
		part(s)
	}
	for _, e := range []schemas.Evidence{f.Fact, f.Contra} {
		if len(e.Spans) == 0 {
			part(e.Quote)
		}
		for _, s := range e.Spans {
			fmt.Fprintf(h, "%d-%d,", s.Start, s.End)
		}
		part("")
	}
	f.FindingID = "f-" + strings.ToLower(base32.StdEncoding.EncodeToString(h.Sum(nil)[:10]))
}
