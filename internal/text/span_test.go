// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// TestSpanWorked holds cases.md C22, in the form with CRLF that upstream has
// and in the frozen one that is published.
func TestSpanWorked(t *testing.T) {
	const crlf = "Zoë’s 👒 hat fell.\r\nShe laughed."
	for _, c := range []struct {
		text, quote string
		want        Span
	}{
		{crlf, "hat fell.", Span{8, 17, 14, 23, 9, 18}},
		{crlf, "She laughed.", Span{19, 31, 25, 37, 20, 32}},
		{Freeze(crlf), "hat fell.", Span{8, 17, 14, 23, 9, 18}},
		{Freeze(crlf), "She laughed.", Span{18, 30, 24, 36, 19, 31}},
	} {
		ix := NewIndex(c.text)
		at := strings.Index(c.text, c.quote)
		if got := ix.Span(Range{at, at + len(c.quote)}); got != c.want {
			t.Errorf("Span of %q in %q = %v, want %v", c.quote, c.text, got, c.want)
		}
		for unit, from := range map[string]func() (Span, error){
			"bytes":       func() (Span, error) { return ix.FromBytes(c.want.ByteStart, c.want.ByteEnd) },
			"code points": func() (Span, error) { return ix.FromRunes(c.want.Start, c.want.End) },
			"UTF-16":      func() (Span, error) { return ix.FromUTF16(c.want.UTF16Start, c.want.UTF16End) },
		} {
			if got, err := from(); err != nil || got != c.want {
				t.Errorf("%q from %s = %v, %v; want %v", c.quote, unit, got, err, c.want)
			}
		}
		if err := c.want.Check(c.text, c.quote); err != nil {
			t.Error(err)
		}
	}

	// The validator finds offsets that were computed before the line ends
	// were converted.
	stale := Span{19, 31, 25, 37, 20, 32}
	if err := stale.Check(Freeze(crlf), "She laughed."); err == nil {
		t.Error("a span of the CRLF text passed on the LF text")
	}
}

// TestSpanNFD is cases.md C23: why text is normalized before any offset.
func TestSpanNFD(t *testing.T) {
	nfd := "Zoe\u0308’s 👒 hat fell."
	start := func(s string) int { return NewIndex(s).Span(Range{strings.Index(s, "hat"), len(s)}).Start }
	if got := start(nfd); got != 9 {
		t.Errorf("in NFD the hat is at %d, want 9", got)
	}
	if got := start(Freeze(nfd)); got != 8 {
		t.Errorf("frozen, the hat is at %d, want 8", got)
	}
	if CheckFrozen(nfd) == nil {
		t.Error("CheckFrozen took NFD")
	}
}

// TestSpanRefused holds cases.md C26 and its kin.
func TestSpanRefused(t *testing.T) {
	ix := NewIndex("Zoë 👒") // 5 code points, 9 bytes, 6 units
	for _, c := range []struct {
		from       func(int, int) (Span, error)
		start, end int
		want       string
	}{
		{ix.FromRunes, 0, 6, "code point span [0,6): end is past the text, which has length 5"},
		{ix.FromRunes, -1, 2, "code point span [-1,2): start is negative"},
		{ix.FromRunes, 3, 2, "code point span [3,2): end is before start"},
		{ix.FromRunes, 7, 9, "code point span [7,9): end is past the text, which has length 5"},
		{ix.FromUTF16, 0, 7, "UTF-16 span [0,7): end is past the text, which has length 6"},
		{ix.FromUTF16, 5, 6, "UTF-16 span [5,6): start is inside a surrogate pair"},
		{ix.FromUTF16, 0, 5, "UTF-16 span [0,5): end is inside a surrogate pair"},
		{ix.FromBytes, 0, 10, "byte span [0,10): end is past the text, which has length 9"},
		{ix.FromBytes, 3, 4, "byte span [3,4): start is inside a character"},
		{ix.FromBytes, 0, 6, "byte span [0,6): end is inside a character"},
	} {
		if _, err := c.from(c.start, c.end); err == nil || err.Error() != c.want {
			t.Errorf("[%d,%d): %v, want %s", c.start, c.end, err, c.want)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("Span did not panic on half a character")
		}
	}()
	ix.Span(Range{0, 6})
}

