// SPDX-License-Identifier: Apache-2.0

package text

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Class says how a quote was found in a story, from the nearest to the
// farthest. Every class includes the liberties of those before it.
//
// The classes of the public oracle fall into ours like this: a is exact; b1 is
// whitespace; b2 is typographic, or whitespace if line breaks differ too; b5
// is case; b3 (Markdown), b4 (outer punctuation) and b6 (quote marks) are
// punctuation; c0 is pieces; c1 and c2 are fuzzy, or pieces where the judge
// left words out without a mark; c3 and d are none. A quote with several
// kinds of change has the farthest class of them here and the first of them
// there.
type Class string

const (
	// ClassExact: the quote's bytes are in the story.
	ClassExact Class = "exact"
	// ClassTypographic: equal but for quote marks, dashes, the ellipsis sign,
	// composition and width of characters, invisible characters, and escapes
	// of JSON or HTML.
	ClassTypographic Class = "typographic"
	// ClassWhitespace: and but for runs of white space.
	ClassWhitespace Class = "whitespace"
	// ClassCase: and but for capitals.
	ClassCase Class = "case"
	// ClassPunctuation: the same words in the same order, nothing between
	// them, but other punctuation, quote marks, Markdown or tags; or a label
	// (speaker, chapter, remark) around the passage that is not in the story.
	ClassPunctuation Class = "punctuation"
	// ClassPieces: the quote was put together of passages that are apart in
	// the story. One range a piece.
	ClassPieces Class = "pieces"
	// ClassFuzzy: other words, at most a quarter of the characters changed,
	// no number, negation or ellipsis among the changes. Always flagged.
	ClassFuzzy Class = "fuzzy"
	// ClassNone: not in the story.
	ClassNone Class = "none"
)

var classOrder = []Class{ClassExact, ClassTypographic, ClassWhitespace, ClassCase, ClassPunctuation, ClassPieces, ClassFuzzy, ClassNone}

// Classes returns all classes, the nearest first.
func Classes() []Class { return slices.Clone(classOrder) }

func (c Class) rank() int { return slices.Index(classOrder, c) }

// Found reports whether a quote of the class is evidence.
func (c Class) Found() bool { return c != ClassNone && c != "" }

// Normalised reports the classes in which the quote's words stand in the story
// in one run, unchanged.
func (c Class) Normalised() bool { return c.Found() && c.rank() <= ClassPunctuation.rank() }

func farther(a, b Class) Class {
	if a.rank() >= b.rank() {
		return a
	}
	return b
}

// Reasons in Match.Why.
const (
	WhyEmpty     = "empty"            // none: the quote has no word
	WhyAbsent    = "not in the story" // none: no place is near enough
	WhyShort     = "too short"        // none: too few words to trust a near match
	WhyLong      = "too long"         // none: too many words to align
	WhyNumber    = "number"           // none: the nearest place has other numbers
	WhyNegation  = "negation"         // none: the nearest place negates differently
	WhyEllipsis  = "ellipsis"         // none: words were left out that cannot be told apart from changes
	WhyAmbiguous = "ambiguous"        // none: several places are equally near and not equal
	WhyCopied    = "prompt example"   // none: see Echoes

	WhyChanged = "words changed"                     // flagged: see Match.Changes
	WhyCut     = "cut inside a word"                 // flagged: the quote starts or ends in a word of the story
	WhyDropped = "words around the passage dropped"  // flagged: a label that may belong to the quote
	WhyElided  = "words left out without a mark"     // flagged: see Match.Ranges
	WhyHidden  = "a negation or number was left out" // flagged: in words that an ellipsis stands for
	WhyOrder   = "pieces out of order or far apart"  // flagged
)

