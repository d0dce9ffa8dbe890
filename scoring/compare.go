// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"encoding/json"
	"math"
	"math/bits"
	"sync/atomic"

	"gonum.org/v1/gonum/stat"
)

// Comparison says whether two systems differ in one metric.
type Comparison struct {
	Metric string
	A, B   string // names, as given
	// Diff is B minus A over the rows both have, with its bootstrap interval.
	Diff Score
	// Permutation is the two-sided p of swapping the systems' answers by
	// source group: exact where few groups differ, else of r.N draws. It
	// holds whatever ties the rows of one source.
	Permutation float64
	// McNemar is the exact two-sided p over rows, for metrics that are a share
	// of right rows; NaN otherwise, or with several samples a row. It takes rows
	// for independent.
	McNemar         float64
	OnlyA, OnlyB    int     // rows only one has right, where McNemar applies
	PermutationHolm float64 // corrected over all comparisons made together
	McNemarHolm     float64
	SE              float64 // bootstrap standard error of Diff
	Detectable      float64 // smallest difference found with 80 % power at 5 %, two-sided
	Groups          int
}

// MarshalJSON writes undefined numbers as null.
func (c Comparison) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Metric          string   `json:"metric"`
		A               string   `json:"a"`
		B               string   `json:"b"`
		Diff            Score    `json:"difference"`
		Permutation     *float64 `json:"p_permutation"`
		PermutationHolm *float64 `json:"p_permutation_holm"`
		McNemar         *float64 `json:"p_mcnemar"`
		McNemarHolm     *float64 `json:"p_mcnemar_holm"`
		OnlyA           int      `json:"only_a"`
		OnlyB           int      `json:"only_b"`
		SE              *float64 `json:"se"`
		Detectable      *float64 `json:"detectable"`
		Groups          int      `json:"groups"`
	}{
		c.Metric, c.A, c.B, c.Diff, nullable(c.Permutation), nullable(c.PermutationHolm), nullable(c.McNemar), nullable(c.McNemarHolm),
		c.OnlyA, c.OnlyB, nullable(c.SE), nullable(c.Detectable), c.Groups,
	})
}

// detect is z(0.975) + z(0.80).
const detect = 1.959963984540054 + 0.8416212335729143

// System is a named list of verdicts.
type System struct {
	Name     string
	Verdicts []Verdict
}

// Compare compares two systems. For more than two, [CompareAll] corrects for
// their number.
func Compare(m Metric, a, b System, r Resampling) Comparison {
	return CompareAll(m, []System{a, b}, r)[0]
}

// CompareAll compares each system with each later one, and corrects the p
// values of all pairs by Holm's method. Rows that not every system has are
// left out, with a warning.
func CompareAll(m Metric, systems []System, r Resampling) []Comparison {
	common, left := commonRows(systems)
	groups, _ := groupTallies(common)
	n := r.n()
	values := make([][]float64, len(systems))
	for i := range values {
		values[i] = make([]float64, n)
	}
	if len(groups) > 0 {
		r.each(groups, len(systems), func(i int, sums []Tally) {
			for s := range sums {
				values[s][i], _ = m.of(&sums[s])
			}
		})
	}
	var out []Comparison
	var perms, mcs []float64
	for i := range systems {
		for j := i + 1; j < len(systems); j++ {
			c := Comparison{Metric: m.Name, A: systems[i].Name, B: systems[j].Name, Groups: len(groups)}
			ti, tj := Count(common[i]), Count(common[j])
			vi, _ := m.of(&ti)
			vj, nj := m.of(&tj)
			c.Diff = Score{Metric: m.Name, Value: vj - vi, N: int(nj)}
			if left > 0 {
				c.Diff.Skipped = left
				c.Diff.Warnings = append(c.Diff.Warnings, "rows that not every system has are left out")
			}
			diffs := make([]float64, n)
			for k := range diffs {
				diffs[k] = values[j][k] - values[i][k]
			}
			c.SE = deviation(diffs)
			c.Detectable = detect * c.SE
			if len(groups) > 0 {
				c.Diff.Interval = r.interval(diffs, len(groups))
			}
			c.Permutation = r.permute(m, groups, i, j)
			c.McNemar = math.NaN()
			if m.right != nil {
				c.OnlyA, c.OnlyB, c.McNemar = discordant(m, common[i], common[j])
			}
			perms, mcs = append(perms, c.Permutation), append(mcs, c.McNemar)
			out = append(out, c)
		}
	}
	perms, mcs = Holm(perms), Holm(mcs)
	for i := range out {
		out[i].PermutationHolm, out[i].McNemarHolm = perms[i], mcs[i]
	}
	return out
}

type rowKey struct {
	id     string
	sample int
}

// commonRows keeps the rows that all systems have, and counts those left out.
func commonRows(systems []System) (common [][]Verdict, left int) {
	seen := map[rowKey]int{}
	for _, s := range systems {
		for i := range s.Verdicts {
			seen[rowKey{s.Verdicts[i].Item.ID, s.Verdicts[i].Sample}]++
		}
	}
	common = make([][]Verdict, len(systems))
	for k, s := range systems {
		for _, v := range s.Verdicts {
			if seen[rowKey{v.Item.ID, v.Sample}] == len(systems) {
				common[k] = append(common[k], v)
			} else {
				left++
			}
		}
	}
	return common, left
}

// deviation is the sample deviation of the defined values.
func deviation(x []float64) float64 {
	var defined []float64
	for _, v := range x {
		if !math.IsNaN(v) {
			defined = append(defined, v)
		}
	}
	if len(defined) < 2 {
		return math.NaN()
	}
	return stat.StdDev(defined, nil)
}

