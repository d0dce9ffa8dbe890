// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"context"
	"iter"
	"math/bits"
	"slices"

	"github.com/retcon-bench/retcon/schemas"
)

// Index gathers signatures for one choice. [Choose] is the short way to it;
// with Settings.Memory set, adding signatures to an Index one by one keeps
// their keys out of memory: beyond the budget they go to sorted files.
//
// What stays in memory for each story is its id and 40 bytes.
type Index struct {
	signatures
	set     Settings
	err     error   // of the settings
	budget  int64   // of keys in memory, in bytes; 0 = no limit
	rows    int     // of a block of keys
	columns [][]run // keys on disk: one list a band, and one of the marks
	spill   spill
	sorter  sorter
}

// NewIndex returns an empty index. It must be closed if it is not used up by
// Choose.
func NewIndex(set Settings) *Index {
	x := &Index{err: set.Check(), set: set.withDefaults(), rows: keyRows}
	x.spill = spill{dir: set.TempDir}
	if set.Memory > 0 {
		x.budget = max(set.Memory/4, 1)
		x.spill.budget = x.budget
		x.rows = int(min(keyRows, max(1, x.budget/4/rowSize(x.set))))
	}
	return x
}

// rowSize is the memory that a row of a block of keys takes beside its marks,
// in bytes.
func rowSize(set Settings) int64 { return 4 * int64(set.keys()+2) }

// Add adds a signature made by [Sign] with the same settings. It keeps no part
// of it.
func (x *Index) Add(sig Signature) error {
	if x.err != nil {
		return x.err
	}
	if x.budget > 0 && len(x.keys) > 0 {
		more := 4 * int64(len(sig.Keys)-x.set.keys()) // its marks
		if x.full() {
			more += rowSize(x.set) * int64(x.rows)
		}
		if x.held+more > x.budget {
			if err := x.flush(); err != nil {
				return err
			}
		}
	}
	return x.add(sig, x.set.keys(), x.rows)
}

// maxStories fits two places and a kind into one word, see pair.
const maxStories = 1<<31 - 1

// Close gives temporary files back.
func (x *Index) Close() { x.spill.close() }

// flush writes the keys in memory to sorted runs, one a column.
func (x *Index) flush() error {
	if x.columns == nil {
		x.columns = make([][]run, x.set.Bands+1)
	}
	var entries []uint64
	for col := range x.columns {
		var whole run
		for part, err := range x.parts(context.Background(), col, false) {
			if err != nil {
				return err
			}
			for piece := range slices.Chunk(part, 1<<10) {
				entries = entries[:0]
				for _, v := range piece {
					entries = append(entries, v, 1)
				}
				r, err := x.spill.write(entries)
				if err != nil {
					return err
				}
				if whole.n == 0 {
					whole = r
				} else {
					whole.n += r.n // right behind
				}
			}
		}
		if whole.n > 0 {
			x.columns[col] = append(x.columns[col], whole)
		}
	}
	x.keys, x.held = nil, 0
	return nil
}

// groups yields, in order, the keys that several signatures have: of a band
// (col < Bands) or the excerpt marks (col == Bands). A group holds a value for
// each signature, key in the upper half and signature in the lower, in order.
// It is good until the next.
func (x *Index) groups(ctx context.Context, col int) iter.Seq2[[]uint64, error] {
	if x.columns == nil {
		return x.groupsInMemory(ctx, col)
	}
	return func(yield func([]uint64, error) bool) {
		if len(x.keys) > 0 {
			if err := x.flush(); err != nil {
				yield(nil, err)
				return
			}
		}
		var group []uint64
		for e, err := range merge(x.columns[col]) {
			if err != nil {
				yield(nil, err)
				return
			}
			if len(group) > 0 && group[0]>>32 != e.value>>32 {
				if len(group) > 1 && !yield(group, nil) {
					return
				}
				group = group[:0]
			}
			group = append(group, e.value)
		}
		if len(group) > 1 {
			yield(group, nil)
		}
	}
}

