// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"slices"
	"strings"
)

// noun is a line of nouns.tsv.
type noun struct {
	class, group string
	one, many    string
	instead      []string // what can stand in its place
	near         map[string]bool
	anywhere     []string
}

// nouns finds beings, places and things that a story introduces once, with "a"
// or "an", and goes on to call "the": the noun itself flips (rules 1 and 7).
func (st *Story) nouns() []*Flip {
	var out []*Flip
	for _, n := range lexicon().nouns {
		if len(st.at[n.one]) < 2 {
			continue
		}
		if f := st.noun(n); f != nil {
			out = append(out, f)
		}
	}
	slices.SortStableFunc(out, func(a, b *Flip) int { return a.Changes[0].Start - b.Changes[0].Start })
	return out
}

func (st *Story) noun(n noun) *Flip {
	lex := lexicon()
	toks := st.tokensOf(n.one)
	if n.many != n.one && st.several(toks, n.many) || st.parts[n.one] || n.many != n.one && st.parts[n.many] {
		return st.turnDown(n.one, n.class, "plural")
	}
	for i, t := range toks {
		p := st.phrase(t)
		switch {
		case i == 0 && p.det != "a" && !(p.det == "the" && (n.class == "species" || n.class == "role")) && !(p.det == "poss" && n.group == "kin") && !(p.det == "the" && st.expert[n.one]):
			return st.turnDown(n.one, n.class, "not_introduced")
		case i == 0 && st.likened(n.class, p):
			return st.turnDown(n.one, n.class, "likeness")
		case i > 0 && !p.definite() && !(st.predicate(p) && st.phrase(toks[0]).det == "a"):
			return st.turnDown(n.one, n.class, "introduced_twice")
		case p.num >= 0, n.class == "role" && st.nextIs(t, "of"): // a student of medicine
			return st.turnDown(n.one, n.class, "counted")
		case st.compound(t) && (i == 0 || lex.noun[st.toks[t+1].w] || lex.heads[st.toks[t+1].w].one != ""):
			return st.turnDown(n.one, n.class, "compound")
		case homographs[n.one] && st.strangeMods(p), st.capitalMods(p), i > 0 && n.class != "role" && n.class != "species" && st.named(p):
			return st.turnDown(n.one, n.class, "another_thing")
		case st.altered(t), (n.class == "species" || n.class == "role") && st.sentHas(st.toks[t].sent, became):
			return st.turnDown(n.one, n.class, "changing_verb")
		case st.another(t):
			return st.turnDown(n.one, n.class, "other_one")
		case i == 0 && st.clauseHas(t, generic):
			return st.turnDown(n.one, n.class, "generic")
		case st.misfits(n, p):
			return st.turnDown(n.one, n.class, "preposition")
		}
		for _, m := range p.mods {
			if lex.words["distinct"][st.toks[m].w] {
				return st.turnDown(n.one, n.class, "other_one")
			}
		}
	}
	if st.motley(toks) {
		return st.turnDown(n.one, n.class, "another_thing") // a silver apple, an apple of gold
	}
	if st.variant(n.one) {
		return st.turnDown(n.one, n.class, "variant_spelling")
	}
	if n.class == "place" && !dwelling[n.group] {
		return st.turnDown(n.one, n.class, "open_place")
	}
	if why := st.oneBeing(toks); why != "" {
		return st.turnDown(n.one, n.class, why)
	}
	if st.has(n.anywhere...) || st.derived(n.one) {
		return st.turnDown(n.one, n.class, "kindred_word_anywhere")
	}
	if n.group == "trade" {
		// Whoever makes casks is a cooper, whatever he is called there.
		for w := range n.near {
			if st.has(w) {
				return st.turnDown(n.one, n.class, "kindred_word_anywhere")
			}
		}
	}
	if st.nearHas(toks, n.near) {
		return st.turnDown(n.one, n.class, "kindred_word")
	}
	to := ""
	for _, m := range st.shuffled(n.instead, n.class, n.one) {
		o := lex.byNoun[m]
		if st.has(o.one, o.many) || st.has(o.anywhere...) {
			continue
		}
		to = m
		break
	}
	if to == "" {
		return st.turnDown(n.one, n.class, "no_new_value")
	}
	f := &Flip{Class: n.class, Category: "character", Kind: "continuity", Subtype: "nomenclature_confusions",
		Head: n.one, Old: n.one, New: to, group: n.group, forms: []string{n.one},
		Statement:      "One of the characters is " + article(n.one) + ".",
		Counterfactual: "One of the characters is " + article(to) + "."}
	switch n.class {
	case "species":
		f.Subtype = "appearance_mismatches"
	case "place":
		f.Category, f.Subtype = "setting", "geographical_contradictions"
	case "object":
		f.Category = "setting"
	}
	if n.class == "place" || n.class == "object" || n.group == "tree" || n.group == "flower" || n.group == "fruit" {
		f.Statement = "The story tells of " + article(n.one) + "."
		f.Counterfactual = "The story tells of " + article(to) + "."
	}
	for _, t := range toks {
		c := st.changeNoun(t, st.phrase(t), to)
		c.End = st.toks[t].start + len(n.one) // a possessive ending stays
		c.loose = len(f.Changes) > 0 && !st.phrase(t).definite()
		f.Changes = append(f.Changes, c)
	}
	f.known = st.phrase(toks[0]).det != "a" && !st.expert[n.one]
	return f
}

