// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/json"
	"strings"

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
	crashed := state != "" && state != "completed" && !strings.HasPrefix(state, "partial")
	judged := map[string]bool{}
	for _, cat := range schemas.Categories {
		j := &job{checker: &checker{Config: Config{Protocol: Reference}}, text: t, category: cat}
		for _, s := range cat.Subtypes {
			raw, ok := cell(cat.Column(s))
			for _, a := range s.Aliases {
				if other, there := cell(cat.Name + "_" + a); there && (!ok || strings.TrimSpace(raw) == "[]") {
					raw, ok = other, true
				}
			}
			found, outcome, reason := readCell(raw, ok)
			if crashed && len(found) == 0 {
				outcome, reason = llm.APIError, state
			}
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

// readCell reads one cell. An item that is no finding is left out, and the cell
// is then repaired.
func readCell(raw string, there bool) (found []Item, outcome llm.Outcome, reason string) {
	raw = strings.TrimSpace(raw)
	switch {
	case !there:
		return nil, llm.ParseFailed, "no such column"
	case raw == "":
		return nil, llm.ParseFailed, "an empty cell"
	case strings.HasPrefix(raw, "ERROR"):
		return nil, llm.APIError, strings.Trim(strings.TrimPrefix(raw, "ERROR"), ": ")
	}
	var list []json.RawMessage
	outcome = llm.OK
	if err := json.Unmarshal([]byte(raw), &list); err != nil {
		if !strings.HasPrefix(raw, "{") || !json.Valid([]byte(raw)) {
			return nil, llm.ParseFailed, "not a JSON array"
		}
		list, outcome, reason = []json.RawMessage{json.RawMessage(raw)}, llm.Repaired, "one object where a list is wanted"
	}
	if list == nil {
		return nil, llm.ParseFailed, "null in place of a list"
	}
	for _, item := range list {
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
