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
	index := minhashlsh.NewMinhashLSH32(lshValues(c.set), c.set.Jaccard)
	values := func(rank int) []uint64 {
		keys := c.sig(int32(rank)).Keys
		if len(keys) == 0 || c.copyOf[int32(rank)] {
			return nil
		}
		v := make([]uint64, lshValues(c.set))
		for i := range v {
			v[i] = uint64(keys[i])
		}
		return v
	}
	for r := range c.order {
		if v := values(r); v != nil {
			index.Add(int32(r), v)
		}
	}
	index.Index()
	for r := range c.order {
		if err := ctx.Err(); err != nil {
			return err
		}
		v := values(r)
		if v == nil {
			continue
		}
		for _, hit := range index.Query(v) {
			// Every pair is met from both ends; the order of hits is random
			// and does not matter to the tally.
			if other := hit.(int32); other > int32(r) {
				if err := add(int32(r), other, byBand); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
