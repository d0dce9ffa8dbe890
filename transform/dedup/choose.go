// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/retcon-bench/retcon/schemas"
)

// Choose decides which stories stay. fetch reads a story back; it is called
// for the stories of candidate pairs only, and no more than one text a worker
// is held beside a bounded number of shingle sets. The decisions depend on the
// stories and the settings alone, not on the order of sigs, the number of
// workers or the memory limit.
//
// Errors: two signatures of one id, a fetch that fails, settings out of range,
// a full disk, and [*ClusterError].
func Choose(ctx context.Context, sigs []Signature, fetch Fetch, set Settings) (*Decisions, error) {
	x := NewIndex(set)
	defer x.Close()
	for _, s := range sigs {
		if err := x.Add(s); err != nil {
			return nil, err
		}
	}
	return x.Choose(ctx, fetch)
}

// chooser makes one choice. It names stories by rank: their place in the order
// of preference, ours first and then those they are compared with.
type chooser struct {
	ctx   context.Context
	set   Settings
	index *Index
	ours  int // ranks below are stories of this run
	fetch []Fetch

	order  []int32 // signature of each rank
	rank   []int32 // rank of each signature
	early  int     // ranks below are stories that an earlier release kept
	copies []bool  // ranks whose words an earlier rank has

	frequent []uint32 // excerpt marks that as many stories have as boilerplate needs, in order
}

func newChooser(ctx context.Context, x *Index, fetch Fetch) (*chooser, error) {
	c := &chooser{ctx: ctx, set: x.set, index: x, ours: x.n, fetch: []Fetch{fetch}}
	firsts := []int{0}
	for _, a := range c.set.Compare {
		first, err := x.attach(&a.sigs, x.set.keys())
		if err != nil {
			return nil, fmt.Errorf("dedup: %s: %w", a.Name, err)
		}
		firsts = append(firsts, first)
	}
	if x.budget > 0 && x.held > x.budget {
		if err := x.flush(); err != nil {
			return nil, err
		}
	}
	c.order = make([]int32, 0, x.n)
	for at, first := range firsts {
		n := c.ours
		if at > 0 {
			n = c.set.Compare[at-1].sigs.n
		}
		twice := c.prefer(first, n)
		if at == 0 && twice != "" {
			return nil, fmt.Errorf("dedup: two stories have the id %s", twice)
		}
	}
	for c.early < c.ours && c.late(c.order[c.early]) == 0 {
		c.early++
	}
	c.rank = make([]int32, len(x.blocks)*blockSize)
	for r, i := range c.order {
		c.rank[i] = int32(r)
	}
	c.copies = make([]bool, len(c.order))
	return c, nil
}

func (c *chooser) sig(rank int32) *record { return c.index.record(c.order[rank]) }

func (c *chooser) id(rank int32) string { return c.index.id(c.order[rank]) }

// prefer appends n signatures to c.order in the order in which copies are
// preferred, but for that of stories within stories, which needs their texts
// (see decide): those that an earlier release kept, by corpus, the most words,
// the least litter, the smallest id. It returns the least id that two have.
func (c *chooser) prefer(first, n int) (twice string) {
	// By the last of these first, and then by the others, each sort keeping
	// the order of equals. Ids often come in order, which costs nothing.
	type named struct {
		id  string
		sig int32
	}
	byID := make([]named, n)
	for i := range byID {
		sig := int32(first + i)
		byID[i] = named{c.index.id(sig), sig}
	}
	slices.SortFunc(byID, func(a, b named) int { return cmp.Or(strings.Compare(a.id, b.id), cmp.Compare(a.sig, b.sig)) })
	order := make([]uint64, n)
	for i := range order {
		order[i] = uint64(byID[i].sig)
		if i > 0 && twice == "" && byID[i].id == byID[i-1].id {
			twice = byID[i].id
		}
	}
	spare := make([]uint64, n)
	for _, key := range []func(int32) uint32{
		func(i int32) uint32 { return uint32(c.index.record(i).litter) },
		func(i int32) uint32 { return math.MaxInt32 - uint32(c.index.record(i).words) },
		func(i int32) uint32 { return c.late(i)<<16 | uint32(c.index.record(i).corpus) },
	} {
		for i, v := range order {
			order[i] = uint64(key(int32(uint32(v))))<<32 | uint64(uint32(v))
		}
		radixSort(order, spare)
	}
	for _, v := range order {
		c.order = append(c.order, int32(uint32(v)))
	}
	return twice
}

