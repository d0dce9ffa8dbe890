// SPDX-License-Identifier: Apache-2.0

package llm

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestClassify(t *testing.T) {
	thinks := Model{Thinking: true}
	for _, c := range []struct {
		name    string
		model   Model
		answer  Answer
		outcome Outcome
		text    string
	}{
		// finish reason first
		{"C29 cut inside a tag", Model{}, Answer{Text: "<story>Once a lamp stood", FinishReason: "length"}, Truncated, ""},
		{"cut, though it looks whole", Model{}, Answer{Text: `{"label":"yes"}`, FinishReason: "length"}, Truncated, ""},
		{"cut in other words", Model{}, Answer{Text: "Once", FinishReason: "MAX_TOKENS"}, Truncated, ""},
		{"filter", Model{}, Answer{Text: "Once a la", FinishReason: "content_filter"}, Refusal, ""},
		{"refusal field", Model{}, Answer{Text: "", Refusal: "No.", FinishReason: "stop"}, Refusal, ""},
		{"refusal field and cut", Model{}, Answer{Refusal: "No, beca", FinishReason: "length"}, Refusal, ""},
		{"no finish reason", Model{}, Answer{Text: "Once."}, OK, "Once."},

		// reasoning
		{"C32 never closed", thinks, Answer{Text: "<think>Maybe the lamp was red", FinishReason: "length"}, TruncatedInReasoning, ""},
		{"never closed, undeclared", Model{}, Answer{Text: "<think>Maybe the lamp was red", FinishReason: "length"}, TruncatedInReasoning, ""},
		{"never closed, stopped by itself", thinks, Answer{Text: "<think>Maybe the lamp was red. Yes.", FinishReason: "stop"}, TruncatedInReasoning, ""},
		{"closed", thinks, Answer{Text: "<think>\nRed?\n</think>\n\nRed.", FinishReason: "stop"}, OK, "Red."},
		{"closed, another tag", Model{}, Answer{Text: "[THINK]Red?[/THINK]Red.", FinishReason: "stop"}, OK, "Red."},
		{"twice", thinks, Answer{Text: "<think>a</think>\n<think>b</think>Red.", FinishReason: "stop"}, OK, "Red."},
		{"only the closing tag, declared", thinks, Answer{Text: "Red, I think.</think>Red.", FinishReason: "stop"}, OK, "Red."},
		{"only the closing tag, undeclared, on its own line", Model{}, Answer{Text: "Red, I think.\n</think>\n\nRed.", FinishReason: "stop"}, OK, "Red."},
		{"closed and nothing after", thinks, Answer{Text: "<think>Red?</think>", FinishReason: "stop"}, Empty, ""},
		{"cut right after the thinking", thinks, Answer{Text: "<think>Red?</think>\n", FinishReason: "length"}, TruncatedInReasoning, ""},
		{"cut in a field of its own", Model{}, Answer{Reasoning: "Red, or", FinishReason: "length"}, TruncatedInReasoning, ""},
		{"C33 literal tag", Model{}, Answer{Text: "The rune read <think> and glowed.", FinishReason: "stop"}, OK, "The rune read <think> and glowed."},
		{"literal pair", Model{}, Answer{Text: "He wrote <think>red</think> on it.", FinishReason: "stop"}, OK, "He wrote <think>red</think> on it."},
		{"literal closing tag", Model{}, Answer{Text: "The rune read </think> and glowed.", FinishReason: "stop"}, OK, "The rune read </think> and glowed."},
		{"literal tag of a thinking model", thinks, Answer{Text: "<think>x</think>The rune read <think> and glowed.", FinishReason: "stop"}, OK, "The rune read <think> and glowed."},
		{"literal closing tag, reasoning in its own field", thinks, Answer{Text: "It read </think> there.", Reasoning: "x", FinishReason: "stop"}, OK, "It read </think> there."},

		// nothing
		{"C40 empty with reasoning", Model{}, Answer{Reasoning: "No error found.", FinishReason: "stop"}, Empty, ""},
		{"white space", Model{}, Answer{Text: " \n\u200b\ufeff", FinishReason: "stop"}, Empty, ""},
		{"end mark", Model{}, Answer{Text: "<|im_end|>", FinishReason: "stop"}, Empty, ""},

		// refusals in words
		{"C37", Model{}, Answer{Text: "I'm sorry, but I can't help with that.", FinishReason: "stop"}, Refusal, ""},
		{"curly", Model{}, Answer{Text: "I’m sorry, but I can’t assist with that request.", FinishReason: "stop"}, Refusal, ""},
		{"without sorry", Model{}, Answer{Text: "I cannot create content that depicts violence. Let me know if there is something else.", FinishReason: "stop"}, Refusal, ""},
		{"as an AI", Model{}, Answer{Text: "As an AI language model, I am unable to write this story.", FinishReason: "stop"}, Refusal, ""},
		{"Chinese", Model{}, Answer{Text: "抱歉，我无法协助完成这个请求。", FinishReason: "stop"}, Refusal, ""},
		{"German", Model{}, Answer{Text: "Es tut mir leid, aber ich kann dabei nicht helfen.", FinishReason: "stop"}, Refusal, ""},
		{"speech", Model{}, Answer{Text: "“I'm sorry, but I can't help with that,” said the clerk.", FinishReason: "stop"}, OK, "“I'm sorry, but I can't help with that,” said the clerk."},
		{"a story that begins sorry", Model{}, Answer{Text: "I'm sorry I went. The lamp was out.", FinishReason: "stop"}, OK, "I'm sorry I went. The lamp was out."},
		{"unable to walk", Model{}, Answer{Text: "Unfortunately, I can't walk any more, wrote Mara.", FinishReason: "stop"}, OK, "Unfortunately, I can't walk any more, wrote Mara."},
		{"an apology before the form", Model{}, Answer{Text: `I'm sorry, but I can't do this well: {"label":"no"}`, FinishReason: "stop"}, OK, `I'm sorry, but I can't do this well: {"label":"no"}`},

		// errors
		{"error", Model{}, Answer{Error: &CallError{Status: 400, Code: "context_length_exceeded", Message: "too long"}}, APIError, ""},
		{"filtered prompt", Model{}, Answer{Error: &CallError{Status: 400, Code: "content_filter", Message: "no"}}, Refusal, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, outcome, reason := Classify(c.model, Request{}, c.answer)
			if outcome != c.outcome {
				t.Fatalf("outcome %s (%s), want %s", outcome, reason, c.outcome)
			}
			if (r != nil) != (outcome == OK) {
				t.Fatalf("reply %v with outcome %s", r, outcome)
			}
			if r != nil && r.Text != c.text {
				t.Errorf("text %q, want %q", r.Text, c.text)
			}
			if r == nil && reason == "" {
				t.Error("no reason")
			}
		})
	}
}

