// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Freeze gives s its stored form. Every offset and every hash of this project
// refers to text in that form. In this order:
//
//   - CR LF, CR, U+0085, U+2028 and U+2029 become LF;
//   - TAB becomes a blank;
//   - other controls (C0, DEL, C1) are dropped, and U+FEFF at the start;
//   - blanks (Unicode category Zs) at line ends are dropped;
//   - the whole is put into Unicode Normalization Form C.
//
// Bytes that are not UTF-8 are read as Windows-1252, as [Decode] does, so that
// no U+FFFD is made later.
//
// Freeze is idempotent. It keeps white space at the text's two ends, so that
// parts may be frozen by themselves; a whole story also goes through [Trim].
func Freeze(s string) string {
	if !utf8.ValidString(s) {
		s, _ = repair(s)
	}
	if surelyFrozen(s) {
		return s
	}
	// Controls go before normalization: a control between a letter and its
	// accent must not keep them apart.
	s, normal := dropAndFold(s)
	if normal {
		return s
	}
	return norm.NFC.String(s)
}

// freezeClass says what Freeze has to do at a byte of UTF-8.
type freezeClass uint8

const (
	keep     freezeClass = iota // nothing, and no normalization either
	newline                     // look back for blanks
	leadC2                      // U+0080 to U+00BF: C1 controls and the no-break space are there
	leadE2                      // U+2000 to U+2FFF: General Punctuation is there
	other                       // a control, or a character that may need normalization
	leadRare                    // one of those that also may be a blank or a mark: U+1680, U+3000, U+FEFF
)

// freezeClasses is by first byte. What is neither here nor in the two blocks
// above is left to package norm; these are the characters of European text and
// the ideographs, none of which changes under NFC or joins what is before it.
var freezeClasses = func() (t [256]freezeClass) {
	for c := range t {
		switch {
		case c == '\n':
			t[c] = newline
		case c < ' ', c == 0x7F:
			t[c] = other
		case c < 0xC0: // ASCII, and bytes inside a character
			t[c] = keep
		case c == 0xC2:
			t[c] = leadC2
		case c < 0xCC: // up to U+02FF; combining marks start at U+0300
			t[c] = keep
		case c == 0xE2:
			t[c] = leadE2
		case c >= 0xE4 && c <= 0xE9: // U+4000 to U+9FFF
			t[c] = keep
		case c == 0xE1, c == 0xE3, c == 0xEF:
			t[c] = leadRare
		default:
			t[c] = other
		}
	}
	return t
}()

// plainPunctuation reports a character of three bytes starting with E2 that
// Freeze leaves alone: U+2010 to U+2027 and U+2030 to U+203F, where the
// dashes, quotation marks and the ellipsis are, and U+20A0 to U+20BF, the
// currency signs.
func plainPunctuation(c1, c2 byte) bool {
	return c1 == 0x80 && c2 >= 0x90 && c2 != 0xA8 && c2 != 0xA9 && (c2 < 0xAA || c2 >= 0xB0) || c1 == 0x82 && c2 >= 0xA0
}

