// SPDX-License-Identifier: Apache-2.0

package llm_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/llm/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newClient(t *testing.T, opts llm.Options) *llm.Client {
	t.Helper()
	c, err := llm.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func ask(text string) llm.Request {
	return llm.Request{Stage: "s", Model: "script", Messages: []llm.Message{{Role: "user", Content: text}}}
}

func stop(text string) llm.Answer { return llm.Answer{Text: text, FinishReason: "stop"} }

// Whatever is in a request and can change its answer changes the key, and
// nothing else does.
func TestKey(t *testing.T) {
	base := llm.Request{
		Stage: "s", Model: "m", Revision: "r", Sample: 1,
		Params:   llm.Params{Temperature: llm.Float(0), MaxTokens: 5, Stop: []string{"a", "b"}, Schema: []byte(`{"a":1,"b":2}`)},
		Messages: []llm.Message{{Role: "system", Content: "x"}, {Role: "user", Content: "y"}},
	}
	change := map[string]func(r *llm.Request){
		"stage":       func(r *llm.Request) { r.Stage = "t" },
		"model":       func(r *llm.Request) { r.Model = "n" },
		"revision":    func(r *llm.Request) { r.Revision = "" },
		"no temp":     func(r *llm.Request) { r.Params.Temperature = nil },
		"temp":        func(r *llm.Request) { r.Params.Temperature = llm.Float(0.1) },
		"max tokens":  func(r *llm.Request) { r.Params.MaxTokens = 6 },
		"stop joined": func(r *llm.Request) { r.Params.Stop = []string{"ab"} },
		"seed":        func(r *llm.Request) { r.Params.Seed = llm.Int64(0) },
		"schema":      func(r *llm.Request) { r.Params.Schema = []byte(`{"a":1,"b":3}`) },
		"logprobs":    func(r *llm.Request) { r.Params.LogProbs = 1 },
		"sample":      func(r *llm.Request) { r.Sample = 0 },
		"one blank":   func(r *llm.Request) { r.Messages = []llm.Message{{Role: "system", Content: "x "}, r.Messages[1]} },
		"moved letter": func(r *llm.Request) {
			r.Messages = []llm.Message{{Role: "system", Content: ""}, {Role: "user", Content: "xy"}}
		},
		"role":        func(r *llm.Request) { r.Messages = []llm.Message{{Role: "user", Content: "x"}, r.Messages[1]} },
		"one message": func(r *llm.Request) { r.Messages = r.Messages[1:] },
	}
	seen := map[llm.Key]string{base.Key(): "base"}
	for name, f := range change {
		r := base
		f(&r)
		if old, ok := seen[r.Key()]; ok {
			t.Errorf("%s has the key of %s", name, old)
		}
		seen[r.Key()] = name
	}
	same := base
	same.TemplateHash = "other"
	same.Params.Schema = []byte(` {"b": 2, "a": 1}`)
	same = same.WithRule(func() (string, error) { return "", nil })
	if same.Key() != base.Key() {
		t.Error("provenance, rule or the spelling of a schema changed the key")
	}
	const want = "d728dc" // the key is a format: stored answers hang on it
	if got := base.Key().String(); got[:6] != want {
		t.Errorf("key %s, want %s…: keyVersion must change with the meaning", got, want)
	}
	if id := base.Key().CustomID(); id != base.Key().String()[:32] {
		t.Errorf("custom id %s", id)
	}
}

func TestAskedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		s := &llmtest.Script{Func: func(r llm.Request) (llm.Answer, error) {
			calls.Add(1)
			time.Sleep(time.Second)
			return stop("yes"), nil
		}}
		store := &llm.MemStore{}
		c := newClient(t, llm.Options{Engine: s, Store: store, Concurrency: 50})
		var wg sync.WaitGroup
		for i := range 200 {
			wg.Go(func() {
				ex, err := c.Ask(t.Context(), ask(fmt.Sprint(i%10)))
				if err != nil || ex.Reply == nil || ex.Reply.Text != "yes" {
					t.Errorf("%+v, %v", ex, err)
				}
			})
		}
		wg.Wait()
		if calls.Load() != 10 || store.Len() != 10 {
			t.Errorf("%d calls, %d stored; want 10", calls.Load(), store.Len())
		}
		again := newClient(t, llm.Options{Engine: &llmtest.Script{}, Models: []llm.Model{{Name: "script"}}, Store: store})
		if ex, err := again.Ask(t.Context(), ask("3")); err != nil || !ex.Cached {
			t.Errorf("second run: %+v, %v", ex, err)
		}
	})
}

