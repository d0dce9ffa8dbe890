// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// opening is the start of what follows an end mark.
type opening struct {
	at    int  // first byte that is no quote, bracket or emphasis
	r     rune // the character there, 0 at the end of the text
	quote bool // an opening quote was passed
	dash  bool // a dash was passed
}

// readOpening looks at what starts at byte i.
func (g *segmenter) readOpening(i int) opening {
	s := g.s
	o := opening{at: i}
	for o.at < len(s) && o.at < i+glance {
		r, n := utf8.DecodeRuneInString(s[o.at:])
		switch {
		case isQuote(r):
			o.quote = true
		case isOpenBracket(r), r == '*', r == '_', r == '¿', r == '¡':
		case r == ' ' && o.at > i: // “ No, as some texts have it
		case r == '.', r == '…': // ... and then
		case isDash(r), r == '-' && (strings.HasPrefix(s[o.at:], "--") || strings.HasPrefix(s[o.at:], "- ")):
			o.dash = true
		case r == '-' && o.dash:
		default:
			o.r = r
			return o
		}
		o.at += n
	}
	if o.at < len(s) {
		o.r, _ = utf8.DecodeRuneInString(s[o.at:])
	}
	return o
}

// ends reports whether a sentence ends at e, when the next character that is
// no white space is at byte next, after that many line ends (0 or 1).
func (g *segmenter) ends(e end, next, lines int) bool {
	s := g.s
	if next == e.stop {
		return g.endsGlued(e)
	}
	o := g.readOpening(next)
	if o.r == 0 {
		return false // only quotes are left
	}
	hard := lines > 0 && g.hard(e.stop)
	if lines > 0 && isRule(g.lineAt(next)) {
		return true
	}
	if e.dots == 1 && !e.asks && !e.ellipsis && !e.quote && g.abbreviation(e, o, next, hard) {
		return false
	}
	if hard && (g.measure().loose || isItem(s[next:])) {
		return true
	}
	switch {
	case e.quote && o.quote && !e.dash:
		return true // one speaker, then another
	case unicode.IsLower(o.r) && g.item(o.at):
		return e.dots == 1 || e.asks
	case unicode.IsLower(o.r):
		// After a full stop an apostrophe may open a sentence ('tis late), and
		// so may a quotation; and some writers use no capitals.
		return e.dots == 1 && !e.asks && !e.ellipsis && !e.quote && (o.quote || g.smallStart(e, o))
	case unicode.IsDigit(o.r):
		return !e.ellipsis || e.quote || !unicode.IsDigit(g.before(e.at))
	case !unicode.IsUpper(o.r) && !unicode.IsTitle(o.r):
		return !strings.ContainsRune(",;:)]}", o.r)
	}
	// A capital follows.
	if !g.worded(e) && !e.quote {
		return false // "... And then": the dots belong to what follows
	}
	if hard && g.starts(e.stop) {
		return true
	}
	if e.quote && (e.asks || e.ellipsis || e.dash) && !o.quote && g.tag(o.at, e.dash) {
		return false
	}
	if e.ellipsis && !e.asks && !e.quote && !o.quote && g.stammer(e, o.at) {
		return false
	}
	return true
}

// smallStart reports whether a sentence starts at o with a small letter. It
// does after an ordinary word if the sentence before started so too, as in
// text messages, or if the word there starts sentences. Otherwise a stop
// before a small letter is more often a comma misread by a machine.
func (g *segmenter) smallStart(e end, o opening) bool {
	n := g.lowerWord(e.at)
	if n < 2 || e.bracket || o.at < e.stop {
		return false
	}
	w := g.s[e.at-n : e.at]
	if abbreviations[w] != notAbbr || !strings.ContainsAny(w, "aeiouy") || isRoman(strings.ToUpper(w)) {
		return false
	}
	if smallStarters[g.wordAt(o.at)] {
		return true
	}
	return unicode.IsLower(g.readOpening(g.start).r)
}

// endsGlued is ends where no white space follows the mark.
func (g *segmenter) endsGlued(e end) bool {
	s := g.s
	r, n := utf8.DecodeRuneInString(s[e.stop:])
	switch {
	case e.wide:
		return !g.tagCJK(e)
	case (e.asks || e.ellipsis && e.quote) && isCJK(r) && isCJK(g.before(e.at)):
		return !g.tagCJK(e)
	case e.dash || e.ellipsis:
		return false
	case isDash(r), r == '-' && strings.HasPrefix(s[e.stop:], "--"):
		return g.endsAtDash(e)
	case r == '“' || r == '「' || r == '『':
		return true
	case r == '"':
		return !e.bracket && g.wholeWord(e.at)
	case unicode.IsUpper(r):
		// "He went home.The door" is a slip of the pen or of a program;
		// "U.S.A" and "Mr.Vane" are not.
		after, _ := utf8.DecodeRuneInString(s[e.stop+n:])
		if !unicode.IsLower(after) && after != ' ' || e.dots != 1 && !e.asks {
			return false
		}
		if e.quote {
			return !e.asks || !g.tag(e.stop, false)
		}
		return g.wholeWord(e.at)
	}
	return false
}

