// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/llm/llmtest"
	"github.com/retcon-bench/retcon/internal/llm/rules"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform"
)

const story = `Marta had kept the lighthouse of Kell for nineteen years. Her blue eyes never left the water, and she had never once crossed it.

"You can't row," her brother said. "You never learned." He was right. The boat lay where their father had left it.

In the autumn the herring failed. Marta wrote to the harbour office that she would keep the lamp until Easter. A sealed letter lay under the lamp oil; she meant to open it at the feast.

When the storm came she rowed out alone, as she had done every week for ten years. Her brown eyes searched the foam. The lamp went out behind her.

“Who lit it?” she asked. Nobody had lit it. At dawn she was home again, and the herring came back.`

func lists(category string, items map[string][]map[string]any) string {
	out := map[string]any{}
	for _, c := range schemas.Categories {
		if c.Name == category {
			for _, s := range c.Subtypes {
				l := items[s.Name]
				if l == nil {
					l = []map[string]any{}
				}
				out[s.Name] = l
			}
		}
	}
	b, _ := json.Marshal(out)
	return string(b)
}

func item(fact, contra any) map[string]any {
	return map[string]any{"fact_quote": fact, "location": "somewhere", "contradiction_pair": contra, "contradiction_location": "elsewhere",
		"error_element": "eyes", "error_category": "x", "context": "They differ."}
}

// categoryOf tells which category a request is about, by the guide in it.
func categoryOf(req llm.Request) string {
	text := req.Messages[len(req.Messages)-1].Content
	for _, c := range schemas.Categories {
		if strings.Contains(text, "1. "+c.Subtypes[0].Name+":") {
			return c.Name
		}
	}
	return ""
}

// judgeWith makes a client whose answers are by category; "" is for all others.
func judgeWith(t *testing.T, answer func(category string, req llm.Request) llm.Answer) (*llm.Client, *llmtest.Script) {
	t.Helper()
	script := &llmtest.Script{Func: func(req llm.Request) (llm.Answer, error) { return answer(categoryOf(req), req), nil }}
	client, err := llm.New(llm.Options{Engine: script})
	if err != nil {
		t.Fatal(err)
	}
	return client, script
}

func say(text string) llm.Answer { return llm.Answer{Text: text, FinishReason: "stop"} }

func run(t *testing.T, cfg Config, client *llm.Client, s string) Result {
	t.Helper()
	step, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	pass := transform.NewPass(1, step.Name, "t", client, nil)
	out, _, _, err := transform.Apply(context.Background(), step, pass, Text{ID: "t", TextHash: schemas.HashText(s), Story: s})
	if err != nil || len(out) != 1 {
		t.Fatalf("%d results, %v", len(out), err)
	}
	for _, f := range out[0].Report.Findings {
		for _, e := range []schemas.Evidence{f.Fact, f.Contra} {
			for _, sp := range e.Spans {
				if err := sp.Check(s); err != nil {
					t.Errorf("finding %s: %v", f.FindingID, err)
				}
			}
		}
		if len(f.Contra.Spans) > 0 && f.Contra.Spans[0].Start < f.Fact.Spans[0].Start {
			t.Errorf("finding %s: the later passage is called the fact", f.FindingID)
		}
	}
	return out[0]
}

func statuses(r schemas.CheckReport) map[string]string {
	out := map[string]string{}
	for _, s := range r.Status {
		out[fmt.Sprintf("%s/%d", s.Category, s.Sample)] = s.Status
	}
	return out
}

// short prints a finding in one line.
func short(f schemas.Finding) string {
	side := func(e schemas.Evidence) string {
		if len(e.Spans) == 0 {
			return "(" + e.Class + ")"
		}
		var parts []string
		for _, s := range e.Spans {
			parts = append(parts, s.Text)
		}
		flag := ""
		if e.Flagged {
			flag = "!"
		}
		return strings.Join(parts, " + ") + " (" + e.Class + flag + ")"
	}
	return fmt.Sprintf("%s %v %s: %s | %s %d/%d", f.Subtype, f.Also, f.Status, side(f.Fact), side(f.Contra), f.Support, f.Asked)
}

