// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"math/bits"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// Limits of the default scorer.
const (
	maxOccurrences = 3 // a quote that stands in more sentences says nothing
	maxSentences   = 5 // sentences a side that count
)

// mapper maps quotes to sentences by the default rules. It holds scratch
// space, so that a million quotes cost no garbage; each use needs the item's
// index.
//
// One quote is mapped in this order:
//
//  1. Verbatim: the quote's folded words stand in the story's, in one run. It
//     counts for each sentence of which it covers 4 words or the whole. A
//     quote of fewer words must be a whole sentence. What stands in more than
//     3 sentences is no quotation: unmapped, and that is final.
//  2. Else the sentences of 4 words or more that stand whole in the quote.
//  3. If the quote holds line breaks, tags, list marks or ellipses, also each
//     piece between them, by 1, else by 2, else by 4; but what stood at an
//     ellipsis is not matched by 4: an ellipsis is never bridged.
//  4. If nothing was found, and no ellipsis cuts the quote: the one sentence with
//     the best word-LCS F1, if that is 0.80 or more and numbers and negations
//     are the same in the same order. Ties go to the earlier sentence.
type mapper struct {
	buf      []byte
	words    []wordRange
	ids      []int32 // word numbers of the quote; -1 = not in the story
	found    []int32 // sentences of the quote at hand
	out      []int32 // sentences of the side, in order of the answer
	guards   []int32
	overlap  []int32  // per sentence
	touched  []int32  // sentences with overlap
	slot     []int32  // per word number: 1 + its position in distinct, 0 = not in the quote
	distinct []int32  // word numbers of the quote, once each
	counts   []int32  // how often, per distinct word
	masks    []uint64 // where, per distinct word, one bit a word of the quote
	v        []uint64
}

var mappers = sync.Pool{New: func() any { return new(mapper) }}

// result of one quote.
type mapped int

const (
	notFound  mapped = iota
	ambiguous        // found in too many places
	located          // m.found holds its sentences
)

// side maps the quotes of one side. It returns the sentences in the order of
// the answer, each once, and how many quotes mapped to none.
func (m *mapper) side(ix *storyIndex, quotes []string) (sentences []int32, unmapped int) {
	m.out = m.out[:0]
	for _, q := range quotes {
		if m.quote(ix, q) != located {
			unmapped++
			continue
		}
		for _, s := range m.found {
			if !slices.Contains(m.out, s) {
				m.out = append(m.out, s)
			}
		}
	}
	return m.out, unmapped
}

// quote maps one quote into m.found.
func (m *mapper) quote(ix *storyIndex, q string) mapped {
	m.found = m.found[:0]
	if found, ok := ix.whole[outerMarks(q)]; ok {
		// The same as verbatim gives, without folding.
		m.found = append(m.found, found...)
		if len(found) == 0 {
			return ambiguous
		}
		return located
	}
	m.fold(ix, q)
	if r := m.verbatim(ix); r != notFound {
		return r
	}
	m.sentencesInside(ix)
	pieces, elided := split(q)
	if len(pieces) == 0 {
		if len(m.found) == 0 {
			m.fuzzy(ix)
		}
		return m.state()
	}
	all := slices.Clone(m.found)
	bridged := false
	for i, p := range pieces {
		m.found = m.found[:0]
		m.fold(ix, p)
		if m.verbatim(ix) == notFound {
			if m.sentencesInside(ix); len(m.found) == 0 && !elided[i] {
				m.fuzzy(ix)
			}
		}
		all = append(all, m.found...)
		bridged = bridged || elided[i]
	}
	m.found = append(m.found[:0], compactInOrder(all)...)
	if len(m.found) == 0 && !bridged {
		m.fold(ix, q)
		m.fuzzy(ix)
	}
	return m.state()
}

func (m *mapper) state() mapped {
	if len(m.found) == 0 {
		return notFound
	}
	return located
}

// fold puts the word numbers of q into m.ids.
func (m *mapper) fold(ix *storyIndex, q string) {
	m.buf, m.words = appendWords(m.buf[:0], m.words[:0], q)
	m.ids = m.ids[:0]
	for _, w := range m.words {
		id, ok := ix.vocab[string(m.buf[w.start:w.end])]
		if !ok {
			id = -1
		}
		m.ids = append(m.ids, id)
	}
}

