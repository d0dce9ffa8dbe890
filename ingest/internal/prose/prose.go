// SPDX-License-Identifier: Apache-2.0

// Package prose turns lines as books and records print them into the
// paragraphs of a frozen story.
//
// [Verse] tells hard-wrapped prose, whose lines are joined, from verse and
// other lines that were broken on purpose, which stay as they are. [Join] undoes
// a hard wrap. [Builder] collects paragraphs into one frozen text and knows at
// the end where each marked stretch of it lies.
package prose

import (
	"unicode"
	"unicode/utf8"

	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

// Kinds of schemas.Mark that readers of books set.
const (
	MarkVerse   = "verse"
	MarkHeading = "heading" // a part heading inside a story
)

// Line is one printed line without the white space round it. Indent counts
// the blanks that stood before it.
type Line struct {
	Text   string
	Indent int
}

// Verse reports whether lines, one block between blank lines, were broken
// where they are on purpose. Width is the measure to which the source's prose
// is wrapped, in characters; 0 = unknown.
//
// The test is the wrapper's own: a line of wrapped prose has no room for the
// next line's first word. An indented block may be wrapped to a measure of its
// own, so there the longest line of the block counts too.
func Verse(lines []Line, width int) bool {
	n := len(lines)
	if n < 2 {
		return false
	}
	if width <= 0 {
		width = 72
	}
	capitals, room, ownRoom, long := 0, 0, 0, 0
	indented := true
	for i, l := range lines {
		if startsCapital(l.Text) {
			capitals++
		}
		if i > 0 && l.Indent < 2 {
			indented = false
		}
		long = max(long, runes(l.Text))
	}
	for i := 1; i < n; i++ {
		need := runes(lines[i-1].Text) + 1 + firstWord(lines[i].Text)
		if lines[i-1].Indent+need <= width {
			room++
		}
		if need <= long {
			ownRoom++
		}
	}
	gaps := n - 1
	switch {
	case room*2 < gaps:
		return false
	case indented && lines[0].Indent >= 2:
		// Prose set to a narrower measure: no room at its own width either,
		// and lines begin in mid-sentence.
		return ownRoom*4 > gaps || capitals*3 >= n*2
	default:
		// At the left edge, verse has a capital to each line, or lines far
		// shorter than the measure.
		return capitals*5 >= n*4 && room*3 >= gaps*2 || long*2 <= width && capitals*2 >= n
	}
}

func startsCapital(s string) bool {
	for _, r := range s {
		switch {
		case unicode.IsUpper(r), unicode.IsDigit(r):
			return true
		case unicode.IsLetter(r):
			return false
		}
	}
	return true
}

func runes(s string) int { return utf8.RuneCountInString(s) }

func firstWord(s string) int {
	n := 0
	for _, r := range s {
		if r == ' ' {
			break
		}
		n++
	}
	return n
}

// Join appends line to dst, a paragraph so far, and undoes the wrap between
// them. A hyphen after a letter and a dash end a line without a blank to
// follow (`well-` + `known`, `day--` + `fell`), and so does a dash that starts
// the next one; any other two lines are parted by a blank.
func Join(dst []byte, line string) []byte {
	if len(dst) == 0 || line == "" {
		return append(dst, line...)
	}
	if !glued(dst) && !opensWithDash(line) {
		dst = append(dst, ' ')
	}
	return append(dst, line...)
}

// glued reports that b ends in a hyphen or dash that has no blank before it.
func glued(b []byte) bool {
	n := len(b)
	dash := n
	for dash > 0 && b[dash-1] == '-' {
		dash--
	}
	if dash < n {
		return dash > 0 && b[dash-1] != ' '
	}
	if n >= 3 && b[n-3] == 0xE2 && b[n-2] == 0x80 && (b[n-1] == 0x94 || b[n-1] == 0x93 || b[n-1] == 0x90 || b[n-1] == 0x91) {
		return n == 3 || b[n-4] != ' '
	}
	return false
}

// opensWithDash reports a dash that clings to what follows: `--fell`.
func opensWithDash(s string) bool {
	i := 0
	for i < len(s) && s[i] == '-' {
		i++
	}
	if i >= 2 {
		return i < len(s) && s[i] != ' '
	}
	if len(s) > 3 && s[:3] == "—" {
		return s[3] != ' '
	}
	return false
}

// Builder makes a story's text out of paragraphs, parted by one blank line.
// The zero value is ready.
type Builder struct {
	buf      []byte
	marks    []span
	sections []span
}

type span struct {
	name       string
	start, end int // bytes
}

// Len returns the bytes written so far.
func (b *Builder) Len() int { return len(b.buf) }

// Paragraph adds a paragraph; kind is a mark's kind or empty. Lines of p
// are parted by LF and stay apart. White space alone adds nothing.
func (b *Builder) Paragraph(p []byte, kind string) {
	start := len(b.buf)
	if start > 0 {
		b.buf = append(b.buf, '\n', '\n')
	}
	body := len(b.buf)
	if plain(p) {
		b.buf = append(b.buf, p...)
	} else {
		b.buf = append(b.buf, text.Trim(text.Freeze(string(p)))...)
	}
	if len(b.buf) == body {
		b.buf = b.buf[:start]
		return
	}
	if kind != "" {
		b.marks = append(b.marks, span{kind, body, len(b.buf)})
	}
}

// plain reports printable ASCII with no white space at either end or line
// end: text that freezing and trimming would leave as it is.
func plain(p []byte) bool {
	prev := byte(' ')
	for _, c := range p {
		if c < ' ' && c != '\n' || c >= 0x7F {
			return false
		}
		if c == '\n' && prev == ' ' {
			return false
		}
		prev = c
	}
	return len(p) == 0 || p[0] > ' ' && prev > ' '
}

// Section calls add and records what it added as an upstream section, unless
// that was nothing.
func (b *Builder) Section(id string, add func()) {
	start := len(b.buf)
	add()
	if len(b.buf) == start {
		return
	}
	if start > 0 {
		start += len("\n\n")
	}
	b.sections = append(b.sections, span{id, start, len(b.buf)})
}

// Fill sets the story's text and all that follows from it: hash, words,
// sections and marks. Sections are nil unless Section was called.
func (b *Builder) Fill(s *schemas.Story) {
	s.Text = string(b.buf)
	s.TextHash = schemas.HashText(s.Text)
	s.Words = text.Words(s.Text)
	s.Sections, s.Marks = nil, []schemas.Mark{}
	if len(b.marks)+len(b.sections) == 0 {
		return
	}
	ix := text.NewIndex(s.Text)
	for _, m := range b.marks {
		s.Marks = append(s.Marks, schemas.Mark{Kind: m.name, Bounds: bounds(ix, m)})
	}
	for _, m := range b.sections {
		s.Sections = append(s.Sections, schemas.Section{ID: m.name, Bounds: bounds(ix, m)})
	}
}

func bounds(ix *text.Index, m span) schemas.Bounds {
	sp := ix.Span(text.Range{Start: m.start, End: m.end})
	return schemas.Bounds{Start: sp.Start, End: sp.End}
}
