// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/retcon-bench/retcon/internal/report"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/scoring"
	"github.com/retcon-bench/retcon/splits"
)

// scorePage is the report as a page: intervals by run, what is confused with
// what, length and tokens against score (figure A3), negatives (figure A4), and
// everything by dimension. Several configs stand one after the other.
func scorePage(sums []scoring.Report) report.Page {
	p := report.Page{Title: "Scores on " + sums[0].Config}
	if len(sums) > 1 {
		p.Title = fmt.Sprintf("Scores on %d configs", len(sums))
		p.Subtitle = sums[0].Release
		p.Sections = append(p.Sections, report.Section{Title: "Configs side by side",
			Text:    []string{"The same runs on other negatives (figure A4 of the paper): does a system tell errors from originals it knows, or from any consistent story?"},
			Figures: []report.SVG{configBars(sums, scoring.Accuracy), configBars(sums, scoring.CEEvalFull)}, Tables: []*report.Table{byConfig(sums)}})
	} else {
		p.Subtitle = subtitle(sums[0])
	}
	for _, sum := range sums {
		sections := configSections(sum)
		if len(sums) > 1 {
			sections[0].Text = append([]string{subtitle(sum)}, sections[0].Text...)
			for i := range sections {
				sections[i].Title = sum.Config + ": " + sections[i].Title
			}
		}
		p.Sections = append(p.Sections, sections...)
	}
	return p
}

func subtitle(sum scoring.Report) string {
	return fmt.Sprintf("%s, %d rows, %d sources, digest %s", sum.Release, sum.Rows, sum.Groups, sum.Digest)
}

func scoreBar(label, group string, s scoring.Score) report.Bar {
	b := report.Bar{Label: label, Value: s.Value, Low: math.NaN(), High: math.NaN(), Group: group}
	if s.Interval != nil {
		b.Low, b.High = s.Interval.Low, s.Interval.High
	}
	return b
}

func systemName(s scoring.SystemReport) string { return s.Run.String() + " / " + s.Scorer }

func configBars(sums []scoring.Report, m scoring.Metric) report.SVG {
	var bars []report.Bar
	for _, run := range runsOf(sums) {
		for _, sum := range sums {
			for _, s := range sum.Systems {
				if s.Run == run && s.Scorer == sum.Systems[0].Scorer {
					bars = append(bars, scoreBar(run.String()+": "+strings.TrimPrefix(sum.Config, splits.FlawedFictions+"_"), sum.Config, scoreOf(s.Scores, m.Name)))
				}
			}
		}
	}
	return report.Bars(m.Title+" by config, "+sums[0].Systems[0].Scorer+" scorer", bars, 1)
}

func configSections(sum scoring.Report) []report.Section {
	out := []report.Section{{Title: "Headline", Tables: []*report.Table{headline(sum)}}}
	if sum.People != nil {
		out = append(out, report.Section{Title: "People", Tables: []*report.Table{peopleTable(sum.People)}})
	}
	if sum.Audit != nil {
		out = append(out, report.Section{Title: "Re-review", Tables: auditTables(sum.Audit)})
	}
	for _, m := range []scoring.Metric{scoring.Accuracy, scoring.CEEvalFull, scoring.BalancedCEEval} {
		var bars []report.Bar
		for _, s := range sum.Systems {
			bars = append(bars, scoreBar(systemName(s), s.Scorer, scoreOf(s.Scores, m.Name)))
		}
		out = append(out, report.Section{Title: m.Title, Text: []string{m.Doc + "; 95 % intervals by source."}, Figures: []report.SVG{report.Bars(m.Title, bars, 1)}})
	}
	return append(out, confusionSection(sum), lengthSection(sum), tokenSection(sum), negativeSection(sum),
		report.Section{Title: "All metrics", Tables: []*report.Table{allMetrics(sum), comparisons(sum)}},
		report.Section{Title: "By kind of row", Tables: byDimension(sum)})
}

