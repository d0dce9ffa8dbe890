// SPDX-License-Identifier: Apache-2.0

package gutenberg

import (
	"sort"
	"strings"
)

// Rules that take things out of a text wherever they stand.
const (
	ruleIllustration = "illustration"
	ruleTranscriber  = "transcriber-note"
	rulePage         = "page-number"
	ruleSidenote     = "sidenote"
	ruleCredit       = "credit"
)

// bracketRules are the words that open a bracket which is no part of a story.
var bracketRules = []struct{ word, rule string }{
	{"illustration", ruleIllustration},
	{"illustrations", ruleIllustration},
	{"illus", ruleIllustration},
	{"picture", ruleIllustration},
	{"frontispiece", ruleIllustration},
	{"vignette", ruleIllustration},
	{"decoration", ruleIllustration},
	{"decorative", ruleIllustration},
	{"ornament", ruleIllustration},
	{"tailpiece", ruleIllustration},
	{"tail-piece", ruleIllustration},
	{"headpiece", ruleIllustration},
	{"head-piece", ruleIllustration},
	{"plate", ruleIllustration},
	{"image", ruleIllustration},
	{"music", ruleIllustration},
	{"transcriber", ruleTranscriber},
	{"transcribers", ruleTranscriber},
	{"transcription", ruleTranscriber},
	{"etext", ruleTranscriber},
	{"sidenote", ruleSidenote},
	{"footnote", ruleFootnote},
	{"fn", ruleFootnote},
	{"pg", rulePage},
	{"pag", rulePage},
	{"page", rulePage},
	{"p", rulePage},
}

// findCuts lists the brackets, notices and page numbers inside ranges of s.
func findCuts(s string, body []span) []cut {
	var out []cut
	for _, b := range body {
		t := s[:b.end]
		// The next place of each opening mark; all are rare.
		next := func(c byte, i int) int {
			if n := strings.IndexByte(t[i:], c); n >= 0 {
				return i + n
			}
			return len(t)
		}
		i := b.start
		square, angle, brace := next('[', i), next('<', i), next('{', i)
		for {
			i = min(square, angle, brace)
			if i >= len(t) {
				break
			}
			end, rule := 0, ""
			switch i {
			case square:
				end, rule = bracket(t, i)
			case angle:
				end, rule = notice(t, i)
			default:
				end, rule = curly(t, i)
			}
			if end == 0 {
				end = i + 1
			} else {
				out = append(out, cut{i, end, rule})
			}
			if square < end {
				square = next('[', end)
			}
			if angle < end {
				angle = next('<', end)
			}
			if brace < end {
				brace = next('{', end)
			}
		}
	}
	return out
}

// most is the length above which an open bracket is taken for a slip.
const mostBracket = 4000

// bracket reads a bracket at s[i] that opens with one of bracketRules' words.
func bracket(s string, i int) (end int, rule string) {
	j := i + 1
	for j < len(s) && (s[j] == ' ' || s[j] == '_' || s[j] == '*') {
		j++
	}
	w := j
	for w < len(s) && (isLetter(s[w]) || s[w] == '-' && w > j) {
		w++
	}
	if w == j || w-j > 14 {
		return 0, ""
	}
	word := strings.ToLower(s[j:w])
	for _, r := range bracketRules {
		if r.word != word {
			continue
		}
		end = closing(s, i)
		if end == 0 {
			return 0, ""
		}
		inner := strings.Trim(s[w:end-1], " \n\r_*")
		switch r.rule {
		case rulePage:
			// [Pg 12], [Page xii], [p. 3]
			inner = strings.Trim(inner, ". :")
			if inner == "" || len(inner) > 9 || !pageNumber(inner) {
				return 0, ""
			}
		case ruleIllustration:
			// "[Plate armour was dear]" is text.
			if inner != "" && !strings.ContainsRune(":.,;([-–—\"0123456789IVXL", rune(inner[0])) && !capital(inner) {
				return 0, ""
			}
		case ruleTranscriber:
			if word == "etext" || word == "transcription" {
				if !strings.Contains(strings.ToLower(inner), "transcri") && !strings.Contains(inner, "editor") && !strings.Contains(strings.ToLower(inner), "note") {
					return 0, ""
				}
			}
		case ruleFootnote:
			// [Footnote: ...], [Footnote 12: ...], [FN#1: ...]
			if n := strings.IndexByte(inner, ':'); n < 0 || n > 6 || strings.Trim(inner[:n], "# 0123456789ABCDEFGHIJabcdef*") != "" {
				return 0, ""
			}
		case ruleSidenote:
			if !strings.HasPrefix(inner, ":") {
				return 0, ""
			}
		}
		return end, r.rule
	}
	return 0, ""
}

