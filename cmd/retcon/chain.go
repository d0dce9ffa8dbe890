// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/retcon-bench/retcon/ingest"
	"github.com/retcon-bench/retcon/ingest/all"
	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/internal/pipeline"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform/dedup"
)

// Folders of a workspace, one a step, in the order of the chain.
const (
	ingestDir = "10-ingest"
	dedupDir  = "20-dedup"
	makeDir   = "30-make"
	splitsDir = "40-splits"
)

// chainFlags are the flags of every command that works in a workspace.
type chainFlags struct {
	Recipe    string            `help:"Recipe file (YAML). Default: the recipe of the embedded tales." placeholder:"FILE"`
	Corpus    map[string]string `help:"Where a corpus lies: name=FOLDER, FILE or ARCHIVE. Repeat for several." placeholder:"NAME=PATH" mapsep:"none"`
	Against   map[string]string `help:"An earlier release (folder) or a corpus (by its name): what occurs there is removed, or marked where the recipe says so. Repeat for several." placeholder:"NAME=PATH" mapsep:"none"`
	Earlier   map[string]string `help:"An earlier release (folder) whose stories are preferred: of two copies the one it has stays. Repeat for several." placeholder:"NAME=DIR" mapsep:"none"`
	Benchmark map[string]string `help:"Files of a benchmark (folder, archive, file: text, JSON, CSV, Parquet): stories that stand in it are set aside. Repeat for several." placeholder:"NAME=PATH" mapsep:"none"`
	Memory    string            `help:"What deduplication may hold in memory beside ids, such as 500MB; beyond it goes to sorted files. Shows in no output." placeholder:"SIZE"`
	Out       string            `help:"Folder of the release." default:"out" placeholder:"DIR"`
	Work      string            `help:"Folder of the workspace. Default: the release folder with .work behind it." placeholder:"DIR"`
	Workers   int               `help:"Records worked on at a time; shows in no output." default:"${workers}"`

	Prompts *int     `help:"ConStory-Bench prompts wanted, in place of the recipe's; 0 makes none." placeholder:"N"`
	Seed    *uint64  `help:"Seed, in place of the recipe's."`
	Engine  string   `help:"Who answers model calls (rules, openai, batch, replay), in place of the recipe's." placeholder:"NAME"`
	Model   string   `help:"Model of all stages that name none: a name of the recipe's table, or any name the server knows." placeholder:"NAME"`
	Kinds   []string `help:"Ask for facts whose contradiction is of these kinds (continuity, out_of_character, factual, impossible_event, unresolved) or ConStory subtypes only, in place of the recipe's." placeholder:"KIND,..."`
}

// chain joins the steps over one workspace.
type chain struct {
	*env
	flags   chainFlags
	recipe  schemas.Recipe
	corpora []corpusIn
	ws      *pipeline.Workspace
	workers int
	memory  int64 // of deduplication, in bytes; 0 is no limit

	engine  string // who answers this run: rules, openai, batch or replay
	asker   *asker
	votes   []string // files of people's votes
	closers []func() error
	partial bool

	sound map[string]bool // steps whose output was seen to be as they wrote it
}

// corpusIn is a corpus of the recipe with where it lies.
type corpusIn struct {
	ingest.Corpus
	recipe schemas.CorpusRecipe
	root   string
}

// open resolves the recipe and takes the workspace.
func (f chainFlags) open(e *env) (*chain, error) {
	c := &chain{env: e, flags: f, workers: f.Workers, sound: map[string]bool{}}
	var err error
	if c.memory, err = f.memory(); err != nil {
		return nil, err
	}
	if c.recipe, err = f.resolve(); err != nil {
		return nil, err
	}
	if err := (dedup.Settings{DedupRecipe: c.recipe.Dedup, Memory: c.memory}).Check(); err != nil {
		return nil, withHint(exitUsage, "", err)
	}
	c.engine = c.recipe.Make.Engine
	if c.engine != engineRules {
		c.recipe.Make.Engine = engineModel
	}
	for _, r := range c.recipe.Corpora {
		corpus, ok := all.Find(r.Name)
		if !ok {
			return nil, usagef("recipe: corpora: no corpus is called %q (known: %s)", r.Name, strings.Join(all.Names(), ", "))
		}
		root := f.Corpus[r.Name]
		if root == "" && !corpus.Embedded {
			return nil, withHint(exitUsage, "say where it lies: --corpus "+r.Name+"=FOLDER",
				fmt.Errorf("corpus %s has no folder", r.Name))
		}
		c.corpora = append(c.corpora, corpusIn{corpus, r, root})
	}
	if c.ws, err = pipeline.Open(f.workDir(), c.recipe); err != nil {
		return nil, err
	}
	c.closers = append(c.closers, c.ws.Close)
	return c, nil
}

