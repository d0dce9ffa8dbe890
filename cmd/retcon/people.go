// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"strings"

	"github.com/retcon-bench/retcon/datasets"
	"github.com/retcon-bench/retcon/internal/pipeline"
	"github.com/retcon-bench/retcon/internal/report"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/scoring"
)

// humanCmd is the human row of the paper's tables: people do what models do.
type humanCmd struct {
	Export humanExportCmd `cmd:"" help:"Draw a balanced sample of rows as a sheet that people fill in."`
	Import humanImportCmd `cmd:"" help:"Read filled sheets back as predictions, for score --human."`
}

type humanExportCmd struct {
	Data string `help:"Release folder." required:"" placeholder:"DIR"`
	rowsFlags
	N    int    `name:"n" help:"Rows, half of them with an error, no two of one source story." default:"50"`
	Seed uint64 `help:"Seed of the draw." default:"1"`
	Out  string `help:"Sheet to write (CSV); - for standard output." default:"-" placeholder:"FILE"`
}

func (*humanExportCmd) Help() string {
	return `Give each person a copy. They write yes or no under has_error, and lines of the
story, one a line, under error_lines and contradicted_lines.

  retcon human export --data out --n 50 --out sheet.csv
  retcon human import ann.csv bob.csv cyd.csv --out people.jsonl
  retcon score --data out --pred qwen.jsonl --human people.jsonl`
}

// openKey reads the answer key of a config's split.
func openKey(data string, f rowsFlags) (*datasets.Release, *scoring.Key, error) {
	r, err := datasets.Open(data)
	if err != nil {
		return nil, nil, err
	}
	info, err := r.Split(f.Config, f.Split)
	if err != nil {
		return nil, nil, usagef("%w", err)
	}
	key, err := scoring.NewKey(f.Config, datasets.Rows[schemas.Example](r, f.Config, f.Split))
	if err != nil {
		return nil, nil, err
	}
	key.Release, key.Digest = r.ID(), info.Digest
	return r, key, nil
}

func (cmd *humanExportCmd) Run(e *env) error {
	if cmd.N < 1 {
		return usagef("--n must be at least 1")
	}
	r, key, err := openKey(cmd.Data, cmd.rowsFlags)
	if err != nil {
		return err
	}
	items := key.Sample(cmd.N, cmd.Seed)
	positives := 0
	for _, it := range items {
		if it.Error {
			positives++
		}
	}
	if len(items) < cmd.N || 2*positives != len(items) {
		e.log.Warn("the sample is not what was asked for: too few sources", "wanted", cmd.N, "rows", len(items), "with an error", positives)
	}
	return writeTo(e, cmd.Out, func(w io.Writer) error {
		return scoring.WriteHumanSheet(w, items, datasets.Rows[schemas.Example](r, cmd.Config, cmd.Split))
	})
}

// sheetFlags name filled sheets, one a person.
type sheetFlags struct {
	Sheets    []string `arg:"" help:"Filled sheets (CSV), one a person; the file's name without .csv is the person's."`
	Annotator string   `help:"Name of the person, in place of the file's; for one sheet." placeholder:"NAME"`
	Out       string   `help:"File to write (JSON Lines); - for standard output." default:"-" placeholder:"FILE"`
}

// readSheets reads each sheet and writes all records as lines.
func readSheets[T any](e *env, f sheetFlags, read func(r io.Reader, name, annotator string) ([]T, error)) error {
	if f.Annotator != "" && len(f.Sheets) > 1 {
		return usagef("--annotator names one person, and there are %d sheets", len(f.Sheets))
	}
	var all []T
	seen := map[string]string{}
	for _, name := range f.Sheets {
		who := f.Annotator
		if who == "" {
			who = strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
		}
		if before, twice := seen[who]; twice {
			return usagef("%s and %s are sheets of the same person, %s", before, name, who)
		}
		seen[who] = name
		file, err := openInput(name)
		if err != nil {
			return err
		}
		records, err := read(file, name, who)
		file.Close()
		if err != nil {
			return &codedError{code: exitInput, err: err}
		}
		if len(records) == 0 {
			e.log.Warn("nothing is filled in", "sheet", name)
		}
		all = append(all, records...)
	}
	if len(all) == 0 {
		return &codedError{code: exitInput, err: errors.New("no sheet has anything filled in")}
	}
	return writeTo(e, f.Out, func(w io.Writer) error { return encodeLines(w, sequence(all)) })
}

