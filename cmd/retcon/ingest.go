// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/retcon-bench/retcon/ingest"
	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/internal/pipeline"
	"github.com/retcon-bench/retcon/schemas"
)

type ingestCmd struct {
	chainFlags
}

func (*ingestCmd) Help() string {
	return `Reads every corpus of the recipe into WORK/10-ingest: records.jsonl holds the
stories, dropped.jsonl what was set aside and why, files.jsonl every upstream
file with its hash.

  retcon ingest --corpus fairytaleqa=FairytaleQAData --work w`
}

func (cmd *ingestCmd) Run(e *env) error {
	c, err := cmd.open(e)
	if err != nil {
		return err
	}
	defer c.close()
	m, _, err := c.ingest()
	if err != nil {
		return err
	}
	return printStep(e, c.ws.Step(ingestDir), m)
}

// filesTable lists the upstream files that an ingest read.
const filesTable = "files.jsonl"

// corpusFile is a line of filesTable.
type corpusFile struct {
	Corpus string `json:"corpus"`
	schemas.FileHash
}

// ingest is the first step: upstream bytes to stories.
func (c *chain) ingest() (schemas.StepManifest, bool, error) {
	// A story carries the terms of its corpus as this version states them: where
	// another stated others, it is read again, whatever the bytes upstream are.
	settings := struct {
		Corpora []schemas.CorpusRecipe
		Terms   []ingest.Terms
	}{Corpora: c.recipe.Corpora}
	fp := pipeline.Fingerprint{Step: "ingest", Version: "1"}
	for _, corpus := range c.corpora {
		terms := corpus.Terms
		terms.Note = "" // for people
		settings.Terms = append(settings.Terms, terms)
		digest, err := ingest.Digest(c.ctx, corpus.Corpus, corpus.root)
		if err != nil {
			return schemas.StepManifest{}, false, fmt.Errorf("corpus %s: %w", corpus.Name, err)
		}
		fp.Inputs = append(fp.Inputs, schemas.NamedHash{Name: corpus.Name + "@" + corpus.Version, SHA256: digest})
	}
	fp.Settings = settings
	return c.step(ingestDir, fp, func(ctx context.Context, out *pipeline.Output, m *schemas.StepManifest) error {
		addFile, err := out.Table(filesTable)
		if err != nil {
			return err
		}
		counts := map[string]int{}
		for _, corpus := range c.corpora {
			if err := c.ingestCorpus(ctx, corpus, out, addFile, counts); err != nil {
				return fmt.Errorf("corpus %s: %w", corpus.Name, err)
			}
			m.In += counts[corpus.Name+"/rows"]
		}
		m.Counts = pipeline.SortedCounts(counts)
		return nil
	})
}

func (c *chain) ingestCorpus(ctx context.Context, corpus corpusIn, out *pipeline.Output, addFile func(any) error, counts map[string]int) error {
	items := corpus.Open(ctx, corpus.root, corpus.recipe.Settings)
	load := func(ctx context.Context, it ingest.Item) (ingest.Batch, error) {
		b, err := it.Load(ctx)
		if err != nil {
			return b, fmt.Errorf("%s: %w", it.Name, err)
		}
		return b, nil
	}
	tick, end := c.track("ingest "+corpus.Name, 0, nil)
	defer end()
	rows, bad, read := 0, 0, 0
	var unread []string // the first of them, for the error
	for b, err := range pipeline.Map(ctx, c.workers, items, load) {
		if err != nil {
			return err
		}
		tick()
		rows, bad = rows+b.Rows, bad+b.Bad
		for _, f := range b.Files {
			counts[corpus.Name+"/files"]++
			if err := addFile(corpusFile{corpus.Name, f}); err != nil {
				return err
			}
		}
		for _, s := range b.Stories {
			if strings.ContainsAny(s.StoryID, "\t\n\r") {
				b.Dropped = append(b.Dropped, schemas.Dropped{ID: s.StoryID, Stage: "ingest", Reason: "bad_id",
					Detail: "its id holds a tab or a line end, which would end it in an index", Evidence: []schemas.KeyValue{{Key: "file", Value: s.Source.File}}})
				continue
			}
			if out.Has(s.StoryID) {
				b.Dropped = append(b.Dropped, schemas.Dropped{ID: s.StoryID, Stage: "ingest", Reason: "repeated_id",
					Detail: "another text of the corpus has the same id", Evidence: []schemas.KeyValue{{Key: "file", Value: s.Source.File}}})
				continue
			}
			read++
			counts[corpus.Name+"/"+s.Kind]++
			if err := out.Record(s.StoryID, s); err != nil {
				return err
			}
		}
		for _, d := range b.Dropped {
			if b.Bad > 0 && len(unread) < 3 {
				unread = append(unread, d.ID+": "+d.Detail)
			}
			if err := out.Drop(d); err != nil {
				return err
			}
		}
	}
	counts[corpus.Name+"/rows"], counts[corpus.Name+"/bad"] = rows, bad
	if rows > 0 && float64(bad) > corpus.recipe.MaxBad*float64(rows) {
		return &fetch.Error{Op: "ingest", Name: corpus.root, Kind: fetch.Input,
			Err: fmt.Errorf("%d of %d records could not be read, more than max_bad %.2f of the recipe allows:\n  %s", bad, rows, corpus.recipe.MaxBad, strings.Join(unread, "\n  "))}
	}
	if read == 0 {
		return &fetch.Error{Op: "ingest", Name: corpus.root, Kind: fetch.Input,
			Err: fmt.Errorf("no story found; formats it could have: %s", strings.Join(corpus.Formats, "; "))}
	}
	return nil
}

// stories reads a step's stories.
func (c *chain) stories(dir string) iter.Seq2[schemas.Story, error] {
	return pipeline.Records[schemas.Story](c.ws.Step(dir))
}
