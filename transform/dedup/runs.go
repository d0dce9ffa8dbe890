// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
)

// tally counts how often each value was added, in bounded memory: a buffer
// that is full is sorted and becomes a run; runs are merged when they are read.
// Within the budget runs stay in memory, beyond it they are files.
type tally struct {
	buf, spare []uint64
	runs       []run
	spill      *spill
}

// run is a sorted list of values with counts: two words an entry.
type run struct {
	mem    []uint64
	file   *os.File
	offset int64 // in file, in bytes
	n      int   // entries
}

// spill is where runs go.
type spill struct {
	dir    string // for temporary files; empty = the system's
	budget int64  // bytes of runs to hold in memory; 0 = no limit
	held   int64
	file   *os.File // all runs on disk, one behind the other
	gone   bool     // the file's name, from the file system
	size   int64
}

// tallyBuffer is the number of values a tally gathers before it sorts.
const tallyBuffer = 1 << 20

func newTally(s *spill) *tally {
	n := tallyBuffer
	if s.budget > 0 {
		n = int(min(int64(n), max(s.budget/32, 1<<10)))
	}
	return &tally{spill: s, buf: make([]uint64, 0, n)}
}

func (t *tally) add(v uint64) error {
	if len(t.buf) == cap(t.buf) {
		if err := t.flush(); err != nil {
			return err
		}
	}
	t.buf = append(t.buf, v)
	return nil
}

// flush makes a run of the buffer.
func (t *tally) flush() error {
	if len(t.buf) == 0 {
		return nil
	}
	slices.Sort(t.buf)
	out := t.spare[:0]
	for i := 0; i < len(t.buf); {
		j := i + 1
		for j < len(t.buf) && t.buf[j] == t.buf[i] {
			j++
		}
		out = append(out, t.buf[i], uint64(j-i))
		i = j
	}
	t.spare, t.buf = out, t.buf[:0]
	r, err := t.spill.keep(out)
	if err != nil {
		return err
	}
	t.runs = append(t.runs, r)
	return nil
}

// keep stores a run: in memory while the budget lasts, then on disk.
func (s *spill) keep(entries []uint64) (run, error) {
	size := int64(8 * len(entries))
	if s.budget == 0 || s.held+size <= s.budget {
		s.held += size
		return run{mem: slices.Clone(entries), n: len(entries) / 2}, nil
	}
	return s.write(entries)
}

// write puts a run on disk.
func (s *spill) write(entries []uint64) (r run, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("dedup: writing sorted keys to a temporary file: %w", err)
		}
	}()
	if s.file == nil {
		// The ending is what a workspace sweeps; where the system allows it
		// the name goes at once, and a killed process leaves nothing at all.
		if s.file, err = os.CreateTemp(s.dir, "dedup-*.new~"); err != nil {
			return r, err
		}
		s.gone = os.Remove(s.file.Name()) == nil
	}
	r = run{file: s.file, offset: s.size, n: len(entries) / 2}
	var b [1 << 12]byte
	for len(entries) > 0 {
		n := min(len(entries), len(b)/8)
		for i, v := range entries[:n] {
			binary.LittleEndian.PutUint64(b[8*i:], v)
		}
		if _, err := s.file.WriteAt(b[:8*n], s.size); err != nil {
			return r, err
		}
		s.size += int64(8 * n)
		entries = entries[n:]
	}
	return r, nil
}

// close removes the file.
func (s *spill) close() {
	if s.file != nil {
		s.file.Close()
		if !s.gone {
			os.Remove(s.file.Name())
		}
		s.file = nil
	}
}

// sorted yields the values in order with their counts.
func (t *tally) sorted() iter.Seq2[counted, error] {
	return func(yield func(counted, error) bool) {
		if err := t.flush(); err != nil {
			yield(counted{}, err)
			return
		}
		t.buf, t.spare = nil, nil
		for e, err := range merge(t.runs) {
			if !yield(e, err) {
				return
			}
		}
	}
}

// counted is a value with the number of times it was added.
type counted struct {
	value uint64
	n     int
}

// cursor reads one run.
type cursor struct {
	counted
	mem  []uint64
	r    *bufio.Reader
	left int
}

func (r run) cursor(buffer int) *cursor {
	c := &cursor{mem: r.mem, left: r.n}
	if r.file != nil {
		c.r = bufio.NewReaderSize(io.NewSectionReader(r.file, r.offset, int64(16*r.n)), buffer)
	}
	return c
}

// next moves to the next entry; it reports false at the end.
func (c *cursor) next() (bool, error) {
	if c.left == 0 {
		return false, nil
	}
	c.left--
	if c.r == nil {
		c.counted = counted{c.mem[0], int(c.mem[1])}
		c.mem = c.mem[2:]
		return true, nil
	}
	var b [16]byte
	if _, err := io.ReadFull(c.r, b[:]); err != nil {
		return false, fmt.Errorf("dedup: reading sorted keys back: %w", err)
	}
	c.counted = counted{binary.LittleEndian.Uint64(b[:]), int(binary.LittleEndian.Uint64(b[8:]))}
	return true, nil
}

// merge yields the entries of runs in order; equal values become one.
func merge(runs []run) iter.Seq2[counted, error] {
	return func(yield func(counted, error) bool) {
		// A heap of cursors, the least value on top.
		var heap []*cursor
		down := func(i int) {
			for {
				least := i
				for _, c := range []int{2*i + 1, 2*i + 2} {
					if c < len(heap) && heap[c].value < heap[least].value {
						least = c
					}
				}
				if least == i {
					return
				}
				heap[i], heap[least] = heap[least], heap[i]
				i = least
			}
		}
		buffer := min(1<<16, max(1<<12, 1<<22/max(1, len(runs))))
		for _, r := range runs {
			c := r.cursor(buffer)
			ok, err := c.next()
			if err != nil {
				yield(counted{}, err)
				return
			}
			if ok {
				heap = append(heap, c)
			}
		}
		for i := len(heap)/2 - 1; i >= 0; i-- {
			down(i)
		}
		for len(heap) > 0 {
			e := counted{value: heap[0].value}
			for len(heap) > 0 && heap[0].value == e.value {
				e.n += heap[0].n
				ok, err := heap[0].next()
				if err != nil {
					yield(counted{}, err)
					return
				}
				if !ok {
					heap[0] = heap[len(heap)-1]
					heap = heap[:len(heap)-1]
				}
				down(0)
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// radixSort sorts values by their upper 32 bits and keeps the order of equal
// ones: up to four passes of a byte each. spare is as long as v and is
// overwritten.
func radixSort(v, spare []uint64) {
	if len(v) < 1<<8 {
		slices.SortStableFunc(v, func(a, b uint64) int { return cmp.Compare(a>>32, b>>32) })
		return
	}
	var counts [4][256]int
	for _, x := range v {
		for p := range counts {
			counts[p][byte(x>>(32+8*p))]++
		}
	}
	from, to := v, spare[:len(v)]
	for p := range counts {
		if counts[p][byte(v[0]>>(32+8*p))] == len(v) {
			continue // all have this byte
		}
		at := 0
		for b, n := range counts[p] {
			counts[p][b] = at
			at += n
		}
		for _, x := range from {
			b := byte(x >> (32 + 8*p))
			to[counts[p][b]] = x
			counts[p][b]++
		}
		from, to = to, from
	}
	copy(v, from)
}
