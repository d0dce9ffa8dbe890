// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/retcon-bench/retcon/datasets/constoryio"
	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/internal/pipeline"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/scoring"
)

// constoryInput brings together what judges said and the stories they said it
// of, one story at a time: nothing of a text is kept.
type constoryInput struct {
	e         *env
	cmd       *scoreConStoryCmd
	vote      scoring.Vote
	sources   []*judgedSource
	truth     map[string]schemas.Diagnostic // without the texts
	truthFile string
	collect   map[runKey]*collected
	order     []runKey
	seen      map[string]scoring.ModelInfo
	diag      map[judgeKey][]scoring.DiagnosticCounts
	reports   map[string][]reportPlace // by story_id
	judges    []judgeKey               // of the reports
	warnings  []string
}

type judgeKey struct{ judge, protocol string }

func (k judgeKey) String() string {
	return strings.TrimSuffix(cmp.Or(k.judge, "unnamed judge")+", "+k.protocol, ", ")
}

type runKey struct {
	judgeKey
	model string
}

// collected is a run as it grows.
type collected struct {
	run      scoring.JudgedRun
	at       map[string]int // story to record
	from     map[string]string
	reported int
	rows     map[string][]scoring.CheckRow // with --repeats: the samples of a story, without its text
	samples  [][]scoring.CheckRecord       // with --repeats: the records of each further sample
}

// judgedSource is one run as named on the command line.
type judgedSource struct {
	path, model string
	kind        string // table, cells or reports
	file        *os.File
}

// reportPlace is where a report of a story stands.
type reportPlace struct {
	source   *judgedSource
	off, len int64
	judge    judgeKey
}

// open tells what each run is and indexes the reports among them.
func (cmd *scoreConStoryCmd) open(e *env, vote scoring.Vote) (*constoryInput, error) {
	in := &constoryInput{e: e, cmd: cmd, vote: vote, collect: map[runKey]*collected{}, seen: map[string]scoring.ModelInfo{},
		diag: map[judgeKey][]scoring.DiagnosticCounts{}, reports: map[string][]reportPlace{}}
	if cmd.Diagnostic != "" {
		if err := in.readTruth(); err != nil {
			return nil, err
		}
	}
	for _, arg := range cmd.In {
		s, err := openJudged(arg)
		if err != nil {
			in.close()
			return nil, err
		}
		in.sources = append(in.sources, s)
		if s.kind == "reports" {
			if err := in.index(s); err != nil {
				in.close()
				return nil, err
			}
		}
	}
	if len(in.reports) > 0 && len(cmd.Stories) == 0 && cmd.Diagnostic == "" {
		in.close()
		return nil, withHint(exitUsage, "give the table that was judged: --stories PATH", errors.New("reports of retcon check do not hold the stories"))
	}
	return in, nil
}

func (in *constoryInput) close() {
	for _, s := range in.sources {
		if s.file != nil {
			s.file.Close()
		}
	}
}

// openJudged tells what a run is by its name and first line.
func openJudged(arg string) (*judgedSource, error) {
	s := &judgedSource{path: arg}
	if model, path, ok := strings.Cut(arg, "="); ok && model != "" {
		if _, err := os.Stat(arg); err != nil {
			s.model, s.path = model, path
		}
	}
	info, err := os.Stat(s.path)
	if err != nil {
		return nil, &fetch.Error{Op: "open", Name: s.path, Kind: fetch.Input, Err: err}
	}
	if info.IsDir() {
		found := ""
		for _, name := range []string{checkDir + "/" + pipeline.RecordsFile, pipeline.RecordsFile} {
			if _, err := os.Stat(filepath.Join(s.path, name)); err == nil && found == "" {
				found = filepath.Join(s.path, name)
			}
		}
		if found == "" {
			return nil, inputError(s.path, fmt.Errorf("no %s in the folder: it is no output of retcon check", pipeline.RecordsFile))
		}
		s.path = found
	}
	name := strings.ToLower(strings.TrimSuffix(s.path, ".gz"))
	switch filepath.Ext(name) {
	case ".csv", ".parquet":
		s.kind = "table"
		return s, nil
	case ".jsonl", ".ndjson", ".json":
	default:
		return nil, usagef("%s: want a folder, or a file named .csv, .csv.gz, .parquet or .jsonl", s.path)
	}
	if s.file, err = openInput(s.path); err != nil {
		return nil, err
	}
	line, err := bufio.NewReaderSize(s.file, 1<<16).ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, inputError(s.path, err)
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")), &keys); err != nil {
		return nil, inputError(s.path+":1", fmt.Errorf("want a JSON object a line: %w", schemas.JSONFault(err)))
	}
	has := func(k string) bool { _, ok := keys[k]; return ok }
	switch {
	case has("findings") && has("status"):
		s.kind = "reports"
	case has("cells"):
		s.kind = "cells"
	case has("generated_story"):
		return nil, usagef("%s holds stories, not what a judge said of them: name it with --stories", s.path)
	default:
		return nil, inputError(s.path+":1", errors.New("neither a report of retcon check (findings, status) nor a row of the published tools (cells)"))
	}
	return s, nil
}

