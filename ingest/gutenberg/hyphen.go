// SPDX-License-Identifier: Apache-2.0

package gutenberg

import (
	"strings"
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
	type seen struct{ joined, apart int }
	count := map[string]*seen{} // by joined word and by hyphenated word
	var pairs [][2]string
	// Lengths of wanted words by first letter, so that most words of the text
	// are passed over without a look-up.
	var lengths ['z' + 1]uint64
	want := func(w string) *seen {
		if count[w] == nil {
			count[w] = &seen{}
			lengths[w[0]] |= 1 << min(len(w), 63)
		}
		return count[w]
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
	for i := range d.lines {
		s := d.str(i)
		for k := 0; k < len(s); {
			if !letters[s[k]] {
				k++
				continue
			}
			at := k
			for k < len(s) && (letters[s[k]] || s[k] == '-' && k+1 < len(s) && letters[s[k+1]]) {
				k++
			}
			n := k - at
			if n > len(buf) || k == len(s)-1 && s[k] == '-' || lengths[s[at]|0x20]&(1<<min(n, 63)) == 0 {
				continue
			}
			for j := 0; j < n; j++ {
				buf[j] = s[at+j]
				if buf[j] != '-' {
					buf[j] |= 0x20
				}
			}
			if c := count[string(buf[:n])]; c != nil {
				c.joined++
			}
		}
	}
	for _, p := range pairs {
		if count[p[0]+p[1]].joined > 0 && count[p[0]+"-"+p[1]].joined == 0 {
			h.joined[p[0]+"-"+p[1]] = true
		}
	}
	return h
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
