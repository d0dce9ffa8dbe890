// SPDX-License-Identifier: Apache-2.0

// Package writingbench reads WritingBench: writing queries in six domains, in
// English and Chinese.
//
// Both releases are read. A row of the first (2025-03-10) has its rubric under
// criteria, one of the current (2025-04-28) under checklist; the releases number
// the same query differently, so a query's key names the release: v2/16. The
// complete file alone has the field lang; elsewhere the share of ideographs
// tells the language.
//
// Several files hold one query: the subsets of one requirement repeat those of
// another, each subset is there again as <dim>_subset_C with another rubric, and
// the releases overlap. Of equal queries (white space apart) the first is kept;
// files are read current release first, then those with lang, then by name. Two
// queries of one release with the same index, which upstream does not have, are
// told apart by eight hex digits of the later one's hash.
package writingbench

import (
	"context"
	"encoding/json"
	"iter"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/retcon-bench/retcon/ingest"
	"github.com/retcon-bench/retcon/ingest/internal/records"
	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/schemas"
)

// Name is the corpus name.
const Name = "writingbench"

const where = "https://github.com/X-PLUG/WritingBench/tree/main/benchmark_query"

// Settings choose queries.
type Settings struct {
	Domains    []string `json:"domains"`    // domain1; empty = all
	Subdomains []string `json:"subdomains"` // domain2; empty = all
	Languages  []string `json:"languages"`  // en, zh; empty = both
	records.Lengths
}

// DefaultSettings are FORMATS' story filter: the story-like kinds of
// Literature & Arts.
func DefaultSettings() Settings {
	return Settings{
		Domains: []string{"Literature & Arts"},
		Subdomains: []string{"Novel Manuscript", "Novel Outline", "Plot Development", "Fan Fiction", "Derivative Work",
			"Screenplay", "Prose", "Character Design"},
		Languages: []string{"en", "zh"},
	}
}

// Terms of the repository.
var Terms = ingest.Terms{
	Licence:      "Apache-2.0",
	LicenceURL:   "https://github.com/X-PLUG/WritingBench/blob/main/LICENSE",
	Redistribute: schemas.RedistributeText,
	Attribution:  "Wu et al., WritingBench: A Comprehensive Benchmark for Generative Writing (2025), github.com/X-PLUG/WritingBench",
	Note:         "Apache-2.0: keep the attribution and say what was changed.",
}

// Corpus is WritingBench.
var Corpus = ingest.Corpus{
	Name:    Name,
	Title:   "WritingBench, writing queries with rubrics",
	Version: "1",
	Doc: `1,000 writing queries (1,239 in the first release) in six domains, English and Chinese, some with pages of
source material. Each is a query; there are no stories. By default the story-like kinds of Literature & Arts are taken:
novel manuscripts and outlines, plots, fan fiction, derivative works, screenplays, prose, character design. The rubrics
are not kept.`,
	Terms: Terms,
	Formats: []string{
		"benchmark_query/benchmark_all.jsonl and requirement/{style,format,length}/<dim>_subset.jsonl, <dim>_subset_C.jsonl (current release, checklist)",
		"the first release's files (criteria)",
		"the same fields as a JSON array, CSV or Parquet, under any name, compressed or in an archive",
	},
	Where:    where,
	Tested:   ingest.TestedReal,
	Defaults: records.MustJSON(DefaultSettings()),
	Open:     open,
}

var source = &records.Source{
	Corpus: Name, Where: where, Terms: Terms,
	Keys: [][]string{{"query", "domain1"}, {"query", "domain2"}, {"query", "checklist"}, {"query", "criteria"}},
}

// row is a record. Only whether a rubric is there matters of it.
type row struct {
	Index     records.String  `json:"index"`
	Domain1   records.String  `json:"domain1"`
	Domain2   records.String  `json:"domain2"`
	Lang      records.String  `json:"lang"`
	Query     records.String  `json:"query"`
	Checklist json.RawMessage `json:"checklist"`
	Criteria  json.RawMessage `json:"criteria"`
}