// confusionSection draws what was said of each kind of row. Labels do not
// depend on the scorer but where answers cannot be read: the first stands for
// both in the figure.
func confusionSection(sum scoring.Report) report.Section {
	sec := report.Section{Title: "Confusion by kind", Text: []string{"What was said of rows with each kind of flaw, and of each kind of negative. On a flaw \"error\" is right, on a negative \"consistent\"."},
		Tables: []*report.Table{confusions(sum)}}
	names := []string{"said error", "said consistent", "no answer"}
	for _, s := range sum.Systems {
		if s.Scorer != sum.Systems[0].Scorer {
			continue
		}
		var stacks []report.Stack
		for _, d := range s.By {
			for _, p := range d.Parts {
				switch c := p.Tally.Confusion(); d.Name {
				case kindDimension:
					stacks = append(stacks, report.Stack{Label: schemas.LabelError + ": " + p.Value, Parts: []float64{float64(c.TP), float64(c.FN), float64(c.UnansweredPos)}})
				case negativeDimension:
					stacks = append(stacks, report.Stack{Label: schemas.LabelConsistent + ": " + p.Value, Parts: []float64{float64(c.FP), float64(c.TN), float64(c.UnansweredNeg)}})
				}
			}
		}
		sec.Figures = append(sec.Figures, report.Stacks("what "+s.Run.String()+" said, by kind", names, stacks))
	}
	return sec
}

func lengthSection(sum scoring.Report) report.Section {
	sec := report.Section{Title: "Length against score", Tables: []*report.Table{lengthCorrelations(sum), lengths(sum)}}
	for _, s := range sum.Systems {
		for _, d := range s.By {
			if d.Name != lengthDimension {
				continue
			}
			var bars []report.Bar
			for _, part := range d.Parts {
				bars = append(bars, scoreBar(fmt.Sprintf("%s (%d rows)", part.Value, scoreOf(part.Scores, scoring.Accuracy.Name).N), "", scoreOf(part.Scores, scoring.CEEvalFull.Name)))
			}
			sec.Figures = append(sec.Figures, report.Bars("CEEval-Full by length, "+systemName(s), bars, 1))
		}
	}
	return sec
}

// tokenSection is figure A3.
func tokenSection(sum scoring.Report) report.Section {
	sec := report.Section{Title: "Tokens against score", Text: []string{"Mean tokens of an answer, reasoning included, against score: one point a run (figure A3 of the paper)."}}
	points := map[string][]report.Point{}
	metrics := []scoring.Metric{scoring.Accuracy, scoring.CEEvalFull}
	for _, s := range sum.Systems {
		if s.Tokens.N == 0 {
			continue
		}
		for _, m := range metrics {
			points[m.Name] = append(points[m.Name], report.Point{X: s.Tokens.Value, Y: scoreOf(s.Scores, m.Name).Value, Group: systemName(s)})
		}
	}
	if len(points) == 0 {
		sec.Text = append(sec.Text, "No run carries token counts.")
		return sec
	}
	for _, m := range metrics {
		sec.Figures = append(sec.Figures, report.Scatter("tokens against "+m.Title, "tokens of an answer, mean", m.Title, points[m.Name]))
	}
	sec.Tables = []*report.Table{tokenTable(sum)}
	return sec
}

func negativeSection(sum scoring.Report) report.Section {
	t := &report.Table{Title: "accuracy over matched groups, by kind of negative", Columns: []string{"negative", "run", "scorer", "groups", "accuracy"}}
	for _, s := range sum.Systems {
		for _, part := range s.Paired {
			sc := scoreOf(part.Scores, scoring.PairedAccuracy.Name)
			t.Add(part.Value, s.Run.String(), s.Scorer, sc.N, sc.Value)
		}
	}
	return report.Section{Title: "Negatives", Text: []string{"Share of matched groups (a positive and its negatives of one kind) with every label right."}, Tables: []*report.Table{t}}
}
