// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"

	"github.com/retcon-bench/retcon/schemas"
)

// KeepPairs returns a scorer that asks s only for pairs which earlier does not
// hold (nil holds none), and writes what s says to w as lines that
// [ReadPairScores] reads, so that a run which was stopped asks nothing twice.
// Scores of which the server kept a class to itself are not kept.
func KeepPairs(s PairScorer, earlier *PairFile, w io.Writer) PairScorer {
	return &keptPairs{PairScorer: s, earlier: earlier, w: w}
}

type keptPairs struct {
	PairScorer
	earlier *PairFile

	mu sync.Mutex
	w  io.Writer
}

func (k *keptPairs) ScorePairs(ctx context.Context, pairs []Pair) ([]PairScore, error) {
	out := make([]PairScore, len(pairs))
	var open []Pair
	var at []int
	for i, p := range pairs {
		if sc, ok := k.earlier.find(p); ok {
			out[i] = sc
			continue
		}
		open, at = append(open, p), append(at, i)
	}
	if len(open) == 0 {
		return out, nil
	}
	scores, err := k.PairScorer.ScorePairs(ctx, open)
	if err != nil {
		return nil, err
	}
	if len(scores) != len(open) {
		return nil, fmt.Errorf("%s: %d scores for %d pairs", k.Name(), len(scores), len(open))
	}
	var buf []byte
	for i, sc := range scores {
		out[at[i]] = sc
		if math.IsNaN(sc.Entailment) || math.IsNaN(sc.Neutral) || math.IsNaN(sc.Contradiction) {
			continue
		}
		p := open[i]
		if buf, err = schemas.AppendLine(buf, PairLine{ExampleID: p.TextID, TextHash: p.TextHash, I: &p.I, J: &p.J,
			Entailment: &sc.Entailment, Neutral: &sc.Neutral, Contradiction: &sc.Contradiction}); err != nil {
			return nil, err
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, err := k.w.Write(buf); err != nil {
		return nil, fmt.Errorf("keeping scores of pairs: %w", err)
	}
	return out, nil
}

// find looks a pair up; a score made on another text is none.
func (f *PairFile) find(p Pair) (PairScore, bool) {
	if f == nil {
		return PairScore{}, false
	}
	t := f.texts[p.TextID]
	if t == nil || t.hash != "" && t.hash != p.TextHash {
		return PairScore{}, false
	}
	at, ok := slices.BinarySearchFunc(t.pairs, filedPair{i: int32(p.I), j: int32(p.J)}, filedPair.order)
	if !ok {
		return PairScore{}, false
	}
	return t.pairs[at].score, true
}
