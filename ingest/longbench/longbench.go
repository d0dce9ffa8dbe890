// SPDX-License-Identifier: Apache-2.0

// Package longbench reads the long stories of LongBench: the contexts of its
// task narrativeqa, which are books and film scripts.
//
// Several rows ask about one context, so a context is one story and the rows'
// questions with their answers are its facts. The files are read twice: the
// first pass notes which rows share a context (hashes and questions are held,
// no contexts), the second makes stories. context.go cleans a context: books go
// through package gutenberg, scripts keep their lines.
//
// Keys: the _id of the first row of a context, files in order of their names.
// Byte ranges of what was removed count in the context field.
//
// LongBench v2 has another schema and no task of stories; its rows are set
// aside unless the setting subdomains asks for some (Literary, Detective, Event
// ordering).
package longbench

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"iter"
	"strconv"
	"strings"

	"github.com/retcon-bench/retcon/ingest"
	"github.com/retcon-bench/retcon/ingest/internal/records"
	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/schemas"
)

// Name is the corpus name.
const Name = "longbench"

const where = "https://huggingface.co/datasets/THUDM/LongBench (data.zip)"

// Settings choose contexts.
type Settings struct {
	Tasks      []string `json:"tasks"`      // of LongBench; empty = all
	Languages  []string `json:"languages"`  // empty = all
	Subdomains []string `json:"subdomains"` // sub_domain of LongBench v2 rows to take; empty = none
	Scripts    bool     `json:"scripts"`    // film scripts and plays too
	Questions  bool     `json:"questions"`  // keep questions and answers as facts
	records.Lengths
}

// DefaultSettings are FORMATS' story filter.
func DefaultSettings() Settings {
	return Settings{Tasks: []string{"narrativeqa"}, Languages: []string{"en"}, Subdomains: []string{}, Scripts: true, Questions: true}
}

// Terms of the repository; the texts have terms of their own.
var Terms = ingest.Terms{
	Licence:      "MIT",
	LicenceURL:   "https://github.com/THUDM/LongBench/blob/main/LICENSE",
	Redistribute: schemas.RedistributeDerived,
	Attribution:  "Bai et al., LongBench (ACL 2024), github.com/THUDM/LongBench; narrativeqa: Kočiský et al., The NarrativeQA Reading Comprehension Challenge (2018)",
	Note: `MIT covers the benchmark; each task's texts have their own terms. Film scripts are in copyright: derived prompts only.
Books that carry the header of Project Gutenberg are marked public-domain-us and may be passed on as text.`,
}

// Corpus is LongBench.
var Corpus = ingest.Corpus{
	Name:    Name,
	Title:   "LongBench, books and film scripts of narrativeqa",
	Version: "1",
	Doc: `200 questions about books and film scripts (18,400 words on average), several to a text. A context is one story; the
questions and answers of its rows are facts. Headers and licences of Project Gutenberg are taken out, HTML leftovers are
undone, hard-wrapped lines of books are joined and those of scripts kept. The other 20 tasks are set aside.`,
	Terms: Terms,
	Formats: []string{
		"data.zip, or its data/<task>.jsonl: JSON Lines {input, context, answers, length, dataset, language, all_classes, _id}",
		"the same fields as a JSON array, CSV or Parquet, under any name, compressed or in an archive",
		"LongBench v2's data.json {_id, domain, sub_domain, question, choice_A..choice_D, answer, context}, by the setting subdomains",
	},
	Where:    where,
	Tested:   ingest.TestedGenerated,
	Defaults: records.MustJSON(DefaultSettings()),
	Open:     open,
}

var source = &records.Source{
	Corpus: Name, Where: where, Terms: Terms,
	Keys:   [][]string{{"context", "input"}, {"context", "dataset"}, {"context", "question"}},
	MaxRow: 256 << 20,
}

