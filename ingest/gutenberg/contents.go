// SPDX-License-Identifier: Apache-2.0

package gutenberg

import (
	"strings"

	"github.com/retcon-bench/retcon/ingest/internal/prose"
)

// entry is a line of a contents list, or a few joined.
type entry struct {
	text   string
	label  string
	num    string // the label's number
	key    string
	sig    sig
	joined [2]variant // with one and with two lines more
	indent int
	page   bool // a page number stood behind it
	sub    bool // stands below a preface or notes entry, deeper indented
	blk    int
}

type variant struct {
	key string
	sig sig
}

// listing is a contents list: blocks [from, to) and its entries.
type listing struct {
	from, to int
	entries  []entry
}

const (
	mostEntries  = 900
	contentsPart = 4 // the list must begin in the first 1/4 of the blocks, if the book is long
)

// contents finds the contents list. Heads are the book's candidates.
func (d *doc) contents(heads []head) listing {
	at := map[int]int{}
	for i, h := range heads {
		at[h.blk] = i
	}
	limit := max(len(d.blocks)/contentsPart, 400)
	for _, h := range heads {
		if h.blk > limit {
			break
		}
		if h.kind == kindContents && strings.Contains(h.key, "contents") {
			if l := d.list(h.blk, h.end, heads, at); len(l.entries) > 1 {
				return l
			}
		}
	}
	// A list without a heading: a block of several lines near the front, most of
	// which are headings further down.
	keys := map[string]bool{}
	for _, h := range heads {
		keys[h.key] = true
	}
	for i := 0; i < len(d.blocks) && i < limit; i++ {
		b := d.blocks[i]
		if b.role != roleText || b.last-b.first < 3 {
			continue
		}
		found := 0
		for k := b.first; k < b.last; k++ {
			e := readEntry(d.str(k))
			if e.key != "" && keys[e.key] {
				found++
			}
		}
		if found*10 >= (b.last-b.first)*6 {
			return d.list(i, i, heads, at)
		}
		if d.running(b) {
			break
		}
	}
	return listing{}
}

// running reports a block of prose: three lines or more, wrapped.
func (d *doc) running(b block) bool {
	if b.role != roleText || b.level > 0 {
		return false
	}
	if d.html {
		return b.hint == hintPara && d.lines[b.last-1].end-d.lines[b.first].start > 160 && !d.listed(b)
	}
	if b.last-b.first < 3 {
		return false
	}
	long := 0
	for i := b.first; i < b.last-1; i++ {
		if (d.lines[i].end-d.lines[i].start)*10 >= d.width*7 {
			long++
		}
	}
	if long*5 < (b.last-1-b.first)*4 {
		return false
	}
	var buf [8]prose.Line
	return !prose.Verse(d.printed(b, buf[:0]), d.width) && !d.listed(b)
}

// listed reports a contents list run on as a paragraph: I. TOM TIT TOT II. THE
// THREE SILLIES ...
func (d *doc) listed(b block) bool {
	if w, _ := token(d.str(b.first)); !strings.HasPrefix(w, "I.") && !strings.HasPrefix(w, "1") && !strings.HasPrefix(w, "I:") && !strings.HasPrefix(w, "I)") {
		return false
	}
	return len(splitRun(d.joined(b))) >= 4
}

// splitRun cuts a run-on list at its numbers, which must rise by one.
func splitRun(s string) []string {
	var out []string
	want, from := 1, 0
	for i := 0; i < len(s); {
		for i < len(s) && s[i] == ' ' {
			i++
		}
		j := i
		for j < len(s) && s[j] != ' ' {
			j++
		}
		w := strings.TrimRight(s[i:j], ".:)")
		if len(w) > 0 && (w == formatRoman(want) && j-i > len(w) || w == itoa(want) && j-i > len(w)) {
			if want == 1 && i > 0 {
				return nil
			}
			if want > 1 {
				out = append(out, strings.TrimSpace(s[from:i]))
			}
			from = i
			want++
		}
		if want == 1 && i > 40 {
			return nil
		}
		i = j
	}
	if want > 2 {
		out = append(out, strings.TrimSpace(s[from:]))
	}
	return out
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + string(rune('0'+n%10))
}

// list reads the list under the heading [from, first) and finds its end: the
// block of a heading that repeats an entry and has text below it, or failing
// that the last heading above the first prose.
func (d *doc) list(from, first int, heads []head, at map[int]int) listing {
	l := listing{from: from, to: len(d.blocks)}
	adding := true
	lines := 0
	for i := first; i < len(d.blocks); i++ {
		b := d.blocks[i]
		if b.role != roleText {
			continue
		}
		if k, ok := at[i]; ok {
			h := &heads[k]
			if len(l.entries) > 0 && d.repeats(l.entries, h) && d.textBelow(h, heads, at) {
				l.to = i
				break
			}
			if h.kind == kindContents || (h.kind == kindPreface || h.kind == kindNotes) && b.before >= 3 && d.textBelow(h, heads, at) {
				adding = false
			}
		}
		if d.running(b) {
			l.to = d.backTo(l, i, heads, at)
			break
		}
		lines += b.last - b.first
		if lines > mostEntries {
			l.to = i
			break
		}
		if adding {
			l.entries = append(l.entries, d.entriesOf(i)...)
		}
	}
	for i := len(l.entries); i > 0 && l.entries[i-1].blk >= l.to; i-- {
		l.entries = l.entries[:i-1]
	}
	l.link()
	return l
}

// repeats reports that h is one of the entries.
func (d *doc) repeats(entries []entry, h *head) bool {
	if h.key == "" || h.generic {
		return false
	}
	for i := range entries {
		e := &entries[i]
		if same(e.key, &e.sig, h.key, &h.sig) >= 0.8 {
			return true
		}
	}
	return false
}

