// SPDX-License-Identifier: Apache-2.0

package schemas

import "encoding/json"

// Recipe is a data set's story on one page. It is read from YAML by the
// command, checked against jsonschema/recipe.json, completed with defaults
// and copied into the release. It holds no path, address or key: folders come
// by --corpus name=path, keys and base URLs by the environment.
type Recipe struct {
	Name        string `json:"name"`
	Version     string `json:"version"` // SemVer of the data
	Date        string `json:"date"`    // YYYY-MM-DD; never the clock
	Seed        uint64 `json:"seed"`
	Canary      string `json:"canary"` // GUID
	Description string `json:"description"`

	Corpora []CorpusRecipe `json:"corpora"` // in order of preference: of two equal texts the earlier corpus keeps its own
	Dedup   DedupRecipe    `json:"dedup"`
	Make    MakeRecipe     `json:"make"`
	Prompts PromptsRecipe  `json:"prompts"`
	Splits  SplitsRecipe   `json:"splits"`
	Review  ReviewRecipe   `json:"review"`
	Release ReleaseRecipe  `json:"release"`
}

// CorpusRecipe names a corpus and its settings, whose shape the corpus knows.
type CorpusRecipe struct {
	Name     string          `json:"name"`
	Settings json.RawMessage `json:"settings"`
	// MaxBad is the share of unreadable records above which the run stops.
	MaxBad float64 `json:"max_bad"`
}

// DedupRecipe holds dedup's thresholds.
type DedupRecipe struct {
	Shingle     int     `json:"shingle"`     // words a shingle
	Jaccard     float64 `json:"jaccard"`     // near duplicate from here
	Containment float64 `json:"containment"` // contained from here
	Bands       int     `json:"bands"`
	Rows        int     `json:"rows"`
	Excerpts    bool    `json:"excerpts"`
	MaxCluster  int     `json:"max_cluster"` // a larger cluster stops the run
	Boilerplate int     `json:"boilerplate"` // a passage that so many stories carry beside their own text makes no duplicate; 0 = off
	Index       string  `json:"index"`       // finds candidates: bands, or minhash-lsh (the reference)
	Against     string  `json:"against"`     // remove or mark what occurs in an earlier release or corpus
	Mark        bool    `json:"mark"`        // mark it in Story.Seen in place of removing it
	Earlier     string  `json:"earlier"`     // earlier releases whose copy of a story stays, comma-separated names
	Benchmarks  string  `json:"benchmarks"`  // benchmarks whose texts no story may hold, comma-separated names
	GramWords   int     `json:"gram_words"`  // words a gram of that search
	ItemShare   float64 `json:"item_share"`  // of a benchmark item in one story, from which on the story is set aside
	StoryShare  float64 `json:"story_share"` // of a story in benchmark items, from which on it is set aside
}

// MakeRecipe says how plot holes are made.
type MakeRecipe struct {
	Engine         string        `json:"engine"` // rules or model; openai, batch and replay are ways to ask a model
	Models         []ModelRecipe `json:"models"`
	Stages         []StageRecipe `json:"stages"`
	FactsPerSource int           `json:"facts_per_source"`
	SpareFacts     int           `json:"spare_facts"` // more facts of a source, one for each that gives no plot hole
	MaxSites       int           `json:"max_sites"`
	StrictActs     bool          `json:"strict_acts"` // the paper's literal "or": drop when either act is unchanged
	JudgeAsk       int           `json:"judge_ask"`
	JudgeNeed      int           `json:"judge_need"`
	Importance     []int         `json:"importance"` // kept
	Kinds          []string      `json:"kinds"`      // asked for; empty = all
	Share          float64       `json:"share"`      // seeded share of the sources that is drawn
	MinWords       int           `json:"min_words"`
	MaxWords       int           `json:"max_words"`
	TypeFlaws      bool          `json:"type_flaws"` // one more call an item: kind, severity and subtype of the plot hole as it came out
}

