// SPDX-License-Identifier: Apache-2.0

package flawed

import (
	"regexp"
	"strings"

	"github.com/retcon-bench/retcon/internal/text"
)

// Words of a model about its own answer. They decide nothing alone: see
// cutTalk.
var (
	talkWords = regexp.MustCompile(`(?i)\b(?:notes?\b *[:*_–—-]|please note|unchanged|changes?|changed|rewrit\w+|rewrote|rewritten|counterfactual|edits?|edited|marked|tags?|tagged|` +
		`alter(?:ed|ations?)|modif\w+|adjust\w+|verbatim|word for word|everything else|all else|other (?:lines?|sentences?)|preserv\w+|identical|as (?:requested|asked|you)|` +
		`(?:the|this|that) (?:detail|fact|counterfactual)|(?:in|of|to) (?:the|this|your) (?:story|tale|text|act)\b|the original|original (?:story|text|lines?|wording)|consisten\w+|continuity|act (?:[123]|i{1,3}|one|two|three)\b|let me know|hope (?:this|that|it)|feel free|would you like|` +
		`here (?:is|are)|here['’]s|below (?:is|are)|` +
		`I(?:['’]ve| have| only| made| kept| left| tried| hope| did| also| replaced| updated) |replaced|updated|removed)|</?m>`)
	talkEnd = regexp.MustCompile(`(?i)^\W*(?:the end|fin|end of (?:the )?(?:story|act|tale)[^\n]*)\W*$`)
)

// cutTalk takes off what a model says around an act: the block behind the last
// sentence, or before the first, that is the source's or was marked. It counts
// as talk when
//
//   - no sentence of it stands in the act of the source,
//   - the act's own last (first) sentence stands on the other side, or what
//     stands there is marked: the block is no changed end of the story,
//   - it stands apart (a line of its own, a bracket, a rule) and speaks of the
//     answer, or stands behind a rule.
//
// Anything else unmarked stays, and is a silent edit.
func cutTalk(act, answer string, marks []text.Range) (string, []text.Range, []string) {
	var talk []string
	known := map[string]bool{}
	source := text.Sentences(act)
	for _, r := range source {
		known[letters(r.Of(act))] = true
	}
	if len(source) == 0 {
		return answer, marks, nil
	}
	marked := func(r text.Range) bool { // over half of it
		n := 0
		for _, m := range marks {
			n += max(0, min(m.End, r.End)-max(m.Start, r.Start))
		}
		return 2*n > r.Len()
	}
	sents := text.Sentences(answer)
	first, last := -1, -1
	for i, r := range sents {
		if known[letters(r.Of(answer))] || marked(r) {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if first < 0 {
		return answer, marks, nil
	}
	end := len(answer)
	if at := sents[last].End; last+1 < len(sents) {
		whole := marked(sents[last]) || strings.Contains(letters(answer[:at]), letters(source[len(source)-1].Of(act)))
		if tail := answer[at:]; whole && isTalk(tail, tail) {
			end = at
			talk = append(talk, tail)
		}
	}
	start := 0
	if at := sents[first].Start; first > 0 {
		whole := marked(sents[first]) || strings.Contains(letters(answer[at:]), letters(source[0].Of(act)))
		if head := answer[:at]; whole && isTalk(head, reverse(head)) {
			start = at
			talk = append(talk, head)
		}
	}
	if len(talk) == 0 {
		return answer, marks, nil
	}
	var left []text.Range
	for _, m := range marks {
		m.Start, m.End = max(m.Start, start)-start, min(m.End, end)-start
		if m.Start < m.End {
			left = append(left, m)
		}
	}
	return answer[start:end], left, talk
}

// isTalk judges a block; edge is the block read from the story's side.
func isTalk(block, edge string) bool {
	trimmed := strings.TrimSpace(block)
	apart := strings.Contains(edge[:len(edge)-len(strings.TrimLeft(edge, " \t\n`"))], "\n") || strings.ContainsAny(trimmed[:1], "([*_")
	for _, l := range strings.Split(trimmed, "\n") {
		if isRuleLine(l) {
			return true
		}
		if strings.TrimSpace(strings.Trim(strings.TrimSpace(l), "`")) != "" {
			break
		}
	}
	return apart && (talkWords.MatchString(trimmed) || talkEnd.MatchString(trimmed))
}

func reverse(s string) string {
	r := []rune(s)
	for i, j := 0, len(r)-1; i < j; i, j = i+1, j-1 {
		r[i], r[j] = r[j], r[i]
	}
	return string(r)
}
