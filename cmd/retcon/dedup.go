// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/retcon-bench/retcon/internal/pipeline"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform/dedup"
)

type dedupCmd struct {
	chainFlags
}

func (*dedupCmd) Help() string {
	return `Writes the stories that stay to WORK/20-dedup, with duplicates.jsonl: every
removed story with the kept one, kind, true Jaccard and containment; and
retellings.jsonl: pairs that may be one tale in two tellings, for people.

With --benchmark, stories that stand in a benchmark's files (13-word grams, by
the shares of the recipe) are set aside too; contamination.jsonl has both places
of every hit, also of those that stay.

  retcon ingest --work w && retcon dedup --work w
  retcon dedup --work w2 --against v1=flawed-1.0.0     # nothing that v1 has
  retcon dedup --work w3 --benchmark arena=arena.jsonl`
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

// Tables of dedup: its evidence, and the proofs against earlier releases.
const (
	duplicatesTable = "duplicates.jsonl"
	overlapTable    = "overlap.jsonl"
)

// dedupError says what to do about a giant cluster.
func dedupError(err error) error {
	var giant *dedup.ClusterError
	if errors.As(err, &giant) {
		return withHint(exitInput, "look at these texts: they may be one file under many names; raise dedup.max_cluster in the recipe if they are meant", err)
	}
	return err
}

// dedup is the one global step: a signature per story, one choice over all
// signatures, then a second read that applies it.
func (c *chain) dedup() (schemas.StepManifest, bool, error) {
	fp := pipeline.Fingerprint{Step: "dedup", Version: dedup.Version, Settings: c.recipe.Dedup}
	var err error
	if fp.Inputs, err = c.inputOf(ingestDir); err != nil {
		return schemas.StepManifest{}, false, err
	}
	before, err := c.openAgainst()
	if err != nil {
		return schemas.StepManifest{}, false, err
	}
	for _, e := range before {
		fp.Inputs = append(fp.Inputs, schemas.NamedHash{Name: "against/" + e.name, SHA256: e.sum})
	}
	screens, err := c.openBenchmarks()
	if err != nil {
		return schemas.StepManifest{}, false, err
	}
	for _, b := range screens {
		fp.Inputs = append(fp.Inputs, schemas.NamedHash{Name: "benchmark/" + b.name, SHA256: b.sum})
	}
	earlier, err := c.openEarlier()
	if err != nil {
		return schemas.StepManifest{}, false, err
	}
	for _, e := range earlier {
		fp.Inputs = append(fp.Inputs, schemas.NamedHash{Name: "earlier/" + e.name, SHA256: e.sum})
	}
	return c.step(dedupDir, fp, func(ctx context.Context, out *pipeline.Output, m *schemas.StepManifest) error {
		set := dedup.Settings{DedupRecipe: c.recipe.Dedup, Workers: c.workers}
		for _, corpus := range c.corpora {
			set.Corpora = append(set.Corpora, corpus.Name)
		}
		set.Memory, set.TempDir = c.memory, c.ws.Dir()
		var err error
		if set.Earlier, err = keptBefore(ctx, earlier); err != nil {
			return err
		}
		for i := range screens {
			if err := screens[i].read(c); err != nil {
				return err
			}
		}
		for _, e := range before {
			a, err := e.sign(ctx, set)
			if err != nil {
				return err
			}
			set.Compare = append(set.Compare, a)
		}
		candidates := dedup.NewIndex(set)
		defer candidates.Close()
		sign := func(_ context.Context, s schemas.Story) (dedup.Signature, error) { return dedup.Sign(s, set), nil }
		for sig, err := range pipeline.Map(ctx, c.workers, c.stories(ingestDir), sign) {
			if err != nil {
				return err
			}
			if err := candidates.Add(sig); err != nil {
				return err
			}
			m.In++
		}
		index, err := pipeline.OpenIndex[schemas.Story](c.ws.Step(ingestDir))
		if err != nil {
			return err
		}
		defer index.Close()
		decisions, err := candidates.Choose(ctx, index.Get)
		if err != nil {
			return dedupError(err)
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
		screen, err := newScreen(screens, out)
		if err != nil {
			return err
		}
		retold, err := newRetellings(c, out)
		if err != nil {
			return err
		}
		for s, err := range c.stories(ingestDir) {
			if err != nil {
				return err
			}
			kept, dropped := decisions.Apply(s)
			if dropped == nil {
				retold.add(kept)
				if dropped, err = screen.look(kept); err != nil {
					return err
				}
			}
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
		if err := retold.report(); err != nil {
			return err
		}
		if add, err = out.Table(overlapTable); err != nil {
			return err
		}
		for _, o := range append(decisions.Overlap, screen.proofs...) {
			if err := add(o); err != nil {
				return err
			}
		}
		return nil
	})
}
