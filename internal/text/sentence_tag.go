// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// tag reports whether the words at byte i say who spoke the quotation before
// them, though the first has a capital: "Tom asked", "I said", "Tom's mother
// cried", "Mr. J. Vane, laughing, replied", "He said." After a quotation that
// was broken off, "began" and "faltered" count too, as they always do.
//
// A tag has a subject and a verb of saying, and between them only adverbs and
// a few small words. It is looked for in the one clause only.
func (g *segmenter) tag(i int, broken bool) bool {
	w, j := g.word(i)
	if w == "" {
		return false
	}
	low := strings.ToLower(w)
	switch {
	case w == "I":
		return g.verb(j, 4, false)
	case inverted[low]:
		// "Where?" Said the wolf: a slip, but no sentence starts so.
		next := g.wordAt(skipBlank(g.s, j))
		return (subjects[next] || capital(next)) && !g.announces(j, true)
	case pronouns[w]:
		return g.verb(j, 2, true)
	case determiners[w]:
		// The old woman asked. Only with the verb at the clause's end, for
		// "The door opened" is more often a sentence than "The king said
		// nothing".
		return g.nounVerb(j, true)
	case starters[low]:
		return false
	}
	return g.nameVerb(i)
}

// skipBlank returns the first byte after white space at i.
func skipBlank(s string, i int) int {
	next, lines := gap(s, i)
	if lines > 1 {
		return i
	}
	return next
}

// verb reports a verb of saying at byte i after at most skip adverbs or
// auxiliaries. If strict, the clause has to end soon after it.
func (g *segmenter) verb(i, skip int, strict bool) bool {
	for ; ; skip-- {
		i = skipBlank(g.s, i)
		w, j := g.word(i)
		if w == "" {
			return false
		}
		low := strings.ToLower(w)
		if kind := sayings[low]; kind != 0 {
			return g.says(low, kind, j, strict)
		}
		if skip == 0 || !isAdverb(low) {
			return false
		}
		i = j
	}
}

// says reports whether a verb of saying that ends at byte j is one here.
func (g *segmenter) says(w string, kind saying, j int, strict bool) bool {
	at := skipBlank(g.s, j)
	next, k := g.word(at)
	low := strings.ToLower(next)
	switch {
	case kind == goesOn && low == "on":
	case low == "in" && (w == "cut" || w == "chipped" || w == "chimed" || w == "put" || w == "broke"):
	case low == "back" && w == "shot":
	case low == "to" && (w == "wanted" || w == "wants"):
		know, _ := g.word(skipBlank(g.s, k))
		return know == "know"
	case kind == goesOn:
		return false
	}
	if kind == alsoActs && (strict || objects[low] || low == "to") {
		return false // Tom called his dog; Tom began to run; They laughed
	}
	if low == "nothing" || g.announces(j, strict || kind == answers) {
		return false // Tom said nothing. The giant answered: "I did"
	}
	if !strict {
		return true
	}
	// He asked. He asked quickly. He asked, turning round.
	if isAdverb(low) {
		j = k
	}
	j = skipBlank(g.s, j)
	if j == len(g.s) {
		return true
	}
	switch g.s[j] {
	case '.', ';', '!':
		return true
	case ',':
		next, _ = g.word(skipBlank(g.s, j+1))
		return strings.HasSuffix(next, "ing") || next == "her" || next == "his" || next == "their" || next == "voice" || next == "eyes"
	}
	return false
}

// announces reports whether the clause that goes on at byte i leads to the next
// quotation: "Who are you?" The giant answered: "I am the king". If comma, so
// does a comma: "Who are you?" She answered, "I am the king".
func (g *segmenter) announces(i int, comma bool) bool {
	s := g.s
	for n := 0; n < 80 && i < len(s); n++ {
		switch s[i] {
		case ':':
			return true
		case ',':
			next, _ := gap(s, i+1)
			r, _ := utf8.DecodeRuneInString(s[next:])
			return comma && (next == len(s) || isQuote(r) || strings.Count(s[i:next], "\n") > 1)
		case '.', ';', '!', '?', '"':
			return false
		}
		i++
	}
	return false
}

// nounVerb reports up to four words of a noun and then a verb of saying.
func (g *segmenter) nounVerb(i int, strict bool) bool {
	for n := 0; n < 5; n++ {
		i = skipBlank(g.s, i)
		w, j := g.word(i)
		if w == "" {
			return false
		}
		low := strings.ToLower(w)
		if kind := sayings[low]; kind != 0 && n > 0 {
			return g.says(low, kind, j, strict)
		}
		i = j
	}
	return false
}

// nameVerb reports a name and a verb of saying at byte i.
func (g *segmenter) nameVerb(i int) bool {
	s := g.s
	nouns := 0     // small words that may still come, after 's, of, and
	owned := false // a noun after 's is the subject, perhaps a thing: Tom's smile faltered
	for n := 0; n < 10; n++ {
		w, j := g.word(i)
		if w == "" {
			return false
		}
		low := strings.ToLower(w)
		kind := sayings[low]
		switch {
		case kind != 0 && n > 0 && !capital(w):
			if owned && kind != core && kind != answers {
				return false
			}
			return g.says(low, kind, j, false)
		case strings.HasSuffix(w, "'s"), strings.HasSuffix(w, "’s"), strings.HasSuffix(w, "s’"):
			nouns, owned = 4, true
		case capital(w):
			if n > 0 && starters[low] && !particles[low] {
				return false
			}
		case low == "and" || low == "of" || low == "the" || low == "with":
			nouns = 4
		case auxiliaries[low]:
			nouns = 0
		case particles[low] || isAdverb(low):
		case nouns > 0:
			nouns--
		default:
			return false
		}
		if j < len(s) && s[j] == '.' && (len(w) == 1 || abbreviations[low] == title || abbreviations[low] == clipped) {
			j++
		}
		if j < len(s) && s[j] == ',' {
			return g.afterComma(j + 1)
		}
		i = skipBlank(s, j)
		if i == j {
			return false
		}
	}
	return false
}

// afterComma reports an inserted clause up to another comma, then a verb of
// saying: "Tom, who had been listening, asked".
func (g *segmenter) afterComma(i int) bool {
	rest := g.s[i:]
	if len(rest) > 90 {
		rest = rest[:90]
	}
	c := strings.IndexByte(rest, ',')
	if c < 0 || strings.ContainsAny(rest[:c], ".!?;:\"“”") {
		return false
	}
	return g.verb(i+c+1, 2, false)
}

func isAdverb(w string) bool {
	return adverbs[w] || auxiliaries[w] || len(w) > 4 && strings.HasSuffix(w, "ly")
}

// tagCJK reports whether what follows a wide mark and a closing quote says who
// spoke: “你是谁？”他问。 「誰だ。」と言った。
func (g *segmenter) tagCJK(e end) bool {
	if !e.quote {
		return false
	}
	s := g.s[e.stop:]
	for n := 0; n < 16; n++ {
		r, w := utf8.DecodeRuneInString(s)
		switch {
		case n == 0 && (r == 'と' || r == '，' || r == '、'):
			return true
		case strings.ContainsRune("说說道问問喊叫答嚷吼骂罵嘟囔", r):
			return true
		case !unicode.IsLetter(r):
			return false
		}
		s = s[w:]
	}
	return false
}
