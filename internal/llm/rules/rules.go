// SPDX-License-Identifier: Apache-2.0

// Package rules is the engine that needs no model: it runs the offline rule of
// each call and returns the rule's text, which then passes the same decoder as
// a model's. A call without a rule, or whose rule returns [llm.ErrNoRule], has
// no answer here: outcome no_rule, null in the data.
//
// Rules live beside their calls (see [llm.Call]); this package knows none.
package rules

import (
	"context"
	"fmt"

	"github.com/retcon-bench/retcon/internal/llm"
)

// Engine runs offline rules. The zero value is ready to use.
type Engine struct{}

// New returns the engine.
func New() Engine { return Engine{} }

// Name returns "rules".
func (Engine) Name() string { return "rules" }

// Computed tells the client that answers are computed here: they are not
// stored, because a stored one would outlive a change of the rule.
func (Engine) Computed() bool { return true }

// Generate runs the rule of the request.
func (Engine) Generate(ctx context.Context, req llm.Request) (llm.Answer, error) {
	if err := ctx.Err(); err != nil {
		return llm.Answer{}, err
	}
	rule := req.Rule()
	if rule == nil {
		return llm.Answer{}, fmt.Errorf("stage %s: %w", req.Stage, llm.ErrNoRule)
	}
	text, err := rule()
	if err != nil {
		return llm.Answer{}, fmt.Errorf("stage %s: rule: %w", req.Stage, err)
	}
	return llm.Answer{Text: text, FinishReason: "stop"}, nil
}
