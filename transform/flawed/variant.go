// SPDX-License-Identifier: Apache-2.0

package flawed

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

// newVariant makes the variant that edits, from byte from of the source on,
// turn the source into.
func newVariant(name, source string, edits []replace, from int) (schemas.Variant, error) {
	if err := checkEdits(source, edits); err != nil {
		return schemas.Variant{}, err
	}
	s, places, made := applyEdits(source, edits, from)
	if s != text.Trim(s) {
		return schemas.Variant{}, fmt.Errorf("the %s story has white space at an end", name)
	}
	if err := text.CheckFrozen(s); err != nil {
		return schemas.Variant{}, fmt.Errorf("the %s story: %w", name, err)
	}
	v := plainVariant(name, s)
	ix, src := text.NewIndex(s), text.NewIndex(source)
	v.Edits = []schemas.Edit{}
	for i, p := range places {
		sp, err := ix.FromBytes(p.Start, p.End)
		if err != nil {
			return schemas.Variant{}, err
		}
		old, err := src.FromBytes(made[i].Start, made[i].End)
		if err != nil {
			return schemas.Variant{}, err
		}
		// A passage that was put in brings the blank before it: its sentence is
		// the one of its first letter.
		at := sp.Start
		if body := strings.TrimLeftFunc(p.Of(s), unicode.IsSpace); body != "" {
			at = sp.End - utf8.RuneCountInString(body)
		}
		v.Edits = append(v.Edits, schemas.Edit{
			Span: schemas.Span{Offsets: schemas.Offsets(sp), Sentence: schemas.SentenceAt(v.Sentences, at), Text: p.Of(s)},
			Old:  made[i].Of(source), SourceStart: old.Start,
		})
	}
	return v, nil
}

// plainVariant cuts a text into its frozen sentences. It has no edits.
func plainVariant(name, s string) schemas.Variant {
	v := schemas.Variant{Name: name, Text: s, TextHash: schemas.HashText(s), Words: text.Words(s), Sentences: []schemas.Bounds{}}
	ix := text.NewIndex(s)
	for _, r := range text.Sentences(s) {
		sp := ix.Span(r)
		v.Sentences = append(v.Sentences, schemas.Bounds{Start: sp.Start, End: sp.End})
	}
	return v
}

// Undo puts the old words of every edit back: it returns the source story of a
// variant, byte for byte.
func Undo(v schemas.Variant) (string, error) {
	s := v.Text
	for i := len(v.Edits) - 1; i >= 0; i-- {
		e := v.Edits[i]
		if err := e.Check(v.Text); err != nil {
			return "", fmt.Errorf("%s: edit %d: %w", v.Name, i, err)
		}
		s = s[:e.ByteStart] + e.Old + s[e.ByteEnd:]
	}
	return s, nil
}

// replacesOf turns a variant's edits back into edits of the source.
func replacesOf(source string, v *schemas.Variant) ([]replace, error) {
	ix := text.NewIndex(source)
	var out []replace
	for _, e := range v.Edits {
		n := 0
		for range e.Old {
			n++
		}
		sp, err := ix.FromRunes(e.SourceStart, e.SourceStart+n)
		if err != nil {
			return nil, err
		}
		out = append(out, replace{text.Range{Start: sp.ByteStart, End: sp.ByteEnd}, e.Text})
	}
	return out, nil
}

// changed returns the sentences of a variant that its edits touch, in order.
func changed(v *schemas.Variant) []int {
	var out []int
	add := func(i int) {
		if len(out) == 0 || out[len(out)-1] < i {
			out = append(out, i)
		}
	}
	for _, e := range v.Edits {
		hit := false
		for i, b := range v.Sentences {
			if b.Start < e.End && e.Start < b.End {
				add(i)
				hit = true
			}
		}
		if !hit {
			add(e.Sentence)
		}
	}
	return out
}

// sites counts the maximal runs of adjacent sentences.
func sites(sentences []int) int {
	n := 0
	for i, s := range sentences {
		if i == 0 || s != sentences[i-1]+1 {
			n++
		}
	}
	return n
}
