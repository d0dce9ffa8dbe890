// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"slices"
	"strings"
	"testing"
)

const goodAnswer = `<response>
<explanation>
The cloak is red, then blue.
</explanation>

<error_lines>
- "He took off his blue cloak."
2. He hung the blue cloak on a nail.
</error_lines>

<contradicted_lines>
<li>The miller wore a red cloak.</li>
</contradicted_lines>

<decision>
There is a continuity error in the story concerning the cloak.
</decision>
</response>`

func TestReadAnswer(t *testing.T) {
	errs := []string{`"He took off his blue cloak."`, "He hung the blue cloak on a nail."}
	contras := []string{"The miller wore a red cloak."}
	type want struct {
		outcome, label string
		errors         []string
		contras        []string
	}
	yes := want{"ok", "error", errs, contras}
	replace := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(goodAnswer) }
	for _, c := range []struct {
		name, in, finish string
		want             want
	}{
		{"as asked", goodAnswer, "stop", yes},
		{"unknown finish", goodAnswer, "", yes},
		{"in a fence, with a greeting", "Sure!\n```xml\n" + goodAnswer + "\n```\nHope this helps!", "stop", yes},
		{"thinking first", "<think>\n<decision>No continuity error found</decision>\n</think>\n" + goodAnswer, "stop", yes},
		{"thinking without its start", "hm, red... </think>" + goodAnswer, "stop", yes},
		{"scratchpad", "<scratchpad>Answer: no?\n<error_lines>x</error_lines></scratchpad>" + goodAnswer, "stop", yes},
		{"upper case and escapes", replace("<error_lines>", `<ERROR\_LINES>`, "</decision>", "</Decision >"), "stop", yes},
		{"zero-width in tags", replace("<decision>", "<deci\u200bsion>"), "stop", yes},
		{"cut by a stop sequence", strings.Split(goodAnswer, "</decision>")[0], "stop", yes},
		{"length, but decided", goodAnswer, "length", yes},
		{"end tag forgotten", replace("</error_lines>", ""), "stop", yes},
		{"no decision field, but an answer line", replace("<decision>", "ANSWER: **Yes**\n", "</decision>", "",
			"There is a continuity error in the story concerning the cloak.", ""), "stop", yes},
		{"a consistent story", "<response><explanation>Fine.</explanation><error_lines>N/A</error_lines><contradicted_lines>\nNone\n</contradicted_lines><decision>No continuity error found</decision></response>", "stop",
			want{"ok", "consistent", []string{}, []string{}}},
		{"no with lines keeps both", replace("There is a continuity error in the story concerning the cloak.", "No continuity error found"), "stop",
			want{"ok", "consistent", errs, contras}},
		{"a bare decision", "No continuity error found.", "stop", want{"ok", "consistent", nil, nil}},
		{"a bare yes", "**Yes**", "stop", want{"ok", "error", nil, nil}},
		{"the same decision twice", goodAnswer + "\n" + goodAnswer, "stop", yes},

		{"empty", " \n\t", "stop", want{"empty", "", nil, nil}},
		{"only thinking", "<think>red, blue</think>\n", "stop", want{"empty", "", nil, nil}},
		{"thinking never closed", "<think>Maybe the lamp was red. ANSWER: yes", "length", want{"truncated_in_reasoning", "", nil, nil}},
		{"empty by length", "", "length", want{"truncated", "", nil, nil}},
		{"cut in the explanation", "<response><explanation>The cloak is", "length", want{"truncated", "", nil, nil}},
		{"cut, finish unknown", "<response><explanation>The cloak is", "", want{"truncated", "", nil, nil}},
		{"cut inside the decision", "<decision>There is a continuity er", "max_tokens", want{"truncated", "", nil, nil}},
		{"refusal", "I'm sorry, but I can't help with that.", "stop", want{"refusal", "", nil, nil}},
		{"content filter", goodAnswer, "content_filter", want{"refusal", "", nil, nil}},
		{"decisions differ", goodAnswer + "<decision>No continuity error found</decision>", "stop", want{"parse_failed", "", errs, contras}},
		{"decision says both", "<decision>Yes or No</decision>", "stop", want{"parse_failed", "", nil, nil}},
		{"empty decision", "<decision></decision>", "stop", want{"parse_failed", "", nil, nil}},
		{"the form echoed", "<decision>[State your decision; write \"No continuity error found\" if there is none]</decision>", "stop", want{"parse_failed", "", nil, nil}},
		{"an essay", strings.Repeat("The story is well told and I liked it. ", 10), "stop", want{"parse_failed", "", nil, nil}},
	} {
		a := ReadAnswer(c.in, c.finish)
		got := want{a.Outcome, a.Label, a.ErrorLines, a.ContradictedLines}
		if got.outcome != c.want.outcome || got.label != c.want.label ||
			!slices.Equal(got.errors, c.want.errors) || !slices.Equal(got.contras, c.want.contras) ||
			(got.errors == nil) != (c.want.errors == nil) {
			t.Errorf("%s:\n got %q\nwant %q (why: %s)", c.name, got, c.want, a.Why)
		}
		if (a.Outcome == OutcomeOK) != (a.Label != "") || a.Outcome != OutcomeOK && a.Why == "" {
			t.Errorf("%s: outcome %q with label %q and reason %q", c.name, a.Outcome, a.Label, a.Why)
		}
	}
}

func FuzzReadAnswer(f *testing.F) {
	f.Add(goodAnswer, "stop")
	f.Add("<think><decision>", "length")
	f.Add("ANSWER:\n\n:yes", "")
	f.Fuzz(func(t *testing.T, s, finish string) {
		a := ReadAnswer(s, finish)
		if (a.Outcome == OutcomeOK) != (a.Label == "error" || a.Label == "consistent") {
			t.Fatalf("outcome %q, label %q", a.Outcome, a.Label)
		}
		// Invisible characters decide nothing.
		if b := ReadAnswer("\u200b"+s+"\ufeff", finish); b.Outcome != a.Outcome || b.Label != a.Label {
			t.Fatalf("with invisible characters: %q %q, without: %q %q", b.Outcome, b.Label, a.Outcome, a.Label)
		}
	})
}
