// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/retcon-bench/retcon/schemas"
)

// parsePrediction reads one JSON line as [schemas.ParseLine] does, about five
// times as fast: a million predictions are then a matter of seconds. It
// takes the plain form that programs write, and leaves everything else (other
// spellings of keys, repeated keys, odd escapes, every error) to ParseLine,
// whose word is final. A fuzz test holds the two together.
//
// Short strings that repeat from line to line are shared with last.
func parsePrediction(line []byte, p, last *schemas.Prediction) error {
	sc := scanner{b: line}
	*p = schemas.Prediction{}
	if utf8.Valid(line) && sc.prediction(p, last) {
		return nil
	}
	*p = schemas.Prediction{}
	if err := schemas.ParseLine(line, p); err != nil {
		return err
	}
	return noNulls(line)
}

// noNulls refuses lists with a null among their elements, which the decoder
// would take for an empty quote, or for sentence 0.
func noNulls(line []byte) error {
	if !bytes.Contains(line, []byte("null")) {
		return nil
	}
	var p struct {
		ErrorLines            []*string `json:"error_lines"`
		ContradictedLines     []*string `json:"contradicted_lines"`
		ErrorSentences        []*int    `json:"error_sentences"`
		ContradictedSentences []*int    `json:"contradicted_sentences"`
	}
	if err := json.Unmarshal(line, &p); err != nil {
		return schemas.JSONFault(err)
	}
	switch {
	case slices.Contains(p.ErrorLines, nil):
		return errors.New("error_lines has a null among its elements")
	case slices.Contains(p.ContradictedLines, nil):
		return errors.New("contradicted_lines has a null among its elements")
	case slices.Contains(p.ErrorSentences, nil):
		return errors.New("error_sentences has a null among its elements")
	case slices.Contains(p.ContradictedSentences, nil):
		return errors.New("contradicted_sentences has a null among its elements")
	}
	return nil
}

type scanner struct {
	b  []byte
	at int
}

// prediction reports whether the whole line was read.
func (s *scanner) prediction(p, last *schemas.Prediction) bool {
	s.space()
	if !s.byte('{') {
		return false
	}
	s.space()
	if s.byte('}') {
		return s.end()
	}
	seen := uint32(0)
	for {
		key, ok := s.plainString()
		if !ok {
			return false
		}
		s.space()
		if !s.byte(':') {
			return false
		}
		s.space()
		field := 0
		switch string(key) {
		case "example_id":
			field, ok = 0, s.string(&p.ExampleID)
		case "text_hash":
			field, ok = 1, s.shared(&p.TextHash, last.TextHash)
		case "release":
			field, ok = 2, s.shared(&p.Release, last.Release)
		case "digest":
			field, ok = 3, s.shared(&p.Digest, last.Digest)
		case "model":
			field, ok = 4, s.shared(&p.Model, last.Model)
		case "prompt":
			field, ok = 5, s.shared(&p.Prompt, last.Prompt)
		case "sample":
			field, ok = 6, s.int(&p.Sample)
		case "outcome":
			field, ok = 7, s.shared(&p.Outcome, last.Outcome)
		case "label":
			field, ok = 8, s.shared(&p.Label, last.Label)
		case "error_lines":
			field, ok = 9, list(s, &p.ErrorLines, s.string)
		case "contradicted_lines":
			field, ok = 10, list(s, &p.ContradictedLines, s.string)
		case "error_sentences":
			field, ok = 11, list(s, &p.ErrorSentences, s.int)
		case "contradicted_sentences":
			field, ok = 12, list(s, &p.ContradictedSentences, s.int)
		case "explanation":
			field, ok = 13, s.string(&p.Explanation)
		case "confidence":
			field, ok = 14, s.float(&p.Confidence)
		case "raw":
			field, ok = 15, s.string(&p.Raw)
		case "prompt_tokens":
			field, ok = 16, s.int(&p.PromptTokens)
		case "completion_tokens":
			field, ok = 17, s.int(&p.CompletionTokens)
		case "reasoning_tokens":
			field, ok = 18, s.int(&p.ReasoningTokens)
		default:
			return false
		}
		if !ok || seen&(1<<field) != 0 {
			return false
		}
		seen |= 1 << field
		s.space()
		if s.byte('}') {
			return s.end()
		}
		if !s.byte(',') {
			return false
		}
		s.space()
	}
}

