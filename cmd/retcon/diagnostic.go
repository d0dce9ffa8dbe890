// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/retcon-bench/retcon/datasets"
	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/internal/llm/batch"
	"github.com/retcon-bench/retcon/internal/pipeline"
	"github.com/retcon-bench/retcon/internal/report"
	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform"
	"github.com/retcon-bench/retcon/transform/diagnostic"
	"github.com/retcon-bench/retcon/transform/flawed"
)

// Files of a diagnostic set.
const (
	diagnosticStories = "stories.jsonl"
	diagnosticTruth   = "truth.jsonl"
)

type diagnosticCmd struct {
	In       string `help:"Consistent stories: a workspace, or a file of stories (story_id, text) or generated stories (id, model_name, generated_story), JSON Lines." required:"" placeholder:"PATH"`
	Corpus   string `help:"Take stories of this corpus only." placeholder:"NAME"`
	MinWords int    `help:"Shortest story." default:"300"`
	MaxWords int    `help:"Longest story; 0 for any." default:"0"`

	Stories  int    `help:"Stories to inject into." default:"200"`
	PerStory int    `help:"Contradictions a story, at most one of each of the five categories." default:"5"`
	Controls int    `help:"Untouched stories; as many as --stories without it." default:"-1"`
	Seed     uint64 `help:"Seed of the draw and of every choice." default:"1"`

	Engine  string `help:"Who injects: rules, openai, batch or replay." default:"rules" enum:"rules,openai,batch,replay"`
	Model   string `help:"The model that injects." placeholder:"NAME"`
	Judge   string `help:"A model that reads every injected pair again; what it does not call a contradiction is set aside." placeholder:"NAME"`
	Recipe  string `help:"Recipe whose models declare what they can do." placeholder:"FILE"`
	Out     string `help:"Folder of the set: stories.jsonl (for retcon check), truth.jsonl, dropped.jsonl, manifest.json." default:"diagnostic" placeholder:"DIR"`
	Work    string `help:"Folder of the answer store. Default: the set's folder with .work behind it." placeholder:"DIR"`
	Workers int    `help:"Stories worked on at a time; shows in no output." default:"${workers}"`
	JSON    bool   `help:"Print the balance as JSON."`
	modelFlags
}

func (*diagnosticCmd) Help() string {
	return `Makes the set on which a checker is calibrated: consistent stories with injected
contradictions of known category and subtype at known places, balanced over the
five categories, and untouched controls.

  retcon diagnostic --in out.work --stories 5 --controls 5 --out dg
  retcon check --model o4-mini --work judged dg/stories.jsonl
  retcon diagnostic --in out.work --engine openai --model gpt-4o --judge o4-mini

stories.jsonl has the texts in the order of truth.jsonl and nothing that tells
one kind from the other. A set is handed on, to checkers and to people: stories
whose text no release may carry are left out of it, with a warning. A set whose
folder lies in a workspace (--out out.work/diagnostic) stays there and has them.`
}

// tale is a story that may be injected into, with who wrote it.
type tale struct {
	schemas.Story
	writer  string
	written bool   // by a model: the text is derived from the source, not its own
	where   string // file and row
}

