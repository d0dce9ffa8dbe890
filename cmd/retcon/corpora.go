// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/retcon-bench/retcon/datasets"
	"github.com/retcon-bench/retcon/ingest"
	"github.com/retcon-bench/retcon/ingest/all"
	"github.com/retcon-bench/retcon/ingest/gutenberg"
	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/internal/report"
)

type corporaCmd struct {
	List  corporaListCmd  `cmd:"" default:"withargs" help:"A line each: licence, what may be passed on, what the format was tested on."`
	Show  corporaShowCmd  `cmd:"" help:"Everything about one corpus: formats, settings, where to get it."`
	Fetch corporaFetchCmd `cmd:"" help:"Download a corpus from a mirror."`
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

type corporaFetchCmd struct {
	Name         string        `arg:"" help:"Corpus."`
	Out          string        `help:"Folder to fill; what is there is asked for conditionally. Default: the corpus's name." placeholder:"DIR"`
	Mirror       string        `help:"Gutenberg: address of a mirror. Project Gutenberg asks robots to use one." placeholder:"URL"`
	ID           []string      `help:"Gutenberg: book to get. Repeat for several; without any, the catalogue's story collections." placeholder:"N"`
	Limit        int           `help:"Gutenberg: books by the catalogue, at most; 0 = all."`
	Layout       string        `help:"Gutenberg: how the mirror lays books out: site, digits, or both tried." placeholder:"NAME"`
	Every        time.Duration `help:"Time between two requests." default:"2s"`
	AllowPrivate bool          `help:"Also connect to private and loopback addresses."`
	RDF          bool          `help:"Gutenberg: also get each book's RDF record."`
	Refetch      bool          `help:"Gutenberg: get again what is there."`
}

func (*corporaFetchCmd) Help() string {
	return `A run that was stopped goes on where it was; no file appears under its name
before it is whole. Of Gutenberg one text a book among its encodings is taken.

  retcon corpora fetch gutenberg --mirror https://mirror.example.org/gutenberg --id 503 --out g`
}

func (cmd *corporaFetchCmd) Run(e *env) error {
	client := &fetch.Client{UserAgent: "retcon/" + datasets.Version, Every: cmd.Every, AllowPrivate: cmd.AllowPrivate, Log: e.log}
	defer client.Close()
	if cmd.Out == "" {
		cmd.Out = cmd.Name
	}
	if cmd.Name != gutenberg.Name {
		return cmd.fetchFiles(e, client)
	}
	if cmd.Mirror == "" {
		return usagef("name a mirror with --mirror; Project Gutenberg lists them under MIRRORS.ALL and asks robots to use one")
	}
	got, err := gutenberg.Fetch(e.ctx, client, cmd.Out, gutenberg.FetchOptions{
		Mirror: cmd.Mirror, Layout: cmd.Layout, IDs: cmd.ID, Limit: cmd.Limit, RDF: cmd.RDF, Refetch: cmd.Refetch,
		Settings: gutenberg.DefaultSettings(),
		Progress: func(f gutenberg.Fetched) {
			e.log.Info("fetched", "id", f.ID, "path", f.Path, "bytes", f.Size, "unchanged", f.NotModified, "missing", f.Missing)
		},
	})
	t := &report.Table{Columns: []string{"book", "file", "bytes", "sha256", "state"}}
	for _, f := range got {
		state := "new"
		switch {
		case f.Missing:
			state = "not on the mirror"
		case f.NotModified:
			state = "unchanged"
		case f.Resumed:
			state = "resumed"
		}
		t.Add(f.ID, f.Path, int(f.Size), f.SHA256, state)
	}
	if len(t.Rows) > 0 {
		if werr := t.Write(e.stdout, report.Text); err == nil {
			err = werr
		}
	}
	return err
}

// fetchFiles gets a corpus that lies at fixed addresses.
func (cmd *corporaFetchCmd) fetchFiles(e *env, client *fetch.Client) error {
	files, err := all.Downloads(cmd.Name)
	if err != nil {
		return usagef("%w", err)
	}
	t := &report.Table{Columns: []string{"file", "bytes", "sha256", "state"}}
	err = all.Fetch(e.ctx, client, files, cmd.Out, func(d all.Download, r fetch.Result) {
		state := "new"
		switch {
		case r.NotModified:
			state = "unchanged"
		case r.Resumed:
			state = "resumed"
		}
		t.Add(d.Path, int(r.Size), r.SHA256, state)
	})
	if len(t.Rows) > 0 {
		if werr := t.Write(e.stdout, report.Text); err == nil {
			err = werr
		}
	}
	return err
}
