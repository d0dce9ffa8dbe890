// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/retcon-bench/retcon/datasets"
	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/llm/batch"
	"github.com/retcon-bench/retcon/internal/pipeline"
	"github.com/retcon-bench/retcon/internal/report"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/scoring"
	"github.com/retcon-bench/retcon/transform"
	"github.com/retcon-bench/retcon/transform/generate"
)

// Files of a generated table.
const (
	generatedFile    = "generated.jsonl"
	generatedParquet = "generated.parquet"
	setAsideFile     = "set_aside.jsonl"
	tableManifest    = pipeline.ManifestFile
)

type generateCmd struct {
	Task   string `help:"story (from prompts), summary or adaptation (of stories)." enum:",story,summary,adaptation" default:"" placeholder:"TASK"`
	Preset string `help:"Settings of a paper's run: summary-study, adaptation-study, entropy. Flags win over it." placeholder:"NAME"`

	In     string `help:"Prompts or stories: a workspace, or a file (.jsonl, .csv, .parquet) of prompts with id and prompt, or of stories." placeholder:"PATH"`
	Data   string `help:"Take them from a release instead: prompts of its prompts config, or the originals of --config." placeholder:"DIR"`
	Config string `help:"Config of --data whose originals are adapted or summarised." default:"flawed_fictions" placeholder:"NAME"`
	Corpus string `help:"Take stories of this corpus only." placeholder:"NAME"`
	Sample *int   `help:"Draw so many stories or prompts by seed; 0 for all." placeholder:"N"`

	Model   []string `help:"A model that writes: a name of the recipe's table, or any name the server knows. Repeat for several in one table." placeholder:"NAME" sep:"none"`
	Engine  string   `help:"Who answers: openai (any compatible server, address and key from OPENAI_BASE_URL and OPENAI_API_KEY), batch or replay." default:"openai" enum:"openai,batch,replay,rules"`
	Recipe  string   `help:"Recipe whose models declare what they can do." placeholder:"FILE"`
	Models  string   `help:"Table of models (CSV: name, class, family; class is closed, open, enhanced or agentic)." placeholder:"FILE"`
	Import  []string `help:"Stories written elsewhere: CSV, Parquet or JSON Lines. Repeat for several. Nothing is asked." placeholder:"FILE" sep:"none"`
	Column  string   `name:"story-column" help:"Column of the story in imported files; found by itself where only one can be meant." placeholder:"NAME"`
	Out     string   `help:"Folder of the table: generated.jsonl, generated.parquet, manifest.json, and set_aside.jsonl with stories over a study's limit." default:"generated" placeholder:"DIR"`
	Work    string   `help:"Folder of the answer store. Default: the table's folder with .work behind it." placeholder:"DIR"`
	Workers int      `help:"Prompts asked about at a time." default:"32"`
	Seed    uint64   `help:"Seed of the draw." default:"1"`
	JSON    bool     `help:"Print the counts as JSON."`

	Words *int `help:"Words of a summary, for its prompt; the paper's 1000 without it." placeholder:"N"`
	Limit *int `help:"Set texts of so many words or more aside and count them; 0 for none. The papers' studies take 1200." placeholder:"N"`

	Temperature     *float64 `help:"Sampling temperature; the server's own without it."`
	TopK            *int     `help:"Sample among the K likeliest tokens." placeholder:"K"`
	TopP            *float64 `help:"Sample among the likeliest tokens of probability P together." placeholder:"P"`
	MaxTokens       int      `help:"Tokens of an answer, reasoning included; 16384 for stories, 4096 for others without it."`
	RetryMaxTokens  int      `help:"Ask once more for so many tokens when an answer was cut."`
	ReasoningEffort string   `help:"For models that take one: low, medium, high." placeholder:"WORD"`
	ThinkingBudget  int      `help:"Thinking tokens, for models that take a budget."`
	LogProbs        *int     `name:"logprobs" help:"Keep the log-probabilities of each token and of so many alternatives." placeholder:"K"`
	modelFlags
}