// predicate reports a noun phrase that says what somebody is, or that somebody
// speaks of: it was a fox.
func (st *Story) predicate(p phrase) bool {
	if p.det != "a" || p.dtok <= 0 || st.toks[p.dtok].sep != "" {
		return false
	}
	switch st.toks[p.dtok-1].w {
	case "is", "was", "am", "are", "were", "be", "been", "but", "only":
		return true
	}
	return false
}

// dwelling are the groups of places of which one shuts the other out. A wood
// may lie in a valley, and both may be about.
var dwelling = set("shelter grand town room")

// oneBeing looks for signs that the mentions of a noun mean several beings: an
// old one and a young one.
func (st *Story) oneBeing(toks []int) string {
	old, young := false, false
	for _, t := range toks {
		for _, m := range st.phrase(t).mods {
			switch w := st.toks[m].w; {
			case w == "old", w == "aged", w == "elderly":
				old = true
			case w == "young", w == "younger", w == "new", strings.HasPrefix(w, "new-"), strings.HasPrefix(w, "newly"):
				young = true
			}
		}
	}
	if old && young {
		return "old_and_young"
	}
	return ""
}

// motley reports mentions with different colours or materials.
func (st *Story) motley(toks []int) bool {
	seen := map[string]bool{}
	for _, t := range toks {
		for _, m := range st.phrase(t).mods {
			if c := lexicon().class[canonical(st.toks[m].w)]; c["colour"] || c["material"] {
				seen[canonical(st.toks[m].w)] = true
			}
		}
		for k := t + 1; k <= t+4 && k+1 < len(st.toks) && st.toks[k].sent == st.toks[t].sent; k++ {
			if st.toks[k].w == "of" {
				if w := canonical(st.toks[k+1].w); lexicon().class[w]["material"] {
					seen[w] = true
				}
			}
		}
	}
	return len(seen) > 1
}

// derived reports a word made from the noun: a frog called Froggie, a fox's
// foxy smile.
func (st *Story) derived(one string) bool {
	for _, end := range []string{"y", "ie", "ish", "ling", "like", "skin", "kin", "hood", "house"} {
		if st.has(one+end, one+one[len(one)-1:]+end) {
			return true
		}
	}
	return false
}

// several reports a plural that may mean the noun's bearer with others of its
// kind. Wolves that a story mentions in passing, far from its wolf, do not.
func (st *Story) several(toks []int, many string) bool {
	for _, p := range st.tokensOf(many) {
		np := st.phrase(p)
		if np.definite() || np.num >= 0 || st.toks[p].upper && !st.toks[p].head {
			return true // a heading: Of Drowning Eels
		}
		for _, t := range toks {
			if d := st.toks[t].sent - st.toks[p].sent; -4 < d && d < 4 {
				return true
			}
		}
	}
	return false
}

// homographs are nouns that are verbs too: with them a word before the noun
// must be known for an adjective ("a storm rose").
var homographs = set("swallow duck bow spring lodge rock field plain well bear drum count page ring watch club rose nurse cook porter")

// strangeMods reports a modifier that no list knows.
func (st *Story) strangeMods(p phrase) bool {
	lex := lexicon()
	for _, m := range p.mods {
		if w := st.toks[m].w; !lex.words["modifier"][w] && len(lex.class[w]) == 0 {
			return true
		}
	}
	return false
}

// became are verbs after which a being is another.
var became = set("transformed enchanted bewitched disguised instead")

// capitalMods reports a name before the noun: a Roman candle.
func (st *Story) capitalMods(p phrase) bool {
	for _, m := range p.mods {
		if st.toks[m].upper && !st.toks[m].head {
			return true
		}
	}
	return false
}

// named reports a noun that belongs to somebody named: Mr. McGregor's garden.
func (st *Story) named(p phrase) bool {
	return p.det == "poss" && p.dtok >= 0 && !lexicon().words["determiner"][st.toks[p.dtok].w]
}