// index notes where each story's report stands.
func (in *constoryInput) index(s *judgedSource) error {
	r := bufio.NewReaderSize(io.NewSectionReader(s.file, 0, 1<<62), 1<<18)
	at := int64(0)
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			var head struct {
				StoryID  string `json:"story_id"`
				Judge    string `json:"judge"`
				Protocol string `json:"protocol"`
			}
			jerr := schemas.JSONFault(json.Unmarshal(line, &head))
			if jerr == nil && head.StoryID == "" {
				jerr = errors.New("story_id is missing or empty")
			}
			if jerr != nil {
				return inputError(fmt.Sprintf("%s:%d", s.path, n), fmt.Errorf("no report of retcon check: %w", jerr))
			}
			k := judgeKey{cmp.Or(head.Judge, in.cmd.Judge), head.Protocol}
			if !slices.Contains(in.judges, k) {
				in.judges = append(in.judges, k)
			}
			for _, p := range in.reports[head.StoryID] {
				if p.judge == k && !in.cmd.Repeats {
					return withHint(exitInput, "if the judge was asked again, say so with --repeats",
						fmt.Errorf("%s:%d: story %s by %s stands in %s already", s.path, n, head.StoryID, k, p.source.path))
				}
			}
			in.reports[head.StoryID] = append(in.reports[head.StoryID], reportPlace{s, at, int64(len(line)), k})
		}
		at += int64(len(line))
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return &fetch.Error{Op: "read", Name: s.path, Kind: fetch.Disk, Err: err}
		}
	}
}

func (p reportPlace) read() (rep schemas.CheckReport, err error) {
	b := make([]byte, p.len)
	if _, err := p.source.file.ReadAt(b, p.off); err != nil && !errors.Is(err, io.EOF) {
		return rep, &fetch.Error{Op: "read", Name: p.source.path, Kind: fetch.Disk, Err: err}
	}
	if err := schemas.ParseLine(b, &rep); err != nil {
		return rep, inputError(fmt.Sprintf("%s, byte %d", p.source.path, p.off), err)
	}
	return rep, nil
}

// measured is a story as one judge saw it, without its text.
type measured struct {
	key      runKey
	from     string
	record   scoring.CheckRecord
	row      *scoring.CheckRow // with --repeats
	list     []schemas.CheckAgreement
	reported bool
	diag     *scoring.DiagnosticCounts
}

// load reads everything.
func (in *constoryInput) load() error {
	for _, s := range in.sources {
		if s.kind == "reports" {
			continue
		}
		rows, done, err := in.rowsOf(s)
		if err != nil {
			return err
		}
		err = in.measure(rows, s)
		done()
		if err != nil {
			return err
		}
	}
	if len(in.reports) == 0 {
		return nil
	}
	return in.join()
}

