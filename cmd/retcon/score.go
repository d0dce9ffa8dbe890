// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"strings"

	"github.com/retcon-bench/retcon/datasets"
	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/internal/report"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/scoring"
)

type scoreCmd struct {
	rowsFlags
	Pred      []string `help:"File of predictions: ours (JSON Lines), raw completions, logs of inspect or lm-evaluation-harness, published columns. Repeat to compare." required:"" placeholder:"FILE"`
	Format    string   `help:"Form of the predictions, where the file does not tell: predictions, completions, published, lm-eval, inspect." placeholder:"NAME"`
	Allow     []string `help:"Go on, and report, where predictions are missing, unknown, doubled, stale, of another release, or unreadable: missing, unknown, doubled, stale, release, bad." placeholder:"WHAT"`
	Scorer    string   `help:"default, compat or both." default:"both" enum:"default,compat,both"`
	Resamples int      `help:"Bootstrap resamples for intervals; 0 = none." default:"10000"`
	Seed      uint64   `help:"Seed of the bootstrap." default:"1"`
	All       bool     `help:"Print every metric, not the headline ones alone."`
	Table     string   `help:"text, markdown, csv or json." default:"text" enum:"text,markdown,csv,json"`
	JSON      bool     `name:"json" help:"The same as --table json."`
}

func (*scoreCmd) Help() string {
	return `Prints Accuracy, Precision, Recall, F1, CEEval-Pos, CEEval-Full and coverage for
each run in the files, by both scorers, with 95 % intervals by source.

  retcon detect --data out --baseline always-no --out no.jsonl
  retcon score --data out --config flawed_fictions --pred no.jsonl`
}

func (cmd *scoreCmd) Run(e *env) error {
	allow, err := parseAllow(cmd.Allow)
	if err != nil {
		return err
	}
	r, err := datasets.Open(cmd.Data)
	if err != nil {
		return err
	}
	if _, err := r.Split(cmd.Config, cmd.Split); err != nil {
		return usagef("%w", err)
	}
	key, err := scoring.NewKey(cmd.Config, datasets.Rows[schemas.Example](r, cmd.Config, cmd.Split))
	if err != nil {
		return err
	}
	var scorers []scoring.Scorer
	for _, s := range []scoring.Scorer{scoring.Default, scoring.Compat} {
		if cmd.Scorer == "both" || cmd.Scorer == s.Name {
			scorers = append(scorers, s)
		}
	}
	ev, err := scoring.Evaluate(key, cmd.predictions(e), scoring.Options{Scorers: scorers, Allow: allow})
	if err != nil {
		var bind *scoring.BindError
		if errors.As(err, &bind) {
			return withHint(exitInput, "score what fits with --allow, which reports the rest: "+strings.Join(allowNames, ", "), err)
		}
		return err
	}
	return cmd.print(e, ev)
}

// headline is what is printed unless --all asks for everything: the paper's
// columns, and beside CEEval-Full what shows a system that says no to all.
var headline = scoring.Suite{Name: "headline", Metrics: append(append([]scoring.Metric{}, scoring.Paper.Metrics...),
	scoring.TrueNegativeRate, scoring.BalancedCEEval, scoring.Coverage)}

// predictions reads all files one after the other.
func (cmd *scoreCmd) predictions(e *env) iter.Seq2[schemas.Prediction, error] {
	return func(yield func(schemas.Prediction, error) bool) {
		for _, name := range cmd.Pred {
			f, err := os.Open(name)
			if err != nil {
				yield(schemas.Prediction{}, &fetch.Error{Op: "open predictions", Name: name, Kind: fetch.Input, Err: err})
				return
			}
			for p, err := range scoring.ReadPredictions(f, scoring.ReadOptions{Format: scoring.Format(cmd.Format), Name: name}) {
				if err != nil {
					err = &codedError{code: exitInput, err: err}
				} else {
					err = e.ctx.Err()
				}
				if !yield(p, err) {
					f.Close()
					return
				}
			}
			f.Close()
		}
	}
}

func (cmd *scoreCmd) print(e *env, ev *scoring.Evaluation) error {
	suite := headline
	if cmd.All {
		suite = scoring.FlawedFictions
	}
	t := &report.Table{Title: "config " + ev.Config, Columns: []string{"run", "scorer"}}
	for _, m := range suite.Metrics {
		t.Columns = append(t.Columns, m.Title)
	}
	// Systems of one scorer are resampled together, on the same draws.
	for _, sheets := range byScorer(ev.Sheets) {
		systems := make([][]scoring.Verdict, len(sheets))
		for i, s := range sheets {
			systems[i] = s.Verdicts
		}
		var scores [][]scoring.Score
		if cmd.Resamples > 0 {
			scores = suite.Bootstrap(scoring.Resampling{N: cmd.Resamples, Seed: cmd.Seed}, systems...)
		} else {
			for _, vs := range systems {
				scores = append(scores, suite.Score(vs))
			}
		}
		for i, s := range sheets {
			row := []any{s.Run.String(), s.Scorer.Name}
			for _, sc := range scores[i] {
				row = append(row, cmd.figure(sc))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	b := ev.Binding
	t.Notes = append(t.Notes, fmt.Sprintf("rows %d, predictions bound %d, missing %d, unknown %d, doubled %d, stale %d, unreadable lines %d, without text_hash %d",
		b.Rows, b.Bound, b.Missing, b.Unknown, b.Doubled, b.Stale, b.Bad, b.Unchecked))
	if cmd.Resamples > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("intervals: 95 %%, %d bootstrap resamples by source group", cmd.Resamples))
	}
	format := cmd.Table
	if cmd.JSON {
		format = report.JSON
	}
	return t.Write(e.stdout, format)
}

// figure is a score for people, or for machines its bare value.
func (cmd *scoreCmd) figure(s scoring.Score) any {
	if cmd.JSON || cmd.Table != report.Text && cmd.Table != report.Markdown {
		return s.Value
	}
	return s.String()
}

func byScorer(sheets []scoring.Sheet) [][]scoring.Sheet {
	var out [][]scoring.Sheet
	at := map[string]int{}
	for _, s := range sheets {
		i, ok := at[s.Scorer.Name]
		if !ok {
			i = len(out)
			at[s.Scorer.Name] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], s)
	}
	return out
}

var allowNames = []string{"missing", "unknown", "doubled", "stale", "release", "bad"}

func parseAllow(words []string) (scoring.Allow, error) {
	var a scoring.Allow
	for _, w := range words {
		switch w {
		case "missing":
			a.Missing = true
		case "unknown":
			a.Unknown = true
		case "doubled":
			a.Doubled = true
		case "stale":
			a.Stale = true
		case "release":
			a.Release = true
		case "bad":
			a.Bad = true
		default:
			return a, usagef("--allow %s: want one of %s", w, strings.Join(allowNames, ", "))
		}
	}
	return a, nil
}
