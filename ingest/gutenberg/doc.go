// SPDX-License-Identifier: Apache-2.0

package gutenberg

import (
	"sort"
	"strings"

	"github.com/retcon-bench/retcon/ingest/internal/prose"
)

// doc is a book between header and footer, as lines and blocks. Offsets count
// bytes of text.
type doc struct {
	text    string
	lines   []line
	blocks  []block
	cuts    []cut // sorted, apart; what named rules took out inside the body
	width   int   // the measure to which prose is wrapped, 0 if it is not
	html    bool
	hyphens *hyphens
	// partLike marks the blocks that may head a part of a tale: a number or
	// label, alone or before a title.
	partLike []bool
	segs     []seg // HTML: where the rendered text came from
	source   int   // HTML: length of the decoded file
}

// line is a line that is not blank, without the white space round it.
type line struct {
	start, end int
	indent     int32
	width      int32 // characters
	gaps       bool  // has two blanks side by side
	cut        bool  // wholly inside cuts
}

// block is a run of lines between blank lines.
type block struct {
	first, last int   // lines, last exclusive
	before      int16 // blank lines before it; a picture between counts as none
	level       int8  // HTML heading level, 0 for anything else
	role        role
	hint        hint
	style       string // HTML: element and class of a heading, part of its style
}

// role says what a block is.
type role uint8

const (
	roleText role = iota
	roleVoid      // cut as a whole: a picture, a page number
	roleOrnament
	roleNote // a footnote's text
)

// hint is what HTML says about a block.
type hint uint8

const (
	hintNone hint = iota
	hintPara
	hintVerse
	hintPre
)

// cutLines fills lines and blocks from the body ranges of text and marks
// what the cuts cover.
func (d *doc) cutLines(body []span) {
	d.lines = make([]line, 0, len(d.text)/48)
	d.blocks = make([]block, 0, len(d.text)/256)
	c := 0
	for _, b := range body {
		blank := 99
		open := false
		for at := b.start; at < b.end; {
			end := b.end
			if n := strings.IndexByte(d.text[at:b.end], '\n'); n >= 0 {
				end = at + n
			}
			start, stop, indent := at, end, 0
			for start < stop && (d.text[start] == ' ' || d.text[start] == '\t') {
				start++
				indent++
			}
			for stop > start && isBlank(d.text[stop-1]) {
				stop--
			}
			// An undecoded no-break space or control may be all there is.
			if start < stop && d.text[start] >= 0x80 && strings.TrimSpace(d.text[start:stop]) == "" {
				stop = start
			}
			at = end + 1
			if start == stop {
				blank++
				open = false
				continue
			}
			for c < len(d.cuts) && d.cuts[c].end <= start {
				c++
			}
			width, gaps := prose.Scan(d.text[start:stop])
			l := line{start, stop, int32(indent), int32(width), gaps, c < len(d.cuts) && covered(d.text, d.cuts[c:], start, stop)}
			d.lines = append(d.lines, l)
			n := len(d.lines)
			switch {
			case open && l.cut == (d.blocks[len(d.blocks)-1].role == roleVoid):
				d.blocks[len(d.blocks)-1].last = n
			case open && l.cut:
				// A cut line inside a paragraph.
				d.blocks = append(d.blocks, block{first: n - 1, last: n, before: 0, role: roleVoid})
			default:
				bl := block{first: n - 1, last: n, before: int16(min(blank, 99))}
				if open {
					bl.before = 0
				}
				if l.cut {
					bl.role = roleVoid
				}
				d.blocks = append(d.blocks, bl)
			}
			open, blank = true, 0
		}
	}
	d.settle()
}

