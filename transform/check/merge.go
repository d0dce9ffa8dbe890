// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"

	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

// SamePair reports whether two findings are about the same pair of passages:
// the passages overlap, in either order, or both findings have one passage
// alone and the two overlap. Findings in quarantine are the same when their
// quotes are, but for white space, case and punctuation.
//
// A bare overlap is enough, as it is for holding a finding against an injected
// contradiction: one judge quotes the clause, another the paragraph around it.
func SamePair(a, b schemas.Finding) bool {
	if (a.Status == Anchored) != (b.Status == Anchored) {
		return false
	}
	if a.Status != Anchored {
		x, y, u, v := text.Fold(a.Fact.Quote), text.Fold(a.Contra.Quote), text.Fold(b.Fact.Quote), text.Fold(b.Contra.Quote)
		return x == u && y == v || x == v && y == u
	}
	oneA, oneB := len(a.Contra.Spans) == 0, len(b.Contra.Spans) == 0
	if oneA || oneB {
		return oneA && oneB && overlap(a.Fact, b.Fact)
	}
	return overlap(a.Fact, b.Fact) && overlap(a.Contra, b.Contra) || overlap(a.Fact, b.Contra) && overlap(a.Contra, b.Fact)
}

func overlap(a, b schemas.Evidence) bool {
	for _, x := range a.Spans {
		for _, y := range b.Spans {
			if x.Start < y.End && y.Start < x.End {
				return true
			}
		}
	}
	return false
}

// once makes one finding of those about the same pair. The first stands; the
// other subtypes become its Also, in the order of the taxonomy.
func once(fs []schemas.Finding) []schemas.Finding {
	var out []schemas.Finding
	for _, f := range fs {
		i := slices.IndexFunc(out, func(g schemas.Finding) bool { return SamePair(f, g) })
		if i < 0 {
			out = append(out, f)
			continue
		}
		join(&out[i], f)
	}
	for i := range out {
		sortAlso(&out[i])
	}
	return out
}

// join adds what another finding of the same pair says to g.
func join(g *schemas.Finding, f schemas.Finding) {
	for _, s := range append([]string{f.Subtype}, f.Also...) {
		if s != g.Subtype && !slices.Contains(g.Also, s) {
			g.Also = append(g.Also, s)
		}
	}
	for _, k := range f.AnswerKeys {
		if !slices.Contains(g.AnswerKeys, k) {
			g.AnswerKeys = append(g.AnswerKeys, k)
		}
	}
}

func sortAlso(f *schemas.Finding) {
	slices.SortStableFunc(f.Also, func(a, b string) int { return rank(a) - rank(b) })
}

// rank is a subtype's place in the taxonomy.
func rank(subtype string) int {
	n := 0
	for _, c := range schemas.Categories {
		for _, s := range c.Subtypes {
			if s.Name == subtype {
				return n
			}
			n++
		}
	}
	return n
}

// Merge makes one list of the findings of several samples: the same pair once,
// with Support samples that reported it of Asked that were judged in its
// category. runs[i] are the findings of sample i, each pair once; judged tells
// whether a sample's category has a readable answer.
func Merge(runs [][]schemas.Finding, judged func(sample int, category string) bool) []schemas.Finding {
	type merged struct {
		schemas.Finding
		by map[int]bool
	}
	var all []*merged
	for sample, fs := range runs {
		for _, f := range fs {
			i := slices.IndexFunc(all, func(g *merged) bool { return SamePair(f, g.Finding) })
			if i < 0 {
				f.Sample = sample
				f.Also, f.AnswerKeys = slices.Clone(f.Also), slices.Clone(f.AnswerKeys)
				all = append(all, &merged{f, map[int]bool{sample: true}})
				continue
			}
			join(&all[i].Finding, f)
			all[i].by[sample] = true
		}
	}
	out := make([]schemas.Finding, 0, len(all))
	for _, m := range all {
		asked := 0
		for sample := range runs {
			// A sample that reported the pair under another category was asked.
			if m.by[sample] || judged(sample, m.Category) {
				asked++
			}
		}
		m.Support, m.Asked = len(m.by), asked
		sortAlso(&m.Finding)
		out = append(out, m.Finding)
	}
	return out
}

// agree compares the samples of a category two by two.
func agree(category string, runs [][]schemas.Finding, judged func(sample int, category string) bool) schemas.CheckAgreement {
	a := schemas.CheckAgreement{Category: category}
	of := func(sample int) (out []schemas.Finding) {
		for _, f := range runs[sample] {
			if f.Category == category && f.Status == Anchored {
				out = append(out, f)
			}
		}
		return out
	}
	for i := range runs {
		for j := i + 1; j < len(runs); j++ {
			if !judged(i, category) || !judged(j, category) {
				continue
			}
			schemas.AddPair(&a, of(i), of(j), SamePair)
		}
	}
	return a
}
