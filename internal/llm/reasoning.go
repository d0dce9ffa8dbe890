// SPDX-License-Identifier: Apache-2.0

package llm

import (
	"strings"
	"unicode/utf8"
)

// thinkTags are the forms in which reasoning is left inside an answer.
var thinkTags = [][2]string{
	{"<think>", "</think>"},
	{"<thinking>", "</thinking>"},
	{"<thought>", "</thought>"},
	{"[THINK]", "[/THINK]"},
	{"◁think▷", "◁/think▷"},
	{"<|begin_of_thought|>", "<|end_of_thought|>"},
}

// splitReasoning takes the reasoning off the front of an answer. open says that
// reasoning began and never ended: then there is no answer.
//
// Only what stands at the front is reasoning: `The rune read <think> and
// glowed.` is a story. When only the closing tag arrives (the server's chat
// template opened it), what is before it is reasoning if the model is declared
// to think and the server has not split already, or, undeclared, if the tag
// ends a line; a sentence with a tag in its middle stays.
func splitReasoning(text string, thinking, alreadySplit bool) (answer, reasoning string, open bool) {
	if strings.IndexByte(text, '<') < 0 && strings.IndexByte(text, '[') < 0 && !strings.Contains(text, "◁") {
		return text, "", false // most answers
	}
	rest := strings.TrimLeft(text, " \t\r\n\ufeff")
	for {
		tag, ok := leadingThink(rest)
		if !ok {
			break
		}
		body := rest[len(tag[0]):]
		end := indexFold(body, tag[1])
		if end < 0 {
			return "", join(reasoning, body), true
		}
		reasoning = join(reasoning, strings.TrimSpace(body[:end]))
		rest = strings.TrimLeft(body[end+len(tag[1]):], " \t\r\n")
		alreadySplit = true
	}
	if alreadySplit {
		return rest, reasoning, false
	}
	for _, tag := range thinkTags {
		end := indexFold(rest, tag[1])
		if end < 0 || indexFold(rest[:end], tag[0]) >= 0 {
			continue
		}
		after := rest[end+len(tag[1]):]
		if thinking || strings.HasPrefix(strings.TrimLeft(after, " \t\r"), "\n") {
			return strings.TrimLeft(after, " \t\r\n"), strings.TrimSpace(rest[:end]), false
		}
	}
	return text, "", false
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "\n" + b
}

func leadingThink(s string) ([2]string, bool) {
	for _, t := range thinkTags {
		if len(s) >= len(t[0]) && strings.EqualFold(s[:len(t[0])], t[0]) {
			return t, true
		}
	}
	return [2]string{}, false
}

// indexFold is strings.Index without regard to ASCII case; part is ASCII but
// for signs that have no case.
func indexFold(s, part string) int {
	if part == "" {
		return 0
	}
	mark := part[:1]
	if part[0] >= utf8.RuneSelf { // the first byte of half of all punctuation
		_, n := utf8.DecodeRuneInString(part)
		mark = part[:n]
	}
	for i := 0; i+len(part) <= len(s); i++ {
		n := strings.Index(s[i:], mark)
		if n < 0 {
			return -1
		}
		i += n
		if i+len(part) <= len(s) && strings.EqualFold(s[i:i+len(part)], part) {
			return i
		}
	}
	return -1
}
