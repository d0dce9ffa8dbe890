// SPDX-License-Identifier: Apache-2.0

package gutenberg

import (
	"slices"
	"strings"
	"unicode"
)

// region is a stretch of a book: blocks [from, to), heading included.
type region struct {
	kind     kind
	from, to int
	text     int // first block behind the heading
	title    string
	label    string
	group    string // heading over several tales
	source   string // source note printed in the heading
	listed   bool   // stands in the contents list
	chapter  bool   // sections: the text right under a chapter's heading
	parts    []int  // sections: blocks of headings inside that go on with the same tale
}

// outline is a book taken apart.
type outline struct {
	regions []region
	how     string // contents, headings, chapters, single
	entries int    // of the contents list
	matched int
}

// split takes the body of a book apart by its contents list, its headings and
// the way they are set.
func (d *doc) split(h header) outline {
	heads := d.heads()
	list := d.contents(heads)
	o := outline{entries: len(list.entries)}
	s := splitter{d: d, heads: heads, list: list, book: foldTitle(h.title)}
	s.match()
	o.matched = s.matched
	switch {
	case s.byContents():
		o.how = "contents"
	case s.byStyle():
		o.how = "headings"
	}
	if o.how != "" {
		s.fillNumbers()
		s.addGroups()
	}
	if s.chapters() {
		if s.sections() {
			o.how = "sections"
		} else {
			o.how = "single"
			s.top = s.special(0)
		}
	}
	o.regions = s.regions()
	if o.how == "sections" {
		o.mergeSections(d)
	} else {
		o.findFrame(d)
	}
	if o.how == "" {
		o.how = "single"
	}
	return o
}

type splitter struct {
	d       *doc
	heads   []head
	list    listing
	book    string
	matched int
	modal   style
	top     []int // indexes into heads: where regions start
	// sectioned says that top holds chapters and the pieces inside them.
	sectioned bool
}

// style is how most tale headings of a book are set.
type style struct {
	before   int
	letters  letterCase
	labelled bool
	level    int
	class    string
	after    int // blank lines below, as most have it; no part of the comparison
}

// match finds for each entry of the contents list its heading: the best chain
// of pairs in order. A heading with more room before it is worth more, so that
// notes which repeat all titles do not win over the tales.
func (s *splitter) match() {
	var cand []int
	notes := false
	for i := range s.heads {
		h := &s.heads[i]
		if h.blk < s.list.to || h.kind == kindContents {
			continue
		}
		switch {
		case h.kind == kindNotes || h.kind == kindAdvert:
			notes = notes || h.before >= 2
		case h.kind != kindTale:
		default:
			h.inNotes = notes
		}
		cand = append(cand, i)
	}
	n, m := len(s.list.entries), len(cand)
	if n == 0 || m == 0 {
		return
	}
	for n*m > 4<<20 {
		// Too many to compare all: keep the better set candidates.
		kept := cand[:0]
		least := 0
		for _, i := range cand {
			least += s.heads[i].before
		}
		least = least/m + 1
		for _, i := range cand {
			if s.heads[i].before >= least {
				kept = append(kept, i)
			}
		}
		if len(kept) == m || len(kept) == 0 {
			cand = cand[:(4<<20)/n]
			m = len(cand)
			break
		}
		cand, m = kept, len(kept)
	}
	for _, i := range cand {
		s.heads[i].num = labelNumber(s.heads[i].label)
	}
	for i := range s.list.entries {
		s.list.entries[i].num = labelNumber(s.list.entries[i].label)
	}
	score := make([]float32, (n+1)*(m+1))
	at := func(i, j int) int { return i*(m+1) + j }
	pair := make([]float32, n*m)
	for i := n - 1; i >= 0; i-- {
		e := &s.list.entries[i]
		for j := m - 1; j >= 0; j-- {
			best := max(score[at(i+1, j)], score[at(i, j+1)])
			if w := s.worth(e, &s.heads[cand[j]]); w > 0 {
				pair[i*m+j] = w
				best = max(best, w+score[at(i+1, j+1)])
			}
			score[at(i, j)] = best
		}
	}
	for i, j := 0, 0; i < n && j < m; {
		w := pair[i*m+j]
		switch {
		case w > 0 && score[at(i, j)] == w+score[at(i+1, j+1)]:
			s.heads[cand[j]].entry = i
			s.matched++
			i++
			j++
		case score[at(i, j)] == score[at(i+1, j)]:
			i++
		default:
			j++
		}
	}
}

