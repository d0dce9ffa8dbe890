// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/splits"
)

// The page loads nothing, and a story cannot put markup into it.
func TestReportIsSafe(t *testing.T) {
	m := testManifest(t)
	m.Configs = []schemas.ConfigInfo{{Name: splits.FlawedFictions, Schema: "example", Splits: []schemas.SplitInfo{{Name: splits.Test, Rows: 2}}}}
	m.Notes = []string{"<img src=x onerror=alert(1)>"}
	e := row(2, schemas.VariantPatched, splits.Test)
	e.Title = "</h3><script>alert(1)</script>"
	evil := "<script src=//evil.example/x.js></script> & \"quoted\""
	e.Explanation = &evil
	rows := newSummary()
	rows.add(splits.FlawedFictions, splits.Test, e)
	var page bytes.Buffer
	if err := writeReport(&page, sidecarInput{Manifest: m, rows: rows}); err != nil {
		t.Fatal(err)
	}
	got := page.String()
	for _, bad := range []string{"<script", "<img", "onerror=alert(1)>"} {
		if strings.Contains(got, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	if tag := regexp.MustCompile(`<[^>]*\b(?:src|href|action)\s*=[^>]*>`).FindString(got); tag != "" {
		t.Errorf("the page loads something: %s", tag)
	}
	for _, want := range []string{`<mark class="error">` + e.ErrorSpans[0].Text, `<mark class="contradicted">` + e.ContradictedSpans[0].Text, "&lt;script"} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
