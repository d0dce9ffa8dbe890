// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/internal/report"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/scoring"
	"github.com/retcon-bench/retcon/transform/generate"
)

type scoreConStoryCmd struct {
	In      []string `arg:"" optional:"" name:"run" help:"What a judge said: the workspace of retcon check, or a file of its reports (JSON Lines), or the published tools' CSV (.csv, .csv.gz), Parquet or JSON Lines. MODEL=PATH names the model of a file that does not." placeholder:"[MODEL=]PATH"`
	Stories []string `help:"The stories, where the run does not hold them: whatever retcon check was given, or a story set of the published tools (JSON Lines)." placeholder:"PATH" sep:"none"`
	Column  string   `name:"story-column" help:"Column of the story in CSV and Parquet; found by itself where only one can be meant." placeholder:"NAME"`
	Judge   string   `help:"The judge of files that do not name theirs." placeholder:"NAME"`
	Models  string   `help:"Table of models (CSV: name, class, family; class is closed, open, enhanced or agentic)." placeholder:"FILE"`
	Repeats bool     `help:"Runs of one judge on the same stories are samples: the first is scored, all are compared with each other."`
	Vote    string   `help:"Which findings of several samples count: of most, any or all of them." default:"majority" enum:"majority,any,all"`
	Words   string   `help:"What a word is: reference (white space, as the published code) or cjk (each ideograph and kana too)." default:"reference" enum:"reference,cjk"`

	Diagnostic string   `help:"Truth of a diagnostic set (truth.jsonl): precision, recall and F1 of the judge." placeholder:"PATH"`
	Marks      []string `help:"What people marked in the diagnostic set (JSON Lines). Repeat for several files." placeholder:"FILE" sep:"none"`

	Audit string `help:"Hold printed tables (JSON) against the definitions and against each other; nothing is scored." placeholder:"FILE"`
	Check bool   `help:"With --audit: exit code 4 if a cell does not follow."`

	Resamples int    `help:"Bootstrap resamples, of stories and of prompts; 0 for no intervals." default:"1000"`
	Seed      uint64 `help:"Seed of the bootstrap." default:"1"`
	Workers   int    `help:"Stories measured at a time." default:"${workers}"`

	All      bool   `help:"Print every table: task types, lengths, positions, correlations, tokens, every definition."`
	Table    string `help:"Form of the tables: text, markdown or csv." default:"text" enum:"text,markdown,csv"`
	JSON     bool   `name:"json" help:"Print everything as JSON."`
	HTML     string `name:"html" help:"Also write a page with tables and plots." placeholder:"FILE"`
	Files    string `help:"Also write the plots (SVG) and the tables behind them (CSV) into this folder, a file each." placeholder:"DIR"`
	PerStory string `help:"Also write a line of JSON a story." placeholder:"FILE"`
	Export   string `help:"Also write the runs in the published tools' columns: FILE.csv or FILE.parquet." placeholder:"FILE"`
}

func (*scoreConStoryCmd) Help() string {
	return `Prints consistency error density (CED), group relative rank (GRR) and the
analyses of the ConStory-Bench paper, each as the published code computes it and
as we do, with coverage and 95 % intervals. A category that the judge did not
answer is left out, never counted as clean, but in the figures of the reference,
which say so. Judges are never compared with each other.

  retcon score constory check.work --stories generated --models models.csv --all
  retcon score constory claude=rejudge.csv.gz gpt=other.parquet --html page.html
  retcon score constory run1.csv run2.csv --repeats
  retcon score constory check.work --diagnostic diag/truth.jsonl --marks ann.jsonl
  retcon score constory check.work --stories generated --export judged.csv
  retcon score constory --audit published_tables.json`
}

func (cmd *scoreConStoryCmd) Run(e *env) error {
	switch {
	case cmd.Audit != "" && len(cmd.In) > 0:
		return usagef("--audit looks at printed tables alone; leave the runs out")
	case cmd.Audit != "":
		return cmd.audit(e)
	case cmd.Check:
		return usagef("--check goes with --audit")
	case len(cmd.In) == 0 && len(cmd.Marks) == 0:
		return usagef("say which runs to score: a folder of retcon check, or files of the published tools")
	case len(cmd.Marks) > 0 && cmd.Diagnostic == "":
		return usagef("--marks are held against the truth of a diagnostic set: name it with --diagnostic")
	case cmd.Resamples < 0:
		return usagef("--resamples must be 0 or more")
	}
	models, err := readModels(cmd.Models)
	if err != nil {
		return err
	}
	vote, err := scoring.ParseVote(cmd.Vote)
	if err != nil {
		return usagef("%w", err)
	}
	o := scoring.ConStoryOptions{Vote: vote}
	if cmd.Words == "cjk" {
		o.Words = scoring.WordsByCharacter
	}
	if cmd.Resamples > 0 {
		o.Resampling = &scoring.Resampling{N: cmd.Resamples, Seed: cmd.Seed}
	}
	in, err := cmd.open(e, vote)
	if err != nil {
		return err
	}
	defer in.close()
	if err := in.load(); err != nil {
		return err
	}
	runs, err := in.runs()
	if err != nil {
		return err
	}
	o.Models = modelInfos(models, runs, in.seen)
	sum, err := scoring.SummariseConStory(runs, o)
	if err != nil {
		return &codedError{code: exitInput, err: err}
	}
	if sum.Calibration, err = in.calibrate(cmd.Marks, o.Resampling); err != nil {
		return err
	}
	sum.Warnings = append(sum.Warnings, in.warnings...)
	if err := cmd.write(e, in, runs, sum); err != nil {
		return err
	}
	if cmd.JSON {
		return writeJSON(e.stdout, sum)
	}
	return writeTables(e.stdout, cmd.Table, constoryTables(sum, cmd.All))
}