func TestPromptCut(t *testing.T) {
	story := strings.Repeat("The old keeper lit the lamp at dusk, and nobody on the quay saw him go. ", 300)
	req := Request{Messages: []Message{{Role: "user", Content: story}}}
	whole := PromptTokens(req)
	for _, c := range []struct {
		name string
		seen int
		cut  bool
	}{
		{"as we count", whole, false},
		{"another vocabulary", whole * 85 / 100, false},
		{"not counted", 0, false},
		{"half", whole / 2, true},
		{"a round context window", 4096, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, outcome, reason := Classify(Model{}, req, Answer{Text: "Yes.", FinishReason: "stop", Usage: Usage{PromptTokens: c.seen}})
			if got := outcome == PromptCut; got != c.cut {
				t.Errorf("%d of %d tokens: outcome %s (%s)", c.seen, whole, outcome, reason)
			}
		})
	}
	short := Request{Messages: []Message{{Role: "user", Content: "Is the lamp red?"}}}
	if _, outcome, _ := Classify(Model{}, short, Answer{Text: "Yes.", Usage: Usage{PromptTokens: 3}}); outcome != OK {
		t.Errorf("short prompt: %s", outcome)
	}
}

// How far the quick estimate may be from the good one on prose, in the
// direction that matters: too low would hide a cut prompt.
func TestRoughTokensNearOnProse(t *testing.T) {
	for _, s := range []string{
		"“We should turn back,” Ada said. “The lamp is out.” “Are you sure?” Tom asked, and he looked at the 12 boats.",
		"It was the best of lamps, it was the worst of lamps; it was the age of oil, and everybody in the lighthouse was extraordinarily tired.",
		"Der alte Wärter zündete die Lampe an, und niemand sah ihn gehen.",
	} {
		rough, good := RoughTokens(s), CountTokens(s)
		if r := float64(rough) / float64(good); r < 0.75 || r > 1.35 {
			t.Errorf("rough %d, counted %d: %q", rough, good, s)
		}
	}
}

