// SPDX-License-Identifier: Apache-2.0

package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"

	"github.com/parquet-go/parquet-go"

	"github.com/retcon-bench/retcon/internal/fetch"
)

// errParquet is what a damaged Parquet file gives. The library panics on some.
var errParquet = errors.New("damaged Parquet file")

// parquetRows reads the records of a Parquet file, whatever columns it has,
// one row in memory beside the pages the library holds.
func parquetRows(ctx context.Context, o *Opened) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		in, err := o.File.OpenAt()
		if err != nil {
			yield(Row{}, err)
			return
		}
		defer in.Close()
		fail := func(err error) {
			yield(Row{}, &fetch.Error{Op: "read", Name: o.File.Name, Kind: fetch.Input, Err: fmt.Errorf("%w: %w", errParquet, err)})
		}
		var file *parquet.File
		err = guard(func() (err error) {
			file, err = parquet.OpenFile(in, in.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
			return err
		})
		if err != nil {
			fail(err)
			return
		}
		n := 0
		for _, group := range file.RowGroups() {
			rows := group.Rows()
			more, err := groupRows(ctx, file.Schema(), rows, o.File.Name, &n, yield)
			if cerr := guard(rows.Close); err == nil {
				err = cerr
			}
			if err != nil {
				if ctx.Err() != nil {
					yield(Row{}, ctx.Err())
				} else {
					fail(fmt.Errorf("after row %d: %w", n, err))
				}
				return
			}
			if !more {
				return
			}
		}
	}
}

func groupRows(ctx context.Context, schema *parquet.Schema, rows parquet.Rows, name string, n *int, yield func(Row, error) bool) (more bool, err error) {
	buf := make([]parquet.Row, 1)
	for {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		var data []byte
		err := guard(func() error {
			got, err := rows.ReadRows(buf)
			if got == 0 {
				if err == nil {
					err = io.EOF
				}
				return err
			}
			var v any
			if err := schema.Reconstruct(&v, buf[0]); err != nil {
				return err
			}
			if data, err = json.Marshal(plain(v)); err != nil {
				return err
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
		if !yield(Row{File: name, N: *n, Data: data, Charset: "utf-8"}, nil) {
			return false, nil
		}
	}
}

// plain makes of a reconstructed row what JSON can hold: bytes are strings, a
// float that is no number is null.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = plain(e)
		}
	case []any:
		for i, e := range v {
			v[i] = plain(e)
		}
	case []byte:
		return string(v)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
	case float32:
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			return nil
		}
	}
	return v
}

// guard turns a panic of the library over hostile bytes into an error.
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	return f()
}
