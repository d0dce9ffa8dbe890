// SPDX-License-Identifier: Apache-2.0

package gutenberg

import (
	"bytes"
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// HTML becomes the same lines and blocks as plain text: a paragraph is one
// line, <br> and <pre> give lines of their own, and a heading has blank lines
// before it. What the elements say beyond that (heading level, verse, page
// number, caption, footnote) goes along as block attributes and cuts, so that
// everything behind this file works on one kind of document.
//
// The tree is goquery's. Its nodes do not know where in the file they stood, so
// a comment with the offset is put in front of each piece of text before
// parsing. x/net/html refuses more than 512 open elements; such a file is read
// by its tokens instead, with the same element rules.

func looksHTML(name string, data []byte) bool {
	low := strings.ToLower(name)
	for _, ext := range []string{".htm", ".html", ".xhtml"} {
		if strings.HasSuffix(low, ext) {
			return true
		}
	}
	head := bytes.ToLower(bytes.TrimLeft(bytes.TrimPrefix(data[:min(len(data), 1024)], []byte("\xef\xbb\xbf")), " \t\r\n"))
	return bytes.HasPrefix(head, []byte("<!doctype html")) || bytes.HasPrefix(head, []byte("<html")) ||
		bytes.HasPrefix(head, []byte("<?xml")) && bytes.Contains(head, []byte("<html"))
}

// htmlCharset reads the charset of a meta element or of the XML declaration,
// "" if neither is there.
func htmlCharset(head []byte) string {
	low := bytes.ToLower(head)
	for _, key := range []string{"charset", "encoding"} {
		at := 0
		for {
			i := bytes.Index(low[at:], []byte(key))
			if i < 0 {
				break
			}
			at += i + len(key)
			rest := bytes.TrimLeft(low[at:], " \t\r\n")
			if len(rest) == 0 || rest[0] != '=' {
				continue
			}
			rest = bytes.TrimLeft(rest[1:], " \t\r\n\"'")
			n := 0
			for n < len(rest) && (isLetter(rest[n]) || rest[n] >= '0' && rest[n] <= '9' || rest[n] == '-' || rest[n] == '_') {
				n++
			}
			if n > 1 && n < 40 {
				return string(rest[:n])
			}
		}
	}
	return ""
}

// readHTML renders s and finds the text in it.
func (r *Reader) readHTML(s string) (*doc, frame) {
	p := &page{src: s}
	p.out = make([]byte, 0, len(s))
	p.render()
	t := string(p.out)
	f := findFrame(t, r.Settings.Markers)
	d := &doc{text: t, html: true, segs: p.segs, source: len(s)}
	d.cuts = mergeCuts(append(within(p.cuts, f.body), findCuts(t, f.body)...))
	d.cutLines(f.body)
	d.hints(p.marks)
	return d, f
}

// within drops the cuts outside body.
func within(cuts []cut, body []span) []cut {
	out := cuts[:0]
	for _, c := range cuts {
		for _, b := range body {
			if c.start >= b.start && c.end <= b.end {
				out = append(out, c)
				break
			}
		}
	}
	return out
}

// hints gives blocks what their elements said.
func (d *doc) hints(marks []markup) {
	for i := range d.blocks {
		b := &d.blocks[i]
		at := d.lines[b.first].start
		k := sort.Search(len(marks), func(k int) bool { return marks[k].end > at })
		if k == len(marks) || marks[k].start > at {
			continue
		}
		b.hint = marks[k].hint
		b.level = marks[k].level
		if b.hint == hintPara && b.last-b.first > 1 {
			b.hint = hintVerse
			long := 0
			for l := b.first; l < b.last; l++ {
				if d.lines[l].end-d.lines[l].start > 100 {
					long++
				}
			}
			if long*2 > b.last-b.first {
				b.hint = hintPara
			}
		}
	}
}

// seg says where a stretch of the rendered text came from.
type seg struct {
	dst, src int // starts
	n, m     int // lengths; unequal where entities were decoded or blanks folded
}

// upstream maps a cut to bytes of the decoded file.
func (d *doc) upstream(c cut) (start, end int) {
	start = d.source
	if k := sort.Search(len(d.segs), func(k int) bool { return d.segs[k].dst+d.segs[k].n > c.start }); k < len(d.segs) {
		s := d.segs[k]
		start = s.src + scale(max(0, c.start-s.dst), s.n, s.m)
		if c.start <= s.dst {
			start = s.src
		}
	}
	if k := sort.Search(len(d.segs), func(k int) bool { return d.segs[k].dst >= c.end }); k > 0 {
		s := d.segs[k-1]
		end = s.src + scale(min(c.end-s.dst, s.n), s.n, s.m)
	}
	if c.end >= len(d.text) {
		end = d.source
	}
	if c.start == 0 {
		start = 0
	}
	return start, max(start, end)
}

func scale(at, n, m int) int {
	if n == m || n == 0 {
		return min(at, m)
	}
	if at >= n {
		return m
	}
	return at * m / n
}

// markup is what an element says of a stretch of the rendered text.
type markup struct {
	start, end int
	hint       hint
	level      int8
}

// page is the rendering of one HTML file.
type page struct {
	src   string
	out   []byte
	segs  []seg
	marks []markup
	cuts  []cut

	// State of the block being written.
	blank   int  // blank lines wanted before the next text
	started bool // the current block has text
	start   int  // where it began
	space   bool // a blank is due before the next text
	level   int8
	hint    hint
	pre     int
	cell    bool // a table cell ended; the next text of the row stands apart
	last    byte

	flat  int // inside a table of short cells
	data  map[*html.Node]bool
	stack []element
	alts  []string // folded texts of the last pictures
	notes map[string]bool
}

// element is an open element that has an effect at its end.
type element struct {
	name  atom.Atom
	raw   string
	from  int // in the rendered text
	rule  string
	check func(s string) bool // the rule holds if this accepts the text
	level int8
	hint  hint
	pre   bool
	skip  bool
}

func (p *page) render() {
	if !p.tree() {
		*p = page{src: p.src, out: p.out[:0]}
		p.tokens()
	}
	p.block(0)
	sort.SliceStable(p.cuts, func(i, j int) bool { return p.cuts[i].start < p.cuts[j].start })
}

// tree renders by goquery; false if the file is nested too deep for it.
func (p *page) tree() bool {
	root, err := goquery.NewDocumentFromReader(bytes.NewReader(annotate(p.src)))
	if err != nil {
		return false
	}
	p.links(root)
	p.tables(root)
	body := root.Find("body")
	if body.Length() == 0 {
		return false
	}
	at := 0 // offset that the next text node has
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			switch c.Type {
			case html.CommentNode:
				if i, err := strconv.Atoi(strings.TrimPrefix(c.Data, "@")); err == nil && strings.HasPrefix(c.Data, "@") && i <= len(p.src) {
					at = i
				}
			case html.TextNode:
				n := rawLen(p.src, at, c.Data)
				p.text(c.Data, at, n)
				at += n
			case html.ElementNode:
				flat := p.data[c]
				if flat {
					p.block(1)
					p.flat++
				}
				p.open(c.DataAtom, c.Data, c.Attr)
				if !p.skipping() {
					walk(c)
				}
				p.close(c.DataAtom, c.Data)
				if flat {
					p.flat--
					p.block(1)
				}
			}
		}
	}
	// Nodes are at most 512 deep here, or the parser had refused.
	for _, n := range body.Nodes {
		walk(n)
	}
	return true
}

