// SPDX-License-Identifier: Apache-2.0

package constoryio

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"github.com/retcon-bench/retcon/scoring"
)

// errParquet is what a damaged file gives; the library panics on some.
var errParquet = errors.New("damaged Parquet file")

func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	return f()
}

// OpenParquet reads the footer of a Parquet file. Columns of texts, numbers and
// truth values are read, and columns of nothing but nulls, which have no type
// of their own; nested ones are left out.
func OpenParquet(r io.ReaderAt, size int64) (*scoring.CheckTable, error) {
	var file *parquet.File
	err := guard(func() (err error) {
		file, err = parquet.OpenFile(r, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errParquet, err)
	}
	t := &scoring.CheckTable{}
	at := map[int]int{} // leaf column to column of the table
	err = guard(func() error {
		for _, f := range file.Schema().Fields() {
			if !f.Leaf() || f.Repeated() {
				continue
			}
			leaf, ok := file.Schema().Lookup(f.Name())
			if !ok {
				continue
			}
			at[leaf.ColumnIndex] = len(t.Columns)
			t.Columns = append(t.Columns, f.Name())
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errParquet, err)
	}
	t.Rows = func(yield func([]*string, error) bool) {
		n := 0
		for _, group := range file.RowGroups() {
			rows := group.Rows()
			more, err := readGroup(rows, len(t.Columns), at, &n, yield)
			if cerr := guard(rows.Close); err == nil {
				err = cerr
			}
			if err != nil {
				yield(nil, fmt.Errorf("%w: after row %d: %w", errParquet, n, err))
				return
			}
			if !more {
				return
			}
		}
	}
	return t, nil
}

func readGroup(rows parquet.Rows, columns int, at map[int]int, n *int, yield func([]*string, error) bool) (more bool, err error) {
	buf := make([]parquet.Row, 1)
	row := make([]*string, columns)
	for {
		err := guard(func() error {
			got, err := rows.ReadRows(buf)
			if got == 0 {
				if err == nil {
					err = io.EOF
				}
				return err
			}
			clear(row)
			for _, v := range buf[0] {
				if c, ok := at[v.Column()]; ok {
					row[c] = textOf(v)
				}
			}
			return nil
		})
		if err == io.EOF {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		*n++
		if !yield(row, nil) {
			return false, nil
		}
	}
}

// textOf writes a value as a CSV file would hold it; nil for null. A number
// that a library made a float for want of a null integer is an integer again.
func textOf(v parquet.Value) *string {
	if v.IsNull() {
		return nil
	}
	var s string
	switch v.Kind() {
	case parquet.Boolean:
		s = strconv.FormatBool(v.Boolean())
	case parquet.Int32:
		s = strconv.FormatInt(int64(v.Int32()), 10)
	case parquet.Int64:
		s = strconv.FormatInt(v.Int64(), 10)
	case parquet.Float, parquet.Double:
		f := v.Double()
		if v.Kind() == parquet.Float {
			f = float64(v.Float())
		}
		if math.IsNaN(f) {
			return nil
		}
		s = strconv.FormatFloat(f, 'f', -1, 64)
	case parquet.ByteArray, parquet.FixedLenByteArray:
		s = string(v.ByteArray())
	default:
		s = v.String()
	}
	return &s
}
