// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

// harbour is the story of the worked cases.
const harbour = `Chapter One

Mara lit the lamp. Tom slept. Mara lit the lamp.

“You were the one who left the gate open,” she said. “I won't forgive you for it.” He had 5 lamps, five candles and 1,250 coins in the blue chest by the door. Ada’s lamp — the red one — fell.

It was not the first time that Kael's sister had waited at the old harbour for a ship that never came. The captain, a tall man with grey eyes, could not remember the name of the woman who sold him the map. "Wait... I can't just leave him," Jonas whispered. "Not like this."

The *Whisper* rode at anchor; nobody was on deck. She was unable to open the third door without the silver key. Twenty-eight guns were mounted on the lower deck. "The river," said Anna, looking back, "is older than the town." The temperature fell to -5 degrees at night & 95°F at noon. It cost $20 or 5% of 3.5 million. Henry VIII was king in 1536.

李明走进了房间。他没有看见三个孩子。“你好，”他说，“我不知道你在这里。”窗外下着大雪，街上一个人也没有。

She counted the steps to the cellar again and again until she was sure of them. The door of the cellar stood wide open that morning, and the cat was gone. He counted the steps to the attic again and again until he was sure of them. He had three hundred and forty-seven sheep. The gate was harmless; the wall was possible to climb.`

