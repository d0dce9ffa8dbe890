// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"fmt"
	"math"
)

// Metric is a named function of a [Tally].
type Metric struct {
	Name string // stable key: accuracy, ceeval_full, ...
	// Title heads a column.
	Title string
	Doc   string

	// of returns the value and what it is a share of.
	of func(*Tally) (value, n float64)
	// answered tells that rows without a readable answer are not in n.
	answered bool
	// right is the row's outcome where the metric is a share of right rows.
	right func(*Verdict) bool
}

// Score applies the metric.
func (m Metric) Score(t Tally) Score {
	v, n := m.of(&t)
	s := Score{Metric: m.Name, Value: v, N: int(n), Skipped: int(t[countRows] - t[countAnswered])}
	if s.Skipped > 0 && !m.answered {
		s.Warnings = append(s.Warnings, fmt.Sprintf("%d of %d rows have no readable answer and count as wrong", s.Skipped, int(t[countRows])))
	}
	if math.IsNaN(v) {
		s.Warnings = append(s.Warnings, "undefined: nothing to divide by")
	}
	return s
}

func share(name, title, doc string, of func(t *Tally) (part, whole float64)) Metric {
	return Metric{Name: name, Title: title, Doc: doc, of: func(t *Tally) (float64, float64) {
		a, b := of(t)
		return ratio(a, b), b
	}}
}

func (m Metric) onAnswered() Metric                        { m.answered = true; return m }
func (m Metric) overRows(right func(*Verdict) bool) Metric { m.right = right; return m }

