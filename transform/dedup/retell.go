// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/retcon-bench/retcon/schemas"
)

// Profile is what a report on retellings needs of a story: its title, the names
// in it and the words it is about. The same tale in another translation shares next to no
// shingles (0.01 to 0.12 on the known ones), so nothing here decides anything:
// [Retellings] makes a list for people to read.
type Profile struct {
	ID    string
	Title string
	Words int
	title []string // folded words but the commonest, in order of the alphabet
	spelt string   // the title's folded words without blanks
	names []string // folded names, in order of the alphabet
	uses  []use    // of other words
}

type use struct {
	word string
	n    int
}

// ProfileOf returns the profile of a story.
func ProfileOf(s schemas.Story) Profile {
	p := Profile{ID: s.StoryID, Title: s.Title}
	var w folded
	w.fold(s.Title)
	for _, word := range strings.Fields(string(w.bytes())) {
		if !common[word] {
			p.title = append(p.title, stem(word))
			p.spelt += word
		}
	}
	slices.Sort(p.title)
	p.title = slices.Compact(p.title)
	w.fold(s.Text)
	p.Words = len(w.hashes)
	p.names = namesOf(s.Text)
	uses := map[string]int{}
	for _, word := range strings.Fields(string(w.bytes())) {
		if len(word) > 3 {
			uses[stem(word)]++
		}
	}
	for word, n := range uses {
		if _, name := slices.BinarySearch(p.names, word); n > 1 && !name {
			p.uses = append(p.uses, use{word, n})
		}
	}
	slices.SortFunc(p.uses, func(a, b use) int { return cmp.Or(b.n-a.n, strings.Compare(a.word, b.word)) })
	p.uses = slices.Clip(p.uses[:min(len(p.uses), 150)])
	return p
}

// common are words of titles that say nothing about the tale.
var common = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields("a an and as at by for from had has he her his how in is it its my no not of on or she story tale that the their they to was went what when where who why with") {
		m[w] = true
	}
	return m
}()

// stem takes plural endings off, and writes th as t and doubled letters once,
// which other spellings of a name differ in (Grethel, Gretel).
func stem(w string) string {
	if len(w) > 3 {
		w = strings.TrimSuffix(w, "s")
	}
	w = strings.ReplaceAll(w, "th", "t")
	var b strings.Builder
	var last rune
	for _, r := range w {
		if r != last {
			b.WriteRune(r)
		}
		last = r
	}
	return b.String()
}

// nameUses is how often a capitalised word must stand inside a sentence to be
// taken for a name.
const nameUses = 2