// links collects the anchors that footnotes are called by: a link within the
// page whose text is a note's label.
func (p *page) links(root *goquery.Document) {
	p.notes = map[string]bool{}
	ids := map[string]bool{}
	root.Find("a[href^='#']").Each(func(_ int, a *goquery.Selection) {
		if _, ok := callLabel(a.Text()); ok {
			href, _ := a.Attr("href")
			ids[href[1:]] = true
		}
	})
	if len(ids) == 0 {
		return
	}
	root.Find("a[id],a[name],p[id],div[id],li[id],span[id],td[id]").Each(func(_ int, t *goquery.Selection) {
		for _, k := range []string{"id", "name"} {
			if v, ok := t.Attr(k); ok && ids[v] {
				p.notes[v] = true
			}
		}
	})
}

// tables finds the tables that are lists (contents, pictures), not a page's
// layout: their cells are short, and a row is a line.
func (p *page) tables(root *goquery.Document) {
	p.data = map[*html.Node]bool{}
	root.Find("table").Each(func(_ int, t *goquery.Selection) {
		cells := t.Find("td,th")
		n := cells.Length()
		if n < 4 || t.Find("table").Length() > 0 {
			return
		}
		long := 0
		cells.Each(func(_ int, c *goquery.Selection) {
			if len(c.Text()) > 240 {
				long++
			}
		})
		if long*10 < n {
			p.data[t.Nodes[0]] = true
		}
	})
}

