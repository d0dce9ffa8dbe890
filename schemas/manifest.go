// SPDX-License-Identifier: Apache-2.0

package schemas

// States of a step's output.
const (
	StateComplete = "complete"
	StatePartial  = "partial" // published with answers missing, by --partial
)

// StepManifest stands beside each step's records in the workspace. A step is
// current while name, version, settings, templates and inputs are equal.
type StepManifest struct {
	Step      string       `json:"step"`
	Version   string       `json:"version"`
	Settings  string       `json:"settings"`  // SHA-256 of the step's settings as canonical JSON
	Templates []NamedHash  `json:"templates"` // prompt templates it renders
	Inputs    []NamedHash  `json:"inputs"`    // what it read, in reading order
	Outputs   []FileHash   `json:"outputs"`
	State     string       `json:"state"`
	In        int          `json:"in"`
	Out       int          `json:"out"`
	Dropped   int          `json:"dropped"`
	Reasons   []Count      `json:"reasons"` // drops by stage/reason, sorted
	Counts    []Count      `json:"counts"`  // whatever else the step counts, sorted by name
	Usage     []StageUsage `json:"usage"`
	Stages    []StageYield `json:"stages"` // of a step that takes each record through stages, in their order; null for others
}

// StageYield is one stage of a funnel.
type StageYield struct {
	Stage   string        `json:"stage"`
	In      int           `json:"in"`
	Out     int           `json:"out"`     // may exceed in where a stage makes several records of one
	Waiting int           `json:"waiting"` // records that an answer is missing for
	Reasons []ReasonYield `json:"reasons"` // by name
}

// SetAside is how many records ended at the stage.
func (y StageYield) SetAside() int {
	n := 0
	for _, r := range y.Reasons {
		n += r.Records
	}
	return n
}

// ReasonYield says how often a stage set something aside for a reason.
type ReasonYield struct {
	Reason  string `json:"reason"`
	Records int    `json:"records"` // that ended with it
	Parts   int    `json:"parts"`   // of records that went on: a fact, a variant
	// Examples are the first few, in reading order.
	Examples []ReasonExample `json:"examples"`
}

// ReasonExample is one record, or part of one, that was set aside. A release
// says nothing of it that could quote a text which it does not carry.
type ReasonExample struct {
	ID     string `json:"id"`
	Detail string `json:"detail"`
}

// NamedHash is a name with a SHA-256 in hex.
type NamedHash struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

// FileHash is a file of a workspace step or of a release: a slash path
// relative to its folder.
type FileHash struct {
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	Rows   int    `json:"rows"` // records in it; 0 for files without
}

// Count is one line of a count by name.
type Count struct {
	Name string `json:"name"`
	N    int    `json:"n"`
}

// StageUsage sums what one stage and model used, from stored answers.
type StageUsage struct {
	Stage            string  `json:"stage"`
	Model            string  `json:"model"`
	Engine           string  `json:"engine"`
	Calls            int     `json:"calls"`
	PromptTokens     int     `json:"prompt_tokens"`
	CompletionTokens int     `json:"completion_tokens"`
	ReasoningTokens  int     `json:"reasoning_tokens"`
	Cost             float64 `json:"cost"` // US dollars at the recipe's prices, 4 decimals
}

// Manifest says what a release is and how it came about. Card, Croissant,
// citation and evaluation files are made from it.
type Manifest struct {
	Format     int            `json:"format"` // of this file: 1
	Name       string         `json:"name"`
	Version    string         `json:"version"`
	Date       string         `json:"date"`
	Canary     string         `json:"canary"`
	Generator  string         `json:"generator"`  // retcon and its version
	Compressor string         `json:"compressor"` // library and version behind the bytes
	RecipeHash string         `json:"recipe_hash"`
	Recipe     Recipe         `json:"recipe"` // resolved; without paths, addresses and keys
	State      string         `json:"state"`
	Steps      []StepManifest `json:"steps"`
	Corpora    []CorpusUse    `json:"corpora"`
	Configs    []ConfigInfo   `json:"configs"`
	Drops      []Count        `json:"drops"` // all steps, by stage/reason
	Leaks      []LeakReport   `json:"leaks"`
	Agreement  []Agreement    `json:"agreement"`
	Overlap    []Overlap      `json:"overlap"`
	Hidden     []Commitment   `json:"hidden"`
	Files      []FileHash     `json:"files"`
	Notes      []string       `json:"notes"` // shortfalls and limits, for people
}