func TestFind(t *testing.T) {
	for _, c := range []struct {
		name, quote string
		class       Class
		why         string   // of a flag, or of none
		at          []string // the story's text, one string a piece; "" is the quote itself
	}{
		// cases.md C34, C35
		{"typographic change", "Ada's lamp - the red one - fell.", ClassTypographic, "", []string{"Ada’s lamp — the red one — fell."}},
		{"typed dashes", "Ada's lamp -- the red one -- fell", ClassTypographic, "", []string{"Ada’s lamp — the red one — fell"}},
		{"changed digit", "He had 6 lamps", ClassNone, WhyNumber, nil},
		{"changed digit in a long quote", "He had 6 lamps, five candles and 1,250 coins in the blue chest by the door.", ClassNone, WhyNumber, nil},
		{"changed number in words", "He had 5 lamps, six candles and 1,250 coins in the blue chest by the door.", ClassNone, WhyNumber, nil},
		{"digits moved", "He had 5 lamps, five candles and 1,520 coins in the blue chest by the door.", ClassNone, WhyNumber, nil},
		{"number dropped", "He had 5 lamps, candles and 1,250 coins in the blue chest by the door.", ClassNone, WhyNumber, nil},
		{"digits without separator", "five candles and 1250 coins in the blue chest", ClassPunctuation, "", []string{"five candles and 1,250 coins in the blue chest"}},
		{"digits for words", "28 guns were mounted on the lower deck.", ClassFuzzy, WhyChanged, []string{"Twenty-eight guns were mounted on the lower deck."}},
		{"long number for digits", "He had 347 sheep. The gate was harmless", ClassFuzzy, WhyChanged, []string{"He had three hundred and forty-seven sheep. The gate was harmless"}},
		{"one word of a long number", "He had three hundred and forty-eight sheep. The gate was harmless", ClassNone, WhyNumber, nil},
		{"part of a number", "Twenty guns were mounted on the lower deck", ClassNone, WhyNumber, nil},
		{"number cut short", "It cost $20 or 5% of 3 million.", ClassNone, WhyNumber, nil},
		{"decimal point dropped", "It cost $20 or 5% of 35 million.", ClassNone, WhyNumber, nil},
		{"percent dropped", "It cost $20 or 5 of 3.5 million.", ClassNone, WhyNumber, nil},
		{"other currency", "It cost €20 or 5% of 3.5 million.", ClassNone, WhyNumber, nil},
		{"sign dropped", "The temperature fell to 5 degrees at night", ClassNone, WhyNumber, nil},
		{"sign and symbols", "The temperature fell to −5 degrees at night and 95 °F at noon", ClassPunctuation, "", []string{"The temperature fell to -5 degrees at night & 95°F at noon"}},
		{"ordinal", "She was unable to open the second door without the silver key.", ClassNone, WhyNumber, nil},
		{"Roman numeral", "Henry VII was king in 1536.", ClassNone, WhyNumber, nil},

		{"not dropped", "It was the first time that Kael's sister had waited at the old harbour for a ship that never came.", ClassNone, WhyNegation, nil},
		{"never changed", "It was not the first time that Kael's sister had waited at the old harbour for a ship that always came.", ClassNone, WhyNegation, nil},
		{"n't dropped", "I will forgive you for it.", ClassNone, WhyNegation, nil},
		{"n't dropped with spelling", "“I can just leave him,” Jonas whispered.", ClassNone, WhyNegation, nil},
		{"not added", "The door of the cellar did not stand wide open that morning, and the cat was gone.", ClassNone, WhyNegation, nil},
		{"nobody changed", "The Whisper rode at anchor; somebody was on deck.", ClassNone, WhyNegation, nil},
		{"without changed", "She was unable to open the third door with the silver key.", ClassNone, WhyNegation, nil},
		{"prefix of negation", "She was able to open the third door without the silver key.", ClassNone, WhyNegation, nil},
		{"prefix of negation added", "The gate was harmless; the wall was impossible to climb.", ClassNone, WhyNegation, nil},
		{"ending of negation", "The gate was harmful; the wall was possible to climb.", ClassNone, WhyNegation, nil},
		{"quote inside a negated word", "able to open the third door without", ClassNone, WhyNegation, nil},
		{"negation kept by another word", "He did not see the door; it was not the first time that Kael's sister had waited at the old harbour", ClassNone, WhyNegation, nil},

		{"words as they stand", "the cat was gone", ClassExact, "", []string{""}},
		{"cut off", "The door of the cellar stood wide op", ClassExact, WhyCut, []string{""}},
		{"cut off in a number", "Henry VIII was king in 153", ClassNone, WhyNumber, nil},
		{"line break", "Mara lit the lamp. “You were the one who left the gate open,” she said.", ClassWhitespace, "", []string{"Mara lit the lamp.\n\n“You were the one who left the gate open,” she said."}},
		{"capital", "The cat was gone.", ClassCase, "", []string{"the cat was gone."}},
		{"outer punctuation", "“You were the one who left the gate open.”", ClassPunctuation, "", []string{"You were the one who left the gate open"}},
		{"outer ellipsis", "...and the cat was gone...", ClassPunctuation, "", []string{"and the cat was gone."}},
		{"bracketed ellipses", "[...] the cat was gone [...]", ClassPunctuation, "", []string{"the cat was gone"}},
		{"inner marks", "The Whisper rode at anchor, nobody was on deck", ClassPunctuation, "", []string{"The *Whisper* rode at anchor; nobody was on deck"}},
		{"Markdown of the quote", "**The door of the _cellar_ stood wide open**", ClassPunctuation, "", []string{"The door of the cellar stood wide open"}},
		{"tags of the quote", "<p>The door of the <i>cellar</i> stood wide open</p>", ClassPunctuation, "", []string{"The door of the cellar stood wide open"}},
		{"escapes of JSON", `\"Wait... I can't just leave him,\" Jonas whispered.\n`, ClassTypographic, "", []string{`"Wait... I can't just leave him," Jonas whispered.`}},
		{"escaped code points", `\u201cYou were the one who left the gate open,\u201d she said.`, ClassTypographic, "", []string{"“You were the one who left the gate open,” she said."}},
		{"escapes of HTML", "&quot;Wait... I can&#39;t just leave him,&quot; Jonas whispered.", ClassTypographic, "", []string{`"Wait... I can't just leave him," Jonas whispered.`}},
		{"pause left out", "Wait, I can't just leave him.", ClassPunctuation, "", []string{"Wait... I can't just leave him"}},
		{"decomposed", norm.NFD.String("It cost $20 or 5% of 3.5 million. Henry VIII"), ClassExact, "", []string{"It cost $20 or 5% of 3.5 million. Henry VIII"}},

		{"speaker", "Kael: It was not the first time", ClassPunctuation, "", []string{"It was not the first time"}},
		{"speaker whom the story names", "Jonas: Not like this.", ClassPunctuation, "", []string{"Not like this."}},
		{"speaker named before", "Tom: Mara lit the lamp.", ClassPunctuation, "", []string{"Mara lit the lamp."}},
		{"chapter", "Chapter 2: Tom slept. Mara lit the lamp.", ClassPunctuation, "", []string{"Tom slept. Mara lit the lamp."}},
		{"chapter of the story", "Chapter 1: Mara lit the lamp. Tom slept.", ClassPunctuation, "", []string{"Mara lit the lamp. Tom slept."}},
		{"other chapter of the story", "Chapter 2: Mara lit the lamp. Tom slept.", ClassNone, WhyNumber, nil},
		{"place and dash", `Paragraph 3 - "Tom slept."`, ClassPunctuation, "", []string{"Tom slept."}},
		{"place after", `"Tom slept." (Chapter 1)`, ClassPunctuation, "", []string{"Tom slept."}},
		{"place after a dash", `"Tom slept." - Chapter 1, paragraph 2`, ClassPunctuation, "", []string{"Tom slept."}},
		{"remark", `"Tom slept." (repeated)`, ClassPunctuation, "", []string{"Tom slept."}},
		{"list number", "1. Tom slept.", ClassPunctuation, "", []string{"Tom slept."}},
		{"bullet", "- Tom slept.", ClassPunctuation, "", []string{"Tom slept."}},
		{"label with a number", "The two of them: The door of the cellar stood wide open", ClassNone, WhyNumber, nil},

		{"elided", "The captain ... could not remember the name", ClassPieces, "", []string{"The captain", "could not remember the name"}},
		{"elided with brackets", "The door of the cellar [...] and the cat was gone.", ClassPieces, "", []string{"The door of the cellar", "and the cat was gone."}},
		{"elision that hides a negation", "The captain ... could ... remember the name of the woman", ClassNone, WhyNegation, nil},
		{"elision of a number", "He had 5 lamps, ... candles and 1,250 coins in the blue chest", ClassNone, WhyNumber, nil},
		{"elided text beside a story's pause", "I can't just leave him... Not like this.", ClassPieces, "", []string{"I can't just leave him", "Not like this."}},
		{"speech tag left out", "You were the one who left the gate open. I won't forgive you for it.", ClassPieces, "", []string{"You were the one who left the gate open", "I won't forgive you for it."}},
		{"speech tag inside a sentence", "The river is older than the town.", ClassPieces, WhyElided, []string{"The river", "is older than the town."}},
		{"sentences from two places", "- Mara lit the lamp.\n- The door of the cellar stood wide open that morning", ClassPieces, "", []string{"Mara lit the lamp.", "The door of the cellar stood wide open that morning"}},
		{"two quotes", "“Mara lit the lamp.” vs. “The cat was gone.”", ClassPieces, "", []string{"Mara lit the lamp.", "the cat was gone."}},
		{"backwards", "The cat was gone that day... Mara lit the lamp.", ClassNone, WhyAbsent, nil},
		{"backwards, both there", "The door of the cellar stood wide open ... Twenty-eight guns were mounted", ClassPieces, WhyOrder, []string{"The door of the cellar stood wide open", "Twenty-eight guns were mounted"}},
		{"left out without a mark", "She was unable to open the third door. Twenty-eight guns were mounted on the lower deck.", ClassNone, WhyNegation, nil},
		{"middle left out", "The captain, a tall man, could not remember the name of the woman", ClassPieces, WhyElided, []string{"The captain, a tall man", "could not remember the name of the woman"}},

		{"pronoun", "I was the one who left the gate open,", ClassFuzzy, WhyChanged, []string{"You were the one who left the gate open,"}},
		{"name for pronoun", "Jonas counted the steps to the attic again and again until he was sure of them.", ClassFuzzy, WhyChanged, []string{"He counted the steps to the attic again and again until he was sure of them."}},
		{"nearest of two", "He counted the steps to the attic again until he was sure of them.", ClassFuzzy, WhyChanged, []string{"He counted the steps to the attic again and again until he was sure of them."}},
		{"too far", "The door of a stable was left ajar in the evening, and the dog was gone.", ClassNone, WhyAbsent, nil},
		{"too short", "A cat left", ClassNone, WhyShort, nil},
		{"empty", " ", ClassNone, WhyEmpty, nil},
		{"no word", "...", ClassNone, WhyEmpty, nil},

		{"Chinese", "他没有看见三个孩子。", ClassExact, "", []string{""}},
		{"Chinese marks", "你好,", ClassTypographic, "", []string{"你好，"}},
		{"Chinese negation", "他看见三个孩子。", ClassNone, WhyNegation, nil},
		{"Chinese number", "他没有看见四个孩子。", ClassNone, WhyNumber, nil},
		{"Chinese elided", "窗外下着大雪……一个人也没有", ClassPieces, "", []string{"窗外下着大雪", "一个人也没有"}},
		{"Chinese near", "窗外下着大雨，街上一个人也没有。", ClassFuzzy, WhyChanged, []string{"窗外下着大雪，街上一个人也没有。"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := NewAnchorer(harbour).Find(c.quote, -1)
			var at []string
			for _, r := range m.Ranges {
				at = append(at, r.Of(harbour))
			}
			for i := range c.at {
				if c.at[i] == "" {
					c.at[i] = c.quote
				}
			}
			if m.Class != c.class || m.Why != c.why || !slices.Equal(at, c.at) {
				t.Errorf("Find(%q)\n got  %s %q %q\n want %s %q %q", c.quote, m.Class, m.Why, at, c.class, c.why, c.at)
			}
			if m.Flagged != (c.why != "" && c.class.Found()) {
				t.Errorf("flagged %v, why %q", m.Flagged, m.Why)
			}
		})
	}
}

