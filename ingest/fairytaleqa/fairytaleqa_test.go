// SPDX-License-Identifier: Apache-2.0

package fairytaleqa

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/retcon-bench/retcon/internal/sharedtest"
	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

var update = flag.Bool("update", false, "rewrite golden files")

func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, s := range files {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(s), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

type result struct {
	stories   []schemas.Story
	dropped   []schemas.Dropped
	rows, bad int
}

func load(t testing.TB, root string, set string) (r result) {
	t.Helper()
	for item, err := range Corpus.Open(context.Background(), root, json.RawMessage(set)) {
		if err != nil {
			t.Fatal(err)
		}
		b, err := item.Load(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		r.stories = append(r.stories, b.Stories...)
		r.dropped = append(r.dropped, b.Dropped...)
		r.rows += b.Rows
		r.bad += b.Bad
	}
	for _, s := range r.stories {
		check(t, s)
	}
	return r
}

// check checks what holds for every story.
func check(t testing.TB, s schemas.Story) {
	t.Helper()
	if err := text.CheckFrozen(s.Text); err != nil {
		t.Errorf("%s: %v", s.StoryID, err)
	}
	if s.Text != text.Trim(s.Text) || s.TextHash != schemas.HashText(s.Text) || s.Words != text.Words(s.Text) {
		t.Errorf("%s: text, hash or words", s.StoryID)
	}
	end := 0
	ids := map[string]bool{}
	var parts []string
	for _, sec := range s.Sections {
		got, err := sec.Slice(s.Text)
		if err != nil || got == "" || got != text.Trim(got) || sec.Start < end || ids[sec.ID] {
			t.Errorf("%s: section %+v %v", s.StoryID, sec, err)
		}
		ids[sec.ID] = true
		end = sec.End
		parts = append(parts, got)
	}
	if strings.Join(parts, "\n\n") != s.Text {
		t.Errorf("%s: sections joined by a blank line are not the story", s.StoryID)
	}
	for _, f := range s.Facts {
		if f.Question == "" || len(f.Answers) == 0 {
			t.Errorf("%s: fact %+v", s.StoryID, f)
		}
		for _, sec := range f.Sections {
			if !ids[sec] {
				t.Errorf("%s: fact %s stands in section %q, which is none", s.StoryID, f.ID, sec)
			}
		}
	}
}

const questionHead = "question_id,local-or-sum,cor_section,attribute1,attribute2,question,ex-or-im1,answer1,answer2,answer3,ex-or-im2,answer4,answer5,answer6\n"

func TestStory(t *testing.T) {
	root := tree(t, map[string]string{
		"story_meta.csv": "filename,origin,split,sections,words,questions\nthe-lamp,sea-fairybook,train,2,9,2\nsnow-man,sea-fairybook,test,1,0,0\n",
		"data-by-origin/section-stories/sea-fairybook/the-lamp-story.csv":  "section,text\n1,\"There was a lamp.\n\"\"Burn,\"\" said the keeper.\"\n2,It burned.\n",
		"data-by-origin/questions/sea-fairybook/the-lamp-questions.csv":    questionHead + "1,local,1,character,,Who said burn?,explicit,the keeper,,,explicit,The keeper,the keeper,\n2,summary,\"1, 2\",action,feeling,What happened?,implicit,it burned,,,,,,\n",
		"data-by-origin/section-stories/sea-fairybook/Snow-man-story.csv":  "section,text\r\n1,A snow man.\r\n",
		"data-by-origin/sentence-stories/sea-fairybook/the-lamp-story.csv": "no,yes\n",
		"data-by-train-split/section-stories/train/the-lamp-story.csv":     "section,text\n1,Not this one.\n",
		"data-by-train-split/section-stories/all/the-lamp-story.csv":       "section,text\n1,Nor this.\n",
	})
	r := load(t, root, "")
	if len(r.stories) != 2 || len(r.dropped) != 0 || r.rows != 2 || r.bad != 0 {
		t.Fatalf("%+v", r)
	}
	snow, lamp := r.stories[0], r.stories[1]
	if lamp.StoryID != "fairytaleqa:the-lamp" || lamp.Collection != "sea-fairybook" || lamp.Title != "The Lamp" || lamp.Language != "en" || lamp.Kind != schemas.KindStory {
		t.Errorf("%+v", lamp)
	}
	if lamp.Text != "There was a lamp.\n\n\"Burn,\" said the keeper.\n\nIt burned." {
		t.Errorf("%q", lamp.Text)
	}
	want := []schemas.SourceFact{
		{ID: "1", Question: "Who said burn?", Answers: []string{"the keeper", "The keeper"}, Sections: []string{"1"}, Attribute: "character", Explicit: true},
		{ID: "2", Question: "What happened?", Answers: []string{"it burned"}, Sections: []string{"1", "2"}, Attribute: "action; feeling"},
	}
	if fmt.Sprint(lamp.Facts) != fmt.Sprint(want) {
		t.Errorf("%+v", lamp.Facts)
	}
	if fmt.Sprint(lamp.Meta) != "[{origin sea-fairybook} {split train} {sections 2} {words 9} {questions 2}]" {
		t.Errorf("%v", lamp.Meta)
	}
	if snow.StoryID != "fairytaleqa:Snow-man" || !slices.Contains(snow.Meta, schemas.KeyValue{Key: "split", Value: "test"}) {
		t.Errorf("%+v", snow)
	}
	if r := load(t, root, `{"origins":[],"splits":["test"],"questions":false,"min_words":0,"max_words":0}`); len(r.stories) != 1 || len(r.dropped) != 1 || r.dropped[0].Reason != ReasonNotSelected {
		t.Errorf("%+v", r)
	}
}

func TestSplitLayoutAlone(t *testing.T) {
	root := tree(t, map[string]string{
		"x/story_meta.csv": "filename,origin,split,sections,words,questions\nthe-lamp,sea-fairybook,val,1,4,0\n",
		"x/data-by-train-split/section-stories/val/the-lamp-story.csv": "section,text\n1,There was a lamp.\n",
		"x/data-by-train-split/section-stories/all/the-lamp-story.csv": "section,text\n1,There was a lamp.\n",
		"x/data-by-train-split/questions/val/the-lamp-questions.csv":   questionHead + "1,local,1,character,,What was there?,explicit,a lamp,,,,,,\n",
	})
	r := load(t, root, "")
	if len(r.stories) != 1 || r.stories[0].Collection != "sea-fairybook" || len(r.dropped) != 0 {
		t.Fatalf("%+v", r)
	}
}

// The irregularities of the real files, each by itself.
func TestIrregular(t *testing.T) {
	for _, c := range []struct {
		name, csv, text string
		ids             []string
	}{
		{"third column", "section,text\n1,A lamp.,\n2,It burned.,\n", "A lamp.\n\nIt burned.", []string{"1", "2"}},
		{"blank lines", "section,text\n1,A lamp.\n\n2,It burned.\n\n\n", "A lamp.\n\nIt burned.", []string{"1", "2"}},
		{"number twice", "section,text\n1,A lamp.\n1,It burned.\n2,It went out.\n", "A lamp.\n\nIt burned.\n\nIt went out.", []string{"1", "1-2", "2"}},
		{"CRLF", "section,text\r\n1,\"A lamp.\r\n\r\nIt burned.\"\r\n", "A lamp.\n\nIt burned.", []string{"1"}},
		{"mixed newlines", "section,text\n1,\"A lamp.\r\nIt burned.\nIt went out.\"\r\n", "A lamp.\n\nIt burned.\n\nIt went out.", []string{"1"}},
		{"no newline at the end", "section,text\n1,A lamp.", "A lamp.", []string{"1"}},
		{"BOM", "\xef\xbb\xbfsection,text\n1,A lamp.\n", "A lamp.", []string{"1"}},
		{"Latin-1", "section,text\n1,Esm\xe9 lit it.\n2,Caf\xc3\xa9.\n", "Esmé lit it.\n\nCafé.", []string{"1", "2"}},
		{"empty section", "section,text\n1,A lamp.\n2,\n3,It burned.\n", "A lamp.\n\nIt burned.", []string{"1", "3"}},
		{"columns swapped", "text,section\nA lamp.,1\n", "A lamp.", []string{"1"}},
		{"hard wraps", "section,text\n1,\"The keeper went down to the water every evening, and he looked for her\nboat among the others, and when it was not there he said that the wind\nwas to blame.\n\nShe came at last, when nobody was looking out for her any more, for the\nlamp had gone out.\"\n",
			"The keeper went down to the water every evening, and he looked for her boat among the others, and when it was not there he said that the wind was to blame.\n\nShe came at last, when nobody was looking out for her any more, for the lamp had gone out.", []string{"1"}},
		{"verse among long lines", "section,text\n1,\"The keeper went down to the water every evening, and he looked for her boat among the others, and he sang to himself:\n'Lamp, lamp, burn bright,\nAll the day and all the night.'\nThen he went home.\"\n",
			"The keeper went down to the water every evening, and he looked for her boat among the others, and he sang to himself:\n\n'Lamp, lamp, burn bright,\nAll the day and all the night.'\n\nThen he went home.", []string{"1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := load(t, tree(t, map[string]string{"x/the-tale-of-mrs.-lamp-story.csv": c.csv}), "")
			if len(r.stories) != 1 {
				t.Fatalf("%+v", r)
			}
			s := r.stories[0]
			var ids []string
			for _, sec := range s.Sections {
				ids = append(ids, sec.ID)
			}
			if s.Text != c.text || !slices.Equal(ids, c.ids) || s.StoryID != "fairytaleqa:the-tale-of-mrs.-lamp" || s.Title != "The Tale of Mrs. Lamp" {
				t.Errorf("%q %v %s %s", s.Text, ids, s.StoryID, s.Title)
			}
		})
	}
}

func TestBadInput(t *testing.T) {
	for _, c := range []struct{ name, csv, reason, detail string }{
		{"empty", "", ReasonEmpty, "empty"},
		{"header only", "section,text\n", ReasonEmpty, "no section"},
		{"other columns", "a,b\n1,2\n", ReasonColumns, "a,b"},
		{"a column twice", "section,text,Text\n1,A lamp.,It burned.\n", ReasonRow, `column "text" stands twice`},
		{"broken quote", "section,text\n1,\"A lamp.\n2,It burned.\n", ReasonRow, "x/lamp-story.csv: lines 2-"},
		{"quote in the middle", "section,text\n1,A lamp.\n2,\"It\" burned\n", ReasonRow, "x/lamp-story.csv: line 3: row 3"},
		{"binary", "section,text\n1,\x00\x01\n", ReasonNotText, "zero"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := load(t, tree(t, map[string]string{"x/lamp-story.csv": c.csv, "x/key-story.csv": "section,text\n1,A key.\n"}), "")
			if len(r.stories) != 1 || r.bad != 1 || r.rows != 2 || len(r.dropped) != 1 {
				t.Fatalf("%+v", r)
			}
			if d := r.dropped[0]; d.Reason != c.reason || !strings.Contains(d.Detail, c.detail) || d.ID != "fairytaleqa:lamp" || d.Evidence[0].Value != "x/lamp-story.csv" {
				t.Errorf("%+v", d)
			}
		})
	}
	for _, root := range []string{"", filepath.Join(t.TempDir(), "nowhere")} {
		for _, err := range Corpus.Open(context.Background(), root, nil) {
			if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "--corpus fairytaleqa=DIR") {
				t.Errorf("%q: %v", root, err)
			}
		}
	}
	for _, err := range Corpus.Open(context.Background(), t.TempDir(), json.RawMessage(`{"origin":["x"]}`)) {
		if err == nil || !strings.Contains(err.Error(), "origin") {
			t.Errorf("%v", err)
		}
	}
}

