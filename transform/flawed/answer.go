// SPDX-License-Identifier: Apache-2.0

package flawed

import (
	"fmt"
	"regexp"
	"strings"
)

// isFence reports a line that opens or closes a code fence.
func isFence(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, "```") && !strings.Contains(line[3:], "`") && !strings.Contains(line, " ")
}

// isRuleLine reports a line of hyphens, equal signs, underscores or asterisks
// such as answers put around their parts.
func isRuleLine(line string) bool {
	line = strings.TrimSpace(line)
	return len(line) >= 3 && (strings.Trim(line, "-") == "" || strings.Trim(line, "=") == "" || strings.Trim(line, "_") == "" || strings.Trim(line, "*") == "")
}

// Forms of a heading. Prompts ask for `### Name`; models also write `**Name**`,
// `**3. Name:**`, `__Name__`, `> ### Name`, `Name:` with the text behind it, or
// the bare name on a line of its own.
const (
	headOpen  = `(?mi)^[ \t>]*(?:(?:[-*+•][ \t]+)?(?:\d+[.)][ \t]*)?(?:#{1,6}[ \t]*[*_]{0,3}|[*_]{2,3})[ \t]*(?:\d+[.)][ \t]*)?`
	headPlain = `|(?:\d+[.)][ \t]*)?`
)

// headingOf matches a heading of an answer up to what may stand behind it on
// its own line. Name is a regular expression without groups.
func headingOf(name string) *regexp.Regexp {
	return regexp.MustCompile(headOpen + `(?:` + name + `)(?:\b|_)[ \t]*[*_]{0,3}[ \t]*:?[ \t]*[*_]{0,3}` +
		headPlain + `(?:` + name + `)[ \t]*(?::[ \t]*|$))`)
}

// lineHeadingOf matches a heading and the rest of its line.
func lineHeadingOf(name string) *regexp.Regexp {
	return regexp.MustCompile(headOpen + `(?:` + name + `)(?:\b|_)[^\n]*$` + headPlain + `(?:` + name + `)[^\n.!?]{0,80}(?::[ \t]*$|$))`)
}

// actHead is a heading of an act in an answer.
type actHead struct{ start, end, act int } // bytes; 1 to 3

var (
	actHeading = regexp.MustCompile(headOpen + `Act[ \t]*([123]|I{1,3}|One|Two|Three)(?:\b|_)[^\n]*$)`)
	plainAct   = regexp.MustCompile(`(?mi)^[ \t>]*\[?(?:\d+[.)][ \t]*)?Act[ \t]*([123]|I{1,3}|One|Two|Three)[ \t]*(?::[^\n]*|\][^\n]*|)$`)
	actTag     = regexp.MustCompile(`(?mi)^[ \t]*<act[ _-]?([123])>`)
	actTagEnd  = regexp.MustCompile(`(?mi)</act[ _-]?[123]>[ \t]*$`)
)

// actHeads returns the headings of acts, in order: as headings, else as tags
// (the prompt's own way to part them), else bare; want is how many there are
// to be.
func actHeads(s string, want int) []actHead {
	var out []actHead
	for _, re := range []*regexp.Regexp{actHeading, actTag, plainAct} {
		out = nil
		for _, m := range re.FindAllStringSubmatchIndex(s, -1) {
			n := map[string]int{"1": 1, "i": 1, "one": 1, "2": 2, "ii": 2, "two": 2, "3": 3, "iii": 3, "three": 3}[strings.ToLower(s[m[2]:m[3]])]
			out = append(out, actHead{m[0], m[1], n})
		}
		if len(out) >= want {
			break
		}
	}
	return out
}

// actTexts returns what stands under the last headings of acts from to 3, by
// act, or why it cannot be read.
func actTexts(s string, from int) (acts [3]string, why string) {
	want := 3 - from + 1
	heads := actHeads(s, want)
	if len(heads) > want {
		heads = heads[len(heads)-want:]
	}
	if len(heads) != want {
		return acts, fmt.Sprintf("%d of the %d headings Act %d to Act 3", len(heads), want, from)
	}
	for i, h := range heads {
		if h.act != from+i {
			return acts, "the headings of the acts are out of order"
		}
		end := len(s)
		if i+1 < want {
			end = heads[i+1].start
		}
		acts[h.act-1] = stripAnswer(actTagEnd.ReplaceAllString(s[h.end:end], ""))
	}
	return acts, ""
}

var answerHeading = regexp.MustCompile(`(?i)^\s*(?:#{1,6}\s*|\*\*\s*)(?:act\s*[123]\b|brainstorming|counterfactual story|detailed analysis|final judgement|final judgment|(?:lines?|sentences?) (?:that|earlier)|explanation|decision|importance score|statement|insert after|bridge)`)

// isAnswerHeading reports a line that reads like a heading of one of our
// answer formats.
func isAnswerHeading(line string) bool {
	return answerHeading.MatchString(line) || actHeading.MatchString(line) || actTag.MatchString(line) || plainAct.MatchString(line)
}

var anyHeading = regexp.MustCompile(`(?m)^[ \t>]*#{1,6}[ \t]`)

// section returns what stands between the last heading that matches and the
// next one: a markdown heading, or one of next in whatever form.
func section(s string, head *regexp.Regexp, next ...*regexp.Regexp) string {
	at := head.FindAllStringIndex(s, -1)
	if len(at) == 0 {
		return ""
	}
	s = s[at[len(at)-1][1]:]
	end := len(s)
	for _, h := range append(next, anyHeading) {
		if i := h.FindStringIndex(s); i != nil {
			end = min(end, i[0])
		}
	}
	return s[:end]
}

var bullet = regexp.MustCompile(`^(\s*)(?:[-*•–+]|\d+[.)])\s+`)

// bullets reads a list of quoted sentences, an item a string. Where a list has
// bullets, what stands below one belongs to it: a line that goes on with it is
// joined by a blank, anything else (a remark, a list inside) by a line break.
// Without bullets, each block of lines is an item. NA is an empty list.
func bullets(s string) []string {
	lines := strings.Split(s, "\n")
	level := -1 // white space before the first bullet
	for _, l := range lines {
		if m := bullet.FindStringSubmatch(l); m != nil {
			level = len(m[1])
			break
		}
	}
	var out []string
	open := false
	for _, l := range lines {
		m := bullet.FindStringSubmatch(l)
		switch {
		case strings.TrimSpace(l) == "" || isRuleLine(l) || isFence(l):
			open = false
		case m != nil && len(m[1]) <= level+1:
			out = append(out, strings.TrimSpace(l[len(m[0]):]))
			open = true
		case m != nil && len(out) > 0:
			out[len(out)-1] += "\n" + strings.TrimSpace(l[len(m[0]):])
			open = true
		case open && len(out) > 0:
			out[len(out)-1] += " " + strings.TrimSpace(l)
		case level >= 0 && len(out) > 0:
			out[len(out)-1] += "\n" + strings.TrimSpace(l)
			open = true
		case level >= 0 && strings.HasSuffix(strings.TrimRight(l, " *_"), ":"):
			// What introduces the list is no item of it.
		default:
			out = append(out, strings.TrimSpace(l))
			open = true
		}
	}
	var items []string
	for _, l := range out {
		if isNA(firstOfLines(l)) || strings.HasPrefix(strings.ToLower(l), "na if ") {
			continue
		}
		items = append(items, l)
	}
	return items
}

func firstOfLines(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}
