// SPDX-License-Identifier: Apache-2.0

package gutenberg

import (
	"math/bits"
	"strings"
	"unicode"

	"github.com/retcon-bench/retcon/ingest/internal/prose"
)

// Some books have chapters on a subject, and in them many short pieces under
// headings of their own: legends, but also descriptions, and one legend told
// over several headings. mergeSections joins pieces that go on with the same
// tale, by the heading (it begins with a pronoun or "And") or by the names: the
// name that a piece has most often, if it is not one of the whole book, is
// also in the piece before it.
func (o *outline) mergeSections(d *doc) {
	names := make([]map[string]int, len(o.regions))
	spread := map[string]int{} // in how many pieces a name occurs
	pieces := 0
	for i, r := range o.regions {
		if r.kind != kindTale {
			continue
		}
		pieces++
		names[i] = d.names(r.text, r.to)
		for n := range names[i] {
			spread[n]++
		}
	}
	common := max(3, pieces*15/100)
	var out []region
	var last map[string]int
	for i, r := range o.regions {
		joinable := r.kind == kindTale && len(out) > 0 && out[len(out)-1].kind == kindTale && !r.chapter && out[len(out)-1].to == r.from
		if joinable && (continues(r.title) || sameNames(last, names[i], spread, common)) {
			p := &out[len(out)-1]
			p.to = r.to
			p.parts = append(p.parts, r.from)
			for n, c := range names[i] {
				last[n] += c
			}
			continue
		}
		out = append(out, r)
		last = names[i]
	}
	o.regions = out
}

// continues reports a heading that cannot begin a tale.
func continues(title string) bool {
	w, _ := token(title)
	switch strings.ToLower(strings.Trim(w, "\"'“‘_")) {
	case "he", "she", "they", "his", "her", "their", "and", "it", "further", "continuation":
		return true
	}
	return false
}

// sameNames reports that b goes on with a: b's leading name is one of a's, and
// a's leading name is one of b's.
func sameNames(a, b map[string]int, spread map[string]int, common int) bool {
	la, ca := leading(a, spread, common)
	lb, cb := leading(b, spread, common)
	if la == "" || lb == "" {
		return false
	}
	if la == lb {
		return ca >= 2 && cb >= 1
	}
	return ca >= 2 && cb >= 2 && b[la] >= 1 && a[lb] >= 1
}

// leading is the name a piece has most often, those of the whole book left out;
// of equally frequent ones the first by alphabet.
func leading(names map[string]int, spread map[string]int, common int) (string, int) {
	best, n := "", 0
	for name, c := range names {
		if spread[name] > common {
			continue
		}
		if c > n || c == n && name < best {
			best, n = name, c
		}
	}
	return best, n
}

// names counts the capitalised words in blocks [from, to) that do not begin a
// sentence.
func (d *doc) names(from, to int) map[string]int {
	out := map[string]int{}
	for i := from; i < to; i++ {
		b := d.blocks[i]
		if b.role != roleText {
			continue
		}
		before := "" // the last word of the line above
		for l := b.first; l < b.last; l++ {
			s := d.str(l)
			name := func(i int) {
				k := i
				for k < len(s) && s[k] != ' ' {
					k++
				}
				w := before
				if p := lastWord(s[:i]); p != "" {
					w = p
				}
				if w != "" && !opensSentence(w) {
					if t := nameOf(s[i:k]); t != "" {
						out[t]++
					}
				}
			}
			if s != "" && capitals[s[0]] {
				name(0)
			}
			for i := 0; i < len(s); i += 8 {
				for m := prose.BlankMask(s, i); m != 0; m &= m - 1 {
					if at := i + bits.TrailingZeros64(m)/8 + 1; at < len(s) && capitals[s[at]] {
						name(at)
					}
				}
			}
			before = lastWord(s)
		}
	}
	return out
}

// capitals are the bytes with which words begin that have a capital.
var capitals = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= 'A' && c <= 'Z' || c >= 0xC3 && c < 0xE0
	}
	return t
}()

// lastWord returns the word at the end of s.
func lastWord(s string) string {
	for s != "" && s[len(s)-1] == ' ' {
		s = s[:len(s)-1]
	}
	k := len(s)
	for k > 0 && s[k-1] != ' ' {
		k--
	}
	return s[k:]
}

// nameOf strips what is no letter from a capitalised word, and a genitive; ""
// for words that are no names.
func nameOf(w string) string {
	if r := firstRune(w); !unicode.IsUpper(r) {
		return ""
	}
	t := strings.TrimRightFunc(w, func(r rune) bool { return !unicode.IsLetter(r) })
	t = strings.TrimSuffix(strings.TrimSuffix(t, "'s"), "’s")
	if len(t) < 3 || titleWords[t] {
		return ""
	}
	return t
}

// opensSentence reports that the word behind w may begin a sentence: w ends
// one, or begins or ends with a quotation mark.
func opensSentence(w string) bool {
	switch w[len(w)-1] {
	case '.', '!', '?', ':', '"', '\'':
		return true
	case 0x99, 0x9D: // ’ ”
		return len(w) > 2 && w[len(w)-2] == 0x80
	}
	return w[0] == '"' || w[0] == '\'' || strings.HasPrefix(w, "“") || strings.HasPrefix(w, "‘")
}

var titleWords = map[string]bool{"King": true, "Queen": true, "Prince": true, "Princess": true, "Emperor": true, "Lord": true, "Lady": true, "God": true,
	"Goddess": true, "Heaven": true, "Saint": true, "Sir": true, "Mrs": true, "Miss": true, "The": true, "And": true, "But": true, "Then": true, "Chinese": true,
	"China": true, "English": true, "French": true, "North": true, "South": true, "East": true, "West": true, "Great": true, "Sunday": true, "Devil": true,
	"Church": true, "Island": true, "River": true, "Ministry": true, "President": true, "Master": true, "Mr.": true, "General": true, "Christmas": true}

// aside reports a section heading under which no tale stands: a date of a record, an
// editor's note.
func aside(key string) bool {
	if strings.HasPrefix(key, "editors note") || strings.HasPrefix(key, "another version") || strings.HasPrefix(key, "note on") {
		return true
	}
	year := false
	month := false
	for _, w := range strings.Fields(key) {
		if len(w) == 4 && digits(w) {
			year = true
		}
		switch w {
		case "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december":
			month = true
		}
	}
	return year && month
}
