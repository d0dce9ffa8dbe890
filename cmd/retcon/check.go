// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/retcon-bench/retcon/datasets"
	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/llm/batch"
	"github.com/retcon-bench/retcon/internal/pipeline"
	"github.com/retcon-bench/retcon/internal/report"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform"
	"github.com/retcon-bench/retcon/transform/check"
)

// Files of the step in the workspace; records.jsonl holds a report a story.
const (
	checkDir     = "60-check"
	findingsFile = "findings.jsonl"
	statusFile   = "status.jsonl"
	samplesFile  = "samples.jsonl"
)

type checkCmd struct {
	Paths []string `arg:"" help:"What to judge: texts (.txt), tables of generated stories (.jsonl, .csv, .parquet), a folder of either, or a workspace." placeholder:"PATH"`
	Work  string   `help:"Workspace: the answer store, and the results in WORK/60-check. Default: check.work; none for texts that the rules judge." placeholder:"DIR"`
	HTML  string   `name:"html" help:"Also write pages with both passages in place: one page where the name ends in .html, else a folder with a page a story." placeholder:"PATH"`
	JSON  bool     `name:"json" help:"Print the reports as JSON Lines."`
	Files string   `name:"reports" help:"Also write each story's report as a JSON file of its own into this folder." placeholder:"DIR"`
	Limit int      `help:"Judge so many stories; 0 for all." default:"0"`

	Import   bool   `help:"PATHs are tables that another checker judged, with the published 19 columns (or its cells, with --stories): their quotes are anchored and nothing is asked."`
	Stories  string `help:"With --import: the stories (JSON Lines with id and generated_story) of tables that do not hold them." placeholder:"FILE"`
	Examples string `help:"With --import: the examples of the other checker's prompt, a JSON list of texts, so that copies of them are told apart." placeholder:"FILE"`

	Model    string `help:"The model that judges: a name of the recipe's table, or any name the server knows. Without one the offline rules judge, which know a few attributes of two categories." placeholder:"NAME"`
	Engine   string `help:"Who answers: rules, openai (any compatible server, address and key from OPENAI_BASE_URL and OPENAI_API_KEY), batch or replay. Default: openai with --model, else rules." default:"" enum:",rules,openai,batch,replay"`
	Protocol string `help:"staged (extract, compare two by two, argue) or reference (one question a category). Default: staged with a model; the rules have one form only." default:"" enum:",staged,reference"`
	Recipe   string `help:"Recipe whose models declare what they can do, context and prices included." placeholder:"FILE"`
	Samples  int    `help:"Answers asked of each question; findings then say how many samples support them." default:"1"`
	Context  int    `help:"Tokens that a prompt may have: longer stories are read in windows. Default: the declared context of the model less the answer; no limit where none is declared."`
	MaxPairs int    `help:"Staged: pairs of passages compared, a category, story and sample." default:"150"`
	Passages int    `name:"max-passages" help:"Staged: passages extracted, a category, window and sample." default:"24"`
	Reparse  bool   `help:"Read the kept answers again with this version's parser. Nothing is asked."`
	Workers  int    `help:"Stories asked about at a time." default:"32"`

	Temperature     *float64 `help:"Sampling temperature; the server's own without it."`
	MaxTokens       int      `help:"Tokens of an answer, reasoning included; 8192 without it."`
	RetryMaxTokens  int      `help:"Ask once more for so many tokens when an answer was cut."`
	ReasoningEffort string   `help:"For models that take one: low, medium, high." placeholder:"WORD"`
	ThinkingBudget  int      `help:"Thinking tokens, for models that take a budget."`
	modelFlags
}

