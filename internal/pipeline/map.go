// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"fmt"
	"iter"
	"runtime/debug"
)

// Map applies f to each value of in with the given number of workers and
// yields the results in input order. At most four values a worker are held.
//
// When the context drains (see [WithDrain]), no further value is taken from in;
// those in flight finish and are yielded, then [ErrDraining] ends the sequence.
// The first error, of in or of f, is yielded and ends the sequence. When ctx is
// cancelled or the consumer stops, Map waits for calls in flight before it
// returns; f sees the cancellation through its context. A panic of f becomes
// an error that names it.
func Map[In, Out any](ctx context.Context, workers int, in iter.Seq2[In, error], f func(context.Context, In) (Out, error)) iter.Seq2[Out, error] {
	return func(yield func(Out, error) bool) {
		workers = max(workers, 1)
		ctx, cancel := context.WithCancel(ctx)
		type result struct {
			out Out
			err error
		}
		type job struct {
			in   In
			err  error // of the input sequence
			done chan result
		}
		jobs := make(chan *job)
		order := make(chan *job, 4*workers)
		stopped := make(chan struct{}, workers+1)
		cut := false // in was not read to its end; set before order is closed

		go func() { // reads in
			defer func() { close(jobs); close(order); stopped <- struct{}{} }()
			for v, err := range in {
				if Draining(ctx) {
					cut = true
					return
				}
				j := &job{in: v, err: err, done: make(chan result, 1)}
				select {
				case order <- j:
				case <-ctx.Done():
					return
				}
				if err != nil {
					j.done <- result{err: err}
					return
				}
				select {
				case jobs <- j:
				case <-ctx.Done():
					j.done <- result{err: ctx.Err()}
					return
				}
			}
		}()
		for range workers {
			go func() {
				defer func() { stopped <- struct{}{} }()
				for j := range jobs {
					out, err := guard(ctx, f, j.in)
					j.done <- result{out, err}
				}
			}()
		}
		defer func() {
			cancel()
			for j := range order {
				_ = j
			}
			for range workers + 1 {
				<-stopped
			}
		}()

		for j := range order {
			r := <-j.done
			if r.err != nil {
				var none Out
				yield(none, r.err)
				return
			}
			if !yield(r.out, nil) {
				return
			}
		}
		err := ctx.Err()
		if err == nil && cut {
			err = ErrDraining
		}
		if err != nil {
			var none Out
			yield(none, err)
		}
	}
}

// PanicError is a panic of a step's code: a bug, with where it happened.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.Value, e.Stack) }

func guard[In, Out any](ctx context.Context, f func(context.Context, In) (Out, error), in In) (out Out, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return f(ctx, in)
}
