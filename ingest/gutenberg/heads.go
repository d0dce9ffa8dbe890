// SPDX-License-Identifier: Apache-2.0

package gutenberg

import (
	"math/bits"
	"strings"
	"unicode"
	"unicode/utf8"
)

// head is a block, or a few, that may be a heading.
type head struct {
	blk, end int // blocks [blk, end)
	title    string
	label    string // printed number or label: 12, XV, Legend 3, CHAPTER II
	num      string // the label's number
	word     string // the label's word in lower case: chapter, story, or ""
	generic  bool   // a label and nothing else
	source   string // a source note printed in the heading, left out of title
	key      string // folded title
	sig      sig
	before   int
	after    int
	letters  letterCase
	centred  bool
	italic   bool
	level    int // of an HTML heading
	style    string
	kind     kind // by its words alone; kindTale if they say nothing
	entry    int  // line of the contents list, -1 if none
	inNotes  bool // stands behind the heading of notes
}

type letterCase uint8

const (
	caseOther letterCase = iota
	caseTitle
	caseCaps
)

// kind says what a region of a book is.
type kind uint8

const (
	kindTale kind = iota
	kindGroup
	kindPart // a part heading: belongs to the tale it stands in
	kindContents
	kindPreface
	kindNotes
	kindAdvert
	kindTitlePage
	kindEnd // THE END
	kindBack
	kindFrame // a chapter of the story round the tales
)

// rule names the cut a region of the kind becomes.
func (k kind) rule() string {
	switch k {
	case kindGroup:
		return "group-heading"
	case kindContents:
		return "contents"
	case kindPreface:
		return "preface"
	case kindNotes:
		return "notes"
	case kindAdvert:
		return "advert"
	case kindTitlePage:
		return "title-page"
	case kindEnd:
		return "the-end"
	case kindBack:
		return "back-matter"
	case kindFrame:
		return "frame"
	}
	return "heading"
}

// heads lists the blocks of d that look like headings, in order.
func (d *doc) heads() []head {
	var out []head
	d.partLike = make([]bool, len(d.blocks))
	for i := 0; i < len(d.blocks); i++ {
		if h, ok := d.head(i); ok {
			out = append(out, h)
			d.partLike[i] = h.generic || h.label != "" && h.letters != caseOther && h.before >= 2
		}
	}
	return d.mergeHeads(out)
}

const (
	mostHeadLines = 5
	mostHeadBytes = 220
)

// head reads block i as a heading.
func (d *doc) head(i int) (head, bool) {
	b := d.blocks[i]
	n := b.last - b.first
	if b.role != roleText || n > mostHeadLines || b.before == 0 && i > 0 {
		return head{}, false
	}
	first := d.lines[b.first]
	size := d.lines[b.last-1].end - first.start
	if size > mostHeadBytes {
		return head{}, false
	}
	if b.level == 0 && b.before < 2 {
		// Close to the text only capitals, a label or an italic line can
		// be told from a sentence.
		if !quickCaps(d.str(b.first)) && !startsLabel(d.str(b.first)) {
			return head{}, false
		}
	}
	for k := b.first; k < b.last; k++ {
		if d.lines[k].end-d.lines[k].start > 80 && b.level == 0 {
			return head{}, false
		}
	}
	if c := d.text[first.start]; c == '[' || c == '(' || c == '{' || c == '*' {
		if label, _, _ := readNoteLabel(d.str(b.first)); label != "" {
			return head{}, false
		}
	}
	raw := d.joined(b)
	h, ok := readHead(raw)
	if !ok {
		return head{}, false
	}
	if b.level == 0 && h.letters == caseOther && b.before < 2 && h.label == "" {
		return head{}, false
	}
	h.blk, h.end = i, i+1
	h.before = int(b.before)
	h.after = d.after(i)
	h.centred = first.indent >= 4
	h.level = int(b.level)
	h.style = b.style
	h.entry = -1
	return h, true
}

// after returns the blank lines behind block i; pictures count as blank.
func (d *doc) after(i int) int {
	for k := i + 1; k < len(d.blocks); k++ {
		if d.blocks[k].role != roleVoid {
			return int(d.blocks[k].before)
		}
	}
	return 99
}

