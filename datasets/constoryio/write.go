// SPDX-License-Identifier: Apache-2.0

package constoryio

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/scoring"
)

// categoryOrder is the order of the categories in the reference's files, which
// is not that of the taxonomy.
var categoryOrder = []string{"characterization", "factual_detail", "narrative_style", "timeline_plot", "world_building"}

// Columns are those of the reference's files in their order, and model_name,
// without which rows of several models cannot stand in one file.
var Columns = columns()

func columns() []string {
	out := []string{"id", "language", "task_type", "prompt", "model_name", "generation_timestamp", "generated_story", "generation_error",
		"evaluation_timestamp", "evaluation_status", "judge_model"}
	for _, name := range categoryOrder {
		for _, c := range schemas.Categories {
			if c.Name == name {
				for _, s := range c.Subtypes {
					out = append(out, c.Column(s))
				}
			}
		}
	}
	return out
}

// cellFinding is a finding as the reference's files hold it.
type cellFinding struct {
	Quote        string  `json:"exact_quote"`
	Location     string  `json:"location"`
	Pair         *string `json:"contradiction_pair"`
	PairLocation string  `json:"contradiction_location"`
	Element      string  `json:"error_element"`
	Category     string  `json:"error_category"`
	Context      string  `json:"context"`
}

// Row makes a row of [Columns] of a story and its report; rep nil for a story
// that was not judged. A finding stands under each of its subtypes, as the
// reference's own answers have it; what could not be judged is "ERROR: " and
// the status, in every column of its category. The files of the reference have
// no samples: findings that the vote accepts are written. Times are null.
func Row(g schemas.Generated, rep *schemas.CheckReport, vote scoring.Vote) ([]*string, error) {
	out := make([]*string, len(Columns))
	put := func(column, v string) { out[slices.Index(Columns, column)] = &v }
	id := strconv.Itoa(g.ID)
	if g.ID == 0 && g.PromptID != "" { // a story that has a name and no number
		id = g.PromptID
	}
	put("id", id)
	for c, v := range map[string]string{"language": g.Language, "task_type": g.TaskType, "prompt": g.Prompt, "model_name": g.ModelName} {
		if v != "" {
			put(c, v)
		}
	}
	out[slices.Index(Columns, "generated_story")], out[slices.Index(Columns, "generation_error")] = g.GeneratedStory, g.GenerationError
	if rep == nil {
		for _, c := range schemas.Categories {
			for _, s := range c.Subtypes {
				put(c.Column(s), "ERROR: not judged")
			}
		}
		put("evaluation_status", "partial_0_5")
		return out, nil
	}
	row, err := scoring.CheckRowOfReport(g, *rep, vote)
	if err != nil {
		return nil, err
	}
	cells := map[string][]cellFinding{}
	for _, f := range rep.Findings {
		if !vote.Accepts(f) {
			continue
		}
		for _, name := range append([]string{f.Subtype}, f.Also...) {
			cat, sub, ok := schemas.FindSubtype(name)
			if !ok {
				return nil, fmt.Errorf("finding %s of story %s: unknown subtype %q", f.FindingID, f.StoryID, name)
			}
			c := cellFinding{Quote: f.Fact.Quote, Location: f.Fact.Location, PairLocation: f.Contra.Location, Element: f.Element, Category: sub.Name, Context: f.Context}
			if f.Contra.Quote != "" {
				c.Pair = &f.Contra.Quote
			}
			if c.Context == "" {
				c.Context = f.Reasoning
			}
			column := cat.Column(sub)
			if !slices.ContainsFunc(cells[column], func(o cellFinding) bool { return o.Quote == c.Quote && samePair(o.Pair, c.Pair) }) {
				cells[column] = append(cells[column], c)
			}
		}
	}
	judged := 0
	for i, c := range schemas.Categories {
		st := row.Status[i]
		good := st == scoring.StatusOK || st == scoring.StatusRepaired
		if good {
			judged++
		}
		for _, s := range c.Subtypes {
			column := c.Column(s)
			switch list := cells[column]; {
			case !good:
				put(column, "ERROR: "+st)
			case list == nil:
				put(column, "[]")
			default:
				var b bytes.Buffer
				enc := json.NewEncoder(&b)
				enc.SetEscapeHTML(false)
				if err := enc.Encode(list); err != nil {
					return nil, err
				}
				put(column, strings.TrimSuffix(b.String(), "\n"))
			}
		}
	}
	state := "completed"
	if judged < len(schemas.Categories) {
		state = fmt.Sprintf("partial_%d_%d", judged, len(schemas.Categories))
	}
	put("evaluation_status", state)
	if rep.Judge != "" {
		put("judge_model", rep.Judge)
	}
	return out, nil
}

