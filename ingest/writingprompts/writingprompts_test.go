// SPDX-License-Identifier: Apache-2.0

package writingprompts

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/retcon-bench/retcon/ingest/internal/records/recordstest"
	"github.com/retcon-bench/retcon/internal/sharedtest"
)

func TestDetokenise(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"`` Evening , Dale , '' I say .", `"Evening, Dale," I say.`},
		{"`` What up , Danny ? '' he replies .", `"What up, Danny?" he replies.`},
		{"I do n't know ; you 'd have to ask , he 's the boss . We 're done .", "I don't know; you'd have to ask, he's the boss. We're done."},
		{"I ca n't , wo n't and can not . She can not only sing .", "I can't, won't and cannot. She can not only sing."},
		{"I 'm gon na go . Lem me see .", "I'm gonna go. Lemme see."},
		{"I was feckin ' sloshed , 'round 4 o'clock .", "I was feckin' sloshed, 'round 4 o'clock."},
		{"the bartender ( and the woman [ in red ] ) slid", "the bartender (and the woman [in red]) slid"},
		{"“ 14.5. ” Her voice . It ’ s late , she ’ d say", "“14.5.” Her voice. It’s late, she’d say"},
		{"used to.. At first ... I know ... .was it ?", "used to.. At first... I know....was it?"},
		{"worth $ 45 and 85 % of # 1", "worth $45 and 85% of #1"},
		{"I *really* mean * it . *So I sit , and cry *", "I *really* mean * it. *So I sit, and cry*"},
		{"* * *", "* * *"},
		{"found here : https : //www.reddit.com/r/x", "found here: https://www.reddit.com/r/x"},
		{"[ Sally ] ( https : //a.b )", "[Sally](https://a.b)"},
		{"They responded with '' You choose . ''", `They responded with "You choose."`},
		{"''Honey , I 'm home . ''", `"Honey, I'm home."`},
		{"Dr. King said 10:34 am to Mr. X .", "Dr. King said 10:34 am to Mr. X."},
		{"one line .\n`` Next , '' he said .", "one line.\n\"Next,\" he said."},
	} {
		if got := Detokenise(tt.in); got != tt.want {
			t.Errorf("%q\n got %q\nwant %q", tt.in, got, tt.want)
		}
	}
}

// marks is s without white space and quotation marks: what joining words must
// not change. (Two apostrophes may meet and look like the tokeniser's quote, so
// quotation marks are left out; the table above has those.)
func marks(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '"' || r == '\'' || r == '`' {
			return -1
		}
		return r
	}, s)
}

// TestWordsAreKept: joining takes nothing but blanks away.
func TestWordsAreKept(t *testing.T) {
	token := rapid.SampledFrom(strings.Fields("the Mara ran I n't 's 've 'm ' `` '' ( ) [ ] . , ? ! ... ; : - -- * ** # $ % 12 o'clock “ ” ’ ‘ _x_ *a b* gon na can not 't is é 你 https //x ''y \" `"))
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOfN(token, 1, 30).Draw(t, "tokens"), " ")
		if got := Detokenise(s); marks(got) != marks(s) {
			t.Fatalf("%q became %q", s, got)
		}
	})
}

// TestNaturalTextStays: text that no tokeniser saw is not taken for such.
func TestNaturalTextStays(t *testing.T) {
	for s, want := range map[string]bool{
		"He said (yes), 'Hello there.' Then... he left!": false,
		"You wake up . It is late .":                     true,
		"`` Hi":                                          true,
		"No stops at all":                                false,
		"I did n't":                                      true,
	} {
		if got := Tokenised(s); got != want {
			t.Errorf("%q: %v", s, got)
		}
	}
}