// row is a record of either version.
type row struct {
	ID       records.String  `json:"_id"`
	Input    records.String  `json:"input"`
	Context  records.String  `json:"context"`
	Answers  records.Strings `json:"answers"`
	Length   records.String  `json:"length"`
	Dataset  records.String  `json:"dataset"`
	Language records.String  `json:"language"`

	SubDomain  records.String `json:"sub_domain"`
	Question   records.String `json:"question"`
	Answer     records.String `json:"answer"`
	Difficulty records.String `json:"difficulty"`
	A          records.String `json:"choice_A"`
	B          records.String `json:"choice_B"`
	C          records.String `json:"choice_C"`
	D          records.String `json:"choice_D"`
}

// second reports a row of LongBench v2.
func (v *row) second() bool { return v.Question != "" && v.Dataset == "" }

func (v *row) task(stem string) string {
	t := string(v.Dataset)
	if t == "" {
		t = stem
	}
	return strings.TrimSuffix(t, "_e")
}

// fact is the row's question with its answers.
func (v *row) fact(id string) schemas.SourceFact {
	f := schemas.SourceFact{ID: id, Question: records.Line(string(v.Input)), Answers: []string{}, Sections: []string{}}
	for _, a := range v.Answers {
		if a = records.Line(a); a != "" {
			f.Answers = append(f.Answers, a)
		}
	}
	if v.second() {
		f.Question = records.Line(string(v.Question))
		choice := map[string]records.String{"A": v.A, "B": v.B, "C": v.C, "D": v.D}[strings.ToUpper(strings.TrimSpace(string(v.Answer)))]
		if choice != "" {
			f.Answers = append(f.Answers, records.Line(string(choice)))
		}
	}
	return f
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
		rd := &reader{set: set, stems: map[string]string{}, contexts: map[[32]byte]*shared{}, ids: records.IDs{}}
		names := records.Stems{}
		var data []fetch.File
		for _, f := range files {
			o, err := source.Look(f)
			if err != nil {
				items = append(items, source.Set(f.Name, records.ReasonUnreadable, err.Error(), true))
				continue
			}
			if !o.Fits {
				o.Close()
				items = append(items, source.Set(f.Name, records.ReasonOther, o.Describe(), false))
				continue
			}
			rd.stems[f.Name] = names.Name(f.Name, records.Stem(f.Name))
			data = append(data, f)
			rd.survey(ctx, o)
			if ctx.Err() != nil {
				yield(ingest.Item{}, ctx.Err())
				return
			}
		}
		for _, f := range data {
			for it, err := range rd.file(ctx, f) {
				if !yield(it, err) || err != nil {
					return
				}
			}
		}
		for _, it := range items {
			if !yield(it, nil) {
				return
			}
		}
	}
}

type reader struct {
	set      Settings
	stems    map[string]string
	contexts map[[32]byte]*shared
	ids      records.IDs
}

// shared is what rows with one context have in common.
type shared struct {
	file  string // of the first of them
	n     int
	key   string
	facts []schemas.SourceFact
	rows  int
}

// wanted says why the settings leave a row out, "" if they do not.
func (rd *reader) wanted(v *row, stem string) (reason, detail string) {
	if v.second() {
		if len(rd.set.Subdomains) == 0 || !records.Wanted(rd.set.Subdomains, string(v.SubDomain)) {
			return records.ReasonNotSelected, "a row of LongBench v2, sub_domain " + strconv.Quote(string(v.SubDomain))
		}
	} else if t := v.task(stem); !records.Wanted(rd.set.Tasks, t) {
		return records.ReasonNotSelected, "its task is " + t
	}
	return "", ""
}

