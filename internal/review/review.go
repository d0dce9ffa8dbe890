// SPDX-License-Identifier: Apache-2.0

// Package review answers: what do people say?
//
//  1. [FromDraft] makes the question about a plot hole: does the story have this
//     error, and which of the sentences belong to it? [Gate] makes one whose
//     answer is known.
//  2. [Write] hands questions out: JSON Lines, CSV with empty columns to fill in,
//     or the tasks of Label Studio, for which [LabelConfig] is the interface.
//  3. [ReadVotes] takes answers back from each of the three, told apart by their
//     content.
//  4. [Server] asks the same on a page of its own and keeps the answers in a
//     [Store].
//
// What the votes decide is arithmetic of package scoring; what becomes of a
// draft is the command's to say.
package review

import (
	"fmt"
	"slices"
	"strings"

	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

// Item is a question for people. It says nothing of who made it, nor whether
// its answer is known.
type Item struct {
	ExampleID   string     `json:"example_id"`
	TextHash    string     `json:"text_hash"`
	Title       string     `json:"title"`
	Story       string     `json:"story"`
	Explanation string     `json:"explanation"` // what is claimed
	Sentences   []Sentence `json:"sentences"`   // of the two sides, in story order
}

// Sentence is a sentence of the story that is claimed to belong to a side.
type Sentence struct {
	Set      string         `json:"set"` // error or contradicted
	Sentence int            `json:"sentence"`
	Text     string         `json:"text"`
	At       schemas.Bounds `json:"at"` // code points of the story
}

// Sides of a claim.
const (
	setError        = "error"
	setContradicted = "contradicted"
)

// FromDraft makes the question about a draft's plot hole; ok is false where
// there is none with gold sets.
func FromDraft(d schemas.Draft) (it Item, ok bool) {
	if d.Patched == nil || len(d.Errors) == 0 || len(d.Contradicted) == 0 {
		return it, false
	}
	it = Item{ExampleID: schemas.ExampleID(d.MatchID, schemas.VariantPatched), TextHash: d.Patched.TextHash,
		Title: d.Title, Story: d.Patched.Text, Explanation: d.Explanation}
	err := it.mark(d.Patched, ids(d.Errors), ids(d.Contradicted))
	return it, err == nil
}

// Gate makes a question whose right answer is "not valid": the draft's source
// story, which nobody changed, with the same claim about the sentences that
// stand where the plot hole was put in.
func Gate(d schemas.Draft) (it Item, ok bool) {
	if d.Patched == nil || len(d.Errors) == 0 || len(d.Contradicted) == 0 {
		return it, false
	}
	var at []int
	for _, e := range d.Patched.Edits {
		if slices.ContainsFunc(d.Errors, func(g schemas.GoldSentence) bool { return g.Sentence == e.Sentence }) {
			at = append(at, schemas.SentenceAt(d.Original.Sentences, e.SourceStart))
		}
	}
	slices.Sort(at)
	if at = slices.Compact(at); len(at) == 0 {
		return it, false
	}
	// Sentences of act 1 are numbered alike in both.
	it = Item{ExampleID: GateID(d), TextHash: d.Original.TextHash, Title: d.Title, Story: d.Original.Text, Explanation: d.Explanation}
	err := it.mark(&d.Original, at, ids(d.Contradicted))
	return it, err == nil
}

// GateID is the example_id of a draft's gate question: that of the source's row.
func GateID(d schemas.Draft) string { return schemas.ExampleID(d.GroupID, schemas.VariantOriginal) }

func ids(gold []schemas.GoldSentence) []int {
	out := make([]int, len(gold))
	for i, g := range gold {
		out[i] = g.Sentence
	}
	return out
}

// mark fills the sentences of both sides.
func (it *Item) mark(v *schemas.Variant, errors, contradicted []int) error {
	ix := text.NewIndex(v.Text)
	for _, side := range []struct {
		set string
		ids []int
	}{{setContradicted, contradicted}, {setError, errors}} {
		for _, id := range side.ids {
			if id < 0 || id >= len(v.Sentences) {
				return fmt.Errorf("%s: sentence %d of %d", it.ExampleID, id, len(v.Sentences))
			}
			b := v.Sentences[id]
			sp, err := ix.FromRunes(b.Start, b.End)
			if err != nil {
				return err
			}
			it.Sentences = append(it.Sentences, Sentence{Set: side.set, Sentence: id, Text: v.Text[sp.ByteStart:sp.ByteEnd], At: b})
		}
	}
	slices.SortStableFunc(it.Sentences, func(a, b Sentence) int { return a.At.Start - b.At.Start })
	return nil
}

// parts cuts the story into stretches, those of a side with its name.
func (it Item) parts() (out []part) {
	ix := text.NewIndex(it.Story)
	at := 0
	for _, s := range it.Sentences {
		sp, err := ix.FromRunes(s.At.Start, s.At.End)
		if err != nil || sp.ByteStart < at {
			continue
		}
		out = append(out, part{Text: it.Story[at:sp.ByteStart]}, part{Text: it.Story[sp.ByteStart:sp.ByteEnd], Set: s.Set, Sentence: s.Sentence})
		at = sp.ByteEnd
	}
	return append(out, part{Text: it.Story[at:]})
}

type part struct {
	Text     string
	Set      string // empty outside both sides
	Sentence int
}

// mark is the name of a sentence in forms: "error 12".
func (s Sentence) mark() string { return fmt.Sprintf("%s %d", s.Set, s.Sentence) }

// oneLine puts a passage on one line.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