// endsAtDash reports whether a sentence ends before a dash that stands where
// white space would, as older books have it: "He is gone.--Come, Annie!"
// The dash belongs to what follows. A dash after a single word ("Chorus.--")
// and one before a small letter or "I" ("What?--and when?") go on.
func (g *segmenter) endsAtDash(e end) bool {
	o := g.readOpening(e.stop)
	if !unicode.IsUpper(o.r) {
		return false
	}
	if e.quote || o.quote {
		return e.quote && o.quote
	}
	n := 0
	for range WordRanges(g.s[g.start:e.at]) {
		if n++; n == 2 {
			break
		}
	}
	w, _ := g.word(o.at)
	return n == 2 && (e.dots == 1 && g.wholeWord(e.at) || e.asks && w != "I" && !strings.HasPrefix(w, "I'") && !strings.HasPrefix(w, "I’"))
}

// wholeWord reports whether the word that ends at byte i is no abbreviation.
func (g *segmenter) wholeWord(i int) bool {
	w, _ := g.wordBefore(i)
	r, _ := utf8.DecodeLastRuneInString(w)
	return len(w) > 1 && unicode.IsLower(r) && !strings.Contains(w, ".") && in(abbreviations, w) == notAbbr
}

// before returns the last character before byte i that is no white space.
func (g *segmenter) before(i int) rune {
	i = trimEnd(g.s, 0, i)
	r, _ := utf8.DecodeLastRuneInString(g.s[:i])
	return r
}

// lowerWord returns the length of the word in small ASCII letters that ends at
// byte i, or 0 if there is none or other letters are in it.
func (g *segmenter) lowerWord(i int) int {
	n := 0
	for i-n > 0 && 'a' <= g.s[i-n-1] && g.s[i-n-1] <= 'z' {
		n++
	}
	if i-n > 0 {
		if r, _ := utf8.DecodeLastRuneInString(g.s[:i-n]); unicode.IsLetter(r) || r == '.' {
			return 0
		}
	}
	return n
}

// worded reports whether the sentence has a letter or digit before its mark.
func (g *segmenter) worded(e end) bool {
	for i, r := range g.s[g.start:e.at] {
		if i > glance || unicode.IsLetter(r) || unicode.IsDigit(r) {
			return true
		}
	}
	return false
}

// word returns the word at byte i, without white space, quotes or other signs,
// but with apostrophes and hyphens inside, and the byte after it.
func (g *segmenter) word(i int) (string, int) {
	s := g.s
	j := i
	for j < len(s) {
		if c := s[j]; c < utf8.RuneSelf && asciiWord[c] {
			j++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[j:])
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) {
			if r != '\'' && r != '’' && r != '-' || !wordy(s[j+n:]) {
				break
			}
		}
		j += n
	}
	return s[i:j], j
}

// wordBefore returns the word that ends at byte i, full stops inside included,
// and its first byte.
func (g *segmenter) wordBefore(i int) (string, int) {
	s := g.s
	j := i
	for j > g.start {
		if c := s[j-1]; c < utf8.RuneSelf && asciiWord[c] {
			j--
			continue
		}
		r, n := utf8.DecodeLastRuneInString(s[:j])
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '.' && r != '&' &&
			(r != '\'' && r != '’' && r != '-' || j == i) {
			break
		}
		j -= n
	}
	for j < i && (s[j] == '\'' || s[j] == '-' || s[j] == '.' || s[j] == '&') {
		j++
	}
	return s[j:i], j
}

// first reports whether nothing but quotes, brackets and emphasis stands
// between the start of the sentence and byte i.
func (g *segmenter) first(i int) bool {
	if i > g.start+glance {
		return false
	}
	for _, r := range g.s[g.start:i] {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return false
		}
	}
	return true
}

// stammer reports whether the dots of e are a pause inside a sentence though a
// capital follows at byte at: "I... I don't know", "Well... I suppose so".
func (g *segmenter) stammer(e end, at int) bool {
	w, _ := g.word(at)
	prev, _ := g.wordBefore(trimEnd(g.s, g.start, e.at))
	if strings.EqualFold(w, prev) {
		return true
	}
	if w == "I" || strings.HasPrefix(w, "I'") || strings.HasPrefix(w, "I’") {
		return Words(g.s[g.start:e.at]) <= 2
	}
	return false
}