// Match is where a quote stands in a story.
type Match struct {
	Class Class
	// Ranges are bytes of the story: one, or for pieces one a piece, in the
	// order of the quote. The text to store is the story's text there.
	Ranges []Range
	// Occurrences is the number of places that fit equally well, 0 for none.
	// Above 1, Ranges is the one nearest to the hint, or else the first, and
	// the caller should know that it was a choice.
	Occurrences int
	// Starts are the byte offsets of all those places, ascending.
	Starts []int
	// Similarity is 1 - edits / length in comparison form: 1 for exact to
	// punctuation, at least 0.75 for fuzzy. For none it is the similarity of
	// the nearest place that was looked at, 0 if there was none.
	Similarity float64
	// Flagged marks a match that a reader should look at.
	Flagged bool
	// Why says why there is no match, or why it is flagged.
	Why string
	// Changes lists what a fuzzy match bridges.
	Changes []Change
}

// Change is one difference of words between a quote and the story.
type Change struct {
	Quote string // words of the quote, "" where the story has more
	Story string // words of the story, "" where the quote has more
}

// Range returns the range from the first to the last byte of all pieces.
func (m Match) Range() Range {
	if len(m.Ranges) == 0 {
		return Range{}
	}
	r := m.Ranges[0]
	for _, s := range m.Ranges[1:] {
		r.Start = min(r.Start, s.Start)
		r.End = max(r.End, s.End)
	}
	return r
}

// Anchorer finds quotes in one story. It may be used by several goroutines.
type Anchorer struct {
	story string
	toks  []storyToken
	ids   map[string]int32
	words []string // by id
	// The places of word id are posts[first[id]:first[id+1]], ascending.
	first []int32
	posts []int32
}

// storyToken is a token of the story.
type storyToken struct {
	id         int32
	start, end int32
	ellipsis   bool
}

// NewAnchorer reads a story, which should be frozen, and indexes its words.
func NewAnchorer(story string) *Anchorer {
	toks := tokenize(story)
	a := &Anchorer{story: story, toks: make([]storyToken, len(toks)), ids: make(map[string]int32, 1+len(toks)/5)}
	for i, t := range toks {
		id, ok := a.ids[t.text]
		if !ok {
			id = int32(len(a.words))
			w := strings.Clone(t.text) // lets the story's whole form go
			a.ids[w] = id
			a.words = append(a.words, w)
		}
		a.toks[i] = storyToken{id, int32(t.start), int32(t.end), t.ellipsis}
	}
	a.first = make([]int32, len(a.words)+1)
	for _, t := range a.toks {
		a.first[t.id+1]++
	}
	for i := range a.words {
		a.first[i+1] += a.first[i]
	}
	a.posts = make([]int32, len(a.toks))
	next := slices.Clone(a.first)
	for i, t := range a.toks {
		a.posts[next[t.id]] = int32(i)
		next[t.id]++
	}
	return a
}

// Story returns the text that ranges refer to.
func (a *Anchorer) Story() string { return a.story }

func (a *Anchorer) places(id int32) []int32 { return a.posts[a.first[id]:a.first[id+1]] }

// id returns the number of a word of the story, -1 for other words.
func (a *Anchorer) id(w string) int32 {
	if id, ok := a.ids[w]; ok {
		return id
	}
	return -1
}

// Find looks for quote in the story, nearest class first: the words in one
// run, then in pieces, then nearly. near is a byte offset of the story that
// chooses among places that fit equally well (the place of an edit, or of
// another quote); -1 means that nothing is known.
//
// The rules are those of the design notes on text and on the checker: what is
// stored is the source's own text; a repeated sentence is told apart by
// position, and Occurrences tells that there was a choice; a near match is
// flagged; no match ever bridges a number, a negation or words left out.
func (a *Anchorer) Find(quote string, near int) Match {
	m, _ := a.find(quote, near, nil)
	return m
}

// FindOrEcho is Find for answers of a model that was shown examples: a quote
// whose own words stand in the story, in one run or in pieces, is found;
// otherwise, if it copies an example, the match is none and kind says how;
// only then are near matches tried. kind is "" if nothing was copied.
func (a *Anchorer) FindOrEcho(quote string, near int, e *Echoes) (m Match, kind string) {
	return a.find(quote, near, e)
}

