// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"context"
	"fmt"
	"math"

	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/scoring"
)

// Pair is an ordered pair of sentences of one text. The premise, sentence I,
// stands before the hypothesis, sentence J.
type Pair struct {
	TextID, TextHash    string
	I, J                int
	Premise, Hypothesis string
}

// PairScore holds the probabilities of the three classes of natural language
// inference. NaN is a class that the scorer kept to itself; it told a more
// probable one.
type PairScore struct {
	Entailment, Neutral, Contradiction float64
}

// Contradicts reports that contradiction is the most probable class. A tie is
// no contradiction.
func (s PairScore) Contradicts() bool {
	return !math.IsNaN(s.Contradiction) && !(s.Entailment >= s.Contradiction) && !(s.Neutral >= s.Contradiction)
}

// check refuses what is no set of probabilities, raw model outputs for one.
func (s PairScore) check() error {
	sum, known := 0.0, 0
	for _, v := range [3]float64{s.Entailment, s.Neutral, s.Contradiction} {
		switch {
		case math.IsNaN(v):
			continue
		case !(v >= 0 && v <= 1+1e-6):
			return fmt.Errorf("score %v is no probability: have the model's outputs put through softmax", v)
		}
		sum += v
		known++
	}
	switch {
	case known == 0:
		return fmt.Errorf("no class has a score")
	case sum > 1.02 || known == 3 && sum < 0.98:
		return fmt.Errorf("the scores of the classes sum to %.3g, not 1: have the model's outputs put through softmax over the three", sum)
	}
	return nil
}

// PairScorer says how two sentences of a story go together. [PairServer] asks
// a model, [PairFile] holds scores that were made elsewhere, [LexicalPairs]
// needs neither.
type PairScorer interface {
	// Name names the scorer in predictions.
	Name() string
	// ScorePairs returns one score a pair, in their order. All pairs of a call
	// are of one text.
	ScorePairs(ctx context.Context, pairs []Pair) ([]PairScore, error)
}

// pairBlock is how many pairs are held and scored at a time: a text of n
// sentences has n(n-1)/2 of them.
const pairBlock = 1024

// EachPair calls f with the ordered pairs of a text's sentences, in blocks, in
// order of (I, J).
func EachPair(t Text, f func([]Pair) error) error {
	sentences, err := t.cut()
	if err != nil {
		return fmt.Errorf("%s: %w", t.ID, err)
	}
	block := make([]Pair, 0, min(pairBlock, len(sentences)*len(sentences)/2+1))
	for i := range sentences {
		for j := i + 1; j < len(sentences); j++ {
			block = append(block, Pair{t.ID, t.TextHash, i, j, sentences[i], sentences[j]})
			if len(block) == pairBlock {
				if err := f(block); err != nil {
					return err
				}
				block = block[:0]
			}
		}
	}
	if len(block) == 0 {
		return nil
	}
	return f(block)
}

// cut returns the texts of the sentences: the frozen ones of a row, else those
// that the segmenter finds.
func (t Text) cut() ([]string, error) {
	var out []string
	if t.Sentences == nil {
		for _, r := range text.Sentences(t.Story) {
			out = append(out, r.Of(t.Story))
		}
		return out, nil
	}
	ix := text.NewIndex(t.Story)
	for i, b := range t.Sentences {
		sp, err := ix.FromRunes(b.Start, b.End)
		if err != nil {
			return nil, fmt.Errorf("sentence %d: %w", i, err)
		}
		out = append(out, t.Story[sp.ByteStart:sp.ByteEnd])
	}
	return out, nil
}

// Entailment is the paper's baseline of section 5.1: does any sentence
// contradict an earlier one, taken by themselves? Without such a pair the
// story has no error; else the pair whose contradiction is most probable says
// where, the first such pair in order of (I, J) where several are.
func Entailment(ctx context.Context, s PairScorer, t Text) (schemas.Prediction, error) {
	p := schemas.Prediction{ExampleID: t.ID, TextHash: t.TextHash, Model: EntailmentBaseline, Prompt: s.Name(),
		Outcome: scoring.OutcomeOK, Label: schemas.LabelConsistent, ErrorLines: []string{}, ContradictedLines: []string{}}
	var best Pair
	var highest float64
	pairs, contradict := 0, 0
	err := EachPair(t, func(block []Pair) error {
		scores, err := s.ScorePairs(ctx, block)
		if err != nil {
			return err
		}
		if len(scores) != len(block) {
			return fmt.Errorf("%s: %d scores for %d pairs", s.Name(), len(scores), len(block))
		}
		pairs += len(block)
		for k, sc := range scores {
			if !sc.Contradicts() {
				continue
			}
			if contradict++; contradict == 1 || sc.Contradiction > highest {
				best, highest = block[k], sc.Contradiction
			}
		}
		return nil
	})
	if err != nil {
		return schemas.Prediction{}, fmt.Errorf("%s: sentence pairs: %w", t.ID, err)
	}
	p.Explanation = fmt.Sprintf("%d of %d sentence pairs contradict each other by %s.", contradict, pairs, s.Name())
	if contradict > 0 {
		p.Label, p.Confidence = schemas.LabelError, &highest
		p.ContradictedSentences, p.ErrorSentences = []int{best.I}, []int{best.J}
		p.ContradictedLines, p.ErrorLines = []string{best.Premise}, []string{best.Hypothesis}
	}
	return p, nil
}