func TestSpanCheck(t *testing.T) {
	const s = "Zoë’s 👒 hat fell."
	good := Span{8, 17, 14, 23, 9, 18}
	bad := func(change func(*Span)) Span { sp := good; change(&sp); return sp }
	for _, c := range []struct {
		sp          Span
		quote, want string
	}{
		{good, "hat fell.", ""},
		{good, "hat fell!", `span [8,17): text there is "hat fell.", not "hat fell!"`},
		{bad(func(sp *Span) { sp.ByteStart = 8 }), "hat fell.", "span [8,17): bytes are [14,23), not [8,23)"},
		{bad(func(sp *Span) { sp.UTF16End = 17 }), "hat fell.", "span [8,17): UTF-16 units are [9,18), not [9,17)"},
		{bad(func(sp *Span) { sp.End = 18 }), "hat fell.", "code point span [8,18): end is past the text, which has length 17"},
		{Span{}, "", ""},
	} {
		err := c.sp.Check(s, c.quote)
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("Check(%v, %q) = %v, want %s", c.sp, c.quote, err, c.want)
		}
	}
}

// checkIndex compares an Index at every offset with counting by hand.
func checkIndex(t interface {
	Helper()
	Fatalf(string, ...any)
}, s string) {
	t.Helper()
	ix := NewIndex(s)
	runes := []rune(s)
	units := utf16.Encode(runes)
	if ix.Runes() != len(runes) || ix.UTF16() != len(units) {
		t.Fatalf("%q has %d code points and %d units, want %d and %d", s, ix.Runes(), ix.UTF16(), len(runes), len(units))
	}
	var at []Span // an empty span before each code point and at the end
	var sp Span
	for i, r := range s {
		sp.ByteStart = i
		at = append(at, sp)
		sp.Start++
		sp.UTF16Start += utf16.RuneLen(r)
	}
	sp.ByteStart = len(s)
	at = append(at, sp)
	for i, from := range at {
		for _, to := range []Span{from, at[min(i+1, len(at)-1)], at[min(i+200, len(at)-1)], at[len(at)-1]} {
			want := Span{from.Start, to.Start, from.ByteStart, to.ByteStart, from.UTF16Start, to.UTF16Start}
			if got := ix.Span(Range{want.ByteStart, want.ByteEnd}); got != want {
				t.Fatalf("Span in %q = %v, want %v", s, got, want)
			}
			if got, err := ix.FromRunes(want.Start, want.End); err != nil || got != want {
				t.Fatalf("FromRunes in %q = %v, %v, want %v", s, got, err, want)
			}
			if got, err := ix.FromUTF16(want.UTF16Start, want.UTF16End); err != nil || got != want {
				t.Fatalf("FromUTF16 in %q = %v, %v, want %v", s, got, err, want)
			}
			quote := s[want.ByteStart:want.ByteEnd]
			if err := ix.Check(want, quote); err != nil {
				t.Fatalf("Check in %q: %v", s, err)
			}
			if utf8.ValidString(s) {
				if got := string(runes[want.Start:want.End]); got != quote {
					t.Fatalf("code points of %q give %q, bytes %q", s, got, quote)
				}
				if got := string(utf16.Decode(units[want.UTF16Start:want.UTF16End])); got != quote {
					t.Fatalf("units of %q give %q, bytes %q", s, got, quote)
				}
			}
		}
	}
}

func TestIndexInvariant(t *testing.T) {
	piece := rapid.SampledFrom([]string{"a", "lamp ", "ë", "’", "👒", "他", "\n", "\xff", "\xe2\x80", strings.Repeat("x", 127), strings.Repeat("é", 64)})
	rapid.Check(t, func(t *rapid.T) {
		checkIndex(t, strings.Join(rapid.SliceOfN(piece, 0, 20).Draw(t, "pieces"), ""))
	})
}

func FuzzIndex(f *testing.F) {
	f.Add("")
	f.Add("Zoë’s 👒 hat fell.")
	f.Add(strings.Repeat("x", 127) + "👒" + strings.Repeat("é", 100))
	f.Add("\xff\xf0\x9f")
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 600 { // the check takes the square of it
			s = s[:600]
		}
		checkIndex(t, s)
	})
}

func ExampleIndex_Span() {
	s := "Zoë’s 👒 hat fell."
	fmt.Printf("%+v\n", NewIndex(s).Span(Range{14, 23}))
	// Output: {Start:8 End:17 ByteStart:14 ByteEnd:23 UTF16Start:9 UTF16End:18}
}
