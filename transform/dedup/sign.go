// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync"

	"github.com/zeebo/xxh3"

	"github.com/retcon-bench/retcon/schemas"
)

// WholeWords is the number of words under which a text is compared whole:
// four shingles' lengths. "Once upon a time there was a cat" and the same of a
// dog share 3 of 5 shingles and are two texts.
const WholeWords = 20

// Signature is what Choose keeps of a story: a few hundred bytes, no text.
// Two stories of the same words have equal signatures but for ID, Corpus and
// Litter. Signatures made with different shingle, band or row settings do not
// compare.
type Signature struct {
	ID     string
	Words  int32  // as Sign counts them, see the package comment
	Litter int32  // characters left over from transcription; fewer are cleaner
	Corpus uint16 // place of the story's source in the order of preference, see Settings.Corpora; those not listed come last
	Query  bool   // compared whole, and with queries only
	Hash   [2]uint64
	// Keys are the band keys, in band order (the minimum hashes themselves
	// where the index is minhash-lsh), and behind them the excerpt marks in
	// increasing order. Texts that are compared whole have neither.
	Keys []uint32
}

// Sign returns the signature of s. Its cost grows linearly with the text.
func Sign(s schemas.Story, set Settings) Signature {
	w := workers.Get().(*signer)
	defer workers.Put(w)
	return w.sign(s, set.withDefaults())
}

var workers = sync.Pool{New: func() any { return new(signer) }}

// signer holds the buffers of one Sign.
type signer struct {
	folded
	odd      folded // for tokens of hashWords
	shingles []uint64
	values   []uint32
	marks    []uint32
}

func (w *signer) sign(s schemas.Story, set Settings) Signature {
	litter := w.hashWords(s.Text)
	sig := Signature{
		ID:     strings.Clone(s.StoryID), // it may be a slice of a whole record
		Words:  int32(min(len(w.hashes), math.MaxInt32)),
		Litter: int32(min(litter+s.Source.Repaired, math.MaxInt32)),
		Corpus: set.rank(s.Source),
		Query:  s.Kind == schemas.KindQuery,
		Hash:   w.hash(s.Text),
	}
	if sig.Query || len(w.hashes) < set.whole() {
		return sig
	}
	w.shingles = appendShingles(w.shingles[:0], w.hashes, set.Shingle)
	w.marks = w.marks[:0]
	if set.Excerpts {
		w.marks = appendMarks(w.marks, w.shingles)
	}
	w.values = minima(w.values, w.shingles, set.Bands*set.Rows)
	if set.Index == IndexMinhashLSH {
		sig.Keys = append(make([]uint32, 0, len(w.values)+len(w.marks)), w.values...)
	} else {
		sig.Keys = appendBands(make([]uint32, 0, set.Bands+len(w.marks)), w.values, set.Bands, set.Rows)
	}
	sig.Keys = append(sig.Keys, w.marks...)
	return sig
}

// hash is a 128-bit hash of the words, 64 bits each of those at even and at odd
// places; of the text itself where no word is in it.
func (w *signer) hash(text string) [2]uint64 {
	if len(w.hashes) == 0 {
		h := xxh3.HashString128(text)
		return [2]uint64{h.Hi, h.Lo}
	}
	even, odd := uint64(len(w.hashes)), uint64(k3)
	words := w.hashes
	for ; len(words) > 1; words = words[2:] {
		even = even*k0 + words[0]
		odd = odd*k1 + words[1]
	}
	if len(words) > 0 {
		even = even*k0 + words[0]
	}
	return [2]uint64{mix(even, k2), mix(odd, k2)}
}

// appendShingles appends the hash of every run of n words, in text order, with
// repeats. words must be at least n.
func appendShingles(dst, words []uint64, n int) []uint64 {
	// A polynomial in k2 over the word hashes, rolled from word to word: the
	// word that leaves was multiplied n times since it came.
	out := uint64(1)
	for range n {
		out *= k2
	}
	var h uint64
	for _, w := range words[:n-1] {
		h = h*k2 + w
	}
	var gone uint64
	for i, w := range words[n-1:] {
		h = h*k2 + w - gone*out
		gone = words[i]
		dst = append(dst, mix(h^k3, k0))
	}
	return dst
}

