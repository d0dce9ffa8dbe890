// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func count(n int) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for i := range n {
			if !yield(i, nil) {
				return
			}
		}
	}
}

// Results come in input order whatever the workers do, and no more than the
// documented number of values is held.
func TestMapKeepsOrder(t *testing.T) {
	for _, workers := range []int{0, 1, 2, 7} {
		synctest.Test(t, func(t *testing.T) {
			var busy, most atomic.Int64
			next := 0
			for v, err := range Map(t.Context(), workers, count(200), func(_ context.Context, i int) (int, error) {
				most.Store(max(most.Load(), busy.Add(1)))
				time.Sleep(time.Duration(rand.IntN(1000)) * time.Millisecond)
				busy.Add(-1)
				return i * i, nil
			}) {
				if err != nil || v != next*next {
					t.Fatalf("%d workers: value %d is %d, %v", workers, next, v, err)
				}
				next++
			}
			if next != 200 || most.Load() > int64(max(workers, 1)) {
				t.Errorf("%d workers: %d values, %d at a time", workers, next, most.Load())
			}
		})
	}
}

func TestMapEnds(t *testing.T) {
	boom := errors.New("boom")
	double := func(_ context.Context, i int) (int, error) { return 2 * i, nil }
	failing := func(yield func(int, error) bool) {
		for i := range 5 {
			if !yield(i, nil) {
				return
			}
		}
		yield(0, boom)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	draining, drain := WithDrain(t.Context())
	drain()
	for _, c := range []struct {
		name string
		ctx  context.Context
		in   iter.Seq2[int, error]
		f    func(context.Context, int) (int, error)
		want error
		got  int // values before the error
	}{
		{"input fails", t.Context(), failing, double, boom, 5},
		{"call fails", t.Context(), count(100), func(_ context.Context, i int) (int, error) {
			if i == 7 {
				return 0, boom
			}
			return i, nil
		}, boom, 7},
		{"cancelled", cancelled, count(100), double, context.Canceled, -1},
		{"draining before it began", draining, count(100), double, ErrDraining, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, last := 0, error(nil)
			for _, err := range Map(c.ctx, 3, c.in, c.f) {
				if err != nil {
					last = err
				} else {
					got++
				}
			}
			if !errors.Is(last, c.want) || c.got >= 0 && got != c.got {
				t.Errorf("%d values, then %v; want %d, then %v", got, last, c.got, c.want)
			}
		})
	}
	t.Run("panic names itself", func(t *testing.T) {
		for _, err := range Map(t.Context(), 2, count(3), func(context.Context, int) (int, error) { panic("at the disco") }) {
			var p *PanicError
			if !errors.As(err, &p) || !strings.Contains(err.Error(), "at the disco") {
				t.Errorf("err = %v", err)
			}
		}
	})
	t.Run("consumer stops", func(t *testing.T) {
		for v := range Map(t.Context(), 2, count(1_000_000), double) {
			if v == 20 {
				break
			}
		}
	})
}

// Draining lets what is in flight finish, and takes nothing new.
func TestMapDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, drain := WithDrain(t.Context())
		var begun atomic.Int64
		go func() {
			time.Sleep(2500 * time.Millisecond)
			drain()
		}()
		got, last := 0, error(nil)
		for _, err := range Map(ctx, 2, count(1000), func(ctx context.Context, i int) (int, error) {
			begun.Add(1)
			time.Sleep(time.Second)
			return i, ctx.Err()
		}) {
			if err != nil {
				last = err
				continue
			}
			got++
		}
		if !errors.Is(last, ErrDraining) || int64(got) != begun.Load() || got > 20 {
			t.Errorf("%d of %d begun calls came through, then %v", got, begun.Load(), last)
		}
	})
}
