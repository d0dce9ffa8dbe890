// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"fmt"
	"slices"

	"github.com/retcon-bench/retcon/schemas"
)

// Calibration holds what a reader (a checker, or a person) says of a
// diagnostic set against what was injected (paper, appendix A, table A1).
//
// A claim matches an injection, one to one, when its two passages overlap the
// injected pair, in either order, and the category is equal; the subtype is
// looked at apart. Every other claim is false. The most pairs that can be
// made are made, those of equal subtype first.

// PairClaim is a contradiction that a reader reports.
type PairClaim struct {
	Category string
	Subtype  string
	Also     []string // further subtypes of a finding that was reported under several
	// Fact and Contra are the two passages, in code points, half-open, one
	// range a piece; empty where a quote was not found.
	Fact, Contra [][2]int
	// Quarantined: a quote that is not in the story, or copied from the prompt.
	Quarantined bool
}

// ClaimOfFinding reads a checker's finding.
func ClaimOfFinding(f schemas.Finding) (PairClaim, error) {
	c := PairClaim{Category: f.Category, Subtype: f.Subtype, Also: f.Also, Quarantined: f.Status == "unanchored" || f.Status == "copied"}
	cat, sub, ok := schemas.FindSubtype(f.Subtype)
	if !ok {
		return c, fmt.Errorf("finding %s of story %s: unknown subtype %q", f.FindingID, f.StoryID, f.Subtype)
	}
	c.Category, c.Subtype = cat.Name, sub.Name
	ranges := func(e schemas.Evidence) (out [][2]int) {
		for _, s := range e.Spans {
			out = append(out, [2]int{s.Start, s.End})
		}
		return out
	}
	c.Fact, c.Contra = ranges(f.Fact), ranges(f.Contra)
	return c, nil
}

// ClaimsOfMarking reads a person's marks.
func ClaimsOfMarking(m schemas.Marking) ([]PairClaim, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	ranges := func(list []schemas.Bounds) (out [][2]int) {
		for _, b := range list {
			out = append(out, [2]int{b.Start, b.End})
		}
		return out
	}
	var out []PairClaim
	for _, k := range m.Marks {
		c := PairClaim{Category: k.Category, Subtype: k.Subtype, Fact: ranges(k.Fact), Contra: ranges(k.Contra)}
		if cat, sub, ok := schemas.FindSubtype(k.Subtype); ok {
			c.Category, c.Subtype = cat.Name, sub.Name
		}
		out = append(out, c)
	}
	return out, nil
}

// DiagnosticCounts are counts of one story, by category.
type DiagnosticCounts struct {
	Control  bool
	Readers  int                   // whose claims are counted; 1 but for [DiagnosticCounts.Add]
	Judged   [CheckCategories]bool // an injection of a category that was not judged is neither found nor missed
	Injected [CheckCategories]int
	Claimed  [CheckCategories]int // quarantined ones left out
	Aside    [CheckCategories]int // quarantined
	Right    [CheckCategories]int // claims that match, and injections found
	Subtype  [CheckCategories]int // of Right, those of equal subtype
	// AnySubtype: of Right, those with the subtype among the claim's.
	AnySubtype [CheckCategories]int
	Unjudged   int // injections of categories that were not judged
	Alarms     int // readers who claim something of a control
}

// Add puts the counts of another reader of the same story to these.
func (n *DiagnosticCounts) Add(o DiagnosticCounts) {
	n.Readers += o.Readers
	n.Unjudged += o.Unjudged
	n.Alarms += o.Alarms
	for c := range CheckCategories {
		n.Judged[c] = n.Judged[c] || o.Judged[c]
		n.Injected[c] += o.Injected[c]
		n.Claimed[c] += o.Claimed[c]
		n.Aside[c] += o.Aside[c]
		n.Right[c] += o.Right[c]
		n.Subtype[c] += o.Subtype[c]
		n.AnySubtype[c] += o.AnySubtype[c]
	}
}

func categoryIndex(name string) int {
	return slices.IndexFunc(schemas.Categories, func(c schemas.Category) bool { return c.Name == name })
}