func (a *Anchorer) find(quote string, near int, e *Echoes) (Match, string) {
	if !utf8.ValidString(quote) {
		quote = strings.ToValidUTF8(quote, "")
	}
	rs := readingsOf(quote)
	if len(rs[0].tokens) == 0 {
		return Match{Class: ClassNone, Why: WhyEmpty}, ""
	}
	// Why pieces that are all in the story were no match.
	refused := ""
	try := func(rs []*reading, stages ...func(*reading, int) (Match, bool)) (Match, bool) {
		for _, stage := range stages {
			for _, r := range rs {
				m, ok := stage(r, near)
				if ok {
					if r.flag {
						m.Flagged, m.Why = true, WhyDropped
					}
					return m, true
				}
				if refused == "" || refused == WhyAbsent {
					refused = m.Why
				}
			}
		}
		return Match{}, false
	}
	if m, ok := try(rs, a.run, a.cut); ok {
		return m, ""
	}
	sure, unsure := unwrap(rs, true)
	if m, ok := try(sure, a.run); ok {
		return m, ""
	}
	rs = append(rs, sure...)
	if m, ok := try(rs, a.pieces, a.spoken); ok {
		return m, ""
	}
	sure, more := unwrap(rs, false)
	unsure = append(unsure, more...)
	if m, ok := try(sure, a.run, a.pieces); ok {
		return m, ""
	}
	rs = append(rs, sure...)
	if e != nil {
		if kind, ok := e.Copied(quote); ok {
			return Match{Class: ClassNone, Why: WhyCopied}, kind
		}
	}
	m := a.nearest(rs, near)
	if m.Class.Found() {
		return m, ""
	}
	if m, ok := try(rs, a.nearPieces); ok {
		return m, ""
	}
	// Labels that may be the quote's own words come last: a near match of the
	// whole says more than a clean one of a part, and so does a refused one.
	if m.Why != WhyNumber && m.Why != WhyNegation {
		if m, ok := try(unsure, a.run); ok {
			return m, ""
		}
	}
	if m.Why == WhyAbsent && refused != "" {
		m.Why = refused
	}
	return m, ""
}

// nearest returns the near match of the first reading that has one, or says
// why none has.
func (a *Anchorer) nearest(rs []*reading, near int) Match {
	var found, none *Match
	for _, r := range rs {
		m := a.nearly(r, near)
		switch {
		case m.Class.Found():
			if found == nil {
				found = &m
			}
		case r.labels() && (m.Why == WhyNumber || m.Why == WhyNegation):
			// Without its label the quote is refused: the label must not lend
			// its number to the whole.
			return m
		case none == nil || m.Why != WhyAbsent && m.Similarity > none.Similarity:
			// The quote as it stands has the word, unless another reading got
			// nearer.
			none = &m
		}
	}
	if found != nil {
		return *found
	}
	return *none
}

// unwrap returns the readings of rs without what stands before the passage, or
// after it: those that surely lost a label, and those that may have lost words.
func unwrap(rs []*reading, front bool) (sure, unsure []*reading) {
	for _, r := range rs {
		for range 3 {
			if r = r.unwrapped(front); r == nil {
				break
			}
			if r.flag {
				unsure = append(unsure, r)
			} else {
				sure = append(sure, r)
			}
		}
	}
	return sure, unsure
}

// hit is a run of tokens of the story.
type hit struct{ first, last int } // both included

func (h hit) overlaps(o hit) bool { return h.first <= o.last && o.first <= h.last }

// hits returns every place where the tokens stand in one run. An ellipsis
// between two tokens of the quote must be in the story as well; one that only
// the story has is a pause, and nothing is left out.
func (a *Anchorer) hits(toks []token) []hit {
	n := len(toks)
	rare, fewest := -1, len(a.toks)+1
	ids := make([]int32, n)
	for i, t := range toks {
		id := a.id(t.text)
		if id < 0 {
			return nil
		}
		ids[i] = id
		if c := len(a.places(id)); c < fewest {
			rare, fewest = i, c
		}
	}
	if rare < 0 {
		return nil
	}
	var out []hit
places:
	for _, p := range a.places(ids[rare]) {
		s := int(p) - rare
		if s < 0 || s+n > len(a.toks) {
			continue
		}
		for k := range ids {
			t := a.toks[s+k]
			if t.id != ids[k] || k > 0 && toks[k].ellipsis && !t.ellipsis {
				continue places
			}
		}
		out = append(out, hit{s, s + n - 1})
	}
	return out
}

