// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"slices"
	"strings"
)

// Where an explanation may stand: behind a sentence at which the narrator can
// turn aside, or at the end of a scene.

// calledAside returns the sentence from first on, before to, behind which the
// narrator may say what else somebody is called; -1 when there is none. It is
// where the name is brought in, or where a scene ends in which it was spoken of
// and the next one opens with a time of its own. Elsewhere such a remark breaks
// into what is going on.
func (st *Story) calledAside(f *Flip, first, to int) int {
	next := f.Changes[slices.IndexFunc(f.Changes, func(c Change) bool { return c.Sent == to })]
	best, at := 3, -1
	for i := max(first, 0); first >= 0 && i < to; i++ {
		if !st.calm(i) {
			continue
		}
		if portrait := i < 3 && st.bringsIn(f, i) && st.onlyOne(f, i) && st.goesOn(f, i+1); !portrait && !st.startsAfresh(i+1, f, i) {
			continue
		}
		far := len(st.Sents)
		switch {
		case st.bringsIn(f, i) && !st.quoted(i):
			far = -1
		case i+1 == to && st.tokenAt(next.Start) <= st.first[to]+1 && !st.quoted(i) && !st.acts(f, i) && strings.Contains(st.gap(i), "\n"):
			far = 0 // the new name opens the next scene
		case st.opensScene(i+1) && (!st.quoted(i) || strings.Contains(st.gap(i), "\n")):
			for _, c := range f.Changes {
				if c.Sent <= i {
					far = min(far, i-c.Sent)
				}
			}
		}
		if w := st.wordsIn(i)[0].w; f.gender == "f" && males[w] || f.gender == "m" && females[w] {
			continue // he was of her age
		}
		if far == 2 && !st.acts(f, i) || far > 0 && f.Class == "name" && st.lastNamed(i) != fold(f.Old) {
			continue // the scene has turned to others
		}
		if far < best {
			best, at = far, i
		}
	}
	return at
}

// calm reports that the narrator may turn aside behind sentence i: plain
// narration goes on there, in the past, and nothing rushes.
func (st *Story) calm(i int) bool {
	return st.proseBehind(i) && st.past(i) && !st.sentHas(i, haste) && !st.opensWith(i+1, haste)
}

// lateAside returns the sentence from first on, before to, behind which the
// narrator may say what should have been said when somebody was brought in; -1
// when there is none. A paragraph ends there, what follows starts afresh, and
// the bearer of the name is there; best where a scene changes and nobody is
// talking, early in the story.
func (st *Story) lateAside(f *Flip, first, to int) int {
	lines, _ := st.paragraphStarts()
	named := func(i int, speech bool) bool {
		return slices.ContainsFunc(f.Changes, func(c Change) bool { return c.Sent == i && c.Speech == speech })
	}
	best, at := worst+1, -1
	for i := max(first, 0); first >= 0 && i < to; i++ {
		if !st.calm(i) || len(lines) > 0 && !strings.Contains(st.gap(i), "\n") || !st.startsAfresh(i+1, f, i) {
			continue
		}
		bad := (i - first) / 10
		switch {
		case named(i, false):
		case named(i, true), named(i+1, false):
			bad++
		case named(i-1, false), named(i-1, true):
			bad += 2
		default:
			continue
		}
		w := st.wordsIn(i + 1)
		if st.pauseAt(i+1) == noPause && !scenes[w[0].w] {
			bad++ // no other scene
			if st.quoted(i) {
				bad++
			}
		}
		if w[0].w == "the" && st.sentHas(i, map[string]bool{w[1].w: true}) {
			bad++ // who was just spoken of does something
		}
		if st.quoted(i) && (st.quoted(i+1) || i+2 < len(st.Sents) && st.quoted(i+2)) {
			bad += 2 // people are talking
		}
		if bad < best {
			best, at = bad, i
		}
	}
	return at
}

// worst is how many things may be amiss with the place of a late remark.
const worst = 1

// lastNamed returns the name, folded, that stands last in sentence i or before.
func (st *Story) lastNamed(i int) string {
	for k := st.first[i+1] - 1; k >= 0; k-- {
		if t := st.toks[k]; t.upper && st.capital(t.w) && !notNames[strings.TrimSuffix(t.w, "'s")] {
			return strings.TrimSuffix(t.w, "'s")
		}
	}
	return ""
}

