// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"strings"
	"sync"
)

//go:embed lexicon
var lexiconFS embed.FS

// head is a noun of heads.tsv.
type head struct {
	one, many string
	category  string
}

// line is a line of values.tsv: values that exclude each other.
type line struct {
	class  string
	values []string
}

// bridge is a line of bridges.tsv.
type bridge struct {
	class    string
	groups   map[string]bool
	needs    string
	sentence string
}

type lexica struct {
	heads  map[string]head            // by singular and by plural
	values map[string][]line          // by category
	class  map[string]map[string]bool // value -> classes
	words  map[string]map[string]bool
	kin    map[string][]string // value -> words that would be left over
	// companions are words that go with a value wherever they stand.
	companions map[string][]string
	bridges    []bridge
	times      []timeWord
	nouns      []noun
	byNoun     map[string]noun
	noun       map[string]bool   // singulars and plurals of nouns
	given      map[string]string // plain given names, folded -> f, m or x
	world      map[string]string // and the world they belong to
	forms      []map[string]bool // each the forms of one given name
}

// lexicon parses the embedded tables once. A broken table is a bug of this
// package, which its tests find: it panics.
var lexicon = sync.OnceValue(func() *lexica {
	l := &lexica{heads: map[string]head{}, values: map[string][]line{}, class: map[string]map[string]bool{}, words: map[string]map[string]bool{}, kin: map[string][]string{}, companions: map[string][]string{}, noun: map[string]bool{}, byNoun: map[string]noun{}, given: map[string]string{}, world: map[string]string{}}
	for _, f := range table("heads.tsv", 3) {
		h := head{f[0], f[1], f[2]}
		if h.many == "=" {
			h.many = h.one
		}
		l.heads[h.one], l.heads[h.many] = h, h
	}
	for _, f := range table("values.tsv", 3) {
		v := line{f[0], strings.Fields(f[2])}
		for _, c := range strings.Fields(f[1]) {
			l.values[c] = append(l.values[c], v)
		}
		for _, w := range v.values {
			if l.class[w] == nil {
				l.class[w] = map[string]bool{}
			}
			l.class[w][v.class] = true
		}
	}
	for _, f := range table("words.tsv", 2) {
		set := map[string]bool{}
		for _, w := range strings.Fields(f[1]) {
			set[w] = true
		}
		l.words[f[0]] = set
	}
	for _, f := range table("bridges.tsv", 4) {
		l.bridges = append(l.bridges, bridge{f[0], set(f[1]), f[2], f[3]})
	}
	for _, f := range table("given.tsv", 3) {
		for _, w := range strings.Fields(f[2]) {
			l.given[fold(w)], l.world[fold(w)] = f[0], f[1]
		}
	}
	for _, f := range table("forms.tsv", 1) {
		l.forms = append(l.forms, set(f[0]))
	}
	for _, f := range table("kin.tsv", 2) {
		l.kin[f[0]] = strings.Fields(f[1])
	}
	for _, f := range table("companions.tsv", 2) {
		l.companions[f[0]] = strings.Fields(f[1])
	}
	for _, f := range table("times.tsv", 4) {
		l.times = append(l.times, timeWord{f[0], f[1], strings.Fields(f[2]), set(f[3])})
	}
	for _, f := range table("nouns.tsv", 7) {
		n := noun{class: f[0], one: f[1], many: f[2], group: f[3], instead: list(f[4]), near: set(strings.Trim(f[5], "-")), anywhere: list(f[6])}
		l.nouns = append(l.nouns, n)
		l.byNoun[n.one] = n
		l.noun[n.one], l.noun[n.many] = true, true
	}
	return l
})

// table reads a tab-separated file of the lexicon; lines that start with # are
// comments.
func table(name string, columns int) [][]string {
	raw, err := lexiconFS.ReadFile("lexicon/" + name)
	if err != nil {
		panic(err)
	}
	var out [][]string
	for n, row := range strings.Split(strings.TrimRight(string(raw), "\n"), "\n") {
		if row == "" || strings.HasPrefix(row, "#") {
			continue
		}
		f := strings.Split(row, "\t")
		if len(f) != columns {
			panic(fmt.Sprintf("lexicon/%s:%d: %d columns, want %d", name, n+1, len(f), columns))
		}
		out = append(out, f)
	}
	return out
}

// Version names the rules by their tables: a part of the version of each step
// that runs them. It changes with every change of a table; rules in code have a
// number of their own, which whoever changes them raises.
func Version() string { return rulesVersion + "-" + tables() }

const rulesVersion = "19"

var tables = sync.OnceValue(func() string {
	h := sha256.New()
	files, err := fs.Glob(lexiconFS, "lexicon/*")
	if err != nil {
		panic(err)
	}
	for _, f := range files { // in order of their names
		raw, err := lexiconFS.ReadFile(f)
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(h, "%s %d\n", f, len(raw))
		h.Write(raw)
	}
	return hex.EncodeToString(h.Sum(nil))[:8]
})

// list cuts a cell into words; "-" is an empty cell.
func list(cell string) []string {
	if cell == "-" {
		return nil
	}
	return strings.Fields(cell)
}
