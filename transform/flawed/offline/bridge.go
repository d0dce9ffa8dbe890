// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"slices"
	"strings"
)

// Bridge returns a sentence that explains the fact's change, and the sentence
// of the source it stands behind, in narration between the last statement
// before byte act2 and the first flip. It is an aside of the narrator (the
// goblet was golden on the outside), which asks for no time and nobody who
// acts, or it tells how and when the thing changed, at the end of a scene. ok is
// false when the rules know no such place, or no such way. An aside about what
// somebody is called may stand among the statements, at best where the name is
// brought in.
func (st *Story) Bridge(f *Flip, act2 int) (after int, words string, ok bool) {
	ev, sup := f.Evidence(act2), f.Supports(act2)
	if len(ev) == 0 || len(sup) == 0 || f.Class == "name" && (st.titled(f) || st.calledAlways(f)) || f.Class == "duration" && (st.andADay(f) || st.countdown()) {
		return 0, "", false
	}
	from, to := ev[len(ev)-1], sup[0]
	if t := st.template(f, aside); t != "" {
		at := -1
		if f.Class == "name" || f.Class == "role" {
			// What somebody has always been called may be told wherever he is on stage.
			at = st.calledAside(f, f.firstTold(), to)
		} else {
			at = st.asideBehind(f, from, to)
		}
		if at >= 0 {
			words := st.fill(t, f, aside, "")
			if next := st.wordsIn(at + 1); len(next) > 0 && next[0].w == "now" {
				words = upperFirst(strings.TrimPrefix(words, "Now ")) // not twice in a row
			}
			return at, words, true
		}
	}
	if st.death(f, to) || f.Class != "name" && f.Class != "role" && st.lookedBack(f, act2) {
		return 0, "", false
	}
	// The thing must be near, or the change reads as pasted in.
	best, at := noPause, -1
	for i := from; i < to; i++ {
		p := st.pauseBehind(i)
		if p > best && st.onStage(f, i) && st.sceneEnds(f, i) {
			best, at = p, i
		}
	}
	if at < 0 || best < interval || f.Class == "duration" && st.nearlyOver(f, at+1) {
		return 0, "", false
	}
	t := st.template(f, best)
	if t == "" {
		return 0, "", false
	}
	return at, st.fill(t, f, best, st.Sents[at+1].Of(st.Text)), true
}

// calledAlways reports a story that says what its bearer is always called, or
// never (no one ever called him anything but Boots): it leaves no room for a
// second name.
func (st *Story) calledAlways(f *Flip) bool {
	for _, c := range f.Changes {
		for k := st.first[c.Sent]; k < st.first[c.Sent+1]; k++ {
			for j := max(k-4, st.first[c.Sent]); calling[st.toks[k].w] && j < k; j++ {
				if onlySo[st.toks[j].w] {
					return true
				}
			}
		}
	}
	return false
}

var onlySo = set("never nobody none one always anything ever everybody everyone people only")

// countdown reports a story that counts the days of a term to its end: in three
// more days.
func (st *Story) countdown() bool {
	for _, w := range []string{"day", "days", "week", "weeks", "month", "months", "year", "years"} {
		for _, t := range st.at[w] {
			number := func(k int) bool { return k >= 0 && (st.toks[k].w == "one" || numberWords[st.toks[k].w] > 0) }
			if st.nextIs(t, "more") && number(t-1) || st.nextIs(t, "left") && number(t-1) || t > 1 && st.toks[t-1].w == "more" && number(t-2) {
				return true
			}
		}
	}
	return false
}

// titled reports a name that goes with a title: Sir Edmund takes no other.
func (st *Story) titled(f *Flip) bool {
	for _, c := range f.Changes {
		if t := st.tokenAt(c.Start); t > 0 && st.toks[t-1].sent == c.Sent && st.toks[t].sep == "" && st.toks[t-1].upper && titles[st.toks[t-1].w] {
			return true
		}
	}
	return false
}

var titles = set("king queen prince princess emperor empress sir madam lady lord master mistress mr mrs miss dame saint st father mother grandfather grandmother granny uncle aunt brother sister captain doctor squire")

