// SPDX-License-Identifier: Apache-2.0

package schemas

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"
	"unicode"
)

// StoryID names a story for good: corpus, the upstream's own key, and for a
// tale out of a book the slug of its heading. It survives another cleaning of
// the text; it never holds an ordinal or the name of one of several encodings.
func StoryID(corpus, key, heading string) string {
	id := corpus + ":" + key
	if heading != "" {
		id += "/" + Slug(heading)
	}
	return id
}

// Slug folds a heading to lower-case letters and digits parted by single
// hyphens. An apostrophe vanishes ("King's" is "kings"); a heading with no
// letter or digit is "untitled".
func Slug(s string) string {
	var b strings.Builder
	gap := false
	for _, r := range strings.ToLower(s) {
		switch {
		case r == '\'' || r == '’' || r == '‘':
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			if gap && b.Len() > 0 {
				b.WriteByte('-')
			}
			gap = false
			b.WriteRune(r)
		default:
			gap = true
		}
	}
	if b.Len() == 0 {
		return "untitled"
	}
	return b.String()
}

// Slugs tells repeated headings of one book apart: the second gets -2.
type Slugs map[string]int

// Next returns the slug of heading, with a counter from its second use on.
func (s Slugs) Next(heading string) string {
	slug := Slug(heading)
	for {
		s[slug]++
		n := s[slug]
		if n == 1 {
			return slug
		}
		numbered := slug + "-" + strconv.Itoa(n)
		if s[numbered] == 0 {
			s[numbered] = 1
			return numbered
		}
	}
}

// MatchID names a source story together with one fact of it: the group id
// and 8 hex digits of a hash of the folded fact and counterfactual.
func MatchID(groupID, fact, counterfactual string) string {
	sum := sha256.Sum256(lengthPrefixed(foldFact(fact), foldFact(counterfactual)))
	return groupID + "#" + hex.EncodeToString(sum[:4])
}

// ExampleID names one variant of a match: "rc-" and 16 letters of base 32.
// Order by it is a shuffle, and it gives no label away. An original belongs
// to all matches of its source: pass its group id as the match id.
func ExampleID(matchID, variant string) string {
	sum := sha256.Sum256(lengthPrefixed(matchID, variant))
	return "rc-" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:10]))
}

// NewPromptID names the prompt of one task made of one source: "cp-" and 16
// letters of base 32. Order by it is a shuffle of sources and tasks.
func NewPromptID(groupID, task string) string {
	sum := sha256.Sum256(lengthPrefixed(groupID, task))
	return "cp-" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:10]))
}

// PromptNumber is the number of a prompt for the published column id: 53 bits
// of its name's hash, so that every reader of JSON holds it exactly, and no
// prompt that comes or goes changes another's.
func PromptNumber(promptID string) int {
	sum := sha256.Sum256([]byte(promptID))
	return int(binary.BigEndian.Uint64(sum[:8]) >> 11)
}

// HashText is the SHA-256 of a text's UTF-8 bytes in hex: the text_hash of
// stories and rows.
func HashText(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// foldFact makes facts that differ in case, blanks and a final stop one.
func foldFact(s string) string {
	s = strings.ToLower(strings.Join(strings.Fields(s), " "))
	return strings.TrimRight(s, ".!;, ")
}

// lengthPrefixed joins parts so that no two lists of parts give equal bytes.
func lengthPrefixed(parts ...string) []byte {
	var b []byte
	for _, p := range parts {
		b = strconv.AppendInt(b, int64(len(p)), 10)
		b = append(b, ':')
		b = append(b, p...)
	}
	return b
}
