// SPDX-License-Identifier: Apache-2.0

package records

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPlain(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"emphasis", "It was _very_ odd. *Mara* **left** ***now***. ~~no~~", "It was very odd. Mara left now. no"},
		{"marks inside words stay", "snake_case_name stays; 5_000 too; 5 * 3 * 2", "snake_case_name stays; 5_000 too; 5 * 3 * 2"},
		{"over a line's end, not a paragraph's", "*one\ntwo* and *three\n\nfour*", "one\ntwo and *three\n\nfour*"},
		{"links and pictures", `See [the map](http://x.y/z_w "t") ![alt](a.png)and [note] (aside).`, "See the map and [note] (aside)."},
		{"headings, quotations, rules", "# The Hall\n> > Who goes?\n\n* * *\n---\nText - not a rule --- here", "The Hall\nWho goes?\n\n\n\nText - not a rule --- here"},
		{"escapes", `\*not emphasis\* 1\. one`, "*not emphasis* 1. one"},
		{"punctuation at the mark", `"*Run!*" she said (*softly*).`, `"Run!" she said (softly).`},
	} {
		if got := Plain(tt.in); got != tt.want {
			t.Errorf("%s:\n%q\nwant\n%q", tt.name, got, tt.want)
		}
	}
}

func TestUnescape(t *testing.T) {
	for in, want := range map[string]string{
		"a &gt; b &amp;&amp; c":          "a > b && c",
		"&amp;nbsp;x &amp;#x200B;y":      " x y",
		"& gt; & amp ; nbsp ; & # 39;":   ">   '",
		"AT&T; Q&A & more; &unknown;":    "AT&T; Q&A & more; &unknown;",
		"&quot;Hi&quot; &mdash; &#8217;": "\"Hi\" — ’",
	} {
		if got := Unescape(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestSplitAndStem(t *testing.T) {
	for in, want := range map[string]string{
		"data/topic_writing_user/val-00000-of-00001.parquet": "validation val-00000-of-00001",
		"train/part.jsonl.gz":                                "train part",
		"writingPrompts/dev.wp":                              "validation dev.wp",
		"contest/latest.json":                                " latest",
		"plots":                                              " plots",
		"test.tar/valid.txt":                                 "validation valid",
	} {
		if got := Split(in) + " " + Stem(in); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
	k := Stems{}
	got := []string{k.Name("a/train.json", "train"), k.Name("b/train.json", "train"), k.Name("x/b/train.json", "train"), k.Name("train.json", "train"), k.Name("train.csv", "train")}
	if want := "train b/train x/b/train train-2 train-3"; strings.Join(got, " ") != want {
		t.Errorf("names %v, want %s", got, want)
	}
}

func TestLanguage(t *testing.T) {
	for _, tt := range []struct{ declared, text, want string }{
		{"", "Write a story.", "en"},
		{"zh", "Write a story.", "zh"},
		{"EN-us", "写一个故事", "en"},
		{"", "写一个关于狐狸的故事，约500字。", "zh"},
		{"", "Continue this: 春眠不觉晓 (Spring sleep) in English, in about eight hundred words, with a fox in it.", "en"},
		{"python", "", "en"},
	} {
		if got := Language(tt.declared, tt.text); got != tt.want {
			t.Errorf("%q %q: %s", tt.declared, tt.text, got)
		}
	}
}

// FuzzRow: whatever the bytes, decoding ends, gives UTF-8, and makes no U+FFFD
// that was not there.
func FuzzRow(f *testing.F) {
	for _, s := range []string{`{"t":"a"}`, `{"t":"\ud83d"}`, `{"t":"\ud83d\ude00 \\ud83d"}`, `{"t":NaN}`, "{\"t\":\"\xff\"}", `{"t":["a",null,{}]}`, `{"l":"[{}]"}`, `null`, `{"t":"\uD83D\uD83D\uDE00"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := NewRow("x", data)
		var v struct {
			T String                   `json:"t"`
			L List[struct{ N String }] `json:"l"`
			S Strings                  `json:"s"`
		}
		reason, err := r.Decode(&v)
		if (reason == "") != (err == nil) {
			t.Fatalf("reason %q with error %v", reason, err)
		}
		if err != nil {
			return
		}
		s := string(v.T)
		if !utf8.ValidString(s) {
			t.Fatalf("not UTF-8: %q", s)
		}
		if strings.ContainsRune(s, '\uFFFD') && !strings.Contains(string(data), "\uFFFD") && !strings.Contains(strings.ToLower(string(data)), `\ufffd`) && json.Valid(data) {
			t.Fatalf("made a U+FFFD: %q from %q", s, data)
		}
		if text := Text(s); text != Text(text) {
			t.Fatalf("Text is not stable: %q", text)
		}
	})
}

// FuzzTell: any beginning of a file has a format, and looking at it ends.
func FuzzTell(f *testing.F) {
	for _, s := range []string{"{}", "[{", `{"data":[{"id":1,"text":""}]}`, "id,text\n", "[ WP ] x", "{\n \"id\": 1,", "\xef\xbb\xbf{\"id\":1}\n{", "PAR1", strings.Repeat("[", 500)} {
		f.Add([]byte(s), true)
		f.Add([]byte(s), false)
	}
	keys := [][]string{{"id", "text"}}
	f.Fuzz(func(t *testing.T, data []byte, whole bool) {
		o := &Opened{}
		o.tell(data, whole, keys)
		if o.Describe() == "" {
			t.Fatal("no description")
		}
	})
}

func FuzzPlain(f *testing.F) {
	for _, s := range []string{"*a*", "[a](b)", "**a*", "\\", "# h\n> q", "![](", "](", "_a_b_"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Plain(s)
		if utf8.ValidString(s) && !utf8.ValidString(got) {
			t.Fatalf("%q became %q", s, got)
		}
		if len(got) > len(s) {
			t.Fatalf("%q grew to %q", s, got)
		}
		Unescape(s)
	})
}
