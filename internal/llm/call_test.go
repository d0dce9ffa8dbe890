// SPDX-License-Identifier: Apache-2.0

package llm_test

import (
	"context"
	"testing"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/llm/llmtest"
	"github.com/retcon-bench/retcon/internal/llm/rules"
)

func template(t *testing.T, text string) *llm.Template {
	t.Helper()
	tm, err := llm.ParseTemplate("t.tmpl", text)
	if err != nil {
		t.Fatal(err)
	}
	return tm
}

func upper(t *testing.T) llm.Call[string, string] {
	return llm.Call[string, string]{
		Stage:    "test/upper",
		Template: template(t, "{{define \"system\"}}\nBe brief.\n{{end}}{{define \"user\"}}\n{{delimit \"story\" .}}\n{{end}}"),
		Params:   llm.Params{Temperature: llm.Float(0)},
		Decode:   func(r *llm.Reply, in string) (string, error) { return r.Tag("answer") },
		Rule:     func(in string) (string, error) { return "<answer>" + in + "!</answer>", nil },
	}
}

func TestCallSameDecoderForRuleAndModel(t *testing.T) {
	call := upper(t)
	offline, err := llm.New(llm.Options{Engine: rules.New()})
	if err != nil {
		t.Fatal(err)
	}
	res, err := call.Do(context.Background(), offline, "lamp", 0)
	if err != nil || res.Value != "lamp!" || res.Outcome != llm.OK {
		t.Fatalf("rule: %+v, %v", res, err)
	}
	model, script := llmtest.Client(llmtest.Say("test/upper", "lamp", "<answer>LAMP</answer>"))
	res, err = call.Do(context.Background(), model, "lamp", 0)
	if err != nil || res.Value != "LAMP" {
		t.Fatalf("model: %+v, %v", res, err)
	}
	if got := script.Asked()[0].Messages[1].Content; got != "<story>\nlamp\n</story>" {
		t.Errorf("user message %q", got)
	}
	call.Rule = nil
	res, err = call.Do(context.Background(), offline, "lamp", 0)
	if err != nil || res.Outcome != llm.NoRule || res.OK() {
		t.Fatalf("no rule: %+v, %v", res, err)
	}
}
