// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retcon-bench/retcon/internal/pipeline"
	"github.com/retcon-bench/retcon/schemas"
)

// publish writes a step of records by id.
func publish[T any](t *testing.T, ws *pipeline.Workspace, dir string, records map[string]T) {
	t.Helper()
	out, err := ws.Begin(dir)
	if err != nil {
		t.Fatal(err)
	}
	for id, r := range records {
		if err := out.Record(id, r); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := out.Publish(schemas.StepManifest{Step: dir}); err != nil {
		t.Fatal(err)
	}
}

func openWorkspace(t *testing.T) (*pipeline.Workspace, *env, *bytes.Buffer) {
	t.Helper()
	ws, err := pipeline.Open(t.TempDir(), schemas.DefaultRecipe())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	var out bytes.Buffer
	return ws, &env{ctx: t.Context(), stdout: &out, stderr: io.Discard, log: slog.New(slog.DiscardHandler)}, &out
}

// TestStatusCountsWhatIsHandedOut: the items without votes are those that the
// export hands out, whatever else the workspace holds and people voted on.
func TestStatusCountsWhatIsHandedOut(t *testing.T) {
	const story = "The bell was brass. It rained. The tin bell rang."
	sents := []schemas.Bounds{{Start: 0, End: 19}, {Start: 20, End: 30}, {Start: 31, End: 49}}
	ws, e, out := openWorkspace(t)
	drafts := map[string]schemas.Draft{}
	var votes strings.Builder
	for _, c := range []struct {
		id, terms string
		gold      bool
		votes     int
	}{
		{"a", schemas.RedistributeText, true, 3},
		{"b", schemas.RedistributeText, true, 0},
		{"c", schemas.RedistributeText, true, 1},
		{"d", schemas.RedistributeDerived, true, 3},
		{"e", schemas.RedistributeDerived, true, 1},
		{"f", schemas.RedistributeIDs, true, 0},
		{"g", "", true, 0},
		{"h", schemas.RedistributeText, false, 3}, // no question can be made of it
	} {
		d := schemas.Draft{DraftID: c.id, GroupID: "x:" + c.id, MatchID: "x:" + c.id + "#1", Source: schemas.Source{Corpus: "x", Redistribute: c.terms},
			Patched:  &schemas.Variant{Name: schemas.VariantPatched, Text: story, TextHash: schemas.HashText(story), Sentences: sents},
			Original: schemas.Variant{Text: story, Sentences: sents}}
		if c.gold {
			d.Errors, d.Contradicted = []schemas.GoldSentence{{Sentence: 2}}, []schemas.GoldSentence{{Sentence: 0}}
		}
		drafts[d.MatchID] = d
		for i := range c.votes {
			fmt.Fprintf(&votes, `{"example_id":%q,"annotator":"p%d","valid":true}`+"\n", schemas.ExampleID(d.MatchID, schemas.VariantPatched), i)
		}
	}
	publish(t, ws, makeDir, drafts)
	file := filepath.Join(t.TempDir(), "votes.jsonl")
	if err := os.WriteFile(file, []byte(votes.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	flags := reviewFlags{Work: ws.Dir(), Votes: []string{file}}
	if err := (&reviewStatusCmd{reviewFlags: flags, JSON: true}).Run(e); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Items     int             `json:"items"`
		KeptBack  []schemas.Count `json:"kept_back"`
		Without   int             `json:"without_votes"`
		Accepted  int             `json:"accepted"`
		Undecided []string        `json:"undecided"`
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := got
	want.Items, want.Without, want.Accepted = 3, 1, 1
	want.KeptBack = []schemas.Count{{Name: "x (derived)", N: 2}, {Name: "x (ids)", N: 1}, {Name: "x (no terms)", N: 1}}
	want.Undecided = []string{schemas.ExampleID("x:c#1", schemas.VariantPatched)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status, -want +got:\n%s", diff)
	}
	out.Reset()
	if err := (&reviewExportCmd{reviewFlags: flags, Format: "jsonl", Out: "-"}).Run(e); err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(out.Bytes(), []byte("\n")); n != got.Without+len(got.Undecided) {
		t.Errorf("the export has %d items; status says %d without votes and %d undecided", n, got.Without, len(got.Undecided))
	}
	out.Reset()
	if err := (&reviewStatusCmd{reviewFlags: flags}).Run(e); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "x (derived) 2, x (ids) 1, x (no terms) 1") {
		t.Errorf("the table does not name what is kept back:\n%s", out)
	}
}

// TestKeepBack: a manifest quotes in its funnel what the release may hold, and
// nothing else: not of a source whose terms forbid it or that stands in a hidden
// split, nor of a story that dedup no longer holds. A story's own id may look
// like a draft's.
func TestKeepBack(t *testing.T) {
	ws, _, _ := openWorkspace(t)
	story := func(id, group, corpus, terms string) schemas.Story {
		return schemas.Story{StoryID: id, GroupID: group, Source: schemas.Source{Corpus: corpus, Redistribute: terms}}
	}
	stories := map[string]schemas.Story{}
	for _, s := range []schemas.Story{
		story("a:free", "a:free", "a", schemas.RedistributeText),
		story("a:free#2", "a:free#2", "a", schemas.RedistributeIDs), // "2" is its own
		story("a:hidden", "a:hidden", "a", schemas.RedistributeText),
		story("b:kept", "b:kept", "b", schemas.RedistributeDerived),
		story("b:x:y", "b:x:y", "b", schemas.RedistributeText),
	} {
		stories[s.StoryID] = s
	}
	publish(t, ws, dedupDir, stories)
	publish(t, ws, splitsDir, map[string]splitRow{
		"1": {Config: "flawed_fictions", Row: schemas.Example{Split: "test", GroupID: "a:free"}},
		"2": {Config: "flawed_fictions", Row: schemas.Example{Split: "test_hidden", GroupID: "a:hidden"}},
	})
	c := &chain{ws: ws, recipe: schemas.DefaultRecipe()}
	c.recipe.Splits.HiddenShare = 0.5
	var list []schemas.ReasonExample
	for _, id := range []string{"a:free", "a:free#0123abcd", "a:free#2", "a:free#2#0123abcd", "a:hidden", "a:hidden#0123abcd",
		"b:kept", "b:kept#0123abcd", "b:x:y#0123abcd", "b:gone", "b:gone#0123abcd", "", "#"} {
		list = append(list, schemas.ReasonExample{ID: id, Detail: "quote"})
	}
	m := schemas.StepManifest{Stages: []schemas.StageYield{{Reasons: []schemas.ReasonYield{{Examples: list}}}}}
	index, err := pipeline.OpenIndex[schemas.Story](ws.Step(dedupDir))
	if err != nil {
		t.Fatal(err)
	}
	defer index.Close()
	if err := c.keepBack([]schemas.StepManifest{m}, index); err != nil {
		t.Fatal(err)
	}
	var quoted []string
	for _, e := range list {
		if e.Detail == "quote" {
			quoted = append(quoted, e.ID)
		}
	}
	if want := []string{"a:free", "a:free#0123abcd", "b:x:y#0123abcd"}; !slices.Equal(quoted, want) {
		t.Errorf("quoted: %q, want %q", quoted, want)
	}

	// The manifest's corpora are counted in the same stories.
	for _, name := range []string{"a", "b", "none"} {
		var corpus corpusIn
		corpus.Name = name
		c.corpora = append(c.corpora, corpus)
	}
	uses := c.corpusUses(schemas.StepManifest{Inputs: make([]schemas.NamedHash, 3)}, index)
	for i, want := range []int{3, 2, 0} {
		if uses[i].Kept != want {
			t.Errorf("corpus %s: kept %d, want %d", uses[i].Name, uses[i].Kept, want)
		}
	}
}