// cases.md C25: a repeated sentence keeps its place.
func TestRepeatedSentence(t *testing.T) {
	const story = "Mara lit the lamp. Tom slept. Mara lit the lamp."
	a := NewAnchorer(story)
	for _, c := range []struct {
		quote string
		near  int
		want  Range
		class Class
	}{
		{"Mara lit the lamp.", 35, Range{30, 48}, ClassExact},
		{"Mara lit the lamp.", 48, Range{30, 48}, ClassExact},
		{"Mara lit the lamp.", 0, Range{0, 18}, ClassExact},
		{"Mara lit the lamp.", -1, Range{0, 18}, ClassExact},
		{"mara lit the lamp", 40, Range{30, 47}, ClassCase},
		{"She lit the lamp, that lamp", 40, Range{}, ClassNone},
		{"Mara had lit the lamp", 40, Range{30, 47}, ClassFuzzy},
	} {
		m := a.Find(c.quote, c.near)
		if m.Class != c.class {
			t.Errorf("Find(%q, %d) = %s, want %s", c.quote, c.near, m.Class, c.class)
			continue
		}
		if c.class == ClassNone {
			continue
		}
		if m.Ranges[0] != c.want || m.Occurrences != 2 || !slices.Equal(m.Starts, []int{0, 30}) {
			t.Errorf("Find(%q, %d) = %+v, want %v of starts 0 and 30", c.quote, c.near, m, c.want)
		}
	}
}

