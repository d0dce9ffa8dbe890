// SPDX-License-Identifier: Apache-2.0

package parquetfile

import (
	"cmp"
	"fmt"
	"math/big"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"

	"github.com/retcon-bench/retcon/internal/fetch"
)

// Map makes plain values of a row: a map from column to string, bool, number,
// list, map or nil; a column of type null gives nil. Text must be UTF-8, and so
// must bytes that the file says nothing of: some programs write text so, and
// what is no text cannot be told from text in another encoding. The error names
// the column. Bytes of other types (an interval) stay []byte.
func (f *File) Map(row parquet.Row) (map[string]any, error) {
	for _, v := range row {
		i := v.Column()
		if i < 0 || i >= len(f.leaves) {
			return nil, fmt.Errorf("a value of column %d, but there are %d", i, len(f.leaves))
		}
		l := &f.leaves[i]
		if l.kind != textKind && l.kind != bytesKind || v.IsNull() || utf8.Valid(v.ByteArray()) {
			continue
		}
		if l.kind == bytesKind {
			return nil, fmt.Errorf("column %s: %w in a column of bytes: write it as text, or leave it out", l.name, fetch.ErrUTF8)
		}
		return nil, fmt.Errorf("column %s: %w", l.name, fetch.ErrUTF8)
	}
	return f.Values(row)
}

// Values is Map for who decodes text: what is not UTF-8 is []byte.
func (f *File) Values(row parquet.Row) (m map[string]any, err error) {
	err = Guard(func() error {
		var v any
		if err := f.Schema().Reconstruct(&v, row); err != nil {
			return err
		}
		group, ok := v.(map[string]any)
		if !ok {
			return fmt.Errorf("a row is %T, not a group of columns", v)
		}
		m = group
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = Guard(func() error { plain(m); return nil })
	for i := range f.leaves {
		if l := &f.leaves[i]; l.kind == uuidKind && l.top != "" {
			m[l.top] = uuid(m[l.top])
		}
	}
	return m, err
}

// uuid writes the sixteen bytes of an id as people do.
func uuid(v any) any {
	var b []byte
	switch v := v.(type) {
	case string:
		b = []byte(v)
	case []byte:
		b = v
	}
	if len(b) != 16 {
		return v
	}
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// plain replaces what the library makes of values, in place where it can.
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
		if utf8.Valid(v) {
			return string(v)
		}
	case string: // the library's for bytes too
		if !utf8.ValidString(v) {
			return []byte(v)
		}
	case big.Float: // a decimal
		n, _ := v.Float64()
		return n
	default: // the values of a map are of types that the library makes up
		switch r := reflect.ValueOf(v); r.Kind() {
		case reflect.Pointer: // where they may be null
			if r.IsNil() {
				return nil
			}
			return plain(r.Elem().Interface())
		case reflect.Struct:
			if r.Type().Name() != "" { // a time
				return v
			}
			m := make(map[string]any, r.NumField())
			for i := range r.NumField() {
				f := r.Type().Field(i)
				name, _, _ := strings.Cut(f.Tag.Get("parquet"), ",")
				m[cmp.Or(name, f.Name)] = plain(r.Field(i).Interface())
			}
			return m
		case reflect.Slice:
			list := make([]any, r.Len())
			for i := range list {
				list[i] = plain(r.Index(i).Interface())
			}
			return list
		case reflect.Map:
			m := make(map[string]any, r.Len())
			for k, e := range r.Seq2() {
				m[fmt.Sprint(k)] = plain(e.Interface())
			}
			return m
		}
	}
	return v
}
