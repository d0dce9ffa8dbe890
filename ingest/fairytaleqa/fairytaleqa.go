// SPDX-License-Identifier: Apache-2.0

// Package fairytaleqa reads the stories of FairytaleQA with their sections and
// the experts' questions.
//
// A story is a file <name>-story.csv with the columns section and text, a row
// for each section; its questions are in <name>-questions.csv. library.go finds
// the files and puts story, questions and the row of story_meta.csv together;
// story.go makes one schemas.Story of them: sections as spans, lines wrapped by
// hand joined to paragraphs, questions as facts with the sections that hold the
// answer.
//
// The upstream holds every story twice, by origin and by train split. Only one
// of the two is read: by origin if both are there.
package fairytaleqa

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"

	"github.com/retcon-bench/retcon/ingest"
	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/schemas"
)

const where = "https://github.com/uci-soe/FairytaleQAData"

// Name is the corpus name.
const Name = "fairytaleqa"

// Settings choose stories.
type Settings struct {
	Origins   []string `json:"origins"` // folder names such as grimm-fairybook; empty = all
	Splits    []string `json:"splits"`  // train, val, test; empty = all
	Questions bool     `json:"questions"`
	MinWords  int      `json:"min_words"`
	MaxWords  int      `json:"max_words"` // 0 = no limit
}

// DefaultSettings take everything.
func DefaultSettings() Settings {
	return Settings{Origins: []string{}, Splits: []string{}, Questions: true}
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
	if s.MaxWords > 0 && s.MaxWords < s.MinWords {
		return s, fmt.Errorf("settings of corpus %s: max_words (%d) is below min_words (%d)", Name, s.MaxWords, s.MinWords)
	}
	return s, nil
}

// Terms of the data set; its texts come from books in the public domain.
var Terms = ingest.Terms{
	Licence:      "Apache-2.0",
	LicenceURL:   "https://www.apache.org/licenses/LICENSE-2.0",
	Redistribute: schemas.RedistributeText,
	Attribution:  "Xu et al., Fantastic Questions and Where to Find Them: FairytaleQA (ACL 2022), github.com/uci-soe/FairytaleQAData",
	Note:         "Apache-2.0: keep the attribution and say what was changed.",
}

// Corpus is FairytaleQA.
var Corpus = ingest.Corpus{
	Name:    Name,
	Title:   "FairytaleQA",
	Version: "1",
	Doc: `278 fairy tales and folk tales in sections, with 10,580 questions and answers by education experts. Each
story is one story with its sections as spans; each question is a fact with the sections its answer stands in.`,
	Terms: Terms,
	Formats: []string{
		"data-by-origin/section-stories/<origin>/<name>-story.csv and data-by-origin/questions/<origin>/<name>-questions.csv, story_meta.csv beside them",
		"data-by-train-split/section-stories/{train,val,test}/..., read only where data-by-origin is missing",
		"loose <name>-story.csv files (columns section,text), also in archives",
	},
	Where:    where,
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

func open(ctx context.Context, root string, raw json.RawMessage) iter.Seq2[ingest.Item, error] {
	return func(yield func(ingest.Item, error) bool) {
		set, err := ParseSettings(raw)
		if err != nil {
			yield(ingest.Item{}, err)
			return
		}
		if root == "" {
			yield(ingest.Item{}, fmt.Errorf("corpus %s needs a folder or archive: %w; name one with --corpus %s=DIR", Name, fs.ErrNotExist, Name))
			return
		}
		r := &Reader{Corpus: Name, Settings: set, Terms: Terms}
		files := func(yield func(fetch.File, error) bool) {
			for f, err := range fetch.Walk(ctx, root, fetch.Limits{}) {
				if err != nil && errors.Is(err, fs.ErrNotExist) && f.Name == "" {
					err = fmt.Errorf("%w; name the folder with --corpus %s=DIR, or clone %s", err, Name, where)
				}
				if !yield(f, err) {
					return
				}
			}
		}
		for item, err := range r.Library(ctx, files) {
			if !yield(item, err) || err != nil {
				return
			}
		}
	}
}
