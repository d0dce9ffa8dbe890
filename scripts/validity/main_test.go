// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/retcon-bench/retcon/ingest/tales"
	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/llm/rules"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform"
	"github.com/retcon-bench/retcon/transform/flawed"
)

// records makes the records of the embedded tales, as the make step writes them.
func records(t *testing.T) string {
	t.Helper()
	ctx := context.Background()
	client, err := llm.New(llm.Options{Engine: rules.New()})
	if err != nil {
		t.Fatal(err)
	}
	var stories []schemas.Story
	survey := flawed.NewSurvey()
	for item, err := range tales.Corpus.Open(ctx, "", tales.Corpus.Defaults) {
		if err != nil {
			t.Fatal(err)
		}
		b, err := item.Load(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range b.Stories {
			s.GroupID = s.StoryID
			survey.Add(s)
			stories = append(stories, s)
		}
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	for _, s := range stories {
		d, err := flawed.Start(s)
		if err != nil {
			t.Fatal(err)
		}
		o, err := transform.Chain(ctx, transform.Env{Seed: 1, Model: client}, flawed.Steps(flawed.Config{Seed: 1, Survey: survey}), func(d schemas.Draft) string { return d.DraftID }, d)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range o.Outs {
			if err := enc.Encode(d); err != nil {
				t.Fatal(err)
			}
		}
	}
	path := filepath.Join(t.TempDir(), "records.jsonl")
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestStudy draws a sample, fills two forms and collects them.
func TestStudy(t *testing.T) {
	recs := records(t)
	dir := filepath.Join(t.TempDir(), "study")
	var out bytes.Buffer
	draw := []string{"sample", "-records", recs, "-commit", "0123abcd", "-n", "6", "-others", "2", "-out", dir}
	if err := run(draw, &out); err != nil {
		t.Fatal(err)
	}
	if err := run(draw, &out); err == nil {
		t.Error("a second sample was drawn into the same folder")
	}
	page, err := os.ReadFile(filepath.Join(dir, "001.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Sentences C: ", "Sentences E: ", " E] ", "`contradiction`"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("001.md has no %q", want)
		}
	}
	for _, secret := range []string{"rules", "counterfactual\":", "rc-", "kin_count", "Class"} {
		if strings.Contains(string(page), secret) {
			t.Errorf("001.md gives %q away", secret)
		}
	}
	form, err := os.ReadFile(filepath.Join(dir, "form.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	fill := func(reader string, no int) string {
		var b strings.Builder
		for n, l := range strings.Split(strings.TrimSpace(string(form)), "\n") {
			var j Judgement
			if err := json.Unmarshal([]byte(l), &j); err != nil {
				t.Fatal(err)
			}
			if _, complete := j.valid(); complete {
				t.Fatal("an empty form counts as judged")
			}
			j.Reader = reader
			for q := range j.Answers {
				yes := n != no
				j.Answers[q] = &yes
			}
			if n == no {
				j.Reason = "It does not."
			}
			if err := line(&b, j); err != nil {
				t.Fatal(err)
			}
		}
		// A judgement of a text that has changed since is not one of this.
		fmt.Fprintf(&b, `{"reader":%q,"kind":"patched","example_id":%q,"text_hash":"old","answers":{}}`+"\n", reader, exampleOf(t, form))
		path := filepath.Join(t.TempDir(), reader+".jsonl")
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	out.Reset()
	joined := filepath.Join(t.TempDir(), "judgements.jsonl")
	if err := run([]string{"collect", "-sample", filepath.Join(dir, "sample.jsonl"), "-out", joined, fill("anna", 0), fill("bela", 1)}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"patched: 6 drawn", "anna       valid 5 of 6 judged", "all readers valid 4 of 6, in agreement on 4", "resolved: 2 drawn", "2 of another text (stale)"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	got, err := os.ReadFile(joined)
	if err != nil || bytes.Count(got, []byte("\n")) != 2*10 {
		t.Errorf("%d joined judgements, want 20: %v", bytes.Count(got, []byte("\n")), err)
	}
}

func exampleOf(t *testing.T, form []byte) string {
	var j Judgement
	if err := json.Unmarshal(bytes.SplitN(form, []byte("\n"), 2)[0], &j); err != nil {
		t.Fatal(err)
	}
	return j.ExampleID
}

func TestNoNeedsAReason(t *testing.T) {
	dir := t.TempDir()
	s, j := filepath.Join(dir, "sample.jsonl"), filepath.Join(dir, "j.jsonl")
	for path, text := range map[string]string{
		s: `{"number":1,"kind":"resolved","example_id":"rc-a","text_hash":"h"}`,
		j: `{"reader":"anna","kind":"resolved","example_id":"rc-a","text_hash":"h","answers":{"resolved":false,"fits":true,"grammatical":true},"reason":" "}`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	err := run([]string{"collect", "-sample", s, j}, &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "j.jsonl:1") {
		t.Errorf("got %v, want an error that names the line", err)
	}
}
