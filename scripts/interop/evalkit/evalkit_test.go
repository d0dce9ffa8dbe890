// SPDX-License-Identifier: Apache-2.0

// Package evalkit tests that the harness files of a release compute what
// package scoring computes.
package evalkit

import (
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/scoring"
	"github.com/retcon-bench/retcon/scoring/scoringtest"
)

// harness answers as lm-evaluation-harness does: it gives each completion to
// process_results and averages each figure over the rows that have it.
const harness = `
import collections, json, sys
sys.path.insert(0, sys.argv[1] + "/lm_eval")
import utils
rows = {}
for line in open(sys.argv[2], encoding="utf-8"):
    row = json.loads(line)
    rows[row["example_id"]] = row
sums = collections.defaultdict(list)
verdicts = []
for line in open(sys.argv[3], encoding="utf-8"):
    c = json.loads(line)
    row = rows[c["example_id"]]
    assert row["story"] in utils.doc_to_text(row)
    for name, value in utils.process_results(row, [c["completion"]]).items():
        sums[name].append(value)
    verdicts.append(utils.retcon_eval.verdict(row, c["completion"]))
print(json.dumps({"averages": {k: sum(v) / len(v) for k, v in sums.items()}, "figures": utils.retcon_eval.figures(verdicts)}))
`

func TestHarnessFigures(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not there: datasets/evalkit stays unchecked")
	}
	rows := scoringtest.Rows(11, 24, 20)
	var completions []scoringtest.Completion
	seen := map[string]bool{}
	for _, c := range scoringtest.Completions(12, rows, 400) {
		c.FinishReason = "" // a harness does not hand it on
		if !seen[c.ExampleID] {
			seen[c.ExampleID] = true
			c.Model, c.Sample = "m", 0
			completions = append(completions, c)
		}
	}
	if len(completions) != len(rows) {
		t.Fatalf("%d completions for %d rows", len(completions), len(rows))
	}
	dir := t.TempDir()
	rowsFile, answers := filepath.Join(dir, "rows.jsonl"), filepath.Join(dir, "answers.jsonl")
	lines(t, rowsFile, rows)
	lines(t, answers, completions)

	key, err := scoring.NewKey("c", func(yield func(schemas.Example, error) bool) {
		for _, r := range rows {
			if !yield(r, nil) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(answers)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ev, err := scoring.Evaluate(key, scoring.ReadPredictions(f, scoring.ReadOptions{Name: "answers"}), scoring.Options{Allow: scoring.Allow{Missing: true}})
	if err != nil {
		t.Fatal(err)
	}
	if len(ev.Sheets) != 1 {
		t.Fatalf("%d sheets", len(ev.Sheets))
	}
	cmd := exec.Command(python, "-B", "-c", harness, filepath.Join("..", "..", "..", "datasets", "evalkit"), rowsFile, answers)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Averages map[string]float64
		Figures  map[string]*float64
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, s := range scoring.FlawedFictions.Score(ev.Sheets[0].Verdicts) {
		if f, ok := got.Figures[s.Metric]; ok {
			compared++
			if f == nil != math.IsNaN(s.Value) || f != nil && *f != s.Value {
				t.Errorf("%s: retcon_eval gives %v, scoring %v", s.Metric, f, s.Value)
			}
		}
		if avg, ok := got.Averages[s.Metric]; ok && math.Abs(avg-s.Value) > 1e-12 {
			t.Errorf("%s: the harness averages %v, scoring gives %v", s.Metric, avg, s.Value)
		}
	}
	if compared != 8 || len(got.Averages) != 7 {
		t.Errorf("%d figures and %d averages compared", compared, len(got.Averages))
	}
	if v := got.Figures["ceeval_full"]; v == nil || *v <= 0 || *v >= 1 {
		t.Errorf("no fair mix: ceeval_full %v", v)
	}
}

func lines[T any](t *testing.T, path string, list []T) {
	t.Helper()
	var b []byte
	for _, v := range list {
		line, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		b = append(append(b, line...), '\n')
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}
