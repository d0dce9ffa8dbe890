// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/retcon-bench/retcon/datasets"
	"github.com/retcon-bench/retcon/datasets/arrowio"
	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/internal/pipeline"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/splits"
)

type releaseCmd struct {
	chainFlags
	Votes []string `help:"Votes of annotators (JSON Lines, CSV, or an export of Label Studio): majorities decide items and gold sentences. Repeat for several files." placeholder:"FILE" sep:"none"`

	DisjointFrom []string `help:"Earlier release folder: prove that this one shares no source, or no plot hole, with it. Repeat for several." placeholder:"DIR" sep:"none"`
}

func (*releaseCmd) Help() string {
	return `Chooses the rows of every config from WORK/30-make and WORK/20-dedup, and
writes the release folder: Parquet, manifest, card, checksums. An existing
release is never overwritten.

Rows of hidden splits go to WORK/50-hidden; the release has their ids and
salted hashes. The salt is made once, in WORK/salt, and is not to be published.

  retcon release --work w --out flawed-1.0.0
  retcon release --work w2 --out flawed-2.0.0 --disjoint-from flawed-1.0.0`
}

func (cmd *releaseCmd) Run(e *env) error {
	c, err := cmd.open(e)
	if err != nil {
		return err
	}
	defer c.close()
	c.votes = cmd.Votes
	m, _, err := c.releaseAgainst(cmd.DisjointFrom)
	if err != nil {
		return err
	}
	return printRelease(e, cmd.Out, m)
}

// agreementTable holds how far annotators agreed, where there are votes.
const agreementTable = "agreement.jsonl"

// shortfallsTable lists what configs wanted and did not get.
const shortfallsTable = "shortfalls.jsonl"

// splits chooses rows and writes them to the workspace, in the order in which
// they will be released.
func (c *chain) splits() (schemas.StepManifest, bool, error) {
	fp := pipeline.Fingerprint{Step: "splits", Version: "3", Settings: struct {
		schemas.SplitsRecipe
		Review  schemas.ReviewRecipe
		Seed    uint64
		Version string
		Canary  string
		Engine  string
	}{c.recipe.Splits, c.recipe.Review, c.recipe.Seed, c.recipe.Version, c.recipe.Canary, c.recipe.Make.Engine}}
	for _, dir := range []string{dedupDir, makeDir} {
		in, err := c.inputOf(dir)
		if err != nil {
			return schemas.StepManifest{}, false, err
		}
		fp.Inputs = append(fp.Inputs, in...)
	}
	votes, err := c.votesInput()
	if err != nil {
		return schemas.StepManifest{}, false, err
	}
	fp.Inputs = append(fp.Inputs, votes...)
	return c.step(splitsDir, fp, func(ctx context.Context, out *pipeline.Output, m *schemas.StepManifest) error {
		rev, err := c.openReview()
		if err != nil {
			return err
		}
		var drafts, stories []splits.Item
		for d, err := range pipeline.Records[schemas.Draft](c.ws.Step(makeDir)) {
			if err != nil {
				return err
			}
			m.In++
			d, verification, dropped := rev.judge(d)
			if dropped != nil {
				if err := out.Drop(*dropped); err != nil {
					return err
				}
				continue
			}
			drafts = append(drafts, splits.DraftItem(d, verification))
		}
		for s, err := range c.stories(dedupDir) {
			if err != nil {
				return err
			}
			if s.Kind == schemas.KindStory {
				stories = append(stories, splits.StoryItem(s))
			}
		}
		chosen := splits.Choose(drafts, stories, c.recipe.Splits, c.recipe.Seed)
		for _, d := range chosen.Dropped {
			if err := out.Drop(d); err != nil {
				return err
			}
		}
		add, err := out.Table(shortfallsTable)
		if err != nil {
			return err
		}
		for _, s := range chosen.Shortfalls {
			if err := add(s); err != nil {
				return err
			}
		}
		if add, err = out.Table(agreementTable); err != nil {
			return err
		}
		if len(rev.votes) > 0 {
			if err := add(rev.agreement()); err != nil {
				return err
			}
		}
		if err := rev.annotations(out, c.recipe); err != nil {
			return err
		}
		return c.writeRows(ctx, out, chosen.Rows, rev)
	})
}

// splitRow is a record of the splits step.
type splitRow struct {
	Config string               `json:"config"`
	Row    schemas.Example      `json:"row"`
	Steps  []schemas.Provenance `json:"steps"` // that made the row
}