// Refusals, truncations and errors are kept as what they are: asked once, never
// an answer, and asked again only on demand.
func TestFailuresAreStoredAsSuch(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer llm.Answer
		err    error
		want   llm.Outcome
		tries  int
	}{
		{"refusal", stop("I'm sorry, but I can't help with that."), nil, llm.Refusal, 1},
		{"cut", llm.Answer{Text: "<story>Once", FinishReason: "length"}, nil, llm.Truncated, 1},
		{"C40 empty, tried again at once", llm.Answer{Reasoning: "hm", FinishReason: "stop"}, nil, llm.Empty, 3},
		{"too long for the model", llm.Answer{}, &llm.CallError{Status: 400, Code: "context_length_exceeded"}, llm.APIError, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := &llm.MemStore{}
			script := &llmtest.Script{Lines: []llmtest.Line{{Answer: c.answer, Err: c.err}}}
			call := llm.Call[string, string]{
				Stage: "s", Template: template(t, "{{.}}"),
				Decode: func(r *llm.Reply, _ string) (string, error) { t.Error("decoded"); return r.Plain() },
			}
			for run := range 2 {
				res, err := call.Do(t.Context(), newClient(t, llm.Options{Engine: script, Store: store}), "x", 0)
				if err != nil || res.Outcome != c.want || res.OK() || res.Value != "" || res.Cached != (run == 1) {
					t.Fatalf("run %d: %+v, %v", run, res, err)
				}
			}
			if n := len(script.Asked()); n != c.tries {
				t.Errorf("%d requests, want %d", n, c.tries)
			}
			if _, err := call.Do(t.Context(), newClient(t, llm.Options{Engine: script, Store: store, AskAgain: true}), "x", 0); err != nil {
				t.Fatal(err)
			}
			if n := len(script.Asked()); n != 2*c.tries {
				t.Errorf("%d requests after AskAgain, want %d", n, 2*c.tries)
			}
		})
	}
}

// A stage that does not ask again by itself may have what it could not read
// asked once more, on demand; what it could read is not.
func TestAskUnread(t *testing.T) {
	for _, want := range []bool{false, true} {
		store := &llm.MemStore{}
		texts := []string{"No tag here.", "<answer>A</answer>"}
		script := &llmtest.Script{Func: func(llm.Request) (llm.Answer, error) {
			text := texts[0]
			texts = texts[1:]
			return stop(text), nil
		}}
		call := upper(t)
		call.AskUnread = want
		ask := func(again bool) llm.Result[string] {
			res, err := call.Do(t.Context(), newClient(t, llm.Options{Engine: script, Store: store, AskAgain: again}), "x", 0)
			if err != nil {
				t.Fatal(err)
			}
			return res
		}
		if res := ask(false); res.OK() {
			t.Fatalf("%+v", res)
		}
		if res := ask(false); res.OK() || !res.Cached {
			t.Errorf("asked again without being told: %+v", res)
		}
		for range 2 {
			if res := ask(true); res.OK() != want {
				t.Errorf("AskUnread %t: %+v", want, res)
			}
		}
		if n := len(script.Asked()); n != 1 && !want || n != 2 && want {
			t.Errorf("AskUnread %t: %d requests", want, n)
		}
	}
}

func TestRetryWithALargerBudget(t *testing.T) {
	store := &llm.MemStore{}
	script := &llmtest.Script{Func: func(r llm.Request) (llm.Answer, error) {
		if r.Params.MaxTokens < 500 {
			return llm.Answer{Text: "<answer>Once", FinishReason: "length", Usage: llm.Usage{CompletionTokens: 100}}, nil
		}
		return llm.Answer{Text: "<answer>Once.</answer>", FinishReason: "stop", Usage: llm.Usage{CompletionTokens: 120}}, nil
	}}
	call := upper(t)
	call.Params.MaxTokens = 100
	c := newClient(t, llm.Options{Engine: script, Store: store, Stages: map[string]llm.StageSetting{call.Stage: {RetryMaxTokens: 1000}}})
	res, err := call.Do(t.Context(), c, "x", 0)
	if err != nil || res.Value != "Once." || res.Usage.CompletionTokens != 220 || store.Len() != 2 {
		t.Fatalf("%+v, %v, %d stored", res, err, store.Len())
	}
}