// Two places equally near and not the same words are no anchor without a hint.
func TestAmbiguousNear(t *testing.T) {
	const story = "The red gate was closed for the night. Nothing stirred. The old gate was closed for the night."
	a := NewAnchorer(story)
	const quote = "The big gate was closed for the night."
	if m := a.Find(quote, -1); m.Class != ClassNone || m.Why != WhyAmbiguous {
		t.Errorf("without a hint: %+v", m)
	}
	if m := a.Find(quote, 60); m.Class != ClassFuzzy || m.Ranges[0].Start != 56 || m.Occurrences != 2 {
		t.Errorf("with a hint: %+v", m)
	}
}

func TestChanges(t *testing.T) {
	m := NewAnchorer(harbour).Find("The doors of the cellar stood wide open that evening, and a cat was gone.", -1)
	want := []Change{{"doors", "door"}, {"evening", "morning"}, {"a", "the"}}
	if !slices.Equal(m.Changes, want) {
		t.Errorf("changes %q, want %q", m.Changes, want)
	}
}

func TestEchoes(t *testing.T) {
	e := NewEchoes([]string{
		"The peasant expertly explained quantum mechanics to the village elders",
		"", // no word
		"The journey to the capital takes exactly three days on horseback",
	})
	for quote, want := range map[string]string{
		"The peasant expertly explained quantum mechanics to the village elders":                           EchoExact,
		"“the peasant expertly explained quantum mechanics to the village elders.”":                        EchoExact,
		"Chapter 2: The journey to the capital takes exactly three days on horseback":                      EchoExact,
		"The journey to the capital takes exactly two days on horseback":                                   EchoEdited,
		"The peasant explained quantum mechanics to the elders.":                                           EchoEdited,
		"We knew that the journey to the capital takes exactly three days on horseback, as everybody does": EchoEdited,
		"Mara lit the lamp.": "",
		"The journey took her to the sea and to the villages of the south.": "",
		"": "",
	} {
		if kind, ok := e.Copied(quote); kind != want || ok != (want != "") {
			t.Errorf("Copied(%q) = %q, %v, want %q", quote, kind, ok, want)
		}
	}
	// The story goes first; only then the examples, and only then near matches.
	a := NewAnchorer("It is known. The journey to the capital takes exactly three days on horseback. The peasant explained mechanics to the village elders.")
	if m, kind := a.FindOrEcho("the journey to the capital takes exactly three days on horseback", -1, e); m.Class != ClassCase || kind != "" {
		t.Errorf("words of the story taken for an example: %+v %q", m, kind)
	}
	const copied = "The peasant expertly explained mechanics to the village elders."
	if m, kind := a.FindOrEcho(copied, -1, e); m.Class != ClassNone || m.Why != WhyCopied || kind != EchoEdited {
		t.Errorf("copied example taken for a near match: %+v %q", m, kind)
	}
	if m := a.Find(copied, -1); m.Class != ClassFuzzy {
		t.Errorf("without examples: %+v", m)
	}
}

