// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

// Bucket edges, half-open: a story of exactly 3,000 words is in the bucket
// that starts there. The last bucket has no end.
var (
	TableB2Edges      = []int{0, 1000, 3000, 5000, 8000}
	Figure3Edges      = []int{0, 3000, 6000}
	ThousandWordEdges = []int{0, 1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000, 10000, 11000, 12000}
)

// LengthBucket holds the stories of Lo <= words < Hi.
type LengthBucket struct {
	Lo        int    `json:"lo"`
	Hi        *int   `json:"hi"` // null: no end
	Stories   int    `json:"stories"`
	Share     Number `json:"share"`
	Flags     Number `json:"mean_subtype_flags"`
	Instances Number `json:"mean_instances"`
	AvgWords  Number `json:"avg_words"`
	// Growth is Flags over the Flags of the last bucket before it that has
	// stories: 2 says twice the errors. Undefined for the first.
	Growth Number `json:"growth_subtype_flags"`
}

// LengthAnalysis relates length and errors (figures 3 and 4, table B2).
//
// Two correlations, by name. PerStory is Pearson's r of words and errors over
// stories. OverBins is Pearson's r of mean words and mean errors over
// thousand-word bins that hold stories, which is most likely what the paper
// prints (0.478, 0.973): averaging takes the noise away, so it is larger, and
// it is not comparable with the other.
type LengthAnalysis struct {
	Rows      RowSet         `json:"rows"`
	WordCount WordCount      `json:"words_as"`
	Stories   int            `json:"stories"`
	MinWords  int            `json:"min_words"`
	MaxWords  int            `json:"max_words"`
	AvgWords  Number         `json:"avg_words"`
	TableB2   []LengthBucket `json:"table_B2_buckets"`
	Figure3   []LengthBucket `json:"figure_3_buckets"`
	Thousands []LengthBucket `json:"thousand_word_buckets"`

	FlagsPerStory     Number `json:"pearson_words_vs_subtype_flags"`
	InstancesPerStory Number `json:"pearson_words_vs_instances"`
	FlagsOverBins     Number `json:"pearson_over_bins_subtype_flags"`
	InstancesOverBins Number `json:"pearson_over_bins_instances"`
	Bins              int    `json:"bins"` // with stories

	FlagsInterval     *Interval `json:"pearson_words_vs_subtype_flags_interval,omitempty"`
	InstancesInterval *Interval `json:"pearson_words_vs_instances_interval,omitempty"`

	Warnings []string `json:"warnings,omitempty"`
}

// resample adds the intervals of the correlations over stories.
func (a *LengthAnalysis) resample(records []CheckRecord, r *Resampling) {
	if r == nil {
		return
	}
	var units [][]float64
	for _, rec := range rowsOf(records, a.Rows) {
		w, f, i := float64(rec.WordsAs(a.WordCount)), float64(rec.Counts[SubtypeFlags].Total()), float64(rec.Counts[Instances].Total())
		units = append(units, []float64{1, w, w * w, f, f * f, w * f, i, i * i, w * i})
	}
	iv := r.bySum("bootstrap by story", units, []func([]float64) float64{
		func(s []float64) float64 { return pearsonOfSums(s[0], s[1], s[2], s[3], s[4], s[5]) },
		func(s []float64) float64 { return pearsonOfSums(s[0], s[1], s[2], s[6], s[7], s[8]) },
	})
	a.FlagsInterval, a.InstancesInterval = iv[0], iv[1]
}

// pearsonOfSums is Pearson's r of n pairs from their sums, NaN where a variable
// is constant.
func pearsonOfSums(n, x, xx, y, yy, xy float64) float64 {
	vx, vy := n*xx-x*x, n*yy-y*y
	if vx <= 1e-9*n*xx || vy <= 1e-9*n*yy {
		return math.NaN()
	}
	return (n*xy - x*y) / math.Sqrt(vx*vy)
}

// LengthOf analyses a run.
func LengthOf(records []CheckRecord, rows RowSet, w WordCount) LengthAnalysis {
	rs := rowsOf(records, rows)
	a := LengthAnalysis{Rows: rows, WordCount: w, Stories: len(rs)}
	words, flags, inst := make([]float64, len(rs)), make([]float64, len(rs)), make([]float64, len(rs))
	total := 0
	for i, r := range rs {
		n := r.WordsAs(w)
		if i == 0 || n < a.MinWords {
			a.MinWords = n
		}
		a.MaxWords = max(a.MaxWords, n)
		total += n
		words[i], flags[i], inst[i] = float64(n), float64(r.Counts[SubtypeFlags].Total()), float64(r.Counts[Instances].Total())
	}
	a.AvgWords = Number(ratio(float64(total), float64(len(rs))))
	bucket := func(edges []int) []LengthBucket { return buckets(edges, words, flags, inst) }
	a.TableB2, a.Figure3, a.Thousands = bucket(TableB2Edges), bucket(Figure3Edges), bucket(ThousandWordEdges)
	a.FlagsPerStory, a.InstancesPerStory = Number(pearson(words, flags)), Number(pearson(words, inst))
	var bw, bf, bi []float64
	// Bins over the whole range, not only up to the table's last edge.
	var edges []int
	for e := 0; e <= a.MaxWords; e += 1000 {
		edges = append(edges, e)
	}
	for _, b := range bucket(edges) {
		if b.Stories > 0 {
			bw, bf, bi = append(bw, float64(b.AvgWords)), append(bf, float64(b.Flags)), append(bi, float64(b.Instances))
		}
	}
	a.Bins = len(bw)
	a.FlagsOverBins, a.InstancesOverBins = Number(pearson(bw, bf)), Number(pearson(bw, bi))
	if msg := CoverageOf(records).Warning(rows); msg != "" {
		a.Warnings = append(a.Warnings, msg)
	}
	return a
}

func buckets(edges []int, words, flags, inst []float64) []LengthBucket {
	out := make([]LengthBucket, len(edges))
	type sum struct{ n, w, f, i float64 }
	sums := make([]sum, len(edges))
	for k := range words {
		b := len(edges) - 1
		for b > 0 && words[k] < float64(edges[b]) {
			b--
		}
		s := &sums[b]
		s.n++
		s.w += words[k]
		s.f += flags[k]
		s.i += inst[k]
	}
	before := math.NaN()
	for b, lo := range edges {
		s := sums[b]
		mean := ratio(s.f, s.n)
		out[b] = LengthBucket{Lo: lo, Stories: int(s.n), Share: Number(ratio(s.n, float64(len(words)))), Flags: Number(mean),
			Instances: Number(ratio(s.i, s.n)), AvgWords: Number(ratio(s.w, s.n)), Growth: Number(math.NaN())}
		if b+1 < len(edges) {
			hi := edges[b+1]
			out[b].Hi = &hi
		}
		if s.n > 0 {
			if !math.IsNaN(before) {
				out[b].Growth = Number(ratio(mean, before))
			}
			before = mean
		}
	}
	return out
}

// pearson is Pearson's r, NaN for fewer than two pairs or where a variable is
// constant.
func pearson(x, y []float64) float64 {
	if len(x) < 2 || constant(x) || constant(y) {
		return math.NaN()
	}
	return stat.Correlation(x, y, nil)
}