// discordant counts rows that only one of two systems has right. p is NaN
// with several samples a row: they are no independent pairs.
func discordant(m Metric, a, b []Verdict) (onlyA, onlyB int, p float64) {
	rows := map[string]*Verdict{}
	for i := range a {
		if rows[a[i].Item.ID] != nil {
			return 0, 0, math.NaN()
		}
		rows[a[i].Item.ID] = &a[i]
	}
	for i := range b {
		v := rows[b[i].Item.ID]
		if v == nil {
			return 0, 0, math.NaN()
		}
		switch ra, rb := m.right(v), m.right(&b[i]); {
		case ra && !rb:
			onlyA++
		case rb && !ra:
			onlyB++
		}
	}
	return onlyA, onlyB, McNemar(onlyA, onlyB)
}

// permute is the group permutation test: under the hypothesis of no
// difference, which of the two systems gave the answers to a group is a coin
// toss.
func (r Resampling) permute(m Metric, groups [][]Tally, i, j int) float64 {
	var a, b Tally
	var diffs []Tally // b - a, of the groups in which they differ
	for _, g := range groups {
		a.plus(&g[i])
		b.plus(&g[j])
		if g[i] != g[j] {
			var d Tally
			for c := range d {
				d[c] = g[j][c] - g[i][c]
			}
			diffs = append(diffs, d)
		}
	}
	va, _ := m.of(&a)
	vb, _ := m.of(&b)
	observed := math.Abs(vb - va)
	if math.IsNaN(observed) {
		return math.NaN()
	}
	if len(diffs) == 0 {
		return 1
	}
	extreme := func(swapped *Tally) bool {
		pa, pb := a, b
		for c, d := range swapped {
			pa[c] += d
			pb[c] -= d
		}
		x, _ := m.of(&pa)
		y, _ := m.of(&pb)
		return math.Abs(y-x) >= observed-1e-12
	}
	if k := len(diffs); k < bits.Len(uint(r.n())) {
		// All 2^k ways are no more than the draws would be.
		count := 0
		for ways := range 1 << k {
			var s Tally
			for g := range diffs {
				if ways>>g&1 == 1 {
					s.plus(&diffs[g])
				}
			}
			if extreme(&s) {
				count++
			}
		}
		return float64(count) / float64(int(1)<<k)
	}
	rows := make([][]Tally, len(diffs))
	for g := range diffs {
		rows[g] = diffs[g : g+1]
	}
	dense, cols := pack(rows, 1)
	var count atomic.Int64
	parallelChunks(r.n(), r.Workers, func(from, to int) {
		mine := 0
		sum := make([]float64, len(cols))
		for k := from; k < to; k++ {
			rng := r.stream(k)
			clear(sum)
			var coins uint64
			for g := range diffs {
				if g%64 == 0 {
					coins = rng.Uint64()
				}
				if coins&1 == 1 {
					for c, v := range dense[g*len(cols) : (g+1)*len(cols)] {
						sum[c] += v
					}
				}
				coins >>= 1
			}
			var s Tally
			for c, at := range cols {
				s[at] = sum[c]
			}
			if extreme(&s) {
				mine++
			}
		}
		count.Add(int64(mine))
	})
	// The observed way is one of the ways.
	return float64(1+count.Load()) / float64(1+r.n())
}

// Detected is one story without gold: did a system claim an error in it?
type Detected struct {
	Group    string // the source story, which ties a text to its original
	Answered bool
	Error    bool
}

// RateComparison is the study of figure 2: how often errors are claimed in
// generated texts, against the human originals.
type RateComparison struct {
	Base  Score `json:"originals"`  // share of originals with a claimed error, of those answered
	Rate  Score `json:"texts"`      // the same of the texts
	Diff  Score `json:"difference"` // Rate - Base
	Ratio Score `json:"ratio"`      // Rate / Base; undefined where Base is 0
}

// CompareRates compares claims in texts with claims in the originals they were
// made from. Texts without a readable answer are skipped. Intervals are by
// source group, originals and texts of one source together.
func CompareRates(base, texts []Detected, r Resampling) RateComparison {
	systems := [][]Verdict{asVerdicts(base), asVerdicts(texts)}
	groups, _ := groupTallies(systems)
	claim := func(t *Tally) float64 { return ratio(t[countFP], t[countAnswered]) }
	figures := func(s []Tally) [4]float64 {
		a, b := claim(&s[0]), claim(&s[1])
		out := [4]float64{a, b, b - a, math.NaN()}
		if a > 0 {
			out[3] = b / a
		}
		return out
	}
	totals := []Tally{Count(systems[0]), Count(systems[1])}
	var values [4][]float64
	for i := range values {
		values[i] = make([]float64, r.n())
	}
	if len(groups) > 0 {
		r.each(groups, 2, func(i int, sums []Tally) {
			for k, v := range figures(sums) {
				values[k][i] = v
			}
		})
	}
	var out RateComparison
	point := figures(totals)
	for k, s := range []*Score{&out.Base, &out.Rate, &out.Diff, &out.Ratio} {
		t := totals[min(k, 1)]
		*s = Score{
			Metric: []string{"rate_originals", "rate", "rate_difference", "rate_ratio"}[k], Value: point[k],
			N: int(t[countAnswered]), Skipped: int(t[countRows] - t[countAnswered]),
		}
		if len(groups) > 0 {
			s.Interval = r.interval(values[k], len(groups))
		}
	}
	return out
}

func asVerdicts(d []Detected) []Verdict {
	out := make([]Verdict, len(d))
	for i, x := range d {
		out[i] = Verdict{Item: &Item{Group: x.Group, Match: x.Group}, Answered: x.Answered, Error: x.Error}
	}
	return out
}
