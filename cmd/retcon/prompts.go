// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/retcon-bench/retcon/datasets"
	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/internal/pipeline"
	"github.com/retcon-bench/retcon/internal/report"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/splits"
	"github.com/retcon-bench/retcon/transform"
	"github.com/retcon-bench/retcon/transform/dedup"
	"github.com/retcon-bench/retcon/transform/rewrite"
)

// promptsDir is the workspace's folder of ConStory-Bench prompts.
const promptsDir = "35-prompts"

// Tables of the step beside its records: the published columns alone, and the
// quotas that were not met.
const promptsTable = "prompts.jsonl"

type promptsCmd struct {
	chainFlags
	modelFlags
	Sample     int    `help:"Show so many prompts, drawn by seed, for people to review." placeholder:"N"`
	SampleFile string `help:"Write the sample there in place of showing it: Markdown, or JSON Lines for a name that ends in .jsonl." placeholder:"FILE"`
	JSON       bool   `name:"json" help:"Print the step's manifest as JSON."`
}

func (*promptsCmd) Help() string {
	return `Makes story-writing prompts of four tasks (ConStory-Bench) from stories, plots
and writing queries: reads the corpora, removes duplicates, assigns tasks,
writes prompts, checks them, removes near-duplicates and fills the quotas of
the recipe's section prompts. WORK/35-prompts gets records.jsonl (full rows),
prompts.jsonl (id, language, task_type, prompt), dropped.jsonl (what was set
aside, and why), duplicates.jsonl and shortfalls.jsonl.

Without a target in the recipe or --prompts N, 2,000 are wanted, as in the
paper. With a model, --plan says what it would cost; draw in the recipe says
how many sources are worked on for each prompt wanted.

  retcon prompts --work w --sample 20
  retcon prompts --corpus wikiplots=plots.zip --corpus writingbench=WritingBench --prompts 500 --work w2
  retcon prompts --engine openai --model o4-mini --plan --work w3`
}

func (cmd *promptsCmd) Run(e *env) error {
	if cmd.Prompts != nil && *cmd.Prompts == 0 {
		return usagef("--prompts 0 makes none; leave it out for the paper's %d", rewrite.PaperTarget)
	}
	if cmd.Sample < 0 || cmd.SampleFile != "" && cmd.Sample == 0 {
		return usagef("--sample: say how many prompts, such as --sample 20")
	}
	c, err := cmd.open(e)
	if err != nil {
		return err
	}
	defer c.close()
	if err := c.useModel(cmd.modelFlags); err != nil {
		return err
	}
	for _, step := range []func() (schemas.StepManifest, bool, error){c.ingest, c.dedup} {
		if _, _, err := step(); err != nil {
			return err
		}
	}
	m, _, err := c.prompts()
	if err != nil {
		return err
	}
	switch {
	case cmd.JSON:
		err = writeJSON(e.stdout, m)
	default:
		err = c.printPrompts(m)
	}
	if err != nil || cmd.Sample == 0 {
		return err
	}
	return c.sample(cmd.Sample, cmd.SampleFile)
}

// promptsRecipe is the recipe's section with the target that this run has.
func (c *chain) promptsRecipe() schemas.PromptsRecipe {
	r := c.recipe.Prompts
	if r.Target == 0 {
		r.Target = rewrite.PaperTarget
	}
	return r
}

// passed is what is kept in memory of a prompt that passed every check.
type passed struct {
	rewrite.Candidate
	storyID string
	at      int64 // in the spool
	length  int
}

