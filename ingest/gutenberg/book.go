// SPDX-License-Identifier: Apache-2.0

package gutenberg

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/retcon-bench/retcon/ingest"
	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

// Stage is the step that books are set aside in.
const stage = "ingest"

// Reasons for which a book, or a part of one, is set aside.
const (
	ReasonUnreadable   = "unreadable"     // the file could not be opened or read
	ReasonNotText      = "not_text"       // binary data under a text's name
	ReasonEmptyFile    = "empty_file"     // nothing in the file
	ReasonEmpty        = "empty"          // quarantine: nothing left after the header
	ReasonShrank       = "shrank"         // quarantine: cleaning took out more than 60 %
	ReasonLanguage     = "language"       // not a language that was asked for
	ReasonCopyright    = "copyrighted"    // in copyright
	ReasonPlay         = "play"           // set as a play
	ReasonPoetry       = "poetry"         // a book of verse
	ReasonLongWork     = "long_work"      // one long work, no collection
	ReasonNotSelected  = "not_selected"   // the catalogue's type, subjects or shelves
	ReasonEncoding     = "other_encoding" // another file of the same book is read
	ReasonTooShort     = "too_short"      // fewer words than min_words
	ReasonTooLong      = "too_long"       // more words than max_words
	ReasonNotNarrative = "not_narrative"  // a section that describes and does not tell
	ReasonTruncated    = "truncated"      // the file ends in the middle of it
	ReasonFrame        = "frame"          // a chapter of the story told round the tales
	ReasonBack         = "back_matter"    // a piece behind the tales that the contents list does not name
	ReasonCatalogue    = "catalogue_row"  // a catalogue record that cannot be read
)

// leastSection is the length in words below which a section of a chapter is
// no tale by itself.
const leastSection = 80

// Reader turns one book's bytes into stories. It is a value; the corpus
// "tales" uses one with its own markers.
type Reader struct {
	Corpus   string
	Settings Settings
	Terms    ingest.Terms
	URL      func(id string) string // of a book, "" if nil
}

// Book is what a reader makes of a file.
type Book struct {
	Key     string // ebook number, or slug of the file's name
	Title   string
	Authors []string
	Stories []schemas.Story
	Dropped []schemas.Dropped
	Outline string // how it was taken apart: contents, headings, sections, single
	Parts   []Part // the whole file in order, tales and what was set aside
	Bad     bool   // the file could not be read as a book at all
}

// Part is a stretch of the decoded file.
type Part struct {
	Rule       string // tale, or the rule that set it aside
	Title      string
	Start, End int // bytes
}

// Info is what a catalogue knows of a book.
type Info struct {
	ID        string
	Type      string
	Title     string
	Languages []string
	Authors   []string
	Subjects  []string
	LoCC      []string
	Shelves   []string
	Rights    string
}

// Read takes data, the file called name, apart. Info may be nil. The order of
// the stories is the book's.
func (r *Reader) Read(name string, data []byte, info *Info) Book {
	sum := sha256.Sum256(data)
	return r.read(name, data, hex.EncodeToString(sum[:]), info)
}

func (r *Reader) read(name string, data []byte, sum string, info *Info) Book {
	key := slugOf(name)
	bk := Book{Key: key}
	drop := func(reason, detail string, bad bool) Book {
		bk.Bad = bad
		bk.Dropped = append(bk.Dropped, schemas.Dropped{ID: r.Corpus + ":" + bk.Key, Stage: stage, Reason: reason,
			Detail: detail, Evidence: []schemas.KeyValue{{Key: "file", Value: name}}})
		return bk
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return drop(ReasonEmptyFile, "the file is empty", true)
	}
	if what := binary(data); what != "" {
		return drop(ReasonNotText, "the file holds "+what+", not text", true)
	}
	isHTML := looksHTML(name, data)
	dec := text.Decode(data, declaredCharset(data, isHTML))
	var d *doc
	var f frame
	if isHTML {
		d, f = r.readHTML(dec.Text)
	} else {
		f = findFrame(dec.Text, r.Settings.Markers)
		d = &doc{text: dec.Text, cuts: findCuts(dec.Text, f.body)}
	}
	h := f.header
	if h.id != "" {
		bk.Key = h.id
	} else if id := idOfName(name); id != "" {
		bk.Key = id
	}
	if info != nil {
		if h.title == "" {
			h.title = info.Title
		}
		if len(info.Authors) > 0 {
			h.authors = info.Authors
		}
	}
	bk.Title, bk.Authors = h.title, h.authors
	if len(f.body) == 0 {
		return drop(ReasonEmpty, "nothing is left of the file without header and footer ("+f.how+")", false)
	}
	if !isHTML {
		d.cutLines(f.body)
	}
	if reason, detail := r.unfit(d, h, info); reason != "" {
		return drop(reason, detail, false)
	}
	d.front(h)
	o := d.split(h)
	bk.Outline = o.how
	w := &writer{r: r, bk: &bk, d: d, f: f, o: o, name: name, sum: sum, dec: dec, h: h, info: info}
	w.all()
	return bk
}

