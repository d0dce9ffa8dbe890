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

// Groups are the items of two files of which line n of one belongs to the n-th
// group of lines of the other; a line for which end holds closes a group. Parse
// gets rows whose Data is the line and those of the group, parted by LF. Name is
// called for each row in order, to set its Tag. The caller has checked that
// there are as many lines as groups.
func (s *Source) Groups(ctx context.Context, a, b fetch.File, end func(line []byte) bool, name func(r *Row), parse Parse) iter.Seq2[ingest.Item, error] {
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
		limit := s.MaxRow
		if limit == 0 {
			limit = fetch.DefaultLimits().MaxWhole
		}
		n := 0
		rows := func(yield func(Row, error) bool) {
			next, stop := iter.Pull2(fetch.Lines(oa, fetch.RowOptions{Name: a.Name, MaxRow: s.MaxRow}))
			defer stop()
			var r Row
			begin := func(line int) (ok bool, err error) {
				ra, erra, ok := next()
				n++
				r = Row{File: b.Name, N: n, Line: line, Charset: "utf-8"}
				if !ok {
					return false, nil
				}
				if e := fetch.AsRowError(erra); e != nil {
					r.Err = fmt.Errorf("%s: %w", a.Name, e.Err)
				} else if erra != nil {
					return true, erra
				}
				r.Data = append(r.Data, ra.Data...)
				return true, nil
			}
			open := false
			for rb, errb := range fetch.Lines(ob, fetch.RowOptions{Name: b.Name, MaxRow: s.MaxRow}) {
				e := fetch.AsRowError(errb)
				if errb != nil && e == nil {
					yield(r, errb)
					return
				}
				if !open {
					if e == nil && len(bytes.TrimSpace(rb.Data)) == 0 {
						continue // between groups
					}
					ok, err := begin(rb.Line)
					if err != nil {
						yield(r, err)
						return
					}
					if !ok {
						return
					}
					open = true
				}
				switch {
				case e != nil:
					r.Err = e.Err
				case end(rb.Data):
					open = false
					if r.Err != nil {
						r.Data = nil
					} else if !utf8.Valid(r.Data) {
						r.decodeBytes()
					}
					name(&r)
					if !yield(r, nil) {
						return
					}
				case int64(len(r.Data)+len(rb.Data)) > limit:
					r.Err = fmt.Errorf("%w of %d bytes for one record", fetch.ErrTooLarge, limit)
				default:
					r.Data = append(append(r.Data, '\n'), rb.Data...)
				}
			}
			if open {
				r.Err = fmt.Errorf("%w: the record has no end", fetch.ErrTruncated)
				yield(r, nil)
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
