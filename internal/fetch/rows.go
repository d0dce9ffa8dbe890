// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"unicode/utf8"
)

// Row is one record of a row-oriented file.
type Row struct {
	N      int      // 1-based number of the row: line, non-blank line, array element or CSV record (header included)
	Line   int      // 1-based line on which the row starts; lines end at LF
	Offset int64    // offset of Data in the (decompressed) stream, in bytes
	Data   []byte   // the row's bytes without line end, as they stand upstream; valid until the next row, clone to keep
	Fields []string // CSV only: the unquoted fields, which the caller may keep
}

// RowError is a row that cannot be taken as it is. The row readers yield it
// together with what they have of the row, and then go on with the next row: a
// caller sets it aside and continues, or mends it (a row that is only not
// UTF-8 comes whole, with [ErrUTF8], for a decoder to look at; a CSV row with
// [ErrFields] has its Fields). Any other error ends the sequence.
type RowError struct {
	Name    string // file, as given in RowOptions
	N       int    // as in Row
	Line    int    // first line
	EndLine int    // last line
	Err     error
}

func (e *RowError) Error() string {
	return fmt.Sprintf("%s: row %d: %v", at(e.Name, e.Line, e.EndLine), e.N, e.Err)
}

func (e *RowError) Unwrap() error { return e.Err }

// AsRowError returns the RowError in err's tree, nil if the error ends the file.
func AsRowError(err error) *RowError {
	var e *RowError
	if errors.As(err, &e) {
		return e
	}
	return nil
}

// at names a place in a file for people.
func at(name string, from, to int) string {
	where := fmt.Sprintf("line %d", from)
	if to > from {
		where = fmt.Sprintf("lines %d-%d", from, to)
	}
	if name != "" {
		where = name + ": " + where
	}
	return where
}

// RowOptions steers the row readers. The zero value is right for most files.
type RowOptions struct {
	Name   string // file name for errors
	MaxRow int64  // bytes of one row; 0 = 64 MiB, negative = no limit. A longer row is a RowError with ErrTooLarge
	Key    string // JSONArray: member that holds the array when the top level is an object; "" = "data"
	Comma  byte   // CSV: field separator; 0 = ','
	Plain  bool   // CSV: quotes are characters like any other, and a line is a record
	Ragged bool   // CSV: accept rows with another number of fields than the first
}

const (
	defaultMaxRow = 64 << 20
	firstBuffer   = 64 << 10
)

// A window is the part of a stream that is held in memory: from the start of
// the current row to as far as was read.
type window struct {
	r    io.Reader
	name string
	max  int64 // bytes of one row, <0 none

	buf  []byte
	lo   int   // start of the current row in buf
	hi   int   // end of what was read
	base int64 // stream offset of buf[0]
	line int   // 1-based line of buf[lo]
	err  error // sticky: io.EOF or the reader's error

	begun bool
}

func newWindow(r io.Reader, opt RowOptions) *window {
	w := &window{r: r, name: opt.Name, max: opt.MaxRow, line: 1}
	if w.max == 0 {
		w.max = defaultMaxRow
	}
	return w
}

// start skips a byte order mark. UTF-16 is refused here: split at bytes that
// are half a character it would only give stranger errors later.
func (w *window) start() error {
	if w.begun {
		return nil
	}
	w.begun = true
	for w.hi < 3 && w.more() {
	}
	head := w.buf[:w.hi]
	switch {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		w.lo = 3
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		return w.fatal(w.line, fmt.Errorf("%w: this is UTF-16, UTF-8 is wanted; convert it first", ErrFormat))
	}
	return nil
}

// more reads on and reports whether there is more to look at. buf[lo:] is
// kept; indexes into buf move down by what lo moves down.
func (w *window) more() bool {
	if w.err != nil {
		return false
	}
	if w.lo > 0 {
		copy(w.buf, w.buf[w.lo:w.hi])
		w.base += int64(w.lo)
		w.hi -= w.lo
		w.lo = 0
	}
	if w.hi == len(w.buf) {
		grown := make([]byte, max(2*len(w.buf), firstBuffer))
		copy(grown, w.buf[:w.hi])
		w.buf = grown
	}
	for range 100 {
		n, err := w.r.Read(w.buf[w.hi:])
		w.hi += n
		w.err = err
		if n > 0 {
			return true
		}
		if err != nil {
			return false
		}
	}
	w.err = io.ErrNoProgress
	return false
}

// tooLong reports whether a row of n bytes is above the cap.
func (w *window) tooLong(n int) bool { return w.max >= 0 && int64(n) > w.max }