// abbreviation reports whether the full stop of e belongs to its word and ends
// no sentence before o.
func (g *segmenter) abbreviation(e end, o opening, next int, hard bool) bool {
	w, at := g.wordBefore(e.at)
	if w == "" {
		return false
	}
	s := g.s
	upper := unicode.IsUpper(o.r)
	digit := unicode.IsDigit(o.r)

	class := abbreviations[w]
	if 'a' <= w[0] && w[0] <= 'z' && len(w) > 1 {
		if class == notAbbr && strings.IndexByte(w, '.') < 0 {
			return false // an ordinary word, as nearly always
		}
	} else {
		// Numbers of list items and chapters: "3. The Well", "1.2. The Well",
		// "Chapter IV. The Well".
		roman := isRoman(w)
		if g.first(at) && !e.bracket && (len(w) <= 3 && isDigits(w) || isNumbering(w) || roman && (w != "I" || !g.open && s[g.start] == 'I')) {
			return !hard
		}
		if isDigits(w) || roman && len(w) > 1 {
			return upper && !hard && g.chapter(at)
		}
	}
	if len(w) > 12 {
		return false
	}
	fresh := !upper || o.quote || o.dash || g.starter(o.at)
	if r, n := utf8.DecodeRuneInString(w); n == len(w) {
		switch {
		case w == "I":
			if g.chapter(at) {
				return !hard
			}
			prev, _ := g.wordBefore(trimEnd(s, g.start, at))
			return capital(prev) && !fresh
		case unicode.IsUpper(r) && g.first(at):
			return !hard // an item: A. The first lamp.
		case unicode.IsUpper(r):
			return !fresh // an initial: J. R. Vane; but: plan B. He left.
		case r == 'p' || r == 'c' || r == 'v' || r == 'l' || r == 'd' || r == 's':
			return digit
		}
		return g.first(at)
	}
	if class == notAbbr {
		class = in(abbreviations, w)
	}
	if class == notAbbr && strings.Contains(w, ".") {
		if isAcronym(w) {
			class = acronym
		} else if k := strings.LastIndexByte(w, '.'); k >= 0 {
			class = in(abbreviations, w[k+1:])
		}
	}
	if unicode.IsLower(o.r) {
		return class != notAbbr
	}
	switch class {
	case title:
		switch {
		case o.dash:
			return true // Mrs. ----
		case !capital(w) && w != "mr" && w != "mrs" && w != "dr":
			return false
		case w == "Mr" || w == "Mrs":
			return true
		}
		return (upper || digit) && !articles[g.wordAt(o.at)]
	case place:
		return upper && !fresh
	case numbered:
		return digit || upper && g.numeral(o.at)
	case month:
		return digit && capital(w)
	case era:
		return digit || !fresh
	case never:
		return true
	case clock:
		// "At 5 p.m. Tom left", but "He left at 5 p.m. Tom stayed".
		return upper && (timeWords[g.wordAt(o.at)] || !fresh && Words(s[g.start:e.at]) < 4)
	case acronym:
		return !fresh
	case clipped:
		return capital(w) && upper && !fresh
	}
	return false
}

// numeral reports a Roman numeral at byte i that is not the pronoun.
func (g *segmenter) numeral(i int) bool {
	w, j := g.word(i)
	return isRoman(w) && (w != "I" || j < len(g.s) && (g.s[j] == ',' || g.s[j] == '.'))
}

// isAcronym reports short parts that all start with a capital: U.S, M.D, B.Sc,
// J.-B.
func isAcronym(w string) bool {
	for part := range strings.SplitSeq(w, ".") {
		part = strings.TrimPrefix(part, "-")
		if !capital(part) || utf8.RuneCountInString(part) > 4 {
			return false
		}
	}
	return true
}

// isNumbering reports a section's number of several parts: 1.2, 1.F.3.
func isNumbering(w string) bool {
	if w[0] < '0' || w[0] > '9' || !strings.Contains(w, ".") {
		return false
	}
	for part := range strings.SplitSeq(w, ".") {
		if len(part) > 2 {
			return false
		}
	}
	return true
}

// item reports a list item's letter or small Roman numeral at byte i: b) The
// well.
func (g *segmenter) item(i int) bool {
	w, j := g.word(i)
	return j < len(g.s) && g.s[j] == ')' && (len(w) == 1 || isRoman(strings.ToUpper(w)))
}

// chapter reports whether the word before byte i opens the sentence and calls
// for a number: Chapter, Book.
func (g *segmenter) chapter(i int) bool {
	prev, at := g.wordBefore(trimEnd(g.s, g.start, i))
	return in(chapterWords, prev) && g.first(at)
}

func (g *segmenter) wordAt(i int) string {
	w, _ := g.word(i)
	return w
}

// capital reports whether w starts with a capital.
func capital(w string) bool {
	r, _ := utf8.DecodeRuneInString(w)
	return unicode.IsUpper(r)
}

// starter reports whether the word at byte i is one that often starts a
// sentence and is seldom a name: He, The, Then.
func (g *segmenter) starter(i int) bool {
	w, j := g.word(i)
	if k := strings.IndexAny(w, "'’"); k > 0 {
		w = w[:k]
	}
	if len(w) == 1 && j < len(g.s) && g.s[j] == '.' {
		return false // an initial
	}
	return in(starters, w)
}
