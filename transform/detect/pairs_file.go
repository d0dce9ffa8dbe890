// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/retcon-bench/retcon/schemas"
)

// PairLine is one line of a file of pairs: what [WritePairs] writes for a
// model to be run elsewhere, and with the probabilities filled in, what
// [ReadPairScores] reads. The sentences themselves may be left out on the way
// back.
type PairLine struct {
	ExampleID     string   `json:"example_id"`
	TextHash      string   `json:"text_hash"`
	I             *int     `json:"i"` // number of the premise, the earlier sentence
	J             *int     `json:"j"`
	Premise       string   `json:"premise,omitempty"`
	Hypothesis    string   `json:"hypothesis,omitempty"`
	Entailment    *float64 `json:"entailment,omitempty"`
	Neutral       *float64 `json:"neutral,omitempty"`
	Contradiction *float64 `json:"contradiction,omitempty"`
}

// WritePairs writes the pairs of a text as lines without scores.
func WritePairs(w io.Writer, t Text) error {
	var buf []byte
	return EachPair(t, func(block []Pair) (err error) {
		buf = buf[:0]
		for k := range block {
			p := &block[k]
			line := PairLine{ExampleID: p.TextID, TextHash: p.TextHash, I: &p.I, J: &p.J, Premise: p.Premise, Hypothesis: p.Hypothesis}
			if buf, err = schemas.AppendLine(buf, line); err != nil {
				return fmt.Errorf("%s, pair %d, %d: %w", p.TextID, p.I, p.J, err)
			}
		}
		_, err = w.Write(buf)
		return err
	})
}

// PairFile holds scores of pairs that were made elsewhere. It is read-only and
// safe for use from many goroutines.
type PairFile struct {
	name  string
	texts map[string]*filedText
}

type filedText struct {
	hash  string
	pairs []filedPair // by (i, j)
}

type filedPair struct {
	i, j, line int32
	score      PairScore
}

func (p filedPair) order(q filedPair) int {
	return cmp.Or(cmp.Compare(p.i, q.i), cmp.Compare(p.j, q.j))
}

// ReadPairScores reads a file of [PairLine] values with scores, in any order.
// label names the scores in predictions, name the file in errors, which name
// the line too.
func ReadPairScores(r io.Reader, name, label string) (*PairFile, error) {
	f := &PairFile{name: label, texts: map[string]*filedText{}}
	br := bufio.NewReaderSize(r, 1<<18)
	for n := 1; ; n++ {
		line, err := br.ReadBytes('\n')
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		if len(bytes.TrimSpace(line)) > 0 {
			if perr := f.add(line, n); perr != nil {
				return nil, fmt.Errorf("%s:%d: %w", name, n, perr)
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s, line %d: %w", name, n, err)
		}
	}
	if len(f.texts) == 0 {
		return nil, fmt.Errorf("%s: no scores of sentence pairs in it", name)
	}
	for id, t := range f.texts {
		slices.SortStableFunc(t.pairs, filedPair.order)
		for k := 1; k < len(t.pairs); k++ {
			if a, b := t.pairs[k-1], t.pairs[k]; a.order(b) == 0 {
				return nil, fmt.Errorf("%s:%d: sentences %d and %d of %s have a score already, in line %d", name, b.line, b.i, b.j, id, a.line)
			}
		}
	}
	return f, nil
}

func (f *PairFile) add(line []byte, n int) error {
	var l PairLine
	// Lenient: a run elsewhere may add columns of its own.
	if err := schemas.ParseForeign(line, &l); err != nil {
		return err
	}
	switch {
	case l.ExampleID == "":
		return errors.New("no example_id")
	case l.I == nil || l.J == nil:
		return errors.New("no i or no j, the numbers of the two sentences")
	case *l.I < 0 || *l.J <= *l.I || *l.J > math.MaxInt32:
		return fmt.Errorf("i is %d and j %d: want 0 <= i < j, the earlier sentence first", *l.I, *l.J)
	case l.Contradiction == nil:
		return fmt.Errorf("sentences %d and %d of %s have no contradiction score", *l.I, *l.J, l.ExampleID)
	}
	known := func(v *float64) float64 {
		if v == nil {
			return math.NaN()
		}
		return *v
	}
	s := PairScore{known(l.Entailment), known(l.Neutral), *l.Contradiction}
	if math.IsNaN(s.Entailment) || math.IsNaN(s.Neutral) {
		return fmt.Errorf("sentences %d and %d of %s need all of entailment, neutral and contradiction", *l.I, *l.J, l.ExampleID)
	}
	if err := s.check(); err != nil {
		return fmt.Errorf("sentences %d and %d of %s: %w", *l.I, *l.J, l.ExampleID, err)
	}
	t := f.texts[l.ExampleID]
	if t == nil {
		t = &filedText{hash: l.TextHash}
		f.texts[l.ExampleID] = t
	}
	if t.hash != l.TextHash {
		return fmt.Errorf("text_hash of %s differs from that of its earlier lines", l.ExampleID)
	}
	t.pairs = append(t.pairs, filedPair{int32(*l.I), int32(*l.J), int32(n), s})
	return nil
}

// Name is the label the scores were given.
func (f *PairFile) Name() string { return f.name }

// ScorePairs looks pairs up. A pair without a score is an error, not a pair
// without contradiction.
func (f *PairFile) ScorePairs(_ context.Context, pairs []Pair) ([]PairScore, error) {
	out := make([]PairScore, len(pairs))
	for k, p := range pairs {
		t := f.texts[p.TextID]
		if t == nil {
			return nil, fmt.Errorf("the scores hold no pair of this text")
		}
		if t.hash != "" && t.hash != p.TextHash {
			return nil, fmt.Errorf("the scores were made on another text (text_hash differs)")
		}
		sc, ok := f.find(p)
		if !ok {
			return nil, fmt.Errorf("the scores lack sentences %d and %d", p.I, p.J)
		}
		out[k] = sc
	}
	return out, nil
}
