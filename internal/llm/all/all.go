// SPDX-License-Identifier: Apache-2.0

// Package all knows every engine by name. To add one, write its package with a
// test that calls llmtest.Run, and a line here.
package all

import (
	"fmt"
	"strings"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/llm/batch"
	"github.com/retcon-bench/retcon/internal/llm/openai"
	"github.com/retcon-bench/retcon/internal/llm/replay"
	"github.com/retcon-bench/retcon/internal/llm/rules"
)

// Settings are what engines are made of.
type Settings struct {
	Models []llm.Model
	// Getenv reads keys and addresses; os.Getenv outside tests.
	Getenv func(string) string
	// BaseURL overrides the environment's; "" does not.
	BaseURL string
	// Recording holds answers for replay beside the client's store; nil for none.
	Recording llm.Store
}

var engines = []struct {
	name, doc string
	make      func(Settings) (llm.Generator, error)
}{
	{"rules", "no model: the offline rule of each call", func(Settings) (llm.Generator, error) { return rules.New(), nil }},
	{"openai", "any OpenAI-compatible server; OPENAI_API_KEY, OPENAI_BASE_URL", func(s Settings) (llm.Generator, error) {
		cfg := openai.FromEnv(s.Getenv)
		cfg.Models = s.Models
		if s.BaseURL != "" {
			cfg.BaseURL = s.BaseURL
		}
		return openai.New(cfg)
	}},
	{"batch", "batch files: requests out, answers in", func(s Settings) (llm.Generator, error) { return batch.New(s.Models), nil }},
	{"replay", "stored answers only; a miss is an error", func(s Settings) (llm.Generator, error) { return replay.New(s.Recording), nil }},
}

// New makes an engine. One that has a Close method wants to be closed.
func New(name string, s Settings) (llm.Generator, error) {
	for _, e := range engines {
		if e.name == name {
			return e.make(s)
		}
	}
	return nil, fmt.Errorf("no engine is called %q (known: %s)", name, strings.Join(Names(), ", "))
}

// Names returns the engines' names.
func Names() []string {
	var out []string
	for _, e := range engines {
		out = append(out, e.name)
	}
	return out
}

// Doc returns one line on an engine.
func Doc(name string) string {
	for _, e := range engines {
		if e.name == name {
			return e.doc
		}
	}
	return ""
}
