// SPDX-License-Identifier: Apache-2.0

package records

import (
	"html"
	"strings"
)

// Unescape reads the HTML entities that exports of web pages leave in their
// text (&gt; &nbsp; &#x200B; and the doubly escaped &amp;gt;), also with blanks
// inside where a tokeniser cut them (& gt;). Other ampersands stay.
func Unescape(s string) string {
	for range 2 {
		if !strings.Contains(s, "&") {
			return s
		}
		s = unescapeOnce(s)
	}
	return s
}

func unescapeOnce(s string) string {
	var b strings.Builder
	from := 0
	for i := 0; i < len(s); i++ {
		if s[i] != '&' {
			continue
		}
		end, name := entity(s[i+1:])
		if end == 0 {
			continue
		}
		e := "&" + name + ";"
		c := html.UnescapeString(e)
		if c == e {
			continue
		}
		if c == "\u00a0" || c == "\u200b" {
			c = map[string]string{"\u00a0": " ", "\u200b": ""}[c]
		}
		b.WriteString(s[from:i])
		b.WriteString(c)
		i += end
		from = i + 1
	}
	if from == 0 {
		return s
	}
	b.WriteString(s[from:])
	return b.String()
}

// entity reads name; or # 39 ; at the start of s and returns the bytes it
// takes, 0 if there is none.
func entity(s string) (end int, name string) {
	s = s[:min(len(s), 16)]
	i := strings.IndexByte(s, ';')
	if i < 1 {
		return 0, ""
	}
	name = strings.ReplaceAll(s[:i], " ", "")
	for k := 0; k < len(name); k++ {
		c := name[k]
		if !('a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '#' && k == 0) {
			return 0, ""
		}
	}
	return i + 1, name
}
