// SPDX-License-Identifier: Apache-2.0

// Package check answers: where does a long story contradict itself? It is
// ConStory-Checker (arXiv 2603.05890, section 2.3 and appendix A.2): a model
// judges a story in five categories with 19 subtypes ([schemas.Categories]),
// and every finding carries both passages at exact places of the story.
//
// In the order in which a story goes through it:
//
//  1. [New] makes the step of a [Config]; it takes a [Text] and gives a
//     [schemas.CheckReport].
//  2. A story over the context budget is cut into windows (window.go).
//  3. One of two protocols asks. [Staged] (staged.go) has the paper's four
//     stages: passages are extracted by category, compared two by two, argued
//     for with a chain of evidence, reported. [Reference] (reference.go) asks
//     one question a category, as the paper's published code does.
//  4. Quotes are anchored (anchor.go, over internal/text), earlier and later
//     decided by offset; what is not in the story, or copies an example of our
//     own prompts, goes into quarantine by its status.
//  5. The same pair of passages under several subtypes becomes one finding,
//     and so does the same pair of several samples (merge.go).
//
// [FromCells] takes in what another checker wrote down, from step 4 on;
// [Config.StandIn] answers in place of a model when a run is only planned.
//
// A call that failed is a status, never "no error". Without a model the rules
// of rules.go answer two of the categories through the same decoder; the other
// three are then not judged, and the report says so.
package check
