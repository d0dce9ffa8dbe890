// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
)

// Resampling says how intervals and permutation tests draw. The zero value is
// the documented default.
type Resampling struct {
	N     int     // resamples; 0 = 10,000
	Level float64 // of intervals; 0 = 0.95
	Seed  uint64
	// Workers bounds the goroutines; 0 = GOMAXPROCS. It changes no figure.
	Workers int
}

func (r Resampling) n() int {
	if r.N == 0 {
		return 10000
	}
	return r.N
}

func (r Resampling) level() float64 {
	if r.Level == 0 {
		return 0.95
	}
	return r.Level
}

// stream is the random stream of one resample: any worker may draw it.
func (r Resampling) stream(i int) *rand.PCG { return rand.NewPCG(r.Seed, uint64(i)) }

// uint32n draws a number below n from a PCG without the overhead of rand.Rand.
// The bias is below n/2^32.
func below(bits uint32, n int) int { return int(uint64(bits) * uint64(n) >> 32) }

// groupTallies returns, for each group that occurs in any system, the tally
// of each system's rows in it: out[group][system]. Groups are sorted by name.
func groupTallies(systems [][]Verdict) (out [][]Tally, names []string) {
	index := map[string]int{}
	for _, vs := range systems {
		for i := range vs {
			if _, ok := index[vs[i].Item.Group]; !ok {
				index[vs[i].Item.Group] = 0
				names = append(names, vs[i].Item.Group)
			}
		}
	}
	slices.Sort(names)
	for i, n := range names {
		index[n] = i
	}
	flat := make([]Tally, len(names)*len(systems))
	out = make([][]Tally, len(names))
	for g := range out {
		out[g] = flat[g*len(systems) : (g+1)*len(systems)]
	}
	for s, vs := range systems {
		for i := range vs {
			out[index[vs[i].Item.Group]][s].add(&vs[i])
		}
		eachMatch(vs, func(group string, right bool) { out[index[group]][s].addMatch(right) })
	}
	return out, names
}

// Bootstrap scores several systems and puts an interval around each figure:
// source groups are drawn with replacement, all rows of a group together, the
// same draws for all systems; the bounds are percentiles of the resampled
// values (linear between order statistics). Rows of one source are not
// independent, so that an interval over rows would be too narrow.
//
// Resamples in which a value is undefined are left out and counted. The result
// depends on the verdicts and r.Seed alone, not on row order or workers.
func (s Suite) Bootstrap(r Resampling, systems ...[]Verdict) [][]Score {
	out := make([][]Score, len(systems))
	for i, vs := range systems {
		out[i] = s.Score(vs)
	}
	groups, _ := groupTallies(systems)
	if len(groups) == 0 {
		return out
	}
	// values[system][metric][resample]
	n := r.n()
	values := make([][][]float64, len(systems))
	for i := range values {
		values[i] = make([][]float64, len(s.Metrics))
		for j := range values[i] {
			values[i][j] = make([]float64, n)
		}
	}
	r.each(groups, len(systems), func(i int, sums []Tally) {
		for sys := range sums {
			for j := range s.Metrics {
				values[sys][j][i], _ = s.Metrics[j].of(&sums[sys])
			}
		}
	})
	parallel(len(systems)*len(s.Metrics), r.Workers, func(k int) {
		sys, j := k/len(s.Metrics), k%len(s.Metrics)
		out[sys][j].Interval = r.interval(values[sys][j], len(groups))
		if len(groups) < minGroups {
			out[sys][j].Warnings = append(out[sys][j].Warnings, "under 20 groups: the interval is rough")
		}
	})
	return out
}

// minGroups is the number of groups below which percentile intervals are
// known to be too narrow to take at face value.
const minGroups = 20

