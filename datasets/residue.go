// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"regexp"
	"slices"
	"strings"
)

// residue finds what must not stay of Project Gutenberg in a text: the licence
// attaches to the name, so with the licence text every mention of the name
// goes too (the licence's own section 1.E, and releases' rule on licences).
var residue = regexp.MustCompile(`(?i)project\s+gutenberg|gutenberg\.(?:org|net|com)|gutenberg[\s-]+tm\b|gutenberg\s+(?:literary\s+archive|e-?(?:text|book))|\bPGLAF\b|\bpgdp\b|distributed\s+proofread(?:ers|ing)|\bthe\s+small\s+print\b|\b[ed]?-?(?:book|text)\s*#\s?\d+`)

// residueNeeds are what a match of residue holds at least one of, in lower
// case. The expression took more than half of the time of writing a release;
// most stories hold none of these. None has an s or a k, which fold to letters
// beyond ASCII as well.
var residueNeeds = []string{"gutenberg", "pglaf", "pgdp", "proofread", "print", "#"}

// Residue returns the first trace of Project Gutenberg in s and its 1-based
// line, or an empty string.
func Residue(s string) (found string, line int) {
	lower := strings.ToLower(s)
	if !slices.ContainsFunc(residueNeeds, func(n string) bool { return strings.Contains(lower, n) }) {
		return "", 0
	}
	loc := residue.FindStringIndex(s)
	if loc == nil {
		return "", 0
	}
	return s[loc[0]:loc[1]], 1 + strings.Count(s[:loc[0]], "\n")
}
