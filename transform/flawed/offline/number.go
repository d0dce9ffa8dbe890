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
	scale     string   // hundred, thousand: three hundred dollars
	marks     []string // what tells these from others: white horses
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
// later (rule 9). The noun need be in no list.
func (st *Story) counts() []*Flip {
	found := map[string][]countMention{}
	heads := map[string]head{}
	var order []string
	for i := range st.toks {
		m, h, ok := st.counted(i)
		if !ok {
			continue
		}
		key := h.many
		if money[h.many] || h.category == "time" {
			// Sums and terms are told apart by their number alone.
			key = st.toks[i].w + " " + m.scale + " " + h.many
		}
		if found[key] == nil {
			order = append(order, key)
			heads[key] = h
		}
		found[key] = append(found[key], m)
	}
	sums := map[string]int{} // by noun, how many numbers of it the story has
	for _, key := range order {
		sums[heads[key].many]++
	}
	var out []*Flip
	for _, key := range order {
		if sums[heads[key].many] > 3 {
			st.turnDown(heads[key].one, "count", "reckoned") // one who reckons would find the sum wrong
			continue
		}
		if f := st.count(heads[key], found[key]); f != nil {
			out = append(out, f)
		}
	}
	return out
}

// counted reads the number at token i and the plural noun that it counts.
func (st *Story) counted(i int) (countMention, head, bool) {
	lex := lexicon()
	m := countMention{num: i}
	t := st.toks[i]
	if numberWords[t.w] == 0 && t.w != "thousand" {
		return m, head{}, false
	}
	if i > 0 && st.toks[i-1].sent == t.sent && t.sep == "" && (t.w == "hundred" || t.w == "thousand") && (numberWords[st.toks[i-1].w] > 0 || scales[st.toks[i-1].w]) {
		return m, head{}, false // the second half of a number
	}
	for j := i + 1; j < len(st.toks) && j <= i+4; j++ {
		u := st.toks[j]
		adjective := lex.words["modifier"][u.w] || len(lex.class[canonical(u.w)]) > 0
		switch {
		case u.sent != t.sent || u.sep != "" && !(u.sep == "," && adjective):
			return m, head{}, false
		case j == i+1 && scales[u.w]:
			m.scale = u.w
			continue
		case j == i+1 && numberWords[u.w] > 0: // two or three
			return m, head{}, false
		}
		if h, ok := lex.heads[u.w]; ok && u.w == h.many {
			m.head, m.np = j, st.phrase(j)
			return m, h, true
		}
		if _, known := lex.heads[u.w]; !known && pluralLike(u.w) && !(j+1 < len(st.toks) && st.compound(j) && pluralLike(st.toks[j+1].w)) {
			if u.upper && !u.head {
				return m, head{}, false
			}
			m.head, m.np = j, st.phrase(j)
			category := "thing"
			if n, ok := lex.byNoun[singular(u.w)]; ok && n.class != "place" && n.class != "object" {
				category = "folk"
			}
			return m, head{singular(u.w), u.w, category}, true
		}
		if functionWords[u.w] || otherDeterminers[u.w] || !adjective && (lex.words["verb"][u.w] || j > i+2) {
			return m, head{}, false
		}
		if !neutral[u.w] {
			m.marks = append(m.marks, u.w)
		}
	}
	return m, head{}, false
}

var (
	scales = set("hundred thousand")
	// neutral are modifiers that tell no group from another.
	neutral = set("little small tiny great big large long young old poor good beautiful pretty fine whole dear brave merry weary tall huge fair lovely handsome wicked cruel")
	// noPlurals end like a plural and are none, or count nothing that lasts.
	noPlurals = set("times ways sides others ones things kinds sorts parts hands others this less perhaps always was is has does his its as us thus yes towards afterwards besides sometimes perhaps else's alas across unless whereas steps paces minutes seconds eyes feet legs arms ears words cheers kisses drops halves thirds quarters nights days")
)