// prompts makes prompts of the stories that dedup kept. The prompts that pass
// are spooled to a file; what is held of each is its name, its cell and a
// signature.
func (c *chain) prompts() (schemas.StepManifest, bool, error) {
	r := c.promptsRecipe()
	settings := struct {
		schemas.PromptsRecipe
		Seed   uint64
		Engine string
		Models []schemas.ModelRecipe
		Stages []schemas.StageRecipe
	}{PromptsRecipe: r, Seed: c.recipe.Seed, Engine: c.recipe.Make.Engine}
	if settings.Engine != engineRules {
		settings.Models, settings.Stages = c.recipe.Make.Models, c.recipe.Make.Stages
	}
	fp := pipeline.Fingerprint{Step: rewrite.StepName, Version: rewrite.Version + " dedup=" + dedup.Version, Settings: settings}
	var err error
	if fp.Inputs, err = c.inputOf(dedupDir); err != nil {
		return schemas.StepManifest{}, false, err
	}
	step := rewrite.Step(rewrite.Config{PromptsRecipe: r})
	for _, t := range step.Templates {
		fp.Templates = append(fp.Templates, schemas.NamedHash{Name: t.Name, SHA256: t.Hash})
	}
	return c.step(promptsDir, fp, func(ctx context.Context, out *pipeline.Output, m *schemas.StepManifest) error {
		pool, back, texts := rewrite.NewPool(r, c.recipe.Seed), keptBack{}, keptBack{}
		for s, err := range c.stories(dedupDir) {
			if err != nil {
				return err
			}
			pool.Add(s)
			back.addDerived(s.Source)
			texts.add(s.Source)
			m.In++
		}
		back.warn(c.env, "no release may carry what is made of some sources: prompts of them stay in the workspace")
		texts.asked(c.env, c.engine)
		sp, err := newSpool(c.ws.Dir())
		if err != nil {
			return err
		}
		defer sp.close()
		index := dedup.NewIndex(c.promptDedup(r))
		defer index.Close()
		list, pending, err := c.writePrompts(ctx, step, pool, r, out, sp, index, m)
		if err != nil {
			return err
		}
		if err := c.settle(ctx, m, pending); err != nil {
			return err
		}
		if list, err = c.uniquePrompts(ctx, list, index, sp, out); err != nil {
			return err
		}
		return c.choosePrompts(list, r, sp, out, m)
	})
}

// promptDedup are the settings by which two prompts are one: shingles of five
// words over what each took from its source.
func (c *chain) promptDedup(r schemas.PromptsRecipe) dedup.Settings {
	set := dedup.Settings{DedupRecipe: schemas.DefaultRecipe().Dedup, Workers: c.workers, Memory: 256 << 20, TempDir: c.ws.Dir()}
	set.Jaccard, set.Excerpts, set.MaxCluster, set.Boilerplate = r.Jaccard, false, 0, 0
	for _, corpus := range c.corpora {
		set.Corpora = append(set.Corpora, corpus.Name)
	}
	return set
}

// asStory is a prompt as dedup compares it.
func asStory(m rewrite.Made) schemas.Story {
	return schemas.Story{StoryID: m.Prompt.PromptID, GroupID: m.Prompt.PromptID, Kind: schemas.KindStory, Language: m.Prompt.Language, Text: m.Core, Source: schemas.Source{Corpus: m.Prompt.Source.Corpus}}
}

// writePrompts runs the step over the sources drawn.
func (c *chain) writePrompts(ctx context.Context, step transform.Step[schemas.Story, rewrite.Made], pool *rewrite.Pool, r schemas.PromptsRecipe,
	out *pipeline.Output, sp *spool, index *dedup.Index, m *schemas.StepManifest) (list []passed, pending int, err error) {
	type result struct {
		made    []rewrite.Made
		sigs    []dedup.Signature
		dropped []schemas.Dropped
		pending int
		drawn   bool
	}
	set := c.promptDedup(r)
	one := func(ctx context.Context, s schemas.Story) (result, error) {
		if !pool.Drawn(s) {
			return result{dropped: []schemas.Dropped{{ID: s.StoryID, Stage: rewrite.StepName, Reason: "not_drawn", Detail: "enough other sources were drawn for the prompts wanted"}}}, nil
		}
		pass := transform.NewPass(c.recipe.Seed, step.Name, s.StoryID, c.asker.Client, c.log)
		made, dropped, pending, err := transform.Apply(ctx, step, pass, s)
		res := result{made: made, dropped: dropped, pending: pending, drawn: true}
		for _, p := range made {
			res.sigs = append(res.sigs, dedup.Sign(asStory(p), set))
		}
		return res, err
	}
	pool.Drawn(schemas.Story{}) // settles the draw before workers ask
	tick, end := c.track("prompts", m.In, c.asker.spent)
	defer end()
	counts := map[string]int{}
	for res, err := range pipeline.Map(ctx, c.modelWorkers(), c.stories(dedupDir), one) {
		if err != nil {
			return nil, 0, err
		}
		tick()
		pending += res.pending
		if res.drawn {
			counts["sources_drawn"]++
		}
		for _, d := range res.dropped {
			if err := out.Drop(d); err != nil {
				return nil, 0, err
			}
		}
		for i, made := range res.made {
			p := made.Prompt
			counts["passed_checks"]++
			if slices.Contains(r.Reject, p.PromptID) {
				if err := out.Drop(rewrite.Rejected(p)); err != nil {
					return nil, 0, err
				}
				continue
			}
			at, n, err := sp.add(made)
			if err != nil {
				return nil, 0, err
			}
			if err := index.Add(res.sigs[i]); err != nil {
				return nil, 0, err
			}
			list = append(list, passed{rewrite.Candidate{PromptID: p.PromptID, Task: p.TaskType, Corpus: p.Source.Corpus, Language: p.Language}, p.StoryID, at, n})
		}
	}
	m.Counts = pipeline.SortedCounts(counts)
	return list, pending, nil
}

