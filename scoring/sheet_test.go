// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retcon-bench/retcon/schemas"
)

func TestHumanSheet(t *testing.T) {
	pos, neg := millRow(), row("rc-o", "other", append([]string{"-- so it began."}, millStory...), nil, nil)
	key := keyOf(t, pos, neg)
	var buf bytes.Buffer
	if err := WriteHumanSheet(&buf, key.Items(), func(yield func(schemas.Example, error) bool) {
		_ = yield(neg, nil) && yield(pos, nil)
	}); err != nil {
		t.Fatal(err)
	}
	sheet := buf.String()
	if !strings.HasPrefix(sheet, "\ufeffexample_id,") || !strings.Contains(sheet, "'-- so it began.") {
		t.Errorf("the sheet:\n%.300s", sheet)
	}
	records, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(sheet, "\ufeff"))).ReadAll()
	if err != nil || len(records) != 3 {
		t.Fatal(err, len(records))
	}
	want := []schemas.Prediction{{ExampleID: records[1][0], TextHash: records[1][1], Model: "ann", Prompt: "human", Outcome: "ok", Label: "error",
		ErrorLines: []string{"One line; of two.", "Another."}, ContradictedLines: []string{"A third."}, Explanation: "Because \"so\"."}}
	// As spreadsheets of different countries save it; the second row is left blank.
	for _, comma := range []rune{',', ';', '\t'} {
		var out bytes.Buffer
		w := csv.NewWriter(&out)
		w.Comma, w.UseCRLF = comma, true
		r := append([]string{}, records[1]...)
		copy(r[3:], []string{" Yes ", "One line; of two.\n2. Another.", "A third.", "Because \"so\".", "12"})
		_ = w.WriteAll([][]string{records[0], r, records[2]})
		got, err := ReadHumanSheet(&out, "ann.csv", "ann")
		if err != nil || !cmp.Equal(got, want) {
			t.Errorf("%q: %v\n%s", comma, err, cmp.Diff(want, got))
		}
	}
	// And as tools save it that know no quoting.
	got, err := ReadHumanSheet(strings.NewReader("example_id\ttext_hash\thas_error\terror_lines\tcontradicted_lines\r\na\th\tyes\tThe \"old\" king.\t\"Yes,\" she said.\r\n"), "s.tsv", "ann")
	if err != nil || len(got) != 1 || got[0].ErrorLines[0] != `The "old" king.` || got[0].ContradictedLines[0] != `"Yes," she said.` {
		t.Errorf("plain tabs: %+v, %v", got, err)
	}
	head := "example_id,text_hash,has_error,error_lines,contradicted_lines\n"
	for _, c := range []struct{ sheet, want string }{
		{head + "a,h,perhaps,,\n", `s.csv:2: has_error: "perhaps" is neither yes nor no`},
		{head + "a,h,,x,\n", "s.csv:2: lines are given"},
		{head + "a,h,no,,\n,h,yes,,\n", "s.csv:3: no example_id"},
		{head + "a,h,no,,\na,h,yes,,\n", "s.csv:3: a is answered twice"},
		{head + "a,h,no,\"x,\n", "s.csv:2: "},
		{"claim_id,text_hash\n", "no column example_id"},
		{"example_id,text_hash,has_error,error_lines,contradicted_lines,Has_Error\na,h,no,,,yes\n", `s.csv: column "has_error" stands twice`},
		{"", "no heading"},
		{"PK\x03\x04...", "save it as CSV"},
		{head + "a,h,no,\xe9,\n", "not UTF-8"},
	} {
		if _, err := ReadHumanSheet(strings.NewReader(c.sheet), "s.csv", "ann"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.sheet, err, c.want)
		}
	}
}

