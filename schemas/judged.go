// SPDX-License-Identifier: Apache-2.0

package schemas

// Prediction is what a system said of one example. It is bound to the row's
// id and text, and names release and digest; gold is never in it.
type Prediction struct {
	ExampleID string `json:"example_id"`
	TextHash  string `json:"text_hash"`
	Release   string `json:"release"` // name@version
	Digest    string `json:"digest"`  // logical digest of the config scored
	Model     string `json:"model"`
	Prompt    string `json:"prompt"` // vanilla, few-shot, cot, or a name
	Sample    int    `json:"sample"`

	Outcome string `json:"outcome"` // ok, or why there is no answer: empty, refused, truncated, parse_failed, ...
	// Label is error or consistent; empty where the outcome is not ok.
	Label string `json:"label"`
	// Lines as the system quoted them; null where it gave none.
	ErrorLines        []string `json:"error_lines"`
	ContradictedLines []string `json:"contradicted_lines"`
	// Sentence ids where the system names sentences, not quotes; they win over lines.
	ErrorSentences        []int    `json:"error_sentences"`
	ContradictedSentences []int    `json:"contradicted_sentences"`
	Explanation           string   `json:"explanation"`
	Confidence            *float64 `json:"confidence"`

	Raw              string `json:"raw"` // the completion as it came
	PromptTokens     int    `json:"prompt_tokens"`
	CompletionTokens int    `json:"completion_tokens"`
	ReasoningTokens  int    `json:"reasoning_tokens"`
}

// Vote is one annotator's judgement of one item. The last one counts when
// an annotator votes twice; earlier ones are kept as history.
type Vote struct {
	ExampleID string `json:"example_id"`
	TextHash  string `json:"text_hash"`
	Annotator string `json:"annotator"`
	Valid     *bool  `json:"valid"` // null: cannot say
	// Marks on single gold sentences.
	Sentences []SentenceVote `json:"sentences"`
	Reason    string         `json:"reason"`
	Kind      string         `json:"kind"` // of a re-reviewed false prediction: motive, state, genre, over_read
	Seconds   float64        `json:"seconds"`
	Time      string         `json:"time"` // RFC 3339, as the annotator's tool gave it
}

// SentenceVote marks one sentence of a gold set as right or wrong.
type SentenceVote struct {
	Set      string `json:"set"` // error or contradicted
	Sentence int    `json:"sentence"`
	Valid    bool   `json:"valid"`
}

// Finding is one contradiction that a checker reports in a story.
type Finding struct {
	StoryID    string   `json:"story_id"`
	TextHash   string   `json:"text_hash"`
	FindingID  string   `json:"finding_id"`
	Category   string   `json:"category"` // one of Categories
	Subtype    string   `json:"subtype"`  // one of Subtypes
	Also       []string `json:"also"`     // further subtypes under which the same pair was reported
	Fact       Evidence `json:"fact"`     // the earlier passage, by offset
	Contra     Evidence `json:"contradiction"`
	Element    string   `json:"element"` // error_element
	Reasoning  string   `json:"reasoning"`
	Context    string   `json:"context"`
	Status     string   `json:"status"` // anchored, unanchored, copied
	Judge      string   `json:"judge"`
	Protocol   string   `json:"protocol"` // staged or reference
	Sample     int      `json:"sample"`
	Support    int      `json:"support"` // samples of Asked that reported it
	Asked      int      `json:"asked"`
	AnswerKeys []string `json:"answer_keys"`
}

// Evidence is a quote as the model gave it and where it stands in the story.
type Evidence struct {
	Quote    string `json:"quote"`
	Location string `json:"location"` // the model's own words, not used
	Class    string `json:"class"`    // how it was matched; empty where the model gave no quote
	Flagged  bool   `json:"flagged"`
	Why      string `json:"why"`   // why it is flagged or was not found, or which of several places was taken
	Spans    []Span `json:"spans"` // one a piece; empty when not found
}

// CheckStatus is the state of one story and category of a checker's run. A
// failure never reads as "no errors".
type CheckStatus struct {
	StoryID  string `json:"story_id"`
	Category string `json:"category"`
	Sample   int    `json:"sample"`
	Status   string `json:"status"` // ok, repaired, parse_failed, truncated, refused, api_error
	Detail   string `json:"detail"`
	// Findings that this sample's answers gave for the category, a pair of
	// passages counted once; Quarantined of them are not anchored or copied.
	Findings    int      `json:"findings"`
	Quarantined int      `json:"quarantined"`
	TextHash    string   `json:"text_hash"`
	Judge       string   `json:"judge"`
	Protocol    string   `json:"protocol"`
	AnswerKeys  []string `json:"answer_keys"` // of all answers that were read, in the order of the calls
}

