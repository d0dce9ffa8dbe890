// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/retcon-bench/retcon/internal/text"
)

// sections measures recall where FairytaleQA's makers cut stories into
// sections by hand: with the sections joined by a blank instead of a blank
// line, each border should still end a sentence. It is the one trace of that
// corpus's own sentence practice in the files here.
func sections(_ context.Context, args []string, stdout, stderr io.Writer) error {
	fs, shared := newFlags("sections", stderr)
	list := fs.Bool("list", false, "print the borders that were missed")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if err := needShared(*shared); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(*shared, "corpora/fairytaleqa/data-by-origin/section-stories/*/*-story.csv"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("no FairytaleQA story in %s", *shared)
	}
	systems, err := goSystems()
	if err != nil {
		return err
	}
	found := make([]int, len(systems))
	borders := 0
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		rows, err := sectionTexts(data)
		if err != nil {
			return fmt.Errorf("%s: %w", f, err)
		}
		var b strings.Builder
		want := map[int]bool{}
		for i, row := range rows {
			if i > 0 {
				want[b.Len()] = true
				b.WriteByte(' ')
			}
			b.WriteString(text.Trim(text.Freeze(row)))
		}
		s := b.String()
		borders += len(want)
		for i, sys := range systems {
			missed := len(want)
			got := map[int]bool{}
			for _, e := range sys.ends(s) {
				got[e] = true
			}
			for e := range want {
				if got[e] {
					missed--
				} else if i == 0 && *list {
					fmt.Fprintf(stdout, "%s: %q <> %q\n", filepath.Base(f), s[max(0, e-60):e], s[e:min(len(s), e+60)])
				}
			}
			found[i] += len(want) - missed
		}
	}
	fmt.Fprintf(stdout, "%d stories, %d borders between sections\n", len(files), borders)
	for i, sys := range systems {
		fmt.Fprintf(stdout, "%16s  found %d, recall %.4f\n", sys.name, found[i], ratio(found[i], borders))
	}
	return nil
}

// show prints sentences for reading: one a line between bars, line ends inside
// as ⏎, an empty line where the text has a blank one.
func show(_ context.Context, args []string, stdout, stderr io.Writer) error {
	fs, _ := newFlags("show", stderr)
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() == 0 {
		return fmt.Errorf("%w: show needs files", errUsage)
	}
	w := bufio.NewWriter(stdout)
	for _, f := range fs.Args() {
		dir, base := filepath.Split(f)
		ids, err := recordIDs(dir, base)
		if err != nil {
			return err
		}
		for _, id := range ids {
			s, err := frozen(dir, base, id)
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "##### %s %s\n", base, id)
			prev := 0
			for _, r := range text.Sentences(s) {
				if strings.Count(s[prev:r.Start], "\n") > 1 {
					fmt.Fprintln(w)
				}
				fmt.Fprintf(w, "|%s|\n", strings.ReplaceAll(r.Of(s), "\n", "⏎"))
				prev = r.End
			}
		}
	}
	return w.Flush()
}
