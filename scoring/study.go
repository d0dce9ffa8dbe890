// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"cmp"
	"slices"
)

// StudyText is one text without gold, after detection.
type StudyText struct {
	Group    string // the source story, which ties a text to its original
	Task     string // summary, adaptation, ...; "" where nobody said
	System   string // that wrote it; "" for an original
	Answered bool
	Error    bool // an error was claimed
}

// StudyRow is one system's texts of one task against the originals: a group of
// bars in figure 2 of the paper.
type StudyRow struct {
	Task   string `json:"task"`
	System string `json:"system"`
	Texts  int    `json:"texts"`
	// Sources is the number of originals compared with: those that texts of
	// the task, by any system, were made from. Where none of them is at hand,
	// all originals are taken and Matched is false.
	Sources int            `json:"sources"`
	Matched bool           `json:"matched"`
	Rates   RateComparison `json:"rates"`
}

// Study is the detection-rate study of the paper's section 6: how often errors
// are claimed in texts of each task and system, against the human originals.
// Rows are by task, then system.
func Study(originals, texts []StudyText, r Resampling) []StudyRow {
	type cell struct{ task, system string }
	cells := map[cell][]Detected{}
	sources := map[string]map[string]bool{} // by task
	for _, t := range texts {
		c := cell{t.Task, t.System}
		cells[c] = append(cells[c], Detected{t.Group, t.Answered, t.Error})
		if sources[t.Task] == nil {
			sources[t.Task] = map[string]bool{}
		}
		sources[t.Task][t.Group] = true
	}
	base := map[string][]Detected{}
	matched := map[string]bool{}
	for task, groups := range sources {
		var own, all []Detected
		for _, o := range originals {
			d := Detected{o.Group, o.Answered, o.Error}
			all = append(all, d)
			if groups[o.Group] {
				own = append(own, d)
			}
		}
		matched[task] = len(own) > 0
		base[task] = own
		if len(own) == 0 {
			base[task] = all
		}
	}
	out := make([]StudyRow, 0, len(cells))
	for c, d := range cells {
		out = append(out, StudyRow{
			Task: c.task, System: c.system, Texts: len(d), Sources: len(base[c.task]), Matched: matched[c.task],
			Rates: CompareRates(base[c.task], d, r),
		})
	}
	slices.SortFunc(out, func(a, b StudyRow) int {
		return cmp.Or(cmp.Compare(a.Task, b.Task), cmp.Compare(a.System, b.System))
	})
	return out
}
