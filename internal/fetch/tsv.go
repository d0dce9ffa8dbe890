// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bytes"
	"io"
	"iter"
)

// TSV yields the records of a file of tabs, the header line included as row 1.
// There are two kinds of such files, and nothing in a file says which it is:
//
//   - plain, as people and many tools write it: a line is a record, tabs part
//     the fields, a quote is a character like any other;
//   - quoted, as pandas, polars, DuckDB and spreadsheets write it: RFC 4180
//     with a tab for the comma.
//
// A file is read as one of them from its first byte to its last, as
// [QuotedTabs] finds it, for which it is opened twice. What is plain keeps all
// its quotes; a row that breaks the quoting of a quoted file is an error as in
// [CSV].
func TSV(open func() (io.ReadCloser, error), opt RowOptions) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		look, err := open()
		if err != nil {
			yield(Row{}, err)
			return
		}
		quoted, err := QuotedTabs(look, opt)
		look.Close()
		if err != nil {
			yield(Row{}, err)
			return
		}
		f, err := open()
		if err != nil {
			yield(Row{}, err)
			return
		}
		defer f.Close()
		opt.Comma, opt.Plain = '\t', !quoted
		CSV(f, opt)(yield)
	}
}

// QuotedTabs reads a file of tabs to its end and reports whether its quotes are
// quoting. They are
//
//   - if every name in the header stands in quotes, as where everything is
//     quoted;
//   - if more rows need them as quoting than break it, and without them the
//     file would be the worse table. A row needs them that has a field in
//     quotes with a tab, a line break or doubled quotes inside, or with nothing
//     ("", which DuckDB and polars write to tell it from null). A row breaks
//     them that has a quote anywhere else.
//
// A file of fields such as "Yes." alone is plain: quotes that nothing needs are
// the text's, and are kept.
func QuotedTabs(r io.Reader, opt RowOptions) (bool, error) {
	lines := &lineWidths{r: r}
	opt.Comma, opt.Plain, opt.Ragged = '\t', false, true
	w := newWindow(lines, opt)
	if err := w.start(); err != nil {
		return false, err
	}
	c := &csvReader{window: w, comma: '\t', ragged: true}
	width, wrong, broken, must, across := 0, 0, 0, 0, 0
	var failed error
	c.rows(func(row Row, err error) bool {
		if err != nil && row.Fields == nil { // a quote where none may be, or a row above the cap
			if AsRowError(err) == nil {
				if KindOf(err) != Input { // of the reader; a header that is broken is plain
					failed = err
				}
				broken++
				return false
			}
			broken++
			return true
		}
		n := len(row.Fields)
		if row.N == 1 {
			if width = n; allQuoted(row.Data, n) {
				broken, must = 0, 1
				return false
			}
			return true
		}
		if n != width {
			wrong++
		}
		need, inside := quoting(row.Data)
		if need {
			must++
		} else if inside && n == width {
			across++
		}
		return true
	})
	if failed != nil {
		return false, failed
	}
	if must+across <= broken {
		return false, nil
	}
	return must > 0 || wrong+broken < lines.wrong || width == 1 && broken == 0, nil
}

// allQuoted reports whether all n fields of a sound record stand in quotes.
func allQuoted(data []byte, n int) bool {
	quoted := 0
	eachQuoted(data, func([]byte) { quoted++ })
	return quoted == n
}

// quoting reports whether a sound record has a field in quotes that holds
// doubled quotes or nothing (need), or a tab or a line break (inside).
func quoting(data []byte) (need, inside bool) {
	eachQuoted(data, func(body []byte) {
		need = need || len(body) == 0 || bytes.Contains(body, []byte(`""`))
		inside = inside || bytes.ContainsAny(body, "\t\r\n")
	})
	return need, inside
}

// eachQuoted calls f with what stands between the quotes of each quoted field
// of a sound record.
func eachQuoted(data []byte, f func(body []byte)) {
	for i := 0; i < len(data); i++ {
		if data[i] != '"' {
			j := bytes.IndexByte(data[i:], '\t')
			if j < 0 {
				return
			}
			i += j
			continue
		}
		from := i + 1
		for i = from; i < len(data); i++ {
			if data[i] != '"' {
				continue
			}
			if i+1 == len(data) || data[i+1] != '"' {
				break
			}
			i++
		}
		f(data[from:min(i, len(data))])
		i++ // the tab behind the quote
	}
}

// lineWidths counts the lines of what is read through it that have another
// number of tabs than the first, blank ones left out.
type lineWidths struct {
	r     io.Reader
	tabs  int
	any   bool // the line so far is not blank
	first int  // tabs of the first line, and one
	wrong int
}

func (l *lineWidths) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	for _, b := range p[:n] {
		switch b {
		case '\n':
			l.end()
		case '\r':
		case '\t':
			l.tabs++
			l.any = true
		default:
			l.any = true
		}
	}
	if err == io.EOF {
		l.end()
	}
	return n, err
}

func (l *lineWidths) end() {
	switch {
	case !l.any:
	case l.first == 0:
		l.first = l.tabs + 1
	case l.tabs+1 != l.first:
		l.wrong++
	}
	l.tabs, l.any = 0, false
}
