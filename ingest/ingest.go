// SPDX-License-Identifier: Apache-2.0

// Package ingest answers: where do stories come from, at which hash and
// licence?
//
// A [Corpus] is a value: its name, terms and formats, and a function that
// turns a folder, file or archive of upstream bytes into [Item]s. An item is a
// unit of work small enough for one worker (a book, a record, a slice of
// records); loading it gives stories and what was set aside. Corpora live in
// sub-packages; ingest/all lists them.
package ingest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/schemas"
)

// Corpus is a source of stories or writing queries.
type Corpus struct {
	Name    string // as recipes and story ids spell it
	Title   string
	Doc     string // what it is and how its files look, for people
	Version string // changes whenever the same bytes may give other stories
	Terms   Terms
	Formats []string // accepted layouts, a line each
	Where   string   // where to get it
	Tested  string   // what the format was tested on: TestedReal, TestedAltered or TestedGenerated
	// Embedded says that the corpus needs no folder.
	Embedded bool
	// Files lists the embedded files; nil for other corpora.
	Files func() iter.Seq2[fetch.File, error]
	// Defaults are the settings as JSON with every key present; a recipe's
	// settings lie over them and may not name another key.
	Defaults json.RawMessage
	// Open lists the items of root in a stable order. Root is a folder, a
	// file or an archive; it is empty for an embedded corpus. Settings are
	// the complete settings. An error in the sequence stops the run; what is
	// wrong with one item is the item's own affair.
	Open func(ctx context.Context, root string, settings json.RawMessage) iter.Seq2[Item, error]
}

// What a corpus's reader was tested on.
const (
	TestedReal      = "real rows"
	TestedAltered   = "altered rows"
	TestedGenerated = "generated rows"
)

// Terms are the licence and what a release may carry of a corpus.
type Terms struct {
	Licence      string // SPDX id, or public-domain-us, unstated, agreement
	LicenceURL   string
	Redistribute string // schemas.RedistributeText, -Derived or -IDs
	Attribution  string
	Note         string // the rule in a sentence
}

// Item is one unit of reading.
type Item struct {
	Name string // slash path, and where the file holds records the row: book.txt, rows.jsonl:12
	Load func(ctx context.Context) (Batch, error)
}

// Batch is what an item gave. Stories keep upstream order.
type Batch struct {
	Stories []schemas.Story
	Dropped []schemas.Dropped
	Rows    int // records seen, for the share of bad ones; files count as one
	Bad     int // records that could not be read
	// Files are the upstream files read, with the hash of their bytes.
	Files []schemas.FileHash
}

// Digest is a SHA-256 over everything at root: names and decompressed bytes of
// all files, however they are packed.
func Digest(ctx context.Context, c Corpus, root string) (string, error) {
	files := fetch.Walk(ctx, root, fetch.Limits{})
	if c.Embedded && root == "" {
		files = c.Files()
	}
	h := sha256.New()
	for f, err := range files {
		if err != nil {
			return "", err
		}
		sum, size, err := fetch.Sum(f)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%d:%s %d %s\n", len(f.Name), f.Name, size, sum)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