// writeRows makes the chosen rows, a row at a time, ordered by config, split
// and example id.
func (c *chain) writeRows(ctx context.Context, out *pipeline.Output, rows []splits.Choice, rev *reviewer) error {
	drafts, err := pipeline.OpenIndex[schemas.Draft](c.ws.Step(makeDir))
	if err != nil {
		return err
	}
	defer drafts.Close()
	stories, err := pipeline.OpenIndex[schemas.Story](c.ws.Step(dedupDir))
	if err != nil {
		return err
	}
	defer stories.Close()

	slices.SortStableFunc(rows, func(a, b splits.Choice) int {
		return cmp.Or(cmp.Compare(splits.Order(a.Config), splits.Order(b.Config)),
			strings.Compare(a.Split, b.Split), strings.Compare(a.ExampleID(), b.ExampleID()))
	})
	stamp := splits.Stamp{Version: c.recipe.Version, Canary: c.recipe.Canary, Engine: c.recipe.Make.Engine}
	row := func(_ context.Context, ch splits.Choice) (splitRow, error) {
		r := splitRow{Config: ch.Config}
		var err error
		if ch.FromStory {
			var s schemas.Story
			if s, err = stories.Get(ch.ID); err == nil {
				r.Row, err = splits.Original(s, ch, stamp)
				r.Steps = s.Provenance
			}
		} else {
			var d schemas.Draft
			if d, err = drafts.Get(ch.ID); err == nil {
				d, _, _ = rev.judge(d) // with its gold as people left it
				r.Row, err = splits.Row(d, ch, stamp)
				r.Steps = d.Provenance
				rev.count(&r.Row)
			}
		}
		return r, err
	}
	for r, err := range pipeline.Map(ctx, c.workers, sequence(rows), row) {
		if err != nil {
			return err
		}
		if err := out.Record(r.Config+"/"+r.Row.Split+"/"+r.Row.ExampleID, r); err != nil {
			return err
		}
	}
	return nil
}

func sequence[T any](list []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, v := range list {
			if !yield(v, nil) {
				return
			}
		}
	}
}

// hiddenDir is the workspace's folder of hidden rows.
const hiddenDir = "50-hidden"

// release assembles splits and writes the release folder, unless it stands
// there already just so.
func (c *chain) release() (schemas.Manifest, bool, error) { return c.releaseAgainst(nil) }

// releaseAgainst is release with proofs of disjointness from earlier releases.
func (c *chain) releaseAgainst(against []string) (schemas.Manifest, bool, error) {
	if _, _, err := c.splits(); err != nil {
		return schemas.Manifest{}, false, err
	}
	m, err := c.manifest()
	if err != nil {
		return m, false, err
	}
	rows := 0
	for _, s := range m.Steps {
		if s.Step == "splits" {
			rows += s.Out
		}
	}
	left := map[string]int{} // prompts that the step made and a release may not have
	if rows == 0 && c.recipe.Prompts.Target > 0 {
		for _, err := range c.publicPrompts(left) {
			if err != nil {
				return m, false, err
			}
			rows++
			break // one is a release
		}
	}
	if rows == 0 {
		aside := listCounts(m.Drops)
		for _, l := range pipeline.SortedCounts(left) {
			aside += fmt.Sprintf("; prompts %d, because %s", l.N, l.Name)
		}
		return m, false, withHint(exitInput, "each is in the "+pipeline.DroppedFile+" of its step's folder in "+c.ws.Dir()+", with its reason",
			fmt.Errorf("there is no row to release; set aside: %s", aside))
	}
	var earlier []*datasets.Release
	for _, dir := range against {
		r, err := datasets.Open(dir)
		if err != nil {
			return m, false, err
		}
		earlier = append(earlier, r)
	}
	if old, err := datasets.Open(c.flags.Out); err == nil {
		if err := c.sameRelease(old.Manifest, m); err != nil {
			return old.Manifest, false, err
		}
		for _, r := range earlier {
			if !slices.ContainsFunc(old.Manifest.Overlap, func(o schemas.Overlap) bool { return o.Against == r.ID() }) {
				return old.Manifest, false, withHint(exitUsage, "a release is never overwritten: name another folder with --out",
					fmt.Errorf("%s holds this release without a proof against %s", c.flags.Out, r.ID()))
			}
		}
		return old.Manifest, false, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return m, false, err
	}
	if m.Leaks, err = c.leaks(); err != nil {
		return m, false, err
	}
	tables := c.tables()
	for _, r := range earlier {
		proofs, err := datasets.Disjoint(c.ctx, tables, m.Canary, r)
		if errors.Is(err, datasets.ErrCanary) {
			return m, false, withHint(exitUsage, "give the recipe a new canary", err)
		}
		if err != nil {
			return m, false, err
		}
		m.Overlap = append(m.Overlap, proofs...)
	}
	opt := datasets.WriteOptions{Second: arrowio.Columns}
	var public []datasets.Table
	for _, t := range tables {
		if t.Split == splits.Hidden {
			opt.Hidden = append(opt.Hidden, t)
		} else {
			public = append(public, t)
		}
	}
	if len(opt.Hidden) > 0 {
		opt.HiddenDir = c.ws.Step(hiddenDir)
		if opt.Salt, err = datasets.Salt(c.ws.Salt()); err != nil {
			return m, false, err
		}
	}
	m, err = datasets.Write(c.ctx, c.flags.Out, m, public, opt)
	if errors.Is(err, datasets.ErrExists) {
		return m, false, withHint(exitUsage, "name another folder with --out", err)
	}
	return m, err == nil, err
}

