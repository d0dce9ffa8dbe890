// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/retcon-bench/retcon/schemas"
)

// quantile interpolates linearly between order statistics at (n-1)p: type 7
// of Hyndman and Fan, the default of R, numpy and pandas. sorted is not empty.
func quantile(sorted []float64, p float64) float64 {
	at := p * float64(len(sorted)-1)
	i := int(math.Floor(at))
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// Lengths describes word counts as the paper's tables A2 and A3 do: sample
// deviation (n-1), quartiles by linear interpolation as numpy and pandas have
// them. Values carry 4 decimals, as all derived numbers of a release. Without
// values it returns nil; the deviation of a single value, which is undefined,
// is 0, for the record has no room for null.
func Lengths(words []int) *schemas.LengthStat {
	if len(words) == 0 {
		return nil
	}
	x := make([]float64, len(words))
	for i, w := range words {
		x[i] = float64(w)
	}
	slices.Sort(x)
	mean, sd := stat.MeanStdDev(x, nil)
	if len(x) == 1 {
		sd = 0
	}
	return &schemas.LengthStat{
		N: len(x), Mean: round4(mean), SD: round4(sd), Min: x[0], Max: x[len(x)-1],
		Q1: round4(quantile(x, 0.25)), Median: round4(quantile(x, 0.5)), Q3: round4(quantile(x, 0.75)),
	}
}

func round4(v float64) float64 { return math.Round(v*1e4) / 1e4 }

// Correlation is a correlation with its test against 0.
type Correlation struct {
	R float64 // NaN if a variable is constant
	T float64 // with N-2 degrees of freedom
	P float64 // two-sided
	N int
}

// MarshalJSON writes undefined numbers as null.
func (c Correlation) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		R *float64 `json:"r"`
		T *float64 `json:"t"`
		P *float64 `json:"p"`
		N int      `json:"n"`
	}{nullable(c.R), nullable(c.T), nullable(c.P), c.N})
}

// PointBiserial correlates a yes/no outcome with a number: Pearson's r with
// yes as 1, tested by t = r*sqrt((n-2)/(1-r^2)) with n-2 degrees of freedom.
// R is NaN if either is constant or there are fewer than 3 values; P is 0 if
// |R| is 1.
func PointBiserial(outcome []bool, x []float64) Correlation {
	c := Correlation{R: math.NaN(), T: math.NaN(), P: math.NaN(), N: len(x)}
	if len(outcome) != len(x) || len(x) < 3 {
		return c
	}
	y := make([]float64, len(x))
	for i, o := range outcome {
		if o {
			y[i] = 1
		}
	}
	if constant(x) || constant(y) {
		return c
	}
	c.R = stat.Correlation(y, x, nil)
	c.T, c.P = rTest(c.R, float64(len(x)))
	return c
}

func constant(x []float64) bool {
	return !slices.ContainsFunc(x, func(v float64) bool { return v != x[0] })
}

// rTest tests a correlation of n pairs against 0.
func rTest(r, n float64) (t, p float64) {
	if math.Abs(r) >= 1 {
		return math.Copysign(math.Inf(1), r), 0
	}
	t = r * math.Sqrt((n-2)/(1-r*r))
	// The lower tail keeps its digits where 1-CDF would cancel.
	return t, 2 * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 2}.CDF(-math.Abs(t))
}

// LengthCorrelation correlates each item's CEEval-Full with the story's words
// (table A6). One configuration a call: verdicts of several systems on the
// same rows are not independent, and pooling them, as the paper seems to have
// done for three rows, makes p too small.
func LengthCorrelation(vs []Verdict) Correlation {
	outcome := make([]bool, len(vs))
	words := make([]float64, len(vs))
	for i := range vs {
		outcome[i] = vs[i].Full()
		words[i] = float64(vs[i].Item.Words)
	}
	return PointBiserial(outcome, words)
}

// ImpliedN returns the numbers of pairs for which a correlation printed as r
// has a two-sided p of p: the range that follows from r's rounding, half a unit of
// its last digit (0.0005 for three decimals) to either side.
func ImpliedN(r, p, half float64) (low, high float64) {
	solve := func(r float64) float64 {
		a, b := 3.0, 1e7
		for range 200 {
			mid := (a + b) / 2
			if _, got := rTest(r, mid); got > p {
				a = mid
			} else {
				b = mid
			}
		}
		return (a + b) / 2
	}
	r = math.Abs(r)
	return solve(r + half), solve(r - half)
}

// McNemar is the exact two-sided test of paired yes/no outcomes: b pairs in
// which only the first is right, c in which only the second is. It is 1
// where they never differ.
func McNemar(b, c int) float64 {
	if b+c == 0 {
		return 1
	}
	k := float64(min(b, c))
	return math.Min(1, 2*distuv.Binomial{N: float64(b + c), P: 0.5}.CDF(k))
}

// Holm corrects p-values for testing all of them (Holm 1979). NaN stays NaN
// and does not count as a test. The input is not changed.
func Holm(p []float64) []float64 {
	out := slices.Clone(p)
	var order []int
	for i, v := range p {
		if !math.IsNaN(v) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	highest := 0.0
	for rank, i := range order {
		highest = max(highest, math.Min(1, p[i]*float64(len(order)-rank)))
		out[i] = highest
	}
	return out
}
