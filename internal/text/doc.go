// SPDX-License-Identifier: Apache-2.0

// Package text answers, once for every other package, what a story's text is:
// which characters it has, which offsets point at them, what a word is and
// where a sentence ends.
//
// In the order in which a text goes through it:
//
//   - [Decode] turns bytes of any encoding into a string, and never fails.
//   - [Freeze] gives the string its one stored form (NFC, LF, no controls).
//     From then on the text does not change, and it is hashed.
//     [CheckFrozen] says what is wrong with a text that claims to be frozen.
//   - [Span] is a place in a frozen text in three units at once: code points,
//     bytes and UTF-16 units. [Index] converts between them.
//   - [Words] and [Sentences] cut a text into parts, as byte [Range] values.
//
// Matching a model's quote against a text is in the same package; see the
// files fold.go, quote.go and anchor.go.
//
// The package leans on no other package of this module.
package text
