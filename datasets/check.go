// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/splits"
)

// CheckExample checks everything a row says about itself: ids and labels, the
// text's hash and form, sentences, and every span in all three units.
func CheckExample(e schemas.Example) error {
	switch {
	case e.ExampleID == "" || e.GroupID == "" || e.MatchID == "" || e.Split == "":
		return errors.New("example_id, group_id, match_id or split is empty")
	case e.ExampleID != schemas.ExampleID(e.MatchID, e.Variant):
		return fmt.Errorf("example_id is not that of match %s and variant %s", e.MatchID, e.Variant)
	case e.MatchID != e.GroupID && !strings.HasPrefix(e.MatchID, e.GroupID+"#"):
		return fmt.Errorf("match_id %s is not of group %s", e.MatchID, e.GroupID)
	case e.TextHash != schemas.HashText(e.Story):
		return errors.New("text_hash is not the story's")
	case e.Words != text.Words(e.Story):
		return fmt.Errorf("words is %d but the story has %d", e.Words, text.Words(e.Story))
	case strings.TrimSpace(e.Story) != e.Story || e.Story == "":
		return errors.New("the story is empty or has white space at an end")
	}
	if err := text.CheckFrozen(e.Story); err != nil {
		return fmt.Errorf("story: %w", err)
	}
	if err := checkSentences(e); err != nil {
		return err
	}
	if err := checkTerms(e.Source); err != nil {
		return err
	}
	if err := checkFrozenColumns(e); err != nil {
		return err
	}
	if err := checkGold("error_spans", e, e.ErrorSpans); err != nil {
		return err
	}
	if err := checkGold("contradicted_spans", e, e.ContradictedSpans); err != nil {
		return err
	}
	for i, s := range e.Edits {
		if err := s.Check(e.Story); err != nil {
			return fmt.Errorf("edits[%d]: %w", i, err)
		}
	}
	return checkLabel(e)
}

// checkTerms checks that the source's terms let a release carry its text, and
// that it is credited where they ask for it.
func checkTerms(s schemas.Source) error {
	switch {
	case s.Corpus == "" || s.ID == "" || s.Licence == "":
		return errors.New("source: corpus, id or licence is empty")
	case !s.MayReleaseText():
		return fmt.Errorf("source: the terms of %s let a release carry %q, not the text", s.Corpus, s.Redistribute)
	case strings.HasPrefix(strings.ToUpper(s.Licence), "CC-BY") && s.Attribution == "":
		return fmt.Errorf("source: licence %s asks for attribution, and there is none", s.Licence)
	}
	return nil
}

func checkLabel(e schemas.Example) error {
	switch e.Label {
	case schemas.LabelError:
		switch {
		case e.ContError != 1:
			return fmt.Errorf("label is error but cont_error is %v", e.ContError)
		case len(e.ErrorSpans) == 0 || len(e.ContradictedSpans) == 0:
			return errors.New("label is error but error_spans or contradicted_spans is empty")
		case e.NegativeKind != nil:
			return fmt.Errorf("label is error but negative_kind is %s", *e.NegativeKind)
		case e.Explanation == nil || *e.Explanation == "":
			return errors.New("label is error but there is no explanation")
		case e.ContErrorLines != splits.ListItems(e.ErrorSpans) || e.ContradictedLines != splits.ListItems(e.ContradictedSpans):
			return errors.New("cont_error_lines or contradicted_lines do not hold the spans' text")
		}
	case schemas.LabelConsistent:
		switch {
		case e.ContError != 0:
			return fmt.Errorf("label is consistent but cont_error is %v", e.ContError)
		case len(e.ErrorSpans) > 0 || len(e.ContradictedSpans) > 0:
			return errors.New("label is consistent but there are error or contradicted spans")
		case e.NegativeKind == nil:
			return errors.New("label is consistent but negative_kind is null")
		case e.ContErrorLines != "NA" || e.ContradictedLines != "NA" || e.ContErrorExpl != "NA":
			return errors.New("label is consistent but a compatible column is not NA")
		}
	default:
		return fmt.Errorf("label is %q", e.Label)
	}
	return nil
}

// checkSentences checks that the sentences are in order, do not touch white
// space at their ends, and leave nothing but white space between them.
func checkSentences(e schemas.Example) error {
	ix := text.NewIndex(e.Story)
	if len(e.Sentences) == 0 {
		return errors.New("sentences is empty")
	}
	at := 0 // bytes
	for i, b := range e.Sentences {
		sp, err := ix.FromRunes(b.Start, b.End)
		if err != nil {
			return fmt.Errorf("sentences[%d]: %w", i, err)
		}
		if sp.ByteStart < at || strings.TrimSpace(e.Story[at:sp.ByteStart]) != "" {
			return fmt.Errorf("sentences[%d] starts at %d, before or not right after the one before", i, b.Start)
		}
		s := e.Story[sp.ByteStart:sp.ByteEnd]
		if s == "" || strings.TrimSpace(s) != s {
			return fmt.Errorf("sentences[%d] is empty or has white space at an end", i)
		}
		at = sp.ByteEnd
	}
	if rest := strings.TrimSpace(e.Story[at:]); rest != "" {
		return fmt.Errorf("%d characters after the last sentence", utf8.RuneCountInString(rest))
	}
	return nil
}

// checkGold checks that spans are whole sentences, in order, and hold.
func checkGold(name string, e schemas.Example, spans []schemas.Span) error {
	last := -1
	for i, s := range spans {
		if err := s.Check(e.Story); err != nil {
			return fmt.Errorf("%s[%d]: %w", name, i, err)
		}
		if s.Sentence <= last || s.Sentence >= len(e.Sentences) {
			return fmt.Errorf("%s[%d]: sentence %d is out of order or past the last of %d", name, i, s.Sentence, len(e.Sentences))
		}
		last = s.Sentence
		if b := e.Sentences[s.Sentence]; b.Start != s.Start || b.End != s.End {
			return fmt.Errorf("%s[%d]: [%d,%d) is not sentence %d, which is [%d,%d)", name, i, s.Start, s.End, s.Sentence, b.Start, b.End)
		}
	}
	return nil
}
