// SPDX-License-Identifier: Apache-2.0

package gutenberg

import (
	"strings"
)

// header holds what stands above the text of a book, in any of the header
// styles A to E.
type header struct {
	id        string // ebook number, "" if the header has none
	title     string
	authors   []string
	language  string // as printed: English
	charset   string // as declared, possibly nonsense
	release   string
	copyright bool // the header says that the book is in copyright
}

// frame is where a file's text stands between the matter of its distributor:
// one or more ranges of body, and the cuts round them. Cuts and ranges
// together are the whole file.
type frame struct {
	header header
	body   []span
	cuts   []cut
	how    string // start marker, small print, header fields, none
	open   bool   // there is a start, but nothing marks the end
}

// span is a half-open range of bytes.
type span struct{ start, end int }

// cut is a range that a named rule takes out.
type cut struct {
	start, end int
	rule       string
}

// Rules that take out what the distributor put round a text.
const (
	ruleHeader = "header"
	ruleFooter = "footer"
	ruleNotice = "notice" // header, licence or other notice repeated between two parts
)

// marked is a line that parts text from the distributor's matter.
type marked struct {
	kind       int
	start, end int // of the whole marker, all its lines and the last newline
}

const (
	markStart      = iota // *** START OF ... ***
	markEnd               // *** END OF ... ***
	markSmallStart        // first line of the small print
	markSmallEnd          // *END*THE SMALL PRINT!
	markEndOf             // End of Project Gutenberg's ...
)

// findFrame finds the text of s. Names are what a start or end marker names
// after START OF THE, in capitals ("PROJECT GUTENBERG EBOOK").
func findFrame(s string, names []string) frame {
	marks := findMarks(s, names)
	f := frame{}
	starts, ends := 0, 0
	for _, m := range marks {
		switch m.kind {
		case markStart:
			starts++
		case markEnd:
			ends++
		}
	}
	switch {
	case starts > 0:
		f.how = "start marker"
		f.between(s, marks, markStart)
	case has(marks, markSmallEnd):
		f.how = "small print"
		f.smallPrint(s, marks)
	default:
		f.how = "none"
		from := bareHeader(s)
		if from > 0 {
			f.how = "header fields"
		}
		f.add(s, from, firstAfter(marks, from, len(s), markEndOf, markEnd))
	}
	if n := len(f.body); n > 0 && f.how != "none" {
		f.open = strings.TrimSpace(s[f.body[n-1].end:]) == "" && !has(marks, markEnd) && !has(marks, markEndOf)
	}
	f.fill(s)
	head := 0
	if len(f.body) > 0 {
		head = f.body[0].start
	}
	if f.how == "none" {
		// There may be a header that is not cut off by anything known.
		head = min(len(s), 4<<10)
	}
	f.header = parseHeader(s[:head])
	if !f.header.copyright {
		f.header.copyright = copyrighted(s[:min(len(s), head+2<<10)])
	}
	return f
}

func has(marks []marked, kind int) bool {
	for _, m := range marks {
		if m.kind == kind {
			return true
		}
	}
	return false
}

// firstAfter returns the start of the first mark of one of kinds at or after
// from, else the end.
func firstAfter(marks []marked, from, end int, kinds ...int) int {
	for _, m := range marks {
		if m.start < from {
			continue
		}
		for _, k := range kinds {
			if m.kind == k {
				return m.start
			}
		}
	}
	return end
}

func (f *frame) add(s string, start, end int) {
	if start < end && strings.TrimSpace(s[start:end]) != "" {
		f.body = append(f.body, span{start, end})
	}
}

// between takes what follows each start marker up to the next end. Two starts
// without an end between them are a file put together from parts: what lies
// between an "End of" line or the small print and the next start is notice.
func (f *frame) between(s string, marks []marked, _ int) {
	for i, m := range marks {
		if m.kind != markStart {
			continue
		}
		end := len(s)
		for _, n := range marks[i+1:] {
			if n.kind == markEnd || n.kind == markEndOf || n.kind == markStart || n.kind == markSmallStart {
				end = n.start
				break
			}
		}
		f.add(s, m.end, end)
	}
}

