// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/retcon-bench/retcon/internal/llm"
)

// Body writes a request for the model as canonical JSON: keys sorted, no white
// space, no HTML escapes. What the model does not know is not in it; the client
// has taken it out of the parameters already, so this is for those who come
// another way.
//
// A model without a system role gets the system's text before the first user
// message; one that cannot go on from a beginning gets the beginning at the end
// of the last user message.
func Body(m llm.Model, req llm.Request) ([]byte, error) {
	p := m.Allow(req.Params)
	f := fields{}
	f.set("model", m.ServerID())
	f.set("messages", messages(m, req.Messages))
	if p.MaxTokens > 0 {
		if m.MaxTokensField != "" {
			f.set(m.MaxTokensField, p.MaxTokens)
		} else {
			f.set("max_tokens", p.MaxTokens)
		}
	}
	if p.Temperature != nil {
		f.set("temperature", *p.Temperature)
	}
	if p.TopP != nil {
		f.set("top_p", *p.TopP)
	}
	if p.TopK != nil {
		f.set("top_k", *p.TopK)
	}
	if p.Seed != nil {
		f.set("seed", *p.Seed)
	}
	if len(p.Stop) > 0 {
		f.set("stop", p.Stop)
	}
	if p.ReasoningEffort != "" {
		f.set("reasoning_effort", p.ReasoningEffort)
	}
	if p.LogProbs > 0 {
		f.set("logprobs", true)
		f.set("top_logprobs", p.LogProbs)
	}
	if p.Schema != nil {
		if !json.Valid(p.Schema) {
			return nil, fmt.Errorf("stage %s: its JSON schema is no JSON", req.Stage)
		}
		f.set("response_format", map[string]any{
			"type": "json_schema",
			"json_schema": map[string]any{
				"name": schemaName(req.Stage), "schema": json.RawMessage(llm.CanonicalJSON(p.Schema)), "strict": true,
			},
		})
	}
	if p.ThinkingBudget > 0 {
		if err := f.setPath(m.ThinkingField, p.ThinkingBudget); err != nil {
			return nil, fmt.Errorf("model %s: thinking_field: %w", m.Name, err)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(m.Extra)) {
		if err := f.merge(k, m.Extra[k]); err != nil {
			return nil, fmt.Errorf("model %s: extra: %w", m.Name, err)
		}
	}
	return f.json()
}

func messages(m llm.Model, in []llm.Message) []llm.Message {
	out := slices.Clone(in)
	if m.NoSystem {
		var system []string
		out = slices.DeleteFunc(out, func(msg llm.Message) bool {
			if msg.Role == "system" {
				system = append(system, msg.Content)
			}
			return msg.Role == "system"
		})
		if len(system) > 0 {
			text := strings.Join(system, "\n\n")
			if i := slices.IndexFunc(out, func(msg llm.Message) bool { return msg.Role == "user" }); i >= 0 {
				out[i].Content = text + "\n\n" + out[i].Content
			} else {
				out = append([]llm.Message{{Role: "user", Content: text}}, out...)
			}
		}
	}
	if n := len(out); !m.Prefill && n > 1 && out[n-1].Role == "assistant" && out[n-2].Role == "user" {
		out[n-2].Content += "\n\n" + out[n-1].Content
		out = out[:n-1]
	}
	return out
}

// schemaName makes a stage's name fit for the servers' rule [a-zA-Z0-9_-]{1,64}.
func schemaName(stage string) string {
	s := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, stage)
	return s[:min(len(s), 64)]
}

// fields is a JSON object in the making.
type fields map[string]any

func (f fields) set(k string, v any) { f[k] = v }

// setPath sets a.b.c, making the objects on the way.
func (f fields) setPath(path string, v any) error {
	parts := strings.Split(path, ".")
	at := map[string]any(f)
	for _, p := range parts[:len(parts)-1] {
		next, ok := at[p].(map[string]any)
		if at[p] != nil && !ok {
			return fmt.Errorf("%s: %s is no object", path, p)
		}
		if next == nil {
			next = map[string]any{}
			at[p] = next
		}
		at = next
	}
	at[parts[len(parts)-1]] = v
	return nil
}

// merge sets an extra field; of two objects the fields are joined. What the
// request itself says cannot be overruled unseen.
func (f fields) merge(k string, v any) error {
	old, there := f[k]
	if !there {
		f[k] = v
		return nil
	}
	a, ok := old.(map[string]any)
	b, ok2 := v.(map[string]any)
	if !ok || !ok2 {
		return fmt.Errorf("%s is a field of the request itself: set it as a parameter of the stage", k)
	}
	for _, k2 := range slices.Sorted(maps.Keys(b)) {
		if err := fields(a).merge(k2, b[k2]); err != nil {
			return err
		}
	}
	return nil
}

func (f fields) json() ([]byte, error) {
	size := 256
	if ms, ok := f["messages"].([]llm.Message); ok {
		for _, m := range ms {
			size += len(m.Content) + len(m.Content)/16 + 64
		}
	}
	b := append(make([]byte, 0, size), '{')
	keys := make([]string, 0, 16)
	for k := range f {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for i, k := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendQuoted(b, k), ':')
		switch v := f[k].(type) {
		case string:
			b = appendQuoted(b, v)
		case int:
			b = strconv.AppendInt(b, int64(v), 10)
		case []llm.Message:
			b = append(b, '[')
			for j, m := range v {
				if j > 0 {
					b = append(b, ',')
				}
				b = append(b, `{"content":`...)
				b = appendQuoted(b, m.Content)
				b = append(b, `,"role":`...)
				b = append(appendQuoted(b, m.Role), '}')
			}
			b = append(b, ']')
		default:
			var buf bytes.Buffer
			enc := json.NewEncoder(&buf)
			enc.SetEscapeHTML(false)
			if err := enc.Encode(v); err != nil { // its maps come out in key order
				return nil, fmt.Errorf("field %s: %w", k, err)
			}
			b = append(b, bytes.TrimRight(buf.Bytes(), "\n")...)
		}
	}
	return append(b, '}'), nil
}
