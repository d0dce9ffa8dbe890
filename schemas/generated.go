// SPDX-License-Identifier: Apache-2.0

package schemas

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// Tasks of [Generated] that are none of [TaskTypes]: the two studies of the
// FlawedFictions paper, section 6.
const (
	TaskSummary    = "summary"
	TaskAdaptation = "adaptation"
)

// ModelClasses are the groups of ConStory-Bench's table 3, in its order.
var ModelClasses = []string{"closed", "open", "enhanced", "agentic"}

// Generated is a story that a system wrote, or why there is none: a row of
// generated.jsonl. The first seven fields are the published columns.
type Generated struct {
	ID              int     `json:"id"` // the prompt's, or 1, 2, ... in the order of the stories a study draws
	Language        string  `json:"language"`
	TaskType        string  `json:"task_type"` // one of TaskTypes, or summary, adaptation, diagnostic
	Prompt          string  `json:"prompt"`    // empty for summaries and adaptations, whose prompt holds the story
	ModelName       string  `json:"model_name"`
	GeneratedStory  *string `json:"generated_story"`  // frozen; null unless outcome is ok
	GenerationError *string `json:"generation_error"` // null when outcome is ok

	// GeneratedID names the row for good: what was asked, task, model. Findings
	// (as story_id) and predictions (as example_id) refer to it.
	GeneratedID string `json:"generated_id"`
	PromptID    string `json:"prompt_id"` // empty for summaries and adaptations
	Outcome     string `json:"outcome"`   // ok, or why there is no story: refusal, truncated, truncated_in_reasoning, empty, api_error, over_limit, ...
	TextHash    string `json:"text_hash"` // HashText(GeneratedStory); empty where there is none
	Words       int    `json:"words"`     // runs of non-white-space

	ModelClass  string `json:"model_class"`  // one of ModelClasses, or empty
	ModelFamily string `json:"model_family"` // or empty
	Engine      string `json:"engine"`       // model, import or rules

	StoryID string `json:"story_id"` // the source's, for summaries and adaptations, or the prompt's
	GroupID string `json:"group_id"`
	Source  Source `json:"source"` // of the prompt or story: its licence holds for what was made of it

	Settings         []KeyValue `json:"settings"` // parameters as they were sent, in a fixed order
	FinishReason     string     `json:"finish_reason"`
	PromptTokens     int        `json:"prompt_tokens"` // as the server counted
	CompletionTokens int        `json:"completion_tokens"`
	ReasoningTokens  int        `json:"reasoning_tokens"`
	Notes            []string   `json:"notes"` // what had to be forgiven, and why log-probabilities are missing

	// LogProbs is in the form of [EncodeLogProbs]; absent where none were asked for.
	LogProbs   json.RawMessage `json:"logprobs,omitempty"`
	Provenance []Provenance    `json:"provenance"`
}

// Tokens reads the log-probabilities of the story's tokens; nil where the row
// has none.
func (g *Generated) Tokens() ([]TokenLogProb, error) {
	if len(g.LogProbs) == 0 || string(g.LogProbs) == "null" {
		return nil, nil
	}
	if g.GeneratedStory == nil {
		return nil, fmt.Errorf("%s: log-probabilities without a story", g.GeneratedID)
	}
	toks, _, err := DecodeLogProbs(g.LogProbs, len(*g.GeneratedStory))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", g.GeneratedID, err)
	}
	return toks, nil
}

// TokenLogProb is one token of a generated story.
type TokenLogProb struct {
	// Start and End are bytes of the story. A token may end inside a character.
	Start, End int
	LogProb    float64 // natural logarithm of the chosen token's probability
	// Top are the log-probabilities of the likeliest tokens at this place, the
	// chosen one among them if it is one, highest first.
	Top []float64
}

// logProbs is the compact form: one column a quantity, whole numbers only.
type logProbs struct {
	Format  int       `json:"format"`   // 1
	TopK    int       `json:"top_k"`    // alternatives asked for
	Scale   int       `json:"scale"`    // numbers below are log-probabilities times this, rounded
	Lengths []int     `json:"lengths"`  // bytes of each token; they add up to the story
	LogProb []int64   `json:"logprobs"` // of the chosen tokens
	Top     [][]int64 `json:"top"`      // highest first
}

