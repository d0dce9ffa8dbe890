// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"fmt"
	"math"

	"github.com/retcon-bench/retcon/schemas"
)

// CompareSamples says how far several judgements of one story agree, by
// category, over all pairs of samples that both judged it. It needs located
// findings: [Measure] the rows first. Two findings of a category are the same
// when they are about the same two passages, in either order, under whatever
// subtype; each is paired once.
func CompareSamples(rows []CheckRow) []schemas.CheckAgreement {
	out := make([]schemas.CheckAgreement, CheckCategories)
	findings := make([][CheckCategories][]*CheckFinding, len(rows))
	for s := range rows {
		for i := range rows[s].Cells {
			cat := subtypes[i].category
			for k := range rows[s].Cells[i].Findings {
				f := &rows[s].Cells[i].Findings[k]
				again := false
				for _, g := range findings[s][cat] {
					again = again || sameFinding(g, f)
				}
				if !again {
					findings[s][cat] = append(findings[s][cat], f)
				}
			}
		}
	}
	for cat := range out {
		a := &out[cat]
		a.Category = schemas.Categories[cat].Name
		for s := range rows {
			for u := range s {
				if !judged(rows[s].Status[cat]) || !judged(rows[u].Status[cat]) {
					continue
				}
				schemas.AddPair(a, findings[u][cat], findings[s][cat], sameFinding)
			}
		}
	}
	return out
}

// RepeatRow is the self-agreement of a judge in one category, or in all.
type RepeatRow struct {
	Category string `json:"category"`
	Pairs    int    `json:"pairs"`  // of samples of a story that were both judged
	Either   int    `json:"either"` // findings of one or both samples of a pair
	// Same is the share of pairs that agree on whether there is an error;
	// where errors are rare it is high whatever the judge does.
	Same Score `json:"same_verdict"`
	// Findings is the share of findings of one or both samples that both
	// report (Jaccard), undefined where no sample reports any.
	Findings Score `json:"same_findings"`
}

// RepeatAnalysis is a judge's agreement with itself.
type RepeatAnalysis struct {
	Stories int         `json:"stories"` // judged more than once
	Samples int         `json:"samples"` // most of a story
	Rows    []RepeatRow `json:"rows"`    // five categories, then all
	// Densities are of each sample by itself (mean of stories, subtype flags),
	// where the samples are runs of their own: how far the figure itself moves.
	Densities []Number `json:"ced_by_sample,omitempty"`
}

// SelfAgreement sums up stories. Intervals are drawn over stories; r nil
// leaves them out.
func SelfAgreement(stories [][]schemas.CheckAgreement, r *Resampling) (RepeatAnalysis, error) {
	const width, rows = 4, CheckCategories + 1
	var a RepeatAnalysis
	var units [][]float64
	total := make([]float64, width*rows)
	for _, list := range stories {
		u := make([]float64, len(total))
		pairs := 0
		for _, c := range list {
			cat := categoryIndex(c.Category)
			if cat < 0 {
				return a, fmt.Errorf("agreement of samples: unknown category %q", c.Category)
			}
			for k, v := range []int{c.Pairs, c.Both, c.Either, c.Same} {
				u[cat*width+k] += float64(v)
				u[CheckCategories*width+k] += float64(v)
			}
			pairs += c.Pairs
			// k samples make k(k-1)/2 pairs.
			a.Samples = max(a.Samples, int(math.Round((1+math.Sqrt(1+8*float64(c.Pairs)))/2)))
		}
		if pairs == 0 {
			continue
		}
		a.Stories++
		units = append(units, u)
		for c, v := range u {
			total[c] += v
		}
	}
	a.Rows = make([]RepeatRow, rows)
	var figures []func([]float64) float64
	for c := range a.Rows {
		row, at := &a.Rows[c], c*width
		row.Category = "all"
		if c < CheckCategories {
			row.Category = schemas.Categories[c].Name
		}
		row.Pairs, row.Either = int(total[at]), int(total[at+2])
		same := func(s []float64) float64 { return ratio(s[at+3], s[at]) }
		both := func(s []float64) float64 { return ratio(s[at+1], s[at+2]) }
		row.Same = Score{Metric: "same_verdict", Value: same(total), N: row.Pairs}
		row.Findings = Score{Metric: "same_findings", Value: both(total), N: row.Either}
		figures = append(figures, same, both)
	}
	if r != nil && len(units) > 0 {
		for i, iv := range r.bySum("bootstrap by story", units, figures) {
			if i%2 == 0 {
				a.Rows[i/2].Same.Interval = iv
			} else {
				a.Rows[i/2].Findings.Interval = iv
			}
		}
	}
	return a, nil
}
