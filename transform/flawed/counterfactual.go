// SPDX-License-Identifier: Apache-2.0

package flawed

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform"
)

const counterfactualVersion = "3"

// counterfactual keeps the rewritten story as a negative if it holds together.
func (m *maker) counterfactual() transform.Step[schemas.Draft, schemas.Draft] {
	return transform.Step[schemas.Draft, schemas.Draft]{
		Name: "counterfactual", Version: counterfactualVersion, Requires: []string{"judge"},
		Templates: []*llm.Template{coherenceCall.Template},
		Doc: "keeps A1' + A2' + A3' as a negative: act 1 must have changed too, and a judge must find that the changed lines fit the rest of the story.\n\n" +
			"The plot hole stays, whatever becomes of its counterfactual story.\n\n" +
			"Reasons, for the variant: cf_act_1_unchanged, cf_title, cf_value_left, cf_incoherent.",
		Run: func(ctx context.Context, pass *transform.Pass, d schemas.Draft) ([]schemas.Draft, error) {
			refuse := func(reason, detail string) ([]schemas.Draft, error) {
				pass.SetAside(d.DraftID, reason, detail)
				d.Counterfactual = nil
				return []schemas.Draft{d}, nil
			}
			if len(d.Counterfactual.Edits) == len(d.Patched.Edits) {
				return refuse("cf_act_1_unchanged", "the rewritten act 1 is the source's, so the counterfactual story has the error too")
			}
			if f := d.Fact; f.Class != "" && f.Old != "" && holds(d.Title, f.Old) {
				return refuse("cf_title", fmt.Sprintf("the title names %q, which the counterfactual story does not have", f.Old))
			}
			if f := d.Fact; f.Class != "" && f.Old != "" {
				sents := sentencesOf(d.Counterfactual)
				for _, s := range changed(d.Counterfactual) {
					if holds(sents[s], f.Old) || !holds(sents[s], f.New) {
						return refuse("cf_value_left", fmt.Sprintf("changed sentence %d still holds %q or lacks %q", s, f.Old, f.New))
					}
				}
			}
			if w := titleNames(&d, d.Counterfactual); w != "" {
				return refuse("cf_title", fmt.Sprintf("the title names %q, which the source has and the counterfactual story has not", w))
			}
			votes, ok, err := m.coherent(ctx, pass, &d, d.Counterfactual, "counterfactual", counterfactualVersion)
			switch {
			case errors.Is(err, transform.ErrPending):
				pass.Await()
				d.Counterfactual = nil // nobody has judged it yet
			case err != nil:
				return nil, err
			case !ok:
				return refuse("cf_incoherent", incoherent(votes, m.cfg.Make.JudgeNeed))
			default:
				d.Counterfactual = judged(d.Counterfactual, votes)
			}
			return []schemas.Draft{d}, nil
		},
	}
}

// coherent asks the judge of coherence about a variant; where nobody can judge
// it is taken to hold, and verification says "rules".
func (m *maker) coherent(ctx context.Context, pass *transform.Pass, d *schemas.Draft, v *schemas.Variant, step, version string) (*schemas.JudgeVotes, bool, error) {
	in := prompt{Title: d.Title, Story: v.Text, Marked: markSentences(v, changed(v)), draft: d, maker: m}
	p, err := m.poll(ctx, pass, coherenceCall, in, v)
	if err != nil || p == nil {
		return nil, true, err
	}
	stamp(d, pass, step, version, coherenceCall.Template, p.model, p.keys...)
	return p.counts(), p.no() >= m.cfg.Make.JudgeNeed, nil
}

// judged returns a variant with what was said of it. Records are copied
// forward, never edited.
func judged(v *schemas.Variant, votes *schemas.JudgeVotes) *schemas.Variant {
	out := *v
	out.Judge = votes
	return &out
}

func incoherent(v *schemas.JudgeVotes, need int) string {
	return fmt.Sprintf("%d of %d say that the changed lines fit the story, %d that they do not, %d cannot be read; %d are needed", v.No, v.Asked, v.Yes, v.Bad, need)
}

// titleNames returns a word of the title that the source has and the variant
// has nowhere any more: read with its title, the story would tell.
func titleNames(d *schemas.Draft, v *schemas.Variant) string {
	title, _ := foldWords(possessives(d.Title))
	source, _ := foldWords(possessives(d.Original.Text))
	now, _ := foldWords(possessives(v.Text))
	for _, w := range title {
		if len(w) > 1 && !slices.Contains(functionWords, w) && slices.Contains(source, w) &&
			!slices.ContainsFunc(now, func(s string) bool { return sameStem(s, w) }) {
			return w
		}
	}
	return ""
}

var coherenceCall = llm.Call[prompt, verdict]{
	Stage:    "flawed/coherence",
	Template: template("coherence"),
	Params:   llm.Params{Temperature: llm.Float(0.5), MaxTokens: 4096},
	Decode:   decodeVerdict,
}
