// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"context"
	"errors"
	"testing"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/llm/llmtest"
	"github.com/retcon-bench/retcon/internal/llm/rules"
)

// withRules gives each request its rule, as llm.Call does.
type withRules struct {
	llm.Generator
	answers map[llm.Key]string
}

func (w withRules) Generate(ctx context.Context, r llm.Request) (llm.Answer, error) {
	if text, ok := w.answers[r.Key()]; ok {
		r = r.WithRule(func() (string, error) { return text, nil })
	}
	return w.Generator.Generate(ctx, r)
}

func TestContract(t *testing.T) {
	llmtest.Run(t, llmtest.Provider{
		TextOnly: true,
		New: func(_ *testing.T, reqs []llm.Request, answer func(llm.Request) llm.Answer) llm.Generator {
			w := withRules{rules.New(), map[llm.Key]string{}}
			for _, r := range reqs {
				w.answers[r.Key()] = answer(r).Text
			}
			return w
		},
		Unknown: func(err error) bool { return errors.Is(err, llm.ErrNoRule) },
	})
}
