// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/retcon-bench/retcon/datasets"
	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/internal/pipeline"
	"github.com/retcon-bench/retcon/schemas"
)

type verifyCmd struct {
	Dir     string   `arg:"" help:"Release folder." placeholder:"DIR"`
	Hidden  string   `help:"Folder of the hidden rows (WORK/50-hidden): check them against the release's commitments." placeholder:"DIR"`
	Salt    string   `help:"File of the hidden rows' salt (WORK/salt)." placeholder:"FILE"`
	Against []string `help:"Earlier release folder: compute the manifest's proof of disjointness from it again. Repeat for several." placeholder:"DIR" sep:"none"`
	JSON    bool     `name:"json" help:"Print the report as JSON."`

	Rebuild bool              `help:"Build the release again from the recipe in its manifest, offline, and compare rows and files."`
	Corpus  map[string]string `help:"With --rebuild: where a corpus lies, as for build." placeholder:"NAME=PATH" mapsep:"none"`
	Earlier map[string]string `help:"With --rebuild: what the recipe deduplicates against, as build's --against." placeholder:"NAME=PATH" mapsep:"none"`
	Votes   []string          `help:"With --rebuild: the votes the release was made with." placeholder:"FILE" sep:"none"`
	Answers string            `help:"With --rebuild: the store of the model's answers (WORK/answers.db)." placeholder:"FILE"`
	Workers int               `help:"With --rebuild: records worked on at a time." default:"${workers}"`
}

func (*verifyCmd) Help() string {
	return `Re-checks bytes, counts, schemas, digests and every span of every row, and
names file, row and reason of each problem. Exit code 4 when there is one.

  retcon verify out
  retcon verify out --rebuild --corpus fairytaleqa=FairytaleQAData
  retcon verify v2 --against v1 --hidden v2.work/50-hidden --salt v2.work/salt`
}

func (cmd *verifyCmd) Run(e *env) error {
	checks := datasets.Checks{HiddenDir: cmd.Hidden, Against: cmd.Against}
	if (cmd.Hidden == "") != (cmd.Salt == "") {
		return usagef("--hidden and --salt go together")
	}
	if cmd.Salt != "" {
		if _, err := os.Stat(cmd.Salt); err != nil { // Salt makes one where none is
			return fmt.Errorf("salt: %w", err)
		}
		var err error
		if checks.Salt, err = datasets.Salt(cmd.Salt); err != nil {
			return err
		}
	}
	if !cmd.Rebuild && (len(cmd.Corpus) > 0 || len(cmd.Earlier) > 0 || len(cmd.Votes) > 0 || cmd.Answers != "") {
		return usagef("--corpus, --earlier, --votes and --answers are for --rebuild")
	}
	rep, err := datasets.VerifyWith(e.ctx, cmd.Dir, checks)
	if err != nil {
		return err
	}
	if cmd.Rebuild && rep.OK() {
		again, err := datasets.Rebuild(e.ctx, cmd.Dir, func(ctx context.Context, recipe schemas.Recipe, out string) error {
			return cmd.rebuild(e, recipe, out)
		})
		if err != nil {
			return err
		}
		rep.Problems = append(rep.Problems, again.Problems...)
		rep.Notes = append(rep.Notes, again.Notes...)
		rep.Notes = append(rep.Notes, fmt.Sprintf("rebuilt: %d rows and %d files compared", again.Rows, again.Files))
	}
	return printVerified(e, cmd.Dir, rep, cmd.JSON)
}

// rebuild runs the whole chain of a recipe in a workspace of its own beside out.
func (cmd *verifyCmd) rebuild(e *env, recipe schemas.Recipe, out string) error {
	f := chainFlags{Recipe: filepath.Join(filepath.Dir(out), "recipe.json"), Corpus: cmd.Corpus, Against: cmd.Earlier,
		Out: out, Work: filepath.Join(filepath.Dir(out), "work"), Workers: cmd.Workers}
	if err := fetch.WriteFileAtomic(f.Recipe, 0o600, func(w io.Writer) error { return writeJSON(w, recipe) }); err != nil {
		return err
	}
	if recipe.Make.Engine != engineRules {
		if cmd.Answers == "" {
			return withHint(exitUsage, "give the store of its answers: --answers WORK/"+pipeline.AnswersFile, errors.New("a model made this release"))
		}
		f.Engine = engineReplay
		// A copy: the chain writes to its workspace only.
		for _, tail := range []string{"", "-wal"} {
			err := copyFile(cmd.Answers+tail, filepath.Join(f.Work, pipeline.AnswersFile+tail))
			if err != nil && (tail == "" || !errors.Is(err, fs.ErrNotExist)) {
				return fmt.Errorf("answers: %w", err)
			}
		}
	}
	c, err := f.open(e)
	if err != nil {
		return err
	}
	defer c.close()
	if err := c.useModel(modelFlags{}); err != nil {
		return err
	}
	c.votes = cmd.Votes
	_, _, err = c.all()
	return err
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	return fetch.WriteFileAtomic(to, 0o600, func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	})
}

// verifyRelease verifies a release and prints what was found.
func verifyRelease(e *env, dir string, quiet bool) error {
	rep, err := datasets.Verify(e.ctx, dir)
	if err != nil {
		return err
	}
	if quiet && rep.OK() {
		return nil
	}
	return printVerified(e, dir, rep, false)
}

// printVerified prints a report; problems make it an error.
func printVerified(e *env, dir string, rep *datasets.Report, asJSON bool) error {
	if asJSON {
		if err := writeJSON(e.stdout, rep); err != nil {
			return err
		}
	} else {
		for _, n := range rep.Notes {
			fmt.Fprintln(e.stdout, "note:", n)
		}
		for _, p := range rep.Problems {
			fmt.Fprintln(e.stderr, p)
		}
	}
	if !rep.OK() {
		return &codedError{code: exitFound, err: fmt.Errorf("%s does not verify: %d problems", dir, len(rep.Problems)+rep.More)}
	}
	if !asJSON {
		fmt.Fprintf(e.stdout, "verified %s: %d files, %d rows, %d spans\n", dir, rep.Files, rep.Rows, rep.Spans)
	}
	return nil
}