func (f chainFlags) workDir() string {
	if f.Work != "" {
		return f.Work
	}
	return filepath.Clean(f.Out) + ".work"
}

// close gives back what open and the steps took.
func (c *chain) close() {
	for i := len(c.closers) - 1; i >= 0; i-- {
		if err := c.closers[i](); err != nil {
			c.log.Warn("closing", "error", err)
		}
	}
}

// fresh refuses a step's output that was made of other records than the steps
// before it hold now: of stories that nobody has any more, by terms that hold no
// longer. A step whose folder was removed has nothing to differ from.
func fresh(work string, m schemas.StepManifest) error {
	for _, in := range m.Inputs {
		dir, file, _ := strings.Cut(in.Name, "/")
		if dir != ingestDir && dir != dedupDir && dir != makeDir {
			continue
		}
		before, err := pipeline.ReadManifest(filepath.Join(work, dir))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return &fetch.Error{Op: "open workspace", Name: work, Kind: fetch.Input, Err: err}
		}
		if !slices.ContainsFunc(before.Outputs, func(f schemas.FileHash) bool { return f.Path == file && f.SHA256 == in.SHA256 }) {
			return withHint(exitUsage, "run `retcon "+m.Step+"` again, or `retcon build`, which runs all that is not up to date",
				fmt.Errorf("the output of %s in %s was made of another %s than the one that stands there now", m.Step, work, in.Name))
		}
	}
	return nil
}

// untouched refuses an output that is not as its step wrote it: a change, of a
// story's terms say, would be released as if the recipe gave it.
func untouched(dir string, m schemas.StepManifest) error {
	if why := pipeline.Changed(dir, m); why != "" {
		return withHint(exitInput, "run `retcon "+m.Step+"` again, or `retcon build`, which runs all that is not up to date",
			fmt.Errorf("%s: %s", dir, why))
	}
	return nil
}

// inputOf names a step's records as an input of the next. Stories of which not
// one is left are an error: a release of nothing would look like one.
func (c *chain) inputOf(dir string) ([]schemas.NamedHash, error) {
	m, err := pipeline.ReadManifest(c.ws.Step(dir))
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s has no output in %s", dir, c.ws.Dir())
	}
	if err != nil {
		return nil, withHint(exitUsage, "run the steps before it first, or `retcon build`, which runs all", err)
	}
	if err := fresh(c.ws.Dir(), m); err != nil {
		return nil, err
	}
	if !c.sound[dir] {
		if err := untouched(c.ws.Step(dir), m); err != nil {
			return nil, err
		}
		c.sound[dir] = true
	}
	if m.Out == 0 && (dir == ingestDir || dir == dedupDir) {
		return nil, withHint(exitInput, "each is in "+filepath.Join(c.ws.Step(dir), pipeline.DroppedFile)+" with its reason; give other stories with --corpus, or compare with less",
			fmt.Errorf("%s set every story aside, none of %d is left: %s", m.Step, m.Dropped, listCounts(m.Reasons)))
	}
	var in []schemas.NamedHash
	for _, f := range m.Outputs {
		in = append(in, schemas.NamedHash{Name: dir + "/" + f.Path, SHA256: f.SHA256})
	}
	return in, nil
}

func listCounts(counts []schemas.Count) string {
	var list []string
	for _, c := range counts {
		list = append(list, fmt.Sprintf("%s %d", c.Name, c.N))
	}
	return strings.Join(list, ", ")
}

// step runs one step of the chain unless its output is current. It returns
// the manifest and whether it had to run.
func (c *chain) step(dir string, fp pipeline.Fingerprint, run func(ctx context.Context, out *pipeline.Output, m *schemas.StepManifest) error) (schemas.StepManifest, bool, error) {
	m, current, why, err := c.ws.Current(dir, fp)
	if err != nil {
		return m, false, err
	}
	c.sound[dir] = true // or will be
	if current {
		c.log.Info(fp.Step+" is up to date", "records", m.Out, "dropped", m.Dropped)
		return m, false, nil
	}
	c.log.Debug(fp.Step+" runs", "why", why)
	if m, err = fp.Manifest(); err != nil {
		return m, false, err
	}
	out, err := c.ws.Begin(dir)
	if err != nil {
		return m, false, err
	}
	defer out.Discard()
	err = run(c.ctx, out, &m)
	if errors.Is(err, errPlanned) {
		return m, false, err
	}
	if err != nil {
		return m, false, fmt.Errorf("%s: %w", fp.Step, err)
	}
	if m, err = out.Publish(m); err != nil {
		return m, false, err
	}
	c.log.Info(fp.Step+" done", "records", m.Out, "dropped", m.Dropped)
	return m, true, nil
}
