// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/retcon-bench/retcon/datasets"
	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/internal/pipeline"
	"github.com/retcon-bench/retcon/internal/report"
	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/scoring"
	"github.com/retcon-bench/retcon/transform/detect"
)

// storiesFlags name texts without gold, for the detection-rate study.
type storiesFlags struct {
	Stories   []string `help:"Texts without gold: a file or folder of stories or generated stories (JSON Lines), of .txt files, of a workspace step or of retcon generate. Repeat for more." placeholder:"PATH" sep:"none"`
	Originals []string `help:"The human originals to compare with, in the same forms, or a release, whose unmodified rows of --config are taken." placeholder:"PATH" sep:"none"`
	MaxWords  int      `help:"Texts of so many words or more are set aside and counted; originals are not." default:"1200"`
	HTML      string   `name:"html" help:"With --stories: also write a page with the rates." placeholder:"FILE"`
	JSON      bool     `name:"json" help:"With --stories: print the study as JSON."`
}

// given is a text without gold, and where it comes from.
type given struct {
	detect.Text
	source, task, system string // story_id of the source; who wrote it for what
	words                int
	why                  string // why there is no text
	terms                schemas.Source
	written              bool // by a model, after its source
}

// storyLine is what is read of a line: a story, a generated story, or a row of
// a release. Other fields are ignored.
type storyLine struct {
	StoryID     string          `json:"story_id"`
	GroupID     string          `json:"group_id"`
	GeneratedID string          `json:"generated_id"`
	ExampleID   string          `json:"example_id"`
	ID          json.RawMessage `json:"id"`
	Kind        string          `json:"kind"`
	Text        *string         `json:"text"`
	Story       *string         `json:"story"`
	Generated   json.RawMessage `json:"generated_story"`
	TaskType    string          `json:"task_type"`
	ModelName   string          `json:"model_name"`
	Outcome     string          `json:"outcome"`
	Error       *string         `json:"generation_error"`
	Source      json.RawMessage `json:"source"`
}

// id is the field id, which may be a number.
func (l *storyLine) id() string {
	if id := strings.Trim(string(l.ID), `"`); id != "null" {
		return id
	}
	return ""
}

func (l *storyLine) given() (g given, err error) {
	var story string
	switch {
	case l.Generated != nil:
		var s *string
		if err := json.Unmarshal(l.Generated, &s); err != nil {
			return g, fmt.Errorf("generated_story: %w", schemas.JSONFault(err))
		}
		g.task, g.system, g.written = l.TaskType, l.ModelName, l.TaskType != schemas.TaskDiagnostic
		if g.ID = l.GeneratedID; g.ID == "" && l.id() != "" {
			g.ID = l.TaskType + "/" + l.ModelName + "/" + l.id() // one a prompt, task and model
		}
		switch {
		case s == nil || strings.TrimSpace(*s) == "":
			g.why = "no story"
			if l.Outcome != "" && l.Outcome != scoring.OutcomeOK {
				g.why = l.Outcome
			}
		default:
			story = *s
		}
	case l.Text != nil && l.Kind == schemas.KindQuery:
		g.ID, g.why = l.StoryID, "a query, not a story"
	case l.Text != nil:
		g.ID, story = l.StoryID, *l.Text
	case l.Story != nil:
		g.ID, story = l.ExampleID, *l.Story
	default:
		return g, errors.New("neither a story (story_id, text), a generated story (generated_id, generated_story) nor a row (example_id, story)")
	}
	if g.ID == "" {
		g.ID = l.id()
	}
	if g.ID == "" {
		return g, errors.New("a text without an id")
	}
	g.source, g.GroupID, g.terms = l.StoryID, l.GroupID, parseSource(l.Source)
	g.freeze(story)
	return g, nil
}

func (g *given) freeze(story string) {
	g.Story = text.Trim(text.Freeze(story))
	g.TextHash, g.words = schemas.HashText(g.Story), text.Words(g.Story)
	if g.why == "" && g.Story == "" {
		g.why = "no story"
	}
}

