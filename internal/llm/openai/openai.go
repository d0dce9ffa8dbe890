// SPDX-License-Identifier: Apache-2.0

// Package openai is the engine for every server that speaks OpenAI's chat
// completions: the hosted ones, Azure, vLLM, Ollama, llama.cpp.
//
// [Body] writes a request as canonical JSON, from the abilities that the recipe
// declares for the model; a batch file holds the same bytes. [Engine] sends it
// once, without retries, waits or rates: those belong to [llm.Client].
// [ParseResponse] and [ParseError] read what comes back, in an HTTP answer or in
// a line of a batch file.
//
// Addresses and authorisation are go-openai's work, done once a model: what it
// would send is the prototype of all requests. Its request and response types
// are not used: they drop temperature 0, veto fields by the model's name, lose
// fields they do not know, fail on numbers written with a point, and take an
// error with status 200 for an answer without choices. Bodies are ours, sent
// over our own transport, which keeps the bytes that come back.
//
// The key comes from the environment only. It is in no error, no log and no
// answer: a server that repeats it is scrubbed.
package openai

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/retcon-bench/retcon/internal/llm"
)

// Secret is a text that prints as [secret], whatever prints it.
type Secret string

const hidden = "[secret]"

// String returns [secret].
func (Secret) String() string { return hidden }

// GoString returns [secret].
func (Secret) GoString() string { return hidden }

// MarshalText returns [secret].
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// LogValue returns [secret].
func (Secret) LogValue() slog.Value { return slog.StringValue(hidden) }

// Config says where the server is and who asks.
type Config struct {
	// BaseURL ends before /chat/completions, e.g. http://localhost:8000/v1;
	// "" is OpenAI. For Azure it is the resource's endpoint.
	BaseURL string
	Key     Secret
	Org     string
	// AzureVersion, when set, speaks Azure's dialect of that API version:
	// deployment in the path (the model's id), key in a header of its own.
	AzureVersion string
	Models       []llm.Model
	MaxBody      int64             // bytes of an answer, larger ones are refused; 0 = 32 MiB
	Transport    http.RoundTripper // nil = one of our own
}

const defaultMaxBody = 32 << 20

// FromEnv returns the configuration that the environment describes:
// OPENAI_API_KEY, OPENAI_BASE_URL, OPENAI_ORG_ID, or, for Azure,
// AZURE_OPENAI_API_KEY, AZURE_OPENAI_ENDPOINT and OPENAI_API_VERSION. getenv is
// os.Getenv outside tests. A server without a key is fine: local ones have none.
func FromEnv(getenv func(string) string) Config {
	env := func(name string) string { return strings.TrimSpace(getenv(name)) }
	if end := env("AZURE_OPENAI_ENDPOINT"); end != "" {
		return Config{
			BaseURL: end, Key: Secret(cmp.Or(env("AZURE_OPENAI_API_KEY"), env("OPENAI_API_KEY"))),
			AzureVersion: cmp.Or(env("OPENAI_API_VERSION"), "2024-10-21"),
		}
	}
	return Config{
		BaseURL: env("OPENAI_BASE_URL"), Key: Secret(env("OPENAI_API_KEY")),
		Org: cmp.Or(env("OPENAI_ORG_ID"), env("OPENAI_ORGANIZATION")),
	}
}

// Engine asks one server.
type Engine struct {
	cfg    Config
	host   string
	models map[string]llm.Model
	client *goopenai.Client
	http   http.RoundTripper

	mu     sync.RWMutex
	protos map[string]*http.Request // by the server's name of the model
}