func TestLines(t *testing.T) {
	for _, tt := range []struct {
		in   string
		lost bool
		want string
	}{
		{"a <newline> b <newline> <newline> c <newline> <newline> <newline> d", false, "a\nb\n\nc\n\nd"},
		{"<newline> a<newline>b <newline>", false, "a\nb"},
		{"a  b   c d    e", true, "a\nb\n\nc d\n\ne"},
		{"a  b", false, "a  b"},
	} {
		if got := Lines(tt.in, tt.lost); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestTags(t *testing.T) {
	for in, want := range map[string]string{
		"[ WP ] You wake .":      "[WP] You wake .",
		"[wp][ EU ]Two":          "[WP EU] Two",
		"[ Spoilers ] Not a tag": "[] [ Spoilers ] Not a tag",
		"[ 1 ] no":               "[] [ 1 ] no",
		"no tag":                 "[] no tag",
		"[ OT ]":                 "[OT] ",
		"[ WP":                   "[] [ WP",
	} {
		tags, rest := Tags(in)
		if got := fmt.Sprint(tags, " ", rest); strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(want), " ") {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestUnion reads the sample of real text: it is altered (no tags, no
// <newline>, cut to some 200 words), so the form of the archive is not proven.
func TestUnion(t *testing.T) {
	r := recordstest.Read(t, Corpus, sharedtest.Path(t, "corpora/writingprompts"), "")
	if len(r.Stories) != 342 || r.Bad != 0 || len(r.Dropped) != 0 || len(r.Files) != 8 {
		t.Fatalf("%d stories, %d files, %v", len(r.Stories), len(r.Files), r.Reasons())
	}
	paragraphs := 0
	for _, s := range r.Stories {
		for _, bad := range []string{" n't", " 's ", "``", "<newline>", " , ", " .\n", "  "} {
			if strings.Contains(s.Text, bad) {
				t.Errorf("%s still has %q", s.StoryID, bad)
			}
		}
		paragraphs += strings.Count(s.Text, "\n\n")
	}
	if paragraphs < 600 {
		t.Errorf("only %d paragraph breaks", paragraphs)
	}
	s := r.ByID["writingprompts:train:1"]
	if !strings.HasPrefix(s.Text, "So many times have I walked on ruins, the remainings") || recordstest.Meta(s, "split") != "train" ||
		!strings.Contains(recordstest.Meta(s, "prompt"), `says, "When you realize`) || s.Source.Redistribute != "derived" {
		t.Errorf("%q %v", s.Text, s.Meta)
	}
	// Both files end without a newline; the last pair is there.
	if _, ok := r.ByID["writingprompts:reference:312"]; !ok {
		t.Error("the last pair is missing")
	}
}

// TestRebuilt: the archive's form rebuilt from real text (run of k blanks =
// k-1 <newline>, tags put back) gives the same stories as the altered form.
func TestRebuilt(t *testing.T) {
	root := sharedtest.Path(t, "corpora/writingprompts/derived-union/ini_data")
	want := recordstest.Read(t, Corpus, root, "")
	files := map[string]string{}
	for _, split := range []string{"train", "dev", "test"} {
		src, tgt := readFile(t, root, split+".wp_source"), readFile(t, root, split+".wp_target")
		for i, l := range src {
			src[i] = "[ WP ] " + l
		}
		for i, l := range tgt {
			tgt[i] = rebuild(l)
		}
		files["writingPrompts/"+split+".wp_source"] = strings.Join(src, "\n") + "\n"
		files["writingPrompts/"+split+".wp_target"] = strings.Join(tgt, "\n") + "\n"
	}
	for name, dir := range recordstest.Packed(t, files) {
		got := recordstest.Read(t, Corpus, dir, "")
		if len(got.Stories) != len(want.Stories) {
			t.Fatalf("%s: %d stories, want %d", name, len(got.Stories), len(want.Stories))
		}
		for id, s := range got.ByID {
			if s.Text != want.ByID[id].Text || recordstest.Meta(s, "tag") != "WP" {
				t.Errorf("%s: %s differs:\n%q\n%q", name, id, s.Text, want.ByID[id].Text)
			}
		}
	}
}

// TestGeneratedPairs: generated rows.
func TestGeneratedPairs(t *testing.T) {
	files := map[string]string{
		"wp/train.wp_source": "[ WP ] One .\n[ OT ] Two .\nThree .\n[ EU ] [ IP ] Four .\n[ WP ] Five\n[ WP ] Six\n[ WP ] Seven\u2028and a half\n",
		"wp/train.wp_target": "Once . <newline> <newline> Twice .\nx\n[ removed ]\ny\n\n** All top-level comments must be a story or poem . **\nSeven\u0085 is \xe9 one .\r\n",
		"wp/valid.wp_target": "alone\n",
	}
	r := recordstest.Read(t, Corpus, recordstest.Tree(t, files), "")
	want := `story writingprompts:train:1
story writingprompts:train:7
- not_selected writingprompts:train:2
- removed writingprompts:train:3
- not_selected writingprompts:train:4
- empty writingprompts:train:5
- removed writingprompts:train:6
- no_partner writingprompts:wp/valid.wp_target
rows 8 bad 1
`
	if got := r.Summary(); got != want {
		t.Errorf("got\n%s", got)
	}
	if s := r.ByID["writingprompts:train:7"]; !strings.Contains(s.Text, "é one.") || recordstest.Meta(s, "prompt") != "Seven and a half" {
		t.Errorf("%q %v", s.Text, s.Meta)
	}
	// As queries the story is the human answer.
	q := recordstest.Read(t, Corpus, recordstest.Tree(t, files), `{"as":"both"}`)
	if s := q.ByID["writingprompts:train:1/prompt"]; s.Kind != "query" || s.Text != "One." || s.Target != "Once.\n\nTwice." {
		t.Errorf("%+v", s)
	}
	// A lost line is an error before any story comes.
	files["wp/train.wp_target"] = "only one\n"
	if _, err := recordstest.TryRead(t, Corpus, recordstest.Tree(t, files), ""); err == nil || !strings.Contains(err.Error(), "7 lines") {
		t.Errorf("count mismatch: %v", err)
	}
	// Names that are not upstream's: told by content.
	loose := recordstest.Read(t, Corpus, recordstest.Tree(t, map[string]string{"a.txt": "[ WP ] One .\n[ CW ] Two .\n", "b.txt": "Once . <newline> More .\nTwice .\n", "README": "Words.\n"}), "")
	if got := strings.Join(loose.IDs(), " "); got != "writingprompts:b:1 writingprompts:b:2" {
		t.Errorf("by content: %s %v", got, loose.Dropped)
	}
}

// TestGeneratedTables: generated rows of the other forms; the same id twice.
func TestGeneratedTables(t *testing.T) {
	r := recordstest.Read(t, Corpus, recordstest.Tree(t, map[string]string{
		"a.jsonl":  `{"id":"x1","title":"[WP] One.","text":"Once, he said.\n\nTwice."}` + "\n" + `{"id":"x1","title":"[WP] One.","text":"Another."}` + "\n" + `{"id":"x1","title":"[WP] One.","text":"Once, he said.\n\nTwice."}` + "\n" + `{"id":"x2","title":null,"text":null}` + "\n",
		"test.csv": "prompt,story\n[ WP ] Two .,\"Natural text, &gt; as written. Yes.\"\n",
	}), "")
	got := r.IDs()
	if len(got) != 3 || got[0] != "writingprompts:x1" || !strings.HasPrefix(got[1], "writingprompts:x1-") || got[2] != "writingprompts:test:1" {
		t.Errorf("%v", got)
	}
	if fmt.Sprint(r.Reasons()) != "map[missing_field:1 repeated:1]" {
		t.Errorf("%v", r.Dropped)
	}
	if s := r.ByID["writingprompts:test:1"]; s.Text != "Natural text, > as written. Yes." || recordstest.Meta(s, "prompt") != "Two." || recordstest.Meta(s, "split") != "test" {
		t.Errorf("%q %v", s.Text, s.Meta)
	}
}

func FuzzDetokenise(f *testing.F) {
	for _, s := range []string{"`` a , ''", "ca n't", "' '", "[ a ] ( http", "* a *", "''x''y"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, line := range strings.Split(s, "\n") {
			if got := Detokenise(line); marks(got) != marks(line) {
				t.Fatalf("%q became %q", line, got)
			}
		}
		Tags(s)
		Removed(s)
		Lines(s, true)
	})
}