// each draws r.n() resamples of groups and hands the systems' sums over.
// Which sums belong to which i never depends on the number of workers.
func (r Resampling) each(groups [][]Tally, systems int, use func(i int, sums []Tally)) {
	// Only counts that occur are added: the others stay 0 in every resample.
	dense, cols := pack(groups, systems)
	width := len(cols)
	parallelChunks(r.n(), r.Workers, func(from, to int) {
		weights := make([]uint32, len(groups))
		row := make([]float64, width)
		sums := make([]Tally, systems)
		for i := from; i < to; i++ {
			clear(weights)
			rng := r.stream(i)
			for k := 0; k < len(groups); k += 2 {
				bits := rng.Uint64()
				weights[below(uint32(bits), len(groups))]++
				if k+1 < len(groups) {
					weights[below(uint32(bits>>32), len(groups))]++
				}
			}
			clear(row)
			for g, w := range weights {
				switch w {
				case 0:
				case 1:
					src := dense[g*width : (g+1)*width]
					for c, v := range src {
						row[c] += v
					}
				default:
					f := float64(w)
					src := dense[g*width : (g+1)*width]
					for c, v := range src {
						row[c] += f * v
					}
				}
			}
			clear(sums)
			for c, at := range cols {
				sums[at/numCounts][at%numCounts] = row[c]
			}
			use(i, sums)
		}
	})
}

// pack lays group tallies out in rows without the columns that are always 0.
// cols[c] is system*numCounts + count.
func pack(groups [][]Tally, systems int) (dense []float64, cols []int) {
	for s := range systems {
		for c := range numCounts {
			for _, g := range groups {
				if g[s][c] != 0 {
					cols = append(cols, s*numCounts+c)
					break
				}
			}
		}
	}
	dense = make([]float64, len(groups)*len(cols))
	for g := range groups {
		for i, at := range cols {
			dense[g*len(cols)+i] = groups[g][at/numCounts][at%numCounts]
		}
	}
	return dense, cols
}

// bySum draws units with replacement and puts an interval around each figure,
// which is a function of the units' summed columns. All figures are of the
// same draws. Zeros cost nothing.
func (r Resampling) bySum(method string, units [][]float64, figures []func(sum []float64) float64) []*Interval {
	out := make([]*Interval, len(figures))
	if len(units) == 0 {
		return out
	}
	type entry struct {
		col int32
		v   float64
	}
	sparse := make([][]entry, len(units))
	for i, u := range units {
		for c, v := range u {
			if v != 0 {
				sparse[i] = append(sparse[i], entry{int32(c), v})
			}
		}
	}
	values := make([][]float64, len(figures))
	for f := range values {
		values[f] = make([]float64, r.n())
	}
	parallelChunks(r.n(), r.Workers, func(from, to int) {
		sum := make([]float64, len(units[0]))
		for i := from; i < to; i++ {
			clear(sum)
			rng := r.stream(i)
			for range units {
				for _, e := range sparse[below(uint32(rng.Uint64()>>32), len(units))] {
					sum[e.col] += e.v
				}
			}
			for f, figure := range figures {
				values[f][i] = figure(sum)
			}
		}
	})
	parallel(len(figures), r.Workers, func(f int) {
		out[f] = r.interval(values[f], len(units))
		out[f].Method = method
	})
	return out
}

// interval sorts values in place.
func (r Resampling) interval(values []float64, groups int) *Interval {
	iv := &Interval{Low: math.NaN(), High: math.NaN(), Level: r.level(), Method: "bootstrap by group", Resamples: len(values), Groups: groups}
	defined := values[:0]
	for _, v := range values {
		if !math.IsNaN(v) {
			defined = append(defined, v)
		}
	}
	iv.Undefined = len(values) - len(defined)
	if 2*len(defined) < len(values) || len(defined) == 0 {
		return iv
	}
	slices.Sort(defined)
	tail := (1 - iv.Level) / 2
	iv.Low, iv.High = quantile(defined, tail), quantile(defined, 1-tail)
	return iv
}

// parallel calls f for 0..n-1 from several goroutines.
func parallel(n, workers int, f func(int)) {
	parallelChunks(n, workers, func(from, to int) {
		for i := from; i < to; i++ {
			f(i)
		}
	})
}

// parallelChunks cuts 0..n into one run a worker.
func parallelChunks(n, workers int, f func(from, to int)) {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = min(workers, n)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() { f(w*n/workers, (w+1)*n/workers) })
	}
	wg.Wait()
}