// MatchClaims holds the claims on one story against its truth. judged tells
// which categories the reader did read; nil for all of them.
func MatchClaims(d schemas.Diagnostic, claims []PairClaim, judged func(category int) bool) (DiagnosticCounts, error) {
	var n DiagnosticCounts
	n.Control, n.Readers = d.Control, 1
	for c := range n.Judged {
		n.Judged[c] = judged == nil || judged(c)
	}
	type injected struct {
		schemas.Injection
		cat int
	}
	var truth []injected
	for _, in := range d.Injections {
		cat := categoryIndex(in.Category)
		if cat < 0 {
			return n, fmt.Errorf("diagnostic story %s, injection %s: unknown category %q", d.DiagnosticID, in.ID, in.Category)
		}
		if !n.Judged[cat] {
			n.Unjudged++
			continue
		}
		n.Injected[cat]++
		truth = append(truth, injected{in, cat})
	}
	type edge struct {
		to   int
		same bool
	}
	edges := make([][]edge, len(claims))
	cats := make([]int, len(claims))
	for i, c := range claims {
		if cats[i] = categoryIndex(c.Category); cats[i] < 0 {
			return n, fmt.Errorf("a claim on story %s: unknown category %q", d.DiagnosticID, c.Category)
		}
		if !n.Judged[cats[i]] {
			continue
		}
		if c.Quarantined {
			n.Aside[cats[i]]++
			continue
		}
		n.Claimed[cats[i]]++
		if d.Control {
			n.Alarms = 1
		}
		for j, in := range truth {
			if in.cat != cats[i] {
				continue
			}
			fact, contra := spansOf(in.Fact, in.Facts), spansOf(in.Contra, in.Contras)
			if overlap(c.Fact, fact) && overlap(c.Contra, contra) || overlap(c.Fact, contra) && overlap(c.Contra, fact) {
				edges[i] = append(edges[i], edge{j, c.Subtype == in.Subtype})
			}
		}
	}
	// Augmenting paths: first over pairs of equal subtype, then over all.
	of := make([]int, len(truth)) // the claim of each injection, -1 for none
	for j := range of {
		of[j] = -1
	}
	for _, all := range []bool{false, true} {
		var seen []bool
		var place func(i int) bool
		place = func(i int) bool {
			for _, e := range edges[i] {
				if seen[e.to] || !all && !e.same {
					continue
				}
				seen[e.to] = true
				if of[e.to] < 0 || place(of[e.to]) {
					of[e.to] = i
					return true
				}
			}
			return false
		}
		for i := range claims {
			if !slices.Contains(of, i) {
				seen = make([]bool, len(truth))
				place(i)
			}
		}
	}
	for j, i := range of {
		if i < 0 {
			continue
		}
		cat := cats[i]
		n.Right[cat]++
		if claims[i].Subtype == truth[j].Subtype {
			n.Subtype[cat]++
		}
		if claims[i].Subtype == truth[j].Subtype || slices.Contains(claims[i].Also, truth[j].Subtype) {
			n.AnySubtype[cat]++
		}
	}
	return n, nil
}

func spansOf(first schemas.Span, more []schemas.Span) [][2]int {
	out := [][2]int{{first.Start, first.End}}
	for _, s := range more {
		out = append(out, [2]int{s.Start, s.End})
	}
	return out
}

// overlap reports whether a range of a shares a code point with one of b.
func overlap(a, b [][2]int) bool {
	for _, x := range a {
		for _, y := range b {
			if x[0] < y[1] && y[0] < x[1] {
				return true
			}
		}
	}
	return false
}

// CalibrationRow is a line of table A1. Counts are means where the reader is
// several people.
type CalibrationRow struct {
	Category string `json:"category"` // or "total"
	Injected Number `json:"gt"`
	Claimed  Number `json:"pred"` // without what is in quarantine
	Right    Number `json:"tp"`
	Aside    Number `json:"quarantined"`
	// Recall, precision and F1 of the claims that are not in quarantine; the
	// last two also with the quarantined ones as false.
	Recall        Score `json:"recall"`
	Precision     Score `json:"precision"`
	F1            Score `json:"f1"`
	PrecisionWith Score `json:"precision_with_quarantined"`
	F1With        Score `json:"f1_with_quarantined"`
	// Of the matched ones, those of equal subtype: as the first of the claim's
	// subtypes, and as any of them.
	Subtype    Score `json:"subtype_agreement"`
	AnySubtype Score `json:"subtype_agreement_any"`
}

// CalibrationTable is one reader on a diagnostic set.
type CalibrationTable struct {
	Reader   string           `json:"reader"`
	Stories  int              `json:"stories"` // with injections
	Controls int              `json:"controls"`
	People   int              `json:"people"`            // 0 for a checker
	Unjudged int              `json:"unjudged_injected"` // injections of categories without a readable answer; left out
	Rows     []CalibrationRow `json:"rows"`              // five categories, then the total
	// Of the controls, in which every claim is false: claims a story, and the
	// share of stories with one.
	FalsePerControl Score    `json:"false_positives_per_control"`
	ControlsWith    Score    `json:"controls_with_a_false_positive"`
	Warnings        []string `json:"warnings,omitempty"`
}