// smallPrint handles files of style A: the small print ends the header. In a
// file where it follows the text instead, its last line must not be taken for
// the start of anything. The larger side is the text.
func (f *frame) smallPrint(s string, marks []marked) {
	first := firstAfter(marks, 0, len(s), markSmallStart, markSmallEnd)
	var from []int
	for _, m := range marks {
		if m.kind == markSmallEnd {
			from = append(from, m.end)
		}
	}
	after := len(strings.TrimSpace(s[from[len(from)-1]:]))
	start := headLines(s[:first])
	before := len(strings.TrimSpace(s[start:first]))
	if len(from) == 1 && before > after {
		f.add(s, start, min(first, firstAfter(marks, start, first, markEndOf, markEnd)))
		return
	}
	for i, start := range from {
		end := len(s)
		if i+1 < len(from) {
			end = from[i+1]
		}
		f.add(s, start, firstAfter(marks, start, end, markEndOf, markEnd, markSmallStart))
	}
}

// headLines returns the offset behind the lines at the start of s that are a
// header's: fields, the title line, dates, numbers, notices in asterisks.
func headLines(s string) int {
	end := bareHeader(s)
	for at, n := end, 0; at < len(s) && n < 80; n++ {
		next := lineEnd(s, at)
		l := strings.TrimSpace(s[at:next])
		at = next
		name, _ := field(l)
		switch {
		case l == "":
		case name != "", l[0] == '*', strings.Contains(l, "Gutenberg"), strings.Contains(strings.ToLower(l), "etext"), ebookID(l) != "":
			end = at
		default:
			return end
		}
	}
	return end
}

// fill makes the cuts: everything that is not body.
func (f *frame) fill(s string) {
	at := 0
	for i, b := range f.body {
		if b.start > at {
			rule := ruleHeader
			if i > 0 {
				rule = ruleNotice
			}
			f.cuts = append(f.cuts, cut{at, b.start, rule})
		}
		at = b.end
	}
	if at < len(s) {
		rule := ruleFooter
		if len(f.body) == 0 {
			rule = ruleHeader
		}
		f.cuts = append(f.cuts, cut{at, len(s), rule})
	}
}

// findMarks lists the markers of s in order.
func findMarks(s string, names []string) []marked {
	var out []marked
	// All markers but one kind hold an asterisk near their line's start, so
	// only lines with one are looked at; the others hold "nd of ".
	for i := 0; i < len(s); {
		n := strings.IndexByte(s[i:], '*')
		if n < 0 {
			break
		}
		at := i + n
		start := lineStart(s, at)
		end := lineEnd(s, at)
		i = end
		// A marker may stand behind other marks: "**", a tag, blanks.
		if at-start > 8 {
			if i = at + 1; !strings.Contains(s[at:end], "***") {
				i = end
			}
			if j := strings.Index(s[at:end], "***"); j < 0 || strings.TrimSpace(s[start:at+j]) != "" {
				continue
			}
			i = end
		}
		kind, stop := classify(s, start, end, names)
		if kind >= 0 {
			out = append(out, marked{kind, start, stop})
			i = stop
		}
	}
	out = append(out, endOfLines(s)...)
	sortMarks(out)
	return out
}

func sortMarks(m []marked) {
	for i := 1; i < len(m); i++ {
		for j := i; j > 0 && m[j].start < m[j-1].start; j-- {
			m[j], m[j-1] = m[j-1], m[j]
		}
	}
}

func lineStart(s string, at int) int { return strings.LastIndexByte(s[:at], '\n') + 1 }

// lineEnd returns the offset behind the newline of the line at.
func lineEnd(s string, at int) int {
	if n := strings.IndexByte(s[at:], '\n'); n >= 0 {
		return at + n + 1
	}
	return len(s)
}

