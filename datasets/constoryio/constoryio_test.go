// SPDX-License-Identifier: Apache-2.0

package constoryio

import (
	"bytes"
	"compress/gzip"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/retcon-bench/retcon/internal/sharedtest"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/scoring"
)

func sequence(rows ...[]*string) iter.Seq2[[]*string, error] {
	return func(yield func([]*string, error) bool) {
		for _, r := range rows {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func onDisk(t *testing.T, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.parquet")
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func collect(t *testing.T, table *scoring.CheckTable) (out [][]string) {
	t.Helper()
	for row, err := range table.Rows {
		if err != nil {
			t.Fatal(err)
		}
		cells := make([]string, len(row))
		for i, c := range row {
			if cells[i] = "(null)"; c != nil {
				cells[i] = strings.Clone(*c)
			}
		}
		out = append(out, cells)
	}
	return out
}

// ourRow is a story with everything that makes a file hard to write.
func ourRow(t *testing.T) (schemas.Generated, schemas.CheckReport) {
	story := "Zoë had “red” hair.\n\nShe was born in May, at 100% <speed>.\nZoë had brown hair, and June was her month."
	g := schemas.Generated{ID: 7, Language: "en", TaskType: "generation", Prompt: "Write,\n\"please\"", ModelName: "m", GeneratedStory: &story}
	ev := func(quote string) schemas.Evidence {
		i := strings.Index(story, quote)
		if i < 0 {
			return schemas.Evidence{Quote: quote}
		}
		from := len([]rune(story[:i]))
		return schemas.Evidence{Quote: quote, Location: "par. 1", Spans: []schemas.Span{{Offsets: schemas.Offsets{Start: from, End: from + len([]rune(quote))}}}}
	}
	rep := schemas.CheckReport{StoryID: "g7", TextHash: schemas.HashText(story), Judge: "j", Findings: []schemas.Finding{
		{Subtype: "appearance_mismatches", Also: []string{"style_shifts", "duration_contradictions"}, Fact: ev("Zoë had “red” hair"), Contra: ev("Zoë had brown hair"), Support: 1, Asked: 1, Status: "anchored", Context: "a < b"},
		{Subtype: "appearance_mismatches", Fact: ev("nowhere at all in it"), Support: 1, Asked: 1, Status: "unanchored"},
		{Subtype: "memory_contradictions", Fact: ev("She was born in May"), Contra: ev("June was her month"), Support: 1, Asked: 3, Status: "anchored"},
	}}
	for _, c := range schemas.Categories {
		st := schemas.CheckStatus{Category: c.Name, Status: "ok"}
		if c.Name == "world_building" {
			st.Status = "refused"
		}
		rep.Status = append(rep.Status, st)
	}
	return g, rep
}

// A story with a name and no number keeps its name, or two of them would be one
// story to whoever reads the table.
func TestRowID(t *testing.T) {
	for _, c := range []struct {
		g    schemas.Generated
		want string
	}{
		{schemas.Generated{ID: 7, PromptID: "p7"}, "7"},
		{schemas.Generated{PromptID: "tales:a"}, "tales:a"},
		{schemas.Generated{}, "0"},
	} {
		row, err := Row(c.g, nil, scoring.VoteMajority)
		if err != nil || *row[0] != c.want {
			t.Errorf("%+v: id %q, %v; want %q", c.g, *row[0], err, c.want)
		}
	}
}

// Our records through the reference's CSV and Parquet: the same words, flags,
// places and statuses as before.
func TestRoundTrip(t *testing.T) {
	g, rep := ourRow(t)
	row, err := Row(g, &rep, scoring.VoteMajority)
	if err != nil {
		t.Fatal(err)
	}
	empty, err := Row(schemas.Generated{ID: 8, ModelName: "m"}, nil, scoring.VoteMajority)
	if err != nil {
		t.Fatal(err)
	}
	table := func() *scoring.CheckTable {
		return &scoring.CheckTable{Columns: Columns, Rows: sequence(row, empty)}
	}
	var csv, pq bytes.Buffer
	if err := WriteCSV(&csv, table()); err != nil {
		t.Fatal(err)
	}
	if err := WriteParquet(&pq, table()); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(csv.String(), "\ufeffid,language,task_type,prompt,model_name,") {
		t.Errorf("CSV starts with %.60q", csv.String())
	}
	fromCSV, err := scoring.OpenCheckCSV(&csv)
	if err != nil {
		t.Fatal(err)
	}
	fromParquet, err := OpenParquet(onDisk(t, pq.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	want := collect(t, table())
	if diff := cmp.Diff(want, collect(t, fromCSV)); diff != "" {
		t.Errorf("CSV: %s", diff)
	}
	if diff := cmp.Diff(append([][]string{Columns}, want...), append([][]string{fromParquet.Columns}, collect(t, fromParquet)...)); diff != "" {
		t.Errorf("Parquet: %s", diff)
	}
	ours, err := scoring.CheckRowOfReport(g, rep, scoring.VoteMajority)
	if err != nil {
		t.Fatal(err)
	}
	a := scoring.Measure(ours, scoring.MeasureOptions{})
	var b scoring.CheckRecord
	for r, err := range fromParquet.Checks(scoring.CheckCSV{}) {
		if err != nil {
			t.Fatal(err)
		}
		if r.ID == "7" {
			b = scoring.Measure(r, scoring.MeasureOptions{})
		} else if m := scoring.Measure(r, scoring.MeasureOptions{}); m.HasText || m.Complete() {
			t.Errorf("the story that is not there: %+v", m)
		}
	}
	for _, d := range []scoring.ErrorDef{scoring.SubtypeFlags, scoring.Distinct, scoring.DistinctLocated} {
		if a.Counts[d].Total() != b.Counts[d].Total() {
			t.Errorf("%v: %d in our records, %d in the reference's", d, a.Counts[d].Total(), b.Counts[d].Total())
		}
	}
	if a.Words != b.Words || a.Model != b.Model || b.Judge != "j" || b.State != "partial_4_5" || strings.Join(a.Failed(), " ") != strings.Join(b.Failed(), " ") {
		t.Errorf("%+v\n%+v", a, b)
	}
	if b.Counts[scoring.SubtypeFlags].Total() != 3 { // the pair of a third of the samples is not written
		t.Errorf("%d flags, want 3", b.Counts[scoring.SubtypeFlags].Total())
	}
	// Same input, same bytes.
	var again bytes.Buffer
	if err := WriteParquet(&again, table()); err != nil || !bytes.Equal(again.Bytes(), pq.Bytes()) {
		t.Errorf("other bytes, %v", err)
	}
}

// A column of nothing but nulls, numbers and truth values, and a nested column.
func TestParquetTypes(t *testing.T) {
	id, story := 7.0, "One two three."
	schema := parquet.NewSchema("s", parquet.Group{"id": parquet.Optional(parquet.Leaf(parquet.DoubleType)), "flag": parquet.Leaf(parquet.BooleanType),
		"small": parquet.Leaf(parquet.Int32Type), "story_text": parquet.Optional(parquet.String()), "factual_detail_appearance_mismatches": parquet.String(),
		"list": parquet.List(parquet.String()), "generation_error": parquet.Optional(parquet.Leaf(parquet.NullType))})
	var b bytes.Buffer
	w := parquet.NewGenericWriter[any](&b, schema)
	if _, err := w.Write([]any{
		map[string]any{"id": id, "flag": true, "small": int32(3), "story_text": story, "factual_detail_appearance_mismatches": "[]", "list": []string{"a"}},
		map[string]any{"id": 8.5, "flag": false, "small": int32(-1), "factual_detail_appearance_mismatches": "ERROR: HTTP 400", "list": []string{}},
	}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	table, err := OpenParquet(onDisk(t, b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	get := func(row []string, column string) string { return row[slices.Index(table.Columns, column)] }
	rows := collect(t, table)
	if slices.Contains(table.Columns, "list") || len(rows) != 2 {
		t.Fatalf("columns %v, %d rows", table.Columns, len(rows))
	}
	if got := get(rows[0], "id") + get(rows[0], "flag") + get(rows[0], "small") + get(rows[0], "story_text") + get(rows[0], "generation_error"); got != "7true3One two three.(null)" {
		t.Errorf("%q", got)
	}
	if get(rows[1], "story_text") != "(null)" || get(rows[1], "id") != "8.5" {
		t.Errorf("%q", rows[1])
	}
	n := 0
	for r, err := range table.Checks(scoring.CheckCSV{Model: "m"}) {
		if n++; err != nil || r.Model != "m" || n == 1 && (r.Story != story || r.ID != "7") || n == 2 && r.HasStory {
			t.Errorf("%+v, %v", r, err)
		}
	}
}

func TestRefuses(t *testing.T) {
	for _, bad := range []string{"", "PAR1", "PAR1xxxxPAR1", strings.Repeat("x", 100)} {
		if _, err := OpenParquet(onDisk(t, []byte(bad))); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
	x := "7/summary"
	err := WriteParquet(io.Discard, &scoring.CheckTable{Columns: []string{"id"}, Rows: sequence([]*string{&x})})
	if err == nil || !strings.Contains(err.Error(), `"7/summary" is no integer`) {
		t.Errorf("%v", err)
	}
	if err := WriteParquet(io.Discard, &scoring.CheckTable{Columns: []string{"id", "a,b"}, Rows: sequence()}); err == nil {
		t.Error("a column that cannot be named is written")
	}
}

// The reference's own files: CSV, made Parquet, read again.
func TestRealFiles(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(sharedtest.Path(t, "oracles/constory/data/csv"), "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files, %v", err)
	}
	for _, name := range files {
		open := func() *scoring.CheckTable {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var r io.Reader = bytes.NewReader(b)
			if strings.HasSuffix(name, ".gz") {
				if r, err = gzip.NewReader(r); err != nil {
					t.Fatal(err)
				}
			}
			table, err := scoring.OpenCheckCSV(r)
			if err != nil {
				t.Fatal(err)
			}
			return table
		}
		var b bytes.Buffer
		if err := WriteParquet(&b, open()); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		table, err := OpenParquet(onDisk(t, b.Bytes()))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		rows := collect(t, table)
		if diff := cmp.Diff(collect(t, open()), rows); diff != "" {
			t.Errorf("%s: %.500s", name, diff)
		}
		t.Logf("%s: %d rows, %d bytes of Parquet", filepath.Base(name), len(rows), b.Len())
		// Every column of the reference's is one of ours.
		for _, c := range table.Columns {
			if !slices.Contains(Columns, c) {
				t.Errorf("%s has a column %q that is never written", name, c)
			}
		}
	}
}