// release names the row's release by its rubric's name.
func (v *row) release() string {
	if len(v.Criteria) > 0 && len(v.Checklist) == 0 {
		return "v1"
	}
	return "v2"
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
		files, items, err := source.List(ctx, root)
		if err != nil {
			yield(ingest.Item{}, err)
			return
		}
		rd := &reader{set: set, stems: records.Stems{}, seen: records.Seen{}, index: map[string]bool{}}
		files, more := preferred(files)
		for _, f := range files {
			for it, err := range rd.file(ctx, f) {
				if !yield(it, err) || err != nil {
					return
				}
			}
		}
		for _, it := range append(items, more...) {
			if !yield(it, nil) {
				return
			}
		}
	}
}

// preferred orders the files that hold queries so that the better copy of a
// query is met first. The others come back as items.
func preferred(files []fetch.File) (out []fetch.File, others []ingest.Item) {
	rank := map[string]int{}
	for _, f := range files {
		o, err := source.Look(f)
		if err != nil {
			others = append(others, source.Set(f.Name, records.ReasonUnreadable, err.Error(), true))
			continue
		}
		o.Close()
		if !o.Fits {
			others = append(others, source.Set(f.Name, records.ReasonOther, o.Describe(), false))
			continue
		}
		out = append(out, f)
		if slices.Contains(o.Fields, "criteria") && !slices.Contains(o.Fields, "checklist") {
			rank[f.Name] += 2
		}
		if !slices.Contains(o.Fields, "lang") {
			rank[f.Name]++
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return rank[out[i].Name] < rank[out[j].Name] })
	return out, others
}

type reader struct {
	set   Settings
	stems records.Stems
	seen  records.Seen
	index map[string]bool // release/index of the queries met
}

func (rd *reader) file(ctx context.Context, f fetch.File) iter.Seq2[ingest.Item, error] {
	o, err := source.Look(f)
	if err != nil {
		return records.One(source.Set(f.Name, records.ReasonUnreadable, err.Error(), true))
	}
	stem := rd.stems.Name(f.Name, records.Stem(f.Name))
	requirement := requirementOf(f.Name)
	// Keys are given while rows are read, in order: which of two queries is
	// the first must not depend on the workers.
	first := func(r *records.Row) (string, bool) {
		var v row
		if reason, _ := r.Decode(&v); reason != "" {
			return "", true
		}
		key := v.release() + "/" + string(v.Index)
		if v.Index == "" {
			key = v.release() + "/" + r.Key(stem, o.Format == records.JSONLines)
		}
		of, isFirst := rd.seen.First(string(v.Query), key)
		if !isFirst {
			return of, false
		}
		if rd.index[key] {
			key += "-" + schemas.HashText(string(v.Query))[:8]
		}
		rd.index[key] = true
		r.Tag = key
		return "", true
	}
	return source.Unique(ctx, o, first, func(b *ingest.Batch, r records.Row) {
		var v row
		if reason, err := r.Decode(&v); err != nil {
			source.Bad(b, r, "", reason, err.Error())
			return
		}
		id := schemas.StoryID(Name, r.Tag, "")
		st := source.Story(r, r.Tag, schemas.KindQuery, "", records.Language(string(v.Lang), string(v.Query)), string(v.Query))
		switch reason, detail := rd.set.Reason(&st); {
		case st.Text == "":
			source.Bad(b, r, id, records.ReasonMissing, "no query")
		case !records.Wanted(rd.set.Domains, string(v.Domain1)):
			source.Skip(b, r, id, records.ReasonNotSelected, "its domain1 is "+string(v.Domain1))
		case !records.Wanted(rd.set.Subdomains, string(v.Domain2)):
			source.Skip(b, r, id, records.ReasonNotSelected, "its domain2 is "+string(v.Domain2))
		case !records.Wanted(rd.set.Languages, st.Language):
			source.Skip(b, r, id, records.ReasonLanguage, "its language is "+st.Language)
		case reason != "":
			source.Skip(b, r, id, reason, detail)
		default:
			records.Add(&st, "release", v.release())
			records.Add(&st, "index", string(v.Index))
			records.Add(&st, "domain1", string(v.Domain1))
			records.Add(&st, "domain2", string(v.Domain2))
			records.Add(&st, "requirement", requirement)
			b.Stories = append(b.Stories, st)
		}
	})
}

// requirementOf reads the dimension off a subset's name.
func requirementOf(name string) string {
	base := strings.ToLower(path.Base(name))
	for _, dim := range []string{"style", "format", "length"} {
		if strings.HasPrefix(base, dim+"_subset") {
			return dim
		}
	}
	return ""
}
