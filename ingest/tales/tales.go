// SPDX-License-Identifier: Apache-2.0

// Package tales is the corpus that is built in: our own stories, for builds
// without any download and for tests.
//
// Texts lie in two forms, so that both readers are used: books with a contents
// list and a start marker of their own in texts/books, read by package
// gutenberg, and stories in sections with questions in texts/sections, read by
// package fairytaleqa.
package tales

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"strings"

	"github.com/retcon-bench/retcon/ingest"
	"github.com/retcon-bench/retcon/ingest/fairytaleqa"
	"github.com/retcon-bench/retcon/ingest/gutenberg"
	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/schemas"
)

//go:embed texts
var texts embed.FS

// Name is the corpus name.
const Name = "tales"

// Settings choose among the built-in stories.
type Settings struct {
	MinWords int `json:"min_words"`
	MaxWords int `json:"max_words"` // 0 = no limit
}

// Terms are those of this project.
var Terms = ingest.Terms{
	Licence:      "CC0-1.0",
	LicenceURL:   "https://creativecommons.org/publicdomain/zero/1.0/",
	Redistribute: schemas.RedistributeText,
	Attribution:  "The Retcon project",
	Note:         "Written for this project.",
}

// Corpus is the built-in one. It takes no folder.
var Corpus = ingest.Corpus{
	Name:     Name,
	Title:    "Built-in tales",
	Version:  "1",
	Doc:      `Our own stories, embedded in the program: a build with them needs no download, key or service.`,
	Terms:    Terms,
	Formats:  []string{"embedded"},
	Where:    "in the program",
	Tested:   ingest.TestedReal,
	Embedded: true,
	Defaults: json.RawMessage(`{"min_words":1,"max_words":0}`),
	Files:    func() iter.Seq2[fetch.File, error] { return files("texts") },
	Open:     open,
}

func open(ctx context.Context, root string, raw json.RawMessage) iter.Seq2[ingest.Item, error] {
	return func(yield func(ingest.Item, error) bool) {
		if root != "" {
			yield(ingest.Item{}, fmt.Errorf("corpus %s is built in and takes no folder; leave --corpus %s=%s out", Name, Name, root))
			return
		}
		set := Settings{MinWords: 1}
		if len(raw) > 0 {
			dec := json.NewDecoder(bytes.NewReader(raw))
			dec.DisallowUnknownFields()
			if err := dec.Decode(&set); err != nil {
				yield(ingest.Item{}, fmt.Errorf("settings of corpus %s: %w", Name, err))
				return
			}
		}
		books := gutenberg.DefaultSettings()
		books.Markers = []string{"RETCON EBOOK"}
		books.Filter = false
		books.MinWords, books.MaxWords = set.MinWords, set.MaxWords
		g := &gutenberg.Reader{Corpus: Name, Settings: books, Terms: Terms}
		for item, err := range g.Library(ctx, files("texts/books")) {
			if !yield(item, err) || err != nil {
				return
			}
		}
		sections := fairytaleqa.DefaultSettings()
		sections.MinWords, sections.MaxWords = set.MinWords, set.MaxWords
		f := &fairytaleqa.Reader{Corpus: Name, Settings: sections, Terms: Terms}
		for item, err := range f.Library(ctx, files("texts/sections")) {
			if !yield(item, err) || err != nil {
				return
			}
		}
	}
}

// files lists the embedded files below dir, names relative to texts.
func files(dir string) iter.Seq2[fetch.File, error] {
	return func(yield func(fetch.File, error) bool) {
		stopped := false
		err := fs.WalkDir(texts, dir, func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			f := fetch.File{Name: strings.TrimPrefix(p, "texts/"), Stored: p, Path: p, Size: info.Size(),
				Open: func() (io.ReadCloser, error) { return texts.Open(p) }}
			if !yield(f, nil) {
				stopped = true
				return fs.SkipAll
			}
			return nil
		})
		if err != nil && !stopped {
			yield(fetch.File{}, err)
		}
	}
}
