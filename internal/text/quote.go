// SPDX-License-Identifier: Apache-2.0

package text

import (
	"html"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// This file reads a text the way quote matching compares it: as a sequence of
// word tokens, with punctuation, Markdown, HTML tags and quote marks between
// them. It also takes a model's quote out of what models wrap around quotes.

// A token is a word in comparison form. An ideograph, a kana and a sign that
// changes what a number means (%, °, a currency) are tokens of their own; the
// endings 's 'd 'll 're 've 'm are split off, so that a name is found in its
// genitive; n't is not, because "can" must not be found in "can't".
type token struct {
	text       string // folded; thousands separators removed
	start, end int    // bytes of the source
	ellipsis   bool   // dots of an ellipsis stand between the token before and this one
}

// runes is the length that costs are counted in.
func (t token) runes() int { return utf8.RuneCountInString(t.text) }

// tokenize cuts s into tokens.
func tokenize(s string) []token {
	f, m := FoldWithMap(s, FoldOptions{})
	sc := scanner{src: s, f: f, m: m, out: make([]token, 0, len(s)/5+1)}
	sc.run()
	return sc.out
}

type scanner struct {
	src      string
	f        string // comparison form of src
	m        FoldMap
	ellipsis bool
	out      []token
}

func (sc *scanner) emit(text string, lo, hi int) {
	r := sc.m.Source(lo, hi)
	sc.out = append(sc.out, token{text, r.Start, r.End, sc.ellipsis})
	sc.ellipsis = false
}

func (sc *scanner) run() {
	f := sc.f
	for p := 0; p < len(f); {
		r, n := utf8.DecodeRuneInString(f[p:])
		switch {
		case r == '<':
			if t := tagLen(f[p:]); t > 0 {
				n = t
			}
		case r == '.' || r == '。':
			k := p + n
			for strings.HasPrefix(f[k:], f[p:p+n]) {
				k += n
			}
			switch {
			case k > p+n:
				sc.ellipsis = true
				n = k - p
			case r == '.' && digitAt(f, p+1) && !sc.wordBefore(p):
				n = sc.word(p)
			}
		case alone(r):
			for p+n < len(f) {
				q, w := utf8.DecodeRuneInString(f[p+n:])
				if !unicode.IsMark(q) {
					break
				}
				n += w
			}
			sc.emit(f[p:p+n], p, p+n)
		case wordRune(r):
			n = sc.word(p)
		case r == '-' && digitAt(f, p+1) && !sc.wordBefore(p) && sc.minus(p):
			n = sc.word(p)
		case r == '&':
			sc.emit("and", p, p+n)
		case r == '%' || r == '‰' || r == '°' || r == '+' || unicode.Is(unicode.Sc, r):
			sc.emit(f[p:p+n], p, p+n)
		}
		p += n
	}
}

// wordBefore reports whether a word, or more punctuation of a number, ends at p.
func (sc *scanner) wordBefore(p int) bool {
	r, _ := utf8.DecodeLastRuneInString(sc.f[:p])
	return p > 0 && (wordRune(r) || r == '.' || r == '-')
}

// minus tells a minus sign at p of the form from a dash: the source has the
// short sign, and a blank, a bracket or nothing before it.
func (sc *scanner) minus(p int) bool {
	r := sc.m.Source(p, p+1).Of(sc.src)
	if r != "-" && r != "−" {
		return false
	}
	return p == 0 || strings.ContainsRune(" ([\"'$", rune(sc.f[p-1]))
}

// word emits the word at p, which may be cut in two before an ending, and
// returns its length in the form.
func (sc *scanner) word(p int) int {
	f := sc.f
	var b []byte // the word, once it differs from f[p:k]
	apostrophe := -1
	text := func(k int) string {
		if b == nil {
			return f[p:k]
		}
		return string(b)
	}
	grow := func(k, n int) {
		if b != nil {
			b = append(b, f[k:k+n]...)
		}
	}
	k := p
	if f[k] == '-' || f[k] == '.' {
		k++
	}
	var last rune
scan:
	for k < len(f) {
		if q := k; asciiWord[f[k]] {
			for q < len(f) && asciiWord[f[q]] {
				q++
			}
			grow(k, q-k)
			last, k = rune(f[q-1]), q
			continue
		}
		r, n := utf8.DecodeRuneInString(f[k:])
		switch {
		case alone(r):
			break scan
		case wordRune(r):
			grow(k, n)
		case r == '\'' || r == '`':
			next := k + n + markup(f[k+n:])
			if q, _ := utf8.DecodeRuneInString(f[next:]); next == len(f) || !unicode.IsLetter(q) || alone(q) {
				if r == '`' {
					if m := markup(f[k:]); m > 0 && joins(last, f[k+m:]) {
						b = append([]byte(nil), text(k)...)
						k += m
						continue
					}
				}
				break scan
			}
			if r == '`' && b == nil {
				b = append([]byte(nil), f[p:k]...)
			}
			apostrophe = k
			if b != nil {
				b = append(b, '\'')
			}
		case r == '.' || r == ',' || r == ':':
			if !unicode.IsDigit(last) || !digitAt(f, k+1) {
				break scan
			}
			grow(k, n)
		default:
			m := markup(f[k:])
			if m == 0 || !joins(last, f[k+m:]) {
				break scan
			}
			if b == nil {
				b = append([]byte(nil), f[p:k]...)
			}
			k += m
			continue
		}
		last = r
		k += n
	}
	w := text(k)
	if apostrophe > p {
		if i := strings.LastIndexByte(w, '\''); i > 0 {
			switch w[i+1:] {
			case "s", "d", "ll", "re", "ve", "m":
				sc.emit(w[:i], p, apostrophe)
				sc.emit(w[i:], apostrophe, k)
				return k - p
			}
		}
	}
	sc.emit(plainNumber(w), p, k)
	return k - p
}

// markup returns the length of a run of Markdown marks at the start of s.
func markup(s string) int {
	n := 0
	for n < len(s) && (s[n] == '*' || s[n] == '_' || s[n] == '`' || s[n] == '~') {
		n++
	}
	return n
}

// joins reports whether Markdown between last and rest stands inside a word,
// as in *Whisper*'s. It never joins two digits.
func joins(last rune, rest string) bool {
	r, n := utf8.DecodeRuneInString(rest)
	if r == '\'' {
		q, _ := utf8.DecodeRuneInString(rest[n:])
		return unicode.IsLetter(q)
	}
	return wordRune(r) && !alone(r) && !(unicode.IsDigit(last) && unicode.IsDigit(r))
}

// wordRune reports what words are made of.
func wordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsNumber(r)
}

