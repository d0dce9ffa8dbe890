// SPDX-License-Identifier: Apache-2.0

package llm

// Model declares what a model can do and costs, in the recipe. Nothing is
// sniffed from names: a name says what its owner likes.
type Model struct {
	// Name is the recipe's name of the model; keys, reports and stages use it.
	Name string `json:"name" yaml:"name"`
	// ID is what the server calls it; "" means Name.
	ID string `json:"id,omitempty" yaml:"id,omitempty"`
	// Revision is part of the key: declare another one when the model behind
	// the same name changed, and old answers are left alone.
	Revision string `json:"revision,omitempty" yaml:"revision,omitempty"`

	MaxTokensField string `json:"max_tokens_field,omitempty" yaml:"max_tokens_field,omitempty"` // "max_tokens" (default) or "max_completion_tokens"
	NoTemperature  bool   `json:"no_temperature,omitempty" yaml:"no_temperature,omitempty"`     // the server refuses temperature and top_p
	TopK           bool   `json:"top_k,omitempty" yaml:"top_k,omitempty"`                       // the server knows top_k
	NoSeed         bool   `json:"no_seed,omitempty" yaml:"no_seed,omitempty"`
	NoStop         bool   `json:"no_stop,omitempty" yaml:"no_stop,omitempty"`
	Effort         bool   `json:"reasoning_effort,omitempty" yaml:"reasoning_effort,omitempty"` // the server knows reasoning_effort
	Schema         bool   `json:"json_schema,omitempty" yaml:"json_schema,omitempty"`           // the server knows response_format json_schema
	LogProbs       bool   `json:"logprobs,omitempty" yaml:"logprobs,omitempty"`
	NoSystem       bool   `json:"no_system,omitempty" yaml:"no_system,omitempty"` // no system role: its text goes before the first user message
	Prefill        bool   `json:"prefill,omitempty" yaml:"prefill,omitempty"`     // goes on from an assistant message in the last place

	// Thinking says that the model may write its reasoning into the answer,
	// between <think> and </think>. Without it such tags are story text.
	Thinking bool `json:"thinking,omitempty" yaml:"thinking,omitempty"`
	// ThinkingField names the request field that takes the thinking budget,
	// e.g. "thinking_budget"; "" means that there is none.
	ThinkingField string `json:"thinking_field,omitempty" yaml:"thinking_field,omitempty"`

	Context     int     `json:"context,omitempty" yaml:"context,omitempty"`           // tokens of prompt and answer; 0 = unknown
	InputPrice  float64 `json:"input_price,omitempty" yaml:"input_price,omitempty"`   // USD per million prompt tokens
	CachedPrice float64 `json:"cached_price,omitempty" yaml:"cached_price,omitempty"` // USD per million cached prompt tokens; 0 = InputPrice
	OutputPrice float64 `json:"output_price,omitempty" yaml:"output_price,omitempty"` // USD per million answer tokens
	BatchPrice  float64 `json:"batch_price,omitempty" yaml:"batch_price,omitempty"`   // factor for batch files, e.g. 0.5; 0 = 1

	Concurrency    int `json:"concurrency,omitempty" yaml:"concurrency,omitempty"` // calls in flight; 0 = the client's
	RequestsPerMin int `json:"requests_per_minute,omitempty" yaml:"requests_per_minute,omitempty"`
	TokensPerMin   int `json:"tokens_per_minute,omitempty" yaml:"tokens_per_minute,omitempty"` // prompt and answer
	TimeoutSeconds int `json:"timeout_seconds,omitempty" yaml:"timeout_seconds,omitempty"`     // one attempt; 0 = 600
	Attempts       int `json:"attempts,omitempty" yaml:"attempts,omitempty"`                   // tries of one call; 0 = 6

	// Extra fields go into the request body as they are. They are part of the
	// model, so change Revision with them when they change answers.
	Extra map[string]any `json:"extra,omitempty" yaml:"extra,omitempty"`
}

// ServerID returns what the server calls the model.
func (m Model) ServerID() string {
	if m.ID != "" {
		return m.ID
	}
	return m.Name
}

// Allow returns the parameters that the model knows. What it drops is not in
// the key either, since it is never sent.
func (m Model) Allow(p Params) Params {
	if m.NoTemperature {
		p.Temperature, p.TopP = nil, nil
	}
	if !m.TopK {
		p.TopK = nil
	}
	if m.NoSeed {
		p.Seed = nil
	}
	if m.NoStop {
		p.Stop = nil
	}
	if !m.Effort {
		p.ReasoningEffort = ""
	}
	if m.ThinkingField == "" {
		p.ThinkingBudget = 0
	}
	if !m.Schema {
		p.Schema = nil
	}
	if !m.LogProbs {
		p.LogProbs = 0
	}
	return p
}

// Cost returns the price of a usage in USD.
func (m Model) Cost(u Usage) float64 {
	cached := m.CachedPrice
	if cached == 0 {
		cached = m.InputPrice
	}
	return (float64(u.PromptTokens-u.CachedTokens)*m.InputPrice +
		float64(u.CachedTokens)*cached +
		float64(u.CompletionTokens)*m.OutputPrice) / 1e6
}

// StageSetting is what a recipe says about one stage.
type StageSetting struct {
	Model  string `json:"model,omitempty" yaml:"model,omitempty"` // "" = the default model
	Params Params `json:"params,omitempty" yaml:"params,omitempty"`
	// RetryMaxTokens, when larger than max_tokens, is asked for once more when
	// an answer was cut: a new request, counted and stored as such.
	RetryMaxTokens int `json:"retry_max_tokens,omitempty" yaml:"retry_max_tokens,omitempty"`
}
