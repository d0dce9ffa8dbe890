// SPDX-License-Identifier: Apache-2.0

// Package duckdb holds one test: DuckDB, a Parquet reader that is neither ours
// nor Arrow's, loads every file of a release and agrees on rows, nulls and
// spans. It is a module of its own because it needs cgo and a large library.
//
//	RETCON_RELEASE=out go test ./...
package duckdb

import (
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"

	"github.com/retcon-bench/retcon/schemas"
)

func TestDuckDBLoadsARelease(t *testing.T) {
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
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	loaded := 0
	for _, c := range m.Configs {
		for _, s := range c.Splits {
			rows := 0
			for _, f := range s.Files {
				path := filepath.Join(dir, filepath.FromSlash(f.Path))
				var n int
				if err := db.QueryRow("SELECT count(*) FROM read_parquet(?)", path).Scan(&n); err != nil {
					t.Errorf("%s: %v", f.Path, err)
					continue
				}
				if n != f.Rows {
					t.Errorf("%s: DuckDB counts %d rows, the manifest %d", f.Path, n, f.Rows)
				}
				rows += n
				loaded++
				if c.Schema == "example" {
					checkExamples(t, db, path, f.Path, s)
				}
			}
			if rows != s.Rows {
				t.Errorf("%s/%s: DuckDB counts %d rows, the manifest %d", c.Name, s.Name, rows, s.Rows)
			}
		}
	}
	if loaded == 0 {
		t.Fatal("the release holds no Parquet file")
	}
	t.Logf("DuckDB loaded %d files", loaded)
}

// checkExamples lets DuckDB itself cut every span out of its story. Its
// strings count code points here: substring is 1-based.
func checkExamples(t *testing.T, db *sql.DB, path, name string, s schemas.SplitInfo) {
	t.Helper()
	for _, side := range []string{"error_spans", "contradicted_spans"} {
		var spans, wrong int
		q := strings.ReplaceAll(`
			WITH s AS (SELECT story, unnest(SIDE) AS sp FROM read_parquet(?))
			SELECT count(*), count(*) FILTER (array_to_string(list_slice(string_split(story, ''), sp.start + 1, sp."end"), '') <> sp.text) FROM s`, "SIDE", side)
		if err := db.QueryRow(q, path).Scan(&spans, &wrong); err != nil {
			t.Errorf("%s: %s: %v", name, side, err)
			continue
		}
		if wrong > 0 {
			t.Errorf("%s: %d of %d %s do not quote their story", name, wrong, spans, side)
		}
		if s.Positives > 0 && spans == 0 {
			t.Errorf("%s: no %s though there are positives", name, side)
		}
	}
	var nullSpans, nullLabels, errorsWithout int
	if err := db.QueryRow(`SELECT count(*) FILTER (error_spans IS NULL), count(*) FILTER (label IS NULL OR cont_error IS NULL),
		count(*) FILTER (label = 'error' AND len(error_spans) = 0) FROM read_parquet(?)`, path).Scan(&nullSpans, &nullLabels, &errorsWithout); err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	if nullSpans+nullLabels+errorsWithout > 0 {
		t.Errorf("%s: %d null error_spans, %d null labels, %d errors without spans", name, nullSpans, nullLabels, errorsWithout)
	}
}
