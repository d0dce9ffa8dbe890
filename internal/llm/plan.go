// SPDX-License-Identifier: Apache-2.0

package llm

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
)

// Plan is an engine that only counts: what would be asked, in how many tokens,
// at what price. The client asks it for what the store does not hold, so what is
// there already is not counted. A request whose prompt depends on an answer
// that is missing is made of a stand-in for that answer ([Plan.StandIn]); without
// stand-ins it is never made, and the plan counts at least.
type Plan struct {
	// StandIn writes what a model could answer, so that the stages behind the
	// answer are counted too. A plan is an upper bound in calls where its
	// stand-ins let everything pass. "" means none; nil gives none at all. Give
	// such a plan's client a store that keeps nothing ([Unkept]).
	StandIn func(Request) string

	mu     sync.Mutex
	models map[string]Model
	stages map[stageKey]*StagePlan
	seen   map[Key]bool
}

// StagePlan is what one stage would ask one model.
type StagePlan struct {
	Stage        string `json:"stage"`
	Model        string `json:"model"`
	Calls        int    `json:"calls"`
	PromptTokens int    `json:"prompt_tokens"` // counted with o200k_base
	// AnswerTokens is the most that may come: max_tokens a call, or, without
	// one, 4,096.
	AnswerTokens int `json:"answer_tokens"`
	// Typical is what is likely to come, from the stored answers of the stage,
	// else from the stand-ins; 0 = neither.
	Typical int `json:"typical_tokens,omitempty"`
	// Low and High are the price range in USD: prompts with typical answers (or
	// none), prompts with the longest answers.
	Low  float64 `json:"low_usd"`
	High float64 `json:"high_usd"`
	// Open says that some calls have no max_tokens, so that High is a guess.
	Open bool `json:"open,omitempty"`
}

// NewPlan returns a counting engine for the models of the recipe.
func NewPlan(models []Model) *Plan {
	p := &Plan{models: map[string]Model{}, stages: map[stageKey]*StagePlan{}, seen: map[Key]bool{}}
	for _, m := range models {
		p.models[m.Name] = m
	}
	return p
}

// Name returns "plan".
func (p *Plan) Name() string { return "plan" }

// Generate counts the request and returns the stand-in for its answer, or
// [ErrPending].
func (p *Plan) Generate(ctx context.Context, req Request) (Answer, error) {
	if err := ctx.Err(); err != nil {
		return Answer{}, err
	}
	out, err := Answer{}, ErrPending
	if p.StandIn != nil {
		if text := p.StandIn(req); text != "" {
			out, err = Answer{Text: text, FinishReason: "stop"}, nil
		}
	}
	prompt, answer := PromptTokens(req), 0
	if err == nil {
		answer = CountTokens(out.Text)
	}
	key := req.Key()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen[key] {
		return out, err
	}
	p.seen[key] = true
	k := stageKey{req.Stage, req.Model}
	s := p.stages[k]
	if s == nil {
		s = &StagePlan{Stage: req.Stage, Model: req.Model}
		p.stages[k] = s
	}
	s.Calls++
	s.PromptTokens += prompt
	s.AnswerTokens += cmp.Or(req.Params.MaxTokens, defaultAnswer)
	s.Open = s.Open || req.Params.MaxTokens == 0
	s.Typical += answer
	return out, err
}

// Unkept is a store that reads another and keeps nothing.
type Unkept struct{ Store }

// Put does nothing.
func (Unkept) Put(context.Context, Record) error { return nil }

// Stages returns the plan, by stage and model. experience holds the mean
// answer tokens of stages that were asked before, from [Experience]; nil is
// none. factor is the models' price factor for batch files if batch is set.
func (p *Plan) Stages(experience map[string]int, batch bool) []StagePlan {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []StagePlan
	for k, s := range p.stages {
		r := *s
		m := p.models[k.model]
		if n, ok := experience[k.stage]; ok {
			r.Typical = min(n*r.Calls, r.AnswerTokens)
		}
		r.Low = m.Cost(Usage{PromptTokens: r.PromptTokens, CompletionTokens: r.Typical})
		r.High = m.Cost(Usage{PromptTokens: r.PromptTokens, CompletionTokens: r.AnswerTokens})
		if batch && m.BatchPrice > 0 {
			r.Low *= m.BatchPrice
			r.High *= m.BatchPrice
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b StagePlan) int { return cmp.Or(cmp.Compare(a.Stage, b.Stage), cmp.Compare(a.Model, b.Model)) })
	return out
}

// Experience returns the mean answer tokens by stage of what a store holds.
func Experience(ctx context.Context, store interface {
	Each(ctx context.Context, f func(Record) error) error
}) (map[string]int, error) {
	sum, n := map[string]int{}, map[string]int{}
	err := store.Each(ctx, func(r Record) error {
		if t := r.Answer.Usage.CompletionTokens; t > 0 {
			sum[r.Stage] += t
			n[r.Stage]++
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("stored answers: %w", err)
	}
	for s := range sum {
		sum[s] /= n[s]
	}
	return sum, nil
}
