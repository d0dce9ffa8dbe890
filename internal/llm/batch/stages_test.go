// SPDX-License-Identifier: Apache-2.0

package batch_test

import (
	"slices"
	"testing"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/llm/batch"
)

// Requests are counted by stage, each once, in the order of the stages' names.
func TestStages(t *testing.T) {
	e := batch.New([]llm.Model{{Name: "m"}})
	defer e.Close()
	for _, r := range []struct {
		stage  string
		sample int
	}{{"b", 0}, {"a", 0}, {"b", 1}, {"b", 1}} {
		req := llm.Request{Stage: r.stage, Model: "m", Sample: r.sample, Messages: []llm.Message{{Role: "user", Content: "Who " + r.stage + "?"}}}
		if _, err := e.Generate(t.Context(), req); err != llm.ErrPending {
			t.Fatal(err)
		}
	}
	if got, want := e.Stages(), []batch.StageCount{{Stage: "a", Requests: 1}, {Stage: "b", Requests: 2}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
