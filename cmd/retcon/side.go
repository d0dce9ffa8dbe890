// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/retcon-bench/retcon/datasets"
	"github.com/retcon-bench/retcon/internal/pipeline"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/splits"
)

// annotationsTable holds the votes that counted, as a release has them.
const annotationsTable = "annotations.jsonl"

// sideTables lists the configs that say where the public rows come from, how
// they were made and, where there are votes, who voted on them.
func (c *chain) sideTables() []datasets.Table {
	public := func(yield func(splitRow, error) bool) {
		for r, err := range pipeline.Records[splitRow](c.ws.Step(splitsDir)) {
			if err == nil && r.Row.Split == splits.Hidden {
				continue
			}
			if !yield(r, err) {
				return
			}
		}
	}
	version, canary := c.recipe.Version, c.recipe.Canary
	sources := func(yield func(schemas.SourceStory, error) bool) {
		rows := map[string]int{}
		for r, err := range public {
			if err != nil {
				yield(schemas.SourceStory{}, err)
				return
			}
			rows[r.Row.GroupID]++
		}
		stories, err := pipeline.OpenIndex[schemas.Story](c.ws.Step(dedupDir))
		if err != nil {
			yield(schemas.SourceStory{}, err)
			return
		}
		defer stories.Close()
		for _, id := range slices.Sorted(maps.Keys(rows)) {
			s, err := stories.Get(id)
			removed := map[string]int{}
			for _, r := range s.Removed {
				removed[r.Rule]++
			}
			row := schemas.SourceStory{StoryID: id, Title: s.Title, Language: s.Language, Collection: s.Collection, Words: s.Words, TextHash: s.TextHash,
				Source: s.Source, Removed: pipeline.SortedCounts(removed), Rows: rows[id], DatasetVersion: version, Canary: canary}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
	provenance := func(yield func(schemas.RowProvenance, error) bool) {
		var list []schemas.RowProvenance
		for r, err := range public {
			if err != nil {
				yield(schemas.RowProvenance{}, err)
				return
			}
			list = append(list, schemas.RowProvenance{RowID: datasets.RowID(r.Config, r.Row.Split, r.Row.ExampleID), Config: r.Config, Split: r.Row.Split,
				ExampleID: r.Row.ExampleID, TextHash: r.Row.TextHash, Steps: r.Steps, DatasetVersion: version, Canary: canary})
		}
		slices.SortFunc(list, func(a, b schemas.RowProvenance) int { return strings.Compare(a.RowID, b.RowID) })
		for _, r := range list {
			if !yield(r, nil) {
				return
			}
		}
	}
	out := []datasets.Table{
		datasets.NewTable(datasets.SourcesConfig, splits.Train, "source_story", sources),
		datasets.NewTable(datasets.ProvenanceConfig, splits.Train, "row_provenance", provenance),
	}
	if len(c.votes) == 0 {
		return out
	}
	annotations := func(yield func(schemas.Annotation, error) bool) {
		shown := map[string]bool{}
		for r, err := range public {
			if err != nil {
				yield(schemas.Annotation{}, err)
				return
			}
			shown[r.Row.ExampleID] = true
		}
		for a, err := range pipeline.ReadLines[schemas.Annotation](filepath.Join(c.ws.Step(splitsDir), annotationsTable)) {
			if err == nil && !shown[a.ExampleID] {
				continue
			}
			if !yield(a, err) || err != nil {
				return
			}
		}
	}
	return append(out, datasets.NewTable(datasets.AnnotationsConfig, splits.Train, "annotation", annotations))
}
