// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// layout is how a text breaks its lines, measured on all lines that another
// line follows without a blank one between.
type layout struct {
	ready bool
	width int  // three quarters of those lines have at most this many code points
	loose bool // lengths differ too much for wrapped lines
}

// maxWidth is the length from which on a line is a paragraph by itself.
const maxWidth = 120

// measure returns the layout of the text.
func (g *segmenter) measure() *layout {
	if g.lay.ready {
		return &g.lay
	}
	g.lay.ready = true
	var count [256]int
	n := 0
	s := g.s
	for at := 0; at < len(s); {
		e := strings.IndexByte(s[at:], '\n')
		if e < 0 {
			break
		}
		line := s[at : at+e]
		at += e + 1
		if at < len(s) && s[at] != '\n' && e > 0 {
			count[min(utf8.RuneCountInString(line), len(count)-1)]++
			n++
		}
	}
	p75, p95 := 0, 0
	sum := 0
	for length, c := range count {
		sum += c
		if p75 == 0 && sum*4 >= n*3 {
			p75 = length
		}
		if sum*20 >= n*19 {
			p95 = length
			break
		}
	}
	g.lay.width = p75
	g.lay.loose = p95 > maxWidth || n >= 16 && p95 > p75*5/4+2
	return &g.lay
}

// lineAt returns the line that byte i is in or ends.
func (g *segmenter) lineAt(i int) string {
	s := g.s
	from := strings.LastIndexByte(s[:i], '\n') + 1
	to := len(s)
	if e := strings.IndexByte(s[i:], '\n'); e >= 0 {
		to = i + e
	}
	return s[from:to]
}

// hard reports whether the line end at or soon after byte i was set on
// purpose. Any other is a wrap: the line is full.
func (g *segmenter) hard(i int) bool {
	lay := g.measure()
	if lay.loose {
		return true
	}
	line := g.lineAt(i)
	s := g.s
	nl := strings.IndexByte(s[i:], '\n')
	if nl < 0 {
		return false
	}
	next := s[i+nl+1:]
	if g.shifts(i) {
		return true
	}
	word := strings.TrimLeft(next, " ")
	if e := strings.IndexAny(word, " \n"); e >= 0 {
		word = word[:e]
	}
	if e := strings.IndexByte(next, '\n'); e >= 0 {
		next = next[:e]
	}
	// What fits into the next line would have fitted into this one.
	width := max(lay.width, utf8.RuneCountInString(next))
	return utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) < width-6
}

// starts reports whether the line after the hard line end at or soon after byte
// i starts a paragraph or a line of verse, and is not just what is left of the
// paragraph.
func (g *segmenter) starts(i int) bool {
	nl := strings.IndexByte(g.s[i:], '\n')
	return g.shifts(i) || nl >= 0 && strings.HasPrefix(g.s[i+nl+1:], " ")
}

// shifts reports whether the line after the line end at or soon after byte i
// starts in another column than the line before it.
func (g *segmenter) shifts(i int) bool {
	nl := strings.IndexByte(g.s[i:], '\n')
	return nl >= 0 && indent(g.lineAt(i)) != indent(g.s[i+nl+1:])
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// line handles the line end at byte i, which no end mark has used.
func (g *segmenter) line(i int) int {
	s := g.s
	next, lines := gap(s, i)
	if lines > 1 || next == len(s) {
		g.cut(i, next)
		g.open = false
		g.pass(i, next)
		return next
	}
	if g.breaks(i, next) {
		g.cut(i, next)
	}
	g.pass(i, next)
	return next
}

// pass notes the line that byte to is in, after reading from byte from.
func (g *segmenter) pass(from, to int) {
	if nl := strings.LastIndexByte(g.s[from:to], '\n'); nl >= 0 {
		g.bol = from + nl + 1
	}
}

// breaks reports whether a single line end without an end mark before it ends
// a sentence.
func (g *segmenter) breaks(i, next int) bool {
	s := g.s
	this, then := s[g.bol:i], s[next:]
	if isRule(this) || isRule(then) || isHash(this) || isHash(then) {
		return true
	}
	item, heading, loose := isItem(then), isHeading(this), g.measure().loose
	if !item && !heading && !loose {
		return false // most line ends
	}
	hard := g.hard(i)
	if item && (hard || isItem(strings.TrimLeft(this, " "))) {
		return true
	}
	if !hard {
		return false
	}
	then = g.lineAt(next)
	if heading {
		return !isHeading(then)
	}
	if !loose {
		return false
	}
	// A paragraph a line. Verse and other short lines go on.
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(this, " "))
	first, _ := utf8.DecodeRuneInString(s[next:])
	switch {
	case unicode.IsLower(first):
		return false
	case last == ':':
		return true
	case utf8.RuneCountInString(this) <= 60 && utf8.RuneCountInString(then) <= 60:
		return false
	}
	return last != ',' && last != ';'
}

