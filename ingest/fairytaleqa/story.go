// SPDX-License-Identifier: Apache-2.0

package fairytaleqa

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/retcon-bench/retcon/ingest"
	"github.com/retcon-bench/retcon/ingest/internal/cause"
	"github.com/retcon-bench/retcon/ingest/internal/prose"
	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

// Meta is a row of story_meta.csv.
type Meta struct {
	Filename, Origin, Split, Sections, Words, Questions string
}

type metas map[string]*Meta

// find looks a story's base name up; one file is Snow-man where the meta file
// has snow-man.
func (m metas) find(name string) *Meta {
	if r := m[name]; r != nil {
		return r
	}
	return m[strings.ToLower(name)]
}

// table reads a CSV with a header line into fields by column name. Rows that
// cannot be read go to bad.
func table(data []byte, name string, row func(get func(col string) string, n, line int), bad func(error)) (cols []string, err error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	index := map[string]int{}
	for r, err := range fetch.CSV(bytes.NewReader(data), fetch.RowOptions{Name: name, Ragged: true}) {
		if err != nil {
			var re *fetch.RowError
			if !errors.As(err, &re) {
				return cols, err
			}
			if !errors.Is(err, fetch.ErrUTF8) || r.Fields == nil {
				bad(err)
				continue
			}
		}
		if cols == nil {
			for i, f := range r.Fields {
				f = strings.ToLower(strings.TrimSpace(f))
				cols = append(cols, f)
				index[f] = i
			}
			if err := schemas.ColumnsOnce(cols); err != nil {
				return cols, &fetch.RowError{Name: name, N: r.N, Line: r.Line, EndLine: r.Line, Err: err}
			}
			continue
		}
		if blank(r.Fields) {
			continue
		}
		row(func(col string) string {
			if i, ok := index[col]; ok && i < len(r.Fields) {
				return r.Fields[i]
			}
			return ""
		}, r.N, r.Line)
	}
	return cols, nil
}

func blank(fields []string) bool {
	for _, f := range fields {
		if strings.TrimSpace(f) != "" {
			return false
		}
	}
	return true
}

func (r *Reader) metas(f *fetch.File) (metas, *ingest.Item) {
	if f == nil {
		return nil, nil
	}
	var batch ingest.Batch
	note := func(err error) {
		batch.Dropped = append(batch.Dropped, r.drop("story_meta.csv", f.Name, ReasonRow, err.Error()+"; the story is read without these fields"))
	}
	out := metas{}
	data, _, err := fetch.ReadFile(*f)
	if err == nil {
		_, err = table(data, f.Name, func(get func(string) string, _, _ int) {
			m := &Meta{get("filename"), get("origin"), get("split"), get("sections"), get("words"), get("questions")}
			if m.Filename != "" {
				out[m.Filename] = m
			}
		}, note)
	}
	if err != nil {
		note(errors.New(cause.Of(f.Name, err)))
	}
	if len(batch.Dropped) == 0 {
		return out, nil
	}
	return out, &ingest.Item{Name: f.Name, Load: func(context.Context) (ingest.Batch, error) { return batch, nil }}
}

