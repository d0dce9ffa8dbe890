// SPDX-License-Identifier: Apache-2.0

package llm

import (
	"encoding/json"
	"strings"
)

// Reply is an answer as a decoder sees it: reasoning split off, finish reason
// and refusals dealt with. Its methods read the usual forms and note how much
// had to be forgiven, which becomes the outcome.
type Reply struct {
	Text      string // the answer, valid UTF-8, white space at both ends trimmed
	Reasoning string
	Request   Request
	Answer    Answer

	allowUnclosed bool
	outcome       Outcome
	notes         []string
}

// Outcome returns the class so far; OK when nothing was marked.
func (r *Reply) Outcome() Outcome {
	if r.outcome == "" {
		return OK
	}
	return r.outcome
}

// Notes returns what was forgiven, in order.
func (r *Reply) Notes() []string { return r.notes }

// Mark notes what was forgiven. The outcome only gets worse: ok, fenced,
// repaired, unclosed_tag.
func (r *Reply) Mark(o Outcome, note string) {
	rank := map[Outcome]int{OK: 0, Fenced: 1, Repaired: 2, UnclosedTag: 3}
	if rank[o] > rank[r.Outcome()] {
		r.outcome = o
	}
	if note != "" {
		r.notes = append(r.notes, note)
	}
}

// NewReply makes a Reply of a bare text, for tests of decoders.
func NewReply(text string) *Reply { return &Reply{Text: strings.TrimSpace(text)} }

// Tag returns the text between <name> and </name>.
func (r *Reply) Tag(name string) (string, error) {
	open := strings.Index(r.Text, "<"+name+">")
	end := strings.Index(r.Text, "</"+name+">")
	if open < 0 || end < open {
		return "", Failed(ParseFailed, "no <"+name+"> in the answer")
	}
	return strings.TrimSpace(r.Text[open+len(name)+2 : end]), nil
}

// JSON reads the JSON value of the answer into v, as encoding/json does.
func (r *Reply) JSON(v any) error {
	if err := json.Unmarshal([]byte(r.Text), v); err != nil {
		return Failed(ParseFailed, "no JSON in the answer: "+err.Error())
	}
	return nil
}
