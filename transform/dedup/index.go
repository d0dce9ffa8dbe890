// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/retcon-bench/retcon/schemas"
)

// Index gathers signatures for one choice. [Choose] is the short way to it;
// with Settings.Memory set, adding signatures to an Index one by one keeps
// their keys out of memory: beyond the budget they go to sorted files.
//
// What stays in memory for each story is its id and 72 bytes.
type Index struct {
	set     Settings
	err     error // of the settings
	sigs    []Signature
	marks   []int32 // excerpt marks of each signature
	held    int64   // bytes of keys in memory
	flushed int     // signatures whose keys are on disk
	columns [][]run // of those: one list a band, and one of the marks
	spill   spill
}

// NewIndex returns an empty index. It must be closed if it is not used up by
// Choose.
func NewIndex(set Settings) *Index {
	x := &Index{err: set.check(), set: set.withDefaults()}
	x.spill = spill{dir: set.TempDir}
	if set.Memory > 0 {
		x.spill.budget = max(set.Memory/4, 1)
	}
	return x
}

// Add adds a signature made by [Sign] with the same settings.
func (x *Index) Add(sig Signature) error {
	if x.err != nil {
		return x.err
	}
	marks := len(sig.Keys) - x.keys()
	switch {
	case sig.ID == "":
		return fmt.Errorf("dedup: signature %d has no story id", len(x.sigs)+1)
	case len(x.sigs) == maxStories:
		return fmt.Errorf("dedup: more than %d stories", maxStories)
	case len(sig.Keys) > 0 && marks < 0:
		return fmt.Errorf("dedup: %s was signed with other settings: %d keys where %d bands are set", sig.ID, len(sig.Keys), x.keys())
	}
	x.sigs = append(x.sigs, sig)
	x.marks = append(x.marks, int32(max(marks, 0)))
	x.held += int64(4 * len(sig.Keys))
	if x.set.Memory > 0 && x.held > x.set.Memory/4 {
		return x.flush()
	}
	return nil
}

// maxStories fits two places and a kind into one word, see pair.
const maxStories = 1<<31 - 1

// keys is the number of keys before the excerpt marks.
func (x *Index) keys() int {
	if x.set.Index == IndexMinhashLSH {
		return lshValues(x.set)
	}
	return x.set.Bands
}

// Close gives temporary files back.
func (x *Index) Close() { x.spill.close() }

// flush writes the keys in memory to sorted runs, one a column.
func (x *Index) flush() error {
	if x.columns == nil {
		x.columns = make([][]run, x.set.Bands+1)
	}
	var entries, buf, spare []uint64
	for col := range x.columns {
		buf = x.fill(buf[:0], col, 0, ^uint32(0), x.flushed)
		if len(buf) == 0 {
			continue
		}
		spare = slices.Grow(spare[:0], len(buf))
		radixSort(buf, spare[:len(buf)])
		entries = entries[:0]
		for _, v := range buf {
			entries = append(entries, v, 1)
		}
		r, err := x.spill.write(entries)
		if err != nil {
			return err
		}
		x.columns[col] = append(x.columns[col], r)
	}
	for i := range x.sigs[x.flushed:] {
		x.sigs[x.flushed+i].Keys = nil
	}
	x.flushed = len(x.sigs)
	x.held = 0
	return nil
}

// fill appends the keys of a column between low and high, in the order in
// which the signatures came: key in the upper half, signature in the lower.
func (x *Index) fill(dst []uint64, col int, low, high uint32, from int) []uint64 {
	for i, sig := range x.sigs[from:] {
		if len(sig.Keys) == 0 {
			continue
		}
		keys := sig.Keys[x.keys():]
		if col < x.set.Bands {
			keys = sig.Keys[col : col+1]
		} else if low > 0 || high < ^uint32(0) {
			at, _ := slices.BinarySearch(keys, low)
			keys = keys[at:]
		}
		for _, k := range keys {
			if k > high {
				break
			}
			if k >= low {
				dst = append(dst, uint64(k)<<32|uint64(from+i))
			}
		}
	}
	return dst
}

// column yields the keys of a band (col < Bands) or the excerpt marks (col ==
// Bands) in order, each with the signature it belongs to.
func (x *Index) column(ctx context.Context, col int) iter.Seq2[uint64, error] {
	return func(yield func(uint64, error) bool) {
		if x.columns != nil {
			if x.flushed < len(x.sigs) {
				if err := x.flush(); err != nil {
					yield(0, err)
					return
				}
			}
			for e, err := range merge(x.columns[col]) {
				if !yield(e.value, err) {
					return
				}
			}
			return
		}
		// In memory the marks are sorted a range of values at a time, so that
		// no more than about one value a story is copied.
		total := len(x.sigs)
		if col == x.set.Bands {
			total = 0
			for _, n := range x.marks {
				total += int(n)
			}
		}
		parts := uint64(1 + total/max(1<<18, len(x.sigs)))
		var buf, spare []uint64
		for p := range parts {
			if err := ctx.Err(); err != nil {
				yield(0, err)
				return
			}
			low, high := uint32(p<<32/parts), uint32((p+1)<<32/parts-1)
			buf = x.fill(buf[:0], col, low, high, 0)
			if cap(spare) < len(buf) {
				spare = make([]uint64, cap(buf))
			}
			radixSort(buf, spare)
			for _, v := range buf {
				if !yield(v, nil) {
					return
				}
			}
		}
	}
}

// Choose decides which stories stay, see the function [Choose]. It uses the
// index up.
func (x *Index) Choose(ctx context.Context, fetch Fetch) (*Decisions, error) {
	defer x.Close()
	if x.err != nil {
		return nil, x.err
	}
	ours := len(x.sigs)
	for _, a := range x.set.Compare {
		for _, sig := range a.sigs {
			if err := x.Add(sig); err != nil {
				return nil, fmt.Errorf("%s: %w", a.Name, err)
			}
		}
	}
	c, err := newChooser(ctx, x, ours, fetch)
	if err != nil {
		return nil, err
	}
	return c.choose()
}

// Fetch reads a story back by its id. It is called from Settings.Workers
// goroutines at a time.
type Fetch = func(id string) (schemas.Story, error)