// alone reports characters of scripts that are written without blanks.
func alone(r rune) bool {
	return r >= 0xE00 && (isCJK(r) || r == '〇' || unicode.In(r, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) && unicode.IsLetter(r))
}

func digitAt(s string, i int) bool {
	r, _ := utf8.DecodeRuneInString(s[min(i, len(s)):])
	return unicode.IsDigit(r)
}

// plainNumber takes the thousands separators out of 5,000 and 1,250,000.5.
func plainNumber(w string) string {
	if !strings.Contains(w, ",") {
		return w
	}
	whole, rest := w, ""
	if i := strings.IndexByte(w, '.'); i >= 0 {
		whole, rest = w[:i], w[i:]
	}
	groups := strings.Split(whole, ",")
	for i, g := range groups {
		digits := len(g)
		if i == len(groups)-1 {
			digits = strings.IndexFunc(g, func(r rune) bool { return !unicode.IsDigit(r) })
			if digits < 0 {
				digits = len(g)
			}
		}
		if i > 0 && digits != 3 || i == 0 && (digits < 1 || digits > 4) {
			return w
		}
	}
	return strings.Join(groups, "") + rest
}

var tagNames = map[string]bool{
	"a": true, "b": true, "blockquote": true, "br": true, "center": true, "cite": true, "code": true,
	"div": true, "em": true, "font": true, "h1": true, "h2": true, "h3": true, "h4": true, "h5": true,
	"h6": true, "hr": true, "i": true, "li": true, "mark": true, "ol": true, "p": true, "pre": true,
	"q": true, "s": true, "small": true, "span": true, "strong": true, "sub": true, "sup": true,
	"u": true, "ul": true,
}

// tagLen returns the length of an HTML tag of formatting at the start of s,
// 0 if there is none; <think> in a story is not one.
func tagLen(s string) int {
	end := strings.IndexByte(s[:min(len(s), 200)], '>')
	if end < 0 {
		return 0
	}
	name := strings.TrimPrefix(s[1:end], "/")
	if i := strings.IndexAny(name, " /"); i >= 0 {
		name = name[:i]
	}
	if !tagNames[name] || strings.Contains(s[1:end], "<") {
		return 0
	}
	return end + 1
}

// A reading is one way to take a model's quote.
type reading struct {
	text   string
	tokens []token
	floor  Class // the nearest class that a hit by this reading can have
	// Labels that were taken off, the nearest to the passage last.
	head, tail []label
	flag       bool // a label may be part of the quote
}

// A label is what was taken off a quote.
type label struct {
	text   string
	toks   []token // of text
	strict bool    // there must be no number or negation in the story beside the passage
}

