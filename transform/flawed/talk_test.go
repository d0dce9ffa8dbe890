// SPDX-License-Identifier: Apache-2.0

package flawed

import (
	"strings"
	"testing"

	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform"
)

// closings are what models say behind the last act.
var closings = []string{
	"\n\nI changed only the sentences about the bell; all others are unchanged.",
	"\n\n---\n*Note: every other line is as in the original.*",
	"\n\n*(No other changes were made.)*",
	"\n\n(Only the marked sentences differ.)",
	" (I have left everything else verbatim.)",
	"\n\n**Note:** the colour is altered in two places.",
	"\n\nChanges made:\n- the bell is now of wood\n- nobody hears it ring",
	"\n\nThe End.",
	"\n***\nThe End",
	"\n\nLet me know if you would like another version!",
	"\n```\n\nHere is what I changed: the bell, twice.",
	"\n\n[End of story]",
	"\n\nThe sentences between <m> and </m> are the ones that I rewrote.",
	"\nI hope this helps.",
	"\n\nThis detail comes up nowhere else in the tale.",
}

// TestTalkAroundTheStory: what an answer says of itself behind the last act,
// between acts or before the first changes nothing, in rewritings and controls.
func TestTalkAroundTheStory(t *testing.T) {
	stories := embedded(t)
	cfg := Config{Seed: 1, Survey: surveyOf(stories)}
	cfg.Make.FactsPerSource = 1
	s, base := fullItem(t, cfg, stories)
	spoils := map[string]func(string) string{
		"before act 1": func(s string) string {
			return strings.Replace(s, "### Act 1:\n", "### Act 1:\nHere is the rewritten first act:\n\n", 1)
		},
		"before act 2, with a rule": func(s string) string {
			return strings.Replace(s, "### Act 2:\n", "### Act 2:\n*(two changes)*\n---\n", 1)
		},
		"behind act 2": func(s string) string {
			return strings.Replace(s, "\n\n### Act 3:", "\n\n*(The rest of this act is unchanged.)*\n\n### Act 3:", 1)
		},
	}
	for _, c := range closings {
		spoils["behind act 3: "+c] = func(s string) string { return strings.TrimSpace(s) + c }
	}
	for name, spoil := range spoils {
		o := run(t, cfg, good{spoil: at("rewrite", spoil)}.model(), s)
		if len(o.Outs) != 1 || o.Outs[0].Counterfactual == nil {
			t.Errorf("%s: %+v", name, o.Dropped)
			continue
		}
		if d := o.Outs[0]; d.Patched.TextHash != base.Patched.TextHash || d.Counterfactual.TextHash != base.Counterfactual.TextHash {
			t.Errorf("%s: other stories came of it: %+v", name, d.Patched.Edits)
		}
	}
}

// TestWhatIsNoTalk: an unmarked change of the story stays a silent edit, where
// ever it stands and whatever it speaks of.
func TestWhatIsNoTalk(t *testing.T) {
	const act = "The bell was brass. It rang at noon. Everybody changed their shoes.\n\nThey lived in peace."
	d := schemas.Draft{Original: plainVariant(schemas.VariantOriginal, act+" "+act+" "+act), Fact: &schemas.Fact{}}
	a2 := len([]rune(act)) + 1
	d.Acts = &schemas.Acts{Act2: a2, Act3: 2 * a2}
	changedAct := strings.Replace(act, "The bell was brass.", "<m>The bell was wood.</m>", 1)
	for name, c := range map[string]struct {
		third, reason string
	}{
		"marked only":                    {changedAct, ""},
		"with talk":                      {changedAct + "\n\nI changed one sentence.", ""},
		"an unmarked change":             {strings.Replace(changedAct, "at noon", "at midnight", 1), "silent_edit"},
		"an unmarked sentence inside":    {strings.Replace(changedAct, "It rang", "I have changed it. It rang", 1), "silent_edit"},
		"an unmarked paragraph inside":   {strings.Replace(changedAct, "\n\n", "\n\nNote: all was changed.\n\n", 1), "silent_edit"},
		"another end of the story":       {strings.Replace(changedAct, "They lived in peace.", "They changed the bell.", 1), "silent_edit"},
		"another end, spoken of as such": {strings.Replace(changedAct, "\n\nThey lived in peace.", "\n\n(They lived on, unchanged.)", 1), "silent_edit"},
		"a further sentence of story":    {changedAct + " Then they slept.", "silent_edit"},
		"a further paragraph of story":   {changedAct + "\n\nThen they slept until spring.", "silent_edit"},
		"a further, marked paragraph":    {changedAct + "\n\n<m>Here is what changed: they slept.</m>", ""},
	} {
		edits, _, _, err := assemble(&d, [3]string{act, act, c.third})
		reason := ""
		if drop, ok := err.(*transform.DropError); ok {
			reason = drop.Reason
		} else if err != nil {
			t.Fatal(err)
		}
		if reason != c.reason {
			t.Errorf("%s: %q (%v), want %q", name, reason, err, c.reason)
		}
		if want := 1 + strings.Count(c.third, "slept.</m>"); reason == "" && len(edits) != want {
			t.Errorf("%s: %d edits, want %d: %+v", name, len(edits), want, edits)
		}
	}
}
