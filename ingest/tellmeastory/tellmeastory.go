// SPDX-License-Identifier: Apache-2.0

// Package tellmeastory reads the two corpora that go by this name.
//
// STORIUM (Akoury et al. 2020), the one the ConStory-Bench paper cites: games of
// collaborative fiction, one JSON object each (storium.go). Its agreement forbids
// giving the data to anyone, so its records may be released as ids only and say
// so in their meta.
//
// Tell Me A Story (Huot et al. 2024), an extra: JSON Lines {example_id, inputs,
// targets} (open.go). Its files are encrypted against scraping; fernet.go
// decrypts them with the two keys of the upstream repository, if they lie
// anywhere in the folder.
//
// Keys: storium/<game_pid>, or storium/<path of the file> where that is null;
// open/<example_id>, or open/<stem>:<line>.
package tellmeastory

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/retcon-bench/retcon/ingest"
	"github.com/retcon-bench/retcon/ingest/internal/records"
	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/schemas"
)

// Name is the corpus name.
const Name = "tellmeastory"

const where = "STORIUM: ask at https://storium.cs.umass.edu; Tell Me A Story: https://github.com/google-deepmind/tell_me_a_story"

// What a prompt and story of the open corpus become.
const (
	AsStory = "story"
	AsQuery = "query"
	AsBoth  = "both"
)

// Settings choose games and stories.
type Settings struct {
	Storium bool     `json:"storium"` // games of STORIUM
	Open    bool     `json:"open"`    // rows of the open corpus
	As      string   `json:"as"`      // rows of the open corpus as story, query or both
	Splits  []string `json:"splits"`  // train, validation, test by lists or file names; empty = all

	Formats  []string `json:"formats"`  // kinds of entries whose text is taken
	Finished bool     `json:"finished"` // only finished games
	Redacted bool     `json:"redacted"` // redacted entries too
	Markdown string   `json:"markdown"` // of entries: plain takes its marks out, keep leaves them
	records.Lengths
}

// DefaultSettings are FORMATS' story filter: finished games, the entries that
// tell, no redacted ones.
func DefaultSettings() Settings {
	return Settings{Storium: true, Open: true, As: AsStory, Splits: []string{},
		Formats: []string{"establishment", "move", "addition", "conclusion"}, Finished: true, Markdown: "plain"}
}

// Terms are those of STORIUM, the stricter of the two.
var Terms = ingest.Terms{
	Licence:      "agreement",
	LicenceURL:   "https://storium.cs.umass.edu",
	Redistribute: schemas.RedistributeIDs,
	Attribution:  "Akoury et al., STORIUM: A Dataset and Evaluation Platform for Machine-in-the-Loop Story Generation (EMNLP 2020)",
	Note: `STORIUM's data use agreement forbids giving the data to anyone: never its text, not even derived prompts. Rows of the
open corpus Tell Me A Story are CC-BY-4.0 and carry their own terms: derived prompts, but no plain text, since its authors
encrypt it against scraping.`,
}

// OpenTerms are those of the open corpus.
var OpenTerms = ingest.Terms{
	Licence:      "CC-BY-4.0",
	LicenceURL:   "https://creativecommons.org/licenses/by/4.0/",
	Redistribute: schemas.RedistributeDerived,
	Attribution:  "Huot et al., Agents' Room: Narrative Generation through Multi-step Collaboration (2024), github.com/google-deepmind/tell_me_a_story",
	Note:         "CC-BY-4.0, encrypted by its authors against scraping: derived prompts, no plain text.",
}

// Corpus is both.
var Corpus = ingest.Corpus{
	Name:    Name,
	Title:   "TellMeAStory: STORIUM games, and the open corpus Tell Me A Story",
	Version: "1",
	Doc: `About 6,000 STORIUM games (125 million tokens by the paper): the entries of narrator and players in scene and entry
order are one story, each entry a section with its speaker. Only finished games are taken, redacted entries are left out.
And the stories of Tell Me A Story, written by people to complex prompts, with the prompt in meta.`,
	Terms: Terms,
	Formats: []string{
		"STORIUM export 0.9.2: a folder tree of *.json, one game a file, with train_filenames.txt, validation_filenames.txt, test_filenames.txt; also games as JSON Lines or an array",
		"tell-me-a-story-{train,validation,test}.jsonl: {example_id, inputs, targets}, also as array, CSV or Parquet",
		"tell-me-a-story-*_encrypted.jsonl with skey.key and private_key.pem of the upstream repository beside them",
	},
	Where:    where,
	Tested:   ingest.TestedGenerated,
	Defaults: records.MustJSON(DefaultSettings()),
	Open:     open,
}

var (
	storium = &records.Source{Corpus: Name, Where: where, Terms: Terms, Keys: [][]string{{"game_pid"}, {"scenes", "characters"}, {"scenes", "cards"}}, MaxRow: 256 << 20}
	rows    = &records.Source{Corpus: Name, Where: where, Terms: OpenTerms, Keys: [][]string{{"inputs", "targets"}, {"example_id", "targets"}}}
	either  = &records.Source{Corpus: Name, Where: where, Terms: Terms, Keys: append(slices.Clone(storium.Keys), rows.Keys...)}
)