func (*checkCmd) Help() string {
	return `Finds where long stories contradict themselves (ConStory-Checker), with both
passages at exact places.

  retcon check story.txt
  OPENAI_BASE_URL=http://localhost:8000/v1 retcon check --model qwen --html story.html story.txt
  retcon check --model o4-mini --protocol reference --plan generated.jsonl
  retcon check --model o4-mini --samples 3 --work judged --html pages generated.jsonl
  retcon check --model o4-mini --samples 3 --work judged --reparse generated.jsonl
  retcon check --import --html pages judge_results.csv

Answers are kept in WORK/answers.db, so that the same command goes on where it
stopped, by story and category, and asks nothing twice. WORK/60-check holds
records.jsonl (a report a story), findings.jsonl, status.jsonl, and with several
samples samples.jsonl (each sample's own findings); retcon score constory reads
them.

Exit codes for single texts: 0 nothing was found and every category was judged,
4 a contradiction was found, 8 nothing was found but a category could not be
judged (refused, cut, unreadable, no answer). Of several samples, a finding of any
counts. For tables 0 says that the run is
done, 8 that nothing at all could be judged; findings are its result. What the
rules have no rule for does not count as failed, and is named.`
}

// engineStored answers from the store alone; what is not there is missing, not
// an error.
const engineStored = "stored"

// storedOnly is the engine of --reparse.
type storedOnly struct{}

func (storedOnly) Name() string { return "stored" }

func (storedOnly) Generate(context.Context, llm.Request) (llm.Answer, error) {
	return llm.Answer{}, llm.ErrPending
}

func (cmd *checkCmd) Run(e *env) error {
	files, plain, err := checkFiles(cmd.Paths)
	if err != nil {
		return err
	}
	if cmd.Import {
		return cmd.importAll(e, files)
	}
	if cmd.Stories != "" || cmd.Examples != "" {
		return usagef("--stories and --examples go with --import")
	}
	engine, err := cmd.engine()
	if err != nil {
		return err
	}
	cfg := check.Config{Protocol: cmd.Protocol, Samples: cmd.Samples, Context: cmd.Context, MaxPairs: cmd.MaxPairs, MaxPassages: cmd.Passages}
	switch {
	case engine == engineRules && cfg.Protocol == check.Staged:
		return usagef("the rules have one form only: leave --protocol out, or name a model")
	case engine == engineRules:
		cfg.Protocol = check.Reference
		if cmd.Samples > 1 {
			return usagef("the rules always say the same: leave --samples out, or name a model")
		}
	case cfg.Protocol == "":
		cfg.Protocol = check.Staged
	}
	run := &checkRun{checkCmd: cmd, env: e, plain: plain, engine: engine, tally: newCheckTally()}
	if cmd.Work == "" && (engine != engineRules || !plain) {
		cmd.Work = "check.work"
	}
	if cmd.Work != "" {
		if run.ws, err = pipeline.Open(cmd.Work, map[string]string{"command": "check"}); err != nil {
			return err
		}
		defer run.ws.Close()
	}
	if run.asker, err = cmd.asker(e, engine, cfg); err != nil {
		return err
	}
	defer run.close()
	if m := run.Client.Model(check.Stages(cfg.Protocol)[0]); cfg.Context == 0 && m.Context > 0 {
		cfg.Context = max(m.Context-cmp.Or(cmd.MaxTokens, check.DefaultAnswer), 1)
	}
	run.cfg = cfg
	if run.step, err = check.New(cfg); err != nil {
		return usagef("%w", err)
	}
	if err := run.all(files); err != nil {
		return err
	}
	return run.verdict()
}

// engine is who answers this run.
func (cmd *checkCmd) engine() (string, error) {
	engine := cmd.Engine
	if engine == "" {
		engine = engineOpenAI
		if cmd.Model == "" && cmd.Recipe == "" {
			engine = engineRules
		}
	}
	switch {
	case engine == engineRules && cmd.Model != "":
		return "", usagef("--engine rules asks no model: leave out --model %s or --engine", cmd.Model)
	case engine == engineRules && cmd.Plan, engine == engineRules && cmd.Reparse:
		return "", usagef("the rules ask nobody: there is nothing to plan or to read again; name a model")
	case engine != engineRules && cmd.Model == "" && cmd.Recipe == "":
		return "", usagef("say who judges: --model NAME, or a --recipe with models")
	case cmd.Reparse && cmd.Plan:
		return "", usagef("--reparse asks nothing: leave out --plan")
	case cmd.Samples < 1:
		return "", usagef("--samples %d: want 1 or more", cmd.Samples)
	case cmd.Reparse:
		engine = engineStored
	}
	return engine, nil
}

