// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/retcon-bench/retcon/schemas"
)

func near(a, b, tol float64) bool {
	return math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= tol*math.Max(1, math.Abs(b))
}

// TestPointBiserial against scipy.stats.pointbiserialr 1.17.
func TestPointBiserial(t *testing.T) {
	yes := []bool{true, false, true, true, false, false, true, false, true, false, false, true}
	x := []float64{310, 820, 455, 620, 990, 1210, 380, 700, 512, 1105, 640, 900}
	c := PointBiserial(yes, x)
	if c.N != 12 || !near(c.R, -0.6895018892658118, 1e-12) || !near(c.P, 0.013108274857995865, 1e-9) {
		t.Errorf("r %v, p %v, n %d", c.R, c.P, c.N)
	}
	for name, c := range map[string]Correlation{
		"constant outcome": PointBiserial([]bool{true, true, true}, x[:3]),
		"constant length":  PointBiserial([]bool{true, false, true}, []float64{5, 5, 5}),
		"two values":       PointBiserial(yes[:2], x[:2]),
		"different counts": PointBiserial(yes[:5], x),
	} {
		if !math.IsNaN(c.R) || !math.IsNaN(c.P) {
			t.Errorf("%s: r %v, p %v, want undefined", name, c.R, c.P)
		}
	}
	if c := PointBiserial([]bool{true, true, false, false}, []float64{9, 9, 1, 1}); !near(c.R, 1, 1e-12) || c.P > 1e-6 {
		t.Errorf("perfect: r %v, p %v", c.R, c.P)
	}
}

// TestRTest against scipy.stats.t, small tails included.
func TestRTest(t *testing.T) {
	for _, c := range []struct{ r, n, t, p float64 }{
		{-0.134, 414, -2.7446560819377286, 0.006322339070259046},
		{-0.174, 1242, -6.222086132265531, 6.697071875442712e-10},
		{0.5, 5, 1, 0.3910022189557705},
		{-0.029, 414, -0.5888833883252976, 0.5562622241047182},
	} {
		tt, p := rTest(c.r, c.n)
		if !near(tt, c.t, 1e-12) || math.Abs(p-c.p) > 1e-9*c.p {
			t.Errorf("r %v n %v: t %v p %v, want %v %v", c.r, c.n, tt, p, c.t, c.p)
		}
	}
}

// TestMcNemar against scipy.stats.binomtest.
func TestMcNemar(t *testing.T) {
	for _, c := range []struct {
		b, c int
		p    float64
	}{{0, 0, 1}, {1, 0, 1}, {5, 1, 0.21875}, {10, 3, 0.09228515625}, {12, 12, 1}, {30, 12, 0.007915897334896727}, {0, 7, 0.015625}} {
		if p := McNemar(c.b, c.c); !near(p, c.p, 1e-12) {
			t.Errorf("McNemar(%d, %d) = %v, want %v", c.b, c.c, p, c.p)
		}
	}
}

func TestHolm(t *testing.T) {
	nan := math.NaN()
	in := []float64{0.01, 0.04, nan, 0.03, 0.005, 0.9}
	// Sorted: .005*5 .01*4 .03*3 .04*2 .9*1, none below the one before.
	want := []float64{0.04, 0.09, nan, 0.09, 0.025, 0.9}
	for i, got := range Holm(in) {
		if !near(got, want[i], 1e-12) {
			t.Errorf("%d: %v, want %v", i, got, want[i])
		}
	}
	if in[0] != 0.01 {
		t.Error("the input was changed")
	}
}

// TestLengths against numpy (std with ddof=1, percentile's default).
func TestLengths(t *testing.T) {
	x := []int{310, 820, 455, 620, 990, 1210, 380, 700, 512, 1105, 640, 900}
	if got, want := *Lengths(x), (schemas.LengthStat{N: 12, Mean: 720.1667, SD: 288.8242, Min: 310, Q1: 497.75, Median: 670, Q3: 922.5, Max: 1210}); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if got, want := *Lengths(x[:4]), (schemas.LengthStat{N: 4, Mean: 551.25, SD: 219.4073, Min: 310, Q1: 418.75, Median: 537.5, Q3: 670, Max: 820}); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if got, want := *Lengths([]int{7}), (schemas.LengthStat{N: 1, Mean: 7, Min: 7, Q1: 7, Median: 7, Q3: 7, Max: 7}); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if Lengths(nil) != nil {
		t.Error("lengths of nothing")
	}
}

