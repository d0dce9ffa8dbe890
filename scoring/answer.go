// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"regexp"
	"strings"

	"github.com/retcon-bench/retcon/schemas"
)

// Answer is a completion, read. Label is empty where Outcome is not "ok".
type Answer struct {
	Outcome           string
	Label             string
	ErrorLines        []string // as quoted; nil where the field is absent
	ContradictedLines []string
	Explanation       string
	Why               string // why there is no label, in words
}

// Fill copies the answer into a prediction.
func (a Answer) Fill(p *schemas.Prediction) {
	p.Outcome, p.Label = a.Outcome, a.Label
	p.ErrorLines, p.ContradictedLines, p.Explanation = a.ErrorLines, a.ContradictedLines, a.Explanation
}

// ReadAnswer reads a completion in the form the paper's prompts ask for
// (appendix J.2):
//
//	<response>
//	<explanation>...</explanation>
//	<error_lines>...</error_lines>
//	<contradicted_lines>...</contradicted_lines>
//	<decision>...</decision>
//	</response>
//
// A <scratchpad> and a model's own thinking are put aside first. Missing end
// tags, other tag spellings, lists and quote marks are tolerated; without a
// decision field, a line "ANSWER: ..." or a completion of 40 words or less
// that is a decision by itself will do. The first of several decisions
// counts, and they must agree.
//
// finish is the reason for which the server ended the text ("stop", "length",
// "max_tokens", "content_filter", ...), empty if unknown. What cannot be read
// has an outcome that says why, and no label: it is never "no error".
func ReadAnswer(completion, finish string) Answer {
	cut := false
	switch finish {
	case "length", "max_tokens", "model_length", "MAX_TOKENS":
		cut = true
	case "content_filter", "refusal", "safety", "SAFETY":
		return Answer{Outcome: OutcomeRefusal, Why: "the server stopped with " + finish}
	}
	s, done := withoutReasoning(dropInvisible(completion))
	if !done {
		return Answer{Outcome: OutcomeNoReasonEnd, Why: "the thinking never ends"}
	}
	if strings.TrimSpace(s) == "" {
		if cut {
			return Answer{Outcome: OutcomeTruncated, Why: "the token limit came before the answer"}
		}
		return Answer{Outcome: OutcomeEmpty, Why: "no text"}
	}

	f := readFields(s)
	a := Answer{Explanation: strings.TrimSpace(f.first("explanation").text)}
	if e := f.first("error_lines"); e.name != "" {
		a.ErrorLines = quotedLines(e.text)
	}
	if c := f.first("contradicted_lines"); c.name != "" {
		a.ContradictedLines = quotedLines(c.text)
	}
	fail := func(outcome, why string) Answer {
		a.Outcome, a.Why = outcome, why
		return a
	}

	decision := f.first("decision")
	d := DecisionInvalid
	switch {
	case decision.name != "":
		if cut && !decision.closed {
			return fail(OutcomeTruncated, "the token limit came inside the decision")
		}
		d = ReadDecision(decision.text)
		for _, other := range f.all("decision")[1:] {
			if ReadDecision(other.text) != d {
				return fail(OutcomeParseFailed, "two decisions that differ")
			}
		}
	case cut:
		return fail(OutcomeTruncated, "the token limit came before the decision")
	case len(labelledAnswers(foldDecision(f.outside))) > 0:
		d = ReadDecision(f.outside)
	case f.open:
		return fail(OutcomeTruncated, "the text ends inside a field, before the decision")
	case refuses(s):
		return fail(OutcomeRefusal, "a refusal in words")
	case len(Words(s)) <= 40 && len(f.list) == 0:
		d = ReadDecision(s)
	default:
		return fail(OutcomeParseFailed, "no decision field")
	}
	switch d {
	case DecisionError:
		a.Outcome, a.Label = OutcomeOK, schemas.LabelError
	case DecisionConsistent:
		a.Outcome, a.Label = OutcomeOK, schemas.LabelConsistent
	default:
		return fail(OutcomeParseFailed, "the decision says neither, or both")
	}
	return a
}

func dropInvisible(s string) string {
	return strings.Map(func(r rune) rune {
		if invisible(r) {
			return -1
		}
		return r
	}, s)
}

var (
	thinkEnd   = regexp.MustCompile(`(?i)</[ \t]*(?:think|thinking|thought|reasoning)[ \t]*>`)
	thinkStart = regexp.MustCompile(`(?i)^[ \t\r\n]*<[ \t]*(?:think|thinking|thought|reasoning)[ \t]*>`)
	scratchpad = regexp.MustCompile(`(?is)<[ \t]*scratchpad[ \t]*>.*?</[ \t]*scratchpad[ \t]*>`)
	fieldTag   = regexp.MustCompile(`(?i)<[ \t]*(/?)[ \t]*(response|scratchpad|explanation|error[\\_ -]{0,3}lines|contradicted[\\_ -]{0,3}lines|decision)[ \t]*>`)
	breakTag   = regexp.MustCompile(`(?i)</?(?:li|ul|ol|p|br|line|lines|item|quote)[ \t]*/?>`)
)