// A minute of 429: everybody waits together, nothing is lost, and the server is
// not hammered.
func TestStormOf429(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var refused, answered atomic.Int32
		s := &llmtest.Script{Func: func(llm.Request) (llm.Answer, error) {
			time.Sleep(100 * time.Millisecond)
			if d := time.Since(began); d > 2*time.Second && d < 62*time.Second {
				refused.Add(1)
				return llm.Answer{}, &llm.CallError{Status: 429, Code: "rate_limit_exceeded", Temporary: true}
			}
			answered.Add(1)
			return stop("yes"), nil
		}}
		c := newClient(t, llm.Options{Engine: s, Concurrency: 32})
		var wg sync.WaitGroup
		for i := range 2000 {
			wg.Go(func() {
				ex, err := c.Ask(t.Context(), ask(fmt.Sprint(i)))
				if err != nil || ex.Reply == nil {
					t.Errorf("%d: %s %v", i, ex.Outcome, err)
				}
			})
		}
		wg.Wait()
		t.Logf("%d answered, %d refused, %s", answered.Load(), refused.Load(), time.Since(began))
		if answered.Load() != 2000 {
			t.Errorf("%d answered, want 2000", answered.Load())
		}
		if refused.Load() > 150 {
			t.Errorf("%d requests during the storm: workers do not share the wait", refused.Load())
		}
		if d := time.Since(began); d > 3*time.Minute {
			t.Errorf("took %s", d)
		}
	})
}

// The server's own wait comes first, and is capped.
func TestRetryAfter(t *testing.T) {
	for _, c := range []struct{ asked, least, most time.Duration }{
		{1500 * time.Millisecond, 1500 * time.Millisecond, 1700 * time.Millisecond},
		{10 * time.Hour, 60 * time.Second, 67 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := 0
			s := &llmtest.Script{Func: func(llm.Request) (llm.Answer, error) {
				if n++; n == 1 {
					return llm.Answer{}, &llm.CallError{Status: 429, Temporary: true, RetryAfter: c.asked}
				}
				return stop("yes"), nil
			}}
			began := time.Now()
			if _, err := newClient(t, llm.Options{Engine: s}).Ask(t.Context(), ask("x")); err != nil {
				t.Fatal(err)
			}
			if d := time.Since(began); d < c.least || d > c.most {
				t.Errorf("asked to wait %s, waited %s", c.asked, d)
			}
		})
	}
}

func TestPatienceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &llmtest.Script{Lines: []llmtest.Line{{Err: &llm.CallError{Status: 429, Temporary: true, Message: "slow down"}}}}
		_, err := newClient(t, llm.Options{Engine: s}).Ask(t.Context(), ask("x"))
		if llm.StopClassOf(err) != llm.StopNetwork || !strings.Contains(err.Error(), "lower concurrency") {
			t.Fatal(err)
		}
	})
}

// C43, C45 and their kind: what every later call would meet too costs one
// request, however many workers there are.
func TestStopsAtOnce(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want llm.StopClass
	}{
		{"C43 quota", llm.Stop(llm.StopQuota, &llm.CallError{Status: 429, Code: "insufficient_quota"}), llm.StopQuota},
		{"C45 parameter", &llm.CallError{Status: 400, Param: "max_tokens", Setting: "max_tokens_field"}, llm.StopSetting},
	} {
		t.Run(c.name, func(t *testing.T) {
			script := &llmtest.Script{Lines: []llmtest.Line{{Err: c.err}}}
			client := newClient(t, llm.Options{Engine: script, Concurrency: 40, Store: &llm.MemStore{}})
			var wg sync.WaitGroup
			for i := range 100 {
				wg.Go(func() {
					if _, err := client.Ask(t.Context(), ask(fmt.Sprint(i))); llm.StopClassOf(err) != c.want {
						t.Errorf("%v", err)
					}
				})
			}
			wg.Wait()
			if n := len(script.Asked()); n != 1 {
				t.Errorf("%d requests, want 1", n)
			}
		})
	}
}