// quickCaps reports a line without lower-case ASCII letters.
func quickCaps(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= 'a' && s[i] <= 'z' {
			return false
		}
	}
	return true
}

// startsLabel reports a line that begins with a printed number or label.
func startsLabel(s string) bool {
	// Most lines are text; a look at the first letters tells.
	switch c := s[0]; {
	case c >= '0' && c <= '9', c == '(':
	case len(s) > 1 && strings.IndexByte("IVXLC", c) >= 0 && strings.IndexByte("IVXLC. :-)", s[1]) >= 0:
	default:
		var low [12]byte
		n := 0
		for n < len(s) && n < len(low) && letters[s[n]] {
			low[n] = s[n] | 0x20
			n++
		}
		if n < 2 || n == len(low) || string(low[:n]) == "the" || !labelWords[string(low[:n])] && !ordinals[string(low[:n])] {
			return false
		}
	}
	l, _, _ := splitLabel(s)
	return l != ""
}

// readHead takes a heading's text apart. It refuses what is clearly a
// sentence or verse.
func readHead(raw string) (head, bool) {
	s := strings.TrimSpace(raw)
	h := head{}
	if s == "" || s[0] == '[' && s[len(s)-1] == ']' {
		return h, false // a dedication, a source or a note, not a title
	}
	if len(s) > 2 && s[0] == '_' && s[len(s)-1] == '_' || len(s) > 3 && s[0] == '_' && strings.HasSuffix(s, "_.") {
		h.italic = true
	}
	s = strings.ReplaceAll(s, "_", "")
	s = trimEnclosed(s, "=")
	s = trimEnclosed(s, "+")
	s = strings.TrimSpace(s)
	s = stripCall(s)
	h.label, h.word, s = splitLabel(s)
	s, h.source = stripSource(s)
	s = strings.TrimSpace(stripCall(s))
	h.title = s
	h.key = foldTitle(s)
	if h.key == "" && h.label == "" {
		return h, false
	}
	if s == "" {
		h.generic = true
		h.letters = caseCaps
		h.key = foldTitle(h.label)
		h.sig = signature(h.key)
		return h, true
	}
	h.generic = genericTitle(h.key)
	h.letters = lettersOf(s)
	h.sig = signature(h.key)
	h.kind = kindByWords(h.key)
	if words := strings.Count(s, " ") + 1; h.letters != caseCaps && (words > 20 || len(s) > 120 || h.letters == caseOther && words > 12 && strings.ContainsAny(s[len(s)-1:], ".!?\"';:,")) {
		return h, false
	}
	last, _ := utf8.DecodeLastRuneInString(s)
	first, _ := utf8.DecodeRuneInString(strings.TrimLeft(s, "\"'“”‘’«([ "))
	switch {
	case unicode.IsLower(first) && h.label == "":
		return h, false
	case strings.ContainsRune(",;:", last) && h.letters != caseCaps && h.kind == kindTale:
		return h, false
	case h.letters == caseOther && (last == '.' || last == '!' || last == '?' || last == '"' || last == '”') && h.label == "" && !strings.Contains("\"“'‘", string([]rune(s)[0])):
		// May still be a title that ends in a stop, but only the contents
		// list can tell.
		h.letters = caseOther
	}
	return h, true
}

func trimEnclosed(s, mark string) string {
	if len(s) > 2 && strings.HasPrefix(s, mark) && strings.HasSuffix(s, mark) {
		return s[1 : len(s)-1]
	}
	return s
}

// stripCall takes a footnote call off a heading's end: (7), [1], [A], *, {3}.
func stripCall(s string) string {
	s = strings.TrimRight(s, " ")
	for {
		n := len(s)
		if n == 0 {
			return s
		}
		open := byte(0)
		switch s[n-1] {
		case ')':
			open = '('
		case ']':
			open = '['
		case '}':
			open = '{'
		case '*':
			if n > 1 && strings.Trim(s, "* ") != "" {
				s = strings.TrimRight(s, "* ")
				continue
			}
			return s
		default:
			return s
		}
		i := strings.LastIndexByte(s, open)
		if i <= 0 || !noteLabel(s[i+1:n-1], open) {
			return s
		}
		s = strings.TrimRight(s[:i], " ")
	}
}

