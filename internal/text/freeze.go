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
	if frozenASCII(s) {
		return s
	}
	if !utf8.ValidString(s) {
		s, _ = repair(s)
	}
	// Controls go before normalization: a control between a letter and its
	// accent must not keep them apart.
	return norm.NFC.String(dropAndFold(s))
}

// frozenASCII reports that s is plain ASCII and already frozen: the common
// case, in one pass without a copy.
func frozenASCII(s string) bool {
	prev := byte('\n')
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c < ' ' && c != '\n' || c >= 0x7F || c == '\n' && prev == ' ' {
			return false
		}
		prev = c
	}
	return prev != ' ' || len(s) == 0
}

// dropAndFold does what Freeze does short of normalization.
func dropAndFold(s string) string {
	b := make([]byte, 0, len(s))
	end := 0 // length of b without the blanks at its end
	for i := 0; i < len(s); {
		c := s[i]
		if c > ' ' && c < 0x7F {
			b = append(b, c)
			end = len(b)
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch {
		case r == '\r' && i < len(s) && s[i] == '\n':
			// The LF that follows stands for both.
		case r == '\n', r == '\r', r == '\u0085', r == '\u2028', r == '\u2029':
			b = append(b[:end], '\n')
			end = len(b)
		case r == '\t':
			b = append(b, ' ')
		case unicode.Is(unicode.Cc, r):
		case r == '\uFEFF' && len(b) == 0:
		case unicode.Is(unicode.Zs, r):
			b = utf8.AppendRune(b, r)
		default:
			b = utf8.AppendRune(b, r)
			end = len(b)
		}
	}
	return string(b[:end])
}

// Trim cuts white space and U+FEFF off both ends of s: a story has no white
// space at either end. What is frozen stays frozen.
func Trim(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return isSpace(r) || r == '\uFEFF' })
}

// CheckFrozen returns nil if Freeze would leave s as it is. Otherwise the
// error says what is wrong and at which code point.
func CheckFrozen(s string) error {
	if frozenASCII(s) {
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
