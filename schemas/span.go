// SPDX-License-Identifier: Apache-2.0

package schemas

import (
	"fmt"
	"unicode/utf8"
)

// Offsets is one half-open range of a text in three units: Unicode code
// points (Python's text[start:end]), UTF-8 bytes, and UTF-16 code units
// (JavaScript, Java). Its fields are those of text.Span in the same order, so
// that one converts to the other.
type Offsets struct {
	Start      int `json:"start"`
	End        int `json:"end"`
	ByteStart  int `json:"byte_start"`
	ByteEnd    int `json:"byte_end"`
	UTF16Start int `json:"utf16_start"`
	UTF16End   int `json:"utf16_end"`
}

// Bounds is a half-open range in code points alone.
type Bounds struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// Span is a quotation of a text: where it stands, in which sentence of the
// row (a 0-based index into its sentences, -1 where sentences do not apply),
// and the text's own characters there.
type Span struct {
	Offsets
	Sentence int    `json:"sentence"`
	Text     string `json:"text"`
}

// Edit says that the characters at the span stand where Old stood in the
// source story. A pure deletion has an empty span text.
type Edit struct {
	Span
	Old string `json:"old"`
	// SourceStart is the offset of Old in the source text, in code points.
	SourceStart int `json:"source_start"`
}

// Slice returns the characters of s between two code point offsets.
func (b Bounds) Slice(s string) (string, error) {
	if b.Start < 0 || b.End < b.Start {
		return "", fmt.Errorf("range [%d,%d) starts before the text or ends before it starts", b.Start, b.End)
	}
	from, err := byteOffset(s, b.Start)
	if err != nil {
		return "", err
	}
	to, err := byteOffset(s[from:], b.End-b.Start)
	if err != nil {
		return "", fmt.Errorf("range [%d,%d) does not lie in a text of %d code points", b.Start, b.End, utf8.RuneCountInString(s))
	}
	return s[from : from+to], nil
}

// SentenceAt returns the index of the sentence that holds code point offset, or
// of the one before it where offset lies between two.
func SentenceAt(sentences []Bounds, offset int) int {
	at := 0
	for i, b := range sentences {
		if b.Start > offset {
			break
		}
		at = i
	}
	return at
}

// Check reports whether the span holds in story, in all three units.
func (s Span) Check(story string) error {
	got, err := s.at(story)
	if err != nil {
		return err
	}
	if got != s.Text {
		return fmt.Errorf("span [%d,%d) quotes %q but the text there is %q", s.Start, s.End, clip(s.Text), clip(got))
	}
	return nil
}

func (o Offsets) at(story string) (string, error) {
	if o.Start < 0 || o.End < o.Start || o.ByteStart < 0 || o.ByteEnd < o.ByteStart || o.ByteEnd > len(story) {
		return "", fmt.Errorf("span [%d,%d), bytes [%d,%d), does not lie in a text of %d code points and %d bytes",
			o.Start, o.End, o.ByteStart, o.ByteEnd, utf8.RuneCountInString(story), len(story))
	}
	got := story[o.ByteStart:o.ByteEnd]
	before := story[:o.ByteStart]
	start, start16 := measure(before)
	n, n16 := measure(got)
	switch {
	case o.ByteStart < len(story) && !utf8.RuneStart(story[o.ByteStart]), o.ByteEnd < len(story) && !utf8.RuneStart(story[o.ByteEnd]):
		return "", fmt.Errorf("span at bytes [%d,%d) cuts a character in two", o.ByteStart, o.ByteEnd)
	case start != o.Start || start+n != o.End:
		return "", fmt.Errorf("span says code points [%d,%d) but bytes [%d,%d) are code points [%d,%d)", o.Start, o.End, o.ByteStart, o.ByteEnd, start, start+n)
	case start16 != o.UTF16Start || start16+n16 != o.UTF16End:
		return "", fmt.Errorf("span says UTF-16 units [%d,%d) but bytes [%d,%d) are UTF-16 units [%d,%d)", o.UTF16Start, o.UTF16End, o.ByteStart, o.ByteEnd, start16, start16+n16)
	}
	return got, nil
}

func measure(s string) (runes, units int) {
	for _, r := range s {
		runes++
		units++
		if r > 0xFFFF {
			units++
		}
	}
	return runes, units
}

// byteOffset is the byte at which code point number runes of s starts.
func byteOffset(s string, runes int) (int, error) {
	at := 0
	for n := 0; n < runes; n++ {
		if at >= len(s) {
			return 0, fmt.Errorf("offset %d lies past the end of a text of %d code points", runes, n)
		}
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
	}
	return at, nil
}

func clip(s string) string {
	const most = 60
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	r := []rune(s)
	return string(r[:most]) + "…"
}
