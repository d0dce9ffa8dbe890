// SPDX-License-Identifier: Apache-2.0

package writingprompts

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// newlineToken stands for a line break inside a story.
const newlineToken = "<newline>"

// Lines puts the line breaks back: one token is a line break, two or more a
// paragraph break. Lost is for copies without any token, in which a run of k
// blanks is what is left of k-1 tokens.
func Lines(s string, lost bool) string {
	if lost {
		s = lostBreaks(s)
	}
	if strings.Contains(s, newlineToken) {
		s = strings.ReplaceAll(s, newlineToken, "\n")
	}
	lines := strings.Split(s, "\n")
	out := lines[:0]
	gap := 0
	for _, l := range lines {
		l = strings.TrimSpace(l)
		if l == "" {
			gap++
			continue
		}
		if gap > 0 && len(out) > 0 {
			out = append(out, "")
		}
		gap = 0
		out = append(out, l)
	}
	return strings.Join(out, "\n")
}

// lostBreaks makes line breaks of runs of blanks.
func lostBreaks(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		if s[i] != ' ' {
			b.WriteByte(s[i])
			i++
			continue
		}
		k := i
		for k < len(s) && s[k] == ' ' {
			k++
		}
		if k-i == 1 {
			b.WriteByte(' ')
		} else {
			b.WriteString(strings.Repeat("\n", k-i-1))
		}
		i = k
	}
	return b.String()
}

// Tokenised reports text whose words and marks were parted by a tokeniser: a
// full stop or comma there has a blank before it. Some copies hold tokenised
// prompts and stories as people wrote them.
func Tokenised(s string) bool {
	apart, joined := 0, 0
	for i := 0; i < len(s); i++ {
		if c := s[i]; c != '.' && c != ',' && c != '?' && c != '!' {
			if c == '`' && i+1 < len(s) && s[i+1] == '`' {
				return true
			}
			continue
		}
		if i+1 < len(s) && s[i+1] != ' ' && s[i+1] != '\n' {
			continue // inside a number, an abbreviation or a run of dots
		}
		switch {
		case i > 0 && s[i-1] == ' ':
			apart++
		case i > 0 && s[i-1] != '.' && s[i-1] != '\n':
			joined++
		}
	}
	if apart+joined == 0 {
		return strings.Contains(s, " n't") || strings.Contains(s, " 's ") || strings.Contains(s, " 'm ")
	}
	return apart > joined
}

// Detokenise joins again what the tokeniser parted, line by line. Nothing but
// blanks is taken away, and the tokeniser's opening and closing quotes (two
// backticks, two apostrophes) become straight double quotes: the letters, digits
// and other marks of s are those of the result, in order (property-tested).
//
// The tokeniser is the Treebank one of NLTK. What it destroyed is not to be
// known for certain: whether a dash had blanks, "can not" for cannot, which
// way a lone apostrophe leaned.
func Detokenise(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i, line := range strings.Split(s, "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		joinLine(&b, strings.Fields(line))
	}
	return b.String()
}