// goesOn reports that sentence i goes on about the bearer of a name: he was.
func (st *Story) goesOn(f *Flip, i int) bool {
	w := st.wordsIn(i)
	return len(w) > 3 && (f.gender != "f" && (w[0].w == "he" || w[0].w == "his") || f.gender != "m" && (w[0].w == "she" || w[0].w == "her"))
}

// onlyOne reports that sentence i speaks of nobody of the gender of a name's
// bearer beside him.
func (st *Story) onlyOne(f *Flip, i int) bool {
	same := men
	if f.gender == "f" {
		same = women
	}
	n := 0
	for k := st.first[i]; k < st.first[i+1]; k++ {
		switch t := st.toks[k]; {
		case t.upper && !t.head && t.w != fold(f.Old) && st.capital(t.w) && !notNames[t.w]:
			if p := st.toks[k-1].w; p != fold(f.Old) && !placed[p] {
				return false
			}
		case same[strings.TrimSuffix(t.w, "'s")], lexicon().byNoun[t.w].class == "role":
			n++ // a cook named Gretel is one, a girl and her mother are two
		}
	}
	return n <= 1
}

// placed stand before a place.
var placed = set("of at from to in near into by")

var (
	men   = set("man men boy boys lad lads youth son sons brother brothers husband father grandfather uncle king prince fellow peasant merchant knight soldier fisherman farmer shepherd master lord giant dwarf cook servant miller tailor smith neighbour thief stranger nephew")
	women = set("woman women girl girls maiden maid maids lass daughter daughters sister sisters wife mother grandmother aunt queen princess lady ladies mistress widow witch fairy cook servant neighbour stranger stepmother niece nurse")
)

// acts reports that the bearer of a name is, or may be, busy in sentence i.
func (st *Story) acts(f *Flip, i int) bool {
	return slices.ContainsFunc(st.wordsIn(i), func(t token) bool {
		return t.w == fold(f.Old) || f.gender != "f" && males[t.w] || f.gender != "m" && females[t.w]
	})
}

// opensScene reports a sentence that opens with a time that leans on nothing
// before it: one day, some years afterwards; not the following evening.
func (st *Story) opensScene(i int) bool {
	p := st.pauseAt(i)
	w := st.wordsIn(i)
	if len(w) < 4 || slices.ContainsFunc(w[:4], func(t token) bool { return following[t.w] }) || w[0].w == "that" || w[1].w == "that" {
		return false
	}
	first := w[0].w
	switch {
	case p == someTime || p == longTime, first == "every":
		return true
	case p == overnight && strings.Contains(st.gap(i-1), "\n"):
		return true // the next morning, when the day before has had its paragraph
	case turns(w):
		return true
	case first == "on" || first == "in" || first == "at":
		return scenic[w[1].w] || w[1].w == "the" && scenic[w[2].w]
	}
	return false
}

// turns reports the words of a sentence with which the narrator turns to somebody
// new: now the king had a daughter; not: now the wife had advised them.
func turns(w []token) bool {
	if len(w) < 4 || w[0].w != "now" && w[0].w != "there" {
		return false
	}
	if w[0].w == "there" && !thereWas(w) && w[1].w != "dwelt" {
		return false // there sat an old woman
	}
	article := false
	for _, t := range w[1:min(len(w), 11)] {
		if article && (men[t.w] || women[t.w]) {
			return true
		}
		article = article || t.w == "a" || t.w == "an"
	}
	return false
}

// thereWas reports the words of a sentence that brings something in.
func thereWas(w []token) bool {
	return w[0].w == "there" && (w[1].w == "was" || w[1].w == "were" || w[1].w == "lived")
}

// scenic are times that lean on no other: on Sunday, in the spring.
var scenic = set("sunday monday tuesday wednesday thursday friday saturday sundays christmas easter midsummer spring summer autumn winter")

var following = set("same this these those such second third fourth after afterwards later soon shortly long while by")

