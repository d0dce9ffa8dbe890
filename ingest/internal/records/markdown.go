// SPDX-License-Identifier: Apache-2.0

package records

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Plain takes Markdown's marks out of a text: emphasis, links (their text
// stays), pictures, marks of headings and quotations, rules between scenes. A
// mark that pairs with no other stays: snake_case, 5 * 3.
func Plain(s string) string {
	if !strings.ContainsAny(s, "*_[#>~\\-`") {
		return s
	}
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		t := strings.TrimSpace(l)
		if rule(t) {
			lines[i] = ""
			continue
		}
		if h := strings.TrimLeft(t, "#"); len(h) < len(t) && len(t)-len(h) <= 6 && strings.HasPrefix(h, " ") {
			l = strings.Trim(h, "# ")
		}
		for strings.HasPrefix(strings.TrimLeft(l, " "), ">") {
			l = strings.TrimPrefix(strings.TrimPrefix(strings.TrimLeft(l, " "), ">"), " ")
		}
		lines[i] = l
	}
	// Emphasis may go over a line's end, not over a paragraph's.
	paras := strings.Split(strings.Join(lines, "\n"), "\n\n")
	for i, p := range paras {
		p = links(p)
		for _, m := range []string{"***", "**", "*", "___", "__", "_", "~~"} {
			p = emphasis(p, m)
		}
		paras[i] = unescapeMarks(p)
	}
	return strings.Join(paras, "\n\n")
}

// rule reports a line of three or more of one mark: ---, * * *.
func rule(t string) bool {
	n := 0
	for i := 0; i < len(t); i++ {
		switch {
		case t[i] == ' ':
		case t[i] == t[0] && strings.IndexByte("-*_=~", t[i]) >= 0:
			n++
		default:
			return false
		}
	}
	return n >= 3
}

// maxAddress is how far behind ]( a link's end is looked for.
const maxAddress = 2 << 10

// links leaves of [text](address) the text, of ![alt](address) nothing.
func links(s string) string {
	var b strings.Builder
	from := 0
	for {
		i := strings.Index(s[from:], "](")
		if i < 0 {
			break
		}
		i += from
		open := strings.LastIndexByte(s[from:i], '[')
		end := strings.IndexByte(s[i:min(i+maxAddress, len(s))], ')')
		if open < 0 || end < 0 || strings.ContainsAny(s[i+2:i+end], " \n") && !strings.Contains(s[i:i+end], ` "`) {
			b.WriteString(s[from : i+2])
			from = i + 2
			continue
		}
		open += from
		end += i
		if open > from && s[open-1] == '!' {
			b.WriteString(s[from : open-1])
		} else {
			b.WriteString(s[from:open])
			b.WriteString(s[open+1 : i])
		}
		from = end + 1
	}
	b.WriteString(s[from:])
	return b.String()
}

// emphasis takes pairs of the mark m out. The first of a pair stands at a
// word's beginning, the second at an end.
func emphasis(s, m string) string {
	if strings.Count(s, m) < 2 {
		return s
	}
	var b strings.Builder
	from, open := 0, -1
	for i := 0; i+len(m) <= len(s); {
		if s[i] == '\\' {
			i += 2
			continue
		}
		if s[i:i+len(m)] != m || i+len(m) < len(s) && s[i+len(m)] == m[0] || i > 0 && s[i-1] == m[0] {
			i++
			continue
		}
		before, _ := utf8.DecodeLastRuneInString(s[:i])
		after, _ := utf8.DecodeRuneInString(s[i+len(m):])
		atStart := i == 0 || !unicode.IsLetter(before) && !unicode.IsDigit(before)
		atEnd := i+len(m) == len(s) || !unicode.IsLetter(after) && !unicode.IsDigit(after)
		switch {
		case open < 0 && atStart && i+len(m) < len(s) && !unicode.IsSpace(after):
			open = i
		case open >= 0 && atEnd && !unicode.IsSpace(before) && i > open+len(m):
			b.WriteString(s[from:open])
			b.WriteString(s[open+len(m) : i])
			from = i + len(m)
			open = -1
		}
		i += len(m)
	}
	if from == 0 {
		return s
	}
	b.WriteString(s[from:])
	return b.String()
}

func unescapeMarks(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("*_[]()#>~\\-`!.+", s[i+1]) >= 0 {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
