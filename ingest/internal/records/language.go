// SPDX-License-Identifier: Apache-2.0

package records

import (
	"slices"
	"strings"
	"unicode"
)

// chineseShare is the share of ideographs and kana among the characters that
// are no white space from which a text is Chinese. In the 222 length rows of
// WritingBench English queries reach 0.19 and Chinese ones start at 0.60; the
// one English row of LongBench_Write with ideographs has 0.03.
const chineseShare = 0.4

// CJKShare is the share of ideographs and kana among the characters of s that
// are no white space.
func CJKShare(s string) float64 {
	n, all := 0, 0
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			continue
		case r >= 0x2E80 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana):
			n++
		}
		all++
	}
	if all == 0 {
		return 0
	}
	return float64(n) / float64(all)
}

// Language returns the upstream's code if it is en or zh, else what the share
// of ideographs says.
func Language(declared, s string) string {
	switch l := strings.ToLower(declared); {
	case l == "en" || strings.HasPrefix(l, "en-") || l == "english":
		return "en"
	case l == "zh" || strings.HasPrefix(l, "zh-") || l == "cn" || l == "chinese":
		return "zh"
	}
	if CJKShare(s) >= chineseShare {
		return "zh"
	}
	return "en"
}

// Wanted reports whether a list of the settings, empty for all, has v.
func Wanted(list []string, v string) bool {
	return len(list) == 0 || slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(s, v) })
}