// asideBehind returns the sentence from from on, before to, behind which the
// narrator may turn aside to the thing, -1 when there is none: the thing has
// just been spoken of, or is next, and what follows starts afresh.
func (st *Story) asideBehind(f *Flip, from, to int) int {
	best, at := 2, -1
	for i := from; i < to; i++ {
		far := min(i-from, to-i)
		if far >= best || !st.calm(i) || st.quoted(i) && (st.quoted(i+1) || st.pauseAt(i+1) < overnight || !strings.Contains(st.gap(i), "\n")) {
			continue
		}
		// In mid-paragraph the aside goes on with what was said last, unless what
		// comes next opens with the thing and is no answer to what was just asked.
		next := i+1 == to && !st.sentHas(i, speechActs) && slices.ContainsFunc(f.Changes, func(c Change) bool { return c.Sent == to && st.tokenAt(c.Start) <= st.first[to]+7 })
		if !strings.Contains(st.gap(i), "\n") && !next && i > from {
			continue
		}
		if i > 0 && i+2 < len(st.Sents) && st.quoted(i-1) && st.quoted(i+2) {
			continue // two people are talking
		}
		if st.startsAfresh(i+1, f, i) {
			best, at = far, i
		}
	}
	return at
}

// firstTold returns the first sentence in which the narrator mentions the
// thing, -1 when there is none.
func (f *Flip) firstTold() int {
	for _, c := range f.Changes {
		if !c.Speech && !c.vague {
			return c.Sent
		}
	}
	return -1
}

// bringsIn reports that the narrator says in sentence i what somebody is called:
// a cook named Gretel, whose name was Hans; or that there was a cobbler.
func (st *Story) bringsIn(f *Flip, i int) bool {
	if f.Class == "role" {
		return f.Changes[0].Sent == i && !f.Changes[0].Speech
	}
	for _, c := range f.Changes {
		t := st.tokenAt(c.Start)
		if c.Sent != i || c.Speech || t == 0 || st.toks[t].sep != "" {
			continue
		}
		switch w := st.toks[t-1].w; {
		case w == "named", w == "called":
			return true
		case w == "was", w == "is":
			return t > 1 && st.toks[t-2].w == "name"
		}
	}
	return false
}

// startsAfresh reports a sentence that leans on nothing of the one before it: it
// opens with a time of its own, or with somebody or something by name. When the
// sentence before, behind, has the bearer of a name for its subject, "he" may
// be its bearer.
func (st *Story) startsAfresh(i int, f *Flip, behind int) bool {
	w := st.wordsIn(i)
	if len(w) < 4 {
		return false
	}
	// Now it happened, and one day, it came to pass.
	happens := thereWas(w) || st.pauseAt(i) >= someTime && (w[0].w == "now" || w[0].w == "it") || turns(w)
	if !happens && (leaning[w[0].w] || w[0].w == "it") {
		return false
	}
	own := f.Class == "name" && slices.ContainsFunc(f.Changes, func(c Change) bool { return c.Sent == behind && st.tokenAt(c.Start) <= st.first[behind]+1 })
	few := 6
	if w[0].w == "there" {
		few = 12 // there was a task for him
	}
	for k := 0; k < len(w) && k < few; k++ {
		if t := w[k].w; pronouns[t] && !(happens && k < 5 && (t == "it" || t == "that")) && !(k > 0 && (t == "who" || t == "which")) && !(own && k > 0 && (f.gender == "m" && males[t] || f.gender == "f" && females[t])) {
			return false
		}
		if w[k].sep == "," || k > 0 && speaking[w[k].w] {
			break
		}
	}
	for k := 0; k < len(w) && k < 10 && f.Class == "name" && !own; k++ {
		if w[k].upper && w[k].w != "i" && (!w[k].head || st.capital(w[k].w)) || w[k].w == "the" {
			break
		}
		if males[w[k].w] || females[w[k].w] {
			return false // one day, when he was wandering
		}
	}
	if slices.ContainsFunc(w[:4], func(t token) bool { return t.w == "such" }) || w[0].w == "the" && (numberWords[w[1].w] > 0 || w[1].w == "other" || w[1].w == "others") {
		return false // unused to such fare; the two of whom it spoke
	}
	if slices.ContainsFunc(w[:min(len(w), 6)], func(t token) bool { return answering[t.w] }) {
		return false // the mistress nevertheless scolded her
	}
	for k := 0; k < len(w) && k < 8; k++ {
		// When the brothers heard this; the latter said.
		if t := w[k].w; backward[t] && (k+1 == len(w) || w[k+1].sep != "" || t != "that" && pronouns[w[k+1].w] || t == "latter" || t == "former") {
			return false
		}
	}
	switch {
	case w[0].w == "after" && w[1].w == "a":
		return false // after a while goes on with what was
	case w[0].w == "the", w[0].w == "a", w[0].w == "an", happens, scenes[w[0].w], st.pauseAt(i) >= overnight:
		return true
	}
	return st.capital(w[0].w)
}

