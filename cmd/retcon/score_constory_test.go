// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/retcon-bench/retcon/internal/pipeline"
	"github.com/retcon-bench/retcon/schemas"
)

// Two people read a diagnostic set: ann marks every injected pair, turned
// around, and one passage of each control; bo marks nothing and reads less.
func TestConStoryMarks(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	must := func(args ...string) []byte {
		t.Helper()
		var stdout, stderr bytes.Buffer
		if code := run(context.Background(), append([]string{"-q"}, args...), &stdout, &stderr); code != exitOK {
			t.Fatalf("%v: code %d\n%s", args, code, stderr.String())
		}
		return stdout.Bytes()
	}
	must("ingest", "--work", in("w"))
	must("diagnostic", "--in", in("w"), "--stories", "3", "--controls", "2", "--out", in("dg"))
	var ann, bo []byte
	injected, n := 0, 0
	for d, err := range pipeline.ReadLines[schemas.Diagnostic](filepath.Join(in("dg"), diagnosticTruth)) {
		if err != nil {
			t.Fatal(err)
		}
		bounds := func(s schemas.Span) []schemas.Bounds { return []schemas.Bounds{{Start: s.Start, End: s.End}} }
		m := schemas.Marking{StoryID: d.DiagnosticID, TextHash: d.TextHash, Annotator: "ann"}
		for _, i := range d.Injections {
			injected++
			m.Marks = append(m.Marks, schemas.PairMark{Subtype: i.Subtype, Fact: bounds(i.Contra), Contra: bounds(i.Fact)})
		}
		if d.Control {
			m.Marks = append(m.Marks, schemas.PairMark{Category: "narrative_style", Fact: []schemas.Bounds{{Start: 0, End: 5}}})
		}
		if ann, err = schemas.AppendLine(ann, m); err != nil {
			t.Fatal(err)
		}
		if n++; n > 1 { // bo has not read the first
			m.Annotator, m.Marks = "bo", nil
			if bo, err = schemas.AppendLine(bo, m); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, b := range map[string][]byte{"ann.jsonl": ann, "bo.jsonl": bo} {
		if err := os.WriteFile(in(name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var got struct {
		Calibration []struct {
			Reader   string
			Stories  int
			Controls int
			People   int
			Rows     []struct {
				Category   string
				GT         float64
				Pred       float64
				Recall, F1 struct{ Value *float64 }
			}
			Alarms struct{ Value *float64 } `json:"false_positives_per_control"`
		}
	}
	if err := json.Unmarshal(must("score", "constory", "--json", "--diagnostic", in("dg"), "--marks", in("ann.jsonl"), "--marks", in("bo.jsonl")), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Calibration) != 3 || injected == 0 {
		t.Fatalf("%d tables of %d injections", len(got.Calibration), injected)
	}
	a, b, both := got.Calibration[0], got.Calibration[1], got.Calibration[2]
	total := a.Rows[len(a.Rows)-1]
	if a.Reader != "person ann" || total.GT != float64(injected) || total.Pred != float64(injected+2) || *total.Recall.Value != 1 || *a.Alarms.Value != 1 {
		t.Errorf("ann: %+v", a)
	}
	if bt := b.Rows[len(b.Rows)-1]; *bt.Recall.Value != 0 || *b.Alarms.Value != 0 || b.Stories+b.Controls != 4 {
		t.Errorf("bo: %+v", b)
	}
	if both.People != 2 || both.Stories != 3 || both.Controls != 2 || *both.Rows[len(both.Rows)-1].Recall.Value >= 1 || *both.Rows[len(both.Rows)-1].Recall.Value < 0.5 {
		t.Errorf("both: %+v", both)
	}
}
