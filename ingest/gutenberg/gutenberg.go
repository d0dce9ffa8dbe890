// SPDX-License-Identifier: Apache-2.0

// Package gutenberg reads books of Project Gutenberg and takes collections of
// tales apart.
//
// In the order in which a book goes through it:
//
//  1. library.go lists the files of a mirror, an archive or a folder of loose
//     files, puts the encodings of one book together and takes the best;
//     catalog.go says which books are story collections.
//  2. markers.go finds the text between header and footer in all five styles;
//     front.go takes out notes on the file; html.go turns HTML into lines.
//  3. doc.go cuts the text into lines and blocks, cuts.go finds brackets that
//     are no text (pictures, notes of the transcriber, page numbers).
//  4. heads.go reads headings, contents.go the contents list, split.go decides
//     by both and by the way headings are set where each tale begins and ends,
//     and what preface, notes and advertisements are.
//  5. clean.go joins hard-wrapped lines, keeps verse, takes out footnotes and
//     emphasis marks; book.go makes stories of the regions.
//
// Each thing taken out is recorded with the name of its rule and the bytes of
// the decoded file it stood in (schemas.Removal): those of the tale itself, and
// those round the tales of the same file. A story's text, its heading and the
// removals, with the other tales' texts, are the whole file.
//
// Everything works line by line on bytes; there is no regular expression over a
// book.
package gutenberg

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"iter"

	"github.com/retcon-bench/retcon/ingest"
	"github.com/retcon-bench/retcon/schemas"
)

// Name is the corpus name.
const Name = "gutenberg"

// Version changes whenever the same bytes may give other stories.
const Version = "1"

// Settings steer selection, splitting and cleaning.
type Settings struct {
	// Markers are what the start and end lines name after "START OF THE", in
	// capitals.
	Markers []string `json:"markers"`

	// Catalogue filter: a book with a catalogue record (pg_catalog.csv or
	// RDF) is read when its type and language fit and one of Subjects, LoCC
	// or Shelves does and none of NotSubjects. Subjects match as a heading of
	// their own or one part of "Folklore -- England". Books without a record
	// are read.
	Types       []string `json:"types"`
	Languages   []string `json:"languages"` // codes; empty = all
	Subjects    []string `json:"subjects"`
	NotSubjects []string `json:"not_subjects"`
	LoCC        []string `json:"locc"`
	Shelves     []string `json:"shelves"`
	Filter      bool     `json:"filter"` // false: read every book whatever the catalogue says
	IDs         []string `json:"ids"`    // if not empty, only these ebook numbers or file slugs
	NotIDs      []string `json:"not_ids"`

	SkipCopyright bool   `json:"skip_copyright"` // set books in copyright aside
	LongWork      int    `json:"long_work"`      // words above which a book that is one piece is set aside; 0 = never
	MinWords      int    `json:"min_words"`      // of a tale
	MaxWords      int    `json:"max_words"`      // of a tale; 0 = no limit
	Dashes        string `json:"dashes"`         // keep, or em: `--` becomes an em dash
}

// DefaultSettings are the corpus's defaults.
func DefaultSettings() Settings {
	return Settings{
		Markers:   []string{"PROJECT GUTENBERG"},
		Types:     []string{"Text"},
		Languages: []string{"en"},
		Subjects:  []string{"Fairy tales", "Folklore", "Short stories", "Legends", "Mythology", "Fables", "Tales", "Detective and mystery stories"},
		NotSubjects: []string{
			"Drama", "Poetry", "Bibliography", "Study and teaching", "Study",
		},
		LoCC: []string{"GR", "PZ"},
		Shelves: []string{"Short Stories", "Folklore", "Mythology", "Arthurian Legends", "Children's Fiction", "Children's Literature",
			"Children's Myths, Fairy Tales, etc.", "Children's Book Series", "Children's Picture Books", "Children's Anthologies"},
		Filter:        true,
		IDs:           []string{},
		NotIDs:        []string{},
		SkipCopyright: true,
		LongWork:      12000,
		MinWords:      1,
		Dashes:        "keep",
	}
}

