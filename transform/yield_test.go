// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retcon-bench/retcon/schemas"
)

// A funnel adds up: what came to a stage left it, waits, or ended there with a
// reason; a part that was set aside ends nothing.
func TestYield(t *testing.T) {
	steps := []Step[int, int]{
		{Name: "even", Doc: "d", Version: "1", Run: func(_ context.Context, p *Pass, n int) ([]int, error) {
			if n%2 == 1 {
				return nil, Drop("odd", fmt.Sprint(n, " is odd"))
			}
			p.SetAside(p.ID, "half", fmt.Sprint("of ", n))
			return []int{n, -n}, nil
		}},
		{Name: "ask", Doc: "d", Version: "1", Run: func(_ context.Context, p *Pass, n int) ([]int, error) {
			switch {
			case n == 4:
				return nil, ErrPending
			case n < 0:
				p.Await() // a part waits, the record goes on
			}
			return []int{n}, nil
		}},
	}
	y := NewYield(steps)
	for n := range 10 {
		o, err := Chain(t.Context(), Env{}, steps, func(n int) string { return fmt.Sprint("r", n) }, n)
		if err != nil {
			t.Fatal(err)
		}
		Count(y, o)
	}
	ex := func(format string, ns ...int) (out []schemas.ReasonExample) {
		for _, n := range ns {
			out = append(out, schemas.ReasonExample{ID: fmt.Sprint("r", n), Detail: fmt.Sprintf(format, n)})
		}
		return out
	}
	want := []schemas.StageYield{
		{Stage: "even", In: 10, Out: 10, Reasons: []schemas.ReasonYield{
			{Reason: "half", Parts: 5, Examples: ex("of %d", 0, 2, 4)},
			{Reason: "odd", Records: 5, Examples: ex("%d is odd", 1, 3, 5)}}},
		{Stage: "ask", In: 10, Out: 9, Waiting: 5, Reasons: []schemas.ReasonYield{}},
	}
	if diff := cmp.Diff(want, y.Stages()); diff != "" {
		t.Error(diff)
	}
}