// Story makes a story of a story file's bytes. A file that cannot be read
// whole gives no story: one with a hole would be worse than none.
func (r *Reader) Story(name, file, origin string, data []byte, sum string) (schemas.Story, *schemas.Dropped) {
	fail := func(reason, detail string) (schemas.Story, *schemas.Dropped) {
		d := r.drop(name, file, reason, detail)
		return schemas.Story{}, &d
	}
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return fail(ReasonNotText, fmt.Sprintf("byte %d is zero: the file is binary data, not CSV", i))
	}
	type section struct{ id, text string }
	var sections []section
	charset, repaired := "utf-8", 0
	var badRow error
	cols, err := table(data, file, func(get func(string) string, _, _ int) {
		dec := text.Decode([]byte(get("text")), "")
		if dec.Charset != "utf-8" {
			charset = dec.Charset
		}
		repaired += dec.Repaired
		sections = append(sections, section{strings.TrimSpace(get("section")), dec.Text})
	}, func(err error) {
		if badRow == nil {
			badRow = err
		}
	})
	switch {
	case err != nil:
		return fail(ReasonRow, err.Error())
	case badRow != nil:
		return fail(ReasonRow, badRow.Error())
	case len(cols) == 0:
		return fail(ReasonEmpty, "the file is empty")
	case !has(cols, "section") || !has(cols, "text"):
		return fail(ReasonColumns, fmt.Sprintf("the columns are %s; expected section,text", strings.Join(cols, ",")))
	}
	s := schemas.Story{
		StoryID:    schemas.StoryID(r.Corpus, name, ""),
		Kind:       schemas.KindStory,
		Title:      titleOf(name),
		Language:   "en",
		Collection: origin,
		Meta:       []schemas.KeyValue{},
		Removed:    []schemas.Removal{},
		Source: schemas.Source{Corpus: r.Corpus, ID: name, Title: titleOf(name), Licence: r.Terms.Licence, LicenceURL: r.Terms.LicenceURL,
			Attribution: r.Terms.Attribution, Redistribute: r.Terms.Redistribute, File: file, RawSHA256: sum, Charset: charset, Repaired: repaired},
	}
	s.GroupID = s.StoryID
	var b prose.Builder
	ids := map[string]int{}
	for _, sec := range sections {
		id := sec.id
		if ids[id]++; ids[id] > 1 {
			// A number printed twice.
			id = fmt.Sprintf("%s-%d", id, ids[id])
			ids[id]++
		}
		b.Section(id, func() { paragraphs(&b, sec.text) })
	}
	if b.Len() == 0 {
		return fail(ReasonEmpty, "no section has any text")
	}
	b.Fill(&s)
	switch set := r.Settings; {
	case s.Words < set.MinWords:
		return fail(ReasonNotSelected, fmt.Sprintf("%d words, fewer than %d", s.Words, set.MinWords))
	case set.MaxWords > 0 && s.Words > set.MaxWords:
		return fail(ReasonNotSelected, fmt.Sprintf("%d words, more than %d", s.Words, set.MaxWords))
	}
	return s, nil
}

func has(cols []string, c string) bool {
	for _, x := range cols {
		if x == c {
			return true
		}
	}
	return false
}

// paragraphs adds a section's paragraphs. In about half of the files lines are
// wrapped by hand near 72 columns and a blank line parts paragraphs; in the
// others every line is a paragraph.
func paragraphs(b *prose.Builder, s string) {
	s = text.Freeze(s)
	for _, block := range strings.Split(s, "\n\n") {
		var lines []prose.Line
		for _, l := range strings.Split(block, "\n") {
			t := strings.TrimSpace(l)
			if t != "" {
				lines = append(lines, prose.Line{Text: t, Indent: len(l) - len(strings.TrimLeft(l, " "))})
			}
		}
		switch {
		case len(lines) == 0:
		case len(lines) == 1:
			b.Paragraph(fold(nil, lines[0].Text), "")
		case wrapped(lines):
			var p []byte
			for _, l := range lines {
				p = prose.Join(p, string(fold(nil, l.Text)))
			}
			b.Paragraph(p, "")
		default:
			for i := 0; i < len(lines); {
				n := verse(lines[i:])
				if n < 2 {
					b.Paragraph(fold(nil, lines[i].Text), "")
					i++
					continue
				}
				var p []byte
				for _, l := range lines[i : i+n] {
					if len(p) > 0 {
						p = append(p, '\n')
					}
					p = append(p, fold(nil, l.Text)...)
				}
				b.Paragraph(p, prose.MarkVerse)
				i += n
			}
		}
	}
}

// wrapped reports lines that a wrapper broke: all but the last near the
// measure, or broken in mid-sentence. Editors changed many texts after they were
// wrapped, so single lines may be much shorter or longer.
func wrapped(lines []prose.Line) bool {
	mid, full, long := 0, 0, 0
	n := len(lines) - 1
	for i, l := range lines[:n] {
		w := len([]rune(l.Text))
		if w > 160 {
			long++
		}
		next := lines[i+1].Text
		if startsSmall(next) || !endsSentence(l.Text) {
			mid++
		}
		first := next
		if k := strings.IndexByte(next, ' '); k > 0 {
			first = next[:k]
		}
		if w+1+len(first) > 62 {
			full++
		}
	}
	if long*4 > n {
		return false
	}
	return full*2 > n && (mid > 0 || full == n) || mid*3 >= n*2 && full > 0
}

func startsSmall(s string) bool {
	for _, r := range s {
		if unicode.IsLetter(r) {
			return unicode.IsLower(r)
		}
	}
	return false
}

