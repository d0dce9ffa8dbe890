// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"os"
	"strings"

	"github.com/retcon-bench/retcon/datasets"
	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/internal/report"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/scoring"
)

type scoreCmd struct {
	Data string `help:"Release folder." required:"" placeholder:"DIR"`
	rowsFlags
	Pred          []string `help:"File of predictions: ours (JSON Lines or Parquet), raw completions, logs of inspect or lm-evaluation-harness, published columns. Repeat to compare." required:"" placeholder:"FILE"`
	Format        string   `help:"Form of the predictions, where the file does not tell: predictions, completions, published, lm-eval, inspect." placeholder:"NAME"`
	Allow         []string `help:"Go on, and report, where predictions are missing, unknown, doubled, stale, of another release, or unreadable: missing, unknown, doubled, stale, release, bad." placeholder:"WHAT"`
	Human         []string `help:"People's answers on some of the rows (human import): their majority, the mean of single answers, and every system on the same rows." placeholder:"FILE"`
	Votes         []string `help:"Votes on errors claimed in originals (rereview import): figures with and without the rows in which people accepted a claim." placeholder:"FILE"`
	MinAnnotators int      `help:"Votes that a claim needs." default:"3"`
	Scorer        string   `help:"default, compat or both." default:"both" enum:"default,compat,both"`
	Resamples     int      `help:"Bootstrap resamples by source, for intervals and comparisons." default:"10000"`
	Seed          uint64   `help:"Seed of the bootstrap." default:"1"`
	All           bool     `help:"Print every metric, comparisons of runs, and the figures by class, kind, length and difficulty."`
	Table         string   `help:"Form of the tables: text, markdown or csv." default:"text" enum:"text,markdown,csv"`
	JSON          bool     `name:"json" help:"Print everything as JSON."`
	HTML          string   `name:"html" help:"Also write a page with tables and plots." placeholder:"FILE"`
}

func (*scoreCmd) Help() string {
	return `Prints Accuracy, Precision, Recall, F1, CEEval-Pos, CEEval-Full, what shows a
system that says no to everything, and coverage, for each run in the files, by
both scorers, with 95 % intervals by source.

  retcon detect --data out --baseline always-no --out no.jsonl
  retcon score --data out --config flawed_fictions --pred no.jsonl --html score.html`
}

func (cmd *scoreCmd) Run(e *env) error {
	allow, err := parseAllow(cmd.Allow)
	if err != nil {
		return err
	}
	if cmd.Resamples < 1 {
		return usagef("--resamples must be at least 1")
	}
	if cmd.MinAnnotators < 1 {
		return usagef("--min-annotators must be at least 1")
	}
	_, key, err := openKey(cmd.Data, cmd.rowsFlags)
	if err != nil {
		return err
	}
	var scorers []scoring.Scorer
	for _, s := range scoring.Scorers {
		if cmd.Scorer == "both" || cmd.Scorer == s.Name {
			scorers = append(scorers, s)
		}
	}
	ev, err := scoring.Evaluate(key, readAll(e, cmd.Pred, scoring.Format(cmd.Format)), scoring.Options{Scorers: scorers, Allow: allow})
	if err != nil {
		var bind *scoring.BindError
		if errors.As(err, &bind) {
			return withHint(exitInput, "score what fits with --allow, which reports the rest: "+strings.Join(allowNames, ", "), err)
		}
		return err
	}
	draws := scoring.Resampling{N: cmd.Resamples, Seed: cmd.Seed}
	sum := scoring.Summarise(key, ev, scoring.ReportOptions{Resampling: draws})
	if err := cmd.addPeople(e, key, ev, &sum, draws); err != nil {
		return err
	}
	if cmd.HTML != "" {
		page := scorePage(sum, ev)
		if err := writeTo(e, cmd.HTML, page.Write); err != nil {
			return err
		}
	}
	if cmd.JSON {
		return writeJSON(e.stdout, sum)
	}
	tables := []*report.Table{headline(sum)}
	if sum.People != nil {
		tables = append(tables, peopleTable(sum.People))
	}
	if sum.Audit != nil {
		tables = append(tables, auditTables(sum.Audit)...)
	}
	if cmd.All {
		tables = append(tables, allMetrics(sum), comparisons(sum))
		tables = append(tables, byDimension(sum)...)
	}
	for i, t := range tables {
		if i > 0 {
			fmt.Fprintln(e.stdout)
		}
		if err := t.Write(e.stdout, cmd.Table); err != nil {
			return err
		}
	}
	return nil
}