// pluralLike reports a word that looks like the plural of a noun.
func pluralLike(w string) bool {
	switch {
	case len(w) < 4, noPlurals[w], functionWords[w], lexicon().words["verb"][w], lexicon().words["modifier"][w]:
		return false
	case strings.HasSuffix(w, "men") && len(w) > 4:
		return true
	case strings.HasSuffix(w, "ss"), strings.HasSuffix(w, "us"), strings.HasSuffix(w, "is"), strings.HasSuffix(w, "'s"):
		return false
	}
	return strings.HasSuffix(w, "s")
}

func singular(w string) string {
	switch {
	case strings.HasSuffix(w, "men"):
		return strings.TrimSuffix(w, "men") + "man"
	case strings.HasSuffix(w, "ies") && len(w) > 4:
		return strings.TrimSuffix(w, "ies") + "y"
	case strings.HasSuffix(w, "ches"), strings.HasSuffix(w, "shes"), strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "xes"):
		return strings.TrimSuffix(w, "es")
	}
	return strings.TrimSuffix(w, "s")
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
	old, scale := st.toks[ms[0].num].w, ms[0].scale
	n := numberWords[old]
	if old == "thousand" {
		n = 1000
	}
	if money[h.many] && !slices.ContainsFunc(ms, func(m countMention) bool { return st.nextIs(m.head, "of") }) { // ten pounds of feathers are none
		h.category = "money"
	}
	being := class == "kin_count" || beings[h.category] && h.category != "house"
	if n == 2 && (being || h.category == "thing") {
		return st.turnDown(h.one, class, "two") // one of two is the other
	}
	if class == "count" && comingOff[h.one] {
		return st.turnDown(h.one, class, "changing_verb")
	}
	marks := ms[0].marks
	for i, m := range ms {
		if st.toks[m.num].w != old || m.scale != scale {
			return st.turnDown(h.one, class, "two_values")
		}
		if len(m.marks) > 0 && len(marks) > 0 && !slices.Equal(m.marks, marks) {
			return st.turnDown(h.one, class, "another_group") // four white horses, four black ones
		}
		if len(marks) == 0 {
			marks = m.marks
		}
		if i > 0 && !m.np.definite() && !(class == "duration" && st.elapsed(m)) && n < 4 {
			return st.turnDown(h.one, class, "introduced_twice")
		}
		if m.num > 0 && st.toks[m.num].sep == "" && st.toks[m.num-1].sent == st.toks[m.num].sent {
			switch w := st.toks[m.num-1].w; {
			case w == "and":
				if m.num > 1 && numberWords[st.toks[m.num-2].w] > 0 {
					return st.turnDown(h.one, class, "mixed_value")
				}
			case inexact[w]:
				return st.turnDown(h.one, class, "mixed_value")
			case (w == "a" || w == "an" || w == "one") && n < 100, w == "every" || w == "each":
				return st.turnDown(h.one, class, "mixed_value")
			}
		}
		switch st.toks[m.num+1].w {
		case "or", "and", "more", "other", "score", "times":
			return st.turnDown(h.one, class, "mixed_value")
		}
		if numberWords[st.toks[m.num+1].w] > 0 && scale == "" {
			return st.turnDown(h.one, class, "mixed_value")
		}
	}
	if class != "duration" {
		for _, t := range st.tokensOf(h.one) {
			if d := st.phrase(t).det; h.many != h.one && class == "count" && h.category != "money" && (d == "a" || d == "other") {
				return st.turnDown(h.one, class, "single_one")
			}
		}
		if why := st.enumerated(h, n); why != "" {
			return st.turnDown(h.one, class, why)
		}
		if why := st.membersNamed(h, ms); why != "" {
			return st.turnDown(h.one, class, why)
		}
	}
	if d := ms[0].np.det; d != "none" && !(d == "a" && n >= 100) {
		return st.turnDown(h.one, class, "not_introduced")
	}
	for _, m := range ms {
		if class != "duration" && h.category != "money" && st.sentHas(st.toks[m.num].sent, losses) {
			return st.turnDown(h.one, class, "changing_verb")
		}
	}
	if class == "duration" && st.reckoned(h, old, ms) {
		return st.turnDown(h.one, class, "reckoned")
	}
	if class != "duration" && n > 12 && st.has(ordinalOf(old), oneFewer(n)) {
		return st.turnDown(h.one, class, "enumerated") // twenty-nine passed by, and then the thirtieth
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
	noun := h.many
	if scale != "" {
		noun = scale + " " + noun
	}
	f := &Flip{
		Class: class, Category: "character", Kind: "continuity", Subtype: "quantitative_mismatches",
		Head: noun, Old: old, New: to, group: h.category, plural: true, forms: []string{old},
		Statement:      "There are " + old + " " + noun + ".",
		Counterfactual: "There are " + to + " " + noun + ".",
	}
	switch class {
	case "count":
		if !being {
			f.Category = "setting"
		}
	case "duration":
		f.Category, f.Subtype = "setting", "duration_timeline_contradictions"
		f.Statement = "The time is " + old + " " + noun + "."
		f.Counterfactual = "The time is " + to + " " + noun + "."
	}
	for i, m := range ms {
		c := st.change(m.num, to)
		if class == "duration" {
			c.vague = st.asked(m.num) || st.law(m.num) // "if you serve me seven years" states the term
		} else {
			c.vague = st.asked(m.num) || !st.stated(m.num, m.np)
		}
		if m.np.det == "a" { // a hundred: ninety
			a := st.toks[m.np.dtok]
			c.Start, c.New = a.start, matchCase(st.Text[a.start:a.end], to)
		}
		c.loose = i > 0 && !m.np.definite() && !(class == "duration" && (st.elapsed(m) || st.sameDeed(m, ms[:i])))
		f.Changes = append(f.Changes, c)
	}
	return f
}