func open(ctx context.Context, root string, raw json.RawMessage) iter.Seq2[ingest.Item, error] {
	set, err := records.Settings(Name, DefaultSettings(), raw)
	if err == nil {
		err = set.check()
	}
	if err != nil {
		return records.Fail(err)
	}
	return func(yield func(ingest.Item, error) bool) {
		files, items, err := either.List(ctx, root)
		if err != nil {
			yield(ingest.Item{}, err)
			return
		}
		t, more, err := sortOut(ctx, files)
		if err != nil {
			yield(ingest.Item{}, err)
			return
		}
		rd := &reader{set: set, splits: t.splits, stems: records.Stems{}, ids: records.IDs{}}
		var all []iter.Seq2[ingest.Item, error]
		for _, f := range t.games {
			all = append(all, rd.games(ctx, f))
		}
		for _, f := range t.rows {
			all = append(all, rd.open(ctx, f))
		}
		for _, f := range t.encrypted {
			all = append(all, rd.encrypted(ctx, f, t.keys))
		}
		for _, it := range append(items, more...) {
			all = append(all, records.One(it))
		}
		for _, seq := range all {
			for it, err := range seq {
				if !yield(it, err) || err != nil {
					return
				}
			}
		}
	}
}

func (s Settings) check() error {
	switch {
	case s.As != AsStory && s.As != AsQuery && s.As != AsBoth:
		return fmt.Errorf("settings of corpus %s: as is %q; it can be story, query or both", Name, s.As)
	case s.Markdown != "plain" && s.Markdown != "keep":
		return fmt.Errorf("settings of corpus %s: markdown is %q; it can be plain or keep", Name, s.Markdown)
	case !s.Storium && !s.Open:
		return fmt.Errorf("settings of corpus %s: both storium and open are false, so nothing is left", Name)
	}
	return s.Lengths.Check(Name)
}

type reader struct {
	set    Settings
	splits map[string]string // path of a game file, as the lists have it
	stems  records.Stems
	ids    records.IDs
}

// tree is what a folder holds, files in order of their names.
type tree struct {
	games     []fetch.File
	rows      []fetch.File
	encrypted []fetch.File
	keys      keys
	splits    map[string]string
}

func sortOut(ctx context.Context, files []fetch.File) (t tree, others []ingest.Item, err error) {
	t.splits = map[string]string{}
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return t, nil, err
		}
		o, err := either.Look(f)
		if err != nil {
			others = append(others, either.Set(f.Name, records.ReasonUnreadable, err.Error(), true))
			continue
		}
		o.Close()
		base := strings.ToLower(path.Base(f.Name))
		switch {
		case o.Format == records.Parquet, o.Fits && (has(o.Fields, "targets") || has(o.Fields, "inputs")):
			t.rows = append(t.rows, f)
		case o.Fits:
			t.games = append(t.games, f)
		case bytes.HasPrefix(o.Head, []byte(fernetStart)):
			t.encrypted = append(t.encrypted, f)
		case bytes.HasPrefix(o.Head, []byte("-----BEGIN ")):
			t.keys.private = append(t.keys.private, f)
		case strings.HasSuffix(base, ".key"):
			t.keys.symmetric = append(t.keys.symmetric, f)
		case o.Format == records.TextLines && strings.HasSuffix(base, "filenames.txt"):
			if err := t.list(f); err != nil {
				others = append(others, either.Set(f.Name, records.ReasonUnreadable, err.Error(), true))
			}
		default:
			others = append(others, either.Set(f.Name, records.ReasonOther, o.Describe(), false))
		}
	}
	return t, others, nil
}

func has(fields []string, name string) bool {
	return slices.ContainsFunc(fields, func(f string) bool { return strings.EqualFold(f, name) })
}

// list reads a split list: a relative path a line, of which the released loader
// drops the first folder.
func (t *tree) list(f fetch.File) error {
	split := records.Split(path.Base(f.Name))
	in, err := f.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	for r, err := range fetch.Lines(in, fetch.RowOptions{Name: f.Name}) {
		if err != nil {
			return err
		}
		p := strings.Trim(strings.TrimSpace(string(r.Data)), "/")
		if p == "" {
			continue
		}
		t.splits[p] = split
		if _, rest, ok := strings.Cut(p, "/"); ok {
			t.splits[rest] = split
		}
	}
	return nil
}

// splitOf looks a game's path up in the lists, whatever folders stand before
// it.
func (rd *reader) splitOf(name string) string {
	for p := name; ; {
		if s := rd.splits[p]; s != "" {
			return s
		}
		_, rest, ok := strings.Cut(p, "/")
		if !ok {
			return ""
		}
		p = rest
	}
}
