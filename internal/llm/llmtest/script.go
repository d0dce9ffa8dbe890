// SPDX-License-Identifier: Apache-2.0

// Package llmtest helps to test what talks to models: a scripted model for
// tests of stages, a loopback server with programmable faults, answers to
// batch files, and the contract that each engine is held to ([Run]).
package llmtest

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/retcon-bench/retcon/internal/llm"
)

// Line is one line of a script: the answer to requests of a stage whose prompt
// contains a text. An empty Stage or Contains matches all.
type Line struct {
	Stage    string
	Contains string
	Answer   llm.Answer
	Err      error
}

// Script is a model that answers by the first line that matches. A request
// that no line matches is an error: a test that asks more than it meant to
// should say so. It records what it was asked.
type Script struct {
	Lines []Line
	// Func, when set, answers what no line matches.
	Func func(llm.Request) (llm.Answer, error)

	mu    sync.Mutex
	asked []llm.Request
}

// Say returns a script line that answers text with finish reason "stop".
func Say(stage, contains, text string) Line {
	return Line{Stage: stage, Contains: contains, Answer: llm.Answer{Text: text, FinishReason: "stop"}}
}

// Name returns "script".
func (s *Script) Name() string { return "script" }

// Generate answers by the script.
func (s *Script) Generate(ctx context.Context, req llm.Request) (llm.Answer, error) {
	if err := ctx.Err(); err != nil {
		return llm.Answer{}, err
	}
	s.mu.Lock()
	s.asked = append(s.asked, req)
	s.mu.Unlock()
	for _, l := range s.Lines {
		if l.Stage != "" && l.Stage != req.Stage {
			continue
		}
		if l.Contains != "" && !prompt(req, l.Contains) {
			continue
		}
		return l.Answer, l.Err
	}
	if s.Func != nil {
		return s.Func(req)
	}
	return llm.Answer{}, fmt.Errorf("llmtest: no line of the script answers stage %s, prompt %s…", req.Stage, head(req))
}

// Asked returns the requests so far.
func (s *Script) Asked() []llm.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]llm.Request(nil), s.asked...)
}

// Client returns a client whose only model answers by the script's lines. It
// stores nothing. It panics when the client cannot be made.
func Client(lines ...Line) (*llm.Client, *Script) {
	s := &Script{Lines: lines}
	c, err := llm.New(llm.Options{Engine: s})
	if err != nil {
		panic(err)
	}
	return c, s
}

func prompt(req llm.Request, want string) bool {
	for _, m := range req.Messages {
		if strings.Contains(m.Content, want) {
			return true
		}
	}
	return false
}

func head(req llm.Request) string {
	if len(req.Messages) == 0 {
		return ""
	}
	s := req.Messages[len(req.Messages)-1].Content
	if len(s) > 80 {
		s = s[:80]
	}
	return s
}
