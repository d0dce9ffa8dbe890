// SPDX-License-Identifier: Apache-2.0

package flawed

import (
	"context"
	"fmt"
	"strings"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform"
	"github.com/retcon-bench/retcon/transform/flawed/offline"
)

// rewriteVersion covers the rules that answer this stage offline.
var rewriteVersion = "4+" + offline.Version()

// rewrite asks for the whole story under the counterfactual. What comes back is
// the counterfactual story; the plot hole is made of its acts 2 and 3.
func (m *maker) rewrite() transform.Step[schemas.Draft, schemas.Draft] {
	return transform.Step[schemas.Draft, schemas.Draft]{
		Name: "rewrite", Version: rewriteVersion, Requires: []string{"choose"},
		Templates: []*llm.Template{rewriteCall.Template},
		Doc: "asks for all three acts rewritten under the counterfactual, as close to the source as can be, changed lines between <m> and </m>.\n\n" +
			"The tags are not believed: sentences of each act are aligned with the source's, and what differs is what changed. " +
			"Sentences that differ in blanks, kinds of quotes or untagged punctuation keep the source's bytes.\n\n" +
			"What the answer says of itself before or behind the acts is left out. An answer that cannot be used is asked for once more, with what was wrong.\n\n" +
			"Reasons: answer_too_long, bad_tags, silent_edit, noop_edit, too_different, not_a_text, and the classes of unreadable answers; for what was left out: remark.",
		Run: func(ctx context.Context, pass *transform.Pass, d schemas.Draft) ([]schemas.Draft, error) {
			in := m.source(&d)
			if err := fits(pass, rewriteCall, in, d.Original.Text); err != nil {
				return nil, err
			}
			var v schemas.Variant
			var flaw *schemas.Flaw
			var talk []string
			res, err := ask(ctx, pass, rewriteCall, in, readTries, func(acts [3]string) error {
				var edits []replace
				var err error
				if edits, flaw, talk, err = assemble(&d, acts); err != nil {
					return err
				}
				if v, err = newVariant(schemas.VariantCounterfactual, d.Original.Text, edits, 0); err != nil {
					return transform.Drop("not_a_text", err.Error())
				}
				return nil
			})
			if err != nil {
				return nil, err
			}
			if res.Outcome == llm.NoRule {
				return nil, transform.Drop("no_rule", res.Reason)
			}
			aside(pass, d.DraftID, talk)
			d.Counterfactual, d.Flaw = &v, flaw
			stamp(&d, pass, "rewrite", rewriteVersion, rewriteCall.Template, res.Model, res.Key)
			return []schemas.Draft{d}, nil
		},
	}
}

// fits sets a draft aside before an answer is paid for that would be cut off: it
// repeats text, and the stage's max_tokens do not hold that.
func fits[Out any](pass *transform.Pass, c llm.Call[prompt, Out], in prompt, text string) error {
	if pass.Engine() == "rules" {
		return nil
	}
	req, err := c.Request(pass.Model, in, 0)
	if err != nil {
		return err
	}
	if need, has := llm.RoughTokens(text), req.Params.MaxTokens; has > 0 && need > has {
		return transform.Drop("answer_too_long", fmt.Sprintf("the answer would have about %d tokens, and max_tokens of stage %s is %d: raise it in the recipe", need, c.Stage, has))
	}
	return nil
}

// mostChanged is the share of an act above which a rewriting is no longer close
// to its source: changes for three of its sentences each, or words that are gone.
// An act that was summarised in one marked sentence is one change.
const mostChanged = 0.6

// shortAct is the number of words up to which a share of an act says nothing.
const shortAct = 40

