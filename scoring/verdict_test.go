// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/retcon-bench/retcon/schemas"
)

// said makes a completion of the form the prompts ask for.
func said(errorLines, contradictedLines, decision string) string {
	return "<response>\n<explanation>\nBecause.\n</explanation>\n<error_lines>\n" + errorLines +
		"\n</error_lines>\n<contradicted_lines>\n" + contradictedLines +
		"\n</contradicted_lines>\n<decision>\n" + decision + "\n</decision>\n</response>"
}

const (
	foundIt   = "There is a continuity error in the story concerning the cloak."
	foundNone = "No continuity error found"
	blueCloak = "His blue cloak caught on the wheel"
	redCloak  = "He wore a red cloak that his mother had sewn."
)

// TestAdversarial says what answers that try their luck get from each scorer,
// on a story with an error and on one without. Columns: outcome, label as
// read, CEEval, flags (o over-quoted, i inconsistent, u unmapped quotes).
func TestAdversarial(t *testing.T) {
	clean := row("rc-clean", "clean", millStory, nil, nil)
	key := keyOf(t, millRow(), clean)
	var every []string
	for i, s := range millStory {
		every = append(every, fmt.Sprintf("%d. %s", i+1, s))
	}
	list := strings.Join(every, "\n")
	whole := strings.Join(millStory, " ")
	for _, c := range []struct {
		name, completion  string
		standard, compat  string // on the story with an error
		cleanStd, cleanCo string // on the one without
	}{
		{"right", said(blueCloak, redCloak, foundIt),
			"ok error 1", "ok error 1", "ok error 0", "ok error 0"},
		{"sides swapped", said(redCloak, blueCloak, foundIt),
			"ok error 0", "ok error 0", "ok error 0", "ok error 0"},
		{"no quotes", said("", "", foundIt),
			"ok error 0", "ok error 0", "ok error 0", "ok error 0"},
		{"empty quotes", said(`""`, "“”", foundIt),
			"ok error 0 u2", "ok error 1 o", "ok error 0 u2", "ok error 0 o"},
		{"the", said("the", "the", foundIt),
			"ok error 0 u2", "ok error 1 o", "ok error 0 u2", "ok error 0 o"},
		{"the whole story", said(whole, whole, foundIt),
			"ok error 0 o", "ok error 1 o", "ok error 0 o", "ok error 0 o"},
		{"every sentence listed", said(list, list, foundIt),
			"ok error 0 o u8", "ok error 1 o", "ok error 0 o u8", "ok error 0 o"},
		{"every sentence, gold among the first five", said(list, strings.Join(every[:2], "\n"), foundIt),
			"ok error 0 o u4", "ok error 1 o", "ok error 0 o u4", "ok error 0 o"},
		{"no, with lines", said(blueCloak, redCloak, foundNone),
			"ok consistent 0 i", "ok consistent 0 i", "ok consistent 1 i", "ok consistent 1 i"},
		{"zero-width characters", said("His\u200b blue cloak\u2060 caught on", "He wore\u200d a red cloak", "There is a continuity\u200b error."),
			"ok error 1", "ok error 1", "ok error 0", "ok error 0"},
		{"zero-width in the phrase", said("", "", "No\u200b continuity error found"),
			"ok consistent 0", "ok consistent 0", "ok consistent 1", "ok consistent 1"},
		{"other quote marks", said("„His blue cloak caught on the wheel“", "« He wore a red cloak that his mother had sewn. »", foundIt),
			"ok error 1", "ok error 1", "ok error 0", "ok error 0"},
		{"corner quotes and guillemets", said("「His blue cloak caught on the wheel」", "‹He wore a red cloak that his mother had sewn.›", foundIt),
			"ok error 1", "ok error 1", "ok error 0", "ok error 0"},
		{"Markdown quotes", said("> **His blue cloak** caught on the *wheel*", "- `He wore a red cloak that his mother had sewn.`", foundIt),
			"ok error 1", "ok error 1", "ok error 0", "ok error 0"},
		{"list tags", said("<li>His blue cloak caught on the wheel</li>", "<ul><li>He wore a red cloak that his mother had sewn.</li></ul>", foundIt),
			"ok error 1", "ok error 1", "ok error 0", "ok error 0"},
		{"three words", said("blue cloak caught", "wore a red", foundIt),
			"ok error 0 u2", "ok error 1", "ok error 0 u2", "ok error 0"},
		{"one letter", said("e", "e", foundIt),
			"ok error 0 u2", "ok error 1 o", "ok error 0 u2", "ok error 0 o"},
		{"the same quote a hundred times", said(strings.Repeat(blueCloak+"\n", 100), redCloak, foundIt),
			"ok error 1", "ok error 1", "ok error 0", "ok error 0"},
		{"decorated yes", said(blueCloak, redCloak, "ANSWER: **Yes**"),
			"ok error 1", "ok error 1", "ok error 0", "ok error 0"},
		{"decorated no", said("", "", "$\\boxed{No}$"),
			"ok consistent 0", "ok error 0", "ok consistent 1", "ok error 0"},
		{"no in other words", said("", "", "The story has no continuity errors."),
			"ok consistent 0", "ok error 0", "ok consistent 1", "ok error 0"},
		{"yes or no", said(blueCloak, redCloak, "Yes or No"),
			"parse_failed  0", "ok error 1", "parse_failed  0", "ok error 0"},
		{"negated", said(blueCloak, redCloak, "I do not think that no continuity error found is right."),
			"parse_failed  0", "ok consistent 0 i", "parse_failed  0", "ok consistent 1 i"},
		{"both decisions", said(blueCloak, redCloak, foundIt) + said("", "", foundNone),
			"parse_failed  0", "ok error 1", "parse_failed  0", "ok error 0"},
		{"refusal", "I'm sorry, but I can't help with that.",
			"refusal  0", "refusal  0", "refusal  0", "refusal  0"},
		{"cut short", "<response><explanation>The cloak",
			"truncated  0", "truncated  0", "truncated  0", "truncated  0"},
		{"nothing", "", "empty  0", "empty  0", "empty  0", "empty  0"},
	} {
		for i, it := range key.Items() {
			p := schemas.Prediction{ExampleID: it.ID, Raw: c.completion}
			ReadAnswer(c.completion, "").Fill(&p)
			want := [2][2]string{{c.standard, c.compat}, {c.cleanStd, c.cleanCo}}[i]
			for j, s := range Scorers {
				if got := brief(s.Judge(it, &p)); got != want[j] {
					t.Errorf("%s on %s, %s: %q, want %q", c.name, it.ID, s.Name, got, want[j])
				}
			}
		}
	}
}

