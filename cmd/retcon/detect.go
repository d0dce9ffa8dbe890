// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"github.com/retcon-bench/retcon/datasets"
	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/internal/llm/batch"
	"github.com/retcon-bench/retcon/internal/pipeline"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/splits"
	"github.com/retcon-bench/retcon/transform"
	"github.com/retcon-bench/retcon/transform/detect"
)

// rowsFlags name rows of a release.
type rowsFlags struct {
	Data   string `help:"Release folder." required:"" placeholder:"DIR"`
	Config string `help:"Config." default:"flawed_fictions" placeholder:"NAME"`
	Split  string `help:"Split." default:"test" placeholder:"NAME"`
}

type detectCmd struct {
	rowsFlags
	Out string `help:"File of predictions (JSON Lines); - for standard output." default:"-" placeholder:"FILE"`

	Baseline string `help:"A system that does not read: random, always-no, always-yes." placeholder:"NAME"`
	Seed     uint64 `help:"Seed of random baselines." default:"1"`

	Model    string `help:"The model that judges: a name of the recipe's table, or any name the server knows." placeholder:"NAME"`
	Prompt   string `help:"vanilla, few-shot or cot." default:"vanilla" enum:"vanilla,few-shot,cot"`
	Verifier string `help:"A second model that checks claimed errors; while it says no, the first is asked again, up to 5 times." placeholder:"NAME"`
	Engine   string `help:"Who answers: openai (any compatible server, address and key from OPENAI_BASE_URL and OPENAI_API_KEY), batch or replay." default:"openai" enum:"openai,batch,replay"`
	Recipe   string `help:"Recipe whose models and stages declare what the models can do." placeholder:"FILE"`
	Work     string `help:"Folder of the answer store." default:"detect.work" placeholder:"DIR"`
	Workers  int    `help:"Rows asked about at a time." default:"32"`

	Temperature     *float64 `help:"Sampling temperature; the paper's 0.5 without it."`
	MaxTokens       int      `help:"Tokens of an answer; 4096 without it, 8192 with reasoning effort or a thinking budget."`
	ReasoningEffort string   `help:"For models that take one: low, medium, high." placeholder:"WORD"`
	ThinkingBudget  int      `help:"Thinking tokens, for models that take a budget."`
	modelFlags
}

func (*detectCmd) Help() string {
	return `Writes one prediction a row.

  retcon detect --data out --baseline random --out random.jsonl
  OPENAI_BASE_URL=http://localhost:8000/v1 retcon detect --data out --model qwen --prompt cot --out qwen.jsonl
  retcon score --data out --pred random.jsonl --pred qwen.jsonl`
}

func (cmd *detectCmd) Run(e *env) error {
	r, err := datasets.Open(cmd.Data)
	if err != nil {
		return err
	}
	info, err := r.Split(cmd.Config, cmd.Split)
	if err != nil {
		return usagef("%w", err)
	}
	var judged iter.Seq2[schemas.Prediction, error]
	switch {
	case (cmd.Baseline == "") == (cmd.Model == ""):
		return usagef("say who judges: either --baseline (random, always-no, always-yes) or --model")
	case cmd.Baseline != "":
		b, err := detect.FindBaseline(cmd.Baseline)
		if err != nil {
			return usagef("%w", err)
		}
		judged = cmd.baseline(r, b)
	default:
		a, err := cmd.asker(e)
		if err != nil {
			return err
		}
		defer a.close()
		preds, err := cmd.ask(e, r, a, info.Rows)
		if err != nil {
			return err
		}
		judged = sequence(preds)
	}
	return writeTo(e, cmd.Out, func(w io.Writer) error {
		var line []byte
		for p, err := range judged {
			if err == nil {
				err = e.ctx.Err()
			}
			if err != nil {
				return err
			}
			p.Release, p.Digest = r.ID(), info.Digest
			if line, err = schemas.AppendLine(line[:0], p); err != nil {
				return fmt.Errorf("%s: %w", p.ExampleID, err)
			}
			if _, err := w.Write(line); err != nil {
				return err
			}
		}
		return nil
	})
}

func (cmd *detectCmd) baseline(r *datasets.Release, b detect.Baseline) iter.Seq2[schemas.Prediction, error] {
	return func(yield func(schemas.Prediction, error) bool) {
		for row, err := range datasets.Rows[schemas.Example](r, cmd.Config, cmd.Split) {
			if err != nil {
				yield(schemas.Prediction{}, err)
				return
			}
			if !yield(b.Predict(row, cmd.Seed), nil) {
				return
			}
		}
	}
}