// New returns an engine. It dials nothing.
func New(cfg Config) (*Engine, error) {
	base := cmp.Or(cfg.BaseURL, "https://api.openai.com/v1")
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		// The text of err repeats the address, which may hold a password.
		return nil, llm.Stop(llm.StopSetting, errors.New("the base URL of the model server is no http or https address: set OPENAI_BASE_URL to one like http://localhost:8000/v1"))
	}
	if strings.ContainsFunc(string(cfg.Key), func(r rune) bool { return r < '!' || r > '~' }) {
		return nil, llm.Stop(llm.StopSetting, errors.New("the API key has blanks or signs that no key has: check the environment variable"))
	}
	cfg.MaxBody = cmp.Or(cfg.MaxBody, defaultMaxBody)
	e := &Engine{cfg: cfg, host: u.Host, models: map[string]llm.Model{}, protos: map[string]*http.Request{}}
	for _, m := range cfg.Models {
		e.models[m.Name] = m
	}
	rt := cfg.Transport
	if rt == nil {
		rt = &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			ForceAttemptHTTP2:   true,
			MaxIdleConnsPerHost: 4096,
			IdleConnTimeout:     90 * time.Second,
			TLSHandshakeTimeout: 30 * time.Second,
			// Answers are short, and without compression the body cap is a cap.
			DisableCompression: true,
		}
	}
	// A transport follows no redirects, which is right: a redirected POST would
	// become a GET, and a key go to another host.
	e.http = rt
	gc := goopenai.DefaultConfig(string(cfg.Key))
	if cfg.AzureVersion != "" {
		gc = goopenai.DefaultAzureConfig(string(cfg.Key), base)
		gc.APIVersion = cfg.AzureVersion
		gc.AzureModelMapperFunc = func(m string) string { return url.PathEscape(strings.TrimPrefix(m, placeholder)) }
	}
	gc.BaseURL, gc.OrgID, gc.HTTPClient = base, cfg.Org, recorder{}
	e.client = goopenai.NewClientWithConfig(gc)
	return e, nil
}

// placeholder stands before a model's name towards go-openai, which has
// opinions on names.
const placeholder = "retcon:"

// Name returns "openai".
func (e *Engine) Name() string { return "openai" }

// Close gives idle connections back.
func (e *Engine) Close() error {
	if c, ok := e.http.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
	return nil
}

// recorder stands where go-openai would send: it keeps the request.
type recorder struct{}

type recordKey struct{}

var errRecorded = errors.New("recorded")

// Do keeps the request and sends nothing.
func (recorder) Do(req *http.Request) (*http.Response, error) {
	if at, ok := req.Context().Value(recordKey{}).(**http.Request); ok {
		*at = req
	}
	return nil, errRecorded
}

// prototype returns what go-openai would send to the model, without its body.
// Its headers are shared by all requests and never written to.
func (e *Engine) prototype(model string) (*http.Request, error) {
	e.mu.RLock()
	p := e.protos[model]
	e.mu.RUnlock()
	if p != nil {
		return p, nil
	}
	ctx := context.WithValue(context.Background(), recordKey{}, &p)
	_, err := e.client.CreateChatCompletion(ctx, goopenai.ChatCompletionRequest{Model: placeholder + model})
	if p == nil {
		return nil, fmt.Errorf("model %s: go-openai: %s", model, e.scrub(err.Error()))
	}
	if u := p.URL.User; u != nil && p.Header.Get("Authorization") == "" {
		password, _ := u.Password()
		p.SetBasicAuth(u.Username(), password)
	}
	e.mu.Lock()
	e.protos[model] = p
	e.mu.Unlock()
	return p, nil
}

// buffers hold what servers send until it is read.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 8<<10); return &b }}

