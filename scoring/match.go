// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"cmp"
	"slices"
)

// Match is a matched group: the rows made from one source and one fact, with
// the source's original, which belongs to every match of its source.
type Match struct {
	ID    string
	Group string
	Rows  []*Verdict // by variant, then id
	Right bool       // every row has the right label
}

// Matches returns the matched groups of one system's verdicts that hold both
// labels, by id. Rows may come from several configs (give all their verdicts):
// a row that stands in several of them counts once, as first given. With
// several samples, each sample makes groups of its own.
func Matches(vs []Verdict) []Match {
	type key struct {
		match  string
		sample int
	}
	rows := map[key][]*Verdict{}
	originals := map[key][]*Verdict{} // by group
	type seen struct {
		id     string
		sample int
	}
	done := make(map[seen]bool, len(vs))
	for i := range vs {
		v := &vs[i]
		s := seen{v.Item.ID, v.Sample}
		if done[s] {
			continue
		}
		done[s] = true
		k := key{v.Item.Match, v.Sample}
		if v.Item.Match == v.Item.Group {
			originals[k] = append(originals[k], v)
		} else {
			rows[k] = append(rows[k], v)
		}
	}
	keys := make([]key, 0, len(rows))
	for k := range rows {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b key) int {
		return cmp.Or(cmp.Compare(a.match, b.match), cmp.Compare(a.sample, b.sample))
	})
	var out []Match
	for _, k := range keys {
		group := rows[k][0].Item.Group
		m := Match{ID: k.match, Group: group, Right: true}
		m.Rows = append(append(m.Rows, rows[k]...), originals[key{group, k.sample}]...)
		slices.SortFunc(m.Rows, func(a, b *Verdict) int {
			return cmp.Or(cmp.Compare(a.Item.Variant, b.Item.Variant), cmp.Compare(a.Item.ID, b.Item.ID))
		})
		var labels [2]bool
		for _, v := range m.Rows {
			if v.Item.Error {
				labels[1] = true
			} else {
				labels[0] = true
			}
			m.Right = m.Right && v.Right()
		}
		if labels[0] && labels[1] {
			out = append(out, m)
		}
	}
	return out
}

// PairedByNegative returns paired accuracy for each kind of negative by
// itself: the positive and that negative both right, over the matches that
// hold both. Kinds are the variants of the negatives, sorted.
func PairedByNegative(vs []Verdict) []Slice {
	tallies := map[string]*Tally{}
	for _, m := range Matches(vs) {
		for _, neg := range m.Rows {
			if neg.Item.Error {
				continue
			}
			for _, pos := range m.Rows {
				if !pos.Item.Error {
					continue
				}
				t := tallies[neg.Item.Variant]
				if t == nil {
					t = new(Tally)
					tallies[neg.Item.Variant] = t
				}
				t.addMatch(Match{Right: pos.Right() && neg.Right()})
			}
		}
	}
	var out []Slice
	for kind, t := range tallies {
		out = append(out, Slice{Value: kind, Tally: *t, Scores: []Score{PairedAccuracy.Score(*t)}})
	}
	slices.SortFunc(out, func(a, b Slice) int { return cmp.Compare(a.Value, b.Value) })
	return out
}
