// SPDX-License-Identifier: Apache-2.0

package fairytaleqa

import (
	"context"
	"fmt"
	"iter"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/retcon-bench/retcon/ingest"
	"github.com/retcon-bench/retcon/ingest/internal/cause"
	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/schemas"
)

const stage = "ingest"

// Reasons for which a story is set aside.
const (
	ReasonUnreadable  = "unreadable"     // a file could not be opened or read
	ReasonRow         = "unreadable_row" // a row that cannot be read; the story would have a hole
	ReasonColumns     = "wrong_columns"  // the header line is not section,text
	ReasonEmpty       = "empty"          // no text in the file
	ReasonNotText     = "not_text"       // binary data under a CSV's name
	ReasonTwice       = "same_name"      // a second file of the same story
	ReasonNotSelected = "not_selected"   // origin, split or length not asked for
	ReasonQuestions   = "questions"      // questions that cannot be read; the story is kept without them
)

// Reader turns story files into stories. It is a value: the corpus "tales" uses
// one too.
type Reader struct {
	Corpus   string
	Settings Settings
	Terms    ingest.Terms
}

// tale is a story's files.
type tale struct {
	name      string // base name without -story.csv
	origin    string // folder
	split     string // from the path, by-train-split only
	story     fetch.File
	questions *fetch.File
	meta      *Meta
	layout    int
}

// Layouts, best first.
const (
	byOrigin = iota
	loose
	bySplit
)

// Library lists the stories among files as items, ordered by origin and name.
func (r *Reader) Library(ctx context.Context, files iter.Seq2[fetch.File, error]) iter.Seq2[ingest.Item, error] {
	return func(yield func(ingest.Item, error) bool) {
		var tales []*tale
		var broken []ingest.Item
		questions := map[string]fetch.File{}
		var metaFile *fetch.File
		for f, err := range files {
			if err != nil {
				if f.Name == "" || ctx.Err() != nil {
					yield(ingest.Item{}, err)
					return
				}
				broken = append(broken, r.broken(f.Name, err))
				continue
			}
			dir, base := path.Split(f.Name)
			if strings.HasPrefix(base, ".") || strings.Contains("/"+dir, "/sentence-stories/") || strings.Contains("/"+dir, "/__MACOSX/") {
				continue
			}
			switch low := strings.ToLower(base); {
			case low == "story_meta.csv":
				if metaFile == nil {
					metaFile = &f
				}
			case strings.HasSuffix(low, "-story.csv"):
				tales = append(tales, newTale(f, dir, base))
			case strings.HasSuffix(low, "-questions.csv"):
				questions[questionKey(dir, base[:len(base)-len("-questions.csv")])] = f
			}
		}
		metas, metaItem := r.metas(metaFile)
		if metaItem != nil {
			broken = append(broken, *metaItem)
		}
		for _, t := range tales {
			t.meta = metas.find(t.name)
			if t.layout == bySplit {
				t.origin = ""
				if t.meta != nil {
					t.origin = t.meta.Origin
				}
			}
			if f, ok := questions[questionKey(path.Dir(t.story.Name)+"/", t.name)]; ok {
				t.questions = &f
			}
		}
		sort.SliceStable(tales, func(i, j int) bool {
			a, b := tales[i], tales[j]
			if a.layout != b.layout {
				return a.layout < b.layout
			}
			if a.origin != b.origin {
				return a.origin < b.origin
			}
			return a.name < b.name
		})
		seen := map[string]*tale{}
		for _, t := range tales {
			if first := seen[t.name]; first != nil {
				if t.layout == bySplit && first.layout != bySplit || first.layout == t.layout && first.origin == t.origin && t.layout == bySplit {
					continue // the same story in the other layout
				}
				if !yield(r.twice(t, first), nil) {
					return
				}
				continue
			}
			seen[t.name] = t
			if !yield(r.item(t), nil) {
				return
			}
		}
		for _, b := range broken {
			if !yield(b, nil) {
				return
			}
		}
	}
}

func newTale(f fetch.File, dir, base string) *tale {
	t := &tale{name: base[:len(base)-len("-story.csv")], story: f, layout: loose}
	dir = strings.TrimSuffix(dir, "/")
	switch {
	case strings.Contains("/"+dir+"/", "/data-by-train-split/"):
		t.layout = bySplit
		t.split = path.Base(dir)
	case strings.Contains("/"+dir+"/", "/data-by-origin/"):
		t.layout = byOrigin
		t.origin = path.Base(dir)
	case dir != "":
		t.origin = path.Base(dir)
	}
	return t
}

