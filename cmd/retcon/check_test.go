// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/llm/llmtest"
	"github.com/retcon-bench/retcon/internal/pipeline"
	"github.com/retcon-bench/retcon/schemas"
)

const checkStory = `Marta had kept the lighthouse of Kell for nineteen years. Her blue eyes never left the water.

"You can't row," her brother said.

When the storm came she rowed out alone, as she had done for ten years. Her brown eyes searched the foam.`

// checkJudge answers the reference protocol's questions: one contradiction
// under two kinds, one copied example, one quote that is nowhere; stories that
// say REFUSE or CUT have a category of that fate.
func checkJudge(c llmtest.Chat) llm.Answer {
	prompt := c.Prompt()
	story, _, _ := strings.Cut(prompt, "</story>")
	category := ""
	for _, cat := range schemas.Categories {
		if strings.Contains(prompt, "1. "+cat.Subtypes[0].Name+":") {
			category = cat.Name
		}
	}
	found := map[string][]map[string]any{}
	item := func(a string, b any) map[string]any {
		return map[string]any{"fact_quote": a, "contradiction_pair": b, "error_element": "eyes", "context": "Blue, then brown."}
	}
	switch {
	case category == "world_building" && strings.Contains(story, "REFUSE"):
		return llm.Answer{Text: "I'm sorry, but I can't help with that.", FinishReason: "stop"}
	case category == "narrative_style" && strings.Contains(story, "CUT"):
		return llm.Answer{Text: `{"perspective_confusions": [`, FinishReason: "length"}
	case !strings.Contains(story, "Her brown eyes"):
	case category == "factual_detail":
		found["appearance_mismatches"] = []map[string]any{item("Her brown eyes searched the foam.", "“Her blue eyes never left the water")}
		found["quantitative_mismatches"] = []map[string]any{item("Her blue eyes never left the water.", "her brown eyes"), item("Nine goats were all that the widow owned.", "You can't row")}
	case category == "characterization":
		found["memory_contradictions"] = []map[string]any{item("She had never seen any water in all her life.", "she rowed out alone")}
	}
	for _, cat := range schemas.Categories {
		if cat.Name == category {
			for _, s := range cat.Subtypes {
				if found[s.Name] == nil {
					found[s.Name] = []map[string]any{}
				}
			}
		}
	}
	b, _ := json.Marshal(found)
	return llm.Answer{Text: string(b), FinishReason: "stop"}
}

