// SPDX-License-Identifier: Apache-2.0

package llm_test

import (
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/sharedtest"
)

// What we make of each of the 26 answers, where the oracle's own word is not
// one of our outcomes. The oracle suggests; where it suggests nothing:
//
//   - truncated_json, truncated_fenced: no findings at all. The list that was
//     whole may be right, but the others were never said, and "none found" is
//     what a missing list would be read as.
//   - smart_quote_unescaped: repaired, with its finding. The inner quotation
//     marks cannot be ends, because no key or bracket follows; evidence is
//     anchored in the story afterwards, so a wrong guess would be set aside.
//   - empty, refusal: the oracle has only parse_failed; we know better.
//   - two_fences: the last block, declared in the notes. The text between says
//     "Corrected"; a union would keep what the model took back.
var judgeStatus = map[string]llm.Outcome{
	"truncated_json":          llm.Truncated,
	"truncated_fenced":        llm.Truncated,
	"smart_quote_unescaped":   llm.Repaired,
	"array_of_strings":        llm.MalformedItems,
	"empty":                   llm.Empty,
	"refusal":                 llm.Refusal,
	"two_fences":              llm.Fenced,
	"empty_quote_object":      llm.OK, // the item is dropped and counted
	"placeholder_quote":       llm.OK, // the quote is looked for in the story, and not found there
	"duration_key_as_in_code": llm.OK,
}

var judgeFindings = map[string]int{"smart_quote_unescaped": 1, "two_fences": 1}

var judgeSpecs = map[string]llm.ListSpec{
	"characterization": {
		Keys:     []string{"memory_contradictions", "knowledge_contradictions", "skill_power_fluctuations", "forgotten_abilities"},
		By:       "error_category",
		Evidence: []string{"exact_quote", "fact_quote"},
	},
	"timeline_plot": {
		Keys: []string{"absolute_time_contradictions", "duration_contradictions", "simultaneity_contradictions",
			"causeless_effects", "causal_logic_violations", "abandoned_plot_elements"},
		Aliases:  map[string]string{"duration_timeline_contradictions": "duration_contradictions"},
		By:       "error_category",
		Evidence: []string{"exact_quote", "fact_quote"},
	},
}

func TestJudgeAnswersOfTheOracle(t *testing.T) {
	raw, err := os.ReadFile(sharedtest.Path(t, "oracles/constory/judge_parse_cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name, Category, Response string
		Status                   string `json:"suggested_status"`
		Findings                 *int   `json:"suggested_findings"`
	}
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) != 26 {
		t.Fatalf("%d cases, want 26", len(cases))
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			lists, outcome := judge(c.Response, judgeSpecs[c.Category])
			n, noProof := 0, 0
			for _, l := range lists {
				n += len(l.Items)
				noProof += l.NoProof
			}
			want, decided := judgeStatus[c.Name]
			switch {
			case decided && outcome != want:
				t.Errorf("outcome %s, want %s", outcome, want)
			case !decided && c.Status == "ok" && outcome != llm.OK && outcome != llm.Fenced,
				!decided && c.Status == "repaired" && outcome != llm.Repaired:
				t.Errorf("outcome %s, the oracle suggests %s", outcome, c.Status)
			}
			switch {
			case c.Findings != nil && n != *c.Findings:
				t.Errorf("%d findings, the oracle suggests %d", n, *c.Findings)
			case c.Findings == nil && n != judgeFindings[c.Name]:
				t.Errorf("%d findings, want %d", n, judgeFindings[c.Name])
			}
			if c.Status == "dropped_empty_evidence" && noProof != 1 {
				t.Errorf("%d items dropped for empty evidence, want 1", noProof)
			}
		})
	}
}

// judge reads an answer as a step would: outer form first, then the lists.
func judge(text string, spec llm.ListSpec) ([]llm.List, llm.Outcome) {
	r, outcome, _ := llm.Classify(llm.Model{}, llm.Request{}, llm.Answer{Text: text, FinishReason: "stop"})
	if r == nil {
		return nil, outcome
	}
	lists, err := r.Lists(spec)
	var de *llm.DecodeError
	if errors.As(err, &de) {
		return lists, de.Outcome
	}
	return lists, r.Outcome()
}