// worth is the weight of a pair, 0 for none.
func (s *splitter) worth(e *entry, h *head) float32 {
	v := same(e.key, &e.sig, h.key, &h.sig)
	for n := range e.joined {
		if j := &e.joined[n]; v < 1 && j.key != "" {
			if w := same(j.key, &j.sig, h.key, &h.sig); w > 0 {
				v = max(v, w+0.001) // an entry over two lines rather than half of it
			}
		}
	}
	labels := e.num != "" && e.num == h.num
	if v == 0 {
		if labels && !h.generic && e.sig.alike(&h.sig) > 0.5 {
			v = 0.5
		} else if labels && h.generic && e.text == "" {
			v = 0.5
		} else {
			return 0
		}
	}
	if h.generic && e.label == "" && v < 1 {
		return 0
	}
	w := v*10 + float64(min(h.before, 4))*0.5
	if labels {
		w++
	}
	if h.level > 0 {
		w += 3 - float64(h.level)*0.3
	}
	if h.inNotes {
		w -= 5
	}
	return float32(max(w, 0))
}

// labelNumber is the number in a label, so that XII and 12 compare equal; ""
// for no label.
func labelNumber(l string) string {
	if l == "" {
		return ""
	}
	l = strings.Trim(l[strings.LastIndexByte(l, ' ')+1:], "().:*")
	if n := roman(l); n > 0 {
		return itoa(n)
	}
	return strings.TrimLeft(l, "0")
}

// byContents takes the headings that the contents list names, and those set
// like them that it leaves out.
func (s *splitter) byContents() bool {
	real := 0
	for i := range s.list.entries {
		e := &s.list.entries[i]
		if e.key != "" && !e.sub && kindByWords(e.key) == kindTale {
			real++
		}
	}
	tales := 0
	for i := range s.heads {
		if h := &s.heads[i]; h.entry >= 0 && h.kind == kindTale {
			tales++
		}
	}
	if tales < 2 || tales*10 < real*3 {
		return false
	}
	s.modal = s.common(func(h *head) bool { return h.entry >= 0 && h.kind == kindTale && !h.generic })
	first, last := -1, -1
	alike, listed := 0, 0
	for i := range s.heads {
		h := &s.heads[i]
		if h.entry >= 0 && s.tale(h) {
			if first < 0 {
				first = i
			}
			last = i
		}
		if h.blk >= s.list.to && s.modal.fits(h) {
			alike++
			if h.entry >= 0 {
				listed++
			}
		}
	}
	if first < 0 {
		return false
	}
	loose := alike > 2*listed+3 // the list names few of the tales
	s.top = nil
	for i := range s.heads {
		h := &s.heads[i]
		if h.blk < s.list.to && h.blk >= s.list.from {
			continue
		}
		switch {
		case h.entry >= 0 && s.list.entries[h.entry].sub:
			// Part of a preface or of notes.
		case h.entry >= 0 && s.tale(h), s.bounds(h):
			s.top = append(s.top, i)
		case h.entry < 0 && s.modal.fits(h) && s.modal.clear(h) && h.kind == kindTale && (i > first && i < last || loose && i > first):
			s.top = append(s.top, i)
		case i > last && s.modal.fits(h) && h.kind == kindTale && sameHead(&s.heads[last], h):
			s.top = append(s.top, i) // the last tale's heading below its half-title
		case i > last && s.modal.fits(h) && h.kind == kindTale:
			h.kind = kindBack
			s.top = append(s.top, i)
		case h.entry < 0 && i < first && h.before >= s.modal.before && h.letters == s.modal.letters && h.kind == kindTale && s.grouping(i, first):
			s.top = append(s.top, i)
		}
	}
	return true
}

// grouping reports that heading i, above the first listed one, has nothing
// between itself and that: a group heading or the book's half-title.
func (s *splitter) grouping(i, first int) bool {
	for k := s.heads[i].end; k < s.heads[first].blk; k++ {
		if s.d.blocks[k].role == roleText && s.d.running(s.d.blocks[k]) {
			return false
		}
	}
	return s.heads[i].blk >= s.list.to
}

// tale reports whether a listed heading starts a tale, not a part of one.
func (s *splitter) tale(h *head) bool {
	if h.kind != kindTale {
		return s.bounds(h)
	}
	if h.generic {
		return s.modal.labelled && h.before >= s.modal.before && h.title == "" && h.word != "story" && h.word != "part"
	}
	if h.level > 0 {
		return !(h.label != "" && !s.modal.labelled && h.level > s.modal.level)
	}
	// A numbered heading closer to the text than the tales' own, where the
	// tales have no numbers, counts parts.
	return !(h.label != "" && !s.modal.labelled && h.before < s.modal.before)
}