func brief(v Verdict) string {
	label := ""
	if v.Answered {
		label = "consistent"
		if v.Error {
			label = "error"
		}
	}
	full := 0
	if v.Full() {
		full = 1
	}
	s := fmt.Sprintf("%s %s %d", v.Outcome, label, full)
	if v.OverQuoted {
		s += " o"
	}
	if v.Inconsistent {
		s += " i"
	}
	if v.Unmapped > 0 {
		s += fmt.Sprintf(" u%d", v.Unmapped)
	}
	return s
}

// TestSentenceIDs: ids win over lines, count up to five a side, and those
// outside the story are unmapped.
func TestSentenceIDs(t *testing.T) {
	it := keyOf(t, millRow()).Item("rc-mill")
	for _, c := range []struct {
		errors, contradicted []int
		standard, compat     string
	}{
		{[]int{6}, []int{1}, "ok error 1", "ok error 1"},
		{[]int{0, 6}, []int{1, 1, 1}, "ok error 1", "ok error 1"},
		{[]int{0, 1, 2, 3, 4, 6}, []int{1}, "ok error 0 o", "ok error 1 o"},
		{[]int{-1, 16, 1 << 40}, []int{1}, "ok error 0 u3", "ok error 0 u3"},
		{seq(0, 16), seq(0, 16), "ok error 0 o", "ok error 1 o"},
	} {
		p := schemas.Prediction{
			Outcome: "ok", Label: schemas.LabelError, ErrorLines: []string{redCloak}, ContradictedLines: []string{blueCloak},
			ErrorSentences: c.errors, ContradictedSentences: c.contradicted,
		}
		for j, s := range Scorers {
			if got, want := brief(s.Judge(it, &p)), []string{c.standard, c.compat}[j]; got != want {
				t.Errorf("%s, %v and %v: %q, want %q", s.Name, c.errors, c.contradicted, got, want)
			}
		}
	}
}

// TestStrict: strict asks that all sentences named are gold, on both sides.
func TestStrict(t *testing.T) {
	it := keyOf(t, millRow()).Item("rc-mill")
	for _, c := range []struct {
		errors, contradicted string
		full, strict         bool
		f1                   float64 // mean of both sides
	}{
		{"6", "1", true, true, (2.0/3 + 1) / 2},
		{"6 8", "1", true, true, 1},
		{"6 8 4", "1", true, false, (4.0/5 + 1) / 2},
		{"6", "0", false, false, (2.0/3 + 0) / 2},
		{"6", "0 1", true, false, (2.0/3 + 2.0/3) / 2},
	} {
		p := schemas.Prediction{Outcome: "ok", Label: schemas.LabelError, ErrorSentences: parseIDs(c.errors), ContradictedSentences: parseIDs(c.contradicted)}
		v := Default.Judge(it, &p)
		f1 := (v.Sides[SideError].F1() + v.Sides[SideContradicted].F1()) / 2
		if v.Full() != c.full || v.Strict() != c.strict || math.Abs(f1-c.f1) > 1e-12 {
			t.Errorf("%s | %s: full %v strict %v f1 %v, want %v %v %v", c.errors, c.contradicted, v.Full(), v.Strict(), f1, c.full, c.strict, c.f1)
		}
	}
}

func parseIDs(s string) []int {
	var out []int
	for _, f := range strings.Fields(s) {
		var i int
		fmt.Sscan(f, &i)
		out = append(out, i)
	}
	return out
}
