// SPDX-License-Identifier: Apache-2.0

package diagnostic

import (
	"cmp"
	"slices"

	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform"
)

// Offer is what a story could be given.
type Offer struct {
	StoryID    string
	Categories []string
}

// Targets of a set. The paper's: 200 stories with five contradictions each,
// 200 a category.
type Targets struct {
	Stories  int
	PerStory int // contradictions a story, at most one a category
	Controls int
}

// Balance says what was reached.
type Balance struct {
	Targets
	InjectedStories int
	InjectedNumber  int
	ControlStories  int
	// PerCategory is the target of each category: Stories * PerStory / 5,
	// rounded down, the rest going to the first of the taxonomy.
	PerCategory []CategoryBalance
}

// CategoryBalance is one line of a [Balance].
type CategoryBalance struct {
	Category string
	Target   int
	Offered  int // stories that could be given one
	Injected int
}

// Short is how many are missing.
func (c CategoryBalance) Short() int { return max(c.Target-c.Injected, 0) }

// Lot is a story's place in the draw: stories are taken in ascending order of
// it. It depends on seed and id alone.
func Lot(seed uint64, storyID string) uint64 {
	return transform.Random(seed, "diagnostic-draw", storyID).Uint64()
}

// Choose draws stories by seed and gives each the categories that are farthest
// behind, among those it offers, so that the five stay level. Controls are the
// next stories of the draw; none has injections elsewhere in the set. The
// result maps a story to its categories, a control to an empty list.
func Choose(offers []Offer, t Targets, seed uint64) (map[string][]string, Balance) {
	t.PerStory = min(t.PerStory, len(schemas.Categories))
	b := Balance{Targets: t}
	total := t.Stories * t.PerStory
	at := map[string]int{}
	for i, c := range schemas.Categories {
		target := total / len(schemas.Categories)
		if i < total%len(schemas.Categories) {
			target++
		}
		at[c.Name] = i
		b.PerCategory = append(b.PerCategory, CategoryBalance{Category: c.Name, Target: target})
	}
	drawn := slices.Clone(offers)
	lots := map[string]uint64{}
	for _, o := range offers {
		lots[o.StoryID] = Lot(seed, o.StoryID)
		for _, c := range o.Categories {
			b.PerCategory[at[c]].Offered++
		}
	}
	slices.SortFunc(drawn, func(a, b Offer) int {
		return cmp.Or(cmp.Compare(lots[a.StoryID], lots[b.StoryID]), cmp.Compare(a.StoryID, b.StoryID))
	})
	chosen := map[string][]string{}
	// Stories that can carry all of PerStory go first, then those that can carry
	// one less: a set of few stories would fall short of its numbers otherwise.
	for most := t.PerStory; most > 0; most-- {
		for _, o := range drawn {
			if _, taken := chosen[o.StoryID]; taken || b.InjectedStories == t.Stories || len(o.Categories) < most {
				continue
			}
			var open []string
			for _, c := range o.Categories {
				if b.PerCategory[at[c]].Short() > 0 {
					open = append(open, c)
				}
			}
			slices.SortStableFunc(open, func(x, y string) int {
				return cmp.Or(cmp.Compare(b.PerCategory[at[x]].Injected, b.PerCategory[at[y]].Injected), cmp.Compare(at[x], at[y]))
			})
			open = open[:min(len(open), t.PerStory)]
			if len(open) == 0 {
				continue
			}
			for _, c := range open {
				b.PerCategory[at[c]].Injected++
			}
			chosen[o.StoryID] = open
			b.InjectedStories++
			b.InjectedNumber += len(open)
		}
	}
	for _, o := range drawn {
		if b.ControlStories == t.Controls {
			break
		}
		if _, taken := chosen[o.StoryID]; !taken {
			chosen[o.StoryID] = []string{}
			b.ControlStories++
		}
	}
	return chosen, b
}
