// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/retcon-bench/retcon/internal/text"
)

// Story is a text read for the rules. Offsets are bytes of Text.
type Story struct {
	Key   string // what random choices depend on: seed and source
	Text  string
	Title string
	Sents []text.Range

	toks  []token
	first []int            // first[i] is the first token of sentence i; len(Sents)+1 entries
	at    map[string][]int // token indexes by folded word
	parts map[string]bool  // what hyphens join: milk and white of milk-white
	verse []bool           // by sentence
	words int

	expert map[string]bool // nouns of experts' answers, see Experts

	refused []string // candidates turned down, with reasons
}

// token is a word: letters and digits with what joins them inside (an
// apostrophe, a hyphen).
type token struct {
	start, end int
	w          string // folded: lower case, straight apostrophe
	sep        string // what stands between the token before and this one, without white space
	sent       int
	speech     bool // between quotation marks
	long       bool // in a speech that goes over a paragraph's end
	upper      bool // starts with a capital
	head       bool // first word of its sentence or of a quotation
}

// Read makes a Story of a frozen text and its sentences. Marks are byte ranges
// that are not running prose (verse, letters, headings): nothing flips there.
func Read(key, title, s string, sents []text.Range, marks []text.Range) *Story {
	st := &Story{Key: key, Text: s, Title: title, Sents: sents, at: map[string][]int{}, parts: map[string]bool{}}
	st.tokens()
	st.speeches()
	st.lines(marks)
	st.words = text.Words(s)
	return st
}

func (st *Story) tokens() {
	s := st.Text
	last := 0
	for i, r := range st.Sents {
		st.first = append(st.first, len(st.toks))
		for at := r.Start; at < r.End; {
			n := wordAt(s[at:r.End])
			if n == 0 {
				_, size := utf8.DecodeRuneInString(s[at:])
				at += size
				continue
			}
			c, _ := utf8.DecodeRuneInString(s[at:])
			st.toks = append(st.toks, token{
				start: at, end: at + n, w: fold(s[at : at+n]), sent: i,
				sep: strings.Join(strings.Fields(s[last:at]), ""), upper: unicode.IsUpper(c),
			})
			last = at + n
			at += n
		}
	}
	st.first = append(st.first, len(st.toks))
	for i := range st.toks {
		t := &st.toks[i]
		if st.at[t.w] == nil && strings.Contains(t.w, "-") {
			for _, part := range strings.Split(t.w, "-") {
				st.parts[part] = true
			}
		}
		st.at[t.w] = append(st.at[t.w], i)
		t.head = i == st.first[t.sent] || strings.ContainsAny(t.sep, "\"“‘.!?:") || strings.HasSuffix(t.sep, "'")
	}
}

// wordAt returns the length of the word at the start of s, or 0.
func wordAt(s string) int {
	n := 0
	for n < len(s) {
		r, size := utf8.DecodeRuneInString(s[n:])
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			n += size
			continue
		}
		if n > 0 && (r == '\'' || r == '’' || r == '-') {
			next, _ := utf8.DecodeRuneInString(s[n+size:])
			if unicode.IsLetter(next) || unicode.IsDigit(next) {
				n += size
				continue
			}
		}
		break
	}
	return n
}

func fold(w string) string { return strings.ReplaceAll(strings.ToLower(w), "’", "'") }

// speeches marks what is spoken. A text quotes with double marks, or, when it
// has hardly any, with single ones; there an apostrophe closes only behind a
// mark of punctuation.
func (st *Story) speeches() {
	s := st.Text
	double := strings.Count(s, "\"") + strings.Count(s, "“")
	single := double < 4
	var open bool
	var opened int // index of the first token inside
	next := 0
	mark := func(to int, long bool) {
		for k := opened; k < to; k++ {
			st.toks[k].speech = true
			st.toks[k].long = st.toks[k].long || long
		}
	}
	for i, r := range s {
		for next < len(st.toks) && st.toks[next].start < i {
			next++
		}
		switch {
		case r == '“' || r == '"' && !open || single && (r == '‘' || r == '\'') && !open && opensQuote(s, i):
			if open {
				mark(next, true) // a speech goes on in the next paragraph
			}
			open, opened = true, next
		case open && (r == '”' || r == '"' || single && (r == '’' || r == '\'') && closesQuote(s, i)):
			mark(next, false)
			open = false
		case r == '\n' && open && paragraphEnd(s, i):
			mark(next, true)
			open = false
		}
	}
	if open {
		mark(len(st.toks), true)
	}
}

func opensQuote(s string, i int) bool {
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	_, size := utf8.DecodeRuneInString(s[i:])
	after, _ := utf8.DecodeRuneInString(s[i+size:])
	return (i == 0 || unicode.IsSpace(before) || strings.ContainsRune("(-—", before)) && (unicode.IsLetter(after) || after == '"')
}

func closesQuote(s string, i int) bool {
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	return strings.ContainsRune(".,!?;:-—…", before)
}

// paragraphEnd reports a blank line at byte i, or a line end behind which a
// quotation opens.
func paragraphEnd(s string, i int) bool {
	rest := s[i+1:]
	trimmed := strings.TrimLeft(rest, " ")
	return strings.HasPrefix(trimmed, "\n")
}