func TestTag(t *testing.T) {
	prefill := Request{Messages: []Message{{Role: "user", Content: "Tell it."}, {Role: "assistant", Content: "<story>"}}}
	asked := Request{Messages: []Message{{Role: "user", Content: "Write between <story> and </story>.\n<story>"}}}
	stop := Request{Params: Params{Stop: []string{"</story>"}}}
	example := Request{Messages: []Message{{Role: "user", Content: "Like this:\n<story>\nYour story, told in three sentences.\n</story>"}}}
	for _, c := range []struct {
		name    string
		req     Request
		allow   bool
		text    string
		want    string
		outcome Outcome
	}{
		{"plain", Request{}, false, "<story>Once.</story>", "Once.", OK},
		{"prose around, case, attribute", Request{}, false, "Sure!\n<Story lang=\"en\">\nOnce.\n</STORY>\nHope it helps.", "Once.", OK},
		{"named in a sentence first", Request{}, false, "I will put it in <story> tags.\n<story>Once.</story>", "Once.", OK},
		{"twice", Request{}, false, "<story>One.</story>\nBetter:\n<story>Two.</story>", "Two.", OK},
		{"literal inside", Request{}, false, "<story>It read <story> in gold.</story>", "It read <story> in gold.", OK},
		{"closing tag too many", Request{}, false, "<story>Once.</story></story>", "Once.", OK},
		{"opened by the answer's beginning", prefill, false, "Once.</story> Good?", "Once.", OK},
		{"opened by the prompt's end", asked, false, "Once.</story>", "Once.", OK},
		{"not opened at all", Request{}, false, "Once.</story>", "Once.", Repaired},
		{"C30 never closed", Request{}, false, "<story>Once a lamp stood", "", UnclosedTag},
		{"C30 never closed, allowed", Request{}, true, "<story>Once a lamp stood", "Once a lamp stood", UnclosedTag},
		{"opened by the prompt, never closed", prefill, false, "Once a lamp stood", "", UnclosedTag},
		{"ended by the stop sequence", stop, false, "<story>Once.", "Once.", OK},
		{"second version never closed", Request{}, false, "<story>One.</story>\nBetter:\n<story>Two", "", UnclosedTag},
		{"fence inside", Request{}, false, "<story>\n```text\nOnce.\n```\n</story>", "Once.", Fenced},
		{"fence around", Request{}, false, "```xml\n<story>Once.</story>\n```", "Once.", OK},
		{"nothing inside", Request{}, false, "<story>\n</story>", "", Empty},
		{"refusal inside", Request{}, false, "<story>I'm sorry, but I can't write that story.</story>", "", Refusal},
		{"placeholder", Request{}, false, "<story>...</story>", "", Echo},
		{"the prompt's example", example, false, "<story>Your story,  told in three sentences.</story>", "", Echo},
		{"no tag", Request{}, false, "Once.", "", ParseFailed},
		{"another tag", Request{}, false, "<storyteller>Once.</storyteller>", "", ParseFailed},
		{"blank for underscore", Request{}, false, "<sto-ry>x</sto-ry>", "", ParseFailed},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := NewReply(c.text)
			r.Request, r.allowUnclosed = c.req, c.allow
			got, err := r.Tag("story")
			if o := outcomeOf(r, err); o != c.outcome || got != c.want {
				t.Errorf("%q, %s (%v); want %q, %s", got, o, err, c.want, c.outcome)
			}
		})
	}
	r := NewReply("<new-ending>x</New_Ending>")
	if got, err := r.Tag("new_ending"); got != "x" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func outcomeOf(r *Reply, err error) Outcome {
	var de *DecodeError
	if errors.As(err, &de) {
		return de.Outcome
	}
	if err != nil {
		return "error"
	}
	return r.Outcome()
}

