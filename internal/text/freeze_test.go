// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

func TestFreeze(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"frozen already", "Mara lit the lamp.\n\nTom slept.", "Mara lit the lamp.\n\nTom slept."},
		{"line ends", "a\r\nb\rc\u0085d\u2028e\u2029f", "a\nb\nc\nd\ne\nf"},
		{"CR CR LF is two lines", "a\r\r\nb", "a\n\nb"},
		{"tabs", "a\tb\t\nc", "a b\nc"},
		{"controls", "a\x00b\x1bc\x7fd\u0081e\x0cf\x0bg", "abcdefg"},
		{"a control between letter and accent", "e\x00\u0301", "é"},
		{"blanks at line ends", "a  \nb\u00a0\n\u3000\nc ", "a\nb\n\nc"},
		{"blanks at line starts stay", "    verse\n  and verse", "    verse\n  and verse"},
		{"a control behind a blank at a line end", "a \x00\nb", "a\nb"},
		{"NFC", "Zoe\u0308 \u212b", "Zoë Å"},
		{"Hangul", "\u1112\u1161\u11ab", "한"},
		{"compatibility characters stay", "ﬁ ½ …", "ﬁ ½ …"},
		{"mark at the start", "\uFEFFa", "a"},
		{"marks at the start behind a control", "\x01\uFEFF\uFEFFa", "a"},
		{"mark inside stays", "a\uFEFFb", "a\uFEFFb"},
		{"both ends keep their lines", "\n\n a \n\n", "\n\n a\n\n"},
		{"zero-width space stays", "a\u200bb", "a\u200bb"},
		{"bad bytes are Windows-1252", "Esm\xe9\x97", "Esmé—"},
		{"U+FFFD stays", "a\uFFFD", "a\uFFFD"},
		{"empty", "", ""},
		{"only blanks", "  \t ", ""},
	} {
		if got := Freeze(c.in); got != c.want {
			t.Errorf("%s: Freeze(%q) = %q, want %q", c.name, c.in, got, c.want)
		}
	}
}

func TestTrim(t *testing.T) {
	for in, want := range map[string]string{
		"\n\n a b \n": "a b", "\u3000a\u00a0": "a", "\uFEFF \uFEFFa": "a", " ": "", "a": "a",
	} {
		if got := Trim(in); got != want {
			t.Errorf("Trim(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestCheckFrozen(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"Mara lit the lamp.", ""},
		{"Zoë’s 👒 hat fell.\nShe laughed.", ""},
		{"", ""},
		{" a", ""},
		// cases.md C22: CRLF
		{"Zoë’s 👒 hat fell.\r\nShe laughed.", "carriage return (lines must end in LF alone) at code point 17"},
		// cases.md C23: NFD
		{"Zoe\u0308’s 👒 hat fell.", "not in Unicode NFC at code point 2"},
		{"ab\tc", "tab at code point 2"},
		{"é\x00", "control character U+0000 at code point 1"},
		{"é\u0081", "control character U+0081 at code point 1"},
		{"é\x7f", "control character U+007F at code point 1"},
		{"é\u0085", "line end U+0085 (lines must end in LF) at code point 1"},
		{"é\u2028x", "line end U+2028 (lines must end in LF) at code point 1"},
		{"é\xff", "byte 0xff is not UTF-8 at code point 1"},
		{"éa \nb", "blank at the end of a line at code point 2"},
		{"éa\u00a0", "blank at the end of a line at code point 2"},
		{"\uFEFFa", "byte order mark at code point 0"},
	} {
		err := CheckFrozen(c.in)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("CheckFrozen(%q) = %v, want nil", c.in, err)
		case c.want != "" && (err == nil || err.Error() != "text is not frozen: "+c.want):
			t.Errorf("CheckFrozen(%q) = %v, want %s", c.in, err, c.want)
		}
	}
}

// checkFreeze checks what Freeze promises of any text.
func checkFreeze(t interface {
	Helper()
	Fatalf(string, ...any)
}, s string) {
	t.Helper()
	f := Freeze(s)
	if again := Freeze(f); again != f {
		t.Fatalf("Freeze(%q) = %q, and again %q", s, f, again)
	}
	if err := CheckFrozen(f); err != nil {
		t.Fatalf("Freeze(%q) = %q: %v", s, f, err)
	}
	if (CheckFrozen(s) == nil) != (s == f) {
		t.Fatalf("CheckFrozen(%q) = %v, but Freeze gives %q", s, CheckFrozen(s), f)
	}
	if n := strings.Count(f, "\uFFFD"); n != strings.Count(s, "\uFFFD") {
		t.Fatalf("Freeze(%q) = %q: U+FFFD made or lost", s, f)
	}
	if !norm.NFC.IsNormalString(f) || !utf8.ValidString(f) {
		t.Fatalf("Freeze(%q) = %q is not NFC", s, f)
	}
	trimmed := Trim(f)
	if err := CheckFrozen(trimmed); err != nil {
		t.Fatalf("Trim(%q) = %q: %v", f, trimmed, err)
	}
	if Trim(trimmed) != trimmed {
		t.Fatalf("Trim(%q) is not idempotent", f)
	}
}

func TestFreezeInvariant(t *testing.T) {
	piece := rapid.SampledFrom([]string{
		"a", "e", "\u0301", "\u0308", "é", "\r", "\n", "\r\n", "\t", " ", "\u00a0", "\u3000", "\u0085", "\u2028",
		"\x00", "\x7f", "\u009f", "\uFEFF", "\uFFFD", "\xe9", "\xff", "\u1112", "\u1161", "\u11ab", "👒", "\u0344", "\u2000",
	})
	rapid.Check(t, func(t *rapid.T) {
		checkFreeze(t, strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "pieces"), ""))
	})
}

func FuzzFreeze(f *testing.F) {
	for _, s := range []string{"", "a \r\nb", "e\x00\u0301", "\x01\uFEFFa", "Esm\xe9", " \u0301 \n", "a\u2028\u2029", "\u0958\u2ADC", tale[:400]} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { checkFreeze(t, s) })
}

func ExampleFreeze() {
	fmt.Printf("%q\n", Freeze("Zoe\u0308 slept. \r\n\tTom did not."))
	// Output: "Zoë slept.\n Tom did not."
}