var (
	// inexact are words before a number that make it no number, or another.
	inexact = set("or other about nearly almost than hundred thousand next first last some least another over under these every")
	// comingOff are things that come off what has them, one by one, untold.
	comingOff = set("button tooth feather petal leaf hair tile nail shingle scale thorn plum apple cherry")
	// money is counted again and again, and only spending changes it.
	money = set("dollars crowns thalers guineas pounds shillings pence florins ducats rupees francs coins sequins farthings marks guilders groats")
)

// sameDeed reports a time in which somebody did what an earlier mention says:
// he has to serve seven years, and has served for seven years.
func (st *Story) sameDeed(m countMention, earlier []countMention) bool {
	deed := func(m countMention) string {
		from, to := st.clause(m.num)
		for k := from; k < to; k++ {
			for _, stem := range deeds {
				if strings.HasPrefix(st.toks[k].w, stem) {
					return stem
				}
			}
		}
		return ""
	}
	d := deed(m)
	return d != "" && slices.ContainsFunc(earlier, func(e countMention) bool { return deed(e) == d })
}

// deeds are stems of verbs that fill a long time.
var deeds = strings.Fields("serv wait follow wander imprison slep married sought silen dumb bewitch enchant reign lived work")

// membersNamed reports a group whose members the story lists or names: another
// number would leave some without a name.
func (st *Story) membersNamed(h head, ms []countMention) string {
	for _, m := range ms {
		for k := m.head + 1; k < len(st.toks) && st.toks[k].sent == st.toks[m.head].sent && k < m.head+12; k++ {
			switch t := st.toks[k]; {
			case strings.ContainsAny(t.sep, ":;") || strings.Contains(t.sep, "-") || strings.Contains(t.sep, "—") || strings.Contains(t.sep, "("):
				if commas := st.listFrom(k); commas >= 2 {
					return "listed"
				}
			case (calling[t.w] || t.w == "namely") && h.category != "money":
				return "listed"
			}
		}
		if k := m.head + 1; k < len(st.toks) && st.toks[k].sent == st.toks[m.head].sent && st.toks[k].sep == "," && st.listFrom(k) >= 2 && (st.toks[k].w == "the" || st.toks[k].w == "a" || st.toks[k].w == "one" || st.toks[k].upper) {
			return "listed"
		}
	}
	return ""
}

