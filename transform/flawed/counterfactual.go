// SPDX-License-Identifier: Apache-2.0

package flawed

import (
	"context"
	"fmt"
	"slices"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform"
	"github.com/retcon-bench/retcon/transform/flawed/offline"
)

// counterfactualVersion covers the rules that look for what does not fit.
var counterfactualVersion = "5+" + offline.Version()

// counterfactual keeps the rewritten story as a negative if it holds together.
func (m *maker) counterfactual() transform.Step[schemas.Draft, schemas.Draft] {
	return transform.Step[schemas.Draft, schemas.Draft]{
		Name: "counterfactual", Version: counterfactualVersion, Requires: []string{"judge"},
		Templates: []*llm.Template{coherenceCall.Template},
		Doc: "keeps A1' + A2' + A3' as a negative: act 1 must have changed too, and a judge must find that the changed lines fit the rest of the story.\n\n" +
			"The plot hole stays, whatever becomes of its counterfactual story.\n\n" +
			"Reasons, for the variant: cf_act_1_unchanged, cf_title, cf_value_left, cf_incoherent; of a fact of the rules also cf_misfit (a word goes with the old value alone) and source_broken.",
		Run: func(ctx context.Context, pass *transform.Pass, d schemas.Draft) ([]schemas.Draft, error) {
			v := *d.Counterfactual
			d.Counterfactual = nil // until somebody has judged it
			return part(func(ctx context.Context, pass *transform.Pass, d *schemas.Draft) (err error) {
				if len(v.Edits) == len(d.Patched.Edits) {
					return transform.Drop("cf_act_1_unchanged", "the rewritten act 1 is the source's, so the counterfactual story has the error too")
				}
				if f := d.Fact; f.Class != "" && f.Old != "" {
					if holds(d.Title, f.Old) {
						return transform.Drop("cf_title", fmt.Sprintf("the title names %q, which the counterfactual story does not have", f.Old))
					}
					sents := sentencesOf(&v)
					for _, s := range changed(&v) {
						if holds(sents[s], f.Old) || !holds(sents[s], f.New) {
							return transform.Drop("cf_value_left", fmt.Sprintf("changed sentence %d still holds %q or lacks %q", s, f.Old, f.New))
						}
					}
				}
				if why := m.unsound(d, true); why != nil {
					return why
				}
				if w := titleNames(d, &v); w != "" {
					return transform.Drop("cf_title", fmt.Sprintf("the title names %q, which the source has and the counterfactual story has not", w))
				}
				if v.Judge, err = m.coherent(ctx, pass, d, &v, "counterfactual", counterfactualVersion); err != nil {
					return err
				}
				d.Counterfactual = &v
				return nil
			})(ctx, pass, d)
		},
	}
}

// unsound says why no negative that must hold together can be made of a fact of
// the rules, where nobody may judge it: the source is broken, or a word would be
// left that goes with the old value alone.
func (m *maker) unsound(d *schemas.Draft, misfit bool) error {
	if d.Fact.Class == "" {
		return nil
	}
	st := m.offline(d)
	if at := st.Broken(); at != "" {
		return transform.Drop("source_broken", fmt.Sprintf("the source is not whole at %q", at))
	}
	if f, err := m.flip(d, st); err == nil && misfit {
		if w := st.Misfit(f); w != "" {
			return transform.Drop("cf_misfit", fmt.Sprintf("%q, which stays, goes with %q and not with %q", w, f.Old, f.New))
		}
	}
	return nil
}

// coherent asks the judge of coherence about a variant and returns the votes, or
// refuses it where it does not hold together. Where nobody can judge it is taken
// to hold, votes are nil, and verification says "rules".
func (m *maker) coherent(ctx context.Context, pass *transform.Pass, d *schemas.Draft, v *schemas.Variant, step, version string) (*schemas.JudgeVotes, error) {
	in := prompt{Title: d.Title, Story: v.Text, Marked: markSentences(v, changed(v)), draft: d, maker: m}
	p, err := m.poll(ctx, pass, coherenceCall, in, v)
	if err != nil || p == nil {
		return nil, err
	}
	votes := p.counts()
	if p.no() < m.cfg.Make.JudgeNeed {
		return nil, transform.Drop("cf_incoherent", fmt.Sprintf("%d of %d say that the changed lines fit the story, %d that they do not, %d cannot be read; %d are needed",
			votes.No, votes.Asked, votes.Yes, votes.Bad, m.cfg.Make.JudgeNeed))
	}
	stamp(d, pass, step, version, coherenceCall.Template, p.model, p.keys...)
	return votes, nil
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