func endsSentence(s string) bool {
	s = strings.TrimRight(s, "\"'”’)_ ")
	return s != "" && strings.ContainsRune(".!?:", rune(s[len(s)-1]))
}

// verse returns how many of the first lines are verse: short lines, each with
// a capital, of which some do not end a sentence.
func verse(lines []prose.Line) int {
	n, open := 0, 0
	for n < len(lines) && len([]rune(lines[n].Text)) <= 52 && !startsSmall(lines[n].Text) {
		if !endsSentence(lines[n].Text) {
			open++
		}
		n++
		if quoted(lines[0].Text[:1]) && quoted(lines[n-1].Text[len(lines[n-1].Text)-1:]) {
			break // the song is over
		}
	}
	if n >= 2 && open*3 >= n {
		return n
	}
	return 0
}

func quoted(s string) bool { return s == "\"" || s == "'" }

// fold appends s with runs of blanks as one.
func fold(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if s[i] == ' ' && len(dst) > 0 && dst[len(dst)-1] == ' ' {
			continue
		}
		dst = append(dst, s[i])
	}
	return bytes.TrimRight(dst, " ")
}

// titleOf makes a title of a base name: upstream has no other.
func titleOf(name string) string {
	words := strings.Fields(strings.NewReplacer("-", " ", "_", " ").Replace(name))
	for i, w := range words {
		if i > 0 && small[w] {
			continue
		}
		r := []rune(w)
		r[0] = unicode.ToUpper(r[0])
		words[i] = string(r)
	}
	return strings.Join(words, " ")
}

var small = map[string]bool{"a": true, "an": true, "and": true, "at": true, "by": true, "for": true, "from": true, "in": true, "of": true, "on": true,
	"or": true, "the": true, "to": true, "with": true, "who": true, "that": true, "as": true}

// Facts reads a questions file. A question that cannot be read is set aside and
// the others are kept; the story does not depend on them.
func (r *Reader) Facts(name, file string, data []byte, sections []schemas.Section) ([]schemas.SourceFact, []schemas.Dropped) {
	var dropped []schemas.Dropped
	facts := []schemas.SourceFact{}
	known := map[string][]string{}
	for _, s := range sections {
		base, _, _ := strings.Cut(s.ID, "-")
		known[base] = append(known[base], s.ID)
	}
	note := func(id, detail string) {
		dropped = append(dropped, r.drop(name+"#"+id, file, ReasonQuestions, detail))
	}
	cols, err := table(data, file, func(get func(string) string, n, line int) {
		id := strings.TrimSpace(get("question_id"))
		if id == "" {
			id = fmt.Sprintf("row%d", n)
		}
		q := clean(get("question"))
		f := schemas.SourceFact{ID: id, Question: q, Answers: []string{}, Sections: []string{},
			Explicit: strings.EqualFold(strings.TrimSpace(get("ex-or-im1")), "explicit")}
		f.Attribute = clean(get("attribute1"))
		if a := clean(get("attribute2")); a != "" {
			f.Attribute += "; " + a
		}
		for i := 1; i <= 6; i++ {
			a := clean(get(fmt.Sprintf("answer%d", i)))
			if a != "" && !has(f.Answers, a) {
				f.Answers = append(f.Answers, a)
			}
		}
		for _, s := range strings.FieldsFunc(get("cor_section"), func(r rune) bool { return r == ',' || r == ';' || r == ' ' || r == '&' }) {
			if ids := known[s]; len(ids) > 0 {
				f.Sections = append(f.Sections, ids...)
			} else {
				note(id, fmt.Sprintf("%s: line %d: section %q is not one of the story's; the question is kept without it", file, line, s))
			}
		}
		if q == "" || len(f.Answers) == 0 {
			note(id, fmt.Sprintf("%s: line %d: no question or no answer", file, line))
			return
		}
		facts = append(facts, f)
	}, func(err error) { note("row", err.Error()) })
	if err != nil {
		note("file", err.Error())
	} else if len(cols) > 0 && (!has(cols, "question") || !has(cols, "answer1")) {
		note("file", fmt.Sprintf("the columns are %s; expected question, answer1, ...", strings.Join(cols, ",")))
	}
	return facts, dropped
}

func clean(s string) string {
	return strings.Join(strings.Fields(text.Freeze(text.Decode([]byte(s), "").Text)), " ")
}
