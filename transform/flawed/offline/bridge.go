// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"slices"
	"strings"
)

// pause is a place between two sentences at which time goes by in a story.
type pause int

const (
	aside pause = iota - 1 // none: the narrator turns aside
	noPause
	interval  // after that
	overnight // the next morning
	daytime   // that evening
	someTime  // one day
	longTime  // when seven years had passed
)

// Bridge returns a sentence that explains the fact's change, and the sentence
// of the source it stands behind, in narration between the last statement
// before byte act2 and the first flip. It is an aside of the narrator (the
// goblet was golden only to look at), which asks for no time and nobody who
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
			at = st.calledAside(f, st.firstTold(f), to)
		} else {
			at = st.asideBehind(f, from, to)
		}
		if at >= 0 && (f.Class != "duration" || !st.nearlyOver(f, at+1)) {
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

// calledAside returns the sentence from first on, before to, behind which the
// narrator may say what else somebody is called; -1 when there is none. It is
// where the name is brought in, or where a scene ends in which it was spoken of
// and the next one opens with a time of its own. Elsewhere such a remark breaks
// into what is going on.
func (st *Story) calledAside(f *Flip, first, to int) int {
	next := f.Changes[slices.IndexFunc(f.Changes, func(c Change) bool { return c.Sent == to })]
	best, at := 3, -1
	for i := max(first, 0); first >= 0 && i < to; i++ {
		if !st.proseBehind(i) || !st.past(i) || st.sentHas(i, haste) || st.opensWith(i+1, haste) {
			continue
		}
		if portrait := i < 3 && st.bringsIn(f, i) && st.onlyOne(f, i) && st.goesOn(f, i+1); !portrait && !st.startsAfresh(i+1, f, i) {
			continue
		}
		far := len(st.Sents)
		switch {
		case st.bringsIn(f, i) && !st.quoted(i):
			far = -1
		case i+1 == to && st.tokenAt(next.Start) <= st.first[to]+1 && !st.quoted(i) && (strings.Contains(st.gap(i), "\n") || !st.acts(f, i)):
			far = 0 // the new name opens the next scene
		case st.opensScene(i+1) && (!st.quoted(i) || strings.Contains(st.gap(i), "\n")):
			for _, c := range f.Changes {
				if c.Sent <= i {
					far = min(far, i-c.Sent)
				}
			}
		}
		if far == 2 && !st.acts(f, i) {
			continue // the scene has turned to others
		}
		if far < best {
			best, at = far, i
		}
	}
	return at
}

// goesOn reports that sentence i goes on about the bearer of a name: he was.
func (st *Story) goesOn(f *Flip, i int) bool {
	w := st.wordsIn(i)
	return len(w) > 3 && (f.gender == "m" && (w[0].w == "he" || w[0].w == "his") || f.gender == "f" && (w[0].w == "she" || w[0].w == "her"))
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
		case t.upper && t.w != fold(f.Old) && lexicon().given[t.w] != "":
			return false
		case same[strings.TrimSuffix(t.w, "'s")]:
			n++ // a cook named Gretel is one, a girl and her mother are two
		}
	}
	return n <= 1
}

var (
	men   = set("man men boy boys lad lads youth son sons brother brothers husband father grandfather uncle king prince fellow peasant merchant knight soldier fisherman farmer shepherd master lord giant dwarf cook servant miller tailor smith neighbour thief stranger nephew")
	women = set("woman women girl girls maiden maid maids lass daughter daughters sister sisters wife mother grandmother aunt queen princess lady ladies mistress widow witch fairy cook servant neighbour stranger stepmother niece nurse")
)

