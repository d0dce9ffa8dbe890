// SPDX-License-Identifier: Apache-2.0

package schemas

import (
	"encoding/json"
	"strings"
)

// Statuses of a [Cell], and of [CheckStatus].
const (
	CellOK          = "ok"
	CellRepaired    = "repaired"
	CellParseFailed = "parse_failed"
	CellAPIError    = "api_error"
)

// Cell is a cell of a judge's table in the reference's format: what was said of
// one story under one subtype. It reads whatever the published tools write, and
// is one answer for those that count findings and those that look for them in
// the story; what an item of Items means is theirs.
type Cell struct {
	Status string
	Detail string // of a status other than ok
	// Items are the findings, as the judge wrote them.
	Items []json.RawMessage
}

// Columns are all names under which the subtype's column is found in the
// reference's result files, its own first.
func (c Category) Columns(s Subtype) []string {
	names := []string{c.Column(s)}
	for _, a := range s.Aliases {
		names = append(names, c.Name+"_"+a)
	}
	return names
}

// CellText returns the text under the first of a subtype's columns that has
// findings, or else under the first there is: a file may have both of the
// duration columns, and the reference leaves its own empty. column returns a
// column's text, and false where there is none.
func CellText(names []string, column func(string) (string, bool)) (text string, there bool) {
	for _, n := range names {
		v, ok := column(n)
		if t := strings.TrimSpace(v); ok && t != "" && t != "[]" {
			return v, true
		}
		if ok && !there {
			text, there = v, true
		}
	}
	return text, there
}

// ReadCell reads a cell: a JSON array of findings, or "ERROR: " and a reason;
// there is false where the table has no such cell. state is the row's
// evaluation_status, or empty: where it says that the row crashed (neither
// completed nor partial), a cell without findings was not judged.
//
// A cell that is absent, empty or no list is a failed one, never one without
// errors.
func ReadCell(text string, there bool, state string) Cell {
	c := readCell(strings.TrimSpace(text), there)
	crashed := state != "" && state != "completed" && !strings.HasPrefix(state, "partial")
	if crashed && len(c.Items) == 0 && c.Status != CellAPIError {
		return Cell{Status: CellAPIError, Detail: state}
	}
	return c
}

func readCell(t string, there bool) Cell {
	switch {
	case !there:
		return Cell{Status: CellParseFailed, Detail: "no such cell"}
	case t == "":
		return Cell{Status: CellParseFailed, Detail: "empty cell"}
	case strings.HasPrefix(t, "ERROR"):
		return Cell{Status: CellAPIError, Detail: strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(t, "ERROR"), ":"))}
	}
	var items []json.RawMessage
	if err := json.Unmarshal([]byte(t), &items); err != nil {
		if t[0] != '{' || !json.Valid([]byte(t)) {
			return Cell{Status: CellParseFailed, Detail: "not a JSON array: " + JSONFault(err).Error()}
		}
		return Cell{Status: CellRepaired, Detail: "one object where a list is wanted", Items: []json.RawMessage{json.RawMessage(t)}}
	}
	if items == nil {
		return Cell{Status: CellParseFailed, Detail: "null instead of a list"}
	}
	return Cell{Status: CellOK, Items: items}
}
