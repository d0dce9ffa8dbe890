// SPDX-License-Identifier: Apache-2.0

package text

import (
	"slices"
	"unicode/utf8"
)

// Echoes knows the examples that a prompt shows a model, and tells the quotes
// that were copied from them instead of from the story. One judge did that in
// a fifth of its quotes. An Echoes may be used by several goroutines.
type Echoes struct {
	examples []echo
}

type echo struct {
	toks  []token
	form  string
	runes int
}

// Kinds of a copied quote.
const (
	EchoExact  = "exact"  // the example's words, whatever the punctuation and case
	EchoEdited = "edited" // within 35 % of the quote's characters, or an example inside the quote
)

const maxEchoEdits = 0.35

// NewEchoes returns the examples' echoes. Examples without a word are left out.
func NewEchoes(examples []string) *Echoes {
	e := &Echoes{}
	for _, s := range examples {
		if toks := tokenize(s); len(toks) > 0 {
			form := formOf(toks)
			e.examples = append(e.examples, echo{toks, form, utf8.RuneCountInString(form)})
		}
	}
	return e
}

// Copied reports whether the quote was copied from an example, and how. It
// does not look at any story: look there first, or use [Anchorer.FindOrEcho].
func (e *Echoes) Copied(quote string) (kind string, ok bool) {
	rs := readingsOf(quote)
	for _, front := range []bool{true, false} {
		sure, unsure := unwrap(rs, front)
		rs = append(append(rs, sure...), unsure...)
	}
	for _, r := range rs {
		if len(r.tokens) == 0 {
			continue
		}
		form := formOf(r.tokens)
		length := utf8.RuneCountInString(form)
		for _, x := range e.examples {
			switch {
			case form == x.form:
				return EchoExact, true
			case ok:
			case len(x.toks) >= 5 && contains(r.tokens, x.toks):
				kind, ok = EchoEdited, true
			default:
				most := int(maxEchoEdits * float64(length))
				if max(length-x.runes, x.runes-length) <= most && editDistance(form, x.form) <= most {
					kind, ok = EchoEdited, true
				}
			}
		}
	}
	return kind, ok
}

// contains reports whether the words of part stand in all in one run.
func contains(all, part []token) bool {
	for i := 0; i+len(part) <= len(all); i++ {
		if slices.EqualFunc(all[i:i+len(part)], part, func(x, y token) bool { return x.text == y.text }) {
			return true
		}
	}
	return false
}
