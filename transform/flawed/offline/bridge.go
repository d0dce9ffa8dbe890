// SPDX-License-Identifier: Apache-2.0

package offline

// Bridge returns a sentence that tells how and when the fact changed, and the
// sentence of the source it stands behind. ok is false when no such sentence
// or no place for it is known.
func (st *Story) Bridge(f *Flip, act2 int) (after int, words string, ok bool) {
	return 0, "", false
}

// InsideSpeech reports whether a speech goes on from sentence i into the next.
func (st *Story) InsideSpeech(i int) bool {
	last, next := st.first[i+1]-1, st.first[i+1]
	if last < st.first[i] || next >= len(st.toks) {
		return false
	}
	a, b := st.toks[last], st.toks[next]
	return a.speech && b.speech && !quoteIn(b.sep)
}

func quoteIn(sep string) bool {
	for _, r := range sep {
		switch r {
		case '"', '“', '”', '\'', '‘', '’':
			return true
		}
	}
	return false
}
