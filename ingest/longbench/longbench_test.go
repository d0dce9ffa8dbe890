// SPDX-License-Identifier: Apache-2.0

package longbench

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/retcon-bench/retcon/ingest/internal/records/recordstest"
	"github.com/retcon-bench/retcon/internal/sharedtest"
)

// Rows here are generated from the description of the format: there is no real
// row of this corpus. Real books of another corpus stand in for contexts.

const novel = `The lamp had burned all night, and Mara did not know who had lit it. She went
down to the water, where the boats lay, and asked the old man who kept them.

"I lit it," he said. "There was a ship." He pointed out to sea, where nothing
was.`

func ebook(body string) string {
	return "The Project Gutenberg EBook of The Lamp, by Ann Other\n\nTitle: The Lamp\n\nAuthor: Ann Other\n\nRelease Date: May 1, 2005 [EBook #99999]\n\nLanguage: English\n\n\n*** START OF THIS PROJECT GUTENBERG EBOOK THE LAMP ***\n\n\n\n\nProduced by Ann Reader\n\n\n\n\n" +
		body + "\n\n\n\nEnd of the Project Gutenberg EBook of The Lamp, by Ann Other\n\n*** END OF THIS PROJECT GUTENBERG EBOOK THE LAMP ***\n\n***** This file should be named 99999.txt *****\nUpdated editions will replace the previous one.\n"
}

const film = `<html><head><title>The Lamp</title></head><pre>
<b>                         FADE IN:
</b>
<b>     INT. LIGHTHOUSE - NIGHT
</b>
     MARA lights the lamp. She &amp; TOM wait.

                         MARA
               It is late.

<b>     EXT. PIER - DAY
</b>
     Nobody is there.

<b>     INT. BOAT - NIGHT
</b>
                         TOM
               Where were you?

<b>     EXT. SEA - NIGHT
</b>
     The lamp goes out.

<b>     INT. LIGHTHOUSE - DAWN
</b>
     MARA sleeps. <grin> is no tag.
</pre></html>`

type obj = map[string]any

func lines(rows ...obj) string {
	var b strings.Builder
	for _, r := range rows {
		line, err := json.Marshal(r)
		if err != nil {
			panic(err)
		}
		b.Write(line)
		b.WriteByte('\n')
	}
	return b.String()
}

func qa(id, question, context string, answers ...string) obj {
	return obj{"input": question, "context": context, "answers": answers, "length": 12, "dataset": "narrativeqa", "language": "en", "all_classes": nil, "_id": id}
}

