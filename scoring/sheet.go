// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/schemas"
)

// Sheets are CSV files that people fill in a spreadsheet, one file a person.
// They start with a byte order mark, without which spreadsheets read them as
// Windows-1252, and are read back with comma, semicolon or tab, as spreadsheets
// of different countries save them.

// Columns of the two sheets. The last ones are for people to fill.
var (
	humanColumns = []string{"example_id", "text_hash", "story", "has_error", "error_lines", "contradicted_lines", "explanation", "minutes"}
	claimColumns = []string{"claim_id", "text_hash", "story", "claim", "error_lines", "contradicted_lines", "valid", "kind", "reason", "minutes"}
)

// WriteHumanSheet writes the rows of items as a sheet for the task that
// models get: is there an error (yes or no), which lines introduce it, which
// earlier lines does it contradict? No column tells the label. Rows that are
// not of items are passed over.
func WriteHumanSheet(w io.Writer, items []*Item, rows func(yield func(schemas.Example, error) bool)) error {
	want := map[string]bool{}
	for _, it := range items {
		want[it.ID] = true
	}
	stories := map[string]string{}
	for row, err := range rows {
		if err != nil {
			return err
		}
		if want[row.ExampleID] {
			stories[row.ExampleID] = row.Story
		}
	}
	var records [][]string
	for _, it := range items {
		story, ok := stories[it.ID]
		if !ok {
			return fmt.Errorf("no row %s: the sample is of other rows", it.ID)
		}
		records = append(records, []string{it.ID, it.TextHash, story, "", "", "", "", ""})
	}
	return writeSheet(w, humanColumns, records)
}

// WriteClaimSheet writes claims as a sheet for their re-review: is the claimed
// error one (yes, no, or ? for cannot say), and if not, which kind of mistake
// is the claim ([schemas.ErrorKinds])? No column names the model. story gives
// an example's text.
func WriteClaimSheet(w io.Writer, claims []Claim, story func(exampleID string) string) error {
	var records [][]string
	for _, c := range claims {
		records = append(records, []string{c.ID, c.TextHash, story(c.ExampleID), c.Explanation,
			strings.Join(c.ErrorLines, "\n"), strings.Join(c.ContradictedLines, "\n"), "", "", "", ""})
	}
	return writeSheet(w, claimColumns, records)
}

func writeSheet(w io.Writer, columns []string, records [][]string) error {
	if _, err := io.WriteString(w, "\ufeff"); err != nil {
		return err
	}
	cw := csv.NewWriter(w)
	if err := cw.Write(columns); err != nil {
		return err
	}
	for _, r := range records {
		for i, cell := range r {
			// A spreadsheet takes such a cell for a formula. Nothing that is read
			// back is written here, so a mark in front harms nothing.
			if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
				r[i] = "'" + cell
			}
		}
		if err := cw.Write(r); err != nil {
			return err
		}
	}
	cw.Flush()
	return cw.Error()
}

// ReadHumanSheet reads a filled sheet of [WriteHumanSheet] as predictions whose
// Model is the annotator and whose Prompt is "human". Rows left blank are no
// answers. A row that cannot be read is a [*LineError]; row 1 is the heading.
func ReadHumanSheet(r io.Reader, name, annotator string) ([]schemas.Prediction, error) {
	var out []schemas.Prediction
	err := readSheet(r, name, humanColumns[:2], humanColumns[3:6], func(cell func(string) string) error {
		p := schemas.Prediction{ExampleID: cell("example_id"), TextHash: cell("text_hash"), Model: annotator, Prompt: "human", Outcome: OutcomeOK,
			ErrorLines: quotedLines(cell("error_lines")), ContradictedLines: quotedLines(cell("contradicted_lines")), Explanation: cell("explanation")}
		answer := cell("has_error")
		yes, err := yesNo(answer)
		switch {
		case answer == "" && len(p.ErrorLines)+len(p.ContradictedLines) == 0:
			return nil
		case answer == "":
			return errors.New("lines are given, but has_error is empty: yes or no?")
		case err != nil:
			return fmt.Errorf("has_error: %w", err)
		case slices.ContainsFunc(out, func(o schemas.Prediction) bool { return o.ExampleID == p.ExampleID }):
			return fmt.Errorf("%s is answered twice in this sheet", p.ExampleID)
		}
		p.Label = schemas.LabelConsistent
		if yes {
			p.Label = schemas.LabelError
		}
		out = append(out, p)
		return nil
	})
	return out, err
}

// ReadClaimSheet reads a filled sheet of [WriteClaimSheet] as votes whose
// ExampleID is the claim's id. Rows left blank are no votes.
func ReadClaimSheet(r io.Reader, name, annotator string) ([]schemas.Vote, error) {
	var out []schemas.Vote
	err := readSheet(r, name, claimColumns[:2], claimColumns[6:8], func(cell func(string) string) error {
		v := schemas.Vote{ExampleID: cell("claim_id"), TextHash: cell("text_hash"), Annotator: annotator, Reason: cell("reason"),
			Kind: strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(cell("kind")))}
		if m := cell("minutes"); m != "" {
			minutes, err := strconv.ParseFloat(strings.Replace(m, ",", ".", 1), 64)
			if err != nil || !(minutes >= 0 && minutes < 1e6) {
				return fmt.Errorf("minutes %q is no number", m)
			}
			v.Seconds = minutes * 60
		}
		switch answer := cell("valid"); answer {
		case "":
			if v.Kind != "" {
				return errors.New("a kind is given, but valid is empty: yes, no or ?")
			}
			return nil
		case "?":
		default:
			yes, err := yesNo(answer)
			if err != nil {
				return fmt.Errorf("valid: %w, or ? for cannot say", err)
			}
			v.Valid = &yes
		}
		switch {
		case v.Kind != "" && (v.Valid == nil || *v.Valid):
			return errors.New("a kind of mistake is given to a claim that is not said to be wrong")
		case v.Kind != "" && !slices.Contains(schemas.ErrorKinds, v.Kind):
			return fmt.Errorf("kind %q is none of %s", v.Kind, strings.Join(schemas.ErrorKinds, ", "))
		case slices.ContainsFunc(out, func(o schemas.Vote) bool { return o.ExampleID == v.ExampleID }):
			return fmt.Errorf("%s is judged twice in this sheet", v.ExampleID)
		}
		out = append(out, v)
		return nil
	})
	return out, err
}

