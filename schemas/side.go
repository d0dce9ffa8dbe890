// SPDX-License-Identifier: Apache-2.0

package schemas

// SourceStory is a row of the config sources: a story from which rows of the
// release come, without its text.
type SourceStory struct {
	StoryID        string  `json:"story_id"` // the group_id of its rows
	Title          string  `json:"title"`
	Language       string  `json:"language"`
	Collection     string  `json:"collection"`
	Words          int     `json:"words"`     // of the frozen text
	TextHash       string  `json:"text_hash"` // SHA-256 of the frozen text
	Source         Source  `json:"source"`
	Removed        []Count `json:"removed"` // passages that cleaning took out of the upstream text, by rule
	Rows           int     `json:"rows"`    // of the release, in all configs and splits
	DatasetVersion string  `json:"dataset_version"`
	Canary         string  `json:"canary"`
}

// RowProvenance is a row of the config provenance: which steps made one row of
// the release from what.
type RowProvenance struct {
	RowID          string       `json:"row_id"` // config/split/example_id
	Config         string       `json:"config"`
	Split          string       `json:"split"`
	ExampleID      string       `json:"example_id"`
	TextHash       string       `json:"text_hash"`
	Steps          []Provenance `json:"steps"` // in the order in which they ran
	DatasetVersion string       `json:"dataset_version"`
	Canary         string       `json:"canary"`
}

// Annotation is a row of the config annotations: one vote that counted, with
// the annotator's name replaced by a number.
type Annotation struct {
	AnnotationID string `json:"annotation_id"` // example_id/annotator
	Vote
	DatasetVersion string `json:"dataset_version"`
	Canary         string `json:"canary"`
}