// sameRelease tells whether the release that stands is the one that would be
// written.
func (c *chain) sameRelease(old, m schemas.Manifest) error {
	if old.RecipeHash == m.RecipeHash && slices.EqualFunc(old.Steps, m.Steps, func(a, b schemas.StepManifest) bool {
		return slices.Equal(a.Outputs, b.Outputs)
	}) {
		c.log.Info("release is up to date", "out", c.flags.Out)
		return nil
	}
	why := "the same recipe, but other inputs or another version of retcon"
	if keys := pipeline.DifferingKeys(old.Recipe, m.Recipe); len(keys) > 0 {
		why = "another recipe; these keys differ: " + strings.Join(keys, ", ")
	}
	return withHint(exitUsage, "a release is never overwritten: name another folder with --out",
		fmt.Errorf("%s holds a release made with %s", c.flags.Out, why))
}

// manifest is the release's manifest as far as the workspace knows it.
func (c *chain) manifest() (schemas.Manifest, error) {
	m := schemas.Manifest{Format: 1, Name: c.recipe.Name, Version: c.recipe.Version, Date: c.recipe.Date, Canary: c.recipe.Canary,
		Recipe: c.recipe, State: schemas.StateComplete}
	var err error
	if m.RecipeHash, err = datasets.RecipeHash(c.recipe); err != nil {
		return m, err
	}
	drops := map[string]int{}
	dirs := []string{ingestDir, dedupDir, makeDir, splitsDir}
	if c.recipe.Prompts.Target > 0 {
		dirs = []string{ingestDir, dedupDir, makeDir, promptsDir, splitsDir}
		if _, err := c.inputOf(promptsDir); err != nil {
			return m, err
		}
	}
	for _, dir := range dirs {
		s, err := pipeline.ReadManifest(c.ws.Step(dir))
		if err != nil {
			return m, withHint(exitUsage, "a release tells of every step: run `retcon build`, which makes again what is missing",
				&fetch.Error{Op: "open workspace", Name: c.ws.Dir(), Kind: fetch.Input, Err: err})
		}
		if s.State != schemas.StateComplete {
			m.State = s.State
		}
		m.Steps = append(m.Steps, s)
		for _, r := range s.Reasons {
			drops[r.Name] += r.N
		}
	}
	if m.State != schemas.StateComplete && !c.recipe.Release.AllowPartial {
		return m, withHint(exitPending, "get the missing answers, or set release.allow_partial in the recipe",
			errors.New("a step of this workspace is partial: answers are missing"))
	}
	stories, err := pipeline.OpenIndex[schemas.Story](c.ws.Step(dedupDir))
	if err != nil {
		return m, err
	}
	defer stories.Close()
	if err := c.keepBack(m.Steps, stories); err != nil {
		return m, err
	}
	m.Drops = pipeline.SortedCounts(drops)
	m.Corpora = c.corpusUses(m.Steps[0], stories)
	for o, err := range pipeline.ReadLines[schemas.Overlap](filepath.Join(c.ws.Step(dedupDir), overlapTable)) {
		if err != nil {
			return m, err
		}
		m.Overlap = append(m.Overlap, o)
	}
	for a, err := range pipeline.ReadLines[schemas.Agreement](filepath.Join(c.ws.Step(splitsDir), agreementTable)) {
		if err != nil {
			return m, err
		}
		m.Agreement = append(m.Agreement, a)
	}
	for s, err := range pipeline.ReadLines[splits.Shortfall](filepath.Join(c.ws.Step(splitsDir), shortfallsTable)) {
		if err != nil {
			return m, err
		}
		m.Notes = append(m.Notes, s.String())
	}
	if c.recipe.Prompts.Target > 0 {
		notes, err := c.promptNotes()
		if err != nil {
			return m, err
		}
		m.Notes = append(m.Notes, notes...)
	}
	return m, nil
}

