// SPDX-License-Identifier: Apache-2.0

package text

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Near matches. Candidates are places where words of the quote gather on one
// diagonal; there the quote is aligned with the story word by word (so that a
// range never cuts a word), the alignment is checked for what may not change,
// and the edits are counted in characters.
const (
	maxEdits   = 0.25 // of the quote's characters, in comparison form
	minKept    = 0.5  // of the quote's characters must be in words that stayed
	maxMissing = 2    // words that may be left out in all, without becoming pieces
	// Fewer words than this, and fewer characters, are no ground for a near match.
	minFuzzyWords, minFuzzyRunes = 4, 20
	// More words would take an alignment of many megabytes, and are no quote.
	maxFuzzyWords = 3000
)

// aligned is one step of an alignment: quote word q stands for story word s;
// -1 for none.
type aligned struct {
	q, s int
	same bool
}

// region is a run of changed words, between kept ones.
type region struct {
	q, s [2]int // half-open ranges of quote tokens and story tokens
}

func (g region) edge(n int) bool { return g.q[0] == 0 || g.q[1] == n }

// candidate is a place aligned with the quote.
type candidate struct {
	steps   []aligned // from the first to the last kept or changed word
	span    hit
	regions []region
	edits   int // characters
}

// nearly finds the reading's nearest place, or says why there is none.
func (a *Anchorer) nearly(r *reading, near int) Match {
	none := func(why string, like float64) Match {
		return Match{Class: ClassNone, Why: why, Similarity: like}
	}
	n := len(r.tokens)
	form := formOf(r.tokens)
	length := utf8.RuneCountInString(form)
	if n < minFuzzyWords && length < minFuzzyRunes || n < 3 {
		return none(WhyShort, 0)
	}
	if n > maxFuzzyWords {
		return none(WhyLong, 0)
	}
	cs := a.candidates(r, form)
	if len(cs) == 0 {
		return none(WhyAbsent, 0)
	}
	edits := cs[0].edits
	like := max(0, 1-float64(edits)/float64(length))
	if float64(edits) > maxEdits*float64(length) {
		return none(WhyAbsent, like)
	}
	// Several places at the same distance: the same words (a sentence said
	// twice) are a choice by position, others are not told apart without a hint.
	var best []candidate
	// A place that is as near but for a number or a negation is the likelier
	// source of the quote.
	const margin = 2
	why := ""
	for _, c := range cs {
		if c.edits > edits+margin {
			break
		}
		switch w := a.forbidden(r, c); {
		case w != "":
			if why == "" || c.edits == edits {
				why = w
			}
			if w == WhyNumber || w == WhyNegation {
				return none(w, like)
			}
		case c.edits == edits:
			best = append(best, c)
		}
	}
	if len(best) == 0 {
		return none(why, like)
	}
	form = formOf(a.tokens(best[0].span.first, best[0].span.last+1))
	for _, c := range best[1:] {
		if near < 0 && formOf(a.tokens(c.span.first, c.span.last+1)) != form {
			return none(WhyAmbiguous, like)
		}
	}
	at := make([]Range, len(best))
	for i, c := range best {
		at[i] = a.outer(r, n-1, c.span)
	}
	m := choose(ClassFuzzy, r, at, near)
	c := best[slices.IndexFunc(at, func(p Range) bool { return p == m.Ranges[0] })]
	m.Similarity, m.Flagged, m.Why, m.Changes = like, true, WhyChanged, a.changes(r, c)
	if parts := a.split(c); len(parts) > 1 {
		m.Class, m.Why, m.Ranges = ClassPieces, WhyElided, nil
		for i, p := range parts {
			if i == len(parts)-1 {
				m.Ranges = append(m.Ranges, a.outer(r, n-1, p))
				break
			}
			m.Ranges = append(m.Ranges, Range{int(a.toks[p.first].start), int(a.toks[p.last].end)})
		}
	}
	return m
}

