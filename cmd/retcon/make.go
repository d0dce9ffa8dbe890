// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"

	"github.com/retcon-bench/retcon/internal/pipeline"
	"github.com/retcon-bench/retcon/internal/report"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform"
	"github.com/retcon-bench/retcon/transform/flawed"
)

type makeCmd struct {
	chainFlags
	modelFlags
	JSON bool   `name:"json" help:"Print the step's manifest as JSON; its stages are the funnel."`
	SVG  string `name:"svg" help:"Draw the funnel into this file." placeholder:"FILE"`
}

func (*makeCmd) Help() string {
	return `Runs the stages of FlawedFictionsMaker over WORK/20-dedup and writes drafts to
WORK/30-make, then prints the funnel: how many records came to each stage, how
many left it, and why the others did not. With --engine rules no model is asked.
Stories whose text no release may carry are worked on too, with a warning: their
drafts stay in the workspace.

With --engine batch the command stops with exit code 5 when answers are
missing and leaves WORK/requests.jsonl; give that file to any batch service,
then:

  retcon make --engine batch --model some-model --work w     # exit code 5
  retcon llm import --work w answers.jsonl                   # then the same again`
}

func (cmd *makeCmd) Run(e *env) error {
	c, err := cmd.open(e)
	if err != nil {
		return err
	}
	defer c.close()
	if err := c.useModel(cmd.modelFlags); err != nil {
		return err
	}
	m, _, err := c.make()
	if err != nil {
		return err
	}
	if cmd.SVG != "" {
		if err := writeTo(e, cmd.SVG, func(w io.Writer) error {
			_, err := io.WriteString(w, string(report.Funnel(funnelTitle, m.Stages)))
			return err
		}); err != nil {
			return err
		}
	}
	if cmd.JSON {
		return writeJSON(e.stdout, m)
	}
	if len(m.Stages) == 0 { // made before steps kept their funnel
		return printStep(e, c.ws.Step(makeDir), m)
	}
	if err := report.FunnelTable(funnelTitle, m.Stages).Write(e.stdout, report.Text); err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.stdout, "\n%d stories in, %d drafts out, %d records and parts set aside: %s\n", m.In, m.Out, m.Dropped, c.ws.Step(makeDir))
	return err
}

// funnelTitle is that of table and drawing.
const funnelTitle = "From stories to plot holes"

// make runs the Maker's stages on every story that dedup kept.
func (c *chain) make() (schemas.StepManifest, bool, error) {
	fp := pipeline.Fingerprint{Step: "make", Settings: struct {
		schemas.MakeRecipe
		Seed uint64
	}{c.recipe.Make, c.recipe.Seed}}
	var err error
	if fp.Inputs, err = c.inputOf(dedupDir); err != nil {
		return schemas.StepManifest{}, false, err
	}
	cfg := flawed.Config{Make: c.recipe.Make, Seed: c.recipe.Seed}
	steps := flawed.Steps(cfg)
	if err := transform.Validate(steps); err != nil {
		return schemas.StepManifest{}, false, err
	}
	for _, s := range steps {
		fp.Version += s.Name + "=" + s.Version + " "
		for _, t := range s.Templates {
			fp.Templates = append(fp.Templates, schemas.NamedHash{Name: t.Name, SHA256: t.Hash})
		}
	}
	return c.step(makeDir, fp, func(ctx context.Context, out *pipeline.Output, m *schemas.StepManifest) error {
		survey, back := flawed.NewSurvey(), keptBack{}
		for s, err := range c.stories(dedupDir) {
			if err != nil {
				return err
			}
			survey.Add(s)
			back.add(s.Source)
			m.In++
		}
		back.warn(c.env, "no release may carry the text of some stories: what is made of them stays in the workspace")
		back.asked(c.env, c.engine)
		cfg.Survey = survey
		steps := flawed.Steps(cfg)
		env := transform.Env{Seed: c.recipe.Seed, Model: c.asker.Client, Log: c.log}
		one := func(ctx context.Context, s schemas.Story) (transform.Outcome[schemas.Draft], error) {
			d, err := flawed.Start(s)
			if err != nil {
				return transform.Outcome[schemas.Draft]{}, fmt.Errorf("%s: %w", s.StoryID, err)
			}
			return transform.Chain(ctx, env, steps, func(d schemas.Draft) string { return d.DraftID }, d)
		}
		tick, end := c.track("make", m.In, c.asker.spent)
		defer end()
		pending := 0
		yield := transform.NewYield(steps)
		for o, err := range pipeline.Map(ctx, c.modelWorkers(), c.stories(dedupDir), one) {
			if err != nil {
				return err
			}
			tick()
			pending += o.Pending
			transform.Count(yield, o)
			for _, d := range o.Dropped {
				if err := out.Drop(d); err != nil {
					return err
				}
			}
			for _, d := range o.Outs {
				if err := out.Record(d.MatchID, d); err != nil {
					return err
				}
			}
		}
		m.Stages = yield.Stages()
		return c.settle(ctx, m, pending)
	})
}
