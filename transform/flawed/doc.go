// SPDX-License-Identifier: Apache-2.0

// Package flawed makes plot holes whose every sentence is known: the
// FlawedFictionsMaker.
//
// [Start] makes a draft of a story, and each of [Steps] takes drafts further:
// acts, facts, score, choose, rewrite, patch, filter, judge, counterfactual,
// resolve, control. A stage is one file with its prompt in prompts/ and its
// question as an llm.Call: template, decoder and offline rule side by side.
package flawed
