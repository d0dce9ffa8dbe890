// SPDX-License-Identifier: Apache-2.0

package gutenberg

import (
	"slices"
)

// Some books have a story round the tales: people who tell and listen. Their
// talk before and after a tale stays with the tale, from which it cannot be
// parted cleanly; but a chapter that is nothing but talk is no tale.

const (
	frameTales   = 6  // fewer tales say too little about who is in all of them
	frameDensity = 12 // names of the frame in 1,000 words of such a chapter, at least
)

// findFrame marks the chapters of a frame story. Its people are the names that
// occur in more than half of the tales; a chapter is theirs if it names them
// three times as often as the book's tales do in the middle.
func (o *outline) findFrame(d *doc) {
	var tales []int
	for i, r := range o.regions {
		if r.kind == kindTale {
			tales = append(tales, i)
		}
	}
	if len(tales) < frameTales {
		return
	}
	// The two ends are enough to see who is in a tale, and some tales to see who
	// is in most.
	spread := map[string]int{}
	step, seen := 1+len(tales)/16, 0
	for k := 0; k < len(tales); k += step {
		r := o.regions[tales[k]]
		seen++
		for n := range d.endNames(r.text, r.to) {
			spread[n]++
		}
	}
	var people []string
	for n, c := range spread {
		if c*2 > seen {
			people = append(people, n)
		}
	}
	if len(people) < 2 {
		return
	}
	slices.Sort(people)
	density := make([]int, len(tales))
	together := make([]bool, len(tales))
	for k, i := range tales {
		r := o.regions[i]
		all, words := d.names(r.text, r.to), 0
		for b := r.text; b < r.to; b++ {
			for l := d.blocks[b].first; l < d.blocks[b].last; l++ {
				words += 1 + int(d.lines[l].width)/6
			}
		}
		n, present := 0, 0
		for _, p := range people {
			n += all[p]
			if all[p]*1000 >= 4*words {
				present++
			}
		}
		// One name alone may be a tale's hero.
		together[k] = present >= 2
		density[k] = 1000 * n / max(1, words)
	}
	middle := slices.Sorted(slices.Values(density))[len(density)/2]
	for k, i := range tales {
		if together[k] && density[k] >= frameDensity && density[k] >= 3*middle {
			o.regions[i].kind = kindFrame
		}
	}
}

// endNames counts the names in the first and last blocks of [from, to).
func (d *doc) endNames(from, to int) map[string]int {
	const ends = 8
	if to-from <= 2*ends {
		return d.names(from, to)
	}
	a, b := d.names(from, from+ends), d.names(to-ends, to)
	for n, c := range b {
		a[n] += c
	}
	return a
}
