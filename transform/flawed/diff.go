// SPDX-License-Identifier: Apache-2.0

package flawed

// hunk says that a[a0:a1] became b[b0:b1]. What lies between hunks is equal.
type hunk struct{ a0, a1, b0, b1 int }

// maxEdits bounds the work of diff. A rewrite that differs in more places than
// this is no rewrite; the rest counts as one change.
const maxEdits = 1500

// diff returns the changes that lead from a to b, in order: a shortest edit
// script (Myers, 1986). Work and memory grow with the number of differences,
// not with the length of the text.
func diff(a, b []string) []hunk {
	pre := 0
	for pre < len(a) && pre < len(b) && a[pre] == b[pre] {
		pre++
	}
	post := 0
	for post < len(a)-pre && post < len(b)-pre && a[len(a)-1-post] == b[len(b)-1-post] {
		post++
	}
	a, b = a[pre:len(a)-post], b[pre:len(b)-post]
	n, m := len(a), len(b)
	if n == 0 && m == 0 {
		return nil
	}
	if n == 0 || m == 0 {
		return []hunk{{pre, pre + n, pre, pre + m}}
	}
	limit := min(n+m, maxEdits)
	v := make([]int, 2*limit+3)
	var trace [][]int
	at := func(k int) int { return k + limit + 1 }
	last := -1
search:
	for d := 0; d <= limit; d++ {
		for k := -d; k <= d; k += 2 {
			var x int
			if k == -d || k != d && v[at(k-1)] < v[at(k+1)] {
				x = v[at(k+1)]
			} else {
				x = v[at(k-1)] + 1
			}
			for x < n && x-k < m && a[x] == b[x-k] {
				x++
			}
			v[at(k)] = x
			if x >= n && x-k >= m {
				last = d
				break search
			}
		}
		trace = append(trace, append([]int(nil), v[at(-d):at(d)+1]...))
	}
	if last < 0 {
		return []hunk{{pre, pre + n, pre, pre + m}}
	}
	// Walk back and collect single steps, then join those that touch.
	type edit struct{ x, y, dx, dy int }
	var steps []edit
	x, y := n, m
	for d := last; d > 0; d-- {
		row := trace[d-1]
		get := func(k int) int { return row[k+d-1] }
		k := x - y
		down := k == -d || k != d && get2(row, k-1, d-1) < get2(row, k+1, d-1)
		var px int
		if down {
			px = get(k + 1)
		} else {
			px = get(k - 1)
		}
		py := px - (k + 1)
		if !down {
			py = px - (k - 1)
		}
		if down {
			steps = append(steps, edit{px, py, 0, 1})
		} else {
			steps = append(steps, edit{px, py, 1, 0})
		}
		x, y = px, py
	}
	var out []hunk
	for i := len(steps) - 1; i >= 0; i-- {
		s := steps[i]
		if l := len(out) - 1; l >= 0 && out[l].a1 == s.x+pre && out[l].b1 == s.y+pre {
			out[l].a1 += s.dx
			out[l].b1 += s.dy
			continue
		}
		out = append(out, hunk{s.x + pre, s.x + s.dx + pre, s.y + pre, s.y + s.dy + pre})
	}
	return out
}

// get2 reads diagonal k of the row of d edits; a diagonal outside is behind all.
func get2(row []int, k, d int) int {
	if k < -d || k > d {
		return -1
	}
	return row[k+d]
}
