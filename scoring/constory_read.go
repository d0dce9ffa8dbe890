// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

// Statuses of a category, as in [schemas.CheckStatus].
const (
	StatusOK          = schemas.CellOK
	StatusRepaired    = schemas.CellRepaired
	StatusParseFailed = schemas.CellParseFailed
	StatusTruncated   = "truncated"
	StatusRefused     = "refused"
	StatusAPIError    = schemas.CellAPIError
	// StatusNotJudged: the judge cannot judge the category at all.
	StatusNotJudged = "not_judged"
)

const stateCompleted = "completed"

// CheckRow is one story of a checker's run with its findings.
type CheckRow struct {
	ID       string
	Model    string
	TaskType string
	Language string
	Judge    string
	Protocol string // of our own checker; "" for the reference's files
	State    string // evaluation_status of the reference; "" for our own runs

	Story    string
	HasStory bool                     // false: the cell is null
	Cells    [CheckSubtypes]CheckCell // in the order of [SubtypeColumns]
	// Status by category; a category's worst cell.
	Status [CheckCategories]string
	// Tokens are the story's, with their log-probabilities; nil for none.
	// TokensErr says why there are none where some were given.
	Tokens    []Token
	TokensErr string
}

// CheckCell is what the judge said of one subtype.
type CheckCell struct {
	Status string
	Detail string // of a failure
	// Flagged is the reference's test: the cell contains the key of a quote.
	Flagged  bool
	Findings []CheckFinding
}

// CheckFinding is one reported contradiction.
type CheckFinding struct {
	Quote, Pair Quoted
}

// Quoted is a passage as the judge quoted it and, once located, its place.
type Quoted struct {
	Text    string
	Missing bool // the answer has no such key
	Null    bool // the answer says null, or an empty text

	Located bool
	// Start and End are code points of the story, of the first piece in the
	// order of the quote; More are the other pieces.
	Start, End int
	More       [][2]int
	Copied     bool // an example of the prompt, not a quote
	done       bool // located, or looked for in vain
}

// NewCheckRow reads a row of the reference's format from its columns. column
// returns a column's text, and false where the column is absent or the value
// null. storyColumn is the name of the column of the story.
//
// A column that is absent, a cell that is empty or that cannot be read is a
// failed cell, never one without errors. A row that crashed (a status that is
// neither completed nor partial) has no judged category.
func NewCheckRow(storyColumn string, column func(name string) (string, bool)) CheckRow {
	return newCheckRow(storyColumn, column, func(i int) (string, bool) {
		return schemas.CellText(subtypes[i].names, column)
	})
}

func newCheckRow(storyColumn string, column func(string) (string, bool), cell func(int) (string, bool)) CheckRow {
	get := func(names ...string) string {
		for _, n := range names {
			if v, ok := column(n); ok {
				return v
			}
		}
		return ""
	}
	row := CheckRow{
		ID: get("id", "prompt_id"), Model: get("model_name", "model"), TaskType: get("task_type"), Language: get("language"),
		Judge: get("judge_model"), State: get("evaluation_status"),
	}
	row.Story, row.HasStory = column(storyColumn)
	for i := range row.Cells {
		v, there := cell(i)
		row.Cells[i] = checkCell(v, there, row.State)
	}
	row.setStatus()
	return row
}

// setStatus gives each category the status of its worst cell: a category is
// one call of the judge.
func (row *CheckRow) setStatus() {
	rank := []string{"", StatusOK, StatusRepaired, StatusNotJudged, StatusParseFailed, StatusTruncated, StatusRefused, StatusAPIError}
	for i := range row.Cells {
		at := &row.Status[subtypes[i].category]
		if s := row.Cells[i].Status; slices.Index(rank, s) > slices.Index(rank, *at) {
			*at = s
		}
	}
}

