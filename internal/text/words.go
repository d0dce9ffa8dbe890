// SPDX-License-Identifier: Apache-2.0

package text

import (
	"iter"
	"unicode"
	"unicode/utf8"
)

// isSpace reports what Python's str.split takes for white space: Unicode
// White_Space and the four information separators U+001C to U+001F. Word
// counts of the reference code come from str.split.
func isSpace(r rune) bool {
	return unicode.IsSpace(r) || r >= 0x1C && r <= 0x1F
}

// asciiSpace is isSpace below U+0080.
var asciiSpace = [utf8.RuneSelf]bool{
	'\t': true, '\n': true, '\v': true, '\f': true, '\r': true, ' ': true,
	0x1C: true, 0x1D: true, 0x1E: true, 0x1F: true,
}

// spaceAt returns the length of the character at byte i of s and whether it is
// white space.
func spaceAt(s string, i int) (n int, space bool) {
	if c := s[i]; c < utf8.RuneSelf {
		return 1, asciiSpace[c]
	}
	r, n := utf8.DecodeRuneInString(s[i:])
	return n, isSpace(r)
}

// Words counts the words of s: runs of non-white-space, as Python's
// len(s.split()). A dash between blanks is a word, a hyphenated compound is
// one, and so is a Chinese clause without blanks; see [WordsCJK].
func Words(s string) int {
	words := 0
	before := uint8(1) // 1 after white space and at the start
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			// Without a branch: which byte ends a word is hard to predict.
			now := asciiSpaceBit[c]
			words += int(before &^ now)
			before = now
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		now := uint8(0)
		if isSpace(r) {
			now = 1
		}
		words += int(before &^ now)
		before = now
		i += n
	}
	return words
}

// asciiSpaceBit is asciiSpace as a number.
var asciiSpaceBit = func() (t [utf8.RuneSelf]uint8) {
	for c, space := range asciiSpace {
		if space {
			t[c] = 1
		}
	}
	return t
}()

// WordRanges yields the byte ranges of the words of s, as Words counts them.
func WordRanges(s string) iter.Seq[Range] {
	return func(yield func(Range) bool) {
		start := -1
		for i := 0; i < len(s); {
			n, space := spaceAt(s, i)
			switch {
			case space && start >= 0:
				if !yield(Range{start, i}) {
					return
				}
				start = -1
			case !space && start < 0:
				start = i
			}
			i += n
		}
		if start >= 0 {
			yield(Range{start, len(s)})
		}
	}
}

// WordsCJK counts words where Chinese and Japanese stand among others: each
// ideograph or kana is a word, and what is left between them counts as Words
// does, so a full stop after an ideograph is a word of its own. Korean is
// written with blanks and needs no such help.
func WordsCJK(s string) int {
	n := 0
	in := false
	for _, r := range s {
		switch {
		case isCJK(r):
			n++
			in = false
		case isSpace(r):
			in = false
		case !in:
			n++
			in = true
		}
	}
	return n
}

// isCJK reports an ideograph or a kana.
func isCJK(r rune) bool {
	return r >= 0x2E80 && (r == 'ー' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana))
}