// send sends a body once and returns what came back. The raw bytes are good
// until done is called.
func (e *Engine) send(ctx context.Context, proto *http.Request, body []byte) (status int, header http.Header, raw []byte, done func(), err error) {
	done = func() {}
	req := proto.WithContext(ctx)
	req.Body = io.NopCloser(bytes.NewReader(body))
	req.ContentLength = int64(len(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	res, err := e.http.RoundTrip(req)
	if err != nil {
		return 0, nil, nil, done, err
	}
	defer res.Body.Close()
	if res.ContentLength > e.cfg.MaxBody {
		return res.StatusCode, res.Header, nil, done, errTooLarge
	}
	buf := buffers.Get().(*[]byte)
	raw, err = readBody(res.Body, (*buf)[:0], e.cfg.MaxBody)
	const largest = 64 << 10 // one long answer must not stay for ever
	if cap(raw) <= largest {
		*buf = raw
		done = func() { buffers.Put(buf) }
	}
	return res.StatusCode, res.Header, raw, done, err
}

var errTooLarge = errors.New("answer too large")

// readBody appends what r holds to buf, up to limit bytes.
func readBody(r io.Reader, buf []byte, limit int64) ([]byte, error) {
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if int64(len(buf)) > limit {
			return buf, errTooLarge
		}
		if err == io.EOF {
			return buf, nil
		}
		if err != nil {
			return buf, err
		}
	}
}

// Generate sends one request, once.
func (e *Engine) Generate(ctx context.Context, req llm.Request) (llm.Answer, error) {
	if err := ctx.Err(); err != nil {
		return llm.Answer{}, err
	}
	m, ok := e.models[req.Model]
	if !ok {
		m = llm.Model{Name: req.Model}
	}
	body, err := Body(m, req)
	if err != nil {
		return llm.Answer{}, err
	}
	proto, err := e.prototype(m.ServerID())
	if err != nil {
		return llm.Answer{}, err
	}
	began := time.Now()
	status, header, raw, done, err := e.send(ctx, proto, body)
	defer done()
	switch {
	case ctx.Err() != nil:
		return llm.Answer{}, ctx.Err()
	case errors.Is(err, errTooLarge):
		return llm.Answer{}, &llm.CallError{Status: status, Code: "answer_too_large", Message: fmt.Sprintf("the answer is larger than %d bytes", e.cfg.MaxBody)}
	case err != nil:
		// Without the address, which may hold a key of its own; a host that the
		// system names already is named once.
		msg := err.Error()
		if !strings.Contains(msg, e.host) {
			msg = e.host + ": " + msg
		}
		return llm.Answer{}, &llm.CallError{Temporary: true, Message: e.scrub(msg)}
	}
	raw = e.scrubBody(raw)
	if status < 200 || status > 299 {
		return llm.Answer{}, ParseError(status, header, raw)
	}
	a, err := ParseResponse(raw)
	if err != nil {
		return llm.Answer{}, err
	}
	a.Latency = time.Since(began)
	a.Headers = keepHeaders(header)
	return a, nil
}

// scrub takes the key out of a text that people read.
func (e *Engine) scrub(s string) string {
	const shortest = 4
	if k := string(e.cfg.Key); len(k) >= shortest {
		s = strings.ReplaceAll(s, k, hidden)
	}
	return s
}

// scrubBody takes the key out of what a server sent. Keys that may be words
// ("EMPTY" is what vLLM's manual says) stay in stories; [Engine.scrub] takes
// them out of errors.
func (e *Engine) scrubBody(b []byte) []byte {
	const noWord = 16
	if k := []byte(e.cfg.Key); len(k) >= noWord && bytes.Contains(b, k) {
		return bytes.ReplaceAll(b, k, []byte(hidden))
	}
	return b
}

// kept are the headers that help to ask a provider about an answer, and the
// names they are kept under.
var kept = func() (out [][2]string) {
	for _, name := range []string{"x-request-id", "request-id", "openai-version", "openai-processing-ms", "x-ms-region"} {
		out = append(out, [2]string{http.CanonicalHeaderKey(name), name})
	}
	return out
}()

func keepHeaders(h http.Header) map[string]string {
	var out map[string]string
	for _, k := range kept {
		if v := h[k[0]]; len(v) > 0 && v[0] != "" {
			if out == nil {
				out = map[string]string{}
			}
			out[k[1]] = v[0]
		}
	}
	return out
}