// formOf is the text that edits are counted on: words with one blank between
// them, numbers in words as digits, so that another spelling costs nothing.
func formOf(toks []token) string {
	b := make([]byte, 0, 8*len(toks))
	add := func(s string) {
		if len(b) > 0 {
			b = append(b, ' ')
		}
		b = append(b, s...)
	}
	var n phrase
	var value [1]string
	flush := func() {
		for _, v := range n.flush(value[:0]) {
			add(v)
		}
	}
	for i, t := range toks {
		if n.take(t.text) || n.joins(toks, i) {
			continue
		}
		flush()
		if !n.take(t.text) {
			add(t.text)
		}
	}
	flush()
	return string(b)
}

// candidates returns the places that most of the quote's words point at,
// aligned, the nearest first, then in story order.
func (a *Anchorer) candidates(r *reading, form string) []candidate {
	const width = 8 // diagonals a bucket; two neighbours count together
	n := len(r.tokens)
	ids := make([]int32, n)
	weights := make([]int, n)
	total := 0
	for i, t := range r.tokens {
		ids[i] = a.id(t.text)
		weights[i] = t.runes()
		total += weights[i]
	}
	votes := make([]int32, (len(a.toks)+n)/width+2)
	for i, id := range ids {
		if id < 0 {
			continue
		}
		for _, p := range a.places(id) {
			votes[(int(p)-i+n)/width] += int32(weights[i])
		}
	}
	type bucket struct{ at, votes int }
	var top []bucket
	for b := range votes[:len(votes)-1] {
		v := int(votes[b] + votes[b+1])
		if float64(v) >= minKept*float64(total) {
			top = append(top, bucket{b, v})
		}
	}
	slices.SortStableFunc(top, func(x, y bucket) int { return y.votes - x.votes })
	var out []candidate
	var tried []int
	for _, b := range top {
		if len(tried) == 8 || b.votes*4 < top[0].votes*3 {
			break
		}
		if slices.ContainsFunc(tried, func(t int) bool { return b.at-t <= 1 && t-b.at <= 1 }) {
			continue
		}
		tried = append(tried, b.at)
		margin := max(6, n/3)
		lo := max(0, b.at*width-n-margin)
		hi := min(len(a.toks), b.at*width-n+2*width+n+margin)
		for _, c := range a.align(r, ids, weights, lo, hi) {
			a.widen(&c, r, form)
			// Two diagonals may lead to one place.
			same := slices.IndexFunc(out, func(o candidate) bool { return o.span.overlaps(c.span) })
			switch {
			case same < 0:
				out = append(out, c)
			case c.edits < out[same].edits:
				out[same] = c
			}
		}
	}
	slices.SortStableFunc(out, func(x, y candidate) int {
		if x.edits != y.edits {
			return x.edits - y.edits
		}
		return x.span.first - y.span.first
	})
	return out
}

