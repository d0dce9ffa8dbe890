// SPDX-License-Identifier: Apache-2.0

package flawed

import (
	"context"
	"fmt"

	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform"
)

const patchVersion = "2"

// patch puts the source's act 1 before the rewritten acts 2 and 3.
func (m *maker) patch() transform.Step[schemas.Draft, schemas.Draft] {
	return transform.Step[schemas.Draft, schemas.Draft]{
		Name: "patch", Version: patchVersion, Requires: []string{"rewrite"},
		Doc: "makes the plot hole: act 1 of the source, byte for byte, and acts 2 and 3 as rewritten.\n\n" +
			"Reasons: not_a_text, act_1_touched, undo_fails.",
		Run: func(_ context.Context, pass *transform.Pass, d schemas.Draft) ([]schemas.Draft, error) {
			source := d.Original.Text
			a2, _ := actBytes(&d)
			edits, err := replacesOf(source, d.Counterfactual)
			if err != nil {
				return nil, err
			}
			v, err := newVariant(schemas.VariantPatched, source, edits, a2)
			if err != nil {
				return nil, transform.Drop("not_a_text", err.Error())
			}
			if err := sameAct1(&d, &v); err != nil {
				return nil, transform.Drop("act_1_touched", err.Error())
			}
			for _, w := range []*schemas.Variant{&v, d.Counterfactual} {
				if got, err := Undo(*w); err != nil || got != source {
					return nil, transform.Drop("undo_fails", fmt.Sprintf("undoing the edits of the %s story does not give the source: %v", w.Name, err))
				}
			}
			d.Patched = &v
			stamp(&d, pass, "patch", patchVersion, nil, "")
			return []schemas.Draft{d}, nil
		},
	}
}

// sameAct1 reports whether the sentences of act 1 are cut alike in the source
// and the patched story, so that a sentence number means the same in both.
func sameAct1(d *schemas.Draft, v *schemas.Variant) error {
	for i, b := range d.Original.Sentences {
		if b.Start >= d.Acts.Act2 {
			if i < len(v.Sentences) && v.Sentences[i].Start < d.Acts.Act2 {
				return fmt.Errorf("sentence %d runs over the border of act 1 in the patched story", i)
			}
			break
		}
		if i >= len(v.Sentences) || v.Sentences[i] != b {
			return fmt.Errorf("sentence %d of act 1 is cut otherwise in the patched story", i)
		}
	}
	return nil
}