func (*generateCmd) Help() string {
	return `Writes one row a prompt and model. Refused, cut, empty and failed answers are
rows without a story; answers are kept in WORK/answers.db, so that the same
command goes on where it stopped and asks nothing twice.

  retcon generate --task story --in prompts.jsonl --model gpt-4o --model qwen --out table
  retcon generate --preset summary-study --in out.work --corpus fairytaleqa --model gpt-4o
  retcon generate --preset adaptation-study --data out --model gpt-4o
  retcon generate --import superwriter.csv --models models.csv --out table

The table is what ` + "`retcon check`" + ` and ` + "`retcon detect --stories`" + ` read. There is no
--engine rules: nothing short of a model writes a story worth measuring.`
}

// plan of a run: preset and flags resolved.
type generatePlan struct {
	task      string
	sample    int
	maxSource int
	cfg       generate.Config
	params    llm.Params
}

func (cmd *generateCmd) Run(e *env) error {
	if cmd.Engine == engineRules {
		return withHint(exitUsage, "name a model and a server (OPENAI_BASE_URL), write batch files with --engine batch, or bring stories with --import",
			errors.New("there is no offline story writer: rules cannot write a story that anybody should measure"))
	}
	models, err := readModels(cmd.Models)
	if err != nil {
		return err
	}
	if len(cmd.Import) > 0 {
		return cmd.importAll(e, models)
	}
	p, err := cmd.resolve(models)
	if err != nil {
		return err
	}
	if (cmd.In == "") == (cmd.Data == "") {
		return usagef("say where the %s come from: --in (workspace or file) or --data (release)", map[bool]string{true: "prompts", false: "stories"}[p.task == generate.Story])
	}
	if len(cmd.Model) == 0 {
		return usagef("say who writes: --model, once or several times")
	}
	for i, m := range cmd.Model {
		if slices.Contains(cmd.Model[:i], m) {
			return usagef("--model %s is given twice", m)
		}
	}
	return cmd.ask(e, p)
}

// resolve lays the flags over the preset.
func (cmd *generateCmd) resolve(models *generate.Models) (generatePlan, error) {
	preset := generate.Preset{Task: cmd.Task}
	if cmd.Preset != "" {
		var err error
		if preset, err = generate.FindPreset(cmd.Preset); err != nil {
			return generatePlan{}, usagef("%w", err)
		}
		if cmd.Task != "" && cmd.Task != preset.Task {
			return generatePlan{}, usagef("preset %s is of task %s, not %s", preset.Name, preset.Task, cmd.Task)
		}
	}
	if preset.Task == "" {
		return generatePlan{}, usagef("say what to write: --task story, summary or adaptation, or a --preset")
	}
	p := generatePlan{task: preset.Task, sample: preset.Sample, maxSource: preset.MaxSource, params: preset.Params}
	if cmd.Sample != nil {
		p.sample = *cmd.Sample
	}
	p.cfg = generate.Config{Task: p.task, Words: cmp.Or(preset.Words, 1000), Limit: preset.Limit, Models: models}
	if cmd.Words != nil {
		p.cfg.Words = *cmd.Words
	}
	if cmd.Limit != nil {
		p.cfg.Limit = *cmd.Limit
	}
	flags := llm.Params{Temperature: cmd.Temperature, TopP: cmd.TopP, TopK: cmd.TopK, MaxTokens: cmd.MaxTokens,
		ReasoningEffort: cmd.ReasoningEffort, ThinkingBudget: cmd.ThinkingBudget}
	p.params = p.params.Over(flags)
	if cmd.LogProbs != nil {
		p.params.LogProbs = *cmd.LogProbs
	}
	switch {
	case !sampling(p.params.Temperature) || !sampling(p.params.TopP):
		return p, usagef("--temperature and --top-p are numbers from 0")
	case p.params.MaxTokens < 0 || p.params.TopK != nil && *p.params.TopK < 1:
		return p, usagef("--max-tokens and --top-k count from 1")
	case p.sample < 0 || p.cfg.Limit < 0 || p.cfg.Words < 1:
		return p, usagef("--sample, --limit and --words count from 0, 0 and 1")
	case p.params.LogProbs < 0:
		return p, usagef("--logprobs counts from 0")
	}
	return p, nil
}

