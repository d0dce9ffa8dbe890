// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/retcon-bench/retcon/internal/llm"
)

// text is a string, or nothing when the server wrote something else.
type text string

// UnmarshalJSON takes a string and passes over everything else.
func (t *text) UnmarshalJSON(b []byte) error {
	*t = ""
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, (*string)(t))
	}
	return nil
}

// number is a count: 12, 12.0, "12", null.
type number int

// UnmarshalJSON takes a number in any spelling; what is none counts nothing.
func (n *number) UnmarshalJSON(b []byte) error {
	*n = 0
	if f, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64); err == nil && f > 0 && f < 1e12 {
		*n = number(f)
	}
	return nil
}

// ParseResponse reads the body of a status 2xx. A body that is no completion is
// a [*llm.CallError]: an error object by what it says, anything else temporary,
// since it comes from a proxy, a cut line or a server that is just starting.
func ParseResponse(body []byte) (llm.Answer, error) {
	if at := invalidUTF8(body); at >= 0 {
		return llm.Answer{}, malformed(fmt.Sprintf("the answer is not valid UTF-8 at byte %d", at), nil)
	}
	var r response
	c := &cursor{b: body}
	err := r.read(c)
	if err == nil && c.next() != 0 {
		err = errWire
	}
	if err != nil {
		return llm.Answer{}, malformed("the answer is no JSON", body)
	}
	switch {
	case r.failure != nil && (!r.some || r.inChoice):
		return llm.Answer{}, errorInOK(r.failure)
	case !r.some:
		return llm.Answer{}, malformed("the answer has no choices", body)
	}
	if len(r.keep) > 0 {
		r.a.Raw = append(append([]byte("{"), r.keep...), '}')
	}
	return r.a, nil
}

// response collects a chat completion, in the spellings of all servers.
type response struct {
	a        llm.Answer
	keep     []byte // members worth keeping
	some     bool   // there is a choice
	failure  json.RawMessage
	inChoice bool // the failure stands in the choice
}

func (r *response) read(c *cursor) error {
	return c.object(func(key []byte) (err error) {
		switch string(key) {
		case "choices":
			return c.maybe('[', func() error {
				return c.array(func() error {
					if r.some { // we ask for one
						_, err := c.raw()
						return err
					}
					r.some = true
					return r.choice(c)
				})
			})
		case "usage":
			return c.maybe('{', func() error { return r.usage(c) })
		case "error":
			return r.fail(c, false)
		case "id", "model", "system_fingerprint", "service_tier", "provider":
			s, err := c.text()
			if s != "" {
				if len(r.keep) > 0 {
					r.keep = append(r.keep, ',')
				}
				r.keep = appendQuoted(append(appendQuoted(r.keep, string(key)), ':'), s)
			}
			return err
		}
		_, err = c.raw()
		return err
	})
}

func (r *response) fail(c *cursor, inChoice bool) error {
	raw, err := c.raw()
	if err == nil && string(raw) != "null" {
		r.failure, r.inChoice = raw, inChoice
	}
	return err
}

func (r *response) choice(c *cursor) error {
	if c.next() != '{' {
		return errWire
	}
	return c.object(func(key []byte) (err error) {
		switch string(key) {
		case "message":
			return c.maybe('{', func() error { return r.message(c) })
		case "finish_reason":
			r.a.FinishReason, err = c.text()
			return err
		case "logprobs":
			raw, err := c.raw()
			if err == nil && string(raw) != "null" {
				r.a.LogProbs = bytes.Clone(raw)
			}
			return err
		case "error": // OpenRouter
			return r.fail(c, true)
		}
		_, err = c.raw()
		return err
	})
}

