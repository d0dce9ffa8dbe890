// SPDX-License-Identifier: Apache-2.0

// Package longlamp reads the topic-writing part of LongLaMP: Reddit posts of
// many authors, of which the narrative ones are stories.
//
// A row holds an author, an input ("Generate the content for a reddit post ..."),
// the post as output, and a profile: earlier posts of the author, up to some
// 2,500 of them, so that a split is an array of several GB. Rows are read one at
// a time. The hub spells a profile entry {author, id, summary, content}, the
// official training code {input, output}; both are read, and so is a profile
// whose JSON stands in a string. Rows of the other tasks (reviews, abstracts)
// are set aside.
//
// The posts are not stories as such: narrative.go decides, and what fails is set
// aside. Of a profile one record says how many posts failed, not one for each.
//
// Keys: the author and 16 hex digits of the hash of the post as upstream has it
// (author/0f3c...). The same post stands in many rows and files; it has the same
// key everywhere, and no two posts share one. Upstream has an id for profile
// entries only; it is kept in meta.
package longlamp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/retcon-bench/retcon/ingest"
	"github.com/retcon-bench/retcon/ingest/internal/records"
	"github.com/retcon-bench/retcon/schemas"
)

// Name is the corpus name.
const Name = "longlamp"

const where = "https://huggingface.co/datasets/LongLaMP/LongLaMP (topic_writing_user, topic_writing_temporal)"

// Reasons of this corpus.
const (
	ReasonTask         = "other_task"    // reviews, abstracts, mails
	ReasonNotNarrative = "not_narrative" // a post that tells no story, see Narrative
)

// Settings choose posts.
type Settings struct {
	Output    bool     `json:"output"`    // the rows' own posts
	Profile   bool     `json:"profile"`   // the earlier posts in the profiles
	Narrative bool     `json:"narrative"` // only posts that pass the narrative test
	Splits    []string `json:"splits"`    // train, validation, test by the files' names; empty = all
	records.Lengths
}

// DefaultSettings take every narrative post.
func DefaultSettings() Settings {
	return Settings{Output: true, Profile: true, Narrative: true, Splits: []string{}}
}

// Terms: neither the repository nor the hub states a licence.
var Terms = ingest.Terms{
	Licence:      "unstated",
	LicenceURL:   "https://huggingface.co/datasets/LongLaMP/LongLaMP",
	Redistribute: schemas.RedistributeDerived,
	Attribution:  "Kumar et al., LongLaMP: A Benchmark for Personalized Long-form Text Generation (2024); the authors of the Reddit posts",
	Note:         "No licence stated: a release carries ids and derived prompts, not the posts.",
}

// Corpus is LongLaMP.
var Corpus = ingest.Corpus{
	Name:    Name,
	Title:   "LongLaMP, topic writing: narrative Reddit posts",
	Version: "1",
	Doc: `Reddit posts by author (configurations topic_writing_user and topic_writing_temporal, 16,300 and 21,300 rows, each
with a profile of earlier posts). Few are stories: a documented test on tense, persons, address, lists and questions
keeps those that tell what happened to somebody. The prompt of a post is in its meta. Reviews, abstracts and mails are
set aside.`,
	Terms: Terms,
	Formats: []string{
		"the hub's Parquet files: author, input, output, profile [{author, id, summary, content}], any subset of these columns",
		"JSON arrays, one file a split, as the official code reads them: profile [{input, output}]",
		"JSON Lines or CSV with the same fields (a profile as JSON in a string), compressed or in an archive",
	},
	Where:    where,
	Tested:   ingest.TestedGenerated,
	Defaults: records.MustJSON(DefaultSettings()),
	Open:     open,
}

var source = &records.Source{
	Corpus: Name, Where: where, Terms: Terms,
	Keys: [][]string{{"input", "output"}, {"output", "profile"}, {"author", "profile"}},
}

// row is a record of any of the tasks; the others' author keys tell them apart.
type row struct {
	Author     records.String `json:"author"`
	ReviewerID records.String `json:"reviewerId"`
	Researcher records.String `json:"name"`
	Input      records.String `json:"input"`
	Output     records.String `json:"output"`
	Profile    profile        `json:"profile"`
}

// entry is a post of a profile, in either spelling.
type entry struct {
	ID         records.String `json:"id"`
	Summary    records.String `json:"summary"`
	Content    records.String `json:"content"`
	Input      records.String `json:"input"`
	Output     records.String `json:"output"`
	ReviewText records.String `json:"reviewText"`
	Abstract   records.String `json:"abstract"`
}

// profile is a list of entries. One that cannot be read does not spoil the
// others.
type profile struct {
	list []entry
	bad  []string // what was wrong with the others
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *profile) UnmarshalJSON(b []byte) error {
	var list records.List[entry]
	err := list.UnmarshalJSON(b)
	if err == nil {
		p.list = list
		return nil
	}
	if b[0] == '"' {
		var s records.String
		if s.UnmarshalJSON(b) != nil {
			return err
		}
		b = bytes.TrimSpace([]byte(s))
	}
	var raw []json.RawMessage
	if json.Unmarshal(b, &raw) != nil {
		return err
	}
	for i, r := range raw {
		var e *entry
		if err := json.Unmarshal(r, &e); err != nil {
			p.bad = append(p.bad, fmt.Sprintf("entry %d: %v", i+1, err))
		} else if e != nil {
			p.list = append(p.list, *e)
		}
	}
	return nil
}

const topicPrefix = "generate the content for a reddit post"

