// SPDX-License-Identifier: Apache-2.0

package llmtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/retcon-bench/retcon/internal/llm"
)

// Chat is a request as it came over the wire.
type Chat struct {
	CustomID string        `json:"-"` // of a line of a batch file
	Model    string        `json:"model"`
	Messages []llm.Message `json:"messages"`
	Raw      []byte        `json:"-"` // the whole body
	Header   http.Header   `json:"-"`
	Path     string        `json:"-"`
}

// Prompt returns the last message.
func (c Chat) Prompt() string {
	if len(c.Messages) == 0 {
		return ""
	}
	return c.Messages[len(c.Messages)-1].Content
}

// Fault is something a server does in place of answering.
type Fault func(w http.ResponseWriter, r *http.Request)

// Server is an OpenAI-compatible server on the loopback. Faults are used up in
// order, one a request; then Answer answers. It counts what it was asked.
type Server struct {
	// URL is the base URL for clients, ending in /v1.
	URL string

	http *httptest.Server
	quit chan struct{}
	once sync.Once

	mu     sync.Mutex
	answer func(Chat) llm.Answer
	faults []Fault
	always Fault
	chats  []Chat
	n      int
	keep   bool
}

// NewServer starts a server that answers by the function. Close it.
func NewServer(answer func(Chat) llm.Answer) *Server {
	s := &Server{answer: answer, quit: make(chan struct{}), keep: true}
	s.http = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.http.Start()
	s.URL = s.http.URL + "/v1"
	return s
}

// Close stops the server and whatever hangs in it.
func (s *Server) Close() {
	s.once.Do(func() {
		close(s.quit)
		s.http.CloseClientConnections()
		s.http.Close()
	})
}

// Keep says whether chats are kept for [Server.Chats]; off for measurements.
func (s *Server) Keep(keep bool) { s.mu.Lock(); s.keep = keep; s.mu.Unlock() }

// Next makes the next requests meet these faults; nil stands for an answer.
func (s *Server) Next(faults ...Fault) {
	s.mu.Lock()
	s.faults = append(s.faults, faults...)
	s.mu.Unlock()
}

// Always makes every request meet the fault, until it is nil again.
func (s *Server) Always(f Fault) { s.mu.Lock(); s.always = f; s.mu.Unlock() }

// Count returns the number of requests so far.
func (s *Server) Count() int { s.mu.Lock(); defer s.mu.Unlock(); return s.n }

// Chats returns the requests so far.
func (s *Server) Chats() []Chat {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Chat(nil), s.chats...)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client went away
	}
	s.mu.Lock()
	s.n++
	fault := s.always
	if fault == nil && len(s.faults) > 0 {
		fault, s.faults = s.faults[0], s.faults[1:]
	}
	keep, answer := s.keep, s.answer
	s.mu.Unlock()
	var chat Chat
	if keep || fault == nil {
		if err := json.Unmarshal(body, &chat); err != nil {
			http.Error(w, `{"error":{"message":"the request is no JSON"}}`, http.StatusBadRequest)
			return
		}
		chat.Raw, chat.Header, chat.Path = body, r.Header.Clone(), r.URL.RequestURI()
	}
	if keep {
		s.mu.Lock()
		s.chats = append(s.chats, chat)
		s.mu.Unlock()
	}
	if fault != nil {
		fault(w, r.WithContext(quitContext{r.Context(), s.quit}))
		return
	}
	a := answer(chat)
	if a.Error != nil {
		status := a.Error.Status
		if status == 0 {
			status = http.StatusInternalServerError
		}
		writeJSON(w, status, map[string]any{"error": a.Error})
		return
	}
	writeJSON(w, http.StatusOK, Completion(chat.Model, a))
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Request-Id", "req-test")
	w.WriteHeader(status)
	_, _ = w.Write(b) // the client may be gone
}

// Completion returns the response body that carries an answer.
func Completion(model string, a llm.Answer) map[string]any {
	msg := map[string]any{"role": "assistant", "content": a.Text}
	if a.Reasoning != "" {
		msg["reasoning_content"] = a.Reasoning
	}
	if a.Refusal != "" {
		msg["refusal"], msg["content"] = a.Refusal, nil
	}
	choice := map[string]any{"index": 0, "message": msg, "finish_reason": a.FinishReason}
	if a.LogProbs != nil {
		choice["logprobs"] = a.LogProbs
	}
	return map[string]any{
		"id": "chatcmpl-test", "object": "chat.completion", "created": 1, "model": model, "choices": []any{choice},
		"usage": map[string]any{
			"prompt_tokens": a.Usage.PromptTokens, "completion_tokens": a.Usage.CompletionTokens,
			"total_tokens":              a.Usage.PromptTokens + a.Usage.CompletionTokens,
			"completion_tokens_details": map[string]any{"reasoning_tokens": a.Usage.ReasoningTokens},
			"prompt_tokens_details":     map[string]any{"cached_tokens": a.Usage.CachedTokens},
		},
	}
}

