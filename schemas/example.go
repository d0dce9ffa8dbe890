// SPDX-License-Identifier: Apache-2.0

package schemas

// Labels of an [Example].
const (
	LabelError      = "error"
	LabelConsistent = "consistent"
)

// Values of Example.Verification.
const (
	VerifiedCrowd  = "crowd"      // at least three people, by majority
	VerifiedAuthor = "author"     // one named reviewer
	VerifiedRules  = "rules"      // the offline engine's own checks
	Unverified     = "unverified" // nobody yet
)

// Example is one row of an evaluation config. It needs no join.
//
// A null list says that nobody annotated; an empty one that there is nothing.
type Example struct {
	ExampleID    string `json:"example_id"`
	GroupID      string `json:"group_id"` // source story
	MatchID      string `json:"match_id"` // source and fact; the group_id for an original
	Split        string `json:"split"`
	Variant      string `json:"variant"`
	Verification string `json:"verification"`

	Title     string   `json:"title"`
	Language  string   `json:"language"`
	Story     string   `json:"story"`
	TextHash  string   `json:"text_hash"`
	Words     int      `json:"words"`
	Sentences []Bounds `json:"sentences"`

	Label       string  `json:"label"`
	ContError   float64 `json:"cont_error"` // 1 error, 0 consistent
	Explanation *string `json:"explanation"`

	ErrorSpans        []Span `json:"error_spans"`        // whole sentences that introduce the error
	ContradictedSpans []Span `json:"contradicted_spans"` // whole earlier sentences they contradict
	Edits             []Edit `json:"edits"`              // changed words against the source

	// The columns of the published data set, for its readers.
	ContErrorExpl     string `json:"cont_error_expl"`    // NA on negatives
	ContErrorLines    string `json:"cont_error_lines"`   // <li>...</li> items, NA on negatives
	ContradictedLines string `json:"contradicted_lines"` // the same

	Fact           *string     `json:"fact"`
	Counterfactual *string     `json:"counterfactual"`
	Importance     *int        `json:"importance"`
	FlawKind       *string     `json:"flaw_kind"`
	FlawSubtype    *string     `json:"flaw_subtype"`
	FlawClass      *string     `json:"flaw_class"`
	Severity       *string     `json:"severity"`
	Sites          *int        `json:"sites"`
	Difficulty     *Difficulty `json:"difficulty"`
	NegativeKind   *string     `json:"negative_kind"` // original, counterfactual, resolved, edit_control; null on positives

	Engine      string     `json:"engine"`
	Votes       *VoteCount `json:"votes"`
	SourceWords int        `json:"source_words"`
	Source      Source     `json:"source"`

	DatasetVersion string `json:"dataset_version"`
	Canary         string `json:"canary"`
}

// VoteCount is the people's or the judge's count behind a row.
type VoteCount struct {
	Judge      *JudgeVotes `json:"judge"`
	Annotators int         `json:"annotators"`
	Valid      int         `json:"valid"`
}