// asker opens engine and answer store for the models of the command line.
func (cmd *generateCmd) asker(e *env, p generatePlan) (*asker, error) {
	cfg := askerConfig{engine: cmd.Engine, answers: filepath.Join(cmd.workDir(), "answers.db"), seed: cmd.Seed}
	var stage schemas.StageRecipe
	if cmd.Recipe != "" {
		recipe, err := readRecipe(cmd.Recipe)
		if err != nil {
			return nil, err
		}
		cfg.models = recipe.Make.Models
		for _, s := range recipe.Make.Stages {
			if s.Stage == generate.Stage(p.task) {
				stage = s
			}
		}
	}
	for _, name := range cmd.Model {
		i := slices.IndexFunc(cfg.models, func(m schemas.ModelRecipe) bool { return m.Name == name })
		if i >= 0 {
			if why := lacks(cfg.models[i], p.params); why != "" {
				return nil, withHint(exitUsage, "declare it in the recipe if the model has it, or leave the setting out",
					fmt.Errorf("model %s of %s does not declare %s", name, cmd.Recipe, why))
			}
			continue
		}
		// Nothing is declared of this one: what is asked for by name is sent.
		m := schemas.ModelRecipe{Name: name, TopK: p.params.TopK != nil, Effort: p.params.ReasoningEffort != "", LogProbs: p.params.LogProbs > 0}
		if p.params.ThinkingBudget > 0 {
			m.ThinkingField = "thinking_budget"
		}
		cfg.models = append(cfg.models, m)
	}
	lay, err := convert[llm.Params](stage)
	if err != nil {
		return nil, usagef("recipe: make.stages: %s: %w", stage.Stage, err)
	}
	retry := cmp.Or(cmd.RetryMaxTokens, stage.RetryMaxTokens)
	if stage, err = convert[schemas.StageRecipe](lay.Over(p.params)); err != nil {
		return nil, err
	}
	stage.Stage, stage.RetryMaxTokens = generate.Stage(p.task), retry
	cfg.stages = []schemas.StageRecipe{stage}
	if err := os.MkdirAll(cmd.workDir(), 0o755); err != nil {
		return nil, &fetch.Error{Op: "create", Name: cmd.workDir(), Kind: fetch.Disk, Err: err}
	}
	return openAsker(e, cfg, cmd.modelFlags)
}

// lacks names a setting that a declared model does not take. It would be left
// out of the request in silence, and the run would not be the one asked for.
func lacks(m schemas.ModelRecipe, p llm.Params) string {
	switch {
	case p.TopK != nil && !m.TopK:
		return "top_k"
	case p.LogProbs > 0 && !m.LogProbs:
		return "logprobs"
	case p.ReasoningEffort != "" && !m.Effort:
		return "reasoning_effort"
	case p.ThinkingBudget > 0 && m.ThinkingField == "":
		return "thinking_field"
	case (p.Temperature != nil || p.TopP != nil) && m.NoTemperature:
		return "temperature (no_temperature is set)"
	}
	return ""
}

func (cmd *generateCmd) workDir() string {
	if cmd.Work != "" {
		return cmd.Work
	}
	return filepath.Clean(cmd.Out) + ".work"
}

// question is one item for one model.
type question struct {
	generate.Item
	model int
}