// align finds the run of story tokens in [lo, hi) that the quote's tokens turn
// into at the lowest cost, and others beside it that are about as near. Runs in
// which too few words stay are left out.
func (a *Anchorer) align(r *reading, ids []int32, weights []int, lo, hi int) []candidate {
	n, m := len(ids), hi-lo
	if m <= 0 {
		return nil
	}
	const (
		same = iota
		del  // the quote's word is not in the story
		sub
		ins // the story's word is not in the quote
	)
	lens := make([]int, m)
	for j := range lens {
		lens[j] = utf8.RuneCountInString(a.words[a.toks[lo+j].id])
	}
	moves := make([]uint8, (n+1)*(m+1))
	cost := make([]int, m+1)
	prev := make([]int, m+1)
	for i := 1; i <= n; i++ {
		cost, prev = prev, cost
		cost[0] = prev[0] + 4*(weights[i-1]+1)
		row := moves[i*(m+1):]
		row[0] = del
		for j := 1; j <= m; j++ {
			s := a.toks[lo+j-1].id
			if s == ids[i-1] {
				// Half a character's credit, so that rather a word more is
				// left out than the rest of the quote rewritten.
				cost[j], row[j] = prev[j-1]-2*weights[i-1], same
			} else {
				cost[j], row[j] = prev[j-1]+change(r.tokens[i-1].text, a.words[s], weights[i-1], lens[j-1]), sub
			}
			if d := prev[j] + 4*(weights[i-1]+1); d < cost[j] || d == cost[j] && row[j] == sub {
				cost[j], row[j] = d, del
			}
			if d := cost[j-1] + 4*(lens[j-1]+1); d < cost[j] {
				cost[j], row[j] = d, ins
			}
		}
	}
	trace := func(end int) candidate {
		var c candidate
		for i, j := n, end; i > 0; {
			switch moves[i*(m+1)+j] {
			case same:
				i, j = i-1, j-1
				c.steps = append(c.steps, aligned{i, lo + j, true})
			case sub:
				i, j = i-1, j-1
				c.steps = append(c.steps, aligned{i, lo + j, false})
			case del:
				i--
				c.steps = append(c.steps, aligned{i, -1, false})
			case ins:
				j--
				c.steps = append(c.steps, aligned{-1, lo + j, false})
			}
		}
		slices.Reverse(c.steps)
		return c
	}
	ends := make([]int, m+1)
	for j := range ends {
		ends[j] = j
	}
	slices.SortStableFunc(ends, func(x, y int) int { return cost[x] - cost[y] })
	const slack = 4 * 8 // eight characters: the guards want to see near rivals
	var out []candidate
	for _, j := range ends {
		if cost[j] > cost[ends[0]]+slack || len(out) == 6 {
			break
		}
		c := trace(j)
		if a.finish(&c, r, weights) && !slices.ContainsFunc(out, func(o candidate) bool { return o.span.overlaps(c.span) }) {
			out = append(out, c)
		}
	}
	return out
}

// change is what it costs to turn one word into another, in quarters of a
// character: their edit distance if they have a beginning or an end in common;
// if not, more than to write over one with the other, lest unrelated words be
// paired where the quote left some out.
func change(q, s string, nq, ns int) int {
	alike := len(q) > 1 && len(s) > 1 && (q[:2] == s[:2] || len(q) > 2 && len(s) > 2 && q[len(q)-3:] == s[len(s)-3:])
	if !alike {
		return 4*max(nq, ns) + 2*min(nq, ns)
	}
	return 4 * editDistance(q, s)
}

// finish trims the edges of an alignment, finds its regions and span, and
// reports whether enough words stayed.
func (a *Anchorer) finish(c *candidate, r *reading, weights []int) bool {
	first := slices.IndexFunc(c.steps, func(s aligned) bool { return s.same })
	if first < 0 {
		return false
	}
	last := len(c.steps) - 1
	for !c.steps[last].same {
		last--
	}
	// A changed word at the edge is no part of the passage if a sentence of
	// the story ends between it and the kept words.
	for i, at := first-1, c.steps[first].s; i >= 0; i-- {
		s := &c.steps[i]
		if s.s >= 0 && (at < 0 || a.sentenceEnds(s.s)) {
			s.s, at = -1, -1
		}
	}
	ended := false
	for i, at := last+1, c.steps[last].s; i < len(c.steps); i++ {
		s := &c.steps[i]
		if s.s >= 0 {
			ended = ended || a.sentenceEnds(at)
			at = s.s
			if ended {
				s.s = -1
			}
		}
	}
	c.steps = slices.DeleteFunc(c.steps, func(s aligned) bool { return s.q < 0 && s.s < 0 })
	kept, total := 0, 0
	for _, w := range weights {
		total += w
	}
	c.span = hit{-1, -1}
	q, s := 0, -1
	open := false
	var g region
	for _, st := range c.steps {
		if st.s >= 0 {
			if c.span.first < 0 {
				c.span.first = st.s
			}
			c.span.last = st.s
		}
		if st.same {
			kept += weights[st.q]
			if open {
				g.q[1], g.s[1] = st.q, st.s
				c.regions = append(c.regions, g)
				open = false
			}
			q, s = st.q+1, st.s+1
			continue
		}
		if !open {
			open = true
			g = region{q: [2]int{q, q}, s: [2]int{s, s}}
			if s < 0 { // before the first kept word
				g.s[0] = -1
			}
		}
		if g.s[0] < 0 && st.s >= 0 {
			g.s[0] = st.s
		}
	}
	if open {
		g.q[1], g.s[1] = len(r.tokens), max(c.span.last+1, s)
		c.regions = append(c.regions, g)
	}
	for i := range c.regions {
		if c.regions[i].s[0] < 0 {
			c.regions[i].s[0] = c.regions[i].s[1]
		}
	}
	return float64(kept) >= minKept*float64(total)
}