func (w *window) offset() int64 { return w.base + int64(w.lo) }

// take moves the start of the row n bytes on.
func (w *window) take(n int) {
	w.line += bytes.Count(w.buf[w.lo:w.lo+n], lf)
	w.lo += n
}

var lf = []byte{'\n'}

// broken returns the reader's error, if that is why there is no more.
func (w *window) broken() error {
	if w.err == nil || w.err == io.EOF {
		return nil
	}
	return fmt.Errorf("%s: %w", at(w.name, w.line, 0), w.err)
}

// fatal is a fault of the file after which no further row can be told.
func (w *window) fatal(line int, err error) error {
	return &Error{"read", at(w.name, line, 0), Input, err}
}

func (w *window) rowTooLong(n, line int) error {
	return &RowError{w.name, n, line, w.line, fmt.Errorf("%w of %d bytes for one row", ErrTooLarge, w.max)}
}

// notUTF8 returns a RowError for data that is not UTF-8, else nil.
func (w *window) notUTF8(n, line, endLine int, data []byte) error {
	if utf8.Valid(data) {
		return nil
	}
	i := 0
	for i < len(data) {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		i += size
	}
	return &RowError{w.name, n, line, endLine, fmt.Errorf("%w: byte 0x%02x at byte %d of the row", ErrUTF8, data[i], i)}
}

// Lines yields every line, blank ones included, split at LF only (other
// Unicode line breaks stand inside lines of real corpora); a CR before the LF
// (or before the end of the file) is dropped. The bytes are not checked. A last
// line without LF counts.
func Lines(r io.Reader, opt RowOptions) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		newWindow(r, opt).lines(yield)
	}
}

// JSONLines yields the lines that are not blank, as Lines cuts them, N counting
// those only; a line that is not UTF-8 comes with a RowError. JSON syntax is
// left to the caller's json.Unmarshal, which checks it anyway.
func JSONLines(r io.Reader, opt RowOptions) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		newWindow(r, opt).jsonLines(yield)
	}
}

func (w *window) jsonLines(yield func(Row, error) bool) {
	n := 0
	w.lines(func(row Row, err error) bool {
		if err == nil && len(bytes.Trim(row.Data, " \t\r")) == 0 {
			return true
		}
		n++
		row.N = n
		if e := AsRowError(err); e != nil {
			e.N = n
		} else if err == nil {
			err = w.notUTF8(n, row.Line, row.Line, row.Data)
		}
		return yield(row, err)
	})
}

func (w *window) lines(yield func(Row, error) bool) {
	if err := w.start(); err != nil {
		yield(Row{}, err)
		return
	}
	for n := 1; ; n++ {
		line, off := w.line, w.offset()
		seen, long := 0, false
		var end int
		for {
			i := bytes.IndexByte(w.buf[w.lo+seen:w.hi], '\n')
			if i >= 0 {
				end = seen + i
				break
			}
			seen = w.hi - w.lo
			if w.tooLong(seen - 1) { // one for a CR
				long = true
				w.take(seen)
				seen = 0
			}
			if !w.more() {
				end = -1
				break
			}
		}
		if err := w.broken(); err != nil && end < 0 {
			yield(Row{}, err) // the half line that was read is not a row
			return
		}
		last := end < 0
		if last {
			if end = w.hi - w.lo; end == 0 && !long {
				return
			}
		}
		row := Row{N: n, Line: line, Offset: off}
		var err error
		data := w.buf[w.lo : w.lo+end : w.lo+end]
		data = bytes.TrimSuffix(data, []byte{'\r'})
		if long || w.tooLong(len(data)) {
			err = w.rowTooLong(n, line)
		} else {
			row.Data = data
		}
		if !yield(row, err) || last {
			return
		}
		w.take(end + 1)
	}
}

// JSONRows is JSONArray if the first byte that is not white space is '[', else
// JSONLines: what a file named .json holds is not to be known from its name.
func JSONRows(r io.Reader, opt RowOptions) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		w := newWindow(r, opt)
		if err := w.start(); err != nil {
			yield(Row{}, err)
			return
		}
		// Look without taking: line numbers and offsets stay the file's.
		for i := 0; ; i++ {
			if i == w.hi-w.lo && (i > firstBuffer || !w.more()) {
				break
			}
			switch w.buf[w.lo+i] {
			case ' ', '\t', '\r', '\n':
				continue
			case '[':
				w.jsonArray(opt.Key, yield)
				return
			}
			break
		}
		w.jsonLines(yield)
	}
}
