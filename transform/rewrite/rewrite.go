// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform"
)

// Version changes whenever the same source may become another prompt.
const Version = "4"

// StepName is the step's name: the stage of what it sets aside.
const StepName = "prompts"

// Made is a prompt with what dedup compares of it.
type Made struct {
	Prompt schemas.Prompt `json:"prompt"`
	// Core is the prompt without the phrases that the rules put round many: the
	// source's passages in it. Of a prompt that a model wrote it is all.
	Core string `json:"core"`
}

// Config is a recipe's section as the step needs it.
type Config struct {
	schemas.PromptsRecipe
}

// share is the share of a task among those wanted.
func (c Config) share(task string) float64 {
	sum, n := 0, 0
	for _, q := range taskQuotas(c.PromptsRecipe) {
		sum += q.N
		if q.Name == task {
			n = q.N
		}
	}
	if sum == 0 {
		return 1
	}
	return float64(n) / float64(sum)
}

// work is one source in the making: the input of all calls.
type work struct {
	cfg     Config
	r       *reading
	rand    *rand.Rand
	offline bool // the rules engine answers
	task    string
	offers  map[string]*offer
	written written

	refusals []refusal // checks that a rule already knows to fail
	flags    []string
}

type refusal struct{ check, why string }

func (w *work) refuse(check, why string) { w.refusals = append(w.refusals, refusal{check, why}) }
func (w *work) flag(name string)         { w.flags = append(w.flags, name) }

// quote is how many words in a row may be taken from the source, 0 for any.
func (w *work) quote() int {
	if w.r.story.Source.MayReleaseText() {
		return 0
	}
	return max(1, w.cfg.QuoteWords)
}

// Step makes the prompt of one story or query.
func Step(cfg Config) transform.Step[schemas.Story, Made] {
	s := transform.Step[schemas.Story, Made]{
		Name: StepName, Version: Version,
		Doc: "makes a story-writing prompt of one of four tasks from a story, a plot or a query.\n\n" +
			"Reasons: those of the package comment, the names of the checks, and the classes of unreadable answers.",
		Run: func(ctx context.Context, pass *transform.Pass, s schemas.Story) ([]Made, error) {
			return run(ctx, pass, cfg, s)
		},
	}
	for _, zh := range []bool{false, true} {
		s.Templates = append(s.Templates, assignCalls[zh].Template, writeCalls[zh].Template, judgeCalls[zh].Template)
	}
	return s
}

func run(ctx context.Context, pass *transform.Pass, cfg Config, s schemas.Story) ([]Made, error) {
	w := &work{cfg: cfg, r: read(&s), rand: pass.Rand, offline: pass.Engine() == "rules"}
	if s.Kind != schemas.KindQuery {
		if form := w.r.notProse(); form != "" {
			return nil, transform.Drop("not_prose", "it is a "+form)
		}
	}
	var keys []llm.Key
	a, err := ask(ctx, pass, assignCalls[w.r.zh], w)
	if err != nil {
		return nil, err
	}
	keys = append(keys, a.Key)
	if w.task = a.Value.task; w.task == noTask {
		reason := "unsuitable"
		if w.offline {
			reason = "no_task"
		}
		return nil, transform.Drop(reason, a.Value.reason)
	}
	p, err := ask(ctx, pass, writeCalls[w.r.zh], w)
	if err != nil {
		return nil, err
	}
	keys = append(keys, p.Key)
	w.written = p.Value
	if s.Kind == schemas.KindQuery && !slices.ContainsFunc(w.written.elements, func(e schemas.Element) bool { return e.Role == "request" || e.Role == "premise" }) {
		if e, ok := newFinder(w.r).element("request", s.Text); ok {
			w.written.elements = append(w.written.elements, e)
		}
	}
	if len(w.written.elements) == 0 {
		return nil, transform.Drop("ungrounded", fmt.Sprintf("none of the %d passages it names stands in the source", len(w.written.lost)))
	}
	for _, q := range w.written.lost {
		pass.SetAside(s.StoryID, "passage_not_found", "a passage that the answer names does not stand in the source", schemas.KeyValue{Key: "passage", Value: clip(strings.Join(strings.Fields(q), " "))})
	}
	out := w.record(pass, p.Model, keys)
	if err := w.check(&out.Prompt); err != nil {
		return nil, err
	}
	if cfg.Judge && !w.offline {
		v, err := ask(ctx, pass, judgeCalls[w.r.zh], w)
		if err != nil {
			return nil, err
		}
		if !v.Value.keep {
			return nil, transform.Drop("judged_bad", v.Value.reason)
		}
		c := judgeCalls[w.r.zh]
		out.Prompt.Provenance = append(out.Prompt.Provenance, schemas.Provenance{Step: StepName + "/judge", Version: Version, Engine: pass.Engine(), Model: v.Model,
			PromptHash: c.Template.Hash, InputHash: v.Key.String()})
	}
	return []Made{out}, nil
}

