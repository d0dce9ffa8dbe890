// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/retcon-bench/retcon/ingest"
	"github.com/retcon-bench/retcon/ingest/all"
	"github.com/retcon-bench/retcon/internal/report"
)

type corporaCmd struct {
	List corporaListCmd `cmd:"" default:"withargs" help:"A line each: licence, what may be passed on, what the format was tested on."`
	Show corporaShowCmd `cmd:"" help:"Everything about one corpus: formats, settings, where to get it."`
}

type corporaListCmd struct {
	Format string `help:"text, markdown, csv or json." default:"text" enum:"text,markdown,csv,json"`
}

func (*corporaListCmd) Help() string {
	return "  retcon corpora\n  retcon corpora list --format markdown"
}

func (cmd *corporaListCmd) Run(e *env) error {
	t := &report.Table{Columns: []string{"corpus", "what", "licence", "a release may carry", "format tested on"}}
	for _, c := range all.Corpora {
		t.Add(c.Name, c.Title, c.Terms.Licence, c.Terms.Redistribute, c.Tested)
	}
	return t.Write(e.stdout, cmd.Format)
}

type corporaShowCmd struct {
	Name string `arg:"" help:"Corpus."`
}

func (*corporaShowCmd) Help() string { return "  retcon corpora show gutenberg" }

func (cmd *corporaShowCmd) Run(e *env) error {
	c, ok := all.Find(cmd.Name)
	if !ok {
		return usagef("no corpus is called %q (known: %s)", cmd.Name, strings.Join(all.Names(), ", "))
	}
	return showCorpus(e, c)
}

func showCorpus(e *env, c ingest.Corpus) error {
	w := e.stdout
	fmt.Fprintf(w, "%s: %s\n\n%s\n\n", c.Name, c.Title, strings.TrimSpace(c.Doc))
	fmt.Fprintf(w, "licence      %s  %s\n", c.Terms.Licence, c.Terms.LicenceURL)
	fmt.Fprintf(w, "release      may carry: %s. %s\n", c.Terms.Redistribute, c.Terms.Note)
	fmt.Fprintf(w, "where        %s\n", c.Where)
	fmt.Fprintf(w, "tested on    %s\n", c.Tested)
	for i, f := range c.Formats {
		label := ""
		if i == 0 {
			label = "formats"
		}
		fmt.Fprintf(w, "%-12s %s\n", label, f)
	}
	_, err := fmt.Fprintf(w, "settings     %s\n", c.Defaults)
	return err
}