// late is 0 for the signature of a story that an earlier release kept, else 1.
func (c *chooser) late(sig int32) uint32 {
	if len(c.set.Earlier) > 0 && c.set.Earlier[c.index.id(sig)] {
		return 0
	}
	return 1
}

// choose runs the parts of the choice one after the other.
func (c *chooser) choose() (*Decisions, error) {
	copies, err := c.exact()
	if err != nil {
		return nil, err
	}
	pairs := newTally(&c.index.spill)
	if err := c.candidates(pairs); err != nil {
		return nil, err
	}
	c.index.dropBands()
	edges, err := c.verify(pairs)
	if err != nil {
		return nil, err
	}
	edges, cleared, err := c.dropBoilerplate(edges)
	if err != nil {
		return nil, err
	}
	d, err := c.decide(copies, edges)
	if err != nil {
		return nil, err
	}
	d.Boilerplate = cleared
	return d, nil
}

// edge says that two stories are duplicates; a has the lower rank.
type edge struct {
	a, b  int32
	inner int32 // the one contained in the other; -1 where it goes both ways
	kind  string
	bands int // shared
	// sampled are the shared shingles that are excerpt marks wherever they
	// stand, common those of them that are frequent.
	sampled, common int
	overlap
}

// exact finds stories of the same words. Among ours each is joined to the
// first of its kind, in order of rank; those that other releases have are
// joined to all of ours through that first one.
func (c *chooser) exact() ([]edge, error) {
	byHash := make([]uint64, 0, len(c.order)) // the upper half of the first hash, and the signature
	for at, b := range c.index.blocks {
		for i := range b.records {
			byHash = append(byHash, b.records[i].hash[0]>>32<<32|uint64(at*blockSize+i))
		}
	}
	radixSort(byHash, make([]uint64, len(byHash)))
	hash := func(rank int32) [2]uint64 { return c.sig(rank).hash }
	var edges []edge
	var alike []int32 // ranks
	for i := 0; i < len(byHash); {
		j := i + 1
		for j < len(byHash) && byHash[j]>>32 == byHash[i]>>32 {
			j++
		}
		alike = alike[:0]
		if j-i > 1 {
			for _, v := range byHash[i:j] {
				alike = append(alike, c.rank[uint32(v)])
			}
			slices.SortFunc(alike, func(r, s int32) int {
				a, b := hash(r), hash(s)
				return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]), cmp.Compare(r, s))
			})
		}
		i = j
		for group := alike; len(group) > 1; {
			n := 1
			for n < len(group) && hash(group[n]) == hash(group[0]) {
				n++
			}
			if n > 1 && group[0] < int32(c.ours) {
				var err error
				if edges, err = c.compareCopies(edges, group[:n]); err != nil {
					return nil, err
				}
			}
			group = group[n:]
		}
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.a, b.a), cmp.Compare(a.b, b.b)) })
	return edges, nil
}

// compareCopies compares the words of stories of equal hash, byte by byte. group
// holds ranks.
func (c *chooser) compareCopies(edges []edge, group []int32) ([]edge, error) {
	var w signer
	words := func(rank int32) ([]byte, error) {
		s, err := c.read(rank)
		if err != nil {
			return nil, err
		}
		w.fold(s.Text)
		if len(w.hashes) == 0 {
			return []byte(s.Text), nil
		}
		return w.bytes(), nil
	}
	for len(group) > 1 && group[0] < int32(c.ours) {
		first, err := words(group[0])
		if err != nil {
			return nil, err
		}
		first = bytes.Clone(first)
		var rest []int32
		for _, r := range group[1:] {
			other, err := words(r)
			if err != nil {
				return nil, err
			}
			// Equal hashes of different words, or of a story and a query, are
			// left for another round.
			if c.sig(r).query != c.sig(group[0]).query || !bytes.Equal(first, other) {
				rest = append(rest, r)
				continue
			}
			edges = append(edges, edge{
				a: group[0], b: r, inner: -1, kind: KindExact, overlap: overlap{1, 1},
				bands: c.set.Bands,
			})
			c.copies[r] = r < int32(c.ours)
		}
		group = rest
	}
	return edges, nil
}

// read reads a story back.
func (c *chooser) read(rank int32) (schemas.Story, error) {
	if err := c.ctx.Err(); err != nil {
		return schemas.Story{}, err
	}
	fetch, where := c.fetch[0], ""
	if n := int(rank) - c.ours; n >= 0 {
		for _, a := range c.set.Compare {
			if n < a.sigs.n {
				fetch, where = a.fetch, " of "+a.Name
				break
			}
			n -= a.sigs.n
		}
	}
	s, err := fetch(c.id(rank))
	if err != nil {
		return s, fmt.Errorf("dedup: reading %s%s back: %w", c.id(rank), where, err)
	}
	return s, nil
}

