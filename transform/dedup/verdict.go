// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"math"
	"slices"
)

// Kinds of duplicates, and the reasons of [Decisions.Apply].
const (
	KindExact     = "exact"     // the same words in the same order
	KindNear      = "near"      // much the same: Jaccard
	KindContained = "contained" // most of it stands in a longer story, in passages that lie apart
	KindExcerpt   = "excerpt"   // most of it is one passage of a longer story
	SeenBefore    = "seen_before"
	NotSigned     = "not_signed" // Apply met a story that Choose did not see
)

// shingled is a text as verification needs it.
type shingled struct {
	seq []uint64 // shingle hashes in text order, with repeats
	set []uint64 // the same, sorted, without repeats
}

func (s *shingled) bytes() int { return 8 * (cap(s.seq) + cap(s.set)) }

// shingle cuts text as Sign does; words says how many words it has.
func (w *signer) shingle(text string, n int) *shingled {
	w.fold(text)
	if len(w.hashes) < n {
		return &shingled{}
	}
	seq := appendShingles(make([]uint64, 0, len(w.hashes)-n+1), w.hashes, n)
	set := slices.Clone(seq)
	slices.Sort(set)
	return &shingled{seq, slices.Compact(set)}
}

// shared counts the common elements of two sorted lists.
func shared(a, b []uint64) int {
	n := 0
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			a = a[1:]
		case a[0] > b[0]:
			b = b[1:]
		default:
			n++
			a, b = a[1:], b[1:]
		}
	}
	return n
}

// overlap is what two texts have in common.
type overlap struct {
	jaccard     float64
	containment float64 // of the smaller set in the larger
}

func measure(a, b []uint64) overlap {
	n := shared(a, b)
	if n == 0 {
		return overlap{}
	}
	return overlap{
		jaccard:     float64(n) / float64(len(a)+len(b)-n),
		containment: float64(n) / float64(min(len(a), len(b))),
	}
}

// kind names the duplicate, or is empty for two different texts.
func (o overlap) kind(a, b *shingled, set Settings) string {
	switch {
	case o.jaccard >= set.Jaccard:
		return KindNear
	case o.containment < set.Containment:
		return ""
	}
	if len(a.set) > len(b.set) {
		a, b = b, a
	}
	if onePassage(a, b) {
		return KindExcerpt
	}
	return KindContained
}

// onePassage reports whether the shingles of a that stand in b lie together
// there: the middle nine tenths of them within a stretch of one and a half
// times a's length. (A tenth may be phrases that stand anywhere.)
func onePassage(a, b *shingled) bool {
	var at []int
	for i, h := range b.seq {
		if _, ok := slices.BinarySearch(a.set, h); ok {
			at = append(at, i)
		}
	}
	cut := len(at) / 20
	at = at[cut : len(at)-cut]
	return len(at) > 0 && at[len(at)-1]-at[0] < len(a.seq)+len(a.seq)/2
}

// round4 rounds to 4 decimals, as derived figures are released.
func round4(x float64) float64 { return math.Round(x*1e4) / 1e4 }
