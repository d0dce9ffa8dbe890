// SPDX-License-Identifier: Apache-2.0

package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/parquet-go/parquet-go"

	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/internal/parquetfile"
	"github.com/retcon-bench/retcon/internal/text"
)

// errParquet is what a damaged Parquet file gives.
var errParquet = errors.New("damaged Parquet file")

// parquetRows reads the records of a Parquet file, whatever columns it has,
// one row in memory beside the pages the library holds. Text that is not UTF-8
// is decoded as a CSV's is.
func parquetRows(ctx context.Context, o *Opened) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		in, err := o.File.OpenAt()
		if err != nil {
			yield(Row{}, err)
			return
		}
		defer in.Close()
		fail := func(err error) {
			if schema := (*parquetfile.SchemaError)(nil); !errors.As(err, &schema) {
				err = fmt.Errorf("%w: %w", errParquet, err)
			}
			yield(Row{}, &fetch.Error{Op: "read", Name: o.File.Name, Kind: fetch.Input, Err: err})
		}
		f, err := parquetfile.Open(in, in.Size())
		if err != nil {
			fail(err)
			return
		}
		n := 0
		_, err = f.Each(func(values parquet.Row) (bool, error) {
			if err := ctx.Err(); err != nil {
				return false, err
			}
			m, err := f.Values(values)
			if err != nil {
				return false, err
			}
			n++
			r := Row{File: o.File.Name, N: n, Charset: "utf-8"}
			if r.Data, err = json.Marshal(r.plain(m)); err != nil {
				return false, err
			}
			return yield(r, nil), nil
		})
		switch {
		case err == nil:
		case ctx.Err() != nil:
			yield(Row{}, ctx.Err())
		default:
			fail(fmt.Errorf("after row %d: %w", n, err))
		}
	}
}

// plain makes of a row's value what JSON can hold: bytes are strings, a float
// that is no number is null.
func (r *Row) plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = r.plain(e)
		}
	case []any:
		for i, e := range v {
			v[i] = r.plain(e)
		}
	case []byte:
		d := text.Decode(v, "")
		if r.Repaired += d.Repaired; d.Charset != "utf-8" {
			r.Charset = d.Charset
		}
		return d.Text
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
