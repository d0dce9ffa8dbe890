// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
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
