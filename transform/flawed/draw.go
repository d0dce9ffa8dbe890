// SPDX-License-Identifier: Apache-2.0

package flawed

import (
	"context"
	"fmt"
	"strings"

	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform"
)

// draw keeps the seeded share of sources that the recipe draws, and sets aside
// what no stage could work on.
func (m *maker) draw() transform.Step[schemas.Draft, schemas.Draft] {
	return transform.Step[schemas.Draft, schemas.Draft]{
		Name:    "draw",
		Version: "1",
		Doc: "draws the recipe's share of the sources and looks at what was drawn.\n\n" +
			"Reasons: not_drawn, not_a_story, too_short, too_long, story_holds_marks.",
		Run: func(_ context.Context, pass *transform.Pass, d schemas.Draft) ([]schemas.Draft, error) {
			mk := m.cfg.Make
			switch {
			case len(d.Original.Sentences) == 0:
				return nil, transform.Drop("not_a_story", "the record has no sentences")
			case hash01(m.cfg.Seed, "draw", d.GroupID) >= mk.Share:
				return nil, transform.Drop("not_drawn", fmt.Sprintf("the recipe draws %g of the sources", mk.Share))
			case mk.MinWords > 0 && d.SourceWords < mk.MinWords:
				return nil, transform.Drop("too_short", fmt.Sprintf("%d words; the recipe wants at least %d", d.SourceWords, mk.MinWords))
			case mk.MaxWords > 0 && d.SourceWords > mk.MaxWords:
				return nil, transform.Drop("too_long", fmt.Sprintf("%d words; the recipe wants at most %d", d.SourceWords, mk.MaxWords))
			}
			if what := foreignMark(d.Original.Text); what != "" {
				return nil, transform.Drop("story_holds_marks", fmt.Sprintf("the story itself holds %q, which answers use to mark parts", what))
			}
			stamp(&d, pass, "draw", "1", nil, "")
			return []schemas.Draft{d}, nil
		},
	}
}

// foreignMark returns a mark of our answers' forms that stands in a story. Its
// echo in an answer could not be told from the answer's own.
func foreignMark(s string) string {
	low := strings.ToLower(s)
	for _, m := range []string{markOpen, markClose} {
		if strings.Contains(low, m) {
			return m
		}
	}
	for _, l := range strings.Split(s, "\n") {
		if isAnswerHeading(l) {
			return oneLine(l)
		}
	}
	return ""
}
