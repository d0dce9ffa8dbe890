// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/llm/llmtest"
)

// detect asks a server once a row; what was answered is never asked again, by
// whatever way it is asked; a plan asks nothing; the key is nowhere.
func TestDetectAsksAServer(t *testing.T) {
	dir := t.TempDir()
	if out, err := command(t, dir, "build", "-q").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	server := llmtest.NewServer(func(c llmtest.Chat) llm.Answer {
		return llm.Answer{FinishReason: "stop", Text: "<response><explanation>It holds.</explanation><error_lines></error_lines>" +
			"<contradicted_lines></contradicted_lines><decision>No continuity error found</decision></response>"}
	})
	defer server.Close()
	const key = "sk-canary-0123456789"
	retcon := func(want int, args ...string) string {
		t.Helper()
		c := command(t, dir, args...)
		c.Env = append(c.Env, "OPENAI_BASE_URL="+server.URL, "OPENAI_API_KEY="+key)
		var out bytes.Buffer
		c.Stdout, c.Stderr = &out, &out
		_ = c.Run()
		if got := c.ProcessState.ExitCode(); got != want {
			t.Fatalf("%v: exit code %d, want %d\n%s", args, got, want, &out)
		}
		if strings.Contains(out.String(), key) {
			t.Errorf("%v prints the key", args)
		}
		return out.String()
	}
	ask := []string{"detect", "--data", "out", "--model", "m1", "--prompt", "few-shot"}

	plan := retcon(exitOK, append(ask, "--plan")...)
	if !strings.Contains(plan, "detect/few-shot") || server.Count() != 0 {
		t.Errorf("plan asked %d times:\n%s", server.Count(), plan)
	}
	retcon(exitOK, append(ask, "--out", "p1.jsonl")...)
	asked := server.Count()
	retcon(exitOK, append(ask, "--out", "p2.jsonl")...)
	if server.Count() != asked || asked == 0 {
		t.Errorf("%d calls, then %d: the second run asked again", asked, server.Count())
	}
	retcon(exitOK, append(ask, "--engine", "replay", "--out", "p3.jsonl")...)
	p1, err := os.ReadFile(filepath.Join(dir, "p1.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{"p2.jsonl", "p3.jsonl"} {
		if b, err := os.ReadFile(filepath.Join(dir, other)); err != nil || !bytes.Equal(p1, b) {
			t.Errorf("%s differs from p1.jsonl: %v", other, err)
		}
	}
	if rows := bytes.Count(p1, []byte("\n")); rows != asked {
		t.Errorf("%d predictions of %d calls", rows, asked)
	}
	if out := retcon(exitOK, "score", "--data", "out", "--pred", "p1.jsonl"); !strings.Contains(out, "m1, few-shot") {
		t.Errorf("score prints:\n%s", out)
	}
	// By batch, with another model: nothing is asked, the round is written.
	retcon(exitPending, "detect", "--data", "out", "--model", "m2", "--engine", "batch", "--out", "p4.jsonl")
	if _, err := os.Stat(filepath.Join(dir, "p4.jsonl")); err == nil {
		t.Error("predictions appeared though answers are missing")
	}
	if b, err := os.ReadFile(filepath.Join(dir, "detect.work", "requests.jsonl")); err != nil || bytes.Count(b, []byte("\n")) != asked {
		t.Errorf("requests.jsonl: %v, %d lines", err, bytes.Count(b, []byte("\n")))
	}
	if out := retcon(exitOK, "llm", "cache", "ls", "--work", "detect.work"); !strings.Contains(out, "detect/few-shot") {
		t.Errorf("llm cache ls prints:\n%s", out)
	}
	// A server that is not there: its own exit code, no file.
	server.Close()
	recipe := "name: x\nversion: 1.0.0\ndate: 2026-01-01\ncanary: 11111111-2222-4333-8444-555555555555\ncorpora: [{name: tales}]\nmake: {models: [{name: m3, attempts: 1}]}\n"
	if err := os.WriteFile(filepath.Join(dir, "m3.yaml"), []byte(recipe), 0o644); err != nil {
		t.Fatal(err)
	}
	retcon(exitDisk, "detect", "--data", "out", "--model", "m3", "--recipe", "m3.yaml", "--out", "p5.jsonl")
	if _, err := os.Stat(filepath.Join(dir, "p5.jsonl")); err == nil {
		t.Error("predictions appeared though no server answered")
	}
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(key)) {
			t.Errorf("%s holds the key", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// The entailment baseline through a server: what it said is kept, also when
// the run is cut short, and the key is nowhere.
func TestEntailmentAsksAServer(t *testing.T) {
	dir := t.TempDir()
	if out, err := command(t, dir, "build", "-q").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const key = "nli-canary-0123456789"
	var asked, failAfter atomic.Int64
	failAfter.Store(40)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			fmt.Fprint(w, `{"model_id":"org/nli"}`)
			return
		}
		if r.Header.Get("Authorization") != "Bearer "+key || asked.Add(1) > failAfter.Load() {
			http.Error(w, "not for "+r.Header.Get("Authorization"), http.StatusForbidden)
			return
		}
		var body struct{ Inputs [][2]string }
		_ = json.NewDecoder(r.Body).Decode(&body)
		var out [][]map[string]any
		for _, in := range body.Inputs {
			c := float64(len(in[0])%7) / 10 // some pair of every story contradicts
			out = append(out, []map[string]any{{"label": "contradiction", "score": c}, {"label": "neutral", "score": 0.9 - c}, {"label": "entailment", "score": 0.1}})
		}
		_ = json.NewEncoder(w).Encode(out)
	}))
	defer server.Close()
	run := func(want int, out string) string {
		t.Helper()
		c := command(t, dir, "detect", "--data", "out", "--baseline", "entailment", "--pairs", server.URL+"/predict", "--pair-batch", "512", "--workers", "2", "--out", out)
		c.Env = append(c.Env, pairKey+"="+key)
		b, _ := c.CombinedOutput()
		if got := c.ProcessState.ExitCode(); got != want || strings.Contains(string(b), key) {
			t.Fatalf("exit code %d, want %d, and no key in\n%s", got, want, b)
		}
		return string(b)
	}
	run(exitUsage, "a.jsonl") // the server refuses in the middle
	if _, err := os.Stat(filepath.Join(dir, "a.jsonl")); err == nil {
		t.Error("predictions appeared though the server refused")
	}
	before := asked.Load()
	failAfter.Store(1 << 40)
	run(exitOK, "a.jsonl")
	whole := asked.Load() - before
	run(exitOK, "b.jsonl")
	if again := asked.Load() - before - whole; again != 0 {
		t.Errorf("%d pairs of batches were asked about again", again)
	}
	if a := readString(t, filepath.Join(dir, "a.jsonl")); a != readString(t, filepath.Join(dir, "b.jsonl")) || !strings.Contains(a, `"prompt":"org/nli"`) || strings.Contains(a, key) {
		t.Error("kept scores give other predictions, or the model is not named")
	}
	kept, _ := filepath.Glob(filepath.Join(dir, "detect.work", "pairs-*.jsonl"))
	if len(kept) != 1 {
		t.Fatalf("kept: %v", kept)
	}
	// A crash cut the last line: one pair is asked about again, nothing else.
	b := readString(t, kept[0])
	if err := os.WriteFile(kept[0], []byte(b[:len(b)-9]), 0o644); err != nil {
		t.Fatal(err)
	}
	before = asked.Load()
	run(exitOK, "c.jsonl")
	if n := asked.Load() - before; n != 1 || readString(t, kept[0]) != b {
		t.Errorf("%d requests for one pair", n)
	}
}

