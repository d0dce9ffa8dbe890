// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestFold(t *testing.T) {
	for in, want := range map[string]string{
		"  Ada’s lamp — the  red\n\none — fell. ": "ada's lamp - the red one - fell.",
		"“Wait… ‘no’ . . . no”":                   `"wait... 'no' ... no"`,
		"a--b ––– c−5":                            "a-b - c-5",
		"«Straße» „ＡＢＣ‟":                          `"strasse" "abc"`,
		"soft\u00adhyphen zero\u200bwidth":        "softhyphen zerowidth",
		"ﬁne cafe\u0301 Ⅳ ½":                      "fine café iv 1⁄2",
		"don´t donʼt don′t":                       "don't don't don't",
		"「你好」，她说。……":                              `"你好",她说。......`,
		"İ ΣΑΣ":                                   "i̇ σασ",
		"tab\tand\u00a0\u3000space":               "tab and space",
		"\x00bell\x07":                            "bell",
		"bad\xffbyte":                             "bad\ufffdbyte",
		"ꮺᏪ":                                      "ᏪᏪ",
		"":                                        "",
		"— ":                                      "-",
	} {
		if got := Fold(in); got != want {
			t.Errorf("Fold(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestFoldWithMap(t *testing.T) {
	const s = "Zoë’s  👒… ﬁne —— e\u0301nd"
	f, m := FoldWithMap(s, FoldOptions{KeepCase: true})
	const want = "Zoë's 👒... fine - énd"
	if f != want {
		t.Fatalf("form %q, want %q", f, want)
	}
	for part, source := range map[string]string{
		"Zoë": "Zoë", "'": "’", " 👒": "  👒", "...": "…", ".": "…", "fi": "ﬁ", "fine": "ﬁne", "-": "——", "é": "e\u0301", "nd": "nd",
	} {
		i := strings.Index(f, part)
		if got := m.Source(i, i+len(part)).Of(s); got != source {
			t.Errorf("source of %q is %q, want %q", part, got, source)
		}
	}
	if r := m.Source(len(f), len(f)); r != (Range{len(s), len(s)}) {
		t.Errorf("empty part at the end: %v", r)
	}
	if r := (FoldMap{}).Source(0, 0); r != (Range{}) {
		t.Errorf("empty form: %v", r)
	}
}

func FuzzFold(f *testing.F) {
	f.Add("“Wait… ‘no’ . . . . .. . no” — -- e\u00ad\u0301 ß İ \xff")
	f.Add("\u1100\u1161\u11a8 a\u0315\u0300\u05ae\u0300\u0062 ǅ ΐ ﷺ")
	f.Fuzz(func(t *testing.T, s string) {
		form := Fold(s)
		if again := Fold(form); again != form {
			t.Fatalf("Fold(%q) = %q, folded again %q", s, form, again)
		}
		for _, opt := range []FoldOptions{{}, {KeepSpace: true}, {KeepCase: true}, {true, true}} {
			g, m := FoldWithMap(s, opt)
			if opt == (FoldOptions{}) && strings.Trim(g, " ") != form {
				t.Fatalf("FoldWithMap gives %q, Fold %q", g, form)
			}
			last := Range{}
			for i, r := range g {
				src := m.Source(i, i+utf8.RuneLen(r))
				if src.Start < last.Start || src.End < last.End || src.End <= src.Start || src.End > len(s) {
					t.Fatalf("%q: byte %d of %q comes from %v after %v", s, i, g, src, last)
				}
				if utf8.ValidString(s) && !utf8.ValidString(src.Of(s)) {
					t.Fatalf("%q: %v cuts a character", s, src)
				}
				last = src
			}
		}
	})
}