func TestGuards(t *testing.T) {
	for s, want := range map[string]string{
		"three hundred and forty-seven souls":     "[347] 0",
		"a hundred men and one":                   "[100 1] 0",
		"two thousand and five":                   "[2005] 0",
		"5 million, 1,250 and 3.5":                "[5000000 1250 3.5] 0",
		"the twenty-first and the 3rd":            "[21th 3th] 0",
		"two dozen, dozens":                       "[24 dozens] 0",
		"one two three":                           "[1 2 3] 0",
		"nineteen eighty-four":                    "[19 84] 0",
		"six hundred thousand and two hundred":    "[600200] 0",
		"twice, both, half":                       "[twice both half] 0",
		"Henry VIII and I, Chapter IV":            "[viii iv] 0",
		"Sector 7-F, F7, 06, -5 and 10:30":        "[7 f7 06 -5 10:30] 0",
		"95% of $20":                              "[95 % $ 20] 0",
		"三百四十七个和二十":                               "[347 20] 0",
		"１２ men":                                  "[12] 0",
		"He can't, won’t and does not; never, no": "[] 5",
		"nobody saw nothing without neither":      "[] 4",
		"没有人":                                     "[] 1",
		"He knows another nothingness":            "[] 0",
	} {
		g := guardsOf(s, tokenize(s))
		if got := fmt.Sprint(g.numbers, " ", g.negations); got != strings.Replace(want, "] ", "]  ", 1) && got != want {
			t.Errorf("guardsOf(%q) = %s, want %s", s, got, want)
		}
	}
}

func TestEditDistance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gen := rapid.StringOfN(rapid.RuneFrom([]rune("abcé—李 ")), 0, 200, -1)
		a, b := gen.Draw(t, "a"), gen.Draw(t, "b")
		if rapid.Bool().Draw(t, "near") {
			r := []rune(a)
			for range rapid.IntRange(0, 9).Draw(t, "edits") {
				if len(r) > 0 {
					i := rapid.IntRange(0, len(r)-1).Draw(t, "at")
					r = append(r[:i], r[i+1:]...)
				}
			}
			b = string(r)
		}
		if got, want := editDistance(a, b), plainDistance([]rune(a), []rune(b)); got != want {
			t.Fatalf("editDistance(%q, %q) = %d, want %d", a, b, got, want)
		}
	})
}

func plainDistance(a, b []rune) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		diag := row[0]
		row[0] = i + 1
		for j, y := range b {
			d := diag
			if x != y {
				d = min(diag, row[j], row[j+1]) + 1
			}
			diag, row[j+1] = row[j+1], d
		}
	}
	return row[len(b)]
}

// Words for random stories: names with marks in them, other scripts, numbers.
var pool = strings.Fields(`the a of lamp lamps harbour Zoë Kx'thal Anna's river O'Brien naïve café well-known *Whisper*
	walked opened said whispered against mountain yesterday 5 1,250 3.5 VIII seven twenty-eight can't won't never not
	李明 房间 Ωmega straße 👒 Ἀθηνᾶ ﬁne e.g. Mr. x² “yes” ‘no’ — … ... window garden winter silver toward because`)

// drawStory makes a story of paragraphs of sentences of pool.
func drawStory(t *rapid.T) string {
	var b strings.Builder
	for i := range rapid.IntRange(1, 12).Draw(t, "sentences") {
		if i > 0 {
			b.WriteString(rapid.SampledFrom([]string{" ", "\n\n", " "}).Draw(t, "gap"))
		}
		b.WriteString(strings.Join(rapid.SliceOfN(rapid.SampledFrom(pool), 3, 14).Draw(t, "words"), " "))
		b.WriteString(rapid.SampledFrom([]string{".", "!", "?”", ",", "…"}).Draw(t, "end"))
	}
	return norm.NFC.String(b.String())
}

