// SPDX-License-Identifier: Apache-2.0

package longbench

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/retcon-bench/retcon/ingest/gutenberg"
	"github.com/retcon-bench/retcon/ingest/internal/records"
	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

// What a context is.
const (
	formBook   = "book"
	formScript = "script" // a film script
	formPlay   = "play"
	formVerse  = "verse"
)

// ReasonResidue marks a context in which the distributor's name is left after
// cleaning, so that it may not be passed on.
const ReasonResidue = "distributor_residue"

// cleaned is a context without what is not its text.
type cleaned struct {
	text      string
	title     string
	authors   []string
	form      string
	gutenberg bool // a Project Gutenberg header was taken off
	removed   []schemas.Removal
	marks     []schemas.Mark
	marked    string // the text that marks count in
	reason    string // why the context is set aside
	detail    string
}

// marksFor returns the marks if they fit the text as stored.
func (c *cleaned) marksFor(stored string) []schemas.Mark {
	if stored == c.marked && c.marks != nil {
		return c.marks
	}
	return []schemas.Mark{}
}

// clean takes a context apart.
func clean(s string) cleaned {
	had := strings.Contains(s, "Project Gutenberg") || strings.Contains(s, "PROJECT GUTENBERG")
	plain, title := stripTags(s)
	if !had && script(plain) {
		return cleaned{text: records.Text(dedent(plain)), title: title, form: formScript}
	}
	set := gutenberg.DefaultSettings()
	set.Filter, set.Languages, set.LongWork, set.MinWords = false, nil, 0, 1
	r := &gutenberg.Reader{Corpus: Name, Settings: set, Terms: Terms}
	bk := r.Read("context.txt", []byte(plain), nil)
	c := cleaned{title: bk.Title, authors: bk.Authors, form: formBook, gutenberg: had}
	if c.title == "" {
		c.title = title
	}
	if len(bk.Stories) == 0 {
		return c.fallback(plain, bk)
	}
	if len(bk.Stories) == 1 && plain == s {
		st := bk.Stories[0]
		c.text, c.marks, c.marked, c.removed = st.Text, st.Marks, st.Text, st.Removed
	} else {
		c.join(bk.Stories)
	}
	c.check()
	return c
}

// join puts a book that was taken apart together again: here one context is
// one story, and a chapter's heading is part of it.
func (c *cleaned) join(tales []schemas.Story) {
	var b strings.Builder
	for i, t := range tales {
		if i > 0 {
			b.WriteString("\n\n")
		}
		if len(tales) > 1 && t.Title != "" && !strings.EqualFold(t.Title, c.title) {
			b.WriteString(t.Title + "\n\n")
		}
		b.WriteString(t.Text)
	}
	c.text = b.String()
}

// fallback is for what package gutenberg sets aside as no book of tales. Plays
// and verse keep their lines; what is in copyright stays aside.
func (c cleaned) fallback(plain string, bk gutenberg.Book) cleaned {
	reason, detail := "empty", "nothing is left of the context"
	if len(bk.Dropped) > 0 {
		reason, detail = bk.Dropped[0].Reason, bk.Dropped[0].Detail
	}
	switch reason {
	case gutenberg.ReasonPlay:
		c.form = formPlay
	case gutenberg.ReasonPoetry:
		c.form = formVerse
	default:
		c.reason, c.detail = reason, detail
		return c
	}
	c.text = records.Text(dedent(body(plain)))
	c.check()
	return c
}

func (c *cleaned) check() {
	low := strings.ToLower(c.text)
	for _, w := range []string{"project gutenberg", "gutenberg.org", "gutenberg-tm", "pglaf"} {
		if i := strings.Index(low, w); i >= 0 && c.gutenberg {
			c.reason, c.detail = ReasonResidue, "after cleaning it still holds "+w
			return
		}
	}
}