// noteLabel reports what stands in a footnote call: a number of at most three
// figures (two in round brackets), one capital, or asterisks.
func noteLabel(s string, open byte) bool {
	if s == "" || len(s) > 3 {
		return false
	}
	if s[0] >= '0' && s[0] <= '9' {
		for i := range s {
			if s[i] < '0' || s[i] > '9' {
				return false
			}
		}
		return open != '(' || len(s) <= 2
	}
	if strings.Trim(s, "*") == "" {
		return true
	}
	return len(s) == 1 && s[0] >= 'A' && s[0] <= 'Z' && open != '('
}

// stripSource takes a source note in round brackets off a heading: "KING KOJATA
// (From the Russian)".
func stripSource(s string) (title, source string) {
	if !strings.HasSuffix(s, ")") {
		return s, ""
	}
	i := strings.LastIndexByte(s, '(')
	if i <= 0 {
		return s, ""
	}
	if sourceNote(s[i+1 : len(s)-1]) {
		return strings.TrimSpace(s[:i]), s[i:]
	}
	return s, ""
}

var sourceWords = []string{"from ", "adapted from", "translated from", "taken from", "retold from", "after ", "told by", "collected by", "adapted by",
	"translated by", "contributed by", "by the ", "abridged from", "a legend of", "according to", "source:", "source."}

// sourceNote reports words that say where a tale comes from.
func sourceNote(s string) bool {
	low := strings.ToLower(s[:min(len(s), 24)])
	low = strings.TrimLeft(low, "_([*\"'")
	for _, w := range sourceWords {
		if strings.HasPrefix(low, w) {
			return true
		}
	}
	return false
}

var labelWords = map[string]bool{"chapter": true, "chap": true, "story": true, "tale": true, "legend": true, "adventure": true, "part": true,
	"book": true, "act": true, "scene": true, "canto": true, "fable": true, "letter": true, "night": true, "no": true, "section": true,
	"fairy": true, "episode": true, "the": true, "day": true, "stave": true, "volume": true, "vol": true}

var ordinals = map[string]bool{"first": true, "second": true, "third": true, "fourth": true, "fifth": true, "sixth": true, "seventh": true,
	"eighth": true, "ninth": true, "tenth": true, "eleventh": true, "twelfth": true, "thirteenth": true, "fourteenth": true, "fifteenth": true,
	"last": true, "one": true, "two": true, "three": true, "four": true, "five": true, "six": true, "seven": true, "eight": true, "nine": true,
	"ten": true, "eleven": true, "twelve": true, "twentieth": true, "nineteenth": true, "eighteenth": true, "seventeenth": true, "sixteenth": true}

// splitLabel takes a printed label off the front of a heading: "12 Rapunzel",
// "XV. THE ...", "Legend 3 The Rose", "CHAPTER II", "FIRST STORY. A Little Boy",
// "151* The Twelve Idle Servants", "I.--HOWE'S MASQUERADE". The word is the
// label's, in lower case.
func splitLabel(s string) (label, word, rest string) {
	t := strings.TrimLeft(s, " ")
	w, after := token(t)
	if w == "" {
		return "", "", s
	}
	low := strings.ToLower(strings.TrimRight(w, ".:"))
	switch {
	case number(w):
		label, rest = w, after
	case labelWords[low] && low != "the" && low != "fairy":
		n, tail := token(after)
		bare := strings.TrimRight(n, ".:,-—–*")
		if n == "" || !number(bare) && !ordinals[strings.ToLower(bare)] {
			return "", "", s
		}
		label, word, rest = w+" "+strings.TrimRight(n, ".:,-—–"), low, tail
		if word == "chap" {
			word = "chapter"
		}
	case ordinals[low] || low == "the":
		// FIRST STORY, THE SECOND TALE
		n, tail := token(after)
		if low == "the" {
			if !ordinals[strings.ToLower(n)] {
				return "", "", s
			}
			var m string
			m, tail = token(tail)
			n = n + " " + m
		}
		last := strings.ToLower(strings.Trim(n[strings.LastIndexByte(n, ' ')+1:], ".:"))
		if !labelWords[last] || last == "the" || last == "no" {
			return "", "", s
		}
		if tail != "" && !strings.ContainsAny(n, ".:") && !strings.ContainsRune("-—–:.", firstRune(tail)) {
			return "", "", s // "The First Night of the ..."
		}
		label, word, rest = w+" "+strings.TrimRight(n, ".:"), last, tail
	default:
		return "", "", s
	}
	label = strings.TrimRight(label, ".:)-—–,")
	label = strings.TrimLeft(label, "(")
	rest = strings.TrimLeft(rest, " .:-—–)")
	return label, word, rest
}

