// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/scoring/scoringtest"
)

// TestPlainPython holds the plain Python page that ships with each release to
// this package: 1,000 mixed predictions, half of them raw completions, must
// give the same label, the same sentences and the same figures, bit for bit.
func TestPlainPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not there: datasets/evalkit/plain_score.py stays unchecked")
	}
	rows := scoringtest.Rows(1, 24, 20)
	key := keyOf(t, rows...)
	dir := t.TempDir()
	rowsFile := filepath.Join(dir, "rows.jsonl")
	writeLines(t, rowsFile, rows)

	for name, file := range map[string]func(string){
		"predictions": func(path string) { writeLines(t, path, scoringtest.Predictions(2, rows, 500)) },
		"completions": func(path string) { writeLines(t, path, scoringtest.Completions(3, rows, 500)) },
	} {
		path := filepath.Join(dir, name+".jsonl")
		file(path)
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		ev, err := Evaluate(key, ReadPredictions(f, ReadOptions{Name: name}), Options{Allow: Allow{Missing: true}})
		if err != nil {
			t.Fatal(err)
		}

		type item struct {
			ExampleID string `json:"example_id"`
			Answered  bool
			Right     bool
			Full      bool
			Sides     [2][]int
			Hits      [2]bool
		}
		out := run(t, python, rowsFile, path, "--items")
		outcomes := map[string]int{}
		checked := 0
		for _, sheet := range ev.Sheets {
			for i := range sheet.Verdicts {
				v := &sheet.Verdicts[i]
				var it item
				if checked >= len(out) {
					t.Fatalf("%s: Python gives %d items", name, len(out))
				}
				if err := json.Unmarshal(out[checked], &it); err != nil {
					t.Fatal(err)
				}
				checked++
				named := [2]int32{int32(len(it.Sides[0])), int32(len(it.Sides[1]))}
				if it.ExampleID != v.Item.ID || it.Answered != v.Answered || it.Right != v.Right() || it.Full != v.Full() ||
					it.Hits != [2]bool{v.Hit(SideError), v.Hit(SideContradicted)} || named != [2]int32{v.Sides[0].Named, v.Sides[1].Named} {
					t.Errorf("%s, %s, sample %d: Python says %s\nGo says %+v", name, v.Item.ID, v.Sample, out[checked-1], *v)
				}
				outcomes[v.Outcome]++
				if v.Full() && v.Item.Error {
					outcomes["localised"]++
				}
				if v.Unmapped > 0 {
					outcomes["unmapped"]++
				}
				if v.OverQuoted {
					outcomes["over-quoted"]++
				}
			}
		}
		if checked != len(out) {
			t.Errorf("%s: %d items from Python, %d from Go", name, len(out), checked)
		}
		// The mix is a mix.
		t.Logf("%s: %d rows: %v", name, checked, outcomes)
		for _, o := range []string{"ok", "missing", "parse_failed", "truncated", "refusal", "empty", "localised", "unmapped", "over-quoted"} {
			if outcomes[o] == 0 {
				t.Errorf("%s: never %s", name, o)
			}
		}

		for i, line := range run(t, python, rowsFile, path) {
			var f map[string]any
			if err := json.Unmarshal(line, &f); err != nil {
				t.Fatal(err)
			}
			for _, s := range FlawedFictions.Score(ev.Sheets[i].Verdicts) {
				got, ok := f[s.Metric]
				if !ok {
					continue
				}
				if want := any(s.Value); math.IsNaN(s.Value) && got != nil || !math.IsNaN(s.Value) && got != want {
					t.Errorf("%s, %s: %s is %v in Python, %v in Go", name, ev.Sheets[i].Run, s.Metric, got, s.Value)
				}
				delete(f, s.Metric)
			}
			for _, k := range []string{"model", "prompt", "rows"} {
				delete(f, k)
			}
			if len(f) > 0 {
				t.Errorf("%s: Python figures without a counterpart: %v", name, f)
			}
		}
	}

	t.Run("quotes", func(t *testing.T) { plainQuotes(t, python, dir, key, rows) })
	t.Run("decisions", func(t *testing.T) { plainDecisions(t, python, dir) })
}