func (cmd *diagnosticCmd) Run(e *env) error {
	if cmd.Controls < 0 {
		cmd.Controls = cmd.Stories
	}
	switch {
	case cmd.Stories == 0 && cmd.Controls == 0:
		return usagef("--stories 0 and no --controls: a set of no stories")
	case cmd.Stories < 0 || cmd.PerStory < 1 || cmd.PerStory > len(schemas.Categories):
		return usagef("--stories counts from 0, --per-story from 1 to %d", len(schemas.Categories))
	case (cmd.Engine == engineRules) != (cmd.Model == ""):
		return usagef("--model goes with --engine openai, batch or replay, and they need one")
	case cmd.Engine == engineRules && cmd.Judge != "":
		return usagef("--judge goes with --model: what the rules inject they have checked")
	}
	a, err := cmd.asker(e)
	if err != nil {
		return err
	}
	defer a.close()
	all, err := cmd.tales()
	if err != nil {
		return err
	}
	back, handOut := keptBack{}, !pipeline.Within(cmd.Out)
	tales := all
	if handOut {
		tales = func(yield func(tale, error) bool) {
			for t, err := range all {
				if err == nil && !mayHandOn(t.Source, t.written) {
					continue
				}
				if !yield(t, err) || err != nil {
					return
				}
			}
		}
	}
	cfg := diagnostic.Config{Seed: cmd.Seed, Model: cmd.Model, Judge: cmd.Judge}
	var lots []string // ids in the order of the draw
	if cmd.Engine == engineRules {
		cfg.Survey = flawed.NewSurvey()
	}
	seen := map[string]string{}
	for t, err := range all {
		if err != nil {
			return err
		}
		if first, twice := seen[t.StoryID]; twice {
			return inputError(t.where, fmt.Errorf("story %s for the second time; it stands in %s too", t.StoryID, first))
		}
		seen[t.StoryID] = t.where
		if back.addRow(t.Source, t.written) && handOut {
			continue
		}
		lots = append(lots, t.StoryID)
		if cfg.Survey != nil {
			cfg.Survey.Add(t.Story)
		}
	}
	switch {
	case len(lots) == 0 && len(back) > 0:
		return withHint(exitInput, "a set whose folder lies in a workspace stays on this machine: --out "+filepath.Join("WORK", "diagnostic"),
			inputError(cmd.In, fmt.Errorf("there is nothing to hand on: the terms keep texts back from a release, and so from a diagnostic set: %s", back)))
	case len(lots) == 0:
		return inputError(cmd.In, errors.New("no story fits"))
	case handOut:
		back.warn(e, "left out: no release may carry these texts, so no diagnostic set outside of a workspace does")
	default:
		back.warn(e, "no release may carry some of these texts: the set is for this machine only")
		back.asked(e, cmd.Engine)
	}
	slices.SortFunc(lots, func(x, y string) int {
		return cmp.Or(cmp.Compare(diagnostic.Lot(cmd.Seed, x), diagnostic.Lot(cmd.Seed, y)), strings.Compare(x, y))
	})
	// A model is asked about as many stories as are wanted and no more.
	asked := map[string]bool{}
	for i, id := range lots {
		asked[id] = cmd.Engine == engineRules || i < cmd.Stories
	}
	in := diagnostic.New(cfg)
	offers, dropped, pending, err := cmd.offers(e, a, in, tales, asked, len(lots))
	if err != nil {
		return err
	}
	if err := a.settle(e, filepath.Join(cmd.workDir(), batch.RequestsFile), pending, cmd.Partial); err != nil {
		return err
	}
	chosen, balance := diagnostic.Choose(offers, diagnostic.Targets{Stories: cmd.Stories, PerStory: cmd.PerStory, Controls: cmd.Controls}, cmd.Seed)
	m := schemas.StepManifest{Step: "diagnostic", Version: diagnostic.Version, Templates: []schemas.NamedHash{}, Inputs: []schemas.NamedHash{},
		State: schemas.StateComplete, In: len(lots), Usage: a.usage()}
	if pending > 0 {
		m.State = schemas.StatePartial
	}
	if m.Settings, err = pipeline.HashJSON(struct {
		diagnostic.Targets
		Seed         uint64
		Model, Judge string
	}{balance.Targets, cmd.Seed, cmd.Model, cmd.Judge}); err != nil {
		return err
	}
	if err := cmd.write(e, a, in, tales, chosen, dropped, &m); err != nil {
		return err
	}
	format := report.Text
	if cmd.JSON {
		format = report.JSON
	}
	return balanceTable(balance, cmd.Out, m.Counts).Write(e.stdout, format)
}

// offers asks every story what could be put into it.
func (cmd *diagnosticCmd) offers(e *env, a *asker, in *diagnostic.Injector, tales iter.Seq2[tale, error], asked map[string]bool, total int) ([]diagnostic.Offer, []schemas.Dropped, int, error) {
	type outcome struct {
		offer   diagnostic.Offer
		dropped []schemas.Dropped
		pending int
	}
	one := func(ctx context.Context, t tale) (outcome, error) {
		o := outcome{offer: diagnostic.Offer{StoryID: t.StoryID}}
		if !asked[t.StoryID] {
			return o, nil
		}
		pass := transform.NewPass(cmd.Seed, "diagnostic", t.StoryID, a.Client, e.log)
		d, err := in.Inject(ctx, pass, t.Story)
		if err != nil && !errors.Is(err, transform.ErrPending) {
			return o, fmt.Errorf("%s: %w", t.StoryID, err)
		}
		for _, x := range d.Injections {
			o.offer.Categories = append(o.offer.Categories, x.Category)
		}
		o.dropped, o.pending = pass.Dropped(), pass.Pending()
		return o, nil
	}
	workers := cmd.Workers
	if cmd.Engine != engineRules {
		workers = max(workers, 32)
	}
	tick, end := e.track("diagnostic", total, a.spent)
	defer end()
	var offers []diagnostic.Offer
	var dropped []schemas.Dropped
	pending := 0
	for o, err := range pipeline.Map(e.ctx, workers, tales, one) {
		if err != nil {
			return nil, nil, 0, err
		}
		tick()
		offers, dropped, pending = append(offers, o.offer), append(dropped, o.dropped...), pending+o.pending
	}
	return offers, dropped, pending, nil
}