func yesNo(s string) (bool, error) {
	switch strings.ToLower(strings.Trim(s, " .!")) {
	case "yes", "y", "true", "1":
		return true, nil
	case "no", "n", "false", "0":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither yes nor no", s)
}

// SheetRows reads a table that people filled in, with comma, semicolon or tab as
// its first line has them, one row a call and io.EOF behind the last. Rows may
// have any number of cells. A sheet of tabs is plain or quoted, see
// [fetch.QuotedTabs]. A broken quote is a [*csv.ParseError].
func SheetRows(b []byte) (next func() ([]string, error), err error) {
	if fetch.LoneCR(b) {
		return nil, errLoneCR
	}
	r := csv.NewReader(bytes.NewReader(b))
	r.FieldsPerRecord = -1
	r.Comma = rune(fetch.Separator(b))
	if r.Comma != '\t' {
		return r.Read, nil
	}
	opt := fetch.RowOptions{Comma: '\t', MaxRow: -1, Ragged: true}
	if quoted, err := fetch.QuotedTabs(bytes.NewReader(b), opt); quoted || err != nil {
		return r.Read, err
	}
	opt.Plain = true
	var rows [][]string
	for row, err := range fetch.CSV(bytes.NewReader(b), opt) {
		if err != nil {
			return nil, err
		}
		rows = append(rows, row.Fields)
	}
	return func() (row []string, err error) {
		if len(rows) == 0 {
			return nil, io.EOF
		}
		row, rows = rows[0], rows[1:]
		return row, nil
	}, nil
}

var errLoneCR = errors.New("its lines end in a CR alone, as those of old Macs: save it as CSV (UTF-8)")

// NoStray refuses a row that says something behind the last of a table's
// columns: a cell that holds the separator and stands in no quotes has moved
// those behind it. Spreadsheets, in which notes may stand there, give such notes
// a column without a name.
func NoStray(row []string, columns int) error {
	for _, c := range row[min(columns, len(row)):] {
		if c = strings.TrimSpace(c); c != "" {
			return fmt.Errorf("%q stands behind the last column: put a cell that holds a comma, a semicolon or a tab in quotes", c)
		}
	}
	return nil
}

// readSheet calls f for each row that holds anything. Columns may stand in any
// order; the first column's cell must not be empty. It goes on after a bad row
// and returns all their errors.
func readSheet(r io.Reader, name string, ids, needed []string, f func(cell func(string) string) error) error {
	b, err := io.ReadAll(io.LimitReader(r, maxLog+1))
	if err != nil {
		return fmt.Errorf("reading %s: %w", cmpName(name), err)
	}
	b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	switch {
	case len(b) > maxLog:
		return fmt.Errorf("%s: more than %d MiB", cmpName(name), maxLog>>20)
	case bytes.HasPrefix(b, []byte("PK\x03\x04")):
		return fmt.Errorf("%s: this is a spreadsheet, not CSV: save it as CSV (UTF-8)", cmpName(name))
	case !utf8.Valid(b):
		return fmt.Errorf("%s: not UTF-8: save it as CSV (UTF-8)", cmpName(name))
	}
	next, err := SheetRows(b)
	if err != nil {
		return fmt.Errorf("%s: %w", cmpName(name), err)
	}
	columns, err := next()
	if errors.Is(err, io.EOF) {
		err = errors.New("the file is empty")
	}
	if err != nil {
		return fmt.Errorf("%s: no heading: %w", cmpName(name), err)
	}
	at := map[string]int{}
	for i, c := range columns {
		columns[i] = strings.ToLower(strings.TrimSpace(c))
		at[columns[i]] = i
	}
	if err := schemas.ColumnsOnce(columns); err != nil {
		return fmt.Errorf("%s: %w", cmpName(name), err)
	}
	for _, c := range slices.Concat(ids, needed) {
		if _, ok := at[c]; !ok {
			return fmt.Errorf("%s: no column %s: is it a sheet of the other task?", cmpName(name), c)
		}
	}
	var all []error
	for n := 2; ; n++ {
		record, err := next()
		if errors.Is(err, io.EOF) {
			return errors.Join(all...)
		}
		var syntax *csv.ParseError
		if errors.As(err, &syntax) {
			// What follows a broken quote may stand in any column.
			return errors.Join(append(all, &LineError{name, n, syntax.Err})...)
		}
		if err != nil {
			return fmt.Errorf("reading %s, row %d: %w", cmpName(name), n, err)
		}
		cell := func(c string) string {
			i, ok := at[c]
			if !ok || i >= len(record) {
				return ""
			}
			return strings.TrimSpace(record[i])
		}
		if !slices.ContainsFunc(record, func(c string) bool { return strings.TrimSpace(c) != "" }) {
			continue
		}
		if err = NoStray(record, len(columns)); err != nil {
			// its cells may stand in any column
		} else if cell(ids[0]) == "" {
			err = fmt.Errorf("no %s", ids[0])
		} else {
			err = f(cell)
		}
		if err != nil {
			all = append(all, &LineError{name, n, err})
		}
	}
}
