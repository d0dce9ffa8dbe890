// SPDX-License-Identifier: Apache-2.0

package schemas

// Names of variants, also the second half of an [ExampleID].
const (
	VariantOriginal       = "original"       // the source story
	VariantPatched        = "patched"        // A1 + A2' + A3': the plot hole
	VariantCounterfactual = "counterfactual" // A1' + A2' + A3': consistent
	VariantResolved       = "resolved"       // patched, with the error explained away
	VariantEditControl    = "edit_control"   // the same operator on a fact act 1 never stated
)

// Draft is a source story, one fact of its first act and everything made from
// the two: a match. Steps of the Maker copy it forward and fill it.
type Draft struct {
	DraftID     string       `json:"draft_id"` // match_id once a fact is chosen, until then the story's group_id
	StoryID     string       `json:"story_id"`
	GroupID     string       `json:"group_id"`
	MatchID     string       `json:"match_id"`
	Title       string       `json:"title"`
	Language    string       `json:"language"`
	Collection  string       `json:"collection"`
	Source      Source       `json:"source"`
	SourceWords int          `json:"source_words"`
	Sections    []Section    `json:"sections"`
	Marks       []Mark       `json:"marks"`
	SourceFacts []SourceFact `json:"source_facts"`

	Original Variant `json:"original"`
	Acts     *Acts   `json:"acts"`
	Facts    []Fact  `json:"facts"` // all facts of act 1, until one is chosen
	Fact     *Fact   `json:"fact"`
	Flaw     *Flaw   `json:"flaw"`

	Patched        *Variant `json:"patched"`
	Counterfactual *Variant `json:"counterfactual"`
	Resolved       *Variant `json:"resolved"`
	EditControl    *Variant `json:"edit_control"`

	// Gold, over the sentences of Patched.
	Errors       []GoldSentence `json:"errors"`
	Contradicted []GoldSentence `json:"contradicted"`
	Explanation  string         `json:"explanation"`
	Judge        *JudgeVotes    `json:"judge"`
	Difficulty   *Difficulty    `json:"difficulty"`

	Provenance []Provenance `json:"provenance"`
}

// Acts says where the acts of the original start: code point offsets;
// act 1 starts at 0 and the acts joined are the story byte for byte.
type Acts struct {
	Act2 int `json:"act2"`
	Act3 int `json:"act3"`
	// How each start was found in the text: exact, folded, prefix, fuzzy, rule.
	How2 string `json:"how2"`
	How3 string `json:"how3"`
}

// Fact is a statement that act 1 establishes, and what would hold were it false.
type Fact struct {
	ID             string `json:"id"`       // F1, F2, ... in the answer's order
	Category       string `json:"category"` // character or setting
	Statement      string `json:"statement"`
	Counterfactual string `json:"counterfactual"`
	Evidence       []int  `json:"evidence"`   // sentences of the original that state it
	Importance     *int   `json:"importance"` // 1 to 4; null where nobody could know
	Kind           string `json:"kind"`       // see FlawKinds
	Subtype        string `json:"subtype"`    // see Subtypes
	Class          string `json:"class"`      // the rule engine's class, or empty
	// Rule engine's operator: the head noun or name, its value and the new value.
	Head string `json:"head"`
	Old  string `json:"old"`
	New  string `json:"new"`
}

// Flaw types a plot hole.
type Flaw struct {
	Kind     string `json:"kind"`     // continuity, out_of_character, factual, impossible_event, unresolved
	Subtype  string `json:"subtype"`  // one of the 19 ConStory subtypes
	Class    string `json:"class"`    // rule class (colour, name, kin_count, ...) or empty
	Severity string `json:"severity"` // harmless or unbridgeable, empty where nobody judged
	Sites    int    `json:"sites"`    // maximal runs of adjacent changed sentences in A2' + A3'
	Tags     int    `json:"tags"`     // marked passages in the answer, 0 for rules
}

// Variant is one text of a match with its frozen sentences.
type Variant struct {
	Name      string   `json:"name"`
	Text      string   `json:"text"`
	TextHash  string   `json:"text_hash"`
	Words     int      `json:"words"`
	Sentences []Bounds `json:"sentences"`
	// Edits against the original, in order; undoing all of them gives the
	// original back, byte for byte. Null for the original itself.
	Edits []Edit `json:"edits"`
	// Judge counts what was said of this text where that decided whether it stays
	// (yes = it has an error); null where nobody judged, and for the patched
	// story, whose votes are the draft's.
	Judge *JudgeVotes `json:"judge"`
	// Detail is what an edit-control changes, in the answer's words; null
	// elsewhere, and where the answer does not say.
	Detail *Detail `json:"detail"`
}

// Detail is what an edit-control changes: nothing that act 1 states.
type Detail struct {
	Statement      string `json:"statement"`
	Counterfactual string `json:"counterfactual"`
	Class          string `json:"class"` // the rule engine's class, or empty
}

// GoldSentence is a sentence of the patched story that belongs to a gold set.
type GoldSentence struct {
	Sentence int      `json:"sentence"`
	Share    *float64 `json:"share"` // of yes votes that cite it; null for rules
	From     string   `json:"from"`  // votes, evidence, edit, people
}

// JudgeVotes is what the marked-line judge said.
type JudgeVotes struct {
	Asked int `json:"asked"`
	Yes   int `json:"yes"`
	No    int `json:"no"`
	Bad   int `json:"bad"` // unreadable, truncated, refused
}

// Difficulty describes how far apart and how plain the two sides are.
type Difficulty struct {
	Words     int    `json:"words"`     // between the last contradicted sentence before the first error sentence, and that one
	Sentences int    `json:"sentences"` // the same in sentences
	Supports  int    `json:"supports"`  // sentences of the source that repeat the fact after act 1
	Sites     int    `json:"sites"`
	Explicit  bool   `json:"explicit"` // the fact is stated, not inferred
	Voice     string `json:"voice"`    // narrator or speech: where the first error stands
}