// randomVerdicts makes n rows in groups of size each.
func randomVerdicts(rng *rand.Rand, n, size int, right float64) []Verdict {
	var out []Verdict
	for i := range n {
		it := &Item{ID: fmt.Sprint(i), Group: fmt.Sprint("g", i/size), Match: fmt.Sprint("g", i/size), Error: i%2 == 0, Words: 100 + i}
		v := Verdict{Item: it, Outcome: "ok", Answered: true, Error: it.Error == (rng.Float64() < right)}
		if it.Error && v.Error && rng.Float64() < 0.7 {
			v.Sides = [2]SideVerdict{{1, 1, 1}, {1, 1, 2}}
		}
		out = append(out, v)
	}
	return out
}

// TestBootstrapBinomial: with one row a group, the number of right rows in a
// resample is binomial. 60 of 100: its 2.5 % and 97.5 % points are 50 and 69
// (or 70).
func TestBootstrapBinomial(t *testing.T) {
	var letters []string
	for i := range 100 {
		if i < 60 {
			letters = append(letters, "-n")
		} else {
			letters = append(letters, "-m")
		}
	}
	vs := tableVerdicts("x", letters...)
	for i := range vs {
		vs[i].Item.Group = fmt.Sprint(i)
		vs[i].Item.Match = vs[i].Item.Group
	}
	iv := value(t, FlawedFictions.Bootstrap(Resampling{Seed: 1}, vs)[0], "accuracy").Interval
	if math.Abs(iv.Low-0.50) > 0.011 || math.Abs(iv.High-0.695) > 0.011 || iv.Resamples != 10000 || iv.Groups != 100 {
		t.Errorf("interval %+v, want about 0.50 to 0.695", iv)
	}
	// Precision is undefined in no resample, recall in all.
	recall := value(t, FlawedFictions.Bootstrap(Resampling{Seed: 1, N: 100}, vs)[0], "recall")
	if recall.Interval.Undefined != 100 || !math.IsNaN(recall.Interval.Low) {
		t.Errorf("recall without positives: %+v", recall.Interval)
	}
}

// TestBootstrapGroups: rows of a group move together. Doubling every row
// within its group tells nothing new and must not narrow the interval; as
// groups of their own the copies would.
func TestBootstrapGroups(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	once := randomVerdicts(rng, 80, 1, 0.6)
	var twice, apart []Verdict
	for _, v := range once {
		a, b := *v.Item, *v.Item
		b.ID += "'"
		c := b
		c.Group += "'"
		w := v
		v.Item = &a
		twice, apart = append(twice, v), append(apart, v)
		w.Item = &b
		twice = append(twice, w)
		w.Item = &c
		apart = append(apart, w)
	}
	r := Resampling{Seed: 9, N: 4000}
	width := func(vs []Verdict) float64 {
		iv := value(t, FlawedFictions.Bootstrap(r, vs)[0], "ceeval_full").Interval
		return iv.High - iv.Low
	}
	if one, two := width(once), width(twice); one != two {
		t.Errorf("doubling rows in their groups changed the width from %v to %v", one, two)
	}
	if one, free := width(once), width(apart); math.Abs(free/one-1/math.Sqrt2) > 0.08 {
		t.Errorf("copies as groups: width %v against %v, want a ratio of about 0.707", free, one)
	}
}

