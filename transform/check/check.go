// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform"
)

// Protocols.
const (
	Staged    = "staged"    // the paper's four stages
	Reference = "reference" // one question a category, as the paper's published code
)

// Version of the step; templates are hashed apart.
const Version = "2"

// Text is a story to judge.
type Text struct {
	ID       string
	TextHash string
	Story    string // offsets of findings count in it as it stands
	Title    string
	Language string
	Model    string // that wrote it
}

// TextOf makes the text of a generated story; ok is false where the row has
// none. A row without an id of its own goes by model and prompt.
func TextOf(g schemas.Generated) (t Text, ok bool) {
	if g.GeneratedStory == nil || text.Words(*g.GeneratedStory) == 0 {
		return Text{}, false
	}
	t = Text{ID: g.GeneratedID, Story: *g.GeneratedStory, TextHash: schemas.HashText(*g.GeneratedStory), Language: g.Language, Model: g.ModelName}
	if t.ID == "" {
		key := g.PromptID
		if key == "" {
			key = fmt.Sprint(g.ID)
		}
		t.ID = strings.TrimPrefix(g.ModelName+"/"+key, "/")
	}
	return t, true
}

// TextOfStory makes the text of a story of a workspace.
func TextOfStory(s schemas.Story) Text {
	return Text{ID: s.StoryID, TextHash: s.TextHash, Story: s.Text, Title: s.Title, Language: s.Language}
}

// Config of [New].
type Config struct {
	Protocol string
	Samples  int // answers asked of each question; 0 is 1
	// Context is the most tokens that a prompt may have; a story that does not
	// fit is read in windows. 0 is no limit.
	Context int
	// Limits of the staged protocol, a category and sample; 0 is the default.
	MaxPassages int // extracted from one window
	MaxPairs    int // compared; those that are likeliest to clash come first
	PairsPerAsk int
	CasesPerAsk int // chains of evidence asked for at a time
	// Params lie over the calls' own, and a recipe's stages over both.
	Params llm.Params
}

// Defaults of [Config].
const (
	DefaultPassages = 24
	DefaultPairs    = 150
	DefaultPairsAsk = 30
	DefaultCasesAsk = 10
	DefaultAnswer   = 8192 // tokens of an answer, reasoning included
)

func (c Config) withDefaults() Config {
	set := func(p *int, n int) {
		if *p <= 0 {
			*p = n
		}
	}
	set(&c.Samples, 1)
	set(&c.MaxPassages, DefaultPassages)
	set(&c.MaxPairs, DefaultPairs)
	set(&c.PairsPerAsk, DefaultPairsAsk)
	set(&c.CasesPerAsk, DefaultCasesAsk)
	c.Params = llm.Params{MaxTokens: DefaultAnswer}.Over(c.Params)
	return c
}

// Stages of the calls, for recipes and reports.
const (
	StageReference = "check/reference"
	StageFacts     = "check/facts"
	StageExtract   = "check/extract"
	StagePair      = "check/pair"
	StageSettle    = "check/settle"
	StageEvidence  = "check/evidence"
)

// Stages lists the stages of a protocol's calls, in their order.
func Stages(protocol string) []string {
	if protocol == Reference {
		return []string{StageFacts, StageReference}
	}
	return []string{StageExtract, StagePair, StageSettle, StageEvidence}
}

// Bound is the most calls that a stage may need for one story.
type Bound struct {
	Stage string
	Calls int
}

// Bounds says what a story can cost at most: a plan counts only calls whose
// prompts are known, and later stages depend on the answers of earlier ones.
func (c Config) Bounds(story string) ([]Bound, error) {
	k := &checker{Config: c.withDefaults()}
	if k.Protocol == Reference {
		k.makeReference()
	} else {
		k.makeStaged()
	}
	budget, _, err := budgets(k.Context, k.overhead, k.facts != nil)
	if err != nil {
		return nil, err
	}
	w, n := len(windows(story, budget)), len(schemas.Categories)
	each := func(all, ask int) int { return (all + ask - 1) / ask }
	if k.Protocol == Reference {
		return []Bound{{StageFacts, (w - 1) * k.Samples}, {StageReference, n * w * k.Samples}}, nil
	}
	passages := w * k.MaxPassages
	pairs := min(k.MaxPairs, passages*(passages-1)/2)
	return []Bound{{StageExtract, n * w * k.Samples}, {StagePair, n * each(pairs, k.PairsPerAsk) * k.Samples},
		{StageSettle, w * w * k.Samples}, {StageEvidence, (n*each(pairs, k.CasesPerAsk) + each(passages, k.CasesPerAsk)) * k.Samples}}, nil
}

// Result is what the step gives: the report, and what is not part of it.
type Result struct {
	Text   Text
	Report schemas.CheckReport
	// Runs are the findings of each sample before they were merged.
	Runs [][]schemas.Finding
	// Pending are categories for which an answer is missing; their status is
	// api_error, and says so.
	Pending int
}

