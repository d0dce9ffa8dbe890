// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform"
)

//go:embed prompts/*.tmpl
var prompts embed.FS

// Version of the step; templates are hashed apart.
const Version = "2"

// The tasks. A story's row has the task type of its prompt.
const (
	Story      = "story"
	Summary    = schemas.TaskSummary
	Adaptation = schemas.TaskAdaptation
)

// Tasks lists them.
var Tasks = []string{Story, Summary, Adaptation}

// Outcomes of [schemas.Generated] beside those of [llm.Outcome].
const (
	OutcomeOK        = string(llm.OK)
	OutcomeOverLimit = "over_limit" // a whole story, of as many words as a study's limit or more
)

// Item is what a system is asked to write from.
type Item struct {
	ID       int // of the row
	PromptID string
	StoryID  string
	GroupID  string
	Language string
	TaskType string
	Prompt   string // of the story task
	Text     string // of the story to summarise or adapt
	MinWords int    // that the prompt asks for; 0 = not said
	Source   schemas.Source
}

// FromPrompt is the item of a ConStory-Bench prompt.
func FromPrompt(p schemas.Prompt) Item {
	it := Item{ID: p.ID, PromptID: p.PromptID, StoryID: p.StoryID, GroupID: p.GroupID, Language: p.Language,
		TaskType: p.TaskType, Prompt: p.Prompt, MinWords: p.MinWords, Source: p.Source}
	if it.PromptID == "" {
		it.PromptID = strconv.Itoa(p.ID)
	}
	return it
}

// FromStory is the n-th story of a study.
func FromStory(s schemas.Story, n int, task string) Item {
	return Item{ID: n, StoryID: s.StoryID, GroupID: s.GroupID, Language: s.Language, TaskType: task, Text: s.Text, Source: s.Source}
}

// Key names what is asked about, without the model.
func (it Item) Key() string {
	if it.PromptID != "" {
		return it.PromptID
	}
	return it.StoryID + "/" + it.TaskType
}

// GeneratedID names the row of an item and a model.
func GeneratedID(it Item, model string) string { return it.Key() + "@" + model }

// Config of [Writer].
type Config struct {
	Task  string // one of Tasks
	Model string // of the client's table; "" = the stage's
	// Words is how long a summary may be, for its prompt.
	Words int
	// Limit sets texts of so many words or more aside; 0 = none.
	Limit int
	// Params lie under the recipe's.
	Params llm.Params
	Models *Models // class and family; may be nil
}

// Stage is the stage of a task's calls, for recipes and reports.
func Stage(task string) string { return "generate/" + task }

// input is what templates see.
type input struct {
	Item
	Words, Limit int
}

// written is a story as it stood in the answer, and frozen.
type written struct{ raw, story string }

// call is the question of a task. The papers give no decoding settings but
// those of the entropy run, so that the server's own hold; answers of the
// story task are long.
func (cfg Config) call() llm.Call[input, written] {
	c := llm.Call[input, written]{
		Stage:    Stage(cfg.Task),
		Template: llm.MustTemplate(prompts, "prompts/"+cfg.Task+".tmpl"),
		Params:   llm.Params{MaxTokens: 4096}.Over(cfg.Params),
		Model:    cfg.Model,

		AskUnread: true,
	}
	tag := ""
	switch cfg.Task {
	case Story:
		c.Params = llm.Params{MaxTokens: 16384}.Over(cfg.Params)
	case Summary:
		tag = "summary"
	case Adaptation:
		tag = "modern_retelling"
	}
	c.Decode = func(r *llm.Reply, _ input) (written, error) {
		var w written
		var err error
		if tag == "" {
			w.raw, err = r.Plain()
		} else {
			w.raw, err = r.Tag(tag)
		}
		if err != nil {
			return w, err
		}
		w.story = text.Trim(text.Freeze(w.raw))
		if w.story == "" {
			return w, llm.Failed(llm.Empty, "nothing but white space")
		}
		return w, nil
	}
	return c
}