type verdict struct {
	Label string   `json:"label"`
	Line  int      `json:"line,omitempty"`
	Sure  bool     `json:"sure,omitempty"`
	Score float64  `json:"score,omitempty"`
	Why   []string `json:"why,omitempty"`
}

func TestJSON(t *testing.T) {
	yes := verdict{Label: "yes"}
	example := Request{Messages: []Message{{Role: "user", Content: `Answer like {"label": "the lamp was red, later blue"} or {"label": "yes"}.`}}}
	for _, c := range []struct {
		name    string
		req     Request
		text    string
		want    verdict
		outcome Outcome
	}{
		{"plain", Request{}, `{"label":"yes","line":3,"sure":true,"score":0.5,"why":["a"]}`, verdict{"yes", 3, true, 0.5, []string{"a"}}, OK},
		{"C28", Request{}, "```json\n{\"label\":\"yes\"}\n```\nHope this helps!", yes, Fenced},
		{"fence in another language", Request{}, "~~~jsonc\n{\"label\":\"yes\"}\n~~~", yes, Fenced},
		{"fence never closed", Request{}, "```\n{\"label\":\"yes\"}", yes, Fenced},
		{"fence on one line", Request{}, "```json {\"label\":\"yes\"}```", yes, Fenced},
		{"fence with backticks inside", Request{}, "````json\n{\"label\":\"yes\",\"why\":[\"```\"]}\n````", verdict{Label: "yes", Why: []string{"```"}}, Fenced},
		{"prose before and after", Request{}, "Here it is: {\"label\":\"yes\"} as {you} asked.", yes, Fenced},
		{"two fences", Request{}, "```json\n{\"label\":\"no\"}\n```\nCorrected:\n```json\n{\"label\":\"yes\"}\n```", yes, Fenced},
		{"trailing comma", Request{}, `{"label":"yes","why":["a",],}`, verdict{Label: "yes", Why: []string{"a"}}, Repaired},
		{"smart quotation marks", Request{}, `{“label”: “yes”, “why”: [“a”, “b”]}`, verdict{Label: "yes", Why: []string{"a", "b"}}, Repaired},
		{"smart marks inside stay", Request{}, `{"label":"“yes”"}`, verdict{Label: "“yes”"}, OK},
		{"Python", Request{}, `{'label': 'yes', 'sure': True, 'why': None}`, verdict{Label: "yes", Sure: true}, Repaired},
		{"apostrophe in single marks", Request{}, `{'label': 'it's yes'}`, verdict{Label: "it's yes"}, Repaired},
		{"marks not escaped", Request{}, `{"label":"he said "yes", and left","line":2}`, verdict{Label: `he said "yes", and left`, Line: 2}, Repaired},
		{"line break in a string", Request{}, "{\"label\":\"yes\nno\"}", verdict{Label: "yes\nno"}, Repaired},
		{"keys without marks", Request{}, `{label: "yes", line: 4}`, verdict{Label: "yes", Line: 4}, Repaired},
		{"comments", Request{}, "{\"label\":\"yes\" // sure\n}", yes, Repaired},
		{"missing comma", Request{}, "{\"label\":\"yes\"\n\"line\":4}", verdict{Label: "yes", Line: 4}, Repaired},
		{"another case", Request{}, `{"Label":"yes"}`, yes, Repaired},
		{"wrapper", Request{}, `{"result":{"label":"yes"}}`, yes, Repaired},
		{"wrapper string", Request{}, `{"answer":"{\"label\":\"yes\"}"}`, yes, Repaired},
		{"list of one", Request{}, `[{"label":"yes"}]`, yes, Repaired},
		{"list of two", Request{}, `[{"label":"yes"},{"label":"no"}]`, verdict{}, ParseFailed},
		{"strings for numbers", Request{}, `{"label":"yes","line":"3","score":"0.5","sure":"true"}`, verdict{"yes", 3, true, 0.5, nil}, Repaired},
		{"one value for a list", Request{}, `{"label":"yes","why":"because"}`, verdict{Label: "yes", Why: []string{"because"}}, Repaired},
		{"none for a list", Request{}, `{"label":"yes","why":"none"}`, verdict{Label: "yes", Why: []string{}}, Repaired},
		{"half a number", Request{}, `{"label":"yes","line":3.5}`, verdict{}, ParseFailed},
		{"key missing", Request{}, `{"line":3}`, verdict{}, ParseFailed},
		{"null label", Request{}, `{"label":null}`, verdict{Label: ""}, OK},
		{"no JSON", Request{}, `yes`, verdict{}, ParseFailed},
		{"cut", Request{}, `{"label":"yes","why":["a","b`, verdict{}, Truncated},
		{"cut after a member", Request{}, `{"label":"yes"`, verdict{}, Truncated},
		{"only the bracket missing", Request{}, `{"label":"yes","line":1,"sure":true,"score":1,"why":["a"]`, verdict{"yes", 1, true, 1, []string{"a"}}, Repaired},
		{"second version cut", Request{}, "{\"label\":\"no\"}\nCorrected:\n{\"label\":\"y", verdict{}, Truncated},
		{"the prompt's example, long", example, `{"label":"the lamp was red, later blue"}`, verdict{}, Echo},
		{"the prompt's example, short", example, `{"label":"yes"}`, yes, OK},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := NewReply(c.text)
			r.Request = c.req
			var got verdict
			err := r.JSON(&got)
			if o := outcomeOf(r, err); o != c.outcome || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%+v, %s (%v, %q); want %+v, %s", got, o, err, r.Notes(), c.want, c.outcome)
			}
		})
	}
}

