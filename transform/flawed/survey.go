// SPDX-License-Identifier: Apache-2.0

package flawed

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform/flawed/offline"
)

// Survey is what a stage may know of the other stories: the personal names of
// each collection, from which the offline engine draws new names (a name of
// another country or century would give a flaw away). It is made by one pass
// over all stories before the first step runs, and it is the same in whatever
// order they come.
type Survey struct {
	mu    sync.Mutex
	names map[string]map[bearer]bool // by collection
	words map[string]map[string]bool // by collection: words written small, which are no names
}

// bearer is a name in one story.
type bearer struct{ name, gender, group string }

// NewSurvey returns an empty survey.
func NewSurvey() *Survey {
	return &Survey{names: map[string]map[bearer]bool{}, words: map[string]map[string]bool{}}
}

// Add takes a story's names up. It is safe for concurrent use.
func (s *Survey) Add(story schemas.Story) {
	if story.Kind != schemas.KindStory || !english(story.Language) {
		return
	}
	st := offline.Read(story.GroupID, story.Title, story.Text, text.Sentences(story.Text), nil)
	people := st.People()
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.names[story.Collection]
	if c == nil {
		c = map[bearer]bool{}
		s.names[story.Collection] = c
	}
	for _, p := range people {
		if !p.Sure {
			continue
		}
		c[bearer{p.Name, p.Gender, story.GroupID}] = true
	}
	if s.words[story.Collection] == nil {
		s.words[story.Collection] = map[string]bool{}
	}
	for w := range st.SmallWords() {
		s.words[story.Collection][w] = true
	}
}

// people returns the names of the collection's other stories, in order, and
// behind them, marked as far, those of other collections.
func (s *Survey) people(collection, group string) []offline.Person {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	stories := map[[2]string]int{}
	for b := range s.names[collection] {
		if b.group != group {
			stories[[2]string{b.name, b.gender}]++
		}
	}
	seen := map[[2]string]bool{}
	var out []offline.Person
	for b := range s.names[collection] {
		if k := [2]string{b.name, b.gender}; b.group != group && !seen[k] && !s.words[collection][strings.ToLower(b.name)] {
			seen[k] = true
			out = append(out, offline.Person{Name: b.name, Gender: b.gender, Stories: stories[k]})
		}
	}
	for other, names := range s.names {
		for b := range names {
			if k := [2]string{b.name, b.gender}; other != collection && !seen[k] && !s.words[collection][strings.ToLower(b.name)] {
				seen[k] = true
				out = append(out, offline.Person{Name: b.name, Gender: b.gender, Far: true})
			}
		}
	}
	slices.SortFunc(out, func(a, b offline.Person) int {
		switch {
		case a.Far != b.Far && b.Far:
			return -1
		case a.Far != b.Far:
			return 1
		}
		return strings.Compare(a.Name+"\x00"+a.Gender, b.Name+"\x00"+b.Gender)
	})
	return out
}

// People returns the names of the collection's other stories, in order: what a
// new name may be drawn from.
func (s *Survey) People(collection, group string) []offline.Person {
	return s.people(collection, group)
}

// Digest is a SHA-256 of all that the survey knows: an input of the make step.
func (s *Survey) Digest() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []string
	for c, names := range s.names {
		for b := range names {
			lines = append(lines, fmt.Sprintf("%q %q %q %q\n", c, b.name, b.gender, b.group))
		}
	}
	for c, words := range s.words {
		for w := range words {
			lines = append(lines, fmt.Sprintf("%q %q\n", c, w))
		}
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "")))
	return hex.EncodeToString(sum[:])
}

func english(language string) bool {
	return language == "" || language == "en" || strings.HasPrefix(language, "en-")
}
