// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"io"
	"iter"
	"reflect"

	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/internal/parquetfile"
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

// AnyRows reads the rows of a Parquet file whatever its columns, as
// [parquetfile.Rows] has them. An error ends the sequence and names the row.
func AnyRows(path string) iter.Seq2[map[string]any, error] {
	return parquetfile.Rows(fetch.OneFile(path))
}
