// SPDX-License-Identifier: Apache-2.0

package schemas

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestReadCell(t *testing.T) {
	for _, c := range []struct {
		text, state  string
		absent       bool
		status, want string // want: the detail's beginning, or of an item
		items        int
	}{
		{text: "[]", status: CellOK},
		{text: ` [{"exact_quote": "a"}, 1] `, status: CellOK, want: `{"exact_quote": "a"}`, items: 2},
		{text: `{"exact_quote": "a"}`, status: CellRepaired, want: "one object", items: 1},
		{text: "", status: CellParseFailed, want: "empty cell"},
		{absent: true, status: CellParseFailed, want: "no such cell"},
		{text: "null", status: CellParseFailed, want: "null"},
		{text: `[{"exact_quote": "a"`, status: CellParseFailed, want: "not a JSON array: unexpected end"},
		{text: `"a"`, status: CellParseFailed, want: "not a JSON array"},
		{text: "ERROR: HTTP 429", status: CellAPIError, want: "HTTP 429"},
		// Of a row that crashed only what was found is an answer.
		{text: "[]", state: "completed", status: CellOK},
		{text: "[]", state: "partial_2_5", status: CellOK},
		{text: "[]", state: "error: out of memory", status: CellAPIError, want: "error: out of memory"},
		{text: "", state: "error: out of memory", status: CellAPIError, want: "error: out of memory"},
		{text: "ERROR: HTTP 429", state: "error", status: CellAPIError, want: "HTTP 429"},
		{text: `[1]`, state: "error", status: CellOK, items: 1},
	} {
		got := ReadCell(c.text, !c.absent, c.state)
		said := got.Detail
		if said == "" && len(got.Items) > 0 && c.want != "" {
			said = string(got.Items[0])
		}
		if got.Status != c.status || len(got.Items) != c.items || !strings.HasPrefix(said, c.want) {
			t.Errorf("%q, %q: %+v, want %+v", c.text, c.state, got, c)
		}
	}
}

func TestCellText(t *testing.T) {
	cat := Categories[0]
	names := cat.Columns(cat.Subtypes[1])
	if strings.Join(names, " ") != "timeline_plot_duration_timeline_contradictions timeline_plot_duration_contradictions" {
		t.Fatalf("%q", names)
	}
	for _, c := range []struct{ own, other, want string }{
		{"[1]", "[2]", "[1]"},
		{" [] ", "[2]", "[2]"},
		{"", "[2]", "[2]"},
		{"-", "[2]", "[2]"},
		{"[]", "-", "[]"},
		{"", "[]", ""},
		{"-", "-", "-"},
	} {
		got, there := CellText(names, func(n string) (string, bool) {
			v := c.own
			if n == names[1] {
				v = c.other
			}
			return v, v != "-"
		})
		if !there {
			got = "-"
		}
		if got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// Whatever a cell holds, it is read as a status, and a failed one has neither
// findings nor silence about the reason.
func FuzzReadCell(f *testing.F) {
	for _, s := range []string{"", "[]", "null", "ERROR: HTTP 400", `[{"exact_quote":"a"}]`, `[["a"],1,null]`, `{"exact_quote":1}`, `[{`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c := ReadCell(s, true, "")
		switch c.Status {
		case CellOK, CellRepaired:
			if !json.Valid([]byte(s)) {
				t.Errorf("%q is not JSON and is judged", s)
			}
		case CellParseFailed, CellAPIError:
			if len(c.Items) > 0 || c.Status == CellParseFailed && c.Detail == "" {
				t.Errorf("%q: %+v", s, c)
			}
		default:
			t.Errorf("%q: %+v", s, c)
		}
	})
}