// rowsOf opens a file of the published tools.
func (in *constoryInput) rowsOf(s *judgedSource) (iter.Seq2[scoring.CheckRow, error], func(), error) {
	if s.kind == "cells" {
		if len(in.cmd.Stories) == 0 {
			return nil, nil, withHint(exitUsage, "give the story set that was judged: --stories FILE.jsonl", fmt.Errorf("%s does not hold the stories", s.path))
		}
		var files []*os.File
		done := func() {
			for _, f := range files {
				f.Close()
			}
		}
		var sets []*scoring.StorySet
		for _, path := range in.cmd.Stories {
			f, err := openInput(path)
			if err != nil {
				done()
				return nil, nil, err
			}
			files = append(files, f)
			info, err := f.Stat()
			if err != nil {
				done()
				return nil, nil, err
			}
			set, err := scoring.OpenStorySet(f, info.Size())
			if err != nil {
				done()
				return nil, nil, inputError(path, err)
			}
			sets = append(sets, set)
		}
		story := func(id string) (scoring.CheckStory, bool, error) {
			for _, set := range sets {
				if st, ok, err := set.Story(id); ok || err != nil {
					return st, ok, err
				}
			}
			return scoring.CheckStory{}, false, nil
		}
		return scoring.ReadCheckJSONL(io.NewSectionReader(s.file, 0, 1<<62), story), done, nil
	}
	t, done, err := s.table()
	if err != nil {
		return nil, nil, err
	}
	return t.Checks(scoring.CheckCSV{StoryColumn: in.cmd.Column, Model: s.modelName()}), done, nil
}

// modelName is the name for rows without one: as given, or that of the file.
func (s *judgedSource) modelName() string {
	if s.model != "" {
		return s.model
	}
	name := filepath.Base(s.path)
	for _, ext := range []string{".gz", ".csv", ".parquet", ".jsonl", ".ndjson", ".json"} {
		name = strings.TrimSuffix(name, ext)
	}
	return name
}

// table opens a CSV or Parquet file.
func (s *judgedSource) table() (*scoring.CheckTable, func(), error) {
	if strings.HasSuffix(strings.ToLower(s.path), ".parquet") {
		t, err := constoryio.OpenParquet(s.path)
		if err != nil {
			return nil, nil, inputError(s.path, err)
		}
		return t, func() {}, nil
	}
	f, err := openInput(s.path)
	if err != nil {
		return nil, nil, err
	}
	var r io.Reader = f
	if strings.HasSuffix(strings.ToLower(s.path), ".gz") {
		if r, err = gzip.NewReader(bufio.NewReaderSize(f, 1<<18)); err != nil {
			f.Close()
			return nil, nil, inputError(s.path, err)
		}
	}
	t, err := scoring.OpenCheckCSV(r)
	if err != nil {
		f.Close()
		return nil, nil, inputError(s.path, err)
	}
	return t, func() { f.Close() }, nil
}

// measure reduces the rows of a file of the published tools.
func (in *constoryInput) measure(rows iter.Seq2[scoring.CheckRow, error], s *judgedSource) error {
	n := 0
	// Rows without a judge (stories that were never sent to one) belong to the
	// judge of the file, if it has a single one.
	judges := map[string]bool{}
	var nameless []measured
	for m, err := range pipeline.Map(in.e.ctx, in.cmd.Workers, rows, func(_ context.Context, row scoring.CheckRow) (measured, error) {
		row.Judge = cmp.Or(row.Judge, in.cmd.Judge)
		row.Model = cmp.Or(row.Model, s.modelName())
		m := measured{key: runKey{judgeKey{row.Judge, ""}, row.Model}, from: s.path, record: scoring.Measure(row, scoring.MeasureOptions{}), reported: true}
		m.key.judge, m.key.model = m.record.Judge, m.record.Model // not the row's, which would keep its text alive
		if d, ok := in.truth[row.ID]; ok {
			c, err := scoring.MatchClaims(d, scoring.ClaimsOfRow(row), m.record.Judged)
			if err != nil {
				return m, err
			}
			m.diag = &c
		}
		if in.cmd.Repeats {
			m.row = withoutText(row)
		}
		return m, nil
	}) {
		if err != nil {
			if in.e.ctx.Err() != nil {
				return err
			}
			if n > 0 {
				return inputError(fmt.Sprintf("%s, after row %d", s.path, n), err)
			}
			return inputError(s.path, err)
		}
		n++
		if m.key.judge == "" {
			nameless = append(nameless, m)
			continue
		}
		judges[m.key.judge] = true
		if err := in.add(m); err != nil {
			return err
		}
	}
	for _, m := range nameless {
		if len(judges) == 1 {
			for name := range judges {
				m.key.judge, m.record.Judge = name, name
			}
		}
		if err := in.add(m); err != nil {
			return err
		}
	}
	if n == 0 {
		in.warnings = append(in.warnings, s.path+" has no rows")
	}
	return nil
}

