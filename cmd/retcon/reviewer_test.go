// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/retcon-bench/retcon/schemas"
)

// Who stands behind an item of a model: nobody, unless the recipe allows it;
// three people, by majority; one reviewer where the recipe asks for one. The
// difficulty is measured again when votes take a sentence away.
func TestWhoStandsBehindAnItem(t *testing.T) {
	const story = "The bell was brass. It rained. The tin bell rang. He slept. The tin bell rang again."
	var sents []schemas.Bounds
	at := 0
	for _, s := range strings.SplitAfter(story, ". ") {
		sents = append(sents, schemas.Bounds{Start: at, End: at + len(strings.TrimSpace(s))})
		at += len(s)
	}
	draft := schemas.Draft{GroupID: "c:bell", MatchID: "c:bell#1", Fact: &schemas.Fact{}, Flaw: &schemas.Flaw{Sites: 2},
		Patched:      &schemas.Variant{Name: schemas.VariantPatched, Text: story, TextHash: schemas.HashText(story), Sentences: sents},
		Original:     schemas.Variant{Text: story, Sentences: sents},
		Errors:       []schemas.GoldSentence{{Sentence: 2}, {Sentence: 4}},
		Contradicted: []schemas.GoldSentence{{Sentence: 0}}, Difficulty: &schemas.Difficulty{Words: 2, Sentences: 2}}
	id := schemas.ExampleID(draft.MatchID, schemas.VariantPatched)
	e := &env{ctx: t.Context(), stdout: io.Discard, stderr: io.Discard, log: slog.New(slog.DiscardHandler)}
	for _, c := range []struct {
		name         string
		allow        bool
		least        int
		votes        string // a letter an annotator: y, n, ? (cannot say)
		verification string // or the reason of the drop
		sentences    int    // between the sides
	}{
		{"nobody", false, 3, "", "unverified!", 0},
		{"nobody, allowed", true, 3, "", schemas.Unverified, 2},
		{"too few", false, 3, "yy", "undecided!", 0},
		{"too few, allowed", true, 3, "yy", schemas.Unverified, 2},
		{"an even split", false, 3, "yynn", "undecided!", 0},
		{"an even split, unverified allowed", true, 3, "yynn", "undecided!", 0},
		{"too few and even, allowed", true, 3, "yn", schemas.Unverified, 2},
		{"a majority", false, 3, "yyn", schemas.VerifiedCrowd, 4},
		{"more than half say no", true, 3, "ynn", "rejected!", 0},
		{"one reviewer", false, 1, "y", schemas.VerifiedAuthor, 4},
		{"two and one who cannot say", false, 3, "yy?", "undecided!", 0},
	} {
		var file strings.Builder
		for i, v := range c.votes {
			valid := map[rune]string{'y': "true", 'n': "false", '?': "null"}[v]
			fmt.Fprintf(&file, `{"example_id":%q,"annotator":"a%d","valid":%s,"sentences":[{"set":"error","sentence":2,"valid":false}]}`+"\n", id, i, valid)
		}
		var files []string
		if c.votes != "" {
			name := filepath.Join(t.TempDir(), "v.jsonl")
			if err := os.WriteFile(name, []byte(file.String()), 0o644); err != nil {
				t.Fatal(err)
			}
			files = []string{name}
		}
		recipe := schemas.DefaultRecipe()
		recipe.Make.Engine, recipe.Review.AllowUnverified, recipe.Review.MinAnnotators = engineModel, c.allow, c.least
		rev, err := openReviewer(e, recipe, files, sequence([]schemas.Draft{draft}))
		if err != nil {
			t.Fatal(err)
		}
		d, got, dropped := rev.judge(draft)
		if dropped != nil {
			got = dropped.Reason + "!"
		}
		if got != c.verification {
			t.Errorf("%s: %q, want %q", c.name, got, c.verification)
			continue
		}
		if dropped == nil && d.Difficulty.Sentences != c.sentences {
			t.Errorf("%s: %d sentences between the sides, want %d", c.name, d.Difficulty.Sentences, c.sentences)
		}
	}
}