// asker opens engine and answer store for the judge.
func (cmd *checkCmd) asker(e *env, engine string, judge check.Config) (*asker, error) {
	cfg := askerConfig{engine: engine, answers: filepath.Join(cmd.Work, pipeline.AnswersFile), standIn: judge.StandIn()}
	if engine == engineRules {
		return openAsker(e, cfg, cmd.modelFlags)
	}
	var declared []schemas.StageRecipe
	if cmd.Recipe != "" {
		recipe, err := readRecipe(cmd.Recipe)
		if err != nil {
			return nil, err
		}
		cfg.models, declared = recipe.Make.Models, recipe.Make.Stages
	}
	if cmd.Model != "" && !slices.ContainsFunc(cfg.models, func(m schemas.ModelRecipe) bool { return m.Name == cmd.Model }) {
		cfg.models = append(cfg.models, schemas.ModelRecipe{Name: cmd.Model})
	}
	for _, name := range check.Stages(judge.Protocol) {
		s := schemas.StageRecipe{Stage: name}
		for _, d := range declared {
			if d.Stage == name {
				s = d
			}
		}
		s.Model, s.ReasoningEffort = cmp.Or(cmd.Model, s.Model), cmp.Or(cmd.ReasoningEffort, s.ReasoningEffort)
		s.MaxTokens, s.RetryMaxTokens = cmp.Or(cmd.MaxTokens, s.MaxTokens), cmp.Or(cmd.RetryMaxTokens, s.RetryMaxTokens)
		s.ThinkingBudget = cmp.Or(cmd.ThinkingBudget, s.ThinkingBudget)
		if cmd.Temperature != nil {
			s.Temperature = cmd.Temperature
		}
		cfg.stages = append(cfg.stages, s)
	}
	return openAsker(e, cfg, cmd.modelFlags)
}

// checkRun is one run of the command.
type checkRun struct {
	*checkCmd
	*env
	*asker
	plain  bool
	engine string
	ws     *pipeline.Workspace
	cfg    check.Config
	step   transform.Step[check.Text, check.Result]
	tally  *checkTally

	out     *pipeline.Output
	add     map[string]func(any) error // tables of the output
	pages   *checkPages
	back    keptBack
	skipped map[string]int
	bounds  map[string]int
	pending int
}

// judged is a result with where its story came from.
type judged struct {
	check.Result
	from    checked
	pending int
	bounds  []check.Bound
}

// all judges the stories of files and publishes what was found.
func (r *checkRun) all(files []string) error {
	if err := r.open(); err != nil {
		return err
	}
	defer r.discard()
	one := func(ctx context.Context, c checked) (judged, error) {
		pass := transform.NewPass(0, r.step.Name, c.ID, r.Client, r.log)
		res, _, pending, err := transform.Apply(ctx, r.step, pass, c.Text)
		if err != nil {
			return judged{}, err
		}
		j := judged{Result: res[0], from: c, pending: pending}
		if r.plan != nil {
			j.bounds, err = r.cfg.Bounds(c.Story)
		}
		return j, err
	}
	workers := r.Workers
	if r.engine == engineRules || r.engine == engineStored {
		workers = min(workers, 4) // nobody is waited for
	}
	tick, end := r.track("check", 0, r.spent)
	defer end()
	for j, err := range pipeline.Map(r.ctx, workers, checkTexts(files, r.Limit, r.skip), one) {
		if err != nil {
			return err
		}
		tick()
		r.back.addRow(j.from.source, j.from.written)
		for _, b := range j.bounds {
			r.bounds[b.Stage] += b.Calls
		}
		if r.plan != nil {
			continue // stand-ins answered
		}
		if r.pending += j.pending; j.pending > 0 && !r.Partial && r.engine != engineStored {
			continue // nothing is published: the answers come first
		}
		if err := r.take(j); err != nil {
			return err
		}
	}
	if r.plan != nil {
		if err := r.printBounds(); err != nil {
			return err
		}
	} else {
		r.back.asked(r.env, r.engine)
	}
	if err := r.settle(r.env, filepath.Join(r.Work, batch.RequestsFile), r.pending, r.Partial || r.engine == engineStored); err != nil {
		return err
	}
	if r.engine == engineStored && r.pending > 0 {
		if r.tally.judged == 0 {
			return withHint(exitInput, "give the flags of the run that asked: model, protocol, samples and parameters are part of a question; nothing was changed",
				fmt.Errorf("%s holds no answer to any of these questions", r.Work))
		}
		r.log.Warn("some answers are not kept, or the questions changed with what is read of the answers before them", "categories", r.pending)
	}
	return r.finish(files)
}

