// SPDX-License-Identifier: Apache-2.0

// Package llm is the boundary between the steps of this project and whatever
// answers a prompt: a hosted model, a server on this machine, a batch file,
// a recording, or the rules that stand in for a model when there is none.
//
// In the order in which a prompt travels:
//
//  1. A stage declares a [Call]: typed input, [Template], render, decode and
//     offline rule side by side, as a value in the stage's own package.
//  2. [Call.Do] renders the input into an immutable [Request]. Its [Key] names
//     everything that can change the answer, and nothing else.
//  3. [Client.Ask] looks the key up in the [Store], and asks the engine (a
//     [Generator]) only for what is not there: within budget, rates and
//     deadlines, each key once however many workers want it.
//  4. The [Answer] is classified before it is read (see [Outcome]) and
//     committed to the store before anybody sees it.
//  5. The call's decoder turns a [Reply], the answer without its reasoning,
//     into a typed value. A refusal, a truncation or an error is an outcome of
//     its own; it is never "no error found".
//
// Engines live in subpackages: openai (any OpenAI-compatible server), rules
// (no model at all), replay (stored answers only) and batch (files are the
// interface). store keeps answers on disk. llmtest holds a scripted model, a
// loopback server with programmable faults, and the contract each engine is
// tested against; start there to add another one.
package llm
