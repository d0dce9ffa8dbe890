// SPDX-License-Identifier: Apache-2.0

// Package longbenchwrite reads LongBench_Write: instructions to write texts of
// a given length, from the LongWriter project.
//
// A row of longbench_write.jsonl is {prompt, type, length}. The ruler file has
// Chinese types over English prompts; the evaluator's output files add a
// model's response, which is no human answer and is passed over. The English
// file repeats rows of the complete one: of equal prompts the first is kept,
// files in order of their names.
//
// Rows have no id. A query's key is its file's stem and line:
// longbench_write:longbench_write:17.
package longbenchwrite

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/retcon-bench/retcon/ingest"
	"github.com/retcon-bench/retcon/ingest/internal/records"
	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/schemas"
)

// Name is the corpus name.
const Name = "longbench_write"

const where = "https://github.com/THUDM/LongWriter/tree/main/evaluation"

// Settings choose instructions.
type Settings struct {
	Types     []string `json:"types"`     // as the file spells them; empty = all
	Languages []string `json:"languages"` // en, zh by the share of ideographs; empty = both
	records.Lengths
}

// DefaultSettings are FORMATS' story filter: creative writing, in English.
func DefaultSettings() Settings {
	return Settings{
		Types:     []string{"Literature and Creative Writing", "文学与创作"},
		Languages: []string{"en"},
	}
}

// Terms of the repository.
var Terms = ingest.Terms{
	Licence:      "Apache-2.0",
	LicenceURL:   "https://github.com/THUDM/LongWriter/blob/main/LICENSE",
	Redistribute: schemas.RedistributeText,
	Attribution:  "Bai et al., LongWriter: Unleashing 10,000+ Word Generation from Long Context LLMs (2024), github.com/THUDM/LongWriter",
	Note:         "Apache-2.0: keep the attribution and say what was changed.",
}

// Corpus is LongBench_Write.
var Corpus = ingest.Corpus{
	Name:    Name,
	Title:   "LongBench_Write, instructions for long texts",
	Version: "1",
	Doc: `120 instructions (60 English, 60 Chinese) to write texts of 100 to 20,000 words, with their type and wanted
length, and 48 more in the ruler file. Each is a query; there are no stories and no human answers. By default those of
the type Literature and Creative Writing in English are taken: among them are poems, scripts and essays.`,
	Terms: Terms,
	Formats: []string{
		"evaluation/longbench_write.jsonl, longbench_write_en.jsonl, longwrite_ruler.jsonl: JSON Lines {prompt, type, length}",
		"the same fields as a JSON array, CSV or Parquet, under any name, compressed or in an archive",
		"the evaluator's output files (response and response_length are passed over)",
	},
	Where:    where,
	Tested:   ingest.TestedReal,
	Defaults: records.MustJSON(DefaultSettings()),
	Open:     open,
}

var source = &records.Source{
	Corpus: Name, Where: where, Terms: Terms,
	Keys: [][]string{{"prompt", "type"}, {"prompt", "length"}},
}

// row is a record. Length is a number upstream; elsewhere it is a string.
type row struct {
	Prompt records.String `json:"prompt"`
	Type   records.String `json:"type"`
	Length records.String `json:"length"`
}

func open(ctx context.Context, root string, raw json.RawMessage) iter.Seq2[ingest.Item, error] {
	set, err := records.Settings(Name, DefaultSettings(), raw)
	if err == nil {
		err = set.Check(Name)
	}
	if err != nil {
		return records.Fail(err)
	}
	return func(yield func(ingest.Item, error) bool) {
		files, broken, err := source.List(ctx, root)
		if err != nil {
			yield(ingest.Item{}, err)
			return
		}
		stems, seen := records.Stems{}, records.Seen{}
		for _, f := range files {
			for it, err := range file(ctx, f, set, stems, seen) {
				if !yield(it, err) || err != nil {
					return
				}
			}
		}
		for _, it := range broken {
			if !yield(it, nil) {
				return
			}
		}
	}
}

func file(ctx context.Context, f fetch.File, set Settings, stems records.Stems, seen records.Seen) iter.Seq2[ingest.Item, error] {
	o, err := source.Look(f)
	if err != nil {
		return records.One(source.Set(f.Name, records.ReasonUnreadable, err.Error(), true))
	}
	if !o.Fits {
		return source.NotOurs(o)
	}
	stem := stems.Name(f.Name, records.Stem(f.Name))
	byLine := o.Format == records.JSONLines
	// Which of two equal prompts is kept must not depend on which worker is
	// faster, so it is decided while the rows are read.
	first := func(r *records.Row) (of string, isFirst bool) {
		var v row
		if reason, _ := r.Decode(&v); reason != "" {
			return "", true
		}
		return seen.First(string(v.Prompt), r.Key(stem, byLine))
	}
	return source.Unique(ctx, o, first, func(b *ingest.Batch, r records.Row) {
		var v row
		key := r.Key(stem, byLine)
		id := schemas.StoryID(Name, key, "")
		if reason, err := r.Decode(&v); err != nil {
			source.Bad(b, r, id, reason, err.Error())
			return
		}
		st := source.Story(r, key, schemas.KindQuery, "", records.Language("", string(v.Prompt)), string(v.Prompt))
		switch reason, detail := set.Reason(&st); {
		case st.Text == "":
			source.Bad(b, r, id, records.ReasonMissing, "no prompt")
		case !records.Wanted(set.Types, string(v.Type)):
			source.Skip(b, r, id, records.ReasonNotSelected, "its type is "+string(v.Type))
		case !records.Wanted(set.Languages, st.Language):
			source.Skip(b, r, id, records.ReasonLanguage, "its language is "+st.Language)
		case reason != "":
			source.Skip(b, r, id, reason, detail)
		default:
			records.Add(&st, "type", string(v.Type))
			records.Add(&st, "length", string(v.Length))
			b.Stories = append(b.Stories, st)
		}
	})
}