func TestServerGone(t *testing.T) {
	gone := &llm.CallError{Temporary: true, Message: "connection refused"}
	t.Run("from the start", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := &llmtest.Script{Lines: []llmtest.Line{{Err: gone}}}
			_, err := newClient(t, llm.Options{Engine: s}).Ask(t.Context(), ask("x"))
			if llm.StopClassOf(err) != llm.StopNetwork || len(s.Asked()) != 6 {
				t.Errorf("%v after %d tries", err, len(s.Asked()))
			}
		})
	})
	t.Run("from the start, for many", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			s := &llmtest.Script{Lines: []llmtest.Line{{Err: gone}}}
			c := newClient(t, llm.Options{Engine: s, Log: slog.New(slog.NewTextHandler(&log, nil))})
			began := time.Now()
			var wg sync.WaitGroup
			for i := range 20 {
				wg.Go(func() {
					if _, err := c.Ask(t.Context(), ask(fmt.Sprint("x", i))); llm.StopClassOf(err) != llm.StopNetwork {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if d := time.Since(began); len(s.Asked()) != 6 || d > 20*time.Second {
				t.Errorf("gave up after %d tries in %s", len(s.Asked()), d)
			}
			if n := strings.Count(log.String(), "no answer yet"); n != 1 || !strings.Contains(log.String(), `error="connection refused" tries=6 waits=15.5s`) {
				t.Errorf("told %d times: %s", n, &log)
			}
		})
	})
	t.Run("one request only", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := &llmtest.Script{Lines: []llmtest.Line{{Contains: "bad", Err: gone}, {Answer: stop("yes")}}}
			store := &llm.MemStore{}
			c := newClient(t, llm.Options{Engine: s, Store: store})
			for _, text := range []string{"good", "bad", "good too"} {
				ex, err := c.Ask(t.Context(), ask(text))
				want := llm.OK
				if text == "bad" {
					want = llm.Pending // not an answer, not lost: the next run asks again
				}
				if err != nil || ex.Outcome != want {
					t.Errorf("%s: %s, %v", text, ex.Outcome, err)
				}
			}
			if store.Len() != 2 {
				t.Errorf("%d stored, want 2", store.Len())
			}
		})
	})
}

func TestHungServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := hung{}
		began := time.Now()
		_, err := newClient(t, llm.Options{Engine: s, Models: []llm.Model{{Name: "script", TimeoutSeconds: 20}}}).Ask(t.Context(), ask("x"))
		if llm.StopClassOf(err) != llm.StopNetwork || !strings.Contains(err.Error(), "20s") {
			t.Errorf("%v", err)
		}
		if d := time.Since(began); d > 45*time.Second {
			t.Errorf("gave up after %s", d)
		}
	})
}

type hung struct{}

func (hung) Name() string { return "script" }
func (hung) Generate(ctx context.Context, _ llm.Request) (llm.Answer, error) {
	<-ctx.Done()
	return llm.Answer{}, ctx.Err()
}

// Ctrl-C: what is in flight is finished and committed, nothing else begins.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &llm.MemStore{}
		s := slow{}
		c := newClient(t, llm.Options{Engine: s, Models: []llm.Model{{Name: "script"}}, Store: store, Concurrency: 4})
		if _, err := c.Ask(t.Context(), ask("first")); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		var done, gone atomic.Int32
		for i := range 20 {
			wg.Go(func() {
				switch _, err := c.Ask(ctx, ask(fmt.Sprint(i))); {
				case err == nil:
					done.Add(1)
				case errors.Is(err, context.Canceled):
					gone.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		time.Sleep(time.Second)
		cancel()
		wg.Wait()
		if done.Load() != 4 || gone.Load() != 16 || store.Len() != 5 {
			t.Errorf("%d done, %d gone, %d stored", done.Load(), gone.Load(), store.Len())
		}
	})
}

type slow struct{}

func (slow) Name() string { return "script" }
func (slow) Generate(ctx context.Context, _ llm.Request) (llm.Answer, error) {
	select {
	case <-time.After(5 * time.Second):
		return stop("yes"), nil
	case <-ctx.Done():
		return llm.Answer{}, ctx.Err()
	}
}

// A waiting caller is not taken down by the one that asked first.
func TestFollowerOutlivesLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, llm.Options{Engine: slow{}, Models: []llm.Model{{Name: "script"}}, Drain: -1})
		leader, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := c.Ask(leader, ask("x")); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
		synctest.Wait()
		wg.Go(func() {
			if ex, err := c.Ask(t.Context(), ask("x")); err != nil || ex.Reply == nil {
				t.Error(ex, err)
			}
		})
		time.Sleep(time.Second)
		cancel()
		wg.Wait()
	})
}