// A passage cut out at random and then typographically damaged is found at
// its place.
func TestDamagedPassageIsFoundAtItsPlace(t *testing.T) {
	damage := []struct {
		name string
		do   func(string) string
	}{
		{"none", func(s string) string { return s }},
		{"straight quotes", func(s string) string {
			return strings.NewReplacer("“", `"`, "”", `"`, "‘", "'", "’", "'").Replace(s)
		}},
		{"curly apostrophes", func(s string) string { return strings.ReplaceAll(s, "'", "’") }},
		{"dashes", func(s string) string { return strings.ReplaceAll(s, "—", "--") }},
		{"ellipsis sign", func(s string) string { return strings.ReplaceAll(s, "...", "…") }},
		{"dots", func(s string) string { return strings.ReplaceAll(s, "…", ". . .") }},
		{"line breaks", func(s string) string { return strings.Join(strings.Fields(s), " ") }},
		{"more breaks", func(s string) string { return strings.ReplaceAll(s, " ", " \n ") }},
		{"no-break spaces", func(s string) string { return strings.ReplaceAll(s, " ", "\u00a0") }},
		{"soft hyphens", func(s string) string { return strings.ReplaceAll(s, "ar", "a\u00adr") }},
		{"decomposed", norm.NFD.String},
		{"compatibility", norm.NFKC.String},
		{"capitals", strings.ToUpper},
		{"no Markdown", func(s string) string { return strings.ReplaceAll(s, "*", "") }},
		{"Markdown", func(s string) string { return "**" + s + "**" }},
		{"outer quotes", func(s string) string { return "“" + s + ".”" }},
		{"outer ellipses", func(s string) string { return "..." + s + "..." }},
		{"JSON", func(s string) string {
			return strings.NewReplacer(`"`, `\"`, "\n", `\n`, "—", `\u2014`).Replace(s)
		}},
		{"HTML", func(s string) string {
			return strings.NewReplacer("&", "&amp;", "'", "&#39;", "“", "&ldquo;").Replace(s)
		}},
	}
	rapid.Check(t, func(t *rapid.T) {
		story := drawStory(t)
		words := slices.Collect(WordRanges(story))
		i := rapid.IntRange(0, len(words)-1).Draw(t, "from")
		j := rapid.IntRange(i, min(len(words)-1, i+20)).Draw(t, "to")
		place := Range{words[i].Start, words[j].End}
		quote := place.Of(story)
		d := rapid.SampledFrom(damage).Draw(t, "damage")
		if d.name == "capitals" && strings.ContainsAny(quote, "ßﬁ²VI") {
			return // ToUpper is not the inverse of folding there; VIII is a number
		}
		toks := tokenize(quote)
		if len(toks) == 0 {
			return
		}
		m := NewAnchorer(story).Find(d.do(quote), place.Start)
		if !m.Class.Normalised() {
			t.Fatalf("%s: %q of %q: %+v", d.name, d.do(quote), story, m)
		}
		// All words, none more, and within the damage's marks of the place.
		got := m.Ranges[0]
		if formOf(tokenize(got.Of(story))) != formOf(toks) {
			t.Fatalf("%s: %q found as %q", d.name, d.do(quote), got.Of(story))
		}
		first, last := place.Start+toks[0].start, place.Start+toks[len(toks)-1].end
		if got.Start > first || got.Start < place.Start-8 || got.End < last || got.End > place.End+8 {
			t.Fatalf("%s: %q of %q found at %v, not %v", d.name, d.do(quote), story, got, place)
		}
		if d.name == "none" && (m.Class != ClassExact || got != place) {
			t.Fatalf("verbatim passage at %v: %+v", place, m)
		}
		checkMatch(t, story, m)
	})
}