// acts reports that the bearer of a name is, or may be, busy in sentence i.
func (st *Story) acts(f *Flip, i int) bool {
	return slices.ContainsFunc(st.wordsIn(i), func(t token) bool {
		return t.w == fold(f.Old) || f.gender != "f" && males[t.w] || f.gender != "m" && females[t.w] || t.w == "it"
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
	first, second := w[0].w, w[1].w
	switch {
	case p == someTime || p == longTime, first == "every":
		return true
	case p == overnight && strings.Contains(st.gap(i-1), "\n"):
		return true // the next morning, when the day before has had its paragraph
	case first == "now" && turning[second], first == "there" && (second == "was" || second == "lived"):
		return true // somebody else comes in
	case first == "on" || first == "in" || first == "at":
		return scenic[second] || second == "the" && scenic[w[2].w]
	}
	return false
}

// turning are words behind "now" with which the narrator turns to somebody else:
// now the king had a daughter.
var turning = set("there the a an in")

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
		if far >= best || !st.proseBehind(i) || !st.past(i) || st.quoted(i) && (st.quoted(i+1) || st.pauseAt(i+1) < overnight || !strings.Contains(st.gap(i), "\n")) {
			continue
		}
		if st.sentHas(i, haste) || st.opensWith(i+1, haste) {
			continue // nobody turns aside there
		}
		// In mid-paragraph the aside goes on with what was said last, unless what
		// comes next opens with the thing, or with the end of the term, and is no
		// answer to what was just asked.
		next := i+1 == to && (f.Class == "duration" && scenes[st.wordsIn(to)[0].w] || !st.sentHas(i, speechActs) && slices.ContainsFunc(f.Changes, func(c Change) bool { return c.Sent == to && st.tokenAt(c.Start) <= st.first[to]+7 }))
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
func (st *Story) firstTold(f *Flip) int {
	for _, c := range f.Changes {
		if !c.Speech && !c.vague {
			return c.Sent
		}
	}
	return -1
}

// bringsIn reports that the narrator says in sentence i what somebody is called:
// a cook named Gretel, whose name was Hans.
func (st *Story) bringsIn(f *Flip, i int) bool {
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
	happens := st.pauseAt(i) >= someTime && (w[0].w == "now" || w[0].w == "it") || w[0].w == "now" && turning[w[1].w]
	if !happens && (leaning[w[0].w] || w[0].w == "it") {
		return false
	}
	own := f.Class == "name" && slices.ContainsFunc(f.Changes, func(c Change) bool { return c.Sent == behind && st.tokenAt(c.Start) <= st.first[behind]+1 })
	for k := 0; k < len(w) && k < 6; k++ {
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
	if slices.ContainsFunc(w[:4], func(t token) bool { return t.w == "such" }) {
		return false // unused to such fare
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

// spends reports how much time goes by in sentence i of narration.
func (st *Story) spends(i int) pause {
	p := noPause
	if !st.sentHas(i, passing) {
		return p
	}
	for _, t := range st.wordsIn(i) {
		if t.speech {
			continue
		}
		switch t.w {
		case "years", "months", "year", "weeks":
			p = max(p, longTime)
		case "days", "month", "week", "journey", "journeyed", "travelled", "traveled", "wandered":
			p = max(p, someTime)
		case "morning", "evening", "night", "awoke", "woke", "slept", "midnight", "daybreak":
			p = max(p, overnight)
		}
	}
	return p
}

// passing are words without which "a hundred years" need not go by.
var passing = set("after for many several whole passed later until till some long went travelled traveled wandered")

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

var service = set("serve served service servant servants hire hired apprentice apprenticed")

var deathWords = set("died dead death tomb grave buried killed slain")

// proseBehind reports that no speech goes on behind sentence i and that i+1 is
// plain narration.
func (st *Story) proseBehind(i int) bool {
	if i+1 >= len(st.Sents) || st.verse[i] || st.verse[i+1] || st.InsideSpeech(i) {
		return false
	}
	next := st.wordsIn(i + 1)
	if len(next) < 3 || next[0].speech || quoteIn(next[0].sep) && !closes(st.Sents[i].Of(st.Text)) {
		return false
	}
	last := strings.TrimRight(st.Sents[i].Of(st.Text), "\"”’' ")
	return strings.HasSuffix(last, ".") || strings.HasSuffix(last, "!") || strings.HasSuffix(last, "?")
}

// closes reports a sentence that ends in a closing quotation mark.
func closes(s string) bool {
	return strings.HasSuffix(s, "\"") || strings.HasSuffix(s, "”") || strings.HasSuffix(s, "’") || strings.HasSuffix(s, "'")
}

// pauseBehind reports how much time goes by between sentences i and i+1. Both
// are plain narration, and i+1 starts a line.
func (st *Story) pauseBehind(i int) pause {
	if !st.proseBehind(i) {
		return noPause
	}
	p := st.pauseAt(i + 1)
	if q := st.spends(i); q > p && q >= someTime && !st.promises(i) && !pronouns[st.wordsIn(i + 1)[0].w] {
		p = q
	}
	return p
}

// promises reports a sentence whose time has not gone by yet.
func (st *Story) promises(i int) bool {
	return st.sentHas(i, notYet) || strings.ContainsAny(st.Sents[i].Of(st.Text), "\"“”‘?")
}

var notYet = set("shall will should would must was were is are")

// pronouns at the head of a sentence mean somebody of the one before it.
var pronouns = set("he she it they his her its their him them this that these those who which")

// pauseAt reports how much time goes by before sentence i, by its first words.
func (st *Story) pauseAt(i int) pause {
	next := st.wordsIn(i)
	var w []string
	for k := 0; k < len(next) && k < 9; k++ {
		if k < 2 && len(w) == 0 && lead[next[k].w] && next[k].w != "now" {
			continue // and one day
		}
		w = append(w, next[k].w)
	}
	head := " " + strings.Join(w, " ") + " "
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(head, " "+p+" ") })
	}
	starts := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.HasPrefix(head, " "+p+" ") })
	}
	switch {
	case has("years", "months") && (starts("after", "when", "many", "several", "some", "years", "long years", "a year", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve", "twenty", "at the end", "the years", "so many", "in the course", "in a few", "not many") || has("years passed", "years went", "years had", "years after", "years later", "years were", "months passed", "months went", "months after", "months later")):
		return longTime
	case starts("after a year", "when a year", "when the year", "a year", "at the end of a year", "at the end of the year", "the next year", "the following year", "the next winter", "the next summer", "the following spring", "when the winter", "when the summer"):
		return longTime
	case has("days", "weeks") && has("passed", "gone", "after", "later", "over", "afterwards"):
		return someTime
	case starts("one day", "one morning", "one evening", "one night", "one fine", "one winter", "one summer", "one spring", "one autumn", "one sunday", "one hot", "one cold", "one dark", "one bright", "one beautiful", "christmas eve", "early one", "late one", "once", "some time", "not long", "a few days", "a short time", "after some", "after a while", "after a time",
		"after many", "after several", "after a few", "it happened", "now it happened", "it came to pass", "now it came to pass", "it chanced", "now it chanced", "it was not long", "before much time", "in a short time", "no long time", "a little while", "a few hours", "some hours", "by and by", "soon after", "soon afterwards", "time went", "time passed", "the time went", "the time passed", "the days passed", "the days went",
		"days", "shortly", "before long", "a year", "one fine day", "a week", "some days", "two days", "three days", "a day or two", "in a few days", "within a few", "in the spring", "in the autumn", "when summer", "when winter", "when spring", "when autumn", "at christmas", "in course", "in the course", "in due", "several days", "at last the day", "on a certain day"):
		return someTime
	case starts("next morning", "next day", "the next day", "the next morning", "the following day", "the following morning", "on the following", "on the next", "early next", "early the next", "early in the morning", "in the morning", "at daybreak",
		"at dawn", "when morning", "the day after", "when the morning", "at sunrise", "as soon as the day", "when day", "on the morrow", "the second day", "on the second day", "the second night", "the third night", "the second morning", "the third morning", "next evening", "the next evening", "the following evening", "on the following evening", "the next night", "the following night", "the next time", "next time", "at break of day", "at cock-crow", "when the sun rose", "when the next", "when he awoke", "when she awoke", "when they awoke", "when he woke", "when she woke", "when they woke", "on monday", "on sunday", "on saturday", "the third day", "on the third day"):
		return overnight
	case starts("after this", "after that", "afterwards", "at length", "about this time", "when at last",
		"from that day", "from that time", "after having", "after he had", "after she had", "after they had", "after walking", "after travelling"):
		return interval
	case starts("in the evening", "that evening", "at night", "that night", "when evening", "when night", "towards evening", "toward evening", "when it was evening", "in the night", "at midnight"):
		return daytime
	}
	return noPause
}

// lead are words that may stand before those that let time go by.
var lead = set("and but so then well however")

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
		case "served":
			if !slices.ContainsFunc(f.Changes, func(c Change) bool { return st.sentHas(c.Sent, service) }) {
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

// InsideSpeech reports whether a speech goes on from sentence i into the next.
func (st *Story) InsideSpeech(i int) bool {
	last, next := st.first[i+1]-1, st.first[i+1]
	if last < st.first[i] || next >= len(st.toks) {
		return false
	}
	a, b := st.toks[last], st.toks[next]
	return a.speech && b.speech && !quoteIn(b.sep)
}

func quoteIn(sep string) bool {
	for _, r := range sep {
		switch r {
		case '"', '“', '”', '\'', '‘', '’':
			return true
		}
	}
	return false
}
