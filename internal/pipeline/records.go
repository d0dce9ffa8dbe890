// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/schemas"
)

// Records reads the records of a step's folder in order, one at a time.
func Records[T any](dir string) iter.Seq2[T, error] {
	return ReadLines[T](filepath.Join(dir, RecordsFile))
}

// ReadLines reads a file of JSON lines. A line that does not parse is an error
// that names file and line and ends the sequence.
func ReadLines[T any](path string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		f, err := os.Open(path)
		if err != nil {
			yield(zero, &fetch.Error{Op: "open", Name: path, Kind: fetch.Input, Err: err})
			return
		}
		defer f.Close()
		r := bufio.NewReaderSize(f, 1<<18)
		for n := 1; ; n++ {
			line, err := r.ReadBytes('\n')
			if len(bytes.TrimSpace(line)) > 0 {
				var v T
				if perr := schemas.ParseLine(line, &v); perr != nil {
					yield(zero, &fetch.Error{Op: "read", Name: fmt.Sprintf("%s:%d", path, n), Kind: fetch.Input, Err: perr})
					return
				}
				if !yield(v, nil) {
					return
				}
			}
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(zero, diskError("read", path, err))
				return
			}
		}
	}
}

// Index finds records of a step by id without holding them.
type Index[T any] struct {
	file *os.File
	at   map[string][2]int64 // offset, length
}

// OpenIndex opens the records of a step's folder for [Index.Get].
func OpenIndex[T any](dir string) (*Index[T], error) {
	b, err := os.ReadFile(filepath.Join(dir, IndexFile))
	if err != nil {
		return nil, diskError("read", filepath.Join(dir, IndexFile), err)
	}
	x := &Index[T]{at: map[string][2]int64{}}
	for n, line := range strings.Split(strings.TrimSuffix(string(b), "\n"), "\n") {
		if line == "" {
			continue
		}
		id, rest, _ := strings.Cut(line, "\t")
		off, length, _ := strings.Cut(rest, "\t")
		o, err1 := strconv.ParseInt(off, 10, 64)
		l, err2 := strconv.ParseInt(length, 10, 64)
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", filepath.Join(dir, IndexFile), n+1, err)
		}
		x.at[id] = [2]int64{o, l}
	}
	if x.file, err = os.Open(filepath.Join(dir, RecordsFile)); err != nil {
		return nil, diskError("open", filepath.Join(dir, RecordsFile), err)
	}
	return x, nil
}

// Has tells whether there is a record of id.
func (x *Index[T]) Has(id string) bool {
	_, ok := x.at[id]
	return ok
}

// IDs yields the ids of all records, in no order.
func (x *Index[T]) IDs() iter.Seq[string] { return maps.Keys(x.at) }

// Get reads the record of id. It is safe for concurrent use.
func (x *Index[T]) Get(id string) (T, error) {
	var v T
	at, ok := x.at[id]
	if !ok {
		return v, fmt.Errorf("%s: no record %s", x.file.Name(), id)
	}
	b := make([]byte, at[1])
	if _, err := x.file.ReadAt(b, at[0]); err != nil {
		return v, diskError("read", x.file.Name(), err)
	}
	if err := schemas.ParseLine(b, &v); err != nil {
		return v, fmt.Errorf("%s: record %s: %w", x.file.Name(), id, err)
	}
	return v, nil
}

// Close closes the file behind the index.
func (x *Index[T]) Close() error { return x.file.Close() }
