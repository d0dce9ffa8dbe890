// SPDX-License-Identifier: Apache-2.0

package flawed

import (
	"strings"
	"testing"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

// FuzzAnswers: whatever an answer holds, the readers return, quotes map to
// sentences that exist, and what is cut around an act leaves a part of it.
func FuzzAnswers(f *testing.F) {
	const story = "Anna had 5 lamps. She ran. “Who calls?” he asked.\n\nThe lamp – the red one – was lit at dusk. All was well."
	v := plainVariant("", story)
	d := &schemas.Draft{Original: v, Acts: &schemas.Acts{Act2: 18, Act3: 51}}
	q := quotesOf(&v, -1)
	f.Add(verdictText(true, []string{"“She ran.” (early)"}, []string{"Anna had 5 lamps"}))
	f.Add("**Insert after**\n\"She ran.\"\n__Context__\n“It went out.” “It was dark.\"")
	f.Add("<act1>\nAnna had 6 lamps.\n</act1>\n### Act II\n<m>She ran.</m>\nAct 3:\nAll was well.\n\n---\n*Note: done*")
	f.Add("- Fact: a; Counterfactual: b\n  Detail: a | b | c | d\n### Act 2:\nx\n### Act 3:\ny")
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 4000 {
			return
		}
		s = text.Freeze(strings.ToValidUTF8(s, "?"))
		in := prompt{draft: d}
		verdict, _ := decodeVerdict(llm.NewReply(s), in)
		vote := verdict.vote(q, []int{3})
		for _, id := range append(append(q.find(s, nil), vote.errors...), vote.contradicted...) {
			if id < 0 || id >= len(v.Sentences) {
				t.Fatalf("sentence %d of %d", id, len(v.Sentences))
			}
		}
		_, _ = decodeContext(llm.NewReply(s), in)
		_, _ = decodeControl(llm.NewReply(s), in)
		_, _ = decodeType(llm.NewReply(s), in)
		_, _ = decodeActs(llm.NewReply(s), in)
		_, _ = decodeFacts(llm.NewReply(s), in)
		_, _ = decodeScores(llm.NewReply(s), in)
		if acts, err := decodeRewrite(llm.NewReply(s), in); err == nil {
			for _, a := range acts {
				answer, marks, err := unmark(a)
				if err != nil {
					continue
				}
				cut, left, talk := cutTalk(story, answer, marks)
				if !strings.Contains(answer, cut) || len(cut) < len(answer) == (len(talk) == 0) {
					t.Fatalf("%q became %q, talk %q", answer, cut, talk)
				}
				for _, m := range left {
					if m.Start < 0 || m.End > len(cut) || m.Start >= m.End {
						t.Fatalf("mark %v of %q", m, cut)
					}
				}
			}
		}
	})
}
