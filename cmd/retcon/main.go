// SPDX-License-Identifier: Apache-2.0

// Command retcon makes and scores story-consistency benchmarks.
//
//	retcon build                                   a complete small release, offline
//	retcon build --corpus fairytaleqa=DIR --out R  one from real stories
//	retcon verify R                                does it still hold?
//	retcon score --data R --config C --pred FILE   the numbers
//
// One file a subcommand; each parses flags, opens what it needs and calls a
// package that does the work. Exit codes are in exit.go.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"

	"github.com/alecthomas/kong"

	"github.com/retcon-bench/retcon/internal/pipeline"
)

// cli is the whole command line.
type cli struct {
	Verbose bool `short:"v" help:"Say more on standard error."`
	Quiet   bool `short:"q" help:"Say nothing but errors on standard error."`

	Build      buildCmd      `cmd:"" help:"Make a verified release from a recipe: ingest, dedup, make, release, verify."`
	Ingest     ingestCmd     `cmd:"" help:"Read corpora into cleaned stories with exact offsets."`
	Dedup      dedupCmd      `cmd:"" help:"Remove exact, near and contained duplicates, with evidence."`
	Make       makeCmd       `cmd:"" help:"Make plot holes whose every sentence is known (FlawedFictionsMaker)."`
	Prompts    promptsCmd    `cmd:"" help:"Make story-writing prompts of four tasks from stories and queries (ConStory-Bench)."`
	Review     reviewCmd     `cmd:"" help:"People's verdicts: items to judge, votes, agreement."`
	Release    releaseCmd    `cmd:"" help:"Assemble splits and write the release folder."`
	Verify     verifyCmd     `cmd:"" help:"Re-check a release: hashes, counts, schema, every span."`
	Diff       diffCmd       `cmd:"" help:"Compare two releases row by row: what changed, and which version follows."`
	Export     exportCmd     `cmd:"" help:"Write a release's tables as Arrow IPC files."`
	Push       pushCmd       `cmd:"" help:"Upload a release to the hub and tag it with its version."`
	Browse     browseCmd     `cmd:"" help:"List a release's rows, or show one with its gold sentences marked."`
	Generate   generateCmd   `cmd:"" help:"Write stories, summaries or adaptations with a model, or import them."`
	Diagnostic diagnosticCmd `cmd:"" help:"Inject known contradictions into stories: the truth that calibrates a checker."`
	Check      checkCmd      `cmd:"" help:"Find where long stories contradict themselves, with both passages (ConStory-Checker)."`
	Detect     detectCmd     `cmd:"" help:"Run a model or a baseline on a config and write predictions."`
	Score      scoreGroup    `cmd:"" help:"Score predictions, or what a checker found (constory)."`
	Human      humanCmd      `cmd:"" help:"A sample for people to answer as models do."`
	Rereview   rereviewCmd   `cmd:"" help:"Have people judge the errors that systems claim in originals."`
	Corpora    corporaCmd    `cmd:"" help:"List corpora: formats, licences, where to get them."`
	LLM        llmCmd        `cmd:"" name:"llm" help:"Batch files and the answer store."`
	Version    versionCmd    `cmd:"" help:"Print the version."`
}

// env is what every command gets: where to write, and how to talk.
type env struct {
	ctx    context.Context
	stdout io.Writer
	stderr io.Writer
	log    *slog.Logger
}

func main() {
	release := pipeline.HeapFloor(32 << 20)
	ctx, stop := interruptible(context.Background())
	defer stop()
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	release()
	os.Exit(code)
}

// run is main without the process: tests call it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (code int) {
	var c cli
	exited := -1
	parser, err := kong.New(&c,
		kong.Name("retcon"),
		kong.Description("Makes and scores story-consistency benchmarks: stories with plot holes whose every sentence is known."),
		kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { exited = code; panic(exitNow{}) }),
		kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.Vars{"workers": fmt.Sprint(runtime.NumCPU())},
	)
	if err != nil {
		fmt.Fprintln(stderr, "retcon:", err)
		return exitBug
	}
	defer func() { // --help ends the parse by Exit
		if r := recover(); r != nil {
			if _, ok := r.(exitNow); !ok {
				panic(r)
			}
			code = exited
		}
	}()
	k, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(stderr, "retcon: %v\ntry: retcon --help\n", err)
		return exitUsage
	}
	level := slog.LevelInfo
	switch {
	case c.Quiet:
		level = slog.LevelError
	case c.Verbose:
		level = slog.LevelDebug
	}
	e := &env{ctx: ctx, stdout: stdout, stderr: stderr,
		log: slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level, ReplaceAttr: withoutTime}))}
	if err := k.Run(e); err != nil {
		code, hint := classify(err)
		if code == exitOK { // it did what it was asked to, and stopped there
			return code
		}
		fmt.Fprintf(stderr, "retcon: %v\n", err)
		if hint != "" {
			fmt.Fprintln(stderr, "  "+hint)
		}
		return code
	}
	return exitOK
}

type exitNow struct{}

// withoutTime keeps the clock out of what tests and logs compare.
func withoutTime(groups []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey && len(groups) == 0 {
		return slog.Attr{}
	}
	return a
}
