// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"cmp"
	"maps"
	"slices"
)

// Boilerplate is a passage that DedupRecipe.Boilerplate or more stories carry
// beside a text of their own: the preface of a series, a licence, a
// collector's note. Such a passage makes no duplicate: pairs that share one
// are judged again without it.
//
// "Beside a text of their own" is what tells the preface of forty tales from
// forty editions of one tale, whose shared shingles are just as frequent. What
// editions do not share is scattered: an edited word breaks as many shingles
// as one is long. A carrier of boilerplate has runs of unbroken own text that
// make up at least a fifth of it ([ownText]).
//
// Shingle frequencies are counted only where they can matter: over the stories
// of a connected group of duplicates that has as many members as boilerplate
// needs, or whose common excerpt marks are frequent over all stories (then
// with the stories that have those marks too).

const (
	// examined is the most stories whose shingles are counted for one group:
	// the shortest, since those are the ones that a passage makes alike.
	examined = 256
	// examinedShingles bounds the shingles of those stories.
	examinedShingles = 4 << 20
)

// dropBoilerplate judges pairs anew that may share boilerplate alone. It
// returns the duplicates that remain, and how many pairs were cleared.
func (c *chooser) dropBoilerplate(edges []edge) ([]edge, int, error) {
	if c.set.Boilerplate == 0 || len(edges) == 0 {
		return edges, 0, nil
	}
	r := c.newReader(1)
	groups := connected(edges)
	carrying, err := c.markCarriers(r, groups)
	if err != nil {
		return nil, 0, err
	}
	var left []edge
	cleared := 0
	for _, g := range groups {
		stories := g.stories
		if more := carrying[g.stories[0]]; len(more) > 0 {
			stories = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(stories), more...))))
		}
		if len(stories) < c.set.Boilerplate {
			left = append(left, g.edges...)
			continue
		}
		b, err := c.findBoilerplate(r, stories)
		if err != nil {
			return nil, 0, err
		}
		if len(b) == 0 {
			left = append(left, g.edges...)
			continue
		}
		j := judge{r: r, boilerplate: b, rests: map[int32]rest{}}
		for _, e := range g.edges {
			clear, err := j.clears(e)
			if err != nil {
				return nil, 0, err
			}
			if clear {
				cleared++
			} else {
				left = append(left, e)
			}
		}
	}
	slices.SortFunc(left, func(x, y edge) int { return cmp.Or(cmp.Compare(x.a, y.a), cmp.Compare(x.b, y.b)) })
	return left, cleared, nil
}

// group is a connected group of duplicates.
type group struct {
	stories []int32 // ranks, in order
	edges   []edge
}

// connected splits edges into their connected groups, in order of the least
// rank.
func connected(edges []edge) []group {
	parent := map[int32]int32{}
	find := func(x int32) int32 {
		for {
			p, ok := parent[x]
			if !ok {
				parent[x] = x
				return x
			}
			if p == x {
				return x
			}
			parent[x] = parent[p]
			x = p
		}
	}
	for _, e := range edges {
		a, b := find(e.a), find(e.b)
		parent[max(a, b)] = min(a, b) // the root is the least
	}
	at := map[int32]*group{}
	for _, x := range slices.Sorted(maps.Keys(parent)) {
		root := find(x)
		if at[root] == nil {
			at[root] = &group{}
		}
		at[root].stories = append(at[root].stories, x)
	}
	for _, e := range edges {
		g := at[find(e.a)]
		g.edges = append(g.edges, e)
	}
	groups := make([]group, 0, len(at))
	for _, root := range slices.Sorted(maps.Keys(at)) {
		groups = append(groups, *at[root])
	}
	return groups
}

// markCarriers returns, for each group (by its first story) that is small but
// lives on frequent excerpt marks, other stories that have those marks.
func (c *chooser) markCarriers(r *reader, groups []group) (map[int32][]int32, error) {
	wanted := map[uint32][]int32{} // mark -> groups
	for _, g := range groups {
		marks := map[uint32]bool{}
		of := map[int32][]uint32{}
		marksOf := func(rank int32) ([]uint32, error) {
			if _, ok := of[rank]; !ok {
				t, err := r.text(rank)
				if err != nil {
					return nil, err
				}
				of[rank] = appendMarks(nil, t.seq)
			}
			return of[rank], nil
		}
		for _, e := range g.edges {
			if e.common == 0 || 2*e.common < e.sampled {
				continue
			}
			a, err := marksOf(e.a)
			if err != nil {
				return nil, err
			}
			b, err := marksOf(e.b)
			if err != nil {
				return nil, err
			}
			for _, m := range b {
				if _, ok := slices.BinarySearch(a, m); ok {
					marks[m] = true
				}
			}
		}
		for m := range marks {
			wanted[m] = append(wanted[m], g.stories[0])
		}
	}
	found := map[int32][]int32{}
	if len(wanted) == 0 {
		return found, nil
	}
	err := c.buckets(c.set.Bands, func(key uint32, ranks []int32) error {
		if len(ranks) >= c.set.Boilerplate {
			for _, g := range wanted[key] {
				found[g] = append(found[g], ranks[:min(len(ranks), examined/4)]...)
			}
		}
		return nil
	})
	return found, err
}