// pairKind says by what a candidate pair was found.
type pairKind uint64

const (
	byBand pairKind = iota // a band key
	byMark                 // an excerpt mark
)

// pair puts two ranks and a kind into one word, in which order a tally sorts.
func pair(a, b int32, kind pairKind) uint64 { return uint64(a)<<33 | uint64(b)<<2 | uint64(kind) }

func unpair(v uint64) (a, b int32, kind pairKind) {
	return int32(v >> 33), int32(v >> 2 & maxStories), pairKind(v & 3)
}

const (
	// fullBand and fullMark are the sizes of a bucket up to which all its
	// pairs are candidates. In a larger one each story is paired with the
	// first hubs of it alone: a large bucket is either one giant cluster, whose
	// members are duplicates of its first, or a passage that says nothing
	// about the rest of the texts, and then true pairs meet in other buckets.
	fullBand = 64
	fullMark = 32
	hubs     = 8
)

// candidates tallies the pairs of stories that share band keys or excerpt
// marks.
func (c *chooser) candidates(pairs *tally) error {
	add := func(a, b int32, kind pairKind) error { return pairs.add(pair(a, b, kind)) }
	if c.set.Index == IndexMinhashLSH {
		if err := c.lshPairs(c.ctx, add); err != nil {
			return err
		}
	} else {
		for band := range c.set.Bands {
			err := c.buckets(band, func(_ uint32, ranks []int32) error { return c.join(ranks, fullBand, byBand, add) })
			if err != nil {
				return err
			}
		}
	}
	if !c.set.Excerpts {
		return nil
	}
	return c.buckets(c.set.Bands, func(key uint32, ranks []int32) error {
		if c.set.Boilerplate > 0 && len(ranks) >= c.set.Boilerplate {
			c.frequent = append(c.frequent, key) // in order
		}
		if len(ranks) > fullMark { // what holds an excerpt is long
			slices.SortFunc(ranks, func(a, b int32) int {
				return cmp.Or(cmp.Compare(c.sig(b).words, c.sig(a).words), cmp.Compare(a, b))
			})
		}
		return c.join(ranks, fullMark, byMark, add)
	})
}

// buckets calls f for each key of a column that several stories have, with
// their ranks in order, copies left out.
func (c *chooser) buckets(col int, f func(key uint32, ranks []int32) error) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	var ranks []int32
	for group, err := range c.index.groups(c.ctx, col) {
		if err != nil {
			return err
		}
		ranks = ranks[:0]
		for _, v := range group {
			if r := c.rank[uint32(v)]; !c.copies[r] {
				ranks = append(ranks, r)
			}
		}
		if len(ranks) < 2 {
			continue
		}
		slices.Sort(ranks)
		if err := f(uint32(group[0]>>32), ranks); err != nil {
			return err
		}
	}
	return nil
}

// join adds the pairs of a bucket.
func (c *chooser) join(ranks []int32, full int, kind pairKind, add func(a, b int32, kind pairKind) error) error {
	one := func(a, b int32) error {
		if a == b || min(a, b) >= int32(c.ours) {
			return nil // two stories of others
		}
		return add(min(a, b), max(a, b), kind)
	}
	if len(ranks) <= full {
		for i, a := range ranks {
			for _, b := range ranks[i+1:] {
				if err := one(a, b); err != nil {
					return err
				}
			}
		}
		return nil
	}
	// Hubs of both sides, so that ours meet the others.
	var centres [2][]int32
	side := func(r int32) int {
		if r < int32(c.ours) {
			return 0
		}
		return 1
	}
	for _, r := range ranks {
		if s := side(r); len(centres[s]) < hubs {
			centres[s] = append(centres[s], r)
		}
	}
	for _, r := range ranks {
		for s, hub := range centres {
			for _, h := range hub {
				// Two hubs meet once.
				if s == side(r) && h >= r && slices.Contains(hub, r) {
					continue
				}
				if s == 0 && side(r) == 1 && slices.Contains(centres[1], r) {
					continue
				}
				if err := one(h, r); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// likely reports whether two texts of a and b excerpt marks that share so many
// may be duplicates. Marks are a sample: the bound is three deviations under
// the thresholds.
func likely(shared, a, b int, set Settings) bool {
	bound := func(share float64, of int) bool {
		n := float64(of)
		return float64(shared)+3*math.Sqrt(share*(1-share)*n) >= share*n
	}
	return bound(set.Containment, min(a, b)) || bound(set.Jaccard, a+b-shared)
}
