// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"context"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/splits"
)

// Side configs must say what the rows say.
func TestSideConfigs(t *testing.T) {
	tables := testTables()
	m := testManifest(t)
	var sources []schemas.SourceStory
	var steps []schemas.RowProvenance
	rows := map[string]int{}
	var order []string
	for _, tab := range tables {
		for v, err := range tab.rows {
			if err != nil {
				t.Fatal(err)
			}
			e, ok := v.Interface().(schemas.Example)
			if !ok {
				continue
			}
			if rows[e.GroupID]++; rows[e.GroupID] == 1 {
				order = append(order, e.GroupID)
			}
			steps = append(steps, schemas.RowProvenance{RowID: RowID(tab.Config, tab.Split, e.ExampleID), Config: tab.Config, Split: tab.Split, ExampleID: e.ExampleID,
				TextHash: e.TextHash, Steps: []schemas.Provenance{{Step: "make", Version: "1"}}, DatasetVersion: m.Version, Canary: m.Canary})
		}
	}
	sortBy(order, func(s string) string { return s })
	for _, id := range order {
		sources = append(sources, schemas.SourceStory{StoryID: id, Rows: rows[id], DatasetVersion: m.Version, Canary: m.Canary})
	}
	sortBy(steps, func(p schemas.RowProvenance) string { return p.RowID })
	vote := schemas.Annotation{AnnotationID: steps[0].ExampleID + "/a001", Vote: schemas.Vote{ExampleID: steps[0].ExampleID, Annotator: "a001"}, DatasetVersion: m.Version, Canary: m.Canary}

	verify := func(sources []schemas.SourceStory, steps []schemas.RowProvenance, votes ...schemas.Annotation) string {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "r")
		all := append(testTables(), NewTable(SourcesConfig, splits.Train, "source_story", seqOf(sources)),
			NewTable(ProvenanceConfig, splits.Train, "row_provenance", seqOf(steps)), NewTable(AnnotationsConfig, splits.Train, "annotation", seqOf(votes)))
		if _, err := Write(context.Background(), dir, m, all, WriteOptions{}); err != nil {
			return err.Error()
		}
		rep, err := Verify(context.Background(), dir)
		if err != nil {
			t.Fatal(err)
		}
		return lines(rep.Problems)
	}
	if got := verify(sources, steps, vote); got != "" {
		t.Errorf("the right ones: %s", got)
	}
	edit := func(f func(s []schemas.SourceStory, p []schemas.RowProvenance)) string {
		s, p := append([]schemas.SourceStory{}, sources...), append([]schemas.RowProvenance{}, steps...)
		f(s, p)
		return verify(s, p)
	}
	stray := vote
	stray.ExampleID, stray.AnnotationID = "rc-aaaaaaaaaaaaaaaa", "rc-aaaaaaaaaaaaaaaa/a001"
	for want, got := range map[string]string{
		"is missing":               verify(sources[1:], steps),
		"has no provenance":        verify(sources, steps[1:]),
		"is of no row":             verify(sources, steps, stray),
		"it says 9 rows":           edit(func(s []schemas.SourceStory, _ []schemas.RowProvenance) { s[0].Rows = 9 }),
		"no step made it":          edit(func(_ []schemas.SourceStory, p []schemas.RowProvenance) { p[0].Steps = nil }),
		"that of another text":     edit(func(_ []schemas.SourceStory, p []schemas.RowProvenance) { p[0].TextHash = p[len(p)-1].TextHash }),
		"does not follow":          edit(func(s []schemas.SourceStory, _ []schemas.RowProvenance) { s[0].StoryID = s[1].StoryID }),
		"is no row of the release": verify(sources, append(append([]schemas.RowProvenance{}, steps...), schemas.RowProvenance{RowID: "z/z/z", DatasetVersion: m.Version, Canary: m.Canary})),
		"says canary":              edit(func(s []schemas.SourceStory, _ []schemas.RowProvenance) { s[0].Canary = "other" }),
	} {
		if !strings.Contains(got, want) {
			t.Errorf("want %q in: %s", want, got)
		}
	}
}

func seqOf[T any](list []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, v := range list {
			if !yield(v, nil) {
				return
			}
		}
	}
}

func sortBy[T any](list []T, key func(T) string) {
	slices.SortFunc(list, func(a, b T) int { return strings.Compare(key(a), key(b)) })
}
