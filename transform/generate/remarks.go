// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// What models say around a story, or in place of a part of it, although the
// prompt forbids it. The text is kept as it came: it is what the system wrote,
// and cutting would be a judgement. Who reads the row is told.
var (
	greets = regexp.MustCompile(`(?i)^\W*(?:(?:sure|certainly|of course|absolutely|okay|here is|here['’]s|below is)\b.*\b(?:story|tale|continuation|narrative|summary|retelling|version|draft|request|prompt|words)\b|(?:好的|当然|以下是|下面是).*(?:故事|小说|续写|正文))`)
	parts  = regexp.MustCompile(`(?i)\bword count\b|\blet me know\b|\bi hope (?:you|this|that)\b.*\b(?:story|enjoy|request|looking for|prompt)|\bwould you like me to\b|\bfeel free to\b.*\b(?:ask|change|adjust|let)\b|字数[:：]|希望(?:你|您)喜欢`)
	skips  = regexp.MustCompile(`(?i)^[*_ ]*[\[(（【].*(?:\b(?:story|scene|chapter|part|text)s?\b.*\b(?:continues?|continued|omitted|abridged|follows?)\b|\bto be continued\b|\bdue to (?:length|space)\b|未完待续|此处省略).*[\])）】][*_. ]*$`)
)

// remarkMost is the length in code points up to which a paragraph may be a
// remark.
const remarkMost = 300

// remarks names what in a story speaks of the answer. The notes hold no text of
// it.
func remarks(story string) []string {
	var out []string
	paragraphs := strings.Split(story, "\n")
	short := func(s string) bool { return utf8.RuneCountInString(s) <= remarkMost }
	if p := paragraphs[0]; len(paragraphs) > 1 && short(p) && greets.MatchString(p) {
		out = append(out, "the first paragraph speaks of the answer")
	}
	if p := paragraphs[len(paragraphs)-1]; len(paragraphs) > 1 && short(p) && parts.MatchString(p) {
		out = append(out, "the last paragraph speaks of the answer")
	}
	for _, p := range paragraphs {
		if short(p) && skips.MatchString(p) {
			out = append(out, "a paragraph stands in place of a part of the story")
			break
		}
	}
	return out
}