// writer makes stories of a book's regions.
type writer struct {
	r     *Reader
	bk    *Book
	d     *doc
	f     frame
	o     outline
	name  string
	sum   string
	dec   text.Decoded
	h     header
	info  *Info
	slugs schemas.Slugs
	c     cleaner // keeps its room from tale to tale
	notes []bool  // by block: a note that is numbered through the book
	// removed is what was taken out of the file outside its tales.
	removed []cut
	book    map[string]bool // labels of notes that stand behind the tales
	// colophons says that tales of the book end in a bare source line.
	colophons bool
	above     []cut  // group headings right above the next tale
	again     string // the heading as printed once more under a half-title
}

func (w *writer) all() {
	d := w.d
	w.slugs = schemas.Slugs{}
	w.removed = append(w.removed, w.f.cuts...)
	w.book = map[string]bool{}
	tales, kept, set := 0, 0, 0
	for _, r := range w.o.regions {
		sp := d.span(r.from, r.to)
		if r.kind == kindTale {
			tales++
			continue
		}
		set += sp.end - sp.start
		if r.from < r.to {
			w.bk.Parts = append(w.bk.Parts, Part{r.kind.rule(), r.title, sp.start, sp.end})
		}
		if r.from < r.to && r.kind != kindGroup {
			w.removed = append(w.removed, cut{sp.start, sp.end, r.kind.rule()})
		}
		if r.kind == kindFrame || r.kind == kindBack {
			reason, detail := ReasonFrame, "a chapter of the story told round the tales"
			if r.kind == kindBack {
				reason, detail = ReasonBack, "stands behind the tales and is not in the contents list"
			}
			w.drop(w.r.Corpus+":"+w.bk.Key+"/"+schemas.Slug(r.title), reason, detail,
				schemas.KeyValue{Key: "title", Value: r.title}, schemas.KeyValue{Key: "bytes", Value: w.bytes(sp)})
		}
		if r.kind == kindNotes || r.kind == kindBack {
			for _, n := range d.notesIn(r.from, r.to, nil) {
				if n.style == '[' {
					w.book[n.label] = true
				}
			}
		}
	}
	w.bookNotes()
	w.findColophons()
	single := w.o.how == "single"
	var stories []schemas.Story
	for _, r := range w.o.regions {
		if r.kind == kindGroup {
			sp := d.span(r.from, r.to)
			w.above = append(w.above, cut{sp.start, sp.end, r.kind.rule()})
			continue
		}
		if r.kind != kindTale {
			w.above = nil
			continue
		}
		if s, ok := w.tale(r, single && tales == 1); ok {
			kept += len(s.Text)
			stories = append(stories, s)
		}
	}
	body := 0
	for _, b := range w.f.body {
		body += b.end - b.start
	}
	switch {
	case tales == 0 && len(stories) == 0:
		w.drop("", ReasonEmpty, "no tale was found; all of the text is front or back matter")
	case single && len(stories) == 1 && w.r.Settings.LongWork > 0 && stories[0].Words > w.r.Settings.LongWork:
		w.drop("", ReasonLongWork, fmt.Sprintf("one work of %d words in %s, no collection", stories[0].Words, "one piece or chapters"))
		stories = nil
	}
	w.bk.Stories = stories
	for i := range w.bk.Stories {
		s := &w.bk.Stories[i]
		s.Removed = w.removals(s.Removed)
	}
}

