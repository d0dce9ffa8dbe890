// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"slices"
	"strings"
)

// How long something lasts, and how that is made longer or shorter.

// resetTerm returns the sentence that makes a time longer or shorter once it has
// been set, and the sentence of the source it stands behind: whoever set it
// thinks again when he has done speaking, or more is granted than was asked for.
// The time must lie ahead there, and be his to set.
func (st *Story) resetTerm(f *Flip, act2 int) (after int, words string, ok bool) {
	ev, sup := f.Evidence(act2), f.Supports(act2)
	if len(ev) == 0 || len(sup) == 0 || numberName(abs(numberWords[f.New]-numberWords[f.Old])) == "" || st.andADay(f) || st.countdown(f) {
		return 0, "", false
	}
	at := ev[len(ev)-1]
	last := f.Changes[slices.IndexFunc(f.Changes, func(c Change) bool { return c.Sent == at && c.States && !c.vague })]
	if st.goneBy(last) {
		return 0, "", false
	}
	kind, who := "asked", ""
	if last.Speech {
		kind = "said"
		if !st.sentHas(at, coming) || st.sentHas(at, spells) || !st.between(last) {
			return 0, "", false
		}
		if who, at = st.speaker(at); who == "" {
			return 0, "", false
		}
	} else if !st.askedFor(last) {
		return 0, "", false
	}
	t := st.template(f, just(kind))
	if t == "" || at >= sup[0] || !st.leavesRoom(at, who != "") {
		return 0, "", false
	}
	return at, st.fill(strings.Replace(t, "{who}", who, 1), f), true
}

// between reports a mention of a time that is agreed on by who speaks and who
// listens: serve me for seven years; not a law that holds for all.
func (st *Story) between(c Change) bool {
	t := st.tokenAt(c.Start)
	return slices.ContainsFunc(st.toks[max(t-10, st.first[c.Sent]):min(t+10, st.first[c.Sent+1])], func(t token) bool { return parties[t.w] })
}

var parties = set("i me my mine we us our you your yours thou thee thy thine")

// askedFor reports a mention of a time that somebody asks for: he begged for
// three days.
func (st *Story) askedFor(c Change) bool {
	t := st.tokenAt(c.Start)
	return t > st.first[c.Sent]+1 && st.toks[t-1].w == "for" && slices.ContainsFunc(st.toks[max(t-5, st.first[c.Sent]):t-1], func(t token) bool { return asking[t.w] })
}

// goneBy reports a mention of a time that has lasted so long already.
func (st *Story) goneBy(c Change) bool {
	t := st.tokenAt(c.Start)
	return slices.ContainsFunc(st.toks[max(t-4, st.first[c.Sent]):t], func(t token) bool {
		return t.w == "had" || t.w == "has" || t.w == "have" || t.w == "past" || t.w == "last"
	})
}

var (
	// coming are words of what lies ahead.
	coming = set("after shall shalt must mayest mayst may can will wilt if when until till should put wander go stay serve")
	// spells are words of a time that is nobody's to set: who names it only
	// knows it.
	spells = set("speak laugh dumb silent spell enchanted enchantment deliver delivered release released curse cursed")
	// asking are verbs of one who asks for time.
	asking = set("begged asked prayed implored entreated")
)

// leavesRoom reports that a remark about what has just been settled can stand
// behind sentence i: a sentence ends there, nobody leaves in it, and the next
// one means nobody by "he" but who spoke last, if the remark is about him.
func (st *Story) leavesRoom(i int, about bool) bool {
	if i+1 >= len(st.Sents) || st.verse[i] || st.verse[i+1] || st.InsideSpeech(i) || st.sentHas(i, leaving) || !st.ends(i) {
		return false
	}
	next := st.wordsIn(i + 1)
	if len(next) < 3 || next[0].speech && !slices.ContainsFunc(next, func(t token) bool { return !t.speech }) {
		return false // who answers would seem to be who spoke
	}
	for k := 0; k < 3 && !next[k].speech && !about; k++ {
		if w := next[k].w; males[w] || females[w] || w == "it" {
			return false
		}
	}
	return true
}