// listFrom counts the members of a list that starts at token k.
func (st *Story) listFrom(k int) int {
	n := 0
	for j := k + 1; j < len(st.toks) && st.toks[j].sent == st.toks[k].sent && j < k+24; j++ {
		if st.toks[j].sep == "," || st.toks[j].sep == ";" || st.toks[j].w == "and" {
			n++
		}
	}
	return n
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
	few := n <= 3 && (h.category == "kin" || h.category == "folk" || h.category == "person" || h.category == "thing")
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
		switch w := st.toks[i+1].w; {
		case w == "times", w == "o'clock":
			ok = true
		case lexicon().heads[w].category == "time":
			ok = st.far(i, ms)
		}
		if !ok {
			return "loose_number"
		}
	}
	if st.parts[old] {
		return "loose_number"
	}
	return ""
}

// far reports that the token at i stands at some distance from all mentions.
func (st *Story) far(i int, ms []countMention) bool {
	for _, m := range ms {
		if d := st.toks[i].sent - st.toks[m.num].sent; -3 < d && d < 3 {
			return false
		}
	}
	return true
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
	case n >= 1000:
		return []string{"nine hundred"}
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
	if class == "duration" && n < 30 {
		tries = []int{n + 2, n + 3, n + 1, n + 4} // a time that is nearly over can grow, but not shrink
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

// reckoned reports a time that the story reckons with elsewhere: fourteen times
// fifty-two, in the sixth week.
func (st *Story) reckoned(h head, old string, ms []countMention) bool {
	mentioned := func(t int) bool {
		return slices.ContainsFunc(ms, func(m countMention) bool { return m.num == t })
	}
	for _, t := range st.at[old] {
		if !mentioned(t) && (numberWords[old] > 12 || st.nextIs(t, "times")) {
			return true
		}
	}
	return slices.ContainsFunc(st.at[h.one], func(t int) bool { return t > 0 && (ordinals[st.toks[t-1].w] || st.toks[t-1].w == "first") })
}

// law reports a time that somebody states for all: a fairy may be made an owl
// for a hundred years.
func (st *Story) law(t int) bool {
	from, _ := st.clause(t)
	for k := from; k+2 < t; k++ {
		if w := st.toks[k].w; (w == "a" || w == "an" || w == "every" || w == "any") && (k == from || leadsClause[st.toks[k-1].w]) {
			for j := k + 2; j < t && j < k+5; j++ {
				if modal[st.toks[j].w] {
					return true
				}
			}
		}
		if w := st.toks[k].w; w == "whoever" || w == "whosoever" || w == "anyone" || w == "anybody" {
			return true
		}
	}
	return false
}

var (
	leadsClause = set("that and but if for because")
	modal       = set("may might must can could shall should will would")
)

// oneFewer returns the word for all but one of n, "" when there is no plain one.
func oneFewer(n int) string {
	if w := numberName(n - 1); w != "" {
		return w
	}
	if tens := numberName(n - 10); tens != "" {
		return tens + "-nine"
	}
	return ""
}

// elapsed reports a long time that the story speaks of as one that is known:
// when seven years had passed.
func (st *Story) elapsed(m countMention) bool {
	if u := lexicon().heads[st.toks[m.head].w].one; u == "hour" || u == "day" || u == "night" {
		return false
	}
	for j := m.head + 1; j < len(st.toks) && j <= m.head+3 && st.toks[j].sent == st.toks[m.head].sent; j++ {
		switch st.toks[j].w {
		case "passed", "over", "up", "out", "gone", "ended", "end", "elapsed", "expired", "past":
			return true
		}
	}
	return false
}
