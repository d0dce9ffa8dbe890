// SPDX-License-Identifier: Apache-2.0

package schemas

import "fmt"

// Marking is what one person marked in one story of a diagnostic set, as
// ConStory's experts did (appendix A): a line of a file of marks, the human
// counterpart of a checker's findings. A story that was read and found clean
// has a line without marks; a story without a line was not read.
type Marking struct {
	StoryID   string     `json:"story_id"` // the diagnostic_id
	TextHash  string     `json:"text_hash"`
	Annotator string     `json:"annotator"`
	Marks     []PairMark `json:"marks"`
	Seconds   float64    `json:"seconds"`
	Time      string     `json:"time"` // RFC 3339, as the annotator's tool gave it
}

// PairMark is one contradiction that a person marked: both passages, in code points
// of the story (several ranges where a passage is in pieces), in either order.
type PairMark struct {
	Category string   `json:"category"` // one of Categories
	Subtype  string   `json:"subtype"`  // one of Subtypes; empty: the person named none
	Fact     []Bounds `json:"fact"`
	Contra   []Bounds `json:"contradiction"`
	Reason   string   `json:"reason"`
}

// Check reports whether the marks can be held against a story.
func (m *Marking) Check() error {
	if m.StoryID == "" || m.Annotator == "" {
		return fmt.Errorf("a line of marks needs story_id and annotator (has %q and %q)", m.StoryID, m.Annotator)
	}
	for i, k := range m.Marks {
		cat := k.Category
		if k.Subtype != "" {
			c, _, ok := FindSubtype(k.Subtype)
			if !ok {
				return fmt.Errorf("story %s, mark %d by %s: unknown subtype %q", m.StoryID, i+1, m.Annotator, k.Subtype)
			}
			if cat != "" && cat != c.Name {
				return fmt.Errorf("story %s, mark %d by %s: subtype %q is not of category %q", m.StoryID, i+1, m.Annotator, k.Subtype, cat)
			}
			cat = c.Name
		}
		known := false
		for _, c := range Categories {
			known = known || c.Name == cat
		}
		if !known {
			return fmt.Errorf("story %s, mark %d by %s: unknown category %q", m.StoryID, i+1, m.Annotator, cat)
		}
		for _, b := range append(append([]Bounds{}, k.Fact...), k.Contra...) {
			if b.Start < 0 || b.End <= b.Start {
				return fmt.Errorf("story %s, mark %d by %s: the range [%d,%d) is empty", m.StoryID, i+1, m.Annotator, b.Start, b.End)
			}
		}
	}
	return nil
}
