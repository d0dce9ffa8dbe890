// SPDX-License-Identifier: Apache-2.0

package records

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"unicode/utf8"

	"github.com/retcon-bench/retcon/ingest"
	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/schemas"
)

// CountLines counts the lines of f that keep accepts, as Lines cuts them; nil
// accepts all. Blank lines at the file's end are not counted then.
func CountLines(ctx context.Context, f fetch.File, keep func(line []byte) bool) (int, error) {
	in, err := f.Open()
	if err != nil {
		return 0, err
	}
	defer in.Close()
	n, blanks := 0, 0
	for r, err := range fetch.Lines(in, fetch.RowOptions{Name: f.Name}) {
		if err != nil && fetch.AsRowError(err) == nil {
			return n, err
		}
		if n&0xFFF == 0 && ctx.Err() != nil {
			return n, ctx.Err()
		}
		switch {
		case keep != nil:
			if err == nil && keep(r.Data) {
				n++
			}
		case err == nil && len(bytes.TrimSpace(r.Data)) == 0:
			blanks++
		default:
			n += blanks + 1
			blanks = 0
		}
	}
	return n, nil
}

// Pairs are the items of two files of which line n of one belongs to line n of
// the other. Parse gets rows whose Data is both lines, parted by one LF. The
// caller has counted the lines: n pairs are read. Lines are split at LF alone,
// for other line breaks of Unicode stand inside the lines of real files.
func (s *Source) Pairs(ctx context.Context, a, b fetch.File, n int, parse Parse) iter.Seq2[ingest.Item, error] {
	return func(yield func(ingest.Item, error) bool) {
		oa, err := s.Look(a)
		if err != nil {
			yield(s.Set(a.Name, ReasonUnreadable, err.Error(), true), nil)
			return
		}
		defer oa.Close()
		ob, err := s.Look(b)
		if err != nil {
			yield(s.Set(b.Name, ReasonUnreadable, err.Error(), true), nil)
			return
		}
		rows := func(yield func(Row, error) bool) {
			next, stop := iter.Pull2(fetch.Lines(ob, fetch.RowOptions{Name: b.Name, MaxRow: s.MaxRow}))
			defer stop()
			for ra, erra := range fetch.Lines(oa, fetch.RowOptions{Name: a.Name, MaxRow: s.MaxRow}) {
				r := Row{File: b.Name, N: ra.N, Line: ra.Line, Charset: "utf-8"}
				if e := fetch.AsRowError(erra); e != nil {
					r.N, r.Line, r.Err = e.N, e.Line, fmt.Errorf("%s: %w", a.Name, e.Err)
				} else if erra != nil {
					yield(r, erra)
					return
				}
				if r.N > n {
					return
				}
				rb, errb, ok := next()
				if !ok {
					yield(r, &fetch.Error{Op: "read", Name: b.Name, Kind: fetch.Input, Err: io.ErrUnexpectedEOF})
					return
				}
				if e := fetch.AsRowError(errb); e != nil {
					r.Err = e.Err
				} else if errb != nil {
					yield(r, errb)
					return
				}
				if r.Err == nil {
					r.Data = append(append(append(make([]byte, 0, len(ra.Data)+len(rb.Data)+1), ra.Data...), '\n'), rb.Data...)
					if !utf8.Valid(r.Data) {
						r.decodeBytes()
					}
				}
				if !yield(r, nil) {
					return
				}
			}
		}
		ob.Format = TextLines
		for it, err := range s.items(ctx, ob, rows, parse) {
			if !yield(it, err) || err != nil {
				return
			}
		}
		if ctx.Err() != nil || drain(oa) != nil {
			return
		}
		sum, size := oa.Sum()
		yield(ingest.Item{Name: a.Name, Load: func(context.Context) (ingest.Batch, error) {
			return ingest.Batch{Files: []schemas.FileHash{{Path: a.Name, Bytes: size, SHA256: sum, Rows: n}}}, nil
		}}, nil)
	}
}