// widen counts the edits of an alignment, and takes in the words of the
// story's clause that stand where the quote has words of its own at an edge
// ("Mira found" for "Damian found"), unless they are much longer.
func (a *Anchorer) widen(c *candidate, r *reading, form string) {
	n := len(r.tokens)
	const more = 6 // characters that may come on top
	most := int(maxEdits * float64(utf8.RuneCountInString(form)))
	count := func(h hit) int { return editDistance(form, formOf(a.tokens(h.first, h.last+1))) }
	c.edits = count(c.span)
	for i := range c.regions {
		g := &c.regions[i]
		if !g.edge(n) {
			continue
		}
		span, s := c.span, g.s
		for words := (g.q[1] - g.q[0]) - (g.s[1] - g.s[0]); words > 0; words-- {
			if g.q[0] == 0 && s[0] > 0 && !a.clauseEnds(s[0]-1) {
				s[0]--
				span.first = s[0]
			} else if g.q[0] > 0 && s[1] < len(a.toks) && !a.clauseEnds(s[1]-1) {
				s[1]++
				span.last = s[1] - 1
			}
		}
		if edits := count(span); edits <= c.edits || edits <= min(most, c.edits+more) {
			c.span, g.s, c.edits = span, s, edits
		}
		a.wholeNumber(c, g, r)
		c.edits = count(c.span)
		was, old := *g, c.span
		a.sameWords(c, g, r)
		if edits := count(c.span); edits <= max(c.edits, most) {
			c.edits = edits
		} else {
			*g, c.span = was, old
		}
	}
}

// sameWords takes in words of the quote's own that stand just outside an edge.
func (a *Anchorer) sameWords(c *candidate, g *region, r *reading) {
	qs := r.tokens[g.q[0]:g.q[1]]
	for k := len(qs); k > 0; k-- {
		lo, hi, part := g.s[0]-k, g.s[0], qs[:k]
		if g.q[0] > 0 {
			lo, hi, part = g.s[1], g.s[1]+k, qs[len(qs)-k:]
		}
		if lo < 0 || hi > len(a.toks) || !contains(a.tokens(lo, hi), part) {
			continue
		}
		g.s[0], g.s[1] = min(g.s[0], lo), max(g.s[1], hi)
		c.span.first, c.span.last = min(c.span.first, lo), max(c.span.last, hi-1)
		return
	}
}

// wholeNumber takes in the rest of a number in words at an edge, if that makes
// it the quote's ("28 guns" for "Twenty-eight guns").
func (a *Anchorer) wholeNumber(c *candidate, g *region, r *reading) {
	want := guardsOf(r.text, r.tokens[g.q[0]:g.q[1]])
	if len(want.numbers) == 0 {
		return
	}
	s, span := g.s, c.span
	part := func(i int) bool {
		return i >= 0 && i < len(a.toks) && (isCardinal(a.words[a.toks[i].id]) || a.words[a.toks[i].id] == "and")
	}
	for {
		if want.equal(guardsOf(a.story, a.tokens(s[0], s[1]))) {
			g.s, c.span = s, span
			return
		}
		switch {
		case g.q[0] == 0 && part(s[0]-1):
			s[0]--
			span.first = s[0]
		case g.q[0] > 0 && part(s[1]):
			s[1]++
			span.last = s[1] - 1
		default:
			return
		}
	}
}

