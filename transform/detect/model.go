// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"context"
	"embed"
	"fmt"
	"strconv"
	"strings"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/scoring"
	"github.com/retcon-bench/retcon/transform"
)

//go:embed prompts/*.tmpl
var prompts embed.FS

// Prompts of the FlawedFictions paper, section 5.1 and appendix J.2, in our own
// words with the paper's answer fields.
const (
	Vanilla = "vanilla"
	FewShot = "few-shot"
	CoT     = "cot"
)

// Prompts lists the names of prompts.
var Prompts = []string{Vanilla, FewShot, CoT}

// MaxSamples is how often the verifier loop asks for another answer (paper,
// appendix D.1).
const MaxSamples = 5

// Version of the step; templates are hashed apart.
const Version = "1"

// Text is what a detector reads: a row of a config, or a story without gold.
type Text struct {
	ID       string
	GroupID  string // the source story
	TextHash string
	Story    string
	// Sentences are a row's frozen ones, in code points; nil where nobody cut
	// the text. Only the entailment baseline looks at them.
	Sentences []schemas.Bounds
}

// TextOf is the part of a row that a detector may see.
func TextOf(e schemas.Example) Text {
	return Text{ID: e.ExampleID, GroupID: e.GroupID, TextHash: e.TextHash, Story: e.Story, Sentences: e.Sentences}
}

// Shot is one worked example of the few-shot prompt.
type Shot struct {
	Story             string
	Explanation       string
	ErrorLines        []string
	ContradictedLines []string
	Decision          string
}

// ShotOf makes a shot of a row of the few-shot pool.
func ShotOf(e schemas.Example) Shot {
	if e.Label != schemas.LabelError {
		return Shot{Story: e.Story, Decision: noError,
			Explanation: "People, places and events are told in a way that holds together from beginning to end; nothing later denies what was established."}
	}
	s := Shot{Story: e.Story, Decision: "There is a continuity error."}
	if e.Explanation != nil {
		s.Explanation = *e.Explanation
	}
	for _, sp := range e.ErrorSpans {
		s.ErrorLines = append(s.ErrorLines, sp.Text)
	}
	for _, sp := range e.ContradictedSpans {
		s.ContradictedLines = append(s.ContradictedLines, sp.Text)
	}
	return s
}

const noError = "No continuity error found"

// Config of [Detector].
type Config struct {
	Prompt string // one of Prompts
	Shots  []Shot // of the few-shot prompt: from sources that are scored nowhere
	// Verify asks a second model whether a claimed error is one, and samples
	// again while it says no, up to MaxSamples.
	Verify bool
}

type detectInput struct {
	Story string
	Shots []Shot
}

type claimInput struct {
	Story             string
	Explanation       string
	ErrorLines        string
	ContradictedLines string
}

// VerifierStage is the stage of the verifier's calls, for recipes and reports.
const VerifierStage = "detect/verifier"

// Stage is the stage of a prompt's calls.
func Stage(prompt string) string { return "detect/" + prompt }

// call is the question of one prompt. Defaults are the paper's (appendix D).
func call(prompt string) llm.Call[detectInput, scoring.Answer] {
	return llm.Call[detectInput, scoring.Answer]{
		Stage:    Stage(prompt),
		Template: templateOf(prompt),
		Params:   llm.Params{Temperature: llm.Float(0.5), MaxTokens: 4096},
		Decode: func(r *llm.Reply, _ detectInput) (scoring.Answer, error) {
			a := scoring.ReadAnswer(r.Text, r.Answer.FinishReason)
			if a.Outcome != scoring.OutcomeOK {
				return a, llm.Failed(llm.Outcome(a.Outcome), a.Why)
			}
			return a, nil
		},
	}
}

// templateOf joins what all prompts share with the prompt's own file, so that
// one hash covers both.
func templateOf(prompt string) *llm.Template {
	var text strings.Builder
	name := strings.ReplaceAll(prompt, "-", "_") + ".tmpl"
	for _, file := range []string{"task.tmpl", name} {
		b, err := prompts.ReadFile("prompts/" + file)
		if err != nil {
			panic(err) // embedded
		}
		text.Write(b)
	}
	t, err := llm.ParseTemplate(name, text.String())
	if err != nil {
		panic(err)
	}
	return t
}

// verdict is what the verifier said of a claim.
type verdict struct {
	Accepted   bool
	Confidence float64
}

var verify = llm.Call[claimInput, verdict]{
	Stage:    VerifierStage,
	Template: llm.MustTemplate(prompts, "prompts/verifier.tmpl"),
	Params:   llm.Params{Temperature: llm.Float(0.5), MaxTokens: 4096},
	Decode: func(r *llm.Reply, _ claimInput) (verdict, error) {
		answer, err := r.Tag("answer")
		if err != nil {
			return verdict{}, err
		}
		var v verdict
		switch strings.ToLower(strings.Trim(answer, " \t\r\n.*\"'[]`")) {
		case "yes":
			v.Accepted = true
		case "no":
		default:
			return v, llm.Failed(llm.ParseFailed, "the answer is neither Yes nor No")
		}
		if c, err := r.Tag("confidence"); err == nil {
			v.Confidence, _ = strconv.ParseFloat(strings.Trim(c, " \t\r\n%[]"), 64)
		}
		return v, nil
	},
}

