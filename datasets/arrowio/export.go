// SPDX-License-Identifier: Apache-2.0

package arrowio

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/retcon-bench/retcon/datasets"
	"github.com/retcon-bench/retcon/schemas"
)

// rowsPerBatch is how many rows a record batch holds, as in the Parquet files.
const rowsPerBatch = 1000

// Export writes every split of a release as DIR/CONFIG/SPLIT.arrow, in the IPC
// file format, and returns the files' paths with their rows. DIR must not
// exist or be empty; it appears whole or not at all.
func Export(ctx context.Context, r *datasets.Release, dir string) ([]schemas.FileHash, error) {
	var files []schemas.FileHash
	err := datasets.Publish(dir, func(tmp string) error {
		for _, c := range r.Manifest.Configs {
			if err := os.MkdirAll(filepath.Join(tmp, c.Name), 0o755); err != nil {
				return err
			}
			for _, s := range c.Splits {
				name := c.Name + "/" + s.Name + ".arrow"
				n, err := exportSplit(ctx, r, c, s.Name, filepath.Join(tmp, filepath.FromSlash(name)))
				if err != nil {
					return fmt.Errorf("config %s, split %s: %w", c.Name, s.Name, err)
				}
				files = append(files, schemas.FileHash{Path: name, Rows: n})
			}
		}
		return nil
	})
	return files, err
}

func exportSplit(ctx context.Context, r *datasets.Release, c schemas.ConfigInfo, split, path string) (rows int, err error) {
	typ, err := datasets.RecordType(c.Schema)
	if err != nil {
		return 0, err
	}
	fields, err := fieldsOf(typ)
	if err != nil {
		return 0, err
	}
	features, err := datasets.Features(c.Schema)
	if err != nil {
		return 0, err
	}
	meta := arrow.NewMetadata(
		[]string{"huggingface", "retcon.canary", "retcon.dataset", "retcon.version"},
		[]string{features, r.Manifest.Canary, r.Manifest.Name, r.Manifest.Version})
	schema := arrow.NewSchema(fields, &meta)

	f, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}()
	w, err := ipc.NewFileWriter(f, ipc.WithSchema(schema))
	if err != nil {
		return 0, err
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	flush := func() error {
		rec := b.NewRecordBatch()
		defer rec.Release()
		return w.Write(rec)
	}
	for v, err := range r.Records(c.Name, split) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return rows, err
		}
		for i, f := range flat(reflect.ValueOf(v)) {
			if err := appendValue(b.Field(i), f); err != nil {
				return rows, fmt.Errorf("row %d, %s: %w", rows, schema.Field(i).Name, err)
			}
		}
		if rows++; rows%rowsPerBatch == 0 {
			if err := flush(); err != nil {
				return rows, err
			}
		}
	}
	if rows%rowsPerBatch != 0 {
		if err := flush(); err != nil {
			return rows, err
		}
	}
	if err := w.Close(); err != nil {
		return rows, err
	}
	return rows, f.Sync()
}

// fieldsOf makes Arrow fields of a record's JSON tags; embedded structs lie
// flat in their parent, everything may be null.
func fieldsOf(t reflect.Type) ([]arrow.Field, error) {
	var out []arrow.Field
	for i := range t.NumField() {
		sf := t.Field(i)
		if sf.Anonymous {
			inner, err := fieldsOf(sf.Type)
			if err != nil {
				return nil, err
			}
			out = append(out, inner...)
			continue
		}
		name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
		typ, err := typeOf(sf.Type)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out = append(out, arrow.Field{Name: name, Type: typ, Nullable: true})
	}
	return out, nil
}

func typeOf(t reflect.Type) (arrow.DataType, error) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.String:
		return arrow.BinaryTypes.String, nil
	case reflect.Int, reflect.Int64:
		return arrow.PrimitiveTypes.Int64, nil
	case reflect.Float64:
		return arrow.PrimitiveTypes.Float64, nil
	case reflect.Bool:
		return arrow.FixedWidthTypes.Boolean, nil
	case reflect.Struct:
		fields, err := fieldsOf(t)
		return arrow.StructOf(fields...), err
	case reflect.Slice:
		elem, err := typeOf(t.Elem())
		if err != nil {
			return nil, err
		}
		return arrow.ListOfField(arrow.Field{Name: "element", Type: elem, Nullable: true}), nil
	}
	return nil, fmt.Errorf("no Arrow type for %s", t)
}

// flat lists a struct's values as fieldsOf lists its fields.
func flat(v reflect.Value) []reflect.Value {
	var out []reflect.Value
	for i := range v.NumField() {
		if v.Type().Field(i).Anonymous {
			out = append(out, flat(v.Field(i))...)
		} else {
			out = append(out, v.Field(i))
		}
	}
	return out
}

func appendValue(b array.Builder, v reflect.Value) error {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			b.AppendNull()
			return nil
		}
		v = v.Elem()
	}
	switch b := b.(type) {
	case *array.StringBuilder:
		b.Append(v.String())
	case *array.Int64Builder:
		b.Append(v.Int())
	case *array.Float64Builder:
		b.Append(v.Float())
	case *array.BooleanBuilder:
		b.Append(v.Bool())
	case *array.StructBuilder:
		b.Append(true)
		for i, f := range flat(v) {
			if err := appendValue(b.FieldBuilder(i), f); err != nil {
				return err
			}
		}
	case *array.ListBuilder:
		if v.IsNil() {
			b.AppendNull()
			return nil
		}
		b.Append(true)
		for i := range v.Len() {
			if err := appendValue(b.ValueBuilder(), v.Index(i)); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("no value for %T", b)
	}
	return nil
}
