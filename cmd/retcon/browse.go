// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/retcon-bench/retcon/datasets"
	"github.com/retcon-bench/retcon/internal/report"
	"github.com/retcon-bench/retcon/schemas"
)

type browseCmd struct {
	Data   string `help:"Release folder." default:"out" placeholder:"DIR"`
	Config string `help:"Config. Default: the release's first." placeholder:"NAME"`
	Split  string `help:"Split. Default: the config's first." placeholder:"NAME"`
	Label  string `help:"Rows of this label alone: error or consistent." enum:",error,consistent" default:""`
	Limit  int    `help:"Rows listed." default:"20"`
	JSON   bool   `name:"json" help:"Print rows as JSON Lines."`
	ID     string `arg:"" optional:"" help:"Show this row in full." placeholder:"ID"`
}

func (*browseCmd) Help() string {
	return `Lists the rows of a config; with an id shows one with its gold sentences marked:
[-error-] and {+contradicted+}, in colour on a terminal.

  retcon browse --data out --config flawed_fictions --label error
  retcon browse --data out rc-2abdpo3suzhap74f`
}

func (cmd *browseCmd) Run(e *env) error {
	r, err := datasets.Open(cmd.Data)
	if err != nil {
		return err
	}
	t := &report.Table{Columns: []string{"id", "config/split", "label", "variant", "class", "words", "title"}}
	for _, c := range r.Manifest.Configs {
		if c.Schema != "example" || cmd.Config != "" && c.Name != cmd.Config || cmd.Config == "" && cmd.ID == "" && c.Name != r.Manifest.Configs[0].Name {
			continue
		}
		for _, s := range c.Splits {
			if cmd.Split != "" && s.Name != cmd.Split {
				continue
			}
			for row, err := range datasets.Rows[schemas.Example](r, c.Name, s.Name) {
				switch {
				case err != nil:
					return err
				case cmd.ID != "" && row.ExampleID != cmd.ID, cmd.Label != "" && row.Label != cmd.Label:
					continue
				case cmd.JSON:
					line, err := schemas.AppendLine(nil, row)
					if err != nil {
						return err
					}
					if _, err := e.stdout.Write(line); err != nil {
						return err
					}
				case cmd.ID != "":
					return showRow(e, row)
				case len(t.Rows) < cmd.Limit:
					class := ""
					if row.FlawClass != nil {
						class = *row.FlawClass
					}
					t.Add(row.ExampleID, c.Name+"/"+s.Name, row.Label, row.Variant, class, row.Words, row.Title)
				}
			}
		}
	}
	switch {
	case cmd.JSON:
		return nil
	case cmd.ID != "":
		return usagef("%s has no row %s", r.ID(), cmd.ID)
	case len(t.Rows) == 0:
		return usagef("%s has no such row (configs: %s)", r.ID(), configNames(r))
	}
	return t.Write(e.stdout, report.Text)
}

func configNames(r *datasets.Release) string {
	var names []string
	for _, c := range r.Manifest.Configs {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}

// showRow prints a row with its gold sentences marked. Control characters of a
// story, which a frozen text has none of, do not reach the terminal.
func showRow(e *env, row schemas.Example) error {
	if err := datasets.CheckExample(row); err != nil {
		return &codedError{code: exitFound, err: fmt.Errorf("row %s: %w", row.ExampleID, err)}
	}
	open, closing := map[int]string{}, map[int]string{} // by sentence
	mark := func(spans []schemas.Span, before, after, colour string) {
		if colourful(e.stdout) {
			before, after = colour+before, after+"\x1b[0m"
		}
		for _, s := range spans {
			open[s.Sentence] += before
			closing[s.Sentence] = after + closing[s.Sentence]
		}
	}
	mark(row.ErrorSpans, "[-", "-]", "\x1b[31m")
	mark(row.ContradictedSpans, "{+", "+}", "\x1b[34m")
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n%s, %s\n\n", row.ExampleID, row.Title, row.Label, row.Variant)
	runes, at := []rune(row.Story), 0
	for i, s := range row.Sentences {
		b.WriteString(string(runes[at:s.Start]) + open[i] + string(runes[s.Start:s.End]) + closing[i])
		at = s.End
	}
	b.WriteString(string(runes[at:]) + "\n")
	if row.Explanation != nil {
		b.WriteString("\n" + *row.Explanation + "\n")
	}
	fmt.Fprintf(&b, "\nsource: %s, %s, %s\n", row.Source.Title, row.Source.Corpus, row.Source.Licence)
	_, err := e.stdout.Write([]byte(b.String()))
	return err
}
