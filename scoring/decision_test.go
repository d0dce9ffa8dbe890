// SPDX-License-Identifier: Apache-2.0

package scoring

import "testing"

// decisionCases also go through the plain Python page.
var decisionCases = []struct {
	in   string
	want Decision
}{
	// Decorated answers.
	{"ANSWER: **Yes**", DecisionError},
	{"answer: (yes)", DecisionError},
	{"Answer: $Yes$", DecisionError},
	{"**Answer:** Yes.", DecisionError},
	{"ANSWER:\u200bYes", DecisionError},
	{"AN\u200bSWER: Y\u2060es", DecisionError},
	{"ANSWER: \\boxed{Yes}", DecisionError},
	{"Answer: \\(\\text{No}\\)", DecisionConsistent},
	{"### Final Answer:\n\n> **No**", DecisionConsistent},
	{"Final decision: ＹＥＳ", DecisionError},
	{"answer: «yes»", DecisionError},
	{"Answer: „No“", DecisionConsistent},
	{"Answer: 「Yes」", DecisionError},
	{"answer: <b>yes</b>", DecisionError},
	{"So, the final answer is: yes", DecisionError},
	{"My answer is no.", DecisionConsistent},
	{"Yes", DecisionError},
	{"`no`", DecisionConsistent},
	{"I weighed both sides.\nThe cloak worried me.\nANSWER: No", DecisionConsistent},
	{"✅ Yes!", DecisionError},
	{"No - no continuity error was found", DecisionConsistent},
	{"Yes - there is a continuity error", DecisionError},
	{"## Decision\n\nNo continuity error found", DecisionConsistent},
	{"**Final Decision**\nYES", DecisionError},
	// Both, or neither.
	{"ANSWER: Yes or No", DecisionInvalid},
	{"Answer: Yes/No", DecisionInvalid},
	{"Answer: [Yes | No]", DecisionInvalid},
	{"yes and no", DecisionInvalid},
	{"Yes. No.", DecisionInvalid},
	{"not yes", DecisionInvalid},
	{"ANSWER: Yes\nANSWER: No", DecisionInvalid},
	{"ANSWER:", DecisionInvalid},
	{"", DecisionInvalid},
	{"\u200b", DecisionInvalid},
	{"maybe", DecisionInvalid},
	{"N/A", DecisionInvalid},
	{"I am not sure what to say.", DecisionInvalid},
	// The paper's two statements.
	{"No continuity error found", DecisionConsistent},
	{"\"No continuity error found.\"", DecisionConsistent},
	{"**NO CONTINUITY ERROR FOUND**", DecisionConsistent},
	{"No\u200b continuity\u200b error found", DecisionConsistent},
	{"There is a continuity error in the story concerning the colour of the cloak", DecisionError},
	{"Continuity error found.", DecisionError},
	{"A continuity error exists: the miller had no sons, and later two.", DecisionError},
	{"Hence my answer is \"No continuity error found\".", DecisionConsistent},
	// In other words.
	{"There is no continuity error; the story remains consistent.", DecisionConsistent},
	{"No errors.", DecisionConsistent},
	{"I did not find any continuity errors in the story.", DecisionConsistent},
	{"I could not find a continuity error.", DecisionConsistent},
	{"No, there are no continuity errors.", DecisionConsistent},
	{"No there is no continuity error", DecisionConsistent},
	{"Yes, there is a continuity error.", DecisionError},
	{"Continuity errors were not found.", DecisionConsistent},
	{"The story doesn’t contain any continuity error.", DecisionConsistent},
	{"Continuity error: none", DecisionConsistent},
	{"Continuity error: yes", DecisionError},
	{"0 continuity errors", DecisionConsistent},
	{"There are no plot holes and no continuity errors.", DecisionConsistent},
	{"There are no errors, inconsistencies, or contradictions.", DecisionConsistent},
	{"No major, glaring continuity errors were detected.", DecisionConsistent},
	{"The story is free of continuity errors.", DecisionConsistent},
	{"The story is error-free.", DecisionConsistent},
	{"The story is consistent.", DecisionConsistent},
	{"The story is inconsistent.", DecisionError},
	{"The story is not consistent.", DecisionError},
	{"There is a plot hole.", DecisionError},
	{"There is a continuity error, and no other errors were found.", DecisionError},
	{"There is no doubt that a continuity error exists.", DecisionError},
	{"There are not one but two continuity errors.", DecisionError},
	{"consistent", DecisionConsistent},
	{"error", DecisionError},
	{"None", DecisionConsistent},
	// Negated, contradictory, hedged.
	{"The answer is not \"No continuity error found\".", DecisionInvalid},
	{"It is not the case that there is no continuity error.", DecisionInvalid},
	{"No, there is a continuity error.", DecisionInvalid},
	{"Yes, no continuity error found.", DecisionInvalid},
	{"No continuity error found. However, there is a continuity error in the last line.", DecisionInvalid},
	{"There may be a continuity error.", DecisionInvalid},
	{"It is unclear whether there is a continuity error.", DecisionInvalid},
	// The prompt's own placeholder.
	{"[State whether a continuity error exists. Write \"No continuity error found\" if there is none.]", DecisionInvalid},
}

func TestReadDecision(t *testing.T) {
	for _, c := range decisionCases {
		if got := ReadDecision(c.in); got != c.want {
			t.Errorf("ReadDecision(%q) = %v, want %v", c.in, got, c.want)
		}
	}
}
