// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"container/list"
	"slices"
	"sync"
)

// candidate is a pair to be measured.
type candidate struct {
	a, b         int32
	bands, marks int // shared
}

// verify measures the candidates on their texts and returns the duplicates, in
// order.
func (c *chooser) verify(pairs *tally) ([]edge, error) {
	workers := max(c.set.Workers, 1)
	readers := make([]*reader, workers)
	for i := range readers {
		readers[i] = c.newReader(workers)
	}
	var edges []edge
	var batch []candidate
	work := func() error {
		found := make([][]edge, workers)
		errs := make([]error, workers)
		var wg sync.WaitGroup
		for i := range workers {
			part := batch[len(batch)*i/workers : len(batch)*(i+1)/workers]
			wg.Go(func() { found[i], errs[i] = c.measureAll(readers[i], part) })
		}
		wg.Wait()
		batch = batch[:0]
		for i, err := range errs {
			if err != nil {
				return err
			}
			edges = append(edges, found[i]...)
		}
		return nil
	}
	var p candidate
	done := func() error {
		if p.b == 0 || p.bands == 0 && !likely(p.marks, c.marks(p.a), c.marks(p.b), c.set) {
			return nil
		}
		batch = append(batch, p)
		if len(batch) == 1<<14 {
			return work()
		}
		return nil
	}
	for e, err := range pairs.sorted() {
		if err != nil {
			return nil, err
		}
		a, b, kind := unpair(e.value)
		if a != p.a || b != p.b {
			if err := done(); err != nil {
				return nil, err
			}
			p = candidate{a: a, b: b}
		}
		switch kind {
		case byBand:
			p.bands = e.n
		case byMark:
			p.marks = e.n
		}
	}
	if err := done(); err != nil {
		return nil, err
	}
	return edges, work()
}

func (c *chooser) marks(rank int32) int { return int(c.sig(rank).marks) }

func (c *chooser) measureAll(r *reader, part []candidate) ([]edge, error) {
	var edges []edge
	for _, p := range part {
		a, err := r.set(p.a)
		if err != nil {
			return nil, err
		}
		b, err := r.set(p.b)
		if err != nil {
			return nil, err
		}
		if c.sig(p.a).hash == c.sig(p.b).hash && len(a) == len(b) {
			continue // joined as exact: only ours and others' meet here
		}
		e := edge{a: p.a, b: p.b, inner: -1, bands: p.bands, overlap: measure(a, b)}
		if err := r.name(&e, len(a), len(b)); err != nil {
			return nil, err
		}
		if e.kind == "" {
			continue
		}
		for h := range both(a, b) {
			if h%markEvery == 0 {
				e.sampled++
				if _, ok := slices.BinarySearch(c.frequent, uint32(h>>32)); ok {
					e.common++
				}
			}
		}
		edges = append(edges, e)
	}
	return edges, nil
}

// name sets the kind of e, and which of the two is the inner one, from its
// overlap; the kind stays empty for two different texts.
func (r *reader) name(e *edge, sizeA, sizeB int) error {
	set := r.c.set
	switch {
	case e.jaccard >= set.Jaccard:
		e.kind = KindNear
		return nil
	case e.containment < set.Containment:
		return nil
	}
	outer := e.a
	e.inner = e.b
	if sizeB > sizeA {
		outer, e.inner = e.b, e.a
	}
	in, err := r.text(e.inner)
	if err != nil {
		return err
	}
	out, err := r.text(outer)
	if err != nil {
		return err
	}
	e.kind = KindContained
	if onePassage(in, out) {
		e.kind = KindExcerpt
	}
	return nil
}

// reader reads texts back as shingles. It keeps the sets it used last.
type reader struct {
	c    *chooser
	w    signer
	max  int // bytes
	held int
	sets map[int32]*list.Element
	last *list.List // of held sets, the one used last in front
}

type heldSet struct {
	rank int32
	set  []uint64
}

// setMemory is what the sets of all readers take where no limit is set: those
// of about ten thousand stories.
const setMemory = 64 << 20

func (c *chooser) newReader(workers int) *reader {
	memory := setMemory
	if c.set.Memory > 0 {
		memory = int(min(c.set.Memory/4, setMemory))
	}
	return &reader{c: c, max: memory / workers, sets: map[int32]*list.Element{}, last: list.New()}
}

// set returns the shingle set of a story. It is not to be written to.
func (r *reader) set(rank int32) ([]uint64, error) {
	if e := r.sets[rank]; e != nil {
		r.last.MoveToFront(e)
		return e.Value.(*heldSet).set, nil
	}
	t, err := r.text(rank)
	if err != nil {
		return nil, err
	}
	r.sets[rank] = r.last.PushFront(&heldSet{rank, t.set})
	r.held += 8 * cap(t.set)
	for r.held > r.max && r.last.Len() > 2 {
		old := r.last.Remove(r.last.Back()).(*heldSet)
		r.held -= 8 * cap(old.set)
		delete(r.sets, old.rank)
	}
	return t.set, nil
}

// text returns the shingles of a story in order and as a set.
func (r *reader) text(rank int32) (*shingled, error) {
	s, err := r.c.read(rank)
	if err != nil {
		return nil, err
	}
	return r.w.shingle(s.Text, r.c.set.Shingle), nil
}
