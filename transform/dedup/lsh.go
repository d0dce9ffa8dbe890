// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"context"

	minhashlsh "github.com/ekzhu/minhash-lsh"
)

// Names of indexes, for DedupRecipe.Index.
const (
	IndexBands      = "bands"       // sorted band keys; the default, also when empty
	IndexMinhashLSH = "minhash-lsh" // github.com/ekzhu/minhash-lsh
)

// lshValues is the size of a signature for minhash-lsh: what minima gives
// without cutting.
func lshValues(set Settings) int { return roundUp(set.Bands * set.Rows) }

// lshPairs finds candidates by github.com/ekzhu/minhash-lsh in place of the
// band columns. It is the reference in tests and no default: it keeps every
// signature in memory at its full size, chooses bands and rows itself from the
// Jaccard threshold, aiming at few false candidates and few misses alike where
// verification makes false ones cheap, and asks one query a story. See the
// figures in the package's README.
func (c *chooser) lshPairs(ctx context.Context, add func(a, b int32, kind pairKind) error) error {
	n := lshValues(c.set)
	index := minhashlsh.NewMinhashLSH32(n, c.set.Jaccard)
	// each calls f with the rank and the values of each story.
	each := func(f func(rank int32, values []uint64) error) error {
		for i := range c.index.keys {
			b := &c.index.keys[i]
			for row, sig := range b.sigs {
				rank := c.rank[b.base+sig]
				if c.copies[rank] {
					continue
				}
				v := make([]uint64, n)
				for col := range v {
					v[col] = uint64(b.keys[col*cap(b.sigs)+row])
				}
				if err := f(rank, v); err != nil {
					return err
				}
			}
		}
		return nil
	}
	err := each(func(r int32, v []uint64) error {
		index.Add(r, v)
		return nil
	})
	if err != nil {
		return err
	}
	index.Index()
	return each(func(r int32, v []uint64) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, hit := range index.Query(v) {
			// Every pair is met from both ends; the order of hits is random
			// and does not matter to the tally.
			if other := hit.(int32); other > r {
				if err := add(r, other, byBand); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
