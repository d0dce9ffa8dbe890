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
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/bits"
	"slices"
	"strings"
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
// the blanks that stood before it, Width the line's characters; 0 = not counted
// yet.
type Line struct {
	Text   string
	Indent int
	Width  int
}

func (l *Line) width() int {
	if l.Width == 0 {
		l.Width = utf8.RuneCountInString(l.Text)
	}
	return l.Width
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
	gaps := n - 1
	room, spare := 0, true
	for i := 1; i < n; i++ {
		need := lines[i-1].width() + 1 + firstWord(lines[i].Text)
		if lines[i-1].Indent+need <= width {
			room++
		} else if (room+n-1-i)*2 < gaps {
			return false // prose, as most blocks are
		}
		spare = spare && need+10 <= width
	}
	capitals, ownRoom, long, ends := 0, 0, 0, 0
	indented := true
	for i := range lines {
		l := &lines[i]
		if startsCapital(l.Text) {
			capitals++
		}
		if i > 0 && l.Indent < 2 {
			indented = false
		}
		if endsSentence(l.Text) {
			ends++
		}
		long = max(long, l.width())
	}
	for i := 1; i < n; i++ {
		if lines[i-1].width()+1+firstWord(lines[i].Text) <= long {
			ownRoom++
		}
	}
	switch {
	case room*2 < gaps:
		return false
	case indented && lines[0].Indent >= 2:
		// Prose set to a narrower measure: no room at its own width either,
		// and lines begin in mid-sentence.
		return ownRoom*4 > gaps || capitals*3 >= n*2
	case ends == n:
		return false // sentences, one a line
	default:
		// At the left edge, verse has a capital to each line, or lines far
		// shorter than the measure.
		// A paragraph of dialogue may well have two lines that begin with a
		// capital and some room, so few lines must be short.
		switch {
		case n < 4:
			return capitals == n && long*5 <= width*4
		}
		return capitals*5 >= n*4 && room*3 >= gaps*2 && (long*100 <= width*88 || room == gaps && spare)
	}
}

