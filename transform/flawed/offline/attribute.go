// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"slices"
	"strings"
)

// canon folds spellings and forms of one value.
var canon = map[string]string{"gray": "grey", "gold": "golden", "wood": "wooden", "silk": "silken", "lead": "leaden", "scarlet": "red", "crimson": "red"}

func canonical(w string) string {
	if c, ok := canon[w]; ok {
		return c
	}
	return w
}

// mention is a value of a thing where the story writes it before the noun.
type mention struct {
	value int // token
	np    phrase
}

// attributes finds colours, materials and sides: a value that stands before
// the same noun in act 1 and later.
func (st *Story) attributes() []*Flip {
	lex := lexicon()
	type key struct{ class, head string }
	found := map[key][]mention{}
	var order []key
	for v := range st.toks {
		for _, class := range []string{"colour", "material", "direction", "quality"} {
			h, ok := st.headAfter(v, class)
			if !ok {
				continue
			}
			k := key{class, lex.heads[st.toks[h].w].one}
			if found[k] == nil {
				order = append(order, k)
			}
			found[k] = append(found[k], mention{v, st.phrase(h)})
		}
	}
	var out []*Flip
	for _, k := range order {
		if f := st.attribute(k.class, lex.heads[k.head], found[k], 2); f != nil {
			out = append(out, f)
		}
	}
	return out
}

// lineOf returns the line of values that holds value, for a category and class.
func lineOf(category, class, value string) []string {
	for _, l := range lexicon().values[category] {
		if l.class == class && slices.Contains(l.values, canonical(value)) {
			return l.values
		}
	}
	return nil
}

// headAfter finds the noun that value token v stands before.
func (st *Story) headAfter(v int, class string) (int, bool) {
	lex := lexicon()
	w := canonical(st.toks[v].w)
	if !lex.class[w][class] {
		return 0, false
	}
	for j := v + 1; j < len(st.toks) && j <= v+3; j++ {
		t := st.toks[j]
		if t.sent != st.toks[v].sent || t.sep != "" && t.sep != "," {
			return 0, false
		}
		h, ok := lex.heads[t.w]
		if ok && !lex.class[canonical(t.w)][class] {
			if st.compound(j) {
				return 0, false
			}
			return j, lineOf(h.category, class, w) != nil
		}
		if t.sep == "," && !lex.words["modifier"][t.w] && len(lex.class[t.w]) == 0 {
			return 0, false
		}
		if !lex.words["modifier"][t.w] && len(lex.class[canonical(t.w)]) == 0 {
			return 0, false
		}
	}
	return 0, false
}