func TestCheckAsksAServer(t *testing.T) {
	dir := t.TempDir()
	server := llmtest.NewServer(checkJudge)
	defer server.Close()
	retcon := func(want int, args ...string) string {
		t.Helper()
		c := command(t, dir, append([]string{"-q", "check"}, args...)...)
		c.Env = append(c.Env, "OPENAI_BASE_URL="+server.URL, "OPENAI_API_KEY=k")
		var out, errs bytes.Buffer
		c.Stdout, c.Stderr = &out, &errs
		_ = c.Run()
		if got := c.ProcessState.ExitCode(); got != want {
			t.Fatalf("%v: exit code %d, want %d\n%s%s", args, got, want, &out, &errs)
		}
		return out.String()
	}
	write := func(name, data string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	lines := func(name string) int {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Count(b, []byte("\n"))
	}
	var table strings.Builder
	for i, story := range []any{checkStory, "A calm tale. REFUSE this and CUT that.", nil} {
		b, _ := json.Marshal(map[string]any{"id": i + 1, "model_name": "alpha", "generated_story": story, "task_type": "generation"})
		table.Write(append(b, '\n'))
	}
	write("stories.jsonl", table.String())
	ask := []string{"--model", "m", "--protocol", "reference", "stories.jsonl"}

	// A plan asks nothing and leaves nothing.
	if plan := retcon(exitOK, append(ask, "--plan")...); !strings.Contains(plan, "check/reference") || server.Count() != 0 {
		t.Errorf("plan asked %d times:\n%s", server.Count(), plan)
	}
	// By batch the questions are written down.
	retcon(exitPending, append(ask, "--engine", "batch", "--work", "b.work")...)
	if n := lines("b.work/requests.jsonl"); n != 10 || server.Count() != 0 {
		t.Errorf("%d requests, want 10; %d calls", n, server.Count())
	}
	// One question a category and story; a second run and a second reading ask
	// none, and make the same bytes.
	out := retcon(exitOK, ask...)
	if server.Count() != 10 {
		t.Errorf("%d calls, want 10", server.Count())
	}
	for _, want := range []string{"factual_detail +2 +0 +1 +0 +1", "characterization +2 +0 +0 +1 +0", "world_building +1 +1 ", "narrative_style +1 +1 ", "refused 1, truncated 1", "no_story 1"} {
		if !matches(out, want) {
			t.Errorf("the table has no %q:\n%s", want, out)
		}
	}
	before, err := tree(filepath.Join(dir, "check.work", checkDir))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"records.jsonl": 2, "findings.jsonl": 3, "status.jsonl": 10, "dropped.jsonl": 1} {
		if n := lines("check.work/" + checkDir + "/" + name); n != want {
			t.Errorf("%s has %d lines, want %d", name, n, want)
		}
	}
	for _, again := range [][]string{nil, {"--reparse"}, {"--engine", "replay"}, {"--workers", "1"}} {
		retcon(exitOK, append(ask, again...)...)
		after, err := tree(filepath.Join(dir, "check.work", checkDir))
		if diff := cmp.Diff(before, after); err != nil || diff != "" {
			t.Errorf("%v: other bytes (%v): %s", again, err, diff)
		}
	}
	if server.Count() != 10 {
		t.Errorf("%d calls after four runs, want 10", server.Count())
	}
	for rep, err := range pipeline.Records[schemas.CheckReport](filepath.Join(dir, "check.work", checkDir)) {
		if err != nil {
			t.Fatal(err)
		}
		if rep.StoryID != "alpha/1" && rep.StoryID != "alpha/2" {
			t.Errorf("story %q", rep.StoryID)
		}
		for _, s := range rep.Status {
			want := "ok"
			if rep.StoryID == "alpha/2" && s.Category == "world_building" {
				want = "refused"
			} else if rep.StoryID == "alpha/2" && s.Category == "narrative_style" {
				want = "truncated"
			}
			if s.Status != want || want != "ok" && s.Detail == "" {
				t.Errorf("%s, %s: %+v, want %s", rep.StoryID, s.Category, s, want)
			}
		}
	}
	// What failed is asked again on demand, and nothing else.
	retcon(exitOK, append(ask, "--ask-again")...)
	if server.Count() != 12 {
		t.Errorf("--ask-again asked %d times, want 2", server.Count()-10)
	}
	// Reading answers that were never given is refused, and changes nothing.
	retcon(exitInput, append(ask, "--reparse", "--work", "empty.work")...)
	retcon(exitInput, append(ask, "--reparse", "--temperature", "0.3")...)
	if _, err := os.Stat(filepath.Join(dir, "empty.work", checkDir)); err == nil {
		t.Error("results of answers that are not there were published")
	}
	// With answers missing, --partial publishes what is there, and the rest as
	// not judged.
	write("more.jsonl", table.String()+`{"id": 9, "model_name": "alpha", "generated_story": "Another tale."}`+"\n")
	retcon(exitPending, "--model", "m", "--protocol", "reference", "--engine", "batch", "more.jsonl")
	retcon(exitOK, "--model", "m", "--protocol", "reference", "--engine", "batch", "--partial", "more.jsonl")
	if b, _ := os.ReadFile(filepath.Join(dir, "check.work", checkDir, "status.jsonl")); bytes.Count(b, []byte(`"status":"api_error"`)) != 5 || bytes.Count(b, []byte("\n")) != 15 {
		t.Errorf("statuses of a partial run:\n%s", b)
	}
	// Several samples: each one's findings are kept beside the merged ones.
	out = retcon(exitOK, append(ask, "--samples", "2", "--work", "two.work", "--reports", "files", "--html", "pages")...)
	if n := lines("two.work/" + checkDir + "/samples.jsonl"); n != 6 || !strings.Contains(out, "samples agree") {
		t.Errorf("%d findings of samples, want 6:\n%s", n, out)
	}
	for glob, want := range map[string]int{"files/alpha-*.json": 2, "pages/alpha-1-*.html": 1, "pages/index.html": 1} {
		if found, _ := filepath.Glob(filepath.Join(dir, glob)); len(found) != want {
			t.Errorf("%s: %v", glob, found)
		}
	}

	// Single texts: the exit code tells.
	write("bad.txt", "\n\n"+checkStory+"\n")
	write("good.txt", "A calm tale.\n")
	write("refused.txt", "A calm tale. REFUSE it.\n")
	text := []string{"--model", "m", "--protocol", "reference", "--html", "page.html"}
	golden(t, "check.golden", retcon(exitFound, append(text, "bad.txt")...))
	page, err := os.ReadFile(filepath.Join(dir, "page.html"))
	if err != nil || !bytes.Contains(page, []byte(`<mark class="earlier" data-cards="t1-`)) || bytes.Contains(page, []byte("http")) && bytes.Contains(page, []byte("src=")) {
		t.Errorf("the page (%v) marks nothing, or loads something", err)
	}
	retcon(exitOK, append(text, "good.txt")...)
	if out := retcon(exitUnjudged, append(text, "refused.txt")...); !strings.Contains(out, "world_building could not be judged: refused") {
		t.Errorf("%s", out)
	}
}

