// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/retcon-bench/retcon/datasets"
	"github.com/retcon-bench/retcon/ingest"
	"github.com/retcon-bench/retcon/ingest/all"
	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/internal/pipeline"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform/dedup"
)

// earlier is what --against names: a release folder, or a corpus. Its texts are
// held while dedup compares, so it should be of a release's size; they are read
// where the step runs, which its sum decides.
type earlier struct {
	name  string
	sum   string
	load  func(ctx context.Context) error
	order []string
	text  map[string]schemas.Story
}

// openAgainst finds what --against names, in order of name.
func (c *chain) openAgainst() ([]*earlier, error) {
	var out []*earlier
	for _, name := range againstNames(c.recipe.Dedup.Against) {
		path, ok := c.flags.Against[name]
		if !ok {
			return nil, usagef("the recipe compares with %q: say where it lies with --against %s=PATH", name, name)
		}
		e := &earlier{name: name, text: map[string]schemas.Story{}}
		var err error
		if _, serr := os.Stat(filepath.Join(path, datasets.ManifestFile)); serr == nil {
			err = e.openRelease(path)
		} else if corpus, known := all.Find(name); known {
			err = e.openCorpus(c.ctx, corpus, path)
		} else {
			err = withHint(exitInput, "name a release folder, or a corpus by its own name: --against fairytaleqa=FOLDER",
				fmt.Errorf("--against %s=%s: no release there, and no corpus is called that", name, path))
		}
		if err != nil {
			return nil, fmt.Errorf("against %s: %w", name, err)
		}
		out = append(out, e)
	}
	return out, nil
}

// openEarlier finds the releases that --earlier names.
func (c *chain) openEarlier() ([]*earlier, error) {
	var out []*earlier
	for _, name := range againstNames(c.recipe.Dedup.Earlier) {
		path, ok := c.flags.Earlier[name]
		if !ok {
			return nil, usagef("the recipe prefers the stories of %q: say where it lies with --earlier %s=DIR", name, name)
		}
		e := &earlier{name: name, text: map[string]schemas.Story{}}
		if err := e.openRelease(path); err != nil {
			return nil, fmt.Errorf("earlier %s: %w", name, err)
		}
		out = append(out, e)
	}
	return out, nil
}

// keptBefore lists the source stories of releases.
func keptBefore(ctx context.Context, list []*earlier) (map[string]bool, error) {
	kept := map[string]bool{}
	for _, e := range list {
		if err := e.load(ctx); err != nil {
			return nil, fmt.Errorf("earlier %s: %w", e.name, err)
		}
		for _, s := range e.text {
			kept[s.GroupID] = true
		}
	}
	return kept, nil
}

