// SPDX-License-Identifier: Apache-2.0

package writingbench

import (
	"fmt"
	"strings"
	"testing"

	"github.com/retcon-bench/retcon/ingest/internal/records/recordstest"
	"github.com/retcon-bench/retcon/internal/sharedtest"
)

// TestRealFiles reads the sample of both releases: 222 + 222 rows of the
// current one (the same queries with two rubrics), 395 + 342 of the first.
func TestRealFiles(t *testing.T) {
	root := sharedtest.Path(t, "corpora/writingbench")
	all := recordstest.Read(t, Corpus, root, `{"domains":[],"subdomains":[]}`)
	// 125 queries stand in both subsets of the first release, 118 of the
	// current release's 222 stand there too, all of them under another index.
	if n := len(all.Stories); n != 222+395+342-125-118 || all.Reasons()["repeated"] != 222+125+118 || all.Bad != 0 || all.Rows != 1181 {
		t.Errorf("%d queries, %v, %d bad of %d rows", n, all.Reasons(), all.Bad, all.Rows)
	}
	lang := map[string]int{}
	for i, s := range all.Stories {
		if i < 222 != strings.HasPrefix(s.StoryID, "writingbench:v2/") {
			t.Fatalf("query %d is %s: the current release comes first", i, s.StoryID)
		}
		if i < 222 {
			lang[s.Language]++
		}
	}
	// 98 length rows hold ideographs, 5 of them are English.
	if lang["zh"] != 93 || lang["en"] != 129 {
		t.Errorf("languages %v", lang)
	}

	r := recordstest.Read(t, Corpus, root, "")
	for _, s := range r.Stories {
		if recordstest.Meta(s, "domain1") != "Literature & Arts" {
			t.Errorf("%s is of %s", s.StoryID, recordstest.Meta(s, "domain1"))
		}
	}
	if got := fmt.Sprint(len(r.Stories), r.Reasons()); got != "48 map[not_selected:668 other_file:1 repeated:465]" {
		t.Errorf("story filter: %s", got)
	}
	s := r.ByID["writingbench:v2/595"]
	if recordstest.Meta(s, "requirement") != "length" || recordstest.Meta(s, "domain2") != "Derivative Work" || s.Kind != "query" {
		t.Errorf("%+v", s.Meta)
	}
}

// TestGeneratedRows: generated rows of the shapes that the sample lacks: the
// complete file with its lang, an index twice, rows that cannot be read.
func TestGeneratedRows(t *testing.T) {
	row := func(index, query, more string) string {
		return `{"index": ` + index + `, "domain1": "Literature & Arts", "domain2": "Prose", "query": ` + query + `, ` + more + `}` + "\n"
	}
	r := recordstest.Read(t, Corpus, recordstest.Tree(t, map[string]string{
		// By name the subset comes first; with lang the complete file is better.
		"a/length_subset.jsonl":    row("7", `"Write of the sea."`, `"checklist": []`) + row("8", `"写海。"`, `"checklist": [1]`),
		"b/benchmark_all.jsonl":    row("7", `"Write of  the sea.\n"`, `"lang": "en", "checklist": [{"name": "x"}]`) + row("9", `"Write 海 of the hills."`, `"lang": "zh", "checklist": []`),
		"a/old/style_subset.jsonl": row(`"7"`, `"Write of the moor."`, `"criteria": []`) + row("7.0", `"Write of the fen."`, `"criteria": []`) + row("null", `"No index."`, `"criteria": []`) + row("5", `["no"]`, `"criteria": []`) + row("6", `""`, `"criteria": []`),
	}), "")
	want := `query writingbench:v2/7
query writingbench:v2/9
query writingbench:v2/8
query writingbench:v1/7
query writingbench:v1/7-` + "HASH" + `
query writingbench:v1/style_subset:3
- repeated writingbench:a/length_subset.jsonl:1
- wrong_type writingbench:a/old/style_subset.jsonl:4
- missing_field writingbench:v1/6
rows 9 bad 2
`
	got := r.Summary()
	if i := strings.Index(got, "v1/7-"); i > 0 {
		got = got[:i+5] + "HASH" + got[i+5+8:]
	}
	if got != want {
		t.Errorf("got\n%s", got)
	}
	if s := r.ByID["writingbench:v2/9"]; s.Language != "zh" {
		t.Errorf("lang is the row's word: %s", s.Language)
	}
	if s := r.ByID["writingbench:v2/8"]; s.Language != "zh" || s.Words != 1 {
		t.Errorf("%s %d", s.Language, s.Words)
	}
}

// TestSameHoweverPacked: the sample of the first release, packed.
func TestSameHoweverPacked(t *testing.T) {
	files := map[string]string{
		"x/length_subset.jsonl": `{"index":1,"domain1":"Literature & Arts","domain2":"Prose","query":"One.","checklist":[]}` + "\n",
		"x/length_subset.csv":   "index,domain1,domain2,query,criteria\n2,Literature & Arts,Prose,Two.,[]\n",
	}
	for name, root := range recordstest.Packed(t, files) {
		r := recordstest.Read(t, Corpus, root, "")
		if got := strings.Join(r.IDs(), " "); got != "writingbench:v2/1 writingbench:v1/2" {
			t.Errorf("%s: %s", name, got)
		}
	}
}
