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
// Shown are the passages of the judge's prompt that are no quotes when they
// come back; [Examples] for our own prompts.
func NewLocator(story string, shown []string) *Locator {
	return &Locator{story: story, echoes: text.NewEchoes(shown)}
}

// newLocator is NewLocator for our own prompts, whose examples are read once.
func newLocator(story string) *Locator { return &Locator{story: story, echoes: echoes()} }

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
	// Of a quote with several places, the one nearest to its partner is meant,
	// but never the partner's own place.
	if a.found() && b.found() {
		switch {
		case several(a) && !several(b):
			a = l.apart(it.Fact, a, b)
		case several(b):
			b = l.apart(it.Contra, b, a)
		}
	}
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
	return f
}

func before(a, b text.Range) bool {
	return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End)) < 0
}

// several reports whether a quote of one piece fits in several places.
func several(p place) bool { return len(p.matches) == 1 && p.matches[0].Occurrences > 1 }

// apart looks for the quote again: the place nearest to the other's that does
// not overlap it.
func (l *Locator) apart(quote []string, p, other place) place {
	o := other.bytes()
	length := p.bytes().End - p.bytes().Start
	best := -1
	for _, s := range p.matches[0].Starts {
		if s < o.End && o.Start < s+length {
			continue
		}
		if best < 0 || gap(s, o) < gap(best, o) {
			best = s
		}
	}
	if best < 0 {
		return p
	}
	return l.find(quote, p.Location, best)
}

func gap(at int, r text.Range) int { return max(r.Start-at, at-r.End, 0) }

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