func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		s := &llmtest.Script{Func: func(llm.Request) (llm.Answer, error) {
			calls.Add(1)
			time.Sleep(time.Second)
			return llm.Answer{Text: "yes", FinishReason: "stop", Usage: llm.Usage{PromptTokens: 10, CompletionTokens: 500}}, nil
		}}
		store := &llm.MemStore{}
		m := llm.Model{Name: "script", InputPrice: 1, OutputPrice: 1000} // 0.50 USD a call, at most 1.00
		c := newClient(t, llm.Options{Engine: s, Models: []llm.Model{m}, Store: store, Concurrency: 16, BudgetUSD: 5})
		var wg sync.WaitGroup
		var stopped atomic.Int32
		for i := range 40 {
			wg.Go(func() {
				r := ask(fmt.Sprint(i))
				r.Params.MaxTokens = 1000
				if _, err := c.Ask(t.Context(), r); llm.StopClassOf(err) == llm.StopBudget {
					stopped.Add(1)
				} else if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		spent := c.Progress().Spent
		if spent > 5 || spent < 4 {
			t.Errorf("spent %.2f of 5", spent)
		}
		if store.Len() != int(calls.Load()) || stopped.Load() != 40-calls.Load() {
			t.Errorf("%d calls, %d stored, %d stopped", calls.Load(), store.Len(), stopped.Load())
		}
	})
	if _, err := llm.New(llm.Options{Engine: slow{}, BudgetUSD: 1}); err == nil || !strings.Contains(err.Error(), "input_price") {
		t.Errorf("budget without prices: %v", err)
	}
}

