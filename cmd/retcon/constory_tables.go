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

// paperCategories are the columns of the paper's table 3, in its order.
var paperCategories = []struct{ name, title string }{
	{"characterization", "character"}, {"factual_detail", "factual"}, {"narrative_style", "narrative"}, {"timeline_plot", "timeline"}, {"world_building", "world"},
}

// constoryTables draws a report. The tables carry the paper's numbers.
func constoryTables(sum scoring.ConStoryReport, all bool) []*report.Table {
	var out []*report.Table
	for i := range sum.Judges {
		j := &sum.Judges[i]
		out = append(out, mainTable(j, sum, false), mainTable(j, sum, true), coverageTable(j))
		if j.Repeat != nil {
			out = append(out, repeatTable(j, sum.Vote))
		}
		if all {
			out = append(out, definitionTable(j), rankTable(j), taskTable(j, false), taskTable(j, true), lengthTable(j), bucketTable(j), growthTable(j),
				positionTable(j, false), positionTable(j, true))
			out = append(out, correlationTables(j)...)
			out = append(out, tokenTables(j)...)
		}
	}
	if len(sum.Calibration) > 0 {
		out = append(out, calibrationTable(sum.Calibration), controlTable(sum.Calibration))
	}
	if len(out) > 0 {
		out[len(out)-1].Notes = append(out[len(out)-1].Notes, sum.Warnings...)
	}
	return out
}

// figure is a value with its interval.
func figure(v scoring.Number, iv *scoring.Interval) string {
	return scoring.Score{Value: float64(v), Interval: iv}.String()
}

// wholeWords prints a mean of words, as the paper does.
func wholeWords(n scoring.Number) any {
	if !n.Defined() {
		return math.NaN()
	}
	return int(math.Round(float64(n)))
}

func densityOf(c *scoring.CED, category string) scoring.Density {
	for _, d := range c.ByCategory {
		if d.Name == category {
			return d
		}
	}
	nan := scoring.Number(math.NaN())
	return scoring.Density{Mean: nan, Pooled: nan}
}

func rankOf(t *scoring.GRRTable, model string) scoring.ModelGRR {
	for _, m := range t.Models {
		if m.Model == model {
			return m
		}
	}
	nan := scoring.Number(math.NaN())
	return scoring.ModelGRR{GRR: nan, Score: nan}
}

// notesOf collects warnings of models, each once, with the models it is of.
func notesOf(j *scoring.JudgeReport, of func(*scoring.ModelReport) []string) []string {
	var out []string
	for i := range j.Models {
		for _, w := range of(&j.Models[i]) {
			out = append(out, j.Models[i].Name+": "+w)
		}
	}
	return out
}

// mainTable is table 3.
func mainTable(j *scoring.JudgeReport, sum scoring.ConStoryReport, ours bool) *report.Table {
	t := &report.Table{Columns: []string{"model", "class", "CED"}}
	pick := (*scoring.ModelReport).Reference
	ranks := &j.Ranks[0]
	if ours {
		t.Title = fmt.Sprintf("Table 3, ours, by %s: errors as %s over %s; words as %s", j.Name(), scoring.DistinctLocated, scoring.RowsJudged, sum.WordCount)
		t.Columns = append(t.Columns, "CED pooled")
		pick, ranks = (*scoring.ModelReport).Ours, &j.Ranks[2]
	} else {
		t.Title = fmt.Sprintf("Table 3, as the reference, by %s: errors as %s over %s; words as %s", j.Name(), scoring.SubtypeFlags, scoring.RowsWithText, sum.WordCount)
	}
	for _, c := range paperCategories {
		t.Columns = append(t.Columns, c.title)
	}
	t.Columns = append(t.Columns, "GRR", "words", "errors", "total")
	for i := range j.Models {
		m := &j.Models[i]
		c := pick(m)
		row := []any{m.Name, m.Class, figure(c.Overall.Mean, c.Overall.MeanInterval)}
		if ours {
			row = append(row, figure(c.Overall.Pooled, c.Overall.PooledInterval))
		}
		for _, p := range paperCategories {
			d := densityOf(c, p.name)
			row = append(row, figure(d.Pooled, d.PooledInterval))
		}
		g := rankOf(ranks, m.Name)
		t.Rows = append(t.Rows, append(row, figure(g.GRR, g.Interval), wholeWords(c.AvgWords), float64(c.Overall.PerStory), c.Stories))
	}
	t.Notes = []string{"CED: mean over stories of errors per 10,000 words; categories: all errors over all words, so that they do not add up to it; lower is better"}
	if ours {
		t.Notes = append(t.Notes, "ours: a pair of passages counts once under however many subtypes, and only with its evidence in the story; what was not judged is left out; GRR over complete stories")
	}
	for _, w := range ranks.Warnings {
		t.Notes = append(t.Notes, "GRR: "+w)
	}
	t.Notes = append(t.Notes, notesOf(j, func(m *scoring.ModelReport) []string { return pick(m).Warnings })...)
	return t
}