// joinLine writes the tokens of a line with the blanks that belong.
func joinLine(b *strings.Builder, tokens []string) {
	if ornament(tokens) {
		b.WriteString(strings.Join(tokens, " "))
		return
	}
	var (
		glue   = true  // no blank before the next token
		quoted = false // inside straight double quotes
		starts = 0     // emphasis marks open: *
		prev   string
	)
	for i, t := range tokens {
		next := ""
		if i+1 < len(tokens) {
			next = tokens[i+1]
		}
		left, right := false, false             // joined to what is before, behind
		out := strings.ReplaceAll(t, "''", `"`) // some write quotes so
		switch {
		case t == "``":
			out, right, quoted = `"`, true, true
		case t == "''":
			// A quote without a blank before it was taken for a closing one
			// (with"You): one that closes nothing and is closed itself opens.
			opens := i == 0 || !quoted && wordEnd(prev) && !mark(next) && slices.Contains(tokens[i+1:], "''")
			out, quoted = `"`, opens
			left, right = !opens, opens
		case t == `"`:
			if quoted {
				left = true
			} else {
				right = true
			}
			quoted = !quoted
		case t == "(" && prev == "]" && strings.HasPrefix(next, "http"):
			left, right = true, true // a link's address
		case t == "“", t == "‘", t == "(", t == "[", t == "{", t == "`", t == "„":
			right = true
		case t == "”", t == ")", t == "]", t == "}", t == "%", t == ";":
			left = i > 0
		case t == "’":
			// An apostrophe of don ’ t, or a closing quote.
			left = i > 0
			right = wordEnd(prev) && contracted(next)
		case t == "'":
			// The end of a quotation, or an apostrophe at a word's end
			// (nothin '): the tokeniser leaves one that opens a quotation at
			// its word.
			left, right = i > 0, i == 0
		case t == "$", t == "£", t == "€", t == "#" && startsDigit(next):
			right = startsDigit(next)
		case t == "*", t == "_", t == "**":
			left = starts > 0
			if left {
				starts--
			}
		case t == "#" && prev == "#":
			left = true // a heading's marks
		case len(t) > 1 && t[0] == '.' && strings.HasSuffix(prev, "..."):
			left = true // uh ... .was
		case t == ":" && strings.HasPrefix(next, "//"):
			left, right = i > 0, true // https : //
		case mark(t):
			left = i > 0
		case t == "n't", t == "n’t", t == "N'T", suffix(t):
			left = wordEnd(prev)
		case joins(prev, t):
			left = true
		case strings.EqualFold(prev, "can") && strings.EqualFold(t, "not") && next != "only":
			left = true // cannot is split without fail, and much the commoner
		case strings.EqualFold(prev, "'t") && (strings.EqualFold(t, "is") || strings.EqualFold(t, "was")):
			left = true
		}
		if !glue && !left {
			b.WriteByte(' ')
		}
		b.WriteString(out)
		glue = right
		if emphasisOpens(t) {
			starts++
		}
		prev = t
	}
}

// mark reports a token of closing punctuation: , . ? ! : ... and runs of them.
func mark(t string) bool {
	for _, r := range t {
		switch r {
		case '.', ',', '?', '!', ':', '…':
		default:
			return false
		}
	}
	return t != ""
}

// ornament reports a line of marks alone, a scene break: * * *, - - -, # # #.
func ornament(tokens []string) bool {
	for _, t := range tokens {
		for _, r := range t {
			if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '"' || r == '`' || r == '\'' {
				return false
			}
		}
	}
	for _, t := range tokens {
		if !mark(t) {
			return true
		}
	}
	return false
}

// suffix reports what the tokeniser cut off the end of a word: 's 're 'll.
func suffix(t string) bool {
	if len(t) < 2 || len(t) > 5 {
		return false
	}
	rest, ok := strings.CutPrefix(t, "'")
	if !ok {
		if rest, ok = strings.CutPrefix(t, "’"); !ok {
			return false
		}
	}
	switch strings.ToLower(rest) {
	case "s", "m", "d", "re", "ve", "ll":
		return true
	}
	return false
}

// contracted reports what follows the apostrophe of a contraction.
func contracted(t string) bool {
	switch strings.ToLower(t) {
	case "s", "m", "d", "t", "re", "ve", "ll":
		return true
	}
	return false
}

// joins reports the halves of a word that the tokeniser split for its sound.
func joins(a, b string) bool {
	switch strings.ToLower(a) + " " + strings.ToLower(b) {
	case "gon na", "wan na", "got ta", "gim me", "lem me", "more 'n", "d 'ye":
		return true
	}
	return false
}

// wordEnd reports a token that ends in a letter, digit or a mark of emphasis.
func wordEnd(t string) bool {
	r, _ := utf8.DecodeLastRuneInString(t)
	return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '*' || r == '_' || r == '.' && len(t) > 1
}

func startsDigit(t string) bool {
	r, _ := utf8.DecodeRuneInString(t)
	return unicode.IsDigit(r)
}

// emphasisOpens reports *word without the mark that closes it.
func emphasisOpens(t string) bool {
	for _, m := range []string{"*", "_"} {
		if len(t) > len(m) && strings.HasPrefix(t, m) && !strings.HasSuffix(t, m) && strings.Count(t, m)%2 == 1 {
			return true
		}
	}
	return false
}
