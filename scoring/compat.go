// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/retcon-bench/retcon/internal/text"
)

// The compat scorer does what the code published with the paper does, on the
// data set's frozen sentences:
//
//   - a story sentence and a quote lose what stands in [brackets] and the tags
//     <li>, <br>, <p>, <m>, are lower-cased, lose all punctuation (also inside
//     words) and get single blanks;
//   - an answer is cut at line breaks (at </li> where it is a list), hyphens
//     and asterisks are deleted, blank lines dropped, lines cut into sentences;
//   - each piece hits every story sentence that contains it. Sets hold texts:
//     two sentences with the same text are one.
//
// Two things differ. The published code cuts the story with NLTK's English
// Punkt; here the frozen sentences stand, and quotes are cut by this module's
// own segmenter. A quote that is the empty string hits every sentence, as one
// made of quote marks alone does there.

var (
	compatBrackets = regexp.MustCompile(`\[[^\n]*?\]`)
	compatTags     = strings.NewReplacer("<li>", " ", "</li>", " ", "<br>", " ", "<br/>", " ",
		"<p>", " ", "</p>", " ", "<m>", " ", "</m>", " ")
)

// compatForm is the form in which the compat scorer compares.
func compatForm(s string) string {
	s = strings.ToLower(s)
	if strings.Contains(s, "[") {
		s = compatBrackets.ReplaceAllString(s, "")
	}
	if strings.Contains(s, "<") {
		s = compatTags.Replace(s)
	}
	var b strings.Builder
	b.Grow(len(s))
	blank := false
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			blank = true
		case r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r):
			if blank && b.Len() > 0 {
				b.WriteByte(' ')
			}
			blank = false
			b.WriteRune(r)
		}
	}
	return b.String()
}

// compatPieces cuts a quote as the compat scorer does.
func compatPieces(quote string) []string {
	sep := "\n"
	if strings.Contains(quote, "<li>") {
		sep = "</li>"
	}
	lines := strings.Split(quote, sep)
	var out []string
	for _, line := range lines {
		line = strings.TrimSpace(compatDelete.Replace(strings.TrimSpace(line)))
		if line == "" && len(lines) > 1 {
			continue
		}
		line = compatBrackets.ReplaceAllString(line, "")
		sentences := text.Sentences(line)
		if len(sentences) == 0 {
			out = append(out, compatForm(line))
		}
		for _, r := range sentences {
			out = append(out, compatForm(r.Of(line)))
		}
	}
	return out
}

var compatDelete = strings.NewReplacer("-", "", "*", "")

// compatSide maps the quotes of one side. It returns the sentences hit, in
// order, each the first of those with its text, and how many quotes hit none.
func compatSide(ix *storyIndex, quotes []string) (sentences []int32, unmapped int) {
	hit := make([]bool, len(ix.plain))
	for _, q := range quotes {
		any := false
		for _, piece := range compatPieces(q) {
			for s, plain := range ix.plain {
				if strings.Contains(plain, piece) {
					hit[ix.first[s]] = true
					any = true
				}
			}
		}
		if !any {
			unmapped++
		}
	}
	for s, h := range hit {
		if h {
			sentences = append(sentences, int32(s))
		}
	}
	return sentences, unmapped
}

// compatGold gives gold sentences the ids that compatSide uses.
func compatGold(ix *storyIndex, gold []int) []int {
	out := make([]int, len(gold))
	for i, g := range gold {
		out[i] = int(ix.first[g])
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// compatDecision is how the published code reads a decision: the phrase, or else an
// error. It knows no unreadable decision.
func compatDecision(decision string) Decision {
	if strings.Contains(strings.ToLower(decision), "no continuity error found") {
		return DecisionConsistent
	}
	return DecisionError
}
