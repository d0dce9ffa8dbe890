// SPDX-License-Identifier: Apache-2.0

// Package detect answers: what does a system say of a story, is there a plot
// hole, and where?
//
// [Detector] is the step that asks a model, under one of three prompts and
// with or without a verifier. A [Baseline] needs no model; [Entailment] needs
// a [PairScorer], which says how two sentences go together: [PairServer],
// [PairFile] or [LexicalPairs]. [KeepPairs] keeps what a server said.
//
// Every system's answer is a [schemas.Prediction], bound to the text by id and
// hash. What the answers are worth is package scoring's to say.
package detect
