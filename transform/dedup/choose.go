// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

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

	order  []int32        // signature of each rank
	rank   []int32        // rank of each signature
	copyOf map[int32]bool // ranks whose words an earlier rank has

	frequent []uint32 // excerpt marks that as many stories have as boilerplate needs, in order
}

func newChooser(ctx context.Context, x *Index, ours int, fetch Fetch) (*chooser, error) {
	c := &chooser{ctx: ctx, set: x.set, index: x, ours: ours, fetch: []Fetch{fetch}, copyOf: map[int32]bool{}}
	c.order = make([]int32, len(x.sigs))
	c.rank = make([]int32, len(x.sigs))
	for i := range c.order {
		c.order[i] = int32(i)
	}
	slices.SortFunc(c.order[:ours], func(i, j int32) int { return cmp.Compare(x.sigs[i].ID, x.sigs[j].ID) })
	for r := 1; r < ours; r++ {
		if id := c.sig(int32(r)).ID; id == c.sig(int32(r-1)).ID {
			return nil, fmt.Errorf("dedup: two stories have the id %s", id)
		}
	}
	slices.SortFunc(c.order[:ours], func(i, j int32) int { return c.before(&x.sigs[i], &x.sigs[j]) })
	from := ours
	for _, a := range c.set.Compare {
		slices.SortFunc(c.order[from:from+len(a.sigs)], func(i, j int32) int { return c.before(&x.sigs[i], &x.sigs[j]) })
		from += len(a.sigs)
	}
	for r, i := range c.order {
		c.rank[i] = int32(r)
	}
	return c, nil
}

func (c *chooser) sig(rank int32) *Signature { return &c.index.sigs[c.order[rank]] }

// before is the order in which copies are preferred, but for that of stories
// within stories, which needs their texts (see decide).
func (c *chooser) before(a, b *Signature) int {
	return cmp.Or(c.late(a)-c.late(b), cmp.Compare(a.Corpus, b.Corpus), cmp.Compare(b.Words, a.Words),
		cmp.Compare(a.Litter, b.Litter), cmp.Compare(a.ID, b.ID))
}

// late is 0 for a story that an earlier release kept, else 1.
func (c *chooser) late(s *Signature) int {
	if c.set.Earlier[s.ID] {
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
	byHash := slices.Clone(c.order)
	hash := func(i int32) [2]uint64 { return c.index.sigs[i].Hash }
	slices.SortFunc(byHash, func(i, j int32) int {
		a, b := hash(i), hash(j)
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]), cmp.Compare(c.rank[i], c.rank[j]))
	})
	var edges []edge
	for i := 0; i < len(byHash); {
		j := i + 1
		for j < len(byHash) && hash(byHash[j]) == hash(byHash[i]) {
			j++
		}
		if j-i > 1 && c.rank[byHash[i]] < int32(c.ours) {
			var err error
			if edges, err = c.compareCopies(edges, byHash[i:j]); err != nil {
				return nil, err
			}
		}
		i = j
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.a, b.a), cmp.Compare(a.b, b.b)) })
	return edges, nil
}

// compareCopies compares the words of stories of equal hash, byte by byte.
func (c *chooser) compareCopies(edges []edge, group []int32) ([]edge, error) {
	var w signer
	words := func(i int32) ([]byte, error) {
		s, err := c.read(c.rank[i])
		if err != nil {
			return nil, err
		}
		w.fold(s.Text)
		if len(w.hashes) == 0 {
			return []byte(s.Text), nil
		}
		return w.bytes(), nil
	}
	for len(group) > 1 && c.rank[group[0]] < int32(c.ours) {
		first, err := words(group[0])
		if err != nil {
			return nil, err
		}
		first = bytes.Clone(first)
		var rest []int32
		for _, i := range group[1:] {
			other, err := words(i)
			if err != nil {
				return nil, err
			}
			// Equal hashes of different words, or of a story and a query, are
			// left for another round.
			if c.index.sigs[i].Query != c.index.sigs[group[0]].Query || !bytes.Equal(first, other) {
				rest = append(rest, i)
				continue
			}
			edges = append(edges, edge{
				a: c.rank[group[0]], b: c.rank[i], inner: -1, kind: KindExact, overlap: overlap{1, 1},
				bands: c.set.Bands,
			})
			if c.rank[i] < int32(c.ours) {
				c.copyOf[c.rank[i]] = true
			}
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
			if n < len(a.sigs) {
				fetch, where = a.fetch, " of "+a.Name
				break
			}
			n -= len(a.sigs)
		}
	}
	s, err := fetch(c.sig(rank).ID)
	if err != nil {
		return s, fmt.Errorf("dedup: reading %s%s back: %w", c.sig(rank).ID, where, err)
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
				return cmp.Or(cmp.Compare(c.sig(b).Words, c.sig(a).Words), cmp.Compare(a, b))
			})
		}
		return c.join(ranks, fullMark, byMark, add)
	})
}

// buckets calls f for each key of a column that several stories have, with
// their ranks in order, copies left out.
func (c *chooser) buckets(col int, f func(key uint32, ranks []int32) error) error {
	var key uint64
	var ranks []int32
	done := func() error {
		if len(ranks) < 2 {
			return nil
		}
		slices.Sort(ranks)
		return f(uint32(key), ranks)
	}
	if err := c.ctx.Err(); err != nil {
		return err
	}
	for v, err := range c.index.column(c.ctx, col) {
		if err != nil {
			return err
		}
		if v>>32 != key {
			if err := done(); err != nil {
				return err
			}
			key, ranks = v>>32, ranks[:0]
		}
		if r := c.rank[uint32(v)]; !c.copyOf[r] {
			ranks = append(ranks, r)
		}
	}
	return done()
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