// A sentence with another number, or with a negation more or less, is never
// found, wherever and however it stands in the story.
func TestChangedNumberOrNegationIsNeverFound(t *testing.T) {
	numbers := strings.Fields("two three 7 19 1,250 forty-one eleven 3.5 2/3 hundred ninth XIV both dozens seventy-seven")
	negations := strings.Fields("not never nobody without hardly cannot don't")
	plain := strings.Fields("he a of in it lamp river walked opened against mountain yesterday window garden winter silver toward because harbour gold")
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfNDistinct(rapid.SampledFrom(plain), 6, 14, rapid.ID).Draw(t, "words")
		at := rapid.IntRange(0, len(words)).Draw(t, "at")
		if at == len(words) || at == 0 {
			at = len(words) / 2 // a shorter quote is no changed one
		}
		with := func(w string) string {
			out := slices.Clone(words)
			if w != "" {
				out = slices.Insert(out, at, w)
			}
			return strings.Join(out, " ")
		}
		list := numbers
		if rapid.Bool().Draw(t, "negation") {
			list = negations
		}
		in := rapid.SampledFrom(append([]string{""}, list...)).Draw(t, "in the story")
		out := rapid.SampledFrom(append([]string{"", "golden"}, list...)).Draw(t, "in the quote")
		if (in == "") == (out == "" || out == "golden") && (in == "" || list[0] == "not" || in == out) {
			return
		}
		// The neighbours hold numbers and negations too, to be taken for others.
		beside := rapid.SliceOfN(rapid.SampledFrom(slices.Concat(plain, numbers, negations)), 0, 9)
		gap := rapid.SampledFrom([]string{". ", ".\n\n", "! “"})
		story := strings.Join(beside.Draw(t, "before"), " ") + gap.Draw(t, "gap") + with(in) +
			gap.Draw(t, "gap") + strings.Join(beside.Draw(t, "after"), " ") + ". Afterwards nothing stirred."
		quote := rapid.SampledFrom([]string{"%s", "“%s.”", "Mara: %s", "%s ... nothing stirred", "Chapter 3: “%s”", "%s (repeated)"}).Draw(t, "form")
		quote = fmt.Sprintf(quote, with(out))
		if m := NewAnchorer(story).Find(quote, -1); m.Class.Found() {
			t.Fatalf("story %q\nquote %q\nfound %+v %q", story, quote, m, m.Range().Of(story))
		}
	})
}

func checkMatch(t interface{ Fatalf(string, ...any) }, story string, m Match) {
	if !slices.Contains(classOrder, m.Class) {
		t.Fatalf("class %q", m.Class)
	}
	if m.Class.Found() != (len(m.Ranges) > 0) || m.Class.Found() != (m.Occurrences > 0) || m.Occurrences != len(m.Starts) {
		t.Fatalf("class, ranges and occurrences disagree: %+v", m)
	}
	if (m.Class == ClassNone || m.Flagged) != (m.Why != "") || m.Class == ClassFuzzy && !m.Flagged {
		t.Fatalf("flag and reason disagree: %+v", m)
	}
	if m.Class != ClassPieces && len(m.Ranges) > 1 {
		t.Fatalf("more than one range: %+v", m)
	}
	for _, r := range m.Ranges {
		if r.Start < 0 || r.End <= r.Start || r.End > len(story) {
			t.Fatalf("range %v of a story of %d bytes", r, len(story))
		}
		if utf8.ValidString(story) && !utf8.ValidString(r.Of(story)) {
			t.Fatalf("range %v cuts a character", r)
		}
	}
	if !slices.IsSorted(m.Starts) || m.Class.Found() && !slices.Contains(m.Starts, m.Ranges[0].Start) {
		t.Fatalf("starts: %+v", m)
	}
	if m.Similarity < 0 || m.Similarity > 1 || m.Class.Normalised() && m.Similarity != 1 {
		t.Fatalf("similarity: %+v", m)
	}
}

func FuzzFind(f *testing.F) {
	for _, q := range []string{"Mara lit the lamp.", "He had 6 lamps", "The captain ... could not", "Chapter 1: \"Tom slept.\" (repeated)",
		"I was the one who left the gate open", "“a” and “b”", `\"\u201cx\ud83d\ude00\"`, "&quot;<i>Tom</i>", "他没有看见四个孩子。", "\xff\xfe", "e\u0301 - -5 .5 1,2,3"} {
		f.Add(harbour, q, 12)
	}
	f.Add("", "", -1)
	f.Add("0", "&quot", -32)
	f.Add("a b c d e f g a b c d e f g", "a b c x e f g", 3)
	f.Fuzz(func(t *testing.T, story, quote string, near int) {
		if len(story) > 1<<16 || len(quote) > 1<<12 {
			return
		}
		a := NewAnchorer(story)
		m := a.Find(quote, near)
		checkMatch(t, story, m)
		if n := a.Find(quote, -1); n.Class != m.Class && n.Why != WhyAmbiguous {
			t.Fatalf("the hint changed the class: %+v and %+v", n, m)
		}
		e := NewEchoes([]string{quote, harbour[:60]})
		m, kind := a.FindOrEcho(quote, near, e)
		checkMatch(t, story, m)
		if (kind != "") != (m.Why == WhyCopied) {
			t.Fatalf("kind %q, match %+v", kind, m)
		}
		// What was found is found again, as it stands.
		for _, r := range m.Ranges {
			if s := strings.TrimSpace(r.Of(story)); utf8.ValidString(story) && len(tokenize(s)) > 0 {
				if m := a.Find(s, r.Start); !m.Class.Found() {
					t.Fatalf("%q was found, but is not found again: %+v", s, m)
				}
			}
		}
	})
}

