// SPDX-License-Identifier: Apache-2.0

package text

// Sentences returns the sentences of s without the white space around them.
func Sentences(s string) []Range {
	var out []Range
	start := -1
	end := 0
	for w := range WordRanges(s) {
		if start < 0 {
			start = w.Start
		}
		end = w.End
		switch s[w.End-1] {
		case '.', '!', '?', '"':
			out = append(out, Range{start, end})
			start = -1
		}
	}
	if start >= 0 {
		out = append(out, Range{start, end})
	}
	return out
}