func firstRune(s string) rune { r, _ := utf8.DecodeRuneInString(s); return r }

// token returns the first word of s and what follows it. A word ends at a blank
// or behind a dash that parts label and title.
func token(s string) (w, rest string) {
	s = strings.TrimLeft(s, " ")
	i := strings.IndexByte(s, ' ')
	if i < 0 {
		i = len(s)
	}
	for _, dash := range []string{"--", "—", "–"} {
		if n := strings.Index(s[:i], dash); n > 0 {
			i = n
		}
	}
	return s[:i], strings.TrimLeft(s[i:], " ")
}

// number reports an arabic number of at most three figures or a roman one
// below CCC, with a dot, bracket or asterisk allowed behind it. A lone I must
// have the dot, or it is the pronoun; other single letters too.
func number(w string) bool {
	open := strings.HasPrefix(w, "(")
	t := strings.TrimLeft(w, "(")
	core := strings.TrimRight(t, ".:)*-—–,")
	if core == "" {
		return false
	}
	if core[0] >= '0' && core[0] <= '9' {
		for i := range core {
			if core[i] < '0' || core[i] > '9' {
				return false
			}
		}
		return len(core) <= 3 && (!open || strings.HasSuffix(w, ")"))
	}
	if roman(core) == 0 {
		return false
	}
	return true
}

// roman returns the value of a roman number in capitals, 0 if it is none or
// above 399.
func roman(s string) int {
	if len(s) > 9 {
		return 0
	}
	total, prev := 0, 0
	for i := len(s) - 1; i >= 0; i-- {
		v := 0
		switch s[i] {
		case 'I':
			v = 1
		case 'V':
			v = 5
		case 'X':
			v = 10
		case 'L':
			v = 50
		case 'C':
			v = 100
		default:
			return 0
		}
		if v < prev {
			total -= v
		} else {
			total += v
			prev = v
		}
	}
	if total < 1 || total > 399 || formatRoman(total) != s {
		return 0
	}
	return total
}

func formatRoman(n int) string {
	var b strings.Builder
	for _, r := range []struct {
		v int
		s string
	}{{100, "C"}, {90, "XC"}, {50, "L"}, {40, "XL"}, {10, "X"}, {9, "IX"}, {5, "V"}, {4, "IV"}, {1, "I"}} {
		for n >= r.v {
			b.WriteString(r.s)
			n -= r.v
		}
	}
	return b.String()
}

// genericTitle reports a heading that names a part of any work.
func genericTitle(key string) bool {
	switch key {
	case "the moral", "moral", "another", "another moral", "conclusion", "epilogue", "prologue", "continued", "part first", "part second",
		"another version", "the same", "finis", "first part", "second part", "third part":
		return true
	}
	return false
}

// foldTitle makes titles comparable: lower case, letters and digits parted by
// single blanks; apostrophes vanish, accents too.
func foldTitle(s string) string {
	b := make([]byte, 0, len(s))
	gap := false
	put := func(c byte) {
		if gap && len(b) > 0 {
			b = append(b, ' ')
		}
		gap = false
		b = append(b, c)
	}
	for _, r := range s {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			put(byte(r))
		case r >= 'A' && r <= 'Z':
			put(byte(r) + 'a' - 'A')
		case r == '\'' || r == '’' || r == '‘' || r == '\u00AD':
		case r >= 0xC0 && unicode.IsLetter(r):
			if gap && len(b) > 0 {
				b = append(b, ' ')
			}
			gap = false
			b = append(b, plainLetter(unicode.ToLower(r))...)
		default:
			gap = true
		}
	}
	return string(b)
}

