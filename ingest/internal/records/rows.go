// SPDX-License-Identifier: Apache-2.0

package records

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

// Row is one record: the bytes of a JSON object, or a line of text.
type Row struct {
	File string
	N    int // 1-based number of the record among those of the file; a CSV's header line is none
	Line int // 1-based line it starts on, 0 in Parquet
	// Data is the record. A record file of another form than JSON gives the
	// object that says the same: a string for each CSV field, Parquet's
	// columns in order of their names.
	Data []byte
	// Err says why there is no Data, or none that can be used.
	Err error
	// Charset and Repaired are as in text.Decoded.
	Charset  string
	Repaired int

	Tag     string // a note of the corpus's own, see Unique
	sha     string // once it is known: a row may give thousands of stories
	repeats string // the earlier record with the same text
}

// NewRow is a file that is one record.
func NewRow(file string, data []byte) Row {
	r := Row{File: file, N: 1, Line: 1, Data: bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), Charset: "utf-8"}
	if !utf8.Valid(r.Data) {
		r.decodeBytes()
	}
	return r
}

var errType = errors.New("wrong type")

// Key names the record by its place: stem:line, or stem:row where the format
// has no lines of its own for records.
func (r Row) Key(stem string, byLine bool) string {
	if byLine {
		return fmt.Sprintf("%s:%d", stem, r.Line)
	}
	return fmt.Sprintf("%s:%d", stem, r.N)
}

// SHA256 is the hash of the record's bytes.
func (r Row) SHA256() string {
	if r.sha != "" {
		return r.sha
	}
	sum := sha256.Sum256(r.Data)
	return hex.EncodeToString(sum[:])
}

// Decode reads the record into v and says for what reason that failed. Bytes
// that are no UTF-8 and halves of surrogate pairs are mended first, and
// counted in r.Repaired.
func (r *Row) Decode(v any) (reason string, err error) {
	if r.Err != nil {
		return r.reason(), r.Err
	}
	if r.Charset == "" {
		r.Charset = "utf-8"
	}
	data, n := mendSurrogates(r.Data)
	r.Repaired += n
	if err := schemas.KeysOnce(data); err != nil {
		return ReasonSyntax, err
	}
	err = json.Unmarshal(data, v)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) && (bytes.Contains(data, []byte("NaN")) || bytes.Contains(data, []byte("Infinity"))) {
		if e := json.Unmarshal(mendNumbers(data), v); e == nil || !errors.As(e, &syntax) {
			err = e
		}
	}
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil:
		return "", nil
	case errors.As(err, &kind) && kind.Field != "":
		return ReasonType, fmt.Errorf("field %s is a JSON %s, which it should not be", kind.Field, kind.Value)
	case errors.As(err, &kind):
		return ReasonType, fmt.Errorf("the record is a JSON %s, not an object", kind.Value)
	case errors.Is(err, errType):
		return ReasonType, err
	}
	return ReasonSyntax, fmt.Errorf("no valid JSON: %w", err)
}

func (r *Row) reason() string {
	switch {
	case errors.Is(r.Err, fetch.ErrTooLarge):
		return ReasonTooLarge
	case errors.Is(r.Err, fetch.ErrQuote), errors.Is(r.Err, fetch.ErrFields):
		return ReasonColumns
	case errors.Is(r.Err, fetch.ErrTruncated):
		return ReasonCutOff
	}
	return ReasonUnreadable
}

// decodeBytes gives r valid UTF-8. Each record is decoded for itself, so that
// one bad record does not decide for the others; and as record files are UTF-8
// by their formats, a record with any character beyond ASCII in it that is UTF-8
// is UTF-8 with stray bytes, not Windows-1252 as a whole.
func (r *Row) decodeBytes() {
	data := r.Data
	if someUTF8(data) {
		data = append([]byte("\xef\xbb\xbf"), data...)
	}
	d := text.Decode(data, "")
	r.Data, r.Charset, r.Repaired = []byte(d.Text), d.Charset, d.Repaired
}

func someUTF8(b []byte) bool {
	for i := 0; i < len(b); {
		_, n := utf8.DecodeRune(b[i:])
		if n > 1 {
			return true
		}
		i += n
	}
	return false
}

// IDs gives the records of a corpus their keys while they are read, in order.
type IDs map[string]string

// First gives r the key id in its Tag. A record that says the same as an
// earlier one of that id is not the first; one that says something else, which
// upstream does not have, gets eight hex digits of its hash behind the id.
func (k IDs) First(id string, r *Row) (of string, first bool) {
	h := r.SHA256()[:8]
	switch had, ok := k[id]; {
	case !ok:
		k[id], r.Tag = h, id
		return "", true
	case had == h:
		return id, false
	}
	key := id + "-" + h
	if _, ok := k[key]; ok {
		return key, false
	}
	k[key], r.Tag = h, key
	return "", true
}

