// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"cmp"
	"maps"
	"slices"

	"github.com/retcon-bench/retcon/schemas"
)

// summary is what card and report say of the rows beyond the manifest's
// counts. It is gathered while rows are written, and again while they are
// verified; it holds numbers a row, and a handful of stories.
type summary struct {
	splits []*splitSummary // in order of first appearance
}

type splitSummary struct {
	config, split string

	words     []int // a row each
	sentences []int
	distance  []int // words between the two sides, positives
	sites     []int // positives

	classes, subtypes, kinds, voices, negatives, corpora, licences, verification, engines map[string]int
	sources                                                                               map[string]bool

	// One positive a class, the first by id that fits a page.
	examples map[string]schemas.Example
}

// exampleWords is the longest story that the report shows.
const exampleWords = 700

func newSummary() *summary { return &summary{} }

// of finds a split's summary, or makes it.
func (s *summary) of(config, split string) *splitSummary {
	for _, p := range s.splits {
		if p.config == config && p.split == split {
			return p
		}
	}
	p := &splitSummary{config: config, split: split, sources: map[string]bool{}, examples: map[string]schemas.Example{}}
	for _, m := range []*map[string]int{&p.classes, &p.subtypes, &p.kinds, &p.voices, &p.negatives, &p.corpora, &p.licences, &p.verification, &p.engines} {
		*m = map[string]int{}
	}
	s.splits = append(s.splits, p)
	return p
}

func (s *summary) add(config, split string, e schemas.Example) {
	p := s.of(config, split)
	p.words = append(p.words, e.Words)
	p.sentences = append(p.sentences, len(e.Sentences))
	p.corpora[e.Source.Corpus]++
	p.licences[e.Source.Licence]++
	p.sources[e.GroupID] = true
	if e.Verification != "" {
		p.verification[e.Verification]++
	}
	if e.Engine != "" {
		p.engines[e.Engine]++
	}
	if e.Label != schemas.LabelError {
		if e.NegativeKind != nil {
			p.negatives[*e.NegativeKind]++
		}
		return
	}
	class := ""
	for _, c := range []struct {
		name *string
		in   map[string]int
	}{{e.FlawClass, p.classes}, {e.FlawSubtype, p.subtypes}, {e.FlawKind, p.kinds}} {
		if c.name != nil {
			c.in[*c.name]++
			class = cmp.Or(class, *c.name)
		}
	}
	if e.Sites != nil {
		p.sites = append(p.sites, *e.Sites)
	}
	if e.Difficulty != nil {
		p.distance = append(p.distance, e.Difficulty.Words)
		p.voices[e.Difficulty.Voice]++
	}
	if _, ok := p.examples[class]; !ok && e.Words <= exampleWords && len(p.examples) < 64 {
		p.examples[class] = e
	}
}

// counted lists a count, most first, equal ones by name.
func counted(m map[string]int) []schemas.Count {
	out := make([]schemas.Count, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, schemas.Count{Name: k, N: m[k]})
	}
	slices.SortStableFunc(out, func(a, b schemas.Count) int { return cmp.Compare(b.N, a.N) })
	return out
}