func samePair(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }

// WriteCSV writes a table as the reference does: UTF-8 with a byte order mark,
// null as an empty cell, LF at line ends.
func WriteCSV(w io.Writer, t *scoring.CheckTable) error {
	if _, err := io.WriteString(w, "\ufeff"); err != nil {
		return err
	}
	cw := csv.NewWriter(w)
	if err := cw.Write(t.Columns); err != nil {
		return err
	}
	rec := make([]string, len(t.Columns))
	for row, err := range t.Rows {
		if err != nil {
			return err
		}
		for i, c := range row {
			if rec[i] = ""; c != nil {
				rec[i] = *c
			}
		}
		if err := cw.Write(rec); err != nil {
			return err
		}
	}
	cw.Flush()
	return cw.Error()
}

// ErrID says that Parquet, whose id is a number, cannot hold a row.
var ErrID = errors.New("no integer; write CSV")

// rowsPerGroup bounds the texts that writing holds in memory.
const rowsPerGroup = 256

// WriteParquet writes a table as Parquet: id as an integer, everything else as
// optional texts, in the order of its columns. An id that is no integer is an
// error.
func WriteParquet(w io.Writer, t *scoring.CheckTable) error {
	fields := make([]reflect.StructField, len(t.Columns))
	isID := make([]bool, len(t.Columns))
	for i, c := range t.Columns {
		if c == "" || strings.ContainsAny(c, ",\"\\") {
			return fmt.Errorf("write Parquet: column %d is called %q; rename it", i+1, c)
		}
		isID[i] = c == "id"
		typ := reflect.TypeFor[*string]()
		if isID[i] {
			typ = reflect.TypeFor[*int64]()
		}
		fields[i] = reflect.StructField{Name: fmt.Sprintf("C%d", i), Type: typ, Tag: reflect.StructTag(fmt.Sprintf(`parquet:%q`, c+",optional"))}
	}
	schema := parquet.SchemaOf(reflect.New(reflect.StructOf(fields)).Interface())
	options := []parquet.WriterOption{schema, parquet.Compression(&parquet.Zstd), parquet.DataPageStatistics(false)}
	for i, c := range t.Columns {
		if !isID[i] { // the bounds of a column of stories are two stories
			options = append(options, parquet.SkipPageBounds(c))
		}
	}
	pw := parquet.NewGenericWriter[any](w, options...)
	n := 0
	out := make(parquet.Row, len(t.Columns))
	for row, err := range t.Rows {
		if err != nil {
			return err
		}
		n++
		for i, c := range row {
			switch {
			case c == nil:
				out[i] = parquet.NullValue().Level(0, 0, i)
			case isID[i]:
				id, err := strconv.ParseInt(*c, 10, 64)
				if err != nil {
					return fmt.Errorf("write Parquet: row %d: the id %q is %w", n, *c, ErrID)
				}
				out[i] = parquet.Int64Value(id).Level(0, 1, i)
			default:
				out[i] = parquet.ByteArrayValue([]byte(*c)).Level(0, 1, i)
			}
		}
		if _, err := pw.WriteRows([]parquet.Row{out}); err != nil {
			return fmt.Errorf("write Parquet: row %d: %w", n, err)
		}
		if n%rowsPerGroup == 0 {
			if err := pw.Flush(); err != nil {
				return fmt.Errorf("write Parquet: %w", err)
			}
		}
	}
	if err := pw.Close(); err != nil {
		return fmt.Errorf("write Parquet: %w", err)
	}
	return nil
}
