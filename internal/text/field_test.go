// SPDX-License-Identifier: Apache-2.0

package text

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestQuoteField(t *testing.T) {
	inside := []string{"text", "quote"}
	nothing := func(s string) bool { return s == "" || s == "n/a" }
	for raw, want := range map[string][]string{
		``:                                  nil,
		`null`:                              nil,
		`""`:                                nil,
		`"n/a"`:                             nil,
		`"She sat."`:                        {"She sat."},
		`3`:                                 {"3"},
		`1.50`:                              {"1.50"},
		`true`:                              nil,
		`["a", null, ["b", "n/a"], 4]`:      {"a", "b", "4"},
		`[]`:                                nil,
		`{"quote": "a", "where": "p. 3"}`:   {"a"},
		`{"text": "n/a", "quote": "a"}`:     {"a"},
		`{"text": "b", "quote": "a"}`:       {"b"},
		`{"where": "p. 3"}`:                 nil,
		`{"quote": [{"text": "a"}, "b"]}`:   {"a", "b"},
		`[{"quote": "a"}, {"text": ["b"]}]`: {"a", "b"},
		`{"quote": `:                        nil,
	} {
		if got := QuoteField(json.RawMessage(raw), inside, nothing); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
}
