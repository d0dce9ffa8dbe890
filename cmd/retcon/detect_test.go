// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
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
