// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/pipeline"
	"github.com/retcon-bench/retcon/transform/check"
)

// Exit codes. README.md has the same table.
const (
	exitOK          = 0
	exitBug         = 1
	exitUsage       = 2 // command line or recipe
	exitInput       = 3 // bad input
	exitFound       = 4 // verify or check found something
	exitPending     = 5 // waiting for answers
	exitBudget      = 6 // quota or budget
	exitDisk        = 7 // disk or network
	exitUnjudged    = 8 // check: nothing was found, but something could not be judged
	exitInterrupted = 130
)

// codedError is an error that knows its exit code and what to try next.
type codedError struct {
	code int
	hint string
	err  error
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &codedError{code: exitUsage, err: fmt.Errorf(format, args...)}
}

func withHint(code int, hint string, err error) error {
	return &codedError{code: code, hint: hint, err: err}
}

// classify maps an error to exit code and hint, in one place for all commands.
func classify(err error) (code int, hint string) {
	var coded *codedError
	var recipe *pipeline.RecipeError
	var setting *check.SettingError
	var bug *pipeline.PanicError
	switch {
	case errors.As(err, &coded):
		return coded.code, coded.hint
	case errors.Is(err, context.Canceled):
		return exitInterrupted, "finished work is kept; the same command goes on from there"
	case errors.Is(err, errPlanned):
		return exitOK, ""
	case llm.StopClassOf(err) != "":
		return stopCodes[llm.StopClassOf(err)], "answers so far are kept; the same command goes on from there"
	case errors.As(err, &recipe), errors.As(err, &setting):
		return exitUsage, ""
	case errors.Is(err, pipeline.ErrLocked):
		return exitDisk, ""
	case errors.As(err, &bug):
		return exitBug, "this is a bug in retcon; please report it with the lines above"
	case fetch.KindOf(err) == fetch.Input, readsFolder(err):
		return exitInput, ""
	case fetch.KindOf(err) != 0:
		return exitDisk, ""
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EROFS):
		return exitDisk, "nothing half-written was left; free some space and run the same command again"
	case errors.Is(err, fs.ErrNotExist):
		return exitInput, ""
	}
	var path *fs.PathError
	var link *os.LinkError
	var errno syscall.Errno
	if errors.As(err, &path) || errors.As(err, &link) || errors.As(err, &errno) {
		return exitDisk, "" // the file system's word, not a bug: a file where a folder should be, no permission, ...
	}
	return exitBug, ""
}

// readsFolder reports that somebody named a folder where a file is read.
func readsFolder(err error) bool {
	var path *fs.PathError
	return errors.As(err, &path) && path.Op == "read" && errors.Is(path, syscall.EISDIR)
}

// stopCodes are the exit codes of what stops a run that asks a model.
var stopCodes = map[llm.StopClass]int{
	llm.StopQuota: exitBudget, llm.StopBudget: exitBudget, llm.StopDisk: exitDisk,
	llm.StopNetwork: exitDisk, llm.StopSetting: exitUsage, llm.StopMissing: exitInput,
}

// drainTime is how long calls in flight may take after the first Ctrl-C.
const drainTime = 30 * time.Second

// interruptible returns a context that asks for draining at the first
// interrupt and is cancelled drainTime later; the second ends the process.
func interruptible(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(parent)
	ctx, drain := pipeline.WithDrain(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		select {
		case <-signals:
		case <-done:
			return
		}
		fmt.Fprintln(os.Stderr, "retcon: interrupted; finishing what is in flight (again to stop at once)")
		drain()
		cancelled := false
		for {
			select {
			case <-signals:
				os.Exit(exitInterrupted)
			case <-time.After(drainTime):
				if cancelled { // something does not look at its context
					os.Exit(exitInterrupted)
				}
				cancel()
				cancelled = true
			case <-done:
				return
			}
		}
	}()
	var once bool
	return ctx, func() {
		if !once {
			once = true
			signal.Stop(signals)
			close(done)
			cancel()
		}
	}
}