// logProbScale keeps five decimals of a nat: an entropy is off by at most some
// 1e-5 bit a token, and a story of 8,000 words with 20 alternatives a token
// takes about 1.5 MB instead of the 20 MB that servers send.
const logProbScale = 100_000

// EncodeLogProbs writes tokens, which cover the story from its first byte to
// its last without gaps, in the form of [Generated.LogProbs].
func EncodeLogProbs(toks []TokenLogProb, topK int) (json.RawMessage, error) {
	c := logProbs{Format: 1, TopK: topK, Scale: logProbScale, Lengths: []int{}, LogProb: []int64{}, Top: [][]int64{}}
	at := 0
	for i, t := range toks {
		if t.Start != at || t.End <= t.Start {
			return nil, fmt.Errorf("token %d covers bytes [%d,%d), want it to start at %d", i, t.Start, t.End, at)
		}
		at = t.End
		c.Lengths = append(c.Lengths, t.End-t.Start)
		lp, err := scaled(t.LogProb)
		if err != nil {
			return nil, fmt.Errorf("token %d: %w", i, err)
		}
		c.LogProb = append(c.LogProb, lp)
		top := make([]int64, len(t.Top))
		for k, v := range t.Top {
			if top[k], err = scaled(v); err != nil {
				return nil, fmt.Errorf("token %d, alternative %d: %w", i, k, err)
			}
			if k > 0 && top[k] > top[k-1] {
				return nil, fmt.Errorf("token %d: alternatives are not in order of probability", i)
			}
		}
		c.Top = append(c.Top, top)
	}
	return json.Marshal(c)
}

// scaled rounds a log-probability. Servers write -9999 and the like for "never".
func scaled(v float64) (int64, error) {
	if math.IsNaN(v) || v > 1e-6 {
		return 0, fmt.Errorf("%v is no log-probability", v)
	}
	return int64(math.Round(max(v, -1e6) * logProbScale)), nil
}

// DecodeLogProbs reads what [EncodeLogProbs] writes, for a story of the given
// number of bytes, and how many alternatives were asked for.
func DecodeLogProbs(raw json.RawMessage, storyBytes int) (toks []TokenLogProb, topK int, err error) {
	var c logProbs
	if err := ParseLine(raw, &c); err != nil {
		return nil, 0, fmt.Errorf("log-probabilities: %w", err)
	}
	switch {
	case c.Format != 1:
		return nil, 0, fmt.Errorf("log-probabilities: format %d, this version reads 1", c.Format)
	case c.Scale <= 0:
		return nil, 0, errors.New("log-probabilities: no scale")
	case len(c.LogProb) != len(c.Lengths) || len(c.Top) != len(c.Lengths):
		return nil, 0, fmt.Errorf("log-probabilities: columns of %d, %d and %d tokens", len(c.Lengths), len(c.LogProb), len(c.Top))
	}
	toks = make([]TokenLogProb, len(c.Lengths))
	at := 0
	for i, n := range c.Lengths {
		if n <= 0 || n > storyBytes-at {
			return nil, 0, fmt.Errorf("log-probabilities: token %d of %d bytes at byte %d of a story of %d", i, n, at, storyBytes)
		}
		t := TokenLogProb{Start: at, End: at + n, LogProb: float64(c.LogProb[i]) / float64(c.Scale), Top: make([]float64, len(c.Top[i]))}
		if c.LogProb[i] > 0 {
			return nil, 0, fmt.Errorf("log-probabilities: token %d is more than certain", i)
		}
		for k, v := range c.Top[i] {
			if v > 0 || k > 0 && v > c.Top[i][k-1] {
				return nil, 0, fmt.Errorf("log-probabilities: alternatives of token %d are not in order of probability", i)
			}
			t.Top[k] = float64(v) / float64(c.Scale)
		}
		toks[i] = t
		at += n
	}
	if at != storyBytes {
		return nil, 0, fmt.Errorf("log-probabilities: tokens cover %d of the story's %d bytes", at, storyBytes)
	}
	return toks, c.TopK, nil
}