// PromptsRecipe says which ConStory-Bench prompts are made. Engine, models and
// the parameters of the stages prompts/assign, prompts/rewrite and
// prompts/judge are those under make.
type PromptsRecipe struct {
	Target int `json:"target"` // prompts wanted; 0 = a build makes none
	// Tasks, Corpora and Languages are quotas by name. Those of tasks are scaled
	// to the target; empty means the paper's 751/432/422/395 (table 1). Without
	// quotas of corpora every corpus gets an equal share; without quotas of
	// languages they come as they come, with them no other language is taken.
	Tasks     []Count `json:"tasks"`
	Corpora   []Count `json:"corpora"`
	Languages []Count `json:"languages"`
	TopUp     bool    `json:"top_up"`    // what one quota lacks is taken from others; else it stays short
	Draw      int     `json:"draw"`      // sources worked on for each prompt wanted, drawn evenly from the corpora; 0 = all
	MinWords  int     `json:"min_words"` // of the story that a prompt asks for
	MaxWords  int     `json:"max_words"`
	Jaccard   float64 `json:"jaccard"` // prompts are near duplicates from here
	// QuoteWords is how many words in a row a prompt may take from a text of
	// which a release may carry derived prompts only.
	QuoteWords int      `json:"quote_words"`
	Judge      bool     `json:"judge"`  // a model also judges each prompt; the rules engine cannot
	Reject     []string `json:"reject"` // prompt_ids that people turned down
}

// ModelRecipe declares a model and what it can do; abilities are declared, not
// guessed from names. Its JSON is that of llm.Model, which explains each field.
type ModelRecipe struct {
	Name           string         `json:"name"` // as the recipe calls it; part of every request's key
	ID             string         `json:"id"`   // as the server calls it; empty = name
	Revision       string         `json:"revision"`
	MaxTokensField string         `json:"max_tokens_field"` // max_tokens or max_completion_tokens
	NoTemperature  bool           `json:"no_temperature"`
	TopK           bool           `json:"top_k"`
	NoSeed         bool           `json:"no_seed"`
	NoStop         bool           `json:"no_stop"`
	Effort         bool           `json:"reasoning_effort"`
	Schema         bool           `json:"json_schema"`
	LogProbs       bool           `json:"logprobs"`
	NoSystem       bool           `json:"no_system"`
	Prefill        bool           `json:"prefill"`
	Thinking       bool           `json:"thinking"`
	ThinkingField  string         `json:"thinking_field"`
	Context        int            `json:"context"`     // tokens
	InputPrice     float64        `json:"input_price"` // US dollars a million tokens
	CachedPrice    float64        `json:"cached_price"`
	OutputPrice    float64        `json:"output_price"`
	BatchPrice     float64        `json:"batch_price"` // factor
	Concurrency    int            `json:"concurrency"`
	RequestsPerMin int            `json:"requests_per_minute"`
	TokensPerMin   int            `json:"tokens_per_minute"`
	TimeoutSeconds int            `json:"timeout_seconds"`
	Attempts       int            `json:"attempts"`
	Extra          map[string]any `json:"extra"` // request fields passed on as they are
}

// StageRecipe sets model and parameters of one stage. Empty fields keep the
// stage's own.
type StageRecipe struct {
	Stage           string   `json:"stage"`
	Model           string   `json:"model"`
	Temperature     *float64 `json:"temperature"`
	TopP            *float64 `json:"top_p"`
	TopK            *int     `json:"top_k"`
	MaxTokens       int      `json:"max_tokens"`
	Seed            *int64   `json:"seed"`
	ReasoningEffort string   `json:"reasoning_effort"`
	ThinkingBudget  int      `json:"thinking_budget"`
	LogProbs        int      `json:"logprobs"`
	// RetryMaxTokens, when above max_tokens, is what a truncated answer is asked
	// for once more.
	RetryMaxTokens int `json:"retry_max_tokens"`
}