func coverageTable(j *scoring.JudgeReport) *report.Table {
	t := &report.Table{Title: "coverage, by " + j.Name(), Columns: []string{"model", "rows", "no story", "complete", "partial", "failed", "categories not judged"}}
	for _, m := range j.Models {
		v := m.Coverage
		var cells []string
		for _, c := range schemas.Categories {
			states := v.Cells[c.Name]
			for _, s := range []string{scoring.StatusParseFailed, scoring.StatusTruncated, scoring.StatusRefused, scoring.StatusAPIError, scoring.StatusNotJudged} {
				if states[s] > 0 {
					cells = append(cells, fmt.Sprintf("%s %s %d", c.Name, s, states[s]))
				}
			}
		}
		t.Add(m.Name, v.Rows, v.NoText, v.Complete, v.Partial, v.Failed, strings.Join(cells, ", "))
	}
	return t
}

// definitionTable has every definition of an error, with what is in quarantine
// and without it, over all rows and over judged ones.
func definitionTable(j *scoring.JudgeReport) *report.Table {
	t := &report.Table{Title: "CED by definition, by " + j.Name(), Columns: []string{"model", "errors as", "quarantined", "rows", "CED mean of stories", "CED pooled", "median", "errors", "stories"}}
	for _, m := range j.Models {
		for _, c := range m.CED {
			with := "counted"
			switch c.Errors {
			case scoring.EvidenceLocated, scoring.FlagsLocated, scoring.DistinctLocated:
				with = "left out"
			case scoring.QuoteLocated:
				with = "first quote found"
			}
			t.Add(m.Name, c.Errors.String(), with, c.Rows.String(), figure(c.Overall.Mean, c.Overall.MeanInterval), figure(c.Overall.Pooled, c.Overall.PooledInterval),
				float64(c.Overall.Median), c.Overall.Errors, c.Stories)
		}
	}
	t.Notes = []string{"subtype_flags: subtypes hit (what the published code counts); instances: findings (what the paper says); distinct: a pair of passages once",
		"quarantined: findings with a quote that is not in the story, or copied from the judge's prompt"}
	return t
}

// rankTable is figure B1 as numbers.
func rankTable(j *scoring.JudgeReport) *report.Table {
	t := &report.Table{Title: "Figure B1, group relative rank, by " + j.Name(), Columns: []string{"ranking", "model", "family", "GRR", "score", "prompts ranked", "best of its prompt"}}
	for i, g := range j.Ranks {
		name := []string{"reference", "reference, strict", "ours"}[i]
		for _, m := range g.Models {
			family := ""
			for _, r := range j.Models {
				if r.Name == m.Model {
					family = r.Family
				}
			}
			t.Add(name, m.Model, family, figure(m.GRR, m.Interval), float64(m.Score), m.Ranked, m.Firsts)
		}
		t.Notes = append(t.Notes, fmt.Sprintf("%s: errors as %s, words as %s; %d prompts ranked, %d skipped (fewer than two models), %d stories left out, %d ranked although not all was judged",
			name, g.Errors, g.WordCount, g.Prompts, g.Skipped, g.LeftOut, g.Failed))
	}
	t.Notes = append(t.Notes, "Q = words/(1+errors), ranked within a prompt, 1 is best, ties take the lowest rank; score = highest GRR - GRR + 1")
	return t
}