func capital(s string) bool { return s != "" && s[0] >= 'A' && s[0] <= 'Z' }

// closing returns the offset behind the bracket that closes the one at s[i],
// 0 if there is none within reach.
func closing(s string, i int) int {
	depth := 0
	for j := i; j < len(s) && j < i+mostBracket; j++ {
		switch s[j] {
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				return j + 1
			}
		}
	}
	// A bracket inside may lack its own end.
	if n := strings.IndexByte(s[i:min(len(s), i+mostBracket)], ']'); n >= 0 {
		return i + n + 1
	}
	return 0
}

// notice reads <<THIS ELECTRONIC VERSION ...>>: a licence between the parts
// of a file.
func notice(s string, i int) (end int, rule string) {
	if !strings.HasPrefix(s[i:], "<<") {
		return 0, ""
	}
	n := strings.Index(s[i:min(len(s), i+mostBracket)], ">>")
	if n < 0 {
		return 0, ""
	}
	up := upperPrefix(s[i+2:i+n], 4000)
	for _, w := range []string{"ELECTRONIC VERSION", "COPYRIGHT", "GUTENBERG", "ETEXT", "LICENSE", "DISTRIBUTED"} {
		if strings.Contains(up, w) {
			return i + n + 2, ruleNotice
		}
	}
	return 0, ""
}

// curly reads a page number in curly brackets: {12}, {xii}, {p. 3}.
func curly(s string, i int) (end int, rule string) {
	n := strings.IndexByte(s[i:min(len(s), i+12)], '}')
	if n < 2 {
		return 0, ""
	}
	inner := strings.TrimSpace(s[i+1 : i+n])
	for _, p := range []string{"pg", "page", "p."} {
		inner = strings.TrimSpace(strings.TrimPrefix(inner, p))
	}
	if !pageNumber(inner) {
		return 0, ""
	}
	return i + n + 1, rulePage
}

// pageNumber reports 12, xii, 12-13 and 45a.
func pageNumber(s string) bool {
	digits, roman, other := 0, 0, 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			digits++
		case strings.IndexByte("ivxlcIVXLC", c) >= 0:
			roman++
		case c == '-' || c == ' ':
		default:
			other++
		}
	}
	return digits > 0 && digits <= 8 && roman == 0 && other <= 1 || roman > 0 && digits == 0 && other == 0
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// addCuts merges more into the sorted cuts of d; overlaps are joined to the
// earlier rule.
func (d *doc) addCuts(more []cut) {
	if len(more) == 0 {
		return
	}
	d.cuts = mergeCuts(append(d.cuts, more...))
}

// mergeCuts sorts cuts and lets none overlap: a later start is moved to the end
// before it.
func mergeCuts(cuts []cut) []cut {
	sort.SliceStable(cuts, func(i, j int) bool { return cuts[i].start < cuts[j].start })
	out := cuts[:0]
	end := 0
	for _, c := range cuts {
		c.start = max(c.start, end)
		if c.start >= c.end {
			continue
		}
		end = c.end
		out = append(out, c)
	}
	return out
}
