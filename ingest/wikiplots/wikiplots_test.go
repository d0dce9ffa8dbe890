// SPDX-License-Identifier: Apache-2.0

package wikiplots

import (
	"fmt"
	"strings"
	"testing"

	"github.com/retcon-bench/retcon/ingest/internal/records/recordstest"
)

// All rows here are generated from the description of the format: there is no
// real sample of this corpus.

const plots = `Mara lights the lamp.
"Stay here.
" Tom says.
Is it late.
<EOS>
<EOS>
One.
<EOS>
A man named mr Gray meets dr Ruiz at st Anne's.
Then mrs.
He asks mr smith &amp; goes.
<EOS>
A.
B.
C.
<EOS>
`

const titles = "The Lamp (1996 film)\nEmpty Plot\nShort\nGray's Way\nThe Lamp (1996 film)\n"

func TestPaired(t *testing.T) {
	want := `story wikiplots:The_Lamp_(1996_film)
story wikiplots:Gray's_Way
story wikiplots:The_Lamp_(1996_film)-2
- empty wikiplots:Empty_Plot
- too_short wikiplots:Short
rows 5 bad 0
`
	for name, root := range recordstest.Packed(t, map[string]string{"plots": plots, "titles": titles}) {
		r := recordstest.Read(t, Corpus, root, "")
		if got := r.Summary(); got != want {
			t.Fatalf("%s: got\n%s", name, got)
		}
		s := r.ByID["wikiplots:The_Lamp_(1996_film)"]
		if s.Text != `Mara lights the lamp. "Stay here." Tom says. Is it late.` {
			t.Errorf("%s: %q", name, s.Text)
		}
		if s.Source.URL != "https://en.wikipedia.org/wiki/The_Lamp_%281996_film%29" || !strings.Contains(s.Source.Attribution, "“The Lamp (1996 film)”") ||
			s.Source.Licence != "CC-BY-SA-3.0" || recordstest.Meta(s, "work") != "The Lamp" || recordstest.Meta(s, "disambiguation") != "1996 film" {
			t.Errorf("%s: %+v %v", name, s.Source, s.Meta)
		}
		if s := r.ByID["wikiplots:Gray's_Way"]; s.Text != "A man named Mr. Gray meets Dr. Ruiz at st Anne's. Then mrs. He asks mr smith & goes." {
			t.Errorf("%s: %q", name, s.Text)
		}
		if len(r.Files) != 2 {
			t.Errorf("%s: files %+v", name, r.Files)
		}
	}
	r := recordstest.Read(t, Corpus, recordstest.Tree(t, map[string]string{"plots": plots, "titles": titles}), `{"min_sentences":0,"not_titles":["FILM"]}`)
	if got := fmt.Sprint(r.IDs(), r.Reasons()); got != "[wikiplots:Short wikiplots:Gray's_Way] map[empty:1 not_selected:2]" {
		t.Errorf("settings: %s", got)
	}
}

func TestDamagedPairs(t *testing.T) {
	for _, tt := range []struct {
		name   string
		files  map[string]string
		err    string
		reason string
	}{
		{"a title lost", map[string]string{"plots": plots, "titles": "One\nTwo\nThree\nFour\n"}, "5 plots (lines <EOS>) and titles has 4 titles", ""},
		{"plots cut off", map[string]string{"plots": plots[:len(plots)-7], "titles": titles}, "4 plots", ""},
		{"no titles", map[string]string{"plots": plots}, "", ReasonPartner},
		{"titles under another name", map[string]string{"p.txt": plots, "t.txt": titles}, "", ""},
		{"CRLF, mark and blank lines at the end", map[string]string{"plots": strings.ReplaceAll(plots, "\n", "\r\n") + "\r\n", "titles": "\xef\xbb\xbf" + strings.ReplaceAll(titles, "\n", "\r\n") + "\r\n\r\n"}, "", ""},
	} {
		r, err := recordstest.TryRead(t, Corpus, recordstest.Tree(t, tt.files), "")
		switch {
		case tt.err != "":
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: %v", tt.name, err)
			}
		case err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case tt.reason != "":
			if r.Reasons()[tt.reason] != 1 || r.Bad != 1 {
				t.Errorf("%s: %v", tt.name, r.Dropped)
			}
		case len(r.Stories) != 3 || r.Stories[0].Title != "The Lamp (1996 film)":
			t.Errorf("%s: %s", tt.name, r.Summary())
		}
	}
}

func TestRecords(t *testing.T) {
	r := recordstest.Read(t, Corpus, recordstest.Tree(t, map[string]string{
		"wikiplots_20200701.jsonl": `{"id":"q1","title":"Emma (novel)","text":"Emma plans. Emma errs. Emma learns.","url":"https://en.wikipedia.org/wiki/Emma"}` + "\n" +
			`{"id":17,"title":"Short","text":"One."}` + "\n" + `{"id":18,"title":"None","text":""}` + "\n{\n",
	}), "")
	if got := r.Summary(); got != "story wikiplots:q1\n- too_short wikiplots:17\n- empty wikiplots:18\n- bad_json wikiplots:wikiplots_20200701.jsonl:4\nrows 4 bad 1\n" {
		t.Errorf("got\n%s", got)
	}
	if s := r.Stories[0]; s.Source.URL != "https://en.wikipedia.org/wiki/Emma" {
		t.Errorf("%+v", s.Source)
	}
}

func TestJoin(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"\"Go away.\n\" She left.", `"Go away." She left.`},
		{"\"Stop.\n\".\nHe ran.", `"Stop." He ran.`},
		{"\"He\" ran.\n\"She\" hid.", `"He" ran. "She" hid.`},
		{"\n  A.  \n\nB.", "A. B."},
		{"\" odd", `" odd`},
	} {
		if got := Join(strings.Split(tt.in, "\n")); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.in, got, tt.want)
		}
	}
}

func FuzzMend(f *testing.F) {
	for _, s := range []string{"mr Gray", "mr", "mr ", "(mrs Ö", "xmr A"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Mend(s, true)
		if !strings.EqualFold(strings.ReplaceAll(got, ".", ""), strings.ReplaceAll(s, ".", "")) {
			t.Fatalf("%q became %q", s, got)
		}
		if Mend(got, true) != got {
			t.Fatalf("%q is not stable", got)
		}
	})
}
