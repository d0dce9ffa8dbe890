// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/llm/llmtest"
	"github.com/retcon-bench/retcon/internal/llm/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func serve(t testing.TB, answer func(llmtest.Chat) llm.Answer) *llmtest.Server {
	s := llmtest.NewServer(answer)
	t.Cleanup(s.Close)
	return s
}

func yes(llmtest.Chat) llm.Answer { return llm.Answer{Text: "Yes.", FinishReason: "stop"} }

func engine(t testing.TB, cfg Config) *Engine {
	t.Helper()
	e, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func ask(text string) llm.Request {
	return llm.Request{Stage: "s/a", Model: "m", Messages: []llm.Message{{Role: "user", Content: text}}}
}

func TestContract(t *testing.T) {
	llmtest.Run(t, llmtest.Provider{
		New: func(t *testing.T, reqs []llm.Request, answer func(llm.Request) llm.Answer) llm.Generator {
			s := serve(t, func(c llmtest.Chat) llm.Answer {
				for _, r := range reqs {
					if r.Messages[1].Content == c.Prompt() {
						return answer(r)
					}
				}
				return llm.Answer{Error: &llm.CallError{Status: 500, Message: "nobody prepared that"}}
			})
			return engine(t, Config{BaseURL: s.URL})
		},
		Unknown: func(err error) bool { return AsCallError(err).Status == 500 },
	})
}

// The body is a format: batch files hold it, and people read it.
func TestBody(t *testing.T) {
	all := llm.Params{
		Temperature: llm.Float(0), TopP: llm.Float(0.9), TopK: llm.Int(40), MaxTokens: 100, Seed: llm.Int64(7), Stop: []string{"END"},
		ReasoningEffort: "low", ThinkingBudget: 50, Schema: []byte(`{"type": "object", "additionalProperties": false}`), LogProbs: 3,
	}
	msgs := []llm.Message{{Role: "system", Content: "Be <brief>."}, {Role: "user", Content: "Zoë?"}, {Role: "assistant", Content: "<story>"}}
	for _, c := range []struct {
		name  string
		model llm.Model
		p     llm.Params
		want  string
	}{
		{"nothing set", llm.Model{Name: "m", Prefill: true}, llm.Params{},
			`{"messages":[{"content":"Be <brief>.","role":"system"},{"content":"Zoë?","role":"user"},{"content":"<story>","role":"assistant"}],"model":"m"}`},
		{"temperature 0 is sent", llm.Model{Name: "m", ID: "org/m:1", Prefill: true}, llm.Params{Temperature: llm.Float(0)},
			`{"messages":[{"content":"Be <brief>.","role":"system"},{"content":"Zoë?","role":"user"},{"content":"<story>","role":"assistant"}],"model":"org/m:1","temperature":0}`},
		{"able to do all", llm.Model{Name: "m", TopK: true, Effort: true, Schema: true, LogProbs: true, ThinkingField: "chat_template_kwargs.thinking_budget", MaxTokensField: "max_completion_tokens",
			Extra: map[string]any{"chat_template_kwargs": map[string]any{"enable_thinking": true}, "min_p": 0.1}}, all,
			`{"chat_template_kwargs":{"enable_thinking":true,"thinking_budget":50},"logprobs":true,"max_completion_tokens":100,"messages":[{"content":"Be <brief>.","role":"system"},{"content":"Zoë?\n\n<story>","role":"user"}],"min_p":0.1,"model":"m","reasoning_effort":"low","response_format":{"json_schema":{"name":"s_a","schema":{"additionalProperties":false,"type":"object"},"strict":true},"type":"json_schema"},"seed":7,"stop":["END"],"temperature":0,"top_k":40,"top_logprobs":3,"top_p":0.9}`},
		{"able to do little", llm.Model{Name: "o1", NoTemperature: true, NoSeed: true, NoStop: true, NoSystem: true}, all,
			`{"max_tokens":100,"messages":[{"content":"Be <brief>.\n\nZoë?\n\n<story>","role":"user"}],"model":"o1"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := llm.Request{Stage: "s/a", Model: "m", Params: c.p, Messages: msgs}
			got, err := Body(c.model, r)
			if err != nil || string(got) != c.want {
				t.Errorf("%v\n%s\n%s", err, got, c.want)
			}
			// The same bytes go over the wire.
			s := serve(t, yes)
			m := c.model
			m.Name, m.ID = "m", c.model.ServerID()
			if _, err := engine(t, Config{BaseURL: s.URL, Models: []llm.Model{m}}).Generate(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			if chat := s.Chats()[0]; string(chat.Raw) != c.want || chat.Path != "/v1/chat/completions" || chat.Header.Get("Authorization") != "" {
				t.Errorf("sent to %s: %s", chat.Path, chat.Raw)
			}
		})
	}
	for _, m := range []llm.Model{
		{Name: "m", Extra: map[string]any{"temperature": 1}},
		{Name: "m", Extra: map[string]any{"model": "another"}},
	} {
		if _, err := Body(m, llm.Request{Messages: msgs, Params: llm.Params{Temperature: llm.Float(0)}}); err == nil {
			t.Errorf("extra fields %v overruled the request", m.Extra)
		}
	}
}

func TestAzure(t *testing.T) {
	s := serve(t, yes)
	e := engine(t, Config{BaseURL: strings.TrimSuffix(s.URL, "/v1"), Key: "azure-key", AzureVersion: "2024-10-21", Models: []llm.Model{{Name: "m", ID: "my gpt-3.5"}}})
	if _, err := e.Generate(t.Context(), ask("x")); err != nil {
		t.Fatal(err)
	}
	chat := s.Chats()[0]
	if chat.Path != "/openai/deployments/my%20gpt-3.5/chat/completions?api-version=2024-10-21" || chat.Header.Get("api-key") != "azure-key" {
		t.Errorf("%s, %v", chat.Path, chat.Header)
	}
}

func TestFromEnv(t *testing.T) {
	env := map[string]string{"OPENAI_API_KEY": " sk-1\n", "OPENAI_BASE_URL": "http://h/v1", "OPENAI_ORG_ID": "o"}
	cfg := FromEnv(func(k string) string { return env[k] })
	if cfg.Key != "sk-1" || cfg.BaseURL != "http://h/v1" || cfg.Org != "o" {
		t.Errorf("%+v", cfg)
	}
	env["AZURE_OPENAI_ENDPOINT"] = "https://x.openai.azure.com"
	if cfg := FromEnv(func(k string) string { return env[k] }); cfg.BaseURL != "https://x.openai.azure.com" || cfg.AzureVersion == "" {
		t.Errorf("%+v", cfg)
	}
	for _, base := range []string{"localhost:8000", "ftp://h/v1", "http://user:secret-word@/v1", "http://secret-word:p^@h%%/"} {
		_, err := New(Config{BaseURL: base})
		if llm.StopClassOf(err) != llm.StopSetting || strings.Contains(err.Error(), "secret-word") {
			t.Errorf("%s: %v", base, err)
		}
	}
	if _, err := New(Config{Key: "sk-1\nsk-2"}); err == nil || strings.Contains(err.Error(), "sk-") {
		t.Errorf("two keys in one: %v", err)
	}
}

// What servers answer, and what we make of it.
func TestParseResponse(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       llm.Answer
	}{
		{"OpenAI", `{"id":"c-1","object":"chat.completion","created":1,"model":"m-1","choices":[{"index":0,"message":{"role":"assistant","content":"Yes.","refusal":null,"annotations":[]},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":1}},"system_fingerprint":"fp"}`,
			llm.Answer{Text: "Yes.", FinishReason: "stop", Usage: llm.Usage{PromptTokens: 9, CompletionTokens: 2, ReasoningTokens: 1, CachedTokens: 4}, Raw: []byte(`{"id":"c-1","model":"m-1","system_fingerprint":"fp"}`)}},
		{"vLLM with reasoning", `{"choices":[{"message":{"content":null,"reasoning_content":"Hm."},"finish_reason":"length","stop_reason":null}],"usage":{"prompt_tokens":9,"completion_tokens":2,"prompt_tokens_details":null}}`,
			llm.Answer{Reasoning: "Hm.", FinishReason: "length", Usage: llm.Usage{PromptTokens: 9, CompletionTokens: 2}}},
		{"OpenRouter", `{"choices":[{"message":{"content":"Yes.","reasoning":"Hm."},"finish_reason":"stop","native_finish_reason":"STOP"}],"provider":"p","usage":null}`,
			llm.Answer{Text: "Yes.", Reasoning: "Hm.", FinishReason: "stop", Raw: []byte(`{"provider":"p"}`)}},
		{"refusal", `{"choices":[{"message":{"content":null,"refusal":"No."},"finish_reason":"stop"}]}`, llm.Answer{Refusal: "No.", FinishReason: "stop"}},
		{"parts", `{"choices":[{"message":{"content":[{"type":"thinking","text":"Hm."},{"type":"text","text":"Ye"},{"type":"text","text":"s."}]},"finish_reason":"stop"}]}`, llm.Answer{Text: "Yes.", FinishReason: "stop"}},
		{"numbers in other spellings", `{"id":7,"created":1.7e9,"choices":[{"message":{"content":"Yes."},"finish_reason":null}],"usage":{"prompt_tokens":9.0,"completion_tokens":"2"}}`,
			llm.Answer{Text: "Yes.", Usage: llm.Usage{PromptTokens: 9, CompletionTokens: 2}}},
		{"log-probabilities as they are", `{"choices":[{"message":{"content":"Yes."},"finish_reason":"stop","logprobs":{"content":[{"token":"Yes","logprob":-0.10,"bytes":null}]}}]}`,
			llm.Answer{Text: "Yes.", FinishReason: "stop", LogProbs: []byte(`{"content":[{"token":"Yes","logprob":-0.10,"bytes":null}]}`)}},
		{"error beside choices is passed over when null", `{"error":null,"choices":[{"message":{"content":"Yes."},"finish_reason":"stop"}]}`, llm.Answer{Text: "Yes.", FinishReason: "stop"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ParseResponse([]byte(c.body))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		name      string
		fault     llmtest.Fault
		stop      llm.StopClass
		temporary bool
		setting   string // part of it; "" = none
		text      string // part of the error
		wait      time.Duration
	}{
		{"429", llmtest.APIError(429, "rate_limit_exceeded", "", "slow down"), "", true, "", "slow down", 0},
		{"429 with both waits", llmtest.APIError(429, "", "", "slow", "retry-after-ms: 1500", "Retry-After: 60"), "", true, "", "", 1500 * time.Millisecond},
		{"429 with seconds", llmtest.APIError(429, "", "", "slow", "Retry-After: 2"), "", true, "", "", 2 * time.Second},
		{"429 with a date", llmtest.APIError(429, "", "", "slow", "Retry-After: Wed, 21 Oct 2015 07:28:30 GMT", "Date: Wed, 21 Oct 2015 07:28:00 GMT"), "", true, "", "", 30 * time.Second},
		{"C43 quota", llmtest.APIError(429, "insufficient_quota", "", "You exceeded your current quota"), llm.StopQuota, false, "", "insufficient_quota", 0},
		{"payment", llmtest.Status(402, `{"error":{"message":"Insufficient Balance","type":"unknown_error"}}`), llm.StopQuota, false, "", "Insufficient Balance", 0},
		{"500", llmtest.Status(500, "oops"), "", true, "", "HTTP 500", 0},
		{"502 in HTML", llmtest.Status(502, "<html><h1>Bad Gateway</h1></html>"), "", true, "", "HTML", 0},
		{"529", llmtest.Status(529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), "", true, "", "Overloaded", 0},
		{"C45", llmtest.APIError(400, "unsupported_parameter", "max_tokens", "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."), "", false, "max_tokens_field: max_completion_tokens", "", 0},
		{"C45 the other way", llmtest.APIError(400, "", "", "unrecognized request argument supplied: max_completion_tokens"), "", false, "max_tokens_field: max_tokens", "", 0},
		{"temperature", llmtest.APIError(400, "unsupported_value", "temperature", "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported."), "", false, "no_temperature: true", "", 0},
		{"pydantic", llmtest.Status(422, `{"detail":[{"type":"extra_forbidden","loc":["body","top_k"],"msg":"Extra inputs are not permitted"}]}`), "", false, "top_k: false", "", 0},
		{"schema", llmtest.Status(400, `{"object":"error","message":"response_format type json_schema is not supported","type":"BadRequestError","param":null,"code":400}`), "", false, "json_schema: false", "", 0},
		{"system role", llmtest.APIError(400, "", "", "System role not supported"), "", false, "no_system: true", "", 0},
		{"key", llmtest.APIError(401, "invalid_api_key", "", "Incorrect API key provided"), "", false, "OPENAI_API_KEY", "", 0},
		{"model", llmtest.APIError(404, "model_not_found", "", "The model `x` does not exist"), "", false, "model's id", "", 0},
		{"redirect", llmtest.Status(302, "", "Location: http://127.0.0.1:1/v1"), "", false, "OPENAI_BASE_URL", "", 0},
		{"too long", llmtest.APIError(400, "context_length_exceeded", "messages", "This model's maximum context length is 8192 tokens, you requested max_tokens 9000"), "", false, "", "context_length_exceeded", 0},
		{"too long for vLLM", llmtest.Status(400, `{"object":"error","message":"This model's maximum context length is 2048 tokens. However, you requested 3000 tokens (max_tokens at most 5)","code":400}`), "", false, "", "context_length_exceeded", 0},
		{"filtered", llmtest.APIError(400, "content_filter", "prompt", "The response was filtered"), "", false, "", "content_filter", 0},
		{"something about this request", llmtest.APIError(400, "invalid_request", "messages", "a message is odd"), "", false, "", "a message is odd", 0},
		{"error in words", llmtest.Status(400, `{"error":"model requires more system memory"}`), "", false, "", "more system memory", 0},
		{"HTML with 200", llmtest.HTML(), "", true, "", "page of HTML", 0},
		{"no body", llmtest.Status(200, ""), "", true, "", "empty", 0},
		{"stream", llmtest.Status(200, "data: {\"choices\":[]}\n\ndata: [DONE]\n"), "", true, "", "stream", 0},
		{"no choices", llmtest.Status(200, `{"choices":[]}`), "", true, "", "no choices", 0},
		{"error in 200", llmtest.Status(200, `{"error":{"message":"upstream is busy","code":503}}`), "", true, "", "HTTP 503: upstream is busy", 0},
		{"quota in 200", llmtest.Status(200, `{"error":{"message":"no","code":"insufficient_quota"}}`), llm.StopQuota, false, "", "", 0},
		{"error in a choice", llmtest.Status(200, `{"choices":[{"error":{"message":"cut off","code":502},"message":{"content":"Onc"},"finish_reason":"error"}]}`), "", true, "", "cut off", 0},
		{"invalid UTF-8", llmtest.Status(200, "{\"choices\":[{\"message\":{\"content\":\"Esm\xe9\"},\"finish_reason\":\"stop\"}]}"), "", true, "", "UTF-8 at byte 38", 0},
		{"cut in the middle", llmtest.Cut(), "", true, "", "EOF", 0},
		{"closed", llmtest.Close(), "", true, "", "", 0},
		{"1 GB", llmtest.Huge(1 << 30), "", false, "", "larger than", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, yes)
			s.Next(c.fault)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := engine(t, Config{BaseURL: s.URL, MaxBody: 4 << 20}).Generate(t.Context(), ask("x"))
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20 {
				t.Errorf("%d MB allocated", n>>20)
			}
			if err == nil {
				t.Fatal("no error")
			}
			ce := AsCallError(err)
			if llm.StopClassOf(err) != c.stop || ce.Temporary != c.temporary || !strings.Contains(err.Error(), c.text) || ce.RetryAfter != c.wait {
				t.Errorf("stop %q, temporary %v, wait %s: %v", llm.StopClassOf(err), ce.Temporary, ce.RetryAfter, err)
			}
			if !strings.Contains(ce.Setting, c.setting) || (c.setting == "") != (ce.Setting == "") {
				t.Errorf("setting %q, want %q", ce.Setting, c.setting)
			}
			// Whatever went wrong, the next request is answered.
			if a, err := engine(t, Config{BaseURL: s.URL}).Generate(t.Context(), ask("x")); err != nil || a.Text != "Yes." {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

// A hung server and one that sends a byte now and then end at the deadline.
func TestDeadlines(t *testing.T) {
	for name, fault := range map[string]llmtest.Fault{"hung": llmtest.Hang(), "drip": llmtest.Drip(10 * time.Millisecond)} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, yes)
			s.Next(fault)
			c, err := llm.New(llm.Options{Engine: engine(t, Config{BaseURL: s.URL}), Models: []llm.Model{{Name: "m", TimeoutSeconds: 1}}})
			if err != nil {
				t.Fatal(err)
			}
			ex, err := c.Ask(t.Context(), ask("x"))
			if err != nil || ex.Reply == nil || ex.Reply.Text != "Yes." || s.Count() != 2 {
				t.Errorf("%+v, %v after %d requests", ex, err, s.Count())
			}
		})
	}
}

// The key is a canary: it may be in the request's header and nowhere else.
func TestKeyIsNowhere(t *testing.T) {
	const key = "sk-canary-0123456789abcdef"
	dir := t.TempDir()
	var logs bytes.Buffer
	var mu sync.Mutex
	log := slog.New(slog.NewTextHandler(writerFunc(func(p []byte) (int, error) { mu.Lock(); defer mu.Unlock(); return logs.Write(p) }), &slog.HandlerOptions{Level: slog.LevelDebug}))
	st, err := store.Open(t.Context(), filepath.Join(dir, "answers.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, yes)
	cfg := Config{BaseURL: s.URL, Key: key}
	e := engine(t, cfg)
	var seen []string
	log.Debug("configuration", "config", cfg, "key", cfg.Key)
	seen = append(seen, fmt.Sprintf("%v %+v %#v", cfg, cfg, cfg.Key))
	b, err := json.Marshal(cfg.Key)
	if err != nil {
		t.Fatal(err)
	}
	seen = append(seen, string(b))
	for i, f := range []llmtest.Fault{
		llmtest.EchoKey(200), llmtest.EchoKey(401), llmtest.EchoKey(400), llmtest.EchoKey(500), llmtest.EchoKey(429), llmtest.Close(),
		llmtest.Status(200, "<html>"+key+"</html>"), llmtest.Status(302, "", "Location: http://h/?k="+key), llmtest.Status(400, `{"detail":[{"msg":"`+key+`"}]}`),
	} {
		s.Next(f)
		c, err := llm.New(llm.Options{Engine: e, Models: []llm.Model{{Name: "m", Attempts: 1}}, Store: st, Log: log})
		if err != nil {
			t.Fatal(err)
		}
		ex, err := c.Ask(t.Context(), ask(fmt.Sprint(i)))
		seen = append(seen, fmt.Sprintf("%+v %v", ex, err))
	}
	if got := s.Chats()[0].Header.Get("Authorization"); got != "Bearer "+key {
		t.Fatalf("the server got %q: the test tests nothing", got)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	for _, text := range append(seen, logs.String()) {
		if strings.Contains(text, key) {
			t.Errorf("the key is in %.300q", text)
		}
	}
	files := 0
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(key)) {
			t.Errorf("the key is in %s", path)
		}
		return err
	})
	if err != nil || files == 0 {
		t.Error(files, err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// A key that is a word, as local servers want one, does not change stories.
func TestKeyThatIsAWord(t *testing.T) {
	s := serve(t, func(llmtest.Chat) llm.Answer {
		return llm.Answer{Text: "The lamp was EMPTY.", FinishReason: "stop"}
	})
	a, err := engine(t, Config{BaseURL: s.URL, Key: "EMPTY"}).Generate(t.Context(), ask("x"))
	if err != nil || a.Text != "The lamp was EMPTY." {
		t.Errorf("%q, %v", a.Text, err)
	}
}

// A storm of 429 over the wire: all answered, nothing asked twice after it.
func TestStormOverTheWire(t *testing.T) {
	s := serve(t, func(c llmtest.Chat) llm.Answer { return llm.Answer{Text: c.Prompt(), FinishReason: "stop"} })
	storm := llmtest.APIError(429, "rate_limit_exceeded", "", "slow", "retry-after-ms: 20")
	s.Next(nil, nil)
	for range 40 {
		s.Next(storm)
	}
	c, err := llm.New(llm.Options{Engine: engine(t, Config{BaseURL: s.URL}), Models: []llm.Model{{Name: "m"}}, Concurrency: 16, Store: &llm.MemStore{}})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	const n = 300
	for i := range n {
		wg.Go(func() {
			ex, err := c.Ask(context.Background(), ask(fmt.Sprint("q", i)))
			if err != nil || ex.Reply == nil || ex.Reply.Text != fmt.Sprint("q", i) {
				t.Errorf("%d: %+v, %v", i, ex, err)
			}
		})
	}
	wg.Wait()
	if s.Count() != n+40 {
		t.Errorf("%d requests for %d answers and 40 refusals", s.Count(), n)
	}
}

func TestUnreachable(t *testing.T) {
	e := engine(t, Config{BaseURL: "http://127.0.0.1:1/v1?token=hush"})
	_, err := e.Generate(t.Context(), ask("x"))
	if ce := AsCallError(err); !ce.Temporary || strings.Contains(err.Error(), "hush") || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Generate(ctx, ask("x")); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}`), 200)
	f.Add([]byte(`{"error":{"message":"x","code":"y","param":null}}`), 400)
	f.Add([]byte(`{"detail":[{"loc":["body"]}]}`), 422)
	f.Add([]byte(`{"choices":[{"message":{"content":"a\ud83d\ude00\ud83d\n\\\"b"},"logprobs":{"a":[1,{"b":"]"}]}}]}`), 0)
	f.Fuzz(func(t *testing.T, body []byte, status int) {
		a, err := ParseResponse(body)
		if err == nil && a.Error != nil {
			t.Error("an answer that is an error")
		}
		// What encoding/json takes we take, to the same text.
		var want struct {
			Choices []struct {
				Message      struct{ Content string }
				FinishReason string `json:"finish_reason"`
				Error        any
			}
		}
		if json.Unmarshal(body, &want) == nil && utf8.Valid(body) && len(want.Choices) > 0 && plainKeys(body) {
			if c := want.Choices[0]; c.Error == nil && (err != nil || a.Text != c.Message.Content || a.FinishReason != c.FinishReason) {
				t.Errorf("%q: %+v, %v", body, a, err)
			}
		}
		err = ParseError(status, http.Header{"Retry-After": {string(body)}}, body)
		if err == nil || AsCallError(err).RetryAfter < 0 {
			t.Error(err)
		}
	})
}

// plainKeys reports whether our keys stand once and in lower case: we take
// neither another case nor the last of two for the same.
func plainKeys(b []byte) bool {
	low := bytes.ToLower(b)
	for _, k := range []string{"choices", "message", "content", "finish_reason", "error"} {
		if bytes.Count(low, []byte(k)) > 1 || bytes.Count(b, []byte(k)) != bytes.Count(low, []byte(k)) {
			return false
		}
	}
	return !bytes.Contains(b, []byte("\\u")) && !bytes.ContainsAny(b, "ſK") && !bytes.Contains(b, []byte("null"))
}

func FuzzQuote(f *testing.F) {
	f.Add("a\"b\\\n\t\x01\u2028<&>é👒\xff\x7f")
	f.Fuzz(func(t *testing.T, s string) {
		got := appendQuoted(nil, s)
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(s); err != nil {
			t.Fatal(err)
		}
		if want := strings.TrimSuffix(b.String(), "\n"); string(got) != want {
			t.Errorf("%s, want %s", got, want)
		}
		back, err := (&cursor{b: got}).str()
		if utf8.ValidString(s) && (err != nil || back != s) {
			t.Errorf("%q came back as %q, %v", s, back, err)
		}
	})
}