// finish publishes what was judged and prints the run.
func (r *checkRun) finish(files []string) error {
	if r.tally.stories == 0 {
		return inputError(strings.Join(r.Paths, ", "), fmt.Errorf("there is no story to judge%s", skippedNote(r.skipped)))
	}
	if err := r.publish(files); err != nil {
		return err
	}
	if r.HTML != "" || r.Files != "" || r.JSON {
		r.back.warn(r.env, "pages and reports quote texts that no release may carry: they are for this machine only")
	}
	if r.JSON || r.plain && r.tally.stories == 1 {
		return nil
	}
	return r.tally.table(r.skipped).Write(r.stdout, report.Text)
}

// open begins whatever the run writes.
func (r *checkRun) open() (err error) {
	r.back, r.skipped, r.bounds = keptBack{}, map[string]int{}, map[string]int{}
	if r.ws != nil {
		if err = r.begin(); err != nil {
			return err
		}
	}
	if r.HTML != "" {
		r.pages, err = newCheckPages(r.HTML, "Contradictions")
	}
	return err
}

// discard removes what was not published.
func (r *checkRun) discard() {
	if r.out != nil {
		r.out.Discard()
	}
	if r.pages != nil {
		r.pages.discard()
	}
}

// skip notes a row without a story.
func (r *checkRun) skip(id, reason string) {
	r.skipped[reason]++
	if r.out == nil {
		return
	}
	// An id that is no id of ours still says which row it was.
	if err := r.out.Drop(schemas.Dropped{ID: id, Stage: r.step.Name, Reason: reason, Detail: "the row holds no story to judge"}); err != nil {
		r.log.Warn("a row without a story could not be noted", "error", err)
	}
}

// begin starts the step's output.
func (r *checkRun) begin() (err error) {
	if r.out, err = r.ws.Begin(checkDir); err != nil {
		return err
	}
	r.add = map[string]func(any) error{}
	names := []string{findingsFile, statusFile}
	if r.Samples > 1 {
		names = append(names, samplesFile)
	}
	for _, n := range names {
		if r.add[n], err = r.out.Table(n); err != nil {
			return err
		}
	}
	return nil
}

// take writes one story's report wherever it goes.
func (r *checkRun) take(j judged) error {
	rep := j.Report
	r.tally.count(rep)
	if r.out != nil {
		if err := r.out.Record(rep.StoryID, rep); err != nil {
			return err
		}
		for _, f := range rep.Findings {
			if err := r.add[findingsFile](f); err != nil {
				return err
			}
		}
		for _, s := range rep.Status {
			if err := r.add[statusFile](s); err != nil {
				return err
			}
		}
		if add := r.add[samplesFile]; add != nil {
			for _, run := range j.Runs {
				for _, f := range run {
					if err := add(f); err != nil {
						return err
					}
				}
			}
		}
	}
	if r.pages != nil {
		if err := r.pages.add(j.from, rep); err != nil {
			return err
		}
	}
	if r.Files != "" {
		if err := writeReport(r.Files, rep); err != nil {
			return err
		}
	}
	switch {
	case r.JSON:
		line, err := schemas.AppendLine(nil, rep)
		if err == nil {
			_, err = r.stdout.Write(line)
		}
		return err
	case r.plain:
		return printCheck(r.stdout, j.from, rep)
	}
	return nil
}