// Writer is the step that asks a model to write from an item. Whatever the
// model does wrong is an outcome of the row. Behind the row of a text over the
// limit comes the same row with its text, for those who keep what was set aside.
func Writer(cfg Config) (transform.Step[Item, schemas.Generated], error) {
	var none transform.Step[Item, schemas.Generated]
	if !slices.Contains(Tasks, cfg.Task) {
		return none, fmt.Errorf("no task is called %q (there are %s)", cfg.Task, strings.Join(Tasks, ", "))
	}
	if cfg.Task == Summary && cfg.Words <= 0 {
		return none, fmt.Errorf("a summary needs a number of words (the paper's is 1000)")
	}
	c := cfg.call()
	return transform.Step[Item, schemas.Generated]{
		Name: "generate", Version: Version, Templates: []*llm.Template{c.Template},
		Doc: "asks a model to write a story, a summary or an adaptation",
		Run: func(ctx context.Context, pass *transform.Pass, it Item) ([]schemas.Generated, error) {
			return cfg.write(ctx, pass, c, it)
		},
	}, nil
}

func (cfg Config) write(ctx context.Context, pass *transform.Pass, c llm.Call[input, written], it Item) ([]schemas.Generated, error) {
	in := input{it, cfg.Words, cfg.Limit}
	res, err := c.Do(ctx, pass.Model, in, 0)
	if err != nil {
		return nil, err
	}
	if res.Pending() {
		return nil, transform.ErrPending
	}
	req, err := c.Request(pass.Model, in, 0)
	if err != nil {
		return nil, err
	}
	g := schemas.Generated{
		ID: it.ID, Language: it.Language, TaskType: it.TaskType, Prompt: it.Prompt, ModelName: res.Model,
		GeneratedID: GeneratedID(it, res.Model), PromptID: it.PromptID, Outcome: string(res.Outcome),
		Engine: pass.Engine(), StoryID: it.StoryID, GroupID: it.GroupID, Source: it.Source,
		Settings: settings(req.Params), FinishReason: res.Answer.FinishReason,
		PromptTokens: res.Usage.PromptTokens, CompletionTokens: res.Usage.CompletionTokens, ReasoningTokens: res.Usage.ReasoningTokens,
		Notes: append([]string{}, res.Notes...),
		Provenance: []schemas.Provenance{{Step: "generate", Version: Version, Engine: pass.Engine(), Model: res.Model,
			PromptHash: res.TemplateHash, InputHash: res.Key.String()}},
	}
	cfg.Models.describe(&g)
	if !res.OK() {
		fail(&g, string(res.Outcome), res.Reason)
		return []schemas.Generated{g}, nil
	}
	// How the answer was wrapped matters to a parser; the story is whole.
	g.Outcome = OutcomeOK
	if res.Outcome != llm.OK {
		g.Notes = append(g.Notes, "read as "+string(res.Outcome))
	}
	keep(&g, res.Value.story)
	if cfg.Limit > 0 && g.Words >= cfg.Limit {
		aside := g
		fail(&g, OutcomeOverLimit, fmt.Sprintf("%d words, the study takes texts of fewer than %d", aside.Words, cfg.Limit))
		aside.Outcome, aside.GenerationError = g.Outcome, g.GenerationError
		return []schemas.Generated{g, aside}, nil
	}
	if it.MinWords > 0 && g.Words < it.MinWords {
		g.Notes = append(g.Notes, fmt.Sprintf("%d words, the prompt asks for %d", g.Words, it.MinWords))
	}
	g.Notes = append(g.Notes, remarks(res.Value.story)...)
	if req.Params.LogProbs > 0 {
		lp, err := LogProbs(res.Answer.LogProbs, res.Value.raw, res.Value.story, req.Params.LogProbs)
		if err != nil {
			g.Notes = append(g.Notes, "no log-probabilities: "+err.Error())
		}
		g.LogProbs = lp
	}
	return []schemas.Generated{g}, nil
}

