// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"

	"github.com/retcon-bench/retcon/internal/pipeline"
	"github.com/retcon-bench/retcon/schemas"
)

// keptBack counts the texts that no release may carry, by corpus and terms.
// Working on them where they lie is legitimate; whoever does so is told, since
// nothing of it will be released.
type keptBack map[string]int

// add counts a text of s if its terms keep it back, and tells whether they do.
func (k keptBack) add(s schemas.Source) bool {
	if s.MayReleaseText() {
		return false
	}
	k[s.Corpus+" ("+cmp.Or(s.Redistribute, "no terms")+")"]++
	return true
}

// String lists corpora, terms and counts.
func (k keptBack) String() string { return listCounts(pipeline.SortedCounts(k)) }

// warn says what becomes of these texts, where there are any.
func (k keptBack) warn(e *env, what string) {
	if len(k) > 0 {
		e.log.Warn(what, "texts", k.String())
	}
}