// checkCell reads a cell and its findings, each as the reference's analysis
// takes it.
func checkCell(text string, there bool, state string) CheckCell {
	cell := schemas.ReadCell(text, there, state)
	c := CheckCell{Status: cell.Status, Detail: cell.Detail}
	if c.Status == StatusRepaired {
		c.Detail = "" // of a failure
	}
	c.Flagged = !strings.HasPrefix(strings.TrimSpace(text), "ERROR") &&
		(strings.Contains(text, "exact_quote") || strings.Contains(text, "fact_quote"))
	for _, it := range cell.Items {
		c.Findings = append(c.Findings, readFinding(it))
	}
	return c
}

// readFinding reads one element of the array. The paper calls the first quote
// fact_quote, the reference writes exact_quote.
func readFinding(raw json.RawMessage) CheckFinding {
	var obj map[string]json.RawMessage
	if json.Unmarshal(raw, &obj) != nil || obj == nil {
		return CheckFinding{Quote: quotedOf(raw, true), Pair: Quoted{Missing: true}}
	}
	var f CheckFinding
	q, ok := obj["exact_quote"]
	if !ok {
		q, ok = obj["fact_quote"]
	}
	f.Quote = quotedOf(q, ok)
	p, ok := obj["contradiction_pair"]
	f.Pair = quotedOf(p, ok)
	return f
}

// quotedOf reads a quote field: a string, or a list of strings or objects,
// which are pieces of one quote.
func quotedOf(raw json.RawMessage, present bool) Quoted {
	if !present {
		return Quoted{Missing: true}
	}
	t := strings.Join(text.QuoteField(raw, quoteFields, func(s string) bool { return s == "" }), " ... ")
	return Quoted{Text: t, Null: strings.TrimSpace(t) == ""}
}

// quoteFields are where an object in place of a quote has its text.
var quoteFields = []string{"exact_quote", "fact_quote", "quote", "text", "contradiction_pair"}

// CheckCSV says how to read a CSV file of the reference.
type CheckCSV struct {
	// StoryColumn is the column with the story; "" looks for generated_story
	// and then for the one column that can be meant.
	StoryColumn string
	// Model names the model where the file has no column for it.
	Model string
}

// storyColumns are names under which stories were seen, best first.
var storyColumns = []string{"generated_story", "story", "story_text", "generated_text", "text", "output", "response", "completion", "content", "answer"}

// Story returns the column of the story in a judge's table with this header. A
// table without any of the 19 subtype columns is an error.
func (o CheckCSV) Story(header []string) (string, error) {
	story, err := o.storyColumn(header)
	if err != nil {
		return "", fmt.Errorf("judge's table: %w", err)
	}
	for _, h := range header {
		if _, ok := subtypeIndex[h]; ok {
			return story, nil
		}
	}
	return "", fmt.Errorf("judge's table: none of the 19 subtype columns (%s, ...) is in the header; is it a file of stories?", subtypes[0].column)
}

func (o CheckCSV) storyColumn(header []string) (string, error) {
	if o.StoryColumn != "" {
		if !slices.Contains(header, o.StoryColumn) {
			return "", fmt.Errorf("no column %q for the story; the columns are %s", o.StoryColumn, strings.Join(header, ", "))
		}
		return o.StoryColumn, nil
	}
	for _, n := range storyColumns {
		if slices.Contains(header, n) {
			return n, nil
		}
	}
	var like []string
	for _, h := range header {
		if _, sub := subtypeIndex[h]; !sub && (strings.Contains(strings.ToLower(h), "story") || strings.Contains(strings.ToLower(h), "text")) {
			like = append(like, h)
		}
	}
	if len(like) == 1 {
		return like[0], nil
	}
	candidates := ""
	if len(like) > 0 {
		candidates = " (candidates: " + strings.Join(like, ", ") + ")"
	}
	return "", fmt.Errorf("cannot tell which column is the story%s; name it. The columns are %s", candidates, strings.Join(header, ", "))
}

// StoryColumn returns the column of a table that holds its stories: name, or
// where that is empty the one that can be meant.
func StoryColumn(columns []string, name string) (string, error) {
	return CheckCSV{StoryColumn: name}.storyColumn(columns)
}

