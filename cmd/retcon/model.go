// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/llm/batch"
	"github.com/retcon-bench/retcon/internal/llm/openai"
	"github.com/retcon-bench/retcon/internal/llm/replay"
	"github.com/retcon-bench/retcon/internal/llm/rules"
	"github.com/retcon-bench/retcon/internal/llm/store"
	"github.com/retcon-bench/retcon/internal/pipeline"
	"github.com/retcon-bench/retcon/internal/report"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform/flawed"
)

// Engines: who answers. A recipe and a release know two kinds only, rules and
// model: a hosted server, a batch file and a replay of stored answers give the
// same data.
const (
	engineRules  = "rules"
	engineModel  = "model" // in a recipe; asked through openai unless a flag says otherwise
	engineOpenAI = "openai"
	engineBatch  = "batch"
	engineReplay = "replay"
)

// modelFlags are the flags of every command that may ask a model.
type modelFlags struct {
	Plan     bool   `help:"Print calls, tokens and a price range by stage, after what the store holds; ask and publish nothing."`
	Budget   string `help:"Stop when this run has spent so much, such as 5usd. What was answered is kept." placeholder:"AMOUNT"`
	Partial  bool   `help:"Publish what is there although answers are missing; the step's state is then partial."`
	AskAgain bool   `help:"Ask once more what was refused, truncated, empty or failed, and in check, generate and diagnostic what could not be read; else a stored failure is final."`
}

// asker is a model client with what has to be closed and told at the end.
type asker struct {
	*llm.Client
	engine string
	store  *store.Store
	batch  *batch.Engine
	plan   *llm.Plan
}

// askerConfig says whom to ask.
type askerConfig struct {
	engine  string
	models  []schemas.ModelRecipe
	stages  []schemas.StageRecipe
	answers string // path of the answer store
	seed    uint64
	standIn func(llm.Request) string // for a plan: what a model could answer
}

// readRecipe reads a recipe for the models and stages that it declares.
func readRecipe(path string) (schemas.Recipe, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return schemas.Recipe{}, withHint(exitUsage, "", fmt.Errorf("recipe: %w", err))
	}
	recipe, err := parseRecipe(path, data)
	if err != nil {
		return recipe, &codedError{code: exitUsage, err: err}
	}
	return recipe, nil
}

// sampling says whether a temperature or a share can be asked for: NaN and the
// infinities, which flags may spell, have no form in a request.
func sampling(v *float64) bool { return v == nil || *v >= 0 && *v <= math.MaxFloat32 }