// settle gives blocks behind pictures the larger of the gaps round them, and
// finds ornaments and the measure.
func (d *doc) settle() {
	gap := int16(0)
	for i := range d.blocks {
		b := &d.blocks[i]
		if b.role == roleVoid {
			gap = max(gap, b.before)
			continue
		}
		b.before = max(b.before, gap)
		gap = 0
		if b.last-b.first == 1 && ornament(d.str(b.first)) {
			b.role = roleOrnament
		}
	}
	d.measure()
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v' }

// covered reports that all of text[start:end] that is not blank lies in cuts.
func covered(text string, cuts []cut, start, end int) bool {
	for _, c := range cuts {
		if c.start > start {
			break
		}
		start = max(start, c.end)
		for start < end && isBlank(text[start]) {
			start++
		}
		if start >= end {
			return true
		}
	}
	return false
}

func (d *doc) str(i int) string { return d.text[d.lines[i].start:d.lines[i].end] }

// span returns the bytes of blocks [from, to).
func (d *doc) span(from, to int) span {
	if from >= to {
		return span{}
	}
	return span{d.lines[d.blocks[from].first].start, d.lines[d.blocks[to-1].last-1].end}
}

// joined returns the block's lines in one, cuts left out, white space folded.
func (d *doc) joined(b block) string {
	gaps, size := d.html && b.last-b.first > 1, 0
	for i := b.first; i < b.last; i++ {
		l, s := d.lines[i], d.str(i)
		size += 1 + len(s)
		gaps = gaps || l.gaps || !d.html && (strings.IndexByte(s, '\t') >= 0 || strings.Contains(s, "\u00a0"))
	}
	if end := d.lines[b.last-1].end; len(d.cuts) > 0 {
		k := d.cutAt(d.lines[b.first].start)
		gaps = gaps || k < len(d.cuts) && d.cuts[k].start < end
	}
	if b.last-b.first == 1 && !gaps {
		return d.str(b.first)
	}
	var sb strings.Builder
	sb.Grow(size)
	for i := b.first; i < b.last; i++ {
		if i > b.first {
			sb.WriteByte(' ')
		}
		if !gaps {
			sb.WriteString(d.str(i))
			continue
		}
		d.pieces(i, func(s string, _ int) { sb.WriteString(s) })
	}
	if !gaps {
		return sb.String()
	}
	return strings.Join(strings.Fields(sb.String()), " ")
}

// pieces calls f with the parts of line i that no cut covers, and their
// offsets.
func (d *doc) pieces(i int, f func(s string, at int)) {
	l := d.lines[i]
	at := l.start
	for k := d.cutAt(l.start); k < len(d.cuts) && d.cuts[k].start < l.end; k++ {
		if c := d.cuts[k]; c.start > at {
			f(d.text[at:c.start], at)
		}
		at = max(at, d.cuts[k].end)
	}
	if at < l.end {
		f(d.text[at:l.end], at)
	}
}

// cutAt returns the index of the first cut that ends after off.
func (d *doc) cutAt(off int) int {
	return sort.Search(len(d.cuts), func(i int) bool { return d.cuts[i].end > off })
}

// measure finds the width to which prose is wrapped: the length that nine in
// ten lines of longer paragraphs stay within, as these lines do not differ by
// more than a word.
func (d *doc) measure() {
	if d.html {
		return
	}
	var hist [256]int
	total := 0
	for i := 0; i < len(d.blocks); i++ {
		b := d.blocks[i]
		if b.last-b.first < 4 || d.lines[b.first+1].indent > 1 {
			continue
		}
		for k := b.first; k < b.last-1; k++ {
			n := int(d.lines[k].width)
			hist[min(n, 255)]++
			total++
		}
	}
	seen := 0
	for w, n := range hist {
		seen += n
		if seen*20 >= total*19 {
			d.width = w
			break
		}
	}
	if total < 8 || d.width < 30 || d.width > 120 {
		d.width = 72
	}
}

// ornament reports a line of asterisks, dashes or the like that parts scenes.
func ornament(s string) bool {
	if len(s) > 100 {
		return false
	}
	marks := 0
	for _, r := range s {
		switch r {
		case ' ':
		case '*', '-', '_', '=', '~', '+', '.', '·', '•', '—', '–', '#', '◆', '⁂', 'o', 'O', '<', '>', '|':
			marks++
			if (r == 'o' || r == 'O') && strings.Trim(s, " oO") != "" {
				return false
			}
		default:
			return false
		}
	}
	if strings.Trim(s, " .") == "" || strings.Trim(s, " oO") == "" {
		return marks >= 4 && strings.Contains(s, " ")
	}
	return marks >= 3 || marks >= 1 && strings.Trim(s, " *") == "" && s != ""
}

// printed returns the block's lines for prose.Verse.
func (d *doc) printed(b block, dst []prose.Line) []prose.Line {
	dst = dst[:0]
	for i := b.first; i < b.last; i++ {
		dst = append(dst, prose.Line{Text: d.str(i), Indent: int(d.lines[i].indent), Width: int(d.lines[i].width)})
	}
	return dst
}