// asker opens engine and answer store for the models of the command line.
func (cmd *detectCmd) asker(e *env) (*asker, error) {
	cfg := askerConfig{engine: cmd.Engine, answers: filepath.Join(cmd.Work, "answers.db"), seed: cmd.Seed}
	if cmd.Recipe != "" {
		data, err := os.ReadFile(cmd.Recipe)
		if err != nil {
			return nil, withHint(exitUsage, "", fmt.Errorf("recipe: %w", err))
		}
		recipe, err := parseRecipe(cmd.Recipe, data)
		if err != nil {
			return nil, &codedError{code: exitUsage, err: err}
		}
		cfg.models = recipe.Make.Models
	}
	maxTokens := cmd.MaxTokens
	if maxTokens == 0 && (cmd.ReasoningEffort != "" || cmd.ThinkingBudget > 0) {
		maxTokens = 8192 // paper, appendix D
	}
	stage := func(name, model string) {
		if model == "" {
			return
		}
		if !slices.ContainsFunc(cfg.models, func(m schemas.ModelRecipe) bool { return m.Name == model }) {
			cfg.models = append(cfg.models, schemas.ModelRecipe{Name: model})
		}
		cfg.stages = append(cfg.stages, schemas.StageRecipe{Stage: name, Model: model, Temperature: cmd.Temperature, MaxTokens: maxTokens,
			ReasoningEffort: cmd.ReasoningEffort, ThinkingBudget: cmd.ThinkingBudget})
	}
	stage(detect.Stage(cmd.Prompt), cmd.Model)
	stage(detect.VerifierStage, cmd.Verifier)
	if err := os.MkdirAll(cmd.Work, 0o755); err != nil {
		return nil, &fetch.Error{Op: "create", Name: cmd.Work, Kind: fetch.Disk, Err: err}
	}
	return openAsker(e, cfg, cmd.modelFlags)
}

// ask asks about every row. Where answers are missing it ends as a step does:
// requests written, exit code 5, no file of predictions.
func (cmd *detectCmd) ask(e *env, r *datasets.Release, a *asker, rows int) ([]schemas.Prediction, error) {
	cfg := detect.Config{Prompt: cmd.Prompt, Verify: cmd.Verifier != ""}
	if cmd.Prompt == detect.FewShot {
		var err error
		if cfg.Shots, err = shots(r); err != nil {
			return nil, err
		}
	}
	step, err := detect.Detector(cfg)
	if err != nil {
		return nil, usagef("%w", err)
	}
	type outcome struct {
		preds   []schemas.Prediction
		pending int
	}
	one := func(ctx context.Context, row schemas.Example) (outcome, error) {
		pass := transform.NewPass(cmd.Seed, step.Name, row.ExampleID, a.Client, e.log)
		preds, _, pending, err := transform.Apply(ctx, step, pass, detect.TextOf(row))
		return outcome{preds, pending}, err
	}
	tick, end := e.track("detect", rows, a.spent)
	defer end()
	var out []schemas.Prediction
	pending := 0
	for o, err := range pipeline.Map(e.ctx, cmd.Workers, datasets.Rows[schemas.Example](r, cmd.Config, cmd.Split), one) {
		if err != nil {
			return nil, err
		}
		tick()
		out, pending = append(out, o.preds...), pending+o.pending
	}
	if err := a.settle(e, filepath.Join(cmd.Work, batch.RequestsFile), pending, cmd.Partial); err != nil {
		return nil, err
	}
	return out, nil
}

// shots reads the release's few-shot pool: one pair, a positive and a negative
// of sources that are scored nowhere (paper, appendix D).
func shots(r *datasets.Release) ([]detect.Shot, error) {
	var out []detect.Shot
	seen := map[string]bool{}
	for row, err := range datasets.Rows[schemas.Example](r, splits.FewShot, splits.Train) {
		if err != nil {
			return nil, usagef("few-shot examples: %w", err)
		}
		if !seen[row.Label] {
			seen[row.Label] = true
			out = append(out, detect.ShotOf(row))
		}
	}
	if len(out) < 2 {
		return nil, usagef("the release's %s config has no positive and negative example", splits.FewShot)
	}
	return out, nil
}

// writeTo writes to a file, which appears whole or not at all, or to standard
// output.
func writeTo(e *env, name string, write func(io.Writer) error) error {
	if name != "-" && name != "" {
		return fetch.WriteFileAtomic(name, 0o644, write)
	}
	buf := bufio.NewWriter(e.stdout)
	if err := write(buf); err != nil {
		return err
	}
	return buf.Flush()
}
