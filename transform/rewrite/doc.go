// SPDX-License-Identifier: Apache-2.0

// Package rewrite answers: how does a story become a prompt of one of four
// tasks? It makes the prompts of ConStory-Bench (section 2.1 and appendix A.1 of
// the paper) from stories, plot summaries and writing queries.
//
// In the order in which a source goes through it:
//
//  1. [Pool] draws, evenly from the corpora, the sources that are worked on.
//  2. [Step] makes a prompt of one source: the task is assigned (assign.go), the
//     prompt is written (write.go; by rules in rules.go, query.go and the phrase
//     books en.go and zh.go), the passages that it is grounded in are found in
//     the source, the named [Checks] run, and a model may judge the result
//     (judge.go).
//  3. Near-duplicates among the prompts are package dedup's business; what is
//     compared is [Made].Core, the prompt without phrases that many share.
//  4. [Choose] takes as many prompts as each quota allows, tops up from others
//     where it may, and says what is short. It never pads.
//
// The rules engine and a model answer the same three calls (prompts/assign,
// prompts/rewrite, prompts/judge), and their answers pass the same decoders and
// checks. The rules put the source's own sentences into instructions of ours: a
// premise, an opening, an outline of its most salient sentences in their order
// (salient.go), an ending. A query is passed on whole; only the length it asks
// for may be replaced by the length the benchmark asks for.
//
// Chinese sources get Chinese prompts, from either engine.
//
// # Reason codes
//
// A source that becomes no prompt is set aside under stage prompts with one of:
//
//	not_drawn        not among the sources drawn for the number wanted
//	not_prose        a script, play or poem
//	no_task          no task fits: no usable premise, opening, outline or ending
//	unsuitable       a model finds nothing in it to write a story from
//	ungrounded       none of the passages a model named stands in the source
//	judged_bad       the judging model would not publish it
//	near_duplicate, exact_duplicate
//	                 another prompt says the same; see duplicates.jsonl
//	rejected         people turned it down (prompts.reject)
//	over_quota       passed every check, and was not needed
//
// or the name of the check it fails (see [Checks]), or the class of an answer
// that could not be read (refusal, truncated, empty, parse_failed, ...).
package rewrite
