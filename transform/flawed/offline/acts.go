// SPDX-License-Identifier: Apache-2.0

package offline

import "strings"

// Acts returns the sentences that acts 2 and 3 start with. Act 2 starts at a
// paragraph between 12 and 60 % of the words, where most flips fit, and of
// those where most can be explained away; ties go to the place nearest to a
// quarter. Act 3 starts at the paragraph nearest to
// three quarters. Both must be told apart from every other sentence of the
// story by their words, since an act is found again by its first line. ok is
// false when the story has no such places.
func (st *Story) Acts(flips []*Flip) (act2, act3 int, ok bool) {
	starts := st.paragraphStarts()
	seen := map[string]int{}
	for _, r := range st.Sents {
		seen[strings.Join(strings.Fields(fold(r.Of(st.Text))), " ")]++
	}
	total := len(st.toks)
	if total == 0 {
		return 0, 0, false
	}
	share := func(s int) float64 { return float64(st.first[s]) / float64(total) }
	usable := func(s int) bool {
		key := strings.Join(strings.Fields(fold(st.Sents[s].Of(st.Text))), " ")
		if seen[key] != 1 || st.first[s+1]-st.first[s] < 4 {
			return false
		}
		// A line that starts like another could not be told from it either.
		for k := range seen {
			if k != key && strings.HasPrefix(k, key) {
				return false
			}
		}
		return !st.verse[s]
	}
	act2, act3 = -1, -1
	best, bestBridged := -1, -1
	for _, s := range starts {
		p := share(s)
		if p < 0.12 || p > 0.60 || !usable(s) {
			continue
		}
		n, bridged := 0, 0
		for _, f := range flips {
			if st.Fits(f, st.Sents[s].Start) {
				n++
				if _, _, ok := st.Bridge(f, st.Sents[s].Start); ok {
					bridged++
				}
			}
		}
		if n > best || n == best && bridged > bestBridged || n == best && bridged == bestBridged && abs(p-0.25) < abs(share(act2)-0.25) {
			best, bestBridged, act2 = n, bridged, s
		}
	}
	for _, s := range starts {
		p := share(s)
		if act2 < 0 || p < 0.65 || p > 0.92 || p < share(act2)+0.1 || !usable(s) {
			continue
		}
		if act3 < 0 || abs(p-0.75) < abs(share(act3)-0.75) {
			act3 = s
		}
	}
	return act2, act3, act2 >= 0 && act3 >= 0
}

// paragraphStarts returns the sentences that start a line of narration, or any
// sentence behind narration when the text has no lines.
func (st *Story) paragraphStarts() []int {
	var lines, all []int
	for i := 1; i < len(st.Sents); i++ {
		if st.first[i] == st.first[i+1] {
			continue
		}
		gap := st.Text[st.Sents[i-1].End:st.Sents[i].Start]
		t := st.toks[st.first[i]]
		if t.long || t.speech && st.toks[st.first[i]-1].speech && t.sep == "" {
			continue
		}
		if strings.Contains(gap, "\n") {
			lines = append(lines, i)
		}
		if !t.speech {
			all = append(all, i)
		}
	}
	if len(lines) < 6 {
		return all
	}
	return lines
}

func abs(f float64) float64 {
	if f < 0 {
		return -f
	}
	return f
}

// Flips returns the story's facts that can flip, best first: what is hardest
// to come by stands before what is easy.
func (st *Story) Flips(people []Person) []*Flip {
	var out []*Flip
	out = append(out, st.attributes()...)
	out = append(out, st.counts()...)
	out = append(out, st.times()...)
	out = append(out, st.nouns()...)
	// Names are easy, for makers and for readers: one a story is enough.
	if renames := st.names(people); len(renames) > 0 {
		out = append(out, renames[st.draw(len(renames), "renames")])
	}
	return out
}