// CheckTable is a flat table of texts, as a file of the reference is. A cell is
// nil where the file has null; a CSV file cannot tell null from an empty text
// and has null for both.
type CheckTable struct {
	Columns []string
	// Rows yields the rows, once for a table of a stream. A row's cells are
	// valid until the next row. The first error ends the sequence.
	Rows iter.Seq2[[]*string, error]
}

// OpenCheckCSV reads the header of a CSV file of the reference: UTF-8 with or
// without a byte order mark, newlines inside cells, empty cells for null. A
// compressed file is the caller's to unpack. The rows come one at a time, so
// that memory does not grow with the file.
//
// CR LF inside a cell reads as LF (encoding/csv), which changes neither words
// nor collapsed positions.
func OpenCheckCSV(r io.Reader) (*CheckTable, error) {
	br := bufio.NewReaderSize(r, 1<<16)
	if b, err := br.Peek(3); err == nil && bytes.Equal(b, []byte("\xef\xbb\xbf")) {
		br.Discard(3) //nolint:errcheck // just peeked
	}
	if head, _ := br.Peek(1 << 16); fetch.LoneCR(head) {
		return nil, fmt.Errorf("judge's table: %w", errLoneCR)
	}
	cr := csv.NewReader(br)
	cr.ReuseRecord = true
	header, err := cr.Read()
	if errors.Is(err, io.EOF) {
		err = errors.New("the file is empty")
	}
	if err != nil {
		return nil, fmt.Errorf("header of the judge's table: %w", err)
	}
	t := &CheckTable{Columns: slices.Clone(header)}
	if !utf8.ValidString(strings.Join(header, "")) {
		return nil, errors.New("header of the judge's table: not UTF-8")
	}
	if err := schemas.ColumnsOnce(t.Columns); err != nil {
		return nil, fmt.Errorf("judge's table: %w", err)
	}
	t.Rows = func(yield func([]*string, error) bool) {
		row := make([]*string, len(t.Columns))
		for {
			rec, err := cr.Read()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(nil, fmt.Errorf("judge's table: %w", err))
				return
			}
			for i := range rec {
				if !utf8.ValidString(rec[i]) {
					line, _ := cr.FieldPos(i)
					yield(nil, fmt.Errorf("judge's table: line %d, column %s: not UTF-8", line, t.Columns[i]))
					return
				}
				if row[i] = nil; rec[i] != "" {
					row[i] = &rec[i]
				}
			}
			if !yield(row, nil) {
				return
			}
		}
	}
	return t, nil
}

// Checks yields the rows of a judge's table. The first error ends the sequence.
func (t *CheckTable) Checks(o CheckCSV) iter.Seq2[CheckRow, error] {
	return func(yield func(CheckRow, error) bool) {
		story, err := o.Story(t.Columns)
		if err != nil {
			yield(CheckRow{}, err)
			return
		}
		at := make(map[string]int, len(t.Columns))
		for i, c := range t.Columns {
			at[c] = i
		}
		for cells, err := range t.Rows {
			if err != nil {
				yield(CheckRow{}, err)
				return
			}
			row := NewCheckRow(story, func(name string) (string, bool) {
				i, ok := at[name]
				if !ok || cells[i] == nil || *cells[i] == "" {
					return "", false
				}
				return *cells[i], true
			})
			if row.Model == "" {
				row.Model = o.Model
			}
			if !yield(row, nil) {
				return
			}
		}
	}
}

// ReadCheckCSV yields the rows of a CSV file of the reference.
func ReadCheckCSV(r io.Reader, o CheckCSV) iter.Seq2[CheckRow, error] {
	t, err := OpenCheckCSV(r)
	if err != nil {
		return func(yield func(CheckRow, error) bool) { yield(CheckRow{}, err) }
	}
	return t.Checks(o)
}

// CheckStory is a line of a story set.
type CheckStory struct {
	Model, TaskType, Language string
	Text                      string
	HasText                   bool
}