// textBelow reports that what follows heading h is text, not more of a list: a
// block that is no heading, or the same heading once more.
func (d *doc) textBelow(h *head, heads []head, at map[int]int) bool {
	for i, seen := h.end, 0; i < len(d.blocks) && seen < 4; i++ {
		b := d.blocks[i]
		if b.role != roleText {
			continue
		}
		seen++
		k, ok := at[i]
		if !ok {
			return d.running(b) || d.sentence(b) || b.last-b.first >= 2 && !d.listLike(b)
		}
		n := &heads[k]
		if n.key == h.key && n.key != "" {
			return true
		}
		if !n.generic && n.letters != caseOther && b.before >= 1 && !(n.centred && !h.centred) {
			return false
		}
	}
	return false
}

// sentence reports a block that ends as sentences do.
func (d *doc) sentence(b block) bool {
	s := strings.TrimRight(d.str(b.last-1), "\"'”’_)]*")
	if s == "" {
		return false
	}
	switch s[len(s)-1] {
	case '.', '!', '?':
		return d.lines[b.last-1].end-d.lines[b.first].start > 24 && lettersOf(d.str(b.first)) == caseOther
	}
	return false
}

// listLike reports a block whose lines end in page numbers or begin with labels.
func (d *doc) listLike(b block) bool {
	n := 0
	for i := b.first; i < b.last; i++ {
		if e := readEntry(d.str(i)); e.page || e.label != "" || lettersOf(e.text) == caseCaps {
			n++
		}
	}
	return n*2 >= b.last-b.first
}

// backTo returns the block at which the text before the prose block i starts:
// the nearest heading above it that repeats an entry, else the nearest heading
// that has a gap before it.
func (d *doc) backTo(l listing, i int, heads []head, at map[int]int) int {
	best := i
	for k, seen := i-1, 0; k > l.from && seen < 10; k-- {
		if d.blocks[k].role != roleText {
			continue
		}
		seen++
		n, ok := at[k]
		if !ok {
			// A block of the list itself: no heading above it starts the text.
			seen += 3
			continue
		}
		h := &heads[n]
		earlier := l.entries
		for len(earlier) > 0 && earlier[len(earlier)-1].blk >= k {
			earlier = earlier[:len(earlier)-1]
		}
		if d.repeats(earlier, h) {
			// A half-title above the heading repeats it too.
			return k
		}
		if best == i && (h.before >= 2 || h.level > 0) && seen <= 3 {
			best = k
		}
	}
	return best
}

// entriesOf reads the entries of block i.
func (d *doc) entriesOf(i int) []entry {
	b := d.blocks[i]
	if run := splitRun(d.joined(b)); len(run) >= 4 {
		out := make([]entry, 0, len(run))
		for _, s := range run {
			e := readEntry(s)
			e.blk = i
			out = append(out, e)
		}
		return out
	}
	var out []entry
	for k := b.first; k < b.last; k++ {
		if d.lines[k].cut {
			continue
		}
		e := readEntry(d.str(k))
		if e.key == "" || e.key == "page" || e.key == "chapter" || e.key == "facing page" {
			continue
		}
		e.indent = int(d.lines[k].indent)
		e.blk = i
		out = append(out, e)
	}
	return out
}

// readEntry takes a line of a contents list apart: label, title, page number;
// leaders and a trailing bracket with the original's title are left out.
func readEntry(s string) entry {
	s = strings.ReplaceAll(s, "_", "")
	e := entry{}
	t := strings.TrimRight(s, " .")
	i := len(t)
	for i > 0 && (t[i-1] >= '0' && t[i-1] <= '9' || strings.IndexByte("ivxlc", t[i-1]) >= 0) {
		i--
	}
	if i < len(t) && i > 0 && len(t)-i <= 6 && pageNumber(t[i:]) && (strings.HasSuffix(t[:i], "  ") || strings.HasSuffix(t[:i], ".") || strings.HasSuffix(t[:i], ". ") ||
		t[i] <= '9' && t[i-1] == ' ' || strings.HasSuffix(t[:i], "\t")) {
		e.page = true
		t = strings.TrimRight(t[:i], " .\t")
	}
	e.label, _, t = splitLabel(strings.TrimSpace(t))
	t = strings.TrimSpace(stripCall(t))
	if strings.HasSuffix(t, ")") {
		if i := strings.LastIndexByte(t, '('); i > 3 {
			t = strings.TrimSpace(t[:i])
		}
	} else if i := strings.LastIndexByte(t, '('); i > 3 && strings.IndexByte(t[i:], ')') < 0 {
		t = strings.TrimSpace(t[:i])
	}
	e.text = t
	e.key = foldTitle(t)
	if e.key == "" {
		e.key = foldTitle(e.label)
	}
	e.sig = signature(e.key)
	return e
}

// link fills what depends on neighbours: entries over several lines, and
// entries that belong to a preface or to notes.
func (l *listing) link() {
	under := -1
	for i := range l.entries {
		e := &l.entries[i]
		for n := range e.joined {
			if i+n+1 >= len(l.entries) {
				break
			}
			next := &l.entries[i+n+1]
			if next.blk != e.blk || next.label != "" || l.entries[i+n].page {
				break
			}
			key := e.key
			for k := 0; k <= n; k++ {
				key += " " + l.entries[i+k+1].key
			}
			e.joined[n] = variant{key, signature(key)}
		}
		switch {
		case under >= 0 && e.indent > under:
			e.sub = true
		case kindByWords(e.key) == kindPreface || kindByWords(e.key) == kindNotes:
			under = e.indent
		default:
			under = -1
		}
	}
}
