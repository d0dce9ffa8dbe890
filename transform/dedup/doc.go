// SPDX-License-Identifier: Apache-2.0

// Package dedup answers: which stories are the same, and which were seen
// before?
//
// It is the one global step of the chain, in three calls that know nothing of
// where they run:
//
//  1. [Sign] turns a story into a [Signature] of a few hundred bytes. It looks
//     at that story alone, so it runs anywhere and in any order.
//  2. [Choose] looks at all signatures once, finds candidate pairs, reads the
//     texts of the candidates back and measures their true Jaccard and
//     containment. It decides which copy of each story stays.
//  3. [Decisions.Apply] takes each story a second time: it stays, with its
//     group_id, or is set aside with a reason.
//
// # Words and shingles
//
// A word is a run of letters and digits in lower case; apostrophes and soft
// hyphens vanish, accents and ligatures are folded away, everything else
// parts words, and each Chinese or Japanese character is a word (words.go).
// On ASCII text that is the common [a-z0-9]+ of published near-duplicate
// tables. A shingle is Shingle consecutive words; a text is the set of its
// shingles. A text of fewer than [WholeWords] words is compared whole: it
// equals another or it does not.
//
// # What a duplicate is
//
//   - exact: the same words in the same order, compared byte by byte;
//   - near: Jaccard of the shingle sets at or over DedupRecipe.Jaccard;
//   - contained, excerpt: shared shingles over those of the smaller set at or
//     over DedupRecipe.Containment while the Jaccard is low. It is an excerpt
//     when the smaller text is one passage of the longer one, and contained
//     when its passages lie apart, as in an abridgement.
//
// A query (schemas.KindQuery) is an instruction: two that differ in one number
// ask for two things. Queries are compared whole whatever their length, and
// never with stories.
//
// # Which copy stays
//
// Stories are taken in one order, which depends on the stories alone: those
// that an earlier release kept; those that are no part of a longer story; texts
// that a release may carry; the corpus that stands first in Settings.Corpora; the
// most words; the fewest leftovers of transcription; the smallest id. Each stays unless it is a
// duplicate of one that already stays. So nothing is chained: a story is set
// aside for one that it is itself alike, never for the neighbour of a
// neighbour. The one exception are passages, see partOf in decide.go.
//
// A passage that many stories share beside their own text makes no duplicate
// (boilerplate.go). A story with more duplicates than MaxCluster stops the run
// with its evidence ([ClusterError]).
//
// # Beside the choice
//
//   - [ReadAgainst] and Settings.Compare: what an earlier release or corpus has
//     is set aside or marked, with a proof ([schemas.Overlap]). Whether plot
//     holes are shared is proved over rows, when a release is made.
//   - [Grams]: stories that hold passages of benchmark items, by word 13-grams.
//   - [Retellings]: tales told twice in other words, listed for people.
package dedup