// ask writes the table of a run.
func (cmd *generateCmd) ask(e *env, p generatePlan) error {
	items, total, err := cmd.items(p)
	if err != nil {
		return err
	}
	if total == 0 {
		return inputError(cmp.Or(cmd.In, cmd.Data), errors.New("nothing to write from: no prompt or story fits"))
	}
	if p.sample > total {
		e.log.Warn("fewer than asked for", "sample", p.sample, "there are", total)
	}
	a, err := cmd.asker(e, p)
	if err != nil {
		return err
	}
	defer a.close()
	steps := make([]transform.Step[generate.Item, schemas.Generated], len(cmd.Model))
	for i, m := range cmd.Model {
		cfg := p.cfg
		cfg.Model = m
		if steps[i], err = generate.Writer(cfg); err != nil {
			return usagef("%w", err)
		}
	}
	back, texts := keptBack{}, keptBack{}
	questions := func(yield func(question, error) bool) {
		for it, err := range items {
			if err == nil {
				back.addRow(it.Source, true)
				texts.addRow(it.Source, it.Text == "")
			}
			for i := range cmd.Model {
				if !yield(question{it, i}, err) || err != nil {
					return
				}
			}
		}
	}
	type outcome struct {
		rows    []schemas.Generated
		pending int
	}
	one := func(ctx context.Context, q question) (outcome, error) {
		pass := transform.NewPass(cmd.Seed, "generate", q.Key(), a.Client, e.log)
		rows, _, pending, err := transform.Apply(ctx, steps[q.model], pass, q.Item)
		return outcome{rows, pending}, err
	}
	a.Expect(total * len(cmd.Model))
	tick, end := e.track("generate", total*len(cmd.Model), a.spent)
	defer end()
	pending := 0
	rows := func(yield func(schemas.Generated, error) bool) {
		for o, err := range pipeline.Map(e.ctx, cmd.Workers, questions, one) {
			if err != nil {
				yield(schemas.Generated{}, err)
				return
			}
			tick()
			pending += o.pending
			for _, r := range o.rows {
				if !yield(r, nil) {
					return
				}
			}
		}
	}
	m := schemas.StepManifest{Step: "generate", Version: generate.Version, Templates: []schemas.NamedHash{}, Inputs: []schemas.NamedHash{}, State: schemas.StateComplete, In: total * len(cmd.Model)}
	for _, t := range steps[0].Templates {
		m.Templates = append(m.Templates, schemas.NamedHash{Name: t.Name, SHA256: t.Hash})
	}
	if m.Settings, err = pipeline.HashJSON(struct {
		Task         string
		Models       []string
		Words, Limit int
		Sample       int
		Seed         uint64
		Params       llm.Params
	}{p.task, cmd.Model, p.cfg.Words, p.cfg.Limit, p.sample, cmd.Seed, p.params}); err != nil {
		return err
	}
	return cmd.write(e, &m, rows, func() error {
		back.warn(e, "no release may carry what is made of some of these sources: the table is for this machine only")
		texts.asked(e, cmd.Engine)
		if err := a.settle(e, filepath.Join(cmd.workDir(), batch.RequestsFile), pending, cmd.Partial); err != nil {
			return err
		}
		if pending > 0 {
			m.State = schemas.StatePartial
		}
		m.Usage = a.usage()
		return nil
	})
}

// items are the prompts or stories of a run, and how many there are. They are
// read twice: to draw among them, and to ask.
func (cmd *generateCmd) items(p generatePlan) (iter.Seq2[generate.Item, error], int, error) {
	var where string
	all := cmd.candidates(p, &where)
	var ids []string
	seen := map[string]string{}
	for it, err := range all {
		if err != nil {
			return nil, 0, err
		}
		if first, twice := seen[it.Key()]; twice {
			return nil, 0, inputError(where, fmt.Errorf("id %s for the second time; it stands in %s too", it.Key(), first))
		}
		seen[it.Key()] = where
		ids = append(ids, it.Key())
	}
	drawn := generate.Draw(ids, p.sample, cmd.Seed)
	return func(yield func(generate.Item, error) bool) {
		n := 0
		for it, err := range all {
			if err == nil && !drawn[it.Key()] {
				continue
			}
			if n++; it.PromptID == "" {
				it.ID = n
			}
			if !yield(it, err) || err != nil {
				return
			}
		}
	}, len(drawn), nil
}

// candidates reads what could be asked about. where is set to the place of each.
func (cmd *generateCmd) candidates(p generatePlan, where *string) iter.Seq2[generate.Item, error] {
	return func(yield func(generate.Item, error) bool) {
		if p.task == generate.Story {
			for pr, err := range cmd.prompts(where) {
				if err == nil && cmd.Corpus != "" && pr.Source.Corpus != cmd.Corpus {
					continue
				}
				if !yield(generate.FromPrompt(pr), err) || err != nil {
					return
				}
			}
			return
		}
		for s, err := range cmd.stories(where) {
			if err == nil && (s.Kind != schemas.KindStory && s.Kind != "" || cmd.Corpus != "" && s.Source.Corpus != cmd.Corpus || p.maxSource > 0 && s.Words > p.maxSource) {
				continue
			}
			if !yield(generate.FromStory(s, 0, p.task), err) || err != nil {
				return
			}
		}
	}
}

// promptConfig is the config of a release that holds prompts.
const promptConfig = datasets.PromptsConfig

