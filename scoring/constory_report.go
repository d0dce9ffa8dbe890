// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/retcon-bench/retcon/schemas"
)

// ConStoryReport is all that is printed of runs of a checker, as plain values:
// tables, Markdown, JSON and pages are drawings of it.
//
// Judges stand apart and are never compared: the same stories have 7.57 errors
// per 10,000 words by one judge and 0.44 by another.
type ConStoryReport struct {
	WordCount WordCount     `json:"words_as"`
	Vote      Vote          `json:"vote"`
	Judges    []JudgeReport `json:"judges"`
	// Calibration has a table a reader of the diagnostic set (table A1).
	Calibration []CalibrationTable `json:"calibration,omitempty"`
	Warnings    []string           `json:"warnings,omitempty"`
}

// JudgeReport is what one judge says of all models.
type JudgeReport struct {
	Judge    string        `json:"judge"`
	Protocol string        `json:"protocol,omitempty"`
	Models   []ModelReport `json:"models"` // by class, then CED as the reference has it
	// Ranks are the reference's, the same without incomplete stories, and ours.
	Ranks []GRRTable `json:"ranks"`
	// Over all models together: figure 5 and table 5.
	Correlation       CategoryCorrelation `json:"correlation_all_rows"`
	CorrelationScored CategoryCorrelation `json:"correlation_scored_rows_only"`
	Positions         Positions           `json:"positions"`
	Repeat            *RepeatAnalysis     `json:"self_agreement,omitempty"`
}

// Name names a judge for people.
func (j *JudgeReport) Name() string { return judgeName(j.Judge, j.Protocol) }

func judgeName(judge, protocol string) string {
	if judge == "" {
		judge = "unnamed judge"
	}
	if protocol != "" {
		judge += ", " + protocol + " protocol"
	}
	return judge
}

// ModelInfo says what kind of system a model is, for the groups of table 3 and
// the families of figure B1.
type ModelInfo struct {
	Name   string `json:"name"`
	Class  string `json:"class"`  // one of [schemas.ModelClasses], or empty
	Family string `json:"family"` // or empty
}

// ModelReport is one model's stories under one judge.
type ModelReport struct {
	ModelInfo
	Coverage CheckCoverage `json:"coverage"`
	// CED by every definition of an error, over all rows with text (as the
	// reference) and over judged rows.
	CED               []CED               `json:"ced"`
	Tasks             []TaskCED           `json:"task_types"`      // reference
	OurTasks          []TaskCED           `json:"task_types_ours"` // ours
	Length            LengthAnalysis      `json:"length"`
	OurLength         LengthAnalysis      `json:"length_judged_rows"`
	Correlation       CategoryCorrelation `json:"correlation_all_rows"`
	CorrelationScored CategoryCorrelation `json:"correlation_scored_rows_only"`
	Positions         Positions           `json:"positions"`
	Tokens            *TokenAnalysis      `json:"token_uncertainty,omitempty"` // null: no story came with log-probabilities
}

// Of returns the density by a definition.
func (m *ModelReport) Of(d ErrorDef, rows RowSet) *CED {
	for i := range m.CED {
		if m.CED[i].Errors == d && m.CED[i].Rows == rows {
			return &m.CED[i]
		}
	}
	return &CED{}
}

// Reference is CED as the reference has it: subtypes hit, over every story
// with text.
func (m *ModelReport) Reference() *CED { return m.Of(SubtypeFlags, RowsWithText) }

// Ours is CED as we think right: contradictions, each counted once, with their
// evidence in the story, over what was judged.
func (m *ModelReport) Ours() *CED { return m.Of(DistinctLocated, RowsJudged) }

// JudgedRun is one model's stories as one judge saw them.
type JudgedRun struct {
	Judge, Protocol string
	CheckRun        // named by the model
	// Agreement has a list a story that was judged more than once.
	Agreement [][]schemas.CheckAgreement
	// Samples are the densities of repeated runs, one a sample.
	Samples []Number
}

// ConStoryOptions say what to put into a [ConStoryReport].
type ConStoryOptions struct {
	Words      WordCount
	Vote       Vote
	Models     []ModelInfo
	Resampling *Resampling // nil: no intervals
}

