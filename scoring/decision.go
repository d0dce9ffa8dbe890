// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Decision is what an answer says in the end.
type Decision int

// The decisions. Invalid covers silence, both at once, hedging and double
// negation: it is never an answer.
const (
	DecisionInvalid Decision = iota
	DecisionError
	DecisionConsistent
)

// String returns the label of a decision, or "invalid".
func (d Decision) String() string {
	switch d {
	case DecisionError:
		return "error"
	case DecisionConsistent:
		return "consistent"
	}
	return "invalid"
}

// ReadDecision reads the last word of an answer: the content of a decision
// field, or a line such as "ANSWER: **Yes**". Yes means that the story has an
// error. Decoration (emphasis, brackets, $...$, \boxed{...}, tags, quote
// marks, invisible characters) decides nothing.
//
// What it reads, after labels such as "Final answer:" are taken off:
//
//   - yes or no at the start, unless an "or" or its opposite follows;
//   - statements about a continuity error; if there are none, about errors,
//     plot holes and inconsistencies; then about contradictions; then the
//     words consistent and inconsistent. One negation in the clause ("no",
//     "not any", "were not found") makes it a no; two make it unreadable, and
//     so does a hedge ("may", "whether", "if").
//
// All that it reads must agree, and two labelled answers must agree too.
func ReadDecision(s string) Decision {
	s = foldDecision(s)
	answers := labelledAnswers(s)
	if len(answers) == 0 {
		return decide(clauseTokens(s))
	}
	d := decide(answers[0])
	for _, a := range answers[1:] {
		if decide(a) != d {
			return DecisionInvalid
		}
	}
	return d
}

// foldDecision folds characters, drops tags and TeX commands, and makes a
// hyphen between blanks a dash. Line breaks and punctuation stay.
func foldDecision(s string) string {
	s = tag.ReplaceAllString(foldRunes(s), " ")
	s = texCommand.ReplaceAllString(s, " ")
	return loneHyphen.ReplaceAllString(s, " – ")
}

var (
	texCommand = regexp.MustCompile(`\\[a-z]+`)
	loneHyphen = regexp.MustCompile(`[ \t]-+[ \t]`)
)

// clauseTokens cuts a folded text into words, with "." for what parts
// clauses, "," and ":" by themselves, and "or" for a slash or a bar.
func clauseTokens(s string) []string {
	var out []string
	var word strings.Builder
	flush := func(sep string) {
		if word.Len() > 0 {
			out = append(out, word.String())
			word.Reset()
		}
		if sep != "" {
			out = append(out, sep)
		}
	}
	for _, r := range s {
		switch {
		case r == '\'':
		case unicode.IsLetter(r), unicode.IsNumber(r), unicode.IsMark(r):
			word.WriteRune(r)
		case r == ',' || r == ':':
			flush(string(r))
		case r == '/' || r == '|':
			flush("or")
		case strings.ContainsRune(".;!?()—–\n\r", r):
			flush(".")
		default:
			flush("")
		}
	}
	flush("")
	return out
}

// labelledAnswers returns, for each line of the form "final answer: ...", the
// tokens after the label; where the line ends there, as a heading does, those
// of the next line that has any.
func labelledAnswers(s string) [][]string {
	var out [][]string
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		rest, ok := cutLabel(clauseTokens(line))
		if !ok {
			continue
		}
		for j := i + 1; !hasWords(rest) && j < len(lines); j++ {
			rest = clauseTokens(lines[j])
		}
		out = append(out, rest)
	}
	return out
}

// cutLabel takes a label off the front of a line.
func cutLabel(tokens []string) (rest []string, ok bool) {
	i := 0
	for i < len(tokens) && (breaks[tokens[i]] || labelFillers[tokens[i]]) {
		i++
	}
	if i >= len(tokens) || !labelNouns[tokens[i]] {
		return nil, false
	}
	i++
	switch {
	case i == len(tokens): // a heading
		return nil, true
	case tokens[i] == "is":
		i++
	case tokens[i] != ":":
		return nil, false
	}
	return tokens[i:], true
}

func hasWords(tokens []string) bool {
	return slices.ContainsFunc(tokens, func(t string) bool { return !breaks[t] })
}

// decide reads the tokens of one answer.
func decide(t []string) Decision {
	for len(t) > 0 && breaks[t[0]] {
		t = t[1:]
	}
	if len(t) == 0 {
		return DecisionInvalid
	}
	var votes [3]bool // by Decision
	next := ""
	for _, w := range t[1:] {
		if !breaks[w] {
			next = w
			break
		}
	}
	switch head := t[0]; {
	case head == "yes" || head == "no":
		switch {
		case next == "or" || next == "and" || (next == "yes" || next == "no") && next != head:
			return DecisionInvalid
		case head == "yes":
			votes[DecisionError] = true
		case len(t) == 1 || breaks[t[1]] || subjects[t[1]]:
			votes[DecisionConsistent] = true
			if len(t) > 1 && subjects[t[1]] {
				t = t[1:] // "No there is ...": the no is spent
			}
		}
	case head == "none" && !hasWords(t[1:]):
		votes[DecisionConsistent] = true
	}
	for _, m := range mentions(t) {
		votes[m] = true
	}
	switch {
	case votes[DecisionInvalid] || votes[DecisionError] == votes[DecisionConsistent]:
		return DecisionInvalid
	case votes[DecisionError]:
		return DecisionError
	}
	return DecisionConsistent
}

