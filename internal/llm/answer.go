// SPDX-License-Identifier: Apache-2.0

package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Usage is what the server counted. ReasoningTokens are part of
// CompletionTokens, CachedTokens part of PromptTokens, as servers report them.
type Usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	ReasoningTokens  int `json:"reasoning_tokens,omitempty"`
	CachedTokens     int `json:"cached_tokens,omitempty"`
}

// Add returns the sum of two usages.
func (u Usage) Add(v Usage) Usage {
	u.PromptTokens += v.PromptTokens
	u.CompletionTokens += v.CompletionTokens
	u.ReasoningTokens += v.ReasoningTokens
	u.CachedTokens += v.CachedTokens
	return u
}

// Answer is what came back, raw. Text is as the server sent it, reasoning tags
// included when the server left them in; [Reply] is the cleaned form.
type Answer struct {
	Text         string            `json:"text"`
	Reasoning    string            `json:"reasoning,omitempty"` // from a field of its own
	FinishReason string            `json:"finish_reason"`
	Refusal      string            `json:"refusal,omitempty"` // the server's refusal field
	Usage        Usage             `json:"usage"`
	LogProbs     json.RawMessage   `json:"logprobs,omitempty"`
	Raw          json.RawMessage   `json:"raw,omitempty"`     // other response fields worth keeping
	Headers      map[string]string `json:"headers,omitempty"` // provider headers worth keeping
	Error        *CallError        `json:"error,omitempty"`   // a failure that belongs to this request
	Latency      time.Duration     `json:"-"`
}

// Generator is a model: a name and one method. An engine answers or fails; it
// neither caches, nor retries, nor waits for a rate: [Client] does.
//
// Generate returns, as error, a [*CallError] for what the server or the
// transport said, [ErrPending] when the answer is to come by another way,
// [ErrNoRule] when no rule can know, and ctx's error when ctx ended. It must
// be safe for concurrent use.
type Generator interface {
	Name() string
	Generate(ctx context.Context, req Request) (Answer, error)
}

// ErrPending says that the answer is not there yet: the request was recorded
// for the next round's requests.jsonl, or is to be asked again by the next run.
var ErrPending = errors.New("answer pending")

// ErrNoRule says that the call has no offline rule for this input. Nobody
// knows the answer: its outcome is null, not a guess.
var ErrNoRule = errors.New("no offline rule answers this call")

// CallError is a failure of one request, as a server or the transport told it.
// Its text never holds a key or a prompt.
type CallError struct {
	Status     int           `json:"status,omitempty"` // HTTP status; 0 = transport
	Code       string        `json:"code,omitempty"`   // the server's error code, e.g. context_length_exceeded
	Type       string        `json:"type,omitempty"`
	Param      string        `json:"param,omitempty"`
	Message    string        `json:"message"`
	Setting    string        `json:"setting,omitempty"` // which setting of the recipe to change, in words
	Temporary  bool          `json:"temporary,omitempty"`
	RetryAfter time.Duration `json:"-"` // what the server asked for; 0 = nothing
	Err        error         `json:"-"`
}

func (e *CallError) Error() string {
	s := e.Message
	if e.Code != "" {
		s = e.Code + ": " + s
	}
	if e.Status != 0 {
		s = fmt.Sprintf("HTTP %d: %s", e.Status, s)
	}
	if e.Setting != "" {
		s += " (" + e.Setting + ")"
	}
	return s
}

func (e *CallError) Unwrap() error { return e.Err }

// StopClass groups the errors that stop a run, as exit codes do.
type StopClass string

// The classes of a [StopError].
const (
	StopQuota   StopClass = "quota"   // the provider's quota is used up: exit code 6
	StopBudget  StopClass = "budget"  // our own budget is used up: exit code 6
	StopDisk    StopClass = "disk"    // the store cannot be written or read: exit code 7
	StopNetwork StopClass = "network" // the server cannot be reached: exit code 7
	StopSetting StopClass = "setting" // the server refuses a setting, key or model name: exit code 2
	StopMissing StopClass = "missing" // replay has no such answer: exit code 3
)

// StopError is the error of a call that must stop the run: the next call would
// fail the same way. What was answered so far is kept.
type StopError struct {
	Class StopClass
	Err   error
}

func (e *StopError) Error() string { return string(e.Class) + ": " + e.Err.Error() }
func (e *StopError) Unwrap() error { return e.Err }

// Stop wraps err as a [StopError] of the class.
func Stop(class StopClass, err error) error { return &StopError{Class: class, Err: err} }

// StopClassOf returns the class of the [StopError] in err's chain, or "".
func StopClassOf(err error) StopClass {
	var s *StopError
	if errors.As(err, &s) {
		return s.Class
	}
	return ""
}
