// SPDX-License-Identifier: Apache-2.0

package gutenberg

import (
	"math/bits"
	"strings"

	"github.com/retcon-bench/retcon/ingest/internal/prose"
)

// A hyphen at a line's end may belong to the word ("well-known") or to the
// printer ("agree-able" in books that were scanned line for line). The book
// itself decides: the hyphen goes if the joined word stands elsewhere in the
// book and the hyphenated one does not.

// hyphens is what a book says about its line-end hyphens.
type hyphens struct {
	joined map[string]bool // by "agree-able": drop the hyphen
}

var letters = func() (t [256]bool) {
	for c := 'a'; c <= 'z'; c++ {
		t[c], t[c-'a'+'A'] = true, true
	}
	return t
}()

// endHyphen returns the two halves of a word broken between lines a and b, in
// lower case, or nothing.
func endHyphen(a, b string) (left, right string) {
	n := len(a)
	if n < 3 || a[n-1] != '-' || a[n-2] == '-' || !isLetter(a[n-2]) || b == "" || b[0] < 'a' || b[0] > 'z' {
		return "", ""
	}
	i := n - 1
	for i > 0 && isLetter(a[i-1]) {
		i--
	}
	if i > 0 && (a[i-1] == '-' || a[i-1] == '\'' || a[i-1] >= 0x80) {
		return "", "" // a compound of three, or a letter beyond ASCII
	}
	k := 0
	for k < len(b) && isLetter(b[k]) {
		k++
	}
	if k < len(b) && (b[k] == '-' && (k+1 >= len(b) || b[k+1] != '-') || b[k] >= 0x80 && b[k] < 0xE2) {
		return "", ""
	}
	return strings.ToLower(a[i : n-1]), strings.ToLower(b[:k])
}

// findHyphens reads the whole text once, if there is any broken word.
func (d *doc) findHyphens() *hyphens {
	h := &hyphens{joined: map[string]bool{}}
	count := map[string]*int{} // by joined word and by hyphenated word
	var pairs [][2]string
	// Which three letters wanted words begin with, so that nearly all words of
	// the text are passed over without a look-up.
	var begins [1 << 15 / 64]uint64
	want := func(w string) {
		if count[w] == nil {
			count[w] = new(int)
			b := begin(w)
			begins[b/64] |= 1 << (b % 64)
		}
	}
	for i := 0; i+1 < len(d.lines); i++ {
		if d.text[d.lines[i].end-1] != '-' {
			continue
		}
		l, r := endHyphen(d.str(i), d.str(i+1))
		if l == "" {
			continue
		}
		pairs = append(pairs, [2]string{l, r})
		want(l + r)
		want(l + "-" + r)
	}
	if len(pairs) == 0 {
		return h
	}
	var buf [64]byte
	wanted := func(w string) bool {
		b := begin(w)
		return begins[b/64]>>(b%64)&1 != 0
	}
	witness := func(s string, at int) {
		k := at
		for k < len(s) && k-at < len(buf) && (letters[s[k]] || s[k] == '-' && k+1 < len(s) && letters[s[k+1]]) {
			if buf[k-at] = s[k]; s[k] != '-' {
				buf[k-at] |= 0x20
			}
			k++
		}
		if c := count[string(buf[:k-at])]; c != nil && !(k == len(s)-1 && s[k] == '-') {
			*c++
		}
	}
	for i := range d.lines {
		s := d.str(i)
		// A word begins behind a blank: one behind a quote or dash is one
		// witness less, no more.
		if len(s) >= 3 && wanted(s) {
			witness(s, 0)
		}
		for i := 0; i < len(s); i += 8 {
			for m := prose.BlankMask(s, i); m != 0; m &= m - 1 {
				if at := i + bits.TrailingZeros64(m)/8 + 1; at+3 <= len(s) && wanted(s[at:]) {
					witness(s, at)
				}
			}
		}
	}
	for _, p := range pairs {
		if *count[p[0]+p[1]] > 0 && *count[p[0]+"-"+p[1]] == 0 {
			h.joined[p[0]+"-"+p[1]] = true
		}
	}
	return h
}

// begin packs the first three bytes of a word, as letters of either case. W
// has three bytes at least, or begins with a letter and a hyphen.
func begin(w string) uint32 {
	c := byte('-')
	if len(w) > 2 {
		c = w[2]
	}
	return uint32(w[0]&0x1F)<<10 | uint32(w[1]&0x1F)<<5 | uint32(c&0x1F)
}

// drops reports that the hyphen at the end of line i is the printer's.
func (d *doc) drops(i int) bool {
	if i+1 >= len(d.lines) || d.text[d.lines[i].end-1] != '-' {
		return false
	}
	l, r := endHyphen(d.str(i), d.str(i+1))
	if l == "" {
		return false
	}
	if d.hyphens == nil {
		d.hyphens = d.findHyphens()
	}
	return d.hyphens.joined[l+"-"+r]
}
