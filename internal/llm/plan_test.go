// SPDX-License-Identifier: Apache-2.0

package llm_test

import (
	"fmt"
	"testing"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/llm/llmtest"
)

// A plan counts each question once, and what is stored not at all.
func TestPlan(t *testing.T) {
	models := []llm.Model{{Name: "m", InputPrice: 1, OutputPrice: 10, BatchPrice: 0.5}}
	store := &llm.MemStore{}
	call := upper(t)
	call.Params.MaxTokens = 100
	ask := func(e llm.Generator, from, to int) *llm.Client {
		c := newClient(t, llm.Options{Engine: e, Models: models, Store: store})
		for i := from; i < to; i++ {
			for range 2 {
				if _, err := call.Do(t.Context(), c, fmt.Sprint("lamp ", i), 0); err != nil {
					t.Fatal(err)
				}
			}
		}
		return c
	}
	ask(&llmtest.Script{Lines: []llmtest.Line{{Answer: llm.Answer{Text: "<answer>A</answer>", FinishReason: "stop", Usage: llm.Usage{PromptTokens: 20, CompletionTokens: 30}}}}}, 0, 3)
	p := llm.NewPlan(models)
	c := ask(p, 0, 10)
	exp, err := llm.Experience(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	got := p.Stages(exp, false)
	if len(got) != 1 || got[0].Calls != 7 || got[0].AnswerTokens != 700 || got[0].Typical != 210 || got[0].Open {
		t.Fatalf("%+v", got)
	}
	if n := got[0].PromptTokens; n < 7*15 || n > 7*40 {
		t.Errorf("%d prompt tokens", n)
	}
	want := float64(got[0].PromptTokens)/1e6 + 0.007
	if got[0].High != want || got[0].Low >= got[0].High || got[0].Low <= 0 {
		t.Errorf("%v to %v USD, want at most %v", got[0].Low, got[0].High, want)
	}
	if half := p.Stages(exp, true); half[0].High != got[0].High/2 {
		t.Errorf("batch price %v", half[0].High)
	}
	if r := c.Report(); r[0].Cached != 3 {
		t.Errorf("%+v", r)
	}
	if store.Len() != 3 {
		t.Errorf("a plan stored something: %d", store.Len())
	}
}
