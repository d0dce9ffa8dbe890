// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"strings"
	"testing"
)

// A remark is told and the text stays; what a story itself may say is none.
func TestRemarks(t *testing.T) {
	const first, last, gap = "the first paragraph speaks of the answer", "the last paragraph speaks of the answer", "a paragraph stands in place of a part of the story"
	const body = "The ferry left at noon.\n\nNobody was on it."
	for text, want := range map[string]string{
		body: "",
		"Sure! Here is the story you asked for:\n\n" + body:            first,
		"**Here’s a 9,000-word continuation:**\n\n" + body:             first,
		body + "\n\n**Word count: 9,214 words**":                       last,
		body + "\n\nLet me know if you would like another ending!":     last,
		body + "\n\nI hope you enjoy this story.":                      last,
		"The bell rang.\n\n[The story continues in this manner.]\n\nX": gap,
		"好的，以下是您要的故事：\n\n渡船在中午离开。":                                     first,
		"渡船在中午离开。\n\n（未完待续）":                                           gap,
		// What people of a story say.
		"Of course she told nobody. Nobody asked.\n\nX":            "",
		"Here is the house, said Ada, and it was.\n\nX":            "",
		body + "\n\n\"I hope you come back,\" said Ada.":           "",
		"Sure enough, the story ended with a lamp.":                "",
		body + "\n\n(The lamp burned on, as lamps will.)":          "",
		strings.Repeat("Sure, this story is long. ", 20) + "\n\nX": "",
	} {
		if got := strings.Join(remarks(text), "; "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
