// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"fmt"
	"io"
	"iter"
	"os"
	"reflect"

	"github.com/parquet-go/parquet-go"

	"github.com/retcon-bench/retcon/internal/fetch"
)

// WriteFile writes records as one Parquet file outside a release, in the
// layout of a release's tables, and returns how many there were. Fields of raw
// JSON have no column. Footer keys are meta, sorted by the caller.
func WriteFile[T any](w io.Writer, rows iter.Seq2[T, error], meta ...[2]string) (int, error) {
	l, err := layoutOf(reflect.TypeFor[T]())
	if err != nil {
		return 0, err
	}
	s := newShardWriter(l, writeOptions{meta: meta}, func(int) (io.WriteCloser, error) { return nopCloser{w}, nil })
	defer s.abort()
	for v, err := range rows {
		if err != nil {
			return 0, err
		}
		if err := s.add(reflect.ValueOf(v)); err != nil {
			return 0, err
		}
	}
	if _, err := s.finish(); err != nil {
		return 0, err
	}
	return s.total, nil
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// ReadFile reads the records of one Parquet file in order. Its schema must be
// the record's.
func ReadFile[T any](path string) iter.Seq2[T, error] { return readRows[T](path) }

// AnyRows reads the rows of a Parquet file whatever its columns: a row is a map
// from column to string, bool, number, list, map or nil, text as string. A
// column of type null gives nil. An error ends the sequence and names the row.
func AnyRows(path string) iter.Seq2[map[string]any, error] {
	return func(yield func(map[string]any, error) bool) {
		fail := func(err error) {
			yield(nil, &fetch.Error{Op: "read", Name: path, Kind: fetch.Input, Err: err})
		}
		f, err := os.Open(path)
		if err != nil {
			fail(err)
			return
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			fail(err)
			return
		}
		pf, _, err := openParquet(f, info.Size())
		if err != nil {
			fail(err)
			return
		}
		n := 0
		for _, group := range pf.RowGroups() {
			more, err := anyGroup(pf.Schema(), group, &n, yield)
			if err != nil {
				fail(&damage{n, err})
				return
			}
			if !more {
				return
			}
		}
	}
}

func anyGroup(schema *parquet.Schema, group parquet.RowGroup, n *int, yield func(map[string]any, error) bool) (bool, error) {
	return eachRow(group, n, func(r parquet.Row) (bool, error) {
		v, err := rebuildRow(schema, r)
		return err == nil && yield(v, nil), err
	})
}

// rebuildRow turns a row of any schema into plain values.
func rebuildRow(schema *parquet.Schema, row parquet.Row) (m map[string]any, err error) {
	defer recovered(&err)
	var v any
	if err := schema.Reconstruct(&v, row); err != nil {
		return nil, err
	}
	m, ok := plainValue(v).(map[string]any)
	if !ok {
		return nil, fmt.Errorf("a row is %T, not a group of columns", v)
	}
	return m, nil
}

func plainValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = plainValue(e)
		}
	case []any:
		for i, e := range v {
			v[i] = plainValue(e)
		}
	case []byte:
		return string(v)
	}
	return v
}
