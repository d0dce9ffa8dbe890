// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sentences returns the sentences of s in order, as byte ranges without the
// white space around them.
//
// Whatever s is, the ranges with the white space between them give s byte for
// byte, no range is empty, and none holds nothing but quotation marks and
// closing brackets (unless s holds nothing else).
//
// The rules are written for fiction in English, with what Chinese and Japanese
// need for their own full stops:
//
//   - A blank line ends a sentence, always. So do the ends of headings, list
//     items, rules such as "* * *", and of lines in texts that put a paragraph
//     on each line.
//   - Otherwise a sentence ends at a mark (. ! ? … and their wide forms) with
//     the closing quotes and brackets after it, if what follows looks like the
//     start of another: a capital, a digit, an opening quote. A small letter
//     goes on with the sentence.
//   - A quotation and the words that say who spoke it are one sentence: "Are
//     you sure?" Tom asked. Sentences inside a quotation are told apart.
//     After a question or exclamation a name, a pronoun or a noun with a verb
//     of saying is such a tag; any other capital starts a sentence. A
//     quotation that breaks off with a dash ends like one with a mark.
//   - A full stop after an abbreviation, an initial, a list number or a
//     chapter number ends a sentence only if a new one can be seen to start.
//   - Verse is read like prose: its lines are not sentences, so a sentence may
//     run over several lines and ends at its mark, and at the stanza's end at
//     the latest. A line end never joins what a mark has ended, as it might in
//     wrapped prose. Nothing is re-flowed; a sentence keeps its line breaks.
//
// A line break inside a paragraph is taken for a wrap if the line is about as
// long as the text's lines are and the next word would not have fitted.
//
// Where a rule needs a list of words, it is in sentence_lex.go.
//
// Sentences looks at every byte about once and allocates little but the result.
// It does not build on UAX #29: of the ends that the standard's rules find in
// fiction about one in twelve has to be taken back, and finding them takes as
// long as all of this. scripts/segeval compares the two.
func Sentences(s string) []Range {
	g := segmenter{s: s, out: make([]Range, 0, len(s)/64+4)}
	g.run()
	return g.out
}

// segmenter reads a text once, from left to right.
type segmenter struct {
	s     string
	out   []Range
	start int  // first byte of the sentence being read
	open  bool // an odd number of straight double quotes since the paragraph began
	bare  int  // up to here the sentence is known to hold no more than quotes
	bol   int  // first byte of the line being read
	lay   layout
}

// glance is how far, in bytes, a rule looks over quotes and brackets that pile
// up, so that the time stays in proportion to the text whatever it holds.
const glance = 64

// plain is true for bytes that no rule looks at by themselves.
var plain = func() (t [256]bool) {
	for c := range t {
		t[c] = true
	}
	for _, c := range "\n\r.!?\"-" {
		t[c] = false
	}
	// First bytes of the marks, quotes, dashes and line ends outside ASCII.
	for _, r := range "…‽。—–―！？．｡؟۔।॥՞։\u2028\u2029" {
		t[string(r)[0]] = false
	}
	return t
}()

func (g *segmenter) run() {
	s := g.s
	i, _ := gap(s, 0)
	g.start = i
	for i < len(s) {
		c := s[i]
		if plain[c] {
			i++
			continue
		}
		switch c {
		case '.', '!', '?':
			i = g.mark(i)
		case '\n', '\r':
			i = g.line(i)
		case '"':
			g.open = !g.open
			i++
		case '-':
			i = g.dash(i)
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			switch {
			case isMark(r):
				i = g.mark(i)
			case isDash(r):
				i = g.dash(i)
			case r == '\u2028', r == '\u2029':
				i = g.line(i)
			default:
				i += n
			}
		}
	}
	g.cut(len(s), len(s))
	g.finish()
}

// cut ends the sentence being read at byte end, or where the white space
// before it begins, and starts the next at byte next.
func (g *segmenter) cut(end, next int) {
	end = trimEnd(g.s, g.start, end)
	if end <= g.start {
		return
	}
	if bare(g.s[max(g.start, g.bare):end]) {
		g.bare = end
		// A lone quote belongs to what it stands behind. If that is nothing,
		// or it opens and a blank line stands between, start stays, and it
		// belongs to what follows.
		if len(g.out) == 0 {
			return
		}
		last := &g.out[len(g.out)-1]
		if _, lines := gap(g.s, last.End); lines > 1 && next < len(g.s) && opens(g.s[g.start:end]) {
			return
		}
		last.End = end
		g.start = next
		return
	}
	g.out = append(g.out, Range{g.start, end})
	g.start = next
}