// another reports that the sentence of the noun at token t brings a second one
// of its kind in: another ring, the other, a third one.
func (st *Story) another(t int) bool {
	sent := st.toks[t].sent
	from, to := st.clause(t)
	noun := strings.TrimSuffix(st.toks[t].w, "'s")
	for k := st.first[sent]; k < st.first[sent+1]; k++ {
		w := st.toks[k].w
		if !others[w] {
			continue
		}
		for j := k + 1; ; j++ {
			if j >= st.first[sent+1] || j > k+4 || st.toks[j].sep != "" || functionWords[st.toks[j].w] {
				// It stands alone: the other, another of them.
				if k >= from && k < to && w != "first" && !(j == k+1 && k > 0 && w == "another" && st.toks[k-1].w == "one") {
					return true
				}
				break
			}
			x := st.toks[j].w
			if x == noun || x == noun+"s" || x == "one" || x == "ones" {
				return w != "first" || x == noun
			}
			if lexicon().words["verb"][x] {
				if k >= from && k < to && w != "first" {
					return true
				}
				break
			}
		}
	}
	return false
}

// others are words that bring a second thing of the kind into the sentence.
var others = set("another other others first second third")

// likened reports a noun that nothing in the story is: like a fox, the skin of
// a bear, turned into a lamb.
func (st *Story) likened(class string, p phrase) bool {
	if p.dtok <= 0 || st.toks[p.dtok].sep != "" {
		return false
	}
	switch w := st.toks[p.dtok-1].w; w {
	case "like", "as", "than", "such", "what", "quite", "not", "without", "never", "or":
		return true
	case "into":
		return class != "place"
	case "of":
		return class == "species" || class == "object" || p.dtok > 1 && measures[st.toks[p.dtok-2].w]
	}
	return false
}

// measures are what a thing may have without being it: the size of a house.
var measures = set("size shape form kind sort likeness picture image dress guise disguise clothes garb habit character part height manner look air dream")

// compound reports that token t is the first half of a compound: church tower,
// witch washerwife. What may follow a noun is known: a mark, a verb, a word of
// the grammar.
func (st *Story) compound(t int) bool {
	if t+1 >= len(st.toks) || st.toks[t+1].sent != st.toks[t].sent || st.toks[t+1].sep != "" || strings.HasSuffix(st.toks[t].w, "'s") {
		return false
	}
	w := st.toks[t+1].w
	return !functionWords[w] && !lexicon().words["verb"][w] && !strings.HasSuffix(w, "ed") && !strings.HasSuffix(w, "ing") && !strings.HasSuffix(w, "ly") && !strings.HasSuffix(w, "n't")
}

// nextIs reports that the word w follows token t.
func (st *Story) nextIs(t int, w string) bool {
	return t+1 < len(st.toks) && st.toks[t+1].sent == st.toks[t].sent && st.toks[t+1].sep == "" && st.toks[t+1].w == w
}

// altered reports that the noun at token t becomes something, or something
// becomes it, in its own clause (rule 4).
func (st *Story) altered(t int) bool {
	from, to := st.clause(t)
	lex := lexicon()
	for k := st.first[st.toks[t].sent]; k < st.first[st.toks[t].sent+1]; k++ {
		w := st.toks[k].w
		switch {
		case lex.words["transform"][w]:
			if k >= from && k < to {
				return true
			}
		case lex.words["turn"][w]:
			for j := k + 1; j < st.first[st.toks[k].sent+1] && j <= k+4; j++ {
				if st.toks[j].w == "into" {
					return true
				}
			}
		}
	}
	return false
}

// clause returns the tokens around t up to the next mark on both sides.
func (st *Story) clause(t int) (from, to int) {
	from, to = t, t+1
	for from > st.first[st.toks[t].sent] && st.toks[from].sep == "" {
		from--
	}
	for to < st.first[st.toks[t].sent+1] && st.toks[to].sep == "" {
		to++
	}
	return from, to
}

// clauseHas reports whether the clause of token t holds a word of the list.
func (st *Story) clauseHas(t int, list map[string]bool) bool {
	from, to := st.clause(t)
	for k := from; k < to; k++ {
		if list[st.toks[k].w] {
			return true
		}
	}
	return false
}

// nearHas reports whether a sentence that holds one of the tokens, or the one
// before or behind it, holds a word of the list.
func (st *Story) nearHas(toks []int, list map[string]bool) bool {
	if len(list) == 0 {
		return false
	}
	for _, t := range toks {
		// "~up" in the list: the noun phrase may not stand right behind "up".
		if p := st.phrase(t); p.dtok > 0 && st.toks[p.dtok].sep == "" && list["~"+st.toks[p.dtok-1].w] {
			return true
		}
		for d := -1; d <= 1; d++ {
			if s := st.toks[t].sent + d; s >= 0 && s < len(st.Sents) && st.sentHas(s, list) {
				return true
			}
		}
	}
	return false
}
