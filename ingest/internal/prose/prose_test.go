// SPDX-License-Identifier: Apache-2.0

package prose

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

func TestJoin(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"the well-", "known miller", "the well-known miller"},
		{"all day--", "and fell", "all day--and fell"},
		{"all day", "--and fell", "all day--and fell"},
		{"all day—", "and fell", "all day—and fell"},
		{"all day", "—and fell", "all day—and fell"},
		{"the lamp", "went out", "the lamp went out"},
		{"", "The lamp", "The lamp"},
	} {
		if got := string(Join([]byte(c.a), c.b)); got != c.want {
			t.Errorf("%q + %q = %q, want %q", c.a, c.b, got, c.want)
		}
		// The two lines side by side in one array.
		buf := []byte(c.a + c.b)
		if got := string(JoinBytes(buf[:len(c.a):len(c.a)], buf[len(c.a):])); got != c.want {
			t.Errorf("in bytes: %q + %q = %q, want %q", c.a, c.b, got, c.want)
		}
	}
}

func TestVerse(t *testing.T) {
	lines := func(s string) (out []Line) {
		for _, l := range strings.Split(s, "\n") {
			out = append(out, Line{Text: strings.TrimLeft(l, " "), Indent: len(l) - len(strings.TrimLeft(l, " "))})
		}
		return out
	}
	for _, c := range []struct {
		name, text string
		want       bool
	}{
		{"prose", "The miller's daughter had a lantern of green glass, and every evening she\ncarried it down to the weir to see whether the eels were running that night\nor not, for on that hung the supper.", false},
		{"stanza", "Eel, eel, under the stone,\nThe miller is sitting alone, alone;\nBring him a lamp and bring him a bone,\nAnd leave him the wheel to grind on.", true},
		{"indented stanza", "    Under the stone\n      the eel lies alone,\n    Over the weir\n      the moon draws near.", true},
	} {
		if got := Verse(lines(c.text), 75); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestScan holds the scan by eight bytes against the plain one.
func TestScan(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	alphabet := []string{" ", " ", "a", "é", "—", "𝕏", "!", "\u00a0", "\x1f"}
	for range 20_000 {
		var b strings.Builder
		for range rng.IntN(30) {
			b.WriteString(alphabet[rng.IntN(len(alphabet))])
		}
		s := b.String()
		n, double := Scan(s)
		if n != utf8.RuneCountInString(s) || double != strings.Contains(s, "  ") {
			t.Fatalf("Scan(%q) = %d, %v", s, n, double)
		}
	}
}

// TestPlain: what counts as plain is exactly what freezing would leave alone.
func TestPlain(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	alphabet := []string{" ", "a", "b", "é", "—", "“", "’", "…", "\u0301", "\n", "\t", "\r", "\u00a0", "\u200b", "Å", "ﬁ", "\x00", "\x7f", "\u0085"}
	for range 50_000 {
		var b strings.Builder
		for range rng.IntN(14) {
			b.WriteString(alphabet[rng.IntN(len(alphabet))])
		}
		s := b.String()
		if plain([]byte(s)) && text.Trim(text.Freeze(s)) != s {
			t.Fatalf("plain(%q), but freezing makes it %q", s, text.Trim(text.Freeze(s)))
		}
	}
}

func TestBuilder(t *testing.T) {
	var b Builder
	fill := func() schemas.Story {
		var s schemas.Story
		b.Fill(&s)
		if s.TextHash != schemas.HashText(s.Text) || s.Words != text.Words(s.Text) {
			t.Errorf("hash or words of %q", s.Text)
		}
		return s
	}
	b.Section("1", func() {
		b.Paragraph([]byte("Zoë had a lamp."), "")
		b.Paragraph([]byte("  \n "), "")
	})
	b.Section("none", func() {})
	b.Section("2", func() { b.Paragraph([]byte("Eel, eel,\nunder the stone"), MarkVerse) })
	s := fill()
	if want := "Zoë had a lamp.\n\nEel, eel,\nunder the stone"; s.Text != want {
		t.Fatalf("text %q", s.Text)
	}
	r := []rune(s.Text)
	if len(s.Sections) != 2 || len(s.Marks) != 1 {
		t.Fatalf("%d sections, %d marks", len(s.Sections), len(s.Marks))
	}
	for _, c := range []struct {
		b    schemas.Bounds
		want string
	}{{s.Sections[0].Bounds, "Zoë had a lamp."}, {s.Sections[1].Bounds, "Eel, eel,\nunder the stone"}, {s.Marks[0].Bounds, "Eel, eel,\nunder the stone"}} {
		if got := string(r[c.b.Start:c.b.End]); got != c.want {
			t.Errorf("span %q, want %q", got, c.want)
		}
	}
	// A builder used again shares nothing with what it made before.
	b.Reset()
	b.Paragraph([]byte("Another tale altogether."), MarkHeading)
	if n := fill(); n.Text != "Another tale altogether." || len(n.Marks) != 1 || n.Sections != nil || !strings.HasPrefix(s.Text, "Zoë") || s.Marks[0].Kind != MarkVerse {
		t.Errorf("after Reset: %+v, before: %+v", n, s)
	}
	b.Reset()
	if n := fill(); n.Text != "" || n.Marks == nil {
		t.Errorf("empty: %+v", n)
	}
}

// TestBlankMask holds the mask of eight bytes against the plain look.
func TestBlankMask(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOfN(rapid.SampledFrom([]byte(" !\x00\x1f@\xa0\xe2a")), 1, 24).Draw(t, "s"))
		i := rapid.IntRange(0, len(s)-1).Draw(t, "i")
		want := uint64(0)
		for k := 0; k < 8 && i+k < len(s); k++ {
			if s[i+k] == ' ' {
				want |= 0x80 << (8 * k)
			}
		}
		if got := BlankMask(s, i); got != want {
			t.Fatalf("BlankMask(%q, %d) = %x, want %x", s, i, got, want)
		}
	})
}