// prompts reads prompts of a release, of a workspace or of a file with at
// least the columns id and prompt.
func (cmd *generateCmd) prompts(where *string) iter.Seq2[schemas.Prompt, error] {
	if *where = cmd.Data; cmd.Data != "" {
		return releaseRows[schemas.Prompt](cmd.Data, "prompt", promptConfig)
	}
	return func(yield func(schemas.Prompt, error) bool) {
		path, err := inputFile(cmd.In, promptsDir+"/"+pipeline.RecordsFile, pipeline.RecordsFile, "prompts.jsonl")
		if err != nil {
			yield(schemas.Prompt{}, err)
			return
		}
		for row, err := range tableRows(path) {
			var p schemas.Prompt
			if *where = row.where; err == nil {
				p, err = promptOf(row)
			}
			if !yield(p, err) || err != nil {
				return
			}
		}
	}
}

// promptOf reads a prompt of our own form, or of any table with id and prompt.
func promptOf(row tableRow) (schemas.Prompt, error) {
	var p schemas.Prompt
	if _, ours := row.get("prompt_hash"); ours && row.json != nil {
		if err := schemas.ParseLine(row.json, &p); err != nil {
			return p, inputError(row.where, err)
		}
		return p, nil
	}
	text, ok, err := row.text("prompt")
	if err != nil {
		return p, err
	}
	if !ok || strings.TrimSpace(text) == "" {
		return p, inputError(row.where, errors.New("no prompt: want the columns id and prompt"))
	}
	id, _ := row.get("id")
	p.PromptID, _ = row.get("prompt_id")
	p.Prompt = text
	p.Language, _ = row.get("language")
	p.TaskType, _ = row.get("task_type")
	n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(id), ".0"))
	switch {
	case err == nil:
		p.ID = n
	case p.PromptID == "":
		p.PromptID = id
	}
	if id == "" && p.PromptID == "" {
		return p, inputError(row.where, errors.New("no id: want the columns id and prompt"))
	}
	return p, nil
}

// stories reads stories of a workspace or file, or the originals of a config.
func (cmd *generateCmd) stories(where *string) iter.Seq2[schemas.Story, error] {
	if *where = cmd.Data; cmd.Data == "" {
		return func(yield func(schemas.Story, error) bool) {
			path, err := inputFile(cmd.In, dedupDir+"/records.jsonl", ingestDir+"/records.jsonl", "records.jsonl")
			if err != nil {
				yield(schemas.Story{}, err)
				return
			}
			n := 0
			for s, err := range pipeline.ReadLines[schemas.Story](path) {
				n++
				*where = fmt.Sprintf("%s: row %d", path, n)
				if !yield(s, err) || err != nil {
					return
				}
			}
		}
	}
	return func(yield func(schemas.Story, error) bool) {
		for ex, err := range releaseRows[schemas.Example](cmd.Data, "example", cmd.Config) {
			if err == nil && ex.Variant != schemas.VariantOriginal {
				continue
			}
			s := schemas.Story{StoryID: ex.GroupID, GroupID: ex.GroupID, TextHash: ex.TextHash, Kind: schemas.KindStory, Title: ex.Title,
				Language: ex.Language, Words: ex.Words, Text: ex.Story, Source: ex.Source}
			if !yield(s, err) || err != nil {
				return
			}
		}
	}
}

// releaseRows reads all splits of a release's config.
func releaseRows[T any](dir, schema, config string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		r, err := datasets.Open(dir)
		if err != nil {
			yield(zero, err)
			return
		}
		c, err := r.Config(config)
		if err != nil {
			yield(zero, usagef("%w", err))
			return
		}
		if c.Schema != schema {
			yield(zero, usagef("config %s of %s holds records of kind %s, not %s", config, dir, c.Schema, schema))
			return
		}
		for _, s := range c.Splits {
			for v, err := range datasets.Rows[T](r, config, s.Name) {
				if !yield(v, err) || err != nil {
					return
				}
			}
		}
	}
}

// inputFile is path itself, or in a folder the first file that one of the
// patterns finds.
func inputFile(path string, patterns ...string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", &fetch.Error{Op: "open", Name: path, Kind: fetch.Input, Err: err}
	}
	if !info.IsDir() {
		return path, nil
	}
	for _, p := range patterns {
		found, err := filepath.Glob(filepath.Join(path, filepath.FromSlash(p)))
		if err != nil || len(found) == 0 {
			continue
		}
		step := filepath.Dir(found[0])
		if m, err := pipeline.ReadManifest(step); err == nil { // of a workspace, else it names no step before it
			if err := fresh(filepath.Dir(step), m); err != nil {
				return "", err
			}
		}
		return found[0], nil
	}
	return "", inputError(path, fmt.Errorf("a folder without any of %s", strings.Join(patterns, ", ")))
}