func (w *writer) drop(id, reason, detail string, ev ...schemas.KeyValue) {
	if id == "" {
		id = w.r.Corpus + ":" + w.bk.Key
	}
	ev = append([]schemas.KeyValue{{Key: "file", Value: w.name}}, ev...)
	w.bk.Dropped = append(w.bk.Dropped, schemas.Dropped{ID: id, Stage: stage, Reason: reason, Detail: detail, Evidence: ev})
}

// bytes prints a range of the decoded file as evidence.
func (w *writer) bytes(sp span) string {
	start, end := sp.start, sp.end
	if w.d.html {
		start, end = w.d.upstream(cut{start, end, ""})
	}
	return strconv.Itoa(start) + "-" + strconv.Itoa(end)
}

// tale writes one region.
func (w *writer) tale(r region, single bool) (schemas.Story, bool) {
	d := w.d
	title := tidyTitle(r.title)
	from, to := r.text, r.to
	whole := d.span(r.from, r.to)
	w.again = ""
	cuts := w.trim(&from, &to, r)
	if w.again != "" {
		if h, ok := readHead(w.again); ok && h.title != "" {
			title = tidyTitle(h.title)
		}
	}
	if title == "" {
		title = r.label
	}
	if title == "" {
		title = w.h.title
	}
	slug := ""
	if !single {
		slug = "/" + w.slugs.Next(title)
	}
	sp := d.span(from, to)
	if r.from < r.text {
		h := d.span(r.from, min(r.text, r.to))
		cuts = append(cuts, cut{h.start, h.end, ruleHeading})
	}
	cuts = append(cuts, w.above...)
	w.above = nil
	cuts = append(cuts, w.inside(from, to, r)...)
	for k := d.cutAt(whole.start); k < len(d.cuts) && d.cuts[k].start < whole.end; k++ {
		cuts = append(cuts, d.cuts[k])
	}
	cuts = mergeCuts(cuts)
	c := &w.c
	*c = cleaner{d: d, cuts: cuts, dashes: w.r.Settings.Dashes, b: c.b, lines: c.lines[:0], scratch: c.scratch[:0], tail: c.tail[:0]}
	c.b.Reset()
	c.b.Grow(sp.end - sp.start)
	part := w.partHeads(from, to)
	for _, i := range r.parts {
		part[i] = true
	}
	c.write(from, to, part)
	key := w.bk.Key
	s := schemas.Story{
		StoryID:    w.r.Corpus + ":" + key + slug,
		Kind:       schemas.KindStory,
		Title:      title,
		Language:   languageCode(w.h.language),
		Collection: key,
		Source:     w.source(),
		Meta:       w.meta(r),
	}
	s.GroupID = s.StoryID
	c.b.Fill(&s)
	for _, x := range cuts {
		s.Removed = append(s.Removed, schemas.Removal{Rule: x.rule, ByteStart: x.start, ByteEnd: x.end})
	}
	size := sp.end - sp.start
	ev := []schemas.KeyValue{{Key: "title", Value: title}, {Key: "bytes", Value: w.bytes(whole)}}
	set := w.r.Settings
	switch {
	case s.Text == "":
		w.drop(s.StoryID, ReasonEmpty, "the heading has no text below it", ev...)
	case !d.html && size > 400 && len(s.Text)*10 < w.solid(from, to)*4:
		w.drop(s.StoryID, ReasonShrank, fmt.Sprintf("cleaning left %d of %d bytes", len(s.Text), size), ev...)
	case r.to == len(d.blocks) && w.f.open && !endsText(s.Text):
		w.drop(s.StoryID, ReasonTruncated, fmt.Sprintf("the file has no end marker and ends in mid-sentence: %q", lastWords(s.Text)), ev...)
	case s.Words < set.MinWords:
		w.drop(s.StoryID, ReasonTooShort, fmt.Sprintf("%d words, fewer than %d", s.Words, set.MinWords), ev...)
	case set.MaxWords > 0 && s.Words > set.MaxWords:
		w.drop(s.StoryID, ReasonTooLong, fmt.Sprintf("%d words, more than %d", s.Words, set.MaxWords), ev...)
	case w.o.how == "sections" && (aside(foldTitle(title)) || s.Words < leastSection || !narrative(s.Text)):
		w.drop(s.StoryID, ReasonNotNarrative, "a section of a chapter that describes more than it tells", ev...)
	default:
		w.bk.Parts = append(w.bk.Parts, Part{"tale", title, whole.start, whole.end})
		return s, true
	}
	return schemas.Story{}, false
}