// taskTable is table B1.
func taskTable(j *scoring.JudgeReport, ours bool) *report.Table {
	t := &report.Table{Title: "Table B1, CED by task type, as the reference, by " + j.Name(), Columns: []string{"model", "overall"}}
	if ours {
		t.Title = "Table B1, CED by task type, ours, by " + j.Name()
	}
	tasks := func(m *scoring.ModelReport) []scoring.TaskCED {
		if ours {
			return m.OurTasks
		}
		return m.Tasks
	}
	names := slices.Clone(schemas.TaskTypes)
	for i := range j.Models {
		for _, c := range tasks(&j.Models[i]) {
			if !slices.Contains(names, c.TaskType) {
				names = append(names, c.TaskType)
			}
		}
	}
	slices.Sort(names[len(schemas.TaskTypes):])
	for _, n := range names {
		if n == "" {
			n = "no type"
		}
		t.Columns = append(t.Columns, n, n+" stories")
	}
	t.Columns = append(t.Columns, "words", "total")
	for i := range j.Models {
		m := &j.Models[i]
		c := m.Reference()
		if ours {
			c = m.Ours()
		}
		row := []any{m.Name, figure(c.Overall.Mean, c.Overall.MeanInterval)}
		for _, n := range names {
			var got *scoring.TaskCED
			for k := range tasks(m) {
				if tasks(m)[k].TaskType == n {
					got = &tasks(m)[k]
				}
			}
			if got == nil {
				row = append(row, "n/a", 0)
				continue
			}
			row = append(row, figure(got.CED.Overall.Mean, got.CED.Overall.MeanInterval), got.CED.Stories)
		}
		t.Rows = append(t.Rows, append(row, wholeWords(c.AvgWords), c.Stories))
	}
	t.Notes = []string{"mean over the stories of the type"}
	return t
}

func bucketName(b scoring.LengthBucket) string {
	if b.Hi == nil {
		return fmt.Sprintf("%dK+", b.Lo/1000)
	}
	return fmt.Sprintf("%d-%dK", b.Lo/1000, *b.Hi/1000)
}

// lengthTable is table B2.
func lengthTable(j *scoring.JudgeReport) *report.Table {
	t := &report.Table{Title: "Table B2, output length in words, by " + j.Name(), Columns: []string{"model"}}
	for i, m := range j.Models {
		row := []any{m.Name}
		for _, b := range m.Length.TableB2 {
			if i == 0 {
				t.Columns = append(t.Columns, bucketName(b))
			}
			row = append(row, countAndShare(b))
		}
		t.Rows = append(t.Rows, append(row, wholeWords(m.Length.AvgWords), m.Length.MinWords, m.Length.MaxWords, m.Length.Stories))
	}
	t.Columns = append(t.Columns, "mean", "min", "max", "total")
	t.Notes = []string{"a story of exactly 3,000 words is in 3-5K"}
	return t
}

func countAndShare(b scoring.LengthBucket) string {
	if !b.Share.Defined() {
		return "0"
	}
	return fmt.Sprintf("%d (%.1f%%)", b.Stories, 100*float64(b.Share))
}

// bucketTable is figure 3 as numbers, and the correlations of figure 4.
func bucketTable(j *scoring.JudgeReport) *report.Table {
	t := &report.Table{Title: "Figures 3 and 4, length, and its correlation with errors, by " + j.Name(),
		Columns: []string{"model", "0-3K", "3-6K", "6K+", "r per story, subtype flags", "r per story, instances", "r over bins, subtype flags", "r over bins, instances", "bins", "rows", "stories"}}
	for _, m := range j.Models {
		for _, l := range []scoring.LengthAnalysis{m.Length, m.OurLength} {
			row := []any{m.Name}
			for _, b := range l.Figure3 {
				row = append(row, countAndShare(b))
			}
			t.Add(append(row, figure(l.FlagsPerStory, l.FlagsInterval), figure(l.InstancesPerStory, l.InstancesInterval), float64(l.FlagsOverBins), float64(l.InstancesOverBins),
				l.Bins, l.Rows.String(), l.Stories)...)
		}
	}
	t.Notes = []string{"r per story: Pearson over stories; r over bins: over means of thousand-word bins, which takes the noise away and is not comparable with the other (most likely what the paper prints)"}
	return t
}

