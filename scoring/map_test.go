// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestSentences says what single quotes map to, by both scorers.
func TestSentences(t *testing.T) {
	it := keyOf(t, millRow()).Item("rc-mill")
	whole := strings.Join(millStory, " ")
	for _, c := range []struct {
		name, quote      string
		standard, compat string
	}{
		{"a whole sentence", "He wore a red cloak that his mother had sewn.", "1", "1"},
		{"four words of one", "wore a red cloak", "1", "1"},
		{"three words of one", "a red cloak", "", "1"},
		{"a short whole sentence", "Then he slept.", "15", "15"},
		{"two words of a short sentence", "he slept", "", "15"},
		{"a sentence told four times", "It was dark.", "", "5"}, // one text, one line, for compat
		{"words that stand in four sentences", "said the wheel would be the death", "", "11 12 13 14"},
		{"the end makes it one", "would be the death of her", "12", "12"},
		{"two sentences", "He wore a red cloak that his mother had sewn. “No!” he said whenever it rained, for he hated the rain.", "1 2", "1 2"},
		{"from the middle of one to the middle of the next", "cloak that his mother had sewn. “No!” he said whenever", "1 2", "1 2"},
		{"too little of the next", "red cloak that his mother had sewn. “No!”", "1", "1 2 4"}, // "no" stands in "not"
		{"over a short sentence", "went out to see it. It was dark. His blue cloak caught on", "4 5 6", "4 5 6"},

		// Gaming.
		{"empty", "", "", "0..15 (13)"},
		{"blank", "  ", "", "0..15 (13)"},
		{"quote marks around nothing", "\"\"", "", "0..15 (13)"},
		{"a star", "*", "", "0..15 (13)"},
		{"the", "the", "", "0 1 2 3 4 6 8 11 12 13 14 15"},
		{"a letter", "e", "", "0 1 2 3 4 6 8 11 12 13 14 15"},
		{"the whole story", whole, ids(seq(0, 16)), "0..15 (13)"},

		// Other forms of the same words.
		{"upper case", "HE WORE A RED CLOAK", "1", "1"},
		{"zero-width characters", "He\u200b wore a\u2060 red\u00ad cloak that", "1", "1"},
		{"zero-width and nothing else", "\u200b\ufeff", "", "0..15 (13)"},
		{"guillemets", "« He wore a red cloak that his mother had sewn. »", "1", "1"},
		{"German quote marks", "„He wore a red cloak that his mother had sewn.“", "1", "1"},
		{"corner brackets", "「He wore a red cloak that his mother had sewn.」", "1", "1"},
		{"full-width letters", "Ｈｅ ｗｏｒｅ ａ ｒｅｄ ｃｌｏａｋ", "1", ""},
		{"a dash for a dash", "caught on the wheel - the great wheel - and tore...", "6", "6"},
		{"joined by a line break", "He wore a red\ncloak that his mother had sewn.", "1", "1"},
		{"emphasis", "He wore a **red** cloak that his mother", "1", "1"},
		{"HTML list", "<li>He wore a red cloak that his mother had sewn.</li><li>Then he slept.</li>", "1 15", "1 15"},
		{"tags inside", "He wore a <m>red</m> cloak that his mother", "1", "1"},
		{"a list number", "3. He wore a red cloak that his mother had sewn.", "1", ""},
		{"a line label", "Line 12: He wore a red cloak that his mother had sewn.", "1", ""},
		{"a remark in brackets", "He wore a red cloak that his mother had sewn. [early on]", "1", "1"},

		// Near misses.
		{"one word changed of ten", "He wore a red cloak that his father had sewn.", "1", ""},
		{"two words changed of ten", "He wore a green cloak that his father had sewn.", "1", ""},
		{"three words changed of ten", "She wore a green cloak that his father had sewn.", "", ""},
		{"a changed number", "He had 6 lamps in the mill, and he lit two of them at dusk.", "", ""},
		{"a changed number in words", "He had 5 lamps in the mill, and he lit three of them at dusk.", "", ""},
		{"a dropped number", "He had lamps in the mill, and he lit two of them at dusk.", "", ""},
		{"a dropped negation", "One night the wheel would turn and the miller went out to see it.", "", ""},
		{"an added negation", "He never wore a red cloak that his mother had sewn.", "", ""},
		{"a negation contracted", "One night the wheel wouldn't turn and the miller went out to see it.", "", ""},
		{"an ellipsis between two parts of four", "Once a miller lived ... a red cloak that", "0 1", ""},
		{"an ellipsis bridges nothing", "Once a miller … river Arn.", "", ""},
		{"an ellipsis in brackets", "He carried the torn […] hung it on a nail", "8", ""},
		{"an ellipsis at the end", "He wore a red cloak that his…", "1", "1"},
		{"other words", "The miller sold his cloak at the fair.", "", ""},
	} {
		if got := ids(Default.Sentences(it, []string{c.quote})); got != c.standard {
			t.Errorf("default, %s: %q maps to %q, want %q", c.name, c.quote, got, c.standard)
		}
		if got := ids(Compat.Sentences(it, []string{c.quote})); got != c.compat {
			t.Errorf("compat, %s: %q maps to %q, want %q", c.name, c.quote, got, c.compat)
		}
	}
}

