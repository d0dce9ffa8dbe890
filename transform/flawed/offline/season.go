// SPDX-License-Identifier: Apache-2.0

package offline

import "strings"

// timeWord is a line of times.tsv.
type timeWord struct {
	class, word string
	instead     []string
	bound       map[string]bool
}

// times finds seasons and times of day of which a story knows one: "one autumn"
// in act 1, and "that autumn" later.
func (st *Story) times() []*Flip {
	var out []*Flip
	for _, w := range lexicon().times {
		if f := st.time(w); f != nil {
			out = append(out, f)
		}
	}
	return out
}

func (st *Story) time(w timeWord) *Flip {
	toks := st.tokensOf(w.word)
	if len(toks) < 2 {
		return nil
	}
	lex := lexicon()
	if len(st.at[w.word+"s"]) > 0 || st.parts[w.word] {
		return st.turnDown(w.word, w.class, "plural")
	}
	for i, t := range toks {
		switch {
		case i == 0 && !st.onceUpon(t):
			return st.turnDown(w.word, w.class, "not_introduced")
		case i > 0 && !st.sameTime(t):
			return st.turnDown(w.word, w.class, "introduced_twice")
		}
	}
	for _, o := range lex.times {
		// Another season, and it may be another year: the story tells of more.
		if o.class == w.class && o.word != w.word && w.class == "season" && st.has(o.word) {
			return st.turnDown(w.word, w.class, "two_values")
		}
	}
	if st.nearHas(toks, w.bound) {
		return st.turnDown(w.word, w.class, "kindred_word")
	}
	for _, to := range st.shuffled(w.instead, w.class, w.word) {
		if st.has(to, to+"s") {
			continue
		}
		f := &Flip{
			Class: w.class, Category: "setting", Kind: "continuity", Subtype: "absolute_time_contradictions",
			Head: w.word, Old: w.word, New: to, group: w.class, forms: []string{w.word},
			Statement:      "It happens in " + w.word + ".",
			Counterfactual: "It happens in " + to + ".",
		}
		if w.class == "time_of_day" {
			f.Statement, f.Counterfactual = "It happens in the "+w.word+".", "It happens in the "+to+"."
			if strings.HasSuffix(w.word, "n") || strings.HasSuffix(w.word, "t") {
				f.Statement, f.Counterfactual = "It happens at "+w.word+".", "It happens at "+to+"."
			}
		}
		for _, t := range toks {
			f.Changes = append(f.Changes, st.change(t, to))
		}
		return f
	}
	return st.turnDown(w.word, w.class, "no_new_value")
}

// onceUpon reports the first mention of a time: one autumn, a summer, in winter.
func (st *Story) onceUpon(t int) bool {
	if t == 0 || st.toks[t].sep != "" {
		return false
	}
	switch st.toks[t-1].w {
	case "one", "a", "an", "in", "at":
		return true
	}
	return false
}

// sameTime reports that the mention at token t means a time the story has
// spoken of: that autumn.
func (st *Story) sameTime(t int) bool {
	if t > 0 && st.toks[t].sep == "" {
		switch st.toks[t-1].w {
		case "that", "this":
			return true
		case "the":
			if t > 1 && (st.toks[t-2].w == "was" || st.toks[t-2].w == "all") {
				return true // that was the autumn
			}
		}
	}
	return false
}
