// SPDX-License-Identifier: Apache-2.0

package schemas

// Kinds of [Story].
const (
	KindStory = "story" // a narrative text
	KindQuery = "query" // an instruction to write one
)

// Story is one text of a corpus after cleaning. Text is frozen (see package
// text): NFC, LF newlines, no white space at either end; every offset counts
// in it.
type Story struct {
	StoryID  string `json:"story_id"`
	GroupID  string `json:"group_id"`  // story_id of the kept copy; set by dedup, until then the story's own
	TextHash string `json:"text_hash"` // HashText(Text)
	Kind     string `json:"kind"`
	Title    string `json:"title"`
	Language string `json:"language"` // BCP 47: en, zh
	Words    int    `json:"words"`    // runs of non-white-space
	Text     string `json:"text"`
	// Collection is what a tale came in: the book's or origin's key. Names for
	// renaming flaws are drawn from tales of the same collection.
	Collection string       `json:"collection"`
	Source     Source       `json:"source"`
	Sections   []Section    `json:"sections"` // the upstream's own parts in reading order; null where it has none
	Marks      []Mark       `json:"marks"`    // verse, letters and other stretches that are not running prose
	Facts      []SourceFact `json:"facts"`    // expert questions and answers of the upstream
	Target     string       `json:"target"`   // a query's human answer where the upstream has one
	Meta       []KeyValue   `json:"meta"`     // upstream fields worth keeping, in upstream order (split, type, tag, ...)
	Removed    []Removal    `json:"removed"`  // what cleaning took out
	Seen       []SeenIn     `json:"seen"`     // earlier releases or corpora in which dedup found it, where marking was asked
	Provenance []Provenance `json:"provenance"`
}

// Source says where a text came from and what may be done with it.
type Source struct {
	Corpus       string `json:"corpus"`
	ID           string `json:"id"` // the upstream's own key
	Title        string `json:"title"`
	Author       string `json:"author"`
	Licence      string `json:"licence"` // SPDX id, or a name of the table in releases (public-domain-us, unstated, ...)
	LicenceURL   string `json:"licence_url"`
	URL          string `json:"url"`
	Attribution  string `json:"attribution"`
	Redistribute string `json:"redistribute"` // text, derived or ids: the most a release may carry
	File         string `json:"file"`         // slash path relative to the corpus folder
	RawSHA256    string `json:"raw_sha256"`   // of that file's bytes, or of the record's bytes in a record file
	Charset      string `json:"charset"`      // as which it was decoded
	Repaired     int    `json:"repaired"`     // bytes read as Windows-1252 inside UTF-8
}

// What a release may carry of a source, most first. Each holds what follows it.
// Any other value, an empty one too, is as good as ids: terms that nobody knows
// give no right to pass a text on.
const (
	RedistributeText    = "text"
	RedistributeDerived = "derived" // prompts made from it, not the text
	RedistributeIDs     = "ids"     // identifiers alone
)

// MayReleaseText tells whether the source's terms let a release carry its text,
// as a whole or in quotes. It is the one place that decides this: which stories
// become rows, which of two copies stays, what a manifest quotes, what goes out
// to annotators. Everything else may still be made of the text where it lies.
func (s Source) MayReleaseText() bool { return s.Redistribute == RedistributeText }

// MayReleaseDerived tells whether they let a release carry what was made from
// the text without quoting it at length, as prompts are.
func (s Source) MayReleaseDerived() bool {
	return s.MayReleaseText() || s.Redistribute == RedistributeDerived
}

// Section is a part that the upstream itself marks.
type Section struct {
	ID string `json:"id"`
	Bounds
}

// Mark is a stretch of another nature than prose: verse, letter, heading,
// speech (a play's).
type Mark struct {
	Kind string `json:"kind"`
	Bounds
}

// SourceFact is a question with its answers as people wrote them for the
// story, and the sections the answer stands in.
type SourceFact struct {
	ID        string   `json:"id"`
	Question  string   `json:"question"`
	Answers   []string `json:"answers"`
	Sections  []string `json:"sections"` // ids of Story.Sections
	Attribute string   `json:"attribute"`
	Explicit  bool     `json:"explicit"`
}

// Removal records what a named cleaning rule took out: a range in bytes of
// the decoded upstream file, before any change.
type Removal struct {
	Rule      string `json:"rule"`
	ByteStart int    `json:"byte_start"`
	ByteEnd   int    `json:"byte_end"`
}

// SeenIn marks an overlap with an earlier release or a corpus.
type SeenIn struct {
	Where       string  `json:"where"`
	ID          string  `json:"id"`
	Kind        string  `json:"kind"` // exact, near, contained, excerpt
	Jaccard     float64 `json:"jaccard"`
	Containment float64 `json:"containment"`
}

// KeyValue is one named string; lists of it keep the upstream's order.
type KeyValue struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Provenance says which step made a record from what. It holds no path, no
// time and no address.
type Provenance struct {
	Step       string `json:"step"`
	Version    string `json:"version"`
	Engine     string `json:"engine"`      // rules or model; empty where no call is involved
	Model      string `json:"model"`       // the recipe's model name with its declared revision
	PromptHash string `json:"prompt_hash"` // SHA-256 of the template
	InputHash  string `json:"input_hash"`  // text_hash, or the keys of the answers used
}

// Dropped is a record that was set aside. Nothing vanishes without one.
type Dropped struct {
	ID       string     `json:"id"`     // of the record set aside, or a file and row where it never became one
	Stage    string     `json:"stage"`  // the step, and for a make stage step/stage
	Reason   string     `json:"reason"` // a code from the step's documented list, lower_snake
	Detail   string     `json:"detail"` // one sentence for people
	Evidence []KeyValue `json:"evidence"`
}

// Duplicate is one line of dedup's evidence table.
type Duplicate struct {
	StoryID     string  `json:"story_id"` // removed or marked
	KeptID      string  `json:"kept_id"`
	Kind        string  `json:"kind"` // exact, near, contained, excerpt
	Jaccard     float64 `json:"jaccard"`
	Containment float64 `json:"containment"`
	SharedBands int     `json:"shared_bands"`
	ClusterSize int     `json:"cluster_size"`
	Against     string  `json:"against"` // the earlier release or corpus; empty within the run
}
