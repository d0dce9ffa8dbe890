// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/retcon-bench/retcon/datasets"
)

type diffCmd struct {
	A         string `arg:"" help:"Release folder: the earlier one." placeholder:"A"`
	B         string `arg:"" help:"Release folder: the later one." placeholder:"B"`
	JSON      bool   `name:"json" help:"Print everything as JSON, every row named."`
	Changelog bool   `help:"Print the section of a change log that follows from it." xor:"form"`
	Check     bool   `help:"Exit with code 4 when B's version is too low for what changed."`
}

func (*diffCmd) Help() string {
	return `Says row by row what was added, removed, edited and moved, whose label, spans or
licence changed, and which version follows: PATCH for the same rows in other
bytes, MINOR for added rows alone, MAJOR for everything else.

  retcon diff out-1.0.0 out-1.1.0
  retcon diff --changelog out-1.0.0 out-1.1.0 >> CHANGELOG.md`
}

func (cmd *diffCmd) Run(e *env) error {
	a, err := datasets.Open(cmd.A)
	if err != nil {
		return err
	}
	b, err := datasets.Open(cmd.B)
	if err != nil {
		return err
	}
	d, err := datasets.Compare(e.ctx, a, b)
	if err != nil {
		return err
	}
	switch {
	case cmd.JSON:
		err = writeJSON(e.stdout, d)
	case cmd.Changelog:
		_, err = fmt.Fprint(e.stdout, d.Changelog)
	default:
		err = d.Write(e.stdout)
	}
	if err == nil && cmd.Check && !d.Enough {
		return &codedError{code: exitFound, err: fmt.Errorf("%s: the changes since %s need at least version %s", d.B, d.A, d.Required)}
	}
	return err
}