func (r *response) message(c *cursor) error {
	return c.object(func(key []byte) (err error) {
		switch string(key) {
		case "content":
			if c.next() == '[' {
				return r.parts(c)
			}
			r.a.Text, err = c.text()
			return err
		case "refusal":
			r.a.Refusal, err = c.text()
			return err
		case "reasoning_content", "reasoning": // DeepSeek, vLLM, llama.cpp; OpenRouter, Ollama
			s, err := c.text()
			r.a.Reasoning = cmp.Or(r.a.Reasoning, s)
			return err
		}
		_, err = c.raw()
		return err
	})
}

// parts joins the text parts of a content that is a list.
func (r *response) parts(c *cursor) error {
	return c.array(func() error {
		var kind, text string
		err := c.maybe('{', func() error {
			return c.object(func(key []byte) (err error) {
				switch string(key) {
				case "type":
					kind, err = c.text()
				case "text":
					text, err = c.text()
				default:
					_, err = c.raw()
				}
				return err
			})
		})
		if kind == "text" || kind == "output_text" || kind == "" {
			r.a.Text += text
		}
		return err
	})
}

func (r *response) usage(c *cursor) error {
	u := &r.a.Usage
	detail := func(name string, n *int) error {
		return c.maybe('{', func() error {
			return c.object(func(key []byte) (err error) {
				if string(key) == name {
					*n, err = c.number()
				} else {
					_, err = c.raw()
				}
				return err
			})
		})
	}
	return c.object(func(key []byte) (err error) {
		switch string(key) {
		case "prompt_tokens":
			u.PromptTokens, err = c.number()
		case "completion_tokens":
			u.CompletionTokens, err = c.number()
		case "prompt_tokens_details":
			err = detail("cached_tokens", &u.CachedTokens)
		case "completion_tokens_details":
			err = detail("reasoning_tokens", &u.ReasoningTokens)
		default:
			_, err = c.raw()
		}
		return err
	})
}

func invalidUTF8(b []byte) int {
	if utf8.Valid(b) {
		return -1
	}
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// malformed is an answer of status 200 that is none.
func malformed(what string, body []byte) *llm.CallError {
	e := &llm.CallError{Code: "malformed_answer", Message: what, Temporary: true}
	switch t := bytes.ToLower(bytes.TrimSpace(body)); {
	case bytes.HasPrefix(t, []byte("<")):
		e.Message += ": it is a page of HTML; is the base URL right? It ends before /chat/completions, mostly in /v1"
	case bytes.HasPrefix(t, []byte("data:")):
		e.Message += ": it is a stream, though none was asked for"
	case len(t) == 0 && body != nil:
		e.Message += ": it is empty"
	}
	return e
}

// errorInOK reads an error that came with status 200, by the code it names.
func errorInOK(raw json.RawMessage) error {
	var e struct {
		Code number `json:"code"`
	}
	_ = json.Unmarshal(raw, &e) // a string, or an error without a code
	status := int(e.Code)
	if status < 400 || status > 599 {
		status = 0
	}
	return parseError(status, nil, append(append([]byte(`{"error":`), raw...), '}'))
}

// ParseError reads a refusal: what went wrong, whether it may go away, how long
// to wait, and which setting of the recipe to change (C45). A used-up quota is
// a [llm.StopError] (C43).
func ParseError(status int, header http.Header, body []byte) error {
	return parseError(status, header, body)
}

type wireError struct {
	Message text            `json:"message"`
	Type    text            `json:"type"`
	Param   text            `json:"param"`
	Code    json.RawMessage `json:"code"`
}

func parseError(status int, header http.Header, body []byte) error {
	var w struct {
		Error   json.RawMessage `json:"error"`
		Detail  json.RawMessage `json:"detail"` // FastAPI
		Message text            `json:"message"`
	}
	var e wireError
	if json.Unmarshal(body, &w) == nil {
		switch {
		case len(w.Error) > 0 && w.Error[0] == '{':
			_ = json.Unmarshal(w.Error, &e)
		case len(w.Error) > 0 && w.Error[0] == '"':
			_ = json.Unmarshal(w.Error, &e.Message)
		case len(w.Detail) > 0 && w.Detail[0] == '"':
			_ = json.Unmarshal(w.Detail, &e.Message)
		case len(w.Detail) > 0:
			e.Message = text(short(string(w.Detail)))
		default:
			_ = json.Unmarshal(body, &e)
		}
	}
	code := strings.Trim(string(e.Code), `"`)
	if code == "null" {
		code = ""
	}
	if _, err := strconv.Atoi(code); err == nil {
		code = "" // the status once more
	}
	ce := &llm.CallError{Status: status, Code: code, Type: string(e.Type), Param: string(e.Param), Message: short(string(e.Message))}
	if ce.Message == "" {
		ce.Message = cmp.Or(http.StatusText(status), "the server gave no reason")
		if bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")) {
			ce.Message += " (a page of HTML, not from a model server)"
		}
	}
	if ce.Code == "" && contextLength.MatchString(ce.Message) {
		ce.Code = "context_length_exceeded"
	}
	ce.RetryAfter = retryAfter(header)
	if isQuota(ce) {
		return llm.Stop(llm.StopQuota, ce)
	}
	ce.Setting = setting(ce)
	switch {
	case ce.Setting != "":
	case status == 408, status == 409, status == 425, status == 429, status >= 500:
		ce.Temporary = true
	case status == 0:
		// An error without a status: in a 200, or in a batch line.
		switch {
		case ce.Type == "server_error", ce.Type == "rate_limit_error", ce.Type == "overloaded_error", ce.Type == "api_error",
			strings.HasPrefix(ce.Code, "rate_limit"), ce.Code == "server_error", ce.Code == "batch_expired", ce.Code == "batch_cancelled", ce.Code == "internal_error":
			ce.Temporary = true
		case ce.Code == "" && ce.Type == "" && ce.Param == "":
			ce.Temporary = true // nothing says that it is about the request
		}
	}
	return ce
}