func (r *reading) labels() bool { return len(r.head)+len(r.tail) > 0 }

func newReading(s string, floor Class) *reading {
	s = strings.TrimSpace(s)
	return &reading{text: s, tokens: tokenize(s), floor: floor}
}

// Readings are tried in this order: the quote as it stands; with escapes of
// JSON and HTML undone; as several quotes with "and" or the like between them;
// all of them without what stands before the passage (a speaker, a place, a
// number), then without what stands after it.
//
// readingsOf returns those that still have all words of the passage.
func readingsOf(quote string) []*reading {
	out := []*reading{newReading(quote, ClassExact)}
	add := func(s string, floor Class) {
		if r := newReading(s, floor); len(r.tokens) > 0 {
			out = append(out, r)
		}
	}
	if u := undoEscapes(out[0].text); u != out[0].text {
		add(u, ClassTypographic)
	}
	if s, ok := several(out[len(out)-1].text); ok {
		add(s, ClassPieces)
	}
	return out
}

var joiners = setOf("and vs versus but then later or while whereas however yet")

// several puts ellipses for what stands between quotes that were joined by a
// word or two, as in "one" and "two".
func several(s string) (string, bool) {
	var b strings.Builder
	found := false
	open := -1 // in quotes: where they started
	from := 0
	for i, r := range s {
		if plainMark(r) != '"' {
			continue
		}
		n := utf8.RuneLen(r)
		if open >= 0 {
			b.WriteString(s[open : i+n])
			open, from = -1, i+n
			continue
		}
		if between := s[from:i]; from > 0 || strings.TrimSpace(between) != "" {
			words := tokenize(between)
			if from == 0 || len(words) == 0 || len(words) > 2 || !joiners[words[0].text] {
				return "", false
			}
			b.WriteString(" ... ")
			found = true
		}
		open = i
	}
	return b.String(), found && open < 0 && strings.Trim(s[from:], " .") == ""
}

