// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"fmt"
	"sync"
)

// ErrDraining ends a run that was asked to finish what is in flight and stop.
// errors.Is(ErrDraining, context.Canceled) holds.
var ErrDraining = fmt.Errorf("interrupted: %w", context.Canceled)

type drainKey struct{}

// WithDrain returns a context that can be asked to drain: to begin nothing new
// while what is in flight goes on. Cancelling is another matter.
func WithDrain(parent context.Context) (ctx context.Context, drain func()) {
	ch := make(chan struct{})
	var once sync.Once
	return context.WithValue(parent, drainKey{}, ch), func() { once.Do(func() { close(ch) }) }
}

// Drain returns the channel that is closed when ctx is to drain; nil when it
// never will.
func Drain(ctx context.Context) <-chan struct{} {
	ch, _ := ctx.Value(drainKey{}).(chan struct{})
	return ch
}

// Draining reports whether ctx was asked to drain.
func Draining(ctx context.Context) bool {
	select {
	case <-Drain(ctx):
		return true
	default:
		return false
	}
}