// capital reports a word that stands with a capital within a sentence too.
func (st *Story) capital(w string) bool {
	return slices.ContainsFunc(st.at[w], func(t int) bool { return st.toks[t].upper && !st.toks[t].head })
}

// backward are words that mean what has just been said, or one of two who were
// just named.
var backward = set("this that these those latter former")

// leaning are words at the head of a sentence that goes on with the one before.
var leaning = set("so but then therefore thereupon thereat and yet however still thus hence accordingly consequently besides also too or nor for because there here now soon afterwards meanwhile instead nevertheless such both neither either another other others")

var (
	// haste are words of scenes that rush on.
	haste      = set("seized ran run running fled sprang leapt rushed struck killed blow snatched knife sword escaped chased pursued drowning screamed agony flight alas dead dying die died")
	speechActs = set("asked said told answered replied cried begged called")
)

// answering are words of a sentence that answers the one before, wherever they
// stand at its head.
var answering = set("nevertheless however therefore though too also again still accordingly notwithstanding")

// scenes are words that open a scene of their own.
var scenes = set("when while as in at on upon one once early late next many every after")

// quoted reports a sentence that holds speech.
func (st *Story) quoted(i int) bool {
	return slices.ContainsFunc(st.wordsIn(i), func(t token) bool { return t.speech })
}

// opensWith reports a sentence with a word of the list among its first.
func (st *Story) opensWith(i int, list map[string]bool) bool {
	w := st.wordsIn(i)
	return slices.ContainsFunc(w[:min(len(w), 10)], func(t token) bool { return list[t.w] })
}

// past reports that the narration around sentences i and i+1 is told in the past.
func (st *Story) past(i int) bool {
	was := false
	for k := max(i-1, 0); k <= i+2 && k < len(st.Sents); k++ {
		for _, t := range st.wordsIn(k) {
			switch {
			case t.speech:
			case present[t.w]:
				return false
			case k == i || k == i+1:
				was = was || t.w == "was" || t.w == "were" || t.w == "had" || t.w == "did" || strings.HasSuffix(t.w, "ed") || speaking[t.w]
			}
		}
	}
	return was
}

// present are verbs of a narrator who tells what happens now.
var present = set("is are am has says goes comes does takes sees thinks looks runs gives sits gets calls finds hears puts lies stands asks answers cries begins")

// sceneEnds reports that a scene is over behind sentence i: a paragraph ends,
// nobody is talking, and the next sentence starts afresh, in the same tense.
func (st *Story) sceneEnds(f *Flip, i int) bool {
	lines, _ := st.paragraphStarts()
	if len(lines) > 0 && !strings.Contains(st.gap(i), "\n") {
		return false
	}
	if !st.startsAfresh(i+1, f, i) || !st.past(i) || st.quoted(i+1) {
		return false
	}
	for k := max(i-2, 0); k <= i; k++ {
		if st.sentHas(k, absent) {
			return false // nobody is there who could do it
		}
	}
	return true
}

// absent are words of scenes in which nothing else can happen.
var absent = set("alone lonely asleep slept prison prisoner dungeon imprisoned threw thrown cast dead died journey travelled traveled wandered rode")

// onStage reports that the scene behind sentence i, or the one before it, is
// the thing's: the story speaks of it within a few sentences.
func (st *Story) onStage(f *Flip, i int) bool {
	for k := max(i-6, 0); k <= i+6 && k < len(st.Sents); k++ {
		for _, c := range f.Changes {
			if c.Sent == k {
				return true
			}
		}
	}
	return false
}
