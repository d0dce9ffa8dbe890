// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"slices"
	"strings"
)

// How much time goes by between two sentences.

// pause is a place between two sentences at which time goes by in a story.
type pause int

const (
	noPause   pause = iota
	interval        // after that
	overnight       // the next morning
	daytime         // that evening
	someTime        // one day
	longTime        // when seven years had passed
)

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
	return st.ends(i)
}

// ends reports that sentence i ends as one does, and not in the middle.
func (st *Story) ends(i int) bool {
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