// classify says what marker the line s[start:end] begins, and where it ends.
func classify(s string, start, end int, names []string) (kind, stop int) {
	l := strings.TrimSpace(s[start:end])
	stars := 0
	for stars < len(l) && l[stars] == '*' {
		stars++
	}
	rest := strings.TrimLeft(l[stars:], " ")
	up := upperPrefix(rest, 80)
	switch {
	case stars >= 1 && strings.HasPrefix(up, "END THE SMALL PRINT"),
		stars >= 1 && strings.HasPrefix(up, "END*THE SMALL PRINT"):
		return markSmallEnd, end
	case stars >= 2 && (strings.HasPrefix(up, "START**THE SMALL PRINT") || strings.HasPrefix(up, "THE LEGAL SMALL PRINT")),
		stars >= 2 && strings.HasPrefix(up, "START*") && strings.Contains(up, "SMALL PRINT"):
		return markSmallStart, end
	case stars < 3:
		return -1, end
	case strings.HasPrefix(up, "START OF"):
		kind = markStart
		up = up[len("START OF"):]
	case strings.HasPrefix(up, "END OF"):
		kind = markEnd
		up = up[len("END OF"):]
	default:
		return -1, end
	}
	up = strings.TrimLeft(up, " ")
	up = strings.TrimPrefix(strings.TrimPrefix(up, "THE "), "THIS ")
	named := false
	for _, n := range names {
		if strings.HasPrefix(up, n) {
			named = true
		}
	}
	if !named {
		return -1, end
	}
	// The title may run over more lines before the closing asterisks.
	if strings.HasSuffix(l, "***") {
		return kind, end
	}
	for n, at := 0, end; n < 4 && at < len(s); n++ {
		next := lineEnd(s, at)
		l := strings.TrimSpace(s[at:next])
		if l == "" {
			break
		}
		if strings.HasSuffix(l, "***") {
			return kind, next
		}
		if strings.Contains(l, "***") {
			break
		}
		at = next
	}
	return kind, end
}

// endOfLines finds lines such as "End of the Project Gutenberg EBook of X".
func endOfLines(s string) []marked {
	var out []marked
	for i := 0; ; {
		n := strings.Index(s[i:], "Gutenberg")
		if n < 0 {
			return out
		}
		at := i + n
		i = at + len("Gutenberg")
		// Such a line has the name near its start; a file may be one line.
		start := strings.LastIndexByte(s[max(0, at-200):at], '\n')
		if start < 0 && at > 200 {
			continue
		}
		start += max(0, at-200) + 1
		end := lineEnd(s, at)
		l := strings.TrimLeft(s[start:end], " \t*")
		up := upperPrefix(l, 120)
		up = strings.TrimPrefix(up, "THE ")
		if !strings.HasPrefix(up, "END OF ") {
			continue
		}
		up = strings.TrimPrefix(up, "END OF ")
		up = strings.TrimPrefix(strings.TrimPrefix(up, "THE "), "THIS ")
		if strings.HasPrefix(up, "PROJECT GUTENBERG") {
			out = append(out, marked{markEndOf, start, end})
			i = end
		}
	}
}

// upperPrefix returns at most n bytes of s with ASCII letters in capitals and
// runs of blanks folded.
func upperPrefix(s string, n int) string {
	b := make([]byte, 0, n)
	for i := 0; i < len(s) && len(b) < n; i++ {
		c := s[i]
		if c >= 'a' && c <= 'z' {
			c -= 'a' - 'A'
		}
		if c == '\t' || c == '\r' || c == '\n' {
			c = ' '
		}
		if c == ' ' && len(b) > 0 && b[len(b)-1] == ' ' {
			continue
		}
		b = append(b, c)
	}
	return string(b)
}

// fieldNames are the header's fields.
var fieldNames = []string{"Title", "Author", "Editor", "Translator", "Illustrator", "Compiler", "Commentator", "Contributor",
	"Annotator", "Release Date", "Posting Date", "First Posted", "Last Updated", "Most recently updated", "Language",
	"Character set encoding", "Credits", "Original publication", "Other information and formats", "Note", "Edition", "Subtitle"}

// field returns the name and value of a header line, or "".
func field(l string) (name, value string) {
	i := strings.IndexByte(l, ':')
	if i < 3 || i > 30 {
		return "", ""
	}
	for _, n := range fieldNames {
		if strings.EqualFold(l[:i], n) {
			return n, strings.TrimSpace(l[i+1:])
		}
	}
	return "", ""
}