// withoutText keeps the findings of a row and nothing of its story.
func withoutText(row scoring.CheckRow) *scoring.CheckRow {
	row = scoring.CheckRow{Cells: row.Cells, Status: row.Status}
	for i := range row.Cells {
		row.Cells[i].Detail = ""
		row.Cells[i].Findings = slices.Clone(row.Cells[i].Findings)
		for k := range row.Cells[i].Findings {
			f := &row.Cells[i].Findings[k]
			f.Quote.Text, f.Pair.Text = strings.Clone(f.Quote.Text), strings.Clone(f.Pair.Text)
		}
	}
	return &row
}

// join goes through the stories and takes each one's reports.
func (in *constoryInput) join() error {
	type found struct {
		ids  string
		list []measured
		info scoring.ModelInfo
	}
	used := map[string]bool{}
	for f, err := range pipeline.Map(in.e.ctx, in.cmd.Workers, in.stories(), func(_ context.Context, g schemas.Generated) (found, error) {
		out := found{ids: g.GeneratedID, info: scoring.ModelInfo{Name: g.ModelName, Class: g.ModelClass, Family: g.ModelFamily}}
		places := in.reports[g.GeneratedID]
		for _, p := range places {
			rep, err := p.read()
			if err != nil {
				return out, err
			}
			rep.Judge = p.judge.judge
			row, err := scoring.CheckRowOfReport(g, rep, in.vote)
			if err != nil {
				return out, inputError(p.source.path, err)
			}
			row.Model = cmp.Or(row.Model, p.source.model, "unnamed")
			m := measured{key: runKey{p.judge, row.Model}, from: p.source.path, record: scoring.Measure(row, scoring.MeasureOptions{}), list: rep.Agreement, reported: true}
			if d, ok := in.truth[g.GeneratedID]; ok {
				c, err := matchReport(d, rep, in.vote, m.record.Judged)
				if err != nil {
					return out, inputError(p.source.path, err)
				}
				m.diag = &c
			}
			if in.cmd.Repeats {
				m.row = withoutText(row)
			}
			out.list = append(out.list, m)
		}
		// A story without a report is one that was not judged.
		for _, k := range in.judges {
			if slices.ContainsFunc(places, func(p reportPlace) bool { return p.judge == k }) {
				continue
			}
			row, err := scoring.CheckRowOf(g, nil, nil)
			if err != nil {
				return out, err
			}
			row.Judge, row.Protocol, row.Model = k.judge, k.protocol, cmp.Or(row.Model, "unnamed")
			out.list = append(out.list, measured{key: runKey{k, row.Model}, record: scoring.Measure(row, scoring.MeasureOptions{})})
		}
		return out, nil
	}) {
		if err != nil {
			return err
		}
		if _, ok := in.seen[f.info.Name]; !ok {
			in.seen[f.info.Name] = f.info
		}
		used[f.ids] = true
		for _, m := range f.list {
			if err := in.add(m); err != nil {
				return err
			}
		}
	}
	missing := 0
	example := ""
	for id := range in.reports {
		if !used[id] {
			if missing++; example == "" || id < example {
				example = id
			}
		}
	}
	if missing > 0 {
		return &codedError{code: exitInput, hint: "give all the stories that were judged with --stories", err: fmt.Errorf("%d reports are of stories that are not given, %s for one", missing, example)}
	}
	return nil
}

// matchReport holds a report against the truth.
func matchReport(d schemas.Diagnostic, rep schemas.CheckReport, vote scoring.Vote, judged func(int) bool) (scoring.DiagnosticCounts, error) {
	if rep.TextHash != "" && rep.TextHash != d.TextHash {
		return scoring.DiagnosticCounts{}, fmt.Errorf("story %s: the judge read another text than the diagnostic set holds", rep.StoryID)
	}
	var claims []scoring.PairClaim
	for _, f := range rep.Findings {
		if !vote.Accepts(f) {
			continue
		}
		c, err := scoring.ClaimOfFinding(f)
		if err != nil {
			return scoring.DiagnosticCounts{}, err
		}
		claims = append(claims, c)
	}
	return scoring.MatchClaims(d, claims, judged)
}

