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
// and effect, of abandoned threads or of two places at one time; those
// subtypes need a model.
package diagnostic
