// SPDX-License-Identifier: Apache-2.0

package report

import (
	"math"
	"testing"
)

// TestAxisTop: an axis holds its values, wastes less than half of itself, and
// steps of counts are whole.
func TestAxisTop(t *testing.T) {
	for _, c := range []struct{ v, want float64 }{
		{0, 1}, {-3, 1}, {0.43, 0.8}, {1, 1}, {3, 4}, {4, 4}, {7, 8}, {9, 20}, {17, 20}, {41, 80}, {62, 80}, {100, 100}, {909, 1000}, {1288, 2000}, {2.5e8, 4e8},
	} {
		if got := axisTop(c.v); math.Abs(got-c.want) > 1e-9*c.want {
			t.Errorf("%v: %v, want %v", c.v, got, c.want)
		}
	}
	for v := 1.0; v < 5000; v++ {
		got := axisTop(v)
		if got < v || got > 2.6*v && v > 4 || v > 2 && math.Mod(got, 4) != 0 {
			t.Errorf("%v: %v", v, got)
		}
	}
}