// callLabel reads a footnote call: [1], 1, *, [A], (3).
func callLabel(s string) (string, bool) {
	s = strings.TrimSpace(s)
	t := strings.Trim(s, "[](){} ")
	if t == "" || len(t) > 4 || len(s) > 8 {
		return "", false
	}
	if digits(t) || strings.Trim(t, "*†‡§") == "" || len(t) == 1 && t[0] >= 'A' && t[0] <= 'Z' && s != t {
		return t, true
	}
	return "", false
}

// annotate puts <!--@offset--> in front of each piece of text that is not blank.
func annotate(s string) []byte {
	out := make([]byte, 0, len(s)+len(s)/8+64)
	for i := 0; i < len(s); {
		n := strings.IndexByte(s[i:], '<')
		if n < 0 {
			n = len(s) - i
		}
		if n > 0 {
			if !allBlank(s[i : i+n]) {
				out = append(out, "<!--@"...)
				out = strconv.AppendInt(out, int64(i), 10)
				out = append(out, "-->"...)
			}
			out = append(out, s[i:i+n]...)
			i += n
			continue
		}
		end, name := tagEnd(s, i)
		if end == i {
			// A lone "<" is text.
			out = append(out, '<')
			i++
			continue
		}
		out = append(out, s[i:end]...)
		i = end
		if stop := rawText(name); stop != "" {
			n := indexFold(s[i:], stop)
			if n < 0 {
				n = len(s) - i
			}
			out = append(out, s[i:i+n]...)
			i += n
		}
	}
	return out
}

func allBlank(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] > ' ' {
			return false
		}
	}
	return true
}

// tagEnd returns the offset behind the tag, comment or declaration at s[i], and
// a start tag's name; i itself if there is none.
func tagEnd(s string, i int) (end int, name string) {
	rest := s[i:]
	switch {
	case strings.HasPrefix(rest, "<!--"):
		if n := strings.Index(rest[4:], "-->"); n >= 0 {
			return i + 4 + n + 3, ""
		}
		return len(s), ""
	case len(rest) > 1 && (rest[1] == '!' || rest[1] == '?'):
		if n := strings.IndexByte(rest, '>'); n >= 0 {
			return i + n + 1, ""
		}
		return len(s), ""
	}
	j := 1
	closing := len(rest) > 1 && rest[1] == '/'
	if closing {
		j = 2
	}
	if j >= len(rest) || !isLetter(rest[j]) {
		return i, ""
	}
	k := j
	for k < len(rest) && rest[k] > ' ' && rest[k] != '>' && rest[k] != '/' {
		k++
	}
	if !closing {
		name = rest[j:k]
	}
	quote := byte(0)
	for ; k < len(rest); k++ {
		switch c := rest[k]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case (c == '"' || c == '\'') && rest[k-1] == '=':
			quote = c
		case c == '>':
			return i + k + 1, name
		}
	}
	return len(s), name
}

// rawText returns the end tag of an element whose content is no markup.
func rawText(name string) string {
	switch strings.ToLower(name) {
	case "script", "style", "title", "textarea", "xmp", "iframe", "noembed", "noframes", "noscript", "plaintext":
		return "</" + strings.ToLower(name)
	}
	return ""
}

func indexFold(s, low string) int {
	for i := 0; ; {
		n := strings.IndexByte(s[i:], '<')
		if n < 0 {
			return -1
		}
		i += n
		if len(s)-i >= len(low) && strings.EqualFold(s[i:i+len(low)], low) {
			return i
		}
		i++
	}
}

// rawLen returns how many bytes of src from at on the text node data was
// written with: up to the next tag, or fewer if the parser split the text.
func rawLen(src string, at int, data string) int {
	if at > len(src) {
		return 0
	}
	rest := src[at:]
	if len(rest) >= len(data) && rest[:len(data)] == data {
		return len(data)
	}
	n := strings.IndexByte(rest, '<')
	if n < 0 {
		return len(rest)
	}
	return n
}

