// SPDX-License-Identifier: Apache-2.0

package wikiplots

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Join makes one text of a plot's lines. The extractor cut behind every . ? and
// ! and so put a closing quote at the start of the next line, or on a line by
// itself with a full stop of its own.
func Join(lines []string) string {
	var b strings.Builder
	for _, l := range lines {
		l = strings.TrimSpace(l)
		if l == "" {
			continue
		}
		if q, rest := leadingQuote(l); q != "" && b.Len() > 0 {
			b.WriteString(q)
			if l = strings.TrimSpace(rest); l == "." || l == "" {
				continue
			}
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(l)
	}
	return b.String()
}

// leadingQuote parts a closing quote from the line it opens: one that has a
// blank, a full stop or nothing behind it.
func leadingQuote(l string) (quote, rest string) {
	for _, q := range []string{`"`, "”", "’", "'"} {
		if rest, ok := strings.CutPrefix(l, q); ok && (rest == "" || rest[0] == ' ' || rest == ".") {
			return q, rest
		}
	}
	return "", l
}

// honorific are titles before a name that lost their stop and capital. Lt is not among them:
// the extractor wrote it for Gov. too.
var honorific = map[string]string{"mr": "Mr.", "mrs": "Mrs.", "ms": "Ms.", "dr": "Dr."}

// Mend repairs a plot's text: honorifics before a capital get their form back.
// No article writes mr Smith, so nothing else is touched.
func Mend(s string, honorifics bool) string {
	if !honorifics {
		return s
	}
	var b strings.Builder
	from := 0
	for i := 0; i < len(s); {
		// At the start of a word.
		end := i
		for end < len(s) && s[end] >= 'a' && s[end] <= 'z' {
			end++
		}
		if t := honorific[s[i:end]]; t != "" && end+1 < len(s) && s[end] == ' ' {
			if r, _ := utf8.DecodeRuneInString(s[end+1:]); unicode.IsUpper(r) {
				b.WriteString(s[from:i])
				b.WriteString(t)
				from = end
			}
		}
		// On to the next word.
		for end < len(s) && s[end] != ' ' && s[end] != '\n' && s[end] != '(' && s[end] != '"' {
			end++
		}
		i = end + 1
	}
	if from == 0 {
		return s
	}
	b.WriteString(s[from:])
	return b.String()
}