// body takes the lines between the start and end markers.
func body(s string) string {
	lines := strings.Split(s, "\n")
	from, to := 0, len(lines)
	for i, l := range lines {
		up := strings.ToUpper(strings.TrimLeft(l, "* "))
		switch {
		case !strings.Contains(up, "PROJECT GUTENBERG") && !strings.Contains(up, "SMALL PRINT"):
		case strings.HasPrefix(up, "START OF"), strings.HasPrefix(up, "END*THE SMALL PRINT"), strings.HasPrefix(up, "END THE SMALL PRINT"):
			if i < len(lines)*9/10 {
				from = i + 1
				for k := i; k < min(i+4, len(lines)) && !strings.HasSuffix(strings.TrimSpace(lines[k]), "***"); k++ {
					if strings.HasSuffix(strings.TrimSpace(lines[min(k+1, len(lines)-1)]), "***") {
						from = k + 2
					}
				}
			}
		case strings.HasPrefix(up, "END OF") && i < to:
			to = i
		}
	}
	if from >= to {
		return s
	}
	return strings.Join(lines[from:to], "\n")
}

// script reports the layout of a film script: scene headings, or a third of
// the lines set in from the margin as dialogue is.
func script(s string) bool {
	scenes, deep, lines := 0, 0, 0
	for line := range strings.Lines(s) {
		t := strings.TrimSpace(line)
		if t == "" {
			continue
		}
		lines++
		if len(line)-len(strings.TrimLeft(line, " \t")) >= 10 || strings.HasPrefix(line, "\t\t") {
			deep++
		}
		t = strings.TrimLeft(t, "0123456789. ")
		for _, p := range []string{"INT.", "EXT.", "INT ", "EXT ", "INTERIOR", "EXTERIOR", "FADE IN", "FADE OUT", "CUT TO", "DISSOLVE TO"} {
			if strings.HasPrefix(t, p) {
				scenes++
				break
			}
		}
	}
	return scenes >= 5 && scenes*200 >= lines || lines >= 50 && deep*3 >= lines && scenes > 0
}

// dedent takes off the margin that all lines share.
func dedent(s string) string {
	lines := strings.Split(text.Freeze(s), "\n")
	margin := -1
	for _, l := range lines {
		if t := strings.TrimLeft(l, " "); t != "" && (margin < 0 || len(l)-len(t) < margin) {
			margin = len(l) - len(t)
		}
	}
	for i, l := range lines {
		lines[i] = l[min(max(margin, 0), len(l)):]
	}
	return strings.Join(lines, "\n")
}

// tag is an HTML tag or comment. Only tags that occur in such leftovers are
// meant: "<grin>" in a story is text.
var tag = regexp.MustCompile(`(?is)<!--.*?-->|<(?:script|style)\b.*?</(?:script|style)>|<title[^>]*>(.*?)</title>|<(/?)(html|head|body|pre|b|i|u|em|strong|br|p|font|a|div|span|center|table|tbody|tr|td|th|h[1-6]|hr|ul|ol|li|img|meta|link|blockquote|tt|code|small|sup|sub|!doctype)\b[^<>]*>`)

// breaks are tags that end a line.
var breaks = map[string]bool{"br": true, "p": true, "div": true, "tr": true, "li": true, "h1": true, "h2": true, "h3": true, "h4": true, "h5": true, "h6": true, "hr": true, "blockquote": true, "center": true}

// stripTags takes HTML's leftovers out: tags and entities. Tags that end a line
// give one where the text has none. The title is that of the head.
func stripTags(s string) (plain, title string) {
	if !strings.Contains(s, "<") && !strings.Contains(s, "&") {
		return s, ""
	}
	var b strings.Builder
	blank := true // nothing on the line written so far
	write := func(part string) {
		b.WriteString(part)
		if i := strings.LastIndexByte(part, '\n'); i >= 0 {
			blank, part = true, part[i+1:]
		}
		if strings.TrimSpace(part) != "" {
			blank = false
		}
	}
	from := 0
	for _, m := range tag.FindAllStringSubmatchIndex(s, -1) {
		write(s[from:m[0]])
		from = m[1]
		if m[2] >= 0 && title == "" {
			title = records.Line(records.Unescape(s[m[2]:m[3]]))
		}
		if m[6] >= 0 && breaks[strings.ToLower(s[m[6]:m[7]])] && !blank && !startsLine(s[from:]) {
			write("\n")
		}
	}
	write(s[from:])
	return records.Unescape(b.String()), title
}

func startsLine(s string) bool {
	t := strings.TrimLeftFunc(s, func(r rune) bool { return r != '\n' && unicode.IsSpace(r) })
	return t == "" || strings.HasPrefix(t, "\n")
}