// survey is the first pass over a file. What it cannot read the second pass
// sets aside.
func (rd *reader) survey(ctx context.Context, o *records.Opened) {
	defer o.Close()
	stem := rd.stems[o.File.Name]
	for r, err := range source.Rows(ctx, o) {
		if err != nil || ctx.Err() != nil {
			return
		}
		var v row
		if reason, _ := r.Decode(&v); reason != "" || v.Context == "" {
			continue
		}
		if reason, _ := rd.wanted(&v, stem); reason != "" {
			continue
		}
		id := string(v.ID)
		if id == "" {
			id = r.Key(stem, o.Format == records.JSONLines)
		}
		h := sha256.Sum256([]byte(v.Context))
		s := rd.contexts[h]
		if s == nil {
			if _, first := rd.ids.First(id, &r); !first {
				continue // the same row again
			}
			s = &shared{file: o.File.Name, n: r.N, key: r.Tag}
			rd.contexts[h] = s
		}
		s.rows++
		if f := v.fact(id); rd.set.Questions && f.Question != "" && len(f.Answers) > 0 {
			s.facts = append(s.facts, f)
		}
	}
}

// file is the second pass.
func (rd *reader) file(ctx context.Context, f fetch.File) iter.Seq2[ingest.Item, error] {
	o, err := source.Look(f)
	if err != nil {
		return records.One(source.Set(f.Name, records.ReasonUnreadable, err.Error(), true))
	}
	stem := rd.stems[f.Name]
	first := func(r *records.Row) (string, bool) {
		var v row
		if reason, _ := r.Decode(&v); reason != "" || v.Context == "" {
			return "", true
		}
		if reason, _ := rd.wanted(&v, stem); reason != "" {
			return "", true
		}
		s := rd.contexts[sha256.Sum256([]byte(v.Context))]
		if s == nil {
			return string(v.ID), false
		}
		if s.file != f.Name || s.n != r.N {
			return s.key, false
		}
		r.Tag = s.key
		return "", true
	}
	return source.Unique(ctx, o, first, func(b *ingest.Batch, r records.Row) { rd.row(b, r, stem) })
}

func (rd *reader) row(b *ingest.Batch, r records.Row, stem string) {
	var v row
	if reason, err := r.Decode(&v); err != nil {
		source.Bad(b, r, "", reason, err.Error())
		return
	}
	if v.Context == "" {
		source.Bad(b, r, "", records.ReasonMissing, "no context")
		return
	}
	if reason, detail := rd.wanted(&v, stem); reason != "" {
		source.Skip(b, r, "", reason, detail)
		return
	}
	id := schemas.StoryID(Name, r.Tag, "")
	c := clean(string(v.Context))
	if c.reason != "" {
		source.Skip(b, r, id, c.reason, c.detail)
		return
	}
	if !rd.set.Scripts && (c.form == formScript || c.form == formPlay) {
		source.Skip(b, r, id, records.ReasonNotSelected, "it is a "+c.form)
		return
	}
	st := source.Story(r, r.Tag, schemas.KindStory, c.title, records.Language(string(v.Language), c.text), c.text)
	st.Marks, st.Removed = c.marksFor(st.Text), append(st.Removed, c.removed...)
	st.Source.Author = strings.Join(c.authors, "; ")
	if c.gutenberg {
		st.Source.Licence, st.Source.LicenceURL = "public-domain-us", "https://www.gutenberg.org/policy/license.html"
		st.Source.Redistribute = schemas.RedistributeText
	}
	switch reason, detail := rd.set.Reason(&st); {
	case st.Text == "":
		source.Skip(b, r, id, records.ReasonEmpty, "no text is left of its context")
		return
	case !records.Wanted(rd.set.Languages, st.Language):
		source.Skip(b, r, id, records.ReasonLanguage, "its language is "+st.Language)
		return
	case reason != "":
		source.Skip(b, r, id, reason, detail)
		return
	}
	s := rd.contexts[sha256.Sum256([]byte(v.Context))]
	st.Facts = append(st.Facts, s.facts...)
	if v.second() {
		records.Add(&st, "sub_domain", string(v.SubDomain))
		records.Add(&st, "difficulty", string(v.Difficulty))
	} else {
		records.Add(&st, "dataset", v.task(stem))
	}
	records.Add(&st, "length", string(v.Length))
	records.Add(&st, "form", c.form)
	records.Add(&st, "rows", strconv.Itoa(s.rows))
	b.Stories = append(b.Stories, st)
}