// surelyFrozen reports whether valid UTF-8 is frozen without any need to look
// closely, as nearly all frozen text is. One pass, no copy.
func surelyFrozen(s string) bool {
	for i := 0; i < len(s); i++ {
		for freezeClasses[s[i]] == keep {
			if i++; i == len(s) {
				return s[i-1] != ' '
			}
		}
		switch freezeClasses[s[i]] {
		case newline:
			if i > 0 && s[i-1] == ' ' {
				return false
			}
		case leadC2:
			if s[i+1] <= 0xA0 {
				return false
			}
		case leadE2:
			if !plainPunctuation(s[i+1], s[i+2]) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// dropAndFold does what Freeze does short of normalization, on valid UTF-8.
// Normal is true if the result cannot need any.
func dropAndFold(s string) (out string, normal bool) {
	b := make([]byte, 0, len(s))
	normal = true
	from := 0 // what stands from here to i is not yet in b
	for i := 0; i < len(s); {
		for freezeClasses[s[i]] == keep {
			if i++; i == len(s) {
				break
			}
		}
		if i == len(s) {
			break
		}
		switch freezeClasses[s[i]] {
		case newline:
			b = append(trimBlanks(append(b, s[from:i]...)), '\n')
			i++
			from = i
			continue
		case leadC2:
			if s[i+1] > 0xA0 {
				i += 2
				continue
			}
		case leadE2:
			if plainPunctuation(s[i+1], s[i+2]) {
				i += 3
				continue
			}
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\t':
			b = append(append(b, s[from:i]...), ' ')
		case r == '\r' && i+1 < len(s) && s[i+1] == '\n':
			b = append(b, s[from:i]...) // the LF stands for both
		case r == '\r', r == '\u0085', r == '\u2028', r == '\u2029':
			b = append(trimBlanks(append(b, s[from:i]...)), '\n')
		case unicode.Is(unicode.Cc, r):
			b = append(b, s[from:i]...)
		case r == '\uFEFF' && len(b) == 0 && from == i:
		default:
			normal = normal && r == '\u00a0'
			i += n
			continue // it stays
		}
		i += n
		from = i
	}
	b = trimBlanks(append(b, s[from:]...))
	return string(b), normal
}

// trimBlanks cuts the blanks off the end of b.
func trimBlanks(b []byte) []byte {
	for len(b) > 0 {
		c := b[len(b)-1]
		if c == ' ' {
			b = b[:len(b)-1]
			continue
		}
		if c < utf8.RuneSelf {
			break
		}
		r, n := utf8.DecodeLastRune(b)
		if !unicode.Is(unicode.Zs, r) {
			break
		}
		b = b[:len(b)-n]
	}
	return b
}

// Trim cuts white space and U+FEFF off both ends of s: a story has no white
// space at either end. What is frozen stays frozen.
func Trim(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return isSpace(r) || r == '\uFEFF' })
}

// CheckFrozen returns nil if Freeze would leave s as it is. Otherwise the
// error says what is wrong and at which code point.
func CheckFrozen(s string) error {
	if utf8.ValidString(s) && surelyFrozen(s) {
		return nil
	}
	var prev rune
	at := 0
	for i, r := range s {
		what := ""
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			what = fmt.Sprintf("byte %#02x is not UTF-8", s[i])
		case r == '\r':
			what = "carriage return (lines must end in LF alone)"
		case r == '\t':
			what = "tab"
		case r == '\u0085', r == '\u2028', r == '\u2029':
			what = fmt.Sprintf("line end %U (lines must end in LF)", r)
		case r != '\n' && unicode.Is(unicode.Cc, r):
			what = fmt.Sprintf("control character %U", r)
		case r == '\uFEFF' && i == 0:
			what = "byte order mark"
		case r == '\n' && at > 0 && unicode.Is(unicode.Zs, prev):
			at--
			what = "blank at the end of a line"
		}
		if what != "" {
			return fmt.Errorf("text is not frozen: %s at code point %d", what, at)
		}
		prev = r
		at++
	}
	if at > 0 && unicode.Is(unicode.Zs, prev) {
		return fmt.Errorf("text is not frozen: blank at the end of a line at code point %d", at-1)
	}
	if !norm.NFC.IsNormalString(s) {
		// QuickSpan may stop early at a place that turns out to be fine, so
		// find the first real difference.
		i := firstDifference(s, norm.NFC.String(s))
		return fmt.Errorf("text is not frozen: not in Unicode NFC at code point %d", utf8.RuneCountInString(s[:i]))
	}
	return nil
}

// firstDifference returns the offset of the first character in which a and b
// differ.
func firstDifference(a, b string) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	for i > 0 && i < len(a) && !utf8.RuneStart(a[i]) {
		i--
	}
	return i
}
