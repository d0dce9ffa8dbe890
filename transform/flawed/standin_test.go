// SPDX-License-Identifier: Apache-2.0

package flawed

import (
	"context"
	"slices"
	"testing"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform"
)

// TestPlanBoundsTheRun: the plan of a run counts, stage by stage, at least the
// calls that a model is then asked, and no more prompt tokens a call than a
// third above; after some answers it counts what is left.
func TestPlanBoundsTheRun(t *testing.T) {
	stories := embedded(t)
	cfg := Config{Seed: 1, Survey: surveyOf(stories)}
	whole, _ := fullItem(t, cfg, stories) // reaches every stage
	stories = append(slices.DeleteFunc(stories[:5:5], func(s schemas.Story) bool { return s.StoryID == whole.StoryID }), whole)
	cfg.Make.TypeFlaws = true
	plan := func(store llm.Store) map[string]llm.StagePlan {
		p := llm.NewPlan(nil)
		p.StandIn = StandIn(cfg)
		client, err := llm.New(llm.Options{Engine: p, Models: []llm.Model{{Name: "script"}}, Store: llm.Unkept{Store: store}})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range stories {
			walk(t, cfg, client, s)
		}
		out := map[string]llm.StagePlan{}
		for _, s := range p.Stages(nil, false) {
			out[s.Stage] = s
		}
		return out
	}
	store := &llm.MemStore{}
	before := plan(store)

	// Asked for good: everything passes that the rules can make.
	calls, tokens := map[string]int{}, map[string]int{}
	engine := good{}.model()
	client, err := llm.New(llm.Options{Engine: engine, Models: []llm.Model{{Name: "script"}}, Store: store})
	if err != nil {
		t.Fatal(err)
	}
	drafts := 0
	for _, s := range stories {
		drafts += len(walk(t, cfg, client, s).Outs)
	}
	for _, req := range engine.Asked() {
		calls[req.Stage]++
		tokens[req.Stage] += llm.PromptTokens(req)
	}
	if len(calls) != 10 || drafts < 4 {
		t.Fatalf("%d drafts, stages asked: %v", drafts, calls)
	}
	for stage, n := range calls {
		p := before[stage]
		// The script does not answer some calls (the rules know no bridge, no
		// control): those are asked a second time, which no plan can know.
		if stage == "flawed/resolve" || stage == "flawed/control" || stage == "flawed/facts" {
			n /= 2
		}
		if p.Calls < n {
			t.Errorf("%s: %d calls planned, %d asked", stage, p.Calls, n)
		}
		planned, real := float64(p.PromptTokens)/float64(p.Calls), float64(tokens[stage])/float64(calls[stage])
		// The rules put act 2 where their facts fit, later than a model does.
		low := 0.75
		if stage == "flawed/facts" {
			low = 0.6
		}
		if planned < real*low || planned > real*1.5 {
			t.Errorf("%s: %.0f tokens a prompt planned, %.0f asked", stage, planned, real)
		}
		if p.Typical == 0 || p.Typical > p.AnswerTokens {
			t.Errorf("%s: %d answer tokens likely, %d at most", stage, p.Typical, p.AnswerTokens)
		}
	}
	full := len(stories)
	for stage, n := range map[string]int{"acts": 1, "facts": 1, "score": 1, "rewrite": 2, "judge": 10, "type": 2, "coherence": 20, "resolve": 2, "resolved_judge": 10, "control": 2} {
		// Tales that cannot be walked to the end by stand-ins would hide calls.
		if got := before["flawed/"+stage].Calls; got < n*full*9/10 {
			t.Errorf("%s: %d calls planned for %d stories with two facts each, want about %d", stage, got, full, n*full)
		}
	}
	for stage, p := range plan(store) {
		if stage == "flawed/acts" || p.Calls >= before[stage].Calls {
			t.Errorf("%s: %d calls still planned after the run, %d before", stage, p.Calls, before[stage].Calls)
		}
	}
}

// walk takes a story through all steps with a client.
func walk(t testing.TB, cfg Config, client *llm.Client, s schemas.Story) transform.Outcome[schemas.Draft] {
	t.Helper()
	d, err := Start(s)
	if err != nil {
		t.Fatal(err)
	}
	o, err := transform.Chain(context.Background(), transform.Env{Seed: cfg.Seed, Model: client}, Steps(cfg), func(d schemas.Draft) string { return d.DraftID }, d)
	if err != nil {
		t.Fatal(err)
	}
	return o
}