// uniquePrompts sets near-duplicates aside, with their evidence.
func (c *chain) uniquePrompts(ctx context.Context, list []passed, index *dedup.Index, sp *spool, out *pipeline.Output) ([]passed, error) {
	byID := make(map[string]int, len(list))
	for i, p := range list {
		byID[p.PromptID] = i
	}
	decisions, err := index.Choose(ctx, func(id string) (schemas.Story, error) {
		made, err := sp.get(list[byID[id]])
		return asStory(made), err
	})
	if err != nil {
		return nil, err
	}
	add, err := out.Table(duplicatesTable)
	if err != nil {
		return nil, err
	}
	gone := map[string]bool{}
	for _, d := range decisions.Duplicates {
		gone[d.StoryID] = true
		if err := add(d); err != nil {
			return nil, err
		}
		p := list[byID[d.StoryID]]
		if err := out.Drop(rewrite.Duplicate(p.PromptID, p.storyID, p.Task, d)); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(list, func(p passed) bool { return gone[p.PromptID] }), nil
}

// choosePrompts fills the quotas and writes the prompts in order of their ids.
func (c *chain) choosePrompts(list []passed, r schemas.PromptsRecipe, sp *spool, out *pipeline.Output, m *schemas.StepManifest) error {
	cands := make([]rewrite.Candidate, len(list))
	for i, p := range list {
		cands[i] = p.Candidate
	}
	taken, short := rewrite.Choose(cands, r, c.recipe.Seed)
	slices.SortFunc(list, func(a, b passed) int {
		return schemas.PromptNumber(a.PromptID) - schemas.PromptNumber(b.PromptID)
	})
	counts := map[string]int{}
	for _, n := range m.Counts {
		counts[n.Name] = n.N
	}
	published, err := out.Table(promptsTable)
	if err != nil {
		return err
	}
	for _, p := range list {
		if !taken[p.PromptID] {
			if err := out.Drop(rewrite.OverQuota(p.PromptID, p.storyID, p.Task)); err != nil {
				return err
			}
			continue
		}
		made, err := sp.get(p)
		if err != nil {
			return err
		}
		row := made.Prompt
		if err := out.Record(row.PromptID, row); err != nil {
			return err
		}
		if err := published(publishedPrompt{row.ID, row.Language, row.TaskType, row.Prompt}); err != nil {
			return err
		}
		counts["task/"+p.Task]++
		counts["corpus/"+p.Corpus]++
		counts["language/"+p.Language]++
		counts["cell/"+p.Corpus+"/"+p.Task]++
		for _, q := range row.Quality {
			counts["flag/"+q]++
		}
	}
	m.Counts = pipeline.SortedCounts(counts)
	add, err := out.Table(shortfallsTable)
	if err != nil {
		return err
	}
	for _, s := range short {
		c.log.Warn(s.String())
		if err := add(s); err != nil {
			return err
		}
	}
	return nil
}

// publishedPrompt are the columns of the published set, in its order.
type publishedPrompt struct {
	ID       int    `json:"id"`
	Language string `json:"language"`
	TaskType string `json:"task_type"`
	Prompt   string `json:"prompt"`
}

// spool keeps the prompts that passed in a file until it is known which of
// them are wanted.
type spool struct {
	f    *os.File
	w    *bufio.Writer
	at   int64
	line []byte
}

func newSpool(dir string) (*spool, error) {
	f, err := os.CreateTemp(dir, "prompts-*.new~") // a killed run's is swept like a step's
	if err != nil {
		return nil, &fetch.Error{Op: "create", Name: "spool of prompts", Kind: fetch.Disk, Err: err}
	}
	return &spool{f: f, w: bufio.NewWriterSize(f, 1<<18)}, nil
}

func (s *spool) close() {
	s.f.Close()
	os.Remove(s.f.Name())
}

func (s *spool) add(m rewrite.Made) (at int64, n int, err error) {
	if s.line, err = schemas.AppendLine(s.line[:0], m); err != nil {
		return 0, 0, fmt.Errorf("%s: %w", m.Prompt.PromptID, err)
	}
	at, n = s.at, len(s.line)
	if _, err = s.w.Write(s.line); err != nil {
		return 0, 0, &fetch.Error{Op: "write", Name: s.f.Name(), Kind: fetch.Disk, Err: err}
	}
	s.at += int64(n)
	return at, n, nil
}

// get reads a prompt back. It is safe for concurrent use once adding is over.
func (s *spool) get(p passed) (m rewrite.Made, err error) {
	if err = s.flush(); err != nil {
		return m, err
	}
	b := make([]byte, p.length)
	if _, err := s.f.ReadAt(b, p.at); err != nil {
		return m, &fetch.Error{Op: "read", Name: s.f.Name(), Kind: fetch.Disk, Err: err}
	}
	return m, schemas.ParseLine(b, &m)
}

func (s *spool) flush() error {
	if s.w == nil || s.w.Buffered() == 0 {
		return nil
	}
	if err := s.w.Flush(); err != nil {
		return &fetch.Error{Op: "write", Name: s.f.Name(), Kind: fetch.Disk, Err: err}
	}
	return nil
}

// printPrompts prints what the step did and the prompts by corpus and task.
func (c *chain) printPrompts(m schemas.StepManifest) error {
	t := &report.Table{Title: rewrite.StepName + " -> " + c.ws.Step(promptsDir), Columns: []string{"", "records"}}
	t.Add("sources", m.In)
	t.Add("prompts", m.Out)
	t.Add("set aside", m.Dropped)
	for _, r := range m.Reasons {
		t.Add("  "+r.Name, r.N)
	}
	cells, flags := map[string]int{}, &report.Table{Columns: []string{"flagged and kept", "prompts"}}
	for _, n := range m.Counts {
		if name, ok := strings.CutPrefix(n.Name, "cell/"); ok {
			cells[name] = n.N
		} else if name, ok := strings.CutPrefix(n.Name, "flag/"); ok {
			flags.Add(name, n.N)
		}
	}
	grid := &report.Table{Columns: append(append([]string{"corpus"}, schemas.Tasks...), "all")}
	sums, all := make([]int, len(schemas.Tasks)), 0
	for _, corpus := range c.corpora {
		row, sum := []any{corpus.Name}, 0
		for i, task := range schemas.Tasks {
			n := cells[corpus.Name+"/"+task]
			row, sum, sums[i] = append(row, n), sum+n, sums[i]+n
		}
		all += sum
		grid.Add(append(row, sum)...)
	}
	last := []any{"all"}
	for _, n := range sums {
		last = append(last, n)
	}
	grid.Add(append(last, all)...)
	for _, t := range []*report.Table{t, grid, flags} {
		if len(t.Rows) == 0 {
			continue
		}
		if err := t.Write(c.stdout, report.Text); err != nil {
			return err
		}
		fmt.Fprintln(c.stdout)
	}
	for s, err := range pipeline.ReadLines[rewrite.Shortfall](filepath.Join(c.ws.Step(promptsDir), shortfallsTable)) {
		if err != nil {
			return err
		}
		fmt.Fprintln(c.stdout, "short:", s)
	}
	return nil
}

// sample draws prompts for people to review.
func (c *chain) sample(n int, file string) error {
	index, err := pipeline.OpenIndex[schemas.Prompt](c.ws.Step(promptsDir))
	if err != nil {
		return err
	}
	defer index.Close()
	var ids []string
	back := keptBack{}
	for p, err := range pipeline.Records[schemas.Prompt](c.ws.Step(promptsDir)) {
		switch {
		case err != nil:
			return err
		case !back.addDerived(p.Source):
			ids = append(ids, p.PromptID)
		}
	}
	if len(ids) == 0 && len(back) > 0 {
		return withHint(exitInput, "they are in "+filepath.Join(c.ws.Step(promptsDir), pipeline.RecordsFile),
			fmt.Errorf("there is no prompt to review: the terms keep what is made of these texts back from a release: %s", back))
	}
	back.warn(c.env, "left out of the sample: no release may carry what is made of these texts, so nobody need review it")
	write := func(w io.Writer) error {
		for i, id := range rewrite.Sample(ids, n, c.recipe.Seed) {
			p, err := index.Get(id)
			if err != nil {
				return err
			}
			p, _ = datasets.PublicPrompt(p) // without what it may not quote
			if strings.HasSuffix(file, ".jsonl") {
				b, err := json.Marshal(p)
				if err != nil {
					return err
				}
				if _, err := fmt.Fprintf(w, "%s\n", b); err != nil {
					return err
				}
				continue
			}
			if _, err := fmt.Fprintf(w, "## %d. %s\n\n%s, %s, from %s, by %s%s\n\n%s\n\nPublish? [ ] yes  [ ] no, because:\n\n", i+1, p.PromptID, p.TaskType, p.Language, p.StoryID, p.Engine, flagged(p.Quality), p.Prompt); err != nil {
				return err
			}
		}
		return nil
	}
	if file == "" {
		fmt.Fprintln(c.stdout)
		return write(c.stdout)
	}
	if err := fetch.WriteFileAtomic(file, 0o644, write); err != nil {
		return err
	}
	c.log.Info("sample written; list the prompt_ids that should go under prompts.reject in the recipe", "file", file)
	return nil
}

func flagged(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return ", flagged " + strings.Join(list, ", ")
}

// promptTable is the release's table of prompts.
func (c *chain) promptTable() datasets.Table {
	return datasets.NewTable(datasets.PromptsConfig, splits.Test, "prompt", func(yield func(schemas.Prompt, error) bool) {
		for p, err := range c.publicPrompts(nil) {
			if !yield(p, err) || err != nil {
				return
			}
		}
	})
}

// publicPrompts yields the prompts that the release may carry: not those whose
// sources' terms forbid it, nor those whose sources stand in a hidden split or
// in the few-shot pool. left counts the others by reason.
func (c *chain) publicPrompts(left map[string]int) iter.Seq2[schemas.Prompt, error] {
	return func(yield func(schemas.Prompt, error) bool) {
		apart := map[string]bool{}
		for r, err := range pipeline.Records[splitRow](c.ws.Step(splitsDir)) {
			if err != nil {
				yield(schemas.Prompt{}, err)
				return
			}
			if r.Config == splits.FewShot || r.Row.Split == splits.Hidden {
				apart[r.Row.GroupID] = true
			}
		}
		for p, err := range pipeline.Records[schemas.Prompt](c.ws.Step(promptsDir)) {
			if err != nil {
				yield(p, err)
				return
			}
			why := ""
			public, ok := datasets.PublicPrompt(p)
			switch {
			case !ok:
				why = "the terms of " + p.Source.Corpus + " let a release carry ids alone"
			case apart[p.GroupID]:
				why = "their sources stand in a hidden split or in the few-shot pool"
			}
			if why != "" {
				if left != nil {
					left[why]++
				}
				continue
			}
			public.DatasetVersion, public.Canary = c.recipe.Version, c.recipe.Canary
			if !yield(public, nil) {
				return
			}
		}
	}
}

// promptNotes says what the release lacks of prompts.
func (c *chain) promptNotes() ([]string, error) {
	var notes []string
	for s, err := range pipeline.ReadLines[rewrite.Shortfall](filepath.Join(c.ws.Step(promptsDir), shortfallsTable)) {
		if err != nil {
			return nil, err
		}
		notes = append(notes, s.String())
	}
	left := map[string]int{}
	for _, err := range c.publicPrompts(left) {
		if err != nil {
			return nil, err
		}
	}
	for _, why := range slices.Sorted(maps.Keys(left)) {
		notes = append(notes, fmt.Sprintf("prompts: %d left out: %s", left[why], why))
	}
	return notes, nil
}