// tokens renders without a tree.
func (p *page) tokens() {
	z := html.NewTokenizer(strings.NewReader(p.src))
	z.SetMaxBuf(0)
	at := 0
	for {
		kind := z.Next()
		n := len(z.Raw())
		switch kind {
		case html.ErrorToken:
			return
		case html.TextToken:
			if !p.skipping() {
				p.text(string(z.Text()), at, n)
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			if p.skipping() {
				break
			}
			if len(p.stack) >= mostOpen {
				// Endless nesting says nothing more about the text.
				p.breakFor(t.DataAtom)
				break
			}
			p.open(t.DataAtom, t.Data, t.Attr)
			if kind == html.SelfClosingTagToken || void(t.DataAtom) {
				p.close(t.DataAtom, t.Data)
			}
		case html.EndTagToken:
			t := z.Token()
			p.closeTo(t.DataAtom, t.Data)
		}
		at += n
	}
}

const mostOpen = 4096

func void(a atom.Atom) bool {
	switch a {
	case atom.Area, atom.Base, atom.Br, atom.Col, atom.Embed, atom.Hr, atom.Img, atom.Input, atom.Link, atom.Meta, atom.Param, atom.Source, atom.Track, atom.Wbr:
		return true
	}
	return false
}

// closeTo ends the nearest open element of the name, and those left open
// inside it.
func (p *page) closeTo(a atom.Atom, raw string) {
	for i := len(p.stack) - 1; i >= 0 && i >= len(p.stack)-256; i-- {
		if p.stack[i].name == a && p.stack[i].raw == raw {
			for len(p.stack) > i {
				e := p.stack[len(p.stack)-1]
				p.close(e.name, e.raw)
			}
			return
		}
	}
	p.breakFor(a)
}

func (p *page) skipping() bool {
	return len(p.stack) > 0 && p.stack[len(p.stack)-1].skip
}

// breakFor ends the block at a block element.
func (p *page) breakFor(a atom.Atom) {
	if isBlock(a) {
		p.block(1)
	}
}

func isBlock(a atom.Atom) bool {
	switch a {
	case atom.P, atom.Div, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Blockquote, atom.Center, atom.Pre, atom.Table, atom.Tbody, atom.Thead,
		atom.Ul, atom.Ol, atom.Dl, atom.Dt, atom.Dd, atom.Li, atom.Hr, atom.Section, atom.Article, atom.Figure, atom.Figcaption, atom.Body, atom.Form, atom.Caption,
		atom.Header, atom.Footer, atom.Main, atom.Aside, atom.Nav, atom.Address, atom.Fieldset, atom.Details, atom.Summary, atom.Hgroup:
		return true
	}
	return false
}

// open starts an element.
func (p *page) open(a atom.Atom, raw string, attrs []html.Attribute) {
	e := element{name: a, raw: raw, level: p.level, hint: p.hint}
	class, id, href, alt, style := "", "", "", "", ""
	for _, t := range attrs {
		switch t.Key {
		case "class":
			class = strings.ToLower(t.Val)
		case "id", "name":
			if id == "" {
				id = t.Val
			}
		case "href":
			href = t.Val
		case "alt", "title":
			if alt == "" {
				alt = t.Val
			}
		case "style":
			style = strings.ToLower(t.Val)
		}
	}
	switch a {
	case atom.Script, atom.Style, atom.Head, atom.Title, atom.Noscript, atom.Svg, atom.Math, atom.Object, atom.Audio, atom.Video, atom.Button, atom.Select,
		atom.Textarea, atom.Iframe, atom.Template:
		e.skip = true
	case atom.Br:
		p.newline()
	case atom.Hr:
		p.block(2)
	case atom.Img:
		p.picture(alt)
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		p.block(headGap[raw[1]-'1'])
		p.level = int8(raw[1] - '0')
	case atom.Pre:
		p.block(1)
		p.pre++
		e.pre = true
		p.hint = hintPre
	case atom.Tr:
		p.lineBreak()
	case atom.Td, atom.Th:
		p.cell = p.started && p.last != '\n'
	case atom.P:
		p.block(1)
	default:
		if isBlock(a) {
			p.block(1)
		}
	}
	if strings.Contains(style, "display:none") || strings.Contains(style, "display: none") {
		e.skip = true
	}
	e.rule, e.check = p.ruleFor(a, class, id, href)
	e.from = len(p.out)
	p.stack = append(p.stack, e)
}

// headGap is the blank lines given to headings.
var headGap = [...]int{5, 4, 4, 3, 2, 2}

// ruleFor says under which rule an element's text is taken out, if check
// accepts the text.
func (p *page) ruleFor(a atom.Atom, class, id, href string) (string, func(string) bool) {
	has := func(words ...string) bool {
		for _, c := range strings.Fields(class) {
			for _, w := range words {
				if c == w {
					return true
				}
			}
		}
		return false
	}
	starts := func(words ...string) bool {
		for _, c := range strings.Fields(class) {
			for _, w := range words {
				if strings.HasPrefix(c, w) {
					return true
				}
			}
		}
		return false
	}
	switch {
	case class != "" && (has("page", "pagenumber", "pgnum", "pb", "pgno", "folio") || starts("pagenum", "pageno", "page-num", "page_num", "indexpageno")):
		return rulePage, pageText
	case a == atom.Figcaption || a == atom.Figure || a == atom.Caption && class == "":
		return ruleIllustration, nil
	case class != "" && has("caption", "captions", "ctext", "illo", "illus", "illustration", "image", "imgcaption", "ilcap", "imagecaption"):
		return ruleIllustration, short
	case class != "" && starts("figcenter", "figleft", "figright", "figure", "fig", "illustr", "image", "imgcenter", "covernote"):
		return ruleIllustration, short
	case class != "" && (has("fnanchor", "noteref", "fnref", "footnoteref", "citation") || starts("fnanchor")):
		return ruleCall, func(s string) bool { _, ok := callLabel(s); return ok }
	case class != "" && (has("footnote", "footnotes", "fn", "fnote") || starts("footnote")) && isBlock(a):
		return ruleFootnote, nil
	case class != "" && (has("tnote", "transnote", "tnbox", "tn", "transcriber", "transcribersnote") || starts("trans-note", "transnote", "tnote")):
		return ruleTranscriber, nil
	case class != "" && starts("sidenote", "marginnote", "margin-note"):
		return ruleSidenote, nil
	case class != "" && has("linenum", "lineno", "linenumber", "poemnum") || starts("linenum"):
		return rulePage, pageText
	case a == atom.A && strings.HasPrefix(href, "#") && p.notes[href[1:]]:
		return ruleCall, func(s string) bool { _, ok := callLabel(s); return ok }
	case a == atom.A && strings.HasPrefix(strings.ToLower(id), "page"):
		return rulePage, pageText
	}
	return "", nil
}

func short(s string) bool { return len(s) < 1200 }

// pageText reports the text of a page number: 12, p. 1, [Pg 12], [12], {iv}.
func pageText(s string) bool {
	s = strings.Trim(s, " []{}()|-–—\n")
	low := strings.ToLower(s)
	for _, w := range []string{"page", "pag.", "pg.", "pg", "p."} {
		if strings.HasPrefix(low, w) {
			s = strings.TrimSpace(s[len(w):])
			break
		}
	}
	return s == "" || len(s) <= 12 && pageNumber(s)
}

// close ends an element.
func (p *page) close(a atom.Atom, raw string) {
	if len(p.stack) == 0 {
		return
	}
	e := p.stack[len(p.stack)-1]
	p.stack = p.stack[:len(p.stack)-1]
	if isBlock(a) {
		p.block(1)
		if a >= atom.H1 && e.level != p.level {
			p.blank = max(p.blank, 2)
		}
	} else if a == atom.Tr {
		p.lineBreak()
	}
	if e.rule != "" && len(p.out) > e.from {
		t := string(p.out[e.from:])
		if e.check == nil || e.check(t) {
			lead := len(t) - len(strings.TrimLeft(t, " \n"))
			if lead < len(t) {
				p.cuts = append(p.cuts, cut{e.from + lead, len(p.out), e.rule})
			}
		}
	}
	p.level, p.hint = e.level, e.hint
	if e.pre {
		p.pre--
	}
}

// block ends the current block and asks for n blank lines before the next.
func (p *page) block(n int) {
	if p.flat > 0 {
		p.space = true
		return
	}
	if p.started {
		p.endMark()
		p.started = false
		p.blank = n
	} else {
		p.blank = max(p.blank, n)
	}
	p.space, p.cell = false, false
}

func (p *page) endMark() {
	if len(p.out) > p.start {
		h := p.hint
		if h == hintNone && p.level == 0 {
			h = hintPara
		}
		p.marks = append(p.marks, markup{p.start, len(p.out), h, p.level})
		p.caption()
	}
}

// caption takes out a block that says what a picture before it says.
func (p *page) caption() {
	if len(p.alts) == 0 || p.level > 0 || len(p.out)-p.start > 300 {
		return
	}
	key := foldTitle(string(p.out[p.start:]))
	for _, a := range p.alts {
		if a == key && key != "" {
			p.cuts = append(p.cuts, cut{p.start, len(p.out), ruleIllustration})
			return
		}
	}
}

// newline is <br>.
func (p *page) newline() {
	if !p.started {
		p.blank++
		return
	}
	p.out = append(p.out, '\n')
	p.last = '\n'
	p.space = false
	// A second <br> in a row would part blocks: the line is blank.
}

// lineBreak starts a new line for a table row, unless one was just begun.
func (p *page) lineBreak() {
	if p.started && p.last != '\n' {
		p.out = append(p.out, '\n')
		p.last = '\n'
	}
	p.space, p.cell = false, false
}

// picture notes an image; a drop capital is a letter of the text.
func (p *page) picture(alt string) {
	alt = strings.TrimSpace(alt)
	if alt == "" {
		return
	}
	if t := strings.TrimLeft(alt, "\"'“‘"); utf8.RuneCountInString(t) == 1 && unicode.IsUpper(firstRune(t)) {
		p.begin()
		p.out = append(p.out, alt...)
		p.last = 'A'
		return
	}
	if key := foldTitle(alt); key != "" {
		if p.alts = append(p.alts, key); len(p.alts) > 8 {
			p.alts = p.alts[1:]
		}
	}
}

// begin starts a block if none is open.
func (p *page) begin() {
	if p.started {
		return
	}
	if len(p.out) > 0 {
		for i := 0; i <= p.blank; i++ {
			p.out = append(p.out, '\n')
		}
	}
	p.started = true
	p.blank = 0
	p.start = len(p.out)
	p.last = '\n'
}

// text writes a text node that stood at src and was n bytes long there.
func (p *page) text(s string, src, n int) {
	if p.skipping() {
		return
	}
	if p.pre > 0 {
		p.verbatim(s, src, n)
		return
	}
	// Leading and trailing white space of the node are not part of its segment.
	lead := 0
	for lead < len(s) && blankAt(s, lead) > 0 {
		lead += blankAt(s, lead)
	}
	if lead == len(s) {
		if lead > 0 {
			p.space = true
		}
		return
	}
	if lead > 0 {
		p.space = true
	}
	p.begin()
	if p.cell {
		p.out = append(p.out, "  "...)
		p.cell, p.space = false, false
	}
	if p.space && p.last != '\n' && p.last != ' ' {
		p.out = append(p.out, ' ')
	}
	p.space = false
	dst := len(p.out)
	out := p.out
	// A marker must begin a line, so lines are kept where one is.
	lines := strings.Contains(s, "***") || strings.Contains(s, "*END")
	for i := lead; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\n' && lines && len(out) > 0 && out[len(out)-1] != '\n':
			out = append(out, '\n')
			p.space = false
		case c > ' ' && c != 0xC2:
			if p.space {
				out = append(out, ' ')
				p.space = false
			}
			// The rest of the words to the next wide or odd gap goes at once.
			k := i + 1
			for k < len(s) && (s[k] > ' ' && s[k] != 0xC2 || s[k] == ' ' && k+1 < len(s) && s[k+1] > ' ' && s[k+1] != 0xC2) {
				k++
			}
			out = append(out, s[i:k]...)
			i = k - 1
		case blankAt(s, i) > 0:
			i += blankAt(s, i) - 1
			p.space = true
		default:
			if p.space && c >= ' ' {
				out = append(out, ' ')
				p.space = false
			}
			out = append(out, c)
		}
	}
	p.out = out
	p.last = 'a'
	p.segs = append(p.segs, seg{dst, src, len(p.out) - dst, n})
}

// blankAt returns the width of the white space at s[i], 0 if there is none; the
// no-break space counts.
func blankAt(s string, i int) int {
	switch c := s[i]; {
	case c == ' ', c == '\n', c == '\t', c == '\r', c == '\f':
		return 1
	case c == 0xC2 && i+1 < len(s) && s[i+1] == 0xA0:
		return 2
	}
	return 0
}

// verbatim writes text inside <pre>.
func (p *page) verbatim(s string, src, n int) {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	if !p.started && strings.TrimSpace(s) == "" {
		p.blank = max(p.blank, min(strings.Count(s, "\n"), 6))
		return
	}
	if !p.started {
		// Blank lines at the start are the gap before it.
		for {
			i := strings.IndexByte(s, '\n')
			if i < 0 || strings.TrimSpace(s[:i]) != "" {
				break
			}
			s = s[i+1:]
			p.blank++
		}
	}
	p.begin()
	dst := len(p.out)
	p.out = append(p.out, s...)
	if len(s) > 0 {
		p.last = s[len(s)-1]
	}
	p.segs = append(p.segs, seg{dst, src, len(s), n})
}