// nearlyOver reports that a time has all but gone by before sentence to.
func (st *Story) nearlyOver(f *Flip, to int) bool {
	for _, c := range f.Changes {
		if c.Sent < to && st.sentHas(c.Sent, nearEnd) {
			return true
		}
	}
	return false
}

var nearEnd = set("nearly almost end ended close near last remained gone passed elapsed expired")

// andADay reports a term of so many years and a day.
func (st *Story) andADay(f *Flip) bool {
	for _, c := range f.Changes {
		t := st.tokenAt(c.Start)
		if t+4 < len(st.toks) && st.toks[t+2].w == "and" && st.toks[t+3].w == "a" && st.toks[t+4].w == "day" {
			return true
		}
	}
	return false
}

// setter returns who set a term: "the dragon", when a mention of it stands in
// what the dragon says; "" when the story does not say.
func (st *Story) setter(f *Flip) string {
	for _, c := range f.Changes {
		if !c.Speech {
			continue
		}
		w := st.wordsIn(c.Sent)
		for k := 1; k < len(w); k++ {
			if w[k].speech || !(w[k-1].w == "said" || w[k-1].w == "answered" || w[k-1].w == "replied" || w[k-1].w == "cried") || w[k].w != "the" {
				continue
			}
			if k+1 < len(w) && !w[k+1].speech && !lexicon().words["modifier"][w[k+1].w] && (k+2 >= len(w) || w[k+2].sep != "" || w[k+2].speech) {
				return st.Text[w[k].start:w[k+1].end]
			}
		}
	}
	return ""
}

// lookedBack reports that a sentence which flips tells of what was before: she
// thought of the night when she had played on the flute. No later change
// explains it.
func (st *Story) lookedBack(f *Flip, act2 int) bool {
	for _, c := range f.Changes {
		if c.Start < act2 {
			continue
		}
		t := st.tokenAt(c.Start)
		for k := st.first[c.Sent]; k < t; k++ {
			if w := st.toks[k].w; (w == "had" || w == "hadst") && st.toks[k].speech == st.toks[t].speech && t-k < 8 {
				return true
			}
		}
	}
	return false
}

// death reports that a being dies in a sentence that speaks of it: who is dead
// changes no more.
func (st *Story) death(f *Flip, to int) bool {
	if f.Class != "species" && f.Class != "role" && f.Class != "name" {
		return false
	}
	spoken := map[int]bool{}
	for _, c := range f.Changes {
		spoken[c.Sent], spoken[c.Sent+1] = true, true
	}
	for i := 0; i <= to; i++ {
		if spoken[i] && st.sentHas(i, deathWords) {
			return true
		}
	}
	return false
}

// terms are words of a time to which somebody is bound.
var terms = set("shall must till until sleep slept speak laugh wander wandered waited imprisoned enchanted spell dumb silent servants bargain years' bound serve served service apprentice apprenticed promised promise sworn swore vow vowed condemned sentenced wait contract term must hired")

var deathWords = set("died dead death tomb grave buried killed slain")

// whens say when it happened.
var whens = map[pause][]string{
	interval:  {"In the meantime", "About this time"},
	overnight: {"That same night"},
	daytime:   {"In the course of the day"},
	someTime:  {"Not long afterwards", "Soon after this", "A little while afterwards"},
	longTime:  {"In the course of time", "In the time that followed"},
}

// template chooses a sentence of bridges.tsv that fits the flip and the pause.
func (st *Story) template(f *Flip, p pause) string {
	class := f.Class
	if n, m := numberWords[f.Old], numberWords[f.New]; n > 0 && m > n {
		class += "+"
	}
	var fits, general []string
	for _, b := range lexicon().bridges {
		if b.class != class || !b.groups["*"] && !b.groups[f.group] {
			continue
		}
		if needs, ok := strings.CutPrefix(b.needs, "aside"); (p == aside) != ok || p == aside && !st.asideFits(f, needs) {
			continue
		}
		if p != aside && p < overnight && b.needs != "now" {
			continue
		}
		switch b.needs {
		case "days":
			if p < someTime {
				continue
			}
		case "long":
			if p < longTime {
				continue
			}
		case "term":
			if !slices.ContainsFunc(f.Changes, func(c Change) bool { return st.sentHas(c.Sent, terms) }) {
				continue
			}
		case "setter":
			if st.setter(f) != "" {
				return b.sentence
			}
			continue
		case "magic", "spell":
			if !st.magic() {
				continue
			}
		case "owned":
			if !slices.ContainsFunc(f.Changes, func(c Change) bool { return c.poss }) {
				continue
			}
		}
		if b.groups["*"] {
			general = append(general, b.sentence)
			continue
		}
		fits = append(fits, b.sentence)
	}
	if len(fits) == 0 {
		fits = general
	}
	if len(fits) == 0 {
		return ""
	}
	return fits[st.draw(len(fits), "bridge", f.Statement)]
}

