// SPDX-License-Identifier: Apache-2.0

// Package writingprompts reads WritingPrompts: prompts of a Reddit forum and
// the stories people wrote for them.
//
// The archive's form is paired line files: line n of train.wp_source is the
// prompt of line n of train.wp_target. pairs.go finds the pairs, also under
// other names; detok.go undoes what the tokeniser did to the text; tags.go reads
// the prompt's tag ([ WP ], [ EU ], ...) and tells stories from notes of
// moderators. JSON Lines {id, title, text} and tables {prompt, story} are read
// too, tokenised or not.
//
// Keys: the id where a record has one, else the file's stem and the line
// (train:17), or the row where a format has no lines.
package writingprompts

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/retcon-bench/retcon/ingest"
	"github.com/retcon-bench/retcon/ingest/internal/records"
	"github.com/retcon-bench/retcon/schemas"
)

// Name is the corpus name.
const Name = "writingprompts"

const where = "https://dl.fbaipublicfiles.com/fairseq/data/writingPrompts.tar.gz"

// What a pair becomes.
const (
	AsStory = "story" // the story, with its prompt in meta
	AsQuery = "query" // the prompt, with the story as its human answer
	AsBoth  = "both"
)

// Settings choose pairs.
type Settings struct {
	As       string   `json:"as"`
	Tags     []string `json:"tags"`     // tags of prompts that are taken; empty = all
	Untagged bool     `json:"untagged"` // prompts without a tag too
	Splits   []string `json:"splits"`   // train, validation, test by the files' names; empty = all
	records.Lengths
}

// DefaultSettings are FORMATS' story filter: no off-topic posts, no image or
// media prompts.
func DefaultSettings() Settings {
	return Settings{As: AsStory, Tags: []string{"WP", "EU", "CW", "TT", "RF", "PM"}, Untagged: true, Splits: []string{}}
}

// Terms: nobody states a licence for the Reddit text.
var Terms = ingest.Terms{
	Licence:      "unstated",
	LicenceURL:   "https://github.com/facebookresearch/fairseq/tree/main/examples/stories",
	Redistribute: schemas.RedistributeDerived,
	Attribution:  "Fan, Lewis, Dauphin: Hierarchical Neural Story Generation (ACL 2018); the writers of r/WritingPrompts",
	Note:         "No licence for the Reddit text: a release carries ids and derived prompts, not the stories.",
}

// Corpus is WritingPrompts.
var Corpus = ingest.Corpus{
	Name:    Name,
	Title:   "WritingPrompts, stories to Reddit prompts",
	Version: "1",
	Doc: `303,358 prompts and stories of r/WritingPrompts (train 272,600, valid 15,620, test 15,138). A pair is one story
with its prompt and tag as meta fields (or a query with the story as its answer, or both: setting as). Tokenised text is
joined again, <newline> tokens become line breaks; removed and deleted stories and moderators' notes are set aside.
Copies that turned <newline> into runs of blanks get their line breaks back from those.`,
	Terms: Terms,
	Formats: []string{
		"writingPrompts.tar.gz, or its folder: {train,valid,test}.wp_source and .wp_target, line by line",
		"paired line files under other names (.source/.target, .src/.tgt, _ipt/_opt, prompts/stories, or told by content)",
		"JSON Lines or arrays {id, title, text}; tables {prompt, story} or {source, target} as CSV, TSV, JSON, Parquet",
	},
	Where:    where,
	Tested:   ingest.TestedAltered,
	Defaults: records.MustJSON(DefaultSettings()),
	Open:     open,
}

var source = &records.Source{
	Corpus: Name, Where: where, Terms: Terms,
	Keys: [][]string{{"prompt", "story"}, {"title", "text"}, {"source", "target"}, {"wp_source", "wp_target"}},
}