// CheckReport is all that one run of a checker says of one story.
type CheckReport struct {
	StoryID  string `json:"story_id"`
	TextHash string `json:"text_hash"`
	Title    string `json:"title"`
	Language string `json:"language"`
	Model    string `json:"model"` // that wrote the story, or empty
	Words    int    `json:"words"` // runs of non-white-space
	Judge    string `json:"judge"`
	Protocol string `json:"protocol"`
	Samples  int    `json:"samples"` // asked of each category
	Windows  int    `json:"windows"` // parts in which the story was read
	// NotJudged are categories that this judge cannot judge at all (the rules
	// know two of the five); they have no status.
	NotJudged []string      `json:"not_judged"`
	Status    []CheckStatus `json:"status"`
	Findings  []Finding     `json:"findings"` // of all samples, merged
	// Agreement of the samples with each other; null for a single one.
	Agreement  []CheckAgreement `json:"agreement"`
	Provenance []Provenance     `json:"provenance"`
}

// CheckAgreement says how far the samples of a category agree, over all pairs
// of samples that were both judged.
type CheckAgreement struct {
	Category string `json:"category"`
	Pairs    int    `json:"pairs"`  // pairs of samples
	Both     int    `json:"both"`   // findings that both samples of a pair report, summed
	Either   int    `json:"either"` // findings that one or both report, summed
	// Same counts pairs that agree on whether there is a finding at all.
	Same int `json:"same"`
}

// AddPair counts two samples that were both judged, by their findings of the
// category. Each of x is the same as one of y at most.
func AddPair[T any](a *CheckAgreement, x, y []T, same func(T, T) bool) {
	both, taken := 0, make([]bool, len(y))
	for _, f := range x {
		for k, g := range y {
			if !taken[k] && same(f, g) {
				taken[k] = true
				both++
				break
			}
		}
	}
	a.Pairs++
	a.Both += both
	a.Either += len(x) + len(y) - both
	if (len(x) > 0) == (len(y) > 0) {
		a.Same++
	}
}

// Tasks of [Prompt] (ConStory-Bench, section 2.1 and appendix A.1).
const (
	TaskGeneration   = "generation"   // a minimal premise, the rest is free
	TaskContinuation = "continuation" // an opening passage to go on from
	TaskExpansion    = "expansion"    // a short but fairly complete outline to fill in
	TaskCompletion   = "completion"   // beginning and ending, with little about the middle
)

// Tasks lists the tasks in the paper's order.
var Tasks = []string{TaskGeneration, TaskContinuation, TaskExpansion, TaskCompletion}

// Prompt is one ConStory-Bench prompt. Its first four fields are the columns
// of the published set, in another order.
type Prompt struct {
	ID       int    `json:"id"`        // PromptNumber(PromptID): adding prompts moves no other
	PromptID string `json:"prompt_id"` // NewPromptID(GroupID, TaskType)
	Language string `json:"language"`
	TaskType string `json:"task_type"` // one of Tasks
	Prompt   string `json:"prompt"`
	MinWords int    `json:"min_words"` // of the story asked for
	MaxWords int    `json:"max_words"`
	StoryID  string `json:"story_id"` // of the source
	GroupID  string `json:"group_id"`
	TextHash string `json:"text_hash"` // of the source's text, in which elements count
	Source   Source `json:"source"`
	// Elements are the parts of the source that the prompt is grounded in. In a
	// release those of a source that may not be passed on as text have offsets
	// and no text.
	Elements       []Element    `json:"elements"`
	Quality        []string     `json:"quality"`     // names of checks that flagged it without setting it aside
	Engine         string       `json:"engine"`      // rules or model
	PromptHash     string       `json:"prompt_hash"` // HashText(Prompt)
	DatasetVersion string       `json:"dataset_version"`
	Canary         string       `json:"canary"`
	Provenance     []Provenance `json:"provenance"`
}

// Element is a part of the source that a prompt uses.
type Element struct {
	Role string `json:"role"` // premise, opening, outline, ending, character, setting, request
	In   string `json:"in"`   // what the span counts in: text, or a field of the source's meta (prompt)
	Span
}
