// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/retcon-bench/retcon/datasets"
	"github.com/retcon-bench/retcon/internal/report"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/scoring"
)

// scoreGroup: without a word behind it, retcon score scores predictions.
type scoreGroup struct {
	Predictions scoreCmd         `cmd:"" default:"withargs" help:"Score predictions on a config of a release."`
	ConStory    scoreConStoryCmd `cmd:"" name:"constory" help:"Score what a checker found in generated stories; audit printed tables."`
}

type scoreCmd struct {
	Data          string   `help:"Release folder." required:"" placeholder:"DIR"`
	Config        []string `help:"Config. Repeat to set configs side by side (figure A4); predictions go where their digest says." default:"flawed_fictions" placeholder:"NAME"`
	Split         string   `help:"Split." default:"test" placeholder:"NAME"`
	Pred          []string `help:"File of predictions: ours (JSON Lines or Parquet), raw completions, logs of inspect or lm-evaluation-harness, published columns. Repeat to compare." required:"" placeholder:"FILE" sep:"none"`
	Format        string   `help:"Form of the predictions, where the file does not tell: predictions, completions, published, lm-eval, inspect." placeholder:"NAME"`
	Allow         []string `help:"Go on, and report, where predictions are missing, unknown, doubled, stale, of another release, or unreadable: missing, unknown, doubled, stale, release, bad." placeholder:"WHAT"`
	Human         []string `help:"People's answers on some of the rows (human import): their majority, the mean of single answers, and every system on the same rows." placeholder:"FILE" sep:"none"`
	Votes         []string `help:"Votes on errors claimed in originals (rereview import): figures with and without the rows in which people accepted a claim." placeholder:"FILE" sep:"none"`
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
  retcon score --data out --config flawed_fictions --pred no.jsonl --html score.html
  retcon score --data out --config flawed_fictions --config flawed_fictions_cf --pred a.jsonl --pred a-cf.jsonl`
}

func (cmd *scoreCmd) Run(e *env) error {
	allow, err := parseAllow(cmd.Allow)
	if err != nil {
		return err
	}
	switch {
	case cmd.Resamples < 1:
		return usagef("--resamples must be at least 1")
	case cmd.MinAnnotators < 1:
		return usagef("--min-annotators must be at least 1")
	case len(cmd.Config) > 1 && len(cmd.Human)+len(cmd.Votes) > 0:
		return usagef("--human and --votes are about one config: name one")
	}
	var keys []*scoring.Key
	for _, c := range cmd.Config {
		_, key, err := openKey(cmd.Data, rowsFlags{c, cmd.Split})
		if err != nil {
			return err
		}
		keys = append(keys, key)
	}
	opt := scoring.Options{Allow: allow}
	for _, s := range scoring.Scorers {
		if cmd.Scorer == "both" || cmd.Scorer == s.Name {
			opt.Scorers = append(opt.Scorers, s)
		}
	}
	draws := scoring.Resampling{N: cmd.Resamples, Seed: cmd.Seed}
	var sums []scoring.Report
	for _, key := range keys {
		var at place
		opt.Where = at.String
		ev, err := scoring.Evaluate(key, ofConfig(keys, key, readAt(e, cmd.Pred, scoring.Format(cmd.Format), &at)), opt)
		if err != nil {
			var bind *scoring.BindError
			if errors.As(err, &bind) {
				return withHint(exitInput, "score what fits with --allow, which reports the rest: "+strings.Join(allowNames, ", "), err)
			}
			err = fmt.Errorf("%s: %w", key.Config, err)
			if code, _ := classify(err); code == exitBug { // nothing but predictions can be wrong here
				err = &codedError{code: exitInput, err: err}
			}
			return err
		}
		sum := scoring.Summarise(key, ev, scoring.ReportOptions{Resampling: draws})
		if err := cmd.addPeople(e, key, ev, &sum, draws); err != nil {
			return err
		}
		sums = append(sums, sum)
	}
	if cmd.HTML != "" {
		if err := writeTo(e, cmd.HTML, scorePage(sums).Write); err != nil {
			return err
		}
	}
	switch {
	case cmd.JSON && len(sums) == 1:
		return writeJSON(e.stdout, sums[0])
	case cmd.JSON:
		return writeJSON(e.stdout, sums)
	}
	var tables []*report.Table
	for _, sum := range sums {
		tables = append(tables, headline(sum))
		if sum.People != nil {
			tables = append(tables, peopleTable(sum.People))
		}
		if sum.Audit != nil {
			tables = append(tables, auditTables(sum.Audit)...)
		}
		if cmd.All {
			tables = append(tables, allMetrics(sum), comparisons(sum), confusions(sum), lengths(sum), lengthCorrelations(sum), tokenTable(sum))
			tables = append(tables, byDimension(sum)...)
		}
	}
	if len(sums) > 1 {
		tables = append(tables, byConfig(sums))
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

// ofConfig are the predictions that belong to one of several configs: those
// that name its digest; of those that name none of the configs', those of its
// rows. What belongs nowhere goes to the first, which says so.
func ofConfig(keys []*scoring.Key, key *scoring.Key, preds iter.Seq2[schemas.Prediction, error]) iter.Seq2[schemas.Prediction, error] {
	if len(keys) == 1 {
		return preds
	}
	belongs := func(p schemas.Prediction) bool {
		known := false
		for _, k := range keys {
			if p.Digest != "" && k.Digest == p.Digest {
				return k == key
			}
			known = known || k.Item(p.ExampleID) != nil
		}
		return key.Item(p.ExampleID) != nil || !known && key == keys[0]
	}
	return func(yield func(schemas.Prediction, error) bool) {
		for p, err := range preds {
			if (err != nil || belongs(p)) && !yield(p, err) {
				return
			}
		}
	}
}

// readPredictions reads one file of predictions, whatever its form.
func readPredictions(opt scoring.ReadOptions) iter.Seq2[schemas.Prediction, error] {
	name := opt.Name
	if datasets.IsParquet(name) {
		return datasets.ReadPredictions(name, opt)
	}
	return func(yield func(schemas.Prediction, error) bool) {
		f, err := openInput(name)
		if err != nil {
			yield(schemas.Prediction{}, err)
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
	return t
}

// lengths are the stories' words, as tables A2 and A3 have them.
func lengths(sum scoring.Report) *report.Table {
	t := &report.Table{Title: "words of the stories", Columns: []string{"stories", "mean", "deviation", "least", "first quartile", "median", "third quartile", "most"}}
	if l := sum.Lengths; l != nil {
		t.Add(l.N, l.Mean, l.SD, l.Min, l.Q1, l.Median, l.Q3, l.Max)
	}
	return t
}

// lengthCorrelations are table A6.
func lengthCorrelations(sum scoring.Report) *report.Table {
	t := &report.Table{Title: "words of a story against its CEEval-Full, point-biserial", Columns: []string{"run", "scorer", "answers", "r", "p"}}
	for _, s := range sum.Systems {
		t.Add(s.Run.String(), s.Scorer, s.Length.N, s.Length.R, s.Length.P)
	}
	t.Notes = []string{"n/a: the score is the same for all rows"}
	return t
}

// tokenTable has the tokens that answers took, reasoning apart.
func tokenTable(sum scoring.Report) *report.Table {
	t := &report.Table{Title: "tokens of an answer", Columns: []string{"run", "scorer", "answers counted", "tokens, mean", "with reasoning", "of these reasoning, mean", scoring.Accuracy.Title, scoring.CEEvalFull.Title}}
	for _, s := range sum.Systems {
		if s.Tokens.N > 0 {
			t.Add(s.Run.String(), s.Scorer, s.Tokens.N, s.Tokens.Value, s.ReasoningTokens.N, s.ReasoningTokens.Value,
				scoreOf(s.Scores, scoring.Accuracy.Name).Value, scoreOf(s.Scores, scoring.CEEvalFull.Name).Value)
		}
	}
	if len(t.Rows) == 0 {
		t.Notes = []string{"no run carries token counts"}
	}
	return t
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

// confusions count labels by kind of flaw, and of negative.
func confusions(sum scoring.Report) *report.Table {
	t := &report.Table{Title: "confusion by kind", Columns: []string{"truth", "kind", "run", "scorer", "rows", "said error", "said consistent", "no answer"}}
	for _, s := range sum.Systems {
		for _, d := range s.By {
			for _, p := range d.Parts {
				switch c := p.Tally.Confusion(); d.Name {
				case kindDimension:
					t.Add(schemas.LabelError, p.Value, s.Run.String(), s.Scorer, c.TP+c.FN+c.UnansweredPos, c.TP, c.FN, c.UnansweredPos)
				case negativeDimension:
					t.Add(schemas.LabelConsistent, p.Value, s.Run.String(), s.Scorer, c.FP+c.TN+c.UnansweredNeg, c.FP, c.TN, c.UnansweredNeg)
				}
			}
		}
	}
	return t
}

// Dimensions that the page draws.
const (
	kindDimension     = "kind"
	negativeDimension = "negative"
	lengthDimension   = "length"
)

// byConfig sets configs side by side, as figure A4 does with strategies for
// negatives.
func byConfig(sums []scoring.Report) *report.Table {
	t := &report.Table{Title: "configs side by side", Columns: []string{"run", "scorer", "config", "rows", scoring.Accuracy.Title, scoring.CEEvalFull.Title}}
	for _, run := range runsOf(sums) {
		for _, sum := range sums {
			for _, s := range sum.Systems {
				if s.Run == run {
					t.Add(s.Run.String(), s.Scorer, sum.Config, sum.Rows, scoreOf(s.Scores, scoring.Accuracy.Name).String(), scoreOf(s.Scores, scoring.CEEvalFull.Name).String())
				}
			}
		}
	}
	return t
}

func runsOf(sums []scoring.Report) (out []scoring.Run) {
	for _, sum := range sums {
		for _, s := range sum.Systems {
			if !slices.Contains(out, s.Run) {
				out = append(out, s.Run)
			}
		}
	}
	return out
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
