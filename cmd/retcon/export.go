// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"

	"github.com/retcon-bench/retcon/datasets"
	"github.com/retcon-bench/retcon/datasets/arrowio"
	"github.com/retcon-bench/retcon/internal/report"
)

type exportCmd struct {
	Data  string `help:"Release folder." default:"out" placeholder:"DIR"`
	Arrow string `help:"Write Arrow IPC files into this new folder, one a split." placeholder:"DIR" required:""`
}

func (*exportCmd) Help() string {
	return `Writes every split as CONFIG/SPLIT.arrow, with the same columns as the Parquet
files; polars, pyarrow and the datasets library read them.

  retcon export --data out --arrow ipc`
}

func (cmd *exportCmd) Run(e *env) error {
	r, err := datasets.Open(cmd.Data)
	if err != nil {
		return err
	}
	files, err := arrowio.Export(e.ctx, r, cmd.Arrow)
	if errors.Is(err, datasets.ErrExists) {
		return withHint(exitUsage, "name another folder with --arrow", err)
	}
	if err != nil {
		return err
	}
	t := &report.Table{Title: r.ID() + " -> " + cmd.Arrow, Columns: []string{"file", "rows"}}
	for _, f := range files {
		t.Add(f.Path, f.Rows)
	}
	return t.Write(e.stdout, report.Text)
}