func (st *Story) attribute(class string, h head, ms []mention, least int) *Flip {
	if len(ms) < least {
		return nil
	}
	old := st.toks[ms[0].value].w
	plural := st.toks[ms[0].np.head].w == h.many && h.many != h.one
	for _, m := range ms {
		if canonical(st.toks[m.value].w) != canonical(old) {
			return st.turnDown(h.one, class, "two_values")
		}
		if many := st.toks[m.np.head].w == h.many && h.many != h.one; many != plural {
			return st.turnDown(h.one, class, "one_and_many")
		}
	}
	if why := st.unique(h, plural, ms); why != "" {
		return st.turnDown(h.one, class, why)
	}
	for _, m := range ms {
		if m.np.det == "none" && !plural && h.category != "hair" || m.np.num >= 0 && !plural {
			return st.turnDown(h.one, class, "no_determiner")
		}
		if st.mixed(m.value) {
			return st.turnDown(h.one, class, "mixed_value")
		}
	}
	if rods[h.one] && slices.ContainsFunc([]string{"rod", "wand", "staff", "stick"}, func(w string) bool { return w != h.one && st.has(w) }) {
		return st.turnDown(h.one, class, "other_one") // the ivory rod may be the wand
	}
	if st.compounded(h) {
		return st.turnDown(h.one, class, "compound") // the gown may be the bedgown
	}
	if st.variant(h.one) || h.many != h.one && st.variant(h.many) {
		return st.turnDown(h.one, class, "variant_spelling")
	}
	if why := st.leftOver(h, old, ms); why != "" {
		return st.turnDown(h.one, class, why)
	}
	if (h.category == "hair" || h.category == "eyes") && !st.oneOwner(ms) {
		return st.turnDown(h.one, class, "another_owner")
	}
	if h.category == "hair" && (canonical(old) == "white" || canonical(old) == "grey") {
		for _, m := range ms {
			if st.nearHas([]int{m.value}, oldAge) {
				return st.turnDown(h.one, class, "old_age")
			}
		}
	}
	if st.changes(h) {
		return st.turnDown(h.one, class, "changing_verb")
	}
	var to string
	for _, v := range st.shuffled(lineOf(h.category, class, old), class, h.one, old) {
		if v == canonical(old) || figurative[v] || st.has(v) || st.hasForms(v) || near(v, canonical(old)) {
			continue
		}
		to = v
		break
	}
	if to == "" {
		return st.turnDown(h.one, class, "no_new_value")
	}
	f := &Flip{
		Class: class, Category: "setting", Kind: "continuity", Subtype: "appearance_mismatches",
		Head: h.one, Old: old, New: to, group: h.category, plural: plural,
		forms: []string{old},
	}
	if plural {
		f.Head = h.many
	}
	be := "is"
	if plural {
		be = "are"
	}
	switch {
	case h.category == "hair" || h.category == "eyes":
		f.Class = "hair_eyes"
		f.Category = "character"
	case class == "direction":
		f.Subtype = "geographical_contradictions"
	case h.category == "person":
		f.Category = "character"
	case h.category == "mount" || h.category == "cattle" || h.category == "pet" || h.category == "wild" || h.category == "bird" || h.category == "scaled":
		f.Category = "character"
	}
	f.Statement = "The " + f.Head + " " + be + " " + old + "."
	f.Counterfactual = "The " + f.Head + " " + be + " " + to + "."
	if class == "direction" {
		f.Statement = "The story tells of the " + old + " " + f.Head + "."
		f.Counterfactual = "The story tells of the " + to + " " + f.Head + "."
	}
	for i, m := range ms {
		c := st.changeNoun(m.value, m.np, to)
		c.loose = i > 0 && !m.np.definite() && !(m.np.det == "none" && (h.category == "eyes" || h.category == "hair"))
		f.Changes = append(f.Changes, c)
	}
	return f
}

// figurative are materials that may be said of another: a leaden chain is heavy.
var figurative = set("leaden")

var rods = set("rod wand staff stick")

// compounded reports a word of the story that ends in the noun.
func (st *Story) compounded(h head) bool {
	if len(h.one) < 4 {
		return false
	}
	for w := range st.at {
		if w != h.one && w != h.many && len(w) >= len(h.one)+3 && (strings.HasSuffix(w, h.one) || strings.HasSuffix(w, h.many)) {
			return true
		}
	}
	return false
}

// oneOwner reports that a feature is always his, or always hers.
func (st *Story) oneOwner(ms []mention) bool {
	his, her := 0, 0
	for _, m := range ms {
		if m.np.dtok < 0 {
			continue
		}
		switch st.toks[m.np.dtok].w {
		case "his":
			his++
		case "her":
			her++
		}
	}
	return his == 0 || her == 0
}

// oldAge are words beside which white hair cannot be brown.
var oldAge = set("old aged ancient gray-haired grey-haired white-haired wrinkled grandfather grandmother")

// near reports pairs of values that do not exclude each other for a reader.
func near(a, b string) bool {
	pairs := []string{"golden yellow", "yellow golden", "grey white", "white grey", "grey black", "brown red", "red brown", "black brown", "brown black",
		"purple blue", "blue purple", "purple red", "red purple", "bronze copper", "copper bronze", "brass golden", "golden brass", "brass bronze", "tin silver", "silver tin",
		"pewter silver", "pewter tin", "tin pewter", "silver pewter", "brass copper", "copper brass", "bronze brass", "stone marble", "marble stone", "brick stone", "stone brick", "bone ivory", "ivory bone"}
	return slices.Contains(pairs, a+" "+b)
}

// turnDown notes why a candidate was refused, for those who tune the rules.
func (st *Story) turnDown(head, class, why string) *Flip {
	st.refused = append(st.refused, class+" "+head+": "+why)
	return nil
}