// bounds reports a heading whose words say that no tale follows.
func (s *splitter) bounds(h *head) bool {
	switch h.kind {
	case kindTale, kindEnd, kindPart, kindGroup:
		return false
	}
	if h.blk >= s.list.from && h.blk < s.list.to {
		return false
	}
	if h.entry >= 0 {
		return true
	}
	if h.level > 0 {
		return s.modal.level == 0 || h.level <= s.modal.level
	}
	switch {
	case s.modal.before == 0:
		return h.before >= 3
	case s.modal.before <= 2:
		return h.before >= 2
	}
	return h.before >= 3 && h.before >= s.modal.before-1
}

func (m style) fits(h *head) bool {
	if h.generic {
		return false
	}
	if h.letters == caseOther {
		// "Pride goeth before a Fall": a title by its room alone.
		last := firstRune(h.title[max(0, len(h.title)-1):])
		return m.level == 0 && m.letters == caseTitle && m.before >= 3 && h.before >= m.before && h.after >= max(2, m.after) && (h.label != "") == m.labelled &&
			len(h.title) <= 90 && !strings.ContainsRune(".!?,;:\"'", last) && unicode.IsLetter(last)
	}
	if m.level > 0 || h.level > 0 {
		return h.level == m.level && h.style == m.class && (h.label != "") == m.labelled
	}
	if m.letters == caseTitle && !m.labelled && m.before <= 2 && m.after >= 2 && h.after < m.after {
		return false // a short line of the text, perhaps
	}
	return h.before >= m.before && h.letters == m.letters && (h.label != "") == m.labelled
}

// fillNumbers adds the numbered headings that are missing between two that were
// found: where 7 and 10 head tales, so do the 8 and 9 between them, even if they
// are set a little closer.
func (s *splitter) fillNumbers() {
	if !s.modal.labelled || s.modal.level > 0 {
		return
	}
	top := map[int]bool{}
	for _, i := range s.top {
		top[i] = true
	}
	number := func(i int) int {
		h := &s.heads[i]
		if h.kind != kindTale || h.label == "" {
			return 0
		}
		l := labelNumber(h.label)
		n := 0
		for _, c := range l {
			if c < '0' || c > '9' || n > 9999 {
				return 0
			}
			n = n*10 + int(c-'0')
		}
		return n
	}
	last, word := 0, ""
	var added []int
	for _, i := range s.top {
		h := &s.heads[i]
		n := number(i)
		if n == 0 {
			continue
		}
		if h.word != word {
			last, word = 0, h.word
		}
		// Candidates in order, from the one behind the last top heading on.
		want := last + 1
		for k := s.before(i, top); k < i && want < n; k++ {
			if c := &s.heads[k]; !top[k] && c.word == word && !c.generic && number(k) == want && c.before >= 1 && c.letters != caseOther {
				added = append(added, k)
				want++
			}
		}
		last = n
	}
	s.top = append(s.top, added...)
	slices.Sort(s.top)
}

// before returns the first candidate behind the last top heading before i that
// is numbered too.
func (s *splitter) before(i int, top map[int]bool) int {
	for k := i - 1; k >= 0; k-- {
		if top[k] && s.heads[k].label != "" {
			return k + 1
		}
	}
	return 0
}

// addGroups adds the headings that stand right above a tale's heading, without
// text between, and have as much room: they head a group of tales.
func (s *splitter) addGroups() {
	top := map[int]bool{}
	for _, i := range s.top {
		top[i] = true
	}
	var added []int
	for _, i := range s.top {
		if s.heads[i].kind != kindTale {
			continue
		}
		for k := i - 1; k >= 0 && !top[k]; k-- {
			h := &s.heads[k]
			if h.kind != kindTale || h.generic && h.title == "" || h.letters == caseOther || h.blk < s.list.to || s.d.textBetween(h.end, s.heads[i].blk) {
				break
			}
			if h.level == 0 && (h.before < max(2, s.modal.before) || h.before < 3 && h.letters != caseCaps) || h.level > 0 && h.level > s.modal.level {
				break
			}
			added = append(added, k)
		}
	}
	s.top = append(s.top, added...)
	slices.Sort(s.top)
}

