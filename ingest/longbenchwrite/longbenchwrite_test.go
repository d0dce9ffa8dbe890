// SPDX-License-Identifier: Apache-2.0

package longbenchwrite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/retcon-bench/retcon/ingest/internal/records/recordstest"
	"github.com/retcon-bench/retcon/internal/sharedtest"
)

// TestRealFiles reads the complete files of the upstream repository.
func TestRealFiles(t *testing.T) {
	root := sharedtest.Path(t, "corpora/longbench_write")
	for _, tt := range []struct {
		settings string
		queries  int
		reasons  string
	}{
		// 16 of the 60 English rows are creative writing, and 6 of the ruler's
		// 12; the English file's 60 rows are all in the complete one.
		{``, 22, "map[language:21 not_selected:125 other_file:1 repeated:60]"},
		{`{"languages":[]}`, 43, "map[not_selected:125 other_file:1 repeated:60]"},
		{`{"types":[],"languages":[]}`, 168, "map[other_file:1 repeated:60]"},
		{`{"types":[],"languages":["zh"]}`, 84, "map[language:84 other_file:1 repeated:60]"},
	} {
		r := recordstest.Read(t, Corpus, root, tt.settings)
		if got := fmt.Sprint(r.Reasons()); len(r.Stories) != tt.queries || got != tt.reasons || r.Bad != 0 || r.Rows != 228 {
			t.Errorf("%s: %d queries, %s, %d bad of %d rows; want %d, %s", tt.settings, len(r.Stories), got, r.Bad, r.Rows, tt.queries, tt.reasons)
		}
	}
	// A query keeps what its row says.
	r := recordstest.Read(t, Corpus, root, "")
	s := r.ByID["longbench_write:longbench_write:115"]
	if s.Kind != "query" || !strings.HasPrefix(s.Text, "Write an anti-war novel") || recordstest.Meta(s, "length") != "10000" || s.Source.Redistribute != "text" {
		t.Errorf("%+v", s)
	}
	if len(r.Files) != 3 || r.Files[0].Rows != 120 {
		t.Errorf("files %+v", r.Files)
	}
}

// TestOneFileAtATime: the English file alone has its rows under its own name.
func TestOneFileAtATime(t *testing.T) {
	r := recordstest.Read(t, Corpus, sharedtest.Path(t, "corpora/longbench_write/evaluation/longbench_write_en.jsonl"), "")
	if len(r.Stories) != 16 || !strings.HasPrefix(r.Stories[0].StoryID, "longbench_write:longbench_write_en:") {
		t.Errorf("%v", r.IDs())
	}
}

// TestGeneratedRows: generated rows of the forms that have no sample.
func TestGeneratedRows(t *testing.T) {
	r := recordstest.Read(t, Corpus, recordstest.Tree(t, map[string]string{
		// The evaluator's output: the response is no human answer.
		"out.jsonl": `{"prompt":"Write a tale.","type":"Literature and Creative Writing","length":"500","response_length":9,"response":"Once."}` + "\n" +
			`{"prompt":"Write a tale.\n","type":"Literature and Creative Writing","length":500}` + "\n" +
			`{"prompt":null,"type":"Literature and Creative Writing","length":1}` + "\n" +
			`{"prompt":{"a":1},"type":"x","length":1}` + "\n",
		"b.csv": "prompt,type,length\n\"Write a second tale, please.\",Literature and Creative Writing,2000\n",
		// Training rows hold what a model wrote and have other fields.
		"long.jsonl": `{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"y"}]}` + "\n",
	}), "")
	want := `query longbench_write:b:1
query longbench_write:out:1
- repeated longbench_write:out.jsonl:2
- missing_field longbench_write:out:3
- wrong_type longbench_write:out:4
- other_file longbench_write:long.jsonl
rows 5 bad 2
`
	got := r.Summary()
	// Files that are none come where their name stands.
	if got != want && got != strings.Replace(strings.Replace(want, "- other_file longbench_write:long.jsonl\n", "", 1), "- repeated", "- other_file longbench_write:long.jsonl\n- repeated", 1) {
		t.Errorf("got\n%s", got)
	}
	if s := r.ByID["longbench_write:out:1"]; s.Target != "" || recordstest.Meta(s, "length") != "500" {
		t.Errorf("%+v", s)
	}
}

func TestSettings(t *testing.T) {
	for _, bad := range []string{`{"min_words":5,"max_words":2}`, `{"kind":"x"}`, `{"types":3}`} {
		if _, err := recordstest.TryRead(t, Corpus, t.TempDir(), bad); err == nil || !strings.Contains(err.Error(), Name) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
