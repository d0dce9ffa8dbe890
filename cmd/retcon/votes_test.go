// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/retcon-bench/retcon/datasets"
	"github.com/retcon-bench/retcon/internal/pipeline"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/splits"
)

// People's votes decide: an item is accepted, rejected or undecided, a gold
// sentence that the majority finds wrong goes, and votes on another text are
// set aside.
func TestVotesDecide(t *testing.T) {
	dir := t.TempDir()
	recipe := "name: votes-test\nversion: 0.1.0\ndate: 2026-01-01\ncanary: 11111111-2222-4333-8444-555555555555\ncorpora: [{name: tales}]\nsplits: {few_shot: 0}\n"
	if err := os.WriteFile(filepath.Join(dir, "r.yaml"), []byte(recipe), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := command(t, dir, "-q", "build", "--recipe", "r.yaml").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var drafts []schemas.Draft
	for d, err := range pipeline.Records[schemas.Draft](filepath.Join(dir, "out.work", makeDir)) {
		if err != nil {
			t.Fatal(err)
		}
		drafts = append(drafts, d)
	}
	id := func(d schemas.Draft) string { return schemas.ExampleID(d.MatchID, schemas.VariantPatched) }
	// The first item needs two error sentences, so that one can be voted away.
	many := -1
	for i, d := range drafts {
		if len(d.Errors) > 1 && d.SourceWords < 1200 {
			many = i
			break
		}
	}
	if many < 0 || len(drafts) < 5 {
		t.Fatalf("%d drafts, none with two error sentences", len(drafts))
	}
	drafts[0], drafts[many] = drafts[many], drafts[0]
	yes, no := true, false
	var file []byte
	vote := func(d schemas.Draft, who string, valid *bool, hash string, marks ...schemas.SentenceVote) {
		var err error
		if file, err = schemas.AppendLine(file, schemas.Vote{ExampleID: id(d), TextHash: hash, Annotator: who, Valid: valid, Sentences: marks}); err != nil {
			t.Fatal(err)
		}
	}
	wrong := schemas.SentenceVote{Set: "error", Sentence: drafts[0].Errors[0].Sentence, Valid: false}
	for _, who := range []string{"a", "b", "c"} {
		vote(drafts[0], who, &yes, drafts[0].Patched.TextHash, wrong)
	}
	vote(drafts[1], "a", &yes, "")
	vote(drafts[1], "b", &no, "")
	vote(drafts[1], "c", &no, "")
	vote(drafts[2], "a", &yes, "")
	vote(drafts[3], "a", &no, schemas.HashText("another text"))
	if err := os.WriteFile(filepath.Join(dir, "votes.jsonl"), file, 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := command(t, dir, "release", "--recipe", "r.yaml", "--work", "out.work", "--out", "voted", "--votes", "votes.jsonl").CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("reason=stale")) {
		t.Fatalf("%v\n%s", err, out)
	}
	r, err := datasets.Open(filepath.Join(dir, "voted"))
	if err != nil {
		t.Fatal(err)
	}
	if a := r.Manifest.Agreement; len(a) != 1 || a[0].Shown != 3 || a[0].Kept != 1 {
		t.Errorf("agreement: %+v", a)
	}
	drops := map[string]int{}
	for _, d := range r.Manifest.Drops {
		drops[d.Name] = d.N
	}
	if drops["splits/rejected"] != 1 || drops["splits/undecided"] != 1 {
		t.Errorf("drops: %v", r.Manifest.Drops)
	}
	rows := map[string]schemas.Example{}
	for _, config := range []string{splits.FlawedFictions, splits.Long} {
		for row, err := range datasets.Rows[schemas.Example](r, config, splits.Test) {
			if err != nil {
				t.Fatal(err)
			}
			rows[row.ExampleID] = row
		}
	}
	accepted := rows[id(drafts[0])]
	if accepted.Verification != schemas.VerifiedCrowd || accepted.Votes == nil || accepted.Votes.Annotators != 3 || accepted.Votes.Valid != 3 {
		t.Errorf("accepted row: verification %q, votes %+v", accepted.Verification, accepted.Votes)
	}
	if len(accepted.ErrorSpans) != len(drafts[0].Errors)-1 || accepted.ErrorSpans[0].Sentence == wrong.Sentence {
		t.Errorf("the sentence voted wrong is still gold: %+v", accepted.ErrorSpans)
	}
	for i, want := range map[int]bool{1: false, 2: false, 3: true} {
		if _, ok := rows[id(drafts[i])]; ok != want {
			t.Errorf("item %d is there: %v, want %v", i, ok, want)
		}
	}
	if got := rows[id(drafts[3])].Verification; got != schemas.VerifiedRules {
		t.Errorf("an item with a stale vote alone is %q", got)
	}
}

// The whole loop of human verification: items and gate questions go out in one
// format and votes come back in three; who fails the gates or is too fast does
// not count; the release prints and keeps the agreement.
func TestReviewLoop(t *testing.T) {
	dir := t.TempDir()
	recipe := "name: votes-test\nversion: 0.1.0\ndate: 2026-01-01\ncanary: 11111111-2222-4333-8444-555555555555\ncorpora: [{name: tales}]\nsplits: {few_shot: 0}\nreview: {min_seconds: 5, gate_pass: 0.6}\n"
	if err := os.WriteFile(filepath.Join(dir, "r.yaml"), []byte(recipe), 0o644); err != nil {
		t.Fatal(err)
	}
	retcon := func(args ...string) []byte {
		t.Helper()
		out, err := command(t, dir, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("retcon %v: %v\n%s", args, err, out)
		}
		return out
	}
	retcon("-q", "build", "--recipe", "r.yaml")
	retcon("review", "export", "--work", "out.work", "--limit", "4", "--gates", "2", "--out", "items.jsonl")
	type item struct {
		ExampleID string `json:"example_id"`
		TextHash  string `json:"text_hash"`
		Sentences []struct {
			Set      string
			Sentence int
		}
	}
	known := map[string]bool{} // the gates: no patched row has such an id
	for d, err := range pipeline.Records[schemas.Draft](filepath.Join(dir, "out.work", makeDir)) {
		if err != nil {
			t.Fatal(err)
		}
		known[schemas.ExampleID(d.GroupID, schemas.VariantOriginal)] = true
	}
	var items, gates []item
	raw, err := os.ReadFile(filepath.Join(dir, "items.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(raw) {
		var it item
		if err := json.Unmarshal(line, &it); err != nil {
			t.Fatal(err)
		}
		if known[it.ExampleID] {
			gates = append(gates, it)
		} else {
			items = append(items, it)
		}
	}
	if len(items) != 4 || len(gates) != 2 {
		t.Fatalf("%d items, %d gates", len(items), len(gates))
	}
	// ann answers in JSON Lines, bob in a sheet, cy in Label Studio; dora says
	// yes to everything, eve takes no time.
	var ann bytes.Buffer
	say := func(who string, it item, valid bool, seconds float64) {
		fmt.Fprintf(&ann, `{"example_id":%q,"text_hash":%q,"annotator":%q,"valid":%v,"seconds":%v}`+"\n", it.ExampleID, it.TextHash, who, valid, seconds)
	}
	bob := "example_id,text_hash,annotator,valid,seconds\n"
	var cy []map[string]any
	for i, it := range append(slices.Clone(items), gates...) {
		valid := i < 3 // the fourth item is not, and the gates are not
		say("ann", it, valid, 30)
		say("dora", it, true, 30)
		if i < 4 {
			say("eve", it, true, 1)
		}
		bob += fmt.Sprintf("%s,%s,bob,%v,22\n", it.ExampleID, it.TextHash, valid)
		answer := map[bool]string{true: "Valid", false: "Not valid"}[valid]
		if i == 2 {
			answer = "Cannot say"
		}
		cy = append(cy, map[string]any{"id": i, "data": map[string]any{"example_id": it.ExampleID, "text_hash": it.TextHash},
			"annotations": []any{map[string]any{"completed_by": 9, "lead_time": 40, "result": []any{map[string]any{"from_name": "valid", "value": map[string]any{"choices": []string{answer}}}}}}})
	}
	js, err := json.Marshal(cy)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"ann.jsonl": ann.Bytes(), "bob.csv": []byte(bob), "cy.json": js} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files := []string{"--votes", "ann.jsonl", "--votes", "bob.csv", "--votes", "cy.json"}
	var status struct {
		Accepted, Rejected int
		Undecided          []string
		SetAside           []schemas.Count `json:"set_aside"`
		Agreement          schemas.Agreement
		Annotators         []struct {
			Name   string
			Right  int
			Passed bool
		}
	}
	if err := json.Unmarshal(retcon(append([]string{"-q", "review", "status", "--work", "out.work", "--json"}, files...)...), &status); err != nil {
		t.Fatal(err)
	}
	if status.Accepted != 2 || status.Rejected != 1 || len(status.Undecided) != 1 || len(status.Annotators) != 5 || *status.Agreement.Raw != 1 {
		t.Errorf("status %+v", status)
	}
	if want := []schemas.Count{{Name: "gate", N: 4}, {Name: "too_fast", N: 4}}; !slices.Equal(status.SetAside, want) {
		t.Errorf("set aside %v, want %v", status.SetAside, want)
	}
	// What is decided is not asked again.
	left := retcon(append([]string{"-q", "review", "export", "--work", "out.work"}, files...)...)
	if !bytes.Contains(left, []byte(status.Undecided[0])) || bytes.Contains(left, []byte(items[0].ExampleID)) {
		t.Error("the second export asks what is decided, or not what is open")
	}
	out := retcon(append([]string{"release", "--recipe", "r.yaml", "--work", "out.work", "--out", "voted"}, files...)...)
	if !bytes.Contains(out, []byte("Krippendorff's alpha")) || !bytes.Contains(out, []byte("splits/rejected")) {
		t.Errorf("the release says nothing of the votes:\n%s", out)
	}
	// The same votes, made into one file first, decide the same.
	retcon("review", "import", "ann.jsonl", "bob.csv", "cy.json", "--out", "all.jsonl")
	retcon("-q", "release", "--recipe", "r.yaml", "--work", "out.work", "--out", "again", "--votes", "all.jsonl")
	rows := map[string][]byte{}
	for _, name := range []string{"voted", "again"} {
		b, err := os.ReadFile(filepath.Join(dir, name, "data", splits.FlawedFictions, "test-00000-of-00001.parquet"))
		if err != nil {
			t.Fatal(err)
		}
		rows[name] = b
	}
	if !bytes.Equal(rows["voted"], rows["again"]) {
		t.Error("votes of three formats and the same votes as JSON Lines give other rows")
	}
}
