// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/retcon-bench/retcon/schemas"
)

// HumanRows are people's answers scored in two ways. Only rows that somebody
// answered are in them.
type HumanRows struct {
	// Majority has one verdict a row. The label is that of strictly more than
	// half of the readable answers (else the row is "undecided": no answer),
	// a sentence counts if strictly more than half of those who said "error"
	// named it.
	Majority []Verdict
	// Single has one verdict an answer; its scores are means of single answers.
	Single []Verdict
	// Annotators that answered a row: least and most.
	Least, Most int
}

// OutcomeUndecided marks a row on which people's answers split evenly.
const OutcomeUndecided = "undecided"

// Human scores the answers of several people: predictions whose Model names
// the annotator. An annotator who answered a row twice counts once, with the
// last answer.
func Human(key *Key, s Scorer, answers []schemas.Prediction) (HumanRows, error) {
	byItem := map[*Item][]schemas.Prediction{}
	for n, p := range answers {
		it := key.Item(p.ExampleID)
		if it == nil {
			return HumanRows{}, fmt.Errorf("answer %d by %s: %s holds no row %q", n+1, p.Model, key.Config, p.ExampleID)
		}
		if p.TextHash != "" && p.TextHash != it.TextHash {
			return HumanRows{}, fmt.Errorf("answer %d by %s: row %s was answered on another text (text_hash differs)", n+1, p.Model, p.ExampleID)
		}
		of := byItem[it]
		if i := slices.IndexFunc(of, func(q schemas.Prediction) bool { return q.Model == p.Model }); i >= 0 {
			of[i] = p
		} else {
			byItem[it] = append(of, p)
		}
	}
	var out HumanRows
	for _, it := range key.Items() {
		of := byItem[it]
		if len(of) == 0 {
			continue
		}
		if out.Least == 0 || len(of) < out.Least {
			out.Least = len(of)
		}
		out.Most = max(out.Most, len(of))
		slices.SortFunc(of, func(a, b schemas.Prediction) int { return cmp.Compare(a.Model, b.Model) })
		for i := range of {
			p := of[i]
			p.Sample = i
			out.Single = append(out.Single, s.Judge(it, &p))
		}
		maj := majorityAnswer(s, it, of)
		out.Majority = append(out.Majority, s.Judge(it, &maj))
	}
	return out, nil
}

func majorityAnswer(s Scorer, it *Item, of []schemas.Prediction) schemas.Prediction {
	out := schemas.Prediction{ExampleID: it.ID, TextHash: it.TextHash, Model: "majority", Outcome: OutcomeUndecided}
	var yes, no int
	var sides [2]map[int]int
	for side := range sides {
		sides[side] = map[int]int{}
	}
	for i := range of {
		v := s.Judge(it, &of[i])
		switch {
		case !v.Answered:
			continue
		case !v.Error:
			no++
			continue
		}
		yes++
		for side := range sides {
			ids, quotes := sideOf(&of[i], Side(side))
			if len(ids) == 0 {
				ids = s.Sentences(it, quotes)
			}
			for n, id := range ids {
				if s.Name == Default.Name && n == maxSentences {
					break
				}
				if !slices.Contains(ids[:n], id) {
					sides[side][id]++
				}
			}
		}
	}
	switch Majority(yes, no, 1) {
	case Rejected:
		out.Outcome, out.Label = OutcomeOK, schemas.LabelConsistent
	case Accepted:
		out.Outcome, out.Label = OutcomeOK, schemas.LabelError
		for side, votes := range sides {
			var ids []int
			for id, n := range votes {
				if 2*n > yes {
					ids = append(ids, id)
				}
			}
			slices.Sort(ids)
			if Side(side) == SideError {
				out.ErrorSentences = ids
			} else {
				out.ContradictedSentences = ids
			}
		}
	}
	return out
}

// Sample draws n rows for people to answer, as near to half positives as n and
// the key allow, no two of one source story (a reader of both versions would
// know the answer). The draw is a hash of (seed, example id): the same rows
// whatever their order in the key. Fewer than n come back where there are not
// enough sources.
func (k *Key) Sample(n int, seed uint64) []*Item {
	type drawn struct {
		it   *Item
		hash [32]byte
	}
	var order [2][]drawn // negatives, positives
	for _, it := range k.items {
		var b [8]byte
		binary.BigEndian.PutUint64(b[:], seed)
		d := drawn{it, sha256.Sum256(append(b[:], it.ID...))}
		i := 0
		if it.Error {
			i = 1
		}
		order[i] = append(order[i], d)
	}
	for _, o := range order {
		slices.SortFunc(o, func(a, b drawn) int { return slices.Compare(a.hash[:], b.hash[:]) })
	}
	taken := map[string]bool{}
	var out []*Item
	// Turn by turn, positives first: an odd n has one more of them.
	for turn := 1; len(out) < n && len(order[0])+len(order[1]) > 0; turn = 1 - turn {
		if len(order[turn]) == 0 {
			continue
		}
		for len(order[turn]) > 0 {
			it := order[turn][0].it
			order[turn] = order[turn][1:]
			if !taken[it.Group] {
				taken[it.Group] = true
				out = append(out, it)
				break
			}
		}
	}
	slices.SortFunc(out, func(a, b *Item) int { return cmp.Compare(a.ID, b.ID) })
	return out
}
