// SPDX-License-Identifier: Apache-2.0

package offline

import "slices"

// Control returns a flip that contradicts nothing: all its mentions stand
// behind byte act2, one to five sentences of them, and it shares no sentence
// with the flaw. A thing the story never introduces, or first names in a clause
// that states nothing, is left alone, and so are relations. A flip of the
// flaw's class comes first.
func (st *Story) Control(flaw *Flip, flips []*Flip, act2 int) *Flip {
	taken := map[int]bool{}
	for _, c := range flaw.Changes {
		taken[c.Sent] = true
	}
	fits := func(f *Flip) bool {
		if f.Head == flaw.Head || f.Changes[0].Start < act2 || f.Changes[0].Speech {
			return false
		}
		if f.known && f.Class != "species" && f.Class != "role" || f.group == "kin" || !st.plain(st.tokenAt(f.Changes[0].Start)) {
			return false
		}
		for _, c := range f.Changes {
			if taken[c.Sent] || c.Long || st.verse[c.Sent] {
				return false
			}
		}
		n := len(f.Supports(act2))
		return n >= 1 && n <= most
	}
	flips = append(slices.Clone(flips), st.lone()...)
	for _, same := range []bool{true, false} {
		for _, f := range flips {
			if (f.Class == flaw.Class) == same && fits(f) {
				return f
			}
		}
	}
	return nil
}

// lone finds details that the story mentions once, and brings up there: a green
// door, a hen. Where nothing else speaks of them nothing can contradict them.
func (st *Story) lone() []*Flip {
	lex := lexicon()
	once := func(one, many string) bool {
		n := len(st.tokensOf(one))
		if many != one {
			n += len(st.tokensOf(many))
		}
		return n == 1
	}
	brought := func(p phrase) bool { return p.det == "a" || p.det == "none" && p.num >= 0 }
	var out []*Flip
	for v := range st.toks {
		for _, class := range []string{"colour", "material"} {
			if st.toks[v].speech || !lex.class[canonical(st.toks[v].w)][class] {
				continue
			}
			h, ok := st.headAfter(v, class)
			if !ok {
				continue
			}
			noun := lex.heads[st.toks[h].w]
			p := st.phrase(h)
			if !once(noun.one, noun.many) || !brought(p) || p.num >= 0 || len(st.at[st.toks[v].w]) > 1 {
				continue
			}
			if f := st.attribute(class, noun, []mention{{v, p}}, 1); f != nil {
				out = append(out, f)
			}
		}
	}
	for _, n := range lex.nouns {
		if n.class != "species" || !once(n.one, n.many) || len(st.at[n.one]) != 1 {
			continue
		}
		t := st.at[n.one][0]
		if p := st.phrase(t); p.det != "a" || st.toks[t].speech || len(p.mods) > 1 {
			continue
		}
		if f := st.noun(n); f != nil {
			out = append(out, f)
		}
	}
	slices.SortStableFunc(out, func(a, b *Flip) int { return a.Changes[0].Start - b.Changes[0].Start })
	return out
}
