// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/retcon-bench/retcon/schemas"
)

// funnelRow is the height of a stage in [Funnel]: a bar, and a line of reasons.
const funnelRow = 42

// Funnel draws how many records came to each stage and left it. Light: in;
// solid: out, or waiting for an answer. Below each bar stand the reasons, the
// commonest first; those in brackets set parts of a record aside, not a record.
func Funnel(title string, stages []schemas.StageYield) SVG {
	var c canvas
	top := 1
	for _, s := range stages {
		top = max(top, s.In, s.Out)
	}
	height := 12 + funnelRow*len(stages)
	c.open(chartWidth, height, title)
	const left, right = 120, 150
	x := func(n int) float64 { return float64(chartWidth-left-right) * float64(n) / float64(top) }
	bar := func(from, to int, y float64, fill string) {
		if to > from {
			fmt.Fprintf(&c, `<rect x="%s" y="%s" width="%s" height="16" fill="%s"/>`, num(left+x(from)), num(y), num(x(to)-x(from)), fill)
		}
	}
	for i, s := range stages {
		y := 8 + float64(funnelRow*i)
		c.text(left-8, y+12, "end", "#111", clipLabel(s.Stage, 18))
		bar(0, s.In, y, "#d9e5ef")
		bar(0, s.Out, y, palette[0])
		bar(s.Out, min(s.Out+s.Waiting, top), y, palette[4])
		count := fmt.Sprintf("%d → %d", s.In, s.Out)
		if s.Waiting > 0 {
			count += fmt.Sprintf(", %d waiting", s.Waiting)
		}
		c.text(left+x(max(s.In, s.Out))+8, y+12, "start", "#111", count)
		c.text(left, y+29, "start", "#555", clipLabel(reasonLine(s), 100))
	}
	return c.close()
}

// reasonLine lists a stage's reasons, those that ended records first.
func reasonLine(s schemas.StageYield) string {
	list := slices.Clone(s.Reasons)
	slices.SortStableFunc(list, func(a, b schemas.ReasonYield) int { return b.Records - a.Records })
	var ends, parts []string
	for _, r := range list {
		if r.Records > 0 {
			ends = append(ends, fmt.Sprintf("%s %d", r.Reason, r.Records))
		}
	}
	slices.SortStableFunc(list, func(a, b schemas.ReasonYield) int { return b.Parts - a.Parts })
	for _, r := range list {
		if r.Parts > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", r.Reason, r.Parts))
		}
	}
	line := strings.Join(ends, ", ")
	if len(parts) > 0 {
		line = strings.TrimSpace(line + " (" + strings.Join(parts, ", ") + ")")
	}
	return line
}

// FunnelTable lists stages, and below each its reasons with an example.
func FunnelTable(title string, stages []schemas.StageYield) *Table {
	t := &Table{Title: title, Columns: []string{"stage", "in", "out", "waiting", "set aside", "parts set aside", "for example"}}
	for _, s := range stages {
		t.Add(s.Stage, s.In, s.Out, s.Waiting, s.SetAside(), nil, nil)
		for _, r := range s.Reasons {
			var example any
			if len(r.Examples) > 0 {
				example = clipLabel(r.Examples[0].ID+": "+r.Examples[0].Detail, 110)
			}
			t.Add("  "+r.Reason, nil, nil, nil, r.Records, r.Parts, example)
		}
	}
	return t
}
