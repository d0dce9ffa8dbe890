// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"strings"
)

// CSV yields the records of an RFC 4180 file, the header line included as row
// 1. Blank lines between records are passed over (as encoding/csv does; real
// files end in one) and not counted. Line breaks inside quotes stay as they
// are upstream.
//
// Not encoding/csv, because a row must come with its bytes and their offset,
// a row that is not UTF-8 must be left to the caller's decoder, and a quote
// that is never closed must not fill the memory.
//
// A row with a broken quote is a RowError with [ErrQuote] that names the lines
// it took; reading goes on at the next line. What follows may still be the
// inside of a field, so until a row has the first row's number of fields again
// others are errors too, also if Ragged allows them elsewhere. If the first
// row is broken the sequence ends: without it no row has a meaning.
//
// A file whose lines end in a CR alone would be one long header: it ends with
// [ErrFormat].
//
// With Plain there are no quotes to break. Files of tabs are of either kind,
// see [TSV].
func CSV(r io.Reader, opt RowOptions) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		w := newWindow(r, opt)
		if err := w.start(); err != nil {
			yield(Row{}, err)
			return
		}
		c := &csvReader{window: w, comma: opt.Comma, ragged: opt.Ragged}
		if c.comma == 0 {
			c.comma = ','
		}
		if opt.Plain {
			c.plain(yield)
			return
		}
		c.rows(yield)
	}
}

// plain reads lines whose quotes say nothing.
func (c *csvReader) plain(yield func(Row, error) bool) {
	n := 0
	c.lines(func(row Row, err error) bool {
		if err == nil && len(row.Data) == 0 {
			return true
		}
		n++
		row.N = n
		if n == 1 && LoneCR(row.Data) {
			yield(Row{}, c.fatal(row.Line, errLoneCR))
			return false
		}
		if e := AsRowError(err); e != nil {
			if e.N = n; n == 1 {
				yield(Row{}, &Error{"read", at(c.name, row.Line, 0), Input, fmt.Errorf("row 1, which gives the rows their columns: %w", e.Err)})
				return false
			}
		}
		if err == nil {
			row.Fields = strings.Split(string(row.Data), string(rune(c.comma)))
			err = c.judge(row, row.Line)
		}
		return yield(row, err)
	})
}

var errLoneCR = fmt.Errorf("%w: its lines end in a CR alone, as those of old Macs; save it with LF or CRLF (as CSV UTF-8)", ErrFormat)

// Separator is what parts the fields of a table by its first line, of which head
// holds the beginning: the comma, or a semicolon or a tab that stands there more
// often. Spreadsheets write semicolons where the comma is the decimal point.
func Separator(head []byte) byte {
	line, _, _ := bytes.Cut(head, lf)
	sep := byte(',')
	for _, c := range []byte{';', '\t'} {
		if bytes.Count(line, []byte{c}) > bytes.Count(line, []byte{sep}) {
			sep = c
		}
	}
	return sep
}

// LoneCR reports whether the first line of a table, which may have line breaks
// in quotes, ends in CR without LF.
func LoneCR(b []byte) bool {
	quoted := false
	for i, c := range b {
		switch {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '\n':
			return false
		case c == '\r':
			rest := bytes.TrimLeft(b[i:], "\r")
			return len(rest) > 0 && rest[0] != '\n'
		}
	}
	return false
}

type csvReader struct {
	*window
	comma  byte
	ragged bool
	want   int  // fields of the first row
	resync bool // a broken row was met and no whole one since
	text   []byte
	ends   []int
}

type csvState uint8

const (
	fieldStart  csvState = iota
	bare                 // in a field without quotes
	quoted               // in a quoted field
	quoteQuoted          // after a quote in a quoted field: its end, or half a ""
	quotedCR             // after quote and CR
	badQuote             // broken: only the line end matters
)

func (c *csvReader) rows(yield func(Row, error) bool) {
	for n := 1; ; {
		// Blank lines.
		for c.lo < c.hi || c.more() {
			if c.buf[c.lo] == '\n' {
				c.take(1)
				continue
			}
			if c.buf[c.lo] != '\r' {
				break
			}
			if c.hi-c.lo < 2 && c.more() {
				continue
			}
			if c.hi-c.lo >= 2 && c.buf[c.lo+1] != '\n' {
				break
			}
			c.take(min(2, c.hi-c.lo))
		}
		if c.lo == c.hi {
			if err := c.broken(); err != nil {
				yield(Row{}, err)
			}
			return
		}
		row := Row{N: n, Line: c.line, Offset: c.offset()}
		size, next, long, fault := c.record()
		if err := c.broken(); err != nil && next < 0 {
			yield(Row{}, err)
			return
		}
		long = long || c.tooLong(size)
		data := c.buf[c.lo : c.lo+size : c.lo+size]
		c.take(size)
		endLine := c.line
		if next > 0 {
			c.take(next)
		}
		if n == 1 && LoneCR(data) {
			yield(Row{}, c.fatal(row.Line, errLoneCR))
			return
		}
		var err error
		switch {
		case long:
			err = &RowError{c.name, n, row.Line, endLine, fmt.Errorf("%w of %d bytes for one row", ErrTooLarge, c.max)}
			c.resync = true
		case fault != nil:
			row.Data = data
			err = &RowError{c.name, n, row.Line, endLine, fault}
			c.resync = true
		default:
			row.Data = data
			row.Fields = c.split(data)
			err = c.judge(row, endLine)
		}
		if err != nil && n == 1 && (long || fault != nil) {
			yield(Row{}, &Error{"read", at(c.name, row.Line, endLine), Input, fmt.Errorf("row 1, which gives the rows their columns: %w", AsRowError(err).Err)})
			return
		}
		if !yield(row, err) {
			return
		}
		n++
	}
}