// The metrics. P and N below are the numbers of positive and negative rows; a
// row without a readable answer is wrong unless the text says otherwise.
var (
	Accuracy = share("accuracy", "Accuracy", "rows with the right label, of all rows",
		func(t *Tally) (float64, float64) { return t[countTP] + t[countTN], t[countRows] }).overRows((*Verdict).Right)
	AccuracyAnswered = share("accuracy_answered", "Accuracy (answered)", "rows with the right label, of the rows answered",
		func(t *Tally) (float64, float64) { return t[countTP] + t[countTN], t[countAnswered] }).onAnswered()
	Coverage = share("coverage", "Coverage", "rows with a readable answer, of all rows",
		func(t *Tally) (float64, float64) { return t[countAnswered], t[countRows] }).onAnswered()
	Precision = share("precision", "Precision", "true errors of those claimed: TP/(TP+FP)",
		func(t *Tally) (float64, float64) { return t[countTP], t[countTP] + t[countFP] }).onAnswered()
	Recall = share("recall", "Recall", "errors found of those there are: TP/P",
		func(t *Tally) (float64, float64) { return t[countTP], t[countPos] })
	// F1 is 2TP/(TP+FP+P), which is 0, not undefined, for a system that claims
	// nothing where there are positives.
	F1 = Metric{Name: "f1", Title: "F1", Doc: "harmonic mean of precision and recall: 2TP/(TP+FP+P)",
		of: func(t *Tally) (float64, float64) {
			return ratio(2*t[countTP], t[countTP]+t[countFP]+t[countPos]), t[countRows]
		}}
	CEEvalPos = share("ceeval_pos", "CEEval-Pos", "positives found with both sides hit, of all positives",
		func(t *Tally) (float64, float64) { return t[countLocalised], t[countPos] })
	CEEvalFull = share("ceeval_full", "CEEval-Full", "positives found with both sides hit and negatives passed, of all rows",
		func(t *Tally) (float64, float64) { return t[countLocalised] + t[countTN], t[countRows] }).overRows((*Verdict).Full)
	TrueNegativeRate = share("true_negative_rate", "TNR", "negatives passed, of all negatives: TN/N",
		func(t *Tally) (float64, float64) { return t[countTN], t[countRows] - t[countPos] })
	BalancedCEEval = Metric{Name: "balanced_ceeval", Title: "Balanced CEEval",
		Doc: "harmonic mean of CEEval-Pos and TNR: saying no to everything scores 0",
		of: func(t *Tally) (float64, float64) {
			p := ratio(t[countLocalised], t[countPos])
			n := ratio(t[countTN], t[countRows]-t[countPos])
			if p+n == 0 {
				return 0, t[countRows]
			}
			return 2 * p * n / (p + n), t[countRows]
		}}
	Strict = share("strict", "Strict", "CEEval-Full with every sentence named a gold one",
		func(t *Tally) (float64, float64) { return t[countStrict] + t[countTN], t[countRows] }).overRows((*Verdict).Strict)
	StrictPos = share("strict_pos", "Strict-Pos", "CEEval-Pos with every sentence named a gold one",
		func(t *Tally) (float64, float64) { return t[countStrict], t[countPos] })
	ErrorHit = share("error_hit", "Error side", "positives found with a gold error sentence named, of all positives",
		func(t *Tally) (float64, float64) { return t[countErrorHit], t[countPos] })
	ContradictedHit = share("contradicted_hit", "Contradicted side", "positives found with a gold contradicted sentence named, of all positives",
		func(t *Tally) (float64, float64) { return t[countContraHit], t[countPos] })
	Localisation = share("localisation", "Localisation", "both sides hit, of the positives found: the label put aside",
		func(t *Tally) (float64, float64) { return t[countLocalised], t[countTP] }).onAnswered()
	SentenceF1 = share("sentence_f1", "Sentence F1", "mean over positives of the two sides' mean sentence F1; 0 where the error was not found",
		func(t *Tally) (float64, float64) { return t[countF1], t[countPos] })
	UnmappedRate = share("unmapped_rate", "Unmapped", "quotes that map to no sentence, of all quotes of claimed errors",
		func(t *Tally) (float64, float64) { return t[countUnmapped], t[countQuotes] }).onAnswered()
	OverQuoteRate = share("over_quote_rate", "Over-quoted", "claimed errors with more than 5 sentences on a side",
		func(t *Tally) (float64, float64) { return t[countOver], t[countTP] + t[countFP] }).onAnswered()
	InconsistentRate = share("inconsistent_rate", "Inconsistent", "answers \"no error\" that quote lines all the same",
		func(t *Tally) (float64, float64) { return t[countInconsistent], t[countTN] + t[countFN] }).onAnswered()
	PairedAccuracy = share("paired_accuracy", "Paired accuracy", "matched groups (a positive and its negatives) with every label right",
		func(t *Tally) (float64, float64) { return t[countMatchesRight], t[countMatches] })
)

// Suite is a list of metrics reported together.
type Suite struct {
	Name    string
	Metrics []Metric
}

// FlawedFictions is what a report on the benchmark prints: the paper's six,
// what keeps them honest, and the detail.
var FlawedFictions = Suite{"flawed_fictions", []Metric{
	Accuracy, AccuracyAnswered, Coverage, Precision, Recall, F1,
	CEEvalPos, CEEvalFull, TrueNegativeRate, BalancedCEEval,
	Strict, StrictPos, ErrorHit, ContradictedHit, Localisation, SentenceF1,
	UnmappedRate, OverQuoteRate, InconsistentRate, PairedAccuracy,
}}

// Paper is the paper's tables A4 and A5.
var Paper = Suite{"paper", []Metric{Accuracy, Precision, Recall, F1, CEEvalPos, CEEvalFull}}

// Score applies all metrics to the verdicts of one system.
func (s Suite) Score(vs []Verdict) []Score { return s.Of(Count(vs)) }

// Of applies all metrics to a tally.
func (s Suite) Of(t Tally) []Score {
	out := make([]Score, len(s.Metrics))
	for i, m := range s.Metrics {
		out[i] = m.Score(t)
	}
	return out
}

// Metric returns the suite's metric called name.
func (s Suite) Metric(name string) (Metric, bool) {
	for _, m := range s.Metrics {
		if m.Name == name {
			return m, true
		}
	}
	return Metric{}, false
}
