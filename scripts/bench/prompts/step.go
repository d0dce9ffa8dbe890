// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"runtime"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/llm/rules"
	"github.com/retcon-bench/retcon/internal/pipeline"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform"
	"github.com/retcon-bench/retcon/transform/dedup"
	"github.com/retcon-bench/retcon/transform/rewrite"
)

// step runs what retcon prompts does with n sources that dedup kept, without
// reading and dedup before it: prompts by rules, signatures, near-duplicates,
// quotas. Sources are made as they are needed; prompts go to a file.
func step(n int) error {
	ctx := context.Background()
	r := schemas.DefaultRecipe().Prompts
	r.Target, r.Draw = rewrite.PaperTarget, 0
	client, err := llm.New(llm.Options{Engine: rules.New()})
	if err != nil {
		return err
	}
	s := rewrite.Step(rewrite.Config{PromptsRecipe: r})
	set := dedup.Settings{DedupRecipe: schemas.DefaultRecipe().Dedup, Workers: runtime.NumCPU(), Memory: 256 << 20}
	set.Jaccard, set.Excerpts, set.MaxCluster, set.Boilerplate = r.Jaccard, false, 0, 0
	index := dedup.NewIndex(set)
	defer index.Close()
	spool, err := os.CreateTemp("", "prompts")
	if err != nil {
		return err
	}
	defer os.Remove(spool.Name())
	defer spool.Close()
	w := bufio.NewWriterSize(spool, 1<<20)
	type place struct {
		at int64
		n  int
	}
	at, places := int64(0), map[string]place{}
	asStory := func(m rewrite.Made) schemas.Story {
		return schemas.Story{StoryID: m.Prompt.PromptID, Kind: schemas.KindStory, Text: m.Core}
	}
	var cands []rewrite.Candidate
	one := func(ctx context.Context, st schemas.Story) ([]rewrite.Made, error) {
		made, _, _, err := transform.Apply(ctx, s, transform.NewPass(1, s.Name, st.StoryID, client, nil), st)
		return made, err
	}
	for made, err := range pipeline.Map(ctx, runtime.NumCPU(), sources(n), one) {
		if err != nil {
			return err
		}
		for _, m := range made {
			b, err := json.Marshal(m)
			if err != nil {
				return err
			}
			if _, err := w.Write(b); err != nil {
				return err
			}
			places[m.Prompt.PromptID] = place{at, len(b)}
			at += int64(len(b))
			if err := index.Add(dedup.Sign(asStory(m), set)); err != nil {
				return err
			}
			cands = append(cands, rewrite.Candidate{PromptID: m.Prompt.PromptID, Task: m.Prompt.TaskType, Corpus: m.Prompt.Source.Corpus, Language: m.Prompt.Language})
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	decisions, err := index.Choose(ctx, func(id string) (schemas.Story, error) {
		b := make([]byte, places[id].n)
		var m rewrite.Made
		if _, err := spool.ReadAt(b, places[id].at); err != nil {
			return schemas.Story{}, err
		}
		return asStory(m), json.Unmarshal(b, &m)
	})
	if err != nil {
		return err
	}
	taken, short := rewrite.Choose(cands, r, 1)
	fmt.Printf("%d sources, %d prompts passed, %d near-duplicates, %d taken, %d quotas short\n", n, len(cands), len(decisions.Duplicates), len(taken), len(short))
	return nil
}

// sources makes stories as they are asked for: half of them plots.
func sources(n int) iter.Seq2[schemas.Story, error] {
	g := newMaker()
	return func(yield func(schemas.Story, error) bool) {
		for i := range n {
			corpus, t := "wikiplots", ""
			if i%2 == 0 {
				g.cast()
				for range 8 + g.r.IntN(10) {
					t += g.sentence() + " "
				}
				t = t[:len(t)-1]
			} else {
				corpus, t = "writingprompts", g.story(250)
			}
			s := schemas.Story{StoryID: fmt.Sprintf("%s:%d", corpus, i), Kind: schemas.KindStory, Language: "en", Text: t, TextHash: schemas.HashText(t),
				Source: schemas.Source{Corpus: corpus, ID: fmt.Sprint(i), Licence: "CC0-1.0", Redistribute: schemas.RedistributeText}}
			s.GroupID = s.StoryID
			if corpus == "writingprompts" {
				s.Meta = []schemas.KeyValue{{Key: "prompt", Value: g.idea()}}
			}
			if !yield(s, nil) {
				return
			}
		}
	}
}