// bookNotes finds the notes "[12] ..." whose numbers run through the whole
// book, so that a number's one note may stand behind another tale than its call
// does: at the end of a chapter or part. A note has a call above it; without one
// it is text. What stands between two notes is theirs if the second one's call
// is above the first.
func (w *writer) bookNotes() {
	d := w.d
	type at struct{ label, blk, start, call int }
	var notes []at
	count := map[int]int{}
	for i := range d.blocks {
		b := d.blocks[i]
		if b.role != roleText {
			continue
		}
		for k := b.first; k < b.last; k++ {
			if s := d.str(k); s[0] == '[' {
				if v := noteNumber(s); v > 0 && (k == b.first || len(notes) > 0 && notes[len(notes)-1].blk == i) {
					notes = append(notes, at{v, i, d.lines[k].start, -1})
					count[v]++
				}
			}
		}
	}
	if len(notes) == 0 {
		return
	}
	// The first place where each number is called.
	calls := map[int]int{}
	for i := 0; i < len(d.text); i++ {
		n := strings.IndexByte(d.text[i:], '[')
		if n < 0 {
			break
		}
		i += n
		if v := noteNumber(d.text[i:min(len(d.text), i+8)]); v > 0 && count[v] == 1 {
			if _, ok := calls[v]; !ok {
				calls[v] = i
			}
		}
	}
	known := notes[:0]
	for _, n := range notes {
		if c, ok := calls[n.label]; ok && c < n.start && count[n.label] == 1 {
			n.call = c
			known = append(known, n)
		}
	}
	if len(known) == 0 {
		return
	}
	w.notes = make([]bool, len(d.blocks))
	region := 0
	for k, n := range known {
		w.book[strconv.Itoa(n.label)] = true
		for region < len(w.o.regions) && w.o.regions[region].to <= n.blk {
			region++
		}
		to := n.blk + 1
		if region < len(w.o.regions) {
			end := w.o.regions[region].to
			if b := d.blocks[n.blk]; b.last-b.first == 1 && strings.HasSuffix(d.str(b.first), "]") && len(d.str(b.first)) < 8 {
				to = min(to+1, end) // a number alone: the note is the next block
			}
			if k+1 < len(known) && known[k+1].blk < end && known[k+1].call < n.start {
				to = max(to, known[k+1].blk)
			}
		}
		for i := n.blk; i < to; i++ {
			w.notes[i] = true
		}
	}
}

// noteNumber reads "[12]" at the start of s; 0 if it is no such number.
func noteNumber(s string) int {
	v := 0
	for i := 1; i < len(s) && i < 6; i++ {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			v = v*10 + int(c-'0')
		case c == ']' && i > 1:
			return v
		default:
			return 0
		}
	}
	return 0
}

// endsText reports a text that ends as texts do, not in mid-sentence.
func endsText(s string) bool {
	s = strings.TrimRight(s, "\"'”’»)]*_ ")
	return s == "" || strings.IndexByte(".!?:;-", s[len(s)-1]) >= 0 || strings.HasSuffix(s, "…") || strings.HasSuffix(s, "—")
}

// lastWords quotes the end of s.
func lastWords(s string) string {
	r := []rune(s)
	return string(r[max(0, len(r)-30):])
}

// tidyTitle leaves a heading's own full stop out.
func tidyTitle(s string) string {
	s = strings.TrimSpace(s)
	if n := len(s); n > 1 && s[n-1] == '.' && s[n-2] != '.' {
		return s[:n-1]
	}
	return s
}

// solid counts the bytes of lines in blocks [from, to), without gaps.
func (w *writer) solid(from, to int) int {
	n := 0
	for i := from; i < to; i++ {
		b := w.d.blocks[i]
		for k := b.first; k < b.last; k++ {
			n += w.d.lines[k].end - w.d.lines[k].start
		}
	}
	return n
}