// CorpusUse is what a corpus gave to the release.
type CorpusUse struct {
	Name    string      `json:"name"`
	Licence string      `json:"licence"`
	Files   int         `json:"files"`
	Read    int         `json:"read"` // stories read
	Kept    int         `json:"kept"` // after dedup
	Inputs  []NamedHash `json:"inputs"`
}

// ConfigInfo is one table of one schema.
type ConfigInfo struct {
	Name   string      `json:"name"`
	Schema string      `json:"schema"` // example, prompt, ...
	Splits []SplitInfo `json:"splits"`
}

// SplitInfo is a split's counts and its logical digest, which does not depend
// on the encoding of the files.
type SplitInfo struct {
	Name      string      `json:"name"`
	Rows      int         `json:"rows"`
	Positives int         `json:"positives"`
	Negatives int         `json:"negatives"`
	Target    int         `json:"target"` // positives asked for; 0 = no target
	Groups    int         `json:"groups"`
	Bytes     int64       `json:"bytes"`
	Digest    string      `json:"digest"`
	Words     *LengthStat `json:"words"` // null for tables without stories
	Files     []FileHash  `json:"files"`
}

// LengthStat describes a distribution as the paper's tables A2 and A3 do.
type LengthStat struct {
	N      int     `json:"n"`
	Mean   float64 `json:"mean"`
	SD     float64 `json:"sd"` // sample deviation
	Min    float64 `json:"min"`
	Q1     float64 `json:"q1"`
	Median float64 `json:"median"`
	Q3     float64 `json:"q3"`
	Max    float64 `json:"max"`
}

// LeakReport is the leak audit of one config: can the label be told from
// surface features alone?
type LeakReport struct {
	Config   string   `json:"config"`
	Groups   int      `json:"groups"`
	AUC      *float64 `json:"auc"`   // null where it could not be computed
	Lower    *float64 `json:"lower"` // 95 % bounds by group bootstrap
	Upper    *float64 `json:"upper"`
	Judged   bool     `json:"judged"`
	Passed   bool     `json:"passed"`
	Why      string   `json:"why"`      // why not judged, or what failed
	Features []string `json:"features"` // strongest first
}

// Agreement is people's agreement on a config's items.
type Agreement struct {
	Config string   `json:"config"`
	Shown  int      `json:"shown"`
	Kept   int      `json:"kept"`
	Raw    *float64 `json:"raw"`
	Fleiss *float64 `json:"fleiss"`
	Alpha  *float64 `json:"alpha"`
}

// Proofs of an [Overlap].
const (
	ProofSource = "source_disjoint"   // no shared source story, under whatever name, and no near-duplicate
	ProofFlaw   = "flaw_disjoint"     // sources may be shared, plot holes are not
	ProofGrams  = "grams_below_share" // of a benchmark: nothing over the recipe's shares is left; NearText counts what stays and shares a gram
)

// Overlap is the proof that a release shares nothing, or what it shares, with
// an earlier one or with a corpus.
type Overlap struct {
	Against      string `json:"against"`
	SHA256       string `json:"sha256"` // of what was compared against
	Proof        string `json:"proof"`  // source_disjoint, flaw_disjoint or, of a benchmark, grams_below_share
	Compared     int    `json:"compared"`
	Removed      int    `json:"removed"` // stories set aside because they occur there; the counts below are of what stayed
	SharedSource int    `json:"shared_source"`
	SharedFlaw   int    `json:"shared_flaw"`
	NearText     int    `json:"near_text"`
	Holds        bool   `json:"holds"`
}

// Commitment is a hidden row: its id and a salted hash of the row; FORMAT.md
// says how it is made.
type Commitment struct {
	Config    string `json:"config"`
	ExampleID string `json:"example_id"`
	SHA256    string `json:"sha256"`
}
