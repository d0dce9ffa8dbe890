// SPDX-License-Identifier: Apache-2.0

package offline

import "strings"

// A counterfactual story, and a resolved one, must hold together from end to
// end. What is left of the old value far from its mentions, and what is broken
// in the source itself, is found here.

// Misfit returns a word of the story that goes with the flip's old value alone,
// wherever it stands: a christening for the parson, a wall that the cat climbed.
// "" = the rules know of none.
func (st *Story) Misfit(f *Flip) string {
	for _, w := range lexicon().companions[f.Old] {
		if st.has(w) {
			return w
		}
	}
	n, ok := lexicon().byNoun[f.Old]
	if !ok || f.Head != f.Old {
		return ""
	}
	for _, c := range f.Changes {
		// Words that would give the value away in the same sentence or the next
		// do so in the same scene too.
		for i := max(c.Sent-3, 0); i <= c.Sent+3 && i < len(st.Sents); i++ {
			for _, t := range st.wordsIn(i) {
				if n.near[t.w] && !loose[t.w] {
					return t.w
				}
			}
		}
		if n.class == "species" && f.New == "dog" {
			for _, t := range st.wordsIn(c.Sent) {
				if t.w == "she" || t.w == "hers" || t.w == "herself" {
					return t.w // a dog is seldom she, a cat often
				}
			}
		}
	}
	return ""
}

// loose are words that go with a value only beside it: a stick is a dog's, and
// anybody's.
var loose = set("master faithful bite stick carry tail tree trees wood forest field fields play played music song light lit robe robes holy water good alone wife married red down fell white black bone bones milk wall climb climbed money gold house door road horse horses land sea king")

// Broken returns a place at which the source is not whole: a full stop inside a
// sentence, a paragraph that breaks off, a clause of time without what happened then, a number that lost its
// article. "" = none was found. It looks for what careless scans and
// corrections leave, not for all that is wrong.
func (st *Story) Broken() string {
	for i := 1; i < len(st.toks); i++ {
		a, t := st.toks[i-1], st.toks[i]
		if t.sep == "." && !t.upper && t.w[0] >= 'a' && len(a.w) > 1 && !abbreviations[a.w] {
			return st.Text[a.start:t.end]
		}
		if t.sep == "" && t.sent != a.sent && !t.upper && t.w[0] >= 'a' && strings.Contains(st.Text[a.end:t.start], "\n\n") && !st.verse[a.sent] && !st.verse[t.sent] {
			return st.Text[a.start:t.end] // a paragraph breaks off
		}
		if t.w == "score" && t.sep == "" && t.sent == a.sent && i+1 < len(st.toks) && st.toks[i+1].w == "of" && (a.w == "caught" || lexicon().words["verb"][a.w]) {
			return st.Text[a.start:t.end]
		}
	}
	for i := range st.Sents {
		if w := st.wordsIn(i); len(w) > 3 && !st.quoted(i) && !st.verse[i] && (w[0].w == "when" || w[0].w == "and" && w[1].w == "when" && w[1].sep == "") && st.onlyWhen(w) {
			return strings.Join(strings.Fields(st.Sents[i].Of(st.Text)), " ")
		}
	}
	return ""
}

// onlyWhen reports a sentence of "when" that never says what happened then: all
// that follows its commas leans on what stands before, and one subject is all
// it has.
func (st *Story) onlyWhen(w []token) bool {
	commas, subjects := 0, 0
	for k := 1; k < len(w); k++ {
		switch {
		case w[k].w == "then" || w[k].w == "there":
			return false
		case w[k].w == "the" || w[k].w == "a" || pronouns[w[k].w] && !lexicon().words["determiner"][w[k].w] || w[k].upper:
			subjects++
		}
		if w[k].sep == "" {
			continue
		}
		commas++
		if w[k].sep != "," || !subordinate[w[k].w] || w[k].w == "in" && (k+1 >= len(w) || w[k+1].w != "order") {
			return false
		}
	}
	return commas > 0 && subjects < 2
}

var (
	abbreviations = set("mr mrs dr st etc viz no vol messrs esq jr sr co rev hon capt col gen lieut prof mt ch pp ed fig cf ie eg")
	subordinate   = set("who which whom whose where because although though that in so lest until till")
)
