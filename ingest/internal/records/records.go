// SPDX-License-Identifier: Apache-2.0

// Package records turns files that hold many records into items: what the
// corpora that are tables have in common.
//
// In the order in which an open corpus uses it:
//
//  1. [Settings] reads a recipe's settings over the corpus's defaults.
//  2. [Source.Files] walks the root; [Source.Look] opens a file, looks at its
//     first bytes and says what it is: JSON Lines, an array, CSV, Parquet,
//     lines of text, or something else (shape.go).
//  3. [Source.Items] cuts its records into items of some 64 rows that are
//     already in memory, so that workers parse side by side while one
//     goroutine reads (items.go, rows.go, parquet.go). Whatever the file
//     stores, a record arrives as the bytes of one JSON object.
//  4. The corpus decodes each with the lenient types of value.go and makes
//     stories by [Source.Story], or sets the record aside by [Source.Drop].
//
// Nothing here holds more than the rows of a few items: an array of several GB
// needs no more memory than its largest rows.
package records

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"strconv"
	"strings"

	"github.com/retcon-bench/retcon/ingest"
	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

// Stage is the step that records are set aside in.
const Stage = "ingest"

// Reasons for which a file or a record is set aside. The first group counts as
// bad (unreadable); the others are filters.
const (
	ReasonUnreadable = "unreadable"    // the file could not be opened or read
	ReasonCutOff     = "cut_off"       // the file ends, or stops making sense, before its records do
	ReasonTooLarge   = "too_large"     // a record above the cap on one row
	ReasonSyntax     = "bad_json"      // a record that is no JSON
	ReasonType       = "wrong_type"    // a field of another type than the format has
	ReasonColumns    = "bad_row"       // a CSV row with broken quoting or another number of fields
	ReasonMissing    = "missing_field" // a field the format must have is absent or empty

	ReasonOther       = "other_file"   // a file that holds no records of the corpus
	ReasonNotSelected = "not_selected" // the settings ask for others
	ReasonLanguage    = "language"
	ReasonTooShort    = "too_short"
	ReasonTooLong     = "too_long"
	ReasonRepeated    = "repeated" // the same text as an earlier record of the corpus
	ReasonEmpty       = "empty"    // nothing but white space once cleaned
)

// Source is what the readers of one corpus share.
type Source struct {
	Corpus string
	Where  string // where to get the corpus, for messages
	Terms  ingest.Terms
	// Keys are the fields by which a record is known to be the corpus's: a
	// record fits if it has all fields of one of the lists.
	Keys [][]string
	// MaxRow caps one record in bytes; 0 is the row readers' default.
	MaxRow int64
}

// Settings lays raw, a recipe's settings, over defaults. Unknown keys are
// errors.
func Settings[T any](corpus string, defaults T, raw json.RawMessage) (T, error) {
	if len(raw) == 0 {
		return defaults, nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&defaults); err != nil {
		return defaults, fmt.Errorf("settings of corpus %s: %w (its settings are listed by: retcon corpora show %s)", corpus, err, corpus)
	}
	return defaults, nil
}

// MustJSON is v as JSON. It panics for a type that has none.
func MustJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// Lengths are a corpus's limits on a text, in words. They belong to every
// corpus's settings.
type Lengths struct {
	MinWords int `json:"min_words"`
	MaxWords int `json:"max_words"` // 0 = no limit
}

// Check reports limits that exclude everything.
func (l Lengths) Check(corpus string) error {
	if l.MaxWords > 0 && l.MaxWords < l.MinWords {
		return fmt.Errorf("settings of corpus %s: max_words (%d) is below min_words (%d)", corpus, l.MaxWords, l.MinWords)
	}
	return nil
}

// Reason returns why a story is left out, or "". Chinese is counted by
// ideographs, as it has no blanks.
func (l Lengths) Reason(st *schemas.Story) (reason, detail string) {
	words := st.Words
	if st.Language == "zh" {
		words = text.WordsCJK(st.Text)
	}
	switch {
	case words < l.MinWords:
		return ReasonTooShort, fmt.Sprintf("%d words, fewer than %d", words, l.MinWords)
	case l.MaxWords > 0 && words > l.MaxWords:
		return ReasonTooLong, fmt.Sprintf("%d words, more than %d", words, l.MaxWords)
	}
	return "", ""
}

// Files walks root. An error with a file's name concerns that file alone.
func (s *Source) Files(ctx context.Context, root string) iter.Seq2[fetch.File, error] {
	return func(yield func(fetch.File, error) bool) {
		if root == "" {
			yield(fetch.File{}, fmt.Errorf("corpus %s needs a folder, file or archive: %w; name one with --corpus %s=PATH (where to get it: %s)", s.Corpus, fs.ErrNotExist, s.Corpus, s.Where))
			return
		}
		for f, err := range fetch.Walk(ctx, root, fetch.Limits{}) {
			if err != nil && f.Name == "" && errors.Is(err, fs.ErrNotExist) {
				err = fmt.Errorf("%w; name the corpus's folder, file or archive with --corpus %s=PATH (where to get it: %s)", err, s.Corpus, s.Where)
			}
			if !yield(f, err) {
				return
			}
		}
	}
}