// lines finds sentences that are verse or otherwise set in lines: marked ones,
// and those with a short or indented line inside.
func (st *Story) lines(marks []text.Range) {
	st.verse = make([]bool, len(st.Sents))
	for i, r := range st.Sents {
		for _, m := range marks {
			if r.Start < m.End && m.Start < r.End {
				st.verse[i] = true
			}
		}
		body := st.Text[r.Start:r.End]
		lines := strings.Split(body, "\n")
		for k := 0; k+1 < len(lines); k++ {
			indented := strings.HasPrefix(lines[k+1], "  ")
			// The first line of a sentence may start in mid-line: look back.
			full := utf8.RuneCountInString(lines[k])
			if k == 0 {
				from := strings.LastIndexByte(st.Text[:r.Start], '\n') + 1
				full = utf8.RuneCountInString(st.Text[from:r.Start]) + full
			}
			if indented || full < 50 {
				st.verse[i] = true
			}
		}
	}
}

// wordsIn returns the tokens of sentence i.
func (st *Story) wordsIn(i int) []token { return st.toks[st.first[i]:st.first[i+1]] }

// has reports whether one of the words stands anywhere in the story, also
// inside a compound joined by hyphens.
func (st *Story) has(words ...string) bool {
	for _, w := range words {
		if len(st.at[w]) > 0 || st.parts[w] {
			return true
		}
	}
	return false
}

func compoundHas(t, w string) bool {
	for _, part := range strings.Split(t, "-") {
		if part == w {
			return true
		}
	}
	return false
}

// sentHas reports whether sentence i holds one of the words of a list.
func (st *Story) sentHas(i int, list map[string]bool) bool {
	for _, t := range st.wordsIn(i) {
		if list[t.w] || list[strings.TrimSuffix(t.w, "'s")] || strings.HasSuffix(t.w, "n't") && list["n't"] {
			return true
		}
	}
	return false
}

// plain reports whether the clause of token t states what it says: no
// negation, condition or likeness in it, and no question or dream in its
// sentence (rule 3).
func (st *Story) plain(t int) bool {
	lex := lexicon()
	sent := st.toks[t].sent
	if st.sentHas(sent, lex.words["dream"]) || strings.Contains(st.Sents[sent].Of(st.Text), "?") {
		return false
	}
	from, to := st.clause(t)
	for k := from; k < to; k++ {
		w := st.toks[k].w
		if lex.words["negation"][w] || lex.words["condition"][w] || lex.words["simile"][w] || strings.HasSuffix(w, "n't") {
			return false
		}
	}
	return true
}

// stated reports whether the noun phrase of token t tells what it says: not in
// a question, a condition or a dream, and where it brings something up ("a fox",
// not "the fox") not in a negation, a likeness or a guess either.
func (st *Story) stated(t int, p phrase) bool {
	lex := lexicon()
	sent := st.toks[t].sent
	if st.asked(t) {
		return false
	}
	from, to := st.clause(t)
	for k := from; k < to && k < t; k++ {
		if w := st.toks[k].w; suppose[w] {
			return false
		}
	}
	if p.definite() {
		return true
	}
	if st.sentHas(sent, lex.words["dream"]) {
		return false
	}
	if st.clauseHas(t, exceptFor) {
		return true // nothing but an old cheese
	}
	for k := from; k < to && k < t; k++ {
		w := st.toks[k].w
		if lex.words["condition"][w] || w == "like" || w == "seemed" || w == "resembled" {
			return false
		}
		if (lex.words["negation"][w] || strings.HasSuffix(w, "n't")) && k < t && p.det != "none" {
			return false
		}
	}
	return true
}

// exceptFor are words behind which a negation does not hold.
var exceptFor = set("but except until till")

// suppose are words of clauses that only suppose what they say.
var suppose = set("if unless whether supposing suppose wish wished wishes")

// asked reports that the words around token t are a question: the first mark
// behind it that ends a sentence is one of interrogation.
func (st *Story) asked(t int) bool {
	rest := st.Text[st.toks[t].end:st.Sents[st.toks[t].sent].End]
	if i := strings.IndexAny(rest, ".?!"); i >= 0 {
		return rest[i] == '?' && (st.toks[t].speech || !strings.ContainsAny(rest[:i], "\"“‘"))
	}
	return false
}

// tokenAt returns the first token that ends behind byte i.
func (st *Story) tokenAt(i int) int {
	lo, hi := 0, len(st.toks)
	for lo < hi {
		mid := (lo + hi) / 2
		if st.toks[mid].end <= i {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// Spoken reports whether byte i stands between quotation marks.
func (st *Story) Spoken(i int) bool {
	t := st.tokenAt(i)
	return t < len(st.toks) && st.toks[t].speech && (st.toks[t].start <= i || t == 0 || st.toks[t-1].speech)
}

// Expert is a question that people asked about the story, with the parts of the
// text that their answers stand in.
type Expert struct {
	Answers []string
	Parts   []text.Range
}

// Experts tells the story what experts asked about it. A thing that they name
// in the answer to a question on an early part is one that the story
// establishes, also where it is not introduced with "a".
func (st *Story) Experts(facts []Expert) {
	st.expert = map[string]bool{}
	for _, f := range facts {
		early := len(f.Parts) > 0
		for _, p := range f.Parts {
			early = early && p.End <= len(st.Text)*6/10
		}
		if !early {
			continue
		}
		for _, a := range f.Answers {
			for _, w := range strings.Fields(fold(a)) {
				st.expert[strings.Trim(w, ".,;:!?\"'()")] = true
			}
		}
	}
}