// memory reads --memory in bytes; 0 is no limit.
func (f chainFlags) memory() (int64, error) {
	s := strings.ToUpper(strings.TrimSpace(f.Memory))
	if s == "" {
		return 0, nil
	}
	unit := int64(1)
	for _, u := range []struct {
		name string
		of   int64
	}{{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {"B", 1}} {
		if rest, ok := strings.CutSuffix(s, u.name); ok {
			s, unit = strings.TrimSpace(rest), u.of
			break
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt64/unit {
		return 0, usagef("--memory %s: want a size such as 500MB", f.Memory)
	}
	return n * unit, nil
}

func againstNames(list string) []string {
	var names []string
	for n := range strings.SplitSeq(list, ",") {
		if n = strings.TrimSpace(n); n != "" {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (e *earlier) add(s schemas.Story) {
	if _, ok := e.text[s.StoryID]; !ok {
		e.order = append(e.order, s.StoryID)
		e.text[s.StoryID] = s
	}
}

func (e *earlier) openRelease(dir string) error {
	r, err := datasets.Open(dir)
	if err != nil {
		return err
	}
	digests := []string{}
	for _, c := range r.Manifest.Configs {
		if c.Schema != "example" {
			continue
		}
		for _, s := range c.Splits {
			digests = append(digests, c.Name+"/"+s.Name+"="+s.Digest)
		}
	}
	e.sum = schemas.HashText(strings.Join(digests, "\n"))
	e.load = func(ctx context.Context) error { return e.readRelease(ctx, r) }
	return nil
}

// readRelease takes the originals and patched stories of every config; their
// sources and near texts are what a new release must not repeat.
func (e *earlier) readRelease(ctx context.Context, r *datasets.Release) error {
	for _, c := range r.Manifest.Configs {
		if c.Schema != "example" {
			continue
		}
		for _, s := range c.Splits {
			for row, err := range datasets.Rows[schemas.Example](r, c.Name, s.Name) {
				if err == nil {
					err = ctx.Err()
				}
				if err != nil {
					return err
				}
				if row.Variant == schemas.VariantOriginal || row.Variant == schemas.VariantPatched {
					e.add(schemas.Story{StoryID: row.ExampleID, GroupID: row.GroupID, Kind: schemas.KindStory, Title: row.Title,
						Language: row.Language, Words: row.Words, Text: row.Story, TextHash: row.TextHash, Source: row.Source})
				}
			}
		}
	}
	return nil
}

func (e *earlier) openCorpus(ctx context.Context, c ingest.Corpus, root string) (err error) {
	e.sum, err = ingest.Digest(ctx, c, root)
	e.load = func(ctx context.Context) error { return e.readCorpus(ctx, c, root) }
	return err
}

func (e *earlier) readCorpus(ctx context.Context, c ingest.Corpus, root string) error {
	for it, err := range c.Open(ctx, root, c.Defaults) {
		if err != nil {
			return err
		}
		b, err := it.Load(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", it.Name, err)
		}
		for _, s := range b.Stories {
			e.add(s)
		}
	}
	if len(e.order) == 0 {
		return &fetch.Error{Op: "read", Name: root, Kind: fetch.Input, Err: fmt.Errorf("no story of corpus %s in it", c.Name)}
	}
	return nil
}

// sign gives what dedup compares with.
func (e *earlier) sign(ctx context.Context, set dedup.Settings) (*dedup.Against, error) {
	if err := e.load(ctx); err != nil {
		return nil, fmt.Errorf("against %s: %w", e.name, err)
	}
	stories := func(yield func(schemas.Story, error) bool) {
		for _, id := range e.order {
			if !yield(e.text[id], nil) {
				return
			}
		}
	}
	get := func(id string) (schemas.Story, error) {
		s, ok := e.text[id]
		if !ok {
			return s, fmt.Errorf("%s holds no %s", e.name, id)
		}
		return s, nil
	}
	return dedup.ReadAgainst(ctx, e.name, e.sum, iter.Seq2[schemas.Story, error](stories), get, set)
}

// retellingsTable lists pairs that may be one tale told twice: for people,
// never a filter.
const retellingsTable = "retellings.jsonl"

// maxProfiles bounds the report: a profile takes a few kilobytes.
const maxProfiles = 50_000

// retellings compares titles, names and themes of the stories that stay.
type retellings struct {
	c        *chain
	profiles []dedup.Profile
	many     bool // more than the report is for
	write    func(any) error
}

func newRetellings(c *chain, out *pipeline.Output) (*retellings, error) {
	write, err := out.Table(retellingsTable)
	return &retellings{c: c, write: write}, err
}

// add takes a story that stays.
func (r *retellings) add(s schemas.Story) {
	switch {
	case r.many || s.Kind != schemas.KindStory:
	case len(r.profiles) == maxProfiles:
		r.c.log.Warn("no report on retellings: it is for collections that people can read", "stories over", maxProfiles)
		r.many, r.profiles = true, nil
	default:
		r.profiles = append(r.profiles, dedup.ProfileOf(s))
	}
}

func (r *retellings) report() error {
	for _, pair := range dedup.Retellings(r.profiles, 0) {
		if err := r.write(pair); err != nil {
			return err
		}
	}
	return nil
}
