// SPDX-License-Identifier: Apache-2.0

package llm

// Outcome is the class of an answer after it was read. ok, fenced and repaired
// carry a value, unclosed_tag where the call allows it ([Result.OK] knows); all
// others mean that nobody answered, never that the answer was "nothing found".
type Outcome string

// The outcomes. Usable ones first.
const (
	OK          Outcome = "ok"           // read as asked for
	Fenced      Outcome = "fenced"       // read from inside a code fence, or with prose around it
	Repaired    Outcome = "repaired"     // read after a repair that cannot change the meaning (see Reply.Notes)
	UnclosedTag Outcome = "unclosed_tag" // a tag was opened and never closed though the model stopped by itself; a value only where the call allows

	Empty                Outcome = "empty"                  // no content, reasoning or not
	Refusal              Outcome = "refusal"                // refusal field, content filter, or a refusal in words
	Truncated            Outcome = "truncated"              // finish_reason length, or text that ends inside its own structure
	TruncatedInReasoning Outcome = "truncated_in_reasoning" // thinking never closed: there is no answer
	ParseFailed          Outcome = "parse_failed"           // an answer, but not in the form asked for
	MalformedItems       Outcome = "malformed_items"        // lists were found, but nothing in them has the form asked for
	Echo                 Outcome = "echo"                   // the prompt's own example or placeholder came back
	APIError             Outcome = "api_error"              // the server refused this request for good
	PromptCut            Outcome = "prompt_cut"             // the server saw far fewer tokens than the prompt has
	NoRule               Outcome = "no_rule"                // the rules engine cannot know: null
	Pending              Outcome = "pending"                // not answered yet
)

// Usable reports whether an outcome always carries a value.
func (o Outcome) Usable() bool { return o == OK || o == Fenced || o == Repaired }

// DecodeError is a decoder's verdict that an answer cannot be read.
type DecodeError struct {
	Outcome Outcome
	Reason  string
}

func (e *DecodeError) Error() string { return string(e.Outcome) + ": " + e.Reason }

// Failed makes the error with which a decoder gives an answer up.
func Failed(o Outcome, reason string) error { return &DecodeError{Outcome: o, Reason: reason} }
