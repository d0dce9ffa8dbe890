// SPDX-License-Identifier: Apache-2.0

package text

import (
	"iter"
	"math/bits"
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
	before := uint64(1) // 1 after white space and at the start
	for i := 0; i < len(s); {
		if i+8 <= len(s) {
			x := load8(s, i)
			if x&highBits == 0 {
				// Eight ASCII bytes at once, without a branch: which of them
				// ends a word is hard to predict. The top bit of a byte says
				// that it is white space, see asciiSpace.
				space := ((x+(0x80-'\t')*eachByte)&^(x+(0x80-'\r'-1)*eachByte) |
					(x+(0x80-0x1C)*eachByte)&^(x+(0x80-' '-1)*eachByte)) & highBits
				words += bits.OnesCount64((space<<8 | before<<7) &^ space)
				before = space >> 63
				i += 8
				continue
			}
		}
		n, space := spaceAt(s, i)
		now := uint64(0)
		if space {
			now = 1
		}
		words += int(before &^ now)
		before = now
		i += n
	}
	return words
}

// Masks for eight bytes in a word.
const (
	eachByte = 0x0101010101010101
	highBits = 0x8080808080808080
)

// load8 returns the eight bytes of s from i on, the first one lowest.
func load8(s string, i int) uint64 {
	_ = s[i+7]
	return uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
		uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
}

// WordRanges yields the byte ranges of the words of s, as Words counts them.
func WordRanges(s string) iter.Seq[Range] {
	return func(yield func(Range) bool) {
		for i := 0; i < len(s); {
			n, space := spaceAt(s, i)
			if space {
				i += n
				continue
			}
			start := i
			for !space {
				if i += n; i == len(s) {
					break
				}
				n, space = spaceAt(s, i)
			}
			if !yield(Range{start, i}) {
				return
			}
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