// Detector is the step that asks a model about a text. What the model does
// wrong is an outcome of the prediction; the step sets nothing aside.
//
// With cfg.Verify it samples up to [MaxSamples] answers and takes the first
// that is accepted: an error that the verifier confirms, or "no error". When
// the verifier refused all of them the prediction is "no error", and its
// explanation says so.
func Detector(cfg Config) (transform.Step[Text, schemas.Prediction], error) {
	var none transform.Step[Text, schemas.Prediction]
	switch {
	case cfg.Prompt == FewShot && len(cfg.Shots) == 0:
		return none, fmt.Errorf("the few-shot prompt needs examples; the release has none in its few_shot config")
	case cfg.Prompt != Vanilla && cfg.Prompt != FewShot && cfg.Prompt != CoT:
		return none, fmt.Errorf("no prompt is called %q (there are %s)", cfg.Prompt, strings.Join(Prompts, ", "))
	}
	d := &detector{Config: cfg, call: call(cfg.Prompt)}
	if cfg.Prompt != FewShot {
		d.Shots = nil
	}
	s := transform.Step[Text, schemas.Prediction]{
		Name: "detect", Version: Version, Templates: []*llm.Template{d.call.Template}, Run: d.run,
		Doc: "asks a model whether a story has a continuity error, and where",
	}
	if cfg.Verify {
		s.Templates = append(s.Templates, verify.Template)
	}
	return s, nil
}

type detector struct {
	Config
	call llm.Call[detectInput, scoring.Answer]
}

func (d *detector) run(ctx context.Context, pass *transform.Pass, t Text) ([]schemas.Prediction, error) {
	p := schemas.Prediction{ExampleID: t.ID, TextHash: t.TextHash, Model: pass.Model.Model(d.call.Stage).Name, Prompt: d.Prompt}
	in := detectInput{Story: t.Story, Shots: d.Shots}
	if !d.Verify {
		res, err := d.call.Do(ctx, pass.Model, in, 0)
		if err != nil {
			return nil, err
		}
		if res.Pending() {
			return nil, transform.ErrPending
		}
		fill(&p, res)
		return []schemas.Prediction{p}, nil
	}
	p.Prompt += "+verifier"
	if err := d.samplesDiffer(pass.Model, in); err != nil {
		return nil, err
	}
	refused := 0
	for sample := range MaxSamples {
		res, err := d.call.Do(ctx, pass.Model, in, sample)
		if err != nil {
			return nil, err
		}
		if res.Pending() {
			return nil, transform.ErrPending
		}
		fill(&p, res)
		if !res.OK() {
			continue // unreadable: neither accepted nor "no error"
		}
		if p.Label == schemas.LabelConsistent {
			return []schemas.Prediction{p}, nil
		}
		v, err := verify.Do(ctx, pass.Model, claimInput{Story: t.Story, Explanation: p.Explanation,
			ErrorLines: strings.Join(p.ErrorLines, "\n"), ContradictedLines: strings.Join(p.ContradictedLines, "\n")}, sample)
		if err != nil {
			return nil, err
		}
		if v.Pending() {
			return nil, transform.ErrPending
		}
		addUsage(&p, v.Usage)
		if v.OK() && v.Value.Accepted {
			c := v.Value.Confidence
			p.Confidence = &c
			return []schemas.Prediction{p}, nil
		}
		refused++ // an unreadable verdict is not a Yes
	}
	if refused == 0 { // nothing could be read at all: the last outcome stands
		return []schemas.Prediction{p}, nil
	}
	p.Outcome, p.Label, p.ErrorLines, p.ContradictedLines = scoring.OutcomeOK, schemas.LabelConsistent, nil, nil
	p.Explanation = fmt.Sprintf("No error: the verifier accepted none of %d claimed errors in %d samples.", refused, MaxSamples)
	pass.Log.Debug("verifier refused every claim", "id", t.ID, "claims", refused)
	return []schemas.Prediction{p}, nil
}

// samplesDiffer refuses temperature 0, at which every sample is the first one.
func (d *detector) samplesDiffer(client *llm.Client, in detectInput) error {
	req, err := d.call.Request(client, in, 0)
	if err != nil {
		return err
	}
	if t := req.Params.Temperature; t != nil && *t == 0 {
		return fmt.Errorf("%s: temperature 0 makes all %d samples of the verifier loop the same; set it above 0", d.call.Stage, MaxSamples)
	}
	return nil
}

func fill(p *schemas.Prediction, res llm.Result[scoring.Answer]) {
	p.Raw = res.Answer.Text
	addUsage(p, res.Usage)
	if res.OK() {
		res.Value.Fill(p)
		p.Outcome = scoring.OutcomeOK
		return
	}
	p.Outcome, p.Label, p.ErrorLines, p.ContradictedLines = string(res.Outcome), "", nil, nil
	p.Explanation = res.Reason
}

func addUsage(p *schemas.Prediction, u llm.Usage) {
	p.PromptTokens += u.PromptTokens
	p.CompletionTokens += u.CompletionTokens
	p.ReasoningTokens += u.ReasoningTokens
}
