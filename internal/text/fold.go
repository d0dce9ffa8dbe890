// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Fold returns the comparison form of s: two texts that differ only in the
// ways a keyboard, a typesetter or a model changes a text without changing
// its words have the same form. In this order:
//
//   - format characters (soft hyphen, zero-width blanks, direction marks,
//     variation selectors) and controls other than white space are dropped;
//   - NFKC, which also widens ligatures and narrows full-width forms;
//   - single and double quote marks, primes and accents used as apostrophes
//     become ' and ", dashes and runs of them become -, the ellipsis sign and
//     spaced dots become three dots;
//   - runs of white space become one blank, none at either end;
//   - full case folding (ß is ss).
//
// The form is for comparing and hashing, never for showing: stored text is
// always the source's own. Fold(Fold(s)) == Fold(s).
func Fold(s string) string {
	f, _ := fold(s, FoldOptions{}, false)
	return strings.Trim(f, " ")
}

// FoldOptions says which rules of [Fold] a comparison form leaves out. The zero value is Fold's own form.
type FoldOptions struct {
	KeepSpace bool // leave the number of blanks and line breaks as they are
	KeepCase  bool // leave letters as they are
}

// FoldMap leads from a comparison form back to its source. The zero value
// belongs to the empty form.
type FoldMap struct {
	// Byte i of the form came from source bytes start[i] to end[i].
	start, end []int32
}

// Source returns the bytes of the source that bytes lo to hi of the form came
// from. Where several characters became one, or one several, all of them are
// covered. The range of an empty part is empty.
func (m FoldMap) Source(lo, hi int) Range {
	switch {
	case lo < hi:
		return Range{int(m.start[lo]), int(m.end[hi-1])}
	case lo < len(m.start):
		return Range{int(m.start[lo]), int(m.start[lo])}
	case len(m.end) > 0:
		e := int(m.end[len(m.end)-1])
		return Range{e, e}
	}
	return Range{}
}

// FoldWithMap returns the comparison form of s under opt, and the way back to
// the bytes of s. Unlike Fold it keeps a blank at either end. Texts of 2 GiB
// and more are not supported.
func FoldWithMap(s string, opt FoldOptions) (string, FoldMap) {
	return fold(s, opt, true)
}

// folder collects a form. It is fed with characters that are already in NFKC
// and carries what depends on the one before.
type folder struct {
	opt        FoldOptions
	mapped     bool
	out        []byte
	start, end []int32
}

func fold(s string, opt FoldOptions, mapped bool) (string, FoldMap) {
	src, back := prepare(s)
	f := folder{opt: opt, mapped: mapped, out: make([]byte, 0, len(src)+len(src)/16)}
	if mapped {
		f.start = make([]int32, 0, cap(f.out))
		f.end = make([]int32, 0, cap(f.out))
	}
	at := func(i int) int {
		if back == nil {
			return i
		}
		return int(back[i])
	}
	for i := 0; i < len(src); {
		if n := plainRun(src[i:]); n > 0 {
			f.plain(src[i:i+n], back, i)
			i += n
			continue
		}
		c := src[i]
		// ASCII is its own NFKC unless a combining character follows.
		if c < utf8.RuneSelf && (i+1 == len(src) || src[i+1] < utf8.RuneSelf) {
			if !opt.KeepCase && 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			f.add(rune(c), at(i), at(i+1))
			i++
			continue
		}
		n := segment(src[i:])
		lo, hi := at(i), at(i+n)
		for _, r := range normal(src[i:i+n], !opt.KeepCase) {
			f.add(r, lo, hi)
		}
		i += n
	}
	return string(f.out), FoldMap{f.start, f.end}
}

// plainRun returns how many bytes at the start of s are ASCII letters and
// digits that no combining character follows: most of a story, and nothing in
// them depends on what is beside them.
func plainRun(s string) int {
	n := 0
	for n < len(s) && asciiWord[s[n]] {
		n++
	}
	if n > 0 && n < len(s) && s[n] >= utf8.RuneSelf {
		n--
	}
	return n
}

// plain appends a [plainRun] that starts at byte i of the prepared text.
func (f *folder) plain(run string, back []int32, i int) {
	was := len(f.out)
	f.out = append(f.out, run...)
	if !f.opt.KeepCase {
		for k, c := range f.out[was:] {
			if 'A' <= c && c <= 'Z' {
				f.out[was+k] = c + 'a' - 'A'
			}
		}
	}
	switch {
	case !f.mapped:
	case back == nil:
		for k := range len(run) {
			f.start = append(f.start, int32(i+k))
			f.end = append(f.end, int32(i+k+1))
		}
	default:
		f.start = append(f.start, back[i:i+len(run)]...)
		f.end = append(f.end, back[i+1:i+len(run)+1]...)
	}
}

// segment returns the length of the shortest part at the start of s that can
// be normalised alone.
func segment(s string) int {
	if r, n := utf8.DecodeRuneInString(s); r >= 0x2010 && r <= 0x2026 {
		// The punctuation that stories are full of; only a combining
		// character after it would matter.
		if len(s) == n || s[n] < utf8.RuneSelf {
			return n
		}
	}
	if n := norm.NFKC.NextBoundaryInString(s, true); n > 0 {
		return n
	}
	_, n := utf8.DecodeRuneInString(s)
	return n
}