// textBetween reports a paragraph in blocks [from, to).
func (d *doc) textBetween(from, to int) bool {
	for i := from; i < to; i++ {
		if b := d.blocks[i]; b.role == roleText && (d.running(b) || d.sentence(b) || b.last-b.first > 4) {
			return true
		}
	}
	return false
}

// clear reports that a heading which no list names may be trusted for its style
// alone: the style has room enough to be no accident.
func (m style) clear(h *head) bool {
	if m.level > 0 || m.before >= 3 {
		return true
	}
	return m.before == 2 && h.before == 2 && (m.letters == caseCaps || m.labelled)
}

// near reports a heading like m but with one blank line less before it, where
// there is room enough to tell.
func (m style) near(h *head) bool {
	if h.level > 0 || m.level > 0 || h.generic || m.before < 4 || h.before < 3 {
		return false
	}
	return h.letters == m.letters && (h.label != "") == m.labelled
}

// halfTitle reports the book's own title, printed once more over the text.
func (s *splitter) halfTitle(h *head) bool {
	return h.key == s.book && h.blk < len(s.d.blocks)/8
}

// common is the style of most heads that ok accepts.
func (s *splitter) common(ok func(*head) bool) style {
	count := map[style]int{}
	var order []style
	for i := range s.heads {
		h := &s.heads[i]
		if !ok(h) {
			continue
		}
		st := style{before: min(h.before, 9), letters: h.letters, labelled: h.label != "", level: h.level, class: h.style}
		if h.level > 0 {
			st.before = 0
			st.letters = 0
		}
		if count[st] == 0 {
			order = append(order, st)
		}
		count[st]++
	}
	var best style
	n := 0
	for _, st := range order {
		if count[st] > n {
			best, n = st, count[st]
		}
	}
	return s.withAfter(best)
}

// withAfter finds the room that most headings of a style have below.
func (s *splitter) withAfter(m style) style {
	var count [12]int
	for i := range s.heads {
		if h := &s.heads[i]; h.letters != caseOther && m.fits(h) {
			count[min(h.after, len(count)-1)]++
		}
	}
	for after, n := range count {
		if n > count[m.after] {
			m.after = after
		}
	}
	return m
}

// byStyle finds the tales' headings of a book without a contents list: the
// most prominent style that occurs again and again with text below.
func (s *splitter) byStyle() bool {
	type group struct {
		style style
		heads []int
	}
	var groups []group
	notes := false
	for i := range s.heads {
		h := &s.heads[i]
		// What stands below the heading of notes at a book's end repeats titles.
		if h.kind == kindNotes || h.kind == kindAdvert {
			notes = h.blk > len(s.d.blocks)/2 && h.before >= 2
		}
		if notes {
			continue
		}
		if h.letters == caseOther && h.level == 0 || h.kind != kindTale || h.generic && h.title != "" {
			continue
		}
		if h.level == 0 && h.before < 2 && h.label == "" {
			continue
		}
		if s.halfTitle(h) {
			continue
		}
		st := style{before: min(h.before, 9), letters: h.letters, labelled: h.label != "", level: h.level, class: h.style}
		if h.level > 0 {
			st.before, st.letters = 0, 0
		}
		k := slices.IndexFunc(groups, func(g group) bool { return g.style == st })
		if k < 0 {
			groups = append(groups, group{style: st})
			k = len(groups) - 1
		}
		groups[k].heads = append(groups[k].heads, i)
	}
	best := -1
	for k := range groups {
		g := &groups[k]
		if len(g.heads) < 2 || s.textful(g.heads)*2 < len(g.heads) {
			continue
		}
		if best < 0 || s.prominence(g.style, g.heads).above(s.prominence(groups[best].style, groups[best].heads)) {
			best = k
		}
	}
	if best < 0 {
		return false
	}
	s.modal = s.withAfter(groups[best].style)
	s.top = nil
	notes = false
	for i := range s.heads {
		h := &s.heads[i]
		switch {
		case s.bounds(h):
			// Notes close a book; a list of other books may also open it.
			notes = (h.kind == kindNotes || h.kind == kindAdvert) && h.blk > len(s.d.blocks)/2
			s.top = append(s.top, i)
		case notes, s.halfTitle(h):
		case h.kind == kindTale && (s.modal.fits(h) || s.modal.near(h)), h.kind == kindTale && s.modal.labelled && h.generic && h.before >= s.modal.before && h.title == "":
			s.top = append(s.top, i)
		}
	}
	return true
}

