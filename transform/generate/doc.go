// SPDX-License-Identifier: Apache-2.0

// Package generate answers: what story does a model write?
//
//  1. An [Item] is what a system is asked to write from: a prompt of
//     ConStory-Bench ([FromPrompt]), or a story to summarise or to move into
//     our time ([FromStory]).
//  2. [Writer] is the step that asks one model about one item, one call, and
//     makes a [schemas.Generated] of whatever comes back. A refusal, a cut or
//     an empty answer is a row without a story; a study's word limit sets a
//     story aside in the same way. What the model says around the story stays,
//     and a note of the row says that it is there (remarks.go).
//  3. [LogProbs] brings the tokens of an answer to the bytes of the frozen
//     story, for the entropy tables of scoring.
//  4. [Import] reads stories that other systems wrote, and [Models] the table
//     that says what those systems are.
//
// [Presets] are the settings of the two papers by name. There is no offline
// rule: nothing short of a model writes a story that anybody should measure.
package generate
