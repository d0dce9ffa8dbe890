// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"slices"
	"strings"
	"testing"
)

func TestWords(t *testing.T) {
	for in, want := range map[string]string{
		"He didn’t; she `did'.":                 "he didnt she did",
		"golden-haired king’s-boy":              "golden haired kings boy",
		"ＦＵＬＬ width ﬁne":                        "full width fine",
		"Zoe\u0308 and ZOË":                     "zoë and zoë",
		"so\u00adft zero\u200bwidth \ufeffmark": "soft zerowidth mark",
		"«\u00a0Été\u00a0» — „Straße“… ¿Ñandú?": "été straße ñandú",
		"3.5 lamps, 1,200 men, ¾ full, 5² m":    "3 5 lamps 1 200 men 3⁄4 full 52 m",
		"国王有3个儿子。 むかし・むかし":                      "国 王 有 3 个 儿 子 む か し む か し",
		"Он пришёл İstanbul’a":                  "он пришёл istanbula",
		"´tis  ̈ alone":                         "tis alone",
		"*** — … ' ’":                           "",
		"👒 hat\ufe0f":                           "hat",
	} {
		// A fraction slash parts words.
		want = strings.ReplaceAll(want, "⁄", " ")
		if got := strings.Join(Words(in), " "); got != want {
			t.Errorf("Words(%q) = %q, want %q", in, got, want)
		}
	}
}

// FuzzWords holds the one-pass folding to the general one.
func FuzzWords(f *testing.F) {
	f.Add("He didn’t — “say” «Été» 3.5 ×2")
	f.Add("a\u0300 À\u0327 ‗ ´ ‑ ＇")
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "?")
		buf, fast := appendWords(nil, nil, s)
		general, slow := appendWordsUnicode(nil, nil, foldRunes(s))
		if string(buf) != string(general) || !slices.Equal(fast, slow) {
			t.Fatalf("%q: %q %v, and %q %v", s, buf, fast, general, slow)
		}
	})
}
