// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/retcon-bench/retcon/internal/text"
)

// FindingPosition is where the two passages of a finding stand, in percent of
// the story's code points; NaN where one does not stand anywhere.
type FindingPosition struct {
	Subtype int // index of [SubtypeColumns]
	// By the reference's locator, in the order of the judge's fields.
	RefFact, RefContra float64
	// By located spans, the earlier passage first.
	Earlier, Later float64
	// Reversed: the judge's first quote is the later passage.
	Reversed bool
}

// PositionSubtypes are the seven subtypes of tables 5 and B4, in their order.
var PositionSubtypes = []string{
	"timeline_plot_absolute_time_contradictions", "world_building_core_rules_violations", "factual_detail_quantitative_mismatches",
	"world_building_geographical_contradictions", "factual_detail_nomenclature_confusions", "characterization_memory_contradictions",
	"narrative_style_perspective_confusions",
}

// referenceLocator is the reference's: in the story with its white space
// collapsed, the first occurrence of the quote as it is, or else of its first
// 50 characters. It finds fewer quotes than anchoring, and a common opening
// in the wrong place.
type referenceLocator struct {
	collapsed string
	length    int // code points
}

func newReferenceLocator(story string) *referenceLocator {
	c := collapse(story)
	return &referenceLocator{c, utf8.RuneCountInString(c)}
}

// collapse makes every run of white space one blank, and drops it at the ends.
func collapse(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for r := range text.WordRanges(s) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(s[r.Start:r.End])
	}
	return b.String()
}

// percent returns the place of a quote, NaN if it is not there.
func (l *referenceLocator) percent(q *Quoted) float64 {
	if q.Missing || q.Null || l.length == 0 {
		return math.NaN()
	}
	quote := collapse(q.Text)
	i := strings.Index(l.collapsed, quote)
	if i < 0 {
		if r := []rune(quote); len(r) > 50 {
			i = strings.Index(l.collapsed, string(r[:50]))
		}
	}
	if i < 0 {
		return math.NaN()
	}
	return 100 * float64(utf8.RuneCountInString(l.collapsed[:i])) / float64(l.length)
}

func positionOf(subtype int, f *CheckFinding, ref *referenceLocator, length int) FindingPosition {
	p := FindingPosition{Subtype: subtype, RefFact: ref.percent(&f.Quote), RefContra: ref.percent(&f.Pair), Earlier: math.NaN(), Later: math.NaN()}
	if f.Quote.Located && f.Pair.Located {
		a, b := 100*float64(f.Quote.Start)/float64(length), 100*float64(f.Pair.Start)/float64(length)
		p.Reversed = a > b
		p.Earlier, p.Later = min(a, b), max(a, b)
	}
	return p
}

// PositionRow is the mean place of one subtype's findings, in percent.
type PositionRow struct {
	Subtype string `json:"subtype"`
	Total   int    `json:"total_errors"`
	// Used are the findings with both passages found; the means are over them.
	Used   int    `json:"extractable"`
	Fact   Number `json:"avg_fact_pos"`
	Contra Number `json:"avg_contra_pos"`
	Gap    Number `json:"avg_gap"` // mean of |contra - fact|, at least |Contra - Fact|
	// Reversed counts findings whose first quote is the later passage; only
	// by located spans, where Fact is the earlier passage.
	Reversed int `json:"exact_quote_is_later"`

	FactInterval   *Interval `json:"fact_interval,omitempty"`
	ContraInterval *Interval `json:"contra_interval,omitempty"`
	GapInterval    *Interval `json:"gap_interval,omitempty"`
}

// Positions are the positions of a run (tables 5 and B4).
type Positions struct {
	// Reference is by the reference's locator, all subtypes with a finding.
	Reference []PositionRow `json:"official_locator_all_subtypes"`
	// Seven is the paper's table: Reference for its seven subtypes.
	Seven []PositionRow `json:"official_seven_subtypes"`
	// Located is by anchored spans, the earlier passage as the fact.
	Located []PositionRow `json:"ordered_by_located_span"`
}

// PositionsOf averages positions. Findings of stories without text have none
// and are not counted.
func PositionsOf(records []CheckRecord) Positions {
	type sum struct {
		total, used, reversed int
		fact, contra, gap     float64
	}
	var ref, loc [CheckSubtypes]sum
	add := func(s *sum, a, b float64, reversed bool) {
		s.total++
		if math.IsNaN(a) || math.IsNaN(b) {
			return
		}
		s.used++
		s.fact += a
		s.contra += b
		s.gap += math.Abs(b - a)
		if reversed {
			s.reversed++
		}
	}
	for i := range records {
		for _, p := range records[i].Positions {
			add(&ref[p.Subtype], p.RefFact, p.RefContra, false)
			add(&loc[p.Subtype], p.Earlier, p.Later, p.Reversed)
		}
	}
	row := func(i int, s sum) PositionRow {
		n := float64(s.used)
		return PositionRow{Subtype: subtypes[i].column, Total: s.total, Used: s.used, Fact: Number(ratio(s.fact, n)), Contra: Number(ratio(s.contra, n)), Gap: Number(ratio(s.gap, n)), Reversed: s.reversed}
	}
	var out Positions
	for i := range subtypes {
		if ref[i].total > 0 {
			out.Reference = append(out.Reference, row(i, ref[i]))
			out.Located = append(out.Located, row(i, loc[i]))
		}
	}
	for _, name := range PositionSubtypes {
		out.Seven = append(out.Seven, row(subtypeIndex[name], ref[subtypeIndex[name]]))
	}
	return out
}

// resample adds intervals, drawn over stories.
func (p *Positions) resample(records []CheckRecord, r *Resampling) {
	if r == nil {
		return
	}
	// For each subtype: used, fact, contra, gap, by the reference's locator and
	// by located spans.
	const width = 8
	var units [][]float64
	for i := range records {
		if !records[i].HasText {
			continue
		}
		u := make([]float64, width*CheckSubtypes)
		for _, f := range records[i].Positions {
			for k, ab := range [2][2]float64{{f.RefFact, f.RefContra}, {f.Earlier, f.Later}} {
				if a, b := ab[0], ab[1]; !math.IsNaN(a) && !math.IsNaN(b) {
					at := width*f.Subtype + 4*k
					u[at]++
					u[at+1] += a
					u[at+2] += b
					u[at+3] += math.Abs(b - a)
				}
			}
		}
		units = append(units, u)
	}
	var figures []func([]float64) float64
	var put []**Interval
	for k, rows := range [][]PositionRow{p.Reference, p.Located, p.Seven} {
		for i := range rows {
			at := width * subtypeIndex[rows[i].Subtype]
			if k == 1 {
				at += 4
			}
			for c, to := range []**Interval{&rows[i].FactInterval, &rows[i].ContraInterval, &rows[i].GapInterval} {
				figures = append(figures, func(s []float64) float64 { return ratio(s[at+1+c], s[at]) })
				put = append(put, to)
			}
		}
	}
	for i, iv := range r.bySum("bootstrap by story", units, figures) {
		*put[i] = iv
	}
}
