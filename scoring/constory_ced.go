// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/retcon-bench/retcon/schemas"
)

// CEDOptions choose the definition of a [CED].
type CEDOptions struct {
	Errors ErrorDef
	Rows   RowSet
	Words  WordCount
	// Resampling adds intervals, drawn over stories; nil leaves them out.
	Resampling *Resampling
}

// CED is consistency error density: errors per 10,000 words.
type CED struct {
	Errors     ErrorDef      `json:"errors_as"`
	Rows       RowSet        `json:"rows"`
	WordCount  WordCount     `json:"words_as"`
	Stories    int           `json:"stories"`
	Words      int           `json:"total_words"`
	AvgWords   Number        `json:"avg_words"`
	Overall    Density       `json:"overall"`
	ByCategory []Density     `json:"by_category"` // in the order of schemas.Categories
	BySubtype  []Density     `json:"by_subtype"`
	Coverage   CheckCoverage `json:"coverage"`
	Warnings   []string      `json:"warnings,omitempty"`
}

// Density is an error density over stories. The paper's table prints Mean for
// the overall figure and Pooled for categories, which is why they do not add
// up; its appendix C prints Pooled for both.
type Density struct {
	Name     string `json:"name"`
	Mean     Number `json:"mean_of_stories"` // mean of errors / (words/10,000)
	Median   Number `json:"median"`
	SD       Number `json:"std_population"` // what the reference prints
	SampleSD Number `json:"std_sample"`
	Pooled   Number `json:"pooled"` // all errors / (all words/10,000)
	Errors   int    `json:"errors"`
	PerStory Number `json:"errors_per_story"`
	Stories  int    `json:"stories"`

	MeanInterval   *Interval `json:"-"`
	PooledInterval *Interval `json:"-"`
}

// MarshalJSON writes the figures with their intervals, where there are any.
func (d Density) MarshalJSON() ([]byte, error) {
	type plain Density
	return json.Marshal(struct {
		plain
		Mean   *intervalJSON `json:"mean_interval,omitempty"`
		Pooled *intervalJSON `json:"pooled_interval,omitempty"`
	}{plain(d), d.MeanInterval.json(), d.PooledInterval.json()})
}

// CEDOf computes error densities of a run.
func CEDOf(records []CheckRecord, o CEDOptions) CED {
	c := CED{Errors: o.Errors, Rows: o.Rows, WordCount: o.Words, Coverage: CoverageOf(records)}
	whole := rowsOf(records, o.Rows)
	for _, r := range whole {
		c.Words += r.WordsAs(o.Words)
	}
	c.Stories = len(whole)
	c.AvgWords = Number(ratio(float64(c.Words), float64(c.Stories)))
	density := func(name string, rows []*CheckRecord, count func(*ErrorCounts) int) Density {
		errs, words := make([]int, len(rows)), make([]int, len(rows))
		for i, r := range rows {
			errs[i], words[i] = count(&r.Counts[o.Errors]), r.WordsAs(o.Words)
		}
		return newDensity(name, errs, words)
	}
	c.Overall = density("overall", whole, (*ErrorCounts).Total)
	of := func(cat int) []*CheckRecord {
		if o.Rows != RowsJudged {
			return whole
		}
		var rows []*CheckRecord
		for i := range records {
			if records[i].HasText && records[i].Judged(cat) {
				rows = append(rows, &records[i])
			}
		}
		return rows
	}
	for cat := range schemas.Categories {
		c.ByCategory = append(c.ByCategory, density(schemas.Categories[cat].Name, of(cat), func(e *ErrorCounts) int { return e.Category(cat) }))
	}
	for i, s := range subtypes {
		c.BySubtype = append(c.BySubtype, density(s.column, of(s.category), func(e *ErrorCounts) int { return int(e[i]) }))
	}
	if o.Resampling != nil && len(records) > 0 {
		c.resample(records, o)
	}
	if w := c.Coverage.Warning(o.Rows); w != "" {
		c.Warnings = append(c.Warnings, w)
	}
	if c.Stories == 0 {
		c.Warnings = append(c.Warnings, "undefined: no story to divide by")
	}
	return c
}

// rowsOf returns the records of a row set; those of RowsJudged overall.
func rowsOf(records []CheckRecord, set RowSet) []*CheckRecord {
	var out []*CheckRecord
	for i := range records {
		if records[i].HasText && (set == RowsWithText || records[i].Complete()) {
			out = append(out, &records[i])
		}
	}
	return out
}

