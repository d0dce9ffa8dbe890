// SPDX-License-Identifier: Apache-2.0

package flawed

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/retcon-bench/retcon/internal/text"
)

// replace says that the bytes of the source at Range became New.
type replace struct {
	text.Range
	New string
}

// rewriting is what the sentences of an act and its rewritten form say about
// what changed, whatever the tags say.
type rewriting struct {
	edits  []replace // byte ranges of the act
	tags   int       // marked passages
	idle   int       // marked passages in which nothing changed
	silent []string  // changed sentences outside every mark
}

// alignAct compares an act with its rewritten form, in which marks were taken
// out of the text already. Sentences that differ in white space, kind of quote
// or dash, or, outside the marks, in punctuation only, keep the source's bytes.
func alignAct(act, answer string, marks []text.Range) rewriting {
	a, b := text.Sentences(act), text.Sentences(answer)
	ka, kb := make([]string, len(a)), make([]string, len(b))
	for i, r := range a {
		ka[i] = letters(r.Of(act))
	}
	for i, r := range b {
		kb[i] = letters(r.Of(answer))
	}
	rw := rewriting{tags: len(marks)}
	used := make([]bool, len(marks))
	// marked reports whether a mark touches r; changed notes that r did change.
	marked := func(r text.Range, changed bool) bool {
		hit := false
		for i, m := range marks {
			if m.Start < r.End && r.Start < m.End {
				hit = true
				used[i] = used[i] || changed
			}
		}
		return hit
	}
	i, j := 0, 0
	same := func(toA int) {
		for ; i < toA; i, j = i+1, j+1 {
			// Equal letters. A mark of punctuation that somebody tagged is a
			// change; one nobody tagged is a slip.
			if typo(a[i].Of(act)) != typo(b[j].Of(answer)) && marked(b[j], true) {
				rw.edits = append(rw.edits, wordEdits(act, a[i], b[j].Of(answer))...)
			}
		}
	}
	for _, h := range diff(ka, kb) {
		same(h.a0)
		i, j = h.a1, h.b1
		before := strings.Join(ka[h.a0:h.a1], "")
		if before == strings.Join(kb[h.b0:h.b1], "") {
			continue // the same words, cut into other sentences
		}
		tagged := false
		for k := h.b0; k < h.b1; k++ {
			if marked(b[k], true) {
				tagged = true
			} else if !strings.Contains(before, kb[k]) { // else: split off a sentence that did change
				rw.silent = append(rw.silent, b[k].Of(answer))
			}
		}
		if !tagged && h.b0 == h.b1 {
			for k := h.a0; k < h.a1; k++ {
				rw.silent = append(rw.silent, a[k].Of(act))
			}
		}
		rw.edits = append(rw.edits, blockEdits(act, a, answer, b, h)...)
	}
	same(len(a))
	for _, u := range used {
		if !u {
			rw.idle++
		}
	}
	return rw
}

// blockEdits makes the edits of one block of changed sentences. Sentence for
// sentence when there are as many on both sides, else as one passage.
func blockEdits(act string, a []text.Range, answer string, b []text.Range, h hunk) []replace {
	n, m := h.a1-h.a0, h.b1-h.b0
	if n == m {
		var out []replace
		for k := range n {
			out = append(out, wordEdits(act, a[h.a0+k], b[h.b0+k].Of(answer))...)
		}
		return out
	}
	switch {
	case m == 0: // left out: with the white space before, or, in the first place, after
		r := text.Range{Start: a[h.a0].Start, End: a[h.a1-1].End}
		if h.a0 > 0 {
			r.Start = a[h.a0-1].End
		} else if h.a1 < len(a) {
			r.End = a[h.a1].Start
		}
		return []replace{{r, ""}}
	case n == 0: // put in
		passage := text.Range{Start: b[h.b0].Start, End: b[h.b1-1].End}.Of(answer)
		if h.a0 == 0 {
			sep := " "
			if h.b1 < len(b) {
				sep = answer[b[h.b1-1].End:b[h.b1].Start]
			}
			at := 0
			if len(a) > 0 {
				at = a[0].Start
			}
			return []replace{{text.Range{Start: at, End: at}, passage + sep}}
		}
		sep := " "
		if h.b0 > 0 {
			sep = answer[b[h.b0-1].End:b[h.b0].Start]
		}
		at := a[h.a0-1].End
		return []replace{{text.Range{Start: at, End: at}, sep + passage}}
	}
	return wordEdits(act, text.Range{Start: a[h.a0].Start, End: a[h.a1-1].End}, text.Range{Start: b[h.b0].Start, End: b[h.b1-1].End}.Of(answer))
}

