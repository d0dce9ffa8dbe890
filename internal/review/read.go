// SPDX-License-Identifier: Apache-2.0

package review

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/scoring"
)

// maxVotes is the size of a file of votes in bytes.
const maxVotes = 256 << 20

// ReadVotes reads votes in any of the formats and says which it was: JSON Lines
// of [schemas.Vote], a CSV with a header, or an export of Label Studio (JSON,
// JSON-MIN, or its CSV). Errors name the file, the row and the reason; nothing
// is skipped but what an annotator skipped in Label Studio.
func ReadVotes(name string, r io.Reader) (votes []schemas.Vote, format string, err error) {
	data, err := io.ReadAll(io.LimitReader(r, maxVotes+1))
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", name, err)
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	switch first := bytes.TrimLeft(data, " \t\r\n"); {
	case len(data) > maxVotes:
		return nil, "", fmt.Errorf("%s: more than %d bytes of votes", name, maxVotes)
	case !utf8.Valid(data):
		return nil, "", fmt.Errorf("%s: not UTF-8: save it as UTF-8", name)
	case len(first) == 0:
		return nil, "", fmt.Errorf("%s: the file is empty", name)
	case first[0] == '[':
		format = FormatLabelStudio
		votes, err = readTasks(data)
	case first[0] == '{':
		format = FormatJSONL
		votes, err = readLines(data)
	default:
		format = FormatCSV
		votes, err = readCSV(data)
	}
	if err != nil {
		return nil, format, fmt.Errorf("%s, read as %s: %w", name, format, err)
	}
	return votes, format, nil
}

// check refuses a vote that nobody could count.
func check(v schemas.Vote) error {
	switch {
	case v.ExampleID == "":
		return errors.New("no example_id")
	case v.Annotator == "":
		return errors.New("no annotator: a vote without one cannot be told from a second vote of another")
	case v.Seconds < 0 || math.IsNaN(v.Seconds) || math.IsInf(v.Seconds, 0):
		return fmt.Errorf("seconds: %v", v.Seconds)
	}
	for i, s := range v.Sentences {
		if slices.ContainsFunc(v.Sentences[:i], func(o schemas.SentenceVote) bool { return o.Set == s.Set && o.Sentence == s.Sentence }) {
			return fmt.Errorf("sentences: %s %d is marked twice", s.Set, s.Sentence)
		}
		if s.Set != setError && s.Set != setContradicted || s.Sentence < 0 {
			return fmt.Errorf("sentences: %q %d: want error or contradicted, and a sentence's number", s.Set, s.Sentence)
		}
	}
	return nil
}

func readLines(data []byte) (votes []schemas.Vote, err error) {
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var v schemas.Vote
		if err = schemas.ParseLine(line, &v); err == nil {
			err = check(v)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		votes = append(votes, v)
	}
	return votes, nil
}

// Names of CSV columns, ours and those of Label Studio's export.
var csvNames = map[string]string{
	"example_id": "example_id", "text_hash": "text_hash", "annotator": "annotator", "valid": "valid", "sentences": "sentences",
	"reason": "reason", "kind": "kind", "seconds": "seconds", "time": "time",
	"wrong": "wrong", "marks": "marks", "lead_time": "seconds", "updated_at": "time", "annotation_id": "",
}

func readCSV(data []byte) ([]schemas.Vote, error) {
	next, err := scoring.SheetRows(data)
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for {
		row, err := next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		rows[0][i] = strings.ToLower(strings.TrimSpace(name))
	}
	if err := schemas.ColumnsOnce(rows[0]); err != nil {
		return nil, err
	}
	for i, name := range rows[0] {
		if known := csvNames[name]; known != "" {
			if _, twice := column[known]; !twice || name == known {
				column[known] = i
			}
		}
	}
	for _, want := range []string{"example_id", "annotator", "valid"} {
		if _, ok := column[want]; !ok {
			return nil, fmt.Errorf("the header has no column %s (it has %s)", want, strings.Join(rows[0], ", "))
		}
	}
	var votes []schemas.Vote
	for i, row := range rows[1:] {
		cell := func(name string) string {
			at, ok := column[name]
			if !ok || at >= len(row) {
				return ""
			}
			return strings.TrimSpace(row[at])
		}
		if strings.TrimSpace(strings.Join(row, "")) == "" || cell("annotator") == "" && cell("valid") == "" {
			continue // a question that nobody answered
		}
		if err := scoring.NoStray(row, len(rows[0])); err != nil {
			return nil, fmt.Errorf("row %d: %w", i+2, err)
		}
		v, err := rawVote{
			example: cell("example_id"), hash: cell("text_hash"), annotator: cell("annotator"), valid: cell("valid"), sentences: cell("sentences"),
			wrong: cell("wrong"), marks: cell("marks"), reason: cell("reason"), kind: cell("kind"), seconds: cell("seconds"), time: cell("time"),
		}.vote()
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", i+2, err)
		}
		votes = append(votes, v)
	}
	return votes, nil
}