// TestBootstrapDeterministic: seed alone decides, not row order or workers.
func TestBootstrapDeterministic(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	a, b := randomVerdicts(rng, 120, 3, 0.6), randomVerdicts(rng, 120, 3, 0.7)
	want := FlawedFictions.Bootstrap(Resampling{Seed: 2, N: 500, Workers: 1}, a, b)
	mixed := slices.Clone(a)
	rng.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
	got := FlawedFictions.Bootstrap(Resampling{Seed: 2, N: 500, Workers: 7}, mixed, b)
	if fmt.Sprint(want) != fmt.Sprint(got) {
		t.Error("another row order or number of workers gives other figures")
	}
	if other := FlawedFictions.Bootstrap(Resampling{Seed: 3, N: 500}, a, b); reflect.DeepEqual(want[0][0].Interval, other[0][0].Interval) {
		t.Error("another seed gives the same interval")
	}
}

func TestPermutationByHand(t *testing.T) {
	// Three groups; B right in all, A wrong in all. Of 8 ways to swap, two
	// give a difference of 1: p = 0.25. McNemar with 0 and 3: 0.25 too.
	mk := func(right ...bool) []Verdict {
		var out []Verdict
		for i, r := range right {
			it := &Item{ID: fmt.Sprint(i), Group: fmt.Sprint(i), Match: fmt.Sprint(i), Error: true}
			out = append(out, Verdict{Item: it, Answered: true, Error: r})
		}
		return out
	}
	c := Compare(Accuracy, System{"a", mk(false, false, false)}, System{"b", mk(true, true, true)}, Resampling{})
	if c.Permutation != 0.25 || !near(c.McNemar, 0.25, 1e-12) || c.OnlyA != 0 || c.OnlyB != 3 || c.Diff.Value != 1 || c.Groups != 3 {
		t.Errorf("%+v", c)
	}
	// Equal answers: p is 1, nothing can be detected below 0.
	c = Compare(Accuracy, System{"a", mk(true, false)}, System{"b", mk(true, false)}, Resampling{N: 200})
	if c.Permutation != 1 || c.McNemar != 1 || c.Diff.Value != 0 || c.SE != 0 || c.Detectable != 0 {
		t.Errorf("%+v", c)
	}
	// A difference that is undefined has no p.
	c = Compare(Precision, System{"a", mk(false, false)}, System{"b", mk(true, false)}, Resampling{N: 200})
	if !math.IsNaN(c.Permutation) || !math.IsNaN(c.McNemar) {
		t.Errorf("%+v", c)
	}
}

// TestCompare: drawn permutations agree with McNemar where rows are their own
// groups, and the correction is over all pairs.
func TestCompare(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	systems := []System{
		{"a", randomVerdicts(rng, 300, 1, 0.60)},
		{"b", randomVerdicts(rng, 300, 1, 0.72)},
		{"c", randomVerdicts(rng, 300, 1, 0.62)},
	}
	all := CompareAll(Accuracy, systems, Resampling{Seed: 1})
	if len(all) != 3 {
		t.Fatalf("%d comparisons", len(all))
	}
	var ps []float64
	for _, c := range all {
		ps = append(ps, c.Permutation)
		if math.Abs(c.Permutation-c.McNemar) > 0.03 {
			t.Errorf("%s-%s: permutation %v, McNemar %v", c.A, c.B, c.Permutation, c.McNemar)
		}
		// The paired difference of shares has variance (b+c-(b-c)^2/n)/n^2.
		n, d := 300.0, float64(c.OnlyA+c.OnlyB)
		se := math.Sqrt(d-math.Pow(float64(c.OnlyB-c.OnlyA), 2)/n) / n
		if math.Abs(c.SE/se-1) > 0.05 || !near(c.Detectable, 2.801585, 0.05*se+1) || math.Abs(c.Detectable/c.SE-2.801585) > 1e-5 {
			t.Errorf("%s-%s: SE %v, want about %v; detectable %v", c.A, c.B, c.SE, se, c.Detectable)
		}
	}
	for i, h := range Holm(ps) {
		if all[i].PermutationHolm != h {
			t.Errorf("pair %d: corrected %v, want %v", i, all[i].PermutationHolm, h)
		}
	}
	// Rows that one system lacks are left out, and said so.
	c := Compare(Accuracy, systems[0], System{"b", systems[1].Verdicts[10:]}, Resampling{N: 100})
	if c.Diff.Skipped != 10 || c.Diff.N != 290 || len(c.Diff.Warnings) == 0 {
		t.Errorf("%+v", c.Diff)
	}
}