// write writes the files that were asked for.
func (cmd *scoreConStoryCmd) write(e *env, in *constoryInput, runs []scoring.JudgedRun, sum scoring.ConStoryReport) error {
	if cmd.PerStory != "" {
		err := writeTo(e, cmd.PerStory, func(w io.Writer) error {
			for _, r := range runs {
				for i := range r.Records {
					line, err := schemas.AppendLine(nil, r.Records[i])
					if err != nil {
						return err
					}
					if _, err := w.Write(line); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if cmd.Export != "" {
		if err := in.export(e, cmd.Export); err != nil {
			return err
		}
	}
	if cmd.HTML == "" && cmd.Files == "" {
		return nil
	}
	page := constoryPage(sum)
	if cmd.HTML != "" {
		if err := writeTo(e, cmd.HTML, page.Write); err != nil {
			return err
		}
	}
	if cmd.Files == "" {
		return nil
	}
	if err := os.MkdirAll(cmd.Files, 0o755); err != nil {
		return &fetch.Error{Op: "create", Name: cmd.Files, Kind: fetch.Disk, Err: err}
	}
	for _, s := range page.Sections {
		file := func(i int, ext string, write func(io.Writer) error) error {
			return fetch.WriteFileAtomic(filepath.Join(cmd.Files, fmt.Sprintf("%s-%d.%s", fileWord(s.Title), i+1, ext)), 0o644, write)
		}
		for i, f := range s.Figures {
			if err := file(i, "svg", func(w io.Writer) error { _, err := io.WriteString(w, string(f)); return err }); err != nil {
				return err
			}
		}
		for i, t := range s.Tables {
			if err := file(i, "csv", func(w io.Writer) error { return t.Write(w, report.CSV) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// fileWord makes a title a file's name.
func fileWord(title string) string {
	words := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return ' '
	}, title)
	return strings.Join(strings.Fields(words), "-")
}

// writeTables writes tables one after the other. The CSV form, which has no
// place for a title, gets it as a line that starts with #: without it nobody
// could tell one judge's table from another's.
func writeTables(w io.Writer, format string, tables []*report.Table) error {
	for i, t := range tables {
		if i > 0 {
			if _, err := fmt.Fprintln(w); err != nil {
				return err
			}
		}
		if format == report.CSV {
			if _, err := fmt.Fprintln(w, "#", t.Title); err != nil {
				return err
			}
		}
		if err := t.Write(w, format); err != nil {
			return err
		}
	}
	return nil
}

// modelInfos takes class and family from the table, or else from the stories.
func modelInfos(models *generate.Models, runs []scoring.JudgedRun, seen map[string]scoring.ModelInfo) []scoring.ModelInfo {
	var out []scoring.ModelInfo
	for _, r := range runs {
		m := seen[r.Name]
		m.Name = r.Name
		if s, ok := models.Find(r.Name); ok {
			m.Class, m.Family = s.Class, s.Family
		}
		if !slices.ContainsFunc(out, func(o scoring.ModelInfo) bool { return o.Name == m.Name }) {
			out = append(out, m)
		}
	}
	return out
}

// audit prints the cells of printed tables that do not follow.
func (cmd *scoreConStoryCmd) audit(e *env) error {
	f, err := openInput(cmd.Audit)
	if err != nil {
		return err
	}
	defer f.Close()
	tables, err := scoring.ReadPublished(f)
	if err != nil {
		return inputError(cmd.Audit, err)
	}
	found, checks := scoring.AuditPublished(tables, scoring.PaperClaims)
	if checks == 0 {
		return inputError(cmd.Audit, fmt.Errorf("none of its %d tables is one that is known (table 1, 3, 4, 5, A1, B1 to B4, by their captions)", len(tables)))
	}
	switch {
	case cmd.JSON:
		err = writeJSON(e.stdout, struct {
			Tables   int                    `json:"tables"`
			Checks   int                    `json:"checks"`
			Findings []scoring.AuditFinding `json:"findings"`
		}{len(tables), checks, found})
	default:
		t := &report.Table{Title: fmt.Sprintf("cells that do not follow: %d of %d checks on %d tables", len(found), checks, len(tables)),
			Columns: []string{"table", "row", "column", "rule", "printed", "expected", "note"}}
		for _, f := range found {
			t.Add(f.Table, f.Row, f.Column, f.Rule, f.Printed, f.Expected, f.Note)
		}
		t.Notes = []string{"a cell is listed only if no value that rounds to what is printed would do",
			"rules: sum, share, ratio, range, pooled (categories against errors over words), weighted (overall against task types), tables (two print it differently), text (the paper's text), total (prompts), mark, definition (two definitions differ)"}
		err = t.Write(e.stdout, cmd.Table)
	}
	if err == nil && cmd.Check && len(found) > 0 {
		return &codedError{code: exitFound, err: fmt.Errorf("%s: %d cells do not follow", cmd.Audit, len(found))}
	}
	return err
}
