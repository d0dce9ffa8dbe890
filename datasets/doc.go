// SPDX-License-Identifier: Apache-2.0

// Package datasets answers: what exactly was released, and does it still
// verify?
//
//  1. [Write] turns tables of records and a manifest into a release folder
//     that appears whole or not at all: Parquet shards, card, checksums.
//  2. [Open] finds configs, splits and files of a release again; [Rows] reads
//     them, with null and empty list told apart.
//  3. [Verify] re-checks bytes, counts, schemas and every span.
//
// How a record becomes Parquet columns is in shred.go: the struct with its
// JSON tags is the schema, every column is OPTIONAL, lists are
// list/element. The rules and their reasons are in FORMAT.md of package
// schemas.
package datasets
