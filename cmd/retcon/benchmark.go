// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/internal/pipeline"
	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform/dedup"
)

// contaminationTable lists every story that shares a word gram with a
// benchmark, with both places of each hit.
const contaminationTable = "contamination.jsonl"

// benchmark is what --benchmark names.
type benchmark struct {
	name  string
	path  string
	sum   string       // of its files' names and hashes
	grams *dedup.Grams // to look stories up in; nil until read
}

// openBenchmarks finds and hashes the files of the benchmarks that the recipe
// names, in order of name.
func (c *chain) openBenchmarks() ([]benchmark, error) {
	var out []benchmark
	for _, name := range againstNames(c.recipe.Dedup.Benchmarks) {
		path, ok := c.flags.Benchmark[name]
		if !ok {
			return nil, usagef("the recipe screens stories for %q: say where it lies with --benchmark %s=PATH", name, name)
		}
		h := sha256.New()
		for f, err := range fetch.Walk(c.ctx, path, fetch.Limits{}) {
			var sum string
			if err == nil {
				sum, _, err = fetch.Sum(f)
			}
			if err != nil {
				return nil, fmt.Errorf("benchmark %s: %w", name, err)
			}
			fmt.Fprintf(h, "%s %s\n", f.Name, sum)
		}
		out = append(out, benchmark{name: name, path: path, sum: hex.EncodeToString(h.Sum(nil))})
	}
	return out, nil
}

// read makes the index of a benchmark's items.
func (b *benchmark) read(c *chain) error {
	items := func(yield func(dedup.Item, error) bool) {
		for f, err := range fetch.Walk(c.ctx, b.path, fetch.Limits{}) {
			if err != nil {
				yield(dedup.Item{}, err)
				return
			}
			for it, err := range benchmarkItems(c.ctx, f) {
				if !yield(it, err) || err != nil {
					return
				}
			}
		}
	}
	set := c.recipe.Dedup
	var err error
	b.grams, err = dedup.ReadGrams(items, dedup.GramSettings{Words: set.GramWords, ItemShare: set.ItemShare, StoryShare: set.StoryShare})
	if err != nil {
		return fmt.Errorf("benchmark %s: %w", b.name, err)
	}
	n, short := b.grams.Items()
	if n == 0 {
		return withHint(exitInput, "a benchmark is text, JSON (Lines), CSV or Parquet; every string of a row is an item",
			fmt.Errorf("benchmark %s: no text of %d words or more in %s (%d shorter ones)", b.name, dedup.LeastWords, b.path, short))
	}
	c.log.Info("benchmark read", "name", b.name, "items", n, "too short", short)
	return nil
}

// benchmarkItems cuts one file of a benchmark into items: each string of a row,
// however deep it stands, is one; a text file is one as a whole. Ids are
// FILE, FILE:ROW or FILE:ROW:FIELD, rows from 1.
func benchmarkItems(ctx context.Context, f fetch.File) iter.Seq2[dedup.Item, error] {
	return func(yield func(dedup.Item, error) bool) {
		kind := tableKind(f.Name)
		if kind == "" {
			data, _, err := fetch.ReadFile(f)
			switch {
			case err != nil:
				yield(dedup.Item{}, err)
			case bytes.IndexByte(data, 0) < 0: // else it is no text
				yield(dedup.Item{ID: f.Name, Text: text.Decode(data, "").Text}, nil)
			}
			return
		}
		n := 0
		emit := func(row tableRow) bool {
			n++
			more := true
			row.strings(func(field, s string) bool {
				id := fmt.Sprintf("%s:%d", f.Name, n)
				if field != "" {
					id += ":" + field
				}
				more = yield(dedup.Item{ID: id, Text: s}, nil)
				return more
			})
			return more
		}
		for row, err := range rowsOf(f, kind) {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				if n == 0 && strings.Contains(kind, "json") {
					whole, werr := wholeObject(f)
					if whole != nil {
						emit(tableRow{value: whole})
						return
					}
					err = cmp.Or(werr, err)
				}
				yield(dedup.Item{}, err)
				return
			}
			if !emit(row) {
				return
			}
		}
	}
}

// wholeObject reads a file that is one JSON object over several lines, as
// benchmarks with their rows in a field of it are written. It is nil for a file
// that is none.
func wholeObject(f fetch.File) (map[string]any, error) {
	data, _, err := fetch.ReadFile(f)
	if err != nil {
		return nil, err
	}
	var v map[string]any
	if json.Unmarshal(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), &v) != nil || v == nil {
		return nil, nil
	}
	if !utf8.Valid(data) {
		return nil, inputError(cmp.Or(f.Path, f.Name), fetch.ErrUTF8)
	}
	if err := schemas.KeysOnce(data); err != nil {
		return nil, inputError(cmp.Or(f.Path, f.Name), err)
	}
	return v, nil
}

// contaminated is a line of contaminationTable.
type contaminated struct {
	Benchmark string `json:"benchmark"`
	Removed   bool   `json:"removed"`
	dedup.Contamination
}

// screen looks stories up in benchmarks, and counts for the proofs.
type screen struct {
	benchmarks []benchmark
	proofs     []schemas.Overlap
	add        func(any) error
}

func newScreen(list []benchmark, out *pipeline.Output) (*screen, error) {
	s := &screen{benchmarks: list}
	for _, b := range list {
		s.proofs = append(s.proofs, schemas.Overlap{Against: b.name, SHA256: b.sum, Proof: schemas.ProofGrams, Holds: true})
	}
	var err error
	s.add, err = out.Table(contaminationTable)
	return s, err
}

// look reports why a story is set aside, if it is.
func (s *screen) look(st schemas.Story) (*schemas.Dropped, error) {
	var drop *schemas.Dropped
	for i, b := range s.benchmarks {
		found := b.grams.Scan(st)
		p := &s.proofs[i]
		p.Compared++
		if len(found.Hits) == 0 {
			continue
		}
		d := found.Dropped()
		if d != nil {
			p.Removed++
			d.Evidence = append(d.Evidence, schemas.KeyValue{Key: "benchmark", Value: b.name})
			if drop == nil {
				drop = d
			}
		} else {
			p.NearText++
		}
		if err := s.add(contaminated{b.name, d != nil, found}); err != nil {
			return nil, err
		}
	}
	return drop, nil
}