// Texts without gold go through the model with prompt and verifier; while
// answers are missing there is no table.
func TestStudyAsksAServer(t *testing.T) {
	dir := t.TempDir()
	server := llmtest.NewServer(func(c llmtest.Chat) llm.Answer {
		text := c.Messages[len(c.Messages)-1].Content
		say := "<response><explanation>x</explanation><error_lines></error_lines><contradicted_lines></contradicted_lines><decision>No continuity error found</decision></response>"
		switch {
		case strings.Contains(text, "<answer>"):
			say = "<response><answer>Yes</answer><confidence>90</confidence></response>"
		case strings.Contains(text, "dragon"):
			say = "<response><explanation>x</explanation><error_lines>The dragon woke.</error_lines><contradicted_lines>The dragon slept.</contradicted_lines><decision>There is a continuity error</decision></response>"
		}
		return llm.Answer{FinishReason: "stop", Text: say}
	})
	defer server.Close()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("originals.jsonl", `{"story_id":"s1","group_id":"g","text":"The dragon slept for a year, was woken, and chased the prince."}`+"\n"+`{"story_id":"s2","text":"A miller had three sons."}`+"\n")
	write("generated.jsonl", `{"generated_id":"a","task_type":"summary","model_name":"m","story_id":"s1","generated_story":"The dragon slept. It chased the prince."}`+"\n"+
		`{"generated_id":"b","task_type":"summary","model_name":"m","story_id":"s2","generated_story":"A miller with his sons and a dragon."}`+"\n")
	study := []string{"detect", "--stories", "generated.jsonl", "--originals", "originals.jsonl", "--model", "judge", "--verifier", "judge", "--json"}
	run := func(want int, args ...string) []byte {
		t.Helper()
		c := command(t, dir, args...)
		c.Env = append(c.Env, "OPENAI_BASE_URL="+server.URL)
		var out, errs bytes.Buffer
		c.Stdout, c.Stderr = &out, &errs
		_ = c.Run()
		if got := c.ProcessState.ExitCode(); got != want {
			t.Fatalf("exit code %d, want %d\n%s%s", got, want, &out, &errs)
		}
		return out.Bytes()
	}
	if out := run(exitPending, append(study, "--engine", "batch", "--out", "p.jsonl")...); bytes.Contains(out, []byte("rate")) {
		t.Errorf("a table without answers: %s", out)
	}
	var st rateStudy
	if err := json.Unmarshal(run(exitOK, append(study, "--out", "p.jsonl")...), &st); err != nil {
		t.Fatal(err)
	}
	if len(st.Rows) != 1 || st.Rows[0].Rates.Rate.Value != 1 || st.Rows[0].Rates.Base.Value != 0.5 || st.Rows[0].Rates.Ratio.Value != 2 || st.Detector != "judge, vanilla+verifier" {
		t.Errorf("%+v", st)
	}
	if p := readString(t, filepath.Join(dir, "p.jsonl")); strings.Count(p, "\n") != 4 || !strings.Contains(p, `"example_id":"a"`) {
		t.Errorf("predictions:\n%s", p)
	}
}