// add puts a measured story into its run.
func (in *constoryInput) add(m measured) error {
	c := in.collect[m.key]
	if c == nil {
		c = &collected{at: map[string]int{}, from: map[string]string{}, rows: map[string][]scoring.CheckRow{}}
		c.run = scoring.JudgedRun{Judge: m.key.judge, Protocol: m.key.protocol, CheckRun: scoring.CheckRun{Name: m.key.model}}
		in.collect[m.key] = c
		in.order = append(in.order, m.key)
	}
	if m.reported {
		c.reported++
	}
	if m.diag != nil {
		in.diag[m.key.judgeKey] = append(in.diag[m.key.judgeKey], *m.diag)
	}
	if len(m.list) > 0 {
		c.run.Agreement = append(c.run.Agreement, m.list)
	}
	id := m.record.ID
	if m.row != nil {
		c.rows[id] = append(c.rows[id], *m.row)
	}
	if _, twice := c.at[id]; twice {
		if !in.cmd.Repeats || m.row == nil {
			where := "twice in " + m.from
			if c.from[id] != m.from {
				where = "in " + c.from[id] + " and in " + m.from
			}
			return withHint(exitInput, "name the model of each file (MODEL=PATH), or say with --repeats that the judge was asked again",
				fmt.Errorf("story %s of model %s by %s stands %s", id, m.key.model, m.key.judgeKey, where))
		}
		k := len(c.rows[id]) - 2
		for len(c.samples) <= k {
			c.samples = append(c.samples, nil)
		}
		c.samples[k] = append(c.samples[k], m.record)
		return nil
	}
	c.at[id], c.from[id] = len(c.run.Records), m.from
	c.run.Records = append(c.run.Records, m.record)
	return nil
}

// runs returns the runs that have something judged.
func (in *constoryInput) runs() ([]scoring.JudgedRun, error) {
	var out []scoring.JudgedRun
	for _, k := range in.order {
		c := in.collect[k]
		if c.reported == 0 {
			continue
		}
		if in.cmd.Repeats {
			for _, r := range c.run.Records {
				if rows := c.rows[r.ID]; len(rows) > 1 {
					c.run.Agreement = append(c.run.Agreement, scoring.CompareSamples(rows))
				}
			}
			for _, s := range append([][]scoring.CheckRecord{c.run.Records}, c.samples...) {
				c.run.Samples = append(c.run.Samples, scoring.CEDOf(s, scoring.CEDOptions{}).Overall.Mean)
			}
		}
		out = append(out, c.run)
	}
	if len(out) == 0 && len(in.cmd.Marks) == 0 {
		return nil, &codedError{code: exitInput, err: errors.New("no row in the runs: there is nothing to score")}
	}
	return out, nil
}

// stories yields the stories that reports are of.
func (in *constoryInput) stories() iter.Seq2[schemas.Generated, error] {
	paths := in.cmd.Stories
	if len(paths) == 0 {
		paths = []string{in.truthFile}
	}
	return func(yield func(schemas.Generated, error) bool) {
		for _, p := range paths {
			for g, err := range storyRows(p) {
				if !yield(g, err) || err != nil {
					return
				}
			}
		}
	}
}

// storyRows reads stories in all the forms that retcon check judges, with the
// ids that it gives them.
func storyRows(path string) iter.Seq2[schemas.Generated, error] {
	return func(yield func(schemas.Generated, error) bool) {
		files, _, err := checkFiles([]string{path})
		if err != nil {
			yield(schemas.Generated{}, err)
			return
		}
		for _, f := range files {
			if plainText(f) {
				c, err := readPlain(f)
				if !yield(schemas.Generated{GeneratedID: c.ID, PromptID: c.ID, GeneratedStory: &c.Story}, err) || err != nil {
					return
				}
				continue
			}
			for row, err := range tableRows(f) {
				var g schemas.Generated
				if err == nil {
					g, err = storyOf(row)
				}
				if !yield(g, err) || err != nil {
					return
				}
			}
		}
	}
}