// readPredictions reads one file of predictions, whatever its form.
func readPredictions(name string, form scoring.Format) iter.Seq2[schemas.Prediction, error] {
	opt := scoring.ReadOptions{Format: form, Name: name}
	if datasets.IsParquet(name) {
		return datasets.ReadPredictions(name, opt)
	}
	return func(yield func(schemas.Prediction, error) bool) {
		f, err := os.Open(name)
		if err != nil {
			yield(schemas.Prediction{}, &fetch.Error{Op: "open predictions", Name: name, Kind: fetch.Input, Err: err})
			return
		}
		defer f.Close()
		for p, err := range scoring.ReadPredictions(f, opt) {
			if err != nil {
				err = &codedError{code: exitInput, err: err}
			}
			if !yield(p, err) {
				return
			}
		}
	}
}

// headlineMetrics are the paper's columns, and beside CEEval-Full what shows a
// system that says no to everything.
var headlineMetrics = append(append([]scoring.Metric{}, scoring.Paper.Metrics...),
	scoring.TrueNegativeRate, scoring.BalancedCEEval, scoring.Coverage, scoring.AccuracyAnswered)

func headline(sum scoring.Report) *report.Table {
	t := &report.Table{Title: fmt.Sprintf("%s of %s: %d rows, %d sources", sum.Config, sum.Release, sum.Rows, sum.Groups), Columns: []string{"run", "scorer"}}
	for _, m := range headlineMetrics {
		t.Columns = append(t.Columns, m.Title)
	}
	for _, s := range sum.Systems {
		row := []any{s.Run.String(), s.Scorer}
		for _, m := range headlineMetrics {
			row = append(row, scoreOf(s.Scores, m.Name).String())
		}
		t.Rows = append(t.Rows, row)
	}
	b := sum.Binding
	t.Notes = append(t.Notes, fmt.Sprintf("rows %d, predictions bound %d, missing %d, unknown %d, doubled %d, stale %d, of another release %d, unreadable lines %d, without text_hash %d",
		b.Rows, b.Bound, b.Missing, b.Unknown, b.Doubled, b.Stale, b.Release, b.Bad, b.Unchecked),
		"intervals: 95 %, bootstrap by source; an unanswered row counts as wrong but in the last column")
	return t
}

func scoreOf(scores []scoring.Score, metric string) scoring.Score {
	for _, s := range scores {
		if s.Metric == metric {
			return s
		}
	}
	return scoring.Score{Metric: metric}
}

// allMetrics has a row a metric and a column a run and scorer.
func allMetrics(sum scoring.Report) *report.Table {
	t := &report.Table{Title: "all metrics", Columns: []string{"metric"}}
	for _, s := range sum.Systems {
		t.Columns = append(t.Columns, s.Run.String()+" / "+s.Scorer)
	}
	for _, m := range scoring.FlawedFictions.Metrics {
		row := []any{m.Title}
		for _, s := range sum.Systems {
			row = append(row, scoreOf(s.Scores, m.Name).String())
		}
		t.Rows = append(t.Rows, row)
	}
	for _, s := range sum.Systems {
		t.Notes = append(t.Notes, s.Run.String()+" / "+s.Scorer+": "+correlation(s.Length))
	}
	return t
}

// correlation says how CEEval-Full of a row hangs on its length.
func correlation(c scoring.Correlation) string {
	if math.IsNaN(c.R) {
		return fmt.Sprintf("CEEval-Full against words: not defined, the score is the same for all %d rows", c.N)
	}
	return fmt.Sprintf("CEEval-Full against words: point-biserial r = %.3f, p = %.3f, n = %d", c.R, c.P, c.N)
}

func comparisons(sum scoring.Report) *report.Table {
	t := &report.Table{Title: "comparisons of runs on the same rows: permutation by source, corrected by Holm over the pairs of a scorer and metric",
		Columns: []string{"scorer", "metric", "run", "against", "difference", "p", "p (Holm)", "McNemar (Holm)", "smallest detectable"}}
	for _, c := range sum.Comparisons {
		r := c.Result
		t.Add(c.Scorer, r.Metric, r.B, r.A, r.Diff.String(), r.Permutation, r.PermutationHolm, r.McNemarHolm, r.Detectable)
	}
	if len(t.Rows) == 0 {
		t.Notes = []string{"one run: nothing to compare"}
	}
	return t
}