// textful counts the heads that have a paragraph of text below them.
func (s *splitter) textful(heads []int) int {
	n := 0
	for _, i := range heads {
		h := &s.heads[i]
		for k, seen := h.end, 0; k < len(s.d.blocks) && seen < 3; k++ {
			b := s.d.blocks[k]
			if b.role != roleText {
				continue
			}
			seen++
			if s.d.running(b) || s.d.sentence(b) {
				n++
				break
			}
		}
	}
	return n
}

// prominence is how prominent a style is: by level or room, then by running numbers,
// then by how much of the book lies between its first and last heading.
type prominence struct {
	level, room int
	counted     bool // the headings count one by one
	count       int
	cover       int // percent
	letters     letterCase
}

func (s *splitter) prominence(st style, heads []int) prominence {
	r := prominence{level: st.level, room: st.before, letters: st.letters, count: len(heads)}
	first, last := &s.heads[heads[0]], &s.heads[heads[len(heads)-1]]
	r.cover = 100 * (last.blk - first.blk) / max(1, len(s.d.blocks))
	if st.labelled && len(heads) >= 3 && r.cover >= 40 {
		steps, restarts, prev := 0, 0, ""
		for _, i := range heads {
			switch n := labelNumber(s.heads[i].label); {
			case n == prev || n == next(prev):
				steps++
				prev = n
			default:
				if n == "1" || n == "2" {
					restarts++ // parts of several tales, each counted anew
				}
				prev = n
			}
		}
		r.counted = steps*10 >= len(heads)*7 && restarts <= 2
	}
	return r
}

// next is the number after n, both in figures.
func next(n string) string {
	v := 0
	for _, c := range n {
		if c < '0' || c > '9' || v > 9999 {
			return ""
		}
		v = v*10 + int(c-'0')
	}
	return itoa(v + 1)
}

func (a prominence) above(b prominence) bool {
	switch {
	case a.level != b.level:
		return a.level > 0 && (b.level == 0 || a.level < b.level)
	case a.room != b.room:
		return a.room > b.room
	case a.counted && !b.counted:
		// Numbers inside titled tales count their parts.
		return b.letters != caseCaps || a.count >= b.count
	case b.counted && !a.counted:
		return a.letters == caseCaps && a.count > b.count
	case a.cover/20 != b.cover/20:
		return a.cover > b.cover
	case a.letters != b.letters:
		return a.letters > b.letters
	}
	return a.cover > b.cover
}

// chapters reports that the regions found are chapters of one work.
func (s *splitter) chapters() bool {
	tales, chapters, bare := 0, 0, 0
	for _, i := range s.top {
		h := &s.heads[i]
		if h.kind != kindTale {
			continue
		}
		tales++
		switch h.word {
		case "chapter", "act", "scene", "canto", "book", "part", "stave", "letter", "volume", "vol":
			chapters++
		}
		if h.generic {
			bare++
		}
	}
	if tales == 0 {
		return false
	}
	if bare*10 >= tales*8 {
		return true
	}
	if chapters*10 < tales*8 {
		return false
	}
	for _, w := range []string{"tales", "stories", "legends", "fables", "myths", "fairy book"} {
		if strings.Contains(s.book, w) && !s.hasSections() {
			return false
		}
	}
	return true
}

// sectionHeads lists the headings inside chapters that part shorter pieces.
func (s *splitter) sectionHeads() []int {
	var out []int
	top := map[int]bool{}
	for _, i := range s.top {
		top[i] = true
	}
	in := false
	for i := range s.heads {
		h := &s.heads[i]
		if top[i] {
			in = h.kind == kindTale
			continue
		}
		if !in || h.kind != kindTale || h.generic || h.letters == caseOther || h.label != "" || h.before < 2 && h.level == 0 {
			continue
		}
		if last := []rune(h.title); len(last) > 0 && strings.ContainsRune(",;:", last[len(last)-1]) {
			continue
		}
		out = append(out, i)
	}
	return out
}

func (s *splitter) hasSections() bool {
	return len(s.sectionHeads())*2 >= len(s.top)*3 && len(s.sectionHeads()) >= 6
}

// sections makes the pieces inside chapters the regions.
func (s *splitter) sections() bool {
	if !s.hasSections() {
		return false
	}
	s.top = append(s.top, s.sectionHeads()...)
	slices.Sort(s.top)
	s.sectioned = true
	return true
}

// special lists the headings from i on whose words say that no tale follows.
func (s *splitter) special(i int) []int {
	var out []int
	for ; i < len(s.heads); i++ {
		if s.bounds(&s.heads[i]) {
			out = append(out, i)
		}
	}
	return out
}

