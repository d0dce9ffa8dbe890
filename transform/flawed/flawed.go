// SPDX-License-Identifier: Apache-2.0

package flawed

import (
	"fmt"
	"slices"

	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform"
)

// Config is what the steps need to know beside the story.
type Config struct {
	Make schemas.MakeRecipe
	Seed uint64
	// Survey holds the names of the other stories; nil = no renames.
	Survey *Survey
}

// complete fills what the recipe left open with the paper's values.
func (c Config) complete() Config {
	m := &c.Make
	if m.FactsPerSource == 0 {
		m.FactsPerSource = 2
	}
	if m.MaxSites == 0 {
		m.MaxSites = 5
	}
	if m.JudgeAsk == 0 {
		m.JudgeAsk = 5
	}
	if m.JudgeNeed == 0 {
		m.JudgeNeed = 4
	}
	if len(m.Importance) == 0 {
		m.Importance = []int{2, 3}
	}
	if m.Share == 0 {
		m.Share = 1
	}
	return c
}

// Check says what is wrong in the configuration.
func (c Config) Check() error {
	c = c.complete()
	m := c.Make
	switch {
	case m.FactsPerSource < 0:
		return fmt.Errorf("make: facts_per_source is %d; it must be at least 1", m.FactsPerSource)
	case m.SpareFacts < 0:
		return fmt.Errorf("make: spare_facts is %d; it must be 0 or more", m.SpareFacts)
	case m.MaxSites < 0:
		return fmt.Errorf("make: max_sites is %d; it must be at least 1", m.MaxSites)
	case m.JudgeNeed < 1 || m.JudgeNeed > m.JudgeAsk:
		return fmt.Errorf("make: judge_need is %d of judge_ask %d; it must lie between 1 and judge_ask", m.JudgeNeed, m.JudgeAsk)
	case m.Share < 0 || m.Share > 1:
		return fmt.Errorf("make: share is %g; it must lie between 0 and 1", m.Share)
	}
	for _, i := range m.Importance {
		if i < 1 || i > 4 {
			return fmt.Errorf("make: importance %d; the scale is 1 to 4", i)
		}
	}
	for _, k := range m.Kinds {
		if !slices.Contains(schemas.FlawKinds, k) {
			if _, _, ok := schemas.FindSubtype(k); !ok {
				return fmt.Errorf("make: kinds: %q is neither a kind (%v) nor one of the 19 subtypes", k, schemas.FlawKinds)
			}
		}
	}
	return nil
}

// Start makes the draft of a story: its original variant with frozen
// sentences. A record that is no story gets no sentences, and the first step
// sets it aside.
func Start(story schemas.Story) (schemas.Draft, error) {
	d := schemas.Draft{
		DraftID: story.GroupID, StoryID: story.StoryID, GroupID: story.GroupID,
		Title: story.Title, Language: story.Language, Collection: story.Collection,
		Source: story.Source, SourceWords: story.Words,
		Sections: story.Sections, Marks: story.Marks, SourceFacts: story.Facts,
		Provenance: slices.Clip(story.Provenance),
	}
	if d.GroupID == "" {
		return d, fmt.Errorf("%s: a story without a group_id; dedup sets it", story.StoryID)
	}
	if got := schemas.HashText(story.Text); story.TextHash != "" && got != story.TextHash {
		return d, fmt.Errorf("%s: text_hash is %s but the text hashes to %s: the text was changed after it was frozen", story.StoryID, story.TextHash, got)
	}
	if story.Kind == schemas.KindQuery {
		d.Original = schemas.Variant{Name: schemas.VariantOriginal, Text: story.Text, TextHash: schemas.HashText(story.Text), Sentences: []schemas.Bounds{}}
		return d, nil
	}
	d.Original = plainVariant(schemas.VariantOriginal, story.Text)
	d.SourceWords = d.Original.Words
	return d, nil
}

// Steps lists the stages in order. A draft that leaves the last one is a match
// with a verified or rule-made plot hole.
func Steps(cfg Config) []transform.Step[schemas.Draft, schemas.Draft] {
	m := &maker{cfg: cfg.complete()}
	steps := []transform.Step[schemas.Draft, schemas.Draft]{
		m.draw(),
		m.acts(),
		m.facts(),
		m.score(),
		m.choose(),
		m.rewrite(),
		m.patch(),
		m.filter(),
		m.judge(),
	}
	if cfg.Make.TypeFlaws {
		steps = append(steps, m.typeFlaw())
	}
	return append(steps, m.counterfactual(), m.resolve(), m.control())
}

// maker holds what the steps share; it never changes.
type maker struct{ cfg Config }
