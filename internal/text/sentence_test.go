// SPDX-License-Identifier: Apache-2.0

package text

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

//go:embed testdata/sentences.txt
var sentenceCases string

// TestSentencesCases reads testdata/sentences.txt, whose head says how.
func TestSentencesCases(t *testing.T) {
	cases := strings.Split("\n"+sentenceCases, "\n== ")[1:]
	if len(cases) < 60 {
		t.Fatalf("only %d cases in testdata/sentences.txt", len(cases))
	}
	for _, c := range cases {
		name, marked, _ := strings.Cut(c, "\n")
		t.Run(name, func(t *testing.T) {
			marked, err := unescape(strings.TrimSpace(marked))
			if err != nil {
				t.Fatal(err)
			}
			s := strings.ReplaceAll(marked, "|", "")
			var want []string
			for _, part := range strings.Split(marked, "|") {
				if part = strings.TrimFunc(part, isSpace); part != "" {
					want = append(want, part)
				}
			}
			var got []string
			for _, r := range Sentences(s) {
				got = append(got, r.Of(s))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("sentences (-want +got):\n%s", diff)
			}
			checkSentences(t, s)
		})
	}
}

// unescape reads \r, \t and \u.... in a case.
func unescape(s string) (string, error) {
	return strconv.Unquote(`"` + strings.NewReplacer("\n", `\n`, `"`, `\"`).Replace(s) + `"`)
}

// checkSentences checks what Sentences promises of any text.
func checkSentences(t interface {
	Helper()
	Fatalf(string, ...any)
}, s string) {
	t.Helper()
	var b strings.Builder
	prev := 0
	ranges := Sentences(s)
	for i, r := range ranges {
		if r.Start < prev || r.End <= r.Start || r.End > len(s) {
			t.Fatalf("sentence %d of %q is [%d,%d) after %d", i, s, r.Start, r.End, prev)
		}
		between, sentence := s[prev:r.Start], r.Of(s)
		if strings.TrimFunc(between, isSpace) != "" {
			t.Fatalf("%q stands between sentences of %q", between, s)
		}
		if strings.TrimFunc(sentence, isSpace) != sentence {
			t.Fatalf("sentence %q of %q has white space around it", sentence, s)
		}
		if utf8.ValidString(s) && !utf8.ValidString(sentence) {
			t.Fatalf("sentence %q of %q cuts a character", sentence, s)
		}
		if len(ranges) > 1 && strings.Trim(sentence, " \n\"'`“”‘’«»‹›„‚)]}（）」』") == "" {
			t.Fatalf("sentence %q of %q is only quotes and brackets", sentence, s)
		}
		b.WriteString(between)
		b.WriteString(sentence)
		prev = r.End
	}
	if rest := s[prev:]; strings.TrimFunc(rest, isSpace) != "" {
		t.Fatalf("%q is in no sentence of %q", rest, s)
	} else {
		b.WriteString(rest)
	}
	if b.String() != s {
		t.Fatalf("sentences of %q give %q", s, b.String())
	}
}

// TestSentencesListSpan is the second half of cases.md C21: the second item is
// found where it stands.
func TestSentencesListSpan(t *testing.T) {
	const s = `1) The first lamp. 2) The second lamp.`
	got := Sentences(s)
	if want := []Range{{0, 18}, {19, 38}}; !cmp.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestSentencesRepeated is the segmenter's part of cases.md C25: the repeated
// sentence keeps its own place.
func TestSentencesRepeated(t *testing.T) {
	got := Sentences("Mara lit the lamp. Tom slept. Mara lit the lamp.")
	if want := []Range{{0, 18}, {19, 29}, {30, 48}}; !cmp.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestSentencesQuoteStyles: the marks' form must not move a boundary.
func TestSentencesQuoteStyles(t *testing.T) {
	straight := strings.NewReplacer("“", `"`, "”", `"`, "‘", "'", "’", "'", "—", "--", "…", "...")
	for _, s := range strings.Split(tale, "\n\n") {
		var curly, plain []string
		for _, r := range Sentences(s) {
			curly = append(curly, straight.Replace(r.Of(s)))
		}
		s = straight.Replace(s)
		for _, r := range Sentences(s) {
			plain = append(plain, r.Of(s))
		}
		if diff := cmp.Diff(curly, plain); diff != "" {
			t.Errorf("curly and straight differ:\n%s", diff)
		}
	}
}

// TestSentencesWrapping: nor must the width at which a paragraph is wrapped.
func TestSentencesWrapping(t *testing.T) {
	var prose []string
	for _, p := range strings.Split(tale, "\n\n") {
		if !strings.HasPrefix(p, " ") {
			prose = append(prose, strings.ReplaceAll(p, "\n", " "))
		}
	}
	words := func(s string) (out []string) {
		for _, r := range Sentences(s) {
			out = append(out, strings.Join(strings.Fields(r.Of(s)), " "))
		}
		return out
	}
	want := words(strings.Join(prose, "\n\n"))
	for _, width := range []int{40, 60, 72, 100} {
		var wrapped []string
		for _, p := range prose {
			wrapped = append(wrapped, wrap(p, width))
		}
		if diff := cmp.Diff(want, words(strings.Join(wrapped, "\n\n"))); diff != "" {
			t.Errorf("width %d:\n%s", width, diff)
		}
	}
}

func wrap(s string, width int) string {
	var b strings.Builder
	col := 0
	for i, w := range strings.Fields(s) {
		n := utf8.RuneCountInString(w)
		switch {
		case i == 0:
		case col+1+n > width:
			b.WriteByte('\n')
			col = 0
		default:
			b.WriteByte(' ')
			col++
		}
		b.WriteString(w)
		col += n
	}
	return b.String()
}

// fiction draws texts from the pieces that rules look at.
var fiction = rapid.Custom(func(t *rapid.T) string {
	piece := rapid.SampledFrom([]string{
		" ", " ", " ", "\n", "\n\n", "  ", "\t", "\u00a0", "\u2028", "\r\n",
		".", "!", "?", "...", "…", ". . .", "--", "—", ",", ";", ":", "。", "！",
		`"`, "“", "”", "'", "‘", "’", "``", "''", "(", ")", "[", "]", "「", "」", "*", "_",
		"Tom", "asked", "said", "he", "He", "I", "Mr", "St", "M.D.", "No", "5", "1)", "IV", "p.m.",
		"the", "The", "lamp", "THE LAMP", "é", "e\u0301", "👒", "他", "问", "\ufeff", "\x00", "#", "- ", "* * *",
	})
	return strings.Join(rapid.SliceOfN(piece, 0, 40).Draw(t, "pieces"), "")
})

func TestSentencesInvariant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkSentences(t, fiction.Draw(t, "text")) })
}

func FuzzSentences(f *testing.F) {
	for _, c := range strings.Split(sentenceCases, "\n== ") {
		f.Add(strings.ReplaceAll(c, "|", ""))
	}
	f.Add("\"\n\n\"")
	f.Add("\xff.\xfe \"")
	f.Fuzz(func(t *testing.T, s string) { checkSentences(t, s) })
}

func ExampleSentences() {
	s := `"Are you sure?" Tom asked. "It's late." He looked at St. Anne's clock.`
	for _, r := range Sentences(s) {
		fmt.Println(r.Of(s))
	}
	// Output:
	// "Are you sure?" Tom asked.
	// "It's late."
	// He looked at St. Anne's clock.
}