// wordEdits compares a passage of the act with its new words, token by token.
// Tokens that differ in white space or kind of quote only keep the act's bytes.
func wordEdits(act string, r text.Range, now string) []replace {
	old := tokens(r.Of(act))
	new := tokens(now)
	ko, kn := make([]string, len(old)), make([]string, len(new))
	for i, t := range old {
		ko[i] = typoToken(t)
	}
	for i, t := range new {
		kn[i] = typoToken(t)
	}
	at := make([]int, len(old)+1)
	at[0] = r.Start
	for i, t := range old {
		at[i+1] = at[i] + len(t)
	}
	var out []replace
	for _, h := range joinClose(diff(ko, kn), ko) {
		out = append(out, replace{text.Range{Start: at[h.a0], End: at[h.a1]}, strings.Join(new[h.b0:h.b1], "")})
	}
	return out
}

// joinClose joins changes with nothing but a blank between them: "three sons"
// that became "four daughters" is one change.
func joinClose(hs []hunk, ka []string) []hunk {
	var out []hunk
	for _, h := range hs {
		if l := len(out) - 1; l >= 0 && h.a0-out[l].a1 <= 1 && (h.a0 == out[l].a1 || ka[out[l].a1] == " ") {
			out[l].a1, out[l].b1 = h.a1, h.b1
			continue
		}
		out = append(out, h)
	}
	return out
}

// tokens cuts s into words, runs of white space, and single other characters.
// Joined they are s.
func tokens(s string) []string {
	var out []string
	for len(s) > 0 {
		kind := classOf(s)
		n := 0
		for n < len(s) && classOf(s[n:]) == kind {
			_, size := utf8.DecodeRuneInString(s[n:])
			n += size
			if kind == 'p' {
				break
			}
		}
		out = append(out, s[:n])
		s = s[n:]
	}
	return out
}

func classOf(s string) byte {
	r, _ := utf8.DecodeRuneInString(s)
	switch {
	case unicode.IsSpace(r):
		return 's'
	case unicode.IsLetter(r), unicode.IsDigit(r), unicode.Is(unicode.M, r):
		return 'w'
	}
	return 'p'
}

// letters folds a sentence to its letters and digits.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.M, r) {
			return r
		}
		return -1
	}, s)
}

// typo folds white space and the kinds of quotes and dashes.
func typo(s string) string {
	var b strings.Builder
	for _, t := range tokens(strings.TrimSpace(s)) {
		b.WriteString(typoToken(t))
	}
	return b.String()
}

func typoToken(t string) string {
	switch t {
	case "‘", "’", "`", "´":
		return "'"
	case "“", "”", "„", "«", "»":
		return "\""
	case "–", "—", "―", "‒", "−":
		return "-"
	}
	if classOf(t) == 's' {
		return " "
	}
	return t
}

// applyEdits makes the edits of s whose start is at or behind byte from, and
// returns the new text with the place of each edit in it.
func applyEdits(s string, edits []replace, from int) (string, []text.Range, []replace) {
	var b strings.Builder
	var places []text.Range
	var made []replace
	at := 0
	for _, e := range edits {
		if e.Start < from {
			continue
		}
		b.WriteString(s[at:e.Start])
		start := b.Len()
		b.WriteString(e.New)
		places = append(places, text.Range{Start: start, End: b.Len()})
		made = append(made, e)
		at = e.End
	}
	b.WriteString(s[at:])
	return b.String(), places, made
}

// checkEdits makes sure that edits are in order, apart and inside s.
func checkEdits(s string, edits []replace) error {
	at := 0
	for i, e := range edits {
		if e.Start < at || e.End < e.Start || e.End > len(s) || i > 0 && e.Start == edits[i-1].Start {
			return fmt.Errorf("edit %d of bytes [%d,%d) overlaps the one before it or leaves the text", i, e.Start, e.End)
		}
		if !boundary(s, e.Start) || !boundary(s, e.End) {
			return errors.New("an edit cuts a character in two")
		}
		at = e.End
	}
	return nil
}

func boundary(s string, i int) bool { return i == len(s) || utf8.RuneStart(s[i]) }