func newDensity(name string, errors, words []int) Density {
	nan := Number(math.NaN())
	d := Density{Name: name, Mean: nan, Median: nan, SD: nan, SampleSD: nan, Pooled: nan, PerStory: nan, Stories: len(words)}
	x := make([]float64, len(words))
	total, sum := 0, 0.0
	for i := range words {
		d.Errors += errors[i]
		total += words[i]
		x[i] = perTenThousand(errors[i], words[i])
		sum += x[i]
	}
	if len(x) == 0 {
		return d
	}
	n := float64(len(x))
	mean := sum / n
	d.Mean, d.Pooled, d.PerStory = Number(mean), Number(perTenThousand(d.Errors, total)), Number(float64(d.Errors)/n)
	squares := 0.0
	for _, v := range x {
		squares += (v - mean) * (v - mean)
	}
	d.SD = Number(math.Sqrt(squares / n))
	if len(x) > 1 {
		d.SampleSD = Number(math.Sqrt(squares / (n - 1)))
	}
	slices.Sort(x)
	d.Median = Number(quantile(x, 0.5))
	return d
}

// resample adds the intervals: stories are drawn with replacement, the same
// draws for all densities.
func (c *CED) resample(records []CheckRecord, o CEDOptions) {
	// Columns: for the whole and each category, the stories it is over and
	// their words; then for each density its errors and its sum of densities.
	// Where all categories are over the same stories, one column does for them.
	sets := 1
	for i := range records {
		if o.Rows == RowsJudged && records[i].HasText && !records[i].Complete() {
			sets = 1 + CheckCategories
			break
		}
	}
	densities := []*Density{&c.Overall}
	set := []int{0}
	for cat := range c.ByCategory {
		densities, set = append(densities, &c.ByCategory[cat]), append(set, (1+cat)%sets)
	}
	for i := range c.BySubtype {
		densities, set = append(densities, &c.BySubtype[i]), append(set, (1+subtypes[i].category)%sets)
	}
	var units [][]float64
	for i := range records {
		r := &records[i]
		if !r.HasText || o.Rows == RowsComplete && !r.Complete() {
			continue
		}
		in := make([]bool, sets)
		in[0] = o.Rows == RowsWithText || r.Complete()
		for s := 1; s < sets; s++ {
			in[s] = in[0] || r.Judged(s-1)
		}
		u := make([]float64, 2*sets+2*len(densities))
		words := r.WordsAs(o.Words)
		counts := &r.Counts[o.Errors]
		for s := range in {
			if in[s] {
				u[2*s], u[2*s+1] = 1, float64(words)
			}
		}
		for d := range densities {
			n := 0
			switch {
			case !in[set[d]]:
			case d == 0:
				n = counts.Total()
			case d <= CheckCategories:
				n = counts.Category(d - 1)
			default:
				n = int(counts[d-1-CheckCategories])
			}
			if n > 0 {
				u[2*sets+2*d], u[2*sets+2*d+1] = float64(n), perTenThousand(n, words)
			}
		}
		units = append(units, u)
	}
	var figures []func([]float64) float64
	for d := range densities {
		n, at := 2*set[d], 2*sets+2*d
		figures = append(figures,
			func(s []float64) float64 { return ratio(s[at+1], s[n]) },
			func(s []float64) float64 { return ratio(s[at], s[n+1]/10000) })
	}
	for i, iv := range o.Resampling.bySum("bootstrap by story", units, figures) {
		if i%2 == 0 {
			densities[i/2].MeanInterval = iv
		} else {
			densities[i/2].PooledInterval = iv
		}
	}
}

// TaskCED is the density of one task type (table B1).
type TaskCED struct {
	TaskType string `json:"task_type"`
	CED      CED    `json:"ced"`
}

// CEDByTask computes densities by task type: the four of the benchmark in the
// paper's order, then any others by name ("" is a story without one).
func CEDByTask(records []CheckRecord, o CEDOptions) []TaskCED {
	by := map[string][]CheckRecord{}
	for _, r := range records {
		by[r.TaskType] = append(by[r.TaskType], r)
	}
	names := slices.Clone(schemas.TaskTypes)
	var others []string
	for n := range by {
		if !slices.Contains(names, n) {
			others = append(others, n)
		}
	}
	slices.Sort(others)
	var out []TaskCED
	for _, n := range append(names, others...) {
		out = append(out, TaskCED{n, CEDOf(by[n], o)})
	}
	return out
}