// ReadCheckJSONL yields the rows of a run whose lines hold id,
// evaluation_status, judge_model and cells, an object of the subtype cells that
// are not "[]". story returns a story of the set by its id; a row whose story
// is not there is an error.
func ReadCheckJSONL(r io.Reader, story func(id string) (CheckStory, bool, error)) iter.Seq2[CheckRow, error] {
	return func(yield func(CheckRow, error) bool) {
		err := checkLines(r, func(n int, line []byte) error {
			var rec struct {
				ID    json.RawMessage            `json:"id"`
				State string                     `json:"evaluation_status"`
				Judge string                     `json:"judge_model"`
				Model string                     `json:"model_name"`
				Cells map[string]json.RawMessage `json:"cells"`
			}
			if err := schemas.ParseForeign(line, &rec); err != nil {
				return fmt.Errorf("judge's run, line %d: %w", n, err)
			}
			id := strings.Trim(string(rec.ID), `"`)
			st, ok, err := story(id)
			if err != nil {
				return fmt.Errorf("judge's run, line %d, story %s: %w", n, id, err)
			}
			if !ok {
				return fmt.Errorf("judge's run, line %d: story %s is not in the story set; is it the set this run was made on?", n, id)
			}
			cols := map[string]string{"id": id, "evaluation_status": rec.State, "judge_model": rec.Judge, "model_name": rec.Model,
				"task_type": st.TaskType, "language": st.Language}
			if rec.Model == "" {
				cols["model_name"] = st.Model
			}
			if st.HasText {
				cols["generated_story"] = st.Text
			}
			cells := make(map[string]string, len(rec.Cells))
			for name, raw := range rec.Cells {
				if _, ok := subtypeIndex[name]; !ok {
					return fmt.Errorf("judge's run, line %d: %q is none of the 19 subtypes", n, name)
				}
				var s string
				if json.Unmarshal(raw, &s) != nil {
					s = string(raw) // an array, not packed into a string
				}
				cells[name] = s
			}
			row := newCheckRow("generated_story", func(name string) (string, bool) { v, ok := cols[name]; return v, ok },
				func(i int) (string, bool) {
					s, ok := schemas.CellText(subtypes[i].names, func(n string) (string, bool) { v, ok := cells[n]; return v, ok })
					if !ok {
						s = "[]" // absent cells are empty lists
					}
					return s, true
				})
			if !yield(row, nil) {
				return errStop
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStop) {
			yield(CheckRow{}, err)
		}
	}
}

var errStop = errors.New("stop")

// checkLines calls f with each line of r that is not blank, of any length, and
// its number from 1.
func checkLines(r io.Reader, f func(n int, line []byte) error) error {
	br := bufio.NewReaderSize(r, 1<<16)
	for n := 1; ; n++ {
		line, err := br.ReadBytes('\n')
		if t := bytes.TrimSpace(line); len(t) > 0 {
			if n == 1 {
				t = bytes.TrimPrefix(t, []byte("\xef\xbb\xbf"))
			}
			if !utf8.Valid(t) {
				return fmt.Errorf("line %d: not UTF-8", n)
			}
			if err := f(n, t); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
}

// StorySet finds stories of a JSONL file by id. It keeps places, not texts.
type StorySet struct {
	r  io.ReaderAt
	at map[string][2]int64 // start and length of a line
}

// OpenStorySet indexes the lines of r, which holds size bytes.
func OpenStorySet(r io.ReaderAt, size int64) (*StorySet, error) {
	s := &StorySet{r, map[string][2]int64{}}
	br := bufio.NewReaderSize(io.NewSectionReader(r, 0, size), 1<<16)
	at := int64(0)
	for n := 1; ; n++ {
		line, err := br.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			if !utf8.Valid(line) {
				return nil, fmt.Errorf("stories, line %d: not UTF-8", n)
			}
			var rec struct {
				ID json.RawMessage `json:"id"`
			}
			if err := schemas.ParseForeign(line, &rec); err != nil {
				return nil, fmt.Errorf("stories, line %d: %w", n, err)
			}
			id := strings.Trim(string(rec.ID), `"`)
			if _, twice := s.at[id]; twice {
				return nil, fmt.Errorf("stories, line %d: id %s for the second time", n, id)
			}
			s.at[id] = [2]int64{at, int64(len(line))}
		}
		at += int64(len(line))
		if errors.Is(err, io.EOF) {
			return s, nil
		}
		if err != nil {
			return nil, fmt.Errorf("stories, line %d: %w", n, err)
		}
	}
}

// Story reads a story; ok is false where the set has no such id.
func (s *StorySet) Story(id string) (st CheckStory, ok bool, err error) {
	p, ok := s.at[id]
	if !ok {
		return st, false, nil
	}
	line := make([]byte, p[1])
	if _, err := s.r.ReadAt(line, p[0]); err != nil && !errors.Is(err, io.EOF) {
		return st, false, err
	}
	var g struct {
		Model    string  `json:"model_name"`
		TaskType string  `json:"task_type"`
		Language string  `json:"language"`
		Story    *string `json:"generated_story"`
	}
	if err := json.Unmarshal(line, &g); err != nil {
		return st, false, schemas.JSONFault(err)
	}
	st = CheckStory{Model: g.Model, TaskType: g.TaskType, Language: g.Language}
	if g.Story != nil {
		st.Text, st.HasText = *g.Story, true
	}
	return st, true, nil
}

// PromptKey names what a story was asked for, in the words of the reference's
// files, so that rows of theirs and of ours about one prompt come together: the
// prompt's number. Tasks that are not the benchmark's count for themselves.
func PromptKey(g schemas.Generated) string {
	switch {
	case g.ID == 0 && g.PromptID != "":
		return g.PromptID
	case g.TaskType == "" || slices.Contains(schemas.TaskTypes, g.TaskType):
		return fmt.Sprint(g.ID)
	}
	return fmt.Sprintf("%d/%s", g.ID, g.TaskType)
}

// CheckRowOf makes a row of our own records: the story, its findings of one
// sample, and the state of its categories. A category without a status was not
// judged. Findings are anchored already, so no locator is asked; quarantined
// ones (unanchored, copied) stay instances and are not located. A finding
// under several subtypes is one instance, of its first; the others are hit
// ([SubtypeFlags]) and nothing more.
func CheckRowOf(g schemas.Generated, findings []schemas.Finding, status []schemas.CheckStatus) (CheckRow, error) {
	row := CheckRow{ID: PromptKey(g), Model: g.ModelName, TaskType: g.TaskType, Language: g.Language}
	if g.GeneratedStory != nil {
		row.Story, row.HasStory = *g.GeneratedStory, true
	}
	var err error
	if row.Tokens, err = ReadLogProbs(g.LogProbs, row.Story); err != nil {
		row.TokensErr = err.Error()
	}
	byName := map[string]schemas.CheckStatus{}
	for _, s := range status {
		byName[s.Category] = s
	}
	for i := range row.Cells {
		s, ok := byName[schemas.Categories[subtypes[i].category].Name]
		if !ok {
			s = schemas.CheckStatus{Status: StatusParseFailed, Detail: "no status: the category was not judged"}
		}
		row.Cells[i] = CheckCell{Status: s.Status, Detail: s.Detail}
	}
	for _, f := range findings {
		row.Judge = f.Judge
		cat, sub, ok := schemas.FindSubtype(f.Subtype)
		if !ok {
			return row, fmt.Errorf("finding %s of story %s: unknown subtype %q", f.FindingID, row.ID, f.Subtype)
		}
		quoted := func(e schemas.Evidence) Quoted {
			q := Quoted{Text: e.Quote, Null: e.Quote == "", done: true, Copied: f.Status == "copied"}
			if len(e.Spans) > 0 && !q.Copied {
				q.Located, q.Start, q.End = true, e.Spans[0].Start, e.Spans[0].End
				for _, s := range e.Spans[1:] {
					q.More = append(q.More, [2]int{s.Start, s.End})
				}
			}
			return q
		}
		cell := &row.Cells[subtypeIndex[cat.Column(sub)]]
		cell.Flagged = true
		cell.Findings = append(cell.Findings, CheckFinding{quoted(f.Fact), quoted(f.Contra)})
		for _, a := range f.Also {
			cat, sub, ok := schemas.FindSubtype(a)
			if !ok {
				return row, fmt.Errorf("finding %s of story %s: unknown subtype %q among the alternatives", f.FindingID, row.ID, a)
			}
			row.Cells[subtypeIndex[cat.Column(sub)]].Flagged = true
		}
	}
	row.setStatus()
	return row, nil
}

// Vote says which findings of repeated judging count.
type Vote int

const (
	// VoteMajority: those that more than half of the samples that were judged
	// report. Of a single sample, all of them.
	VoteMajority Vote = iota
	VoteAny           // those that any sample reports
	VoteAll           // those that all samples report
)

func (v Vote) String() string { return [...]string{"majority", "any", "all"}[v] }

// MarshalText writes the name.
func (v Vote) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// ParseVote reads a name.
func ParseVote(s string) (Vote, error) {
	for v := VoteMajority; v <= VoteAll; v++ {
		if v.String() == s {
			return v, nil
		}
	}
	return 0, fmt.Errorf("unknown vote %q: want majority, any or all", s)
}

// Accepts reports whether a finding counts.
func (v Vote) Accepts(f schemas.Finding) bool {
	support, asked := max(f.Support, 1), max(f.Asked, 1)
	switch v {
	case VoteAny:
		return true
	case VoteAll:
		return support >= asked
	}
	return 2*support > asked
}

// CheckRowOfReport makes a row of a report of our checker and the story it is
// of. A category is judged if one of its samples is; which findings of several
// samples count, vote says. A report of another text than the story's is an
// error.
func CheckRowOfReport(g schemas.Generated, rep schemas.CheckReport, vote Vote) (CheckRow, error) {
	if g.GeneratedStory == nil {
		return CheckRow{}, fmt.Errorf("story %s was judged, and the row of that id has no story (%s)", rep.StoryID, g.Outcome)
	}
	if hash := schemas.HashText(*g.GeneratedStory); rep.TextHash != "" && hash != rep.TextHash {
		return CheckRow{}, fmt.Errorf("story %s: the judge read another text (%.12s) than the story that is given (%.12s)", rep.StoryID, rep.TextHash, hash)
	}
	best := map[string]schemas.CheckStatus{}
	var order []string
	for _, s := range rep.Status {
		before, seen := best[s.Category]
		if !seen {
			order = append(order, s.Category)
		}
		if !seen || judged(s.Status) && !judged(before.Status) {
			best[s.Category] = s
		}
	}
	var status []schemas.CheckStatus
	for _, c := range order {
		status = append(status, best[c])
	}
	for _, c := range rep.NotJudged {
		status = append(status, schemas.CheckStatus{Category: c, Status: StatusNotJudged, Detail: "the judge cannot judge this category"})
	}
	var findings []schemas.Finding
	points := utf8.RuneCountInString(*g.GeneratedStory)
	for _, f := range rep.Findings {
		for _, s := range slices.Concat(f.Fact.Spans, f.Contra.Spans) {
			err := s.Check(*g.GeneratedStory)
			if s.Text == "" { // offsets in code points alone
				if err = nil; s.Start < 0 || s.End < s.Start || s.End > points {
					err = fmt.Errorf("span [%d,%d) does not lie in a text of %d code points", s.Start, s.End, points)
				}
			}
			if err != nil {
				return CheckRow{}, fmt.Errorf("finding %s of story %s: %w", f.FindingID, rep.StoryID, err)
			}
		}
		if vote.Accepts(f) {
			findings = append(findings, f)
		}
	}
	row, err := CheckRowOf(g, findings, status)
	row.Judge, row.Protocol = rep.Judge, rep.Protocol
	return row, err
}
