// SPDX-License-Identifier: Apache-2.0

package flawed

import (
	"context"
	"fmt"
	"slices"

	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform"
)

const chooseVersion = "2"

// choose lets a few facts of each story go on, each in a draft of its own.
func (m *maker) choose() transform.Step[schemas.Draft, schemas.Draft] {
	return transform.Step[schemas.Draft, schemas.Draft]{
		Name: "choose", Version: chooseVersion, Requires: []string{"score"},
		Doc: "lets at most facts_per_source facts of a story go on, so that no story floods the set: those with the lowest hash of (seed, source, fact). " +
			"When one of them gives no plot hole that the judge lets pass, the fact with the next hash takes its turn, up to spare_facts of them.\n\n" +
			"Reasons, for a fact: not_chosen.",
		Enough: &transform.Enough[schemas.Draft]{
			N: m.cfg.Make.FactsPerSource, After: m.lastOfFlaw(),
			Spare: func(pass *transform.Pass, d schemas.Draft) {
				pass.SetAside(d.GroupID, "not_chosen", fmt.Sprintf("%s: %d facts a source go on", d.Fact.ID, m.cfg.Make.FactsPerSource))
			},
		},
		Run: func(_ context.Context, pass *transform.Pass, d schemas.Draft) ([]schemas.Draft, error) {
			facts := slices.Clone(d.Facts)
			rank := func(f schemas.Fact) float64 {
				return hash01(m.cfg.Seed, "choose", d.GroupID, f.Statement, f.Counterfactual)
			}
			slices.SortStableFunc(facts, func(a, b schemas.Fact) int {
				switch x, y := rank(a), rank(b); {
				case x < y:
					return -1
				case x > y:
					return 1
				}
				return 0
			})
			var outs []schemas.Draft
			for i, f := range facts {
				if i >= m.cfg.Make.FactsPerSource+m.cfg.Make.SpareFacts {
					pass.SetAside(d.DraftID, "not_chosen", fmt.Sprintf("%s: %d facts a source go on", f.ID, m.cfg.Make.FactsPerSource))
					continue
				}
				out := d
				out.Fact = &f
				out.MatchID = schemas.MatchID(d.GroupID, f.Statement, f.Counterfactual)
				out.DraftID = out.MatchID
				stamp(&out, pass, "choose", chooseVersion, nil, "")
				outs = append(outs, out)
			}
			// In the order of the answer, so that the output reads like it; spare
			// ones behind them, as their turn comes.
			slices.SortStableFunc(outs[:min(len(outs), m.cfg.Make.FactsPerSource)], func(a, b schemas.Draft) int {
				return factIndex(d.Facts, a.Fact.ID) - factIndex(d.Facts, b.Fact.ID)
			})
			return outs, nil
		},
	}
}

// lastOfFlaw names the last step that can refuse a plot hole itself.
func (m *maker) lastOfFlaw() string {
	if m.cfg.Make.TypeFlaws {
		return "type"
	}
	return "judge"
}

func factIndex(facts []schemas.Fact, id string) int {
	return slices.IndexFunc(facts, func(f schemas.Fact) bool { return f.ID == id })
}