// shortSentence finds sentences that are equal to a quote of 1 to 3 words.
func (m *mapper) shortSentence(ix *storyIndex) mapped {
	if len(m.ids) == 0 {
		return notFound
	}
	for _, s := range ix.short {
		if slices.Equal(m.ids, ix.stream[ix.starts[s]:ix.starts[s+1]]) {
			m.found = append(m.found, s)
		}
	}
	switch {
	case len(m.found) == 0:
		return notFound
	case len(m.found) > maxOccurrences:
		m.found = m.found[:0]
		return ambiguous
	}
	return located
}

// verbatim finds the quote as a run of the story's words.
func (m *mapper) verbatim(ix *storyIndex) mapped {
	if len(m.ids) < minWords {
		return m.shortSentence(ix)
	}
	if slices.Contains(m.ids, -1) {
		return notFound
	}
	places, last := 0, int32(-1)
	for _, g := range ix.gramsOf(m.ids) {
		to := g.pos + int32(len(m.ids))
		if int(to) > len(ix.stream) || !slices.Equal(m.ids, ix.stream[g.pos:to]) {
			continue
		}
		first := int32(-1)
		for s := ix.sentence[g.pos]; int(s) < len(ix.starts)-1 && ix.starts[s] < to; s++ {
			a, b := ix.starts[s], ix.starts[s+1]
			covered := min(to, b) - max(g.pos, a)
			if covered < minWords && covered < b-a || covered <= 0 {
				continue
			}
			if first < 0 {
				first = s
			}
			if !slices.Contains(m.found, s) {
				m.found = append(m.found, s)
			}
		}
		// Occurrences come in order; two in one sentence are one place.
		if first >= 0 && first != last {
			places++
			last = first
		}
	}
	switch {
	case places == 0:
		return notFound
	case places > maxOccurrences:
		m.found = m.found[:0]
		return ambiguous
	}
	return located
}

// sentencesInside finds whole sentences of minWords or more in the quote. A
// sentence that the story repeats more than maxOccurrences times is left out.
func (m *mapper) sentencesInside(ix *storyIndex) {
	for i := 0; i+minWords <= len(m.ids); i++ {
		from := len(m.found)
		same := 0
		var length int32
		for _, g := range ix.gramsOf(m.ids[i:]) {
			s := ix.sentence[g.pos]
			if ix.starts[s] != g.pos {
				continue
			}
			n := ix.starts[s+1] - g.pos
			if n < minWords || int(n) > len(m.ids)-i || !slices.Equal(m.ids[i:i+int(n)], ix.stream[g.pos:g.pos+n]) {
				continue
			}
			// Sentences that start alike may differ in length; the longest is
			// the one quoted, shorter ones stand inside it by chance.
			switch {
			case n > length:
				m.found, same, length = m.found[:from], 0, n
			case n < length:
				continue
			}
			same++
			m.found = append(m.found, s)
		}
		if same > maxOccurrences {
			m.found = m.found[:from]
		}
	}
	m.found = compactInOrder(m.found)
}