// The staged protocol over the wire, from stand-ins of the plan: it goes through
// all stages and resumes.
func TestCheckStagedResumes(t *testing.T) {
	dir := t.TempDir()
	calls := map[string]int{}
	server := llmtest.NewServer(func(c llmtest.Chat) llm.Answer {
		prompt := c.Prompt()
		switch {
		case strings.Contains(prompt, "You are collecting passages"):
			calls["extract"]++
			if strings.Contains(prompt, "1. appearance") || strings.Contains(prompt, "appearance_mismatches:") {
				return llm.Answer{FinishReason: "stop", Text: `{"appearance_mismatches": [{"quote": "Her blue eyes never left the water.", "subject": "Marta", "claim": "blue eyes"}, {"quote": "Her brown eyes searched the foam.", "subject": "Marta", "claim": "brown eyes"}], "nomenclature_confusions": [], "quantitative_mismatches": []}`}
			}
			lists := map[string][]string{}
			for _, cat := range schemas.Categories {
				if strings.Contains(prompt, "1. "+cat.Subtypes[0].Name+":") {
					for _, s := range cat.Subtypes {
						lists[s.Name] = []string{}
					}
				}
			}
			b, _ := json.Marshal(lists)
			return llm.Answer{Text: string(b), FinishReason: "stop"}
		case strings.Contains(prompt, "Judge each of these pairs"):
			calls["pair"]++
			return llm.Answer{Text: `{"verdicts": [{"pair": 1, "verdict": "contradictory"}]}`, FinishReason: "stop"}
		default:
			calls["evidence"]++
			return llm.Answer{Text: `{"chains": [{"case": 1, "reasoning": "Eyes do not change.", "fact_quote": "Her blue eyes", "contradiction_pair": "Her brown eyes", "conclusion": "contradictory", "error_category": "appearance_mismatches", "error_element": "eyes", "context": "c"}]}`, FinishReason: "stop"}
		}
	})
	defer server.Close()
	if err := os.WriteFile(filepath.Join(dir, "s.txt"), []byte(checkStory), 0o644); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		c := command(t, dir, "-q", "check", "--model", "m", "s.txt")
		c.Env = append(c.Env, "OPENAI_BASE_URL="+server.URL)
		out, _ := c.Output()
		if c.ProcessState.ExitCode() != exitFound || !strings.Contains(string(out), "s.txt:5: later Her brown eyes") {
			t.Errorf("run %d: exit code %d\n%s", i+1, c.ProcessState.ExitCode(), out)
		}
	}
	if got := fmt.Sprint(calls); got != "map[evidence:1 extract:5 pair:1]" {
		t.Errorf("calls %s", got)
	}
}

// matches reports whether a pattern, in which " +" is a run of blanks, is in s.
func matches(s, pattern string) bool { return regexp.MustCompile(pattern).MatchString(s) }

// golden compares with a file of testdata, or rewrites it with -update.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got, -update rewrites it):\n%s", name, diff)
	}
}