// trim moves from and to over blocks at a tale's two ends that are not its
// text, and returns them as cuts.
func (w *writer) trim(from, to *int, r region) []cut {
	d := w.d
	var out []cut
	take := func(i int, rule string) {
		sp := d.span(i, i+1)
		out = append(out, cut{sp.start, sp.end, rule})
	}
	key := foldTitle(r.title)
	ks := signature(key)
	for *from < *to {
		i := *from
		b := d.blocks[i]
		rule := ""
		raw := ""
		if b.last-b.first <= 4 {
			raw = d.joined(b)
		}
		switch {
		case b.role == roleVoid:
			*from++
			continue
		case b.role == roleOrnament:
			rule = ruleOrnament
		case raw == "":
		case dedication(d, b):
			rule = ruleDedicate
		case i == r.text && w.subtitle(r, i, raw):
			rule = ruleSubtitle
		case wholeSource(raw):
			rule = ruleSource
		case key != "" && lettersOf(raw) != caseOther && b.last-b.first <= 2:
			k := foldTitle(raw)
			s := signature(k)
			if same(k, &s, key, &ks) >= 0.9 {
				rule = ruleHeading
				w.again = raw
			}
		}
		if rule == "" {
			if label, _, _ := readNoteLabel(d.str(b.first)); label != "" && label != "A" && w.leadingNote(i, r) {
				rule = ruleFootnote
			}
		}
		if rule == "" {
			break
		}
		take(i, rule)
		*from++
	}
	if end := w.closingNote(*from, *to); end < *to {
		sp := d.span(end, *to)
		out = append(out, cut{sp.start, sp.end, kindNotes.rule()})
		*to = end
	}
	for *to > *from {
		i := *to - 1
		b := d.blocks[i]
		rule := ""
		raw := ""
		if b.last-b.first <= 14 {
			raw = d.joined(b)
		}
		switch {
		case b.role == roleVoid:
			*to--
			continue
		case b.role == roleOrnament:
			rule = ruleOrnament
		case i == *from && *to-*from == 1:
		case trailingNote(d.str(b.first)):
			rule = ruleSource
		case w.longNote(*from, *to, &i):
			sp := d.span(i, *to)
			out = append(out, cut{sp.start, sp.end, ruleSource})
			*to = i
			continue
		case raw == "":
		case w.notes != nil && w.notes[i]:
			rule = ruleFootnote
		case kindByWords(foldTitle(raw)) == kindEnd && b.last-b.first == 1:
			rule = ruleEnd
		case b.last-b.first <= 4 && trailingSource(raw):
			rule = ruleSource
		case w.colophons && b.last-b.first <= 2 && colophon(raw):
			rule = ruleSource
		default:
			if label, style, _ := readNoteLabel(d.str(b.first)); label != "" && w.called(r, i, label, style) {
				rule = ruleFootnote
			}
		}
		if rule == "" {
			break
		}
		take(i, rule)
		*to--
	}
	return out
}

// subtitle reports that block i, right under the heading, is its second line:
// closer to the heading than text is, in capitals like it, and parted from the
// text.
func (w *writer) subtitle(r region, i int, raw string) bool {
	d := w.d
	b := d.blocks[i]
	if b.level > 0 || b.last-b.first > 2 || len(raw) > 90 || lettersOf(r.title) != caseCaps || lettersOf(raw) != caseCaps || i+1 >= r.to {
		return false
	}
	h, ok := readHead(raw)
	if !ok || h.label != "" || h.generic || strings.ContainsAny(raw[:1], "\"'[") || strings.HasPrefix(raw, "“") || strings.HasPrefix(raw, "‘") {
		return false
	}
	next := d.next(i + 1)
	if next >= r.to || d.blocks[next].before < 2 || b.before >= d.blocks[next].before {
		return false
	}
	return d.running(d.blocks[next]) || d.sentence(d.blocks[next])
}

// closingNote returns the block from which on a tale is followed by a note on
// the book, without a heading but behind an ornament: "***** / The Brothers
// Grimm, Jacob (1785-1863) ...". It returns to if there is none.
func (w *writer) closingNote(from, to int) int {
	d := w.d
	for i := to - 1; i > from && i >= to-14; i-- {
		b := d.blocks[i]
		if b.role != roleOrnament || b.before < 1 {
			continue
		}
		sp := d.span(i+1, to)
		if sp.end == 0 || sp.end-sp.start > 5000 || sp.start-d.span(from, i).start < 2*(sp.end-sp.start) {
			return to
		}
		t := d.text[sp.start:sp.end]
		n := 2 * lifeYears(t)
		for _, w := range []string{"published", "edition", "collection", "author", "translat", "volume", "publisher", "printed", "literature", "book", "copyright"} {
			if strings.Contains(t, w) {
				n++
			}
		}
		if n >= 4 && !strings.ContainsAny(t[:1], "\"'") {
			return i
		}
		return to
	}
	return to
}

