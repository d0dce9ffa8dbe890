// SPDX-License-Identifier: Apache-2.0

package llmtest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/retcon-bench/retcon/internal/llm"
)

// Provider is an engine to be tested by [Run].
type Provider struct {
	// New returns an engine for which the answers to all requests are prepared
	// by the function: a server that gives them, a file that holds them. What
	// it needs ends with the test.
	New func(t *testing.T, requests []llm.Request, answer func(llm.Request) llm.Answer) llm.Generator
	// Model is the name of the model that requests are for; "" = "m".
	Model string
	// Unknown reports whether an error is the right one for a request that
	// nobody prepared. Whatever it is, it must not be an answer.
	Unknown func(error) bool
	// TextOnly says that answers carry text and "stop", no other finish reason.
	TextOnly bool
}

// Run holds an engine to the contract of [llm.Generator].
func Run(t *testing.T, p Provider) {
	if p.Model == "" {
		p.Model = "m"
	}
	texts := []string{
		"Yes.",
		"<answer>\nZoë’s 👒 fell; “why?” — nobody & no one < knew.\r\n\tThe end.\n</answer>",
		`{"label": "a \"quoted\" word", "n": 1}`,
		"null",
		strings.Repeat("The lamp was red. ", 6000),
		"\u2028 line and \u0000 nothing",
	}
	var reqs []llm.Request
	byPrompt := map[string]string{}
	for i, text := range texts {
		prompt := fmt.Sprintf("question %d <story>Zoë & “Tom”</story>\n", i)
		byPrompt[prompt] = text
		reqs = append(reqs, llm.Request{
			Stage: "contract/stage", Model: p.Model, Sample: i % 2,
			Params:       llm.Params{Temperature: llm.Float(0), MaxTokens: 50 + i, Stop: []string{"END"}},
			Messages:     []llm.Message{{Role: "system", Content: "Be brief."}, {Role: "user", Content: prompt}},
			TemplateHash: "hash",
		})
	}
	answer := func(r llm.Request) llm.Answer {
		a := llm.Answer{Text: byPrompt[r.Messages[1].Content], FinishReason: "stop"}
		if !p.TextOnly {
			a.Usage = llm.Usage{PromptTokens: 20, CompletionTokens: 5, ReasoningTokens: 2, CachedTokens: 3}
		}
		return a
	}
	g := p.New(t, reqs, answer)

	t.Run("name", func(t *testing.T) {
		if g.Name() == "" || strings.ContainsAny(g.Name(), " /") {
			t.Errorf("name %q", g.Name())
		}
	})
	t.Run("answers", func(t *testing.T) {
		for i, r := range reqs {
			before := clone(r)
			a, err := g.Generate(t.Context(), r)
			if err != nil {
				t.Fatalf("request %d: %v", i, err)
			}
			want := answer(r)
			if a.Text != want.Text || a.FinishReason != want.FinishReason || a.Error != nil {
				t.Errorf("request %d: %.80q, finish %q, error %v", i, a.Text, a.FinishReason, a.Error)
			}
			if a.Usage != want.Usage {
				t.Errorf("request %d: usage %+v, want %+v", i, a.Usage, want.Usage)
			}
			if !reflect.DeepEqual(clone(r), before) || r.Key() != before.Key() {
				t.Errorf("request %d was changed", i)
			}
		}
	})
	t.Run("concurrent", func(t *testing.T) {
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				r := reqs[i%len(reqs)]
				if a, err := g.Generate(t.Context(), r); err != nil || a.Text != answer(r).Text {
					t.Errorf("request %d: %v", i, err)
				}
			})
		}
		wg.Wait()
	})
	t.Run("context ended", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if a, err := g.Generate(ctx, reqs[0]); !errors.Is(err, context.Canceled) || a.Text != "" {
			t.Errorf("%+v, %v", a, err)
		}
	})
	t.Run("nobody knows", func(t *testing.T) {
		r := clone(reqs[0])
		r.Messages[1].Content = "a question that nobody prepared"
		r = r.WithRule(nil)
		a, err := g.Generate(t.Context(), r)
		if err == nil || p.Unknown != nil && !p.Unknown(err) {
			t.Errorf("answer %+v, error %v", a, err)
		}
	})
	t.Run("through a client", func(t *testing.T) {
		c, err := llm.New(llm.Options{Engine: g, Models: []llm.Model{{Name: p.Model}}, Store: &llm.MemStore{}})
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range reqs {
			ex, err := c.Ask(t.Context(), r)
			if err != nil || ex.Outcome != llm.OK || ex.Reply == nil {
				t.Errorf("request %d: %s %s, %v", i, ex.Outcome, ex.Reason, err)
			}
		}
	})
	if p.TextOnly {
		return
	}
	t.Run("finish reasons and refusals", func(t *testing.T) {
		cases := []llm.Answer{
			{Text: "Once a", FinishReason: "length"},
			{Text: "", FinishReason: "content_filter"},
			{Refusal: "I will not.", FinishReason: "stop"},
			{Reasoning: "Hm.", Text: "", FinishReason: "stop"},
			{Reasoning: "Hm.", Text: "Yes.", FinishReason: "stop", LogProbs: []byte(`{"content":[]}`)},
		}
		g := p.New(t, reqs[:len(cases)], func(r llm.Request) llm.Answer {
			for i := range cases {
				if r.Messages[1].Content == reqs[i].Messages[1].Content {
					return cases[i]
				}
			}
			return llm.Answer{}
		})
		for i, want := range cases {
			a, err := g.Generate(t.Context(), reqs[i])
			if err != nil || a.Text != want.Text || a.FinishReason != want.FinishReason || a.Refusal != want.Refusal ||
				a.Reasoning != want.Reasoning || string(a.LogProbs) != string(want.LogProbs) {
				t.Errorf("%+v came back as %+v, %v", want, a, err)
			}
		}
	})
}

// clone copies what a request points at; the rule stays.
func clone(r llm.Request) llm.Request {
	r.Messages = append([]llm.Message(nil), r.Messages...)
	r.Params.Stop = append([]string(nil), r.Params.Stop...)
	return r
}
