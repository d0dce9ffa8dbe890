// SPDX-License-Identifier: Apache-2.0

package report

import (
	"crypto/sha256"
	"encoding/base64"
	"regexp"
	"strings"
	"testing"
)

// A reading shows its text unchanged, marks every place, and the policy of the
// page allows exactly the script that is in it.
func TestReading(t *testing.T) {
	text := "Zoë’s <b>red</b> hat & 帽子. The hat was blue.\n\n\"Odd,\" he said."
	r := Reading{Title: "A <check>", Subtitle: "s", Texts: []Remarked{{Title: "one", Text: text, Remarks: []Remark{
		{Title: "colour", Facets: []Facet{{"category", "factual"}, {"class", "exact"}}, Lines: []Facet{{"why", "red & blue"}},
			Places: []Place{{0, 20, "earlier"}, {28, 45, "later"}}},
		{Title: "inside", Facets: []Facet{{"category", "style"}, {"class", "exact"}}, Places: []Place{{6, 32, "later"}}},
		{Title: "set aside", Dim: true, Facets: []Facet{{"category", "style"}, {"class", "none"}}},
	}}}}
	var b strings.Builder
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	_, story, _ := strings.Cut(page, `<div class="story">`)
	story, _, _ = strings.Cut(story, "</div>")
	plain := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(story, "")
	plain = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&", "&#34;", `"`, "&#39;", "'").Replace(plain)
	if plain != text {
		t.Errorf("the text came out as %q", plain)
	}
	for _, want := range []string{
		`<mark class="earlier later" data-cards="t1-1 t1-2">`, `<a id="t1-1-2"></a>`, `<a href="#t1-1-2">later</a>`,
		`data-keys="f1-1 f2-1"`, `data-keys="f1-2 f2-2"`, `class="card dim"`, "style (2)", "A &lt;check&gt;", "red &amp; blue",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	_, script, _ := strings.Cut(page, "<script>")
	script, _, _ = strings.Cut(script, "</script>")
	sum := sha256.Sum256([]byte(script))
	if !strings.Contains(page, "script-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'") {
		t.Error("the policy does not name the script that is in the page")
	}
	if strings.Contains(page, "http://") || strings.Contains(page, "https://") || strings.Count(page, "<script") != 1 {
		t.Error("the page refers to somewhere else, or has another script")
	}
}