// lifeYears counts pairs of years such as (1785-1863).
func lifeYears(s string) int {
	n := 0
	for i := 0; i+9 <= len(s); i++ {
		if s[i] == '1' && digits(s[i:i+4]) && s[i+4] == '-' && digits(s[i+5:i+9]) {
			n++
			i += 8
		}
	}
	return n
}

// longNote finds an editor's note of several indented paragraphs that ends at
// to, and sets i to its first block.
func (w *writer) longNote(from, to int, i *int) bool {
	d := w.d
	if d.html {
		return false
	}
	for k := to - 1; k > from && k >= to-12; k-- {
		b := d.blocks[k]
		if b.role != roleText {
			continue
		}
		if d.lines[b.first].indent < 2 {
			return false
		}
		if trailingNote(d.str(b.first)) {
			*i = k
			return true
		}
	}
	return false
}

// findColophons sees whether the book's tales end in a line that says where they
// come from, and nothing more ("Grimm.", "By the Comte de Caylus.", "Spanish
// Tradition."). One such line could be a tale's last words; a good part of
// the tales do not end like that by chance.
func (w *writer) findColophons() {
	d := w.d
	n, tales := 0, 0
	for _, r := range w.o.regions {
		if r.kind != kindTale {
			continue
		}
		tales++
		for i := r.to - 1; i > r.text; i-- {
			b := d.blocks[i]
			if b.role != roleText {
				continue
			}
			if b.last-b.first <= 2 && b.level == 0 {
				if raw := d.joined(b); colophon(raw) || trailingSource(raw) {
					n++
				}
			}
			break
		}
	}
	w.colophons = n >= 4 && n*10 >= tales*3
}

// colophon reports a short line that names a book, a writer or a people and
// tells nothing.
func colophon(s string) bool {
	if len(s) > 110 || strings.HasPrefix(s, "\"") || strings.HasPrefix(s, "“") || strings.HasSuffix(s, "!") || strings.HasSuffix(s, "?") || strings.HasSuffix(s, ",") {
		return false
	}
	words, big := 0, 0
	for _, f := range strings.Fields(s) {
		t := strings.ToLower(strings.Trim(f, ".,;:()[]'‘’\"“”_"))
		switch t {
		case "":
			continue
		case "he", "she", "it", "they", "you", "i", "we", "was", "were", "is", "are", "had", "has", "have", "did", "do", "so", "said", "that", "this", "there", "him", "them", "his", "her",
			"never", "ever", "not", "no", "yes", "came", "went", "lived", "will", "would":
			return false
		case "the", "of", "by", "and", "in", "a", "an", "le", "la", "les", "de", "du", "des", "par", "et", "von", "der", "die", "das", "und", "mme", "mr", "dr", "from", "adapted", "translated",
			"after", "told", "to", "on", "at", "vol", "p", "pp", "d", "madame", "el", "los":
			continue
		}
		words++
		if r := firstRune(strings.TrimLeft(f, "([‘'\"“_")); unicode.IsUpper(r) || r >= '0' && r <= '9' || strings.HasPrefix(f, "d'") || strings.HasPrefix(f, "l'") {
			big++
		}
	}
	return words > 0 && words <= 12 && big*3 >= words*2
}

// called reports that a footnote's call stands in the heading or in the text
// above block i. A note without a call is text.
func (w *writer) called(r region, i int, label string, style byte) bool {
	d := w.d
	from := d.lines[d.blocks[r.from].first].start
	t := d.text[from:d.lines[d.blocks[i].first].start]
	switch style {
	case '[':
		return strings.Contains(t, "["+label+"]")
	case '(':
		return strings.Contains(t, "("+label+")")
	case '{':
		return strings.Contains(t, "{"+label+"}")
	}
	return strings.Contains(t, label)
}

