// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/retcon-bench/retcon/internal/report"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/scoring"
)

// constoryPage is the report as a page: the figures of the paper above the
// tables they are drawn from, a section each.
func constoryPage(sum scoring.ConStoryReport) report.Page {
	p := report.Page{Title: "ConStory-Bench scores", Subtitle: fmt.Sprintf("words as %s; findings of repeated judging by vote: %s; 95 %% intervals by story, of ranks by prompt", sum.WordCount, sum.Vote)}
	if len(sum.Warnings) > 0 {
		p.Sections = append(p.Sections, report.Section{Title: "Mind", Text: sum.Warnings})
	}
	for i := range sum.Judges {
		p.Sections = append(p.Sections, judgeSections(&sum.Judges[i], sum, len(sum.Judges) > 1)...)
	}
	if len(sum.Calibration) > 0 {
		p.Sections = append(p.Sections, report.Section{Title: "Table A1 and figure A2: calibration", Figures: calibrationPlots(sum.Calibration),
			Tables: []*report.Table{calibrationTable(sum.Calibration), controlTable(sum.Calibration)}})
	}
	return p
}

func judgeSections(j *scoring.JudgeReport, sum scoring.ConStoryReport, named bool) []report.Section {
	title := func(s string) string {
		if named {
			return s + ", by " + j.Name()
		}
		return s
	}
	var out []report.Section
	add := func(s report.Section) {
		s.Title = title(s.Title)
		out = append(out, s)
	}
	bars := func(name string, pick func(*scoring.ModelReport) (scoring.Number, *scoring.Interval)) report.SVG {
		var list []report.Bar
		for i := range j.Models {
			v, iv := pick(&j.Models[i])
			list = append(list, plotBar(j.Models[i].Name, j.Models[i].Class, v, iv))
		}
		return report.Bars(name, list, 0)
	}
	add(report.Section{Title: "Table 3: consistency", Text: []string{"Judged by " + j.Name() + ". Bars of one class of models share a colour."},
		Figures: []report.SVG{
			bars("CED as the reference (subtypes hit, mean of stories)", func(m *scoring.ModelReport) (scoring.Number, *scoring.Interval) {
				return m.Reference().Overall.Mean, m.Reference().Overall.MeanInterval
			}),
			bars("CED, ours (contradictions with evidence, each once, mean of stories)", func(m *scoring.ModelReport) (scoring.Number, *scoring.Interval) {
				return m.Ours().Overall.Mean, m.Ours().Overall.MeanInterval
			})},
		Tables: []*report.Table{mainTable(j, sum, false), mainTable(j, sum, true), coverageTable(j)}})
	add(report.Section{Title: "Figure 3 and table B2: output length", Figures: []report.SVG{lengthPlot(j)}, Tables: []*report.Table{lengthTable(j), bucketTable(j)}})
	growth := report.Section{Title: "Figure 4: errors by length", Tables: []*report.Table{growthTable(j)}}
	for _, m := range j.Models {
		growth.Figures = append(growth.Figures, growthPlot(m))
	}
	add(growth)
	if t := tokenTables(j); t != nil {
		add(report.Section{Title: "Tables 4 and B3: token uncertainty", Figures: tokenPlots(j), Tables: t})
	}
	corr := report.Section{Title: "Figures 5 and B3: which errors occur together", Figures: []report.SVG{heat("Figure 5, all models, all rows", j.Correlation)}, Tables: correlationTables(j)}
	places := report.Section{Title: "Figure 6, tables 5 and B4: where errors are", Figures: []report.SVG{placePlot("Figure 6, all models, by located spans", j.Positions)},
		Tables: []*report.Table{positionTable(j, false), positionTable(j, true)}}
	if len(j.Models) > 1 {
		for _, m := range j.Models {
			corr.Figures = append(corr.Figures, heat("Figure B3, "+m.Name, m.Correlation))
			places.Figures = append(places.Figures, placePlot("Figure 6, "+m.Name+", by located spans", m.Positions))
		}
	}
	add(corr)
	add(places)
	if len(j.Models) > 1 {
		add(report.Section{Title: "Figure B1: group relative rank", Text: []string{"Longer is better. A family has one colour, its best model the fullest."},
			Figures: []report.SVG{rankPlot(j, 0, "score as the reference"), rankPlot(j, 2, "score, ours")}, Tables: []*report.Table{rankTable(j)}})
	}
	var points []report.Point
	for i := range j.Models {
		c := j.Models[i].Reference()
		points = append(points, report.Point{X: float64(c.AvgWords), Y: float64(c.Overall.Mean), Group: j.Models[i].Class, Label: j.Models[i].Name})
	}
	add(report.Section{Title: "Figure B2: consistency and length", Text: []string{"Low and to the right is better."},
		Figures: []report.SVG{report.Scatter("CED as the reference against mean words", "words, mean", "CED", points)}})
	add(report.Section{Title: "Table B1: by task type", Figures: taskPlots(j), Tables: []*report.Table{taskTable(j, false), taskTable(j, true)}})
	if j.Repeat != nil {
		add(report.Section{Title: "Agreement of the judge with itself", Tables: []*report.Table{repeatTable(j, sum.Vote)}})
	}
	add(report.Section{Title: "CED by definition", Tables: []*report.Table{definitionTable(j)}})
	return out
}

func plotBar(label, group string, v scoring.Number, iv *scoring.Interval) report.Bar {
	b := report.Bar{Label: label, Group: group, Value: float64(v), Low: float64(v), High: float64(v)}
	if iv != nil {
		b.Low, b.High = iv.Low, iv.High
	}
	return b
}