// quitContext ends when the server closes.
type quitContext struct {
	parent interface {
		Deadline() (time.Time, bool)
		Done() <-chan struct{}
		Err() error
		Value(any) any
	}
	quit chan struct{}
}

func (c quitContext) Deadline() (time.Time, bool) { return c.parent.Deadline() }
func (c quitContext) Done() <-chan struct{}       { return c.parent.Done() }
func (c quitContext) Err() error                  { return c.parent.Err() }
func (c quitContext) Value(k any) any {
	if k == (quitKey{}) {
		return c.quit
	}
	return c.parent.Value(k)
}

type quitKey struct{}

// pause waits, unless client or server are gone.
func pause(r *http.Request, d time.Duration) bool {
	quit, _ := r.Context().Value(quitKey{}).(chan struct{})
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-r.Context().Done():
	case <-quit:
	}
	return false
}

// Status answers with a status, a body, and headers given as "Name: value".
func Status(code int, body string, headers ...string) Fault {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for _, h := range headers {
			name, value, _ := strings.Cut(h, ": ")
			w.Header().Set(name, value)
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

// APIError answers with OpenAI's error object.
func APIError(status int, code, param, message string, headers ...string) Fault {
	b, err := json.Marshal(map[string]any{"error": map[string]any{"message": message, "type": "invalid_request_error", "param": param, "code": code}})
	if err != nil {
		panic(err)
	}
	return Status(status, string(b), headers...)
}

// HTML answers with a page where JSON was wanted, status 200.
func HTML() Fault {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<!DOCTYPE html><html><body>Welcome to the wireless of the hotel</body></html>")
	}
}

// Hang never answers.
func Hang() Fault {
	return func(_ http.ResponseWriter, r *http.Request) { pause(r, time.Hour) }
}

// Drip sends a byte each interval and never comes to an end.
func Drip(interval time.Duration) Fault {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for pause(r, interval) {
			if _, err := io.WriteString(w, " "); err != nil {
				return
			}
			w.(http.Flusher).Flush()
		}
	}
}

// Huge sends so many bytes, without saying so before.
func Huge(bytes int64) Fault {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"`)
		block := strings.Repeat("lamp ", 20_000)
		for n := int64(0); n < bytes; n += int64(len(block)) {
			if _, err := io.WriteString(w, block); err != nil {
				return
			}
		}
		_, _ = io.WriteString(w, `"}}]}`)
	}
}

// Cut announces a body and closes the connection in its middle.
func Cut() Fault {
	return func(w http.ResponseWriter, _ *http.Request) {
		hijack(w, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"choices\":[{\"mess")
	}
}

// Close closes the connection without a word.
func Close() Fault { return func(w http.ResponseWriter, _ *http.Request) { hijack(w, "") } }

func hijack(w http.ResponseWriter, text string) {
	c, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	if tcp, ok := c.(*net.TCPConn); ok && text == "" {
		_ = tcp.SetLinger(0)
	}
	_, _ = io.WriteString(c, text)
	_ = c.Close()
}

// Slow answers after a while as fault does, or, with nil, with a 503.
func Slow(d time.Duration, fault Fault) Fault {
	return func(w http.ResponseWriter, r *http.Request) {
		if !pause(r, d) {
			return
		}
		if fault == nil {
			fault = APIError(503, "", "", "overloaded")
		}
		fault(w, r)
	}
}

// EchoKey answers with the authorisation it got, in error, text and header.
func EchoKey(status int) Fault {
	return func(w http.ResponseWriter, r *http.Request) {
		key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		w.Header().Set("X-Request-Id", "req-test")
		if status == http.StatusOK {
			writeJSON(w, status, Completion("m", llm.Answer{Text: "Your key is " + key, FinishReason: "stop"}))
			return
		}
		writeJSON(w, status, map[string]any{"error": map[string]any{"message": fmt.Sprintf("Incorrect API key provided: %s.", key), "code": "odd"}})
	}
}
