// SPDX-License-Identifier: Apache-2.0

package text

import (
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Quotes put together of passages that are apart in the story: around an
// ellipsis, sentence after sentence, or around a speech tag that was left out.
const (
	// A piece of fewer words and fewer characters is only believed next to
	// another piece.
	minPieceWords, minPieceRunes = 4, 15
	beside                       = 60   // tokens: next to
	apart                        = 400  // tokens: farther is flagged
	backwards                    = 5000 // tokens that a step back in the story costs when places are chosen
	clauseGap                    = 300  // bytes left out between two clauses, at most
	fewWords                     = 3    // tokens: leaving out no more than these may turn a sentence around
	nearGap                      = 25   // tokens: a gap in which a number or negation is worth a flag
)

// A seam is where a quote may have been put together.
type seam uint8

const (
	seamNone     seam = iota
	seamSpoken        // any place, if the story has a speech tag there
	seamClause        // , ; : and dashes
	seamSentence      // end of a sentence, closing and opening quote marks, a new line
	seamMarked        // an ellipsis or a bracketed ellipsis; a bracket at the end
)

// seamsOf returns the seam before each token, none before the first.
func seamsOf(r *reading) []seam {
	seams := make([]seam, len(r.tokens))
	sentences := Sentences(r.text)
	for i := 1; i < len(seams); i++ {
		seams[i] = seamBefore(r, i)
		for len(sentences) > 0 && sentences[0].End <= r.tokens[i-1].start {
			sentences = sentences[1:]
		}
		if len(sentences) > 0 && sentences[0].End <= r.tokens[i].start {
			seams[i] = max(seams[i], seamSentence)
		}
	}
	return seams
}

// seamBefore tells by punctuation what stands between tokens i-1 and i of a
// quote; ends of sentences are not its business.
func seamBefore(r *reading, i int) seam {
	if r.tokens[i].ellipsis {
		return seamMarked
	}
	gap := between(r.text, r.tokens[i-1].end, r.tokens[i].start)
	last := r.text[r.tokens[len(r.tokens)-1].end:]
	if strings.ContainsAny(gap, "([") && strings.ContainsAny(last, ")]") {
		return seamMarked
	}
	if strings.ContainsAny(gap, "\n/|⟂") {
		return seamSentence
	}
	marks, out := 0, seamNone
	spaced := strings.ContainsFunc(gap, unicode.IsSpace)
	for _, c := range gap {
		switch p := plainMark(c); {
		case p == '"' || p == '\'' && spaced:
			marks++
		case p == '-' && (spaced || c != '-') || strings.ContainsRune(",;:", c) && spaced || strings.ContainsRune("、，；：", c):
			out = seamClause
		}
	}
	switch {
	case marks >= 2:
		return seamSentence
	case marks == 1:
		return seamClause
	}
	return out
}

// piece is a run of the quote's tokens with its places in the story.
type piece struct {
	first, last int // tokens of the quote, both included
	hits        []hit
	parts       []int // where the run's own sentences start, for one range each
	marked      bool  // an ellipsis stands before it
	edits       int
	changes     []Change
}

func (p piece) short(r *reading) bool {
	n := p.last - p.first + 1
	return n < minPieceWords && r.tokens[p.last].end-r.tokens[p.first].start < minPieceRunes || n < 2
}

// pieces finds a reading that was put together of unchanged pieces. Sentences
// are tried before clauses, because fewer seams mean fewer accidents. If the
// pieces are there but must not be joined, Why says so.
func (a *Anchorer) pieces(r *reading, near int) (Match, bool) {
	seams := seamsOf(r)
	if slices.Max(seams) >= seamSentence {
		if m, ok := a.assemble(r, seams, seamSentence, false, near); ok || m.Why != "" {
			return m, ok
		}
	}
	if slices.Contains(seams, seamClause) {
		return a.assemble(r, seams, seamClause, false, near)
	}
	return Match{}, false
}

// spoken finds direct speech that was quoted without the speech tag in its
// middle, wherever that stood.
func (a *Anchorer) spoken(r *reading, near int) (Match, bool) {
	n := len(r.tokens)
	if n < minPieceWords {
		return Match{}, false
	}
	var ps []piece
	seams := make([]seam, n)
	for i := 0; i < n; {
		if r.tokens[i].ellipsis && i > 0 || len(ps) == 4 {
			return Match{}, false
		}
		// The longest run from here: every shorter one is in the story too.
		k := sort.Search(n-i, func(k int) bool { return len(a.hits(r.tokens[i:i+k+1])) == 0 })
		if k == 0 || i == 0 && k == n {
			return Match{}, false
		}
		seams[i] = seamSpoken
		ps = append(ps, piece{first: i, last: i + k - 1, hits: a.hits(r.tokens[i : i+k]), parts: []int{i}})
		i += k
	}
	return a.place(r, ps, seams, seamSpoken, near)
}

// nearPieces is pieces for a reading of which some sentences are only nearly
// in the story. It comes after a near match of the whole.
func (a *Anchorer) nearPieces(r *reading, near int) (Match, bool) {
	if seams := seamsOf(r); slices.Max(seams) >= seamSentence {
		return a.assemble(r, seams, seamSentence, true, near)
	}
	return Match{}, false
}

// assemble cuts the quote at seams of at least the given strength, finds each
// part and chooses places that lie together, in order.
func (a *Anchorer) assemble(r *reading, seams []seam, least seam, changed bool, near int) (Match, bool) {
	var ps []piece
	n := len(seams)
	for i := 0; i < n; {
		j := i + 1
		for j < n && seams[j] != seamMarked {
			j++
		}
		more, ok := a.cover(r, seams, least, changed, i, j)
		if !ok {
			return Match{}, false
		}
		more[0].marked = i > 0
		ps = append(ps, more...)
		i = j
	}
	if len(ps) < 2 {
		return Match{}, false
	}
	return a.place(r, ps, seams, least, near)
}

// cover finds tokens i to j of the quote: whole, or else in the longest runs
// of its parts; parts that are in the story only nearly if changed allows.
func (a *Anchorer) cover(r *reading, seams []seam, least seam, changed bool, i, j int) ([]piece, bool) {
	if hits := a.hits(r.tokens[i:j]); len(hits) > 0 {
		return []piece{{first: i, last: j - 1, hits: hits, parts: []int{i}}}, true
	}
	starts := []int{i}
	for k := i + 1; k < j; k++ {
		if seams[k] >= least {
			starts = append(starts, k)
		}
	}
	starts = append(starts, j)
	var ps []piece
	for u := 0; u+1 < len(starts); {
		// The longest run from here: every shorter one is in the story too.
		v := u + sort.Search(len(starts)-1-u, func(k int) bool { return len(a.hits(r.tokens[starts[u]:starts[u+k+1]])) == 0 })
		if v > u {
			hits := a.hits(r.tokens[starts[u]:starts[v]])
			p := piece{first: starts[u], last: starts[v] - 1, hits: hits, parts: starts[u : u+1]}
			if least >= seamSentence {
				p.parts = starts[u:v]
			}
			ps = append(ps, p)
			u = v
			continue
		}
		if !changed {
			return nil, false
		}
		p, ok := a.nearPiece(r, starts[u], starts[u+1])
		if !ok {
			return nil, false
		}
		ps = append(ps, p)
		u++
	}
	return ps, true
}

// nearPiece finds a part of the quote by a near match.
func (a *Anchorer) nearPiece(r *reading, i, j int) (piece, bool) {
	lo, hi := r.tokens[i].start, len(r.text)
	if j < len(r.tokens) {
		hi = r.tokens[j].start
	}
	sub := newReading(r.text[lo:hi], r.floor)
	if len(sub.tokens) != j-i {
		return piece{}, false
	}
	m := a.nearly(sub, -1)
	if m.Class != ClassFuzzy || m.Occurrences != 1 {
		return piece{}, false
	}
	first, _ := slices.BinarySearchFunc(a.toks, m.Ranges[0].Start, func(t storyToken, at int) int { return int(t.start) - at })
	last, _ := slices.BinarySearchFunc(a.toks, m.Ranges[0].End, func(t storyToken, at int) int { return int(t.start) - at })
	length := utf8.RuneCountInString(formOf(sub.tokens))
	edits := int((1-m.Similarity)*float64(length) + 0.5)
	return piece{first: i, last: j - 1, hits: []hit{{first, last - 1}}, parts: []int{i}, edits: max(1, edits), changes: m.Changes}, true
}

// place chooses one place for each piece so that the whole lies together, and
// judges the result.
func (a *Anchorer) place(r *reading, ps []piece, seams []seam, least seam, near int) (Match, bool) {
	chains := a.chains(ps)
	if len(chains) == 0 {
		return Match{}, false
	}
	exact, edited := 0, 0
	for _, p := range ps {
		n := r.tokens[p.last].end - r.tokens[p.first].start
		if p.edits > 0 {
			edited += n
		} else {
			exact += n
		}
	}
	if edited > 2*exact {
		return Match{}, false
	}
	at := make([]Range, len(chains))
	for i, ch := range chains {
		at[i] = Range{int(a.toks[ch[0].first].start), int(a.toks[ch[0].last].end)}
	}
	m := choose(ClassPieces, r, at, near)
	ch := chains[slices.IndexFunc(at, func(p Range) bool { return p == m.Ranges[0] })]
	if !a.labelled(r, ch[0], ch[len(ch)-1]) {
		return Match{}, false
	}
	for i, p := range ps {
		if least > seamSpoken && (p.short(r) || p.edits > 0) && !besides(ch, i) {
			return Match{}, false
		}
		if p.edits > 0 {
			m.Why = WhyChanged
			m.Changes = append(m.Changes, p.changes...)
		}
		if i == 0 {
			continue
		}
		flag, refused := a.joint(p.marked, seams[p.first], least, ch[i-1], ch[i])
		if refused != "" {
			return Match{Why: refused}, false
		}
		if m.Why == "" {
			m.Why = flag
		}
	}
	m.Flagged = m.Why != ""
	m.Ranges = m.Ranges[:0]
	edits, length := 0, 0
	for i, p := range ps {
		edits += p.edits
		length += utf8.RuneCountInString(formOf(r.tokens[p.first : p.last+1]))
		// A place holds the piece's tokens one for one, unless it is near; then
		// it has one part.
		for k, from := range p.parts {
			h := hit{ch[i].first + from - p.first, ch[i].last}
			last := p.last
			if k+1 < len(p.parts) {
				last = p.parts[k+1] - 1
				h.last = ch[i].first + last - p.first
			}
			m.Ranges = append(m.Ranges, a.outer(r, last, h))
		}
	}
	m.Similarity = 1 - float64(edits)/float64(max(1, length))
	return m, true
}

// besides reports whether place i of a chain follows the one before it, or is
// followed by the next, within few words.
func besides(ch []hit, i int) bool {
	near := func(g, h hit) bool { return g.last < h.first && h.first-g.last-1 <= beside }
	return i > 0 && near(ch[i-1], ch[i]) || i+1 < len(ch) && near(ch[i], ch[i+1])
}

// joint judges two places that the quote has side by side: whether a reader
// should look at what was left out between them, or, refused, why they must
// not be joined.
func (a *Anchorer) joint(marked bool, at, least seam, prev, next hit) (flag, refused string) {
	gap := next.first - prev.last - 1 // below 0 if the story has next first
	var left []token
	if gap > 0 {
		left = a.tokens(prev.last+1, next.first)
	}
	says := func(toks []token) bool { return !guardsOf(a.story, toks).equal(guards{}) }
	negates := func(toks []token) bool { return guardsOf(a.story, toks).negations > 0 }
	within := gap >= 0 && !a.sentenceWithin(prev.last, next.first) // one sentence
	// What is told in a speech tag says nothing about the speech.
	tag := gap > 1 && a.speechTag(prev.last, next.first) && !negates(left[:1]) && !negates(left[gap-1:])
	unmarked := least < seamSentence && !marked // joined in the middle of a sentence
	switch {
	case least == seamSpoken && (!tag || gap > beside):
		return "", WhyAbsent
	case unmarked && at == seamClause && !tag && !within:
		return "", WhyAbsent
	case unmarked && (gap < 0 || int(a.toks[next.first].start-a.toks[prev.last].end) > clauseGap):
		return "", WhyAbsent
	case tag && unmarked:
		return WhyElided, ""
	case tag:
		return "", ""
	}
	// What the story says on in the clause that one place breaks off, and what
	// it said before in the clause that the next one breaks into.
	tail, head := prev.last, next.first
	for !a.clauseEnds(tail) {
		tail++
	}
	for head > 0 && !a.clauseEnds(head-1) {
		head--
	}
	after, before := a.tokens(prev.last+1, tail+1), a.tokens(head, next.first)
	// Right beside a place a negation turns it around, whatever marks the gap;
	// so do a few words with a number or a negation among them.
	beside := len(after) > 0 && negates(after[:1]) || len(before) > 0 && negates(before[len(before)-1:])
	broken := says(after) || says(before) || within && says(left)
	switch {
	case beside, unmarked && says(left), !marked && broken, 0 < gap && gap <= fewWords && says(left):
		if beside || negates(left) || negates(after) || negates(before) {
			return "", WhyNegation
		}
		return "", WhyNumber
	case gap < 0 || gap > apart:
		return WhyOrder, ""
	case broken, gap <= nearGap && says(left):
		return WhyHidden, ""
	case unmarked:
		return WhyElided, ""
	}
	return "", ""
}

// speechTag reports that what stands between story tokens i and j is told
// between two parts of direct speech in one paragraph: a mark closes speech
// after i, another opens it before j.
func (a *Anchorer) speechTag(i, j int) bool {
	if i+1 >= j || strings.Contains(between(a.story, int(a.toks[i].end), int(a.toks[j].start)), "\n") {
		return false
	}
	for k := i + 1; k < j-1; k++ {
		if strings.ContainsFunc(a.gap(k), func(r rune) bool { return plainMark(r) == '"' }) {
			return false // others speak in between
		}
	}
	split := func(gap string) (before, after string, ok bool) {
		for k, r := range gap {
			if p := plainMark(r); p == '"' || p == '\'' {
				before, after = gap[:k], gap[k+utf8.RuneLen(r):]
				return before, after, !strings.ContainsFunc(after, func(r rune) bool { return plainMark(r) == '"' })
			}
		}
		return "", "", false
	}
	blank := func(s string) bool { return strings.ContainsFunc(s, unicode.IsSpace) }
	open := func(s string) bool { return blank(s) || strings.ContainsAny(s, "-–—，：,:") }
	before, after, ok := split(a.gap(i))
	if !ok || blank(before) || !(blank(after) || isCJK(a.first1(i+1))) {
		return false
	}
	before, after, ok = split(a.gap(j - 1))
	return ok && open(before) && !blank(after)
}

// first1 returns the first character of story token i.
func (a *Anchorer) first1(i int) rune {
	r, _ := utf8.DecodeRuneInString(a.words[a.toks[i].id])
	return r
}

// sentenceWithin reports whether a sentence ends somewhere between story
// tokens i and j.
func (a *Anchorer) sentenceWithin(i, j int) bool {
	for ; i < j; i++ {
		if a.sentenceEnds(i) {
			return true
		}
	}
	return false
}

// chains returns the ways to place the pieces that lie together best: more
// than one if a whole passage is repeated, none if that is impossible or if
// there are too many places to compare.
func (a *Anchorer) chains(ps []piece) [][]hit {
	const most = 1 << 21 // comparisons
	type cell struct{ cost, next int }
	work := 0
	for i := range ps[1:] {
		work += len(ps[i].hits) * len(ps[i+1].hits)
	}
	if work > most {
		return nil
	}
	// From the last piece back, the best continuation of each place.
	table := make([][]cell, len(ps))
	for i := len(ps) - 1; i >= 0; i-- {
		table[i] = make([]cell, len(ps[i].hits))
		if i == len(ps)-1 {
			continue
		}
		for x, h := range ps[i].hits {
			best := cell{cost: -1}
			for y, g := range ps[i+1].hits {
				gap := g.first - h.last - 1
				if gap < 0 {
					gap = backwards + max(0, h.first-g.last-1)
					if g.overlaps(h) {
						continue // a piece does not stand inside another
					}
				}
				if t := table[i+1][y].cost; t >= 0 && (best.cost < 0 || gap+t < best.cost) {
					best = cell{gap + t, y}
				}
			}
			table[i][x] = best
		}
	}
	least := -1
	for _, c := range table[0] {
		if c.cost >= 0 && (least < 0 || c.cost < least) {
			least = c.cost
		}
	}
	if least < 0 {
		return nil
	}
	var out [][]hit
	for x, c := range table[0] {
		if c.cost != least {
			continue
		}
		ch := make([]hit, len(ps))
		for i := range ps {
			ch[i] = ps[i].hits[x]
			x = table[i][x].next
		}
		out = append(out, ch)
	}
	return out
}