func (c *csvReader) judge(row Row, endLine int) error {
	got := len(row.Fields)
	if row.N == 1 {
		c.want = got
	}
	if got != c.want && (!c.ragged || c.resync) {
		return &RowError{c.name, row.N, row.Line, endLine, fmt.Errorf("%w: %d where the first row has %d", ErrFields, got, c.want)}
	}
	c.resync = false
	return c.notUTF8(row.N, row.Line, endLine, row.Data)
}

// record finds the end of the record at lo: size is its length without line
// end, next the length of the line end, -1 if the file ends first. If the
// record is longer than the cap it is dropped as it is read (long).
func (c *csvReader) record() (size, next int, long bool, fault error) {
	state := fieldStart
	i := 0       // from lo
	lastCR := -1 // index of the last CR outside quotes
	quote := -1  // index of the quote that opened the last quoted field
	openLine := 0
	broke := func(what string) error {
		return fmt.Errorf("%w: %s on line %d", ErrQuote, what, c.line+bytes.Count(c.buf[c.lo:c.lo+i], lf))
	}
	for {
		p := c.buf[c.lo:c.hi]
	scan:
		for i < len(p) {
			b := p[i]
			switch state {
			case fieldStart, bare:
				switch b {
				case '\n':
					size = i
					if lastCR == i-1 && i > 0 {
						size--
					}
					return size, i + 1 - size, long, fault
				case c.comma:
					state = fieldStart
				case '"':
					if state == bare {
						fault = broke("a quote inside an unquoted field")
						state = badQuote
					} else {
						state = quoted
						quote = i
					}
				case '\r':
					lastCR = i
					state = bare
				default:
					state = bare
				}
			case quoted:
				j := bytes.IndexByte(p[i:], '"')
				if j < 0 {
					i = len(p)
					break scan
				}
				i += j
				state = quoteQuoted
			case quoteQuoted:
				switch b {
				case '"':
					state = quoted
				case c.comma:
					state = fieldStart
				case '\n':
					return i, 1, long, fault
				case '\r':
					state = quotedCR
				default:
					fault = broke(fmt.Sprintf("%q after a closing quote", p[i:min(i+1, len(p))]))
					state = badQuote
				}
			case quotedCR:
				if b == '\n' {
					size = max(i-1, 0) // the CR may be dropped already
					return size, i + 1 - size, long, fault
				}
				fault = broke(`a lone CR after a closing quote`)
				state = badQuote
				continue
			case badQuote:
				j := bytes.IndexByte(p[i:], '\n')
				if j < 0 {
					i = len(p)
					break scan
				}
				i += j
				size = i
				if size > 0 && p[size-1] == '\r' {
					size--
				}
				return size, i + 1 - size, long, fault
			}
			i++
		}
		if c.tooLong(i - 2) { // two for the line end
			long = true
			if quote >= 0 { // counted only when it is lost: at every quote would be quadratic
				openLine = c.line + bytes.Count(c.buf[c.lo:c.lo+quote], lf)
				quote = -1
			}
			c.take(i)
			i, lastCR = 0, lastCR-i
		}
		if c.more() {
			continue
		}
		size = i
		switch {
		case state == quoted:
			if quote >= 0 {
				openLine = c.line + bytes.Count(c.buf[c.lo:c.lo+quote], lf)
			}
			fault = fmt.Errorf("%w: the quote opened on line %d is not closed at the end of the file", ErrQuote, openLine)
		case size > 0 && (state == quotedCR || lastCR == size-1):
			size--
		}
		return size, -1, long, fault
	}
}

// split cuts a sound record into its fields. They share one string.
func (c *csvReader) split(data []byte) []string {
	c.text, c.ends = c.text[:0], c.ends[:0]
	for i := 0; ; {
		if i < len(data) && data[i] == '"' {
			i++
			for {
				j := bytes.IndexByte(data[i:], '"')
				c.text = append(c.text, data[i:i+j]...)
				i += j + 1
				if i == len(data) || data[i] != '"' {
					break
				}
				c.text = append(c.text, '"')
				i++
			}
		} else {
			j := bytes.IndexByte(data[i:], c.comma)
			if j < 0 {
				j = len(data) - i
			}
			c.text = append(c.text, data[i:i+j]...)
			i += j
		}
		c.ends = append(c.ends, len(c.text))
		if i >= len(data) {
			break
		}
		i++ // the comma
	}
	all := string(c.text)
	fields := make([]string, len(c.ends))
	from := 0
	for k, to := range c.ends {
		fields[k] = all[from:to]
		from = to
	}
	return fields
}
