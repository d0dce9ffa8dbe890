// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"math"
	"math/bits"
	"slices"
)

// Kinds of duplicates, and reasons of [Decisions.Apply].
const (
	KindExact     = "exact"     // the same words in the same order
	KindNear      = "near"      // much the same text: Jaccard
	KindContained = "contained" // most of it stands in a longer story, in passages that lie apart
	KindExcerpt   = "excerpt"   // most of it is one passage of a longer story
)

// shingled is a text as verification needs it.
type shingled struct {
	seq []uint64 // shingle hashes in text order, with repeats
	set []uint64 // the same, sorted, without repeats
}

// shingle cuts text as Sign does, into shingles of n words.
func (w *signer) shingle(text string, n int) *shingled {
	w.hashWords(text)
	if len(w.hashes) < n {
		return &shingled{}
	}
	seq := appendShingles(make([]uint64, 0, len(w.hashes)-n+1), w.hashes, n)
	set := make([]uint64, len(seq))
	sortHashes(set, seq)
	return &shingled{seq, slices.Compact(set)}
}

// sortHashes sorts hashes into dst. They are spread evenly but for repeats, so
// that putting each into a place by its upper bits all but sorts them.
func sortHashes(dst, hashes []uint64) {
	if len(hashes) == 0 {
		return
	}
	shift := 65 - min(bits.Len(uint(len(hashes))), 16) // a place takes one to two
	ends := make([]int32, 1<<(64-shift))
	for _, h := range hashes {
		ends[h>>shift]++
	}
	at := int32(0)
	for i, n := range ends {
		ends[i] = at
		at += n
	}
	for _, h := range hashes {
		dst[ends[h>>shift]] = h
		ends[h>>shift]++
	}
	if len(hashes) > 1<<18 { // more than a few a place
		slices.Sort(dst)
		return
	}
	for i := 1; i < len(dst); i++ {
		h := dst[i]
		j := i
		for ; j > 0 && dst[j-1] > h; j-- {
			dst[j] = dst[j-1]
		}
		dst[j] = h
	}
}

// overlap is what two texts have in common.
type overlap struct {
	jaccard     float64
	containment float64 // of the smaller set in the larger
}

// measure compares two sorted sets.
func measure(a, b []uint64) overlap {
	n := 0
	for range both(a, b) {
		n++
	}
	if n == 0 {
		return overlap{}
	}
	return overlap{
		jaccard:     float64(n) / float64(len(a)+len(b)-n),
		containment: float64(n) / float64(min(len(a), len(b))),
	}
}

// both yields the common elements of two sorted sets.
func both(a, b []uint64) func(yield func(uint64) bool) {
	return func(yield func(uint64) bool) {
		for i, j := 0, 0; i < len(a) && j < len(b); {
			switch x, y := a[i], b[j]; {
			case x < y:
				i++
			case x > y:
				j++
			default:
				if !yield(x) {
					return
				}
				i++
				j++
			}
		}
	}
}

// onePassage reports whether the shingles of in that stand in out lie together
// there: the middle nine tenths of them within a stretch of one and a half
// times in's length. (A tenth may be phrases that stand anywhere.)
func onePassage(in, out *shingled) bool {
	var at []int
	for i, h := range out.seq {
		if _, ok := slices.BinarySearch(in.set, h); ok {
			at = append(at, i)
		}
	}
	cut := len(at) / 20
	at = at[cut : len(at)-cut]
	return len(at) > 0 && at[len(at)-1]-at[0] < len(in.seq)+len(in.seq)/2
}

// round4 rounds to 4 decimals, as derived figures are released.
func round4(x float64) float64 { return math.Round(x*1e4) / 1e4 }
