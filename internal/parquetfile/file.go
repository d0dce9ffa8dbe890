// SPDX-License-Identifier: Apache-2.0

// Package parquetfile opens Parquet files by whatever program and reads their
// rows. All readers of such files lie on it: the predictions and tables of
// datasets, the corpora of ingest.
//
// [Open] looks at the footer and at every page header before the library does,
// which trusts what they claim (footer.go, thrift.go), and refuses tables that
// cannot be read without loss: without columns, or with a column that stands
// twice (schema.go). [File.Each] yields rows as the library has them,
// [File.Map] makes plain values of one (values.go), and [Rows] does all of it
// for a file by its name.
//
// The bytes are untrusted and the library is not ours: it panics on some of
// them. Whatever calls it here goes through [Guard].
package parquetfile

import (
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/parquet-go/parquet-go"

	"github.com/retcon-bench/retcon/internal/fetch"
)

// File is an open Parquet file.
type File struct {
	*parquet.File
	// Description is the schema as the library prints it.
	Description string

	leaves []leaf
	root   *node
}

// Open opens a file of size bytes, which must stay open as long as it is used.
// The page index and Bloom filters are not read: rows are read in their order.
func Open(r io.ReaderAt, size int64) (*File, error) {
	meta, end, err := Footer(r, size)
	if err != nil {
		return nil, err
	}
	f := &File{}
	if f.leaves, err = leavesOf(meta); err != nil {
		return nil, err
	}
	f.root = treeOf(meta.Schema)
	if err := checkPages(r, meta, end); err != nil {
		return nil, err
	}
	return f, Guard(func() (err error) {
		if f.File, err = parquet.OpenFile(r, size, parquet.SkipBloomFilters(true), parquet.SkipPageIndex(true)); err == nil {
			f.Description = f.Schema().String()
		}
		return err
	})
}

// Panic is what [Guard] makes of one. Its text does not have the value, which
// says nothing to whoever has the file.
type Panic struct{ Value any }

func (*Panic) Error() string {
	return "damaged Parquet: its pages do not hold what its footer says; write the file anew"
}

// Guard turns a panic of the library over damaged bytes into an error.
func Guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &Panic{v}
		}
	}()
	return f()
}

// Each calls see with the rows in order until it returns false or an error. A
// row is valid until see returns. n is how many rows were taken: an error is of
// the next one, or of the file where there is none.
func (f *File) Each(see func(parquet.Row) (bool, error)) (n int, err error) {
	for _, group := range f.RowGroups() {
		if more, err := eachRow(group, &n, see); err != nil || !more {
			return n, err
		}
	}
	if int64(n) != f.NumRows() {
		return n, fmt.Errorf("footer says %d rows, file holds %d", f.NumRows(), n)
	}
	return n, nil
}

// eachRow reports whether to go on after a group.
func eachRow(group parquet.RowGroup, n *int, see func(parquet.Row) (bool, error)) (bool, error) {
	if group.NumRows() == 0 { // a table of none, as pyarrow writes it, has nowhere to seek to
		return true, nil
	}
	var rows parquet.Rows
	if err := Guard(func() error { rows = group.Rows(); return nil }); err != nil {
		return false, err
	}
	defer Guard(rows.Close) //nolint:errcheck // read only
	buf := make([]parquet.Row, 64)
	for idle := 0; ; {
		got := 0
		err := Guard(func() (err error) { got, err = rows.ReadRows(buf); return err })
		if idle++; got > 0 {
			idle = 0
		}
		if idle > 100 { // damaged pages must not keep anybody here for ever
			return false, io.ErrNoProgress
		}
		for _, r := range buf[:got] {
			if more, err := see(r); err != nil || !more {
				return false, err
			}
			*n++
		}
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
}

// Rows reads the rows of a file whatever its columns, as [File.Map] has them,
// wherever it is stored and however it is packed. An error is of the kind
// input, names the file and the row, and ends the sequence.
func Rows(file fetch.File) iter.Seq2[map[string]any, error] {
	return func(yield func(map[string]any, error) bool) {
		where := file.Path
		if where == "" {
			where = file.Name
		}
		fail := func(err error) {
			if fetch.KindOf(err) == 0 {
				err = &fetch.Error{Op: "read", Name: where, Kind: fetch.Input, Err: err}
			}
			yield(nil, err)
		}
		in, err := file.OpenAt()
		if err != nil {
			fail(err)
			return
		}
		defer in.Close()
		f, err := Open(in, in.Size())
		if err != nil {
			fail(err)
			return
		}
		n, err := f.Each(func(r parquet.Row) (bool, error) {
			m, err := f.Map(r)
			return err == nil && yield(m, nil), err
		})
		if err != nil {
			if int64(n) < f.NumRows() {
				where = fmt.Sprintf("%s: row %d", where, n+1)
			}
			fail(err)
		}
	}
}
