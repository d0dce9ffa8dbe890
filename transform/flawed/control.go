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

// controlVersion covers the rules that answer this stage offline.
var controlVersion = "4+" + offline.Version()

// control asks for an edit of the same kind that contradicts nothing.
func (m *maker) control() transform.Step[schemas.Draft, schemas.Draft] {
	return transform.Step[schemas.Draft, schemas.Draft]{
		Name: "control", Version: controlVersion, Requires: []string{"judge"},
		Templates: []*llm.Template{controlCall.Template, coherenceCall.Template},
		Doc: "makes an edit-control: acts 2 and 3 with a detail changed that act 1 never stated, so that the story is edited like a plot hole and has none. " +
			"Act 1 stays as it is. The rules use the same class of flip as the fact's where the story has one.\n\n" +
			"Reasons, for the variant: no_control, control_touches_fact, too_many_sites, cf_incoherent, tell_tale, bad_tags, silent_edit, noop_edit, too_different, remark, and the classes of unreadable answers.",
		Run: part(func(ctx context.Context, pass *transform.Pass, d *schemas.Draft) error {
			in := m.source(d)
			if err := fits(pass, controlCall, in, in.Act2+in.Act3); err != nil {
				return err
			}
			source := d.Original.Text
			a2, _ := actBytes(d)
			var v schemas.Variant
			var talk []string
			res, err := ask(ctx, pass, controlCall, in, readTries, func(c changedDetail) error {
				c.acts[0] = source[:a2]
				edits, _, said, err := assemble(d, c.acts)
				if err != nil {
					return err
				}
				talk = said
				if v, err = newVariant(schemas.VariantEditControl, source, edits, a2); err != nil {
					return transform.Drop("no_control", err.Error())
				}
				if n := sites(changed(&v)); n > m.cfg.Make.MaxSites {
					return transform.Drop("too_many_sites", fmt.Sprintf("%d places changed; at most %d", n, m.cfg.Make.MaxSites))
				}
				if why := tellTale(source, &v); why != "" {
					return transform.Drop("tell_tale", why)
				}
				return nil
			})
			switch {
			case err != nil:
				return err
			case res.Outcome == llm.NoRule:
				return transform.Drop("no_control", res.Reason)
			}
			aside(pass, d.DraftID, talk)
			if err := sameAct1(d, &v); err != nil {
				return transform.Drop("no_control", err.Error())
			}
			if f := d.Fact; f.Old != "" && f.New != "" {
				for _, e := range v.Edits {
					if holds(e.Text, f.New) && holds(e.Old, f.Old) {
						return transform.Drop("control_touches_fact", fmt.Sprintf("an edit changes %q to %q, which is the flaw itself", f.Old, f.New))
					}
				}
			}
			v.Detail = res.Value.detail
			if v.Judge, err = m.coherent(ctx, pass, d, &v, "control", controlVersion); err != nil {
				return err
			}
			d.EditControl = &v
			stamp(d, pass, "control", controlVersion, controlCall.Template, res.Model, res.Key)
			return nil
		}),
	}
}

// changedDetail is a read answer: what was changed, and acts 2 and 3 with it.
type changedDetail struct {
	detail *schemas.Detail // nil when the answer does not say
	acts   [3]string
}

var controlCall = llm.Call[prompt, changedDetail]{
	Stage:    "flawed/control",
	Template: template("control"),
	Params:   llm.Params{Temperature: llm.Float(0.5), MaxTokens: 16384},
	Decode:   decodeControl,
	Rule: func(in prompt) (string, error) {
		st := in.maker.offline(in.draft)
		flips := in.maker.flips(in.draft, st)
		f, err := in.maker.flip(in.draft, st)
		if err != nil {
			return "", err
		}
		a2, a3 := actBytes(in.draft)
		c := st.Control(f, flips, a2)
		if c == nil {
			return "", fmt.Errorf("the rules find no detail of acts 2 and 3 to change: %w", llm.ErrNoRule)
		}
		var b strings.Builder
		fmt.Fprintf(&b, "## Detail\n- Fact: %s; Counterfactual: %s\n  Detail: %s | %s | %s | %s\n\n## Changed Story\n", c.Statement, c.Counterfactual, c.Class, c.Head, c.Old, c.New)
		for i, r := range []text.Range{{Start: a2, End: a3}, {Start: a3, End: len(st.Text)}} {
			fmt.Fprintf(&b, "### Act %d:\n%s\n\n", i+2, text.Trim(st.Marked(c, r)))
		}
		return b.String(), nil
	},
}

// decodeControl reads the detail and acts 2 and 3: the last two headings.
func decodeControl(r *llm.Reply, _ prompt) (changedDetail, error) {
	s := text.Freeze(r.Text)
	acts, why := actTexts(s, 2)
	return changedDetail{readDetail(s), acts}, checkActs(acts[1:], why)
}

// readDetail reads the first line "Fact: ...; Counterfactual: ..." before the
// acts.
func readDetail(s string) *schemas.Detail {
	if heads := actHeads(s, 2); len(heads) > 0 {
		s = s[:heads[0].start]
	}
	var out *schemas.Detail
	for _, line := range joinLines(s) {
		if g := factLine.FindStringSubmatch(line); g != nil && out == nil {
			fact, counter, ok := cutLastFold(g[1], "counterfactual:")
			if ok && trim(fact) != "" && trim(counter) != "" && !isPlaceholder(trim(fact)) {
				out = &schemas.Detail{Statement: trim(fact), Counterfactual: trim(counter)}
			}
		} else if g := detailLine.FindStringSubmatch(line); g != nil && out != nil {
			if f := strings.Split(g[1], "|"); len(f) == 4 {
				out.Class = trim(f[0])
			}
		}
	}
	return out
}