// Calibrate makes the table of a reader from the counts of its stories.
// Several people on one set are one reader: their counts of a story are added,
// people says how many there are, and printed counts are divided by it. The
// figures are of the summed counts. Intervals are drawn over stories; r nil
// leaves them out.
func Calibrate(reader string, people int, counts []DiagnosticCounts, r *Resampling) CalibrationTable {
	t := CalibrationTable{Reader: reader, People: people}
	// Columns: for each category, then their sum: injected, claimed, aside,
	// right, subtype, any subtype. Then controls: stories, claims, stories with one.
	const width, rows = 6, CheckCategories + 1
	units := make([][]float64, len(counts))
	total := make([]float64, width*rows+3)
	for i, n := range counts {
		u := make([]float64, len(total))
		claimed := 0
		for c := range CheckCategories {
			for k, v := range []int{n.Injected[c], n.Claimed[c], n.Aside[c], n.Right[c], n.Subtype[c], n.AnySubtype[c]} {
				u[c*width+k] = float64(v)
				u[CheckCategories*width+k] += float64(v)
			}
			claimed += n.Claimed[c]
		}
		if n.Control {
			t.Controls++
			u[width*rows], u[width*rows+1], u[width*rows+2] = float64(n.Readers), float64(claimed), float64(n.Alarms)
		} else {
			t.Stories++
		}
		t.Unjudged += n.Unjudged
		units[i] = u
		for c, v := range u {
			total[c] += v
		}
	}
	var figures []func([]float64) float64
	var put []func(*Interval)
	score := func(s *Score, name string, n float64, f func([]float64) float64) {
		*s = Score{Metric: name, Value: f(total), N: int(n)}
		figures, put = append(figures, f), append(put, func(iv *Interval) { s.Interval = iv })
	}
	share := func(a, b int, plus ...int) func([]float64) float64 {
		return func(s []float64) float64 {
			d := s[b]
			for _, p := range plus {
				d += s[p]
			}
			return ratio(s[a], d)
		}
	}
	t.Rows = make([]CalibrationRow, rows)
	per := float64(max(people, 1))
	for c := range t.Rows {
		row, at := &t.Rows[c], c*width
		row.Category = "total"
		if c < CheckCategories {
			row.Category = schemas.Categories[c].Name
		}
		injected, claimed, aside, right, same, among := at, at+1, at+2, at+3, at+4, at+5
		row.Injected, row.Claimed, row.Aside, row.Right = Number(total[injected]/per), Number(total[claimed]/per), Number(total[aside]/per), Number(total[right]/per)
		score(&row.Recall, "recall", total[injected], share(right, injected))
		score(&row.Precision, "precision", total[claimed], share(right, claimed))
		// F1 = 2 TP / (GT + pred), 0 where there is no match and undefined
		// where there is neither an injection nor a claim.
		f1 := func(with ...int) func([]float64) float64 {
			g := share(right, injected, append([]int{claimed}, with...)...)
			return func(s []float64) float64 { return 2 * g(s) }
		}
		score(&row.F1, "f1", total[injected], f1())
		score(&row.PrecisionWith, "precision_with_quarantined", total[claimed]+total[aside], share(right, claimed, aside))
		score(&row.F1With, "f1_with_quarantined", total[injected], f1(aside))
		score(&row.Subtype, "subtype_agreement", total[right], share(same, right))
		score(&row.AnySubtype, "subtype_agreement_any", total[right], share(among, right))
	}
	score(&t.FalsePerControl, "false_positives_per_control", float64(t.Controls), share(width*rows+1, width*rows))
	score(&t.ControlsWith, "controls_with_a_false_positive", float64(t.Controls), share(width*rows+2, width*rows))
	if r != nil {
		for i, iv := range r.bySum("bootstrap by story", units, figures) {
			put[i](iv)
		}
	}
	if t.Unjudged > 0 {
		t.Warnings = append(t.Warnings, fmt.Sprintf("%d injected contradictions are left out: their category has no readable answer", t.Unjudged))
	}
	if t.Controls == 0 {
		t.Warnings = append(t.Warnings, "no controls: precision says nothing of what is claimed of consistent stories")
	}
	return t
}

// ClaimsOfRow reads the findings of a row whose quotes [Measure] has located. A
// finding whose first quote is not in the story, or the second unless the judge
// gave null, is in quarantine.
func ClaimsOfRow(row CheckRow) []PairClaim {
	var out []PairClaim
	for i := range row.Cells {
		cat := schemas.Categories[subtypes[i].category]
		for k := range row.Cells[i].Findings {
			f := &row.Cells[i].Findings[k]
			out = append(out, PairClaim{Category: cat.Name, Subtype: subtypes[i].column[len(cat.Name)+1:], Fact: f.Quote.spans(), Contra: f.Pair.spans(),
				Quarantined: !f.Quote.Located || !f.Pair.Located && !f.Pair.Null})
		}
	}
	return out
}