// regions cuts the blocks at the top headings and round the contents list.
func (s *splitter) regions() []region {
	n := len(s.d.blocks)
	var out []region
	add := func(r region) {
		if r.from < r.to {
			out = append(out, r)
		}
	}
	cursor := region{kind: kindTitlePage}
	closeAt := func(i int) {
		if cursor.to = i; cursor.text > i {
			cursor.text = i
		}
		add(cursor)
	}
	hasList := len(s.list.entries) > 0
	inList := false
	open := func(r region) {
		closeAt(r.from)
		cursor = r
	}
	startList := func() {
		open(region{kind: kindContents, from: s.list.from, text: s.list.from})
		inList = true
	}
	endList := func() {
		k := kindTitlePage
		if s.onlySpecial() {
			k = kindTale
		}
		open(region{kind: k, from: min(s.list.to, n), text: min(s.list.to, n)})
		inList = false
		hasList = false
	}
	if !hasList && s.onlySpecial() {
		cursor.kind = kindTale
	}
	group, numbered := "", false
	for k, i := range s.top {
		h := &s.heads[i]
		if hasList && !inList && h.blk >= s.list.from {
			startList()
		}
		if inList && h.blk >= s.list.to {
			endList()
		}
		if inList {
			continue
		}
		r := region{kind: h.kind, from: h.blk, text: h.end, title: h.title, label: h.label, source: h.source, to: n, listed: h.entry >= 0, chapter: h.label != ""}
		if hasList && r.kind == kindTale {
			r.kind = kindTitlePage // above the contents list
		}
		if r.kind == kindTale && k+1 < len(s.top) {
			next := &s.heads[s.top[k+1]]
			r.to = next.blk
			switch {
			case !s.bare(r):
			case next.kind == kindTale:
				r.kind = kindGroup
				if !sameHead(h, next) { // else a half-title over the heading itself
					group, numbered = h.title, next.label != ""
				}
			case k > 0:
				r.kind = kindBack // lines set as headings that close the book
			}
		}
		if s.sectioned && h.label != "" && h.kind == kindTale {
			group, numbered = h.title, false
		}
		switch r.kind {
		case kindTale:
			if numbered && h.label == "" {
				group = "" // the numbered tales of a group are over
			}
			r.group = strings.TrimRight(group, ".")
		case kindGroup:
		default:
			group = ""
		}
		open(r)
	}
	if hasList && !inList {
		startList()
	}
	if inList && s.list.to < n {
		endList()
	}
	closeAt(n)
	s.frontMatter(out)
	return out
}

// frontMatter makes title pages of the short pieces above the first real tale:
// a publisher's name, a motto, "How to get into this book".
func (s *splitter) frontMatter(rs []region) {
	lastFront := -1
	for i, r := range rs {
		if r.kind == kindPreface || r.kind == kindContents {
			lastFront = i
		}
		if r.kind == kindTale && s.d.size(r) > 2500 {
			break
		}
	}
	for i := range rs {
		r := &rs[i]
		if r.kind != kindTale || r.listed {
			continue
		}
		if n := s.d.size(*r); !(i < lastFront && n < 1200) && !(n < 600 && !s.d.textBetween(r.text, r.to) && s.tales(rs) > 1) {
			break
		}
		r.kind = kindTitlePage
	}
}

func (s *splitter) tales(rs []region) int {
	n := 0
	for _, r := range rs {
		if r.kind == kindTale {
			n++
		}
	}
	return n
}

// size is the bytes of a region.
func (d *doc) size(r region) int {
	sp := d.span(r.from, r.to)
	return sp.end - sp.start
}

func sameHead(a, b *head) bool { return same(a.key, &a.sig, b.key, &b.sig) >= 0.8 }

// onlySpecial reports that no top heading starts a tale.
func (s *splitter) onlySpecial() bool {
	for _, i := range s.top {
		if s.heads[i].kind == kindTale {
			return false
		}
	}
	return true
}

// bare reports a region without text: nothing but lines that list what follows.
func (s *splitter) bare(r region) bool {
	for i := r.text; i < r.to; i++ {
		b := s.d.blocks[i]
		if b.role != roleText {
			continue
		}
		if s.d.running(b) || s.d.sentence(b) || b.last-b.first > 12 {
			return false
		}
		if _, ok := s.d.head(i); !ok && !s.d.listLike(b) && b.last-b.first > 1 {
			return false
		}
	}
	return true
}