// run finds a reading whose words stand in the story in one run.
func (a *Anchorer) run(r *reading, near int) (Match, bool) {
	hits := slices.DeleteFunc(a.hits(r.tokens), func(h hit) bool { return !a.labelled(r, h, h) })
	if len(hits) == 0 {
		return Match{}, false
	}
	// Verbatim first: it needs no folding.
	lead := r.tokens[0].start
	var at []Range
	for _, h := range hits {
		s := int(a.toks[h.first].start) - lead
		if s >= 0 && strings.HasPrefix(a.story[s:], r.text) {
			at = append(at, Range{s, s + len(r.text)})
		}
	}
	if len(at) > 0 {
		return choose(ClassExact, r, at, near), true
	}
	best := ClassNone
	for _, h := range hits {
		c, at1 := a.compare(r, h)
		switch {
		case c.rank() < best.rank():
			best, at = c, []Range{at1}
		case c == best:
			at = append(at, at1)
		}
	}
	return choose(best, r, at, near), true
}

// labelled reports whether the labels taken off a reading may be the quote's
// own addition. A label that shares a word with what the story says there
// ("Kael: ..." for `Kael said, "..."`) must have the same numbers and
// negations; one that shares none must not stand where the story has a label
// of its own, and if it is none of the usual kinds, the story must not have a
// number or negation there that it may stand for.
func (a *Anchorer) labelled(r *reading, first, last hit) bool {
	apart := func(l label, words []token, gap string) bool {
		g := guardsOf(a.story, words)
		for _, w := range words {
			if slices.ContainsFunc(l.toks, func(t token) bool { return t.text == w.text }) {
				return g.equal(guardsOf(l.text, l.toks))
			}
		}
		return !strings.Contains(gap, ":") && (!l.strict || g.equal(guards{}))
	}
	for _, l := range r.head {
		lo := first.first
		for n := len(l.toks) + 1; n > 0 && lo > 0; n-- {
			lo--
		}
		if lo < first.first && !apart(l, a.tokens(lo, first.first), a.gap(first.first-1)) {
			return false
		}
	}
	for _, l := range r.tail {
		hi := last.last + 1
		for n := len(l.toks) + 1; n > 0 && hi < len(a.toks); n-- {
			hi++
		}
		if last.last+1 < hi && !apart(l, a.tokens(last.last+1, hi), a.gap(last.last)) {
			return false
		}
	}
	return true
}

// gap returns what stands between story token i and the next one.
func (a *Anchorer) gap(i int) string {
	from, to := 0, len(a.story)
	if i >= 0 {
		from = int(a.toks[i].end)
	}
	if i+1 < len(a.toks) {
		to = int(a.toks[i+1].start)
	}
	return between(a.story, from, to)
}

// between is s[from:to]. Two words may come from one character (℀ is a/c):
// nothing is between them.
func between(s string, from, to int) string { return s[from:max(from, to)] }

// choose makes the match of several equally good places.
func choose(c Class, r *reading, at []Range, near int) Match {
	m := Match{Class: farther(c, r.floor), Occurrences: len(at), Similarity: 1}
	best := at[0]
	for _, p := range at {
		m.Starts = append(m.Starts, p.Start)
		if near >= 0 && nearer(p, best, near) {
			best = p
		}
	}
	m.Ranges = []Range{best}
	return m
}

// nearer reports whether p is nearer to offset at than q is: by the distance
// from the whole range first, then from its start.
func nearer(p, q Range, at int) bool {
	outside := func(r Range) int { return max(r.Start-at, at-r.End, 0) }
	start := func(r Range) int { return max(r.Start-at, at-r.Start) }
	if outside(p) != outside(q) {
		return outside(p) < outside(q)
	}
	return start(p) < start(q)
}