// keep puts a story into its row.
func keep(g *schemas.Generated, story string) {
	g.GeneratedStory, g.Words, g.TextHash = &story, text.Words(story), schemas.HashText(story)
}

// fail makes a row one without a story.
func fail(g *schemas.Generated, outcome, why string) {
	e := outcome
	if why != "" {
		e += ": " + why
	}
	g.Outcome, g.GenerationError = outcome, &e
	g.GeneratedStory, g.TextHash, g.Words, g.LogProbs = nil, "", 0, nil
}

// settings lists what was sent, in the order of [llm.Params].
func settings(p llm.Params) []schemas.KeyValue {
	out := []schemas.KeyValue{}
	add := func(key, value string) { out = append(out, schemas.KeyValue{Key: key, Value: value}) }
	float := func(key string, f *float64) {
		if f != nil {
			add(key, strconv.FormatFloat(*f, 'g', -1, 64))
		}
	}
	whole := func(key string, n int) {
		if n != 0 {
			add(key, strconv.Itoa(n))
		}
	}
	float("temperature", p.Temperature)
	float("top_p", p.TopP)
	if p.TopK != nil {
		add("top_k", strconv.Itoa(*p.TopK))
	}
	whole("max_tokens", p.MaxTokens)
	if p.Seed != nil {
		add("seed", strconv.FormatInt(*p.Seed, 10))
	}
	if p.ReasoningEffort != "" {
		add("reasoning_effort", p.ReasoningEffort)
	}
	whole("thinking_budget", p.ThinkingBudget)
	whole("logprobs", p.LogProbs)
	return out
}

// Preset is a paper's settings under a name. Zero fields say nothing.
type Preset struct {
	Name   string
	Doc    string
	Task   string
	Sample int // stories drawn by seed; 0 = all
	Words  int
	Limit  int
	// MaxSource is the number of words up to and including which a source story is taken.
	MaxSource int
	Params    llm.Params
}

// Presets are the settings of the papers' runs.
var Presets = []Preset{
	{Name: "summary-study", Doc: "FlawedFictions, section 6: 200 tales drawn by seed, summaries of about 1,000 words, texts of 1,200 words or more set aside",
		Task: Summary, Sample: 200, Words: 1000, Limit: 1200},
	{Name: "adaptation-study", Doc: "FlawedFictions, section 6: the short originals (under 1,200 words) moved into our time, texts of 1,200 words or more set aside",
		Task: Adaptation, Limit: 1200, MaxSource: 1199},
	{Name: "entropy", Doc: "ConStory, section 3.3: temperature 0.7, top-k 20, top-p 0.95, log-probabilities of 20 alternatives a token",
		Task: Story, Params: llm.Params{Temperature: llm.Float(0.7), TopK: llm.Int(20), TopP: llm.Float(0.95), LogProbs: 20}},
}

// FindPreset finds a preset by name.
func FindPreset(name string) (Preset, error) {
	var known []string
	for _, p := range Presets {
		if p.Name == name {
			return p, nil
		}
		known = append(known, p.Name)
	}
	return Preset{}, fmt.Errorf("no preset is called %q (there are %s)", name, strings.Join(known, ", "))
}

// Draw picks n of the ids, in their order: those whose draw from (seed, id) is
// lowest, so that the choice depends neither on the order nor on who else is
// there. All of them when n is 0 or there are no more.
func Draw(ids []string, n int, seed uint64) map[string]bool {
	type drawn struct {
		id  string
		lot uint64
	}
	lots := make([]drawn, len(ids))
	for i, id := range ids {
		lots[i] = drawn{id, transform.Random(seed, "generate-draw", id).Uint64()}
	}
	slices.SortFunc(lots, func(a, b drawn) int { return cmp.Or(cmp.Compare(a.lot, b.lot), cmp.Compare(a.id, b.id)) })
	if n <= 0 || n > len(lots) {
		n = len(lots)
	}
	out := make(map[string]bool, n)
	for _, l := range lots[:n] {
		out[l.id] = true
	}
	return out
}
