// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"io"

	"github.com/retcon-bench/retcon/datasets"
	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform/detect"
)

// rowsFlags name rows of a release.
type rowsFlags struct {
	Data   string `help:"Release folder." required:"" placeholder:"DIR"`
	Config string `help:"Config." default:"flawed_fictions" placeholder:"NAME"`
	Split  string `help:"Split." default:"test" placeholder:"NAME"`
}

type detectCmd struct {
	rowsFlags
	Baseline string `help:"A system that does not read: random, always-no, always-yes." placeholder:"NAME"`
	Seed     uint64 `help:"Seed of random baselines." default:"1"`
	Out      string `help:"File of predictions (JSON Lines); - for standard output." default:"-" placeholder:"FILE"`
}

func (*detectCmd) Help() string {
	return `Writes one prediction a row.

  retcon detect --data out --baseline random --out random.jsonl
  retcon score --data out --pred random.jsonl`
}

func (cmd *detectCmd) Run(e *env) error {
	r, err := datasets.Open(cmd.Data)
	if err != nil {
		return err
	}
	info, err := r.Split(cmd.Config, cmd.Split)
	if err != nil {
		return usagef("%w", err)
	}
	if cmd.Baseline == "" {
		return usagef("say who judges: --baseline random, always-no or always-yes")
	}
	b, err := detect.FindBaseline(cmd.Baseline)
	if err != nil {
		return usagef("%w", err)
	}
	return writeTo(e, cmd.Out, func(w io.Writer) error {
		var line []byte
		for row, err := range datasets.Rows[schemas.Example](r, cmd.Config, cmd.Split) {
			if err != nil {
				return err
			}
			if err := e.ctx.Err(); err != nil {
				return err
			}
			p := b.Predict(row, cmd.Seed)
			p.Release, p.Digest = r.ID(), info.Digest
			if line, err = schemas.AppendLine(line[:0], p); err != nil {
				return fmt.Errorf("%s: %w", row.ExampleID, err)
			}
			if _, err := w.Write(line); err != nil {
				return err
			}
		}
		return nil
	})
}

// writeTo writes to a file, which appears whole or not at all, or to standard
// output.
func writeTo(e *env, name string, write func(io.Writer) error) error {
	if name != "-" && name != "" {
		return fetch.WriteFileAtomic(name, 0o644, write)
	}
	buf := bufio.NewWriter(e.stdout)
	if err := write(buf); err != nil {
		return err
	}
	return buf.Flush()
}