// withoutReasoning cuts off thinking that the server left in the text. done
// is false where it was opened and never closed.
func withoutReasoning(s string) (rest string, done bool) {
	if ends := thinkEnd.FindAllStringIndex(s, -1); len(ends) > 0 {
		s = s[ends[len(ends)-1][1]:]
	} else if thinkStart.MatchString(s) {
		return "", false
	}
	return scratchpad.ReplaceAllString(s, "\n"), true
}

// field is the content of one tagged part of an answer.
type field struct {
	name   string
	text   string
	closed bool
}

// fields are the tagged parts of an answer in order.
type fields struct {
	list    []field
	open    bool   // something was opened and not closed
	outside string // the text in no field
}

func (f fields) all(name string) []field {
	var out []field
	for _, x := range f.list {
		if x.name == name {
			out = append(out, x)
		}
	}
	return out
}

func (f fields) first(name string) field {
	if all := f.all(name); len(all) > 0 {
		return all[0]
	}
	return field{}
}

// readFields cuts an answer at its tags. A field ends at the next tag of any
// kind, so that a forgotten end tag swallows nothing.
func readFields(s string) fields {
	var f fields
	var outside strings.Builder
	at, current, responses := 0, "", 0
	end := func(to int, closed bool) {
		if current == "" {
			outside.WriteString(s[at:to])
			outside.WriteString("\n")
			return
		}
		f.list = append(f.list, field{current, s[at:to], closed})
		current = ""
	}
	for _, m := range fieldTag.FindAllStringSubmatchIndex(s, -1) {
		closing := m[3] > m[2]
		name := fieldName(s[m[4]:m[5]])
		end(m[0], closing && name == current)
		at = m[1]
		switch {
		case name == "response" && closing:
			responses--
		case name == "response":
			responses++
		case !closing:
			current = name
		}
	}
	f.open = current != "" || responses > 0
	end(len(s), false)
	f.outside = outside.String()
	return f
}

// fieldName undoes escapes and other spellings of the underscore.
func fieldName(s string) string {
	s = strings.ToLower(s)
	switch s[0] {
	case 'c':
		return "contradicted_lines"
	case 'e':
		if strings.HasPrefix(s, "error") {
			return "error_lines"
		}
	}
	return s
}

// decisionText returns the text of an answer's first decision field.
func decisionText(completion string) (string, bool) {
	s, done := withoutReasoning(dropInvisible(completion))
	if !done {
		return "", false
	}
	d := readFields(s).first("decision")
	return d.text, d.name != ""
}

// quotedLines cuts the content of a lines field into quotes: at line breaks
// and list tags, without bullets and numbers, without blanks and placeholders
// such as "N/A". It is never nil.
func quotedLines(s string) []string {
	out := []string{}
	s = breakTag.ReplaceAllString(s, "\n")
	for _, line := range strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }) {
		line = strings.Trim(bullet.ReplaceAllString(line, ""), " \t")
		if strings.Trim(line, " \t*•–—-") == "" || placeholder(line) {
			continue
		}
		out = append(out, line)
	}
	return out
}

// bullet is a list mark at the start of a line.
var bullet = regexp.MustCompile(`^[ \t]*(?:>[ \t]*)?(?:[*•–—-][ \t]+|[(\[]?[0-9]{1,3}[.):\]][ \t]+)?`)

func placeholder(line string) bool {
	switch strings.Join(Words(line), " ") {
	case "na", "n a", "none", "none found", "not applicable", "no lines", "no error lines",
		"no contradicted lines", "no continuity error found", "no continuity error":
		return true
	}
	return strings.HasPrefix(line, "[If applicable")
}

// refuses reports a short text that declines the task in words.
func refuses(s string) bool {
	w := Words(s)
	if len(w) > 60 {
		return false
	}
	t := " " + strings.Join(w, " ") + " "
	for _, phrase := range []string{" cant help ", " cannot help ", " cant assist ", " cannot assist ", " unable to help ",
		" unable to assist ", " cant comply ", " cannot comply ", " wont be able to ", " cant provide ", " cannot provide ",
		" cant fulfill ", " cannot fulfill ", " cant analyze ", " cannot analyze "} {
		if strings.Contains(t, phrase) {
			return true
		}
	}
	return false
}

// ListItems returns the items of a published column: the texts inside
// <li>...</li>, without blank ones. "NA" and the empty string give an empty
// list; a text without list tags is cut at line breaks.
func ListItems(column string) []string { return quotedLines(column) }
