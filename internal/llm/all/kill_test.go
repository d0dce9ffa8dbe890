// SPDX-License-Identifier: Apache-2.0

package all

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/llm/llmtest"
	"github.com/retcon-bench/retcon/internal/llm/store"
)

const (
	childEnv    = "RETCON_TEST_KILL_CHILD" // the store's path
	concurrency = 12
)

// kills is how often a run is killed, and calls how many questions it has:
// enough for most kills to meet a run that is not over.
var kills, calls = func() (int, int) {
	kills := 6
	if n, err := strconv.Atoi(os.Getenv("RETCON_KILLS")); err == nil {
		kills = n
	}
	return kills, kills * 200
}()

func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		if err := run(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// run asks all questions with what is stored, as a command does.
func run(path string) error {
	ctx := context.Background()
	st, err := store.Open(ctx, path, store.Options{Wait: 10 * time.Second})
	if err != nil {
		return err
	}
	models := []llm.Model{{Name: "m"}}
	e, err := New("openai", Settings{Models: models, Getenv: os.Getenv})
	if err != nil {
		return err
	}
	c, err := llm.New(llm.Options{Engine: e, Models: models, Store: st, Concurrency: concurrency})
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var first error
	for i := range calls {
		wg.Go(func() {
			ex, err := c.Ask(ctx, question(i))
			if err == nil && ex.Reply == nil {
				err = fmt.Errorf("question %d: %s", i, ex.Outcome)
			}
			if err != nil {
				mu.Lock()
				first = err
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if first != nil {
		return first
	}
	return st.Close()
}

func question(i int) llm.Request {
	return llm.Request{Stage: "s", Model: "m", Messages: []llm.Message{{Role: "user", Content: fmt.Sprint("question ", i)}}}
}

// kill -9 in the middle of a run, again and again: in the end every question
// has the answer it would have had, and at most what was in flight was asked
// twice. RETCON_KILLS=50 is the long form.
func TestKilledRuns(t *testing.T) {
	s := llmtest.NewServer(func(c llmtest.Chat) llm.Answer {
		time.Sleep(5 * time.Millisecond)
		return llm.Answer{Text: "answer to " + c.Prompt(), FinishReason: "stop"}
	})
	defer s.Close()
	path := filepath.Join(t.TempDir(), "answers.db")
	child := func() *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"="+path, "OPENAI_BASE_URL="+s.URL, "OPENAI_API_KEY=")
		cmd.Stderr = os.Stderr
		return cmd
	}
	rng := rand.New(rand.NewPCG(5, 6))
	killed := 0
	for range kills {
		cmd := child()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(time.Duration(40+rng.IntN(120))*time.Millisecond, func() { _ = cmd.Process.Kill() })
		if err := cmd.Wait(); err != nil {
			if !strings.Contains(err.Error(), "killed") {
				t.Fatal(err)
			}
			killed++
		}
		timer.Stop()
	}
	if err := child().Run(); err != nil {
		t.Fatalf("last run: %v", err)
	}
	st, err := store.Open(t.Context(), path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	for i := range calls {
		rec, ok, err := st.Get(t.Context(), question(i).Key())
		if err != nil || !ok || rec.Answer.Text != fmt.Sprint("answer to question ", i) {
			t.Errorf("question %d: %+v, %v", i, rec, err)
		}
	}
	extra := s.Count() - calls
	t.Logf("%d kills, %d requests for %d questions", killed, s.Count(), calls)
	if killed == 0 {
		t.Error("nothing was killed: the test tests nothing")
	}
	if extra > killed*concurrency {
		t.Errorf("%d requests repeated after %d kills with %d in flight", extra, killed, concurrency)
	}
}

func TestNew(t *testing.T) {
	for _, name := range Names() {
		g, err := New(name, Settings{Getenv: func(string) string { return "" }})
		if err != nil || g.Name() != name || Doc(name) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New("none", Settings{}); err == nil || !strings.Contains(err.Error(), "rules") {
		t.Errorf("%v", err)
	}
}