// Questions that cannot be read are set aside; the story stays.
func TestBadQuestions(t *testing.T) {
	for _, c := range []struct {
		name, csv   string
		facts, drop int
	}{
		{"no answer", questionHead + "1,local,1,character,,Who?,explicit,,,,,,,\n2,local,1,character,,What?,explicit,a lamp,,,,,,\n", 1, 1},
		{"unknown section", questionHead + "1,local,\"1,9\",character,,Who?,explicit,she,,,,,,\n", 1, 1},
		{"broken quote", questionHead + "1,local,1,character,,\"Who?,explicit,she,,,,,,\n", 0, 1},
		{"other columns", "a,b\n1,2\n", 0, 2},
		{"empty", "", 0, 0},
		{"column order", "question_id,local-or-sum,cor_section,ex-or-im1,attribute1,attribute2,question,answer1,answer2,answer3,ex-or-im2,answer4,answer5,answer6\n1,local,1,explicit,character,,Who?,she,,,,,,\n", 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := load(t, tree(t, map[string]string{"x/lamp-story.csv": "section,text\n1,A lamp.\n", "x/lamp-questions.csv": c.csv}), "")
			if len(r.stories) != 1 || len(r.stories[0].Facts) != c.facts || len(r.dropped) != c.drop || r.bad != 0 {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestSameName(t *testing.T) {
	r := load(t, tree(t, map[string]string{"a/lamp-story.csv": "section,text\n1,One.\n", "b/lamp-story.csv": "section,text\n1,Two.\n", "b/Lamp-story.csv": "section,text\n1,Three.\n"}), "")
	var ids []string
	for _, s := range r.stories {
		ids = append(ids, s.StoryID)
	}
	if !slices.Equal(ids, []string{"fairytaleqa:lamp", "fairytaleqa:Lamp"}) || len(r.dropped) != 1 || r.dropped[0].Reason != ReasonTwice {
		t.Errorf("%v %v", ids, r.dropped)
	}
}

func FuzzStory(f *testing.F) {
	for _, s := range []string{
		"section,text\n1,A lamp.\n2,\"It\n\nburned.\"\n", "section,text,\n1,a,b,c\n", "section,text\n\"1\n,", "\xef\xbb\xbfsection,text\r\n1,\x91x\x92\r\n", "text,section\n,\n", "section,text\n1,\"a\n b\n  c\"\n",
		"section,text\n1,e\u0301\n1,\u0301\n1-2,x\n1,y\n",
	} {
		f.Add([]byte(s))
	}
	r := Reader{Corpus: Name, Settings: DefaultSettings(), Terms: Terms}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, d := r.Story("x", "x-story.csv", "o", data, "")
		if d == nil {
			check(t, s)
		} else if d.Reason == "" || d.Detail == "" {
			t.Errorf("%+v", d)
		}
		r.Facts("x", "x-questions.csv", data, s.Sections)
	})
}

// The real set: numbers, and a hash over all ids and texts.
func TestSharedGolden(t *testing.T) {
	r := load(t, sharedtest.Path(t, "corpora/fairytaleqa"), "")
	type sum struct{ stories, words, sections, facts, verse int }
	by := map[string]*sum{}
	h := sha256.New()
	all := sum{}
	for _, s := range r.stories {
		if by[s.Collection] == nil {
			by[s.Collection] = &sum{}
		}
		for _, c := range []*sum{by[s.Collection], &all} {
			c.stories++
			c.words += s.Words
			c.sections += len(s.Sections)
			c.facts += len(s.Facts)
			c.verse += len(s.Marks)
		}
		fmt.Fprintf(h, "%s %s\n", s.StoryID, s.TextHash)
	}
	if all.stories != 278 || all.facts != 10580 || len(r.dropped) != 0 || r.rows != 278 || r.bad != 0 || len(by) != 15 {
		t.Errorf("%+v, %d origins, %d dropped, %d rows, %d bad", all, len(by), len(r.dropped), r.rows, r.bad)
	}
	var b strings.Builder
	var names []string
	for n := range by {
		names = append(names, n)
	}
	sort.Strings(names)
	b.WriteString("origin\tstories\twords\tsections\tfacts\tverse\n")
	for _, n := range names {
		c := by[n]
		fmt.Fprintf(&b, "%s\t%d\t%d\t%d\t%d\t%d\n", n, c.stories, c.words, c.sections, c.facts, c.verse)
	}
	fmt.Fprintf(&b, "all\t%d\t%d\t%d\t%d\t%d\n%x\n", all.stories, all.words, all.sections, all.facts, all.verse, h.Sum(nil))
	path := filepath.Join("testdata", "shared.tsv")
	if *update {
		if err := os.MkdirAll("testdata", 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}
