// SPDX-License-Identifier: Apache-2.0

package report

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTable(t *testing.T) {
	tab := &Table{Title: "Items", Columns: []string{"config", "rows", "auc"}, Notes: []string{"one note"}}
	tab.Add("flawed|fictions", 12, 0.51239)
	tab.Add("长篇\x1b[31m", 3, math.NaN())
	tab.Add("short", nil, 1.0)
	for format, want := range map[string]string{
		Text: `Items
config           rows     auc
flawed|fictions    12  0.5124
长篇 [31m           3     n/a
short                  1.0000
one note
`,
		Markdown: `**Items**

| config | rows | auc |
| --- | ---: | ---: |
| flawed\|fictions | 12 | 0.5124 |
| 长篇 [31m | 3 | n/a |
| short |  | 1.0000 |

one note
`,
		CSV: "config,rows,auc\nflawed|fictions,12,0.5124\n长篇 [31m,3,n/a\nshort,,1.0000\n",
		JSON: `[
  {"config": "flawed|fictions", "rows": 12, "auc": 0.51239},
  {"config": "长篇\u001b[31m", "rows": 3, "auc": null},
  {"config": "short", "rows": null, "auc": 1}
]
`,
	} {
		var b strings.Builder
		if err := tab.Write(&b, format); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, b.String()); diff != "" {
			t.Errorf("%s: %s", format, diff)
		}
	}
	if err := tab.Write(&strings.Builder{}, "pdf"); err == nil {
		t.Error("an unknown format was taken")
	}
}

// Figures hold no number that is none, and no text that is markup.
func TestFiguresAreSound(t *testing.T) {
	nan := math.NaN()
	for name, f := range map[string]SVG{
		"bars":    Bars("t<b>", []Bar{{Label: "a<script>", Value: nan, Low: nan, High: nan}, {Label: "b", Value: 0.5, Low: nan, High: 0.7, Group: "g"}, {"c", 0.5, 0.4, 0.7, "g", nan}}, 1),
		"stacks":  Stacks("t<b>", []string{"x<script>", "y"}, []Stack{{"a", []float64{1, 0}}, {"none", []float64{0, 0}}, {"nan", []float64{nan, 2}}}),
		"scatter": Scatter("t<b>", "x", "y", []Point{{nan, 1, "a<script>", ""}, {3, 0.2, "b", "x<script>"}}),
		"line":    BarsAndLine("t<b>", "x<script>", "y", "z", []Bin{{"a<script>", nan, nan}, {"b", 3, 0.5}, {"c", math.Inf(1), 1}}),
		"empty":   BarsAndLine("t<b>", "x", "y", "z", nil),
		"heat":    Heatmap("t<b>", []string{"a<script>", "b"}, [][]float64{{1, nan}, {-3, 0.2}}),
		"places":  Dumbbells("t<b>", "from<script>", "to", []Stretch{{"a<script>", nan, 2}, {"b", -5, 120}}),
		"radar":   Radar("t<b>", []string{"a<script>", "b", "c"}, []Series{{"s<script>", []float64{0.5, nan, 2}}, {"short", []float64{1}}}),
		"no axes": Radar("t<b>", nil, nil),
	} {
		if s := string(f); strings.Contains(s, "NaN") || strings.Contains(s, "Inf") || strings.Contains(s, "<script>") || f.title() != "t&lt;b&gt;" || !strings.HasSuffix(s, "</svg>") {
			t.Errorf("%s: %s", name, s)
		}
	}
}
