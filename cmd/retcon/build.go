// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/retcon-bench/retcon/datasets"
	"github.com/retcon-bench/retcon/internal/report"
	"github.com/retcon-bench/retcon/schemas"
)

type buildCmd struct {
	chainFlags
	modelFlags
	JSON bool `name:"json" help:"Print the release's manifest as JSON."`
}

func (*buildCmd) Help() string {
	return `Without flags it builds a small complete data set from the tales embedded in
the program, offline, into ./out. Steps whose inputs, settings and version are
unchanged are skipped.

  retcon build
  retcon build --corpus gutenberg=g --corpus fairytaleqa=FairytaleQAData --out flawed`
}

func (cmd *buildCmd) Run(e *env) error {
	c, err := cmd.open(e)
	if err != nil {
		return err
	}
	defer c.close()
	if err := c.useModel(cmd.modelFlags); err != nil {
		return err
	}
	m, ran, err := c.all()
	if err != nil {
		return err
	}
	if cmd.JSON {
		if err := writeJSON(e.stdout, m); err != nil {
			return err
		}
	} else {
		if err := printRelease(e, cmd.Out, m); err != nil {
			return err
		}
	}
	if err := verifyRelease(e, cmd.Out, cmd.JSON); err != nil {
		return err
	}
	if !ran && !cmd.JSON {
		fmt.Fprintf(e.stdout, "everything in %s is up to date\n", cmd.Out)
	}
	return nil
}

// all runs the chain from the corpora to the release and reports whether
// anything had to run.
func (c *chain) all() (m schemas.Manifest, ran bool, err error) {
	steps := []func() (schemas.StepManifest, bool, error){c.ingest, c.dedup, c.make}
	if c.recipe.Prompts.Target > 0 {
		steps = append(steps, c.prompts)
	}
	for _, step := range steps {
		_, did, err := step()
		if err != nil {
			return m, ran, err
		}
		ran = ran || did
	}
	m, did, err := c.release()
	return m, ran || did, err
}

// printRelease prints what was made: stories, duplicates, items by config,
// drops by reason, files.
func printRelease(e *env, dir string, m schemas.Manifest) error {
	stories := &report.Table{Title: m.Name + " " + m.Version, Columns: []string{"corpus", "files", "read", "kept"}}
	for _, c := range m.Corpora {
		stories.Add(c.Name, c.Files, c.Read, c.Kept)
	}
	items := &report.Table{Columns: []string{"config", "split", "rows", "errors", "consistent", "sources", "mean words"}}
	for _, c := range m.Configs {
		for _, s := range c.Splits {
			var mean any
			if s.Words != nil {
				mean = int(s.Words.Mean + 0.5)
			}
			if c.Schema != "example" { // rows without a label
				items.Add(c.Name, s.Name, s.Rows, nil, nil, nil, mean)
				continue
			}
			items.Add(c.Name, s.Name, s.Rows, s.Positives, s.Negatives, s.Groups, mean)
		}
	}
	drops := &report.Table{Columns: []string{"set aside", "records"}}
	for _, d := range m.Drops {
		drops.Add(d.Name, d.N)
	}
	files := &report.Table{Columns: []string{"file", "rows", "bytes"}}
	for _, f := range m.Files {
		files.Add(f.Path, f.Rows, int(f.Bytes))
	}
	leaks := &report.Table{Columns: []string{"leak audit", "AUC", "lower", "upper", "judged", "why not"}}
	for _, l := range m.Leaks {
		leaks.Add(l.Config, value(l.AUC), value(l.Lower), value(l.Upper), fmt.Sprint(l.Judged), l.Why)
	}
	for _, t := range []*report.Table{stories, items, drops, agreementTableOf(m.Agreement), leaks, files} {
		if len(t.Rows) == 0 {
			continue
		}
		if err := t.Write(e.stdout, report.Text); err != nil {
			return err
		}
		fmt.Fprintln(e.stdout)
	}
	for _, n := range m.Notes {
		fmt.Fprintln(e.stdout, "note:", n)
	}
	return nil
}

// printStep prints what one step did.
func printStep(e *env, dir string, m schemas.StepManifest) error {
	t := &report.Table{Title: m.Step + " -> " + dir, Columns: []string{"", "records"}}
	t.Add("in", m.In)
	t.Add("out", m.Out)
	t.Add("set aside", m.Dropped)
	for _, c := range append(m.Reasons, m.Counts...) {
		t.Add("  "+c.Name, c.N)
	}
	return t.Write(e.stdout, report.Text)
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

type versionCmd struct{}

func (versionCmd) Run(e *env) error {
	_, err := fmt.Fprintln(e.stdout, "retcon", datasets.Version)
	return err
}

// value is a number that may be missing, as a table's cell.
func value(f *float64) any {
	if f == nil {
		return nil
	}
	return *f
}
