// SPDX-License-Identifier: Apache-2.0

package offline

import "strings"

// Bridge returns a sentence that explains the fact's change, and the sentence
// of the source it stands behind, in narration between the first statement and
// the first flip. ok is false when the rules know no such place, or no such way.
func (st *Story) Bridge(f *Flip, act2 int) (after int, words string, ok bool) {
	if after, words, ok = st.atBest(f, act2); ok {
		return after, words, ok
	}
	switch f.Class {
	case "name":
		return st.late(f, act2)
	case "duration":
		return st.resetTerm(f, act2)
	}
	return 0, "", false
}

// atBest is Bridge for what a story can tell at its best place: an aside of the
// narrator (the goblet was golden on the outside), which asks for no time and
// nobody who acts, or how and when the thing changed, at the end of a scene. An
// aside about what somebody is called may stand among the statements, where the
// name is brought in.
func (st *Story) atBest(f *Flip, act2 int) (after int, words string, ok bool) {
	ev, sup := f.Evidence(act2), f.Supports(act2)
	if len(ev) == 0 || len(sup) == 0 || f.Class == "duration" || f.Class == "name" && (st.titled(f) || st.calledAlways(f)) {
		return 0, "", false
	}
	from, to := ev[len(ev)-1], sup[0]
	if t := st.template(f, f.aside); t != "" {
		at := -1
		if f.Class == "name" || f.Class == "role" {
			// What somebody has always been called may be told wherever he is on stage.
			at = st.calledAside(f, f.firstTold(), to)
		} else {
			at = st.asideBehind(f, from, to)
		}
		if at >= 0 {
			words := st.fill(t, f)
			for i := at; i <= at+1; i++ {
				if w := st.wordsIn(i); len(w) > 0 && w[0].w == "now" {
					words = upperFirst(strings.TrimPrefix(words, "Now ")) // not twice in a row
				}
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
	if at < 0 {
		return 0, "", false
	}
	t := st.template(f, happens(best))
	if t == "" {
		return 0, "", false
	}
	return at, st.when(f, best, st.Sents[at+1].Of(st.Text)) + " " + st.fill(t, f), true
}

// late is Bridge for a second name that is told after its bearer was brought in.
func (st *Story) late(f *Flip, act2 int) (after int, words string, ok bool) {
	sup := f.Supports(act2)
	if len(sup) == 0 || st.titled(f) || st.calledAlways(f) {
		return 0, "", false
	}
	first := f.firstTold()
	at := st.lateAside(f, first, sup[0])
	if at < 0 {
		return 0, "", false
	}
	needs := just("late")
	if at < first+3 {
		needs = f.aside // early enough
	}
	return at, st.fill(st.template(f, needs), f), true
}

// calledAlways reports a story that says what its bearer is always called, or
// never (no one ever called him anything but Boots), or what else he is called
// (so they called him Saltfoot): it leaves no room for a second name.
func (st *Story) calledAlways(f *Flip) bool {
	for _, c := range f.Changes {
		end := st.first[c.Sent+1]
		for k := st.first[c.Sent]; k < end; k++ {
			if !calling[st.toks[k].w] {
				continue
			}
			for j := max(k-4, st.first[c.Sent]); j < k; j++ {
				if onlySo[st.toks[j].w] {
					return true
				}
			}
			if k+2 < end && (st.toks[k+1].w == "him" || st.toks[k+1].w == "her") && st.toks[k+2].upper && st.toks[k+2].w != fold(f.Old) {
				return true
			}
		}
	}
	return false
}

var onlySo = set("never nobody none one always anything ever everybody everyone people only")

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

var deathWords = set("died dead death tomb grave buried killed slain")

// whens say when it happened.
var whens = map[pause][]string{
	interval:  {"In the meantime", "About this time"},
	overnight: {"That same night"},
	daytime:   {"In the course of the day"},
	someTime:  {"Not long afterwards", "Soon after this", "A little while afterwards"},
	longTime:  {"In the course of time", "In the time that followed"},
}

// template chooses a sentence of bridges.tsv for the flip, of those whose needs
// are met; one made for the flip's group before one for all.
func (st *Story) template(f *Flip, met func(needs string) bool) string {
	class := f.Class
	if n, m := numberWords[f.Old], numberWords[f.New]; n > 0 && m > n {
		class += "+"
	}
	var fits, general []string
	for _, b := range lexicon().bridges {
		switch {
		case b.class != class || !met(b.needs):
		case b.groups["*"]:
			general = append(general, b.sentence)
		case b.groups[f.group]:
			fits = append(fits, b.sentence)
		}
	}
	if len(fits) == 0 {
		fits = general
	}
	if len(fits) == 0 {
		return ""
	}
	return fits[st.draw(len(fits), "bridge", f.Statement)]
}

// just meets the needs of one kind.
func just(kind string) func(string) bool {
	return func(needs string) bool { return needs == kind }
}

// happens meets the needs of what comes about in a pause.
func happens(p pause) func(string) bool {
	return func(needs string) bool {
		switch needs {
		case "now":
			return true
		case "any":
			return p >= overnight
		case "days":
			return p >= someTime
		case "long":
			return p >= longTime
		}
		return false
	}
}

// aside meets the needs of what has been so all the time.
func (f *Flip) aside(needs string) bool {
	switch needs {
	case "aside":
		return true
	case "aside-metal":
		return metals[canonical(f.Old)] && metals[canonical(f.New)]
	case "aside-lasting": // somebody who is there for long
		return len(f.Changes) >= 4
	}
	return false
}

var metals = set("golden silver iron copper brass bronze tin pewter steel")

// when says in which pause something happened. Not with the word that the next
// sentence starts with.
func (st *Story) when(f *Flip, p pause, next string) string {
	ws := whens[p]
	k := st.draw(len(ws), "when", f.Statement)
	if first, _, _ := strings.Cut(ws[k], " "); strings.HasPrefix(next, first+" ") {
		k = (k + 1) % len(ws)
	}
	return ws[k]
}

// fill makes the sentence of a clause.
func (st *Story) fill(t string, f *Flip) string {
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
	less := abs(numberWords[f.New] - numberWords[f.Old])
	gone, unit := "were", f.Head[strings.LastIndexByte(f.Head, ' ')+1:] // hundred years
	if less == 1 {
		gone, unit = "was", lexicon().heads[unit].one
	}
	return strings.NewReplacer("{old}", old, "{new}", now, "{a new}", aNew, "{value}", f.Old, "{other}", f.New, "{a other}", aOther,
		"{was}", was, "{one}", one, "{its}", its, "{less}", numberName(less), "{gone}", gone, "{unit}", unit).Replace(t) + "."
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