// leadingNote reports that block i, right under the heading, is a footnote
// that the heading calls.
func (w *writer) leadingNote(i int, r region) bool {
	d := w.d
	label, _, _ := readNoteLabel(d.str(d.blocks[i].first))
	sp := d.span(r.from, r.text)
	h := d.text[sp.start:sp.end]
	for _, p := range []string{"(" + label + ")", "[" + label + "]", "{" + label + "}", label} {
		if strings.HasSuffix(strings.TrimSpace(h), p) {
			return true
		}
	}
	return false
}

// dedication reports a block of capitals or short centred lines that begins
// with TO.
func dedication(d *doc, b block) bool {
	s := strings.TrimLeft(d.str(b.first), "[(")
	if s != "TO" && s != "To" && !strings.HasPrefix(s, "TO ") && !strings.HasPrefix(s, "_To") && !strings.HasPrefix(s, "To my") && !strings.HasPrefix(s, "To the memory") {
		return false
	}
	if s == "TO" || s == "To" {
		return b.last-b.first <= 6
	}
	for i := b.first; i < b.last; i++ {
		if d.lines[i].end-d.lines[i].start > 72 || d.lines[i].end-d.lines[i].start > 44 && d.lines[i].indent < 4 && !quickCaps(d.str(i)) || !quickCaps(d.str(i)) && d.lines[i].indent < 8 {
			return false
		}
	}
	return true
}

// wholeSource reports a block under a heading that says only where the tale
// comes from: "(From the Russian.)", "[From ...]".
func wholeSource(s string) bool {
	n := len(s)
	if n < 4 || n > 240 {
		return false
	}
	t := strings.Trim(s, "_")
	if t == "" {
		return false
	}
	if t[0] == '(' && t[len(t)-1] == ')' || t[0] == '[' && t[len(t)-1] == ']' {
		return sourceNote(t[1:len(t)-1]) && strings.IndexByte(t[1:len(t)-1], '(') < 0
	}
	return false
}

// trailingSource reports a last block that says where the tale comes from.
func trailingSource(s string) bool {
	if len(s) > 260 {
		return false
	}
	if wholeSource(s) {
		return true
	}
	t := strings.TrimLeft(s, "_([")
	for _, p := range []string{"From the ", "From ‘", "From '", "From \"", "From “", "From _", "Adapted from", "Translated from", "Translated by", "Taken from", "Abridged from",
		"Retold from", "From Major", "Source:", "See Notes", "See “", "See _"} {
		if strings.HasPrefix(t, p) {
			return titled(t)
		}
	}
	if strings.HasPrefix(t, "From ") {
		// "From Z. Topelius."
		return len(t) < 90 && titled(t)
	}
	return false
}

// titled reports a line without a verb of narration: most of its words have
// capitals, or a title stands in quotes.
func titled(s string) bool {
	if strings.ContainsAny(s, "‘“\"_'[(") {
		return len(s) < 200
	}
	words, big := 0, 0
	for _, w := range strings.Fields(s) {
		switch strings.ToLower(strings.Trim(w, ".,")) {
		case "from", "the", "of", "by", "and", "in", "a", "adapted", "translated", "told", "le", "la", "les", "de", "du", "des", "par", "et", "von", "der":
			continue
		}
		words++
		if unicode.IsUpper(firstRune(w)) || w[0] >= '0' && w[0] <= '9' {
			big++
		}
	}
	return words > 0 && big*3 >= words*2
}

// trailingNote reports a note by the editor under a tale: "Note: ...".
func trailingNote(s string) bool {
	t := strings.TrimLeft(s, "_[( ")
	for _, p := range []string{"Note: ", "NOTE: ", "Note. ", "Note.--", "NOTE.--", "Note.—", "NOTE.—", "Note._", "Notes: ", "Editor's note", "Editor’s note"} {
		if strings.HasPrefix(t, p) {
			return true
		}
	}
	return false
}