// plainQuotes compares single quotes, sentence by sentence and in order.
func plainQuotes(t *testing.T, python, dir string, key *Key, rows []schemas.Example) {
	type quote struct {
		ExampleID string `json:"example_id"`
		Quote     string `json:"quote"`
	}
	var quotes []quote
	for _, p := range scoringtest.Predictions(4, rows, 600) {
		for _, q := range p.ErrorLines {
			quotes = append(quotes, quote{p.ExampleID, q})
		}
	}
	path := filepath.Join(dir, "quotes.jsonl")
	writeLines(t, path, quotes)
	out := runScript(t, python, `
rows = {r["example_id"]: p.prepare(r) for r in p.read_lines(sys.argv[2])}
for x in p.read_lines(sys.argv[3]):
    print(json.dumps({"sentences": p.map_quote(rows[x["example_id"]], x["quote"]), "words": p.words(x["quote"])}))
`, filepath.Join(dir, "rows.jsonl"), path)
	if len(out) != len(quotes) {
		t.Fatalf("%d quotes, %d answers", len(quotes), len(out))
	}
	mapped := 0
	for i, q := range quotes {
		var got struct {
			Sentences []int
			Words     []string
		}
		if err := json.Unmarshal(out[i], &got); err != nil {
			t.Fatal(err)
		}
		want, words := Default.Sentences(key.Item(q.ExampleID), []string{q.Quote}), Words(q.Quote)
		if !slices.Equal(got.Sentences, want) || !slices.Equal(got.Words, words) {
			t.Errorf("%s: %q maps to %v in Python (words %q), %v in Go (words %q)", q.ExampleID, q.Quote, got.Sentences, got.Words, want, words)
		}
		if len(want) > 0 {
			mapped++
		}
	}
	if n := len(quotes); mapped < n/3 || mapped > n*19/20 {
		t.Errorf("%d of %d quotes map: no fair mix", mapped, n)
	}
}

// plainDecisions compares the reading of every decision of TestReadDecision.
func plainDecisions(t *testing.T, python, dir string) {
	path := filepath.Join(dir, "decisions.jsonl")
	var in []string
	for _, c := range decisionCases {
		in = append(in, c.in)
	}
	writeLines(t, path, in)
	out := runScript(t, python, `
for x in p.read_lines(sys.argv[2]):
    print(p.read_decision(x) or "invalid")
`, path)
	if len(out) != len(decisionCases) {
		t.Fatalf("%d decisions, %d answers", len(decisionCases), len(out))
	}
	for i, c := range decisionCases {
		if got := string(out[i]); got != c.want.String() {
			t.Errorf("Python reads %q as %s, want %v", c.in, got, c.want)
		}
	}
}

func runScript(t *testing.T, python, script string, args ...string) [][]byte {
	t.Helper()
	cmd := exec.Command(python, append([]string{"-B", "-c", "import json, sys\nsys.path.insert(0, sys.argv[1])\nimport plain_score as p\n" + script, kitDir}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(bytes.TrimSpace(out), []byte("\n"))
}

var kitDir = filepath.Join("..", "datasets", "evalkit")

func run(t *testing.T, python string, args ...string) [][]byte {
	t.Helper()
	cmd := exec.Command(python, append([]string{"-B", filepath.Join(kitDir, "plain_score.py")}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(bytes.TrimSpace(out), []byte("\n"))
}

func writeLines[T any](t *testing.T, path string, records []T) {
	t.Helper()
	var b []byte
	for _, r := range records {
		var err error
		if b, err = schemas.AppendLine(b, r); err != nil {
			t.Fatal(fmt.Errorf("%s: %w", path, err))
		}
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}