// write writes the chosen stories, in reading order, with their truth.
func (cmd *diagnosticCmd) write(e *env, a *asker, in *diagnostic.Injector, tales iter.Seq2[tale, error], chosen map[string][]string, dropped []schemas.Dropped, m *schemas.StepManifest) error {
	type made struct {
		schemas.Diagnostic
		writer string
		ok     bool
	}
	one := func(ctx context.Context, t tale) (made, error) {
		categories, ok := chosen[t.StoryID]
		if !ok {
			return made{}, nil
		}
		var d schemas.Diagnostic
		var err error
		if len(categories) == 0 {
			d, err = in.Control(t.Story)
		} else {
			d, err = in.With(ctx, transform.NewPass(cmd.Seed, "diagnostic", t.StoryID, a.Client, e.log), t.Story, categories)
		}
		return made{d, t.writer, true}, err
	}
	counts := map[string]int{}
	return replaceFolder(cmd.Out, m.Step, func(tmp string) error {
		n := 0
		err := fetch.WriteFileAtomic(filepath.Join(tmp, diagnosticStories), 0o644, func(w io.Writer) error {
			return writeLines(tmp, diagnosticTruth, func(yield func(schemas.Diagnostic, error) bool) {
				for d, err := range pipeline.Map(e.ctx, cmd.Workers, tales, one) {
					if err == nil && !d.ok {
						continue
					}
					if err == nil {
						n++
						var line []byte
						if line, err = schemas.AppendLine(nil, diagnostic.Row(d.Diagnostic, n, d.writer)); err == nil {
							_, err = w.Write(line)
						}
						for _, x := range d.Injections {
							counts[x.Category+"/"+x.Subtype+"/"+cmp.Or(x.Class, "model")]++
						}
					}
					if !yield(d.Diagnostic, err) || err != nil {
						return
					}
				}
			})
		})
		if err != nil {
			return err
		}
		if err := writeLines(tmp, "dropped.jsonl", sequence(dropped)); err != nil {
			return err
		}
		reasons := map[string]int{}
		for _, d := range dropped {
			reasons[d.Stage+"/"+d.Reason]++
		}
		m.Out, m.Dropped, m.Reasons, m.Counts = n, len(dropped), pipeline.SortedCounts(reasons), pipeline.SortedCounts(counts)
		for _, name := range []string{diagnosticStories, diagnosticTruth, "dropped.jsonl"} {
			h, err := datasets.HashFile(tmp, name)
			if err != nil {
				return err
			}
			m.Outputs = append(m.Outputs, h)
		}
		return writeManifestFile(tmp, m)
	})
}

// tales reads the stories. Read again and again they are the same.
func (cmd *diagnosticCmd) tales() (iter.Seq2[tale, error], error) {
	path, err := inputFile(cmd.In, dedupDir+"/records.jsonl", ingestDir+"/records.jsonl", generatedFile, "records.jsonl")
	if err != nil {
		return nil, err
	}
	return func(yield func(tale, error) bool) {
		for row, err := range objects(jsonRows(fetch.OneFile(path), path)) {
			var t tale
			if err == nil {
				t, err = taleOf(row)
				t.where = row.where
			}
			if err == nil && (t.Text == "" || t.Kind == schemas.KindQuery || cmd.Corpus != "" && t.Source.Corpus != cmd.Corpus ||
				t.Words < cmd.MinWords || cmd.MaxWords > 0 && t.Words > cmd.MaxWords) {
				continue
			}
			if !yield(t, err) || err != nil {
				return
			}
		}
	}, nil
}

