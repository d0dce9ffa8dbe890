// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"fmt"
	"maps"
	"slices"

	"github.com/retcon-bench/retcon/schemas"
)

// Side configs say something about the rows of the others: where they come
// from, how they were made, who voted on them. Their split is called train, as
// the hub's tools expect of a table without one.
const (
	SourcesConfig     = "sources"     // schemas.SourceStory, by story_id
	ProvenanceConfig  = "provenance"  // schemas.RowProvenance, by row_id
	AnnotationsConfig = "annotations" // schemas.Annotation, by annotation_id
)

// sideRow is what is the same in all of them.
type sideRow struct {
	id, version, canary string
}

func sideOf(v any) (sideRow, bool) {
	switch r := v.(type) {
	case schemas.SourceStory:
		return sideRow{r.StoryID, r.DatasetVersion, r.Canary}, true
	case schemas.RowProvenance:
		return sideRow{r.RowID, r.DatasetVersion, r.Canary}, true
	case schemas.Annotation:
		return sideRow{r.AnnotationID, r.DatasetVersion, r.Canary}, true
	}
	return sideRow{}, false
}

// sideDocs says for people what the side configs are, by schema.
var sideDocs = map[string]string{
	"source_story":   "the stories from which the rows come, with licence, upstream hash and what cleaning took out; no text",
	"row_provenance": "which steps, engines and prompts made each row",
	"annotation":     "each vote that counted, annotators as numbers",
}

// sideSchema reports the schema of a side config.
func sideSchema(name string) bool { return sideDocs[name] != "" }

// check checks a row against the release it stands in. last is the id of the
// row before.
func (r sideRow) check(m schemas.Manifest, last string) error {
	switch {
	case r.id <= last:
		return fmt.Errorf("row %s does not follow %s: rows stand in order of their ids, each once", r.id, last)
	case r.canary != m.Canary || r.version != m.Version:
		return fmt.Errorf("row %s says canary %q, dataset_version %q; they are %q, %q", r.id, r.canary, r.version, m.Canary, m.Version)
	}
	return nil
}

// sides gathers what side configs say while the rows are read, to hold it
// against the rows themselves.
type sides struct {
	rowsOf map[string]int            // rows of each source, as counted
	texts  map[string]string         // text_hash of each row, by row id
	claims map[string]map[string]int // by config: id -> rows
	hashes map[string]string         // of provenance, by row id
	votes  []schemas.Annotation
}

func newSides() sides {
	return sides{rowsOf: map[string]int{}, texts: map[string]string{}, claims: map[string]map[string]int{}, hashes: map[string]string{}}
}

func (s *sides) example(config, split string, e schemas.Example) {
	s.rowsOf[e.GroupID]++
	s.texts[RowID(config, split, e.ExampleID)] = e.TextHash
}

// RowID is the row_id of schemas.RowProvenance.
func RowID(config, split, exampleID string) string { return config + "/" + split + "/" + exampleID }

func (s *sides) add(config string, v any) {
	if s.claims[config] == nil {
		s.claims[config] = map[string]int{}
	}
	switch r := v.(type) {
	case schemas.SourceStory:
		s.claims[config][r.StoryID] = r.Rows
	case schemas.RowProvenance:
		s.claims[config][r.RowID] = len(r.Steps)
		s.hashes[r.RowID] = r.TextHash
	case schemas.Annotation:
		s.votes = append(s.votes, r)
	}
}

// sideConfigs holds what the side configs say against the rows.
func (v *verifier) sideConfigs() {
	s := v.sides
	if !v.complete {
		return
	}
	file := func(config string) string {
		for _, c := range v.Manifest.Configs {
			if c.Name == config && len(c.Splits) > 0 && len(c.Splits[0].Files) > 0 {
				return c.Splits[0].Files[0].Path
			}
		}
		return ManifestFile
	}
	if claims, ok := s.claims[SourcesConfig]; ok {
		for _, id := range slices.Sorted(maps.Keys(s.rowsOf)) {
			if n, ok := claims[id]; !ok {
				v.problem(file(SourcesConfig), "source %s of %d rows is missing", id, s.rowsOf[id])
			} else if n != s.rowsOf[id] {
				v.problem(file(SourcesConfig), "source %s: it says %d rows, there are %d", id, n, s.rowsOf[id])
			}
		}
		for _, id := range slices.Sorted(maps.Keys(claims)) {
			if _, ok := s.rowsOf[id]; !ok {
				v.problem(file(SourcesConfig), "source %s has no row", id)
			}
		}
	}
	if claims, ok := s.claims[ProvenanceConfig]; ok {
		for _, id := range slices.Sorted(maps.Keys(s.texts)) {
			switch steps, ok := claims[id]; {
			case !ok:
				v.problem(file(ProvenanceConfig), "row %s has no provenance", id)
			case steps == 0:
				v.problem(file(ProvenanceConfig), "row %s: no step made it", id)
			case s.hashes[id] != s.texts[id]:
				v.problem(file(ProvenanceConfig), "row %s: its text_hash is that of another text", id)
			}
		}
		for _, id := range slices.Sorted(maps.Keys(claims)) {
			if _, ok := s.texts[id]; !ok {
				v.problem(file(ProvenanceConfig), "row %s is no row of the release", id)
			}
		}
	}
	for _, a := range s.votes {
		if !v.seen[a.ExampleID] {
			v.problem(file(AnnotationsConfig), "annotation %s is of no row of the release", a.AnnotationID)
		}
	}
}