func plainLetter(r rune) string {
	const from = "àáâãäåçèéêëìíîïñòóôõöøùúûüýÿāēīōūŭĭăĕŏšžčćřěů"
	const to = "aaaaaaceeeeiiiinoooooouuuuyyaeiouuiaeoszccreu"
	i := 0
	for _, f := range from {
		if f == r {
			return to[i : i+1]
		}
		i++
	}
	switch r {
	case 'æ':
		return "ae"
	case 'œ':
		return "oe"
	case 'ß':
		return "ss"
	}
	return string(r)
}

// lettersOf says how a title is capitalised. A word or two in small letters
// among capitals are let pass ("THE shinansha, OR THE SOUTH POINTING CARRIAGE"), and
// in title case all words of up to three letters.
func lettersOf(s string) letterCase {
	upper, lower := 0, 0
	long, longBig, big, words := 0, 0, 0, 0
	n, capital := 0, false // of the word being read
	end := func() {
		if n == 0 {
			return
		}
		words++
		if capital {
			big++
		}
		if n > 3 {
			long++
			if capital {
				longBig++
			}
		}
		n, capital = 0, false
	}
	for _, r := range s {
		if !unicode.IsLetter(r) {
			if r != '\'' && r != '’' && r != '-' {
				end()
			}
			continue
		}
		if n++; n == 1 {
			capital = unicode.IsUpper(r)
		}
		if unicode.IsUpper(r) {
			upper++
		} else {
			lower++
		}
	}
	end()
	switch {
	case upper == 0:
		return caseOther
	case lower*3 <= upper && upper > 1 || lower == 0:
		return caseCaps
	case long > 0 && longBig*4 >= long*3, big*2 > words, big >= 1 && words <= 2, big >= 1 && words-big <= 2 && words <= 4:
		return caseTitle
	}
	return caseOther
}

// sig is a set of hashed letter pairs, to compare titles quickly.
type sig struct {
	set   [4]uint64
	n     int
	base  string // the title without "the" in front
	tight string // and without blanks
}

func signature(key string) sig {
	var s sig
	prev := byte(' ')
	for i := 0; i <= len(key); i++ {
		c := byte(' ')
		if i < len(key) {
			c = key[i]
		}
		h := uint32(prev)*31 + uint32(c)*131
		h = (h ^ h>>7) * 2654435761 >> 24
		s.set[h>>6] |= 1 << (h & 63)
		prev = c
	}
	for _, w := range s.set {
		s.n += bits.OnesCount64(w)
	}
	s.base = strings.TrimPrefix(key, "the ")
	s.tight = strings.ReplaceAll(s.base, " ", "")
	return s
}

// alike is the Dice coefficient of two signatures, 0 to 1.
func (a *sig) alike(b *sig) float64 {
	if a.n == 0 || b.n == 0 {
		return 0
	}
	if a.n > 2*b.n+4 || b.n > 2*a.n+4 {
		return 0
	}
	n := bits.OnesCount64(a.set[0]&b.set[0]) + bits.OnesCount64(a.set[1]&b.set[1]) +
		bits.OnesCount64(a.set[2]&b.set[2]) + bits.OnesCount64(a.set[3]&b.set[3])
	return 2 * float64(n) / float64(a.n+b.n)
}

