// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/retcon-bench/retcon/datasets"
	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/schemas"
)

// tableRow is a row of a table whose columns are somebody else's.
type tableRow struct {
	where string   // file and row, for errors
	names []string // columns: in file order where a file has one, else sorted
	json  []byte   // the object of a JSON row
	get   func(name string) (string, bool)
	typed map[string]any // the values as they were read; nil in CSV, where all are text
}

// text is a cell of words: a list, an object or a number there is somebody's
// mistake, which its letters would hide.
func (r tableRow) text(name string) (string, bool, error) {
	switch v := r.typed[name].(type) {
	case nil, string, []byte:
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

// tableRows reads a CSV, Parquet, JSON Lines or JSON file of rows, as its name
// says, one row at a time. In CSV an empty cell is null.
func tableRows(path string) iter.Seq2[tableRow, error] {
	name := strings.ToLower(path)
	for _, packed := range []string{".gz", ".zst", ".bz2"} {
		name = strings.TrimSuffix(name, packed)
	}
	switch ext := filepath.Ext(name); ext {
	case ".csv", ".tsv":
		return csvRows(path, ext == ".tsv")
	case ".parquet":
		return parquetRows(path)
	case ".jsonl", ".json", ".ndjson":
		return jsonRows(path)
	}
	return func(yield func(tableRow, error) bool) {
		yield(tableRow{}, usagef("%s: want a file named .csv, .tsv, .jsonl, .json (packed or not) or .parquet", path))
	}
}

func csvRows(path string, tabs bool) iter.Seq2[tableRow, error] {
	return func(yield func(tableRow, error) bool) {
		f, err := openPacked(path)
		if err != nil {
			yield(tableRow{}, err)
			return
		}
		defer f.Close()
		opt := fetch.RowOptions{Name: path}
		if tabs {
			opt.Comma = '\t'
		}
		var header []string
		for row, err := range fetch.CSV(f, opt) {
			if err != nil {
				yield(tableRow{}, inputError(path, err))
				return
			}
			if header == nil {
				header = row.Fields
				for i, h := range header {
					header[i] = strings.TrimSpace(h)
					if header[i] != "" && slices.Contains(header[:i], header[i]) {
						yield(tableRow{}, inputError(fmt.Sprintf("%s:%d", path, row.Line), fmt.Errorf("column %q stands twice in the header; rename one", header[i])))
						return
					}
				}
				continue
			}
			fields := row.Fields
			get := func(name string) (string, bool) {
				for i, h := range header {
					if h == name && i < len(fields) {
						return fields[i], fields[i] != ""
					}
				}
				return "", false
			}
			if !yield(tableRow{where: fmt.Sprintf("%s:%d", path, row.Line), names: header, get: get}, nil) {
				return
			}
		}
		if header == nil {
			yield(tableRow{}, inputError(path, errors.New("the file is empty: want a row of column names")))
		}
	}
}

func parquetRows(path string) iter.Seq2[tableRow, error] {
	return func(yield func(tableRow, error) bool) {
		n := 0
		for m, err := range datasets.AnyRows(path) {
			if err != nil {
				yield(tableRow{}, err)
				return
			}
			n++
			if !yield(tableRow{where: fmt.Sprintf("%s: row %d", path, n), names: slices.Sorted(maps.Keys(m)), get: cellsOf(m), typed: m}, nil) {
				return
			}
		}
	}
}

func jsonRows(path string) iter.Seq2[tableRow, error] {
	return func(yield func(tableRow, error) bool) {
		f, err := openPacked(path)
		if err != nil {
			yield(tableRow{}, err)
			return
		}
		defer f.Close()
		for row, err := range fetch.JSONRows(f, fetch.RowOptions{Name: path}) {
			if err != nil {
				yield(tableRow{}, inputError(path, err))
				return
			}
			where := fmt.Sprintf("%s:%d", path, row.Line)
			dec := json.NewDecoder(bytes.NewReader(row.Data))
			dec.UseNumber()
			var m map[string]any
			if err := dec.Decode(&m); err != nil || m == nil {
				yield(tableRow{}, inputError(where, fmt.Errorf("want a JSON object a row: %w", noObject(err))))
				return
			}
			if !yield(tableRow{where: where, names: slices.Sorted(maps.Keys(m)), json: row.Data, get: cellsOf(m), typed: m}, nil) {
				return
			}
		}
	}
}

// noObject is the reader's error, or what it does not call one: null.
func noObject(err error) error {
	var typ *json.UnmarshalTypeError
	switch {
	case err == nil:
		return errors.New("this is null")
	case errors.As(err, &typ):
		return fmt.Errorf("this is a %s", typ.Value)
	}
	return err
}

// cellsOf reads the cells of a row of typed values as text. What a table of
// numbers has for nothing, NaN, is nothing here too.
func cellsOf(m map[string]any) func(string) (string, bool) {
	return func(name string) (string, bool) {
		switch v := m[name].(type) {
		case nil:
			return "", false
		case string:
			return v, true
		case float64:
			return fmt.Sprint(v), !math.IsNaN(v)
		default:
			return fmt.Sprint(v), true
		}
	}
}

func openInput(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, &fetch.Error{Op: "open", Name: path, Kind: fetch.Input, Err: err}
	}
	return f, nil
}

// openPacked opens a file of rows, unpacked.
func openPacked(path string) (io.ReadCloser, error) {
	f, err := openInput(path)
	if err != nil {
		return nil, err
	}
	r, err := fetch.Decompress(f, path, fetch.Limits{})
	if err != nil {
		f.Close()
		return nil, err
	}
	return unpacked{r, f}, nil
}

// unpacked closes the file under an unpacking reader too.
type unpacked struct {
	io.ReadCloser
	file *os.File
}

func (u unpacked) Close() error { return errors.Join(u.ReadCloser.Close(), u.file.Close()) }

func inputError(where string, err error) error {
	return &fetch.Error{Op: "read", Name: where, Kind: fetch.Input, Err: err}
}

// hashOf describes a file of a folder.
func hashOf(dir, name string) (schemas.FileHash, error) {
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return schemas.FileHash{}, &fetch.Error{Op: "open", Name: filepath.Join(dir, name), Kind: fetch.Input, Err: err}
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err != nil {
		return schemas.FileHash{}, &fetch.Error{Op: "read", Name: filepath.Join(dir, name), Kind: fetch.Disk, Err: err}
	}
	return schemas.FileHash{Path: name, Bytes: n, SHA256: hex.EncodeToString(h.Sum(nil))}, nil
}