// taleOf reads a story, or a generated one; one without a text is skipped.
func taleOf(row tableRow) (tale, error) {
	if _, ok := row.get("generated_id"); ok {
		var g schemas.Generated
		if err := schemas.ParseLine(row.json, &g); err != nil {
			return tale{}, inputError(row.where, err)
		}
		t := tale{writer: g.ModelName, written: g.TaskType != schemas.TaskDiagnostic}
		if g.GeneratedStory != nil {
			t.Story = schemas.Story{StoryID: g.GeneratedID, GroupID: cmp.Or(g.GroupID, g.GeneratedID), TextHash: g.TextHash, Kind: schemas.KindStory,
				Language: g.Language, Words: g.Words, Text: *g.GeneratedStory, Source: g.Source, Provenance: g.Provenance}
		}
		return t, t.complete(row.where)
	}
	if slices.Contains(row.names, "generated_story") { // a table of somebody else's, as retcon check reads it
		c, reason, err := checkedRow(row)
		if err != nil || reason != "" {
			return tale{where: row.where}, err
		}
		t := tale{writer: cmp.Or(c.Model, "unknown"), written: true, Story: schemas.Story{Source: sourceOf(row), StoryID: c.ID, Kind: schemas.KindStory, Language: c.Language, Text: c.Story}}
		return t, t.complete(row.where)
	}
	t := tale{writer: "human"}
	if err := schemas.ParseLine(row.json, &t.Story); err != nil {
		return t, inputError(row.where, err)
	}
	return t, t.complete(row.where)
}

// complete fills what a row written by hand leaves out: the text is then
// cleaned as ingest does it, so that the checker reads the same.
func (t *tale) complete(where string) error {
	switch {
	case t.Text == "":
		return nil
	case t.StoryID == "":
		return inputError(where, errors.New("a story without story_id"))
	case t.TextHash == "":
		t.Text = text.Trim(text.Freeze(t.Text))
		t.TextHash, t.Words = schemas.HashText(t.Text), text.Words(t.Text)
	case t.TextHash != schemas.HashText(t.Text):
		return inputError(where, fmt.Errorf("story %s: text_hash is not its text's; leave the field out where the text was changed", t.StoryID))
	}
	t.GroupID = cmp.Or(t.GroupID, t.StoryID)
	return nil
}

func (cmd *diagnosticCmd) workDir() string {
	if cmd.Work != "" {
		return cmd.Work
	}
	return filepath.Clean(cmd.Out) + ".work"
}

func (cmd *diagnosticCmd) asker(e *env) (*asker, error) {
	cfg := askerConfig{engine: cmd.Engine, answers: filepath.Join(cmd.workDir(), "answers.db"), seed: cmd.Seed}
	if cmd.Engine == engineRules {
		return openAsker(e, cfg, cmd.modelFlags)
	}
	if cmd.Recipe != "" {
		recipe, err := readRecipe(cmd.Recipe)
		if err != nil {
			return nil, err
		}
		cfg.models = recipe.Make.Models
		for _, s := range recipe.Make.Stages {
			if strings.HasPrefix(s.Stage, "diagnostic/") {
				s.Model = ""
				cfg.stages = append(cfg.stages, s)
			}
		}
	}
	for _, name := range []string{cmd.Model, cmd.Judge} {
		if name != "" && !slices.ContainsFunc(cfg.models, func(m schemas.ModelRecipe) bool { return m.Name == name }) {
			cfg.models = append(cfg.models, schemas.ModelRecipe{Name: name})
		}
	}
	if err := os.MkdirAll(cmd.workDir(), 0o755); err != nil {
		return nil, &fetch.Error{Op: "create", Name: cmd.workDir(), Kind: fetch.Disk, Err: err}
	}
	return openAsker(e, cfg, cmd.modelFlags)
}

func balanceTable(b diagnostic.Balance, out string, counts []schemas.Count) *report.Table {
	t := &report.Table{Title: "diagnostic -> " + out, Columns: []string{"category", "target", "stories that could carry one", "injected", "short"}}
	target, injected, short := 0, 0, 0
	for _, c := range b.PerCategory {
		t.Add(c.Category, c.Target, c.Offered, c.Injected, c.Short())
		target, injected, short = target+c.Target, injected+c.Injected, short+c.Short()
	}
	t.Add("all", target, nil, injected, short)
	t.Notes = append(t.Notes, fmt.Sprintf("stories with contradictions: %d of %d; controls: %d of %d", b.InjectedStories, b.Stories, b.ControlStories, b.Controls))
	var kinds []string
	for _, c := range counts {
		kinds = append(kinds, fmt.Sprintf("%s %d", c.Name, c.N))
	}
	t.Notes = append(t.Notes, "by subtype and class: "+strings.Join(kinds, ", "))
	return t
}