// undoEscapes undoes JSON escapes and HTML character references, twice over at
// most: that is how often judges were seen to encode an answer again.
func undoEscapes(s string) string {
	for range 2 {
		was := s
		if strings.Contains(s, `\`) {
			s = undoJSON(s)
		}
		if strings.Contains(s, "&") {
			s = html.UnescapeString(s)
		}
		if s == was {
			break
		}
	}
	return s
}

func undoJSON(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch s[i] {
		case 'n', 'r':
			b.WriteByte('\n')
		case 't':
			b.WriteByte(' ')
		case '"', '\'', '\\', '/', '*', '_', '`', '#', '[', ']', '(', ')', '-', '.', '!', '~':
			b.WriteByte(s[i])
		case 'u':
			r, n := hexRune(s[i+1:])
			if n == 0 {
				b.WriteString(`\u`)
				continue
			}
			i += n
			if utf16.IsSurrogate(r) && strings.HasPrefix(s[i+1:], `\u`) {
				if low, n := hexRune(s[i+3:]); n > 0 {
					if both := utf16.DecodeRune(r, low); both != utf8.RuneError {
						r = both
						i += 2 + n
					}
				}
			}
			b.WriteRune(r)
		default:
			b.WriteByte('\\')
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

func hexRune(s string) (rune, int) {
	if len(s) < 4 {
		return 0, 0
	}
	v, err := strconv.ParseUint(s[:4], 16, 16)
	if err != nil {
		return 0, 0
	}
	return rune(v), 4
}

var (
	rePlace       = regexp.MustCompile(`(?i)^(?:(?:at|in|from|near|see|the|very|start|end|middle|beginning|opening|of)\s+)*(?:chapters?|ch|paragraphs?|para|scenes?|sections?|sec|parts?|pages?|pp?|lines?|acts?|verses?|stanzas?|book|prologue|epilogue|opening|ending|beginning|start|end|middle|location|position)\b`)
	reRemark      = regexp.MustCompile(`(?i)^(?:repeated|repeats|again|emphasis|sic|italics|excerpt|quoted?|translated)\b`)
	reSentenceEnd = regexp.MustCompile(`\pL\pL[.!?]["”’'*_)]*\s`)
)

const (
	maxLabel  = 60 // bytes of a label before or after a passage
	maxRemark = 80 // bytes of a remark in brackets
)

// before returns the label that may stand before a passage, and where the
// rest starts: a list number; a remark in brackets; what ends with a colon;
// what ends with a dash before a quote mark. start is 0 if there is none.
func before(s string) (text string, start int, number bool) {
	n := 0
	if strings.HasPrefix(s, "(") {
		n = 1
	}
	d := n
	for d < len(s) && d < n+3 && '0' <= s[d] && s[d] <= '9' {
		d++
	}
	if d > n && d+1 < len(s) && (s[d] == '.' || s[d] == ')') && isSpace(rune(s[d+1])) {
		return s[n:d], d + 1, true
	}
	if s != "" && (s[0] == '(' || s[0] == '[') {
		if k := strings.IndexAny(s[1:], "()[]"); k > 0 && k <= maxRemark && (s[1+k] == ')' || s[1+k] == ']') {
			return s[1 : 1+k], k + 2, false
		}
		return "", 0, false
	}
	for i, r := range s {
		next, _ := utf8.DecodeRuneInString(s[i+utf8.RuneLen(r):])
		switch {
		case i > maxLabel || r == '\n' || plainMark(r) == '"':
			return "", 0, false
		case r == ':' || r == '：':
			if i > 0 && (isSpace(next) || r == '：' || plainMark(next) == '"' || plainMark(next) == '\'' || next == '*') {
				return s[:i], i + utf8.RuneLen(r), false
			}
		case plainMark(r) == '-' && i > 0 && s[i-1] == ' ' && next == ' ':
			i += utf8.RuneLen(r)
			if q, _ := utf8.DecodeRuneInString(s[i+1:]); plainMark(q) == '"' {
				return s[:i], i, false
			}
		}
	}
	return "", 0, false
}

// after returns the label that may stand after a passage, and where the
// passage ends: a remark in brackets; a place or name that a blank parts from
// a quote mark or the end of a sentence. end is len(s) if there is none.
func after(s string) (text string, end int) {
	t := strings.TrimRight(s, "\"”’'. ")
	if n := len(t); n > 0 && (t[n-1] == ')' || t[n-1] == ']') {
		k := strings.LastIndexAny(t[:n-1], "()[]")
		if k > 0 && n-k <= maxRemark && (t[k] == '(' || t[k] == '[') {
			return t[k+1 : n-1], k
		}
		return "", len(s)
	}
	for i := len(s); i > 0 && len(s)-i <= maxLabel; {
		r, n := utf8.DecodeLastRuneInString(s[:i])
		i -= n
		switch {
		case r == '\n' || r == utf8.RuneError:
			return "", len(s)
		case plainMark(r) == '"' || plainMark(r) == '\'' || strings.ContainsRune(".!?…。！？", r):
			rest := s[i+n:]
			text := strings.TrimLeft(rest, " ,;–—-")
			if text == "" || len(text) == len(rest) {
				if plainMark(r) == '\'' && text != "" {
					continue // an apostrophe
				}
				return "", len(s)
			}
			return text, i + n
		}
	}
	return "", len(s)
}

// unwrapped returns r without the label before (or after) the passage, nil if
// there is none. A label that holds a negation, or a number that counts no
// place, may belong to the passage, and so may a long one: then the answer is
// nil as well.
func (r *reading) unwrapped(front bool) *reading {
	var text, rest string
	number := false
	if front {
		var start int
		text, start, number = before(r.text)
		if start == 0 {
			return nil
		}
		rest = r.text[start:]
	} else {
		var end int
		text, end = after(r.text)
		if end == len(r.text) {
			return nil
		}
		rest = r.text[:end]
	}
	text = strings.Trim(text, " *_\t")
	out := newReading(rest, ClassPunctuation)
	out.head, out.tail, out.flag = r.head, r.tail, r.flag
	toks := tokenize(text)
	if len(out.tokens) == 0 || len(toks) == 0 {
		return nil
	}
	sure := number || rePlace.MatchString(text)
	if !sure {
		g := guardsOf(text, toks)
		if len(g.numbers) > 0 || g.negations > 0 || len(toks) > 6 || len(toks) > len(out.tokens) || reSentenceEnd.MatchString(text) {
			return nil
		}
		sure = reRemark.MatchString(text) || nameLike(text)
	}
	l := label{text, toks, number || !sure}
	if front {
		out.head = append(out.head[:len(out.head):len(out.head)], l)
	} else {
		out.tail = append(out.tail[:len(out.tail):len(out.tail)], l)
	}
	out.flag = out.flag || !sure
	return out
}

// nameLike reports a speaker: up to four words that start with capitals, as
// "Dr. Vera Chen", or are verbs of saying.
func nameLike(s string) bool {
	words := strings.Fields(s)
	capital := false
	for _, w := range words {
		r, _ := utf8.DecodeRuneInString(w)
		switch {
		case unicode.IsUpper(r) || unicode.IsTitle(r) || isCJK(r):
			capital = true
		case w == "said" || w == "says" || w == "asked" || w == "of" || w == "the" || w == "de" || w == "von":
		default:
			return false
		}
	}
	return capital && len(words) <= 4
}