// Rows reads the records of an opened file, each valid until the next. A
// record that cannot be read has Err set; an error of the sequence ends the
// file.
func (s *Source) Rows(ctx context.Context, o *Opened) iter.Seq2[Row, error] {
	opt := fetch.RowOptions{Name: o.File.Name, MaxRow: s.MaxRow, Key: o.Key, Comma: o.Comma}
	switch o.Format {
	case JSONLines:
		return wrap(o, fetch.JSONLines(o, opt))
	case JSONArray:
		return wrap(o, fetch.JSONArray(o, opt))
	case TextLines:
		return wrap(o, fetch.Lines(o, opt))
	case CSV:
		if opt.Comma == '\t' {
			quoted, err := quotedTabs(o, opt)
			if err != nil {
				return func(yield func(Row, error) bool) { yield(Row{File: o.File.Name}, err) }
			}
			opt.Plain = !quoted
		}
		return table(o, fetch.CSV(o, opt))
	case Parquet:
		return parquetRows(ctx, o)
	}
	return func(yield func(Row, error) bool) {
		yield(Row{}, fmt.Errorf("%s: no record file", o.File.Name))
	}
}

// quotedTabs looks through the file on its own, so that o is still to be read.
func quotedTabs(o *Opened, opt fetch.RowOptions) (bool, error) {
	in, err := o.File.Open()
	if err != nil {
		return false, err
	}
	defer in.Close()
	return fetch.QuotedTabs(in, opt)
}

func wrap(o *Opened, rows iter.Seq2[fetch.Row, error]) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for f, err := range rows {
			r := Row{File: o.File.Name, N: f.N, Line: f.Line, Data: f.Data, Charset: "utf-8"}
			if err != nil {
				bad := fetch.AsRowError(err)
				if bad == nil {
					yield(r, err)
					return
				}
				if r.N, r.Line = bad.N, bad.Line; errors.Is(err, fetch.ErrUTF8) && len(f.Data) > 0 {
					r.decodeBytes()
				} else {
					r.Err = bad.Err
				}
			} else if o.Format == TextLines && !utf8.Valid(f.Data) {
				r.decodeBytes()
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

// table makes JSON objects of CSV records.
func table(o *Opened, rows iter.Seq2[fetch.Row, error]) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		var cols []string
		var unnamed int // the first column without a name
		var buf []byte
		for f, err := range rows {
			r := Row{File: o.File.Name, N: f.N - 1, Line: f.Line, Charset: "utf-8"}
			if err != nil {
				bad := fetch.AsRowError(err)
				if bad == nil {
					yield(r, err)
					return
				}
				r.N, r.Line = bad.N-1, bad.Line
				usable := errors.Is(err, fetch.ErrUTF8) && (cols == nil || len(f.Fields) == len(cols)) ||
					errors.Is(err, fetch.ErrFields) && len(f.Fields) > len(cols) && blank(f.Fields[len(cols):])
				if len(f.Fields) == 0 || !usable {
					r.Err = bad.Err
					if !yield(r, nil) {
						return
					}
					continue
				}
			}
			if cols == nil {
				for _, c := range f.Fields {
					cols = append(cols, strings.TrimSpace(text.Decode([]byte(c), "").Text))
				}
				if err := schemas.ColumnsOnce(cols); err != nil {
					yield(r, &fetch.Error{Op: "read", Name: fmt.Sprintf("%s:%d", o.File.Name, f.Line), Kind: fetch.Input, Err: err})
					return
				}
				unnamed = slices.Index(cols, "")
				continue
			}
			buf = append(buf[:0], '{')
			for i, c := range cols {
				if c == "" && i != unnamed {
					continue // an object has one such key
				}
				if i > 0 {
					buf = append(buf, ',')
				}
				d := text.Decode([]byte(f.Fields[i]), "")
				if r.Repaired += d.Repaired; d.Charset != "utf-8" {
					r.Charset = d.Charset
				}
				buf = append(append(appendJSON(buf, c), ':'), appendJSON(nil, d.Text)...)
			}
			r.Data = append(buf, '}')
			buf = r.Data
			if !yield(r, nil) {
				return
			}
		}
	}
}

func blank(fields []string) bool {
	for _, f := range fields {
		if strings.TrimSpace(f) != "" {
			return false
		}
	}
	return true
}

func appendJSON(dst []byte, s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always has JSON
	}
	return append(dst, b...)
}

// drain reads what is left, so that the file's hash covers all of it.
func drain(r io.Reader) error {
	_, err := io.Copy(io.Discard, r)
	return err
}