// New makes the step that judges a text. It sets nothing aside: what a model
// does wrong is a status of the report.
func New(cfg Config) (transform.Step[Text, Result], error) {
	cfg = cfg.withDefaults()
	c := &checker{Config: cfg}
	var templates []*llm.Template
	switch cfg.Protocol {
	case Reference:
		templates = c.makeReference()
	case Staged:
		templates = c.makeStaged()
	default:
		return transform.Step[Text, Result]{}, fmt.Errorf("no protocol is called %q (there are %s and %s)", cfg.Protocol, Staged, Reference)
	}
	if _, _, err := budgets(cfg.Context, c.overhead, c.facts != nil); err != nil {
		return transform.Step[Text, Result]{}, err
	}
	return transform.Step[Text, Result]{
		Name: "check", Version: Version, Templates: templates, Run: c.run,
		Doc: "judges a long story in five categories and anchors every contradiction found",
	}, nil
}

type checker struct {
	Config
	overhead int // tokens of the longest prompt without story and facts

	reference map[string]llm.Call[referenceInput, []Item]
	facts     *llm.Call[factsInput, []fact]

	extract  map[string]llm.Call[extractInput, []extracted]
	pair     map[string]llm.Call[pairInput, map[int]bool]
	settle   *llm.Call[settleInput, map[int]bool]
	evidence map[string]llm.Call[evidenceInput, map[int]chain]
}

// job is one category of one sample of one story.
type job struct {
	*checker
	text     Text
	category schemas.Category
	sample   int
	windows  []window
	loc      *Locator
	client   *llm.Client
	noted    func(context.Context) (notes, error) // facts of all windows, asked once a sample

	outcome  llm.Outcome // the worst of all calls
	details  []string
	keys     []string
	pending  bool
	unjudged bool // no rule can know
	findings []schemas.Finding
}

