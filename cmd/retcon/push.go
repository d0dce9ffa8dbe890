// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/retcon-bench/retcon/datasets"
	"github.com/retcon-bench/retcon/internal/report"
)

type pushCmd struct {
	Data   string `arg:"" help:"Release folder." placeholder:"DIR"`
	Repo   string `help:"Repository on the hub. Default: release.repository of the recipe." placeholder:"OWNER/NAME"`
	DryRun bool   `help:"Ask the hub what it would take; upload nothing."`
	JSON   bool   `name:"json" help:"Print what was uploaded as JSON."`
}

func (*pushCmd) Help() string {
	return `Verifies the release, uploads it in one commit and tags it with its version. A
version that is there already is never overwritten. A push that was cut goes on
where it stopped. The token comes from the environment, HF_TOKEN, or in CI is
had for the job's identity where the repository names it as a trusted publisher
(.github/workflows/publish.yml); HF_ENDPOINT names another hub.

  HF_TOKEN=... retcon push out --repo owner/name --dry-run`
}

func (cmd *pushCmd) Run(e *env) error {
	repo := cmd.Repo
	if repo == "" {
		r, err := datasets.Open(cmd.Data)
		if err != nil {
			return err
		}
		repo = r.Manifest.Recipe.Release.Repository
	}
	token, err := datasets.HubToken(e.ctx, os.Getenv, os.Getenv("HF_ENDPOINT"), repo, nil)
	if errors.Is(err, datasets.ErrNoToken) {
		return withHint(exitUsage, "set HF_TOKEN to a token that may write to the repository", err)
	}
	if err != nil {
		return err
	}
	p, err := datasets.Push(e.ctx, cmd.Data, datasets.PushOptions{Endpoint: os.Getenv("HF_ENDPOINT"), Repository: repo, Token: token, DryRun: cmd.DryRun, Log: e.log})
	switch {
	case errors.Is(err, datasets.ErrTagExists):
		return withHint(exitUsage, "give the release a new version; retcon diff says which", err)
	case errors.Is(err, datasets.ErrNotVerified):
		return withHint(exitFound, "retcon verify names every problem", err)
	case err != nil:
		return err
	case cmd.JSON:
		return writeJSON(e.stdout, p)
	}
	t := &report.Table{Title: p.Repository + ", tag " + p.Tag, Columns: []string{"file", "bytes", "mode", "uploaded"}}
	for _, f := range p.Files {
		state := "yes"
		switch {
		case p.DryRun:
			state = "dry run"
		case !f.Uploaded:
			state = "was there"
		}
		t.Add(f.Path, int(f.Bytes), f.Mode, state)
	}
	if err := t.Write(e.stdout, report.Text); err != nil {
		return err
	}
	if p.Commit != "" {
		_, err = fmt.Fprintln(e.stdout, p.Commit)
	}
	return err
}