// keepBack clears the details of examples in funnels that are of stories whose
// text a release may not carry, or that stand in a hidden split: details quote.
// So is that of a story which dedup does not hold any more.
func (c *chain) keepBack(steps []schemas.StepManifest, stories *pipeline.Index[schemas.Story]) error {
	hidden := map[string]bool{}
	if c.recipe.Splits.HiddenShare > 0 {
		for r, err := range pipeline.Records[splitRow](c.ws.Step(splitsDir)) {
			if err != nil {
				return err
			}
			if r.Row.Split == splits.Hidden {
				hidden[r.Row.GroupID] = true
			}
		}
	}
	public := func(id string) (bool, error) {
		if at := strings.LastIndexByte(id, '#'); at >= 0 && !stories.Has(id) { // a draft's
			id = id[:at]
		}
		if !stories.Has(id) {
			return false, nil
		}
		s, err := stories.Get(id)
		return s.Source.MayReleaseText() && !hidden[s.GroupID], err
	}
	for _, m := range steps {
		for _, st := range m.Stages {
			for _, r := range st.Reasons {
				for i, e := range r.Examples {
					ok, err := public(e.ID)
					if err != nil {
						return err
					}
					if !ok {
						r.Examples[i].Detail = "its text is not in this release"
					}
				}
			}
		}
	}
	return nil
}

// leaks audits every config that has both labels. A config whose label can be
// told from surface features stops the release.
func (c *chain) leaks() ([]schemas.LeakReport, error) {
	docs := map[string][]splits.Doc{}
	for r, err := range pipeline.Records[splitRow](c.ws.Step(splitsDir)) {
		if err != nil {
			return nil, err
		}
		docs[r.Config] = append(docs[r.Config], splits.Doc{ID: r.Row.ExampleID, Group: r.Row.GroupID,
			Positive: r.Row.Label == schemas.LabelError, Story: r.Row.Story})
	}
	unjudged := ""
	if c.recipe.Make.Engine == "rules" {
		unjudged = "made by rules, whose templates may show"
	}
	reports := []schemas.LeakReport{}
	for _, s := range splits.All {
		if len(docs[s.Config]) == 0 || !s.Positives {
			continue
		}
		rep := splits.Audit(s.Config, docs[s.Config], unjudged)
		if !rep.Passed {
			return nil, withHint(exitFound, "look at rows of both labels for "+strings.Join(rep.Features, ", "),
				fmt.Errorf("leak audit: %s: %s", rep.Config, rep.Why))
		}
		reports = append(reports, rep)
	}
	return reports, nil
}

// corpusUses counts what each corpus gave: of the stories that dedup kept by
// their ids, which begin with the corpus ([schemas.StoryID]).
func (c *chain) corpusUses(in schemas.StepManifest, stories *pipeline.Index[schemas.Story]) []schemas.CorpusUse {
	kept := map[string]int{}
	for id := range stories.IDs() {
		corpus, _, _ := strings.Cut(id, ":")
		kept[corpus]++
	}
	count := map[string]int{}
	for _, n := range in.Counts {
		count[n.Name] = n.N
	}
	var uses []schemas.CorpusUse
	for i, corpus := range c.corpora {
		uses = append(uses, schemas.CorpusUse{Name: corpus.Name, Licence: corpus.Terms.Licence,
			Files: count[corpus.Name+"/files"], Read: count[corpus.Name+"/"+schemas.KindStory] + count[corpus.Name+"/"+schemas.KindQuery],
			Kept: kept[corpus.Name], Inputs: in.Inputs[i : i+1]})
	}
	return uses
}

// tables lists the release's tables: each evaluation config with its splits,
// read back from the workspace row by row. A config without rows still has
// its test split, with the full schema.
func (c *chain) tables() []datasets.Table {
	var out []datasets.Table
	for _, config := range splits.Configs() {
		for _, split := range []string{splits.Test, splits.Hidden, splits.Train} {
			if !c.hasSplit(config, split) {
				continue
			}
			out = append(out, datasets.NewTable(config, split, "example", func(yield func(schemas.Example, error) bool) {
				for r, err := range pipeline.Records[splitRow](c.ws.Step(splitsDir)) {
					if err == nil && (r.Config != config || r.Row.Split != split) {
						continue
					}
					if !yield(r.Row, err) {
						return
					}
				}
			}))
		}
	}
	if c.recipe.Prompts.Target > 0 {
		out = append(out, c.promptTable())
	}
	return append(out, c.sideTables()...)
}

func (c *chain) hasSplit(config, split string) bool {
	switch {
	case config == splits.FewShot:
		return split == splits.Train && c.recipe.Splits.FewShot > 0
	case config == splits.Control && !c.recipe.Splits.Controls:
		return false
	case split == splits.Hidden:
		return c.recipe.Splits.HiddenShare > 0
	}
	return split == splits.Test
}