func open(ctx context.Context, root string, raw json.RawMessage) iter.Seq2[ingest.Item, error] {
	set, err := records.Settings(Name, DefaultSettings(), raw)
	if err == nil {
		err = set.Check(Name)
	}
	if err == nil && set.As != AsStory && set.As != AsQuery && set.As != AsBoth {
		err = fmt.Errorf("settings of corpus %s: as is %q; it can be story, query or both", Name, set.As)
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
		rd := &reader{set: set, stems: records.Stems{}, ids: records.IDs{}}
		pairs, tables, more, err := rd.roles(ctx, files)
		if err != nil {
			yield(ingest.Item{}, err)
			return
		}
		all := make([]iter.Seq2[ingest.Item, error], 0, len(pairs)+len(tables))
		for _, p := range pairs {
			all = append(all, rd.pair(ctx, p))
		}
		for _, f := range tables {
			all = append(all, rd.table(ctx, f))
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

type reader struct {
	set   Settings
	stems records.Stems
	ids   records.IDs
}

// post is a prompt and its story as the upstream has them.
type post struct {
	key, prompt, story, split string
	lost                      bool // <newline> tokens are lost, see Lines
}

// add makes records of a post, or sets it aside.
func (rd *reader) add(b *ingest.Batch, r records.Row, p post) {
	id := schemas.StoryID(Name, p.key, "")
	skip := func(reason, detail string) { source.Skip(b, r, id, reason, detail) }
	tags, rest := Tags(p.prompt)
	prompt := records.Line(clean(rest, false))
	body := clean(p.story, p.lost)
	switch {
	case !records.Wanted(rd.set.Splits, p.split):
		skip(records.ReasonNotSelected, fmt.Sprintf("its split is %q", p.split))
		return
	case len(tags) == 0 && !rd.set.Untagged:
		skip(records.ReasonNotSelected, "its prompt has no tag")
		return
	}
	for _, t := range tags {
		if !records.Wanted(rd.set.Tags, t) {
			skip(records.ReasonNotSelected, "its prompt has the tag "+t)
			return
		}
	}
	if why := Removed(body); why != "" {
		skip(ReasonRemoved, why)
		return
	}
	st := source.Story(r, p.key, schemas.KindStory, "", records.Language("", body), body)
	if st.Text == "" {
		skip(records.ReasonEmpty, "no story")
		return
	}
	if reason, detail := rd.set.Reason(&st); reason != "" {
		skip(reason, detail)
		return
	}
	meta := func(s *schemas.Story, withPrompt bool) {
		records.Add(s, "split", p.split)
		for _, t := range tags {
			records.Add(s, "tag", t)
		}
		if withPrompt {
			records.Add(s, "prompt", prompt)
		}
	}
	if rd.set.As != AsQuery {
		meta(&st, true)
		b.Stories = append(b.Stories, st)
	}
	if rd.set.As != AsStory {
		if prompt == "" {
			skip(records.ReasonEmpty, "no prompt")
			return
		}
		q := source.Story(r, p.key+"/prompt", schemas.KindQuery, "", records.Language("", prompt), prompt)
		q.Target = st.Text
		meta(&q, false)
		b.Stories = append(b.Stories, q)
	}
}

// clean undoes the tokeniser and the escapes of HTML, and puts line breaks
// back.
func clean(s string, lost bool) string {
	s = Lines(s, lost)
	if Tokenised(s) {
		s = Detokenise(s)
	}
	return records.Unescape(s)
}

// record is a row of the other forms.
type record struct {
	ID       records.String `json:"id"`
	Prompt   records.String `json:"prompt"`
	Title    records.String `json:"title"`
	Source   records.String `json:"source"`
	WPSource records.String `json:"wp_source"`
	Story    records.String `json:"story"`
	Text     records.String `json:"text"`
	Target   records.String `json:"target"`
	WPTarget records.String `json:"wp_target"`
	Split    records.String `json:"split"`
}

func firstOf(list ...records.String) string {
	for _, s := range list {
		if s != "" {
			return string(s)
		}
	}
	return ""
}
