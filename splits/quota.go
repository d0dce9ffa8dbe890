// SPDX-License-Identifier: Apache-2.0

package splits

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/retcon-bench/retcon/schemas"
)

// positives chooses a tier's positives: its quotas first, then, as far as the
// target leaves places, what fits no quota. Short says what was not there.
// Every config of the tier gets the same ones.
func (c *chooser) positives(long bool, drafts []Item) (out []Item, short []Shortfall) {
	var left []Item
	for _, d := range drafts {
		if c.inTier(d, long) && d.has(schemas.VariantPatched) {
			left = append(left, d)
		}
	}
	target, tier := c.set.ShortTarget, "short"
	if long {
		target, tier = c.set.LongTarget, "long"
	}
	var quotas []schemas.QuotaRecipe
	for _, q := range c.set.Quotas {
		if q.Tier == tier {
			quotas = append(quotas, q)
		}
	}
	perSource, taken := map[string]int{}, map[string]bool{}
	take := func(from []Item, n int) int {
		got := spread(from, n, perSource)
		for _, d := range got {
			taken[d.ID] = true
		}
		out = append(out, got...)
		return len(got)
	}
	reserved := 0
	for _, q := range quotas {
		var fit []Item
		for _, d := range left {
			if !taken[d.ID] && fits(q, d) {
				fit = append(fit, d)
			}
		}
		reserved += q.Positives
		if got := take(fit, q.Positives); got < q.Positives {
			short = append(short, Shortfall{What: describe(q), Wanted: q.Positives, Got: got})
		}
	}
	left = slices.DeleteFunc(left, func(d Item) bool {
		return slices.ContainsFunc(quotas, func(q schemas.QuotaRecipe) bool { return fits(q, d) })
	})
	switch rest := target - reserved; {
	case target == 0: // all there are
		take(left, len(left))
	case rest > 0:
		if got := take(left, rest); got < rest {
			what := "positives"
			if reserved > 0 {
				what += " beside the quotas"
			}
			short = append(short, Shortfall{What: what, Wanted: rest, Got: got})
		}
	}
	return out, short
}

// fits reports whether a quota asks for a draft like this. A draft whose
// difficulty nobody measured fits no quota that asks about it.
func fits(q schemas.QuotaRecipe, it Item) bool {
	text := func(want, have string) bool { return want == "" || want == have }
	within := func(low, high, n int) bool { return n >= low && (high == 0 || n <= high) }
	if !text(q.Kind, it.Kind) || !text(q.Subtype, it.Subtype) || !text(q.Class, it.Class) || !text(q.Severity, it.Severity) || !within(q.MinWords, q.MaxWords, it.Words) {
		return false
	}
	d := it.Difficulty
	if d == nil {
		return q.MinDistance == 0 && q.MaxDistance == 0 && q.MinSites == 0 && q.MaxSites == 0 && q.Fact == "" && q.Voice == ""
	}
	fact := "inferred"
	if d.Explicit {
		fact = "explicit"
	}
	return within(q.MinDistance, q.MaxDistance, d.Words) && within(q.MinSites, q.MaxSites, d.Sites) && text(q.Fact, fact) && text(q.Voice, d.Voice)
}

// describe names what a quota asks for.
func describe(q schemas.QuotaRecipe) string {
	parts := []string{"positives"}
	text := func(name, v string) {
		if v != "" {
			parts = append(parts, name+" "+v)
		}
	}
	within := func(name string, low, high int) {
		switch {
		case low > 0 && high > 0:
			parts = append(parts, fmt.Sprintf("%s %d to %d", name, low, high))
		case low > 0:
			parts = append(parts, fmt.Sprintf("%s from %d", name, low))
		case high > 0:
			parts = append(parts, fmt.Sprintf("%s up to %d", name, high))
		}
	}
	text("kind", q.Kind)
	text("subtype", q.Subtype)
	text("class", q.Class)
	text("severity", q.Severity)
	within("words", q.MinWords, q.MaxWords)
	within("distance", q.MinDistance, q.MaxDistance)
	within("sites", q.MinSites, q.MaxSites)
	text("fact", q.Fact)
	text("voice", q.Voice)
	return strings.Join(parts, ", ")
}

// spread takes at most n items: one a source before any source gives a second.
// PerSource is how many each source gave before, and after.
func spread(items []Item, n int, perSource map[string]int) []Item {
	type ranked struct {
		Item
		nth int
	}
	seen := map[string]int{}
	list := make([]ranked, len(items))
	for i, it := range items {
		list[i] = ranked{it, perSource[it.GroupID] + seen[it.GroupID]}
		seen[it.GroupID]++
	}
	slices.SortStableFunc(list, func(a, b ranked) int { return cmp.Compare(a.nth, b.nth) })
	out := make([]Item, 0, min(n, len(list)))
	for _, r := range list[:min(n, len(list))] {
		perSource[r.GroupID]++
		out = append(out, r.Item)
	}
	return out
}
