// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"bytes"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/scoring"
)

func ptr[T any](v T) *T { return &v }

func collectPreds(seq iter.Seq2[schemas.Prediction, error]) (out []schemas.Prediction, bad []string, fatal error) {
	for p, err := range seq {
		var line *scoring.LineError
		switch {
		case errors.As(err, &line):
			bad = append(bad, err.Error())
		case err != nil:
			return out, bad, err
		default:
			out = append(out, p)
		}
	}
	return out, bad, nil
}

func writeRows[T any](t *testing.T, rows []T, opts ...parquet.WriterOption) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p.parquet")
	var buf bytes.Buffer
	w := parquet.NewGenericWriter[T](&buf, opts...)
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, buf.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// What is written is read again, null and empty lists apart, over page and
// buffer ends.
func TestPredictionsRoundTrip(t *testing.T) {
	want := []schemas.Prediction{
		{ExampleID: "rc-a", TextHash: "h", Model: "m", Prompt: "cot", Sample: 2, Outcome: "ok", Label: "error", ErrorLines: []string{"Zoë ran.", ""},
			ContradictedLines: []string{}, ErrorSentences: []int{0, 7}, Confidence: ptr(0.25), Raw: "x\ny", PromptTokens: 3, CompletionTokens: 4, ReasoningTokens: 5, Release: "r@1", Digest: "d", Explanation: "e"},
		{ExampleID: "rc-b", Outcome: "truncated"},
	}
	for i := range 1100 {
		p := schemas.Prediction{ExampleID: "rc-" + string(rune('a'+i%26)), Sample: i, Label: "error", ErrorLines: make([]string, i%9)}
		for k := range p.ErrorLines {
			p.ErrorLines[k] = strings.Repeat("line ", (i+k)%40)
		}
		want = append(want, p)
	}
	path := filepath.Join(t.TempDir(), "p.parquet")
	var a, b bytes.Buffer
	for _, w := range []*bytes.Buffer{&a, &b} {
		if err := WritePredictions(w, func(yield func(schemas.Prediction, error) bool) {
			for _, p := range want {
				if !yield(p, nil) {
					return
				}
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("the same predictions gave other bytes")
	}
	if err := os.WriteFile(path, a.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	got, bad, err := collectPreds(ReadPredictions(path, scoring.ReadOptions{}))
	if err != nil || bad != nil || !IsParquet(path) {
		t.Fatal(err, bad)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	// Damage anywhere is an error, never a panic and never other predictions.
	for at := 0; at < a.Len(); at += 1 + a.Len()/60 {
		damaged := bytes.Clone(a.Bytes())
		damaged[at] ^= 0x41
		if err := os.WriteFile(path, damaged, 0o644); err != nil {
			t.Fatal(err)
		}
		got, bad, err := collectPreds(ReadPredictions(path, scoring.ReadOptions{}))
		if err == nil && bad == nil && !cmp.Equal(got, want) {
			t.Errorf("byte %d damaged: other predictions were read", at)
		}
	}
	for n := range min(a.Len(), 100) {
		if err := os.WriteFile(path, a.Bytes()[:n], 0o644); err != nil {
			t.Fatal(err)
		}
		if _, _, err := collectPreds(ReadPredictions(path, scoring.ReadOptions{})); err == nil {
			t.Fatalf("the first %d bytes were read", n)
		}
	}
}

// Tables of other programs: other types, other list layouts, other columns.
func TestReadForeignPredictions(t *testing.T) {
	type pandas struct {
		Label     string   `parquet:"label,dict"`
		ExampleID string   `parquet:"example_id"`
		Sample    *float64 `parquet:"sample,optional"` // a null made it a float
		Tokens    int32    `parquet:"completion_tokens"`
		Lines     []string `parquet:"error_lines,list"`
		Plain     []int32  `parquet:"error_sentences"` // two levels
		Raw       *int32   `parquet:"raw,optional"`    // nothing in it
		Index     int64    `parquet:"__index_level_0__"`
	}
	got, bad, err := collectPreds(ReadPredictions(writeRows(t, []pandas{
		{Label: "error", ExampleID: "a", Sample: ptr(1.0), Tokens: 9, Lines: []string{"x", "y"}, Plain: []int32{4, 5}},
		{Label: "consistent", ExampleID: "b"},
	}, parquet.Compression(&parquet.Gzip)), scoring.ReadOptions{Model: "m", Prompt: "p"}))
	want := []schemas.Prediction{
		{ExampleID: "a", Label: "error", Model: "m", Prompt: "p", Sample: 1, CompletionTokens: 9, ErrorLines: []string{"x", "y"}, ErrorSentences: []int{4, 5}},
		{ExampleID: "b", Label: "consistent", Model: "m", Prompt: "p", ErrorLines: []string{}, ErrorSentences: []int{}},
	}
	for i := range got { // null and empty differ by the writer's schema
		if got[i].ErrorLines == nil {
			got[i].ErrorLines = []string{}
		}
		if got[i].ErrorSentences == nil {
			got[i].ErrorSentences = []int{}
		}
	}
	if err != nil || bad != nil || !cmp.Equal(got, want) {
		t.Errorf("%v %v\n%s", err, bad, cmp.Diff(want, got))
	}

	type published struct {
		ID    string  `parquet:"example_id"`
		Story string  `parquet:"story"`
		Error float64 `parquet:"cont_error"`
		Lines string  `parquet:"cont_error_lines"`
	}
	got, bad, err = collectPreds(ReadPredictions(writeRows(t, []published{{"a", "Once.", 1, "<li>x y</li><li>z</li>"}, {"b", "Twice.", 0.5, "NA"}, {"c", "Thrice.", 0, "NA"}}), scoring.ReadOptions{Name: "pub"}))
	if err != nil || len(got) != 2 || got[0].TextHash != schemas.HashText("Once.") || !cmp.Equal(got[0].ErrorLines, []string{"x y", "z"}) ||
		len(bad) != 1 || !strings.HasPrefix(bad[0], "pub:2: ") {
		t.Errorf("published: %+v, %v, %v", got, bad, err)
	}
	type completion struct {
		ID         string `parquet:"example_id"`
		Completion string `parquet:"completion"`
		Tokens     int64  `parquet:"completion_tokens"`
	}
	got, bad, err = collectPreds(ReadPredictions(writeRows(t, []completion{{"a", "<decision>No continuity error found</decision>", 7}}), scoring.ReadOptions{}))
	if err != nil || bad != nil || len(got) != 1 || got[0].Label != schemas.LabelConsistent || got[0].CompletionTokens != 7 {
		t.Errorf("completions: %+v, %v, %v", got, bad, err)
	}
	// Text that is not UTF-8 is a bad row, not a text with holes.
	got, bad, err = collectPreds(ReadPredictions(writeRows(t, []completion{{"a", "<decision>No continuity error found</decision> caf\xe9", 7},
		{"b", "<decision>No continuity error found</decision>", 7}}), scoring.ReadOptions{Name: "c"}))
	if err != nil || len(bad) != 1 || bad[0] != "c:1: completion is not UTF-8" || len(got) != 1 || got[0].ExampleID != "b" {
		t.Errorf("completions that are not UTF-8: %+v, %v, %v", got, bad, err)
	}
	// A column that stands twice is found before anything is read of it.
	_, _, err = collectPreds(ReadPredictions("../internal/parquetfile/testdata/twice-pyarrow.parquet", scoring.ReadOptions{}))
	if err == nil || !strings.Contains(err.Error(), `column "text" stands twice`) {
		t.Errorf("a column twice: %v", err)
	}
}

// TestStoredNumbers: what a column means counts, not how it is stored. DuckDB
// writes 0.93 as the decimal 93, and a list of 1.0 so.
func TestStoredNumbers(t *testing.T) {
	type row struct {
		ID         string  `parquet:"example_id"`
		Label      string  `parquet:"label"`
		Confidence int32   `parquet:"confidence,decimal(2:3)"`
		Sample     int64   `parquet:"sample,decimal(1:18)"`
		Sentences  []int32 `parquet:"error_sentences,list" parquet-element:",decimal(1:2)"`
		Tokens     uint32  `parquet:"prompt_tokens"`
	}
	got, bad, err := collectPreds(ReadPredictions(writeRows(t, []row{{"a", "error", 93, 20, []int32{10, 120}, 1 << 30}, {"b", "error", 0, 25, nil, 0}, {"c", "error", 0, 0, nil, 1<<32 - 1}}),
		scoring.ReadOptions{Name: "p"}))
	want := []schemas.Prediction{{ExampleID: "a", Label: "error", Confidence: ptr(0.93), Sample: 2, ErrorSentences: []int{1, 12}, PromptTokens: 1 << 30}}
	if err != nil || !cmp.Equal(got, want) || len(bad) != 2 || bad[0] != "p:2: sample is 2.5, not a whole number" || bad[1] != "p:3: 4294967295 is no number of tokens, as c has it" {
		t.Errorf("%s\n%q %v", cmp.Diff(want, got), bad, err)
	}
	type published struct {
		ID    int64  `parquet:"example_id"`
		Error int32  `parquet:"cont_error,decimal(1:2)"`
		Lines string `parquet:"cont_error_lines"`
	}
	got, bad, err = collectPreds(ReadPredictions(writeRows(t, []published{{1<<53 + 1, 10, "<li>x</li>"}}), scoring.ReadOptions{}))
	if err != nil || bad != nil || len(got) != 1 || got[0].ExampleID != "9007199254740993" || got[0].Label != schemas.LabelError {
		t.Errorf("published: %+v %q %v", got, bad, err)
	}

	type at struct {
		ID         string `parquet:"example_id"`
		Label      string `parquet:"label"`
		Confidence int64  `parquet:"confidence,timestamp(millisecond)"`
	}
	type lists struct {
		ID    string   `parquet:"example_id"`
		Error int32    `parquet:"cont_error"`
		Lines []string `parquet:"cont_error_lines,list"`
	}
	for want, path := range map[string]string{
		"column confidence does not hold numbers":                      writeRows(t, []at{{"a", "error", 1}}),
		"column cont_error_lines holds lists, objects or times: write": writeRows(t, []lists{{"a", 1, []string{"x"}}}),
		"no predictions in it":                                         "../internal/parquetfile/testdata/none-rows-pandas.parquet", // of a list that pandas knows nothing of
	} {
		if _, _, err := collectPreds(ReadPredictions(path, scoring.ReadOptions{})); err == nil || !strings.Contains(err.Error(), path+": "+want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	got, bad, err = collectPreds(ReadPredictions("../internal/parquetfile/testdata/groups-pyarrow.parquet", scoring.ReadOptions{}))
	if err != nil || bad != nil || len(got) != 2 || got[0].ExampleID != "a" || got[1].ExampleID != "b" {
		t.Errorf("row groups of no rows: %+v %q %v", got, bad, err)
	}
}

func TestBadPredictionTables(t *testing.T) {
	type base struct {
		ID    string  `parquet:"example_id"`
		Label string  `parquet:"label"`
		N     float64 `parquet:"sample"`
	}
	got, bad, err := collectPreds(ReadPredictions(writeRows(t, []base{{"a", "error", 0}, {"", "error", 0}, {"c", "maybe", 0}, {"d", "error", 0.5}, {"e\xff", "error", 0}, {"f", "error", -1}, {"g", "error", 1}}),
		scoring.ReadOptions{Name: "p"}))
	if err != nil || len(got) != 2 || got[1].ExampleID != "g" || len(bad) != 5 {
		t.Fatalf("%+v\n%s\n%v", got, strings.Join(bad, "\n"), err)
	}
	for i, want := range []string{"p:2: no example_id", `p:3: label "maybe"`, "p:4: sample is 0.5, not a whole number", "p:5: example_id is not UTF-8", "p:6: sample -1"} {
		if !strings.HasPrefix(bad[i], want) {
			t.Errorf("%s, want %s", bad[i], want)
		}
	}
	type wrongType struct {
		ID    string `parquet:"example_id"`
		Label int64  `parquet:"label"`
	}
	type stranger struct {
		ID    string `parquet:"example_id"`
		Label string `parquet:"label"`
		Group string `parquet:"group_id"`
	}
	type nested struct {
		ID    string `parquet:"example_id"`
		Label string `parquet:"label"`
		Lines struct {
			A, B string
		} `parquet:"error_lines"`
	}
	type noID struct {
		Label string `parquet:"label"`
	}
	type other struct {
		A string `parquet:"a"`
	}
	for want, path := range map[string]string{
		"label does not hold text":                writeRows(t, []wrongType{{"a", 1}}),
		"group_id is none of a prediction's":      writeRows(t, []stranger{{"a", "error", "g"}}),
		"error_lines does not hold lists of text": writeRows(t, []nested{{ID: "a", Label: "error"}}),
		"no column example_id":                    writeRows(t, []noID{{"error"}}),
		"unknown columns a":                       writeRows(t, []other{{"x"}}),
		"no predictions in it":                    writeRows(t, []base{}),
	} {
		if _, _, err := collectPreds(ReadPredictions(path, scoring.ReadOptions{})); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, _, err := collectPreds(ReadPredictions(filepath.Join(t.TempDir(), "none"), scoring.ReadOptions{})); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("err = %v", err)
	}
}
