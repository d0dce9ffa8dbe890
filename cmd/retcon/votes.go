// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"

	"github.com/retcon-bench/retcon/internal/pipeline"
	"github.com/retcon-bench/retcon/internal/review"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/scoring"
	"github.com/retcon-bench/retcon/transform/flawed"
)

// reviewer applies people's votes to drafts, by the rules of human verification:
// an item is accepted when strictly more than half of at least min_annotators
// say that it is valid; its gold sets are majorities by sentence.
type reviewer struct {
	panel   scoring.Panel
	votes   map[string]scoring.ItemVotes // by the patched row's example_id
	allowed bool                         // unverified items go on
	engine  string
}

// openReview reads the votes of --votes for the workspace's drafts.
func (c *chain) openReview() (*reviewer, error) {
	return openReviewer(c.env, c.recipe, c.votes, pipeline.Records[schemas.Draft](c.ws.Step(makeDir)))
}

// openReviewer counts votes. Those on unknown items or on another text, too fast
// ones and those of annotators who failed the gates are set aside and counted,
// never used.
func openReviewer(e *env, recipe schemas.Recipe, files []string, drafts iter.Seq2[schemas.Draft, error]) (*reviewer, error) {
	r := &reviewer{allowed: recipe.Review.AllowUnverified, engine: recipe.Make.Engine, votes: map[string]scoring.ItemVotes{}}
	if len(files) == 0 {
		return r, nil
	}
	hashes, gates := map[string]string{}, map[string]bool{}
	for d, err := range drafts {
		if err != nil {
			return nil, err
		}
		if d.Patched != nil {
			hashes[schemas.ExampleID(d.MatchID, schemas.VariantPatched)] = d.Patched.TextHash
			gates[review.GateID(d)] = false
		}
	}
	for _, g := range recipe.Review.Gates {
		gates[g.ExampleID] = g.Valid
	}
	votes, err := readVotes(e, files)
	if err != nil {
		return nil, err
	}
	r.panel = scoring.CountVotes(votes, scoring.VoteRules{
		MinVotes: recipe.Review.MinAnnotators, MinSeconds: recipe.Review.MinSeconds,
		Gates: gates, GatePass: recipe.Review.GatePass,
		TextHash: func(id string) (string, bool) { h, ok := hashes[id]; return h, ok },
	})
	for _, a := range r.panel.SetAside {
		e.log.Warn("vote set aside", "item", a.Vote.ExampleID, "annotator", a.Vote.Annotator, "reason", a.Reason)
	}
	for _, iv := range r.panel.Items {
		r.votes[iv.ExampleID] = iv
	}
	return r, nil
}

// judge says who stands behind a draft, with its gold as people left it, or why
// it is set aside.
func (r *reviewer) judge(d schemas.Draft) (schemas.Draft, string, *schemas.Dropped) {
	drop := func(reason, detail string) (schemas.Draft, string, *schemas.Dropped) {
		return d, "", &schemas.Dropped{ID: d.MatchID, Stage: "splits", Reason: reason, Detail: detail}
	}
	iv, voted := r.votes[schemas.ExampleID(d.MatchID, schemas.VariantPatched)]
	if !voted {
		switch {
		case r.engine == engineRules:
			return d, schemas.VerifiedRules, nil
		case r.allowed:
			return d, schemas.Unverified, nil
		}
		return drop("unverified", "nobody has judged it, and the recipe does not allow unverified items")
	}
	switch r.panel.Accept(iv) {
	case scoring.Rejected:
		return drop("rejected", "more than half of the annotators do not find it valid: "+iv.Ballot().String())
	case scoring.Undecided:
		// Too few votes are as good as none; as many on either side are a verdict.
		if b := iv.Ballot(); r.allowed && (b.Yes != b.No || b.Yes+b.No < max(r.panel.Rules.MinVotes, 1)) {
			return d, schemas.Unverified, nil
		}
		return drop("undecided", "too few votes, or as many on either side; one more annotator decides: "+iv.Ballot().String())
	}
	d.Errors = keep(d.Errors, iv, scoring.SideError)
	d.Contradicted = keep(d.Contradicted, iv, scoring.SideContradicted)
	if len(d.Errors) == 0 || len(d.Contradicted) == 0 {
		return drop("no_gold_left", "the annotators found no sentence of one side right")
	}
	d.Difficulty = flawed.Difficulty(&d)
	if b := iv.Ballot(); b.Yes+b.No < crowd {
		return d, schemas.VerifiedAuthor, nil
	}
	return d, schemas.VerifiedCrowd, nil
}

// crowd is how many annotators make an item's verification "crowd"; below, as
// far as the recipe allows, it is "author".
const crowd = 3

// keep leaves the gold sentences that the annotators' majority finds right.
func keep(gold []schemas.GoldSentence, iv scoring.ItemVotes, side scoring.Side) []schemas.GoldSentence {
	ids := make([]int, len(gold))
	for i, g := range gold {
		ids[i] = g.Sentence
	}
	var out []schemas.GoldSentence
	for i, b := range iv.SentenceMajorities(side, ids) {
		if b.Kept {
			out = append(out, gold[i])
		}
	}
	return out
}

// agreement is the record for manifest and card: of the items shown to people,
// how many were kept, and how far people agreed. Both counts are over items
// that the Maker still holds.
func (r *reviewer) agreement() schemas.Agreement {
	kept := 0
	for _, iv := range r.panel.Items {
		if r.panel.Accept(iv) == scoring.Accepted {
			kept++
		}
	}
	return r.panel.Agreement().Record("all", len(r.panel.Items), kept)
}

// count is what people said of a row, beside what the judge said.
func (r *reviewer) count(e *schemas.Example) {
	iv, ok := r.votes[e.ExampleID]
	if !ok {
		return
	}
	if e.Votes == nil {
		e.Votes = &schemas.VoteCount{}
	}
	b := iv.Ballot()
	e.Votes.Annotators, e.Votes.Valid = b.Yes+b.No+b.CannotSay, b.Yes
}

// annotations writes the votes that counted, in order of item and annotator,
// as a release has them: with numbers for names.
func (r *reviewer) annotations(out *pipeline.Output, recipe schemas.Recipe) error {
	add, err := out.Table(annotationsTable)
	if err != nil {
		return err
	}
	number := map[string]string{}
	for i, a := range r.panel.Annotators {
		number[a.Name] = fmt.Sprintf("a%03d", i+1)
	}
	for _, iv := range r.panel.Items {
		for _, v := range iv.Votes {
			v.Annotator = number[v.Annotator]
			if err := add(schemas.Annotation{AnnotationID: v.ExampleID + "/" + v.Annotator, Vote: v, DatasetVersion: recipe.Version, Canary: recipe.Canary}); err != nil {
				return err
			}
		}
	}
	return nil
}

// votesInput names the votes as an input of the splits step: by what they say, in
// whatever format, since the file of a running `retcon review serve` is not all
// there is of it.
func (c *chain) votesInput() ([]schemas.NamedHash, error) {
	if len(c.votes) == 0 {
		return nil, nil
	}
	votes, err := readVotes(c.env, c.votes)
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	var line []byte
	for _, v := range votes {
		if line, err = schemas.AppendLine(line[:0], v); err != nil {
			return nil, err
		}
		h.Write(line)
	}
	return []schemas.NamedHash{{Name: "votes", SHA256: hex.EncodeToString(h.Sum(nil))}}, nil
}
