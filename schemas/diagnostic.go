// SPDX-License-Identifier: Apache-2.0

package schemas

import (
	"cmp"
	"fmt"
	"slices"
)

// TaskDiagnostic is the task_type of the rows of a diagnostic set.
const TaskDiagnostic = "diagnostic"

// Diagnostic is a story of a diagnostic set (ConStory paper, appendix A): a
// consistent text with contradictions injected at known places, or a control,
// the text as it was. It is the truth that a checker's findings are held
// against; the checker itself reads the same stories as [Generated], without it.
type Diagnostic struct {
	DiagnosticID string `json:"diagnostic_id"` // the generated_id of the story's row; findings name it as story_id
	StoryID      string `json:"story_id"`      // the source's
	GroupID      string `json:"group_id"`
	Title        string `json:"title"`
	Language     string `json:"language"`
	Control      bool   `json:"control"` // nothing was injected
	Story        string `json:"story"`   // the frozen text to judge
	TextHash     string `json:"text_hash"`
	Words        int    `json:"words"`
	// SourceHash is the text_hash of the story before injection, which undoing
	// every injection gives back byte for byte.
	SourceHash string       `json:"source_hash"`
	Injections []Injection  `json:"injections"` // in order of their first edit; empty for a control
	Engine     string       `json:"engine"`     // rules or model; empty for a control
	Source     Source       `json:"source"`
	Provenance []Provenance `json:"provenance"`
}

// Injection is one contradiction that was put into a story.
type Injection struct {
	ID       string `json:"id"`       // unique in its story: I1, I2, ...
	Category string `json:"category"` // one of Categories
	Subtype  string `json:"subtype"`  // one of Subtypes
	Class    string `json:"class"`    // the rule's class (colour, duration, ...), or empty
	// Fact is the passage that establishes what the contradiction denies, and
	// Contra the passage that denies it: whole sentences of the final text.
	// Fact stands before Contra.
	Fact   Span `json:"fact"`
	Contra Span `json:"contradiction"`
	// Further passages that say the same as Fact, and as Contra: a finding that
	// quotes one of them is right too.
	Facts   []Span `json:"facts"`
	Contras []Span `json:"contradictions"`
	// Edits against the source, at places of the final text; undoing those of
	// all injections of the story gives the source.
	Edits       []Edit `json:"edits"`
	Explanation string `json:"explanation"` // why the two contradict each other
	Alleged     string `json:"alleged"`     // the model's own words for what it changed; empty for rules
	Checked     string `json:"checked"`     // who holds that it is a contradiction: rules, judge or nobody
}

// Undo puts the source's words back for every injection that drop accepts (all
// of them when it is nil) and returns the text that is left.
func (d *Diagnostic) Undo(drop func(Injection) bool) (string, error) {
	var edits []Edit
	for _, in := range d.Injections {
		if drop == nil || drop(in) {
			edits = append(edits, in.Edits...)
		}
	}
	slices.SortStableFunc(edits, func(a, b Edit) int { return cmp.Compare(a.ByteStart, b.ByteStart) })
	s, upTo := d.Story, len(d.Story)
	for i := len(edits) - 1; i >= 0; i-- {
		e := edits[i]
		if err := e.Check(d.Story); err != nil {
			return "", fmt.Errorf("%s: %w", d.DiagnosticID, err)
		}
		if e.ByteEnd > upTo {
			return "", fmt.Errorf("%s: edits overlap at byte %d", d.DiagnosticID, e.ByteStart)
		}
		s, upTo = s[:e.ByteStart]+e.Old+s[e.ByteEnd:], e.ByteStart
	}
	return s, nil
}

// Check reports whether the record keeps its promises: every span holds in the
// story, the contradiction stands behind the fact, category and subtype belong
// together, and undoing the injections gives the source back.
func (d *Diagnostic) Check() error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("diagnostic story %s: %w", d.DiagnosticID, fmt.Errorf(format, args...))
	}
	if HashText(d.Story) != d.TextHash {
		return fail("text_hash is not the story's")
	}
	if d.Control != (len(d.Injections) == 0) {
		return fail("control is %v, with %d injections", d.Control, len(d.Injections))
	}
	ids := map[string]bool{}
	for _, in := range d.Injections {
		c, s, ok := FindSubtype(in.Subtype)
		switch {
		case !ok || c.Name != in.Category || s.Name != in.Subtype:
			return fail("injection %s: subtype %q of category %q", in.ID, in.Subtype, in.Category)
		case ids[in.ID]:
			return fail("injection %s for the second time", in.ID)
		case len(in.Edits) == 0:
			return fail("injection %s changes nothing", in.ID)
		case in.Fact.End > in.Contra.Start:
			return fail("injection %s: the fact at %d does not stand before the contradiction at %d", in.ID, in.Fact.Start, in.Contra.Start)
		}
		ids[in.ID] = true
		for _, sp := range slices.Concat([]Span{in.Fact, in.Contra}, in.Facts, in.Contras) {
			if err := sp.Check(d.Story); err != nil {
				return fail("injection %s: %w", in.ID, err)
			}
			if sp.Start == sp.End {
				return fail("injection %s: an empty passage", in.ID)
			}
		}
	}
	src, err := d.Undo(nil)
	if err != nil {
		return err
	}
	if HashText(src) != d.SourceHash {
		return fail("undoing the injections does not give the source back")
	}
	return nil
}
