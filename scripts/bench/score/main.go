// SPDX-License-Identifier: Apache-2.0

// Command score times the scoring of a million predictions, from JSON Lines
// and from Parquet, against a version of the same figures in plain Python and
// scikit-learn (bench.py), in one run and on the same files. It fails if the two disagree.
//
// run.sh makes the Python environment and calls it. The predictions are made
// up (scoring/scoringtest): a label, an explanation, one or two quotes a side.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"iter"
	"log"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/retcon-bench/retcon/datasets"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/scoring"
	"github.com/retcon-bench/retcon/scoring/scoringtest"
)

func main() {
	log.SetFlags(0)
	n := flag.Int("n", 1_000_000, "predictions")
	stories := flag.Int("stories", 414, "stories")
	dir := flag.String("dir", "", "working folder; empty = a temporary one, removed at the end")
	python := flag.String("python", "", "python with scikit-learn and pyarrow; empty = time Go alone")
	only := flag.String("only", "", "jsonl or parquet; empty = both")
	one := flag.Bool("score", false, "score two files, rows and predictions, and print the figures: what is timed")
	flag.Parse()
	var err error
	if *one {
		err = score(flag.Arg(0), flag.Arg(1))
	} else {
		err = run(*n, *stories, *dir, *python, *only)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func run(n, stories int, dir, python, only string) error {
	if dir == "" {
		tmp, err := os.MkdirTemp("", "score-bench")
		if err != nil {
			return err
		}
		defer os.RemoveAll(tmp)
		dir = tmp
	}
	lines, pq, rowsFile := filepath.Join(dir, "predictions.jsonl"), filepath.Join(dir, "predictions.parquet"), filepath.Join(dir, "rows.jsonl")
	if err := write(scoringtest.Rows(1, stories, 50), n, rowsFile, lines, pq); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	fmt.Printf("%d predictions of %d stories, %d cores\n", n, stories, runtime.GOMAXPROCS(0))
	fmt.Printf("%-22s %9s %10s %10s\n", "", "MB", "wall s", "CPU s")
	for _, f := range []string{lines, pq} {
		if only != "" && !strings.HasSuffix(f, only) {
			continue
		}
		st, err := os.Stat(f)
		if err != nil {
			return err
		}
		ours, err := timed(self, "-score", rowsFile, f)
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(filepath.Ext(f), ".")
		fmt.Printf("%-22s %9.1f %10.2f %10.2f\n", "Go, "+name, float64(st.Size())/1e6, ours.wall, ours.cpu)
		if python == "" {
			continue
		}
		theirs, err := timed(python, "-B", "scripts/bench/score/bench.py", "datasets/evalkit", rowsFile, f)
		if err != nil {
			return fmt.Errorf("%w: run it from the root of the repository", err)
		}
		fmt.Printf("%-22s %9s %10.2f %10.2f   %.1f times the wall clock, %.1f times the CPU\n", "Python, "+name, "",
			theirs.wall, theirs.cpu, theirs.wall/ours.wall, theirs.cpu/ours.cpu)
		for name, v := range theirs.figures {
			if mine, ok := ours.figures[name]; !ok || math.Abs(mine-v) > 1e-12 {
				return fmt.Errorf("%s: %s is %v in Python, %v in Go", filepath.Base(f), name, v, mine)
			}
		}
		fmt.Printf("  %d figures equal: accuracy %.4f, F1 %.4f, CEEval-Pos %.4f, CEEval-Full %.4f\n", len(theirs.figures),
			theirs.figures["accuracy"], theirs.figures["f1"], theirs.figures["ceeval_pos"], theirs.figures["ceeval_full"])
	}
	bootstrap()
	return nil
}

// timing is one process, from its start to its end.
type timing struct {
	wall, cpu float64
	figures   map[string]float64
}

func timed(name string, args ...string) (timing, error) {
	cmd := exec.Command(name, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return timing{}, fmt.Errorf("%s: %w", filepath.Base(name), err)
	}
	t := timing{wall: time.Since(start).Seconds()}
	t.cpu = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	return t, json.Unmarshal(out.Bytes(), &t.figures)
}

func write(rows []schemas.Example, n int, rowsFile, lines, pq string) (err error) {
	var b []byte
	for _, r := range rows {
		if b, err = schemas.AppendLine(b, r); err != nil {
			return err
		}
	}
	if err := os.WriteFile(rowsFile, b, 0o644); err != nil {
		return err
	}
	lf, err := os.Create(lines)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lf.Close()) }()
	pf, err := os.Create(pq)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pf.Close()) }()
	lw := bufio.NewWriterSize(lf, 1<<20)
	// One pass writes both: Parquet from the same sequence.
	var lineErr error
	err = datasets.WritePredictions(pf, func(yield func(schemas.Prediction, error) bool) {
		for p := range scoringtest.Plain(2, rows, n) {
			if b, lineErr = schemas.AppendLine(b[:0], p); lineErr != nil {
				return
			}
			if _, lineErr = lw.Write(b); lineErr != nil || !yield(p, nil) {
				return
			}
		}
	})
	return errors.Join(err, lineErr, lw.Flush())
}

func score(rowsFile, predictions string) error {
	key, err := scoring.NewKey("bench", readRows(rowsFile))
	if err != nil {
		return err
	}
	source := datasets.ReadPredictions(predictions, scoring.ReadOptions{})
	if !strings.HasSuffix(predictions, ".parquet") {
		f, err := os.Open(predictions)
		if err != nil {
			return err
		}
		defer f.Close()
		source = scoring.ReadPredictions(f, scoring.ReadOptions{Name: predictions})
	}
	ev, err := scoring.Evaluate(key, source, scoring.Options{Allow: scoring.Allow{Missing: true}})
	if err != nil {
		return err
	}
	out := map[string]float64{}
	for _, s := range scoring.FlawedFictions.Score(ev.Sheets[0].Verdicts) {
		if !math.IsNaN(s.Value) {
			out[s.Metric] = s.Value
		}
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}

func readRows(path string) iter.Seq2[schemas.Example, error] {
	return func(yield func(schemas.Example, error) bool) {
		b, err := os.ReadFile(path)
		if err != nil {
			yield(schemas.Example{}, err)
			return
		}
		for line := range bytes.Lines(b) {
			var e schemas.Example
			err := schemas.ParseLine(line, &e)
			if !yield(e, err) {
				return
			}
		}
	}
}

// bootstrap times 10,000 resamples of 414 rows for ten systems, all metrics.
func bootstrap() {
	rows := scoringtest.Rows(1, 414, 20)
	key, err := scoring.KeyOf("bench", rows...)
	if err != nil {
		log.Fatal(err)
	}
	var systems [][]scoring.Verdict
	for s := range 10 {
		var vs []scoring.Verdict
		for p := range scoringtest.Plain(uint64(s), rows, len(rows)) {
			vs = append(vs, scoring.Default.Judge(key.Item(p.ExampleID), &p))
		}
		systems = append(systems, vs)
	}
	start := time.Now()
	scoring.FlawedFictions.Bootstrap(scoring.Resampling{Seed: 1}, systems...)
	fmt.Printf("Go, bootstrap of %d metrics, 10 systems, 414 rows, 10,000 resamples: %.2f s\n", len(scoring.FlawedFictions.Metrics), time.Since(start).Seconds())
}