// DefaultRecipe returns a recipe with every setting at its default and no name,
// date, canary or corpora. Lengths, importance, sites and votes are those of
// the FlawedFictions paper (sections 3 and 4.3), the length of stories that of
// ConStory-Bench (section 2.1); dedup's thresholds are the project's own.
func DefaultRecipe() Recipe {
	return Recipe{
		Version: "0.1.0",
		Seed:    1,
		Dedup: DedupRecipe{
			Shingle: 5, Jaccard: 0.30, Containment: 0.80, Bands: 42, Rows: 3, Excerpts: true, MaxCluster: 50,
			Boilerplate: 6, Index: "bands", GramWords: 13, ItemShare: 0.5, StoryShare: 0.1,
		},
		Make: MakeRecipe{
			Engine: "rules", FactsPerSource: 2, SpareFacts: 2, MaxSites: 5, JudgeAsk: 5, JudgeNeed: 4,
			Importance: []int{2, 3}, Share: 1, MinWords: 100, MaxWords: 3999,
			Models: []ModelRecipe{}, Stages: []StageRecipe{}, Kinds: []string{},
		},
		Prompts: PromptsRecipe{
			Tasks: []Count{}, Corpora: []Count{}, Languages: []Count{}, TopUp: true, Draw: 4,
			MinWords: 8000, MaxWords: 10_000, Jaccard: 0.5, QuoteWords: 60, Reject: []string{},
		},
		Splits: SplitsRecipe{
			ShortMaxWords: 1199, LongMinWords: 1200, LongMaxWords: 3999,
			ShortCorpora: []string{}, LongCorpora: []string{}, Controls: true, FewShot: 2, Quotas: []QuotaRecipe{},
		},
		Review:  ReviewRecipe{MinAnnotators: 3, Gates: []GateRecipe{}},
		Release: ReleaseRecipe{Authors: []string{}, Compression: "zstd", RowsPerShard: 10_000, Residue: []string{}},
	}
}

// SplitsRecipe says which drafts are which rows.
type SplitsRecipe struct {
	ShortMaxWords int      `json:"short_max_words"` // flawed_fictions: source words up to and including
	LongMinWords  int      `json:"long_min_words"`
	LongMaxWords  int      `json:"long_max_words"`
	ShortCorpora  []string `json:"short_corpora"` // empty = all
	LongCorpora   []string `json:"long_corpora"`
	ShortTarget   int      `json:"short_target"` // positives; 0 = all there are
	LongTarget    int      `json:"long_target"`
	Controls      bool     `json:"controls"`     // an edit-control config
	FewShot       int      `json:"few_shot"`     // pairs set apart for prompts, of sources scored nowhere
	HiddenShare   float64  `json:"hidden_share"` // of groups that go to test_hidden
	// Quotas are filled first, in this order; see [QuotaRecipe].
	Quotas []QuotaRecipe `json:"quotas"`
}

// QuotaRecipe asks for a number of positives of a sort: by kind of flaw, length
// of the source, and difficulty. A draft counts for the first quota of its tier
// that it fits and that has room. What fits a quota comes in by quotas alone,
// and a quota that cannot be filled is reported, never padded with others.
// Places that a tier's target leaves beside its quotas go to drafts that fit none.
type QuotaRecipe struct {
	Tier      string `json:"tier"` // short or long
	Positives int    `json:"positives"`
	// Empty and 0 mean any.
	Kind        string `json:"kind"`
	Subtype     string `json:"subtype"`
	Class       string `json:"class"`
	Severity    string `json:"severity"`
	MinWords    int    `json:"min_words"` // of the source
	MaxWords    int    `json:"max_words"`
	MinDistance int    `json:"min_distance"` // words between the two sides
	MaxDistance int    `json:"max_distance"`
	MinSites    int    `json:"min_sites"`
	MaxSites    int    `json:"max_sites"`
	Fact        string `json:"fact"`  // explicit or inferred
	Voice       string `json:"voice"` // narrator or speech
}

// ReviewRecipe holds the rules of human verification.
type ReviewRecipe struct {
	MinAnnotators   int     `json:"min_annotators"`
	AllowUnverified bool    `json:"allow_unverified"`
	MinSeconds      float64 `json:"min_seconds"`
	// Gates are further questions with known answers, beside the source stories
	// that review export puts among the items. GatePass is the share that an
	// annotator must answer right; 0 = all.
	Gates       []GateRecipe `json:"gates"`
	GatePass    float64      `json:"gate_pass"`
	Recruitment string       `json:"recruitment"`
	Pay         string       `json:"pay"`
	Ethics      string       `json:"ethics"`
	Dates       string       `json:"dates"`
}

// GateRecipe is a question with a known answer.
type GateRecipe struct {
	ExampleID string `json:"example_id"`
	Valid     bool   `json:"valid"`
}

// ReleaseRecipe holds what the release step needs.
type ReleaseRecipe struct {
	Title        string   `json:"title"`
	Authors      []string `json:"authors"`
	Repository   string   `json:"repository"`  // name on the hub, owner/name
	Compression  string   `json:"compression"` // zstd or snappy
	RowsPerShard int      `json:"rows_per_shard"`
	AllowPartial bool     `json:"allow_partial"`
	Residue      []string `json:"residue"` // ids allowed to keep a flagged mention
}