// byDimension has a table a dimension of the rows.
func byDimension(sum scoring.Report) []*report.Table {
	var out []*report.Table
	at := map[string]*report.Table{}
	for _, s := range sum.Systems {
		for _, d := range s.By {
			t := at[d.Name]
			if t == nil {
				t = &report.Table{Title: "by " + d.Name + ": " + d.Doc, Columns: []string{d.Name, "run", "scorer", "rows",
					scoring.Accuracy.Title, scoring.Recall.Title, scoring.CEEvalPos.Title, scoring.CEEvalFull.Title}}
				at[d.Name] = t
				out = append(out, t)
			}
			for _, p := range d.Parts {
				t.Add(p.Value, s.Run.String(), s.Scorer, scoreOf(p.Scores, "accuracy").N, scoreOf(p.Scores, "accuracy").Value, scoreOf(p.Scores, "recall").Value,
					scoreOf(p.Scores, "ceeval_pos").Value, scoreOf(p.Scores, "ceeval_full").Value)
			}
		}
	}
	return out
}

// scorePage is the report as a page: intervals by run, length and tokens
// against score, negatives, and everything by dimension.
func scorePage(sum scoring.Report, ev *scoring.Evaluation) report.Page {
	bars := func(m scoring.Metric) report.SVG {
		var list []report.Bar
		for _, s := range sum.Systems {
			sc := scoreOf(s.Scores, m.Name)
			b := report.Bar{Label: s.Run.String() + " / " + s.Scorer, Value: sc.Value, Low: sc.Value, High: sc.Value, Group: s.Scorer}
			if sc.Interval != nil {
				b.Low, b.High = sc.Interval.Low, sc.Interval.High
			}
			list = append(list, b)
		}
		return report.Bars(m.Title, list, 1)
	}
	p := report.Page{Title: "Scores on " + sum.Config, Subtitle: fmt.Sprintf("%s, %d rows, %d sources, digest %s", sum.Release, sum.Rows, sum.Groups, sum.Digest)}
	p.Sections = append(p.Sections, report.Section{Title: "Headline", Tables: []*report.Table{headline(sum)}})
	if sum.People != nil {
		p.Sections = append(p.Sections, report.Section{Title: "People", Tables: []*report.Table{peopleTable(sum.People)}})
	}
	if sum.Audit != nil {
		p.Sections = append(p.Sections, report.Section{Title: "Re-review", Tables: auditTables(sum.Audit)})
	}
	for _, m := range []scoring.Metric{scoring.Accuracy, scoring.CEEvalFull, scoring.BalancedCEEval} {
		p.Sections = append(p.Sections, report.Section{Title: m.Title, Text: []string{m.Doc + "; 95 % intervals by source."}, Figures: []report.SVG{bars(m)}})
	}
	length, tokens := report.Section{Title: "Length against score"}, report.Section{Title: "Tokens against score"}
	var points []report.Point
	for _, s := range sum.Systems {
		points = append(points, report.Point{X: s.Tokens.Value, Y: scoreOf(s.Scores, "ceeval_full").Value, Group: s.Run.String() + " / " + s.Scorer})
		for _, d := range s.By {
			if d.Name != "length" {
				continue
			}
			var list []report.Bar
			for _, part := range d.Parts {
				v := scoreOf(part.Scores, "ceeval_full").Value
				list = append(list, report.Bar{Label: part.Value, Value: v, Low: v, High: v})
			}
			length.Figures = append(length.Figures, report.Bars(fmt.Sprintf("CEEval-Full by length, %s / %s", s.Run, s.Scorer), list, 1))
			length.Text = append(length.Text, s.Run.String()+" / "+s.Scorer+": "+correlation(s.Length)+".")
		}
	}
	tokens.Text = []string{"Mean tokens of an answer against CEEval-Full, one point a run and scorer; runs without token counts are left out."}
	tokens.Figures = []report.SVG{report.Scatter("tokens against CEEval-Full", "tokens of an answer, mean", "CEEval-Full", points)}
	p.Sections = append(p.Sections, length, tokens)
	neg := &report.Table{Title: "accuracy over matched groups, by kind of negative", Columns: []string{"negative", "run", "scorer", "rows", "accuracy"}}
	for _, s := range sum.Systems {
		for _, part := range s.Paired {
			neg.Add(part.Value, s.Run.String(), s.Scorer, scoreOf(part.Scores, "accuracy").N, scoreOf(part.Scores, "paired_accuracy").Value)
		}
	}
	p.Sections = append(p.Sections,
		report.Section{Title: "Negatives", Tables: []*report.Table{neg}},
		report.Section{Title: "All metrics", Tables: []*report.Table{allMetrics(sum), comparisons(sum)}},
		report.Section{Title: "By kind of row", Tables: byDimension(sum)})
	return p
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