func (s *scanner) space() {
	for s.at < len(s.b) {
		switch s.b[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

func (s *scanner) byte(c byte) bool {
	if s.at < len(s.b) && s.b[s.at] == c {
		s.at++
		return true
	}
	return false
}

func (s *scanner) end() bool {
	s.space()
	return s.at == len(s.b)
}

func (s *scanner) null() bool {
	if bytes.HasPrefix(s.b[s.at:], []byte("null")) {
		s.at += len("null")
		return true
	}
	return false
}

// plainString reads a string without escapes.
func (s *scanner) plainString() ([]byte, bool) {
	if !s.byte('"') {
		return nil, false
	}
	start := s.at
	for s.at < len(s.b) {
		switch c := s.b[s.at]; {
		case c == '"':
			s.at++
			return s.b[start : s.at-1], true
		case c == '\\' || c < 0x20:
			return nil, false
		}
		s.at++
	}
	return nil, false
}

func (s *scanner) string(dst *string) bool {
	if s.null() {
		return true
	}
	start := s.at
	if b, ok := s.plainString(); ok {
		*dst = string(b)
		return true
	}
	s.at = start
	return s.escaped(dst)
}

// shared is string for values that are often the one before.
func (s *scanner) shared(dst *string, before string) bool {
	start := s.at
	if b, ok := s.plainString(); ok {
		if string(b) == before {
			*dst = before
		} else {
			*dst = string(b)
		}
		return true
	}
	s.at = start
	return s.string(dst)
}

// escaped reads a string with escapes. Halves of surrogate pairs are left to
// the slow path.
func (s *scanner) escaped(dst *string) bool {
	if !s.byte('"') {
		return false
	}
	buf := make([]byte, 0, 256)
	run := s.at
	for s.at < len(s.b) {
		c := s.b[s.at]
		switch {
		case c == '"':
			buf = append(buf, s.b[run:s.at]...)
			s.at++
			*dst = string(buf)
			return true
		case c < 0x20:
			return false
		case c != '\\':
			s.at++
			continue
		}
		buf = append(buf, s.b[run:s.at]...)
		if s.at+1 >= len(s.b) {
			return false
		}
		e := s.b[s.at+1]
		s.at += 2
		switch e {
		case '"', '\\', '/':
			buf = append(buf, e)
		case 'b':
			buf = append(buf, '\b')
		case 'f':
			buf = append(buf, '\f')
		case 'n':
			buf = append(buf, '\n')
		case 'r':
			buf = append(buf, '\r')
		case 't':
			buf = append(buf, '\t')
		case 'u':
			if s.at+4 > len(s.b) {
				return false
			}
			var r rune
			for _, h := range s.b[s.at : s.at+4] {
				switch {
				case h >= '0' && h <= '9':
					r = r<<4 | rune(h-'0')
				case h|0x20 >= 'a' && h|0x20 <= 'f':
					r = r<<4 | rune(h|0x20-'a'+10)
				default:
					return false
				}
			}
			if r >= 0xD800 && r <= 0xDFFF {
				return false
			}
			buf = utf8.AppendRune(buf, r)
			s.at += 4
		default:
			return false
		}
		run = s.at
	}
	return false
}

// list reads a list of what elem reads. A null among the elements is left to
// the slow path.
func list[T any](s *scanner, dst *[]T, elem func(*T) bool) bool {
	if s.null() {
		return true
	}
	if !s.byte('[') {
		return false
	}
	*dst = []T{}
	s.space()
	if s.byte(']') {
		return true
	}
	for {
		var v T
		if s.null() || !elem(&v) {
			return false
		}
		*dst = append(*dst, v)
		s.space()
		if s.byte(']') {
			return true
		}
		if !s.byte(',') {
			return false
		}
		s.space()
	}
}

// int reads a plain integer of at most 15 digits.
func (s *scanner) int(dst *int) bool {
	if s.null() {
		return true
	}
	negative := s.byte('-')
	start, v := s.at, 0
	for s.at < len(s.b) && s.b[s.at] >= '0' && s.b[s.at] <= '9' {
		v = v*10 + int(s.b[s.at]-'0')
		s.at++
	}
	digits := s.at - start
	if digits == 0 || digits > 15 || digits > 1 && s.b[start] == '0' || s.numberGoesOn() {
		return false
	}
	if negative {
		v = -v
	}
	*dst = v
	return true
}

func (s *scanner) numberGoesOn() bool {
	if s.at >= len(s.b) {
		return false
	}
	switch s.b[s.at] {
	case '.', 'e', 'E', '+', '-':
		return true
	}
	return false
}

// float reads a number without an exponent.
func (s *scanner) float(dst **float64) bool {
	if s.null() {
		return true
	}
	start := s.at
	s.byte('-')
	whole := s.digits()
	if whole == 0 || whole > 1 && s.b[s.at-whole] == '0' {
		return false
	}
	if s.byte('.') && s.digits() == 0 || s.numberGoesOn() {
		return false
	}
	v, err := strconv.ParseFloat(string(s.b[start:s.at]), 64)
	if err != nil {
		return false
	}
	*dst = &v
	return true
}

func (s *scanner) digits() int {
	start := s.at
	for s.at < len(s.b) && s.b[s.at] >= '0' && s.b[s.at] <= '9' {
		s.at++
	}
	return s.at - start
}
