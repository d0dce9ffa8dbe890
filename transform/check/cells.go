// SPDX-License-Identifier: Apache-2.0

package check

import (
	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

// FromCells makes the result of a story that another checker judged and wrote
// down in the reference's columns, one a subtype: a JSON array of findings, or
// "ERROR: " and a reason. cell returns a column's text, and false where there
// is none; state is the row's evaluation_status, or empty. What could not be
// read, is missing or failed is a status of its category, never a clean one.
//
// Quotes are anchored as those of our own judges. shown knows the examples of the
// other checker's prompt, so that copies of them are told apart; with nil a
// copy is a quote that is not in the story.
func FromCells(t Text, judge, state string, cell func(column string) (string, bool), shown *text.Echoes) Result {
	loc := NewLocator(t.Story, shown)
	r := Result{Text: t, Runs: make([][]schemas.Finding, 1)}
	rep := schemas.CheckReport{StoryID: t.ID, TextHash: t.TextHash, Title: t.Title, Language: t.Language, Model: t.Model, Words: text.Words(t.Story),
		Judge: judge, Protocol: Reference, Samples: 1, Windows: 1, NotJudged: []string{}, Status: []schemas.CheckStatus{},
		Provenance: []schemas.Provenance{{Step: "check", Version: Version, Engine: "model", Model: judge}}}
	judged := map[string]bool{}
	for _, cat := range schemas.Categories {
		j := &job{checker: &checker{Config: Config{Protocol: Reference}}, text: t, category: cat}
		for _, s := range cat.Subtypes {
			raw, there := schemas.CellText(cat.Columns(s), cell)
			found, outcome, reason := readCell(schemas.ReadCell(raw, there, state))
			switch {
			case outcome == llm.Repaired:
				j.note(s.Name, outcome, "", []string{reason})
			case outcome != llm.OK:
				j.note(s.Name, outcome, reason, nil)
			}
			for _, it := range found {
				j.findings = append(j.findings, loc.Finding(cat.Name, s.Name, it, -1))
			}
		}
		for i := range j.findings {
			Seal(&j.findings[i], t, judge, Reference)
			j.findings[i].Support, j.findings[i].Asked = 1, 1
		}
		j.findings = once(j.findings)
		st := j.status(judge)
		judged[cat.Name] = st.Status == "ok" || st.Status == "repaired"
		rep.Status = append(rep.Status, st)
		r.Runs[0] = append(r.Runs[0], j.findings...)
	}
	r.Runs[0] = once(r.Runs[0])
	rep.Findings = Merge(r.Runs, func(_ int, category string) bool { return judged[category] })
	r.Report = rep
	return r
}

// readCell reads a cell's items. One that is no finding is left out, and the
// cell is then repaired.
func readCell(cell schemas.Cell) (found []Item, outcome llm.Outcome, reason string) {
	outcome, reason = llm.Outcome(cell.Status), cell.Detail
	for _, item := range cell.Items {
		it, err := ReadItem(item)
		if err != nil {
			outcome, reason = llm.Repaired, err.Error()
			continue
		}
		found = append(found, it)
	}
	if len(found) == 0 && outcome == llm.Repaired {
		return nil, llm.MalformedItems, reason
	}
	return found, outcome, reason
}
