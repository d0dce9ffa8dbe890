// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"fmt"
	"io"
	"iter"
)

// Row is one record of a row-oriented file.
type Row struct {
	N      int      // 1-based number of the row (array element, non-blank line, CSV record incl. the header)
	Line   int      // 1-based line on which the row starts, lines ending in LF
	Offset int64    // byte offset of Data in the (decompressed) stream
	Data   []byte   // the row's bytes without line end, as they stand upstream; valid until the next row: clone to keep
	Fields []string // CSV only: unquoted fields; the caller may keep them
}

// RowError is a row that cannot be taken as it is. The row readers yield it
// together with what they have of the row (Row.Data may be usable: a row that
// is only not UTF-8 comes whole, with ErrUTF8) and then go on with the next
// row. Any other error ends the sequence.
type RowError struct {
	Name    string // file, as given in RowOptions
	N       int    // as in Row
	Line    int    // first line
	EndLine int    // last line
	Err     error
}

func (e *RowError) Error() string {
	where := fmt.Sprintf("line %d", e.Line)
	if e.EndLine > e.Line {
		where = fmt.Sprintf("lines %d-%d", e.Line, e.EndLine)
	}
	if e.Name != "" {
		where = e.Name + ": " + where
	}
	return fmt.Sprintf("%s: row %d: %v", where, e.N, e.Err)
}

func (e *RowError) Unwrap() error { return e.Err }

// RowOptions steers the row readers. The zero value is right for most files.
type RowOptions struct {
	Name   string // file name for errors
	MaxRow int64  // bytes of one row; 0 = 64 MiB. A longer row is a RowError with ErrTooLarge
	Key    string // JSONArray: member that holds the array when the top level is an object; "" = "data"
	Comma  byte   // CSV: field separator; 0 = ','
	Ragged bool   // CSV: accept rows with another number of fields than the first
}

// Lines yields every line, blank ones included, split at LF only (other
// Unicode line breaks stand inside lines of WritingPrompts); a CR before the
// LF is dropped. Bytes are not checked.
func Lines(r io.Reader, opt RowOptions) iter.Seq2[Row, error] { panic("fetch: not yet written") }

// JSONLines yields the non-blank lines. JSON syntax is left to the caller's
// json.Unmarshal.
func JSONLines(r io.Reader, opt RowOptions) iter.Seq2[Row, error] { panic("fetch: not yet written") }

// JSONArray yields the elements of a top-level array, or of the array under
// opt.Key in a top-level object.
func JSONArray(r io.Reader, opt RowOptions) iter.Seq2[Row, error] { panic("fetch: not yet written") }

// JSONRows is JSONArray if the first byte that is not white space is '[',
// else JSONLines.
func JSONRows(r io.Reader, opt RowOptions) iter.Seq2[Row, error] { panic("fetch: not yet written") }

// CSV yields the records of an RFC 4180 file, the header line included as row 1.
func CSV(r io.Reader, opt RowOptions) iter.Seq2[Row, error] { panic("fetch: not yet written") }
