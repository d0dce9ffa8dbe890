// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/json"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/retcon-bench/retcon/internal/llm"
)

// What encode makes is read back as what json.Marshal makes of the same
// answer, whatever the text holds and at whatever distance from its ends.
func TestEncode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.OneOf(rapid.SampledFrom([]string{
			"", "the lamp was red. ", "“no” — she said", `"`, `\`, "\n", "\r\n", "\t", "\x00", "\x1f", "\x7f", "\u2028", "<&>",
			"\xff", "\xed\xa0\x80", "é", "灯塔", "\U0001f56f", "\"!", "!\"", "\\[", "]\\", "\x1f ", " \x1f", "\xe2\x80",
		}), rapid.String())
		a := llm.Answer{FinishReason: "stop", Usage: llm.Usage{PromptTokens: 7}}
		for _, p := range rapid.SliceOfN(piece, 0, 12).Draw(t, "text") {
			a.Text += p
		}
		if rapid.Bool().Draw(t, "more") {
			a.Reasoning, a.Raw, a.Headers = a.Text, []byte(`{"a": 1}`), map[string]string{"h": a.Text}
			a.Error = &llm.CallError{Status: 400, Message: a.Text}
		}
		got, err := encode(a)
		if err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		var back, wanted llm.Answer
		if err := json.Unmarshal(got, &back); err != nil {
			t.Fatalf("%q: %v", got, err)
		}
		if err := json.Unmarshal(want, &wanted); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(back, wanted) {
			t.Fatalf("%q is read as %+v, want %+v", got, back, wanted)
		}
	})
}