func TestReference(t *testing.T) {
	client, script := judgeWith(t, func(category string, _ llm.Request) llm.Answer {
		switch category {
		case "factual_detail": // the later one is called the fact; the quotes are a little off
			return say("```json\n" + lists(category, map[string][]map[string]any{
				"appearance_mismatches": {item("her brown eyes searched the foam", "Her *blue* eyes never left the water,")}}) + "\n```")
		case "characterization":
			return say(lists(category, map[string][]map[string]any{
				"skill_power_fluctuations": {item("\"You can't row,\" her brother said. \"You never learned.\"", "she rowed out alone, as she had done every week for ten years")},
				"memory_contradictions": {
					item("you can't row", "When the storm came she rowed out alone, as she had done every week for ten years."), // the same pair
					item("Ruben had been taught his letters by the old harbour pilot.", "He was right."),                        // our own example
					item("Marta hated the sea with all her heart and soul.", "He was right."),                                   // nowhere
				}}))
		case "timeline_plot":
			return say(lists(category, map[string][]map[string]any{
				"abandoned_plot_elements": {item("A sealed letter lay under the lamp oil; she meant to open it at the feast.", nil)},
				"causeless_effects":       {item("Nobody had lit it.", "N/A")}}))
		case "world_building":
			return say("I'm sorry, but I can't help with that.")
		}
		return llm.Answer{Text: `{"perspective_confusions": [`, FinishReason: "length"}
	})
	r := run(t, Config{Protocol: Reference}, client, story).Report
	if n := len(script.Asked()); n != 5 {
		t.Errorf("%d calls, want 5", n)
	}
	if diff := cmp.Diff(map[string]string{"timeline_plot/0": "ok", "characterization/0": "ok", "world_building/0": "refused", "factual_detail/0": "ok", "narrative_style/0": "truncated"}, statuses(r)); diff != "" {
		t.Error(diff)
	}
	var got []string
	for _, f := range r.Findings {
		got = append(got, short(f))
	}
	want := []string{
		`causeless_effects [] anchored: Nobody had lit it. (exact) | () 1/1`,
		`abandoned_plot_elements [] anchored: A sealed letter lay under the lamp oil; she meant to open it at the feast. (exact) | () 1/1`,
		`memory_contradictions [skill_power_fluctuations] anchored: You can't row (case) | When the storm came she rowed out alone, as she had done every week for ten years. (exact) 1/1`,
		`memory_contradictions [] copied: He was right. (exact) | (none) 1/1`,
		`memory_contradictions [] unanchored: He was right. (exact) | (none) 1/1`,
		`appearance_mismatches [] anchored: Her blue eyes never left the water, (punctuation) | Her brown eyes searched the foam (case) 1/1`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, s := range r.Status {
		if s.Category == "characterization" && (s.Findings != 3 || s.Quarantined != 2) {
			t.Errorf("characterization: %+v", s)
		}
		if s.Status == "refused" && s.Findings != 0 || len(s.AnswerKeys) != 1 {
			t.Errorf("%+v", s)
		}
	}
}

// What a judge can do wrong is a status, and never a clean story.
func TestStatuses(t *testing.T) {
	clean := func(c string) string { return lists(c, nil) }
	for _, c := range []struct {
		name   string
		answer func(category string) llm.Answer
		want   string
	}{
		{"clean", func(c string) llm.Answer { return say(clean(c)) }, "ok"},
		{"in a fence, with prose", func(c string) llm.Answer { return say("Sure:\n```json\n" + clean(c) + "\n```\nDone.") }, "ok"},
		{"trailing comma", func(c string) llm.Answer { return say(strings.Replace(clean(c), "[]}", "[],}", 1)) }, "repaired"},
		{"cut", func(c string) llm.Answer { return llm.Answer{Text: clean(c)[:40], FinishReason: "length"} }, "truncated"},
		{"cut though it says stop", func(c string) llm.Answer { return say(clean(c)[:40]) }, "truncated"},
		{"thinking never ends", func(string) llm.Answer { return llm.Answer{Reasoning: "Let me see", FinishReason: "length"} }, "truncated"},
		{"empty", func(string) llm.Answer { return say("") }, "parse_failed"},
		{"prose", func(string) llm.Answer { return say("The story holds together very well indeed, I would say.") }, "parse_failed"},
		{"other keys", func(string) llm.Answer { return say(`{"errors_of_some_kind": []}`) }, "parse_failed"},
		{"strings for items", func(c string) llm.Answer {
			return say(strings.Replace(clean(c), "[]", `["eyes are blue / eyes are brown"]`, 1))
		}, "parse_failed"},
		{"refusal field", func(string) llm.Answer { return llm.Answer{Refusal: "no", FinishReason: "stop"} }, "refused"},
		{"content filter", func(string) llm.Answer { return llm.Answer{FinishReason: "content_filter"} }, "refused"},
		{"server error", func(string) llm.Answer { return llm.Answer{FinishReason: "error", Text: "{}"} }, "api_error"},
	} {
		t.Run(c.name, func(t *testing.T) {
			client, _ := judgeWith(t, func(category string, _ llm.Request) llm.Answer { return c.answer(category) })
			r := run(t, Config{Protocol: Reference}, client, story).Report
			for _, s := range r.Status {
				if s.Status != c.want || s.Status != "ok" && s.Detail == "" {
					t.Errorf("%s: %+v, want %s", s.Category, s, c.want)
				}
			}
			if len(r.Status) != 5 || len(r.Findings) != 0 {
				t.Errorf("%d statuses, %d findings", len(r.Status), len(r.Findings))
			}
			if c.want == "ok" || c.want == "repaired" {
				return
			}
			// The first stage of the other protocol fails alike.
			for k, got := range statuses(run(t, Config{Protocol: Staged}, client, story).Report) {
				if got != c.want {
					t.Errorf("staged, %s: %s, want %s", k, got, c.want)
				}
			}
		})
	}
}

func TestRules(t *testing.T) {
	client, err := llm.New(llm.Options{Engine: rules.New()})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, story, want string }{
		{"eyes", "Elena's green eyes shone. They walked on. Then Elena's eyes were brown again, he thought.", "appearance_mismatches"},
		{"same colour by another name", "Elena's green eyes shone. They walked on. Elena had emerald eyes.", ""},
		{"eyes of two", "Elena's green eyes shone. Tom's eyes were brown.", ""},
		{"hair", "Elena's long black hair shone. They walked on. Elena had blonde hair.", "appearance_mismatches"},
		{"hair, dyed", "Elena's black hair shone. She dyed it. Elena had blonde hair.", ""},
		{"hair, grown old", "Elena's black hair shone. Many years went by. Elena's hair was white.", ""},
		{"age in commas", "Marcus, forty-two years old, slept. He woke. Marcus, aged 38, slept.", "quantitative_mismatches"},
		{"birth", "Anna Berg was born in May in 1931. Her house burned. Anna Berg was born in 1934.", "absolute_time_contradictions"},
		{"age falls", "Marcus was forty-two years old. He opened the door. Marcus was thirty-eight years old.", "quantitative_mismatches"},
		{"age rises, years pass", "Marcus was forty-two years old. Years later he came home. Marcus was fifty years old.", ""},
		{"age rises at once", "Marcus was forty-two years old. He opened the door. Marcus was fifty years old.", "quantitative_mismatches"},
		{"told of the past", "Marcus was forty-two years old. He remembered the farm. Marcus was nine years old.", ""},
		{"mother", "Lena's mother, Ruth, sang. It rained. Lena's mother was called Hilde.", "nomenclature_confusions"},
		{"stepmother", "Lena's mother, Ruth, died. Her father married again. Lena's mother was called Hilde.", ""},
		{"brothers", "Joan had three brothers. They fished. Joan had five brothers.", "quantitative_mismatches"},
		{"brothers and sisters", "Joan had three brothers. They fished. Joan had five sisters.", ""},
		{"a pronoun is nobody", "She had green eyes. They walked. She had brown eyes.", ""},
		{"Chinese age", "李明今年三十二岁。他推开门。李明今年二十八岁。", "quantitative_mismatches"},
		{"Chinese eyes", "王芳的眼睛是蓝色的。她笑了。王芳的眼睛是棕色的。", "appearance_mismatches"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := run(t, Config{Protocol: Reference}, client, c.story).Report
			got := ""
			for _, f := range r.Findings {
				got += f.Subtype
				if f.Status != Anchored || f.Judge != "rules" || f.Fact.Class != "exact" {
					t.Errorf("%+v", f)
				}
			}
			if got != c.want {
				t.Errorf("found %q, want %q", got, c.want)
			}
			if diff := cmp.Diff([]string{"characterization", "world_building", "narrative_style"}, r.NotJudged); diff != "" || len(r.Status) != 2 {
				t.Errorf("%d statuses, not judged: %s", len(r.Status), diff)
			}
			if r.Provenance[0].Engine != "rules" {
				t.Errorf("provenance %+v", r.Provenance)
			}
		})
	}
}