func TestContexts(t *testing.T) {
	book := ebook(novel)
	files := map[string]string{
		"data/narrativeqa.jsonl": lines(
			qa("a1", "Who lit it?", book, "The old man", "The boatman"),
			qa("f1", "Who lights the lamp?", film, "Mara"),
			qa("a2", "What was at sea?", book, "Nothing"),
			qa("a1", "Who lit it?", book, "The old man", "The boatman"),
			qa("a1", "Another text, the same id", "Once. "+strings.Repeat("She went home and he was there. ", 20), "x"),
			obj{"input": "x", "context": nil, "answers": nil, "dataset": "narrativeqa", "_id": "e"},
			obj{"input": "x", "context": []int{1}, "dataset": "narrativeqa", "_id": "t"},
		) + "{\"input\": \"cut",
		"data/qasper.jsonl":          lines(obj{"input": "x", "context": "A paper.", "answers": []string{"y"}, "length": "2", "dataset": "qasper", "language": "en", "_id": "q1"}),
		"data/qasper_e.jsonl":        lines(obj{"input": "x", "context": "A paper.", "answers": []string{"y"}, "length": 2, "dataset": "qasper_e", "language": "en", "_id": "q2"}),
		"v2/data.json":               `[{"_id":"v","domain":"Single-Document QA","sub_domain":"Detective","difficulty":"easy","length":"short","question":"Who?","choice_A":"He","choice_B":"She","choice_C":"They","choice_D":"It","answer":"B","context":` + quote(novel) + `}]`,
		"config/dataset2maxlen.json": "{\n  \"narrativeqa\": 128,\n  \"context\": 3\n}\n",
	}
	for name, root := range recordstest.Packed(t, files) {
		r := recordstest.Read(t, Corpus, root, "")
		if len(r.Stories) != 3 || r.Stories[0].StoryID != "longbench:a1" || r.Stories[1].StoryID != "longbench:f1" || !strings.HasPrefix(r.Stories[2].StoryID, "longbench:a1-") {
			t.Fatalf("%s: %s", name, r.Summary())
		}
		if got := fmt.Sprint(r.Reasons(), r.Rows, r.Bad); got != "map[bad_json:1 missing_field:1 not_selected:3 other_file:1 repeated:2 wrong_type:1] 11 3" {
			t.Errorf("%s: %s\n%+v", name, got, r.Dropped)
		}
		s := r.Stories[0]
		want := "The lamp had burned all night, and Mara did not know who had lit it. She went down to the water, where the boats lay, and asked the old man who kept them.\n\n" +
			`"I lit it," he said. "There was a ship." He pointed out to sea, where nothing was.`
		if s.Text != want || s.Title != "The Lamp" || s.Source.Author != "Ann Other" {
			t.Errorf("%s: %q by %q:\n%s", name, s.Title, s.Source.Author, s.Text)
		}
		if s.Source.Licence != "public-domain-us" || s.Source.Redistribute != "text" || len(s.Removed) == 0 {
			t.Errorf("%s: %+v", name, s.Source)
		}
		if len(s.Facts) < 2 || s.Facts[0].ID != "a1" || strings.Join(s.Facts[0].Answers, "|") != "The old man|The boatman" || s.Facts[1].Question != "What was at sea?" {
			t.Errorf("%s: facts %+v", name, s.Facts)
		}
		f := r.Stories[1]
		if !strings.Contains(f.Text, "INT. LIGHTHOUSE - NIGHT\n") || strings.Contains(f.Text, "<b>") || !strings.Contains(f.Text, "She & TOM wait.") || !strings.Contains(f.Text, "<grin> is no tag") ||
			f.Title != "The Lamp" || recordstest.Meta(f, "form") != "script" || f.Source.Redistribute != "derived" || f.Source.Licence != "MIT" {
			t.Errorf("%s: %q %v\n%s", name, f.Title, f.Meta, f.Text)
		}
	}
	root := recordstest.Tree(t, files)
	if r := recordstest.Read(t, Corpus, root, `{"scripts":false,"questions":false,"subdomains":["detective"]}`); len(r.Stories) != 3 || r.ByID["longbench:v"].Text == "" || len(r.Stories[0].Facts) != 0 {
		t.Errorf("settings: %s", r.Summary())
	}
	if r := recordstest.Read(t, Corpus, root, `{"tasks":["qasper"]}`); strings.Join(r.IDs(), " ") != "longbench:q1" {
		t.Errorf("another task: %s", r.Summary())
	}
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// TestRealBooks uses real books of the Gutenberg sample as contexts: nothing of
// header and licence may be left, nor much of the text be lost.
func TestRealBooks(t *testing.T) {
	root := sharedtest.Path(t, "corpora/gutenberg/files")
	for _, tt := range []struct {
		file  string
		words [2]int
		has   string
	}{
		{"500/500-0.txt", [2]int{0, 0}, ""},
		{"2814/2814-0.txt", [2]int{66000, 69000}, "THE SISTERS"},
		{"1597/1597-0.txt", [2]int{53000, 57500}, "THE EMPEROR'S NEW CLOTHES"},
	} {
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(tt.file)))
		if err != nil {
			continue // not every file is in the sample
		}
		body := strings.TrimPrefix(strings.ReplaceAll(string(data), "\r\n", "\n"), "\ufeff")
		r := recordstest.Read(t, Corpus, recordstest.Tree(t, map[string]string{"narrativeqa.jsonl": lines(qa("b", "Who?", body, "He"))}), "")
		if len(r.Stories) != 1 {
			t.Errorf("%s: %s %+v", tt.file, r.Summary(), r.Dropped)
			continue
		}
		s := r.Stories[0]
		if strings.Contains(strings.ToLower(s.Text), "gutenberg") || !strings.Contains(s.Text, tt.has) || tt.has != "" && (s.Words < tt.words[0] || s.Words > tt.words[1]) {
			t.Errorf("%s: %d words, begins %.200q", tt.file, s.Words, s.Text)
		}
	}
}

// TestLongContextsOfTags: time grows with the length of a context, whatever it
// is made of. The square of 400,000 would take minutes.
func TestLongContextsOfTags(t *testing.T) {
	for _, s := range []string{"<p> ", "<b>", "<!--", "&amp;", "<title>"} {
		clean(strings.Repeat(s, 400_000/len(s)))
	}
}

func FuzzClean(f *testing.F) {
	f.Add(ebook(novel))
	f.Add(film)
	f.Add("<b><p>&amp;lt;</title>")
	f.Add("*** START OF THE PROJECT GUTENBERG EBOOK X\n***\n*END*THE SMALL PRINT")
	f.Fuzz(func(t *testing.T, s string) {
		c := clean(s)
		if c.reason == "" && c.gutenberg && strings.Contains(strings.ToLower(c.text), "project gutenberg") {
			t.Fatalf("the name is left: %q", c.text)
		}
	})
}
