// SPDX-License-Identifier: Apache-2.0

package scoring

import "math"

// PrintedRow is a line of the paper's tables A4 and A5, as printed. NaN
// stands for a figure that is not to be compared.
type PrintedRow struct {
	Name                                                   string
	Accuracy, Precision, Recall, F1, CEEvalPos, CEEvalFull float64
}

// Fit says whether whole counts lie behind a printed row.
type Fit struct {
	TP, TN, Hits int // the counts that come nearest
	// Off is the largest distance of a printed figure from these counts', and
	// Figure the one that is off so far.
	Off    float64
	Figure string
}

// Within reports that every printed figure lies within tol of the counts',
// but for the noise of binary fractions.
func (f Fit) Within(tol float64) bool { return f.Off <= tol+1e-9 }

// FitCounts searches all whole counts, TP of pos positives, TN of neg
// negatives and Hits of the TP localised, for those whose six figures come
// nearest to the printed row (least largest distance). It is the check of this
// package's definitions against the paper: CEEval-Full must be
// (CEEval-Pos*P + TN)/(P+N). Precision and F1 without a claim, which are
// undefined, are printed as 0 there and count as 0 here.
func FitCounts(row PrintedRow, pos, neg int) Fit {
	labels := []figure{{Recall, row.Recall}, {Accuracy, row.Accuracy}, {Precision, row.Precision}, {F1, row.F1}}
	sides := []figure{{CEEvalPos, row.CEEvalPos}, {CEEvalFull, row.CEEvalFull}}
	best := Fit{Off: math.Inf(1)}
	var t Tally
	t[countRows], t[countPos], t[countAnswered] = float64(pos+neg), float64(pos), float64(pos+neg)
	for tp := 0; tp <= pos; tp++ {
		t[countTP], t[countFN] = float64(tp), float64(pos-tp)
		for tn := 0; tn <= neg; tn++ {
			t[countTN], t[countFP] = float64(tn), float64(neg-tn)
			onLabels := Fit{TP: tp, TN: tn}
			if !onLabels.worsen(labels, &t, best.Off) {
				continue
			}
			for hits := 0; hits <= tp; hits++ {
				t[countLocalised] = float64(hits)
				f := onLabels
				f.Hits = hits
				if f.worsen(sides, &t, best.Off) {
					best = f
				}
			}
		}
	}
	return best
}

type figure struct {
	metric  Metric
	printed float64
}

// worsen takes the distances of figures into f, and reports whether all stay
// under limit.
func (f *Fit) worsen(figures []figure, t *Tally, limit float64) bool {
	for _, g := range figures {
		v, _ := g.metric.of(t)
		if math.IsNaN(v) {
			v = 0
		}
		if d := math.Abs(v - g.printed); d > f.Off {
			f.Off, f.Figure = d, g.metric.Name
		}
		if f.Off >= limit {
			return false
		}
	}
	return true
}
