// SPDX-License-Identifier: Apache-2.0

// Package offline makes plot holes with no model: it finds facts that a story
// states in its first act and leans on later, and says which words to change.
//
// In the order in which a story goes through it:
//
//  1. [Read] cuts a story into tokens that know their sentence, whether they
//     are spoken, and what stands between them.
//  2. [Story.Flips] looks for facts, class by class (attribute.go, number.go,
//     name.go, noun.go): a [Flip] is a fact, its counterfactual, and every
//     place of the story that carries its value. Most candidates are turned
//     down; the reasons stand beside the checks.
//  3. [Story.Acts] puts the act borders where most facts have both a statement
//     before and supports behind.
//  4. [Story.Bridge] writes a sentence that explains a change away (bridge.go,
//     term.go) where it can stand (place.go, pause.go), and [Story.Control]
//     finds a flip that contradicts nothing.
//
// Package flawed writes what is found here as the text a model would answer,
// and reads it back as it reads a model's.
//
// Rules of precision, numbered as in the design notes: 1 an entity is
// introduced once; 2 it has one value in the whole story, and the new value
// stands nowhere; 3 the sentence that establishes it is plain narration; 4
// nothing near it changes, disguises or paints; 5 every mention flips, in 1 to
// 5 sentences behind act 1; 6 articles and numbers stay right; 7 to 9 the
// classes' own; 10 nothing flips inside a speech of several paragraphs.
//
// The word lists are in lexicon/, each with a line on its origin.
package offline