// isRule reports whether the line at the start of s holds signs only: "* * *",
// "---", "#".
func isRule(s string) bool {
	if s == "" || s[0] < utf8.RuneSelf && asciiWord[s[0]] {
		return false
	}
	signs := 0
	for _, r := range s {
		if r == '\n' {
			break
		}
		switch {
		case r == ' ':
		case strings.ContainsRune("*-_=~#•·—–+⁂", r):
			signs++
		default:
			return false
		}
	}
	return signs > 0
}

// isHash reports whether s starts with a Markdown heading.
func isHash(s string) bool {
	n := 0
	for n < len(s) && s[n] == '#' {
		n++
	}
	return n > 0 && n < len(s) && s[n] == ' '
}

// isItem reports whether s starts with a list item: "- ", "• ", "3. ", "3) ".
func isItem(s string) bool {
	if len(s) < 2 {
		return false
	}
	switch s[0] {
	case '-', '*', '+', '>':
		return s[1] == ' '
	case "•"[0]:
		return strings.HasPrefix(s, "• ")
	}
	n := 0
	for n < len(s) && n < 3 && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	return n > 0 && n+1 < len(s) && (s[n] == '.' || s[n] == ')') && s[n+1] == ' '
}

// isHeading reports a short line in capitals, one in bold type, or a chapter's
// number.
func isHeading(line string) bool {
	line = strings.TrimSpace(line)
	if line == "" || len(line) > 80 {
		return false
	}
	if strings.HasPrefix(line, "**") && strings.HasSuffix(line, "**") {
		return true
	}
	upper := 0
	for _, r := range line {
		switch {
		case unicode.IsUpper(r):
			upper++
		case unicode.IsLower(r):
			if upper == 0 {
				return false
			}
			first, rest, _ := strings.Cut(line, " ")
			return in(chapterWords, first) && len(rest) < 40 && isNumeral(strings.TrimRight(firstWord(rest), ".:"))
		}
	}
	return upper > 1
}

func firstWord(s string) string {
	w, _, _ := strings.Cut(s, " ")
	return w
}

// isNumeral reports digits, a Roman numeral or a number word.
func isNumeral(w string) bool {
	if w == "" {
		return false
	}
	if isDigits(w) || isRoman(w) {
		return true
	}
	return in(numberWords, w)
}

func isDigits(w string) bool {
	for i := 0; i < len(w); i++ {
		if w[i] < '0' || w[i] > '9' {
			return false
		}
	}
	return w != ""
}

// isRoman reports a Roman numeral in capitals, up to 399.
func isRoman(w string) bool {
	if w == "" || len(w) > 12 || strings.IndexByte("CLXVI", w[0]) < 0 {
		return false
	}
	rest := w
	for _, d := range [...]struct {
		one, five, ten string
	}{{"C", "-", "-"}, {"X", "L", "C"}, {"I", "V", "X"}} {
		switch {
		case len(rest) > 1 && rest[:1] == d.one && (rest[1:2] == d.ten || rest[1:2] == d.five):
			rest = rest[2:]
		default:
			rest = strings.TrimPrefix(rest, d.five)
			for n := 0; n < 4 && strings.HasPrefix(rest, d.one); n++ {
				rest = rest[1:]
			}
		}
	}
	return rest == ""
}
