// SPDX-License-Identifier: Apache-2.0

package llm

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/time/rate"
)

// lane is the way to one model: how many calls may be in flight, how many a
// minute, and, after a 429 or 5xx, until when everybody waits. It is shared by
// all workers, so that a storm is one wait and not one per worker.
//
// The first call goes alone: a wrong key, a spent quota or a parameter that
// the server refuses costs one request. From the first success on the declared
// concurrency holds; each wave of refusals halves it and each success gives
// one back, so that the end of a wait is no new storm.
type lane struct {
	max      int
	maxWait  time.Duration
	requests *rate.Limiter // nil = no limit
	tokens   *rate.Limiter

	mu        sync.Mutex
	inflight  int
	limit     int
	proven    bool
	vain      int // failed calls before the first answer
	waiters   []chan struct{}
	until     time.Time // nobody sends before
	epoch     int       // waves of refusals so far
	throttled time.Time // since when there was no success after a 429
	back      *backoff.ExponentialBackOff
	rng       *rand.Rand
}

func newLane(m Model, concurrency int, maxWait time.Duration, seed uint64) *lane {
	if m.Concurrency > 0 {
		concurrency = m.Concurrency
	}
	l := &lane{
		max: concurrency, limit: concurrency, maxWait: maxWait,
		rng: rand.New(rand.NewPCG(seed, uint64(len(m.Name)))),
		// No randomness here: jitter is ours, from the seed.
		back: &backoff.ExponentialBackOff{InitialInterval: 500 * time.Millisecond, Multiplier: 2, MaxInterval: maxWait},
	}
	l.back.Reset()
	if m.RequestsPerMin > 0 {
		l.requests = rate.NewLimiter(rate.Limit(float64(m.RequestsPerMin)/60), max(1, m.RequestsPerMin/60))
	}
	if m.TokensPerMin > 0 {
		l.tokens = rate.NewLimiter(rate.Limit(float64(m.TokensPerMin)/60), max(1, m.TokensPerMin/6))
	}
	return l
}

func (l *lane) allowed() int {
	if !l.proven {
		return 1
	}
	return l.limit
}

// acquire takes a place in flight. A call that had one before goes to the front.
func (l *lane) acquire(ctx context.Context, stopped <-chan struct{}, front bool) error {
	l.mu.Lock()
	if l.inflight < l.allowed() {
		l.inflight++
		l.mu.Unlock()
		return nil
	}
	ch := make(chan struct{})
	if front {
		l.waiters = slices.Insert(l.waiters, 0, ch)
	} else {
		l.waiters = append(l.waiters, ch)
	}
	l.mu.Unlock()
	select {
	case <-ch:
		return nil // the place was handed over
	case <-ctx.Done():
	case <-stopped:
	}
	l.mu.Lock()
	for i, w := range l.waiters {
		if w == ch {
			l.waiters = slices.Delete(l.waiters, i, i+1)
			l.mu.Unlock()
			return errGone
		}
	}
	l.mu.Unlock()
	l.release() // handed over in the meantime
	return errGone
}

func (l *lane) release() {
	l.mu.Lock()
	l.inflight--
	l.wake()
	l.mu.Unlock()
}

func (l *lane) wake() {
	for len(l.waiters) > 0 && l.inflight < l.allowed() {
		l.inflight++
		close(l.waiters[0])
		l.waiters = l.waiters[1:]
	}
}

// wait blocks until the rates allow a call of so many tokens and the lane's
// gate is open. It returns the epoch in which the call is sent.
func (l *lane) wait(ctx context.Context, stopped <-chan struct{}, tokens int) (epoch int, err error) {
	if l.requests != nil {
		if err := reserve(ctx, stopped, l.requests, 1); err != nil {
			return 0, err
		}
	}
	if l.tokens != nil && tokens > 0 {
		if err := reserve(ctx, stopped, l.tokens, tokens); err != nil {
			return 0, err
		}
	}
	for {
		l.mu.Lock()
		d := time.Until(l.until)
		epoch = l.epoch
		l.mu.Unlock()
		if d <= 0 {
			return epoch, nil
		}
		if err := sleep(ctx, stopped, d); err != nil {
			return 0, err
		}
	}
}

// reserve waits for n tokens of a limiter. A call larger than the burst, which
// the limiter would refuse, takes all there is.
func reserve(ctx context.Context, stopped <-chan struct{}, lim *rate.Limiter, n int) error {
	r := lim.ReserveN(time.Now(), min(n, lim.Burst()))
	if err := sleep(ctx, stopped, r.Delay()); err != nil {
		r.Cancel()
		return err
	}
	return nil
}

func sleep(ctx context.Context, stopped <-chan struct{}, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
	case <-stopped:
	}
	return errGone
}

// success opens the lane wider. extra tokens are those that the estimate missed.
func (l *lane) success(extra int) {
	l.mu.Lock()
	l.proven = true
	l.throttled = time.Time{}
	l.back.Reset()
	if l.limit < l.max {
		l.limit++
	}
	l.wake()
	l.mu.Unlock()
	if l.tokens != nil && extra > 0 {
		l.tokens.ReserveN(time.Now(), min(extra, l.tokens.Burst()))
	}
}

// failure closes the gate after a temporary failure of a call sent in epoch.
// asked is what the server wants us to wait, 0 when it said nothing. Refusals
// of calls that were sent before the gate closed say nothing new.
func (l *lane) failure(epoch int, asked time.Duration, throttle bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if throttle && l.throttled.IsZero() {
		l.throttled = now
	}
	if !l.proven && !throttle {
		l.vain++
	}
	if epoch == l.epoch {
		l.epoch++
		l.limit = max(1, l.limit/2)
		if asked <= 0 {
			asked = l.back.NextBackOff()
			asked = asked/2 + time.Duration(l.rng.Int64N(int64(asked)/2+1))
		}
	}
	if asked > l.maxWait {
		asked = l.maxWait
	}
	if asked > 0 {
		// Never earlier than asked, up to a tenth later.
		asked += time.Duration(l.rng.Int64N(int64(asked)/10 + 1))
		if t := now.Add(asked); t.After(l.until) {
			l.until = t
		}
	}
}

// throttledFor returns for how long there was no success after a 429.
func (l *lane) throttledFor() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.throttled.IsZero() {
		return 0
	}
	return time.Since(l.throttled)
}

// inVain returns how many calls failed before the first answer, 0 after it.
func (l *lane) inVain() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.proven {
		return 0
	}
	return l.vain
}

// waits is how long n-1 waits between n calls may take.
func (l *lane) waits(n int) (sum time.Duration) {
	for d := l.back.InitialInterval; n > 1; n-- {
		sum += min(d, l.maxWait)
		d = min(2*d, l.back.MaxInterval)
	}
	return sum
}
