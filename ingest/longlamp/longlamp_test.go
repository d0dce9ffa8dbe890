// SPDX-License-Identifier: Apache-2.0

package longlamp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/retcon-bench/retcon/ingest/internal/records"
	"github.com/retcon-bench/retcon/ingest/internal/records/recordstest"
	"github.com/retcon-bench/retcon/ingest/writingprompts"
	"github.com/retcon-bench/retcon/internal/sharedtest"
)

// Rows here are generated from the description of the format: there is no real
// sample of this corpus. The narrative test is measured on real texts of others.

// tale and advice are written for these tests.
var (
	tale = strings.Repeat("We walked down to the harbour that night because my brother had lost his keys. He swore he had left them on the boat. I found them under the nets, and when I turned round he was gone. ", 3)
	talk = strings.Repeat("You should always check your tyres before winter. They can lose air when it is cold, and you will not notice. Is yours an older car? Then you need to look more often. ", 3)
)

func post(author, input, output string, profile ...map[string]any) map[string]any {
	return map[string]any{"author": author, "input": input, "output": output, "profile": profile}
}

func array(rows ...map[string]any) string {
	b, err := json.Marshal(rows)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func TestRows(t *testing.T) {
	r := recordstest.Read(t, Corpus, recordstest.Tree(t, map[string]string{"topic_writing_user/train.json": array(
		post("anna", "Generate the content for a reddit post the lost &gt; keys", tale,
			map[string]any{"author": "anna", "id": "p1", "summary": "Boats", "content": "First. " + tale},     // the hub's spelling
			map[string]any{"input": "Generate the content for a reddit post Nets", "output": "Then. " + tale}, // the training code's
			map[string]any{"id": "p3", "summary": "Tyres", "content": talk},
			nil,
			map[string]any{"id": "p4", "summary": "Bad", "content": map[string]any{"x": 1}},
			map[string]any{"id": "p5", "summary": "Short", "content": "Yes."},
		),
		post("ben", "Generate the content for a reddit post tyres", talk),
		map[string]any{"reviewerId": "r", "input": `Generate the review text written by a reviewer who has a given an overall rating of "5" for`, "output": tale, "profile": []any{map[string]any{"overall": 5, "reviewText": tale}}},
		map[string]any{"name": "n", "input": `Generate an abstract for the title "X"`, "output": tale, "profile": []any{map[string]any{"title": "t", "abstract": tale}}},
		map[string]any{"author": "carl", "input": "x", "output": nil, "profile": nil},
		map[string]any{"author": "dora", "output": "Again. " + tale, "profile": `[{"summary":"s","content":` + jsonString("In a string. "+tale) + `}]`},
	)}), "")
	reasons := r.Reasons()
	if len(r.Stories) != 5 || r.Rows != 6 || r.Bad != 1 || reasons[ReasonTask] != 2 || reasons[ReasonNotNarrative] != 2 || reasons[records.ReasonMissing] != 1 || reasons[records.ReasonType] != 1 {
		t.Fatalf("%s%+v", r.Summary(), r.Dropped)
	}
	s := r.Stories[0]
	if !strings.HasPrefix(s.StoryID, "longlamp:anna/") || s.Source.Author != "anna" || recordstest.Meta(s, "prompt") != "the lost > keys" || recordstest.Meta(s, "split") != "train" ||
		s.Source.Redistribute != "derived" || s.Source.Licence != "unstated" {
		t.Errorf("%+v %v", s.Source, s.Meta)
	}
	if a, b := recordstest.Meta(r.Stories[1], "prompt"), recordstest.Meta(r.Stories[2], "prompt"); a != "Boats" || b != "Nets" {
		t.Errorf("both spellings: %q %q", a, b)
	}
	for _, d := range r.Dropped {
		if strings.HasSuffix(d.ID, "/profile") && d.Reason == ReasonNotNarrative && !strings.Contains(d.Detail, "2 of 5 posts") {
			t.Errorf("%+v", d)
		}
	}
	// Without the test every post is taken, without profiles only the rows' own.
	r = recordstest.Read(t, Corpus, recordstest.Tree(t, map[string]string{"a.json": array(post("ben", "Generate the content for a reddit post tyres", talk, map[string]any{"content": tale}))}), `{"narrative":false,"profile":false}`)
	if len(r.Stories) != 1 || r.Stories[0].Text != strings.TrimSpace(talk) {
		t.Errorf("%s", r.Summary())
	}
}

// TestSameKeyEverywhere: a post has one key in whatever row and file it stands.
func TestSameKeyEverywhere(t *testing.T) {
	r := recordstest.Read(t, Corpus, recordstest.Tree(t, map[string]string{
		"user/train.json":    array(post("anna", "Generate the content for a reddit post a", tale)),
		"temporal/test.json": array(post("anna", "Generate the content for a reddit post b", "Other. "+tale, map[string]any{"id": "7", "summary": "a", "content": tale})),
	}), "")
	if ids := r.IDs(); len(ids) != 3 || ids[1] != ids[2] && ids[0] != ids[1] && ids[0] != ids[2] || len(r.ByID) != 2 {
		t.Errorf("%v", ids)
	}
}

// TestParquet reads the hub's columns, all of them and one alone.
func TestParquet(t *testing.T) {
	type hubPost struct {
		Author  *string `parquet:"author,optional"`
		ID      *string `parquet:"id,optional"`
		Summary *string `parquet:"summary,optional"`
		Content *string `parquet:"content,optional"`
	}
	type full struct {
		Author  *string    `parquet:"author,optional"`
		Input   *string    `parquet:"input,optional"`
		Output  *string    `parquet:"output,optional"`
		Profile []*hubPost `parquet:"profile,optional,list"`
	}
	type only struct {
		Output *string `parquet:"output,optional"`
	}
	s := func(s string) *string { return &s }
	var a, b bytes.Buffer
	wa := parquet.NewGenericWriter[full](&a)
	_, err := wa.Write([]full{{s("anna"), s("Generate the content for a reddit post x"), s(tale), []*hubPost{{s("anna"), s("p1"), s("sum"), s("First. " + tale)}, nil}}, {Author: s("ben"), Output: s("Two. " + tale)}})
	if err == nil {
		err = wa.Close()
	}
	wb := parquet.NewGenericWriter[only](&b)
	if err == nil {
		_, err = wb.Write([]only{{s("Three. " + tale)}, {nil}})
	}
	if err == nil {
		err = wb.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	r := recordstest.Read(t, Corpus, recordstest.Tree(t, map[string]string{
		"topic_writing_user/test-00000-of-00001.parquet": a.String(), "topic_writing_user/val-00000-of-00001.parquet": b.String()}), "")
	if len(r.Stories) != 4 || r.Bad != 1 || r.Reasons()[records.ReasonMissing] != 1 || recordstest.Meta(r.Stories[3], "split") != "validation" {
		t.Errorf("%s%+v", r.Summary(), r.Dropped)
	}
}

func jsonString(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func TestNarrative(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       bool
	}{
		{"an account", tale, true},
		{"advice", talk, false},
		{"too little", "I went home. She was gone.", false},
		{"a list", strings.Repeat("- I went to the shop and he was there when we looked\n", 12), false},
		{"opinion", strings.Repeat("I think the new rules are bad and they will hurt small teams. We need better ones, and the league should know that by now. ", 5), false},
		{"present tense with dialogue", strings.Repeat(`"Who are you?" he asks. I step back from the door and shake my head. "Nobody," I say. She looks at us and closes her hand around the lamp. `, 4), true},
		{"questions", strings.Repeat("I was home and he left me there. Was it wrong? Did she know? They were all gone by then. ", 6), false},
	} {
		if got, why := Narrative(tt.text); got != tt.want {
			t.Errorf("%s: %v %s %+v", tt.name, got, why, Measure(tt.text))
		}
	}
}

// TestNarrativeOnRealTexts holds the test to what it was measured at. Stories:
// the WritingPrompts sample, most cut to some 200 words. Not stories: English
// WritingBench queries outside Literature & Arts, many with pages of source
// material (those that pass hold memoirs, cases and reports of what somebody
// did). There are no real Reddit posts here that tell nothing, so what the test
// does on LongLaMP itself stays unproven.
func TestNarrativeOnRealTexts(t *testing.T) {
	yes, all := 0, 0
	for _, s := range recordstest.Read(t, writingprompts.Corpus, sharedtest.Path(t, "corpora/writingprompts"), "").Stories {
		if Measure(s.Text).Words < leastWords {
			continue
		}
		all++
		if ok, _ := Narrative(s.Text); ok {
			yes++
		}
	}
	t.Logf("stories: %d of %d pass", yes, all)
	if yes*100 < all*70 {
		t.Errorf("only %d of %d stories pass", yes, all)
	}
	yes, all = 0, 0
	seen := map[string]bool{}
	for _, name := range []string{"benchmark_query/requirement/length/length_subset.jsonl", "release-2025-03-10/benchmark_query/requirement/style/style_subset.jsonl", "release-2025-03-10/benchmark_query/requirement/format/format_subset.jsonl"} {
		f, err := os.Open(filepath.Join(sharedtest.Path(t, "corpora/writingbench"), filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<24)
		for lines.Scan() {
			var v struct{ Query, Domain1 string }
			if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
				t.Fatal(err)
			}
			if seen[v.Query] || v.Domain1 == "Literature & Arts" || records.CJKShare(v.Query) > 0.02 || Measure(v.Query).Words < leastWords {
				continue
			}
			seen[v.Query] = true
			all++
			if ok, _ := Narrative(v.Query); ok {
				yes++
			}
		}
	}
	t.Logf("other texts: %d of %d pass", yes, all)
	if all < 250 || yes*100 > all*4 {
		t.Errorf("%d of %d texts that are no stories pass", yes, all)
	}
}

func FuzzNarrative(f *testing.F) {
	f.Add("He said “I was” there.\n- x\n1. y? ...''")
	f.Fuzz(func(t *testing.T, s string) {
		m := Measure(s)
		if m.Past+m.Present > 3*m.Words || m.Questions > m.Sentences || m.Listed > m.Lines || m.Persons+m.You > m.Words {
			t.Fatalf("%q: %+v", s, m)
		}
		Narrative(s)
	})
}