func TestJSONList(t *testing.T) {
	for _, text := range []string{`[{"label":"a"},{"label":"b"}]`, `{"facts":[{"label":"a"},{"label":"b"}]}`} {
		var got []verdict
		if err := NewReply(text).JSON(&got); err != nil || len(got) != 2 {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	var got []verdict
	if err := NewReply(`{"label":"a"}`).JSON(&got); err != nil || len(got) != 1 {
		t.Errorf("one object: %+v, %v", got, err)
	}
}

func TestLists(t *testing.T) {
	spec := ListSpec{Keys: []string{"name_errors", "time_errors"}, Aliases: map[string]string{"naming_errors": "name_errors"}, By: "kind", Evidence: []string{"quote"}}
	prompt := Request{Messages: []Message{{Role: "user", Content: `Example: {"name_errors":[{"quote":"Mara was called Marta here."}]}`}}}
	for _, c := range []struct {
		name    string
		req     Request
		text    string
		want    [2]int
		outcome Outcome
	}{
		{"plain", Request{}, `{"name_errors":[{"quote":"a"}],"time_errors":[]}`, [2]int{1, 0}, OK},
		{"alias", Request{}, `{"naming_errors":[{"quote":"a"}],"time_errors":[]}`, [2]int{1, 0}, OK},
		{"nothing found", Request{}, `{"name_errors":[],"time_errors":null}`, [2]int{}, OK},
		{"one wrapper a list", Request{}, `{"name_errors":{"items":[{"quote":"a"},{"quote":"b"}]}}`, [2]int{2, 0}, Repaired},
		{"two wrappers", Request{}, `{"names":{"name_errors":[{"quote":"a"}]},"times":{"time_errors":[{"quote":"b"}]}}`, [2]int{1, 1}, Repaired},
		{"split over a list", Request{}, `[{"name_errors":[{"quote":"a"}]},{"time_errors":[{"quote":"b"}]}]`, [2]int{1, 1}, Repaired},
		{"a key twice", Request{}, `{"name_errors":[{"quote":"a"}],"name_errors":[{"quote":"b"}]}`, [2]int{2, 0}, OK},
		{"flat", Request{}, `[{"kind":"name_error","quote":"a"},{"kind":"Time Errors","quote":"b"}]`, [2]int{1, 1}, Repaired},
		{"flat, each word in the singular", Request{}, `[{"kind":"Times Error","quote":"b"}]`, [2]int{0, 1}, Repaired},
		{"flat in a wrapper", Request{}, `{"errors":[{"kind":"name_error","quote":"a"}]}`, [2]int{1, 0}, Repaired},
		{"flat of unknown kind", Request{}, `[{"kind":"spelling","quote":"a"}]`, [2]int{}, ParseFailed},
		{"misnamed, told by its kind", Request{}, `{"names":[{"kind":"name_error","quote":"a"}],"time_errors":[]}`, [2]int{1, 0}, Repaired},
		{"misnamed, of no known kind", Request{}, `{"names":[{"quote":"a"}],"time_errors":[]}`, [2]int{}, MalformedItems},
		{"misnamed beside others", Request{}, `{"names":[{"quote":"a"}],"time_errors":[{"quote":"b"}]}`, [2]int{0, 1}, Repaired},
		{"more than was asked for", Request{}, `{"name_errors":[],"time_errors":[],"place_errors":[{"quote":"a"}]}`, [2]int{}, Repaired},
		{"remarks beside the lists", Request{}, `{"name_errors":[],"notes":["none"],"sources":[{"url":"x"}]}`, [2]int{}, OK},
		{"lines", Request{}, "name errors: none\n`time_errors`: [{\"quote\":\"b\"}]", [2]int{0, 1}, Repaired},
		{"headings", Request{}, "## Name Errors\n\nNone found.\n\n## Time Errors\n```json\n[{\"quote\":\"b\"}]\n```", [2]int{0, 1}, Repaired},
		{"headings with prose", Request{}, "## Name Errors\nMara is called Marta once.\n## Time Errors\nNone.", [2]int{}, MalformedItems},
		{"some malformed", Request{}, `{"name_errors":["Mara",{"quote":"a"}]}`, [2]int{1, 0}, Repaired},
		{"cut", Request{}, `{"name_errors":[{"quote":"a"}],"time_err`, [2]int{}, Truncated},
		{"cut in prose", Request{}, "Here: {\"name_errors\":[{\"quote\":\"a\"}", [2]int{}, Truncated},
		{"only brackets missing", Request{}, `{"name_errors":[{"quote":"a"}],"time_errors":[]`, [2]int{1, 0}, Repaired},
		{"empty object", Request{}, `{}`, [2]int{}, ParseFailed},
		{"empty list", Request{}, `[]`, [2]int{}, ParseFailed},
		{"prose", Request{}, `There are no errors.`, [2]int{}, ParseFailed},
		{"the prompt's example", prompt, `{"name_errors":[{"quote":"Mara was called Marta here."}],"time_errors":[{"quote":"b"}]}`, [2]int{0, 1}, OK},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := NewReply(c.text)
			r.Request = c.req
			lists, err := r.Lists(spec)
			var got [2]int
			for i, l := range lists {
				got[i] = len(l.Items)
				for _, item := range l.Items {
					if !json.Valid(item) {
						t.Errorf("item %s is no JSON", item)
					}
				}
			}
			if o := outcomeOf(r, err); o != c.outcome || got != c.want {
				t.Errorf("%v, %s (%v, %q); want %v, %s", got, o, err, r.Notes(), c.want, c.outcome)
			}
		})
	}
}

