// SPDX-License-Identifier: Apache-2.0

package gutenberg

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/retcon-bench/retcon/ingest/internal/prose"
)

// Rules that work inside a tale.
const (
	ruleItalics  = "italics"
	ruleBold     = "bold"
	ruleCall     = "footnote-call"
	ruleFootnote = "footnote"
	ruleSource   = "source-note"
	ruleOrnament = "ornament"
	ruleDedicate = "dedication"
	ruleTitle    = "title-page"
	ruleSubtitle = "subtitle"
	ruleHeading  = "heading"
	ruleEnd      = "the-end"
	ruleHyphen   = "line-end-hyphen"
)

// note is a footnote's text: lines [first, last) of block blk.
type note struct {
	label       string
	style       byte // [ ( { or *
	blk         int
	first, last int
	taken       bool
}

// readNoteLabel reads the label at the start of a footnote: "[1] ", "(3) ", "* ",
// "[Footnote 2: ". N is where the note's own words start.
func readNoteLabel(s string) (label string, style byte, n int) {
	if s == "" {
		return "", 0, 0
	}
	switch c := s[0]; c {
	case '[', '(', '{':
		end := strings.IndexByte(s[:min(len(s), 24)], map[byte]byte{'[': ']', '(': ')', '{': '}'}[c])
		if end > 1 && noteLabel(s[1:end], c) && len(strings.TrimSpace(s[end+1:])) > 0 {
			return s[1:end], c, end + 1
		}
		if c == '[' {
			up := upperPrefix(s[1:min(len(s), 24)], 23)
			if strings.HasPrefix(up, "FN#") {
				up = "FOOTNOTE " + up[len("FN#"):]
			}
			if strings.HasPrefix(up, "FOOTNOTE") {
				t := strings.TrimLeft(up[len("FOOTNOTE"):], " ")
				if i := strings.IndexByte(t, ':'); i >= 0 && i <= 5 {
					return strings.Trim(t[:i], " ."), c, 1 + strings.IndexByte(s[1:], ':') + 1
				}
			}
		}
	case '*':
		k := 0
		for k < len(s) && s[k] == '*' {
			k++
		}
		if k <= 3 && k < len(s) && !ornament(s) && (s[k] == ' ' && k+1 < len(s) && s[k+1] != '*' || unicode.IsLetter(rune(s[k]))) {
			return s[:k], '*', k
		}
	default:
		for _, d := range []string{"†", "‡", "§"} {
			if strings.HasPrefix(s, d) && len(s) > len(d)+1 {
				return d, '*', len(d)
			}
		}
	}
	return "", 0, 0
}

// notesIn lists the footnotes of blocks [from, to): blocks that begin with a
// label, and the lines inside them that begin with another.
func (d *doc) notesIn(from, to int, dst []note) []note {
	for i := from; i < to; i++ {
		b := d.blocks[i]
		if b.role != roleText && b.role != roleVoid {
			continue
		}
		s := d.str(b.first)
		if !strings.ContainsRune("[({*\xe2", rune(s[0])) {
			continue
		}
		label, style, _ := readNoteLabel(s)
		if label == "" {
			continue
		}
		n := note{label: label, style: style, blk: i, first: b.first}
		for k := b.first + 1; k < b.last; k++ {
			label, style, _ := readNoteLabel(d.str(k))
			if label == "" || style != n.style {
				continue
			}
			n.last = k
			dst = append(dst, n)
			n = note{label: label, style: style, blk: i, first: k}
		}
		n.last = b.last
		dst = append(dst, n)
	}
	return dst
}

// lineSpan returns the bytes of lines [first, last).
func (d *doc) lineSpan(first, last int) span {
	return span{d.lines[first].start, d.lines[last-1].end}
}

