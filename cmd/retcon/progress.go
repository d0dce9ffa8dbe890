// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// plainEvery is how often progress is told where there is no terminal.
const plainEvery = 10 * time.Second

// track shows the progress of a step on standard error: a bar on a terminal,
// else a line now and then. Total 0 means unknown. Status may add a word, such
// as what was spent. The caller calls tick for each record and end once.
func (e *env) track(name string, total int, status func() string) (tick, end func()) {
	if !e.log.Enabled(context.Background(), slog.LevelInfo) {
		return func() {}, func() {}
	}
	if status == nil {
		status = func() string { return "" }
	}
	if f, ok := e.stderr.(*os.File); ok && isatty.IsTerminal(f.Fd()) {
		return bar(f, name, total, status)
	}
	var n atomic.Int64
	done := make(chan struct{})
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		t := time.NewTicker(plainEvery)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				e.log.Info(name, "done", n.Load(), "of", total, "status", status())
			case <-done:
				return
			}
		}
	}()
	return func() { n.Add(1) }, func() { close(done); <-finished }
}

func bar(w io.Writer, name string, total int, status func() string) (tick, end func()) {
	p := mpb.New(mpb.WithOutput(w), mpb.WithWidth(40))
	b := p.AddBar(int64(total),
		mpb.PrependDecorators(decor.Name(name+" "), decor.CountersNoUnit("%d / %d")),
		mpb.AppendDecorators(decor.AverageETA(decor.ET_STYLE_GO), decor.Any(func(decor.Statistics) string { return " " + status() })),
		mpb.BarRemoveOnComplete())
	return b.Increment, func() {
		b.SetTotal(-1, true) // whatever was done is all there was
		p.Wait()
	}
}