// leaving are words of one who goes when he has spoken.
var leaving = set("went gone left disappeared vanished flew departed ran died")

// speaker returns who says what stands in sentence i, "the dragon", a name or
// they, and the sentence that ends the speech; "" when the story does not say,
// or says more than one. "He" is whom the sentence before begins with.
func (st *Story) speaker(i int) (who string, end int) {
	from, end := i, i
	for from > 0 && st.InsideSpeech(from-1) {
		from--
	}
	for end+1 < len(st.Sents) && st.InsideSpeech(end) {
		end++
	}
	if first := st.wordsIn(from); from > 0 && len(first) > 0 && first[0].speech && !strings.Contains(st.gap(from-1), "\n") && st.quoted(from-1) {
		from-- // "A," said the cat. "B."
	}
	for k := st.first[from]; k < st.first[end+1]; k++ {
		if st.toks[k].speech || !speechActs[st.toks[k].w] && st.toks[k].w != "saying" {
			continue
		}
		s := st.subjectAt(k+1, 1)
		if s == "" && st.toks[k].w != "saying" {
			s = st.subjectAt(k-1, -1)
		}
		if w := st.wordsIn(from); s == "" && from > 0 && len(w) > 0 && (w[0].w == "he" || w[0].w == "she") {
			s = st.subjectOf(from - 1)
		}
		if s != "" && who != "" && s != who {
			return "", end
		}
		if s != "" {
			who = s
		}
	}
	return who, end
}

// subjectOf reads whom a sentence of narration begins with.
func (st *Story) subjectOf(i int) string {
	k := st.first[i]
	if k < st.first[i+1] && lead[st.toks[k].w] {
		k++
	}
	if k+1 >= st.first[i+1] {
		return ""
	}
	if st.toks[k].w == "the" && !lexicon().words["modifier"][st.toks[k+1].w] && k+2 < st.first[i+1] && (strings.HasSuffix(st.toks[k+2].w, "ed") || speaking[st.toks[k+2].w]) {
		return "the " + st.Text[st.toks[k+1].start:st.toks[k+1].end]
	}
	return ""
}

// subjectAt reads "the dragon", a name or they from token k on, forwards or
// backwards; "" when there is none.
func (st *Story) subjectAt(k, step int) string {
	if k < 0 || k >= len(st.toks) || st.toks[k].speech {
		return ""
	}
	t := st.toks[k]
	switch {
	case t.w == "they":
		return "they"
	case step > 0 && t.w == "the" && k+1 < len(st.toks) && !st.toks[k+1].speech:
		t = st.toks[k+1]
		if lexicon().words["modifier"][t.w] || k+2 < len(st.toks) && st.toks[k+2].sep == "" && !st.toks[k+2].speech && st.toks[k+2].w != "to" {
			return "" // the old man of the sea
		}
		return "the " + st.Text[t.start:t.end]
	case step < 0 && k > 0 && st.toks[k-1].w == "the" && !st.toks[k-1].speech:
		return "the " + st.Text[t.start:t.end]
	case t.upper && st.capital(t.w) && !notNames[t.w]:
		return st.Text[t.start:t.end]
	}
	return ""
}

// countdown reports a sentence that counts the days of a term to its end: in
// three more days the seven years were over.
func (st *Story) countdown(f *Flip) bool {
	number := func(k int) bool { return k >= 0 && (st.toks[k].w == "one" || numberWords[st.toks[k].w] > 0) }
	for _, c := range f.Changes {
		for t := st.first[c.Sent]; t < st.first[c.Sent+1]; t++ {
			if !timeUnits[st.toks[t].w] {
				continue
			}
			if st.nextIs(t, "more") && number(t-1) || st.nextIs(t, "left") && number(t-1) || t > 1 && st.toks[t-1].w == "more" && number(t-2) {
				return true
			}
		}
	}
	return false
}

var timeUnits = set("day days week weeks month months year years")

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