// rawVote is a vote as cells of a table.
type rawVote struct {
	example, hash, annotator, valid, sentences, wrong, marks, reason, kind, seconds, time string
}

func (r rawVote) vote() (schemas.Vote, error) {
	v := schemas.Vote{ExampleID: r.example, TextHash: r.hash, Annotator: r.annotator, Reason: r.reason, Kind: r.kind, Time: r.time}
	var err error
	if v.Valid, err = readValid(r.valid); err != nil {
		return v, err
	}
	if r.seconds != "" {
		if v.Seconds, err = strconv.ParseFloat(strings.ReplaceAll(r.seconds, ",", "."), 64); err != nil {
			return v, fmt.Errorf("seconds: %q is no number", r.seconds)
		}
	}
	if v.Sentences, err = readMarks(r.sentences); err != nil {
		return v, err
	}
	if r.marks != "" || r.wrong != "" {
		v.Sentences = append(v.Sentences, marksOf(choices(r.marks), choices(r.wrong), v.Valid)...)
	}
	return v, check(v)
}

// readValid reads an answer; an empty one is "cannot say".
func readValid(s string) (*bool, error) {
	yes, no := true, false
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "yes", "y", "true", "1", "1.0", "valid":
		return &yes, nil
	case "no", "n", "false", "0", "0.0", "not valid", "invalid":
		return &no, nil
	case "", "cannot say", "null", "none", "n/a", "na", "?":
		return nil, nil
	}
	return nil, fmt.Errorf("valid: %q: want yes, no, or nothing for \"cannot say\"", s)
}

var oneMark = regexp.MustCompile(`(?i)^(error|contradicted)\s*[ :]\s*(\d+)\s*(?:[:=]\s*(\S+))?`)

// readMarks reads marks on sentences: a JSON list as in a vote, or
// "error 12: yes; contradicted 3: no".
func readMarks(s string) ([]schemas.SentenceVote, error) {
	s = strings.TrimSpace(s)
	if s == "" || s == "[]" {
		return nil, nil
	}
	if strings.HasPrefix(s, "[") {
		var out []schemas.SentenceVote
		if err := schemas.ParseLine([]byte(s), &out); err != nil {
			return nil, fmt.Errorf("sentences: %w", err)
		}
		return out, nil
	}
	var out []schemas.SentenceVote
	for _, m := range strings.FieldsFunc(s, func(r rune) bool { return r == ';' || r == '\n' }) {
		if strings.TrimSpace(m) == "" {
			continue
		}
		g := oneMark.FindStringSubmatch(strings.TrimSpace(m))
		if g == nil {
			return nil, fmt.Errorf("sentences: %q: want \"error 12: yes\", parted by semicolons", strings.TrimSpace(m))
		}
		valid, err := readValid(g[3])
		if err != nil || valid == nil {
			return nil, fmt.Errorf("sentences: %q: say yes or no", strings.TrimSpace(m))
		}
		n, err := strconv.Atoi(g[2])
		if err != nil {
			return nil, fmt.Errorf("sentences: %q: %w", g[2], err)
		}
		out = append(out, schemas.SentenceVote{Set: strings.ToLower(g[1]), Sentence: n, Valid: *valid})
	}
	return out, nil
}

// marksOf makes the marks of a form in which only wrong sentences are ticked.
// Who finds the item valid and ticks nothing has said yes to every sentence.
func marksOf(all, wrong []string, valid *bool) (out []schemas.SentenceVote) {
	key := func(s string) (set string, n int, ok bool) {
		g := oneMark.FindStringSubmatch(strings.TrimSpace(s))
		if g == nil {
			return "", 0, false
		}
		n, err := strconv.Atoi(g[2])
		return strings.ToLower(g[1]), n, err == nil
	}
	bad := map[string]bool{}
	for _, w := range wrong {
		if set, n, ok := key(w); ok {
			bad[fmt.Sprint(set, n)] = true
			if valid == nil || !*valid || len(all) == 0 {
				out = append(out, schemas.SentenceVote{Set: set, Sentence: n, Valid: false})
			}
		}
	}
	if valid != nil && *valid {
		for _, a := range all {
			if set, n, ok := key(a); ok {
				out = append(out, schemas.SentenceVote{Set: set, Sentence: n, Valid: !bad[fmt.Sprint(set, n)]})
			}
		}
	}
	return out
}

// choices reads the shapes in which Label Studio writes several choices:
// {"choices": [...]}, a list of texts or of {"value": ...}, or one text.
func choices(s string) []string {
	s = strings.TrimSpace(s)
	if s == "" {
		return nil
	}
	var object struct{ Choices []string }
	if json.Unmarshal([]byte(s), &object) == nil {
		return object.Choices
	}
	var values []struct{ Value string }
	if json.Unmarshal([]byte(s), &values) == nil {
		var out []string
		for _, v := range values {
			out = append(out, v.Value)
		}
		return out
	}
	var list []string
	if json.Unmarshal([]byte(s), &list) == nil {
		return list
	}
	return []string{s}
}

