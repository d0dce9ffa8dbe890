// SPDX-License-Identifier: Apache-2.0

package writingprompts

import (
	"strings"
	"unicode"
)

// ReasonRemoved marks a story that was taken down, or a moderator's note in
// its place.
const ReasonRemoved = "removed"

// Tags reads the tags at the start of a prompt, [ WP ] or [WP], and returns
// them in capitals with the rest of the prompt. A tag has two or three letters;
// other text in brackets is the prompt's.
func Tags(prompt string) (tags []string, rest string) {
	rest = strings.TrimSpace(prompt)
	for {
		in, ok := strings.CutPrefix(rest, "[")
		if !ok {
			return tags, rest
		}
		name, after, ok := strings.Cut(in, "]")
		name = strings.TrimSpace(name)
		if !ok || len(name) < 2 || len(name) > 3 || strings.IndexFunc(name, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsLetter(r) }) >= 0 {
			return tags, rest
		}
		tags = append(tags, strings.ToUpper(name))
		rest = strings.TrimSpace(after)
	}
}

// notes are phrases of moderators and their programs, letters only, so that
// neither tokenising nor emphasis hides them.
var notes = []string{
	letters("All top-level comments must be a story or poem"),
	letters("This action was performed automatically"),
	letters("I am a bot, and this action"),
	letters("contact the moderators of this subreddit"),
	letters("Your submission has been removed"),
	letters("Your comment has been removed"),
	letters("This submission has been removed"),
	letters("Reply here for other comments"),
	letters("Reply to this sticky comment"),
	letters("Welcome to the Prompt!"),
	letters("New here? Writing Help? Announcements"),
	letters("We encourage participation by new writers"),
}

// Removed says why a text is no story but what is left of one, or a
// moderator's note; "" for a story.
func Removed(body string) string {
	for _, m := range []string{"[removed]", "[deleted]"} {
		if strings.Contains(body, m) || strings.Contains(body, "[ "+m[1:len(m)-1]+" ]") {
			return "it holds " + m
		}
	}
	// A note stands at the beginning or the end; a story in between is long.
	const near = 1200
	head := letters(body[:min(len(body), near)])
	tail := letters(body[max(0, len(body)-near):])
	for _, n := range notes {
		if strings.Contains(head, n) || strings.Contains(tail, n) {
			return "it holds a moderator's note"
		}
	}
	return ""
}

// letters keeps the ASCII letters of s in lower case.
func letters(s string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c := s[i] | 0x20
		if 'a' <= c && c <= 'z' {
			b = append(b, c)
		}
	}
	return string(b)
}
