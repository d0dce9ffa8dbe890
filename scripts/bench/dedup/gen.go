// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
)

// planted is a document made from another.
type planted struct {
	id, of, kind string
	jaccard      float64
}

// generate writes n generated stories of about words words to path, a line
// each, id and text parted by a tab, so that reading takes next to no time:
// Zipf words in sentences. One in ten is a near-duplicate of an
// earlier one, with 1 to 12 % of its words edited; one in twenty an excerpt of
// 200 or more words. The same n, words and seed give the same bytes.
func generate(path string, n, words int, seed uint64) ([]planted, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	r := rand.New(rand.NewPCG(seed, 1))
	lexicon := lexiconOf(30_000, r)
	zipf := rand.NewZipf(r, 1.15, 6, uint64(len(lexicon)-1))
	text := func(n int) []string {
		out := make([]string, n)
		for i := range out {
			out[i] = lexicon[zipf.Uint64()]
		}
		return out
	}
	// Only recent texts are copied from, so that memory stays bounded.
	type source struct {
		id    string
		words []string
	}
	var recent []source
	var truth []planted
	var line []byte
	for i := range n {
		id := fmt.Sprintf("gen:%07d", i)
		var t []string
		kind := r.IntN(20)
		if len(recent) == 0 {
			kind = 19
		}
		switch {
		case kind < 2: // near
			s := recent[r.IntN(len(recent))]
			share := 0.01 + 0.11*r.Float64()
			t = append(t, s.words...)
			for j := range t {
				if r.Float64() < share {
					t[j] = lexicon[zipf.Uint64()]
				}
			}
			truth = append(truth, planted{id: id, of: s.id, kind: "near"})
		case kind == 2:
			s := recent[r.IntN(len(recent))]
			if len(s.words) <= 260 {
				t = text(words/2 + r.IntN(words))
				break
			}
			size := 200 + r.IntN(60)
			from := r.IntN(len(s.words) - size)
			t = append(t, s.words[from:from+size]...)
			truth = append(truth, planted{id: id, of: s.id, kind: "excerpt"})
		default:
			t = text(words/2 + r.IntN(words))
		}
		// An original is copied from once at most: of two edited copies of
		// one text nobody knows how alike they are.
		if len(truth) > 0 && truth[len(truth)-1].id == id {
			for j, s := range recent {
				if s.id == truth[len(truth)-1].of {
					recent[j] = recent[len(recent)-1]
					recent = recent[:len(recent)-1]
					break
				}
			}
		} else if len(recent) < 5_000 {
			recent = append(recent, source{id, t})
		} else {
			recent[r.IntN(len(recent))] = source{id, t}
		}
		line = fmt.Appendf(line[:0], "%s\t%s\n", id, punctuate(t, r))
		if _, err := w.Write(line); err != nil {
			return nil, err
		}
	}
	if err := w.Flush(); err != nil {
		return nil, err
	}
	return truth, f.Close()
}

// lexiconOf makes words of one to four syllables, the frequent ones short.
func lexiconOf(n int, r *rand.Rand) []string {
	syllables := strings.Fields("a the be to of an in ing er ka lo mi ne ro sa ta vi wen dor fel gar hal jun kel lam mor nos pel qui rin sol tan ul ven wil yor zan")
	seen := map[string]bool{}
	var out []string
	for len(out) < n {
		var b strings.Builder
		for range 1 + r.IntN(2+min(2, len(out)/100)) {
			b.WriteString(syllables[r.IntN(len(syllables))])
		}
		if s := b.String(); !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

// punctuate sets words as prose: sentences, commas, dashes.
func punctuate(words []string, r *rand.Rand) string {
	var b strings.Builder
	first := true
	for i, w := range words {
		if first {
			w = strings.ToUpper(w[:1]) + w[1:]
			first = false
		}
		b.WriteString(w)
		switch x := r.IntN(100); {
		case i == len(words)-1:
			b.WriteByte('.')
		case x < 7:
			b.WriteString(". ")
			first = true
		case x == 7:
			b.WriteString(".  ")
			first = true
		case x < 15:
			b.WriteString(", ")
		case x == 15:
			b.WriteString(" -- ")
		default:
			b.WriteByte(' ')
		}
	}
	return b.String()
}
