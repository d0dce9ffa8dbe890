// SPDX-License-Identifier: Apache-2.0

// Package wikiplots reads WikiPlots: plot summaries of English Wikipedia.
//
// The archive holds two text files: plots, with one sentence a line and a line
// <EOS> behind each plot, and titles, with one article title a line in the same
// order. paired.go reads both side by side and checks first that they have as
// many plots as titles; mend.go repairs what the upstream's extractor did to
// sentences. JSON Lines {id, title, text, url} of a later extract are read too.
//
// Keys: the article title with its blanks as underscores, as Wikipedia writes
// it in addresses (Animal_Farm), for the paired files; the id for JSON Lines.
// A second plot under a title, which one article does not give, gets -2 behind
// it in the file's order.
package wikiplots

import (
	"context"
	"encoding/json"
	"iter"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/retcon-bench/retcon/ingest"
	"github.com/retcon-bench/retcon/ingest/internal/records"
	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

// Name is the corpus name.
const Name = "wikiplots"

const where = "https://github.com/markriedl/WikiPlots (plots.zip is linked there)"

// Settings choose plots.
type Settings struct {
	MinSentences int      `json:"min_sentences"`
	NotTitles    []string `json:"not_titles"` // words in titles that leave a plot out, such as "video game" or "List of"
	Honorifics   bool     `json:"honorifics"` // mr Smith becomes Mr. Smith again, see mend.go
	records.Lengths
}

// DefaultSettings leave out very short plots.
func DefaultSettings() Settings {
	return Settings{MinSentences: 3, NotTitles: []string{}, Honorifics: true}
}

// Terms are those of Wikipedia's text.
var Terms = ingest.Terms{
	Licence:      "CC-BY-SA-3.0",
	LicenceURL:   "https://creativecommons.org/licenses/by-sa/3.0/",
	Redistribute: schemas.RedistributeText,
	Attribution:  "Wikipedia contributors; WikiPlots by Mark Riedl, github.com/markriedl/WikiPlots",
	Note:         "Share alike, with attribution by article: each record names its article.",
}

// Corpus is WikiPlots.
var Corpus = ingest.Corpus{
	Name:    Name,
	Title:   "WikiPlots, plot summaries of Wikipedia",
	Version: "1",
	Doc: `112,936 plots of English Wikipedia's articles on films, books, episodes and games: summaries, not stories told in
full. The extractor cut at every full stop, question mark and exclamation mark and put a full stop behind each piece;
closing quotes that landed on the next line go back, and mr, mrs, ms and dr before a name get capital and stop again.
Paragraphs are lost.`,
	Terms: Terms,
	Formats: []string{
		"plots.zip, or its two files: plots (a sentence a line, <EOS> behind each plot) and titles (a title a line)",
		"the same two files under other names, told by <EOS> and by the number of lines",
		"JSON Lines {id, title, text, url} (wikiplots_20200701.jsonl.gz), also as array, CSV or Parquet",
	},
	Where:    where,
	Tested:   ingest.TestedGenerated,
	Defaults: records.MustJSON(DefaultSettings()),
	Open:     open,
}

var source = &records.Source{Corpus: Name, Where: where, Terms: Terms, Keys: [][]string{{"title", "text"}, {"title", "plot"}}}

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
		rd := &reader{set: set, stems: records.Stems{}, ids: records.IDs{}, titles: map[string]int{}}
		parts, tables, more, err := roles(ctx, files)
		if err != nil {
			yield(ingest.Item{}, err)
			return
		}
		var all []iter.Seq2[ingest.Item, error]
		for _, p := range parts {
			all = append(all, rd.paired(ctx, p))
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
	set    Settings
	stems  records.Stems
	ids    records.IDs
	titles map[string]int // how often a title came
}

// plot is one plot as the upstream has it.
type plot struct {
	key, title, url string
	body            string
	sentences       int // 0 = not known
}

// add makes a story of a plot, or sets it aside.
func (rd *reader) add(b *ingest.Batch, r records.Row, p plot) {
	id := schemas.StoryID(Name, p.key, "")
	skip := func(reason, detail string) { source.Skip(b, r, id, reason, detail) }
	title := records.Line(records.Unescape(p.title))
	body := Mend(records.Unescape(p.body), rd.set.Honorifics)
	st := source.Story(r, p.key, schemas.KindStory, title, "en", body)
	if st.Text == "" {
		skip(records.ReasonEmpty, strconv.Quote(title)+" has no plot")
		return
	}
	if p.sentences == 0 {
		p.sentences = len(text.Sentences(st.Text))
	}
	low := strings.ToLower(title)
	if i := slices.IndexFunc(rd.set.NotTitles, func(w string) bool { return strings.Contains(low, strings.ToLower(w)) }); i >= 0 {
		skip(records.ReasonNotSelected, strconv.Quote(title)+" has "+strconv.Quote(rd.set.NotTitles[i])+" in its title")
		return
	}
	if p.sentences < rd.set.MinSentences {
		skip(records.ReasonTooShort, strconv.Quote(title)+" has "+strconv.Itoa(p.sentences)+" sentences, fewer than "+strconv.Itoa(rd.set.MinSentences))
		return
	}
	if reason, detail := rd.set.Reason(&st); reason != "" {
		skip(reason, detail)
		return
	}
	st.Source.URL = p.url
	if st.Source.URL == "" && title != "" {
		st.Source.URL = "https://en.wikipedia.org/wiki/" + url.PathEscape(underscored(title))
	}
	if title != "" {
		// Attribution is owed by article.
		st.Source.Attribution = "Wikipedia contributors, “" + title + "”, CC BY-SA 3.0; " + Terms.Attribution
		if work, kind := Work(title); kind != "" {
			records.Add(&st, "work", work)
			records.Add(&st, "disambiguation", kind)
		}
	}
	b.Stories = append(b.Stories, st)
}

// Work parts an article's title from its disambiguation: "Emma (1996 film)" is
// Emma and 1996 film.
func Work(title string) (work, kind string) {
	t := strings.TrimSpace(title)
	if !strings.HasSuffix(t, ")") {
		return t, ""
	}
	i := strings.LastIndex(t, " (")
	if i <= 0 {
		return t, ""
	}
	return strings.TrimSpace(t[:i]), t[i+2 : len(t)-1]
}

func underscored(title string) string { return strings.ReplaceAll(records.Line(title), " ", "_") }