type humanImportCmd struct{ sheetFlags }

func (*humanImportCmd) Help() string {
	return "  retcon human import ann.csv bob.csv --out people.jsonl"
}

func (cmd *humanImportCmd) Run(e *env) error {
	return readSheets(e, cmd.sheetFlags, scoring.ReadHumanSheet)
}

// rereviewCmd has people look at what systems claim on originals: a false
// positive by the gold labels may be a true plot hole that nobody had seen.
type rereviewCmd struct {
	Export rereviewExportCmd `cmd:"" help:"Write the errors that systems claim in originals, and a sheet on which people judge them."`
	Import rereviewImportCmd `cmd:"" help:"Read filled sheets back as votes, for score --votes."`
}

type rereviewExportCmd struct {
	Data string `help:"Release folder." required:"" placeholder:"DIR"`
	rowsFlags
	Pred   []string `help:"File of predictions, in any form that score reads. Give those of all systems that are to be compared." required:"" placeholder:"FILE" sep:"none"`
	Format string   `help:"Form of the predictions, where the file does not tell." placeholder:"NAME"`
	Out    string   `help:"Claims to write (JSON Lines, with the systems' names); - for standard output." default:"-" placeholder:"FILE"`
	Sheet  string   `help:"Sheet to write (CSV, without the systems' names)." placeholder:"FILE"`
}

func (*rereviewExportCmd) Help() string {
	return `People write yes, no or ? under valid, and for a no the kind of mistake: motive
(a motive or deception misread), state (an entity's state or time mis-tracked),
genre (a convention missed) or over_read (a rule over-read).

  retcon rereview export --data out --pred a.jsonl --pred b.jsonl --out claims.jsonl --sheet claims.csv
  retcon rereview import ann.csv bob.csv cyd.csv --out votes.jsonl
  retcon score --data out --pred a.jsonl --pred b.jsonl --votes votes.jsonl`
}

func (cmd *rereviewExportCmd) Run(e *env) error {
	r, key, err := openKey(cmd.Data, cmd.rowsFlags)
	if err != nil {
		return err
	}
	claims, err := scoring.Claims(key, readAll(e, cmd.Pred, scoring.Format(cmd.Format)))
	if err != nil {
		return &codedError{code: exitInput, err: err}
	}
	if cmd.Sheet != "" {
		stories := map[string]string{}
		for _, c := range claims {
			stories[c.ExampleID] = ""
		}
		for row, err := range datasets.Rows[schemas.Example](r, cmd.Config, cmd.Split) {
			if err != nil {
				return err
			}
			if _, ok := stories[row.ExampleID]; ok {
				stories[row.ExampleID] = row.Story
			}
		}
		if err := writeTo(e, cmd.Sheet, func(w io.Writer) error {
			return scoring.WriteClaimSheet(w, claims, func(id string) string { return stories[id] })
		}); err != nil {
			return err
		}
	}
	e.log.Info("claims on originals", "claims", len(claims))
	return writeTo(e, cmd.Out, func(w io.Writer) error { return encodeLines(w, sequence(claims)) })
}

type rereviewImportCmd struct{ sheetFlags }

func (*rereviewImportCmd) Help() string {
	return "  retcon rereview import ann.csv bob.csv cyd.csv --out votes.jsonl"
}

func (cmd *rereviewImportCmd) Run(e *env) error {
	return readSheets(e, cmd.sheetFlags, scoring.ReadClaimSheet)
}

// readAll reads files of predictions one after the other.
func readAll(e *env, names []string, form scoring.Format) iter.Seq2[schemas.Prediction, error] {
	return readAt(e, names, form, new(place))
}

// place is where the prediction read last stands.
type place struct {
	file string
	line int
}

func (p *place) String() string { return fmt.Sprintf("%s:%d", p.file, p.line) }

func readAt(e *env, names []string, form scoring.Format, at *place) iter.Seq2[schemas.Prediction, error] {
	return func(yield func(schemas.Prediction, error) bool) {
		for _, name := range names {
			at.file = name
			for p, err := range readPredictions(scoring.ReadOptions{Name: name, Format: form, At: &at.line}) {
				if err == nil {
					err = e.ctx.Err()
				}
				if !yield(p, err) {
					return
				}
			}
		}
	}
}

