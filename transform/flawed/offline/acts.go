// SPDX-License-Identifier: Apache-2.0

package offline

import "strings"

// Acts returns the sentences that acts 2 and 3 start with. Act 2 starts at a
// paragraph (or, where none will do, a sentence) between 8 and 85 % of the words, where most flips fit and
// can be explained away; ties go to the place nearest to a quarter. Act 3 starts at the paragraph nearest to
// three quarters. Both must be told apart from every other sentence of the
// story by their words, since an act is found again by its first line. ok is
// false when the story has no such places.
func (st *Story) Acts(flips []*Flip) (act2, act3 int, ok bool) {
	lines, all := st.paragraphStarts()
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
	best := 0
	for _, starts := range [][]int{lines, all} {
		if best > 0 {
			break
		}
		for _, s := range starts {
			p := share(s)
			if p < earliest || p > latest || !usable(s) {
				continue
			}
			n := 0
			for _, f := range flips {
				if st.Fits(f, st.Sents[s].Start) {
					n++
					if _, _, ok := st.atBest(f, st.Sents[s].Start); ok {
						n++ // it gives two stories
					}
				}
			}
			if n == 0 && (p < 0.12 || p > 0.60) {
				continue
			}
			if n > best || n == best && (act2 < 0 || abs(p-0.25) < abs(share(act2)-0.25)) {
				best, act2 = n, s
			}
		}
	}
	for _, starts := range [][]int{lines, all} {
		if act3 >= 0 {
			break
		}
		for _, s := range starts {
			p := share(s)
			if act2 < 0 || p < 0.65 || p > 0.94 || p < share(act2)+0.06 || !usable(s) {
				continue
			}
			if act3 < 0 || abs(p-0.75) < abs(share(act3)-0.75) {
				act3 = s
			}
		}
	}
	return act2, act3, act2 >= 0 && act3 >= 0
}

// paragraphStarts returns the sentences that start a line, none when the text
// has hardly any lines, and all sentences of narration.
func (st *Story) paragraphStarts() (lines, all []int) {
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
		return nil, all
	}
	return lines, all
}

func abs[N int | float64](f N) N {
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
	// Names are easy, for makers and for readers: one a story is enough, two
	// where both can be explained away.
	return append(out, st.pick(st.names(people))...)
}

// pick chooses a story's renames: at most two that fit somewhere and can be
// explained away, else one that fits, else any.
func (st *Story) pick(renames []*Flip) []*Flip {
	if len(renames) == 0 {
		return nil
	}
	_, starts := st.paragraphStarts()
	from := st.draw(len(renames), "renames")
	var explained, first []*Flip
	for k := range renames {
		f := renames[(from+k)%len(renames)]
		for _, s := range starts {
			p := float64(st.first[s]) / float64(len(st.toks))
			at := st.Sents[s].Start
			if p < earliest || p > latest || !st.Fits(f, at) {
				continue
			}
			if len(first) == 0 {
				first = []*Flip{f}
			}
			if _, _, ok := st.atBest(f, at); ok {
				explained = append(explained, f)
				break
			}
		}
	}
	switch {
	case len(explained) > 0:
		return explained[:min(len(explained), 2)]
	case len(first) > 0:
		return first
	}
	return renames[from : from+1]
}

// earliest and latest are shares of the words between which act 2 starts.
const earliest, latest = 0.08, 0.85