// normal returns NFKC of s, case folded if lower. The two are repeated because
// folding may leave something to compose and the reverse (Unicode, D146).
func normal(s string, lower bool) string {
	s = norm.NFKC.String(s)
	if !lower {
		return s
	}
	for range 3 {
		t := norm.NFKC.String(foldCase(s))
		if t == s {
			break
		}
		s = t
	}
	return s
}

// foldCase is cases.Fold, but for Cherokee, whose letters that one turns back
// and forth; Unicode folds them to capitals.
func foldCase(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Cherokee, r) }) {
		return strings.Map(unicode.ToUpper, s)
	}
	return cases.Fold().String(s)
}

// prepare drops what a form never has and replaces the marks that NFKC would
// turn into a blank with an accent. The offsets lead back to s; they are nil,
// and the text is s itself, if there was nothing to do.
func prepare(s string) (string, []int32) {
	first := -1
	for i, r := range s {
		if r >= 0x80 || r < 0x20 || r == 0x7F {
			if p := prepared(r); p != r || r == utf8.RuneError {
				first = i
				break
			}
		}
	}
	if first < 0 {
		return s, nil
	}
	out := make([]byte, 0, len(s))
	back := make([]int32, 0, len(s)+1)
	for i, r := range s {
		p := prepared(r)
		if p < 0 {
			continue
		}
		was := len(out)
		out = utf8.AppendRune(out, p)
		for k := was; k < len(out); k++ {
			back = append(back, int32(i))
		}
	}
	back = append(back, int32(len(s)))
	return string(out), back
}

// prepared returns what stands for r in a form before NFKC, -1 for nothing.
func prepared(r rune) rune {
	switch {
	case r < 0x20 || r == 0x7F:
		if isSpace(r) {
			return r
		}
		return -1
	case r < 0x80:
		return r
	case r == '´' || r >= 0x2B9 && r <= 0x2BD || r == 0x2C8 || r == 0x384 || r == 0x1FBD || r == 0x1FBF || r == 0x1FFD:
		return '\''
	case r == 0x2BA || r == 0x2033 || r == 0x2036:
		return '"'
	case r >= 0xFE00 && r <= 0xFE0F || r >= 0xE0100 && r <= 0xE01EF:
		return -1
	case isSpace(r):
		return r
	case r < 0xA0 || r == 0xAD || r >= 0x600 && unicode.Is(unicode.Cf, r):
		return -1
	}
	return r
}

// plainMark maps what NFKC leaves of quote marks and dashes.
func plainMark(r rune) rune {
	switch r {
	case '‘', '’', '‚', '‛', '′', '‵', '‹', '›', '＇':
		return '\''
	case '“', '”', '„', '‟', '″', '‶', '«', '»', '〝', '〞', '〟', '「', '」', '『', '』', '＂':
		return '"'
	case '‐', '‑', '‒', '–', '—', '―', '−', '⁃', '﹘', '﹣', '－', '⸺', '⸻':
		return '-'
	case '⋯':
		return '…'
	}
	return r
}

// add appends one character that came from source bytes lo to hi.
func (f *folder) add(r rune, lo, hi int) {
	if r >= utf8.RuneSelf {
		switch r = plainMark(r); {
		case r == '…':
			f.put('.', lo, hi)
			f.put('.', lo, hi)
			f.put('.', lo, hi)
			return
		case prepared(r) < 0:
			return
		}
	}
	n := len(f.out)
	switch {
	case r == '-':
		if n > 0 && f.out[n-1] == '-' {
			f.grow(hi)
			return
		}
	case r == '.':
		// ". . ." is an ellipsis whose dots were spaced by hand.
		if n > 3 && string(f.out[n-4:]) == ". . " {
			f.respace(hi)
			return
		}
	case !f.opt.KeepSpace && isSpace(r):
		if n > 0 && f.out[n-1] == ' ' {
			f.grow(hi)
			return
		}
		r = ' '
	}
	f.put(r, lo, hi)
}

func (f *folder) put(r rune, lo, hi int) {
	was := len(f.out)
	f.out = utf8.AppendRune(f.out, r)
	if !f.mapped {
		return
	}
	for k := was; k < len(f.out); k++ {
		f.start = append(f.start, int32(lo))
		f.end = append(f.end, int32(hi))
	}
}

// grow lets the last byte stand for the source up to hi as well.
func (f *folder) grow(hi int) {
	if f.mapped {
		f.end[len(f.end)-1] = int32(hi)
	}
}

// respace turns the ". . " at the end and a dot that ends at hi into "...".
func (f *folder) respace(hi int) {
	n := len(f.out) - 4
	copy(f.out[n:], "...")
	f.out = f.out[:n+3]
	if f.mapped {
		lo := f.start[n]
		f.start, f.end = f.start[:n+3], f.end[:n+3]
		for k := n; k < n+3; k++ {
			f.start[k], f.end[k] = lo, int32(hi)
		}
	}
}