// write writes the table's folder. Done is called when all rows were seen; its
// error leaves everything as it was.
func (cmd *generateCmd) write(e *env, m *schemas.StepManifest, rows iter.Seq2[schemas.Generated, error], done func() error) error {
	counts, over := newGeneratedCounts(), 0
	rows, failed := remember(rows)
	err := replaceFolder(cmd.Out, m.Step, func(tmp string) error {
		err := fetch.WriteFileAtomic(filepath.Join(tmp, setAsideFile), 0o644, func(aside io.Writer) error {
			kept := func(yield func(schemas.Generated, error) bool) {
				for g, err := range rows {
					if err == nil && g.Outcome == generate.OutcomeOverLimit && g.GeneratedStory != nil {
						over++
						var line []byte
						if line, err = schemas.AppendLine(nil, g); err == nil {
							_, err = aside.Write(line)
						}
						if err == nil {
							continue
						}
					}
					if err == nil {
						counts.add(g)
					}
					if !yield(g, err) || err != nil {
						return
					}
				}
			}
			return writeLines(tmp, generatedFile, kept)
		})
		if err != nil {
			return err
		}
		if err := done(); err != nil {
			return err
		}
		if over == 0 {
			if err := os.Remove(filepath.Join(tmp, setAsideFile)); err != nil {
				return err
			}
		}
		err = fetch.WriteFileAtomic(filepath.Join(tmp, generatedParquet), 0o644, func(w io.Writer) error {
			_, err := datasets.WriteFile(w, pipeline.ReadLines[schemas.Generated](filepath.Join(tmp, generatedFile)), [2]string{"retcon.record", "generated"})
			return err
		})
		if err != nil {
			return err
		}
		m.Out, m.Dropped = counts.rows, over
		if m.In == 0 {
			m.In = counts.rows
		}
		m.Counts = pipeline.SortedCounts(counts.byName)
		for _, name := range []string{generatedFile, generatedParquet, setAsideFile} {
			h, err := datasets.HashFile(tmp, name)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return err
			}
			m.Outputs = append(m.Outputs, h)
		}
		return writeManifestFile(tmp, m)
	})
	if err := cmp.Or(*failed, err); err != nil {
		return err
	}
	format := report.Text
	if cmd.JSON {
		format = report.JSON
	}
	return counts.table(cmd.Out).Write(e.stdout, format)
}

// generatedCounts counts a table's rows by model and outcome.
type generatedCounts struct {
	rows   int
	byName map[string]int // model/outcome
	models []string
	words  map[string]int // of stories, by model
	probs  map[string]int // stories with log-probabilities
}

func newGeneratedCounts() *generatedCounts {
	return &generatedCounts{byName: map[string]int{}, words: map[string]int{}, probs: map[string]int{}}
}

func (c *generatedCounts) add(g schemas.Generated) {
	c.rows++
	if !slices.Contains(c.models, g.ModelName) {
		c.models = append(c.models, g.ModelName)
	}
	c.byName[g.ModelName+"/"+g.Outcome]++
	if g.GeneratedStory != nil {
		c.words[g.ModelName] += g.Words
	}
	if g.LogProbs != nil {
		c.probs[g.ModelName]++
	}
}

// outcomes that have a column; what else there is goes under "other".
var generatedOutcomes = []string{generate.OutcomeOK, "refusal", "truncated", "truncated_in_reasoning", "empty", "api_error", generate.OutcomeOverLimit}

func (c *generatedCounts) table(out string) *report.Table {
	t := &report.Table{Title: "generated -> " + out, Columns: []string{"model", "rows", "stories", "refused", "cut", "cut in reasoning", "empty", "failed", "over the limit", "other", "words a story", "with log-probabilities"}}
	for _, m := range c.models {
		rows, cells := 0, []any{}
		known := 0
		for name, n := range c.byName {
			if strings.HasPrefix(name, m+"/") && !strings.Contains(name[len(m)+1:], "/") {
				rows += n
			}
		}
		for _, o := range generatedOutcomes {
			n := c.byName[m+"/"+o]
			known += n
			cells = append(cells, n)
		}
		var mean any
		if n := c.byName[m+"/"+generate.OutcomeOK]; n > 0 {
			mean = (c.words[m] + n/2) / n
		}
		t.Add(append(append([]any{m, rows}, cells...), rows-known, mean, c.probs[m])...)
	}
	return t
}