// addPeople adds people's answers (--human) and a re-review (--votes) to the
// report.
func (cmd *scoreCmd) addPeople(e *env, key *scoring.Key, ev *scoring.Evaluation, sum *scoring.Report, r scoring.Resampling) error {
	if len(cmd.Human) > 0 {
		var answers []schemas.Prediction
		for p, err := range readAll(e, cmd.Human, "") {
			if err != nil {
				return err
			}
			answers = append(answers, p)
		}
		rep, err := scoring.People(key, ev, answers, scoring.FlawedFictions, r)
		if err != nil {
			return &codedError{code: exitInput, err: err}
		}
		sum.People = &rep
	}
	if len(cmd.Votes) == 0 {
		return nil
	}
	known := func(yield func(schemas.Prediction, error) bool) { // what --allow lets pass is no claim
		for p, err := range readAll(e, cmd.Pred, scoring.Format(cmd.Format)) {
			var line *scoring.LineError
			if errors.As(err, &line) || err == nil && key.Item(p.ExampleID) == nil {
				continue
			}
			if !yield(p, err) {
				return
			}
		}
	}
	claims, err := scoring.Claims(key, known)
	if err != nil {
		return err
	}
	var votes []schemas.Vote
	for _, name := range cmd.Votes {
		for v, err := range pipeline.ReadLines[schemas.Vote](name) {
			if err != nil {
				return err
			}
			votes = append(votes, v)
		}
	}
	rep := scoring.Audit(claims, votes, cmd.MinAnnotators, ev, scoring.FlawedFictions, r)
	if rep.Votes == 0 {
		return withHint(exitInput, "claims are named after row, model, prompt and sample: score the files that were exported", fmt.Errorf("none of %d votes is on a claim of these predictions", len(votes)))
	}
	sum.Audit = &rep
	return nil
}

// peopleTable has people's two lines, and every system on the same rows.
func peopleTable(rep *scoring.PeopleReport) *report.Table {
	t := &report.Table{Title: fmt.Sprintf("people: %d rows answered by %d annotators, %d to %d a row; systems on the same rows", rep.Rows, rep.Annotators, rep.Least, rep.Most),
		Columns: []string{"who", "scorer"}}
	for _, m := range headlineMetrics {
		t.Columns = append(t.Columns, m.Title)
	}
	for _, l := range rep.Lines {
		row := []any{l.Name, l.Scorer}
		for _, m := range headlineMetrics {
			row = append(row, scoreOf(l.Scores, m.Name).String())
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// auditTables are table E.3, the kinds of mistakes behind rejected claims, and
// all figures beside the audited ones.
func auditTables(rep *scoring.AuditReport) []*report.Table {
	e3 := &report.Table{Title: "re-review of errors claimed in originals", Columns: []string{"model", "prompt", "claims", "reviewed", "accepted", "rate"}}
	kinds := &report.Table{Title: "mistakes behind rejected claims", Columns: []string{"model", "prompt"}}
	kinds.Columns = append(append(kinds.Columns, schemas.ErrorKinds...), "no majority")
	for _, r := range rep.Rows {
		e3.Add(r.Model, r.Prompt, r.Claims, r.Reviewed, r.Accepted, r.Rate.Value)
		row := []any{r.Model, r.Prompt}
		for _, k := range schemas.ErrorKinds {
			row = append(row, r.Kinds[k])
		}
		kinds.Rows = append(kinds.Rows, append(row, r.NoKind))
	}
	aside := 0
	for _, n := range rep.SetAside {
		aside += n
	}
	e3.Notes = []string{fmt.Sprintf("%d claims, %d votes count, %d are set aside (stale or of other claims)", rep.Claims, rep.Votes, aside)}
	kinds.Notes = []string{"motive: a motive or deception misread; state: an entity's state or time mis-tracked; genre: a convention missed; over_read: a rule over-read"}
	both := &report.Table{Title: fmt.Sprintf("all rows, and audited: without the %d rows in which people accepted some system's claim, for all systems alike", len(rep.Excluded)),
		Columns: []string{"run", "scorer"}}
	shown := []scoring.Metric{scoring.Accuracy, scoring.Precision, scoring.F1, scoring.CEEvalFull}
	for _, m := range shown {
		both.Columns = append(both.Columns, m.Title, m.Title+", audited")
	}
	for _, l := range rep.Lines {
		row := []any{l.Run.String(), l.Scorer}
		for _, m := range shown {
			row = append(row, scoreOf(l.All, m.Name).String(), scoreOf(l.Audited, m.Name).String())
		}
		both.Rows = append(both.Rows, row)
	}
	return []*report.Table{e3, kinds, both}
}