func lengthPlot(j *scoring.JudgeReport) report.SVG {
	var stacks []report.Stack
	for _, m := range j.Models {
		b := report.Stack{Label: m.Name}
		for _, k := range m.Length.Figure3 {
			b.Parts = append(b.Parts, float64(k.Stories))
		}
		stacks = append(stacks, b)
	}
	return report.Stacks("Figure 3, words of the output (stories)", []string{"0-3K", "3-6K", "6K+"}, stacks)
}

func growthPlot(m scoring.ModelReport) report.SVG {
	var bins []report.Bin
	last := 0
	for i, b := range m.Length.Thousands {
		if b.Stories > 0 {
			last = i
		}
	}
	for _, b := range m.Length.Thousands[:last+1] {
		bins = append(bins, report.Bin{Label: bucketName(b), Bar: float64(b.Stories), Line: float64(b.Flags)})
	}
	return report.BarsAndLine(fmt.Sprintf("Figure 4, %s: r per story %s, over bins %s", m.Name, m.Length.FlagsPerStory, m.Length.FlagsOverBins),
		"words", "stories (bars)", "subtype flags a story (line)", bins)
}

func heat(title string, c scoring.CategoryCorrelation) report.SVG {
	var names []string
	var cells [][]float64
	for a, cat := range schemas.Categories {
		for _, p := range paperCategories {
			if p.name == cat.Name {
				names = append(names, p.title)
			}
		}
		var row []float64
		for b := range schemas.Categories {
			row = append(row, float64(c.BinaryAll[a][b]))
		}
		cells = append(cells, row)
	}
	return report.Heatmap(title, names, cells)
}

func placePlot(title string, p scoring.Positions) report.SVG {
	var rows []report.Stretch
	for _, name := range scoring.PositionSubtypes {
		s := report.Stretch{Label: strings.TrimSuffix(subtypeTitle(name), " contradictions"), From: math.NaN(), To: math.NaN()}
		for _, r := range p.Located {
			if r.Subtype == name {
				s.From, s.To = float64(r.Fact), float64(r.Contra)
				s.Label = fmt.Sprintf("%s (%d)", s.Label, r.Used)
			}
		}
		rows = append(rows, s)
	}
	return report.Dumbbells(title, "earlier passage, mean", "later passage, mean", rows)
}

// rankPlot is figure B1: a family one colour, paler for lower scores.
func rankPlot(j *scoring.JudgeReport, rank int, title string) report.SVG {
	families := map[string][]float64{}
	familyOf := map[string]string{}
	for _, m := range j.Models {
		familyOf[m.Name] = m.Family
	}
	t := j.Ranks[rank]
	for _, m := range t.Models {
		if m.Score.Defined() {
			f := familyOf[m.Model]
			families[f] = append(families[f], float64(m.Score))
		}
	}
	var bars []report.Bar
	for _, m := range t.Models {
		b := report.Bar{Label: m.Model, Group: familyOf[m.Model], Value: float64(m.Score), Low: float64(m.Score), High: float64(m.Score)}
		if list := families[b.Group]; len(list) > 1 && m.Score.Defined() {
			if high, low := slices.Max(list), slices.Min(list); high > low {
				b.Pale = (high - b.Value) / (high - low)
			}
		}
		if m.Interval != nil && m.Score.Defined() { // the score is the rank turned around
			b.Low, b.High = b.Value-(m.Interval.High-float64(m.GRR)), b.Value+(float64(m.GRR)-m.Interval.Low)
		}
		bars = append(bars, b)
	}
	return report.Bars("Figure B1, "+title, bars, 0)
}

func taskPlots(j *scoring.JudgeReport) []report.SVG {
	var out []report.SVG
	for _, m := range j.Models {
		var bars []report.Bar
		for _, t := range m.Tasks {
			if t.CED.Stories > 0 {
				bars = append(bars, plotBar(fmt.Sprintf("%s (%d)", t.TaskType, t.CED.Stories), "", t.CED.Overall.Mean, t.CED.Overall.MeanInterval))
			}
		}
		out = append(out, report.Bars("CED by task type as the reference, "+m.Name, bars, 0))
	}
	return out
}

func tokenPlots(j *scoring.JudgeReport) []report.SVG {
	var bars []report.Bar
	for _, m := range j.Models {
		if m.Tokens == nil || len(m.Tokens.Tables) == 0 {
			continue
		}
		r := m.Tokens.Tables[scoring.SegmentBoth].Rows[0]
		bars = append(bars, plotBar(m.Name+", whole text", "whole", scoring.Number(r.Whole.Value), r.Whole.Interval),
			plotBar(m.Name+", error segments", "segments", scoring.Number(r.Segments.Value), r.Segments.Interval))
	}
	return []report.SVG{report.Bars("Entropy in bits, raw over the top k", bars, 0)}
}

// calibrationPlots are figure A2: recall, precision and F1 of each reader.
func calibrationPlots(list []scoring.CalibrationTable) []report.SVG {
	var out []report.SVG
	for _, m := range []struct {
		title string
		of    func(scoring.CalibrationRow) scoring.Score
	}{
		{"recall", func(r scoring.CalibrationRow) scoring.Score { return r.Recall }},
		{"precision", func(r scoring.CalibrationRow) scoring.Score { return r.Precision }},
		{"F1", func(r scoring.CalibrationRow) scoring.Score { return r.F1 }},
	} {
		var axes []string
		var series []report.Series
		for i, c := range list {
			s := report.Series{Name: c.Reader}
			for _, p := range paperCategories {
				for _, r := range c.Rows {
					if r.Category == p.name {
						s.Values = append(s.Values, m.of(r).Value)
						if i == 0 {
							axes = append(axes, p.title)
						}
					}
				}
			}
			series = append(series, s)
		}
		out = append(out, report.Radar("Figure A2, "+m.title, axes, series))
	}
	return out
}