// writeReport writes a report as a file of its own. Ids are no file names: the
// name is made of what of the id is safe, and a hash.
func writeReport(dir string, rep schemas.CheckReport) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return &fetch.Error{Op: "create", Name: dir, Kind: fetch.Disk, Err: err}
	}
	return fetch.WriteFileAtomic(filepath.Join(dir, storyFile(rep.StoryID)+".json"), 0o644, func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(rep)
	})
}

// storyFile is a file name for a story's id, without an ending.
func storyFile(id string) string {
	slug := schemas.Slug(id)
	if len(slug) > 60 {
		slug = strings.ToValidUTF8(slug[:60], "")
	}
	return slug + "-" + schemas.HashText(id)[:8]
}

// publish puts results in place.
func (r *checkRun) publish(files []string) error {
	if r.pages != nil {
		if err := r.pages.finish(r.tally, r.skipped); err != nil {
			return err
		}
	}
	if r.out == nil {
		return nil
	}
	fp := pipeline.Fingerprint{Step: r.step.Name, Version: r.step.Version, Settings: struct {
		Config check.Config
		Model  string
		Engine string
	}{r.cfg, r.tally.judge, map[bool]string{true: engineRules, false: engineModel}[r.engine == engineRules]}}
	for _, t := range r.step.Templates {
		fp.Templates = append(fp.Templates, schemas.NamedHash{Name: t.Name, SHA256: t.Hash})
	}
	for _, f := range files {
		h, err := datasets.HashFile(filepath.Dir(f), filepath.Base(f))
		if err != nil {
			return err
		}
		fp.Inputs = append(fp.Inputs, schemas.NamedHash{Name: h.Path, SHA256: h.SHA256})
	}
	m, err := fp.Manifest()
	if err != nil {
		return err
	}
	m.In, m.Counts = r.tally.stories, r.tally.counts()
	if r.asker != nil {
		m.Usage = r.usage()
	}
	if r.pending > 0 {
		m.State = schemas.StatePartial
	}
	if _, err = r.out.Publish(m); err != nil {
		return err
	}
	r.log.Info("check done", "stories", r.tally.stories, "folder", r.ws.Step(checkDir))
	return nil
}

// printBounds says what the run can cost at most: later stages are not in the
// plan, since their prompts depend on answers.
func (r *checkRun) printBounds() error {
	t := &report.Table{Title: "at most, whatever is answered, nothing stored", Columns: []string{"stage", "calls"}}
	if r.cfg.Protocol == check.Staged {
		t.Notes = append(t.Notes, "The plan below takes as many passages as are asked for, and one compared pair in ten for suspected.")
	}
	all := 0
	for _, s := range slices.Sorted(maps.Keys(r.bounds)) {
		t.Add(s, r.bounds[s])
		all += r.bounds[s]
	}
	t.Add("all", all)
	return t.Write(r.stdout, report.Text)
}

// verdict turns the outcome into the exit code.
func (r *checkRun) verdict() error {
	t := r.tally
	what := strings.Join(r.Paths, ", ")
	switch {
	case r.plain && t.anchored > 0:
		return &codedError{code: exitFound, err: fmt.Errorf("%s: %s", what, contradictions(t.anchored))}
	case r.plain && t.failed > 0, !r.plain && t.judged == 0:
		hint := "--ask-again asks once more about what was refused, cut, failed or could not be read"
		if r.Import {
			hint = ""
		}
		return withHint(exitUnjudged, hint,
			fmt.Errorf("%s: %d answers could not be used, so that nothing can be said about these categories: %s", what, t.failed, strings.Join(t.failures(), ", ")))
	case t.failed > 0:
		r.log.Warn("not everything was judged", "answers", t.failed, "why", strings.Join(t.failures(), ", "))
	}
	return nil
}

func skippedNote(skipped map[string]int) string {
	if len(skipped) == 0 {
		return ""
	}
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(skipped)) {
		parts = append(parts, fmt.Sprintf("%s %d", k, skipped[k]))
	}
	return " (rows without one: " + strings.Join(parts, ", ") + ")"
}
