// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"encoding/json"
	"testing"

	"github.com/retcon-bench/retcon/scoring/scoringtest"
)

// TestSummarise: a report of two runs under both scorers holds everything,
// survives JSON (undefined figures included) and does not depend on workers.
func TestSummarise(t *testing.T) {
	rows := scoringtest.Rows(5, 40, 15)
	key := keyOf(t, rows...)
	key.Release = "made@1.0.0"
	ev, err := Evaluate(key, source(scoringtest.Predictions(6, rows, 70)...), Options{Scorers: Scorers, Allow: Allow{Missing: true}})
	if err != nil {
		t.Fatal(err)
	}
	report := func(workers int) []byte {
		b, err := json.Marshal(Summarise(key, ev, ReportOptions{Resampling: Resampling{N: 300, Seed: 1, Workers: workers}}))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	b := report(1)
	if string(b) != string(report(6)) {
		t.Error("the number of workers changes the report")
	}
	var r struct {
		Rows, Groups int
		Systems      []struct {
			Scorer   string
			Scores   []Score
			Outcomes map[string]int
			Tokens   Score
			By       []DimensionReport
			Paired   []any
		}
		Comparisons []struct {
			Scorer string
			Result struct {
				Metric string
				P      *float64 `json:"p_permutation"`
			}
		}
	}
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	if r.Rows != 40 || r.Groups != 10 || len(r.Systems) != 4 || len(r.Comparisons) != 4 {
		t.Errorf("%d rows, %d groups, %d systems, %d comparisons; want 40, 10, 4, 4", r.Rows, r.Groups, len(r.Systems), len(r.Comparisons))
	}
	for _, s := range r.Systems {
		n := 0
		for _, c := range s.Outcomes {
			n += c
		}
		acc := value(t, s.Scores, "accuracy")
		if n != 40 || acc.N != 40 || acc.Interval == nil || acc.Interval.Low >= acc.Value || acc.Interval.High <= acc.Value || s.Tokens.N+s.Tokens.Skipped != 40 || len(s.By) == 0 || len(s.Paired) == 0 {
			t.Errorf("%+v", s)
		}
	}
	if c := r.Comparisons[3]; c.Scorer != "compat" || c.Result.Metric != "ceeval_full" || c.Result.P == nil {
		t.Errorf("%+v", c)
	}
}
