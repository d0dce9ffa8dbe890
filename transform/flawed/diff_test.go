// SPDX-License-Identifier: Apache-2.0

package flawed

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestDiffLeadsFromOneToTheOther: hunks are ordered, apart, and what lies
// between them is equal; so applying them to a gives b.
func TestDiffLeadsFromOneToTheOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SampledFrom([]string{"a", "b", "c", "d"})
		a := rapid.SliceOfN(word, 0, 30).Draw(t, "a")
		b := rapid.SliceOfN(word, 0, 30).Draw(t, "b")
		var got []string
		at := 0
		for _, h := range diff(a, b) {
			if h.a0 < at || h.a1 < h.a0 || h.b1 < h.b0 || h.a0 == h.a1 && h.b0 == h.b1 {
				t.Fatalf("hunk %+v after %d", h, at)
			}
			got = append(got, a[at:h.a0]...)
			if len(got) != h.b0 {
				t.Fatalf("hunk %+v: %d elements before it", h, len(got))
			}
			got = append(got, b[h.b0:h.b1]...)
			at = h.a1
		}
		got = append(got, a[at:]...)
		if !slices.Equal(got, b) {
			t.Fatalf("got %v, want %v", got, b)
		}
	})
}

func TestDiffIsShort(t *testing.T) {
	a := []string{"the", "red", "sail", "and", "the", "red", "flag"}
	b := []string{"the", "blue", "sail", "and", "the", "blue", "flag"}
	want := []hunk{{1, 2, 1, 2}, {5, 6, 5, 6}}
	if got := diff(a, b); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