func TestClaimSheet(t *testing.T) {
	claims := []Claim{{ID: "fp-a", ExampleID: "rc-o", TextHash: "h", Model: "secret-model", Explanation: "=HYPERLINK(1)", ErrorLines: []string{"x", "y"}}, {ID: "fp-b", ExampleID: "rc-o", TextHash: "h"}}
	var buf bytes.Buffer
	if err := WriteClaimSheet(&buf, claims, func(string) string { return "Once." }); err != nil {
		t.Fatal(err)
	}
	if s := buf.String(); strings.Contains(s, "secret-model") || !strings.Contains(s, ",'=HYPERLINK(1),") {
		t.Errorf("the sheet:\n%s", s)
	}
	head := "claim_id,text_hash,valid,kind,reason,minutes\n"
	got, err := ReadClaimSheet(strings.NewReader(head+"fp-a,h,No,over-read,they did,\"1,5\"\nfp-b,h,,,,\nfp-c,h,?,,,\nfp-d,h,y,,,2\n"), "v.csv", "ann")
	yes, no := true, false
	want := []schemas.Vote{
		{ExampleID: "fp-a", TextHash: "h", Annotator: "ann", Valid: &no, Kind: "over_read", Reason: "they did", Seconds: 90},
		{ExampleID: "fp-c", TextHash: "h", Annotator: "ann"},
		{ExampleID: "fp-d", TextHash: "h", Annotator: "ann", Valid: &yes, Seconds: 120},
	}
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("%v\n%s", err, cmp.Diff(want, got))
	}
	_, err = ReadClaimSheet(strings.NewReader(head+"fp-a,h,no,typo,,\nfp-b,h,yes,genre,,\nfp-c,h,,genre,,\nfp-d,h,no,,,soon\n"), "v.csv", "ann")
	for _, want := range []string{`v.csv:2: kind "typo" is none of motive, state, genre, over_read`, "v.csv:3: a kind of mistake", "v.csv:4: a kind is given", `v.csv:5: minutes "soon"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestSheetShapes: a sheet whose lines end in a CR alone has no rows, and a row
// that is longer than the heading has moved cells; both are said. Columns
// without a name, and lines that Windows ended twice, are read.
func TestSheetShapes(t *testing.T) {
	head := "example_id,text_hash,has_error,error_lines,contradicted_lines"
	for _, c := range []struct{ in, want string }{
		{head + "\ra,h,yes,x,y\rb,h,no,,\r", "s.csv: its lines end in a CR alone"},
		{"\"example_id\",\"text_hash\",\"has_error\",\"error\nlines\"\r\"a\"", "s.csv: its lines end in a CR alone"},
		{strings.ReplaceAll(head, ",", "\t") + "\ra\th\tyes\tx\ty\r", "s.csv: its lines end in a CR alone"},
		{head + "\na,h,yes,He ran, and fell.,y\nb,h,no,,,,\n", `s.csv:2: "y" stands behind the last column`},
		{head + ",,\na,h,yes,x,y,a note,\n", ""},
		{head + "\r\r\na,h,yes,x,y\r\r\n", ""},
		{head + "\na,h,yes,\"x\rz\",y\n", ""},
	} {
		got, err := ReadHumanSheet(strings.NewReader(c.in), "s.csv", "ann")
		if c.want == "" {
			if err != nil || len(got) != 1 || got[0].ExampleID != "a" {
				t.Errorf("%q: %+v, %v", c.in, got, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.in, err, c.want)
		}
	}
}

// FuzzSheets: no sheet breaks the readers, and what they take is a record that
// the scorer takes.
func FuzzSheets(f *testing.F) {
	for _, s := range []string{
		"example_id,text_hash,has_error,error_lines,contradicted_lines\na,h,yes,\"x\ny\",z\n", "\ufeffexample_id;text_hash;has_error;error_lines;contradicted_lines\na;h;no;;\n",
		"claim_id,text_hash,valid,kind,minutes\na,h,no,genre,3\nb,h,?,,\n", "claim_id\ttext_hash\tvalid\tkind\n\"", "", "PK\x03\x04", "a,\"",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		preds, err := ReadHumanSheet(bytes.NewReader(b), "s.csv", "ann")
		for i := range preds {
			if bad := CheckPrediction(&preds[i]); bad != nil {
				t.Errorf("%+v: %v", preds[i], bad)
			}
		}
		if err != nil && !strings.Contains(err.Error(), "s.csv") {
			t.Errorf("the error does not name the file: %v", err)
		}
		votes, err := ReadClaimSheet(bytes.NewReader(b), "s.csv", "ann")
		for _, v := range votes {
			if v.ExampleID == "" || !(v.Seconds >= 0) || v.Kind != "" && (v.Valid == nil || *v.Valid) {
				t.Errorf("%+v", v)
			}
		}
		if err != nil && !strings.Contains(err.Error(), "s.csv") {
			t.Errorf("the error does not name the file: %v", err)
		}
	})
}