func (x *Index) groupsInMemory(ctx context.Context, col int) iter.Seq2[[]uint64, error] {
	return func(yield func([]uint64, error) bool) {
		for part, err := range x.parts(ctx, col, true) {
			if err != nil {
				yield(nil, err)
				return
			}
			for i := 0; i < len(part); {
				j := i + 1
				for j < len(part) && part[j]>>32 == part[i]>>32 {
					j++
				}
				if j-i > 1 && !yield(part[i:j], nil) {
					return
				}
				i = j
			}
		}
	}
}

// parts yields the values of a column of the keys in memory in order, one range
// of marks after the other, so that no more than about one value a story is
// copied. With shared set it leaves out what is easily seen to be the key of one
// signature alone, as most are: sorting is what takes the time.
func (x *Index) parts(ctx context.Context, col int, shared bool) iter.Seq2[[]uint64, error] {
	return func(yield func([]uint64, error) bool) {
		total, parts := 0, 1
		for i := range x.keys {
			if col < x.set.Bands {
				total += len(x.keys[i].sigs)
			} else {
				total += len(x.keys[i].marks)
			}
		}
		if col == x.set.Bands {
			most := max(1<<18, x.n)
			if x.budget > 0 {
				most = int(max(1<<10, x.budget/16)) // with spare they take as much as the keys
			}
			parts = 1 + total/most
		}
		s := &x.sorter
		for p := range uint64(parts) {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			low, high := uint32(p<<32/uint64(parts)), uint32((p+1)<<32/uint64(parts)-1)
			values := func(b *keyBlock) []uint64 {
				if col < x.set.Bands {
					s.block = b.column(s.block[:0], col)
				} else {
					s.block = b.marksBetween(s.block[:0], low, high)
				}
				return s.block
			}
			if shared {
				s.forget(total / parts)
				for i := range x.keys {
					s.meet(values(&x.keys[i]))
				}
			}
			s.buf = s.buf[:0]
			for i := range x.keys {
				if v := values(&x.keys[i]); shared {
					s.take(v)
				} else {
					s.buf = append(s.buf, v...)
				}
			}
			if cap(s.spare) < len(s.buf) {
				s.spare = make([]uint64, cap(s.buf))
			}
			radixSort(s.buf, s.spare[:len(s.buf)])
			if !yield(s.buf, nil) {
				return
			}
		}
	}
}

// sorter holds the buffers of parts.
type sorter struct {
	block      []uint64 // values of a block of keys
	buf, spare []uint64
	// met holds two bits for all keys of the same lower bits: one of them was
	// met, one was met again. It is small enough to stay near the processor.
	met  []uint64
	mask uint32
}

// forget makes room for n keys in met: with 8 to 16 places a key, one in 12
// seems to be shared and is not.
func (s *sorter) forget(n int) {
	size := min(bits.Len(uint(8*n)), 31)
	s.mask = 1<<size - 1
	n = 1 << max(size-5, 0)
	if cap(s.met) < n {
		s.met = make([]uint64, n)
		return
	}
	s.met = s.met[:n]
	clear(s.met)
}

func (s *sorter) meet(values []uint64) {
	for _, v := range values {
		k := uint32(v>>32) & s.mask
		word, at := &s.met[k>>5], k&31*2
		*word |= (*word>>at&1<<1 | 1) << at
	}
}

// take appends the values to buf whose keys seem to be shared.
func (s *sorter) take(values []uint64) {
	for _, v := range values {
		if k := uint32(v>>32) & s.mask; s.met[k>>5]>>(k&31*2)&2 != 0 {
			s.buf = append(s.buf, v)
		}
	}
}

// dropBands gives the memory back that the excerpt marks do not need, once the
// bands have been gone through.
func (x *Index) dropBands() {
	for i := range x.keys {
		x.keys[i].keys = nil
	}
	x.sorter = sorter{}
}

// Choose decides which stories stay, see the function [Choose]. It uses the
// index up.
func (x *Index) Choose(ctx context.Context, fetch Fetch) (*Decisions, error) {
	defer x.Close()
	if x.err != nil {
		return nil, x.err
	}
	c, err := newChooser(ctx, x, fetch)
	if err != nil {
		return nil, err
	}
	return c.choose()
}

// Fetch reads a story back by its id. It is called from Settings.Workers
// goroutines at a time.
type Fetch = func(id string) (schemas.Story, error)
