// SPDX-License-Identifier: Apache-2.0

package llm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// Options configure a [Client].
type Options struct {
	Engine Generator
	// Store keeps answers; nil keeps none. The rules engine is never stored:
	// its answers are code, and code changes.
	Store Store
	// Models is the recipe's table. A model that a stage names must be in it.
	Models []Model
	// Default names the model of stages that name none; "" = the first model,
	// or, with an empty table, a model of the engine's name.
	Default string
	// Stages is what the recipe says about stages, by stage name.
	Stages map[string]StageSetting
}

// Client asks an engine on behalf of calls. It is safe for concurrent use.
type Client struct {
	opts   Options
	models map[string]Model

	mu       sync.Mutex
	outcomes map[[3]string]int
}

// New returns a client, or an error that names what is wrong in the options.
func New(opts Options) (*Client, error) {
	if opts.Engine == nil {
		return nil, errors.New("llm: no engine")
	}
	if len(opts.Models) == 0 {
		opts.Models = []Model{{Name: opts.Engine.Name()}}
	}
	if opts.Default == "" {
		opts.Default = opts.Models[0].Name
	}
	c := &Client{opts: opts, models: map[string]Model{}, outcomes: map[[3]string]int{}}
	for _, m := range opts.Models {
		c.models[m.Name] = m
	}
	if _, ok := c.models[opts.Default]; !ok {
		return nil, fmt.Errorf("llm: default model %q is not in the table of models", opts.Default)
	}
	for stage, s := range opts.Stages {
		if _, ok := c.models[s.Model]; s.Model != "" && !ok {
			return nil, fmt.Errorf("llm: stage %s: model %q is not in the table of models", stage, s.Model)
		}
	}
	return c, nil
}

// Model returns the declared model of a stage.
func (c *Client) Model(stage string) Model {
	if s := c.opts.Stages[stage]; s.Model != "" {
		return c.models[s.Model]
	}
	return c.models[c.opts.Default]
}

// Engine returns the engine's name.
func (c *Client) Engine() string { return c.opts.Engine.Name() }

// request makes the request of a stage without its messages.
func (c *Client) request(stage string, defaults Params, sample int) (Request, error) {
	if stage == "" {
		return Request{}, errors.New("llm: call without a stage")
	}
	m := c.Model(stage)
	p := m.Allow(defaults.Over(c.opts.Stages[stage].Params))
	return Request{Stage: stage, Model: m.Name, Revision: m.Revision, Params: p, Sample: sample}, nil
}

// Exchange is what [Client.Ask] returns: the raw answer, its class, and, when
// there is something to decode, the Reply.
type Exchange struct {
	Key     Key
	Answer  Answer
	Outcome Outcome // OK when Reply is set
	Reason  string
	Reply   *Reply
	Cached  bool
}

// Ask gets the answer of a request.
func (c *Client) Ask(ctx context.Context, req Request) (Exchange, error) {
	ex := Exchange{Key: req.Key()}
	if err := ctx.Err(); err != nil {
		return ex, err
	}
	a, err := c.opts.Engine.Generate(ctx, req)
	switch {
	case errors.Is(err, ErrPending):
		ex.Outcome = Pending
		return ex, nil
	case errors.Is(err, ErrNoRule):
		ex.Outcome, ex.Reason = NoRule, err.Error()
		return ex, nil
	case err != nil:
		return ex, err
	}
	ex.Answer, ex.Outcome = a, OK
	ex.Reply = &Reply{Text: strings.TrimSpace(a.Text), Request: req, Answer: a}
	return ex, nil
}

func (c *Client) countOutcome(req Request, o Outcome) {
	c.mu.Lock()
	c.outcomes[[3]string{req.Stage, req.Model, string(o)}]++
	c.mu.Unlock()
}
