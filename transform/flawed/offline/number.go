// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"slices"
	"strings"
)

// countMention is a number before a plural noun.
type countMention struct {
	num, head int // tokens
	np        phrase
}

// Words that tell the members of a group apart. Where they stand, another
// number would leave somebody out, or in.
var (
	ordinals = set("second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth middle")
	pairs    = set("both either neither pair couple twins twin others")
	// losses change a number.
	losses   = set("died dead killed lost drowned eaten sold stolen remained remaining more fewer")
	sortedBy = set("eldest oldest elder older younger youngest")
)

// counts finds "three sons": a number before the same plural noun in act 1 and
// later (rule 9).
func (st *Story) counts() []*Flip {
	lex := lexicon()
	found := map[string][]countMention{}
	var order []string
	for i, t := range st.toks {
		n := numberWords[t.w]
		if n == 0 {
			continue
		}
		for j := i + 1; j < len(st.toks) && j <= i+3; j++ {
			u := st.toks[j]
			if u.sent != t.sent || u.sep != "" && u.sep != "," {
				break
			}
			if h, ok := lex.heads[u.w]; ok && u.w == h.many {
				if found[h.one] == nil {
					order = append(order, h.one)
				}
				found[h.one] = append(found[h.one], countMention{i, j, st.phrase(j)})
				break
			}
			if !lex.words["modifier"][u.w] && len(lex.class[canonical(u.w)]) == 0 {
				break
			}
		}
	}
	var out []*Flip
	for _, one := range order {
		if f := st.count(lex.heads[one], found[one]); f != nil {
			out = append(out, f)
		}
	}
	return out
}

func (st *Story) count(h head, ms []countMention) *Flip {
	class := "count"
	switch h.category {
	case "kin":
		class = "kin_count"
	case "time":
		class = "duration"
	}
	if len(ms) < 2 {
		return nil
	}
	old := st.toks[ms[0].num].w
	n := numberWords[old]
	for i, m := range ms {
		if st.toks[m.num].w != old {
			return st.turnDown(h.one, class, "two_values")
		}
		if i > 0 && !m.np.definite() && !(class == "duration" && st.elapsed(m)) {
			return st.turnDown(h.one, class, "introduced_twice")
		}
		if m.num > 0 && st.toks[m.num].sep == "" {
			switch st.toks[m.num-1].w {
			case "and":
				if m.num > 1 && numberWords[st.toks[m.num-2].w] > 0 {
					return st.turnDown(h.one, class, "mixed_value")
				}
			case "or", "other", "about", "nearly", "than", "hundred", "thousand", "next", "first", "last":
				return st.turnDown(h.one, class, "mixed_value")
			}
		}
		if m.num+1 < len(st.toks) {
			switch st.toks[m.num+1].w {
			case "or", "and", "more", "other", "hundred", "thousand", "score", "times":
				return st.turnDown(h.one, class, "mixed_value")
			}
		}
	}
	if class != "duration" {
		for _, t := range st.tokensOf(h.one) {
			if d := st.phrase(t).det; h.many != h.one && class == "count" && (d == "a" || d == "other") {
				return st.turnDown(h.one, class, "single_one")
			}
		}
		if why := st.enumerated(h, n); why != "" {
			return st.turnDown(h.one, class, why)
		}
	}
	if ms[0].np.det != "none" {
		return st.turnDown(h.one, class, "not_introduced")
	}
	for _, m := range ms {
		if class != "duration" && st.sentHas(st.toks[m.num].sent, losses) {
			return st.turnDown(h.one, class, "changing_verb")
		}
	}
	if why := st.looseNumber(old, ms); why != "" {
		return st.turnDown(h.one, class, why)
	}
	to := ""
	for _, c := range st.otherNumbers(n, class) {
		if !st.has(c) && !st.has(ordinalOf(c)) {
			to = c
			break
		}
	}
	if to == "" {
		return st.turnDown(h.one, class, "no_new_value")
	}
	f := &Flip{
		Class: class, Category: "character", Kind: "continuity", Subtype: "quantitative_mismatches",
		Head: h.many, Old: old, New: to, group: h.category, plural: true, forms: []string{old},
		Statement:      "There are " + old + " " + h.many + ".",
		Counterfactual: "There are " + to + " " + h.many + ".",
	}
	switch class {
	case "count":
		if h.category != "folk" && h.category != "bird" && h.category != "cattle" && h.category != "wild" && h.category != "pet" && h.category != "mount" {
			f.Category = "setting"
		}
	case "duration":
		f.Category, f.Subtype = "setting", "duration_timeline_contradictions"
		f.Statement = "The time is " + old + " " + h.many + "."
		f.Counterfactual = "The time is " + to + " " + h.many + "."
	}
	for _, m := range ms {
		f.Changes = append(f.Changes, st.change(m.num, to))
	}
	return f
}

