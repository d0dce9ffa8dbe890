// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// GRROptions choose the definition of a [GRRTable].
type GRROptions struct {
	Errors ErrorDef
	Words  WordCount
	// Strict leaves out stories whose check is not complete. Otherwise, as in
	// the reference, what the judge failed to answer counts as clean.
	Strict bool
	// Common ranks only the prompts for which every model has a story.
	Common bool
	// Resampling adds intervals, drawn over prompts; nil leaves them out.
	Resampling *Resampling
}

// GRRTable is group relative rank: models are ranked by Q = words/(1+errors)
// among those that have a story for the same prompt, 1 for the highest; ties
// all take the lowest number; prompts with fewer than two models are skipped;
// a model's GRR is the mean of its ranks. Lower is better.
type GRRTable struct {
	Errors    ErrorDef   `json:"errors_as"`
	WordCount WordCount  `json:"words_as"`
	Strict    bool       `json:"strict"`
	Common    bool       `json:"common"`
	Models    []ModelGRR `json:"models"` // best first; models without a rank last
	Prompts   int        `json:"prompts"`
	Skipped   int        `json:"prompts_skipped"` // fewer than two models, or with Common not all
	LeftOut   int        `json:"stories_left_out"`
	// Failed counts stories ranked although their check is not complete.
	Failed   int      `json:"stories_ranked_incomplete"`
	Warnings []string `json:"warnings,omitempty"`
}

// ModelGRR is a model's line.
type ModelGRR struct {
	Model  string `json:"model"`
	GRR    Number `json:"grr"`
	Score  Number `json:"score"` // highest GRR of the table - GRR + 1 (figure B1): higher is better
	Ranked int    `json:"ranked"`
	Firsts int    `json:"firsts"` // prompts on which no model is better

	Interval *Interval `json:"-"` // of GRR
}

// MarshalJSON writes the line with its interval, if it has one.
func (m ModelGRR) MarshalJSON() ([]byte, error) {
	type plain ModelGRR
	return json.Marshal(struct {
		plain
		Interval *intervalJSON `json:"interval,omitempty"`
	}{plain(m), m.Interval.json()})
}

// GRR ranks models. Each run is one model's stories, named by the run; records
// are brought together by ID. The same prompt twice in one run is an error,
// for there is no telling which story is meant.
func GRR(runs []CheckRun, o GRROptions) (GRRTable, error) {
	t := GRRTable{Errors: o.Errors, WordCount: o.Words, Strict: o.Strict, Common: o.Common}
	type entry struct {
		model int
		q     float64
		whole bool
	}
	prompts := map[string][]entry{}
	var order []string
	names := map[string]bool{}
	for m, run := range runs {
		if names[run.Name] {
			return t, fmt.Errorf("rank: two runs are called %q; give each model one run", run.Name)
		}
		names[run.Name] = true
		seen := make(map[string]bool, len(run.Records))
		for i := range run.Records {
			r := &run.Records[i]
			if seen[r.ID] {
				return t, fmt.Errorf("rank: run %q has story %s twice", run.Name, r.ID)
			}
			seen[r.ID] = true
			if _, ok := prompts[r.ID]; !ok {
				order = append(order, r.ID)
				prompts[r.ID] = nil
			}
			if !r.HasText || o.Strict && !r.Complete() {
				t.LeftOut++
				continue
			}
			prompts[r.ID] = append(prompts[r.ID], entry{m, r.Quality(o.Words, o.Errors), r.Complete()})
		}
	}
	var units [][]float64 // a prompt: each model's rank, and whether it has one
	sums, counts, firsts := make([]int, len(runs)), make([]int, len(runs)), make([]int, len(runs))
	for _, id := range order {
		es := prompts[id]
		if len(es) < 2 || o.Common && len(es) < len(runs) {
			t.Skipped++
			continue
		}
		t.Prompts++
		unit := make([]float64, 2*len(runs))
		units = append(units, unit)
		for _, e := range es {
			rank := 1
			for _, f := range es {
				if f.q > e.q {
					rank++
				}
			}
			sums[e.model] += rank
			unit[2*e.model], unit[2*e.model+1] = float64(rank), 1
			counts[e.model]++
			if rank == 1 {
				firsts[e.model]++
			}
			if !e.whole {
				t.Failed++
			}
		}
	}
	worst := math.NaN()
	for m, run := range runs {
		g := ratio(float64(sums[m]), float64(counts[m]))
		t.Models = append(t.Models, ModelGRR{run.Name, Number(g), Number(math.NaN()), counts[m], firsts[m], nil})
		if !math.IsNaN(g) && !(g <= worst) {
			worst = g
		}
	}
	if o.Resampling != nil {
		var figures []func([]float64) float64
		for m := range runs {
			figures = append(figures, func(s []float64) float64 { return ratio(s[2*m], s[2*m+1]) })
		}
		for m, iv := range o.Resampling.bySum("bootstrap by prompt", units, figures) {
			t.Models[m].Interval = iv
		}
	}
	for i := range t.Models {
		t.Models[i].Score = Number(worst) - t.Models[i].GRR + 1
	}
	slices.SortStableFunc(t.Models, func(a, b ModelGRR) int {
		if a.GRR.Defined() != b.GRR.Defined() {
			if a.GRR.Defined() {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.GRR, b.GRR)
	})
	if t.Failed > 0 {
		t.Warnings = append(t.Warnings, fmt.Sprintf("%d ranked stories were not judged or only in part; as in the reference, what failed counts as clean (strict leaves them out)", t.Failed))
	}
	return t, nil
}