// storyOf reads a row of a table: what is judged, as retcon check reads it, and
// what scoring asks beside it.
func storyOf(row tableRow) (schemas.Generated, error) {
	c, reason, err := checkedRow(row)
	if err != nil {
		return schemas.Generated{}, err
	}
	get := func(name string) string { v, _ := row.get(name); return v }
	g := schemas.Generated{GeneratedID: c.ID, PromptID: get("prompt_id"), StoryID: get("story_id"), Language: get("language"), TaskType: get("task_type"), Prompt: get("prompt"),
		ModelName: cmp.Or(get("model_name"), get("model")), Outcome: cmp.Or(get("outcome"), reason), ModelClass: get("model_class"), ModelFamily: get("model_family"), Source: c.source}
	if n, err := strconv.Atoi(strings.TrimSuffix(get("id"), ".0")); err == nil {
		g.ID = n
	} else if g.PromptID == "" {
		g.PromptID = cmp.Or(get("id"), c.ID)
	}
	if v, ok := row.get("generation_error"); ok {
		g.GenerationError = &v
	}
	if reason == "" {
		g.GeneratedStory = &c.Story
	}
	switch {
	case row.json != nil:
		var l struct {
			LogProbs json.RawMessage `json:"logprobs"`
		}
		if err := json.Unmarshal(row.json, &l); err != nil {
			return g, inputError(row.where, schemas.JSONFault(err))
		}
		g.LogProbs = l.LogProbs
	case get("logprobs") != "":
		g.LogProbs = json.RawMessage(get("logprobs"))
	}
	return g, nil
}

// readTruth reads the truth of the diagnostic set and drops its texts.
func (in *constoryInput) readTruth() error {
	path := in.cmd.Diagnostic
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, diagnosticTruth)
	}
	in.truthFile = path
	in.truth = map[string]schemas.Diagnostic{}
	for d, err := range pipeline.ReadLines[schemas.Diagnostic](path) {
		if err != nil {
			return err
		}
		if err := d.Check(); err != nil {
			return inputError(path, err)
		}
		if _, twice := in.truth[d.DiagnosticID]; twice {
			return inputError(path, fmt.Errorf("story %s stands twice", d.DiagnosticID))
		}
		d.Story = ""
		in.truth[d.DiagnosticID] = d
	}
	if len(in.truth) == 0 {
		return inputError(path, errors.New("no story"))
	}
	return nil
}

// calibrate makes the table of each judge, each person, and all people.
func (in *constoryInput) calibrate(files []string, r *scoring.Resampling) (out []scoring.CalibrationTable, err error) {
	if in.truth == nil {
		return nil, nil
	}
	var judges []judgeKey
	for k := range in.diag {
		judges = append(judges, k)
	}
	slices.SortFunc(judges, func(a, b judgeKey) int { return cmp.Compare(a.String(), b.String()) })
	for _, k := range judges {
		t := scoring.Calibrate(k.String(), 0, in.diag[k], r)
		if n := len(in.diag[k]); n < len(in.truth) {
			t.Warnings = append(t.Warnings, fmt.Sprintf("%d of the %d stories of the set were judged", n, len(in.truth)))
		}
		out = append(out, t)
	}
	if len(judges) == 0 && len(in.sources) > 0 {
		return nil, &codedError{code: exitInput, err: fmt.Errorf("none of the judged stories is of the diagnostic set %s", in.cmd.Diagnostic)}
	}
	by := map[string][]scoring.DiagnosticCounts{}
	together := map[string]*scoring.DiagnosticCounts{} // by story
	var stories []string
	read := map[[2]string]bool{}
	var names []string
	for _, path := range files {
		for m, err := range pipeline.ReadLines[schemas.Marking](path) {
			if err != nil {
				return nil, err
			}
			d, ok := in.truth[m.StoryID]
			claims, cerr := scoring.ClaimsOfMarking(m)
			switch {
			case cerr != nil:
				return nil, inputError(path, cerr)
			case !ok:
				return nil, inputError(path, fmt.Errorf("%s marked story %s, which is not in the diagnostic set", m.Annotator, m.StoryID))
			case m.TextHash != "" && m.TextHash != d.TextHash:
				return nil, inputError(path, fmt.Errorf("%s marked another text of story %s than the diagnostic set holds", m.Annotator, m.StoryID))
			case read[[2]string{m.Annotator, m.StoryID}]:
				return nil, inputError(path, fmt.Errorf("%s has two lines for story %s", m.Annotator, m.StoryID))
			}
			read[[2]string{m.Annotator, m.StoryID}] = true
			n, err := scoring.MatchClaims(d, claims, nil)
			if err != nil {
				return nil, inputError(path, err)
			}
			if by[m.Annotator] == nil {
				names = append(names, m.Annotator)
			}
			by[m.Annotator] = append(by[m.Annotator], n)
			if t := together[m.StoryID]; t != nil {
				t.Add(n)
			} else {
				together[m.StoryID] = &n
				stories = append(stories, m.StoryID)
			}
		}
	}
	slices.Sort(names)
	for _, n := range names {
		out = append(out, scoring.Calibrate("person "+n, 1, by[n], r))
	}
	if len(names) > 1 {
		slices.Sort(stories)
		var all []scoring.DiagnosticCounts
		for _, id := range stories {
			all = append(all, *together[id])
		}
		out = append(out, scoring.Calibrate(fmt.Sprintf("people (mean of %d)", len(names)), len(names), all, r))
	}
	return out, nil
}

