// SPDX-License-Identifier: Apache-2.0

// Package pipeline answers: how do steps run, resume, set records aside and
// report progress?
//
//  1. [Open] takes a workspace folder for one process and one recipe.
//  2. [Workspace.Current] tells whether a step's output still stands;
//     [Workspace.Begin] starts it anew in a temporary folder that replaces the
//     old output by renaming, whole or not at all.
//  3. [Map] runs a function over a sequence with a number of workers and gives
//     the results in input order, so that no worker count shows in a file.
//  4. [Records] and [Lookup] read a step's records back, streaming or by id.
//
// It takes functions and sequences and knows only the records of schemas: what
// a step does is none of its business.
package pipeline