// sentenceEnds reports whether a sentence ends between story token i and the
// next one.
func (a *Anchorer) sentenceEnds(i int) bool {
	if i+1 >= len(a.toks) {
		return true
	}
	gap := a.gap(i)
	if strings.ContainsAny(gap, "\n。！？") {
		return true
	}
	k := strings.IndexAny(gap, ".!?")
	return k >= 0 && strings.ContainsFunc(gap[k:], unicode.IsSpace)
}

// clauseEnds reports whether a clause ends between story token i and the next.
func (a *Anchorer) clauseEnds(i int) bool {
	if i+1 >= len(a.toks) {
		return true
	}
	return strings.ContainsAny(a.gap(i), ".!?。！？\n,;:，；：—–")
}

// forbidden says which rule an alignment breaks, "" for none.
func (a *Anchorer) forbidden(r *reading, c candidate) string {
	n := len(r.tokens)
	if !a.labelled(r, c.span, c.span) {
		return WhyAbsent
	}
	for _, g := range c.regions {
		qs := r.tokens[g.q[0]:g.q[1]]
		ss := a.tokens(g.s[0], g.s[1])
		if why := differ(guardsOf(r.text, qs), guardsOf(a.story, ss)); why != "" {
			return why
		}
		for _, q := range qs {
			for _, s := range ss {
				if opposed(q.text, s.text) {
					return WhyNegation
				}
			}
		}
		if g.edge(n) {
			if why := a.leftOff(g, n); why != "" {
				return why
			}
		} else if a.sentenceWithin(g.s[0]-1, g.s[1]) {
			// A "not" of the next sentence does not stand for one of this.
			beside := append(a.tokens(g.s[0]-1, g.s[0]), a.tokens(g.s[1], g.s[1]+1)...)
			if why := differ(guards{}, guardsOf(a.story, beside)); why != "" {
				return why
			}
		}
	}
	// An ellipsis of the quote must be one of the story.
	for _, st := range c.steps {
		if st.q > 0 && r.tokens[st.q].ellipsis && (st.s < 0 || !a.toks[st.s].ellipsis) {
			return WhyEllipsis
		}
	}
	if parts := a.split(c); len(parts) > 1 {
		for _, p := range parts {
			if p.last-p.first < 1 {
				return WhyEllipsis
			}
		}
	}
	return ""
}

func differ(q, s guards) string {
	switch {
	case !slices.Equal(q.numbers, s.numbers):
		return WhyNumber
	case q.negations != s.negations:
		return WhyNegation
	}
	return ""
}

// leftOff looks past a changed edge of the quote for a number or negation that
// was left off next to the kept words: to drop the words before it costs less
// than to count it as missing. It looks at as many words as the quote has more
// than the story there, across the end of a sentence too (a list number), and
// in the same sentence at one word more for a negation, because of "no longer".
func (a *Anchorer) leftOff(g region, n int) string {
	more := max(0, (g.q[1]-g.q[0])-(g.s[1]-g.s[0]))
	var near, farther []token
	if g.q[0] == 0 {
		lo := max(0, g.s[0]-more)
		near = a.tokens(lo, g.s[0])
		if lo > 0 && !a.sentenceWithin(lo-1, g.s[0]) {
			farther = a.tokens(lo-1, lo)
		}
	} else {
		hi := min(len(a.toks), g.s[1]+more)
		near = a.tokens(g.s[1], hi)
		if hi < len(a.toks) && !a.sentenceWithin(g.s[1]-1, hi) {
			farther = a.tokens(hi, hi+1)
		}
	}
	if why := differ(guards{}, guardsOf(a.story, near)); why != "" {
		return why
	}
	if guardsOf(a.story, farther).negations > 0 {
		return WhyNegation
	}
	return ""
}

