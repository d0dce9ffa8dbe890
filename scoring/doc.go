// SPDX-License-Identifier: Apache-2.0

// Package scoring answers one question: what is the number, and how sure is
// it? It holds the arithmetic of the FlawedFictions benchmark and of people's
// agreement. It reads no file and asks no model: predictions come in as
// records or through an io.Reader, figures go out as values.
//
// In the order in which a prediction becomes a figure:
//
//  1. [NewKey] reads the rows of one config into a [Key], the answer key: gold
//     sentences, groups, and an index of each story's frozen sentences.
//  2. [ReadPredictions] and its siblings (raw completions, logs of two
//     harnesses, the published columns) turn what a system left behind into
//     [schemas.Prediction] records. [ReadAnswer] reads a completion,
//     [ReadDecision] its last word.
//  3. [Evaluate] binds predictions to the key (wrong, missing, doubled and
//     stale ones are errors, or counted where [Allow] says so) and lets a
//     [Scorer] give each its [Verdict]. [Default] and [Compat] are the two
//     scorers; every figure names the one it comes from.
//  4. A [Suite] of [Metric] values turns verdicts into [Score] values, over
//     all rows or along a [Dimension]; [Suite.Bootstrap] adds intervals,
//     [Compare] and [CompareAll] say whether two systems differ,
//     [LengthCorrelation] whether length matters. [Summarise] does it all and
//     gives one [Report] to print or draw. [CompareRates] and [Study] are for
//     texts without gold.
//  5. People: [Human] scores their answers as a majority and one by one;
//     [CountVotes] makes a [Panel] of votes, [Agree] and [Panel.Accept] say how
//     far they agree and what they accept, [Rereview] finds the false positives
//     that they accepted, which go for all systems alike.
//
// ConStory-Bench has figures of its own: what a checker's findings add up to.
// constory.go says how a judged story becomes a [CheckRecord] and which
// arithmetic follows; [SummariseConStory] does it all.
//
// A metric is arithmetic: undefined is NaN (null in JSON), what could not be
// read is counted as Skipped, and neither turns into 0 or into an answer.
//
// Where the paper (arXiv 2504.11900), its published code and this project
// differ, each variant has a name and the comment beside it says which is
// which. published.go checks the paper's printed tables against integer counts.
package scoring