// namesOf returns the names of a text: capitalised words that are not the first
// of a sentence, and that do not stand in lower case elsewhere in it.
func namesOf(text string) []string {
	uses := map[string]int{}
	small := map[string]bool{}
	first := true // of a sentence
	for _, word := range strings.Fields(text) {
		start := strings.IndexFunc(word, unicode.IsLetter)
		if start < 0 {
			first = first || strings.ContainsAny(word, ".!?")
			continue
		}
		opens := strings.ContainsAny(word[:start], "\"“‘'(—")
		bare := word[start:]
		end := strings.LastIndexFunc(bare, unicode.IsLetter)
		_, n := utf8.DecodeRuneInString(bare[end:])
		tail := bare[end+n:]
		bare = strings.TrimSuffix(strings.TrimSuffix(bare[:end+n], "'s"), "’s")
		r, _ := utf8.DecodeRuneInString(bare)
		switch {
		case !unicode.IsUpper(r):
			small[stem(strings.ToLower(bare))] = true
		case !first && !opens && strings.ContainsFunc(bare, unicode.IsLower):
			uses[stem(strings.ToLower(bare))]++
		}
		first = strings.ContainsAny(tail, ".!?:")
	}
	var names []string
	for name, n := range uses {
		if n >= nameUses && !small[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Retelling is a pair of stories that may be one tale told twice.
type Retelling struct {
	A      string  `json:"a"`
	B      string  `json:"b"`
	TitleA string  `json:"title_a"`
	TitleB string  `json:"title_b"`
	Titles float64 `json:"titles"` // weighted share of the titles' words, or of their letters, that both have
	Names  float64 `json:"names"`  // weighted share of the names in the texts
	Themes float64 `json:"themes"` // weighted share of the words that tell each text from others
	Score  float64 `json:"score"`
}

// Retellings lists pairs of stories that share enough of their titles and
// names, the likeliest first: a report for people, never a filter. Words and
// names weigh by their rarity over all profiles: half of all tales have a king.
//
// The score is half the titles' share, half the names' and three times the
// themes', weights that put the most known retellings of fairy-tale books in
// front (100 of 104 among the first 500 pairs of 1,500 tales). Pairs of a
// score under least (0 stands for 0.5) are left out, and so are all behind the
// first 20,000. Pairs that dedup joined should be left out by passing the stories
// that stay. Time and memory grow with the stories, not with their pairs.
func Retellings(profiles []Profile, least float64) []Retelling {
	if least <= 0 {
		least = 0.5
	}
	profiles = slices.Clone(profiles)
	slices.SortFunc(profiles, func(a, b Profile) int { return strings.Compare(a.ID, b.ID) })
	titles := weigh(profiles, func(p Profile) []string { return p.title })
	names := weigh(profiles, func(p Profile) []string { return p.names })
	themes := make([][]string, len(profiles))
	words := weigh(profiles, func(p Profile) []string {
		var list []string
		for _, u := range p.uses {
			list = append(list, u.word)
		}
		return list
	})
	for i, p := range profiles {
		weight := func(u use) float64 { return math.Log(float64(u.n)+1) * words[u.word].weight }
		uses := slices.Clone(p.uses)
		slices.SortFunc(uses, func(a, b use) int { return cmp.Or(cmp.Compare(weight(b), weight(a)), strings.Compare(a.word, b.word)) })
		for _, u := range uses[:min(len(uses), themeWords)] {
			themes[i] = append(themes[i], u.word)
		}
		slices.Sort(themes[i])
	}
	spelt := make([][]uint64, len(profiles))
	for i, p := range profiles {
		spelt[i] = trigrams(p.spelt)
	}
	at := -1
	topics := weigh(profiles, func(Profile) []string { at++; return themes[at] })
	// A word that over a fiftieth of all tales have, or hundreds, says too little
	// to bring two together by itself; and pairs grow with its square.
	const manyTales = 200
	most := min(max(20, len(profiles)/50), manyTales)
	var out []Retelling
	met := make([]int32, len(profiles)) // the last profile that met it, plus one
	for a := range profiles {
		var with []int32 // later profiles that share a rare word with a
		meet := func(words []string, index map[string]*term) {
			for _, w := range words {
				in := index[w].in
				if len(in) > most {
					continue
				}
				at, _ := slices.BinarySearch(in, int32(a))
				for _, b := range in[at+1:] {
					if met[b] != int32(a)+1 {
						met[b] = int32(a) + 1
						with = append(with, b)
					}
				}
			}
		}
		meet(profiles[a].title, titles)
		meet(profiles[a].names, names)
		meet(themes[a], topics)
		for _, b := range with {
			p, q := &profiles[a], &profiles[b]
			r := Retelling{
				A: p.ID, B: q.ID, TitleA: p.Title, TitleB: q.Title,
				Titles: max(similar(p.title, q.title, titles), spelling(spelt[a], spelt[b])),
				Names:  similar(p.names, q.names, names),
				Themes: similar(themes[a], themes[b], topics),
			}
			r.Score = r.Titles/2 + r.Names/2 + 3*r.Themes
			if r.Score >= least {
				r.Titles, r.Names, r.Themes, r.Score = round4(r.Titles), round4(r.Names), round4(r.Themes), round4(r.Score)
				out = append(out, r)
			}
		}
		if len(out) > 2*mostRetellings {
			out = likeliest(out)
		}
	}
	return likeliest(out)
}

// mostRetellings is the length of the list: more than people read.
const mostRetellings = 20_000

// likeliest sorts pairs, the likeliest first, and cuts the list.
func likeliest(out []Retelling) []Retelling {
	slices.SortFunc(out, func(x, y Retelling) int {
		return cmp.Or(cmp.Compare(y.Score, x.Score), strings.Compare(x.A, y.A), strings.Compare(x.B, y.B))
	})
	return out[:min(len(out), mostRetellings)]
}

// themeWords is how many words tell what a text is about.
const themeWords = 25

// trigrams returns the runs of three bytes of a title, sorted.
func trigrams(s string) []uint64 {
	var grams []uint64
	for i := 0; i+3 <= len(s); i++ {
		grams = append(grams, uint64(s[i])<<16|uint64(s[i+1])<<8|uint64(s[i+2]))
	}
	slices.Sort(grams)
	return slices.Compact(grams)
}

// spelling compares titles by their trigrams (Rumpelstiltzkin and
// Rumpelstiltskin have 10 of 16 in common); less than half counts nothing.
func spelling(a, b []uint64) float64 {
	if o := measure(a, b); o.containment >= 0.5 {
		return o.jaccard
	}
	return 0
}

// term is a word with the profiles that have it.
type term struct {
	in     []int32
	weight float64
}

func weigh(profiles []Profile, words func(Profile) []string) map[string]*term {
	index := map[string]*term{}
	for i, p := range profiles {
		for _, w := range words(p) {
			if index[w] == nil {
				index[w] = &term{}
			}
			index[w].in = append(index[w].in, int32(i))
		}
	}
	for _, t := range index {
		t.weight = math.Log(float64(len(profiles)+1) / float64(len(t.in)))
	}
	return index
}

// similar is the weight of the words of both over that of the words of either;
// a single shared word counts half, since it is chance more often.
func similar(a, b []string, index map[string]*term) float64 {
	var shared, all float64
	n := 0
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case j == len(b) || i < len(a) && a[i] < b[j]:
			all += index[a[i]].weight
			i++
		case i == len(a) || a[i] > b[j]:
			all += index[b[j]].weight
			j++
		default:
			shared += index[a[i]].weight
			all += index[a[i]].weight
			n++
			i++
			j++
		}
	}
	if shared == 0 {
		return 0
	}
	if n == 1 && (len(a) > 1 || len(b) > 1) {
		shared /= 2
	}
	return shared / all
}
