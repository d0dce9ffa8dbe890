// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"slices"
	"strings"

	"github.com/retcon-bench/retcon/schemas"
)

// yieldExamples is how many examples of a reason are kept.
const yieldExamples = 3

// Yield adds up the outcomes of a chain: how many records reached each step,
// how many left it, and why the others did not, with a few examples. Outcomes
// are added in reading order, so that the same records give the same examples.
type Yield struct {
	steps  []string
	tally  []Tally
	reason []map[string]*schemas.ReasonYield // by step
}

// NewYield returns the empty yield of a list of steps.
func NewYield[T any](steps []Step[T, T]) *Yield {
	y := &Yield{tally: make([]Tally, len(steps)), reason: make([]map[string]*schemas.ReasonYield, len(steps))}
	for i, s := range steps {
		y.steps = append(y.steps, s.Name)
		y.reason[i] = map[string]*schemas.ReasonYield{}
	}
	return y
}

// Count adds what became of one record to a yield.
func Count[T any](y *Yield, o Outcome[T]) {
	for i, t := range o.Tallies {
		y.tally[i].In += t.In
		y.tally[i].Out += t.Out
		y.tally[i].Waiting += t.Waiting
	}
	for k, d := range o.Dropped {
		i := slices.Index(y.steps, d.Stage)
		if i < 0 {
			continue
		}
		r := y.reason[i][d.Reason]
		if r == nil {
			r = &schemas.ReasonYield{Reason: d.Reason, Examples: []schemas.ReasonExample{}}
			y.reason[i][d.Reason] = r
		}
		if o.Ended[k] {
			r.Records++
		} else {
			r.Parts++
		}
		if len(r.Examples) < yieldExamples {
			r.Examples = append(r.Examples, schemas.ReasonExample{ID: d.ID, Detail: d.Detail})
		}
	}
}

// Stages returns the funnel, in the order of the steps; reasons by name.
func (y *Yield) Stages() []schemas.StageYield {
	out := make([]schemas.StageYield, len(y.steps))
	for i, s := range y.steps {
		out[i] = schemas.StageYield{Stage: s, In: y.tally[i].In, Out: y.tally[i].Out, Waiting: y.tally[i].Waiting, Reasons: []schemas.ReasonYield{}}
		for _, r := range y.reason[i] {
			out[i].Reasons = append(out[i].Reasons, *r)
		}
		slices.SortFunc(out[i].Reasons, func(a, b schemas.ReasonYield) int { return strings.Compare(a.Reason, b.Reason) })
	}
	return out
}