// tries is how often an answer that cannot be read is asked for.
const tries = 2

func ask[Out any](ctx context.Context, pass *transform.Pass, c llm.Call[*work, Out], w *work) (llm.Result[Out], error) {
	var res llm.Result[Out]
	for n := range tries {
		var err error
		if res, err = c.Do(ctx, pass.Model, w, n); err != nil {
			return res, err
		}
		if res.OK() {
			return res, nil
		}
		if res.Pending() {
			return res, transform.ErrPending
		}
		if res.Outcome == llm.NoRule {
			break
		}
	}
	if res.Outcome == llm.NoRule {
		return res, transform.Drop("no_task", res.Reason)
	}
	return res, transform.Drop(string(res.Outcome), fmt.Sprintf("%s: no readable answer: %s", c.Stage, res.Reason))
}

// record makes the prompt's record.
func (w *work) record(pass *transform.Pass, model string, keys []llm.Key) Made {
	s := w.r.story
	p := schemas.Prompt{
		Language: "en", TaskType: w.task, Prompt: w.written.prompt, MinWords: w.cfg.MinWords, MaxWords: w.cfg.MaxWords,
		StoryID: s.StoryID, GroupID: s.GroupID, TextHash: s.TextHash, Source: s.Source, Elements: w.written.elements,
		Quality: append([]string{}, w.flags...), Engine: pass.Engine(), PromptHash: schemas.HashText(w.written.prompt),
	}
	if p.GroupID == "" {
		p.GroupID = s.StoryID
	}
	if isZhText(p.Prompt) {
		p.Language = "zh"
	}
	p.PromptID = schemas.NewPromptID(p.GroupID, p.TaskType)
	p.ID = schemas.PromptNumber(p.PromptID)
	prov := schemas.Provenance{Step: StepName, Version: Version, Engine: pass.Engine(), Model: model, PromptHash: writeCalls[w.r.zh].Template.Hash, InputHash: s.TextHash}
	if !w.offline {
		prov.InputHash = keys[len(keys)-1].String()
	} else {
		prov.PromptHash, prov.Model = "", ""
	}
	p.Provenance = append(slices.Clip(s.Provenance), prov)
	m := Made{Prompt: p, Core: p.Prompt}
	if w.offline {
		var core []string
		for _, e := range p.Elements {
			switch e.Role {
			case "request":
				core = append(core, withoutTargets(e.Text))
			case "premise", "opening", "outline", "ending":
				core = append(core, e.Text)
			}
		}
		m.Core = strings.Join(core, "\n")
	}
	return m
}

// check runs the checks; the first that fails sets the prompt aside.
func (w *work) check(p *schemas.Prompt) error {
	for _, r := range w.refusals {
		return transform.Drop(r.check, r.why, schemas.KeyValue{Key: "prompt", Value: clip(p.Prompt)})
	}
	sub := newSubject(p, w.r, w.cfg.QuoteWords)
	for _, c := range Checks {
		why := c.fault(sub)
		switch {
		case why == "":
		case c.Flag:
			p.Quality = append(p.Quality, c.Name)
		default:
			return transform.Drop(c.Name, why, schemas.KeyValue{Key: "prompt_id", Value: p.PromptID}, schemas.KeyValue{Key: "task_type", Value: p.TaskType})
		}
	}
	return nil
}

// Rejected is the record of a prompt that people turned down.
func Rejected(p schemas.Prompt) schemas.Dropped {
	return dropped(p.PromptID, p.StoryID, p.TaskType, "rejected", "people turned it down: it is listed under prompts.reject")
}

func dropped(promptID, storyID, task, reason, detail string, evidence ...schemas.KeyValue) schemas.Dropped {
	return schemas.Dropped{ID: promptID, Stage: StepName, Reason: reason, Detail: detail,
		Evidence: append([]schemas.KeyValue{{Key: "story_id", Value: storyID}, {Key: "task_type", Value: task}}, evidence...)}
}

// OverQuota is the record of a good prompt that was not needed.
func OverQuota(promptID, storyID, task string) schemas.Dropped {
	return dropped(promptID, storyID, task, "over_quota", "it passed every check and was not needed")
}

// Duplicate is the record of a prompt that says what another says.
func Duplicate(promptID, storyID, task string, d schemas.Duplicate) schemas.Dropped {
	reason := "near_duplicate"
	if d.Kind == "exact" {
		reason = "exact_duplicate"
	}
	return dropped(promptID, storyID, task, reason, "it says what "+d.KeptID+" says", schemas.KeyValue{Key: "kept", Value: d.KeptID},
		schemas.KeyValue{Key: "jaccard", Value: fmt.Sprintf("%.4f", d.Jaccard)}, schemas.KeyValue{Key: "containment", Value: fmt.Sprintf("%.4f", d.Containment)})
}
