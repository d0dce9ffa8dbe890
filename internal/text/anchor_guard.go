// SPDX-License-Identifier: Apache-2.0

package text

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// What a near match may never change: numbers and negations (verbatim-rag#34
// and the measurements in the design notes). English and Chinese are covered;
// in other languages only digits are.

// guards is what a run of words says that must be said by the other side too.
type guards struct {
	numbers   []string // values in order, as canonical text
	negations int
}

func (g guards) equal(h guards) bool {
	return g.negations == h.negations && slices.Equal(g.numbers, h.numbers)
}

// guardsOf reads the numbers and negations of tokens of src. Digits and words
// of the same value are equal ("28", "twenty-eight"), so are all negations:
// that "don't" became "couldn't" is a change for the reader to see, not one of
// polarity.
func guardsOf(src string, toks []token) guards {
	var g guards
	var n phrase
	for i, t := range toks {
		if negative(t.text) {
			g.negations++
		}
		if n.take(t.text) || n.joins(toks, i) {
			continue
		}
		g.numbers = n.flush(g.numbers)
		if n.take(t.text) {
			continue
		}
		if v, ok := numberLiteral(src[t.start:t.end], t.text); ok {
			g.numbers = append(g.numbers, v)
		}
	}
	g.numbers = n.flush(g.numbers)
	return g
}

// negatives are words that turn what is said around, and verbs and prefixes
// that do the same.
var negatives = setOf(`not no never none nor neither nobody nothing nowhere without cannot nope nay
	hardly scarcely barely seldom rarely unable unless except non anti noone
	dont doesnt didnt isnt arent wasnt werent cant couldnt wont wouldnt shouldnt hasnt havent hadnt aint mustnt neednt
	fail fails failed failing lack lacks lacked lacking refuse refuses refused refusing deny denies denied denying
	absent 不 没 沒 無 无 未 非 别 別 勿 莫 否`)

func negative(w string) bool {
	return negatives[w] || strings.HasSuffix(w, "n't")
}

// opposed reports words of which one is the other with a prefix or ending of
// negation.
func opposed(a, b string) bool {
	if len(a) < len(b) {
		a, b = b, a
	}
	for _, p := range []string{"un", "in", "im", "il", "ir", "dis", "non", "mis", "de", "anti"} {
		if len(b) >= 3 && strings.HasPrefix(a, p) && stem(a[len(p):]) == stem(b) {
			return true
		}
	}
	cut := func(s string) (string, bool) { return strings.CutSuffix(s, "less") }
	if base, ok := cut(a); ok && len(base) >= 3 && strings.HasPrefix(b, base) {
		return true
	}
	if base, ok := cut(b); ok && len(base) >= 3 && strings.HasPrefix(a, base) {
		return true
	}
	return false
}

// stem takes off the commonest endings, so that "unlocked" opposes "locks".
func stem(s string) string {
	for _, e := range []string{"ing", "ed", "es", "ly", "s", "e"} {
		if t, ok := strings.CutSuffix(s, e); ok && len(t) >= 3 {
			return t
		}
	}
	return s
}

// numberLiteral reports a word with a value of its own that takes no part in a
// phrase: anything with a digit, a percent or currency sign, Roman numerals
// (two letters and more, written large), fractions, "dozens", "twice", "both".
// raw is the word as it stands in the source.
func numberLiteral(raw, w string) (string, bool) {
	if looseNumbers[w] {
		return w, true
	}
	if w == "percent" || w == "%" {
		return "%", true
	}
	for _, r := range w {
		if unicode.IsNumber(r) || unicode.Is(unicode.Sc, r) {
			return digits(w), true
		}
	}
	if len(raw) >= 2 && romanNumeral(raw) {
		return w, true
	}
	return "", false
}

var looseNumbers = setOf(`once twice thrice half halves quarter quarters both couple pair pairs single double triple
	dozens hundreds thousands millions billions trillions
	twenties thirties forties fifties sixties seventies eighties nineties
	半 双 雙 俩 两半 几 幾 数百 数千`)

// digits rewrites decimal digits of any script as ASCII.
func digits(w string) string {
	return strings.Map(func(r rune) rune {
		if r > '9' && unicode.Is(unicode.Nd, r) {
			// The digits of each script stand in a run that starts at 0.
			z := r
			for unicode.Is(unicode.Nd, z-1) && r-z < 9 {
				z--
			}
			return '0' + r - z
		}
		return r
	}, w)
}

func romanNumeral(s string) bool {
	if strings.Trim(s, "IVXLCDM") != "" {
		return false
	}
	values := map[byte]int{'I': 1, 'V': 5, 'X': 10, 'L': 50, 'C': 100, 'D': 500, 'M': 1000}
	total := 0
	for i := range len(s) {
		v := values[s[i]]
		if i+1 < len(s) && v < values[s[i+1]] {
			v = -v
		}
		total += v
	}
	return total > 0 && writeRoman(total) == s
}

