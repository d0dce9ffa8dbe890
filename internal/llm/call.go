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
	// Model asks this model of the client's table; "" asks the stage's. It is for
	// stages that put one question to several models.
	Model string
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
	// AskUnread lets [Options.AskAgain] ask once more also what Decode gave up.
	// It is for stages that do not ask again by themselves.
	AskUnread bool
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
	Usage        Usage // of all attempts that count as answers
	Cached       bool  // came from the store
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
	res, err := c.ask(ctx, client, req, in)
	if err != nil {
		return res, fmt.Errorf("%s: %w", c.Stage, err)
	}
	// A truncated answer is asked again with a larger budget, if the recipe
	// has one: another request with a key of its own.
	larger := client.opts.Stages[c.Stage].RetryMaxTokens
	if (res.Outcome == Truncated || res.Outcome == TruncatedInReasoning) && larger > req.Params.MaxTokens && req.Params.MaxTokens > 0 {
		req.Params.MaxTokens = larger
		first := res.Usage
		if res, err = c.ask(ctx, client, req, in); err != nil {
			return res, fmt.Errorf("%s: %w", c.Stage, err)
		}
		res.Usage = res.Usage.Add(first)
	}
	client.count.finished(req, res.Outcome, res.OK(), res.Cached)
	return res, nil
}

func (c Call[In, Out]) ask(ctx context.Context, client *Client, req Request, in In) (Result[Out], error) {
	ex, err := client.Ask(ctx, req)
	res := Result[Out]{
		Key: ex.Key, Model: req.Model, Sample: req.Sample, TemplateHash: req.TemplateHash,
		Outcome: ex.Outcome, Reason: ex.Reason, Usage: ex.Answer.Usage, Cached: ex.Cached, Answer: ex.Answer,
	}
	if err != nil || ex.Reply == nil {
		return res, err
	}
	ex.Reply.allowUnclosed = c.AllowUnclosed
	v, err := c.Decode(ex.Reply, in)
	res.Outcome, res.Notes = ex.Reply.Outcome(), ex.Reply.Notes()
	var de *DecodeError
	switch {
	case err == nil:
		res.Value, res.ok = v, true
	case errors.As(err, &de):
		res.Outcome, res.Reason = de.Outcome, de.Reason
	default:
		res.Outcome, res.Reason = ParseFailed, err.Error()
	}
	return res, nil
}

// Request renders the request that Do asks.
func (c Call[In, Out]) Request(client *Client, in In, sample int) (Request, error) {
	if client == nil {
		return Request{}, fmt.Errorf("%s: no model client", c.Stage)
	}
	req, err := client.request(c.Stage, c.Model, c.Params, sample)
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
	if c.AskUnread {
		req.readable = func(r *Reply) bool {
			r.allowUnclosed = c.AllowUnclosed
			_, err := c.Decode(r, in)
			return err == nil
		}
	}
	if c.Rule != nil {
		rule := c.Rule
		req = req.WithRule(func() (string, error) { return rule(in) })
	}
	return req, nil
}
