// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
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
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/splits"
	"github.com/retcon-bench/retcon/transform"
	"github.com/retcon-bench/retcon/transform/detect"
)

// rowsFlags name rows of a release.
type rowsFlags struct {
	Config string `help:"Config." default:"flawed_fictions" placeholder:"NAME"`
	Split  string `help:"Split." default:"test" placeholder:"NAME"`
}

type detectCmd struct {
	Data string `help:"Release folder whose rows are judged. With --stories only its few-shot pool is used." placeholder:"DIR"`
	rowsFlags
	storiesFlags
	Out string `help:"File of predictions: JSON Lines, or Parquet where the name ends in .parquet; - for standard output. With --stories only a file is written to." default:"-" placeholder:"FILE"`

	Baseline string `help:"A system without a language model: random, always-no, always-yes, entailment." placeholder:"NAME"`
	Seed     uint64 `help:"Seed of random baselines and of the bootstrap." default:"1"`
	pairFlags

	Model    string `help:"The model that judges: a name of the recipe's table, or any name the server knows." placeholder:"NAME"`
	Prompt   string `help:"vanilla, few-shot or cot." default:"vanilla" enum:"vanilla,few-shot,cot"`
	Verifier string `help:"A second model that checks claimed errors; while it says no, the first is asked again, up to 5 times." placeholder:"NAME"`
	Engine   string `help:"Who answers: openai (any compatible server, address and key from OPENAI_BASE_URL and OPENAI_API_KEY), batch or replay." default:"openai" enum:"openai,batch,replay"`
	Recipe   string `help:"Recipe whose models and stages declare what the models can do." placeholder:"FILE"`
	Work     string `help:"Folder of the answer store and of kept scores of pairs." default:"detect.work" placeholder:"DIR"`
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
  retcon detect --data out --baseline entailment --pairs lexical --out pairs.parquet
  OPENAI_BASE_URL=http://localhost:8000/v1 retcon detect --data out --model qwen --prompt cot --out qwen.jsonl
  retcon score --data out --pred random.jsonl --pred qwen.jsonl

Or judges texts without gold, and prints how often an error is claimed, against
the human originals they were made from:

  retcon detect --stories generated.jsonl --originals stories.jsonl --model qwen --verifier qwen --html rates.html`
}

func (cmd *detectCmd) Run(e *env) error {
	if len(cmd.Stories) > 0 {
		return cmd.study(e)
	}
	if len(cmd.Originals) > 0 || cmd.HTML != "" || cmd.JSON {
		return usagef("--originals, --html and --json go with --stories")
	}
	if cmd.Data == "" {
		return usagef("say what to judge: the rows of a release (--data) or texts without gold (--stories)")
	}
	r, err := datasets.Open(cmd.Data)
	if err != nil {
		return err
	}
	info, err := r.Split(cmd.Config, cmd.Split)
	if err != nil {
		return usagef("%w", err)
	}
	texts := rowTexts(datasets.Rows[schemas.Example](r, cmd.Config, cmd.Split))
	if cmd.WritePairs != "" {
		return cmd.writePairs(e, texts)
	}
	judged, err := cmd.judge(e, texts, info.Rows)
	if err != nil {
		return err
	}
	return writePredictions(e, cmd.Out, func(yield func(schemas.Prediction, error) bool) {
		for p, err := range judged {
			p.Release, p.Digest = r.ID(), info.Digest
			if !yield(p, err) {
				return
			}
		}
	})
}

// rowTexts is what a system may see of rows.
func rowTexts(rows iter.Seq2[schemas.Example, error]) iter.Seq2[detect.Text, error] {
	return func(yield func(detect.Text, error) bool) {
		for row, err := range rows {
			if !yield(detect.TextOf(row), err) {
				return
			}
		}
	}
}

// judge has texts judged by the baseline or the model of the command line, in
// their order. Total is their number, 0 if unknown.
func (cmd *detectCmd) judge(e *env, texts iter.Seq2[detect.Text, error], total int) (iter.Seq2[schemas.Prediction, error], error) {
	switch {
	case (cmd.Baseline == "") == (cmd.Model == ""):
		return nil, usagef("say who judges: either --baseline (random, always-no, always-yes, entailment) or --model")
	case cmd.Baseline == detect.EntailmentBaseline:
		scorer, closeScorer, err := cmd.pairScorer(e)
		if err != nil {
			return nil, err
		}
		return func(yield func(schemas.Prediction, error) bool) {
			defer closeScorer()
			tick, end := e.track("entailment", total, nil)
			defer end()
			one := func(ctx context.Context, t detect.Text) (schemas.Prediction, error) {
				return detect.Entailment(ctx, scorer, t)
			}
			for p, err := range pipeline.Map(e.ctx, cmd.Workers, texts, one) {
				tick()
				if !yield(p, err) || err != nil {
					return
				}
			}
		}, nil
	case cmd.Pairs != "":
		return nil, usagef("--pairs goes with --baseline entailment")
	case cmd.Baseline != "":
		b, err := detect.FindBaseline(cmd.Baseline)
		if err != nil {
			return nil, usagef("%w", err)
		}
		return func(yield func(schemas.Prediction, error) bool) {
			for t, err := range texts {
				if err == nil {
					err = e.ctx.Err()
				}
				if err != nil {
					yield(schemas.Prediction{}, err)
					return
				}
				if !yield(b.Predict(t, cmd.Seed), nil) {
					return
				}
			}
		}, nil
	}
	preds, err := cmd.ask(e, texts, total)
	if err != nil {
		return nil, err
	}
	return sequence(preds), nil
}

// asker opens engine and answer store for the models of the command line.
func (cmd *detectCmd) asker(e *env) (*asker, error) {
	cfg := askerConfig{engine: cmd.Engine, answers: filepath.Join(cmd.Work, pipeline.AnswersFile), seed: cmd.Seed}
	if cmd.Recipe != "" {
		recipe, err := readRecipe(cmd.Recipe)
		if err != nil {
			return nil, err
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

// ask asks about every text. Where answers are missing it ends as a step does:
// requests written, exit code 5, no file of predictions.
func (cmd *detectCmd) ask(e *env, texts iter.Seq2[detect.Text, error], total int) (preds []schemas.Prediction, err error) {
	a, err := cmd.asker(e)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	cfg := detect.Config{Prompt: cmd.Prompt, Verify: cmd.Verifier != ""}
	shown := map[string]bool{}
	if cmd.Prompt == detect.FewShot {
		if cfg.Shots, shown, err = cmd.shots(); err != nil {
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
	one := func(ctx context.Context, t detect.Text) (outcome, error) {
		if shown[t.GroupID] {
			return outcome{}, withHint(exitInput, "retcon verify tells what else is wrong with the release",
				fmt.Errorf("%s: its source %s is that of a few-shot example: what is scored must not stand in the prompt", t.ID, t.GroupID))
		}
		pass := transform.NewPass(cmd.Seed, step.Name, t.ID, a.Client, e.log)
		preds, _, pending, err := transform.Apply(ctx, step, pass, t)
		return outcome{preds, pending}, err
	}
	tick, end := e.track("detect", total, a.spent)
	defer end()
	pending := 0
	for o, err := range pipeline.Map(e.ctx, cmd.Workers, texts, one) {
		if err != nil {
			return nil, err
		}
		tick()
		preds, pending = append(preds, o.preds...), pending+o.pending
	}
	if err := a.settle(e, filepath.Join(cmd.Work, batch.RequestsFile), pending, cmd.Partial); err != nil {
		return nil, err
	}
	return preds, nil
}

// shots reads the release's few-shot pool: one pair, a positive and a negative
// of sources that are scored nowhere (paper, appendix D), and these sources.
func (cmd *detectCmd) shots() (out []detect.Shot, sources map[string]bool, err error) {
	if cmd.Data == "" {
		return nil, nil, usagef("the few-shot prompt needs the few_shot config of a release: name one with --data")
	}
	r, err := datasets.Open(cmd.Data)
	if err != nil {
		return nil, nil, err
	}
	sources = map[string]bool{}
	seen := map[string]bool{}
	for row, err := range datasets.Rows[schemas.Example](r, splits.FewShot, splits.Train) {
		if err != nil {
			return nil, nil, usagef("few-shot examples: %w", err)
		}
		if !seen[row.Label] {
			seen[row.Label] = true
			out = append(out, detect.ShotOf(row))
			sources[row.GroupID] = true
		}
	}
	if len(out) < 2 {
		return nil, nil, usagef("the release's %s config has no positive and negative example", splits.FewShot)
	}
	return out, sources, nil
}

// pairFlags say who scores the sentence pairs of the entailment baseline.
type pairFlags struct {
	Pairs      string   `help:"Entailment: who scores sentence pairs: the URL of a text-classification server, a file of scores, or lexical (words alone, no model)." placeholder:"WHO"`
	PairModel  string   `help:"Name of the model behind --pairs, for the tables; a server that tells its own needs none." placeholder:"NAME"`
	PairBatch  int      `help:"Pairs a request to the server." default:"32"`
	PairForm   string   `help:"Form of requests: tei ([[premise, hypothesis], ...]) or pipeline ([{text, text_pair}, ...]); told by the address without it." default:"" enum:",tei,pipeline"`
	PairLabels []string `help:"Classes of LABEL_0, LABEL_1, LABEL_2 where the model's have no names, such as contradiction,neutral,entailment." placeholder:"CLASS"`
	WritePairs string   `help:"Only write the sentence pairs, for a model to be run elsewhere; with entailment, neutral and contradiction filled in, the file is one for --pairs." placeholder:"FILE"`
}

// pairKey is where the bearer token of a text-classification server comes from.
const pairKey = "RETCON_PAIRS_KEY"

// pairScorer opens who scores pairs. What a server says is kept in the work
// folder: a stopped run goes on where it was.
func (cmd *detectCmd) pairScorer(e *env) (s detect.PairScorer, closeIt func() error, err error) {
	closeIt = func() error { return nil }
	switch {
	case cmd.Pairs == "":
		return nil, nil, usagef("--baseline entailment needs somebody who scores sentence pairs: --pairs http://HOST/predict (a server with a model fine-tuned on MNLI; a key comes from %s), --pairs FILE (scores; --write-pairs writes the pairs) or --pairs lexical (words alone)", pairKey)
	case cmd.Pairs == "lexical":
		return detect.LexicalPairs{}, closeIt, nil
	case strings.HasPrefix(cmd.Pairs, "http://"), strings.HasPrefix(cmd.Pairs, "https://"):
		server, err := detect.NewPairServer(e.ctx, detect.PairServerConfig{URL: cmd.Pairs, Form: cmd.PairForm, Key: strings.TrimSpace(os.Getenv(pairKey)),
			Model: cmd.PairModel, Batch: cmd.PairBatch, Labels: cmd.PairLabels, Log: e.log})
		if err != nil {
			return nil, nil, err
		}
		sum := sha256.Sum256([]byte(server.Name()))
		kept, earlier, err := openKept(filepath.Join(cmd.Work, fmt.Sprintf("pairs-%x.jsonl", sum[:6])))
		if err != nil {
			return nil, nil, err
		}
		return detect.KeepPairs(server, earlier, kept), kept.Close, nil
	}
	f, err := openInput(cmd.Pairs)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	scores, err := detect.ReadPairScores(f, cmd.Pairs, cmp.Or(cmd.PairModel, "scores from a file"))
	if err != nil {
		return nil, nil, &codedError{code: exitInput, err: err}
	}
	return scores, closeIt, nil
}

// openKept opens a file of kept scores to append to, and reads what is in it.
// A last line that a crash cut short goes.
func openKept(name string) (*os.File, *detect.PairFile, error) {
	fail := func(op string, err error) (*os.File, *detect.PairFile, error) {
		return nil, nil, &fetch.Error{Op: op, Name: name, Kind: fetch.Disk, Err: err}
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fail("create", err)
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		return fail("open", err)
	}
	b, err := io.ReadAll(f)
	if err != nil {
		f.Close()
		return fail("read", err)
	}
	whole := bytes.LastIndexByte(b, '\n') + 1
	if err := f.Truncate(int64(whole)); err != nil {
		f.Close()
		return fail("truncate", err)
	}
	if whole == 0 {
		return f, nil, nil
	}
	earlier, err := detect.ReadPairScores(bytes.NewReader(b[:whole]), name, "kept")
	if err != nil {
		f.Close()
		return nil, nil, withHint(exitInput, "remove the file to have all pairs scored anew", err)
	}
	return f, earlier, nil
}

func (cmd *detectCmd) writePairs(e *env, texts iter.Seq2[detect.Text, error]) error {
	return writeTo(e, cmd.WritePairs, func(w io.Writer) error {
		buf := bufio.NewWriterSize(w, 1<<20)
		for t, err := range texts {
			if err == nil {
				err = e.ctx.Err()
			}
			if err == nil {
				err = detect.WritePairs(buf, t)
			}
			if err != nil {
				return err
			}
		}
		return buf.Flush()
	})
}

// writePredictions writes JSON Lines, or Parquet where the name says so.
func writePredictions(e *env, name string, preds iter.Seq2[schemas.Prediction, error]) error {
	return writeTo(e, name, func(w io.Writer) error {
		if strings.HasSuffix(name, ".parquet") {
			return datasets.WritePredictions(w, preds)
		}
		buf := bufio.NewWriterSize(w, 1<<18)
		if err := encodeLines(buf, preds); err != nil {
			return err
		}
		return buf.Flush()
	})
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