// assemble turns three rewritten acts into edits of the source. Talk is what
// the answer says around the acts.
func assemble(d *schemas.Draft, acts [3]string) (edits []replace, flaw *schemas.Flaw, talk []string, err error) {
	s := d.Original.Text
	a2, a3 := actBytes(d)
	bounds := [4]int{0, a2, a3, len(s)}
	flaw = &schemas.Flaw{Kind: d.Fact.Kind, Subtype: d.Fact.Subtype, Class: d.Fact.Class}
	idle := 0
	for i := range 3 {
		act := s[bounds[i]:bounds[i+1]]
		answer, marks, err := unmark(acts[i])
		if err != nil {
			return nil, nil, nil, transform.Drop("bad_tags", fmt.Sprintf("act %d: %v", i+1, err))
		}
		answer, marks, said := cutTalk(act, answer, marks)
		talk = append(talk, said...)
		rw := alignAct(act, answer, marks)
		if len(rw.silent) > 0 {
			return nil, nil, nil, transform.Drop("silent_edit", fmt.Sprintf("act %d: %d changed sentences stand outside every <m> and </m>", i+1, len(rw.silent)),
				schemas.KeyValue{Key: "sentence", Value: clip(rw.silent[0])})
		}
		if n := len(text.Sentences(act)); n > 4 && float64(len(rw.edits)) > 3*mostChanged*float64(n) {
			return nil, nil, nil, transform.Drop("too_different", fmt.Sprintf("act %d: %d changes in %d sentences", i+1, len(rw.edits), n))
		}
		gone, all := 0, text.Words(act)
		for _, e := range rw.edits {
			gone += text.Words(e.Of(act))
		}
		if float64(gone) > mostChanged*float64(all) && all > shortAct {
			return nil, nil, nil, transform.Drop("too_different", fmt.Sprintf("act %d: %d of %d words are gone", i+1, gone, all))
		}
		for _, e := range rw.edits {
			e.Start += bounds[i]
			e.End += bounds[i]
			edits = append(edits, e)
		}
		flaw.Tags += rw.tags
		idle += rw.idle
	}
	if len(edits) == 0 {
		if flaw.Tags > 0 {
			return nil, nil, nil, transform.Drop("noop_edit", fmt.Sprintf("%d marked passages, and every one equals the source", flaw.Tags))
		}
		return nil, nil, nil, transform.Drop("noop_edit", "the rewritten story is the source")
	}
	return edits, flaw, talk, nil
}

// aside records what an answer says around the story.
func aside(pass *transform.Pass, id string, talk []string) {
	for _, t := range talk {
		pass.SetAside(id, "remark", "the answer speaks of itself around the story; the story goes on without it", schemas.KeyValue{Key: "remark", Value: clip(t)})
	}
}

func clip(s string) string {
	r := []rune(oneLine(s))
	if len(r) > 120 {
		return string(r[:120]) + "…"
	}
	return string(r)
}

var rewriteCall = llm.Call[prompt, [3]string]{
	Stage:    "flawed/rewrite",
	Template: template("rewrite"),
	Params:   llm.Params{Temperature: llm.Float(0.5), MaxTokens: 16384},
	Decode:   decodeRewrite,
	Rule: func(in prompt) (string, error) {
		st := in.maker.offline(in.draft)
		f, err := in.maker.flip(in.draft, st)
		if err != nil {
			return "", err
		}
		a2, a3 := actBytes(in.draft)
		var b strings.Builder
		fmt.Fprintf(&b, "## Brainstorming\nEvery mention of the fact changes; nothing else does.\n\n## Counterfactual Story\n")
		for i, r := range []text.Range{{Start: 0, End: a2}, {Start: a2, End: a3}, {Start: a3, End: len(st.Text)}} {
			fmt.Fprintf(&b, "### Act %d:\n%s\n\n", i+1, text.Trim(st.Marked(f, r)))
		}
		return b.String(), nil
	},
}

var storyHeading = lineHeadingOf(`Counterfactual Story`)

// decodeRewrite cuts the answer into its acts: the last run of headings Act 1,
// Act 2, Act 3.
func decodeRewrite(r *llm.Reply, _ prompt) ([3]string, error) {
	s := text.Freeze(r.Text)
	if at := storyHeading.FindAllStringIndex(s, -1); len(at) > 0 {
		s = s[at[len(at)-1][1]:]
	}
	acts, why := actTexts(s, 1)
	return acts, checkActs(acts[:], why)
}

// checkActs says what keeps the acts of an answer from being read.
func checkActs(acts []string, why string) error {
	if why != "" {
		return llm.Failed(llm.ParseFailed, why)
	}
	for _, a := range acts {
		if a == "" {
			return llm.Failed(llm.ParseFailed, "an act is empty")
		}
		if isPlaceholder(a) {
			return llm.Failed(llm.Echo, "the prompt's own placeholder came back")
		}
	}
	return nil
}