// Drop sets a record of file aside. Line and row are 1-based, 0 where there is
// none; an empty id stands for one made of file and place.
func (s *Source) Drop(id, file string, line, row int, reason, detail string) schemas.Dropped {
	place := Place(file, line, row)
	if id == "" {
		id = s.Corpus + ":" + file
		if n := max(line, 0); n > 0 {
			id += ":" + strconv.Itoa(n)
		} else if row > 0 {
			id += ":" + strconv.Itoa(row)
		}
	}
	d := schemas.Dropped{ID: id, Stage: Stage, Reason: reason, Detail: place + ": " + detail,
		Evidence: []schemas.KeyValue{{Key: "file", Value: file}}}
	if line > 0 {
		d.Evidence = append(d.Evidence, schemas.KeyValue{Key: "line", Value: strconv.Itoa(line)})
	}
	if row > 0 {
		d.Evidence = append(d.Evidence, schemas.KeyValue{Key: "row", Value: strconv.Itoa(row)})
	}
	return d
}

// Place names a record for people.
func Place(file string, line, row int) string {
	switch {
	case line > 0:
		return fmt.Sprintf("%s: line %d", file, line)
	case row > 0:
		return fmt.Sprintf("%s: row %d", file, row)
	}
	return file
}

// Set returns an item that sets a file aside. Bad says that it could not be
// read, as against files that are none of the corpus's.
func (s *Source) Set(file, reason, detail string, bad bool) ingest.Item {
	b := ingest.Batch{Dropped: []schemas.Dropped{s.Drop("", file, 0, 0, reason, detail)}}
	if bad {
		b.Rows, b.Bad = 1, 1
	}
	return ingest.Item{Name: file, Load: func(context.Context) (ingest.Batch, error) { return b, nil }}
}

// Fatal reports an error of the walk that no other file can outlive.
func Fatal(ctx context.Context, f fetch.File, err error) bool {
	return ctx.Err() != nil || f.Name == "" || fetch.KindOf(err) == fetch.Disk
}

// Text is how every text of a record is stored: frozen, without white space at
// either end, with at most one blank line in a row.
func Text(s string) string {
	s = text.Trim(text.Freeze(s))
	for strings.Contains(s, "\n\n\n") {
		s = strings.ReplaceAll(s, "\n\n\n", "\n\n")
	}
	return s
}

// Line is Text for what should be one line: white space is single blanks.
func Line(s string) string { return strings.Join(strings.Fields(text.Freeze(s)), " ") }

// Story makes a record of body, which becomes frozen text. Key is the
// upstream's own; kind is schemas.KindStory or KindQuery. The text may turn out
// empty: see Words.
func (s *Source) Story(r Row, key, kind, title, language, body string) schemas.Story {
	st := schemas.Story{
		StoryID:  schemas.StoryID(s.Corpus, key, ""),
		Kind:     kind,
		Title:    title,
		Language: language,
		Text:     Text(body),
		Marks:    []schemas.Mark{},
		Facts:    []schemas.SourceFact{},
		Meta:     []schemas.KeyValue{},
		Removed:  []schemas.Removal{},
		Source: schemas.Source{Corpus: s.Corpus, ID: key, Title: title, Licence: s.Terms.Licence, LicenceURL: s.Terms.LicenceURL,
			Attribution: s.Terms.Attribution, Redistribute: s.Terms.Redistribute, File: r.File, RawSHA256: r.SHA256(), Charset: r.Charset, Repaired: r.Repaired},
	}
	Seal(&st)
	return st
}

// Seal sets what follows from a story's id and text.
func Seal(st *schemas.Story) {
	st.GroupID = st.StoryID
	st.TextHash = schemas.HashText(st.Text)
	st.Words = text.Words(st.Text)
}

// Add appends an upstream field to the story's meta, unless it is empty.
func Add(st *schemas.Story, key, value string) {
	if value != "" {
		st.Meta = append(st.Meta, schemas.KeyValue{Key: key, Value: value})
	}
}

// Stem is a file's name without folders and suffixes: train for
// a/train.jsonl, plots for plots.
func Stem(name string) string {
	base := path.Base(name)
	for {
		ext := path.Ext(base)
		switch strings.ToLower(ext) {
		case ".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".txt", ".parquet", ".gz", ".zst", ".bz2":
			if base != ext {
				base = base[:len(base)-len(ext)]
				continue
			}
		}
		return base
	}
}

// Stems gives the files of one walk names for the ids of records that have no
// key of their own. The first file of a stem has the stem; a later one takes
// as many folders of its path before it as make it another name.
type Stems map[string]bool

// Name returns the name of file, whose stem is given.
func (k Stems) Name(file, stem string) string {
	dir := path.Dir(file)
	name := stem
	for k[name] && dir != "." && dir != "/" {
		name = path.Base(dir) + "/" + name
		dir = path.Dir(dir)
	}
	for n, base := 2, name; k[name]; n++ {
		name = base + "-" + strconv.Itoa(n)
	}
	k[name] = true
	return name
}

// Split reads train, validation or test off a file's path, "" if it names
// none.
func Split(name string) string {
	parts := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !('a' <= r && r <= 'z') })
	for i := len(parts) - 1; i >= 0; i-- {
		switch parts[i] {
		case "train", "test", "validation":
			return parts[i]
		case "valid", "val", "dev":
			return "validation"
		}
	}
	return ""
}
