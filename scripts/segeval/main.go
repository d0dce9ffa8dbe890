// SPDX-License-Identifier: Apache-2.0

// Segeval measures the sentence segmenter against boundaries that people
// marked by reading, beside other segmenters, in one run.
//
//	segeval sample    draws passages for readers to mark          sample.go
//	segeval collect   turns marked passages into the judged file   collect.go
//	segeval score     precision, recall, F1 and MB/s of each       score.go
//	segeval errors    where one segmenter and the readers differ   score.go
//	segeval sections  recall at FairytaleQA's section borders      sections.go
//	segeval show      the sentences of any file, one a line        sections.go
//
// README.md beside this file describes the judged file and the way from
// passages to figures. Texts are read from the shared folder, which the flag
// -shared or RETCON_SHARED names, and never stored: the judged file holds
// offsets and hashes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
)

// command is one subcommand: run parses its own flags.
type command struct {
	name, doc string
	run       func(ctx context.Context, args []string, stdout, stderr io.Writer) error
}

var commands = []command{
	{"sample", "draw passages for readers to mark", sample},
	{"collect", "turn marked passages into the judged file", collect},
	{"score", "print precision, recall, F1 and MB/s of each segmenter", score},
	{"errors", "print where a segmenter and the readers differ", mistakes},
	{"sections", "print recall at FairytaleQA's section borders", sections},
	{"show", "print the sentences of files, one a line", show},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		fmt.Fprintln(os.Stderr, "segeval:", err)
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "segeval:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("usage")

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 {
		for _, c := range commands {
			if c.name == args[0] {
				return c.run(ctx, args[1:], stdout, stderr)
			}
		}
	}
	for _, c := range commands {
		fmt.Fprintf(stderr, "  segeval %-9s %s\n", c.name, c.doc)
	}
	if len(args) == 0 {
		return fmt.Errorf("%w: name a command", errUsage)
	}
	return fmt.Errorf("%w: no command %q", errUsage, args[0])
}

// newFlags returns a flag set with the flag that every command has.
func newFlags(name string, stderr io.Writer) (*flag.FlagSet, *string) {
	fs := flag.NewFlagSet("segeval "+name, flag.ContinueOnError)
	fs.SetOutput(stderr)
	shared := fs.String("shared", os.Getenv("RETCON_SHARED"), "`folder` with corpora and oracles (default: RETCON_SHARED)")
	return fs, shared
}

func needShared(shared string) error {
	if shared == "" {
		return fmt.Errorf("%w: set RETCON_SHARED or -shared to the folder with corpora and oracles", errUsage)
	}
	return nil
}