// Check reports a setting that makes no sense.
func (s Settings) Check() error {
	if s.Dashes != "keep" && s.Dashes != "em" {
		return fmt.Errorf("setting dashes is %q; it can be keep or em", s.Dashes)
	}
	if s.MaxWords > 0 && s.MaxWords < s.MinWords {
		return fmt.Errorf("setting max_words (%d) is below min_words (%d)", s.MaxWords, s.MinWords)
	}
	if len(s.Markers) == 0 {
		return fmt.Errorf("setting markers is empty; the default is [\"PROJECT GUTENBERG\"]")
	}
	return nil
}

// ParseSettings reads complete settings. Unknown keys are errors.
func ParseSettings(raw json.RawMessage) (Settings, error) {
	s := DefaultSettings()
	if len(raw) == 0 {
		return s, nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		return s, fmt.Errorf("settings of corpus %s: %w", Name, err)
	}
	if err := s.Check(); err != nil {
		return s, fmt.Errorf("settings of corpus %s: %w", Name, err)
	}
	return s, nil
}

// Terms are those of the books' texts without the distributor's name.
var Terms = ingest.Terms{
	Licence:      "public-domain-us",
	LicenceURL:   "https://www.gutenberg.org/policy/license.html",
	Redistribute: schemas.RedistributeText,
	Note:         "Public domain in the USA. The distributor's name and licence must stay together or both go; here both are taken out of every text.",
}

// Corpus is Project Gutenberg.
var Corpus = ingest.Corpus{
	Name:    Name,
	Title:   "Project Gutenberg story collections",
	Version: Version,
	Doc: `Books of Project Gutenberg, plain text or HTML, in any header style. Collections of tales are taken
apart by their contents list, headings and typography; a tale is a story. One long work, plays, books of
verse, other languages and books in copyright are set aside with a reason. Of several encodings of one book
the best is read: -0.txt or pg<id>.txt, -8.txt, .txt, HTML, older postings. With pg_catalog.csv or RDF records
in the folder, books are chosen by type, language, subject, class and shelf (see the settings).`,
	Terms: Terms,
	Formats: []string{
		"mirror tree: files/<id>/<id>-0.txt, <id>-8.txt, <id>.txt, <id>-h/<id>-h.htm, old/...",
		"mirror tree: cache/epub/<id>/pg<id>.txt, pg<id>-images.html, pg<id>.rdf; cache/epub/feeds/pg_catalog.csv",
		"loose .txt and .htm files under any name, also in archives (.zip, .tar.gz) and compressed (.gz)",
	},
	Where:    "retcon corpora fetch gutenberg --mirror URL --ids FILE DIR, or a mirror by rsync: https://www.gutenberg.org/help/mirroring.html",
	Tested:   ingest.TestedReal,
	Defaults: mustJSON(DefaultSettings()),
	Open:     open,
}

func mustJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

func bookURL(id string) string { return "https://www.gutenberg.org/ebooks/" + id }

func open(ctx context.Context, root string, raw json.RawMessage) iter.Seq2[ingest.Item, error] {
	return func(yield func(ingest.Item, error) bool) {
		set, err := ParseSettings(raw)
		if err != nil {
			yield(ingest.Item{}, err)
			return
		}
		if root == "" {
			yield(ingest.Item{}, fmt.Errorf("corpus %s needs a folder, file or archive: %w; name one with --corpus %s=DIR", Name, fs.ErrNotExist, Name))
			return
		}
		r := &Reader{Corpus: Name, Settings: set, Terms: Terms, URL: bookURL}
		for item, err := range r.Library(ctx, walk(ctx, root)) {
			if !yield(item, err) || err != nil {
				return
			}
		}
	}
}