// parseHeader reads the fields of a header. Values may go on over indented
// lines.
func parseHeader(s string) header {
	var h header
	set := func(name, v string) {
		v = strings.Join(strings.Fields(v), " ")
		if v == "" {
			return
		}
		switch name {
		case "Title":
			if h.title == "" {
				h.title = v
			}
		case "Author", "Editor", "Compiler":
			h.authors = append(h.authors, v)
		case "Language":
			if h.language == "" {
				h.language = v
			}
		case "Character set encoding":
			if h.charset == "" {
				h.charset = v
			}
		case "Release Date", "Posting Date":
			if i := strings.IndexByte(v, '['); i >= 0 {
				v = strings.TrimSpace(v[:i])
			}
			if h.release == "" {
				h.release = v
			}
		}
	}
	name, value := "", ""
	first := ""
	for at := 0; at < len(s); {
		end := lineEnd(s, at)
		raw := strings.TrimRight(s[at:end], " \t\r\n")
		at = end
		l := strings.TrimSpace(raw)
		if first == "" && l != "" && strings.Contains(l, "Gutenberg") {
			first = strings.Trim(l, "*\ufeff ")
		}
		if h.id == "" {
			h.id = ebookID(l)
		}
		if n, v := field(l); n != "" && len(raw)-len(l) < 4 {
			set(name, value)
			name, value = n, v
			continue
		}
		switch {
		case l == "" || strings.HasPrefix(l, "***"):
			set(name, value)
			name, value = "", ""
		case name != "" && raw != l:
			if name == "Author" || name == "Editor" || name == "Compiler" {
				// Several people stand one a line.
				set(name, value)
				value = l
			} else {
				value += " " + l
			}
		case name != "":
			set(name, value)
			name, value = "", ""
		}
	}
	set(name, value)
	if h.title == "" {
		h.title, h.authors = oldTitle(first)
	}
	return h
}

// oldTitle reads the title line of a header without fields: "The Project
// Gutenberg Etext of X, by Y".
func oldTitle(l string) (title string, authors []string) {
	for _, p := range []string{"The Project Gutenberg", "Project Gutenberg's", "The Project Gutenberg's", "Project Gutenberg"} {
		l = strings.TrimPrefix(l, p)
	}
	l = strings.TrimSpace(l)
	for _, p := range []string{"Etext of ", "Etext, ", "EBook of ", "eBook of ", "E-text of ", "eBook, ", "EBook, ", "etext of "} {
		l = strings.TrimPrefix(l, p)
	}
	if i := strings.LastIndex(l, ", by "); i >= 0 {
		return strings.TrimSpace(l[:i]), []string{strings.TrimSpace(l[i+len(", by "):])}
	}
	return strings.TrimSpace(l), nil
}

// ebookID returns the number in [Etext #503], [EBook #503] or [eBook #2591].
func ebookID(l string) string {
	for i := 0; ; {
		n := strings.IndexByte(l[i:], '#')
		if n < 0 {
			return ""
		}
		at := i + n
		i = at + 1
		j := i
		for j < len(l) && l[j] >= '0' && l[j] <= '9' {
			j++
		}
		if j == i || j-i > 9 {
			continue
		}
		before := strings.ToUpper(strings.TrimSpace(l[:at]))
		if strings.HasSuffix(before, "BOOK") || strings.HasSuffix(before, "ETEXT") || strings.HasSuffix(before, "E-TEXT") {
			return strings.TrimLeft(l[i:j], "0")
		}
	}
}

// bareHeader returns where the text of a file without any marker starts: after
// the last header field, if the first lines are a header at all, else 0.
func bareHeader(s string) int {
	at, fields, last := 0, 0, 0
	named := false
	for n := 0; n < 60 && at < len(s); n++ {
		end := lineEnd(s, at)
		l := strings.TrimSpace(s[at:end])
		if n < 10 && strings.Contains(l, "Project Gutenberg") {
			named = true
		}
		if name, _ := field(l); name != "" && name != "Note" {
			fields++
			last = end
		}
		at = end
	}
	if !named || fields == 0 {
		return 0
	}
	// Lines that continue the last field.
	for last < len(s) {
		end := lineEnd(s, last)
		if strings.TrimSpace(s[last:end]) == "" {
			break
		}
		last = end
	}
	return last
}

// copyrighted reports a header that says so.
func copyrighted(s string) bool {
	return strings.Contains(s, "COPYRIGHTED Project Gutenberg") || strings.Contains(s, "copyrighted Project Gutenberg") ||
		strings.Contains(s, "is a COPYRIGHTED") && strings.Contains(s, "Gutenberg")
}