// same says how sure it is that two folded titles name the same thing: 1 equal,
// 0 not.
func same(a string, sa *sig, b string, sb *sig) float64 {
	if a == b {
		return 1
	}
	if a == "" || b == "" {
		return 0
	}
	// Without an article in front, and without an added half: "The Pied Piper"
	// and "The Pied Piper of Franchville".
	ta, tb := sa.base, sb.base
	if ta == tb {
		return 0.98
	}
	if sa.tight == sb.tight {
		return 0.97
	}
	short, long := ta, tb
	if len(short) > len(long) {
		short, long = long, short
	}
	if more := len(long) - len(short); more > 1 {
		if len(short) >= 5 && long[len(short)] == ' ' && long[:len(short)] == short {
			return 0.85
		}
		if len(short) >= 8 && long[more-1] == ' ' && long[more:] == short {
			return 0.8
		}
	}
	if len(long) > 2*len(short)+6 || sa.alike(sb) < 0.62 {
		return 0
	}
	// Misprints and other spellings: "Couterparts", "The Lad and the Dell".
	v := 1 - float64(edits(ta, tb))/float64(len(long))
	if v < 0.7 {
		// Another word or two: "The Seven Young Kids", "The Seven Little Kids".
		v = max(v, sharedWords(ta, tb))
	}
	if v < 0.7 {
		return 0
	}
	return v * 0.95
}

// edits is the Levenshtein distance of two folded titles; titles are cut at
// 96 bytes.
func edits(a, b string) int {
	const most = 96
	a, b = a[:min(len(a), most)], b[:min(len(b), most)]
	var row [most + 1]int
	for j := range row {
		row[j] = j
	}
	for i := 0; i < len(a); i++ {
		diag := row[0]
		row[0] = i + 1
		for j := 0; j < len(b); j++ {
			d := diag
			if a[i] != b[j] {
				d = 1 + min(diag, row[j], row[j+1])
			}
			diag, row[j+1] = row[j+1], d
		}
	}
	return row[len(b)]
}

// sharedWords is twice the letters of the words both titles have over all of
// their letters, small words left out.
func sharedWords(a, b string) float64 {
	wb := strings.Fields(b)
	used := make([]bool, len(wb))
	all, both := 0, 0
	for _, w := range wb {
		if len(w) > 3 {
			all += len(w)
		}
	}
	for _, w := range strings.Fields(a) {
		if len(w) <= 3 {
			continue
		}
		all += len(w)
		for i, v := range wb {
			if !used[i] && v == w {
				used[i] = true
				both += 2 * len(w)
				break
			}
		}
	}
	if all == 0 {
		return 0
	}
	return float64(both) / float64(all)
}

// mergeHeads joins headings that stand in several blocks: a label and its
// title below it (I / WOMEN'S WORDS PART FLESH AND BLOOD), a title that ends in a
// comma and its second half.
func (d *doc) mergeHeads(in []head) []head {
	out := in[:0]
	for i := 0; i < len(in); i++ {
		h := in[i]
		if h.label != "" && h.title == "" && h.level == 0 && (i+1 == len(in) || in[i+1].blk != d.next(h.end)) {
			d.titleBelow(&h)
		}
		for i+1 < len(in) && d.next(h.end) == in[i+1].blk && in[i+1].blk-h.end <= 4 {
			n := in[i+1]
			if n.before > 2 || n.before >= h.before && h.level == 0 && n.before > 1 || n.kind != kindTale {
				break
			}
			labelled := h.label != "" && h.title == "" && !n.generic && n.label == "" && n.letters != caseOther
			half := strings.HasSuffix(h.title, ",") && h.letters == n.letters && n.label == ""
			if !labelled && !half {
				break
			}
			if labelled {
				h.title, h.key, h.sig, h.kind, h.letters, h.italic = n.title, n.key, n.sig, n.kind, n.letters, n.italic
				h.generic = false
			} else {
				h.title += " " + n.title
				h.key = foldTitle(h.title)
				h.sig = signature(h.key)
			}
			h.end, h.after, h.source = n.end, n.after, n.source
			i++
		}
		out = append(out, h)
	}
	return out
}

// titleBelow joins a label with the title right below it that is no heading by
// itself, for it has but one blank line before it: "CHAPTER I. / Festival
// Customs.".
func (d *doc) titleBelow(h *head) {
	i := d.next(h.end)
	if i >= len(d.blocks) {
		return
	}
	b := d.blocks[i]
	if b.role != roleText || b.last-b.first > 1 || b.before > 2 || d.after(i) == 0 {
		return
	}
	raw := d.joined(b)
	n, ok := readHead(raw)
	if !ok || n.label != "" || n.letters == caseOther || n.kind != kindTale || len(raw) > 70 || strings.ContainsAny(raw[len(raw)-1:], "!?,;:") || strings.ContainsAny(raw[:1], "\"'") ||
		strings.HasPrefix(raw, "“") || strings.HasPrefix(raw, "‘") {
		return
	}
	h.title, h.key, h.sig, h.letters, h.italic = n.title, n.key, n.sig, n.letters, n.italic
	h.generic = false
	h.end, h.after, h.source = i+1, d.after(i), n.source
}

