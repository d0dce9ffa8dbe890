// SPDX-License-Identifier: Apache-2.0

package llm

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"strconv"
)

// Message is one turn of a prompt. Role is "system", "user" or "assistant"; an
// assistant message in the last place is a beginning the model goes on from.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Params are the parameters that can change an answer. The zero value of each
// means "not sent: the server's default".
type Params struct {
	Temperature     *float64        `json:"temperature,omitempty" yaml:"temperature,omitempty"`
	TopP            *float64        `json:"top_p,omitempty" yaml:"top_p,omitempty"`
	TopK            *int            `json:"top_k,omitempty" yaml:"top_k,omitempty"`
	MaxTokens       int             `json:"max_tokens,omitempty" yaml:"max_tokens,omitempty"` // answer and reasoning together
	Seed            *int64          `json:"seed,omitempty" yaml:"seed,omitempty"`             // of sample 0; sample n is asked with Seed+n
	Stop            []string        `json:"stop,omitempty" yaml:"stop,omitempty"`
	ReasoningEffort string          `json:"reasoning_effort,omitempty" yaml:"reasoning_effort,omitempty"`
	ThinkingBudget  int             `json:"thinking_budget,omitempty" yaml:"thinking_budget,omitempty"` // tokens
	Schema          json.RawMessage `json:"schema,omitempty" yaml:"-"`                                  // JSON Schema for structured output
	LogProbs        int             `json:"logprobs,omitempty" yaml:"logprobs,omitempty"`               // alternatives per token; 0 = none asked
}

// Float returns a pointer to f, for the optional fields of Params.
func Float(f float64) *float64 { return &f }

// Int returns a pointer to n, for the optional fields of Params.
func Int(n int) *int { return &n }

// Int64 returns a pointer to n, for the optional fields of Params.
func Int64(n int64) *int64 { return &n }

// Over returns p with every field that o sets taken from o. It is how a
// recipe's parameters lie over a call's own.
func (p Params) Over(o Params) Params {
	if o.Temperature != nil {
		p.Temperature = o.Temperature
	}
	if o.TopP != nil {
		p.TopP = o.TopP
	}
	if o.TopK != nil {
		p.TopK = o.TopK
	}
	if o.MaxTokens != 0 {
		p.MaxTokens = o.MaxTokens
	}
	if o.Seed != nil {
		p.Seed = o.Seed
	}
	if o.Stop != nil {
		p.Stop = o.Stop
	}
	if o.ReasoningEffort != "" {
		p.ReasoningEffort = o.ReasoningEffort
	}
	if o.ThinkingBudget != 0 {
		p.ThinkingBudget = o.ThinkingBudget
	}
	if o.Schema != nil {
		p.Schema = o.Schema
	}
	if o.LogProbs != 0 {
		p.LogProbs = o.LogProbs
	}
	return p
}

// Request is one question to a model. It is immutable once made: engines and
// wrappers get it by value and must not write to its slices.
type Request struct {
	Stage    string    // the call's stage, e.g. "flawed/facts"
	Model    string    // the recipe's name of the model, not the server's
	Revision string    // the revision the recipe declares, or ""
	Params   Params    // as the model's abilities allow
	Sample   int       // 0-based; several samples of one prompt are several requests
	Messages []Message // rendered prompt

	// TemplateHash is provenance: it is stored beside the answer, so that a
	// report can say why an old answer was not used. It is not in the key.
	TemplateHash string

	rule     func() (string, error)
	readable func(*Reply) bool // nil: every answer with a text is; see Call.AskUnread
}

// WithRule returns the request carrying the offline rule that can answer it.
// The rule is not part of the key; only the rules engine looks at it.
func (r Request) WithRule(rule func() (string, error)) Request {
	r.rule = rule
	return r
}

// Rule returns the offline rule of the request, or nil.
func (r Request) Rule() func() (string, error) { return r.rule }

// Key names a request by everything that can change its answer.
type Key [sha256.Size]byte

// String returns the key as 64 hexadecimal digits.
func (k Key) String() string { return hex.EncodeToString(k[:]) }

// CustomID returns the first 32 hexadecimal digits, the custom_id of a batch
// line.
func (k Key) CustomID() string { return hex.EncodeToString(k[:16]) }

// ParseKey reads what [Key.String] writes.
func ParseKey(s string) (Key, error) {
	var k Key
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(k) {
		return k, fmt.Errorf("llm key %q: want %d hexadecimal digits", s, 2*len(k))
	}
	copy(k[:], b)
	return k, nil
}

// keyVersion changes when the meaning of a key does; then no old answer is used.
const keyVersion = "retcon-llm-key/1"

// Key returns the request's key: SHA-256 over length-prefixed stage, model
// with revision, parameters, sample number and messages. Engine, URL, record
// id, template hash and rule are not in it, so that an answer serves whoever
// asks the same question (ground.md, "Model calls").
func (r Request) Key() Key {
	w := &keyWriter{h: sha256.New()}
	w.str(keyVersion)
	w.str(r.Stage)
	w.str(r.Model)
	w.str(r.Revision)
	r.Params.writeKey(w)
	w.str(strconv.Itoa(r.Sample))
	w.num(len(r.Messages))
	for _, m := range r.Messages {
		w.str(m.Role)
		w.str(m.Content)
	}
	var k Key
	w.h.Sum(k[:0])
	return k
}

func (p Params) writeKey(w *keyWriter) {
	float := func(f *float64) {
		if f == nil {
			w.str("")
			return
		}
		w.str(strconv.FormatFloat(*f, 'g', -1, 64))
	}
	float(p.Temperature)
	float(p.TopP)
	if p.TopK == nil {
		w.str("")
	} else {
		w.str(strconv.Itoa(*p.TopK))
	}
	w.str(strconv.Itoa(p.MaxTokens))
	if p.Seed == nil {
		w.str("")
	} else {
		w.str(strconv.FormatInt(*p.Seed, 10))
	}
	w.num(len(p.Stop))
	for _, s := range p.Stop {
		w.str(s)
	}
	w.str(p.ReasoningEffort)
	w.str(strconv.Itoa(p.ThinkingBudget))
	w.str(string(CanonicalJSON(p.Schema)))
	w.str(strconv.Itoa(p.LogProbs))
}

// keyWriter hashes parts so that no two lists of parts run together.
type keyWriter struct {
	h   hash.Hash
	buf [512]byte // strings go through it, since hash.Hash takes bytes only
}

func (w *keyWriter) num(n int) {
	binary.BigEndian.PutUint64(w.buf[:], uint64(n))
	w.h.Write(w.buf[:8])
}

func (w *keyWriter) str(s string) {
	w.num(len(s))
	for len(s) > 0 {
		n := copy(w.buf[:], s)
		w.h.Write(w.buf[:n])
		s = s[n:]
	}
}

// CanonicalJSON returns the JSON value with sorted keys, no white space, no
// HTML escaping and numbers as written. Bytes that are no JSON come back
// unchanged.
func CanonicalJSON(raw []byte) []byte {
	if len(raw) == 0 {
		return raw
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return raw
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil { // maps come out in key order
		return raw
	}
	return bytes.TrimRight(out.Bytes(), "\n")
}