func TestSections(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       map[string]string
	}{
		{"markdown", "## Error Sentence\nThe lamp was blue.\n\n## Why\nIt was red.", map[string]string{"error sentence": "The lamp was blue.", "why": "It was red."}},
		{"labels", "Error sentence: The lamp was blue.\nWhy: It was red.\nAlways.", map[string]string{"error sentence": "The lamp was blue.", "why": "It was red.\nAlways."}},
		{"bold", "**Error Sentence:** The lamp was blue.\n**Why**: It was red.", map[string]string{"error sentence": "The lamp was blue.", "why": "It was red."}},
		{"numbered", "1. Error sentence\nThe lamp was blue.\n2) **Why**\nIt was red.", map[string]string{"error sentence": "The lamp was blue.", "why": "It was red."}},
		{"sentence with the word", "Why\nWhy he came, nobody knew.", map[string]string{"why": "Why he came, nobody knew."}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := NewReply(c.text).Sections("error sentence", "why")
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%q, %v; want %q", got, err, c.want)
			}
		})
	}
	if _, err := NewReply("Nothing of the kind.").Sections("why"); outcomeOf(NewReply(""), err) != ParseFailed {
		t.Errorf("no heading: %v", err)
	}
}

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"Once.":                       "Once.",
		"```\nOnce.\n```":             "Once.",
		"```text\nOnce.\nTwice.\n```": "Once.\nTwice.",
		"See:\n```\nx\n```\nEnd.":     "See:\n```\nx\n```\nEnd.",
	} {
		if got, err := NewReply(in).Plain(); got != want || err != nil {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
}

// The reader is our own, so the standard library is the judge of it: what
// encoding/json takes it takes strictly, to the same value, and what it takes
// strictly encoding/json takes.
func FuzzReader(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e3,"x\u00e9\ud83d\ude00\n",true,null,{}]}`, `[[],{"":-0}]`, `{"a":"b"c"}`, `{"a":1,}`, `[1 2]`, "{\"a\":\"\x01\"}", `{"{"{"{`, `{“a”:“b”}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		budget := 10*len(s) + 1000
		r := reader{s: s, budget: &budget}
		n, err := r.value(false)
		accepted := err == nil && strings.Trim(s[r.i:], " \t\r\n") == ""
		var want any
		valid := json.Unmarshal([]byte(s), &want) == nil
		if accepted != valid && !strings.Contains(s, strings.Repeat("[", 50)) && !strings.Contains(s, strings.Repeat("{", 50)) && len(s) < 5000 {
			t.Fatalf("%q: accepted %v, encoding/json %v (%v)", s, accepted, valid, err)
		}
		if accepted && valid {
			out := n.appendJSON(nil)
			var got any
			if err := json.Unmarshal(out, &got); err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%q became %q (%v)", s, out, err)
			}
		}
		for _, v := range findJSON(s) {
			if !json.Valid(v.node.appendJSON(nil)) {
				t.Fatalf("%q: %q is no JSON", s, v.node.appendJSON(nil))
			}
			if v.start < 0 || v.end > len(s) || v.start >= v.end {
				t.Fatalf("%q: span [%d,%d)", s, v.start, v.end)
			}
		}
	})
}

// No answer may bring a decoder down, and every one gets a class.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{"<story>a</story>", "</story><story>", "<think>x", "## Why\n- a", "```json\n{", "key: [", "a_errors: [1]\n\n**Why:**"} {
		f.Add(s, "stop")
	}
	spec := ListSpec{Keys: []string{"key", "a_errors"}, By: "kind", Evidence: []string{"quote"}}
	f.Fuzz(func(t *testing.T, s, finish string) {
		r, outcome, reason := Classify(Model{Thinking: len(s)%2 == 0}, Request{}, Answer{Text: s, FinishReason: finish})
		if r == nil {
			if outcome == OK || reason == "" {
				t.Fatalf("no reply, outcome %q, reason %q", outcome, reason)
			}
			return
		}
		for _, read := range []func(*Reply) error{
			func(r *Reply) error { _, err := r.Tag("story"); return err },
			func(r *Reply) error { _, err := r.Plain(); return err },
			func(r *Reply) error { _, err := r.Sections("why", "what else"); return err },
			func(r *Reply) error { _, err := r.Lists(spec); return err },
			func(r *Reply) error { var v verdict; return r.JSON(&v) },
		} {
			c := *r
			err := read(&c)
			var de *DecodeError
			if err != nil && !errors.As(err, &de) {
				t.Fatalf("%q: %v is not a verdict", s, err)
			}
		}
	})
}

// Time to give up must not grow with the square of an answer made to hurt.
func TestHostileAnswersAreCheap(t *testing.T) {
	for _, unit := range []string{`{"`, `[`, `{"a":`, "`", "```\n", `{'a':"`, `<story>`, `</story>`, "<think>", `“`, "\\\"", "# a\n",
		"{}", `{"a":1}`, "<story></story>", "[1,2,", `{"a":{"b":[`} {
		s := strings.Repeat(unit, 50_000/len(unit))
		r := NewReply(s)
		_, _ = r.Tag("story")
		_, _ = r.Plain()
		_, _ = r.Lists(ListSpec{Keys: []string{"a"}})
		var v verdict
		_ = r.JSON(&v)
		_, _, _ = Classify(Model{}, Request{}, Answer{Text: s})
	}
	nested := strings.Repeat(`{"a":`, 150) + `{"label":"yes"}` + strings.Repeat("}", 150)
	if err := NewReply(nested).JSON(new(verdict)); err == nil {
		t.Error("a wrapper 150 deep was looked through")
	}
}
