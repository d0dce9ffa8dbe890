// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"cmp"
	"maps"
	"slices"
	"strings"

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

	classes, subtypes, kinds, voices, negatives, corpora, licences, verification, engines, languages map[string]int
	sources                                                                                          map[string]bool
	tasks                                                                                            map[string]map[string]int // of prompts, by corpus

	// Terms of use by corpus and licence, with at most maxCredits attributions.
	credits map[creditKey]*credit

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
	p := &splitSummary{config: config, split: split, sources: map[string]bool{}, examples: map[string]schemas.Example{}, credits: map[creditKey]*credit{}}
	for _, m := range []*map[string]int{&p.classes, &p.subtypes, &p.kinds, &p.voices, &p.negatives, &p.corpora, &p.licences, &p.verification, &p.engines, &p.languages} {
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
	p.languages[e.Language]++
	p.terms(e.Source)
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

type creditKey struct{ corpus, licence string }

// credit is what the licence file says of the rows of one corpus and licence.
type credit struct {
	rows         int
	url          string
	attributions map[string]bool
	more         bool // than maxCredits
}

const maxCredits = 50

func (p *splitSummary) terms(s schemas.Source) {
	k := creditKey{s.Corpus, s.Licence}
	c := p.credits[k]
	if c == nil {
		c = &credit{url: s.LicenceURL, attributions: map[string]bool{}}
		p.credits[k] = c
	}
	c.rows++
	if s.Attribution == "" || c.attributions[s.Attribution] {
		return
	}
	if len(c.attributions) == maxCredits {
		c.more = true
		return
	}
	c.attributions[s.Attribution] = true
}

// credits merges the splits' terms. Which attributions are kept where there are
// more than maxCredits depends on the order of rows, which is fixed.
func (s *summary) credits() ([]creditKey, map[creditKey]*credit) {
	all := map[creditKey]*credit{}
	for _, p := range s.splits {
		for k, c := range p.credits {
			a := all[k]
			if a == nil {
				a = &credit{url: c.url, attributions: map[string]bool{}}
				all[k] = a
			}
			a.rows += c.rows
			a.more = a.more || c.more
			for _, t := range slices.Sorted(maps.Keys(c.attributions)) {
				if a.attributions[t] {
					continue
				}
				if len(a.attributions) >= maxCredits {
					a.more = true
					break
				}
				a.attributions[t] = true
			}
		}
	}
	keys := slices.SortedFunc(maps.Keys(all), func(a, b creditKey) int {
		return cmp.Or(strings.Compare(a.corpus, b.corpus), strings.Compare(a.licence, b.licence))
	})
	return keys, all
}