// mentions reads the statements of the first tier that has any.
func mentions(t []string) []Decision {
	for tier := range 4 {
		var out []Decision
		found := false
		for i := 0; i < len(t); {
			n, consistent := errorNoun(t[i:], tier)
			if n == 0 {
				i++
				continue
			}
			found = true
			if d, ok := statement(t, i, i+n); ok {
				if consistent && d != DecisionInvalid {
					d = DecisionError + DecisionConsistent - d
				}
				out = append(out, d)
			}
			i += n
		}
		if found {
			return out
		}
	}
	return nil
}

// errorNoun returns the length of the error noun of a tier at the start of t.
// consistent tells the one word that says the opposite.
func errorNoun(t []string, tier int) (n int, consistent bool) {
	second := ""
	if len(t) > 1 {
		second = t[1]
	}
	switch tier {
	case 0:
		if t[0] == "continuity" && (second == "error" || second == "errors") {
			return 2, false
		}
	case 1:
		switch {
		case t[0] == "error" || t[0] == "errors" || t[0] == "inconsistency" || t[0] == "inconsistencies" || t[0] == "plothole" || t[0] == "plotholes":
			return 1, false
		case t[0] == "plot" && (second == "hole" || second == "holes"),
			t[0] == "continuity" && continuityNouns[second]:
			return 2, false
		}
	case 2:
		if t[0] == "contradiction" || t[0] == "contradictions" {
			return 1, false
		}
	case 3:
		switch t[0] {
		case "inconsistent":
			return 1, false
		case "consistent":
			return 1, true
		}
	}
	return 0, false
}

// statement reads the clause around the noun t[from:to]. ok is false where it
// says nothing, as "no other errors" does.
func statement(t []string, from, to int) (d Decision, ok bool) {
	negations := 0
	// Backward to the start of the clause. A comma, "and" or "or" ends it only
	// if what follows could start one.
	fresh := false
	for i := from - 1; i >= 0; i-- {
		w := t[i]
		if w == "." || w == ":" || clauseWords[w] {
			break
		}
		if w == "," || w == "and" || w == "or" {
			if fresh {
				break
			}
			continue
		}
		fresh = fresh || startWords[w]
		switch {
		case from-i <= 2 && furtherWords[w]:
			return 0, false
		case hedges[w] && !(i+1 < len(t) && negators[t[i+1]]):
			return DecisionInvalid, true
		case negators[w] && !(i+1 < len(t) && certainWords[t[i+1]]):
			negations++
		}
	}
	// Forward: "errors were not found", "error free", "continuity error: none".
	rest := t[to:]
	for _, w := range rest {
		if breaks[w] {
			break
		}
		if w == "if" || w == "unless" {
			return DecisionInvalid, true
		}
	}
	i := 0
	for i < len(rest) && auxWords[rest[i]] {
		i++
	}
	switch {
	case len(rest) > 0 && rest[0] == "free":
		negations++
	case i < len(rest) && negators[rest[i]]:
		for _, w := range rest[i+1 : min(i+4, len(rest))] {
			if breaks[w] {
				break
			}
			if foundWords[w] {
				negations++
				break
			}
		}
	case i < len(rest) && breaks[rest[i]]:
		var clause []string
		for _, w := range rest[i:] {
			if breaks[w] && len(clause) > 0 {
				break
			}
			if !breaks[w] {
				clause = append(clause, w)
			}
		}
		switch c := strings.Join(clause, " "); c {
		case "no", "none", "not found", "none found", "absent":
			negations++
		}
	}
	switch negations {
	case 0:
		return DecisionError, true
	case 1:
		return DecisionConsistent, true
	}
	return DecisionInvalid, true
}

func wordSet(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// The words of [ReadDecision], as folding leaves them ("don't" is "dont").
var (
	breaks          = wordSet(". , :")
	labelFillers    = wordSet("so thus hence therefore the my final overall")
	labelNouns      = wordSet("answer decision verdict conclusion")
	subjects        = wordSet("there i we it the this that")
	continuityNouns = wordSet("issue issues problem problems flaw flaws break breaks mistake mistakes")
	clauseWords     = wordSet("but although though however because since while whereas yet")
	startWords      = wordSet("a an the this that there is are was were one it i we yes no not")
	furtherWords    = wordSet("other further additional more")
	hedges          = wordSet("if whether may might could maybe perhaps possibly unclear unsure uncertain")
	negators        = wordSet(`no not none never without neither nor zero 0 cannot nothing lack lacks absence absent free
		unable fail fails failed dont doesnt didnt isnt arent wasnt werent hasnt havent wont cant couldnt`)
	certainWords = wordSet("doubt question only")
	auxWords     = wordSet("was were is are has have had been be can could do does did in the story this text exists exist")
	foundWords   = wordSet("found find detected identified present exist exists occur occurs observed noted evident seen")
)