// enumerated looks for words that count the members one by one: beside a
// mention, and for few children in the whole story, since tales send them out
// one after another.
func (st *Story) enumerated(h head, n int) string {
	near := map[int]bool{}
	for _, t := range slices.Concat(st.tokensOf(h.one), st.tokensOf(h.many)) {
		near[st.toks[t].sent] = true
		near[st.toks[t].sent+1] = true
	}
	few := h.category == "kin" && n <= 3
	for i, t := range st.toks {
		if !near[t.sent] && !few {
			continue
		}
		switch {
		case ordinals[t.w] && !st.ranksOther(i, near[t.sent] || few), few && sortedBy[t.w]:
			return "enumerated"
		case !near[t.sent]:
		case pairs[t.w], n == 2 && (t.w == "other" || t.w == "each"):
			return "enumerated"
		case t.w == "another" && i > 0 && st.toks[i-1].w != "one" && st.toks[i-1].w != "after" && st.toks[i-1].w != "to":
			return "enumerated"
		case numberWords[t.w] > 0 && numberWords[t.w] != n && !st.countsOther(i, h):
			return "other_number_near"
		}
	}
	return ""
}

// ranksOther reports whether the ordinal at token i ranks something else than
// one of the group: the second storey. Loose says what an ordinal without a
// noun means.
func (st *Story) ranksOther(i int, loose bool) bool {
	if i+1 >= len(st.toks) || st.toks[i+1].sent != st.toks[i].sent || st.toks[i+1].sep != "" {
		return !loose
	}
	switch u := st.toks[i+1].w; {
	case u == "one", lexicon().heads[u].category == "kin", lexicon().heads[u].category == "folk":
		return false
	case functionWords[u], lexicon().words["verb"][u]:
		return !loose
	}
	return true
}

// countsOther reports whether the number at token i counts something else: a
// plural noun follows, and it is not the head.
func (st *Story) countsOther(i int, h head) bool {
	if i > 0 && (st.toks[i-1].w == "was" || st.toks[i-1].w == "is" || st.toks[i-1].w == "were") && i+1 < len(st.toks) && st.toks[i+1].sep != "" {
		return true // who was eighty
	}
	for j := i + 1; j < len(st.toks) && j <= i+3; j++ {
		u := st.toks[j]
		switch {
		case u.sent != st.toks[i].sent || u.sep != "":
			return false
		case u.w == h.many || u.w == h.one:
			return false
		case u.w == "o'clock":
			return true
		case functionWords[u.w]:
			return false
		case strings.HasSuffix(u.w, "s"), lexicon().heads[u.w].many == u.w:
			return true
		}
	}
	return false
}

// looseNumber looks for the old number without its noun: "the three", "all
// three", "the three of them". It would contradict the flip, or mean it.
func (st *Story) looseNumber(old string, ms []countMention) string {
	mine := map[int]bool{}
	for _, m := range ms {
		mine[m.num] = true
	}
	for _, i := range st.at[old] {
		if mine[i] {
			continue
		}
		if i+1 >= len(st.toks) || st.toks[i+1].sep != "" || st.toks[i+1].sent != st.toks[i].sent {
			return "loose_number"
		}
		// A number that counts two things is seldom there by chance: twelve
		// brothers, twelve coffins.
		ok := len(ms) > 0 && lexicon().heads[st.toks[ms[0].head].w].category == "time" && st.countsOther(i, head{})
		if !ok {
			return "loose_number"
		}
	}
	if st.parts[old] {
		return "loose_number"
	}
	return ""
}

// otherNumbers lists the numbers that may stand for n, fewer first: a loss is
// easier to explain than a gain.
func (st *Story) otherNumbers(n int, class string) []string {
	var out []string
	name := func(k int) string {
		for w, v := range numberWords {
			if v == k {
				return w
			}
		}
		return ""
	}
	var tries []int
	switch {
	case n >= 30:
		tries = []int{n - 10, n + 10, n + 20, n - 20}
	case n == 20:
		tries = []int{30, 15, 40}
	case n >= 7:
		tries = []int{n - 2, n - 3, n + 2, n - 1, n + 3}
	case n >= 4:
		tries = []int{n - 1, n + 1, n + 2, n - 2}
	case n == 3:
		tries = []int{4, 5, 6}
	default:
		tries = []int{3, 4}
	}
	if class == "duration" && n < 7 {
		tries = []int{n + 2, n + 3, n + 1, n + 4}
	}
	for _, k := range tries {
		if w := name(k); w != "" && k >= 3 {
			out = append(out, w)
		}
	}
	return out
}

func ordinalOf(w string) string {
	switch w {
	case "two":
		return "second"
	case "three":
		return "third"
	case "five":
		return "fifth"
	case "eight":
		return "eighth"
	case "nine":
		return "ninth"
	case "twelve":
		return "twelfth"
	}
	if strings.HasSuffix(w, "y") {
		return strings.TrimSuffix(w, "y") + "ieth"
	}
	return w + "th"
}

// elapsed reports a long time that the story speaks of as one that is known:
// when seven years had passed.
func (st *Story) elapsed(m countMention) bool {
	if u := lexicon().heads[st.toks[m.head].w].one; u == "hour" || u == "day" || u == "night" {
		return false
	}
	for j := m.head + 1; j < len(st.toks) && j <= m.head+3 && st.toks[j].sent == st.toks[m.head].sent; j++ {
		switch st.toks[j].w {
		case "passed", "over", "up", "out", "gone", "ended", "end", "elapsed", "expired":
			return true
		}
	}
	return false
}