// inside lists the cuts in the text of blocks [from, to): footnotes, their
// calls, emphasis, ornaments.
func (w *writer) inside(from, to int, r region) []cut {
	d := w.d
	sp := d.span(from, to)
	if sp.end == 0 {
		return nil
	}
	out := emphasis(d.text, sp, nil)
	if !d.html {
		out = bold(d.text, sp, out)
	}
	notes := d.notesIn(r.text, r.to, nil)
	h := d.span(r.from, max(r.text, r.from))
	call := sp
	if r.text > r.from {
		call.start = h.start
	}
	out = append(out, d.footnotes(call, notes, w.book)...)
	for _, n := range notes {
		up := upperPrefix(d.str(n.first), 12)
		explicit := strings.HasPrefix(up, "[FOOTNOTE") || strings.HasPrefix(up, "[FN#")
		if !n.taken && !explicit {
			continue
		}
		s := d.lineSpan(n.first, n.last)
		if explicit {
			if end := closing(d.text, s.start); end > s.end && end <= d.span(r.from, r.to).end {
				s.end = end
			}
		}
		out = append(out, cut{s.start, s.end, ruleFootnote})
	}
	for i := from; i < to; i++ {
		b := d.blocks[i]
		if s := d.span(i, i+1); b.role == roleText && editorial(d.text[s.start:s.end]) {
			out = append(out, cut{s.start, s.end, ruleTranscriber})
		}
		if b.role == roleOrnament {
			s := d.span(i, i+1)
			out = append(out, cut{s.start, s.end, ruleOrnament})
		}
		if w.notes != nil && w.notes[i] {
			s := d.span(i, i+1)
			out = append(out, cut{s.start, s.end, ruleFootnote})
		}
		for k := b.first; k+1 < b.last && !d.html; k++ {
			if d.drops(k) {
				out = append(out, cut{d.lines[k].end - 1, d.lines[k].end, ruleHyphen})
			}
		}
	}
	return out
}

// editorial reports a paragraph on the file or its editions, with an address:
// readers' notes on errors got into a few books.
func editorial(s string) bool {
	if !strings.Contains(s, "://") {
		return false
	}
	low := strings.ToLower(s)
	for _, w := range []string{"ebook", "e-text", "etext", "edition", "transcrib", "scan"} {
		if strings.Contains(low, w) {
			return true
		}
	}
	return false
}

// partHeads marks the blocks in [from, to) that head parts of a tale.
func (w *writer) partHeads(from, to int) map[int]bool {
	out := map[int]bool{}
	for i := from; i < to; i++ {
		b := w.d.blocks[i]
		if b.last-b.first > 3 || b.role != roleText {
			continue
		}
		if b.level > 0 {
			out[i] = true
			continue
		}
		if w.d.partLike[i] && !w.d.sentence(b) {
			out[i] = true
		}
	}
	return out
}

// removals joins what was taken out of the tale itself with what was taken out
// of the file round the tales.
func (w *writer) removals(own []schemas.Removal) []schemas.Removal {
	all := make([]cut, 0, len(own)+len(w.removed))
	for _, r := range own {
		all = append(all, cut{r.ByteStart, r.ByteEnd, r.Rule})
	}
	all = append(all, w.removed...)
	all = mergeCuts(all)
	out := make([]schemas.Removal, 0, len(all))
	for _, c := range all {
		start, end := c.start, c.end
		if w.d.html {
			start, end = w.d.upstream(c)
		}
		out = append(out, schemas.Removal{Rule: c.rule, ByteStart: start, ByteEnd: end})
	}
	return out
}

func (w *writer) source() schemas.Source {
	t := w.r.Terms
	s := schemas.Source{
		Corpus: w.r.Corpus, ID: w.bk.Key, Title: w.h.title, Author: strings.Join(w.h.authors, "; "),
		Licence: t.Licence, LicenceURL: t.LicenceURL, Attribution: t.Attribution, Redistribute: t.Redistribute,
		File: w.name, RawSHA256: w.sum, Charset: w.dec.Charset, Repaired: w.dec.Repaired,
	}
	if w.r.URL != nil && w.h.id != "" {
		s.URL = w.r.URL(w.h.id)
	}
	return s
}

func (w *writer) meta(r region) []schemas.KeyValue {
	m := []schemas.KeyValue{}
	add := func(k, v string) {
		if v != "" {
			m = append(m, schemas.KeyValue{Key: k, Value: v})
		}
	}
	add("label", r.label)
	add("group", r.group)
	add("source_note", strings.Trim(r.source, "()"))
	add("split_by", w.o.how)
	add("dashes", w.r.Settings.Dashes)
	if w.info != nil {
		add("subjects", strings.Join(w.info.Subjects, "; "))
		add("shelves", strings.Join(w.info.Shelves, "; "))
	}
	return m
}