// readGiven reads texts from files and folders, in order of their names.
func readGiven(e *env, roots []string) iter.Seq2[given, error] {
	return func(yield func(given, error) bool) {
		seen := map[string]string{}
		emit := func(g given, where string, err error) bool {
			if err == nil {
				if before, twice := seen[g.ID]; twice {
					err = fmt.Errorf("id %s stands in %s already", g.ID, before)
				}
				seen[g.ID] = where
			}
			if err != nil {
				err = &fetch.Error{Op: "read", Name: where, Kind: fetch.Input, Err: err}
			}
			return yield(g, err) && err == nil
		}
		for _, root := range roots {
			if _, err := os.Stat(filepath.Join(root, pipeline.RecordsFile)); err == nil {
				root = filepath.Join(root, pipeline.RecordsFile) // a step of a workspace
			}
			files := 0
			for f, err := range fetch.Walk(e.ctx, root, fetch.Limits{}) {
				if err != nil {
					yield(given{}, err)
					return
				}
				if path.Base(f.Name) == setAsideFile {
					continue // rows of generated.jsonl again, with their texts
				}
				switch path.Ext(f.Name) {
				case ".txt", ".md":
					files++
					data, _, err := fetch.ReadFile(f)
					if err != nil {
						yield(given{}, err)
						return
					}
					g := given{Text: detect.Text{ID: strings.TrimSuffix(f.Name, path.Ext(f.Name))}}
					g.source = g.ID
					g.freeze(text.Decode(data, "").Text)
					if !emit(g, f.Path, nil) {
						return
					}
				case ".jsonl", ".ndjson":
					files++
					if !readLines(f, emit) {
						return
					}
				default:
					if base := path.Base(f.Name); base == tableManifest || base == generatedParquet {
						continue // beside the same stories as lines
					}
					e.log.Warn("passed over: neither .txt, .md nor .jsonl", "file", f.Path)
				}
			}
			if files == 0 {
				yield(given{}, &fetch.Error{Op: "read stories", Name: root, Kind: fetch.Input, Err: errors.New("there is no .txt, .md or .jsonl file")})
				return
			}
		}
	}
}

func readLines(f fetch.File, emit func(given, string, error) bool) bool {
	r, err := f.Open()
	if err != nil {
		return emit(given{}, f.Path, err)
	}
	defer r.Close()
	for row, err := range fetch.JSONLines(r, fetch.RowOptions{Name: f.Path}) {
		where := fmt.Sprintf("%s:%d", f.Path, row.Line)
		var l storyLine
		if err == nil {
			err = schemas.ParseForeign(row.Data, &l)
		}
		var g given
		if err == nil {
			g, err = l.given()
		}
		if !emit(g, where, err) {
			return false
		}
	}
	return true
}

// originals reads the human originals: of a release its unmodified rows.
func (cmd *detectCmd) originals(e *env) iter.Seq2[given, error] {
	return func(yield func(given, error) bool) {
		var plain []string
		for _, root := range cmd.Originals {
			_, noManifest := os.Stat(filepath.Join(root, datasets.ManifestFile))
			_, noData := os.Stat(filepath.Join(root, "data"))
			if noManifest != nil || noData != nil { // steps and tables have a manifest too
				plain = append(plain, root)
				continue
			}
			r, err := datasets.Open(root)
			if err != nil {
				yield(given{}, err)
				return
			}
			for row, err := range datasets.Rows[schemas.Example](r, cmd.Config, cmd.Split) {
				if err != nil {
					yield(given{}, err)
					return
				}
				if row.Variant == schemas.VariantOriginal {
					g := given{Text: detect.TextOf(row), source: row.GroupID, words: row.Words}
					if !yield(g, nil) {
						return
					}
				}
			}
		}
		for g, err := range readGiven(e, plain) {
			if err == nil && g.system != "" {
				err = fmt.Errorf("%s was written by %s: it is no human original", g.ID, g.system)
				err = &fetch.Error{Op: "read originals", Kind: fetch.Input, Err: err}
			}
			if !yield(g, err) || err != nil {
				return
			}
		}
	}
}

// rateStudy is what the study prints as JSON.
type rateStudy struct {
	Detector  string             `json:"detector"`
	MaxWords  int                `json:"max_words"`
	Texts     int                `json:"texts"`     // read
	TooLong   int                `json:"too_long"`  // of MaxWords or more
	NoText    map[string]int     `json:"no_text"`   // by reason
	Originals int                `json:"originals"` // judged
	Rows      []scoring.StudyRow `json:"rows"`
}