func endsSentence(s string) bool {
	s = strings.TrimRight(s, "\"'”’)_]")
	return s != "" && strings.IndexByte(".!?", s[len(s)-1]) >= 0
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

// firstWord is the length of s up to its first blank, in characters.
func firstWord(s string) int {
	n := 0
	for i := 0; i < len(s) && s[i] != ' '; i++ {
		if s[i]&0xC0 != 0x80 {
			n++
		}
	}
	return n
}

// Join appends line to dst, a paragraph so far, and undoes the wrap between
// them. A hyphen after a letter and a dash end a line without a blank to
// follow (`well-` + `known`, `day--` + `fell`), and so does a dash that starts
// the next one; any other two lines are parted by a blank.
func Join(dst []byte, line string) []byte { return join(dst, line) }

// JoinBytes is Join for a line that may lie right behind dst in the same array.
func JoinBytes(dst, line []byte) []byte { return join(dst, line) }

func join[T string | []byte](dst []byte, line T) []byte {
	if len(dst) == 0 || len(line) == 0 {
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
func opensWithDash[T string | []byte](s T) bool {
	i := 0
	for i < len(s) && s[i] == '-' {
		i++
	}
	if i >= 2 {
		return i < len(s) && s[i] != ' '
	}
	if len(s) > 3 && s[0] == 0xE2 && s[1] == 0x80 && s[2] == 0x94 { // an em dash
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

// Grow makes room for n bytes.
func (b *Builder) Grow(n int) { b.buf = slices.Grow(b.buf, n) }

// Reset empties the builder and keeps its room.
func (b *Builder) Reset() { b.buf, b.marks, b.sections = b.buf[:0], b.marks[:0], b.sections[:0] }

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

// plain reports text that freezing and trimming would leave as it is, where
// that is quick to see: no white space at either end or line end, and nothing
// but printable ASCII, typographic quotes, dashes and ellipses, and the letters
// of Latin-1, none of which can combine with another.
func plain(p []byte) bool {
	if len(p) == 0 {
		return true
	}
	if p[0] <= ' ' || p[len(p)-1] <= ' ' {
		return false
	}
	for i := 0; i < len(p); {
		if i+8 <= len(p) {
			// Eight bytes at once: none below a blank, none above '~'.
			x := binary.LittleEndian.Uint64(p[i:])
			if (x|(x-0x2020202020202020)|(x+0x0101010101010101))&0x8080808080808080 == 0 {
				i += 8
				continue
			}
		}
		switch c := p[i]; {
		case c >= ' ' && c < 0x7F:
			i++
		case c == '\n' && p[i-1] != ' ':
			i++
		case c == 0xE2 && i+2 < len(p) && p[i+1] == 0x80 && (p[i+2] >= 0x93 && p[i+2] <= 0x9E || p[i+2] == 0xA6):
			i += 3
		case c == 0xC3 && i+1 < len(p) && p[i+1] >= 0x80 && p[i+1] <= 0xBF:
			i += 2
		default:
			return false
		}
	}
	return true
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
	sum := sha256.Sum256(b.buf) // schemas.HashText without its copy
	s.TextHash = hex.EncodeToString(sum[:])
	s.Words = text.Words(s.Text)
	s.Sections, s.Marks = nil, []schemas.Mark{}
	if len(b.marks)+len(b.sections) == 0 {
		return
	}
	// Code points are counted from each offset to the next one asked for;
	// marks and sections are in order.
	at, n := 0, 0
	runes := func(off int) int {
		if off < at {
			at, n = 0, 0
		}
		m, _ := Scan(s.Text[at:off])
		at, n = off, n+m
		return n
	}
	for _, m := range b.marks {
		start := runes(m.start)
		s.Marks = append(s.Marks, schemas.Mark{Kind: m.name, Bounds: schemas.Bounds{Start: start, End: runes(m.end)}})
	}
	for _, m := range b.sections {
		start := runes(m.start)
		s.Sections = append(s.Sections, schemas.Section{ID: m.name, Bounds: schemas.Bounds{Start: start, End: runes(m.end)}})
	}
}

// Scan counts the code points of s, which is valid UTF-8, and reports whether
// two blanks stand side by side in it. It works on eight bytes at once.
func Scan(s string) (runes int, double bool) {
	i := 0
	last := uint64(0) // top bit: the byte before is a blank
	for ; i+8 <= len(s); i += 8 {
		x := load8(s, i)
		// Continuation bytes are 10xxxxxx.
		runes += 8 - bits.OnesCount64(x&tops&^(x<<1))
		z := blanks(x)
		if z&(z<<8|last>>56) != 0 {
			double = true
		}
		last = z & (0x80 << 56)
	}
	if i < len(s) && len(s) >= 8 {
		// The last bytes, with those before them shifted out: zeros, which are
		// no blanks and count as code points.
		gone := 8 - (len(s) - i)
		x := load8(s, len(s)-8) >> (8 * gone)
		runes += 8 - gone - bits.OnesCount64(x&tops&^(x<<1))
		if z := blanks(x); z&(z<<8|last>>56) != 0 {
			double = true
		}
		return runes, double
	}
	for ; i < len(s); i++ {
		if s[i]&0xC0 != 0x80 {
			runes++
		}
		if s[i] == ' ' && i > 0 && s[i-1] == ' ' {
			double = true
		}
	}
	return runes, double
}

const (
	ones = 0x0101010101010101
	tops = 0x8080808080808080
)

// load8 returns the eight bytes of s from i on, the first one lowest.
func load8(s string, i int) uint64 {
	_ = s[i+7]
	return uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
		uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
}

// blanks sets the top bit of each byte of x that is a blank, and no other bit.
func blanks(x uint64) uint64 {
	y := x ^ 0x20*ones // its zero bytes are blanks
	return ^((y&^tops + 0x7F*ones) | y | 0x7F*ones)
}

// BlankMask returns where blanks stand in the up to eight bytes of s from i on:
// bit 8k+7 says that s[i+k] is one.
func BlankMask(s string, i int) uint64 {
	if i+8 > len(s) {
		return lastBlanks(s, len(s)-i)
	}
	return blanks(load8(s, i))
}

// lastBlanks is BlankMask of the n bytes at the end of s, n < 8.
func lastBlanks(s string, n int) uint64 {
	if n <= 0 {
		return 0
	}
	if len(s) >= 8 {
		return blanks(load8(s, len(s)-8)) >> (8 * (8 - n))
	}
	m := uint64(0)
	for k := range n {
		if s[len(s)-n+k] == ' ' {
			m |= 0x80 << (8 * k)
		}
	}
	return m
}