// questionKey joins a story and its questions: both stand in folders of the same
// last name, below section-stories and questions or side by side.
func questionKey(dir, name string) string {
	return path.Base(strings.TrimSuffix(dir, "/")) + "/" + name
}

func (r *Reader) drop(name, file, reason, detail string) schemas.Dropped {
	return schemas.Dropped{ID: r.Corpus + ":" + name, Stage: stage, Reason: reason, Detail: detail,
		Evidence: []schemas.KeyValue{{Key: "file", Value: file}}}
}

func (r *Reader) broken(name string, err error) ingest.Item {
	return ingest.Item{Name: name, Load: func(context.Context) (ingest.Batch, error) {
		return ingest.Batch{Rows: 1, Bad: 1, Dropped: []schemas.Dropped{r.drop(name, name, ReasonUnreadable, cause.Of(name, err))}}, nil
	}}
}

func (r *Reader) twice(t, first *tale) ingest.Item {
	return ingest.Item{Name: t.story.Name, Load: func(context.Context) (ingest.Batch, error) {
		return ingest.Batch{Rows: 1, Dropped: []schemas.Dropped{r.drop(t.name, t.story.Name, ReasonTwice,
			"another file of this name was read: "+first.story.Name)}}, nil
	}}
}

func (r *Reader) item(t *tale) ingest.Item {
	return ingest.Item{Name: t.story.Name, Load: func(ctx context.Context) (ingest.Batch, error) {
		b := ingest.Batch{Rows: 1}
		if err := ctx.Err(); err != nil {
			return b, err
		}
		if why := r.Settings.skip(t); why != "" {
			b.Dropped = append(b.Dropped, r.drop(t.name, t.story.Name, ReasonNotSelected, why))
			return b, nil
		}
		data, sum, err := fetch.ReadFile(t.story)
		if err != nil {
			if ctx.Err() != nil {
				return b, ctx.Err()
			}
			b.Bad = 1
			b.Dropped = append(b.Dropped, r.drop(t.name, t.story.Name, ReasonUnreadable, cause.Of(t.story.Name, err)))
			return b, nil
		}
		b.Files = append(b.Files, schemas.FileHash{Path: t.story.Name, Bytes: int64(len(data)), SHA256: sum, Rows: 1})
		story, dropped := r.Story(t.name, t.story.Name, t.origin, data, sum)
		if dropped != nil {
			if dropped.Reason != ReasonNotSelected {
				b.Bad = 1
			}
			b.Dropped = append(b.Dropped, *dropped)
			return b, nil
		}
		t.describe(&story)
		if t.questions != nil && r.Settings.Questions {
			qs, qsum, err := fetch.ReadFile(*t.questions)
			if err != nil {
				if ctx.Err() != nil {
					return b, ctx.Err()
				}
				b.Dropped = append(b.Dropped, r.drop(t.name+"#questions", t.questions.Name, ReasonQuestions, cause.Of(t.questions.Name, err)))
			} else {
				b.Files = append(b.Files, schemas.FileHash{Path: t.questions.Name, Bytes: int64(len(qs)), SHA256: qsum})
				facts, bad := r.Facts(t.name, t.questions.Name, qs, story.Sections)
				story.Facts = facts
				b.Dropped = append(b.Dropped, bad...)
			}
		}
		b.Stories = append(b.Stories, story)
		return b, nil
	}}
}

// skip says why the settings leave a story out, or "".
func (s Settings) skip(t *tale) string {
	if len(s.Origins) > 0 && !slices.Contains(s.Origins, t.origin) {
		return "its origin is " + t.origin
	}
	if len(s.Splits) > 0 {
		split := t.split
		if t.meta != nil {
			split = t.meta.Split
		}
		if !slices.Contains(s.Splits, split) {
			return fmt.Sprintf("its split is %q", split)
		}
	}
	return ""
}

// describe adds what the upstream says of the story.
func (t *tale) describe(s *schemas.Story) {
	add := func(k, v string) {
		if v != "" {
			s.Meta = append(s.Meta, schemas.KeyValue{Key: k, Value: v})
		}
	}
	add("origin", t.origin)
	if t.meta == nil {
		add("split", t.split)
		return
	}
	add("split", t.meta.Split)
	add("sections", t.meta.Sections)
	add("words", t.meta.Words)
	add("questions", t.meta.Questions)
}
