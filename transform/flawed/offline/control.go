// SPDX-License-Identifier: Apache-2.0

package offline

// Control returns a flip that contradicts nothing: all its mentions stand
// behind byte act2, one to five sentences of them, and it shares no sentence
// with the flaw. A thing the story never introduces, or first names in a clause
// that states nothing, is left alone, and so are relations. A flip of the
// flaw's class comes first.
func (st *Story) Control(flaw *Flip, flips []*Flip, act2 int) *Flip {
	taken := map[int]bool{}
	for _, c := range flaw.Changes {
		taken[c.Sent] = true
	}
	fits := func(f *Flip) bool {
		if f.Head == flaw.Head || f.Changes[0].Start < act2 || f.Changes[0].Speech {
			return false
		}
		if f.known && f.Class != "species" && f.Class != "role" || f.group == "kin" || !st.plain(st.tokenAt(f.Changes[0].Start)) {
			return false
		}
		for _, c := range f.Changes {
			if taken[c.Sent] || c.Long || st.verse[c.Sent] {
				return false
			}
		}
		n := len(f.Supports(act2))
		return n >= 1 && n <= most
	}
	for _, same := range []bool{true, false} {
		for _, f := range flips {
			if (f.Class == flaw.Class) == same && fits(f) {
				return f
			}
		}
	}
	return nil
}
