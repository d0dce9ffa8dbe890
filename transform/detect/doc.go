// SPDX-License-Identifier: Apache-2.0

// Package detect answers: what does a system say of a story, is there a plot
// hole, and where?
//
// A [Baseline] needs no model. Every system's answer is a
// [schemas.Prediction], bound to the row by id and text.
package detect
