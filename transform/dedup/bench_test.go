// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"fmt"
	"testing"

	"github.com/retcon-bench/retcon/schemas"
)

// BenchmarkSign signs stories of 60, 700 and 7,000 words; the figures that are
// published come from scripts/bench/dedup.
func BenchmarkSign(b *testing.B) {
	for _, n := range []int{60, 700, 7000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := newProse(1)
			var stories []schemas.Story
			size := 0
			for i := range 50 {
				s := story(fmt.Sprint("a:", i), p.text(n))
				stories = append(stories, s)
				size += len(s.Text)
			}
			set := defaults()
			b.SetBytes(int64(size / len(stories)))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				Sign(stories[i%len(stories)], set)
			}
		})
	}
}