// finish gives marks that found no sentence to belong to one of their own.
func (g *segmenter) finish() {
	end := trimEnd(g.s, g.start, len(g.s))
	if end <= g.start {
		return
	}
	if len(g.out) > 0 {
		g.out[len(g.out)-1].End = end
		return
	}
	g.out = append(g.out, Range{g.start, end})
}

// end is an end mark and all that belongs to it.
type end struct {
	at   int // first byte of the mark
	stop int // after the mark and the closing quotes and brackets behind it

	dots     int  // full stops; one may be an abbreviation's
	asks     bool // ! or ?
	ellipsis bool // …, or two full stops or more
	dash     bool // a quotation that breaks off
	wide     bool // a mark that needs no white space behind it
	quote    bool // closing quotation mark or emphasis after the last mark
	bracket  bool // closing bracket after the last mark
	flips    bool // an odd number of straight double quotes was passed
}

// mark reads the end mark at byte i and ends the sentence there if it does.
// It returns where to read on.
func (g *segmenter) mark(i int) int {
	e := g.readEnd(i)
	return g.settle(e)
}

// dash reads a dash. It ends a sentence only right before a closing quote:
// a speaker interrupted.
func (g *segmenter) dash(i int) int {
	s := g.s
	j := i
	if s[i] == '-' {
		for j < len(s) && s[j] == '-' {
			j++
		}
		if j-i == 1 && (j == len(s) || s[j] != '"' && s[j] != 0xE2) {
			return j // a hyphen, unless a quote shows it to be a dash
		}
	} else {
		for j < len(s) {
			r, n := utf8.DecodeRuneInString(s[j:])
			if !isDash(r) {
				break
			}
			j += n
		}
	}
	if j == len(s) {
		return j
	}
	r, n := utf8.DecodeRuneInString(s[j:])
	switch r {
	case '”', '’', '»', '\'', '"', '」', '』', '*', '_':
		if j+n < len(s) {
			if _, space := spaceAt(s, j+n); !space && !closes(s[j+n:]) {
				return j
			}
		}
	default:
		return j
	}
	if r == '"' && !g.open {
		return j // opens: he said--" Come"
	}
	e := end{at: i, stop: j, dash: true}
	g.closers(&e)
	return g.settle(e)
}

// settle ends the sentence at e if it ends there, and returns where to read
// on.
func (g *segmenter) settle(e end) int {
	if e.flips {
		g.open = !g.open
	}
	g.pass(e.at, e.stop)
	next, lines := gap(g.s, e.stop)
	if next == len(g.s) || lines > 1 {
		return e.stop // the paragraph ends, and line or run will cut
	}
	if !g.ends(e, next, lines) {
		return e.stop
	}
	g.pass(e.stop, next)
	if lines > 0 && g.hard(e.stop) && g.measure().loose {
		g.open = false
	}
	g.cut(e.stop, next)
	return next
}

// readEnd reads the mark at byte i, further marks, and what closes.
func (g *segmenter) readEnd(i int) end {
	e := end{at: i, stop: i}
	g.closers(&e)
	return e
}

