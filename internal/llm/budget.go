// SPDX-License-Identifier: Apache-2.0

package llm

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
)

// ParseBudget reads an amount of US dollars: "5usd", "5 USD", "$5", "0.50".
func ParseBudget(s string) (float64, error) {
	t := strings.ToLower(strings.TrimSpace(s))
	t = strings.TrimSpace(strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(t, "$"), "usd"), "$"))
	f, err := strconv.ParseFloat(t, 64)
	if err != nil || f <= 0 || math.IsInf(f, 0) || math.IsNaN(f) {
		return 0, fmt.Errorf("budget %q: want an amount in US dollars above zero, such as 5usd", s)
	}
	return f, nil
}

// budget is a hard stop. Each call reserves the most it can cost, and pays what
// it did cost; a call that does not fit beside those in flight waits for them,
// and stops the run when it does not fit alone. It is exact for calls with
// max_tokens; others reserve defaultAnswer tokens.
type budget struct {
	mu       sync.Mutex
	limit    float64 // 0 = none
	spent    float64
	reserved float64
	inflight int
	changed  chan struct{}
}

// defaultAnswer is what a call without max_tokens is taken to answer at most.
const defaultAnswer = 4096

func (b *budget) reserve(ctx context.Context, stopped <-chan struct{}, cost float64) error {
	for {
		b.mu.Lock()
		if b.limit == 0 || b.spent+b.reserved+cost <= b.limit {
			b.reserved += cost
			b.inflight++
			b.mu.Unlock()
			return nil
		}
		if b.inflight == 0 {
			spent := b.spent
			b.mu.Unlock()
			return Stop(StopBudget, fmt.Errorf("%.4f of %.4f USD spent, and the next call may cost %.4f: raise --budget and run the same command again, answers so far are kept", spent, b.limit, cost))
		}
		if b.changed == nil {
			b.changed = make(chan struct{})
		}
		ch := b.changed
		b.mu.Unlock()
		select {
		case <-ch:
		case <-ctx.Done():
			return errGone
		case <-stopped:
			return errGone
		}
	}
}

// settle gives a reservation back. pay was added before, attempt by attempt.
func (b *budget) settle(reserved float64) {
	b.mu.Lock()
	b.reserved -= reserved
	if b.inflight--; b.inflight == 0 {
		b.reserved = 0 // no crumbs of rounding
	}
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
	b.mu.Unlock()
}

func (b *budget) pay(cost float64) {
	b.mu.Lock()
	b.spent += cost
	b.mu.Unlock()
}

// roomy reports whether the reservations in place still fit, so that a call in
// flight may use its own once more.
func (b *budget) roomy() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.limit == 0 || b.spent+b.reserved <= b.limit
}

func (b *budget) total() float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.spent
}