func (c *checker) run(ctx context.Context, pass *transform.Pass, t Text) ([]Result, error) {
	budget, factsBudget, err := budgets(c.Context, c.overhead, c.facts != nil)
	if err != nil {
		return nil, err
	}
	if err := c.samplesDiffer(pass.Model); err != nil {
		return nil, err
	}
	parts := windows(t.Story, budget)
	loc := newLocator(t.Story)
	stage := StageReference
	if c.Protocol == Staged {
		stage = StageExtract
	}
	judge := pass.Model.Model(stage).Name
	jobs := make([]*job, 0, c.Samples*len(schemas.Categories))
	g, gctx := errgroup.WithContext(ctx)
	for sample := range c.Samples {
		noted := c.noter(t, parts, factsBudget, sample, loc, pass.Model)
		for _, cat := range schemas.Categories {
			j := &job{checker: c, text: t, category: cat, sample: sample, windows: parts, loc: loc, client: pass.Model, noted: noted}
			jobs = append(jobs, j)
			g.Go(func() error {
				var err error
				if c.Protocol == Reference {
					err = j.askReference(gctx)
				} else {
					err = j.askStages(gctx)
				}
				if err != nil {
					return err
				}
				for i := range j.findings {
					Seal(&j.findings[i], t, judge, c.Protocol)
				}
				j.findings = once(j.findings)
				return nil
			})
		}
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	r := Result{Text: t, Runs: make([][]schemas.Finding, c.Samples)}
	rep := schemas.CheckReport{StoryID: t.ID, TextHash: t.TextHash, Title: t.Title, Language: t.Language, Model: t.Model, Words: text.Words(t.Story),
		Judge: judge, Protocol: c.Protocol, Samples: c.Samples, Windows: len(parts), NotJudged: []string{}, Status: []schemas.CheckStatus{}, Findings: []schemas.Finding{}}
	byCategory := make([][]schemas.Finding, c.Samples)
	judged := map[string]bool{}
	var keys []string
	for _, j := range jobs {
		if j.unjudged {
			if !slices.Contains(rep.NotJudged, j.category.Name) {
				rep.NotJudged = append(rep.NotJudged, j.category.Name)
			}
			continue
		}
		s := j.status(judge)
		rep.Status = append(rep.Status, s)
		keys = append(keys, s.AnswerKeys...)
		if j.pending {
			r.Pending++
			pass.Await()
		}
		judged[statusKey(j.sample, j.category.Name)] = s.Status == "ok" || s.Status == "repaired"
		byCategory[j.sample] = append(byCategory[j.sample], j.findings...)
	}
	for sample := range r.Runs {
		r.Runs[sample] = once(byCategory[sample])
		for i := range r.Runs[sample] {
			r.Runs[sample][i].Sample, r.Runs[sample][i].Support, r.Runs[sample][i].Asked = sample, 1, 1
		}
	}
	ok := func(sample int, category string) bool { return judged[statusKey(sample, category)] }
	rep.Findings = Merge(r.Runs, ok)
	if c.Samples > 1 {
		for _, cat := range schemas.Categories {
			if !slices.Contains(rep.NotJudged, cat.Name) {
				rep.Agreement = append(rep.Agreement, agree(cat.Name, byCategory, ok))
			}
		}
	}
	p := schemas.Provenance{Step: "check", Version: Version, Engine: pass.Engine(), Model: judge, PromptHash: c.templateHash(), InputHash: schemas.HashText(strings.Join(keys, "\n"))}
	rep.Provenance = []schemas.Provenance{p}
	r.Report = rep
	return []Result{r}, nil
}

// samplesDiffer refuses temperature 0, at which every sample is the first one.
func (c *checker) samplesDiffer(client *llm.Client) error {
	if c.Samples == 1 {
		return nil
	}
	cat := schemas.Categories[0]
	var req llm.Request
	var err error
	if c.Protocol == Reference {
		req, err = c.reference[cat.Name].Request(client, referenceInput{Category: cat, Parts: 1}, 0)
	} else {
		req, err = c.extract[cat.Name].Request(client, extractInput{Category: cat, Parts: 1}, 0)
	}
	if err != nil {
		return err
	}
	if t := req.Params.Temperature; t != nil && *t == 0 {
		return &SettingError{fmt.Sprintf("%s: temperature 0 makes all %d samples the same; set it above 0, or ask for one sample", req.Stage, c.Samples)}
	}
	return nil
}

// SettingError says that the settings of a run contradict each other.
type SettingError struct{ What string }

func (e *SettingError) Error() string { return e.What }

func statusKey(sample int, category string) string { return fmt.Sprintf("%d %s", sample, category) }

// templateHash is one hash of all templates of the protocol.
func (c *checker) templateHash() string {
	var hashes []string
	for _, cat := range schemas.Categories {
		if c.Protocol == Reference {
			hashes = append(hashes, c.reference[cat.Name].Template.Hash)
			continue
		}
		hashes = append(hashes, c.extract[cat.Name].Template.Hash, c.pair[cat.Name].Template.Hash, c.evidence[cat.Name].Template.Hash)
	}
	if c.facts != nil {
		hashes = append(hashes, c.facts.Template.Hash)
	}
	if c.settle != nil {
		hashes = append(hashes, c.settle.Template.Hash)
	}
	return schemas.HashText(strings.Join(hashes, "\n"))
}

// status sums the category up.
func (j *job) status(judge string) schemas.CheckStatus {
	s := schemas.CheckStatus{StoryID: j.text.ID, Category: j.category.Name, Sample: j.sample, Detail: strings.Join(j.details, "; "),
		Findings: len(j.findings), TextHash: j.text.TextHash, Judge: judge, Protocol: j.Protocol, AnswerKeys: append([]string{}, j.keys...)}
	for _, f := range j.findings {
		if f.Status != Anchored {
			s.Quarantined++
		}
	}
	s.Status = StatusOf(j.outcome)
	return s
}

// StatusOf is the status of [schemas.CheckStatus] for an outcome of a call. A
// thing that is no answer is never ok: an empty one could not be read, a prompt
// that the server cut short was not judged.
func StatusOf(o llm.Outcome) string {
	switch o {
	case llm.OK, llm.Fenced, "":
		return "ok"
	case llm.Repaired:
		return "repaired"
	case llm.Refusal:
		return "refused"
	case llm.Truncated, llm.TruncatedInReasoning:
		return "truncated"
	case llm.APIError, llm.PromptCut, llm.Pending:
		return "api_error"
	}
	return "parse_failed" // empty, echo, unclosed_tag, malformed_items, ...
}

// severity orders outcomes: the worst call of a category is its status.
func severity(o llm.Outcome) int {
	return slices.Index([]string{"ok", "repaired", "parse_failed", "truncated", "refused", "api_error"}, StatusOf(o))
}

// call asks one question for a job and notes what came of it; ok is false where
// there is no answer.
func call[In, Out any](ctx context.Context, j *job, c llm.Call[In, Out], in In) (out Out, key string, ok bool, err error) {
	res, err := c.Do(ctx, j.client, in, j.sample)
	if err != nil {
		return out, "", false, err
	}
	j.note(c.Stage, res.Outcome, res.Reason, res.Notes)
	key = res.Key.String()
	if res.Outcome != llm.NoRule && res.Outcome != llm.Pending {
		j.keys = append(j.keys, key)
	}
	return res.Value, key, res.OK(), nil
}

// note keeps the worst outcome, and what has to be known of a call.
func (j *job) note(stage string, o llm.Outcome, reason string, notes []string) {
	switch o {
	case llm.NoRule:
		j.unjudged = true
		return
	case llm.Pending:
		j.pending = true
		if reason == "" {
			reason = "no answer yet"
		}
	}
	if severity(o) > severity(j.outcome) {
		j.outcome = o
	}
	if !o.Usable() {
		notes = append([]string{string(o) + ": " + reason}, notes...)
	}
	for _, n := range notes {
		j.say(stage + ": " + n)
	}
}

// say adds a detail once.
func (j *job) say(s string) {
	if !slices.Contains(j.details, s) {
		j.details = append(j.details, s)
	}
}

// onceFor caches a question that all categories of a sample share.
func onceFor[T any](ask func(context.Context) (T, error)) func(context.Context) (T, error) {
	var mu sync.Mutex
	var done bool
	var v T
	return func(ctx context.Context) (T, error) {
		mu.Lock()
		defer mu.Unlock()
		if done {
			return v, nil
		}
		got, err := ask(ctx)
		if err == nil {
			v, done = got, true
		}
		return got, err
	}
}
