// SPDX-License-Identifier: Apache-2.0

package llm

import (
	"context"
	"errors"
	"fmt"
)

// Call is one kind of question, declared as a value in the package of the
// stage that asks it. Everything a reader wants to know about the question
// stands side by side: prompt, parameters, how the answer is read, and what
// answers it when there is no model.
type Call[In, Out any] struct {
	// Stage names the call in recipes, keys, reports and the store.
	Stage string
	// Template is the prompt. Its hash is provenance.
	Template *Template
	// Params are the call's own parameters; the recipe's lie over them.
	Params Params
	// Render makes the messages. Nil renders Template with the input as dot.
	Render func(in In) ([]Message, error)
	// Decode reads a whole answer: finish reason, reasoning, refusals and
	// empties were dealt with before. It gives an answer up with [Failed];
	// any other error counts as [ParseFailed].
	Decode func(r *Reply, in In) (Out, error)
	// Rule writes the offline answer as text, which goes through Decode like
	// any other. Nil, or [ErrNoRule], means that no rule can know.
	Rule func(in In) (string, error)
	// AllowUnclosed accepts a tag that was opened and never closed though the
	// model stopped by itself (outcome [UnclosedTag]).
	AllowUnclosed bool
}

// Result is what became of one call.
type Result[Out any] struct {
	Value   Out     // zero unless OK()
	Outcome Outcome // see the constants
	Reason  string  // why, for people; holds no story text
	Notes   []string

	Key          Key
	Model        string
	Sample       int
	TemplateHash string
	Usage        Usage
	Cached       bool // came from the store
	Answer       Answer

	ok bool
}

// OK reports whether Value is an answer.
func (r Result[Out]) OK() bool { return r.ok }

// Pending reports whether the answer is still to come.
func (r Result[Out]) Pending() bool { return r.Outcome == Pending }

// Do asks the call about in; sample numbers the samples of one prompt from 0.
// Whatever a model can do wrong is an outcome. The error is for what stops the
// run: quota, budget, disk, a setting the server refuses, ctx, or a bug in
// Render or Rule.
func (c Call[In, Out]) Do(ctx context.Context, client *Client, in In, sample int) (Result[Out], error) {
	req, err := c.Request(client, in, sample)
	if err != nil {
		return Result[Out]{}, err
	}
	ex, err := client.Ask(ctx, req)
	res := Result[Out]{
		Key: ex.Key, Model: req.Model, Sample: sample, TemplateHash: req.TemplateHash,
		Outcome: ex.Outcome, Reason: ex.Reason, Usage: ex.Answer.Usage, Cached: ex.Cached, Answer: ex.Answer,
	}
	if err != nil {
		return res, fmt.Errorf("%s: %w", c.Stage, err)
	}
	if ex.Reply == nil {
		client.countOutcome(req, res.Outcome)
		return res, nil
	}
	ex.Reply.allowUnclosed = c.AllowUnclosed
	v, err := c.Decode(ex.Reply, in)
	res.Outcome, res.Notes = ex.Reply.Outcome(), ex.Reply.Notes()
	if err != nil {
		var de *DecodeError
		if errors.As(err, &de) {
			res.Outcome, res.Reason = de.Outcome, de.Reason
		} else {
			res.Outcome, res.Reason = ParseFailed, err.Error()
		}
	} else {
		res.Value, res.ok = v, true
	}
	client.countOutcome(req, res.Outcome)
	return res, nil
}

// Request renders the request that Do asks.
func (c Call[In, Out]) Request(client *Client, in In, sample int) (Request, error) {
	if client == nil {
		return Request{}, fmt.Errorf("%s: no model client", c.Stage)
	}
	req, err := client.request(c.Stage, c.Params, sample)
	if err != nil {
		return Request{}, fmt.Errorf("%s: %w", c.Stage, err)
	}
	if c.Render != nil {
		req.Messages, err = c.Render(in)
	} else {
		req.Messages, err = c.Template.Messages(in)
	}
	if err != nil {
		return Request{}, fmt.Errorf("%s: rendering the prompt: %w", c.Stage, err)
	}
	if c.Template != nil {
		req.TemplateHash = c.Template.Hash
	}
	if c.Rule != nil {
		rule := c.Rule
		req = req.WithRule(func() (string, error) { return rule(in) })
	}
	return req, nil
}