func TestFindIsSafeForConcurrentUse(t *testing.T) {
	a := NewAnchorer(harbour)
	e := NewEchoes([]string{"The door of a stable stood open"})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for _, q := range strings.SplitAfter(harbour, ".") {
				a.FindOrEcho(strings.Replace(q, " the ", " a ", 1), -1, e)
			}
		})
	}
	wg.Wait()
}

// benchStory makes a story of about 10,000 words, and quotes of the kinds and
// shares that real judges give.
func benchStory(seed uint64) (string, []string) {
	rng := rand.New(rand.NewPCG(seed, 1))
	vocabulary := make([]string, 2500)
	for i := range vocabulary {
		b := make([]byte, 2+rng.IntN(9))
		for k := range b {
			b[k] = "etaoinshrdlucmfwypvbgkq"[rng.IntN(23)]
		}
		vocabulary[i] = string(b)
	}
	var b strings.Builder
	var sentences []string
	for words := 0; words < 10000; {
		n := 6 + rng.IntN(22)
		s := make([]string, n)
		for k := range s {
			// Few words are common, most are rare.
			s[k] = vocabulary[int(float64(len(vocabulary))*rng.Float64()*rng.Float64()*rng.Float64())]
		}
		sentences = append(sentences, strings.Join(s, " ")+".")
		b.WriteString(sentences[len(sentences)-1])
		b.WriteString([]string{" ", " ", "\n\n"}[rng.IntN(3)])
		words += n
	}
	quotes := make([]string, 3000)
	for i := range quotes {
		s := sentences[rng.IntN(len(sentences))]
		w := strings.Fields(s)
		switch k := rng.IntN(100); {
		case k < 70:
		case k < 82:
			s = "“" + strings.ToUpper(s[:1]) + s[1:] + "”"
		case k < 85:
			s = strings.Join(w[:len(w)/3], " ") + "... " + strings.Join(w[len(w)/2:], " ")
		case k < 92:
			w[0] = "Mara"
			s = strings.Join(w, " ")
		default:
			rng.Shuffle(len(w), func(x, y int) { w[x], w[y] = w[y], w[x] })
			s = strings.Join(w, " ")
		}
		quotes[i] = s
	}
	return b.String(), quotes
}

// BenchmarkFind finds 3,000 quotes in a story of 10,000 words; one operation
// is all of them.
func BenchmarkFind(b *testing.B) {
	story, quotes := benchStory(1)
	a := NewAnchorer(story)
	for b.Loop() {
		for _, q := range quotes {
			a.Find(q, -1)
		}
	}
	b.ReportMetric(float64(len(quotes)), "quotes/op")
}

func BenchmarkNewAnchorer(b *testing.B) {
	story, _ := benchStory(1)
	b.SetBytes(int64(len(story)))
	for b.Loop() {
		NewAnchorer(story)
	}
}

func BenchmarkFold(b *testing.B) {
	b.SetBytes(int64(len(harbour)))
	for b.Loop() {
		Fold(harbour)
	}
}

func ExampleAnchorer_Find() {
	a := NewAnchorer("Ada’s lamp — the red one — fell. She had 5 lamps. Mara had seen it fall.")
	for _, quote := range []string{
		"Ada's lamp - the red one - fell.",
		"She had 6 lamps.",
		"Tom had seen it fall.",
	} {
		m := a.Find(quote, -1)
		fmt.Print(m.Class, ", ", m.Why)
		for _, r := range m.Ranges {
			fmt.Printf(", %q", r.Of(a.Story()))
		}
		fmt.Println()
	}
	// Output:
	// typographic, , "Ada’s lamp — the red one — fell."
	// none, number
	// fuzzy, words changed, "Mara had seen it fall."
}