// compare tells by which class the reading equals the story around a hit, and
// where it starts and ends there.
func (a *Anchorer) compare(r *reading, h hit) (Class, Range) {
	around := Range{int(a.toks[h.first].start) - len(a.gap(h.first-1)), int(a.toks[h.last].end) + len(a.gap(h.last))}
	for _, level := range []struct {
		class Class
		opt   FoldOptions
	}{
		{ClassTypographic, FoldOptions{KeepSpace: true, KeepCase: true}},
		{ClassWhitespace, FoldOptions{KeepCase: true}},
		{ClassCase, FoldOptions{}},
	} {
		q, _ := FoldWithMap(r.text, level.opt)
		s, m := FoldWithMap(around.Of(a.story), level.opt)
		if i := strings.Index(s, q); i >= 0 {
			at := m.Source(i, i+len(q))
			at = Range{around.Start + at.Start, around.Start + at.End}
			// Folding may have merged what belongs to the quote with what
			// does not, a run of dashes for one; the words must be inside.
			if at.Start <= int(a.toks[h.first].start) && at.End >= int(a.toks[h.last].end) {
				return level.class, at
			}
		}
	}
	return ClassPunctuation, a.outer(r, len(r.tokens)-1, h)
}

// outer is the range of a hit with as much of the punctuation after it as the
// reading has after its token number last.
func (a *Anchorer) outer(r *reading, last int, h hit) Range {
	at := Range{int(a.toks[h.first].start), int(a.toks[h.last].end)}
	to := len(r.text)
	if last+1 < len(r.tokens) {
		to = r.tokens[last+1].start
	}
	tail := between(r.text, r.tokens[last].end, to)
	rest := a.gap(h.last)
	for tail != "" && rest != "" {
		q, n := utf8.DecodeRuneInString(tail)
		s, k := utf8.DecodeRuneInString(rest)
		if unicode.IsSpace(q) || plainMark(q) != plainMark(s) || s == utf8.RuneError {
			break
		}
		at.End += k
		tail, rest = tail[n:], rest[k:]
	}
	return at
}

// cut finds a quote that starts or ends inside a word of the story, as the
// last of a cut-off answer does. It must be long enough to be no accident, and
// the whole words must not say otherwise: "able" in "unable", "5" in "50".
func (a *Anchorer) cut(r *reading, near int) (Match, bool) {
	const fewest = 16 // code points
	if utf8.RuneCountInString(r.text) < fewest {
		return Match{}, false
	}
	var at []Range
	for from := 0; ; {
		i := strings.Index(a.story[from:], r.text)
		if i < 0 {
			break
		}
		p := Range{from + i, from + i + len(r.text)}
		if a.cutSafely(r, p) {
			at = append(at, p)
		}
		from = p.Start + 1
	}
	if len(at) == 0 {
		return Match{}, false
	}
	m := choose(ClassExact, r, at, near)
	m.Flagged, m.Why = true, WhyCut
	return m, true
}

func (a *Anchorer) cutSafely(r *reading, p Range) bool {
	// The words of the story that the range touches.
	lo, _ := slices.BinarySearchFunc(a.toks, p.Start, func(t storyToken, at int) int { return int(t.end) - at - 1 })
	hi, _ := slices.BinarySearchFunc(a.toks, p.End, func(t storyToken, at int) int { return int(t.start) - at })
	whole := a.tokens(lo, hi)
	if len(whole) == 0 || !guardsOf(r.text, r.tokens).equal(guardsOf(a.story, whole)) {
		return false
	}
	q := r.tokens
	return !opposed(q[0].text, whole[0].text) && !opposed(q[len(q)-1].text, whole[len(whole)-1].text)
}

// tokens returns the story's tokens lo to hi in the form that quotes have.
func (a *Anchorer) tokens(lo, hi int) []token {
	if lo >= hi {
		return nil
	}
	out := make([]token, hi-lo)
	for i, t := range a.toks[lo:hi] {
		out[i] = token{a.words[t.id], int(t.start), int(t.end), t.ellipsis}
	}
	return out
}