func writeRoman(n int) string {
	var b strings.Builder
	for _, p := range []struct {
		v int
		s string
	}{{1000, "M"}, {900, "CM"}, {500, "D"}, {400, "CD"}, {100, "C"}, {90, "XC"}, {50, "L"}, {40, "XL"}, {10, "X"}, {9, "IX"}, {5, "V"}, {4, "IV"}, {1, "I"}} {
		for n >= p.v {
			b.WriteString(p.s)
			n -= p.v
		}
	}
	return b.String()
}

// A phrase reads numerals in words: "three hundred and forty-seven", "a
// dozen", "twenty-first", 三百四十七.
type phrase struct {
	total, current int
	last           int // what the last word was worth, to see where the next number starts
	started, han   bool
	ordinal        bool
}

// joins reports the "and" of "three hundred and forty-seven".
func (p *phrase) joins(toks []token, i int) bool {
	return toks[i].text == "and" && p.last >= 100 && !p.ordinal && !p.han && i+1 < len(toks) && isCardinal(toks[i+1].text)
}

// flush appends the number read so far, if any, and starts anew.
func (p *phrase) flush(to []string) []string {
	if !p.started {
		return to
	}
	s := strconv.Itoa(p.total + p.current)
	if p.ordinal {
		s += "th"
	}
	*p = phrase{}
	return append(to, s)
}

// take reads w as the next word of the number and reports whether it is one.
// A word that cannot follow, as in "two three", is left for a new number.
func (p *phrase) take(w string) bool {
	v, ordinal, han := cardinal(w)
	if v < 0 {
		// Digits can only start a number: "5 million", but "30 5" is two.
		d, ordinal := w, false
		if len(w) > 2 {
			switch e := w[len(w)-2:]; e {
			case "st", "nd", "rd", "th":
				d, ordinal = w[:len(w)-2], true
			}
		}
		n, err := strconv.ParseUint(d, 10, 31)
		if err != nil || p.started || d != strconv.FormatUint(n, 10) { // 06 is a code, not 6
			return false
		}
		p.started, p.ordinal, p.current, p.last = true, ordinal, int(n), 1
		return true
	}
	if p.started && (p.ordinal || han != p.han) {
		return false
	}
	scale := v >= 100 || han && v == 10
	switch {
	case scale && v >= 1000:
		p.total += max(p.current, 1-min(p.total, 1)) * v
		p.current = 0
	case scale && han:
		unit := 1
		if p.current%10 != 0 {
			unit = p.current % 10
			p.current -= unit
		}
		p.current += unit * v
	case scale:
		p.current = max(p.current, 1) * v
	case v == 12 && w == "dozen":
		p.current = max(p.current, 1) * 12
	case !p.started || p.last >= 100 || han && p.last >= 10 || p.last >= 20 && v < 10 && v > 0 && p.current%10 == 0:
		p.current += v
	default:
		return false
	}
	p.started, p.han, p.ordinal, p.last = true, han, ordinal, v
	return true
}

func isCardinal(w string) bool {
	v, _, _ := cardinal(w)
	return v >= 0
}

// cardinal gives the value of a numeral, -1 if w is none.
func cardinal(w string) (value int, ordinal, han bool) {
	if n, ok := numerals[w]; ok {
		return n.value, n.ordinal, n.han
	}
	return -1, false, false
}

type numeral struct {
	value        int
	ordinal, han bool
}

var numerals = func() map[string]numeral {
	m := map[string]numeral{}
	add := func(words string, from, by int, ordinal, han bool) {
		for _, w := range strings.Fields(words) {
			m[w] = numeral{from, ordinal, han}
			from += by
		}
	}
	add("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen", 0, 1, false, false)
	add("twenty thirty forty fifty sixty seventy eighty ninety", 20, 10, false, false)
	add("first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth", 1, 1, true, false)
	add("twentieth thirtieth fortieth fiftieth sixtieth seventieth eightieth ninetieth", 20, 10, true, false)
	for i, w := range []string{"hundred", "thousand", "million", "billion", "trillion"} {
		v := []int{1e2, 1e3, 1e6, 1e9, 1e12}[i]
		m[w] = numeral{v, false, false}
		m[w+"th"] = numeral{v, true, false}
	}
	m["dozen"] = numeral{12, false, false}
	m["nought"], m["fourty"] = m["zero"], m["forty"]
	add("零 一 二 三 四 五 六 七 八 九 十", 0, 1, false, true)
	m["〇"], m["两"], m["兩"] = m["零"], m["二"], m["二"]
	for i, w := range []string{"百", "千", "万", "亿"} {
		m[w] = numeral{[]int{1e2, 1e3, 1e4, 1e8}[i], false, true}
	}
	m["萬"], m["億"] = m["万"], m["亿"]
	return m
}()

func setOf(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}