// compactInOrder drops repeats, keeping first ones.
func compactInOrder(s []int32) []int32 {
	out := s[:0]
	for _, v := range s {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// gramsOf returns the places where the first minWords words of w may stand,
// in order. The caller compares: hashes collide.
func (ix *storyIndex) gramsOf(w []int32) []gram {
	h := hashGram(w)
	from, _ := slices.BinarySearchFunc(ix.grams, h, func(g gram, h uint32) int {
		switch {
		case g.hash < h:
			return -1
		case g.hash > h:
			return 1
		}
		return 0
	})
	to := from
	for to < len(ix.grams) && ix.grams[to].hash == h {
		to++
	}
	return ix.grams[from:to]
}

// fuzzy finds the best single sentence by word-LCS F1 = 2*lcs/(n+m) >= 0.80.
// All arithmetic is in integers, so that every implementation agrees.
func (m *mapper) fuzzy(ix *storyIndex) {
	n := len(m.ids)
	if n < minWords || 5*ix.longest < 2*(n+ix.longest) {
		return // also bounds the work on endless quotes
	}
	m.guards = m.guards[:0]
	for i, id := range m.ids {
		switch {
		case id >= 0 && ix.guard[id]:
			m.guards = append(m.guards, id)
		case id < 0 && guarded(m.buf[m.words[i].start:m.words[i].end]):
			return // no sentence has that number or negation
		}
	}

	// A bound first: words in common, whatever their order.
	if len(m.overlap) < len(ix.guards) {
		m.overlap = make([]int32, len(ix.guards))
	}
	m.index(ix)
	m.touched = m.touched[:0]
	for slot, id := range m.distinct {
		for _, p := range ix.postings[ix.offsets[id]:ix.offsets[id+1]] {
			if m.overlap[p.sentence] == 0 {
				m.touched = append(m.touched, p.sentence)
			}
			m.overlap[p.sentence] += min(p.count, m.counts[slot])
		}
	}
	slices.Sort(m.touched)

	best, bestLCS, bestSum := int32(-1), 0, 1
	for _, s := range m.touched {
		words := ix.stream[ix.starts[s]:ix.starts[s+1]]
		sum := n + len(words)
		bound := int(m.overlap[s])
		m.overlap[s] = 0
		if len(words) < minWords || 5*bound < 2*sum || bound*bestSum <= bestLCS*sum ||
			!slices.Equal(m.guards, ix.guards[s]) {
			continue
		}
		lcs := m.lcs(words)
		if 5*lcs >= 2*sum && lcs*bestSum > bestLCS*sum {
			best, bestLCS, bestSum = s, lcs, sum
		}
	}
	for _, id := range m.distinct {
		m.slot[id] = 0
	}
	if best >= 0 {
		m.found = append(m.found, best)
	}
}

// index notes for each distinct word of the quote how often and, as bits,
// where it stands there.
func (m *mapper) index(ix *storyIndex) {
	if len(m.slot) < len(ix.guard) {
		m.slot = make([]int32, len(ix.guard))
	}
	blocks := (len(m.ids) + 63) / 64
	m.distinct, m.counts, m.masks = m.distinct[:0], m.counts[:0], m.masks[:0]
	for i, id := range m.ids {
		if id < 0 {
			continue
		}
		if m.slot[id] == 0 {
			m.distinct = append(m.distinct, id)
			m.counts = append(m.counts, 0)
			for range blocks {
				m.masks = append(m.masks, 0)
			}
			m.slot[id] = int32(len(m.distinct))
		}
		slot := int(m.slot[id] - 1)
		m.counts[slot]++
		m.masks[slot*blocks+i/64] |= 1 << (i % 64)
	}
}

// lcs returns the length of the longest common subsequence of the quote and
// words, 64 words of the quote at a time (Hyyrö 2004: zeros of v mark it).
func (m *mapper) lcs(words []int32) int {
	n := len(m.ids)
	blocks := (n + 63) / 64
	m.v = m.v[:0]
	for range blocks {
		m.v = append(m.v, ^uint64(0))
	}
	for _, w := range words {
		slot := int(m.slot[w]) - 1
		if slot < 0 {
			continue
		}
		var carry uint64
		for b := range blocks {
			v := m.v[b]
			u := v & m.masks[slot*blocks+b]
			sum, c := bits.Add64(v, u, carry)
			m.v[b] = sum | v&^u
			carry = c
		}
	}
	length := 0
	for b, v := range m.v {
		if rest := n - 64*b; rest < 64 {
			v |= ^uint64(0) << rest
		}
		length += 64 - bits.OnesCount64(v)
	}
	return length
}

var (
	ellipsis   = regexp.MustCompile(`\.(?:[ \t]*\.){2,}|…|⋯`)
	tag        = regexp.MustCompile(`</?[A-Za-z][A-Za-z0-9_]{0,30}[ \t]*/?>`)
	listMarker = regexp.MustCompile(`^[ \t*•–—-]*(?:[(\[]?[0-9]{1,3}[.):\]]|(?i:line|sentence|paragraph)s?[ \t][0-9]{1,3}[.:)]?)[ \t]*`)
)

// split cuts a quote at tags, line breaks and ellipses, and takes list marks
// off. elided tells the pieces that stood at an ellipsis inside a line. A
// quote without any of these gives nothing.
func split(q string) (pieces []string, elided []bool) {
	lines := strings.FieldsFunc(tag.ReplaceAllString(breakTag.ReplaceAllString(q, "\n"), " "), func(r rune) bool { return r == '\n' || r == '\r' })
	for _, line := range lines {
		line = line[len(listMarker.FindString(line)):]
		var parts []string
		for _, p := range ellipsis.Split(line, -1) {
			if strings.IndexFunc(p, isWordRune) >= 0 {
				parts = append(parts, p)
			}
		}
		for _, p := range parts {
			pieces = append(pieces, p)
			elided = append(elided, len(parts) > 1)
		}
	}
	if len(pieces) == 1 && pieces[0] == q {
		return nil, nil
	}
	return pieces, elided
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }
