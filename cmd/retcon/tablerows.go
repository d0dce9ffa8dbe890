// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/internal/parquetfile"
	"github.com/retcon-bench/retcon/schemas"
)

// tableRow is a row of a table whose columns are somebody else's.
type tableRow struct {
	where string   // file and row, for errors
	names []string // columns: in file order where a file has one, else sorted
	cells []string // of a CSV row, by names
	json  []byte   // of a JSON row
	value any      // what a JSON or Parquet row is: a map, for all who asked tableRows
}

// get is a cell as text, a list or an object as JSON. In CSV an empty cell is
// nothing; what a table of numbers has for nothing, NaN, is nothing here too.
func (r tableRow) get(name string) (string, bool) {
	if r.cells != nil {
		if i := slices.Index(r.names, name); i >= 0 && i < len(r.cells) {
			return r.cells[i], r.cells[i] != ""
		}
		return "", false
	}
	m, _ := r.value.(map[string]any)
	switch v := m[name].(type) {
	case nil, []byte: // bytes that are no text
		return "", false
	case string:
		return v, true
	case float64:
		return fmt.Sprint(v), !math.IsNaN(v)
	case []any, map[string]any:
		js, err := json.Marshal(v)
		return string(js), err == nil
	default:
		return fmt.Sprint(v), true
	}
}

// text is a cell of words: a list, an object or a number there is somebody's
// mistake, which its letters would hide.
func (r tableRow) text(name string) (string, bool, error) {
	m, _ := r.value.(map[string]any)
	switch v := m[name].(type) {
	case nil, string:
	case []byte:
		return "", false, inputError(r.where, fmt.Errorf("%s: %w", name, fetch.ErrUTF8))
	case float64:
		if !math.IsNaN(v) {
			return "", false, inputError(r.where, fmt.Errorf("%s is a number, not a text", name))
		}
	case json.Number, int32, int64, float32, bool:
		return "", false, inputError(r.where, fmt.Errorf("%s is %v, not a text", name, v))
	default:
		return "", false, inputError(r.where, fmt.Errorf("%s is a list or an object, not a text", name))
	}
	v, ok := r.get(name)
	return v, ok, nil
}

// strings calls f with every string of the row, however deep it stands, and the
// path of fields to it.
func (r tableRow) strings(f func(field, s string) bool) bool {
	if r.cells == nil {
		return eachString("", r.value, f)
	}
	m := map[string]any{}
	for i, s := range r.cells {
		name := r.names[i]
		if _, taken := m[name]; taken { // of columns without a name
			name = fmt.Sprint("column ", i+1)
		}
		m[name] = s
	}
	return eachString("", m, f)
}

// eachString calls f with every string in v and the path of fields to it.
func eachString(field string, v any, f func(field, s string) bool) bool {
	below := func(name string) string {
		if field == "" {
			return name
		}
		return field + "." + name
	}
	switch v := v.(type) {
	case string:
		return f(field, v)
	case []any:
		for i, x := range v {
			if !eachString(below(fmt.Sprint(i)), x, f) {
				return false
			}
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if !eachString(below(k), v[k], f) {
				return false
			}
		}
	}
	return true
}

// tableKind is the ending of a table's name, .csv for a.csv.gz; "" if the name
// is not one of a table.
func tableKind(name string) string {
	name = strings.ToLower(name)
	for _, packed := range []string{".gz", ".zst", ".bz2"} {
		name = strings.TrimSuffix(name, packed)
	}
	switch ext := filepath.Ext(name); ext {
	case ".csv", ".tsv", ".parquet", ".jsonl", ".json", ".ndjson":
		return ext
	}
	return ""
}

// tableRows reads a CSV, Parquet, JSON Lines or JSON file of rows, as its name
// says, one row at a time. The fields of CSV may be parted by semicolons or tabs
// ([fetch.Separator]).
func tableRows(path string) iter.Seq2[tableRow, error] {
	kind := tableKind(path)
	if kind == "" {
		return func(yield func(tableRow, error) bool) {
			yield(tableRow{}, usagef("%s: want a file named .csv, .tsv, .jsonl, .json (packed or not) or .parquet", path))
		}
	}
	return objects(rowsOf(fetch.OneFile(path), kind))
}