// next returns the first block at or after i that is not void.
func (d *doc) next(i int) int {
	for i < len(d.blocks) && d.blocks[i].role == roleVoid {
		i++
	}
	return i
}

// kindByWords says what a heading is by its own words.
func kindByWords(key string) kind {
	switch key {
	case "contents", "table of contents", "list of contents", "the contents", "list of illustrations", "illustrations", "list of plates", "full page illustrations",
		"list of colour plates", "list of color plates", "list of full page illustrations", "list of stories", "list of tales", "list of figures",
		"coloured plates", "colour plates", "illustrations in color", "illustrations in colour", "index of first lines", "full page plates", "list of coloured plates":
		return kindContents
	case "preface", "introduction", "foreword", "dedication", "to the reader", "introductory", "introductory note", "note", "a note", "author s note",
		"authors note", "prefatory note", "editors note", "preparers note", "translators note", "publishers note", "introductory remarks", "acknowledgments", "acknowledgements",
		"acknowledgment", "acknowledgement", "a foreword", "an introduction", "translators preface", "authors preface", "editors preface", "in memoriam",
		"to the friendly reader", "to the children", "advertisement", "prolegomena", "note to the reader", "general introduction", "about this book", "errata", "explanatory note",
		"preliminary note", "biographical note", "a word to the reader", "the publishers note", "the editors preface", "the translators preface", "the authors preface":
		return kindPreface
	case "notes", "notes and references", "references", "glossary", "index", "footnotes", "bibliography", "transcribers note", "transcribers notes",
		"transcriber note", "transcriber notes", "notes on the tales", "list of authorities", "authorities", "endnotes", "general index", "transcription notes",
		"abbreviations", "explanatory notes", "sources", "pronunciation", "pronouncing vocabulary", "pronunciation of names", "corrigenda", "notes to the text", "vocabulary",
		"list of words", "index of names", "footnote", "appendix notes":
		return kindNotes
	case "uniform with this volume", "advertisements", "by the same author", "works by the same author", "books by the same author", "other books by the same author",
		"by the same writer", "publishers announcements", "announcements", "publications", "new books", "new publications", "uniform with the above", "in the same series",
		"books in the fairy series", "press notices", "opinions of the press", "some press opinions", "catalogue", "list of publications", "uniform edition":
		return kindAdvert
	case "the end", "end", "finis", "fin", "end of the book", "end of book", "the end of the book", "end of volume i", "end of vol i":
		return kindEnd
	}
	for _, p := range []struct {
		pre string
		k   kind
	}{
		{"preface to", kindPreface}, {"introduction to", kindPreface}, {"notice to the", kindPreface}, {"introduction by", kindPreface}, {"preface by", kindPreface},
		{"footnotes to", kindNotes}, {"notes to", kindNotes}, {"notes on", kindNotes}, {"notes and", kindNotes}, {"index of", kindNotes}, {"index to", kindNotes},
		{"the pronunciation of", kindNotes}, {"glossary of", kindNotes}, {"transcribers note", kindNotes}, {"transcriber s note", kindNotes},
		{"bibliography of", kindNotes}, {"bibliographical", kindNotes}, {"list of illustrations", kindContents}, {"list of the illustrations", kindContents},
		{"books by", kindAdvert}, {"works by", kindAdvert}, {"books for", kindAdvert}, {"other books", kindAdvert}, {"list of works", kindAdvert}, {"table of contents", kindContents},
		{"a list of", kindNotes},
	} {
		if strings.HasPrefix(key, p.pre) && len(key) < 60 {
			return p.k
		}
	}
	if strings.HasSuffix(key, " introductory") || strings.HasPrefix(key, "introductory ") && len(key) < 40 {
		return kindPreface
	}
	return kindTale
}