// closers moves e.stop over marks, closing quotes and closing brackets.
func (g *segmenter) closers(e *end) {
	s := g.s
	run := 0 // full stops in a row
	j := e.stop
	for j < len(s) {
		c := s[j]
		switch c {
		case '.':
			e.dots++
			if run++; run > 1 {
				e.ellipsis = true
			}
			e.quote, e.bracket = false, false
			j++
			continue
		case '!', '?':
			e.asks = true
			e.quote, e.bracket = false, false
			run = 0
			j++
			continue
		case '"':
			if j+1 < len(s) && wordy(s[j+1:]) && g.open == e.flips {
				e.stop = j
				return // it opens the next sentence, with no blank before it
			}
			e.flips = !e.flips
			e.quote = true
			run = 0
			j++
			continue
		case '\'', '*', '_':
			if j+1 < len(s) && wordy(s[j+1:]) {
				e.stop = j
				return
			}
			e.quote = true
			run = 0
			j++
			continue
		case ')', ']', '}':
			e.bracket = true
			run = 0
			j++
			continue
		case '[', '(':
			// A footnote call: the ship sailed.[12]
			if n := noteCall(s[j:]); n > 0 && e.dots == 1 {
				run = 0
				j += n
				continue
			}
			e.stop = j
			return
		}
		if c < utf8.RuneSelf && !asciiSpace[c] {
			break
		}
		r, n := utf8.DecodeRuneInString(s[j:])
		switch {
		case r == '…':
			e.ellipsis = true
			e.quote, e.bracket = false, false
			run = 1
			j += n
			continue
		case isMark(r):
			e.asks = e.asks || r == '‽' || r == '！' || r == '？' || r == '؟' || r == '՞'
			e.wide = e.wide || isWide(r)
			e.quote, e.bracket = false, false
			run = 0
			j += n
			continue
		case isCloseQuote(r):
			if r == '’' && j+n < len(s) && wordy(s[j+n:]) {
				e.stop = j
				return // an apostrophe: ’Tis
			}
			e.quote = true
			run = 0
			j += n
			continue
		case isCloseBracket(r):
			e.bracket = true
			run = 0
			j += n
			continue
		case (r == '“' || r == '‘' || r == '«') && (j+n == len(s) || blankAt(s, j+n)):
			e.quote = true // closes, as in German
			run = 0
			j += n
			continue
		case isSpace(r):
			k := g.spaced(e, j, run)
			if k == j {
				e.stop = j
				return
			}
			j = k
			continue
		}
		break
	}
	e.stop = j
}

// spaced looks over white space at byte j for what still belongs to the mark
// before it: the next dot of a spaced ellipsis, a closing quote that stands
// alone. It returns the byte after that, or j if there is none.
func (g *segmenter) spaced(e *end, j, run int) int {
	s := g.s
	k, lines := gap(s, j)
	if lines > 1 || k == len(s) {
		return j
	}
	m := k
	switch c := s[k]; {
	case c == '.' && (run > 0 || e.dots > 0 && !e.quote && !e.bracket):
		for m < len(s) && s[m] == '.' {
			m++
		}
		if m-k > 1 && m < len(s) && !blankAt(s, m) && !closes(s[m:]) && s[m] != '!' && s[m] != '?' {
			return j // ...and then
		}
		e.ellipsis = true
		e.dots++
		return m
	case (c == '!' || c == '?') && !e.quote:
		for m < len(s) && (s[m] == '!' || s[m] == '?') {
			m++
		}
		if m < len(s) && !blankAt(s, m) && !closes(s[m:]) {
			return j
		}
		e.asks = true
		return m
	case c == '"':
		if k+1 < len(s) && !blankAt(s, k+1) {
			return j
		}
		if g.open == e.flips && g.opensAt(k) {
			return j
		}
		e.flips = !e.flips
		e.quote = true
		return k + 1
	case c == '\'':
		for m < len(s) && s[m] == '\'' && m < k+2 {
			m++
		}
		if m < len(s) && !blankAt(s, m) {
			return j
		}
		e.quote = true
		return m
	case c == ')' || c == ']':
		if k+1 < len(s) && !blankAt(s, k+1) {
			return j
		}
		e.bracket = true
		return k + 1
	}
	r, n := utf8.DecodeRuneInString(s[k:])
	if isCloseQuote(r) && (k+n == len(s) || blankAt(s, k+n) || closes(s[k+n:])) {
		e.quote = true
		return k + n
	}
	return j
}

// opensAt reports whether the straight quote at byte k, white space on both
// sides and no quotation open, opens one: another closes it in the same
// paragraph.
func (g *segmenter) opensAt(k int) bool {
	rest := g.s[k+1:]
	if len(rest) > 8*glance {
		rest = rest[:8*glance]
	}
	if p := strings.Index(rest, "\n\n"); p >= 0 {
		rest = rest[:p]
	}
	return strings.Count(rest, `"`)%2 == 1
}

// noteCall returns the length of a footnote call such as [12] or (3), or 0.
func noteCall(s string) int {
	i := 1
	for i < len(s) && i < 5 && '0' <= s[i] && s[i] <= '9' {
		i++
	}
	if i == 1 || i == len(s) || s[0] == '[' && s[i] != ']' || s[0] == '(' && s[i] != ')' {
		return 0
	}
	return i + 1
}