// SummariseConStory makes the report of runs. Two runs of one judge must be of
// different models.
func SummariseConStory(runs []JudgedRun, o ConStoryOptions) (ConStoryReport, error) {
	r := ConStoryReport{WordCount: o.Words, Vote: o.Vote}
	type key struct{ judge, protocol string }
	by := map[key][]JudgedRun{}
	var order []key
	for _, run := range runs {
		k := key{run.Judge, run.Protocol}
		if by[k] == nil {
			order = append(order, k)
		}
		by[k] = append(by[k], run)
	}
	slices.SortFunc(order, func(a, b key) int { return cmp.Or(cmp.Compare(a.judge, b.judge), cmp.Compare(a.protocol, b.protocol)) })
	for _, k := range order {
		j, err := summariseJudge(k.judge, k.protocol, by[k], o)
		if err != nil {
			return r, fmt.Errorf("%s: %w", judgeName(k.judge, k.protocol), err)
		}
		r.Judges = append(r.Judges, j)
	}
	if len(order) > 1 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d judges (or protocols): their figures stand apart and must not be compared", len(order)))
	}
	return r, nil
}

func summariseJudge(judge, protocol string, runs []JudgedRun, o ConStoryOptions) (JudgeReport, error) {
	j := JudgeReport{Judge: judge, Protocol: protocol}
	var plain []CheckRun
	var all []CheckRecord
	var agreement [][]schemas.CheckAgreement
	var samples []Number
	for _, run := range runs {
		plain = append(plain, run.CheckRun)
		all = append(all, run.Records...)
		agreement = append(agreement, run.Agreement...)
		if len(runs) == 1 {
			samples = run.Samples
		}
		j.Models = append(j.Models, summariseModel(run.CheckRun, o))
	}
	for _, g := range []GRROptions{{Words: o.Words}, {Words: o.Words, Strict: true}, {Words: o.Words, Errors: DistinctLocated, Strict: true}} {
		g.Resampling = o.Resampling
		t, err := GRR(plain, g)
		if err != nil {
			return j, err
		}
		j.Ranks = append(j.Ranks, t)
	}
	j.Correlation, j.CorrelationScored, j.Positions = CorrelateCategories(all), CorrelateScored(all), PositionsOf(all)
	j.Correlation.resample(all, false, o.Resampling)
	j.CorrelationScored.resample(all, true, o.Resampling)
	j.Positions.resample(all, o.Resampling)
	if len(agreement) > 0 {
		a, err := SelfAgreement(agreement, o.Resampling)
		if err != nil {
			return j, err
		}
		if a.Densities = samples; a.Stories > 0 {
			j.Repeat = &a
		}
	}
	class := func(c string) int {
		if i := slices.Index(schemas.ModelClasses, c); i >= 0 {
			return i
		}
		return len(schemas.ModelClasses)
	}
	slices.SortStableFunc(j.Models, func(a, b ModelReport) int {
		x, y := a.Reference().Overall.Mean, b.Reference().Overall.Mean
		return cmp.Or(cmp.Compare(class(a.Class), class(b.Class)), undefinedLast(x, y), cmp.Compare(a.Name, b.Name))
	})
	return j, nil
}

// undefinedLast compares two figures, an undefined one after all others.
func undefinedLast(x, y Number) int {
	switch {
	case x.Defined() && y.Defined():
		return cmp.Compare(x, y)
	case x.Defined():
		return -1
	case y.Defined():
		return 1
	}
	return 0
}

func summariseModel(run CheckRun, o ConStoryOptions) ModelReport {
	m := ModelReport{ModelInfo: ModelInfo{Name: run.Name}, Coverage: CoverageOf(run.Records)}
	for _, info := range o.Models {
		if info.Name == run.Name {
			m.ModelInfo = info
		}
	}
	for _, rows := range []RowSet{RowsWithText, RowsJudged} {
		for _, d := range ErrorDefs() {
			m.CED = append(m.CED, CEDOf(run.Records, CEDOptions{Errors: d, Rows: rows, Words: o.Words, Resampling: o.Resampling}))
		}
	}
	m.Tasks = CEDByTask(run.Records, CEDOptions{Words: o.Words, Resampling: o.Resampling})
	m.OurTasks = CEDByTask(run.Records, CEDOptions{Errors: DistinctLocated, Rows: RowsJudged, Words: o.Words, Resampling: o.Resampling})
	m.Length, m.OurLength = LengthOf(run.Records, RowsWithText, o.Words), LengthOf(run.Records, RowsComplete, o.Words)
	m.Length.resample(run.Records, o.Resampling)
	m.OurLength.resample(run.Records, o.Resampling)
	m.Correlation, m.CorrelationScored, m.Positions = CorrelateCategories(run.Records), CorrelateScored(run.Records), PositionsOf(run.Records)
	m.Correlation.resample(run.Records, false, o.Resampling)
	m.CorrelationScored.resample(run.Records, true, o.Resampling)
	m.Positions.resample(run.Records, o.Resampling)
	for i := range run.Records {
		if run.Records[i].Tokens != nil {
			t := TokenUncertainty(run.Records, o.Resampling)
			m.Tokens = &t
			break
		}
	}
	return m
}