// short keeps an error readable: one line, 300 code points.
func short(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 300 {
		s = string(r[:300]) + "…"
	}
	return s
}

// retryAfter returns what a server asks us to wait: retry-after-ms, then
// Retry-After in seconds or as a date. 0 = nothing said.
func retryAfter(h http.Header) time.Duration {
	if h == nil {
		return 0
	}
	if ms, err := strconv.ParseFloat(strings.TrimSpace(h.Get("retry-after-ms")), 64); err == nil && ms > 0 {
		return seconds(ms / 1000)
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(v, 64); err == nil && s > 0 {
		return seconds(s)
	}
	if t, err := http.ParseTime(v); err == nil {
		// By the server's own clock where it tells it: ours may be wrong.
		now := time.Now()
		if date, err := http.ParseTime(h.Get("Date")); err == nil {
			now = date
		}
		return max(0, t.Sub(now))
	}
	return 0
}

func seconds(s float64) time.Duration {
	const day = 24 * 3600
	return time.Duration(min(s, day) * float64(time.Second))
}

func isQuota(e *llm.CallError) bool {
	if e.Status == 402 {
		return true
	}
	for _, s := range []string{e.Code, e.Type} {
		switch s {
		case "insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_balance", "insufficient_credits", "credit_limit_reached", "access_terminated", "account_deactivated":
			return true
		}
	}
	m := strings.ToLower(e.Message)
	return (e.Status == 429 || e.Status == 403 || e.Status == 400) &&
		(strings.Contains(m, "exceeded your current quota") || strings.Contains(m, "insufficient balance") || strings.Contains(m, "credit balance is too low"))
}

// settings maps a request field to what to change in the recipe.
var settings = []struct{ param, text string }{
	{"max_completion_tokens", "set max_tokens_field: max_tokens for the model, or lower the stage's max_tokens"},
	{"max_tokens", "set max_tokens_field: max_completion_tokens for the model, or lower the stage's max_tokens"},
	{"temperature", "set no_temperature: true for the model, or another temperature for the stage"},
	{"top_p", "set no_temperature: true for the model, or another top_p for the stage"},
	{"top_k", "set top_k: false for the model"},
	{"top_logprobs", "set logprobs: false for the model, or a lower logprobs for the stage"},
	{"logprobs", "set logprobs: false for the model"},
	{"seed", "set no_seed: true for the model"},
	{"stop", "set no_stop: true for the model"},
	{"reasoning_effort", "set reasoning_effort: false for the model, or another effort for the stage"},
	{"response_format", "set json_schema: false for the model"},
	{"json_schema", "set json_schema: false for the model"},
	{"guided_json", "set json_schema: false for the model"},
	{"thinking", "change thinking_field of the model"},
}

var (
	unsupported = regexp.MustCompile(`(?i)unsupported|not supported|does ?n[o']t support|do not support|unrecognized|unknown|unexpected|not permitted|not allowed|no longer|invalid value|is too (large|high|big)|at most|must be|only the default|extra inputs`)
	systemRole  = regexp.MustCompile(`(?i)\bsystem\b.{0,20}\b(role|message|prompt|instruction)|developer instruction is not enabled`)
	prefillRole = regexp.MustCompile(`(?i)(prefill|last message|final message|assistant message).{0,60}(assistant|user|support|role)`)
	wholeWord   = map[string]*regexp.Regexp{}
)

func init() {
	for _, s := range settings {
		wholeWord[s.param] = regexp.MustCompile(`(?i)(^|[^a-z_])` + s.param + `([^a-z_]|$)`)
	}
}

// setting says what to change when every request would meet the same refusal:
// an unknown parameter, a wrong key, name or address. "" when it is about this
// request alone.
func setting(e *llm.CallError) string {
	switch e.Status {
	case 401:
		return "check OPENAI_API_KEY (or AZURE_OPENAI_API_KEY) in the environment"
	case 403:
		return "the key may not use this model, or not from here: check key, organisation and model"
	case 404, 405:
		return "check the model's id in the recipe, and OPENAI_BASE_URL, which mostly ends in /v1"
	case 400, 422, 0:
	default:
		if e.Status >= 300 && e.Status < 400 {
			return "the server sends elsewhere: set OPENAI_BASE_URL to the address it means"
		}
		return ""
	}
	switch e.Code {
	case "context_length_exceeded", "string_above_max_length", "content_filter", "content_policy_violation", "invalid_prompt":
		return ""
	case "model_not_found", "DeploymentNotFound":
		return "check the model's id in the recipe"
	case "invalid_api_key":
		return "check OPENAI_API_KEY in the environment"
	}
	m := e.Message
	param := e.Param
	if i := strings.IndexAny(param, ".["); i >= 0 {
		param = param[:i]
	}
	for _, s := range settings {
		if s.param == param || strings.HasPrefix(param, "thinking") && s.param == "thinking" {
			return s.text
		}
	}
	if param == "messages" && prefillRole.MatchString(m) || prefillRole.MatchString(m) && strings.Contains(strings.ToLower(m), "prefill") {
		return "set prefill: false for the model"
	}
	if !unsupported.MatchString(m) {
		return ""
	}
	for _, s := range settings {
		if wholeWord[s.param].MatchString(m) {
			return s.text
		}
	}
	if systemRole.MatchString(m) {
		return "set no_system: true for the model"
	}
	return ""
}

// Prompts that are too long for the model are refused in many words; most of
// them name max_tokens, which is not to blame.
var contextLength = regexp.MustCompile(`(?i)maximum context length|context window|context length|too many tokens|prompt is too long|exceeds? the (available )?context|input is too long`)

// AsCallError returns the [*llm.CallError] of an error of this package, also
// from inside a [llm.StopError].
func AsCallError(err error) *llm.CallError {
	var ce *llm.CallError
	if errors.As(err, &ce) {
		return ce
	}
	return &llm.CallError{Message: err.Error()}
}
