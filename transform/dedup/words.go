// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"encoding/binary"
	"math/bits"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Classes of a byte below U+0080, beside the lower-case letters and digits,
// which stand for themselves.
const (
	apart    = 0    // parts words
	nothing  = 1    // vanishes
	extended = 0xFF // the first byte of a longer character
)

// classes gives each byte its class or its lower-case form.
var classes = func() (t [256]byte) {
	for c := range t {
		switch {
		case c >= utf8.RuneSelf:
			t[c] = extended
		case '0' <= c && c <= '9', 'a' <= c && c <= 'z':
			t[c] = byte(c)
		case 'A' <= c && c <= 'Z':
			t[c] = byte(c) + 'a' - 'A'
		case c == '\'':
			t[c] = nothing
		}
	}
	return t
}()

// folded is a text cut into words. Its slices are reused from text to text.
type folded struct {
	text   []byte   // words, each followed by a blank, and slack of 8 bytes
	hashes []uint64 // of each word
	len    int      // of text without the slack
}

// fold cuts s into words. It is the rule; hashWords gives the same hashes
// faster, without the words.
func (f *folded) fold(s string) {
	// A character grows when folded at most as U+FDFA does, from 3 bytes to
	// 33; put makes room for those, the loop below needs one byte a byte.
	if need := len(s) + 64; cap(f.text) < need {
		f.text = make([]byte, need+need/8)
	}
	buf := f.text[:cap(f.text)]
	f.hashes = f.hashes[:0]
	n, start := 0, 0
	for i := 0; i < len(s); {
		k := classes[s[i]]
		if k > nothing && k != extended {
			buf[n] = k
			n++
			i++
			continue
		}
		if k == nothing {
			i++
			continue
		}
		if k == extended {
			r, size := utf8.DecodeRuneInString(s[i:])
			i += size
			what, fold := foldRune(r)
			switch what {
			case partOfWord, ownWord:
				if need := n + len(fold) + 2 + len(s) - i + 16; len(buf) < need {
					buf = append(buf[:n], make([]byte, need+need/4-n)...)
				}
				if what == ownWord && n > start {
					n = f.end(buf, start, n)
					start = n
				}
				for j := range len(fold) {
					if fold[j] != ' ' {
						buf[n] = fold[j]
						n++
					} else if n > start {
						n = f.end(buf, start, n)
						start = n
					}
				}
				if what == partOfWord {
					continue
				}
			case vanishes:
				continue
			}
		} else {
			i++
		}
		if n > start {
			n = f.end(buf, start, n)
			start = n
		}
	}
	if n > start {
		n = f.end(buf, start, n)
	}
	f.text, f.len = buf, n
}

// end hashes the word buf[start:n] and puts a blank behind it.
func (f *folded) end(buf []byte, start, n int) int {
	buf[n] = ' '
	f.hashes = append(f.hashes, hashWord(buf, start, n))
	return n + 1
}

// bytes returns the folded text: words with a blank behind each.
func (f *folded) bytes() []byte { return f.text[:f.len] }

// Odd constants with well-spread bits (the fractional parts of square roots of
// 2, 3, 5, 7).
const (
	k0 = 0x6A09E667F3BCC909
	k1 = 0xBB67AE8584CAA73B
	k2 = 0x3C6EF372FE94F82B
	k3 = 0xA54FF53A5F1D36F1
)

// hashWord hashes buf[start:end], eight bytes at a time. buf must reach at
// least 8 bytes past end; what stands there does not matter.
func hashWord(buf []byte, start, end int) uint64 {
	h := uint64(end-start) * k3
	for ; end-start > 8; start += 8 {
		h = mix(h^binary.LittleEndian.Uint64(buf[start:]), k0)
	}
	last := binary.LittleEndian.Uint64(buf[start:start+8]) & (^uint64(0) >> (64 - 8*uint(end-start)))
	return mix(h^last, k1)
}

// mix multiplies to 128 bits and folds the halves.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// What a character does to the words around it.
type effect byte

const (
	parts      effect = iota // ends a word
	partOfWord               // belongs to a word
	ownWord                  // is a word
	vanishes                 // is not seen
)

// latin holds foldRune's answers for U+0080 to U+024F.
var latin = func() (t [0x250 - 0x80]struct {
	what effect
	fold string
}) {
	for i := range t {
		t[i].what, t[i].fold = slowFoldRune(rune(i + 0x80))
	}
	return t
}()

// foldRune says what the character r from U+0080 on is, and for parts of words
// its lower case without accents. A blank in fold parts words.
func foldRune(r rune) (what effect, fold string) {
	if r < 0x250 {
		return latin[r-0x80].what, latin[r-0x80].fold
	}
	switch r { // the common ones
	case '’', '‘':
		return vanishes, ""
	case '“', '”', '—', '–', '…', '\u3000', '，', '。', '、':
		return parts, ""
	}
	return slowFoldRune(r)
}

func slowFoldRune(r rune) (effect, string) {
	switch {
	case unseen(r):
		return vanishes, ""
	case isCJK(r):
		return ownWord, string(r)
	case !isLetter(r):
		return parts, ""
	}
	var b strings.Builder
	for _, d := range norm.NFKD.String(string(r)) {
		switch {
		case unseen(d):
		case isCJK(d): // a number in a circle
			b.WriteByte(' ')
			b.WriteRune(d)
			b.WriteByte(' ')
		case isLetter(d):
			b.WriteString(lower(d))
		default: // the stroke of a fraction
			b.WriteByte(' ')
		}
	}
	return partOfWord, b.String()
}

// unseen reports apostrophes, soft hyphens, joiners and accents that stand
// alone.
func unseen(r rune) bool {
	switch r {
	case '\'', '’', '‘', 'ʼ', '\u00ad', '\u200b', '\u200c', '\u200d', '\u2060', '\ufeff':
		return true
	}
	return 0x300 <= r && r < 0x370
}

func isCJK(r rune) bool { return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) }

func isLetter(r rune) bool { return unicode.In(r, unicode.L, unicode.N, unicode.M) }

// lower is the lower case of r; letters that editions spell with two ASCII
// letters are spelled so.
func lower(r rune) string {
	switch r = unicode.ToLower(r); r {
	case 'æ':
		return "ae"
	case 'œ':
		return "oe"
	case 'ß':
		return "ss"
	case 'ø':
		return "o"
	case 'đ', 'ð':
		return "d"
	case 'þ':
		return "th"
	case 'ł':
		return "l"
	case 'ı':
		return "i"
	}
	return string(r)
}
