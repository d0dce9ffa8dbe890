// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/retcon-bench/retcon/internal/llm"
)

// encode returns the JSON of an answer, which json.Unmarshal reads back as it
// does what json.Marshal makes. The text, which is nearly all of it, is quoted
// here: json.Marshal looks at each byte, and that is a fifth of a put.
func encode(a llm.Answer) ([]byte, error) {
	text := a.Text
	if !utf8.ValidString(text) {
		return json.Marshal(a) // it replaces what is no UTF-8
	}
	a.Text = ""
	rest, err := json.Marshal(a)
	const head = `{"text":"`
	if err != nil || !bytes.HasPrefix(rest, []byte(head)) { // the text stands elsewhere
		a.Text = text
		return json.Marshal(a)
	}
	out := append(make([]byte, 0, len(rest)+len(text)+len(text)/32), head...)
	return append(appendQuoted(out, text), rest[len(head):]...), nil
}

// appendQuoted appends valid UTF-8 as it stands between the quotes of a JSON
// string.
func appendQuoted(out []byte, s string) []byte {
	const hex = "0123456789abcdef"
	for {
		n := plain(s)
		out = append(out, s[:n]...)
		if n == len(s) {
			return out
		}
		switch c := s[n]; c {
		case '"', '\\':
			out = append(out, '\\', c)
		case '\n':
			out = append(out, '\\', 'n')
		default:
			out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		s = s[n+1:]
	}
}

// plain returns how many bytes of s stand before the first one that JSON
// escapes. It looks at eight bytes at once: a byte of x-ones is negative, and
// was not in x, where x has a zero (or a byte above one that has).
func plain(s string) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(s); i += 8 {
		x := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
			uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
		quote, back := x^ones*'"', x^ones*'\\'
		if ((x-ones*' ')&^x|(quote-ones)&^quote|(back-ones)&^back)&tops != 0 {
			break
		}
	}
	for ; i < len(s); i++ {
		if s[i] < ' ' || s[i] == '"' || s[i] == '\\' {
			break
		}
	}
	return i
}