// footnotes finds the calls in text[sp] whose note is among notes or, by label,
// in book, the notes that stand elsewhere in the file. A call without a note
// stays, and so does a note without a call.
func (d *doc) footnotes(sp span, notes []note, book map[string]bool) []cut {
	if len(notes) == 0 && len(book) == 0 {
		return nil
	}
	styles := "["
	for _, n := range notes {
		if n.style != '[' && strings.IndexByte(styles, n.style) < 0 {
			styles += string(rune(n.style))
			if n.style == '*' {
				styles += "†‡§"
			}
		}
	}
	var out []cut
	find := func(label string, style byte, at int) bool {
		ok := false
		for i := range notes {
			n := &notes[i]
			if n.label != label || n.style != style && !(style == '[' && n.style == '[') {
				continue
			}
			start := d.lines[n.first].start
			if at >= start && at < start+len(label)+14 {
				return false // the note's own label
			}
			if !n.taken || start > at {
				n.taken = true
				ok = true
				if start > at {
					return true
				}
			}
		}
		return ok || style == '[' && book[label]
	}
	t := d.text[:sp.end]
	for i := sp.start; i < sp.end; {
		n := -1
		if styles == "[" {
			n = strings.IndexByte(t[i:], '[')
		} else {
			n = strings.IndexAny(t[i:], styles)
		}
		if n < 0 {
			break
		}
		i += n
		switch c := t[i]; c {
		case '[', '(', '{':
			stop := map[byte]byte{'[': ']', '(': ')', '{': '}'}[c]
			end := strings.IndexByte(t[i:min(sp.end, i+6)], stop)
			if end > 1 && noteLabel(t[i+1:i+end], c) && find(t[i+1:i+end], c, i) {
				out = append(out, cut{d.blankBefore(i, sp.start), i + end + 1, ruleCall})
				i += end
			}
			i++
		default:
			k := i
			for k < sp.end && t[k] == '*' {
				k++
			}
			label := t[i:k]
			if k == i {
				_, w := utf8.DecodeRuneInString(t[i:])
				label, k = t[i:i+w], i+w
			}
			if i > sp.start && !unicode.IsSpace(rune(t[i-1])) && len(label) <= 3 && find(label, '*', i) {
				out = append(out, cut{i, k, ruleCall})
			}
			i = k
		}
	}
	return out
}

// blankBefore moves i over blanks to the left that a call leaves behind, when
// punctuation or the line's end follows it.
func (d *doc) blankBefore(i, least int) int {
	j := i
	for j > least && d.text[j-1] == ' ' {
		j--
	}
	if j == least || d.text[j-1] == '\n' {
		return i
	}
	end := strings.IndexAny(d.text[i:], "])}")
	if end < 0 || i+end+1 >= len(d.text) {
		return i
	}
	if next := d.text[i+end+1]; next == '\n' || next == '\r' || strings.IndexByte(".,;:!?", next) >= 0 {
		return j
	}
	return i
}

// emphasis finds the marks of italics in text[sp]: pairs of underscores round
// words. Underscores inside words (snake_case, 5_000) and those without a
// partner stay. A pair may span lines, and paragraphs of which each opens it
// anew.
func emphasis(t string, sp span, out []cut) []cut {
	open, mid := -1, -1
	take := func(i int) { out = append(out, cut{i, i + 1, ruleItalics}) }
	for i := sp.start; i < sp.end; i++ {
		n := strings.IndexByte(t[i:sp.end], '_')
		if n < 0 {
			break
		}
		i += n
		run := i
		for run < sp.end && t[run] == '_' {
			run++
		}
		if run-i > 1 {
			i = run - 1
			continue
		}
		prev, _ := utf8.DecodeLastRuneInString(t[sp.start:i])
		next, _ := utf8.DecodeRuneInString(t[i+1 : sp.end])
		if i == sp.start {
			prev = ' '
		}
		if i+1 >= sp.end {
			next = ' '
		}
		if open < 0 && unicode.IsDigit(prev) {
			// A unit: 600_l_., 3_s._ 6_d._
			if k := unitEnd(t, i+1, sp.end); k > 0 {
				take(i)
				take(k)
				i = k
				continue
			}
		}
		opens := !word(prev) && !unicode.IsSpace(next)
		closes := !unicode.IsSpace(prev) && !word(next)
		switch {
		case open >= 0 && closes:
			take(open)
			take(i)
			open, mid = -1, -1
		case open >= 0 && opens:
			switch {
			case mid > open:
				take(open)
				take(mid)
			case paragraphStart(t, sp.start, open) && strings.Contains(t[open:i], "\n") && paragraphStart(t, sp.start, i):
				take(open)
			}
			open, mid = i, -1
		case opens:
			open, mid = i, -1
		case open >= 0 && word(prev) && word(next) && mid < 0 && i-open < 40 && !strings.ContainsAny(t[open:i], " \n"):
			mid = i // _un_happy
		}
	}
	if open >= 0 && mid > open {
		take(open)
		take(mid)
	}
	return out
}

