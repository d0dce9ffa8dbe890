// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A completion is read by hand: encoding/json would go over it three times and
// cost more than sending it (22 µs for 1.3 KB, against 3). cursor takes what
// encoding/json takes, to the same values, which a fuzz test holds it to; it is
// laxer with what it passes over.
type cursor struct {
	b []byte
	i int
}

var errWire = errors.New("no JSON")

func (c *cursor) space() {
	for c.i < len(c.b) {
		switch c.b[c.i] {
		case ' ', '\n', '\t', '\r':
			c.i++
		default:
			return
		}
	}
}

// next returns the first byte of the next value, 0 at the end.
func (c *cursor) next() byte {
	c.space()
	if c.i < len(c.b) {
		return c.b[c.i]
	}
	return 0
}

// object calls f for each member; f must take the value, and not keep the key.
func (c *cursor) object(f func(key []byte) error) error {
	return c.list('{', '}', func() error {
		if c.next() != '"' {
			return errWire
		}
		start := c.i + 1
		if err := c.skipString(); err != nil {
			return err
		}
		key := c.b[start : c.i-1]
		if bytes.IndexByte(key, '\\') >= 0 {
			k, err := unescape(key)
			if err != nil {
				return err
			}
			key = []byte(k)
		}
		if c.next() != ':' {
			return errWire
		}
		c.i++
		c.space()
		return f(key)
	})
}

// array calls f for each element; f must take it.
func (c *cursor) array(f func() error) error { return c.list('[', ']', f) }

func (c *cursor) list(open, closing byte, f func() error) error {
	if c.next() != open {
		return errWire
	}
	c.i++
	if c.next() == closing {
		c.i++
		return nil
	}
	for {
		if err := f(); err != nil {
			return err
		}
		switch c.next() {
		case ',':
			c.i++
		case closing:
			c.i++
			return nil
		default:
			return errWire
		}
	}
}

// raw takes the next value and returns it as it is written.
func (c *cursor) raw() (json.RawMessage, error) {
	c.space()
	start := c.i
	depth := 0
	for c.i < len(c.b) {
		switch c.b[c.i] {
		case '"':
			if err := c.skipString(); err != nil {
				return nil, err
			}
		case '{', '[':
			depth++
			c.i++
			continue
		case '}', ']':
			if depth == 0 { // the end of what is around a value that is not there
				return nil, errWire
			}
			depth--
			c.i++
		case ' ', '\n', '\t', '\r', ',', ':':
			if depth == 0 {
				return nil, errWire
			}
			c.i++
			continue
		default:
			for c.i < len(c.b) && strings.IndexByte(" \n\t\r,:{}[]\"", c.b[c.i]) < 0 {
				c.i++
			}
		}
		if depth == 0 {
			return c.b[start:c.i], nil
		}
	}
	return nil, errWire
}

func (c *cursor) skipString() error {
	for j := c.i + 1; ; {
		n := bytes.IndexByte(c.b[j:], '"')
		if n < 0 {
			return errWire
		}
		end := j + n
		slashes := 0
		for k := end - 1; k > c.i && c.b[k] == '\\'; k-- {
			slashes++
		}
		j = end + 1
		if slashes%2 == 0 {
			c.i = j
			return nil
		}
	}
}

// str takes the string at i.
func (c *cursor) str() (string, error) {
	start := c.i + 1
	if err := c.skipString(); err != nil {
		return "", err
	}
	s := c.b[start : c.i-1]
	if bytes.IndexByte(s, '\\') < 0 {
		return string(s), nil
	}
	return unescape(s)
}

func unescape(s []byte) (string, error) {
	out := make([]byte, 0, len(s))
	for len(s) > 0 {
		n := bytes.IndexByte(s, '\\')
		if n < 0 {
			out = append(out, s...)
			break
		}
		out = append(out, s[:n]...)
		s = s[n+1:]
		if len(s) == 0 {
			return "", errWire
		}
		if k := strings.IndexByte(`"\/bfnrt`, s[0]); k >= 0 {
			out = append(out, "\"\\/\b\f\n\r\t"[k])
			s = s[1:]
			continue
		}
		r, ok := hex4(s)
		if !ok {
			return "", errWire
		}
		s = s[5:]
		if utf16.IsSurrogate(r) {
			// Half a pair becomes U+FFFD, as in encoding/json.
			low, ok := rune(0), false
			if len(s) > 0 && s[0] == '\\' {
				low, ok = hex4(s[1:])
			}
			if pair := utf16.DecodeRune(r, low); ok && pair != utf8.RuneError {
				r = pair
				s = s[6:]
			} else {
				r = utf8.RuneError
			}
		}
		out = utf8.AppendRune(out, r)
	}
	return string(out), nil
}

// hex4 reads uXXXX.
func hex4(s []byte) (rune, bool) {
	if len(s) < 5 || s[0] != 'u' {
		return 0, false
	}
	v, err := strconv.ParseUint(string(s[1:5]), 16, 32)
	return rune(v), err == nil
}

// text takes a string; of anything else it takes nothing.
func (c *cursor) text() (string, error) {
	if c.next() == '"' {
		return c.str()
	}
	_, err := c.raw()
	return "", err
}

// number takes a count: 12, 12.0, "12", null. What is none counts nothing.
func (c *cursor) number() (int, error) {
	raw, err := c.raw()
	if err != nil {
		return 0, err
	}
	n := 0
	for _, d := range raw { // nearly always digits only
		if d < '0' || d > '9' || len(raw) > 12 {
			f, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
			if err == nil && f > 0 && f < 1e12 {
				return int(f), nil
			}
			return 0, nil
		}
		n = n*10 + int(d-'0')
	}
	return n, nil
}

// maybe calls f when the next value is an object (open '{') or array ('['),
// and passes over anything else, such as null.
func (c *cursor) maybe(open byte, f func() error) error {
	if c.next() == open {
		return f()
	}
	_, err := c.raw()
	return err
}

// appendQuoted appends a string as JSON, without HTML escapes. Bytes that are
// no UTF-8 become U+FFFD, as in encoding/json; prompts have none.
func appendQuoted(b []byte, s string) []byte {
	const hexDigits = "0123456789abcdef"
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' {
				i++
				continue
			}
			b = append(b, s[start:i]...)
			switch c {
			case '"', '\\':
				b = append(b, '\\', c)
			case '\n':
				b = append(b, '\\', 'n')
			case '\r':
				b = append(b, '\\', 'r')
			case '\t':
				b = append(b, '\\', 't')
			case '\b':
				b = append(b, '\\', 'b')
			case '\f':
				b = append(b, '\\', 'f')
			default:
				b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			}
			i++
			start = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 || r == '\u2028' || r == '\u2029' {
			b = append(b, s[start:i]...)
			b = append(b, '\\', 'u')
			b = append(b, hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
			start = i + n
		}
		i += n
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}