// export writes all runs in the columns of the published tools.
func (in *constoryInput) export(e *env, path string) error {
	columns := constoryio.Columns
	for _, s := range in.sources {
		switch s.kind {
		case "cells":
			return usagef("--export: %s holds findings without their stories' rows; export takes reports of retcon check, CSV and Parquet", s.path)
		case "table":
			t, done, err := s.table()
			if err != nil {
				return err
			}
			for _, c := range t.Columns {
				if !slices.Contains(columns, c) {
					columns = append(slices.Clip(columns), c)
				}
			}
			done()
		}
	}
	back := keptBack{}
	table := &scoring.CheckTable{Columns: columns, Rows: in.exportRows(columns, back)}
	write := constoryio.WriteCSV
	switch strings.ToLower(filepath.Ext(path)) {
	case ".csv":
	case ".parquet":
		write = constoryio.WriteParquet
	default:
		return usagef("--export %s: want a file named .csv or .parquet", path)
	}
	err := writeTo(e, path, func(w io.Writer) error { return write(w, table) })
	if errors.Is(err, constoryio.ErrID) {
		return withHint(exitUsage, "name the file .csv", err)
	}
	if err == nil {
		back.warn(e, "left out: no release may carry these texts, so no table in the published form does")
	}
	return err
}

// exportRows are the rows of the published form. What the terms keep back is
// counted in back and left out; of nothing else, there is no table.
func (in *constoryInput) exportRows(columns []string, back keptBack) iter.Seq2[[]*string, error] {
	return func(yield func([]*string, error) bool) {
		for _, s := range in.sources {
			if s.kind != "table" {
				continue
			}
			t, done, err := s.table()
			if err != nil {
				yield(nil, err)
				return
			}
			out := make([]*string, len(columns))
			model := s.modelName()
			for row, err := range t.Rows {
				if err != nil {
					done()
					yield(nil, inputError(s.path, err))
					return
				}
				clear(out)
				for i, c := range t.Columns {
					out[slices.Index(columns, c)] = row[i]
				}
				if at := slices.Index(columns, "model_name"); out[at] == nil {
					out[at] = &model
				}
				if !yield(out, nil) {
					done()
					return
				}
			}
			done()
		}
		if len(in.reports) == 0 {
			return
		}
		rows := 0
		for g, err := range in.stories() {
			if err != nil {
				yield(nil, err)
				return
			}
			if back.addRow(g.Source, g.TaskType != "" && g.TaskType != schemas.TaskDiagnostic) {
				continue
			}
			rows++
			var reps []*schemas.CheckReport
			for _, p := range in.reports[g.GeneratedID] {
				rep, err := p.read()
				if err != nil {
					yield(nil, err)
					return
				}
				reps = append(reps, &rep)
			}
			if len(reps) == 0 {
				reps = []*schemas.CheckReport{nil}
			}
			for _, rep := range reps {
				cells, err := constoryio.Row(g, rep, in.vote)
				if err != nil {
					yield(nil, err)
					return
				}
				out := make([]*string, len(columns))
				copy(out, cells)
				if at := slices.Index(columns, "judge_model"); out[at] == nil && len(in.judges) == 1 && in.judges[0].judge != "" {
					out[at] = &in.judges[0].judge
				}
				if !yield(out, nil) {
					return
				}
			}
		}
		if rows == 0 && len(back) > 0 {
			yield(nil, withHint(exitInput, "leave out --export",
				fmt.Errorf("there is nothing to export: the terms keep texts back from a release, and so from a table in the published form: %s", back)))
		}
	}
}
