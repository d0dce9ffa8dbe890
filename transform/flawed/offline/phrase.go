// SPDX-License-Identifier: Apache-2.0

package offline

import "strings"

// phrase is a noun with what stands before it.
type phrase struct {
	head int
	det  string // a, the, poss, dem, other, none
	dtok int    // token of the determiner, -1
	mods []int  // tokens between determiner and head, in order
	num  int    // token of a number word among them, -1
}

var functionWords = set(`and or but of in on at to from by with without for into onto upon over under up down out off
	as than then when while who whom which that was were is are be been being am had has have having did do does
	he she it they we you i him them me us so if because through about around before after behind between among near
	said went came gave took saw made put got let like till until though although there here where not`)

var otherDeterminers = set("another each every any no some one both either neither which what such other all none half many several few same")

var numberWords = map[string]int{
	"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
	"eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17,
	"eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60,
	"seventy": 70, "eighty": 80, "ninety": 90, "hundred": 100,
}

// phrase reads the noun phrase that ends in token h, walking left over at most
// four words. A determiner that cannot be seen is "none".
func (st *Story) phrase(h int) phrase {
	p := phrase{head: h, det: "none", dtok: -1, num: -1}
	lex := lexicon()
	for k := h - 1; k >= 0 && k >= h-6; k-- {
		t := st.toks[k]
		if t.sent != st.toks[h].sent {
			break
		}
		sep := st.toks[k+1].sep
		if sep != "" && sep != "," {
			break
		}
		w := t.w
		adjective := lex.words["modifier"][w] || len(lex.class[w]) > 0
		if sep == "," && !adjective {
			break
		}
		switch {
		case w == "a" || w == "an":
			p.det, p.dtok = "a", k
			return p
		case w == "the":
			p.det, p.dtok = "the", k
			return p
		case w == "this" || w == "that" || w == "these" || w == "those":
			p.det, p.dtok = "dem", k
			return p
		case lex.words["determiner"][w], strings.HasSuffix(w, "'s"):
			p.det, p.dtok = "poss", k
			return p
		case otherDeterminers[w]:
			p.det, p.dtok = "other", k
			return p
		case numberWords[w] > 0:
			p.num = k
			p.mods = append([]int{k}, p.mods...)
			continue
		case w == "and" && k > 0 && len(p.mods) > 0 && (lex.words["modifier"][st.toks[k-1].w] || len(lex.class[st.toks[k-1].w]) > 0):
			continue
		case functionWords[w], lex.words["verb"][w] && !adjective:
			return p
		}
		if endsPossessive(st.Text, t.end) {
			p.det, p.dtok = "poss", k
			return p
		}
		p.mods = append([]int{k}, p.mods...)
	}
	return p
}

// endsPossessive reports the apostrophe of a plural possessive: brothers' .
func endsPossessive(s string, end int) bool {
	rest := s[end:]
	return (strings.HasPrefix(rest, "' ") || strings.HasPrefix(rest, "’ ")) && end > 0 && s[end-1] == 's'
}

func (p phrase) definite() bool { return p.det == "the" || p.det == "poss" || p.det == "dem" }

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}
