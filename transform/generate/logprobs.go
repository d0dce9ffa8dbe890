// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/retcon-bench/retcon/schemas"
)

// serverLogProbs is what chat servers send: one entry a token of the answer.
type serverLogProbs struct {
	Content []struct {
		Token   string  `json:"token"`
		LogProb float64 `json:"logprob"`
		Bytes   []int   `json:"bytes"` // null where the server does not say
		Top     []struct {
			LogProb float64 `json:"logprob"`
		} `json:"top_logprobs"`
	} `json:"content"`
}

// LogProbs brings a server's log-probabilities to a story: answer is the
// story as it stood in the answer (reasoning, tags and fences taken off), story
// the same frozen. Tokens outside it are left out; the result is in the form
// of [schemas.EncodeLogProbs]. The error says in words why there is none.
func LogProbs(server json.RawMessage, answer, story string, topK int) (json.RawMessage, error) {
	if len(server) == 0 || string(server) == "null" {
		return nil, errors.New("the server sent none")
	}
	var s serverLogProbs
	if err := json.Unmarshal(server, &s); err != nil {
		return nil, fmt.Errorf("the server's form is unknown: %w", err)
	}
	if len(s.Content) == 0 {
		return nil, errors.New("the server sent none")
	}
	var all strings.Builder
	ends := make([]int, len(s.Content))
	for i, t := range s.Content {
		if t.Bytes == nil {
			all.WriteString(t.Token)
		}
		for _, b := range t.Bytes {
			if b < 0 || b > 255 {
				return nil, fmt.Errorf("token %d has a byte %d", i, b)
			}
			all.WriteByte(byte(b))
		}
		ends[i] = all.Len()
	}
	at := strings.LastIndex(all.String(), answer)
	if at < 0 {
		return nil, errors.New("its tokens do not join to the story")
	}
	place, ok := freezeMap(answer, story)
	if !ok {
		return nil, errors.New("its tokens do not fit the frozen story")
	}
	var out []schemas.TokenLogProb
	from, done := 0, 0 // bytes of the answer and of the story
	for i, t := range s.Content {
		to := min(max(ends[i]-at, 0), len(answer))
		if to <= from {
			continue
		}
		from = to
		if place[to] <= done {
			continue // nothing of it is left, as of blanks at a line's end
		}
		tok := schemas.TokenLogProb{Start: done, End: place[to], LogProb: min(t.LogProb, 0), Top: []float64{}}
		for _, a := range t.Top {
			tok.Top = append(tok.Top, min(a.LogProb, 0)) // rounding may put it a hair above
		}
		// Servers send them in order, but do not promise it.
		slices.SortFunc(tok.Top, func(a, b float64) int { return cmp.Compare(b, a) })
		done = place[to]
		out = append(out, tok)
	}
	return schemas.EncodeLogProbs(out, topK)
}

// freezeMap returns for each byte offset of raw the byte offset of frozen that
// it became, where frozen is raw after text.Freeze and text.Trim. It is false
// where the two do not fit.
func freezeMap(raw, frozen string) ([]int, bool) {
	folded, m := foldLines(raw)
	inner := make([]int, len(folded)+1)
	j := 0
	for i := len(folded) - len(strings.TrimLeftFunc(folded, trimmed)); i < len(folded); {
		n := norm.NFC.NextBoundaryInString(folded[i:], true)
		if n <= 0 {
			n = len(folded) - i
		}
		seg := folded[i : i+n]
		became := norm.NFC.String(seg)
		switch {
		case strings.HasPrefix(frozen[j:], became):
			for k := 1; k < n; k++ {
				inner[i+k] = j + min(k, len(became))
			}
			j += len(became)
		case droppable(seg):
			for k := 1; k < n; k++ {
				inner[i+k] = j
			}
		default:
			return nil, false
		}
		i += n
		inner[i] = j
	}
	for i := range m {
		m[i] = inner[m[i]]
	}
	return m, j == len(frozen)
}

// foldLines does what Freeze does character by character, before it looks at
// blanks and accents: line ends, tabs, controls. The map goes from each byte
// offset of s to one of the result.
func foldLines(s string) (string, []int) {
	var b strings.Builder
	m := make([]int, len(s)+1)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		at := b.Len()
		switch {
		case r == '\r' && strings.HasPrefix(s[i:], "\r\n"):
			// the LF stands for both
		case r == '\r', r == '\u0085', r == '\u2028', r == '\u2029':
			b.WriteByte('\n')
		case r == '\t':
			b.WriteByte(' ')
		case r != '\n' && unicode.Is(unicode.Cc, r):
		default:
			b.WriteString(s[i : i+n])
		}
		for k := 1; k < n; k++ {
			m[i+k] = min(at+k, b.Len())
		}
		i += n
		m[i] = b.Len()
	}
	return b.String(), m
}

// droppable reports what Freeze and Trim may take away: white space, and a byte
// order mark at the start.
func droppable(seg string) bool {
	return strings.TrimFunc(seg, trimmed) == ""
}

func trimmed(r rune) bool { return unicode.IsSpace(r) || r == '\uFEFF' }