// unique checks rule 1: one entity behind the noun.
func (st *Story) unique(h head, plural bool, ms []mention) string {
	lex := lexicon()
	first, values := ms[0].np.head, map[int]bool{}
	for _, m := range ms {
		values[m.value] = true
	}
	one := st.tokensOf(h.one)
	many := one
	if h.many != h.one {
		many = st.tokensOf(h.many)
		if !plural && len(many) > 0 {
			return "plural"
		}
		if plural && h.category != "hair" && h.category != "eyes" {
			for _, t := range one {
				if d := st.phrase(t).det; d == "a" || d == "other" || d == "none" {
					return "single_one"
				}
			}
		}
	}
	all := one
	if plural {
		all = many
	}
	for _, t := range all {
		p := st.phrase(t)
		if p.det == "other" || st.another(t) {
			return "other_one"
		}
		if p.det == "a" && t != first && t != all[0] && !slices.ContainsFunc(p.mods, func(m int) bool { return values[m] }) {
			return "introduced_twice"
		}
		for _, m := range p.mods {
			if !values[m] && lex.words["distinct"][st.toks[m].w] {
				return "other_one"
			}
		}
		if st.toks[t].upper && !st.toks[t].head {
			return "proper_noun"
		}
	}
	return ""
}

// tokensOf returns the tokens of a noun, with its possessive form.
func (st *Story) tokensOf(w string) []int {
	out := slices.Concat(st.at[w], st.at[w+"'s"])
	slices.Sort(out)
	return out
}

// mixed reports a value that is half of two: red and white, black or brown,
// as red as.
func (st *Story) mixed(v int) bool {
	lex := lexicon()
	if v > 0 && st.toks[v-1].sent == st.toks[v].sent && st.toks[v].sep == "" {
		switch w := st.toks[v-1].w; {
		case w == "and" || w == "or":
			return v > 1 && len(lex.class[st.toks[v-2].w]) > 0
		case w == "as" || w == "so" || w == "dark" || w == "light" || w == "bright" || w == "half" || w == "dull" || w == "pale" || w == "deep":
			return true
		}
	}
	if v+1 < len(st.toks) && st.toks[v+1].sent == st.toks[v].sent {
		switch w := st.toks[v+1].w; {
		case w == "and" || w == "or":
			return v+2 < len(st.toks) && len(lex.class[st.toks[v+2].w]) > 0
		case w == "as" || w == "like":
			return true
		}
	}
	return false
}

// leftOver looks for the old value near the noun where it is not one of the
// mentions that flip (rule 5).
func (st *Story) leftOver(h head, old string, ms []mention) string {
	mine := map[int]bool{}
	for _, m := range ms {
		mine[m.value] = true
	}
	nearby := map[int]bool{}
	for _, t := range slices.Concat(st.tokensOf(h.one), st.tokensOf(h.many)) {
		for d := -1; d <= 1; d++ {
			nearby[st.toks[t].sent+d] = true
		}
	}
	c := canonical(old)
	words := []string{c}
	for a, b := range canon {
		if b == c {
			words = append(words, a)
		}
	}
	slices.Sort(words)
	words = append(words, lexicon().kin[c]...)
	for i, t := range st.toks {
		if mine[i] || !nearby[t.sent] {
			continue
		}
		for _, w := range words {
			if t.w == w || t.w == w+"s" || strings.Contains(t.w, "-") && compoundHas(t.w, w) {
				return "old_value_near"
			}
		}
	}
	return ""
}

// hasForms reports whether the story holds another form of a new value.
func (st *Story) hasForms(v string) bool {
	for a, b := range canon {
		if b == v && st.has(a) {
			return true
		}
	}
	return false
}

// changes reports whether the noun stands in a clause with a verb of change, or
// in a sentence with one that changes looks (rule 4).
func (st *Story) changes(h head) bool {
	lex := lexicon()
	for _, t := range slices.Concat(st.tokensOf(h.one), st.tokensOf(h.many)) {
		if st.clauseHas(t, lex.words["change"]) || st.sentHas(st.toks[t].sent, lex.words["recolour"]) {
			return true
		}
	}
	return false
}
