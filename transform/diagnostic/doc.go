// SPDX-License-Identifier: Apache-2.0

// Package diagnostic answers: does a checker find what is known to be there?
// It makes the diagnostic set of the ConStory paper (appendix A, table A1):
// consistent stories into which contradictions of known category and subtype
// were put at known places, and untouched controls.
//
// In the order in which a story goes through it:
//
//  1. Proposals are made: by rules (rules.go, pairs.go, person.go), or by a
//     model that is asked for one contradiction a category (model.go).
//  2. [Injector.Inject] joins those that leave each other alone, at most one a
//     category, and writes a [schemas.Diagnostic]: exact spans in the final
//     text, and edits whose undoing gives the source back byte for byte.
//  3. [Choose] picks stories, categories and controls, balanced over the five
//     categories. What cannot be reached is told, never padded.
//
// What the rules can do is stated with each rule. They know nothing of cause
// and effect, of effects without a cause or of abandoned threads; those
// subtypes need a model. Most of what they put in is about nothing that the
// plot needs, and some of it sounds like an old tale in a new one: a set by
// rules says whether a checker finds what is plainly there, not how well it
// reads. Of one set over the FairytaleQA tales we read all 30 injections that
// change a detail of the story's own, 28 of which contradict it beyond doubt,
// and 20 others, all of which do.
package diagnostic
