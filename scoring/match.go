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

// eachMatch calls add for each matched group that [Matches] would return, in no
// order. It is for counting: a million verdicts cost two passes and no sort.
func eachMatch(vs []Verdict, add func(group string, right bool)) {
	type place struct {
		match int32 // number of the item's match; of its group, for an original
		id    int32 // number of its example id
	}
	places := map[*Item]place{}
	numbers, ids, samples := map[string]int32{}, map[string]int32{}, map[int]int32{}
	var groupOf []string // by match number; "" for the originals of a group
	number := func(id, group string) int32 {
		n, ok := numbers[id]
		if !ok {
			n = int32(len(groupOf))
			numbers[id] = n
			if id == group {
				group = ""
			}
			groupOf = append(groupOf, group)
		}
		return n
	}
	matched := false
	for i := range vs {
		it := vs[i].Item
		if _, ok := places[it]; !ok {
			id, ok := ids[it.ID]
			if !ok {
				id = int32(len(ids))
				ids[it.ID] = id
			}
			places[it] = place{number(it.Match, it.Group), id}
			matched = matched || it.Match != it.Group
		}
		if _, ok := samples[vs[i].Sample]; !ok {
			samples[vs[i].Sample] = int32(len(samples))
		}
	}
	if !matched {
		return
	}
	const (
		hasNegative = 1 << iota
		hasPositive
		hasWrong
	)
	seen := make([]bool, len(ids)*len(samples))
	state := make([]uint8, len(groupOf)*len(samples))
	for i := range vs {
		v := &vs[i]
		p, s := places[v.Item], int(samples[v.Sample])
		if at := s*len(ids) + int(p.id); seen[at] {
			continue // the same row out of another config
		} else {
			seen[at] = true
		}
		st := &state[s*len(groupOf)+int(p.match)]
		if v.Item.Error {
			*st |= hasPositive
		} else {
			*st |= hasNegative
		}
		if !v.Right() {
			*st |= hasWrong
		}
	}
	for m, group := range groupOf {
		if group == "" {
			continue
		}
		original, hasOriginal := numbers[group]
		for s := range len(samples) {
			st := state[s*len(groupOf)+m]
			if st == 0 {
				continue
			}
			if hasOriginal {
				st |= state[s*len(groupOf)+int(original)]
			}
			if st&hasPositive != 0 && st&hasNegative != 0 {
				add(group, st&hasWrong == 0)
			}
		}
	}
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
				t.addMatch(pos.Right() && neg.Right())
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