// exported is one task of an export of Label Studio: JSON, where annotations
// hold the answers, or JSON-MIN, where they stand beside the data.
type exported struct {
	ID          json.RawMessage `json:"id"`
	Data        json.RawMessage `json:"data"`
	Annotations []annotation    `json:"annotations"`

	ExampleID string          `json:"example_id"`
	TextHash  string          `json:"text_hash"`
	Marks     json.RawMessage `json:"marks"`
	Annotator json.RawMessage `json:"annotator"`
	Valid     json.RawMessage `json:"valid"`
	Wrong     json.RawMessage `json:"wrong"`
	Reason    json.RawMessage `json:"reason"`
	LeadTime  *float64        `json:"lead_time"`
	UpdatedAt string          `json:"updated_at"`
	CreatedAt string          `json:"created_at"`
}

type annotation struct {
	CompletedBy  json.RawMessage `json:"completed_by"` // a number, or an object with id and email
	WasCancelled bool            `json:"was_cancelled"`
	LeadTime     *float64        `json:"lead_time"`
	CreatedAt    string          `json:"created_at"`
	UpdatedAt    string          `json:"updated_at"`
	Result       []struct {
		From  string `json:"from_name"`
		Type  string `json:"type"`
		Value struct {
			Choices []string        `json:"choices"`
			Text    json.RawMessage `json:"text"` // a text or a list of texts
		} `json:"value"`
	} `json:"result"`
}

func readTasks(data []byte) ([]schemas.Vote, error) {
	var tasks []exported
	if err := schemas.ParseForeign(data, &tasks); err != nil {
		return nil, err
	}
	var votes []schemas.Vote
	for i, t := range tasks {
		got, err := t.votes()
		if err != nil {
			return nil, fmt.Errorf("task %d (id %s): %w", i+1, orNone(t.ID), err)
		}
		votes = append(votes, got...)
	}
	return votes, nil
}

func orNone(id json.RawMessage) string {
	if len(id) == 0 {
		return "none"
	}
	return string(id)
}

func (t exported) votes() ([]schemas.Vote, error) {
	if len(t.Data) == 0 { // JSON-MIN
		if len(t.Annotator) == 0 {
			return nil, errors.New("neither data with annotations nor an annotator: export as JSON or JSON-MIN")
		}
		r := rawVote{example: t.ExampleID, hash: t.TextHash, annotator: who(t.Annotator), valid: first(choices(plainText(t.Valid))),
			wrong: plainText(t.Wrong), marks: string(t.Marks), reason: first(choices(plainText(t.Reason))), time: orElse(t.UpdatedAt, t.CreatedAt)}
		if t.LeadTime != nil {
			r.seconds = strconv.FormatFloat(*t.LeadTime, 'g', -1, 64)
		}
		v, err := r.vote()
		return []schemas.Vote{v}, err
	}
	var d taskData
	if err := json.Unmarshal(t.Data, &d); err != nil {
		return nil, fmt.Errorf("data: %w", schemas.JSONFault(err))
	}
	var votes []schemas.Vote
	for n, a := range t.Annotations {
		if a.WasCancelled { // skipped: no vote
			continue
		}
		r := rawVote{example: d.ExampleID, hash: d.TextHash, annotator: who(a.CompletedBy), time: orElse(a.UpdatedAt, a.CreatedAt)}
		if a.LeadTime != nil {
			r.seconds = strconv.FormatFloat(*a.LeadTime, 'g', -1, 64)
		}
		var wrong, all []string
		for _, m := range d.Marks {
			all = append(all, m.Value)
		}
		for _, res := range a.Result {
			switch res.From {
			case "valid":
				r.valid = first(res.Value.Choices)
			case "wrong":
				wrong = append(wrong, res.Value.Choices...)
			case "reason":
				r.reason = first(choices(plainText(res.Value.Text)))
			}
		}
		v, err := r.vote()
		if err != nil {
			return nil, fmt.Errorf("annotation %d: %w", n+1, err)
		}
		v.Sentences = marksOf(all, wrong, v.Valid)
		votes = append(votes, v)
	}
	return votes, nil
}

// plainText unwraps a JSON text; other JSON stays as it is.
func plainText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// who names an annotator: by address where there is one, else by number.
func who(raw json.RawMessage) string {
	var o struct {
		ID    json.Number `json:"id"`
		Email string      `json:"email"`
	}
	if json.Unmarshal(raw, &o) == nil && (o.Email != "" || o.ID != "") {
		return orElse(o.Email, o.ID.String())
	}
	if s := plainText(raw); s != "null" {
		return s
	}
	return ""
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

func orElse(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
