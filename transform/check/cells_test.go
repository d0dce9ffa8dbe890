// SPDX-License-Identifier: Apache-2.0

package check

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

func TestFromCells(t *testing.T) {
	cells := map[string]string{
		"factual_detail_appearance_mismatches":   `[{"exact_quote": "Her brown eyes searched the foam.", "contradiction_pair": "Her blue eyes never left the water"}]`,
		"factual_detail_quantitative_mismatches": `[{"exact_quote": "Their own example of nine things.", "contradiction_pair": null}]`,
		"timeline_plot_duration_contradictions":  `[{"exact_quote": "He was right.", "contradiction_pair": "Nobody had lit it."}]`, // the other name
		"characterization_memory_contradictions": "ERROR: HTTP 429",
		"world_building_core_rules_violations":   "",
		"narrative_style_style_shifts":           `["a / b"]`,
	}
	tale := Text{ID: "t", Story: story, TextHash: schemas.HashText(story)}
	get := func(column string) (string, bool) {
		if v, ok := cells[column]; ok {
			return v, true
		}
		return "[]", true
	}
	r := FromCells(tale, "gpt", "completed", get, echoesOf("Their own example of nine things"))
	if diff := cmp.Diff(map[string]string{"timeline_plot/0": "ok", "characterization/0": "api_error", "world_building/0": "parse_failed", "factual_detail/0": "ok", "narrative_style/0": "parse_failed"},
		statuses(r.Report)); diff != "" {
		t.Error(diff)
	}
	var got []string
	for _, f := range r.Report.Findings {
		got = append(got, short(f))
	}
	if diff := cmp.Diff([]string{
		"duration_timeline_contradictions [] anchored: He was right. (exact) | Nobody had lit it. (exact) 1/1",
		"appearance_mismatches [] anchored: Her blue eyes never left the water (exact) | Her brown eyes searched the foam. (exact) 1/1",
		"quantitative_mismatches [] copied: (none) | () 1/1",
	}, got); diff != "" {
		t.Error(diff)
	}
	// A crash, and columns that are not there, are nothing clean.
	for name, r := range map[string]Result{
		"api_error":    FromCells(tale, "gpt", "error: too many values", func(string) (string, bool) { return "", true }, nil),
		"parse_failed": FromCells(tale, "gpt", "", func(string) (string, bool) { return "", false }, nil),
	} {
		for k, s := range statuses(r.Report) {
			if s != name || len(r.Report.Findings) != 0 {
				t.Errorf("%s: %s, want %s", k, s, name)
			}
		}
	}
}

func echoesOf(shown ...string) *text.Echoes { return text.NewEchoes(shown) }
