// SPDX-License-Identifier: Apache-2.0

package scoring

import "github.com/retcon-bench/retcon/schemas"

// Report is all that is printed of an evaluation, as plain values: tables,
// Markdown, JSON and pages are drawings of it. Plots of single rows (length
// against score) take [Sheet.Verdicts].
type Report struct {
	Config  string `json:"config"`
	Release string `json:"release"`
	Digest  string `json:"digest"`
	Rows    int    `json:"rows"`
	Groups  int    `json:"groups"`
	// Lengths are those of the stories in words, tables A2 and A3.
	Lengths *schemas.LengthStat `json:"lengths"`
	Binding Binding             `json:"binding"`
	Systems []SystemReport      `json:"systems"`
	// Comparisons of all pairs of runs, scorer by scorer, metric by metric;
	// p values are corrected over the pairs of one scorer and metric.
	Comparisons []ScorerComparison `json:"comparisons"`
	// What people did, where their answers or votes are at hand; made by
	// [People] and [Audit].
	People *PeopleReport `json:"people,omitempty"`
	Audit  *AuditReport  `json:"audit,omitempty"`
}

// ScorerComparison is a [Comparison] with the scorer it holds for.
type ScorerComparison struct {
	Scorer string     `json:"scorer"`
	Result Comparison `json:"result"`
}

// SystemReport is one run under one scorer.
type SystemReport struct {
	Run       Run       `json:"run"`
	Scorer    string    `json:"scorer"`
	Samples   int       `json:"samples"`
	Binding   Binding   `json:"binding"`
	Confusion Confusion `json:"confusion"`
	Scores    []Score   `json:"scores"` // with intervals
	// Outcomes counts predictions by outcome, "ok" included.
	Outcomes map[string]int `json:"outcomes"`
	// Tokens are means over the predictions that carry counts.
	Tokens          Score             `json:"tokens"`
	ReasoningTokens Score             `json:"reasoning_tokens"`
	Length          Correlation       `json:"length"` // CEEval-Full against words, table A6
	By              []DimensionReport `json:"by"`
	Paired          []Slice           `json:"paired"` // by kind of negative
}

// DimensionReport are a system's scores along one dimension.
type DimensionReport struct {
	Name  string  `json:"name"`
	Doc   string  `json:"doc"`
	Parts []Slice `json:"parts"`
}

// ReportOptions say what to put into a [Report].
type ReportOptions struct {
	Suite      Suite // without metrics = [FlawedFictions]
	Resampling Resampling
	Dimensions []Dimension // nil = all
	// Compare these metrics between runs; nil = accuracy and CEEval-Full. An
	// empty list compares nothing.
	Compare []Metric
}

// Summarise makes the report of an evaluation. Intervals of all runs come
// from the same resamples.
func Summarise(key *Key, ev *Evaluation, o ReportOptions) Report {
	if len(o.Suite.Metrics) == 0 {
		o.Suite = FlawedFictions
	}
	if o.Dimensions == nil {
		o.Dimensions = Dimensions
	}
	if o.Compare == nil {
		o.Compare = []Metric{Accuracy, CEEvalFull}
	}
	r := Report{Config: key.Config, Release: key.Release, Digest: key.Digest, Rows: len(key.items), Groups: len(key.groups), Binding: ev.Binding}
	var words []int
	for _, it := range key.items {
		words = append(words, it.Words)
	}
	r.Lengths = Lengths(words)
	lists := make([][]Verdict, len(ev.Sheets))
	for i, s := range ev.Sheets {
		lists[i] = s.Verdicts
	}
	scores := o.Suite.Bootstrap(o.Resampling, lists...)
	byScorer := map[string][]System{}
	var scorers []string
	for i, s := range ev.Sheets {
		vs := s.Verdicts
		sys := SystemReport{
			Run: s.Run, Scorer: s.Scorer.Name, Samples: s.Samples, Binding: s.Binding,
			Confusion: Count(vs).Confusion(), Scores: scores[i], Outcomes: map[string]int{},
			Length: LengthCorrelation(vs), Paired: PairedByNegative(vs),
		}
		sys.Tokens = meanTokens("tokens", vs, func(v *Verdict) int32 { return v.Tokens })
		sys.ReasoningTokens = meanTokens("reasoning_tokens", vs, func(v *Verdict) int32 { return v.ReasoningTokens })
		for j := range vs {
			sys.Outcomes[vs[j].Outcome]++
		}
		for _, d := range o.Dimensions {
			if parts := o.Suite.By(vs, d); len(parts) > 0 {
				sys.By = append(sys.By, DimensionReport{d.Name, d.Doc, parts})
			}
		}
		r.Systems = append(r.Systems, sys)
		if byScorer[s.Scorer.Name] == nil {
			scorers = append(scorers, s.Scorer.Name)
		}
		byScorer[s.Scorer.Name] = append(byScorer[s.Scorer.Name], s.System())
	}
	for _, name := range scorers {
		for _, m := range o.Compare {
			for _, c := range CompareAll(m, byScorer[name], o.Resampling) {
				r.Comparisons = append(r.Comparisons, ScorerComparison{name, c})
			}
		}
	}
	return r
}

// meanTokens is the mean over verdicts with a count; the others are skipped.
func meanTokens(name string, vs []Verdict, of func(*Verdict) int32) Score {
	s := Score{Metric: name}
	sum := 0.0
	for i := range vs {
		if n := of(&vs[i]); n > 0 {
			s.N++
			sum += float64(n)
		} else {
			s.Skipped++
		}
	}
	s.Value = ratio(sum, float64(s.N))
	return s
}