// growthTable is figure 4 as numbers.
func growthTable(j *scoring.JudgeReport) *report.Table {
	t := &report.Table{Title: "Figure 4, errors by length, by " + j.Name(), Columns: []string{"model", "words", "stories", "subtype flags a story", "instances a story", "growth"}}
	for _, m := range j.Models {
		for _, b := range m.Length.Thousands {
			if b.Stories > 0 {
				t.Add(m.Name, bucketName(b), b.Stories, float64(b.Flags), float64(b.Instances), float64(b.Growth))
			}
		}
	}
	t.Notes = []string{"growth: subtype flags against those of the bin before it"}
	return t
}

// subtypeTitle is a column of the reference as words.
func subtypeTitle(column string) string {
	for _, c := range schemas.Categories {
		if s, ok := strings.CutPrefix(column, c.Name+"_"); ok {
			return strings.ReplaceAll(s, "_", " ")
		}
	}
	return column
}

// positionTable is tables 5 and B4.
func positionTable(j *scoring.JudgeReport, located bool) *report.Table {
	t := &report.Table{Title: "Tables 5 and B4, places of errors in percent of the story, as the reference, by " + j.Name(),
		Columns: []string{"model", "subtype", "fact", "contradiction", "gap", "findings", "with both places"}}
	if located {
		t.Title = "Tables 5 and B4, places of errors in percent of the story, by located spans, by " + j.Name()
		t.Columns = append(t.Columns, "first quote is the later")
	}
	add := func(model string, p scoring.Positions) {
		rows := p.Reference
		if located {
			rows = p.Located
		}
		for _, r := range rows {
			cells := []any{model, subtypeTitle(r.Subtype), figure(r.Fact, r.FactInterval), figure(r.Contra, r.ContraInterval), figure(r.Gap, r.GapInterval), r.Total, r.Used}
			if located {
				cells = append(cells, r.Reversed)
			}
			t.Rows = append(t.Rows, cells)
		}
	}
	add("all models", j.Positions)
	if len(j.Models) > 1 {
		for _, m := range j.Models {
			add(m.Name, m.Positions)
		}
	}
	t.Notes = []string{"gap: mean distance, at least the distance of the means; the paper's tables show seven of the subtypes"}
	if located {
		t.Notes = append(t.Notes, "by located spans the earlier passage is the fact, whatever the judge called it")
	} else {
		t.Notes = append(t.Notes, "as the reference: first occurrence of the quote or of its first 50 characters, in the judge's order, story with its white space collapsed")
	}
	return t
}

// correlationTables are figures 5 and B3 as numbers.
func correlationTables(j *scoring.JudgeReport) []*report.Table {
	var out []*report.Table
	table := func(title string, of func(scoring.CategoryCorrelation) scoring.CategoryMatrix, intervals bool) *report.Table {
		t := &report.Table{Title: title + ", by " + j.Name(), Columns: []string{"model", "rows", "category"}}
		for _, c := range schemas.Categories {
			t.Columns = append(t.Columns, c.Name)
		}
		add := func(model, rows string, c scoring.CategoryCorrelation) {
			m := of(c)
			for a, cat := range schemas.Categories {
				row := []any{model, fmt.Sprintf("%s (%d)", rows, c.Rows), cat.Name}
				for b := range schemas.Categories {
					if intervals && c.BinaryIntervals != nil && a != b {
						row = append(row, figure(m[a][b], c.BinaryIntervals[a][b]))
					} else {
						row = append(row, m[a][b].String())
					}
				}
				t.Rows = append(t.Rows, row)
			}
		}
		add("all models", "all", j.Correlation)
		add("all models", "scored only", j.CorrelationScored)
		if len(j.Models) > 1 {
			for _, m := range j.Models {
				add(m.Name, "all", m.Correlation)
			}
		}
		return t
	}
	r := table("Figures 5 and B3, correlation of categories (Pearson, a story has an error of the category or not)",
		func(c scoring.CategoryCorrelation) scoring.CategoryMatrix { return c.BinaryAll }, true)
	r.Notes = []string{"undefined where no story, or every story, has an error of the category; subtype and instance counts, and rows with errors alone, are in --json"}
	p := table("P(column | row): of stories with an error of the row, those with one of the column",
		func(c scoring.CategoryCorrelation) scoring.CategoryMatrix { return c.Conditional }, false)
	return append(out, r, p)
}

