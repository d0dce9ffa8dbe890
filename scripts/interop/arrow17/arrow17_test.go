// SPDX-License-Identifier: Apache-2.0

// Package arrow17 holds one test: readers that are still on arrow/go/v17, which
// is frozen since 2024, load every file of a release. It is a module of its own
// so that the old library stays out of the product's versions.
//
//	RETCON_RELEASE=out go test ./...
package arrow17

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/apache/arrow/go/v17/parquet/pqarrow"

	"github.com/retcon-bench/retcon/schemas"
)

func TestArrow17LoadsARelease(t *testing.T) {
	dir := os.Getenv("RETCON_RELEASE")
	if dir == "" {
		t.Skip("RETCON_RELEASE names no release folder")
	}
	b, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var m schemas.Manifest
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	loaded := 0
	for _, c := range m.Configs {
		for _, s := range c.Splits {
			for _, f := range s.Files {
				rows, spans := load(t, filepath.Join(dir, filepath.FromSlash(f.Path)), f.Path, c.Schema)
				if rows != f.Rows {
					t.Errorf("%s: %d rows, the manifest says %d", f.Path, rows, f.Rows)
				}
				if c.Schema == "example" && s.Positives > 0 && spans == 0 {
					t.Errorf("%s: no spans though there are positives", f.Path)
				}
				loaded++
			}
		}
	}
	if loaded == 0 {
		t.Fatal("the release holds no Parquet file")
	}
	t.Logf("arrow/go/v17 loaded %d files", loaded)
}

func load(t *testing.T, path, name, schema string) (rows, spans int) {
	t.Helper()
	pf, err := file.OpenParquetFile(path, false)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return 0, 0
	}
	defer pf.Close()
	r, err := pqarrow.NewFileReader(pf, pqarrow.ArrowReadProperties{BatchSize: 64}, memory.DefaultAllocator)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return 0, 0
	}
	recs, err := r.GetRecordReader(context.Background(), nil, nil)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return 0, 0
	}
	defer recs.Release()
	for recs.Next() {
		rec := recs.Record()
		rows += int(rec.NumRows())
		if schema == "example" {
			spans += checkSpans(t, name, rec)
		}
	}
	if err := recs.Err(); err != nil && !errors.Is(err, io.EOF) { // v17 ends so
		t.Errorf("%s: %v", name, err)
	}
	return rows, spans
}

// checkSpans cuts each span out of its story by bytes and by code points.
func checkSpans(t *testing.T, name string, rec arrow.Record) int {
	t.Helper()
	column := func(n string) arrow.Array {
		i := rec.Schema().FieldIndices(n)
		if len(i) != 1 {
			t.Fatalf("%s: column %s stands %d times", name, n, len(i))
		}
		return rec.Column(i[0])
	}
	stories := column("story").(*array.String)
	n := 0
	for _, side := range []string{"error_spans", "contradicted_spans"} {
		list := column(side).(*array.List)
		items := list.ListValues().(*array.Struct)
		typ := items.DataType().(*arrow.StructType)
		field := func(f string) arrow.Array {
			i, ok := typ.FieldIdx(f)
			if !ok {
				t.Fatalf("%s: %s has no field %s", name, side, f)
			}
			return items.Field(i)
		}
		start, end := field("start").(*array.Int64), field("end").(*array.Int64)
		from, to := field("byte_start").(*array.Int64), field("byte_end").(*array.Int64)
		text := field("text").(*array.String)
		for row := range int(rec.NumRows()) {
			if list.IsNull(row) {
				t.Errorf("%s: %s is null", name, side)
				continue
			}
			story := stories.Value(row)
			runes := []rune(story)
			lo, hi := list.ValueOffsets(row)
			for i := int(lo); i < int(hi); i++ {
				n++
				if got := story[from.Value(i):to.Value(i)]; got != text.Value(i) {
					t.Errorf("%s: %s: bytes give %q, the span says %q", name, side, got, text.Value(i))
				}
				if got := string(runes[start.Value(i):end.Value(i)]); got != text.Value(i) {
					t.Errorf("%s: %s: code points give %q, the span says %q", name, side, got, text.Value(i))
				}
			}
		}
	}
	return n
}
