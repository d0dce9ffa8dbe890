// SPDX-License-Identifier: Apache-2.0

// Package arrowio is a release as Apache Arrow sees it.
//
//  1. [Columns] reads Parquet by the Arrow project's own library: the second,
//     independent reader of every shard when a release is written.
//  2. [Export] writes the tables of a release as Arrow IPC files.
//
// It stands apart from package datasets because the Arrow library takes about
// as long to build as everything else together; only the command that needs it
// pays for it.
package arrowio