// unitEnd returns the underscore behind a unit of one or two letters that
// begins at i, or 0.
func unitEnd(t string, i, end int) int {
	k := i
	for k < end && k-i < 2 && letters[t[k]] {
		k++
	}
	if k > i && k < end && t[k] == '.' {
		k++
	}
	if k == i || k >= end || t[k] != '_' {
		return 0
	}
	if next, _ := utf8.DecodeRuneInString(t[k+1 : end]); word(next) || next == '_' {
		return 0
	}
	return k
}

func word(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// paragraphStart reports that i is the first of its paragraph, but for quotes.
func paragraphStart(t string, least, i int) bool {
	for k := i - 1; k >= least; k-- {
		switch c := t[k]; {
		case c == '\n':
			for k--; k >= least && (isBlank(t[k])); k-- {
			}
			return k < least || t[k] == '\n'
		case isBlank(c), c == '"', c == '\'', c >= 0x80:
		default:
			return false
		}
	}
	return true
}

// bold finds =bold= and ~spaced~ words, each within a line.
func bold(t string, sp span, out []cut) []cut {
	for _, mark := range []byte{'=', '~'} {
		for i := sp.start; i < sp.end; i++ {
			n := strings.IndexByte(t[i:sp.end], mark)
			if n < 0 {
				break
			}
			i += n
			if i+1 >= sp.end || !isLetter(t[i+1]) && t[i+1] < 0x80 || i > sp.start && (isLetter(t[i-1]) || t[i-1] == mark) {
				continue
			}
			end := strings.IndexByte(t[i+1:sp.end], mark)
			if end < 1 || strings.IndexByte(t[i+1:i+1+end], '\n') >= 0 || t[i+end] == ' ' {
				continue
			}
			k := i + 1 + end
			if k+1 < sp.end && (isLetter(t[k+1]) || t[k+1] == mark) {
				continue
			}
			out = append(out, cut{i, i + 1, ruleBold}, cut{k, k + 1, ruleBold})
			i = k
		}
	}
	return out
}

// cleaner writes one region of a book as a story's text.
type cleaner struct {
	d       *doc
	b       prose.Builder
	cuts    []cut // of the region, sorted
	at      int   // first cut that may still matter
	scratch []byte
	tail    []byte
	lines   []prose.Line
	dashes  string
}

// write adds the blocks [from, to).
func (c *cleaner) write(from, to int, part map[int]bool) {
	for i := from; i < to; i++ {
		b := c.d.blocks[i]
		if b.role != roleText {
			continue
		}
		switch {
		case part[i]:
			c.paragraph(b.first, b.last, prose.MarkHeading, false)
		case c.d.html:
			c.hinted(b)
		default:
			c.mixed(b)
		}
	}
}

func (c *cleaner) hinted(b block) {
	switch b.hint {
	case hintVerse:
		c.paragraph(b.first, b.last, prose.MarkVerse, true)
		return
	case hintPre:
		if b.last-b.first == 1 {
			c.paragraph(b.first, b.last, prose.MarkVerse, true)
		} else {
			c.mixed(b)
		}
		return
	}
	c.paragraph(b.first, b.last, "", false)
}

// mixed writes a block of plain text: prose, verse, or prose with indented
// verse in it.
func (c *cleaner) mixed(b block) {
	d := c.d
	if b.last-b.first == 1 {
		k := ""
		if d.lines[b.first].indent >= 4 && !d.sentence(b) {
			k = prose.MarkVerse
		}
		c.paragraph(b.first, b.last, k, false)
		return
	}
	if c.lines = d.printed(b, c.lines); prose.Verse(c.lines, d.width) {
		c.paragraph(b.first, b.last, prose.MarkVerse, true)
		return
	}
	least := d.lines[b.first].indent
	for i := b.first; i < b.last; i++ {
		least = min(least, d.lines[i].indent)
	}
	if !c.uneven(b, least) {
		c.paragraph(b.first, b.last, "", false)
		return
	}
	// Runs of lines further in than the rest; a first line that is indented is
	// how some books start a paragraph.
	for i := b.first; i < b.last; {
		in := d.lines[i].indent >= least+2
		k := i + 1
		for k < b.last && (d.lines[k].indent >= least+2) == in {
			k++
		}
		if in && i == b.first && k == i+1 && k < b.last || !in && k < b.last && c.hanging(k, b.last, least) {
			in, k = false, c.proseEnd(k, b.last, least)
		}
		c.run(i, k)
		i = k
	}
}

// uneven reports that lines other than the first are further in than the rest.
func (c *cleaner) uneven(b block, least int32) bool {
	for i := b.first + 1; i < b.last; i++ {
		if c.d.lines[i].indent >= least+2 {
			return true
		}
	}
	return false
}

// hanging reports that the indented lines from k on are a wrapped line's
// continuation or the like, not verse: a single line that starts small.
func (c *cleaner) hanging(k, last int, least int32) bool {
	end := k
	for end < last && c.d.lines[end].indent >= least+2 {
		end++
	}
	s := c.d.str(k)
	return end-k == 1 && end < last && s[0] >= 'a' && s[0] <= 'z' && c.d.lines[k].indent < least+4
}

func (c *cleaner) proseEnd(k, last int, least int32) int {
	for k < last && c.d.lines[k].indent >= least+2 {
		k++
	}
	for k < last && c.d.lines[k].indent < least+2 {
		k++
	}
	return k
}

func (c *cleaner) run(first, last int) {
	c.lines = c.d.printed(block{first: first, last: last}, c.lines)
	if prose.Verse(c.lines, c.d.width) {
		c.paragraph(first, last, prose.MarkVerse, true)
		return
	}
	c.paragraph(first, last, "", false)
}

// paragraph writes lines as one paragraph, broken as they are or joined.
func (c *cleaner) paragraph(first, last int, kind string, broken bool) {
	p := c.scratch[:0]
	for i := first; i < last; i++ {
		n := len(p)
		if broken && n > 0 {
			p = append(p, '\n')
			before := len(p)
			p = c.line(p, i)
			if len(p) == before {
				p = p[:n]
			}
			continue
		}
		if n == 0 {
			p = c.line(p, i)
			continue
		}
		c.tail = c.line(c.tail[:0], i)
		tail := c.tail
		if len(tail) == 0 {
			continue
		}
		if i > first && c.d.drops(i-1) && !c.d.html {
			p = append(p, tail...)
			continue
		}
		p = prose.JoinBytes(p, tail)
	}
	for len(p) > 0 && p[len(p)-1] == ' ' {
		p = p[:len(p)-1]
	}
	if c.dashes == "em" {
		p = []byte(emDashes(string(p)))
	}
	c.b.Paragraph(p, kind)
	c.scratch = p[:0]
}

// line appends line i without what is cut from it, runs of blanks folded.
func (c *cleaner) line(dst []byte, i int) []byte {
	l := c.d.lines[i]
	at := l.start
	for c.at < len(c.cuts) && c.cuts[c.at].end <= l.start {
		c.at++
	}
	for k := c.at; k < len(c.cuts) && c.cuts[k].start < l.end; k++ {
		if s := c.cuts[k].start; s > at {
			dst = fold(dst, c.d.text[at:s])
		}
		at = max(at, c.cuts[k].end)
	}
	switch {
	case at == l.start && !l.gaps:
		return append(dst, c.d.text[l.start:l.end]...)
	case at < l.end:
		dst = fold(dst, c.d.text[at:l.end])
	}
	for len(dst) > 0 && dst[len(dst)-1] == ' ' {
		dst = dst[:len(dst)-1]
	}
	return dst
}

// fold appends s with runs of blanks as one, none at the start of dst.
func fold(dst []byte, s string) []byte {
	if len(s) > 0 && s[0] != ' ' && !strings.Contains(s, "  ") {
		return append(dst, s...)
	}
	for len(s) > 0 {
		n := strings.IndexByte(s, ' ')
		if n < 0 {
			return append(dst, s...)
		}
		if n > 0 {
			dst = append(dst, s[:n]...)
		}
		if len(dst) > 0 && dst[len(dst)-1] != ' ' {
			dst = append(dst, ' ')
		}
		for n < len(s) && s[n] == ' ' {
			n++
		}
		s = s[n:]
	}
	return dst
}

// emDashes is the normalisation profile that turns `--` into an em dash.
func emDashes(s string) string {
	if !strings.Contains(s, "--") {
		return s
	}
	s = strings.ReplaceAll(s, "----", "——")
	return strings.ReplaceAll(s, "--", "—")
}