func seq(from, to int) []int {
	var out []int
	for i := from; i < to; i++ {
		out = append(out, i)
	}
	return out
}

// TestQuoteIsFound: any run of four or more words of a story whose words are
// all different maps to the sentences of which it holds four words or the whole.
func TestQuoteIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lengths := rapid.SliceOfN(rapid.IntRange(1, 12), 1, 12).Draw(t, "lengths")
		var sentences []string
		var starts []int
		var words []string
		for _, n := range lengths {
			starts = append(starts, len(words))
			var s []string
			for range n {
				s = append(s, "w"+string(rune('a'+len(words)/26))+string(rune('a'+len(words)%26)))
				words = append(words, s[len(s)-1])
			}
			sentences = append(sentences, strings.Join(s, " ")+".")
		}
		starts = append(starts, len(words))
		if len(words) < minWords {
			t.Skip()
		}
		from := rapid.IntRange(0, len(words)-minWords).Draw(t, "from")
		to := rapid.IntRange(from+minWords, len(words)).Draw(t, "to")
		var want []int
		for i := range sentences {
			covered := min(to, starts[i+1]) - max(from, starts[i])
			if covered >= minWords || covered == starts[i+1]-starts[i] {
				want = append(want, i)
			}
		}
		k, err := KeyOf("x", row("a", "a", sentences, nil, nil))
		if err != nil {
			t.Fatal(err)
		}
		got := Default.Sentences(k.Item("a"), []string{"« " + strings.Join(words[from:to], ", ") + " »"})
		if len(want) > 0 && !slices.Equal(got, want) {
			t.Fatalf("words %d to %d of %v map to %v, want %v", from, to, starts, got, want)
		}
	})
}

// TestLCS holds the bit-parallel length to the textbook one, past 64 words too.
func TestLCS(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		vocab := 1 + rng.IntN(26)
		draw := func() []string {
			out := make([]string, 1+rng.IntN(150))
			for i := range out {
				out[i] = "w" + string(rune('a'+rng.IntN(vocab)))
			}
			return out
		}
		a, b := draw(), draw()
		ix := newStoryIndex([]string{strings.Join(a, " ")})
		m := new(mapper)
		m.fold(ix, strings.Join(b, " "))
		m.index(ix)
		if got, want := m.lcs(ix.stream), plainLCS(a, b); got != want {
			t.Fatalf("lcs of %d and %d words: %d, want %d", len(a), len(b), got, want)
		}
	}
}

func plainLCS(a, b []string) int {
	prev := make([]int, len(b)+1)
	for _, x := range a {
		cur := make([]int, len(b)+1)
		for j, y := range b {
			if x == y {
				cur[j+1] = prev[j] + 1
			} else {
				cur[j+1] = max(cur[j], prev[j+1])
			}
		}
		prev = cur
	}
	return prev[len(b)]
}

func FuzzSentences(f *testing.F) {
	f.Add("He wore a red cloak", "It was dark.\n… He said the wheel")
	f.Add("<li>a</li>", "1. [2] -")
	it := keyOf(f, millRow()).Item("rc-mill")
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, s := range Scorers {
			got := s.Sentences(it, []string{a, b})
			for i, id := range got {
				if id < 0 || id >= it.Sentences || slices.Contains(got[:i], id) {
					t.Fatalf("%s: %q and %q map to %v", s.Name, a, b, got)
				}
			}
			if again := s.Sentences(it, []string{a, b}); !slices.Equal(got, again) {
				t.Fatalf("%s: %v, then %v", s.Name, got, again)
			}
		}
		// The default scorer names nothing without words.
		if len(Words(a)) == 0 && len(Default.Sentences(it, []string{a})) > 0 {
			t.Fatalf("%q has no words and maps to %v", a, Default.Sentences(it, []string{a}))
		}
	})
}
