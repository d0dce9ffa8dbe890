// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"math"

	"github.com/retcon-bench/retcon/schemas"
)

// CategoryMatrix is a figure for each pair of categories, in the order of
// [schemas.Categories].
type CategoryMatrix [CheckCategories][CheckCategories]Number

// CategoryCorrelation says which categories of errors occur together (figures
// 5 and B3). Pearson's r is undefined where a category is constant. All is
// over every row, AnyError over those with an error: leaving out clean stories
// pulls correlations down, so the two must not be mixed.
type CategoryCorrelation struct {
	Order        []string `json:"order"`
	Rows         int      `json:"rows"`
	WithAnyError int      `json:"rows_with_any_error"`
	Stories      []int    `json:"category_story_counts"` // with an error of the category
	// Conditional is P(column | row): of the stories with an error of the
	// row's category, those with one of the column's; 0 where there are none,
	// as the reference has it.
	Conditional       CategoryMatrix `json:"conditional_P_col_given_row"`
	BinaryAll         CategoryMatrix `json:"pearson_binary_all_rows"`
	BinaryAnyError    CategoryMatrix `json:"pearson_binary_rows_with_any_error"`
	FlagsAll          CategoryMatrix `json:"pearson_subtype_flags_all_rows"`
	FlagsAnyError     CategoryMatrix `json:"pearson_subtype_flags_rows_with_any_error"`
	InstancesAll      CategoryMatrix `json:"pearson_instances_all_rows"`
	InstancesAnyError CategoryMatrix `json:"pearson_instances_rows_with_any_error"`
	// BinaryIntervals are of BinaryAll.
	BinaryIntervals *[CheckCategories][CheckCategories]*Interval `json:"pearson_binary_all_rows_intervals,omitempty"`
}

// CorrelateCategories correlates over all records, as the reference does: a
// row without text or whose check failed is a row without errors.
// [CorrelateScored] leaves those out. Models are pooled by giving all their
// records, or compared by a call each.
func CorrelateCategories(records []CheckRecord) CategoryCorrelation {
	c := CategoryCorrelation{Rows: len(records), Stories: make([]int, CheckCategories)}
	var flags, inst, binary [CheckCategories][]float64
	var some []int // rows with an error
	for cat := range schemas.Categories {
		c.Order = append(c.Order, schemas.Categories[cat].Name)
		flags[cat], inst[cat], binary[cat] = make([]float64, len(records)), make([]float64, len(records)), make([]float64, len(records))
	}
	for i := range records {
		r := &records[i]
		hit := false
		for cat := range schemas.Categories {
			n := r.Counts[SubtypeFlags].Category(cat)
			flags[cat][i], inst[cat][i] = float64(n), float64(r.Counts[Instances].Category(cat))
			if n > 0 {
				binary[cat][i] = 1
				c.Stories[cat]++
				hit = true
			}
		}
		if hit {
			some = append(some, i)
		}
	}
	c.WithAnyError = len(some)
	for a := range schemas.Categories {
		for b := range schemas.Categories {
			both := 0.0
			for _, i := range some {
				both += binary[a][i] * binary[b][i]
			}
			if c.Stories[a] > 0 {
				c.Conditional[a][b] = Number(both / float64(c.Stories[a]))
			}
		}
	}
	c.BinaryAll, c.BinaryAnyError = correlate(binary, nil), correlate(binary, some)
	c.FlagsAll, c.FlagsAnyError = correlate(flags, nil), correlate(flags, some)
	c.InstancesAll, c.InstancesAnyError = correlate(inst, nil), correlate(inst, some)
	if len(some) == 0 {
		c.BinaryAnyError, c.FlagsAnyError, c.InstancesAnyError = undefinedMatrix(), undefinedMatrix(), undefinedMatrix()
	}
	return c
}

// CorrelateScored is [CorrelateCategories] over complete records.
func CorrelateScored(records []CheckRecord) CategoryCorrelation {
	var kept []CheckRecord
	for i := range records {
		if records[i].Complete() {
			kept = append(kept, records[i])
		}
	}
	return CorrelateCategories(kept)
}

func undefinedMatrix() (m CategoryMatrix) {
	for a := range m {
		for b := range m[a] {
			m[a][b] = Number(math.NaN())
		}
	}
	return m
}

// correlate correlates the columns over the rows named, nil for all.
func correlate(columns [CheckCategories][]float64, rows []int) (m CategoryMatrix) {
	if rows != nil {
		var picked [CheckCategories][]float64
		for cat, col := range columns {
			for _, i := range rows {
				picked[cat] = append(picked[cat], col[i])
			}
		}
		columns = picked
	}
	for a := range m {
		for b := range m[a] {
			m[a][b] = Number(pearson(columns[a], columns[b]))
		}
	}
	return m
}

// resample adds the intervals of BinaryAll, drawn over stories.
func (c *CategoryCorrelation) resample(records []CheckRecord, scoredOnly bool, r *Resampling) {
	if r == nil {
		return
	}
	// Columns: the stories, those with an error of each category, and of each pair.
	pair := func(a, b int) int { return 1 + CheckCategories + a*CheckCategories + b }
	var units [][]float64
	for i := range records {
		if scoredOnly && !records[i].Complete() {
			continue
		}
		u := make([]float64, 1+CheckCategories+CheckCategories*CheckCategories)
		u[0] = 1
		for a := range CheckCategories {
			if records[i].Counts[SubtypeFlags].Category(a) == 0 {
				continue
			}
			u[1+a] = 1
			for b := range a {
				if u[1+b] == 1 {
					u[pair(a, b)] = 1
				}
			}
		}
		units = append(units, u)
	}
	var figures []func([]float64) float64
	for a := range CheckCategories {
		for b := range a {
			figures = append(figures, func(s []float64) float64 {
				return pearsonOfSums(s[0], s[1+a], s[1+a], s[1+b], s[1+b], s[pair(a, b)])
			})
		}
	}
	list := r.bySum("bootstrap by story", units, figures)
	c.BinaryIntervals = &[CheckCategories][CheckCategories]*Interval{}
	i := 0
	for a := range CheckCategories {
		for b := range a {
			c.BinaryIntervals[a][b], c.BinaryIntervals[b][a] = list[i], list[i]
			i++
		}
	}
}