// split returns the parts of an alignment if the quote leaves out more words
// of the story than a change would, one part if it does not.
func (a *Anchorer) split(c candidate) []hit {
	missing := 0
	only := func(g region) bool {
		return g.q[0] == g.q[1] && g.s[0] > c.span.first && g.s[1] <= c.span.last
	}
	for _, g := range c.regions {
		if only(g) {
			missing += g.s[1] - g.s[0]
		}
	}
	if missing <= maxMissing {
		return []hit{c.span}
	}
	var out []hit
	from := c.span.first
	for _, g := range c.regions {
		if only(g) {
			out = append(out, hit{from, g.s[0] - 1})
			from = g.s[1]
		}
	}
	return append(out, hit{from, c.span.last})
}

func (a *Anchorer) changes(r *reading, c candidate) []Change {
	var out []Change
	for _, g := range c.regions {
		var ch Change
		if g.q[0] < g.q[1] {
			ch.Quote = r.text[r.tokens[g.q[0]].start:r.tokens[g.q[1]-1].end]
		}
		if g.s[0] < g.s[1] {
			ch.Story = a.story[a.toks[g.s[0]].start:a.toks[g.s[1]-1].end]
		}
		out = append(out, ch)
	}
	return out
}

// editDistance is the Levenshtein distance of two texts in code points, by
// Myers' bit-vector method in blocks of 64 rows (Hyyrö's formulation).
func editDistance(a, b string) int {
	if a == b {
		return 0
	}
	// What the two have in common at either end costs nothing.
	for a != "" && b != "" {
		r, n := utf8.DecodeRuneInString(a)
		s, m := utf8.DecodeRuneInString(b)
		if r != s || n != m {
			break
		}
		a, b = a[n:], b[m:]
	}
	for a != "" && b != "" {
		r, n := utf8.DecodeLastRuneInString(a)
		s, m := utf8.DecodeLastRuneInString(b)
		if r != s || n != m {
			break
		}
		a, b = a[:len(a)-n], b[:len(b)-m]
	}
	m := utf8.RuneCountInString(a)
	if m == 0 || b == "" {
		return m + utf8.RuneCountInString(b)
	}
	blocks := (m + 63) / 64
	var small [4 * utf8.RuneSelf]uint64
	peq := small[:]
	if blocks > 4 {
		peq = make([]uint64, blocks*utf8.RuneSelf)
	}
	var other map[rune][]uint64
	i := 0
	for _, r := range a {
		bit := uint64(1) << (i & 63)
		if r < utf8.RuneSelf {
			peq[int(r)*blocks+i>>6] |= bit
		} else {
			if other == nil {
				other = map[rune][]uint64{}
			}
			if other[r] == nil {
				other[r] = make([]uint64, blocks)
			}
			other[r][i>>6] |= bit
		}
		i++
	}
	none := make([]uint64, blocks)
	pv := make([]uint64, blocks)
	mv := make([]uint64, blocks)
	for k := range pv {
		pv[k] = ^uint64(0)
	}
	score := m
	top := uint64(1) << ((m - 1) & 63)
	for _, r := range b {
		eqs := none
		if r < utf8.RuneSelf {
			eqs = peq[int(r)*blocks : int(r)*blocks+blocks]
		} else if e, ok := other[r]; ok {
			eqs = e
		}
		hp, hm := uint64(1), uint64(0) // the first row counts insertions
		for k := range blocks {
			eq, p, q := eqs[k], pv[k], mv[k]
			xv := eq | q
			eq |= hm
			xh := (eq&p + p) ^ p | eq
			ph := q | ^(xh | p)
			mh := p & xh
			if k == blocks-1 {
				if ph&top != 0 {
					score++
				} else if mh&top != 0 {
					score--
				}
			}
			ph, hp = ph<<1|hp, ph>>63
			mh, hm = mh<<1|hm, mh>>63
			pv[k] = mh | ^(xv | ph)
			mv[k] = ph & xv
		}
	}
	return score
}