// task names the row's task.
func (v *row) task() string {
	input := strings.ToLower(strings.TrimSpace(string(v.Input)))
	switch {
	case strings.HasPrefix(input, topicPrefix):
		return "topic_writing"
	case v.ReviewerID != "", strings.HasPrefix(input, "generate the review"):
		return "product_review"
	case strings.HasPrefix(input, "generate an abstract"):
		return "abstract_generation"
	case strings.HasPrefix(input, "generate an email"), strings.HasPrefix(input, "generate the email"), strings.HasPrefix(input, "complete the email"):
		return "email_completion"
	}
	for _, e := range v.Profile.list {
		switch {
		case e.ReviewText != "":
			return "product_review"
		case e.Abstract != "":
			return "abstract_generation"
		}
	}
	if v.Researcher != "" && v.Author == "" {
		return "abstract_generation"
	}
	return "topic_writing"
}

// summaryOf takes the instruction off a prompt.
func summaryOf(input string) string {
	s := strings.TrimSpace(input)
	if len(s) >= len(topicPrefix) && strings.EqualFold(s[:len(topicPrefix)], topicPrefix) {
		s = strings.TrimLeft(s[len(topicPrefix):], " :")
	}
	return records.Line(records.Unescape(s))
}

func open(ctx context.Context, root string, raw json.RawMessage) iter.Seq2[ingest.Item, error] {
	set, err := records.Settings(Name, DefaultSettings(), raw)
	if err == nil {
		err = set.Check(Name)
	}
	if err == nil && !set.Output && !set.Profile {
		err = fmt.Errorf("settings of corpus %s: both output and profile are false, so nothing is left", Name)
	}
	if err != nil {
		return records.Fail(err)
	}
	return source.Stream(ctx, root, func(o *records.Opened) iter.Seq2[ingest.Item, error] {
		if !o.Fits {
			return source.NotOurs(o)
		}
		rd := &reader{set: set, split: records.Split(o.File.Name)}
		return source.Items(ctx, o, rd.row)
	})
}

type reader struct {
	set   Settings
	split string
}

func (rd *reader) row(b *ingest.Batch, r records.Row) {
	var v row
	if reason, err := r.Decode(&v); err != nil {
		source.Bad(b, r, "", reason, err.Error())
		return
	}
	switch task := v.task(); {
	case task != "topic_writing":
		source.Skip(b, r, "", ReasonTask, "its task is "+task)
		return
	case !records.Wanted(rd.set.Splits, rd.split):
		source.Skip(b, r, "", records.ReasonNotSelected, fmt.Sprintf("its split is %q", rd.split))
		return
	case v.Output == "" && len(v.Profile.list) == 0 && len(v.Profile.bad) == 0:
		source.Bad(b, r, "", records.ReasonMissing, "neither output nor profile")
		return
	}
	if rd.set.Output && v.Output != "" {
		st, reason, detail := rd.post(r, string(v.Author), summaryOf(string(v.Input)), string(v.Output), "")
		switch {
		case reason != "":
			source.Skip(b, r, "", reason, detail)
		default:
			b.Stories = append(b.Stories, st)
		}
	}
	if rd.set.Profile {
		rd.profile(b, r, &v)
	}
}

// profile adds the posts of a row's profile, and one record of what was left
// out for each reason.
func (rd *reader) profile(b *ingest.Batch, r records.Row, v *row) {
	var order []string
	count, example := map[string]int{}, map[string]string{}
	note := func(reason, detail string) {
		if count[reason]++; count[reason] == 1 {
			order = append(order, reason)
			example[reason] = detail
		}
	}
	for _, d := range v.Profile.bad {
		note(records.ReasonType, d)
	}
	for _, e := range v.Profile.list {
		summary, content := e.Summary, e.Content
		if content == "" {
			content = e.Output
		}
		if summary == "" {
			summary = e.Input
		}
		st, reason, detail := rd.post(r, string(v.Author), summaryOf(string(summary)), string(content), string(e.ID))
		if reason != "" {
			note(reason, detail)
			continue
		}
		b.Stories = append(b.Stories, st)
	}
	for _, reason := range order {
		n := count[reason]
		d := source.Drop("", r.File, r.Line, r.N, reason, fmt.Sprintf("%d of %d posts of its profile; the first: %s", n, len(v.Profile.list)+len(v.Profile.bad), example[reason]))
		d.ID += "/profile"
		d.Evidence = append(d.Evidence, schemas.KeyValue{Key: "posts", Value: strconv.Itoa(n)})
		b.Dropped = append(b.Dropped, d)
	}
}

// post makes a story of a post, or says why it is none.
func (rd *reader) post(r records.Row, author, summary, content, id string) (st schemas.Story, reason, detail string) {
	author = records.Line(author)
	if author == "" {
		author = "unknown"
	}
	key := author + "/" + schemas.HashText(content)[:16]
	body := records.Text(records.Unescape(content))
	if body == "" {
		return st, records.ReasonEmpty, "no text"
	}
	if rd.set.Narrative {
		// Most posts end here, so the test comes before what it need not have.
		if ok, why := Narrative(body); !ok {
			return st, ReasonNotNarrative, why
		}
	}
	st = source.Story(r, key, schemas.KindStory, "", "en", body)
	if reason, detail := rd.set.Reason(&st); reason != "" {
		return st, reason, detail
	}
	st.Source.Author = author
	records.Add(&st, "split", rd.split)
	records.Add(&st, "prompt", summary)
	records.Add(&st, "id", id)
	part := "output"
	if id != "" {
		part = "profile"
	}
	records.Add(&st, "part", part)
	return st, "", ""
}
