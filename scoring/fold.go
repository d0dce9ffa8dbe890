// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// The default scorer compares texts as lists of folded words, so that a
// typographic quote mark, a line break or an emphasis star decides nothing:
//
//   - invisible characters vanish (zero-width ones, soft hyphens, variation
//     selectors), apostrophes too: "don’t" is "dont";
//   - the rest goes through Unicode NFKC and simple lower-casing;
//   - a word is a maximal run of letters, digits and marks; everything else,
//     hyphens and all the world's quote marks included, only parts words;
//   - an ideograph or a kana is a word of its own.
//
// The plain Python page of the evaluation kit (datasets/evalkit) does the same
// in the same order; a test holds the two together.

// appendWords appends the folded words of s to dst, as ranges of buf, and
// returns both grown. ASCII, the letters of Western Europe and common
// typography are folded in one pass; a text with anything else goes through
// the general way.
func appendWords(buf []byte, dst []wordRange, s string) ([]byte, []wordRange) {
	start, words := len(buf), len(dst)
	at := start
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			i++
			switch f := asciiFold[c]; f {
			case 0:
				if len(buf) > at {
					dst = append(dst, wordRange{at, len(buf)})
					at = len(buf)
				}
			case '\'':
			default:
				buf = append(buf, f)
			}
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch {
		case r == '’' || r == '‘':
		case r >= 0xC0 && r <= 0xFF && r != '×' && r != '÷':
			if r <= 0xDE {
				r += 0x20
			}
			buf = utf8.AppendRune(buf, r)
		case plainMark(r):
			if len(buf) > at {
				dst = append(dst, wordRange{at, len(buf)})
				at = len(buf)
			}
		default:
			return appendWordsUnicode(buf[:start], dst[:words], foldRunes(s))
		}
	}
	if len(buf) > at {
		dst = append(dst, wordRange{at, len(buf)})
	}
	return buf, dst
}

// plainMark reports common marks that part words and that folding leaves
// marks: no-break space, guillemets, dashes, quote marks, the ellipsis.
func plainMark(r rune) bool {
	switch r {
	case 0xA0, '¡', '«', '»', '¿', '×', '÷', '‐', '‑', '‒', '–', '—', '―', '“', '”', '„', '‟', '•', '…', '‹', '›':
		return true
	}
	return false
}

type wordRange struct{ start, end int }

// asciiFold holds the folded letter or digit, an apostrophe for characters
// that vanish inside words, and 0 for what parts words.
var asciiFold = func() (t [utf8.RuneSelf]byte) {
	for c := range t {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			t[c] = byte(c)
		case c >= 'A' && c <= 'Z':
			t[c] = byte(c) + 'a' - 'A'
		case c == '\'', c == '`':
			t[c] = '\''
		}
	}
	return t
}()

func appendWordsUnicode(buf []byte, dst []wordRange, folded string) ([]byte, []wordRange) {
	start := len(buf)
	flush := func() {
		if len(buf) > start {
			dst = append(dst, wordRange{start, len(buf)})
			start = len(buf)
		}
	}
	for _, r := range folded {
		switch {
		case r == '\'':
		case isCJK(r):
			flush()
			buf = utf8.AppendRune(buf, r)
			flush()
		case unicode.IsLetter(r) || unicode.IsNumber(r):
			buf = utf8.AppendRune(buf, r)
		case unicode.IsMark(r):
			if len(buf) > start { // a mark without a letter is no word
				buf = utf8.AppendRune(buf, r)
			}
		default:
			flush()
		}
	}
	flush()
	return buf, dst
}

// foldRunes does the character level of the folding.
func foldRunes(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range s {
		switch {
		case invisible(r):
		case strings.ContainsRune(apostrophes, r):
			b.WriteByte('\'')
		default:
			b.WriteRune(r)
		}
	}
	return strings.Map(unicode.ToLower, norm.NFKC.String(b.String()))
}

// apostrophes are the characters that stand for one in real answers.
const apostrophes = "'’‘ʼ`´′‛＇"

// invisible reports characters that nobody sees and that must not part or
// change a word: Unicode category Cf (zero-width space and joiners, byte order
// mark, soft hyphen, direction marks, tags) and the other code points that
// Unicode calls default ignorable.
func invisible(r rune) bool {
	switch {
	case r < 0xAD:
		return false
	case unicode.Is(unicode.Cf, r):
		return true
	case r == 0x034F, r == 0x115F, r == 0x1160, r == 0x17B4, r == 0x17B5, r == 0x3164, r == 0xFFA0:
		return true
	}
	return r >= 0x180B && r <= 0x180F || r >= 0xFE00 && r <= 0xFE0F || r >= 0xE0100 && r <= 0xE01EF
}

// isCJK reports an ideograph or a kana, by fixed ranges so that another
// language's Unicode tables cannot disagree.
func isCJK(r rune) bool {
	return r >= 0x3040 && (r <= 0x30FF && r != 0x30FB || // kana, without the middle dot
		r >= 0x3400 && r <= 0x4DBF || r >= 0x4E00 && r <= 0x9FFF || // ideographs
		r >= 0xF900 && r <= 0xFAFF || r >= 0x20000 && r <= 0x323AF)
}

// Words returns the folded words of s, as the default scorer compares them.
func Words(s string) []string {
	buf, ranges := appendWords(nil, nil, s)
	if len(ranges) == 0 {
		return nil
	}
	out := make([]string, len(ranges))
	for i, r := range ranges {
		out[i] = string(buf[r.start:r.end])
	}
	return out
}

// guarded reports a folded word that fuzziness must not change: one with a
// digit, a number in words, or a negation. A quote that differs from a
// sentence in such a word says something else.
func guarded(w []byte) bool {
	if guardWords[string(w)] {
		return true
	}
	for i := 0; i < len(w); {
		if c := w[i]; c < utf8.RuneSelf {
			if c >= '0' && c <= '9' {
				return true
			}
			i++
			continue
		}
		r, n := utf8.DecodeRune(w[i:])
		if unicode.IsNumber(r) {
			return true
		}
		i += n
	}
	return false
}

// guardWords are English numbers and negations, with contractions as folding
// leaves them, and the commonest negations and numbers of other languages the
// corpora hold. More words here only make fuzzy matching stricter.
var guardWords = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million
billion dozen score half quarter
once twice thrice first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth
thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth thirtieth fortieth
fiftieth sixtieth seventieth eightieth ninetieth hundredth thousandth
no not never none nobody nothing nowhere neither nor without cannot nay
dont doesnt didnt isnt arent wasnt werent hasnt havent hadnt wont wouldnt shant shouldnt cant couldnt
mustnt mightnt neednt oughtnt darent aint
nicht kein keine keinen keinem keiner nie niemals niemand nichts nein ohne ne pas jamais rien sans non nunca
jamás nadie nada sin mai nessuno niente senza
不 没 沒 無 无 未 非 莫 勿 別 别 一 二 兩 两 三 四 五 六 七 八 九 十 百 千 萬 万 半`) {
		m[w] = true
	}
	return m
}()