// openAsker opens the store and the engine behind a client.
func openAsker(e *env, cfg askerConfig, f modelFlags) (*asker, error) {
	a := &asker{engine: cfg.engine}
	opts := llm.Options{Seed: cfg.seed, Draining: pipeline.Draining, Drain: drainTime, AskAgain: f.AskAgain, Log: e.log}
	var err error
	if f.Budget != "" {
		if opts.BudgetUSD, err = llm.ParseBudget(f.Budget); err != nil {
			return nil, usagef("--budget: %w", err)
		}
	}
	if cfg.engine == engineRules {
		opts.Engine = rules.New()
		if a.Client, err = llm.New(opts); err != nil {
			return nil, usagef("%w", err)
		}
		return a, nil
	}
	if opts.Models, err = convert[[]llm.Model](cfg.models); err != nil {
		return nil, usagef("recipe: make.models: %w", err)
	}
	if len(opts.Models) == 0 {
		return nil, withHint(exitUsage, "name one with --model, or list models in the recipe under make.models", errors.New("no model to ask"))
	}
	opts.Stages = map[string]llm.StageSetting{}
	for _, s := range cfg.stages {
		if !sampling(s.Temperature) {
			return nil, usagef("%s: temperature is %v, want a number from 0", s.Stage, *s.Temperature)
		}
		p, err := convert[llm.Params](s)
		if err != nil {
			return nil, usagef("recipe: make.stages: %s: %w", s.Stage, err)
		}
		opts.Stages[s.Stage] = llm.StageSetting{Model: s.Model, Params: p, RetryMaxTokens: s.RetryMaxTokens}
	}
	if a.store, err = store.Open(e.ctx, cfg.answers, store.Options{Wait: 2 * time.Second}); err != nil {
		return nil, err
	}
	opts.Store = a.store
	switch {
	case f.Plan:
		a.plan = llm.NewPlan(opts.Models)
		a.plan.StandIn = cfg.standIn
		opts.Engine, opts.Store, opts.BudgetUSD = a.plan, llm.Unkept{Store: a.store}, 0
		for i := range opts.Models { // nobody is asked, so nobody is spared
			opts.Models[i].RequestsPerMin, opts.Models[i].TokensPerMin = 0, 0
		}
	case cfg.engine == engineBatch:
		a.batch = batch.New(opts.Models)
		opts.Engine = a.batch
	case cfg.engine == engineReplay:
		opts.Engine = replay.New(nil)
	case cfg.engine == engineStored:
		opts.Engine = storedOnly{}
	case cfg.engine == engineOpenAI || cfg.engine == engineModel:
		server := openai.FromEnv(os.Getenv)
		server.Models = opts.Models
		opts.Engine, err = openai.New(server)
	default:
		err = usagef("engine %q: want rules, openai, batch or replay", cfg.engine)
	}
	if err == nil {
		a.Client, err = llm.New(opts)
		if err != nil {
			err = usagef("recipe: %w", err)
		}
	}
	if err != nil {
		return nil, errors.Join(err, a.close())
	}
	return a, nil
}

// close gives back store and temporary files.
func (a *asker) close() error {
	var errs []error
	if a.batch != nil {
		errs = append(errs, a.batch.Close())
	}
	if a.store != nil {
		errs = append(errs, a.store.Close())
	}
	return errors.Join(errs...)
}

// usage is what the answers used, for a manifest: it depends on the data, not
// on how often the command ran.
func (a *asker) usage() []schemas.StageUsage {
	if a.engine == engineRules {
		return nil
	}
	var out []schemas.StageUsage
	for _, r := range a.Report() {
		out = append(out, schemas.StageUsage{Stage: r.Stage, Model: r.Model, Engine: engineModel, Calls: r.Requests,
			PromptTokens: r.Usage.PromptTokens, CompletionTokens: r.Usage.CompletionTokens, ReasoningTokens: r.Usage.ReasoningTokens, Cost: round4(r.Cost)})
	}
	return out
}

// spent says what the calls of this run came to, for progress.
func (a *asker) spent() string {
	if a.engine == engineRules {
		return ""
	}
	p := a.Progress()
	return fmt.Sprintf("%d calls, %d failed, %d from the store, %.2f USD", p.Done, p.Failed, p.Cached, p.Spent)
}

// errPlanned ends a run that only counted.
var errPlanned = errors.New("planned")

// settle is called when all records have been walked and pending answers are
// missing: it prints the plan, or writes the round's requests to path and stops.
// With partial, missing answers are no error.
func (a *asker) settle(e *env, path string, pending int, partial bool) error {
	switch {
	case a.plan != nil:
		if err := a.printPlan(e); err != nil {
			return err
		}
		return errPlanned
	case pending == 0:
		return nil
	case partial:
		e.log.Warn("published without the answers that are missing", "waiting", pending, "requests", a.waiting())
		return nil
	case a.batch == nil: // a server that failed again and again leaves its question open
		return withHint(exitDisk, "answers so far are kept; run the same command again when the server is well, or with --partial to go on without them",
			fmt.Errorf("%d answers are missing: the server gave none in all attempts", pending))
	}
	n, err := a.batch.WriteRequests(e.ctx, path, a.store)
	if err != nil {
		return err
	}
	unused, err := a.Unused(e.ctx)
	if err != nil {
		return err
	}
	for _, u := range unused {
		e.log.Warn("stored answers of no use: " + u)
	}
	work := filepath.Dir(path)
	return withHint(exitPending, fmt.Sprintf("have that file answered (OpenAI Batch format; retcon llm export --work %s copies it, cut into parts where it is large), "+
		"then: retcon llm import --work %s ANSWERS... and the same command again", work, work),
		fmt.Errorf("%d requests wait for answers (%s); they are in %s", n, a.waiting(), path))
}

