// SPDX-License-Identifier: Apache-2.0

package splits

import (
	"fmt"
	"strings"

	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

// Stamp is what every row of a release says alike.
type Stamp struct {
	Version string
	Canary  string
	Engine  string
}

// Row makes the row of a choice from its draft.
func Row(d schemas.Draft, c Choice, stamp Stamp) (schemas.Example, error) {
	v := variantOf(&d, c.Variant)
	if v == nil {
		return schemas.Example{}, fmt.Errorf("%s: the draft holds no %s variant", d.MatchID, c.Variant)
	}
	e := schemas.Example{
		ExampleID: schemas.ExampleID(d.MatchID, c.Variant), GroupID: d.GroupID, MatchID: d.MatchID,
		Split: c.Split, Variant: c.Variant, Verification: c.Verification,
		Title: d.Title, Language: d.Language, SourceWords: d.SourceWords, Source: d.Source,
		Engine: stamp.Engine, DatasetVersion: stamp.Version, Canary: stamp.Canary,
	}
	ix, err := fill(&e, *v)
	if err != nil {
		return e, err
	}
	if c.Variant == schemas.VariantOriginal {
		originalIDs(&e)
		return e, nil
	}
	e.Edits = v.Edits
	if d.Fact == nil || d.Flaw == nil {
		return e, fmt.Errorf("%s: the draft has a %s variant but no fact or flaw", d.MatchID, c.Variant)
	}
	e.Fact, e.Counterfactual, e.Importance = &d.Fact.Statement, &d.Fact.Counterfactual, d.Fact.Importance
	if c.Variant != schemas.VariantPatched {
		e.NegativeKind = &c.Variant
		e.FlawClass = optional(d.Flaw.Class)
		if c.Variant == schemas.VariantEditControl {
			// It has nothing to do with the match's fact but the source.
			e.Fact, e.Counterfactual, e.Importance, e.FlawClass = nil, nil, nil, nil
			if c := v.Detail; c != nil {
				e.Fact, e.Counterfactual, e.FlawClass = &c.Statement, &c.Counterfactual, optional(c.Class)
			}
		}
		if v.Judge != nil {
			e.Votes = &schemas.VoteCount{Judge: v.Judge}
		}
		return e, nil
	}
	e.Label, e.ContError = schemas.LabelError, 1
	if e.ErrorSpans, err = goldSpans(ix, e.Sentences, d.Errors); err != nil {
		return e, fmt.Errorf("%s: error sentences: %w", d.MatchID, err)
	}
	if e.ContradictedSpans, err = goldSpans(ix, e.Sentences, d.Contradicted); err != nil {
		return e, fmt.Errorf("%s: contradicted sentences: %w", d.MatchID, err)
	}
	if len(e.ErrorSpans) == 0 || len(e.ContradictedSpans) == 0 {
		return e, fmt.Errorf("%s: a positive needs error and contradicted sentences, has %d and %d", d.MatchID, len(e.ErrorSpans), len(e.ContradictedSpans))
	}
	e.Explanation = &d.Explanation
	e.ContErrorExpl = d.Explanation
	e.ContErrorLines, e.ContradictedLines = ListItems(e.ErrorSpans), ListItems(e.ContradictedSpans)
	e.FlawKind, e.FlawSubtype, e.FlawClass, e.Severity = optional(d.Flaw.Kind), optional(d.Flaw.Subtype), optional(d.Flaw.Class), optional(d.Flaw.Severity)
	e.Sites = &d.Flaw.Sites
	e.Difficulty = d.Difficulty
	if d.Judge != nil {
		e.Votes = &schemas.VoteCount{Judge: d.Judge}
	}
	return e, nil
}

// Original makes the row of a source story, which belongs to every match of
// its group. Its sentences are the project's own segmentation.
func Original(s schemas.Story, c Choice, stamp Stamp) (schemas.Example, error) {
	e := schemas.Example{
		GroupID: s.GroupID, Split: c.Split, Variant: schemas.VariantOriginal, Verification: c.Verification,
		Title: s.Title, Language: s.Language, SourceWords: s.Words, Source: s.Source,
		Engine: stamp.Engine, DatasetVersion: stamp.Version, Canary: stamp.Canary,
	}
	ix := text.NewIndex(s.Text)
	v := schemas.Variant{Name: schemas.VariantOriginal, Text: s.Text, TextHash: s.TextHash, Words: s.Words}
	for _, r := range text.Sentences(s.Text) {
		sp := ix.Span(r)
		v.Sentences = append(v.Sentences, schemas.Bounds{Start: sp.Start, End: sp.End})
	}
	if _, err := fill(&e, v); err != nil {
		return e, err
	}
	originalIDs(&e)
	return e, nil
}

// fill sets what every row has, and the lists and columns of a negative.
func fill(e *schemas.Example, v schemas.Variant) (*text.Index, error) {
	e.Story, e.TextHash, e.Words, e.Sentences = v.Text, v.TextHash, v.Words, v.Sentences
	if got := schemas.HashText(v.Text); got != v.TextHash {
		return nil, fmt.Errorf("%s: %s: text_hash is %s but the text's is %s", e.GroupID, v.Name, v.TextHash, got)
	}
	if err := text.CheckFrozen(v.Text); err != nil {
		return nil, fmt.Errorf("%s: %s: text is not frozen: %w", e.GroupID, v.Name, err)
	}
	e.Label = schemas.LabelConsistent
	e.ErrorSpans, e.ContradictedSpans, e.Edits = []schemas.Span{}, []schemas.Span{}, []schemas.Edit{}
	e.ContErrorExpl, e.ContErrorLines, e.ContradictedLines = "NA", "NA", "NA"
	return text.NewIndex(v.Text), nil
}

func originalIDs(e *schemas.Example) {
	kind := schemas.VariantOriginal
	e.MatchID, e.NegativeKind, e.Engine = e.GroupID, &kind, ""
	e.ExampleID = schemas.ExampleID(e.GroupID, kind)
}

func goldSpans(ix *text.Index, sentences []schemas.Bounds, gold []schemas.GoldSentence) ([]schemas.Span, error) {
	spans := make([]schemas.Span, 0, len(gold))
	last := -1
	for _, g := range gold {
		if g.Sentence <= last || g.Sentence >= len(sentences) {
			return nil, fmt.Errorf("sentence %d is out of order or past the last of %d", g.Sentence, len(sentences))
		}
		last = g.Sentence
		b := sentences[g.Sentence]
		sp, err := ix.FromRunes(b.Start, b.End)
		if err != nil {
			return nil, fmt.Errorf("sentence %d: %w", g.Sentence, err)
		}
		spans = append(spans, schemas.Span{Offsets: schemas.Offsets(sp), Sentence: g.Sentence, Text: ix.Text()[sp.ByteStart:sp.ByteEnd]})
	}
	return spans, nil
}

// ListItems writes spans as the published data set's columns do.
func ListItems(spans []schemas.Span) string {
	var b strings.Builder
	for i, s := range spans {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString("<li>" + s.Text + "</li>")
	}
	return b.String()
}

func variantOf(d *schemas.Draft, name string) *schemas.Variant {
	switch name {
	case schemas.VariantOriginal:
		return &d.Original
	case schemas.VariantPatched:
		return d.Patched
	case schemas.VariantCounterfactual:
		return d.Counterfactual
	case schemas.VariantResolved:
		return d.Resolved
	case schemas.VariantEditControl:
		return d.EditControl
	}
	return nil
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
