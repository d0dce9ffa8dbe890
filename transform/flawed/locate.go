// SPDX-License-Identifier: Apache-2.0

package flawed

import (
	"sort"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/retcon-bench/retcon/internal/text"
)

// finder looks for a line of an answer at the sentence starts of a story.
type finder struct {
	story  string
	starts []int // bytes
	folded string
	back   []int // folded byte -> story byte
}

func newFinder(story string) *finder {
	f := &finder{story: story}
	for _, r := range text.Sentences(story) {
		f.starts = append(f.starts, r.Start)
	}
	f.folded, f.back = foldMap(story)
	return f
}

// Parameters of the last two rungs.
const (
	prefixWords = 6
	fuzzyShare  = 0.85
	fuzzyLead   = 0.05
)

// find returns the sentence starts at which line stands, and how it was found:
// exact, folded, prefix or fuzzy. The first two may find it more than once.
func (f *finder) find(line string) (starts []int, how string) {
	line = strings.TrimSpace(line)
	for _, l := range []string{line, unquote(line)} {
		if l == "" {
			continue
		}
		for _, s := range f.starts {
			if strings.HasPrefix(f.story[s:], l) {
				starts = append(starts, s)
			}
		}
		if len(starts) > 0 {
			return starts, "exact"
		}
	}
	want, _ := foldMap(line)
	want = strings.TrimSpace(want)
	for _, l := range []string{want, unquote(want)} {
		if l == "" {
			continue
		}
		if starts = f.folds(l); len(starts) > 0 {
			return starts, "folded"
		}
	}
	words := strings.Fields(strings.TrimRight(want, ".…"))
	for n := len(words); n >= prefixWords; n-- {
		starts = f.folds(strings.TrimRight(strings.Join(words[:n], " "), ",;:.!?-\"'"))
		if len(starts) == 1 {
			return starts, "prefix"
		}
		if len(starts) > 1 {
			return nil, ""
		}
	}
	return f.fuzzy(words)
}

// folds returns the sentence starts at which folded text begins with l.
func (f *finder) folds(l string) []int {
	var out []int
	for _, s := range f.starts {
		i := sort.SearchInts(f.back, s)
		if strings.HasPrefix(f.folded[i:], l) {
			out = append(out, s)
		}
	}
	return out
}

// fuzzy returns the one sentence start behind which the story shares most
// words with the line, in order.
func (f *finder) fuzzy(words []string) ([]int, string) {
	if len(words) < prefixWords {
		return nil, ""
	}
	best, second, at := 0.0, 0.0, -1
	for _, s := range f.starts {
		i := sort.SearchInts(f.back, s)
		got := firstWords(f.folded[i:], len(words))
		if len(got) < prefixWords {
			continue
		}
		share := 2 * float64(lcs(words, got)) / float64(len(words)+len(got))
		if share > best {
			best, second, at = share, best, s
		} else if share > second {
			second = share
		}
	}
	if at < 0 || best < fuzzyShare || best-second < fuzzyLead {
		return nil, ""
	}
	return []int{at}, "fuzzy"
}

func firstWords(s string, n int) []string {
	var out []string
	for r := range text.WordRanges(s) {
		out = append(out, r.Of(s))
		if len(out) == n {
			break
		}
	}
	return out
}

// lcs is the length of the longest common subsequence.
func lcs(a, b []string) int {
	row := make([]int, len(b)+1)
	for _, x := range a {
		diag := 0
		for j, y := range b {
			up := row[j+1]
			if x == y {
				row[j+1] = diag + 1
			} else {
				row[j+1] = max(up, row[j])
			}
			diag = up
		}
	}
	return row[len(b)]
}

// foldMap folds what differs between two printings of one line: compatibility
// forms (NFKC), kinds of quotes and dashes, runs of white space. back[i] is the
// byte of s that byte i of the folded text comes from.
func foldMap(s string) (string, []int) {
	var b strings.Builder
	back := make([]int, 0, len(s)+1)
	space := false
	for i, r := range s {
		if unicode.IsSpace(r) {
			if !space {
				b.WriteByte(' ')
				back = append(back, i)
			}
			space = true
			continue
		}
		space = false
		out := string(r)
		if r >= 0x80 {
			out = norm.NFKC.String(out)
		}
		out = typoToken(out)
		for range len(out) {
			back = append(back, i)
		}
		b.WriteString(out)
	}
	back = append(back, len(s))
	return b.String(), back
}

// unquote takes off quotation marks that enclose a line as a whole.
func unquote(s string) string {
	for _, q := range [][2]string{{"\"", "\""}, {"“", "”"}, {"'", "'"}, {"‘", "’"}, {"`", "`"}, {"*", "*"}, {"<", ">"}} {
		if strings.HasPrefix(s, q[0]) && strings.HasSuffix(s, q[1]) && len(s) > len(q[0])+len(q[1]) {
			inner := s[len(q[0]) : len(s)-len(q[1])]
			if !strings.Contains(inner, q[0]) {
				return strings.TrimSpace(inner)
			}
		}
	}
	return s
}