// findBoilerplate returns the shingles that enough of the stories carry beside
// their own text, sorted.
func (c *chooser) findBoilerplate(r *reader, stories []int32) ([]uint64, error) {
	stories = slices.Clone(stories)
	slices.SortFunc(stories, func(a, b int32) int {
		return cmp.Or(cmp.Compare(c.sig(a).words, c.sig(b).words), cmp.Compare(a, b))
	})
	stories = stories[:min(len(stories), examined)]
	var all []uint64
	for i, s := range stories {
		set, err := r.set(s)
		if err != nil {
			return nil, err
		}
		if len(all)+len(set) > examinedShingles && i >= c.set.Boilerplate {
			stories = stories[:i]
			break
		}
		all = append(all, set...)
	}
	shared := frequent(all, c.set.Boilerplate)
	if len(shared) == 0 {
		return nil, nil
	}
	// Count again, over those that have a text of their own beside it.
	all = all[:0]
	for _, s := range stories {
		t, err := r.text(s)
		if err != nil {
			return nil, err
		}
		if ownText(t.seq, shared, c.set.Shingle) {
			for h := range both(t.set, shared) {
				all = append(all, h)
			}
		}
	}
	return frequent(all, c.set.Boilerplate), nil
}

// frequent returns the values that stand at least n times in all, which it
// sorts.
func frequent(all []uint64, n int) []uint64 {
	slices.Sort(all)
	var out []uint64
	for i := 0; i < len(all); {
		j := i + 1
		for j < len(all) && all[j] == all[i] {
			j++
		}
		if j-i >= n {
			out = append(out, all[i])
		}
		i = j
	}
	return out
}

// ownText reports whether runs of shingles that are not in shared make up at
// least a fifth of a text. Only runs count that editing words here and there
// does not leave: longer than two shingles' words, and than a fifth of the
// text or eight shingles' words, whichever is less.
func ownText(seq, shared []uint64, shingle int) bool {
	fifth := max(len(seq)/5, 1)
	least := max(2*shingle+1, min(fifth, 8*shingle))
	own, run := 0, 0
	for i := 0; i <= len(seq); i++ {
		if i < len(seq) {
			if _, ok := slices.BinarySearch(shared, seq[i]); !ok {
				run++
				continue
			}
		}
		if run >= least {
			own += run
		}
		run = 0
	}
	return own >= fifth
}

// judge judges the pairs of one group on what is left of their texts without
// boilerplate.
type judge struct {
	r           *reader
	boilerplate []uint64
	rests       map[int32]rest
	held        int // bytes
}

// rest is what is left of a text.
type rest struct {
	set []uint64
	own bool // see ownText
}

func (j *judge) rest(rank int32) (rest, error) {
	if r, ok := j.rests[rank]; ok {
		return r, nil
	}
	t, err := j.r.text(rank)
	if err != nil {
		return rest{}, err
	}
	own := ownText(t.seq, j.boilerplate, j.r.c.set.Shingle)
	left := slices.DeleteFunc(t.set, func(h uint64) bool {
		_, ok := slices.BinarySearch(j.boilerplate, h)
		return ok
	})
	if j.held += 8 * cap(left); j.held > j.r.max {
		clear(j.rests)
		j.held = 0
	}
	j.rests[rank] = rest{left, own}
	return j.rests[rank], nil
}

// clears reports whether e is no duplicate without the boilerplate. A pair of
// which neither text has a text of its own is judged whole, as it was.
func (j *judge) clears(e edge) (bool, error) {
	a, err := j.rest(e.a)
	if err != nil {
		return false, err
	}
	b, err := j.rest(e.b)
	if err != nil {
		return false, err
	}
	if !a.own && !b.own {
		return false, nil
	}
	o := measure(a.set, b.set)
	return o.jaccard < j.r.c.set.Jaccard && o.containment < j.r.c.set.Containment, nil
}
