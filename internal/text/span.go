// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"sort"
	"unicode/utf8"
)

// Range is a half-open range of bytes in a string.
type Range struct{ Start, End int }

// Of returns the part of s that the range covers.
func (r Range) Of(s string) string { return s[r.Start:r.End] }

// Len returns the number of bytes in the range.
func (r Range) Len() int { return r.End - r.Start }

// Span is a half-open place in a frozen text, in three units that always
// agree: Start and End count Unicode code points (so that Python's
// text[start:end] gives the quote), the others UTF-8 bytes and UTF-16 code
// units (as JavaScript and Java count).
type Span struct {
	Start, End           int
	ByteStart, ByteEnd   int
	UTF16Start, UTF16End int
}

// step is the distance, in bytes, between two marks of an Index.
const step = 128

// Index converts offsets of one text between units. Making one reads the text
// once; each conversion then reads at most [step] bytes.
type Index struct {
	s     string
	ascii bool
	// marks[i] counts what ends at or before byte i*step; a character counts
	// at its first byte.
	marks []mark
	total mark
}

type mark struct{ runes, units int }

// NewIndex indexes s. Bytes that are not UTF-8 count as one code point and
// one UTF-16 unit each, as Go's range loop has it; a frozen text has none.
func NewIndex(s string) *Index {
	ix := &Index{s: s, ascii: true}
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			ix.ascii = false
			break
		}
	}
	if ix.ascii {
		ix.total = mark{len(s), len(s)}
		return ix
	}
	ix.marks = make([]mark, 0, len(s)/step+1)
	var m mark
	next := 0
	for i, r := range s {
		for next <= i {
			ix.marks = append(ix.marks, m)
			next += step
		}
		m.runes++
		m.units += unitsOf(r)
	}
	for next <= len(s) {
		ix.marks = append(ix.marks, m)
		next += step
	}
	ix.total = m
	return ix
}

func unitsOf(r rune) int {
	if r >= 0x10000 {
		return 2
	}
	return 1
}

// Text returns the indexed text.
func (ix *Index) Text() string { return ix.s }

// Runes returns the length of the text in code points.
func (ix *Index) Runes() int { return ix.total.runes }

// UTF16 returns the length of the text in UTF-16 code units.
func (ix *Index) UTF16() int { return ix.total.units }

// Span gives a byte range in all three units. It panics, as slicing does, if
// the range is not one of the text or cuts a character in two; use
// [Index.FromBytes] for ranges that come from outside.
func (ix *Index) Span(r Range) Span {
	sp, err := ix.FromBytes(r.Start, r.End)
	if err != nil {
		panic(err)
	}
	return sp
}

// FromBytes converts a half-open range of bytes.
func (ix *Index) FromBytes(start, end int) (Span, error) {
	if err := checkRange("byte", start, end, len(ix.s)); err != nil {
		return Span{}, err
	}
	a, ok := ix.atByte(start)
	if !ok {
		return Span{}, fmt.Errorf("byte span [%d,%d): start is inside a character", start, end)
	}
	b, ok := ix.atByte(end)
	if !ok {
		return Span{}, fmt.Errorf("byte span [%d,%d): end is inside a character", start, end)
	}
	return Span{a.runes, b.runes, start, end, a.units, b.units}, nil
}

// FromRunes converts a half-open range of code points. It refuses a range
// that starts before the text, ends before it starts or ends past the text.
func (ix *Index) FromRunes(start, end int) (Span, error) {
	if err := checkRange("code point", start, end, ix.total.runes); err != nil {
		return Span{}, err
	}
	bs, a, _ := ix.find(start, func(m mark) int { return m.runes })
	be, b, _ := ix.find(end, func(m mark) int { return m.runes })
	return Span{start, end, bs, be, a.units, b.units}, nil
}

