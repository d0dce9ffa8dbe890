// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/llm/llmtest"
)

// stand is a stand-in for a model: where the offline rules have an answer it
// gives that one, and where none can know it gives the answer a model would
// give that agrees. What it said is on the tape, by custom_id.
type stand struct {
	mu   sync.Mutex
	tape map[string]string
}

func (*stand) Name() string { return "stand" }

func (s *stand) Generate(_ context.Context, req llm.Request) (llm.Answer, error) {
	text, err := s.say(req)
	if err != nil {
		return llm.Answer{}, err
	}
	s.mu.Lock()
	s.tape[req.Key().CustomID()] = text
	s.mu.Unlock()
	return llm.Answer{Text: text, FinishReason: "stop"}, nil
}

var (
	factLine   = regexp.MustCompile(`(?m)^## (F\d+)`)
	markedLine = regexp.MustCompile(`(?s)<m>(.*?)</m>`)
)

func (s *stand) say(req llm.Request) (string, error) {
	if rule := req.Rule(); rule != nil {
		if text, err := rule(); !errors.Is(err, llm.ErrNoRule) {
			return text, err
		}
	}
	prompt := req.Messages[len(req.Messages)-1].Content
	var b strings.Builder
	switch {
	case strings.HasSuffix(req.Stage, "score"):
		for _, m := range factLine.FindAllStringSubmatch(prompt, -1) {
			b.WriteString("## " + m[1] + "\n### Statement: x\n### Counterfactual: y\n### Reasoning: It touches a few lines.\n### Importance Score: 2\n----\n")
		}
	case strings.HasSuffix(req.Stage, "judge"):
		story := prompt[strings.Index(prompt, "<story>")+len("<story>"):]
		first, _, _ := strings.Cut(strings.TrimSpace(story), ". ")
		b.WriteString("## Detailed Analysis\nIt does not fit.\n\n## Final Judgement\n\n### Lines that introduce the continuity error\n")
		for _, m := range markedLine.FindAllStringSubmatch(story, -1) {
			b.WriteString("- " + strings.TrimSpace(m[1]) + "\n")
		}
		b.WriteString("\n### Lines earlier in the story contradicted by the continuity error\n- " + first + ".\n\n### Explanation\nThe marked lines deny it.\n\n### Decision\n" +
			`Hence my answer is "There is a continuity error in the story concerning what was said first"` + "\n")
	default:
		b.WriteString("## Final Judgement\n\n### Decision\n" + `Hence my answer is "No continuity error found"` + "\n")
	}
	return b.String(), nil
}

const modelRecipeText = `
name: batch-test
version: 0.1.0
date: 2026-01-01
canary: 11111111-2222-4333-8444-555555555555
corpora: [{name: tales}]
make:
  engine: model
  models: [{name: stand}]
review: {allow_unverified: true}
`

// A chain that asks a model gives the same bytes whether the model is asked as
// it goes, or by batch files, round by round, the process killed in between.
func TestBatchRoundsGiveTheSameBytes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("kills by signal")
	}
	dir := t.TempDir()
	recipe := filepath.Join(dir, "recipe.yaml")
	if err := os.WriteFile(recipe, []byte(modelRecipeText), 0o644); err != nil {
		t.Fatal(err)
	}

	// Asked as it goes.
	model := &stand{tape: map[string]string{}}
	e := &env{ctx: t.Context(), stdout: io.Discard, stderr: io.Discard, log: slog.New(slog.DiscardHandler)}
	c, err := chainFlags{Recipe: recipe, Out: filepath.Join(dir, "direct"), Workers: 2}.open(e)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	client, err := llm.New(llm.Options{Engine: model, Models: []llm.Model{{Name: "stand"}}})
	if err != nil {
		t.Fatal(err)
	}
	c.asker = &asker{Client: client, engine: engineOpenAI}
	if _, _, err := c.all(); err != nil {
		t.Fatal(err)
	}
	want, err := tree(filepath.Join(dir, "direct"))
	if err != nil {
		t.Fatal(err)
	}
	if len(model.tape) < 50 {
		t.Fatalf("only %d calls were made; the test no longer covers the stages", len(model.tape))
	}

	// By batch files, in another process, killed now and then.
	args := []string{"build", "--recipe", recipe, "--engine", "batch", "--out", filepath.Join(dir, "batch")}
	work := filepath.Join(dir, "batch.work")
	rounds, kills := 0, 0
	for delay := 30 * time.Millisecond; ; delay += 70 * time.Millisecond {
		killed := false
		cmd := command(t, dir, args...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if kills < 8 {
			timer := time.AfterFunc(delay, func() { _ = cmd.Process.Kill() })
			defer timer.Stop()
		}
		err := cmd.Wait()
		var exit *exec.ExitError
		if err == nil {
			break
		}
		if !errors.As(err, &exit) {
			t.Fatal(err)
		}
		switch exit.ExitCode() {
		case -1:
			killed = true
			kills++
		case exitPending:
			rounds++
			if _, err := os.Stat(filepath.Join(work, makeDir)); err == nil {
				t.Fatal("a step with missing answers was published")
			}
			answers := filepath.Join(dir, "answers.jsonl")
			n, err := llmtest.AnswerBatchWith(filepath.Join(work, "requests.jsonl"), answers, func(c llmtest.Chat) llm.Answer {
				text, ok := model.tape[c.CustomID]
				if !ok {
					t.Errorf("round %d asks what was not asked before: %s", rounds, c.Raw)
				}
				return llm.Answer{Text: text, FinishReason: "stop"}
			}, llmtest.BatchFaults{Reverse: true, Repeat: true})
			if err != nil || n == 0 {
				t.Fatalf("round %d: %d requests, %v", rounds, n, err)
			}
			if out, err := command(t, dir, "llm", "import", "--work", work, answers).CombinedOutput(); err != nil {
				t.Fatalf("import: %v\n%s", err, out)
			}
		default:
			t.Fatalf("exit code %d\n%s", exit.ExitCode(), &stderr)
		}
		if !killed && rounds > 12 {
			t.Fatal("the rounds do not end")
		}
	}
	if rounds < 3 || kills < 3 {
		t.Errorf("%d rounds and %d kills; the test wants more of both", rounds, kills)
	}
	got, err := tree(filepath.Join(dir, "batch"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("other bytes by batch: %s", diff)
	}

	// Everything is in the store now: a replay makes no call and the same bytes.
	if out, err := command(t, dir, "build", "--recipe", recipe, "--engine", "replay", "--work", work, "--out", filepath.Join(dir, "replay")).CombinedOutput(); err != nil {
		t.Fatalf("replay: %v\n%s", err, out)
	}
	if got, _ := tree(filepath.Join(dir, "replay")); !cmp.Equal(want, got) {
		t.Errorf("other bytes by replay: %s", cmp.Diff(want, got))
	}
	// So does verify, from the manifest and the store alone.
	out, err := command(t, dir, "verify", "--rebuild", "--answers", filepath.Join(work, "answers.db"), filepath.Join(dir, "replay")).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "note: rebuilt: ") {
		t.Errorf("verify --rebuild: %v\n%s", err, out)
	}
	// And a replay without the answers stops; it never goes live.
	out, err = command(t, dir, "build", "--recipe", recipe, "--engine", "replay", "--work", filepath.Join(dir, "fresh"), "--out", filepath.Join(dir, "never")).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != exitInput {
		t.Errorf("replay without answers: %v\n%s", err, out)
	}
}
