// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

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
// from column to string, bool, number, list, map or nil. Text is a string, and
// an error where it is not UTF-8; bytes that no column calls text are a string
// where they can be one, else []byte. A column of type null gives nil. An error
// ends the sequence and names the row.
func AnyRows(path string) iter.Seq2[map[string]any, error] {
	return AnyRowsOf(fetch.OneFile(path))
}

// AnyRowsOf is AnyRows of a file wherever it is stored, packed ones too.
func AnyRowsOf(f fetch.File) iter.Seq2[map[string]any, error] {
	return fileRows(f, func(in fetch.ReaderAt) (*parquet.File, func(parquet.Row) (map[string]any, error), error) {
		pf, _, err := openParquet(in, in.Size())
		if err != nil {
			return nil, nil, err
		}
		schema := pf.Schema()
		texts, err := textColumns(schema)
		if err != nil {
			return nil, nil, err
		}
		return pf, func(r parquet.Row) (map[string]any, error) {
			for _, v := range r {
				if name := texts[v.Column()]; name != "" && !v.IsNull() && !utf8.Valid(v.ByteArray()) {
					return nil, fmt.Errorf("column %s: %w", name, fetch.ErrUTF8)
				}
			}
			return rebuildRow(schema, r)
		}, nil
	})
}

// textColumns names the columns that hold text by their place; those of
// anything else have no name.
func textColumns(schema *parquet.Schema) (names map[int]string, err error) {
	defer recovered(&err)
	names = map[int]string{}
	for _, path := range schema.Columns() {
		leaf, ok := schema.Lookup(path...)
		if !ok {
			continue
		}
		if t := leaf.Node.Type().LogicalType(); t != nil {
			switch t.Value.(type) {
			case *format.StringType, *format.EnumType, *format.JsonType:
				names[leaf.ColumnIndex] = strings.Join(path, ".")
			}
		}
	}
	return names, nil
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
		if utf8.Valid(v) {
			return string(v)
		}
	case string: // the library's for bytes too
		if !utf8.ValidString(v) {
			return []byte(v)
		}
	default: // the values of a map are of types that the library makes up
		switch r := reflect.ValueOf(v); r.Kind() {
		case reflect.Pointer: // where they may be null
			if r.IsNil() {
				return nil
			}
			return plainValue(r.Elem().Interface())
		case reflect.Struct:
			if r.Type().Name() != "" { // a time
				return v
			}
			m := make(map[string]any, r.NumField())
			for i := range r.NumField() {
				f := r.Type().Field(i)
				name, _, _ := strings.Cut(f.Tag.Get("parquet"), ",")
				m[cmp.Or(name, f.Name)] = plainValue(r.Field(i).Interface())
			}
			return m
		case reflect.Slice:
			list := make([]any, r.Len())
			for i := range list {
				list[i] = plainValue(r.Index(i).Interface())
			}
			return list
		case reflect.Map:
			m := make(map[string]any, r.Len())
			for k, e := range r.Seq2() {
				m[fmt.Sprint(k)] = plainValue(e.Interface())
			}
			return m
		}
	}
	return v
}