// objects refuses a row of JSON that is anything but an object.
func objects(rows iter.Seq2[tableRow, error]) iter.Seq2[tableRow, error] {
	return func(yield func(tableRow, error) bool) {
		for row, err := range rows {
			if _, ok := row.value.(map[string]any); err == nil && row.cells == nil && !ok {
				err = inputError(row.where, fmt.Errorf("want a JSON object a row: this is %s", kindOf(row.value)))
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// rowsOf reads a table wherever it is stored. A JSON row may be any value.
func rowsOf(f fetch.File, kind string) iter.Seq2[tableRow, error] {
	name := cmp.Or(f.Path, f.Name)
	switch kind {
	case ".csv", ".tsv":
		return csvRows(f, name, kind)
	case ".parquet":
		return parquetRows(f, name)
	}
	return jsonRows(f, name)
}

func csvRows(file fetch.File, name, kind string) iter.Seq2[tableRow, error] {
	return func(yield func(tableRow, error) bool) {
		var rows iter.Seq2[fetch.Row, error]
		if kind == ".csv" {
			f, err := file.Open()
			if err != nil {
				yield(tableRow{}, err)
				return
			}
			defer f.Close()
			head := bufio.NewReaderSize(f, 1<<16)
			first, _ := head.Peek(1 << 16) // an error comes again
			if comma := fetch.Separator(first); comma != '\t' {
				rows = fetch.CSV(head, fetch.RowOptions{Name: name, Comma: comma})
			}
		}
		if rows == nil {
			rows = fetch.TSV(file.Open, fetch.RowOptions{Name: name})
		}
		var header []string
		for row, err := range rows {
			if err != nil {
				yield(tableRow{}, inputError(name, err))
				return
			}
			where := fmt.Sprintf("%s:%d", name, row.Line)
			if header == nil {
				header = row.Fields
				for i, h := range header {
					header[i] = strings.TrimSpace(h)
				}
				if err := schemas.ColumnsOnce(header); err != nil {
					yield(tableRow{}, inputError(where, err))
					return
				}
				continue
			}
			if !yield(tableRow{where: where, names: header, cells: row.Fields}, nil) {
				return
			}
		}
		if header == nil {
			yield(tableRow{}, inputError(name, errors.New("the file is empty: want a row of column names")))
		}
	}
}

func parquetRows(f fetch.File, name string) iter.Seq2[tableRow, error] {
	return func(yield func(tableRow, error) bool) {
		n := 0
		for m, err := range parquetfile.Rows(f) {
			if err != nil {
				yield(tableRow{}, err)
				return
			}
			n++
			if !yield(tableRow{where: fmt.Sprintf("%s: row %d", name, n), names: slices.Sorted(maps.Keys(m)), value: m}, nil) {
				return
			}
		}
	}
}

func jsonRows(file fetch.File, name string) iter.Seq2[tableRow, error] {
	return func(yield func(tableRow, error) bool) {
		f, err := file.Open()
		if err != nil {
			yield(tableRow{}, err)
			return
		}
		defer f.Close()
		for row, err := range fetch.JSONRows(f, fetch.RowOptions{Name: name}) {
			if err != nil {
				yield(tableRow{}, inputError(name, err))
				return
			}
			r := tableRow{where: fmt.Sprintf("%s:%d", name, row.Line), json: row.Data}
			dec := json.NewDecoder(bytes.NewReader(row.Data))
			dec.UseNumber()
			if err := dec.Decode(&r.value); err != nil {
				yield(r, inputError(r.where, fmt.Errorf("this row is not JSON: %w", err)))
				return
			}
			if dec.More() {
				yield(r, inputError(r.where, errors.New("this row is not JSON: more stands behind its end")))
				return
			}
			if err := schemas.KeysOnce(row.Data); err != nil {
				yield(r, inputError(r.where, err))
				return
			}
			if m, ok := r.value.(map[string]any); ok {
				r.names = slices.Sorted(maps.Keys(m))
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

// kindOf is what JSON calls a value.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case []any:
		return "a list"
	case string:
		return "a string"
	case bool:
		return "true or false"
	}
	return "a number"
}

var errFolder = errors.New("a file is wanted here, this is a folder")

// openInput opens a file that somebody named.
func openInput(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, &fetch.Error{Op: "open", Name: path, Kind: fetch.Input, Err: err}
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		f.Close()
		return nil, inputError(path, errFolder)
	}
	return f, nil
}

func inputError(where string, err error) error {
	return &fetch.Error{Op: "read", Name: where, Kind: fetch.Input, Err: err}
}
