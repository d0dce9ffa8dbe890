// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/retcon-bench/retcon/datasets"
	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/llm/llmtest"
	"github.com/retcon-bench/retcon/internal/pipeline"
	"github.com/retcon-bench/retcon/schemas"
)

// valid holds the lines of a file against a record's JSON Schema.
func valid(t *testing.T, record, path string) {
	t.Helper()
	raw, err := schemas.JSONSchema(record)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(record+".json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile(record + ".json")
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range bytes.Split(bytes.TrimSpace(b), []byte("\n")) {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
		if err == nil {
			err = schema.Validate(v)
		}
		if err != nil {
			t.Errorf("%s:%d is no %s: %v", path, i+1, record, err)
		}
	}
}

// served runs the command against a loopback server and returns what it wrote.
func served(t *testing.T, server *llmtest.Server, dir string) func(want int, args ...string) string {
	return func(want int, args ...string) string {
		t.Helper()
		c := command(t, dir, args...)
		c.Env = append(c.Env, "OPENAI_BASE_URL="+server.URL, "OPENAI_API_KEY=sk-canary-0123456789")
		var out bytes.Buffer
		c.Stdout, c.Stderr = &out, &out
		_ = c.Run()
		if got := c.ProcessState.ExitCode(); got != want {
			t.Fatalf("%v: exit code %d, want %d\n%s", args, got, want, &out)
		}
		if strings.Contains(out.String(), "sk-canary") {
			t.Errorf("%v prints the key", args)
		}
		return out.String()
	}
}

func generated(t *testing.T, path string) map[string]schemas.Generated {
	t.Helper()
	out := map[string]schemas.Generated{}
	for g, err := range pipeline.ReadLines[schemas.Generated](path) {
		if err != nil {
			t.Fatal(err)
		}
		out[g.GeneratedID] = g
	}
	return out
}

// Two models in one table against a server that refuses, cuts, says nothing,
// thinks without end and fails: each row says what came back, and what is no
// story is none. The same command asks nothing twice, and gives the same bytes.
func TestGenerateAsksAServer(t *testing.T) {
	dir := t.TempDir()
	prompts := "\ufeffid,language,task_type,prompt\r\n" +
		"1,en,generation,\"Write about a lamp.\nAbout 5 words.\"\r\n2,en,continuation,REFUSE this\r\n3,en,expansion,CUT this\r\n4,en,completion,EMPTY this\r\n5,en,generation,THINK without end\r\n6,en,generation,FAIL this\r\n"
	if err := os.WriteFile(filepath.Join(dir, "prompts.csv"), []byte(prompts), 0o644); err != nil {
		t.Fatal(err)
	}
	answer := func(c llmtest.Chat) llm.Answer {
		p := c.Prompt()
		switch {
		case strings.Contains(p, "REFUSE"):
			return llm.Answer{Text: "I'm sorry, but I can't help with that.", FinishReason: "stop"}
		case strings.Contains(p, "CUT"):
			return llm.Answer{Text: "Once upon a ti", FinishReason: "length"}
		case strings.Contains(p, "EMPTY"):
			return llm.Answer{FinishReason: "stop"}
		case strings.Contains(p, "THINK"):
			return llm.Answer{Text: "<think>A story about", FinishReason: "stop"}
		case strings.Contains(p, "FAIL"):
			return llm.Answer{FinishReason: "content_filter"}
		}
		return llm.Answer{Text: "The lamp fell.", FinishReason: "stop",
			LogProbs: []byte(`{"content":[{"token":"The lamp","logprob":-0.25,"top_logprobs":[{"token":"The lamp","logprob":-0.25},{"token":"A","logprob":-3}]},{"token":" fell.","logprob":-1,"top_logprobs":[]}]}`)}
	}
	server := llmtest.NewServer(answer)
	defer server.Close()
	retcon := served(t, server, dir)
	ask := []string{"generate", "--preset", "entropy", "--in", "prompts.csv", "--model", "m1", "--model", "m2"}

	if plan := retcon(exitOK, append(ask, "--plan")...); !strings.Contains(plan, "generate/story") || !strings.Contains(plan, "m2") || server.Count() != 0 {
		t.Errorf("the plan asked %d times:\n%s", server.Count(), plan)
	}
	if _, err := os.Stat(filepath.Join(dir, "generated")); err == nil {
		t.Error("a plan wrote a table")
	}
	// A storm first, then pages of HTML: waited out, not counted.
	server.Next(llmtest.Status(http.StatusTooManyRequests, `{"error":{"message":"slow down"}}`, "Retry-After", "0"), llmtest.HTML(), llmtest.Cut())
	retcon(exitOK, append(ask, "--out", "t1")...)
	asked := server.Count()
	rows := generated(t, filepath.Join(dir, "t1", "generated.jsonl"))
	if len(rows) != 12 {
		t.Fatalf("%d rows of 6 prompts and 2 models", len(rows))
	}
	for id, want := range map[string]string{"1@m1": "ok", "1@m2": "ok", "2@m1": "refusal", "3@m2": "truncated", "4@m1": "empty", "5@m1": "truncated_in_reasoning", "6@m2": "refusal"} {
		g := rows[id]
		if g.Outcome != want || (g.GeneratedStory != nil) != (want == "ok") || (g.GenerationError == nil) != (want == "ok") {
			t.Errorf("%s: %+v, want %s", id, g, want)
		}
	}
	valid(t, "generated", filepath.Join(dir, "t1", "generated.jsonl"))
	g := rows["1@m2"]
	if g.ID != 1 || g.Prompt != "Write about a lamp.\nAbout 5 words." || *g.GeneratedStory != "The lamp fell." || g.Words != 3 {
		t.Errorf("row %+v", g)
	}
	if toks, err := g.Tokens(); err != nil || len(toks) != 2 || toks[1].Start != 8 || len(toks[0].Top) != 2 {
		t.Errorf("tokens %v, %v", toks, err)
	}
	sent := server.Chats()[len(server.Chats())-1].Raw
	for _, want := range []string{`"temperature":0.7`, `"top_k":20`, `"top_p":0.95`, `"top_logprobs":20`} {
		if !strings.Contains(string(sent), want) {
			t.Errorf("the entropy run sent no %s: %s", want, sent)
		}
	}
	// The Parquet table begins with the published columns and has the same rows.
	n := 0
	for p, err := range datasets.ReadFile[schemas.Generated](filepath.Join(dir, "t1", "generated.parquet")) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		if w := rows[p.GeneratedID]; w.TextHash != p.TextHash || w.Outcome != p.Outcome || p.Engine != "model" {
			t.Errorf("Parquet row %+v, JSON row %+v", p, w)
		}
	}
	if n != 12 {
		t.Errorf("%d rows in Parquet", n)
	}
	retcon(exitOK, append(ask, "--out", "t2", "--work", "t1.work")...)
	retcon(exitOK, append(ask, "--out", "t3", "--work", "t1.work", "--engine", "replay", "--workers", "1")...)
	if server.Count() != asked {
		t.Errorf("%d calls, then %d: stored answers were asked for again", asked, server.Count())
	}
	one, err := tree(filepath.Join(dir, "t1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"t2", "t3"} {
		other, err := tree(filepath.Join(dir, d))
		if err != nil {
			t.Fatal(err)
		}
		for name, sum := range one {
			if other[name] != sum {
				t.Errorf("%s/%s has other bytes", d, name)
			}
		}
	}
	// Another model joins the table later: only it is asked.
	retcon(exitOK, append(ask, "--model", "m3", "--out", "t1")...)
	if got := len(generated(t, filepath.Join(dir, "t1", "generated.jsonl"))); got != 18 {
		t.Errorf("%d rows after a third model", got)
	}
	// By batch: the round is written, no table.
	retcon(exitPending, "generate", "--task", "story", "--in", "prompts.csv", "--model", "m9", "--engine", "batch", "--out", "t9")
	if b, err := os.ReadFile(filepath.Join(dir, "t9.work", "requests.jsonl")); err != nil || bytes.Count(b, []byte("\n")) != 6 {
		t.Errorf("requests.jsonl: %v, %d lines", err, bytes.Count(b, []byte("\n")))
	}
	if _, err := os.Stat(filepath.Join(dir, "t9")); err == nil {
		t.Error("a table appeared though answers are missing")
	}
}

// The summary study draws its tales by seed, and sets long texts aside.
func TestGenerateStudies(t *testing.T) {
	dir := t.TempDir()
	long := strings.Repeat("word ", 1200)
	server := llmtest.NewServer(func(c llmtest.Chat) llm.Answer {
		text := "It was short."
		if strings.Contains(c.Prompt(), "camel") {
			text = long
		}
		if strings.Contains(c.Prompt(), "modern_retelling") {
			return llm.Answer{Text: text + "\n</modern_retelling>", FinishReason: "stop"}
		}
		return llm.Answer{Text: "<summary>" + text + "</summary>", FinishReason: "stop"}
	})
	defer server.Close()
	retcon := served(t, server, dir)
	retcon(exitOK, "build", "-q")
	retcon(exitOK, "generate", "--preset", "summary-study", "--sample", "5", "--in", "out.work", "--model", "m", "--out", "s5")
	five := generated(t, filepath.Join(dir, "s5", "generated.jsonl"))
	out := retcon(exitOK, "generate", "--preset", "summary-study", "--in", "out.work", "--model", "m", "--out", "s", "--work", "s5.work")
	all := generated(t, filepath.Join(dir, "s", "generated.jsonl"))
	if len(five) != 5 || len(all) <= 5 || server.Count() != len(all) {
		t.Fatalf("%d of %d tales drawn, %d calls", len(five), len(all), server.Count())
	}
	if !strings.Contains(out, "fewer than asked for") {
		t.Errorf("a draw of 200 out of fewer is not told:\n%s", out)
	}
	over := 0
	for id, g := range all {
		switch {
		case g.Outcome == "over_limit" && g.GeneratedStory == nil:
			over++
		case g.Outcome != "ok" || g.TaskType != "summary" || g.StoryID == "" || g.Prompt != "" || g.Source.Corpus != "tales":
			t.Errorf("%s: %+v", id, g)
		}
	}
	if aside := generated(t, filepath.Join(dir, "s", "set_aside.jsonl")); over == 0 || len(aside) != over {
		t.Errorf("%d rows over the limit, %d stories set aside", over, len(aside))
	}
	retcon(exitOK, "generate", "--preset", "adaptation-study", "--data", "out", "--model", "m", "--out", "a")
	if rows := generated(t, filepath.Join(dir, "a", "generated.jsonl")); len(rows) == 0 {
		t.Error("no adaptations")
	} else {
		for id, g := range rows {
			if g.TaskType != "adaptation" || g.StoryID == "" {
				t.Errorf("%s: %+v", id, g)
			}
		}
	}
}

// A model injects, another judges: what is wrong with an answer is told, and
// the set is the same from stored answers.
func TestDiagnosticByModel(t *testing.T) {
	dir := t.TempDir()
	const story = "Mara had a red lamp. She lit it every night at the window. The sea was loud. In spring the red lamp fell from the sill. Tom swept the floor."
	var lines bytes.Buffer
	for _, id := range []string{"a", "b", "c"} {
		b, err := schemas.AppendLine(nil, schemas.Story{StoryID: "t:" + id, GroupID: "t:" + id, Kind: schemas.KindStory, Language: "en", Text: story + " It was " + id + ".",
			TextHash: schemas.HashText(story + " It was " + id + "."), Words: 34})
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(b)
	}
	if err := os.WriteFile(filepath.Join(dir, "stories.jsonl"), lines.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	server := llmtest.NewServer(func(c llmtest.Chat) llm.Answer {
		p := c.Prompt()
		switch {
		case c.Model == "j":
			return llm.Answer{Text: "<reason>x</reason><answer>Yes</answer>", FinishReason: "stop"}
		case strings.Contains(p, "Factual"):
			return llm.Answer{FinishReason: "stop", Text: "<fact>Mara had a red lamp.</fact><passage>In spring the red lamp fell from the sill.</passage>" +
				"<replacement>In spring the green lamp fell from the sill.</replacement><explanation>Red, then green.</explanation>"}
		case strings.Contains(p, "Narrative"):
			return llm.Answer{FinishReason: "stop", Text: "<fact>Mara had a red lamp.</fact><passage>A line that is nowhere in it.</passage><replacement>x</replacement><explanation>y</explanation>"}
		}
		return llm.Answer{Text: "<none>nothing fits</none>", FinishReason: "stop"}
	})
	defer server.Close()
	retcon := served(t, server, dir)
	ask := []string{"diagnostic", "--in", "stories.jsonl", "--min-words", "5", "--stories", "2", "--controls", "1", "--engine", "openai", "--model", "m", "--judge", "j"}
	out := retcon(exitOK, append(ask, "--out", "d1")...)
	if !strings.Contains(out, "stories with contradictions: 2 of 2; controls: 1 of 1") {
		t.Errorf("prints:\n%s", out)
	}
	asked := server.Count()
	retcon(exitOK, append(ask, "--out", "d2", "--work", "d1.work")...)
	if server.Count() != asked {
		t.Errorf("%d calls, then %d", asked, server.Count())
	}
	one, err := os.ReadFile(filepath.Join(dir, "d1", "truth.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if two, err := os.ReadFile(filepath.Join(dir, "d2", "truth.jsonl")); err != nil || !bytes.Equal(one, two) {
		t.Errorf("another truth from stored answers: %v", err)
	}
	valid(t, "diagnostic", filepath.Join(dir, "d1", "truth.jsonl"))
	valid(t, "generated", filepath.Join(dir, "d1", "stories.jsonl"))
	controls := 0
	for d, err := range pipeline.ReadLines[schemas.Diagnostic](filepath.Join(dir, "d1", "truth.jsonl")) {
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Check(); err != nil {
			t.Error(err)
		}
		if d.Control {
			controls++
			continue
		}
		if len(d.Injections) != 1 || d.Injections[0].Checked != "judge" || d.Injections[0].Contra.Text != "In spring the green lamp fell from the sill." {
			t.Errorf("%+v", d.Injections)
		}
	}
	if controls != 1 {
		t.Errorf("%d controls", controls)
	}
	reasons := map[string]int{}
	for d, err := range pipeline.ReadLines[schemas.Dropped](filepath.Join(dir, "d1", "dropped.jsonl")) {
		if err != nil {
			t.Fatal(err)
		}
		reasons[d.Reason]++
	}
	// Two stories, three categories, two subtypes of each.
	if reasons["no_place"] != 12 || reasons["passage_not_found"] != 2 {
		t.Errorf("set aside: %v", reasons)
	}
}