func TestParseBudget(t *testing.T) {
	for in, want := range map[string]float64{"5usd": 5, "$0.5": 0.5, "2.5 USD": 2.5, "3": 3} {
		if got, err := llm.ParseBudget(in); got != want || err != nil {
			t.Errorf("%s: %v, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "5eur", "-1", "0", "NaN", "inf"} {
		if got, err := llm.ParseBudget(in); err == nil {
			t.Errorf("%q: %v", in, got)
		}
	}
}

func TestRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &llmtest.Script{Lines: []llmtest.Line{{Answer: stop("yes")}}}
		c := newClient(t, llm.Options{Engine: s, Models: []llm.Model{{Name: "script", RequestsPerMin: 60}}, Concurrency: 10})
		began := time.Now()
		var wg sync.WaitGroup
		for i := range 121 {
			wg.Go(func() {
				if _, err := c.Ask(t.Context(), ask(fmt.Sprint(i))); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if d := time.Since(began); d < 119*time.Second || d > 125*time.Second {
			t.Errorf("121 requests at 60 a minute took %s", d)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		// A call above the burst is slowed down, not refused.
		s := &llmtest.Script{Lines: []llmtest.Line{{Answer: stop("yes")}}}
		c := newClient(t, llm.Options{Engine: s, Models: []llm.Model{{Name: "script", TokensPerMin: 60}}})
		for i := range 3 {
			if _, err := c.Ask(t.Context(), ask(fmt.Sprint(i))); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func unused(t *testing.T, c *llm.Client) []string {
	t.Helper()
	why, err := c.Unused(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return why
}

// C49: one blank more in a prompt is another prompt, and the report says why
// old answers were of no use.
func TestUnusedSaysWhy(t *testing.T) {
	store := &labeled{}
	call := upper(t)
	model, _ := llmtest.Client(llmtest.Say("", "", "<answer>A</answer>"))
	_ = model
	run := func(call llm.Call[string, string]) []string {
		script := &llmtest.Script{Lines: []llmtest.Line{llmtest.Say("", "", "<answer>A</answer>")}}
		c := newClient(t, llm.Options{Engine: script, Store: store})
		if _, err := call.Do(t.Context(), c, "x", 0); err != nil {
			t.Fatal(err)
		}
		return unused(t, c)
	}
	if why := run(call); len(why) != 0 {
		t.Errorf("first run: %q", why)
	}
	call.Template = template(t, "{{define \"system\"}}\nBe  brief.\n{{end}}{{define \"user\"}}\n{{delimit \"story\" .}}\n{{end}}")
	why := run(call)
	if len(why) != 1 || !strings.Contains(why[0], "the prompt template changed") || !strings.HasSuffix(why[0], ": 1") {
		t.Errorf("second run: %q", why)
	}
}

// A stage may have several templates and models: answers to one of them are of
// use though another one is asked last.
func TestUnusedOfSeveralTemplates(t *testing.T) {
	store := &labeled{}
	ask := func(texts ...string) (why []string) {
		script := &llmtest.Script{Lines: []llmtest.Line{llmtest.Say("", "", "<answer>A</answer>")}}
		c := newClient(t, llm.Options{Engine: script, Store: store, Models: []llm.Model{{Name: "a"}, {Name: "b"}}})
		for i, text := range texts {
			call := upper(t)
			call.Model = []string{"a", "b"}[i%2]
			call.Template = template(t, "{{define \"system\"}}\n"+text+"\n{{end}}{{define \"user\"}}\n{{delimit \"story\" .}}\n{{end}}")
			if _, err := call.Do(t.Context(), c, "x", 0); err != nil {
				t.Fatal(err)
			}
		}
		return unused(t, c)
	}
	ask("One.", "One.", "Two.", "Two.")
	if why := ask("One.", "One.", "Two.", "Two.", "Three."); len(why) != 0 {
		t.Errorf("all were used, and yet: %q", why)
	}
	// Of a two and three are left over, of b one and two.
	if why := ask("One.", "Four."); len(why) != 4 || !strings.Contains(why[0], "changed") {
		t.Errorf("templates that went: %q", why)
	}
}

type labeled struct {
	llm.MemStore
	labels []llm.Label
}

func (s *labeled) Put(ctx context.Context, r llm.Record) error {
	s.labels = append(s.labels, llm.Label{Stage: r.Stage, Model: r.Model, Revision: r.Revision, TemplateHash: r.TemplateHash, Params: r.Params, Class: r.Class, N: 1})
	return s.MemStore.Put(ctx, r)
}

func (s *labeled) Labels(context.Context) ([]llm.Label, error) { return s.labels, nil }

func TestReportCountsUsageOfTheDataNotOfTheRun(t *testing.T) {
	store := &llm.MemStore{}
	m := llm.Model{Name: "script", InputPrice: 1, OutputPrice: 2}
	var first llm.StageReport
	for run := range 2 {
		s := &llmtest.Script{Lines: []llmtest.Line{{Answer: llm.Answer{Text: "yes", FinishReason: "stop", Usage: llm.Usage{PromptTokens: 100, CompletionTokens: 50}}}}}
		c := newClient(t, llm.Options{Engine: s, Models: []llm.Model{m}, Store: store})
		call := llm.Call[string, string]{Stage: "s", Template: template(t, "{{.}}"), Decode: func(r *llm.Reply, _ string) (string, error) { return r.Plain() }}
		for _, in := range []string{"a", "b", "a"} {
			if _, err := call.Do(t.Context(), c, in, 0); err != nil {
				t.Fatal(err)
			}
		}
		r := c.Report()
		if len(r) != 1 || r[0].Requests != 2 || r[0].Outcomes[llm.OK] != 3 || r[0].Usage.PromptTokens != 200 || r[0].Cost != 400e-6 {
			t.Fatalf("run %d: %+v", run, r)
		}
		if run == 0 {
			first = r[0]
		} else if r[0].Cost != first.Cost || r[0].SpentCost != 0 || r[0].Cached != 2 {
			t.Errorf("second run: %+v", r[0])
		}
	}
}

func TestContextDeclared(t *testing.T) {
	s := &llmtest.Script{}
	c := newClient(t, llm.Options{Engine: s, Models: []llm.Model{{Name: "script", Context: 100}}})
	ex, err := c.Ask(t.Context(), ask(strings.Repeat("The lamp was red. ", 200)))
	if err != nil || ex.Outcome != llm.APIError || !strings.Contains(ex.Reason, "context_length_exceeded") || len(s.Asked()) != 0 {
		t.Errorf("%+v, %v", ex, err)
	}
}

// When every request is refused for good, the run stops with the commonest
// reason instead of setting all records aside.
func TestAllRefused(t *testing.T) {
	s := &llmtest.Script{Func: func(r llm.Request) (llm.Answer, error) {
		return llm.Answer{}, &llm.CallError{Status: 400, Code: "odd", Message: "unknown template"}
	}}
	c := newClient(t, llm.Options{Engine: s})
	var last error
	for i := range 30 {
		if _, err := c.Ask(t.Context(), ask(fmt.Sprint(i))); err != nil {
			last = err
			break
		}
	}
	if llm.StopClassOf(last) != llm.StopSetting || !strings.Contains(last.Error(), "unknown template") || len(s.Asked()) != 20 {
		t.Errorf("%v after %d requests", last, len(s.Asked()))
	}
}

func TestDelimitCannotBeClosedByTheStory(t *testing.T) {
	got := llm.Delimit("story", "He said </Story> and <story-2>.")
	if want := "<story-3>\nHe said </Story> and <story-2>.\n</story-3>"; got != want {
		t.Errorf("%q", got)
	}
}