// tokenTables are tables 4 and B3.
func tokenTables(j *scoring.JudgeReport) []*report.Table {
	t := &report.Table{Title: "Tables 4 and B3, token uncertainty, by " + j.Name(),
		Columns: []string{"model", "segments", "measure", "whole text", "error segments", "difference", "whole, mean of stories", "segments, mean of passages", "passages", "tokens", "tokens in segments"}}
	for _, m := range j.Models {
		if m.Tokens == nil {
			continue
		}
		for _, s := range m.Tokens.Tables {
			for _, r := range s.Rows {
				t.Add(m.Name, s.Segments, r.Title, r.Whole.String(), r.Segments.String(), percent(r.Difference), float64(r.WholeMean), float64(r.SegmentsMean), s.Passages, r.Whole.N, r.Segments.N)
			}
		}
		t.Notes = append(t.Notes, fmt.Sprintf("%s: %d stories with log-probabilities, %d without, %d whose tokens do not fit; %d tokens outside the story",
			m.Name, m.Tokens.Stories, m.Tokens.Without, m.Tokens.Unaligned, m.Tokens.Outside))
	}
	if len(t.Rows) == 0 {
		return nil
	}
	t.Notes = append(t.Notes, "whole text and error segments over all tokens of all stories; a token is in a segment when one of its characters is; which passages the paper calls error segments it does not say")
	return []*report.Table{t}
}

// percent is a share as a signed percentage with its interval.
func percent(s scoring.Score) string {
	if math.IsNaN(s.Value) {
		return "n/a"
	}
	out := fmt.Sprintf("%+.2f%%", 100*s.Value)
	if s.Interval != nil && !math.IsNaN(s.Interval.Low) {
		out += fmt.Sprintf(" [%+.2f, %+.2f]", 100*s.Interval.Low, 100*s.Interval.High)
	}
	return out
}

// calibrationTable is table A1.
func calibrationTable(list []scoring.CalibrationTable) *report.Table {
	t := &report.Table{Title: "Table A1, on the diagnostic set",
		Columns: []string{"reader", "category", "GT", "pred", "TP", "recall", "precision", "F1", "quarantined", "precision with them", "F1 with them", "subtype agrees", "any subtype agrees"}}
	for _, c := range list {
		for _, r := range c.Rows {
			t.Add(c.Reader, r.Category, meanCount(r.Injected), meanCount(r.Claimed), meanCount(r.Right), r.Recall.String(), r.Precision.String(), r.F1.String(),
				meanCount(r.Aside), r.PrecisionWith.String(), r.F1With.String(), r.Subtype.String(), r.AnySubtype.String())
		}
	}
	t.Notes = []string{"a claim is right when both its passages overlap an injected pair, in either order, and the category is equal; one claim an injection; intervals by story",
		"counts of several people are means; claims on controls are in pred, and false"}
	return t
}

// meanCount prints a count, or a mean of counts with a decimal.
func meanCount(n scoring.Number) string {
	if v := float64(n); v != math.Trunc(v) {
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", float64(n))
}

func controlTable(list []scoring.CalibrationTable) *report.Table {
	t := &report.Table{Title: "Diagnostic set: stories and controls", Columns: []string{"reader", "stories", "controls", "false positives a control", "controls with one", "injected, not judged"}}
	for _, c := range list {
		t.Add(c.Reader, c.Stories, c.Controls, c.FalsePerControl.String(), c.ControlsWith.String(), c.Unjudged)
		for _, w := range c.Warnings {
			t.Notes = append(t.Notes, c.Reader+": "+w)
		}
	}
	return t
}

func repeatTable(j *scoring.JudgeReport, vote scoring.Vote) *report.Table {
	t := &report.Table{Title: "agreement of " + j.Name() + " with itself", Columns: []string{"category", "pairs of samples", "same verdict", "same findings", "findings of one or both"}}
	for _, r := range j.Repeat.Rows {
		t.Add(r.Category, r.Pairs, r.Same.String(), r.Findings.String(), r.Either)
	}
	t.Notes = []string{fmt.Sprintf("%d stories judged up to %d times; verdict: is there an error of the category; findings: share that both samples report; the tables count findings by vote: %s", j.Repeat.Stories, j.Repeat.Samples, vote)}
	if len(j.Repeat.Densities) > 0 {
		var list []string
		for _, d := range j.Repeat.Densities {
			list = append(list, d.String())
		}
		t.Notes = append(t.Notes, "CED of each sample by itself, as the reference: "+strings.Join(list, ", ")+"; the tables are of the first")
	}
	return t
}