// FromUTF16 converts a half-open range of UTF-16 code units, with the same
// refusals as FromRunes. An offset between the two halves of a surrogate pair
// is refused too.
func (ix *Index) FromUTF16(start, end int) (Span, error) {
	if err := checkRange("UTF-16", start, end, ix.total.units); err != nil {
		return Span{}, err
	}
	bs, a, ok := ix.find(start, func(m mark) int { return m.units })
	if !ok {
		return Span{}, fmt.Errorf("UTF-16 span [%d,%d): start is inside a surrogate pair", start, end)
	}
	be, b, ok := ix.find(end, func(m mark) int { return m.units })
	if !ok {
		return Span{}, fmt.Errorf("UTF-16 span [%d,%d): end is inside a surrogate pair", start, end)
	}
	return Span{a.runes, b.runes, bs, be, start, end}, nil
}

func checkRange(unit string, start, end, length int) error {
	switch {
	case start < 0:
		return fmt.Errorf("%s span [%d,%d): start is negative", unit, start, end)
	case end < start:
		return fmt.Errorf("%s span [%d,%d): end is before start", unit, start, end)
	case end > length:
		return fmt.Errorf("%s span [%d,%d): end is past the text, which has length %d", unit, start, end, length)
	}
	return nil
}

// atByte counts what stands before byte offset off; ok is false if off is
// inside a character.
func (ix *Index) atByte(off int) (m mark, ok bool) {
	if ix.ascii {
		return mark{off, off}, true
	}
	i, m := ix.markBefore(off / step)
	for i < off {
		r, n := utf8.DecodeRuneInString(ix.s[i:])
		i += n
		m.runes++
		m.units += unitsOf(r)
	}
	return m, i == off
}

// find returns the byte offset of the place where unit(counts) equals want,
// and the counts there; ok is false if there is none.
func (ix *Index) find(want int, unit func(mark) int) (int, mark, bool) {
	if ix.ascii {
		return want, mark{want, want}, true
	}
	k := sort.Search(len(ix.marks), func(k int) bool { return unit(ix.marks[k]) > want }) - 1
	i, m := ix.markBefore(k)
	for unit(m) < want {
		r, n := utf8.DecodeRuneInString(ix.s[i:])
		i += n
		m.runes++
		m.units += unitsOf(r)
	}
	return i, m, unit(m) == want
}

// markBefore returns mark k and the byte offset it counts up to.
// A mark that falls inside a character was taken after that character's
// first byte was counted, so the offset moves to the character's end.
func (ix *Index) markBefore(k int) (int, mark) {
	m := ix.marks[k]
	i := k * step
	return ix.boundary(i), m
}

// boundary moves i forward to the next start of a character.
func (ix *Index) boundary(i int) int {
	for back := 1; back < utf8.UTFMax && i-back >= 0; back++ {
		if utf8.RuneStart(ix.s[i-back]) {
			if _, n := utf8.DecodeRuneInString(ix.s[i-back:]); n > back {
				return i - back + n
			}
			break
		}
	}
	return i
}

// Check reports whether sp is a place of the indexed text, whether its three
// units agree, and whether the text there is quote.
func (ix *Index) Check(sp Span, quote string) error {
	want, err := ix.FromRunes(sp.Start, sp.End)
	if err != nil {
		return err
	}
	got := ix.s[want.ByteStart:want.ByteEnd]
	switch {
	case got != quote:
		return fmt.Errorf("span [%d,%d): text there is %s, not %s", sp.Start, sp.End, brief(got), brief(quote))
	case sp.ByteStart != want.ByteStart || sp.ByteEnd != want.ByteEnd:
		return fmt.Errorf("span [%d,%d): bytes are [%d,%d), not [%d,%d)",
			sp.Start, sp.End, want.ByteStart, want.ByteEnd, sp.ByteStart, sp.ByteEnd)
	case sp != want:
		return fmt.Errorf("span [%d,%d): UTF-16 units are [%d,%d), not [%d,%d)",
			sp.Start, sp.End, want.UTF16Start, want.UTF16End, sp.UTF16Start, sp.UTF16End)
	}
	return nil
}

// Check is [Index.Check] for one span of s. To check many spans of one text,
// index it once.
func (sp Span) Check(s, quote string) error { return NewIndex(s).Check(sp, quote) }

// brief quotes the start of s for an error message.
func brief(s string) string {
	const most = 60
	if utf8.RuneCountInString(s) <= most {
		return fmt.Sprintf("%q", s)
	}
	r := []rune(s)
	return fmt.Sprintf("%q... (%d code points)", string(r[:most]), len(r))
}