// study judges texts without gold and the originals, and prints how often an
// error is claimed.
func (cmd *detectCmd) study(e *env) error {
	st := rateStudy{MaxWords: cmd.MaxWords, NoText: map[string]int{}}
	meta := map[string]*scoring.StudyText{}
	texts := map[string]bool{} // ids that are no originals
	groups := map[string]string{}
	var all []detect.Text
	back := keptBack{}
	add := func(g given, original bool) error {
		if meta[g.ID] != nil {
			return &fetch.Error{Op: "read", Name: g.ID, Kind: fetch.Input, Err: errors.New("the id stands among the originals and among the texts")}
		}
		if g.GroupID == "" {
			g.GroupID = g.source
		}
		if original {
			groups[g.source] = g.GroupID
		} else if of, ok := groups[g.source]; ok {
			g.GroupID = of // the copy that deduplication kept
		}
		if g.GroupID == "" {
			g.GroupID = g.ID
		}
		meta[g.ID] = &scoring.StudyText{Group: g.GroupID, Task: g.task, System: g.system}
		texts[g.ID] = !original
		all = append(all, g.Text)
		back.addRow(g.terms, g.written)
		return nil
	}
	for g, err := range cmd.originals(e) {
		if err == nil && g.why == "" {
			err = add(g, true)
			st.Originals++
		}
		if err != nil {
			return err
		}
	}
	for g, err := range readGiven(e, cmd.Stories) {
		if err != nil {
			return err
		}
		st.Texts++
		switch {
		case g.why != "":
			st.NoText[g.why]++
		case g.words >= cmd.MaxWords:
			st.TooLong++
		default:
			if g.system == "" {
				g.system = "texts" // an original has none
			}
			if err := add(g, false); err != nil {
				return err
			}
		}
	}
	if len(all) == st.Originals {
		return withHint(exitInput, "see --max-words", fmt.Errorf("none of the %d texts can be judged: %d hold %d words or more, %d no story", st.Texts, st.TooLong, cmd.MaxWords, st.Texts-st.TooLong))
	}
	if cmd.WritePairs != "" {
		back.warn(e, "the pairs quote texts that no release may carry: score them on this machine only")
		return cmd.writePairs(e, sequence(all))
	}
	if cmd.Model != "" {
		back.asked(e, cmd.Engine)
	}
	judged, err := cmd.judge(e, sequence(all), len(all))
	if err != nil {
		return err
	}
	var preds []schemas.Prediction
	var originals, written []scoring.StudyText
	for p, err := range judged {
		if err != nil {
			return err
		}
		preds = append(preds, p)
		st.Detector = scoring.Run{Model: p.Model, Prompt: p.Prompt}.String()
		t := meta[p.ExampleID]
		t.Answered = p.Label != ""
		t.Error = p.Label == schemas.LabelError
		if texts[p.ExampleID] {
			written = append(written, *t)
		} else {
			originals = append(originals, *t)
		}
	}
	st.Rows = scoring.Study(originals, written, scoring.Resampling{Seed: cmd.Seed})
	if cmd.Out != "-" {
		if err := writePredictions(e, cmd.Out, sequence(preds)); err != nil {
			return err
		}
	}
	if cmd.HTML != "" {
		if err := writeTo(e, cmd.HTML, st.page().Write); err != nil {
			return err
		}
	}
	if cmd.JSON {
		return writeJSON(e.stdout, st)
	}
	return st.table().Write(e.stdout, report.Text)
}

func (st rateStudy) table() *report.Table {
	t := &report.Table{Title: "texts in which " + st.Detector + " claims a continuity error",
		Columns: []string{"task", "system", "texts", "answered", "rate", "originals", "rate of originals", "difference", "ratio"}}
	unmatched := false
	for _, r := range st.Rows {
		t.Add(r.Task, r.System, r.Texts, r.Rates.Rate.N, r.Rates.Rate.String(), r.Rates.Base.N, r.Rates.Base.String(), r.Rates.Diff.String(), r.Rates.Ratio.String())
		unmatched = unmatched || !r.Matched && r.Sources > 0
	}
	none := 0
	for _, n := range st.NoText {
		none += n
	}
	t.Notes = append(t.Notes, fmt.Sprintf("%d texts read: %d of %d words or more set aside, %d without a story; %d originals", st.Texts, st.TooLong, st.MaxWords, none, st.Originals),
		"intervals: 95 %, bootstrap by source story; originals are those the task's texts were made from")
	if unmatched {
		t.Notes = append(t.Notes, "some texts name no source among the originals: they are compared with all of them")
	}
	return t
}

// page is figure 2 of the paper with its numbers.
func (st rateStudy) page() report.Page {
	p := report.Page{Title: "Continuity errors claimed in texts without gold",
		Subtitle: fmt.Sprintf("Detector: %s. Texts of %d words or more are set aside.", st.Detector, st.MaxWords)}
	sec := report.Section{Title: "Detection rate", Text: []string{"Share of texts in which the detector claims a continuity error, with 95 % intervals by source story. " +
		"A claim is not an error: the detector's own false positives are in the rate of the human originals."}}
	for i := 0; i < len(st.Rows); {
		task := st.Rows[i].Task
		title := "detection rate"
		if task != "" {
			title += ", " + task
		}
		var bars []report.Bar
		if st.Rows[i].Rates.Base.N > 0 {
			bars = append(bars, scoreBar("human originals", "originals", st.Rows[i].Rates.Base))
		}
		for ; i < len(st.Rows) && st.Rows[i].Task == task; i++ {
			bars = append(bars, scoreBar(st.Rows[i].System, "texts", st.Rows[i].Rates.Rate))
		}
		sec.Figures = append(sec.Figures, report.Bars(title, bars, 1))
	}
	sec.Tables = []*report.Table{st.table()}
	p.Sections = []report.Section{sec}
	return p
}