const (
	// bins of one permutation; a signature of 128 values takes four. One
	// permutation of 128 bins would leave half its bins empty at 90 shingles;
	// with four of 32 even a text of 60 shingles fills 85 % of them, so that
	// short and long texts sign alike. (Plain permutations for short texts
	// alone would not compare with those of longer ones.)
	binBits = 5
	bins    = 1 << binBits

	empty = math.MaxUint32
)

// minima returns in v at least n minimum hashes: for each of a few permutations,
// the least value of the shingles that fall in each of its bins. Bins that
// stay empty borrow from others by optimal densification (Shrivastava, ICML
// 2017): bin b asks the bins h(b,1), h(b,2), ... until one has a value.
func minima(v []uint32, shingles []uint64, n int) []uint32 {
	n = roundUp(n)
	v = slices.Grow(v[:0], 2*n)[:n] // and as many for densify
	for i := range v {
		v[i] = empty
	}
	const value = 1<<(32-binBits) - 1
	for p := 0; p < n; p += 4 * bins {
		a, b := (*[bins]uint32)(v[p:]), (*[bins]uint32)(v[p+bins:])
		c, d := (*[bins]uint32)(v[p+2*bins:]), (*[bins]uint32)(v[p+3*bins:])
		seed := uint64(p) * k2
		for _, s := range shingles {
			// A shingle hash has 64 good bits, enough for two permutations of
			// a bin and a value each; mixed again it serves two more.
			h := s
			if p > 0 {
				h = mix(s^seed, k3)
			}
			a[h>>(64-binBits)] = min(a[h>>(64-binBits)], uint32(h>>32)&value)
			b[h>>(32-binBits)%bins] = min(b[h>>(32-binBits)%bins], uint32(h)&value)
			h = mix(h^k2, k1)
			c[h>>(64-binBits)] = min(c[h>>(64-binBits)], uint32(h>>32)&value)
			d[h>>(32-binBits)%bins] = min(d[h>>(32-binBits)%bins], uint32(h)&value)
		}
	}
	return densify(v)
}

// roundUp is the number of values that minima makes for n: permutations are
// computed four at a time.
func roundUp(n int) int { return (n + 4*bins - 1) / (4 * bins) * (4 * bins) }

func densify(v []uint32) []uint32 {
	full := append(v, v...)[len(v):] // v as it was
	for i := range v {
		for try := uint64(1); v[i] == empty; try++ {
			h := mix(uint64(i)*k2+try*k0, k3)
			hi, _ := bits.Mul64(h, uint64(len(v)))
			v[i] = full[hi]
		}
	}
	return v
}

// appendBands appends a key for each band of rows values. 32 bits are enough:
// a million stories bring about 5,000 chance pairs, each refuted by the texts.
func appendBands(keys, values []uint32, bands, rows int) []uint32 {
	for b := range bands {
		h := uint64(b)*k0 + k3
		for _, v := range values[b*rows : (b+1)*rows] {
			h = mix(h^uint64(v), k1)
		}
		keys = append(keys, uint32(h>>32))
	}
	return keys
}

const (
	markEvery  = 32
	markWindow = 64
)

// appendMarks appends the excerpt marks of a text in increasing order without
// repeats: the shingle hashes that are 0 modulo 32, and the least hash of
// every window of 64 shingles that has none of those. Whatever the rest of two
// texts, a passage of 68 words (at 5 words a shingle) that they share gives
// both a common mark; hashes 0 modulo 32 alone would miss one passage of 200
// words in 500.
func appendMarks(dst []uint32, shingles []uint64) []uint32 {
	from := 0 // first shingle behind the last one that is 0 modulo 32
	for i := 0; i <= len(shingles); i++ {
		if i < len(shingles) && shingles[i]%markEvery != 0 {
			continue
		}
		if gap := shingles[from:i]; len(gap) >= markWindow {
			dst = appendLeast(dst, gap)
		}
		if i < len(shingles) {
			dst = append(dst, uint32(shingles[i]>>32))
		}
		from = i + 1
	}
	slices.Sort(dst)
	return slices.Compact(dst)
}

// appendLeast appends the least hash of every window of gap.
func appendLeast(dst []uint32, gap []uint64) []uint32 {
	least := -1
	for end := markWindow; end <= len(gap); end++ {
		start := end - markWindow
		switch {
		case least < start:
			least = start
			for i := start + 1; i < end; i++ {
				if gap[i] < gap[least] {
					least = i
				}
			}
		case gap[end-1] < gap[least]:
			least = end - 1
		default:
			continue
		}
		dst = append(dst, uint32(gap[least]>>32))
	}
	return dst
}