// waiting counts the open requests of a batch by stage, for people.
func (a *asker) waiting() string {
	if a.batch == nil {
		return ""
	}
	var out []string
	for _, s := range a.batch.Stages() {
		out = append(out, fmt.Sprintf("%s %d", s.Stage, s.Requests))
	}
	return strings.Join(out, ", ")
}

func (a *asker) printPlan(e *env) error {
	seen, err := llm.Experience(e.ctx, a.store)
	if err != nil {
		return err
	}
	t := &report.Table{Title: "plan: what is still to be asked, if every answer can be read and nothing is set aside",
		Columns: []string{"stage", "model", "calls", "prompt tokens", "answer tokens, likely", "at most", "usd from", "usd to"},
		Notes:   []string{"An answer that cannot be read may be asked for again; what is set aside saves the calls behind it, and a fact set aside may cost those of a spare one."}}
	var calls, prompt, answer, typical int
	var low, high float64
	known := func(n int) any {
		if n == 0 {
			return nil // nothing was asked yet: from is the price of the prompts alone
		}
		return n
	}
	for _, s := range a.plan.Stages(seen, a.engine == engineBatch) {
		t.Add(s.Stage, s.Model, s.Calls, s.PromptTokens, known(s.Typical), s.AnswerTokens, s.Low, s.High)
		calls, prompt, answer, typical, low, high = calls+s.Calls, prompt+s.PromptTokens, answer+s.AnswerTokens, typical+s.Typical, low+s.Low, high+s.High
	}
	t.Add("all", "", calls, prompt, known(typical), answer, low, high)
	return t.Write(e.stdout, report.Text)
}

// convert turns a record of the recipe into the type of the package that uses
// it; both have the same JSON.
func convert[T any](v any) (out T, err error) {
	b, err := json.Marshal(v)
	if err != nil {
		return out, err
	}
	return out, json.Unmarshal(b, &out)
}

// round4 keeps derived numbers to four decimals, the same on every platform.
func round4(f float64) float64 { return math.Round(f*1e4) / 1e4 }

// useModel opens the chain's engine over the workspace's answer store.
func (c *chain) useModel(f modelFlags) error {
	a, err := openAsker(c.env, askerConfig{engine: c.engine, models: c.recipe.Make.Models, stages: c.recipe.Make.Stages,
		answers: c.ws.Answers(), seed: c.recipe.Seed,
		standIn: flawed.StandIn(flawed.Config{Make: c.recipe.Make, Seed: c.recipe.Seed})}, f)
	if err != nil {
		return err
	}
	c.asker, c.partial = a, f.Partial
	c.closers = append(c.closers, a.close)
	return nil
}

// modelWorkers is how many records are worked on at a time: with a model most
// of the time goes into waiting.
func (c *chain) modelWorkers() int {
	if c.engine == engineRules {
		return c.workers
	}
	return max(c.workers, 64)
}

// settle ends a step that asked a model: usage goes into the manifest; where
// answers are missing the step stops, or is marked partial.
func (c *chain) settle(_ context.Context, m *schemas.StepManifest, pending int) error {
	if err := c.asker.settle(c.env, filepath.Join(c.ws.Dir(), batch.RequestsFile), pending, c.partial); err != nil {
		return err
	}
	m.Usage = c.asker.usage()
	if pending > 0 {
		m.State = schemas.StatePartial
	}
	return nil
}