// readModels reads the models table: a CSV, JSON Lines or Parquet file with
// name, class and family.
func readModels(path string) (*generate.Models, error) {
	if path == "" {
		return nil, nil
	}
	var systems []generate.System
	for row, err := range tableRows(path) {
		if err != nil {
			return nil, err
		}
		var s generate.System
		s.Name, _ = row.get("name")
		if s.Name == "" {
			s.Name, _ = row.get("model_name")
		}
		s.Class, _ = row.get("class")
		s.Family, _ = row.get("family")
		systems = append(systems, s)
	}
	m, err := generate.NewModels(systems)
	if err != nil {
		return nil, inputError(path, err)
	}
	return m, nil
}

// importAll makes one table of stories that were written elsewhere.
func (cmd *generateCmd) importAll(e *env, models *generate.Models) error {
	if len(cmd.Model) > 1 {
		return usagef("--import takes one --model: the name of rows that have none")
	}
	im := generate.Import{Models: models, Strict: models != nil, Task: cmd.Task}
	if len(cmd.Model) == 1 {
		im.Model = cmd.Model[0]
	}
	m := schemas.StepManifest{Step: "generate", Version: generate.Version, Templates: []schemas.NamedHash{}, Inputs: []schemas.NamedHash{}, State: schemas.StateComplete}
	var err error
	if m.Settings, err = pipeline.HashJSON(struct{ Import, Model, Column string }{"import", im.Model, cmd.Column}); err != nil {
		return err
	}
	for _, path := range cmd.Import {
		h, err := datasets.HashFile(filepath.Dir(path), filepath.Base(path))
		if err != nil {
			return err
		}
		m.Inputs = append(m.Inputs, schemas.NamedHash{Name: h.Path, SHA256: h.SHA256})
	}
	seen := map[string]string{}
	rows := func(yield func(schemas.Generated, error) bool) {
		for _, path := range cmd.Import {
			for g, err := range importFile(path, cmd.Column, im) {
				if err == nil {
					if first, twice := seen[g.GeneratedID]; twice {
						err = inputError(g.where, fmt.Errorf("%s for the second time; it stands in %s too", g.GeneratedID, first))
					}
					seen[g.GeneratedID] = g.where
				}
				if !yield(g.Generated, err) || err != nil {
					return
				}
			}
		}
	}
	return cmd.write(e, &m, rows, func() error { return nil })
}

// imported is a row of an imported file, and where it stands.
type imported struct {
	schemas.Generated
	where string
}

// importFile reads the rows of one file. Rows of our own tables come as they
// are; with a models table they get its class and family.
func importFile(path, column string, im generate.Import) iter.Seq2[imported, error] {
	return func(yield func(imported, error) bool) {
		story, n := column, 0
		for row, err := range tableRows(path) {
			if err != nil {
				yield(imported{}, err)
				return
			}
			n++
			var g schemas.Generated
			if _, ours := row.get("generated_id"); ours && row.json != nil {
				if err = schemas.ParseLine(row.json, &g); err == nil {
					g, err = im.Ours(g)
				}
			} else {
				if story == "" {
					if story, err = scoring.StoryColumn(row.names, ""); err != nil {
						yield(imported{}, withHint(exitInput, "name it with --story-column", fmt.Errorf("%s: %w", path, err)))
						return
					}
				}
				im.StoryColumn = story
				if _, ok := row.get(story); !ok && row.names != nil && !slices.Contains(row.names, story) {
					err = fmt.Errorf("no column %q; the columns are %s", story, strings.Join(row.names, ", "))
				} else if _, _, err = row.text(story); err == nil {
					g, err = im.Row(row.get)
					g.Source = sourceOf(row)
				}
			}
			if err != nil && fetch.KindOf(err) == 0 {
				err = inputError(row.where, err)
			}
			if !yield(imported{g, row.where}, err) || err != nil {
				return
			}
		}
		if n == 0 {
			yield(imported{}, inputError(path, errors.New("no rows")))
		}
	}
}
