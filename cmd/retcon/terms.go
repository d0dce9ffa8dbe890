// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"

	"github.com/retcon-bench/retcon/internal/pipeline"
	"github.com/retcon-bench/retcon/schemas"
)

// keptBack counts the texts that no release may carry, by corpus and terms.
// Three rules, for whatever a command writes:
//
//   - What is made to be handed on (items for annotators, a diagnostic set, a
//     sample of prompts, the published tools' tables) is without them, and a
//     warning says so.
//   - What stays in a workspace, and what is there to be looked at on this
//     machine (the review page, pages of retcon check), has them, with a warning:
//     working on them where they lie is legitimate, and nothing of it is released.
//   - A release takes no row, no prompt and no quote of them; package splits,
//     [chain.publicPrompts] and [chain.keepBack] see to that.
type keptBack map[string]int

// add counts a text of s if its terms keep it back, and tells whether they do.
func (k keptBack) add(s schemas.Source) bool { return k.unless(s.MayReleaseText(), s) }

// addDerived is add for what was made of a text of s without quoting it at
// length: a prompt, a story that a model wrote.
func (k keptBack) addDerived(s schemas.Source) bool { return k.unless(s.MayReleaseDerived(), s) }

func (k keptBack) unless(may bool, s schemas.Source) bool {
	if may {
		return false
	}
	k[s.Corpus+" ("+cmp.Or(s.Redistribute, "no terms")+")"]++
	return true
}

// addRow is add for a row of a table, addDerived where a model wrote it.
func (k keptBack) addRow(s schemas.Source, written bool) bool {
	return k.unless(mayHandOn(s, written), s)
}

// mayHandOn tells whether a row of a table may be handed on; written says that a
// model wrote it. A row that names no corpus was not read by retcon ingest:
// whoever brought it knows its terms.
func mayHandOn(s schemas.Source, written bool) bool {
	return s.Corpus == "" || s.MayReleaseText() || written && s.MayReleaseDerived()
}

// sourceOf is the column source of a row; empty where there is none of ours.
func sourceOf(row tableRow) schemas.Source {
	v, _ := row.get("source")
	return parseSource([]byte(v))
}

func parseSource(js []byte) (s schemas.Source) {
	if json.Unmarshal(js, &s) != nil {
		return schemas.Source{} // somebody else's column of that name
	}
	return s
}

// String lists corpora, terms and counts.
func (k keptBack) String() string { return listCounts(pipeline.SortedCounts(k)) }

// warn says what becomes of these texts, where there are any.
func (k keptBack) warn(e *env, what string) {
	if len(k) > 0 {
		e.log.Warn(what, "texts", k.String())
	}
}

// asked says that whoever runs the model is given these texts. Some terms forbid
// giving them to anybody, and only the owner of the agreement can tell.
func (k keptBack) asked(e *env, engine string) {
	if engine == engineOpenAI || engine == engineBatch {
		k.warn(e, "the model is asked about texts that no release may carry: see that their terms let whoever runs it have them")
	}
}