func TestCompareRates(t *testing.T) {
	var base, texts []Detected
	for i := range 40 {
		g := fmt.Sprint(i)
		base = append(base, Detected{g, true, i < 10})
		texts = append(texts, Detected{g, i < 36, i < 18})
	}
	c := CompareRates(base, texts, Resampling{N: 2000, Seed: 1})
	if c.Base.Value != 0.25 || c.Rate.Value != 0.5 || c.Diff.Value != 0.25 || c.Ratio.Value != 2 || c.Rate.Skipped != 4 || c.Rate.N != 36 {
		t.Errorf("%+v", c)
	}
	if iv := c.Diff.Interval; iv.Low <= 0 || iv.High >= 0.5 {
		t.Errorf("interval of the difference %+v", iv)
	}
	if none := CompareRates(texts[30:], texts, Resampling{N: 100}); !math.IsNaN(none.Ratio.Value) {
		t.Errorf("ratio to a rate of 0: %v", none.Ratio.Value)
	}
}

func BenchmarkBootstrap(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	var systems [][]Verdict
	for range 10 {
		systems = append(systems, randomVerdicts(rng, 414, 2, 0.65))
	}
	for b.Loop() {
		FlawedFictions.Bootstrap(Resampling{Seed: 1}, systems...)
	}
}

func BenchmarkBootstrapOwnGroups(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	var systems [][]Verdict
	for range 10 {
		systems = append(systems, randomVerdicts(rng, 414, 1, 0.65))
	}
	for b.Loop() {
		FlawedFictions.Bootstrap(Resampling{Seed: 1}, systems...)
	}
}

func BenchmarkCompareAll(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	var systems []System
	for i := range 10 {
		systems = append(systems, System{fmt.Sprint(i), randomVerdicts(rng, 414, 2, 0.65)})
	}
	for b.Loop() {
		CompareAll(CEEvalFull, systems, Resampling{Seed: 1})
	}
}

// The study compares each task with the originals its texts were made from.
func TestStudy(t *testing.T) {
	var originals, texts []StudyText
	for i := range 40 {
		g := fmt.Sprint(i)
		originals = append(originals, StudyText{Group: g, Answered: true, Error: i%4 == 0})
		texts = append(texts, StudyText{Group: g, Task: "summary", System: "b", Answered: true, Error: i%2 == 0})
		if i < 20 {
			texts = append(texts, StudyText{Group: g, Task: "adaptation", System: "a", Answered: i > 0, Error: i > 0 && i%2 == 0})
		}
	}
	texts = append(texts, StudyText{Group: "elsewhere", Task: "other", System: "a", Answered: true})
	type row struct {
		task, system     string
		texts, sources   int
		matched          bool
		base, rate, diff float64
	}
	var got []row
	for _, r := range Study(originals, texts, Resampling{N: 200, Seed: 1}) {
		got = append(got, row{r.Task, r.System, r.Texts, r.Sources, r.Matched, r.Rates.Base.Value, r.Rates.Rate.Value, math.Round(r.Rates.Diff.Value*1e6) / 1e6})
	}
	want := []row{
		{"adaptation", "a", 20, 20, true, 0.25, 9.0 / 19, 0.223684},
		{"other", "a", 1, 40, false, 0.25, 0, -0.25},
		{"summary", "b", 40, 40, true, 0.25, 0.5, 0.25},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if alone := Study(nil, texts[:1], Resampling{N: 10}); len(alone) != 1 || !math.IsNaN(alone[0].Rates.Base.Value) || alone[0].Rates.Rate.Value != 1 {
		t.Errorf("without originals: %+v", alone)
	}
}
