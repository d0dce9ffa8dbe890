// SPDX-License-Identifier: Apache-2.0

package diagnostic

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

//go:embed pairs.tsv
var pairsTSV string

// pair is a line of pairs.tsv.
type pair struct {
	subtype, class string
	forbids        []string
	first, second  string
}

// pairTable parses the embedded table once. A broken line is a bug of this
// package, which its tests find: it panics.
var pairTable = sync.OnceValue(func() []pair {
	var out []pair
	for _, line := range strings.Split(strings.TrimSpace(pairsTSV), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, "\t")
		if _, _, ok := schemas.FindSubtype(f[0]); len(f) != 5 || !ok {
			panic("pairs.tsv: " + line)
		}
		out = append(out, pair{f[0], f[1], strings.Fields(f[2]), f[3], f[4]})
	}
	return out
})

// pairs puts in two sentences of narration, far apart, that contradict each
// other: one statement about somebody (or about the country), and later its
// opposite. The story must have no word of the matter, so that each sentence
// alone contradicts nothing; both stand behind narration, the ones about
// somebody behind a sentence that names them. They are easy to find for whoever
// reads closely, being about nothing the plot needs; the class says which they are.
func (r *reading) pairs() []proposal {
	people := r.figures()
	var out []proposal
	for _, p := range shuffled(r, pairTable(), func(p pair) string { return p.class }) {
		if !r.lacks(p.forbids) {
			continue
		}
		if p.first == "-" {
			out = append(out, r.slips(p)...)
			continue
		}
		if !strings.Contains(p.first, "{X}") {
			out = append(out, r.pair(p, "", nil)...)
			continue
		}
		for _, f := range people {
			if prs := r.pair(p, f.name, f.at); len(prs) > 0 {
				out = append(out, prs...)
				break
			}
		}
	}
	return out
}

// pair finds the two places: the first in the first half of the story, the
// second in the other, neither at the very start or end. A sentence that names
// the figure goes before one that does not; the figure is introduced by then.
// Several choices of places, since others may be there already.
func (r *reading) pair(p pair, name string, named []int) []proposal {
	var out []proposal
	for choice := range choices {
		if pr, ok := r.pairAt(p, name, named, fmt.Sprint(choice)); ok {
			out = append(out, pr)
		}
	}
	return out
}

// choices is how many places are tried for a sentence.
const choices = 3

func (r *reading) pairAt(p pair, name string, named []int, choice string) (proposal, bool) {
	n := len(r.sents)
	find := func(from, to int) int {
		for _, only := range []bool{true, false} {
			var at []int
			for i := max(from, 2); i < min(to, n-3); i++ {
				if r.gap(i) && (slices.Contains(named, i) || !only) && (name == "" || i >= named[0]) {
					at = append(at, i)
				}
			}
			if len(at) > 0 {
				return at[r.draw(len(at), "place", p.class, choice, fmt.Sprint(from))]
			}
		}
		return -1
	}
	a := find(0, n/2)
	b := find(max(n/2, a+4), n)
	if a < 0 || b < 0 {
		return proposal{}, false
	}
	put := func(i int, sentence string) change {
		s := strings.ReplaceAll(sentence, "{X}", name)
		at := r.sents[i].End
		return change{text.Range{Start: at, End: at}, " " + capital(s), true}
	}
	first, second := put(a, p.first), put(b, p.second)
	return proposal{
		subtype: p.subtype, class: "pair:" + p.class, checked: "rules",
		changes: []change{first, second}, fact: changed(0), contra: changed(1),
		explanation: fmt.Sprintf("Two statements of the narrator that cannot both hold:%s And:%s", first.New, second.New),
	}, true
}

// slips puts a sentence of another register behind plain narration: the
// narrator's voice is what the sentence before establishes.
func (r *reading) slips(p pair) []proposal {
	var at []int
	for i := len(r.sents) / 3; i < len(r.sents)-3; i++ {
		if r.gap(i) && r.tale[i-1] {
			at = append(at, i)
		}
	}
	if len(at) == 0 {
		return nil
	}
	var out []proposal
	for choice := range choices {
		i := at[r.draw(len(at), "slip", p.class, fmt.Sprint(choice))]
		end := r.sents[i].End
		out = append(out, proposal{
			subtype: p.subtype, class: "slip:" + p.class, checked: "rules",
			changes: []change{{text.Range{Start: end, End: end}, " " + p.second, true}}, fact: standing(r.sents[i]), contra: changed(0),
			explanation: "The narrator falls out of the voice in which the sentence before it, and the whole story, is told.",
		})
	}
	return out
}