// asideFits reports that an aside of a kind can be made of the flip: of two
// metals, of somebody who is there for long, or any.
func (st *Story) asideFits(f *Flip, kind string) bool {
	switch kind {
	case "-metal":
		return metals[canonical(f.Old)] && metals[canonical(f.New)]
	case "-lasting":
		return len(f.Changes) >= 4
	}
	return true
}

var metals = set("golden silver iron copper brass bronze tin pewter steel")

// magic reports a story in which spells are nothing strange.
func (st *Story) magic() bool {
	for _, w := range []string{"magic", "spell", "spells", "enchanted", "enchantment", "enchanted", "witch", "fairy", "fairies", "wizard", "sorcerer", "enchantress", "bewitched", "magician", "troll", "transformed"} {
		if len(st.at[w]) > 0 {
			return true
		}
	}
	return false
}

// fill makes the sentence of a clause; next is the sentence that it stands
// before.
func (st *Story) fill(t string, f *Flip, p pause, next string) string {
	when := ""
	if ws := whens[p]; len(ws) > 0 {
		k := st.draw(len(ws), "when", f.Statement)
		when = ws[k] + " "
		if first, _, _ := strings.Cut(when, " "); strings.HasPrefix(next, first+" ") {
			when = ws[(k+1)%len(ws)] + " " // the next sentence starts with the same word
		}
	}
	side := 0
	for {
		open := strings.IndexByte(t, '[')
		if open < 0 {
			break
		}
		end := strings.IndexByte(t, ']')
		t = t[:open] + strings.Split(t[open+1:end], "|")[side] + t[end+1:]
	}
	was, one, its := "was", "one", "its"
	if f.plural {
		was, one, its = "were", "ones", "their"
	}
	old, now := f.Old, f.New
	switch {
	case f.Class == "name":
	case f.Head == f.Old: // the noun itself flips
		if m := st.lasting(f); m != "" {
			old, now = m+" "+old, m+" "+now
		}
	default:
		old, now = old+" "+f.Head, now+" "+f.Head
	}
	aNew, aOther := article(now), article(f.New)
	if f.plural {
		aNew, aOther = now, f.New
	}
	d := numberWords[f.New] - numberWords[f.Old]
	if d < 0 {
		d = -d
	}
	gone := "were"
	if d == 1 {
		gone = "was"
	}
	he, his, him, hers := "he", "his", "him", "his"
	if f.gender == "f" {
		he, his, him, hers = "she", "her", "her", "hers"
	}
	term := old
	if f.Old == "hundred" || f.Old == "thousand" {
		term = "a " + old
	}
	return strings.NewReplacer("{term}", term, "{setter}", strings.ToLower(st.setter(f)), "{he}", he, "{his}", his, "{him}", him, "{hers}", hers, "{old}", old, "{a old}", article(old), "{a new}", aNew, "{value}", f.Old, "{new}", now, "{a other}", aOther, "{other}", f.New, "{was}", was, "{one}", one, "{its}", its,
		"{less}", numberName(d), "{gone}", gone, "{many}", f.Head).Replace(when + t + ".")
}

// lasting returns a colour or material that every first mention gives the noun:
// a golden apple.
func (st *Story) lasting(f *Flip) string {
	for _, m := range f.Changes[0].marks {
		if c := lexicon().class[canonical(m)]; c["material"] || c["colour"] {
			return m
		}
	}
	return ""
}

func numberName(n int) string {
	if n == 1 {
		return "one"
	}
	for w, v := range numberWords {
		if v == n {
			return w
		}
	}
	return ""
}
