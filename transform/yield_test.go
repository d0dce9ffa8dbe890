// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"context"
	"fmt"
	"slices"
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

// TestEnough: records of a step are taken one after the other until enough have
// come through a later step; one that waits counts for now.
func TestEnough(t *testing.T) {
	for _, c := range []struct {
		bad, wait []int
		outs      []int
		spare     int
	}{
		{nil, nil, []int{1, 2}, 3},
		{[]int{1}, nil, []int{2, 3}, 2},
		{[]int{1, 2, 3}, nil, []int{4, 5}, 0},
		{[]int{1, 2, 3, 4}, nil, []int{5}, 0},
		{[]int{2}, []int{1}, []int{3}, 2},
	} {
		in := func(l []int, n int) bool { return slices.Contains(l, n) }
		steps := []Step[int, int]{
			{Name: "split", Doc: "d", Version: "1", Run: func(_ context.Context, p *Pass, n int) ([]int, error) { return []int{1, 2, 3, 4, 5}, nil },
				Enough: &Enough[int]{N: 2, After: "judge", Spare: func(p *Pass, n int) { p.SetAside(p.ID, "spare", fmt.Sprint(n)) }}},
			{Name: "judge", Doc: "d", Version: "1", Run: func(_ context.Context, p *Pass, n int) ([]int, error) {
				if in(c.bad, n) {
					return nil, Drop("bad", "it is")
				}
				if in(c.wait, n) {
					return nil, ErrPending
				}
				return []int{n}, nil
			}},
		}
		if err := Validate(steps); err != nil {
			t.Fatal(err)
		}
		o, err := Chain(t.Context(), Env{}, steps, func(n int) string { return fmt.Sprint("r", n) }, 0)
		if err != nil {
			t.Fatal(err)
		}
		spare := 0
		for k, d := range o.Dropped {
			if d.Reason == "spare" {
				spare++
				if o.Ended[k] || d.Stage != "split" {
					t.Errorf("%+v", d)
				}
			}
		}
		if !slices.Equal(o.Outs, c.outs) || spare != c.spare || o.Tallies[0].Out != 5-c.spare {
			t.Errorf("bad %v, waiting %v: outs %v, %d spare, tally %+v", c.bad, c.wait, o.Outs, spare, o.Tallies[0])
		}
		steps[0].Enough.After = "nowhere"
		if Validate(steps) == nil {
			t.Error("a step that does not exist is waited for")
		}
	}
}
