// SPDX-License-Identifier: Apache-2.0

// Package constoryio reads and writes the files of ConStory-Bench's published
// code: one row a story, its columns, and in 19 further columns what a judge
// found, each a JSON array or "ERROR: " and a reason. Package scoring reads the
// CSV form; [OpenParquet] gives the same [scoring.CheckTable] of a Parquet
// file, [WriteCSV] and [WriteParquet] write one, and [Columns] and [Row] make
// one of our own records, so that the published tools read them.
package constoryio
