// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/llm/rules"
	"github.com/retcon-bench/retcon/internal/pipeline"
	"github.com/retcon-bench/retcon/schemas"
)

// modelFlags are the flags of commands that may ask a model.
type modelFlags struct {
	Partial bool `help:"Publish what is there although answers are missing; the step's state is then partial."`
}

// requestsFile is where a step leaves the questions nobody has answered.
const requestsFile = "requests.jsonl"

// useModel opens the recipe's engine.
func (c *chain) useModel(f modelFlags) error {
	c.partial = f.Partial
	opts := llm.Options{Seed: c.recipe.Seed, Draining: pipeline.Draining, Drain: drainTime, Log: c.log}
	var err error
	if opts.Models, err = convert[[]llm.Model](c.recipe.Make.Models); err != nil {
		return usagef("recipe: make.models: %w", err)
	}
	opts.Stages = map[string]llm.StageSetting{}
	for _, s := range c.recipe.Make.Stages {
		p, err := convert[llm.Params](s)
		if err != nil {
			return usagef("recipe: make.stages: %s: %w", s.Stage, err)
		}
		opts.Stages[s.Stage] = llm.StageSetting{Model: s.Model, Params: p}
	}
	switch c.recipe.Make.Engine {
	case "rules":
		opts.Engine, opts.Models, opts.Stages = rules.New(), nil, nil
	default:
		return usagef("engine %q is not known", c.recipe.Make.Engine)
	}
	if c.client, err = llm.New(opts); err != nil {
		return usagef("recipe: %w", err)
	}
	return nil
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

// modelWorkers is how many records are worked on at a time: with a model most
// of the time goes into waiting.
func (c *chain) modelWorkers() int {
	if c.recipe.Make.Engine == "rules" {
		return c.workers
	}
	return max(c.workers, 64)
}

// spent says what the calls of this run came to, for progress.
func (c *chain) spent() string {
	p := c.client.Progress()
	if p.Done == 0 || c.recipe.Make.Engine == "rules" {
		return ""
	}
	return fmt.Sprintf("%d calls, %d failed, %d from the store, %.2f USD", p.Done, p.Failed, p.Cached, p.Spent)
}

// settle ends a step that asks a model: it writes usage into the manifest, and
// where answers are missing it stops, or marks the step partial.
func (c *chain) settle(m *schemas.StepManifest, pending int) error {
	if c.recipe.Make.Engine != "rules" {
		for _, r := range c.client.Report() {
			m.Usage = append(m.Usage, schemas.StageUsage{Stage: r.Stage, Model: r.Model, Engine: c.client.Engine(), Calls: r.Requests,
				PromptTokens: r.Usage.PromptTokens, CompletionTokens: r.Usage.CompletionTokens, ReasoningTokens: r.Usage.ReasoningTokens, Cost: round4(r.Cost)})
		}
	}
	if pending == 0 {
		return nil
	}
	if c.partial {
		m.State = schemas.StatePartial
		return nil
	}
	path := filepath.Join(c.ws.Dir(), requestsFile)
	return withHint(exitPending, fmt.Sprintf("give %s to a batch service, then: retcon llm import --work %s ANSWERS, and run the same command again", path, c.ws.Dir()),
		fmt.Errorf("%d answers are missing", pending))
}

// round4 keeps derived numbers to four decimals, the same on every platform.
func round4(f float64) float64 { return math.Round(f*1e4) / 1e4 }
