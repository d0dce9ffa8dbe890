// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/retcon-bench/retcon/internal/pipeline"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform/dedup"
)

type dedupCmd struct {
	chainFlags
	Against map[string]string `help:"Where an earlier release or corpus of the recipe's dedup.against lies. Repeat for several." placeholder:"NAME=PATH" mapsep:"none"`
}

func (*dedupCmd) Help() string {
	return `Writes the stories that stay to WORK/20-dedup, with duplicates.jsonl: every
removed story with the kept one, kind, true Jaccard and containment.

  retcon ingest --work w && retcon dedup --work w`
}

func (cmd *dedupCmd) Run(e *env) error {
	c, err := cmd.open(e)
	if err != nil {
		return err
	}
	defer c.close()
	m, _, err := c.dedup()
	if err != nil {
		return err
	}
	return printStep(e, c.ws.Step(dedupDir), m)
}

// duplicatesTable is dedup's evidence.
const duplicatesTable = "duplicates.jsonl"

// dedup is the one global step: a signature per story, one choice over all
// signatures, then a second read that applies it.
func (c *chain) dedup() (schemas.StepManifest, bool, error) {
	fp := pipeline.Fingerprint{Step: "dedup", Version: dedup.Version, Settings: c.recipe.Dedup}
	var err error
	if fp.Inputs, err = c.inputOf(ingestDir); err != nil {
		return schemas.StepManifest{}, false, err
	}
	return c.step(dedupDir, fp, func(ctx context.Context, out *pipeline.Output, m *schemas.StepManifest) error {
		set := dedup.Settings{DedupRecipe: c.recipe.Dedup}
		for _, corpus := range c.corpora {
			set.Corpora = append(set.Corpora, corpus.Name)
		}
		var sigs []dedup.Signature
		sign := func(_ context.Context, s schemas.Story) (dedup.Signature, error) { return dedup.Sign(s, set), nil }
		for sig, err := range pipeline.Map(ctx, c.workers, c.stories(ingestDir), sign) {
			if err != nil {
				return err
			}
			sigs = append(sigs, sig)
		}
		index, err := pipeline.OpenIndex[schemas.Story](c.ws.Step(ingestDir))
		if err != nil {
			return err
		}
		defer index.Close()
		decisions, err := dedup.Choose(ctx, sigs, index.Get, set)
		if err != nil {
			return err
		}
		add, err := out.Table(duplicatesTable)
		if err != nil {
			return err
		}
		for _, d := range decisions.Duplicates {
			if err := add(d); err != nil {
				return err
			}
		}
		m.In = len(sigs)
		for s, err := range c.stories(ingestDir) {
			if err != nil {
				return err
			}
			kept, dropped := decisions.Apply(s)
			if dropped != nil {
				if err := out.Drop(*dropped); err != nil {
					return err
				}
				continue
			}
			if err := out.Record(kept.StoryID, kept); err != nil {
				return fmt.Errorf("%s: %w", kept.StoryID, err)
			}
		}
		return nil
	})
}