// gap returns the first byte at or after i that is no white space, and the
// number of line ends passed. A paragraph separator counts twice.
func gap(s string, i int) (next, lines int) {
	for i < len(s) {
		switch c := s[i]; {
		case c == ' ':
			i++
		case c == '\n':
			lines++
			i++
		case c < utf8.RuneSelf:
			if !asciiSpace[c] {
				return i, lines
			}
			if c == '\r' && (i+1 == len(s) || s[i+1] != '\n') {
				lines++
			}
			i++
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			if !isSpace(r) {
				return i, lines
			}
			switch r {
			case '\u0085', '\u2028':
				lines++
			case '\u2029':
				lines += 2
			}
			i += n
		}
	}
	return i, lines
}

// trimEnd returns the end of s[start:end] without white space at its end.
func trimEnd(s string, start, end int) int {
	for end > start {
		if c := s[end-1]; c < utf8.RuneSelf {
			if !asciiSpace[c] {
				return end
			}
			end--
			continue
		}
		r, n := utf8.DecodeLastRuneInString(s[start:end])
		if !isSpace(r) {
			return end
		}
		end -= n
	}
	return end
}

// blankAt reports white space at byte i.
func blankAt(s string, i int) bool {
	_, space := spaceAt(s, i)
	return space
}

// wordy reports whether s starts with a letter or digit.
func wordy(s string) bool {
	if s == "" {
		return false
	}
	if c := s[0]; c < utf8.RuneSelf {
		return asciiWord[c]
	}
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

// asciiWord are the bytes of ASCII letters and digits.
var asciiWord = func() (t [256]bool) {
	for c := range t {
		t[c] = '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
	}
	return t
}()

// closes reports whether s starts with a closing quote or bracket.
func closes(s string) bool {
	if s == "" {
		return false
	}
	r, _ := utf8.DecodeRuneInString(s)
	return r == '"' || r == '\'' || r == ')' || r == ']' || isCloseQuote(r) || isCloseBracket(r)
}

// bare reports whether s holds nothing but quotation marks, brackets and white
// space: no sentence.
func bare(s string) bool {
	if s != "" && s[0] < utf8.RuneSelf && asciiWord[s[0]] {
		return false // most sentences
	}
	for _, r := range s {
		if !isQuote(r) && !isCloseBracket(r) && !isOpenBracket(r) && !isSpace(r) {
			return false
		}
	}
	return true
}

// opens reports whether s starts with a mark that can only open.
func opens(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	switch r {
	case '“', '‘', '«', '‹', '„', '‚':
		return true
	}
	return isOpenBracket(r)
}

func isQuote(r rune) bool {
	switch r {
	case '"', '\'', '`', '“', '‘', '«', '‹', '„', '‚', '‟', '‛':
		return true
	}
	return isCloseQuote(r) || isOpenQuote(r)
}

func isOpenQuote(r rune) bool {
	switch r {
	case '“', '‘', '«', '‹', '„', '‚', '‟', '‛', '「', '『', '〝', '《', '〈':
		return true
	}
	return false
}

func isCloseQuote(r rune) bool {
	switch r {
	case '”', '’', '»', '›', '」', '』', '〞', '〟', '》', '〉', '＂':
		return true
	}
	return false
}

func isOpenBracket(r rune) bool {
	switch r {
	case '(', '[', '{', '（', '【', '［', '〔':
		return true
	}
	return false
}

func isCloseBracket(r rune) bool {
	switch r {
	case ')', ']', '}', '）', '】', '］', '〕':
		return true
	}
	return false
}

// isMark reports a sentence's end mark. Beyond Latin these are the marks of
// Chinese and Japanese, and those of Arabic, Devanagari and Armenian script.
func isMark(r rune) bool {
	switch r {
	case '.', '!', '?', '…', '‽', '؟', '۔', '।', '॥', '՞', '։':
		return true
	}
	return isWide(r)
}

// isWide reports an end mark behind which no white space stands.
func isWide(r rune) bool {
	switch r {
	case '。', '！', '？', '．', '｡':
		return true
	}
	return false
}

func isDash(r rune) bool { return r == '—' || r == '–' || r == '―' || r == '⸺' }
