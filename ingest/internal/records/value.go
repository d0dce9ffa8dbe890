// SPDX-License-Identifier: Apache-2.0

package records

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Real files mix types: an index is a number here and a string there, a field
// is null where the format says it is set. The types below read what has one
// sensible meaning and refuse the rest. Null and absent are the same.

// String is a string that may be written as a number or boolean.
type String string

// UnmarshalJSON implements json.Unmarshaler.
func (t *String) UnmarshalJSON(b []byte) error {
	switch {
	case len(b) == 0 || b[0] == 'n':
		*t = ""
	case b[0] == '"':
		s, err := unquote(b)
		if err != nil {
			return err
		}
		*t = String(s)
	case b[0] == '{' || b[0] == '[':
		return typeError(b, "a string")
	default:
		// A table that once had an empty cell has 16.0 for 16.
		*t = String(strings.TrimSuffix(string(b), ".0"))
	}
	return nil
}

// Strings is a list of strings that may be written as one string. Nulls in it
// are passed over.
type Strings []string

// UnmarshalJSON implements json.Unmarshaler.
func (l *Strings) UnmarshalJSON(b []byte) error {
	*l = nil
	switch {
	case len(b) == 0 || b[0] == 'n':
		return nil
	case b[0] == '[':
		var list []json.RawMessage
		if err := json.Unmarshal(b, &list); err != nil {
			return err
		}
		for _, e := range list {
			if e[0] == 'n' {
				continue
			}
			var s String
			if err := s.UnmarshalJSON(e); err != nil {
				return err
			}
			*l = append(*l, string(s))
		}
		return nil
	}
	var s String
	if err := s.UnmarshalJSON(b); err != nil {
		return err
	}
	*l = Strings{string(s)}
	return nil
}

// Bool is a boolean that may be null, a number or a word.
type Bool bool

// UnmarshalJSON implements json.Unmarshaler.
func (t *Bool) UnmarshalJSON(b []byte) error {
	switch strings.ToLower(strings.Trim(string(b), `"`)) {
	case "true", "1", "1.0", "yes":
		*t = true
	case "false", "0", "0.0", "no", "null", "none", "":
		*t = false
	default:
		return typeError(b, "true or false")
	}
	return nil
}

// List is a list of objects. Some writers put the list's JSON into a string;
// nulls in it are passed over. An element that is no object is an error.
type List[T any] []T

// UnmarshalJSON implements json.Unmarshaler.
func (l *List[T]) UnmarshalJSON(b []byte) error {
	*l = nil
	if len(b) > 0 && b[0] == '"' {
		s, err := unquote(b)
		if err != nil {
			return err
		}
		b = bytes.TrimSpace([]byte(s))
		if len(b) == 0 || !json.Valid(b) {
			return typeError(b, "a list")
		}
	}
	switch {
	case len(b) == 0 || b[0] == 'n':
		return nil
	case b[0] != '[':
		return typeError(b, "a list")
	}
	var list []*T
	if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	for _, e := range list {
		if e != nil {
			*l = append(*l, *e)
		}
	}
	return nil
}

// Lax is a value that is left out when it has another type than T: for fields
// that a record can do without.
type Lax[T any] struct{ Value T }

// UnmarshalJSON implements json.Unmarshaler.
func (x *Lax[T]) UnmarshalJSON(b []byte) error {
	var v T
	if json.Unmarshal(b, &v) == nil {
		x.Value = v
	}
	return nil
}

func typeError(b []byte, want string) error {
	kind := "a number"
	if len(b) > 0 {
		switch b[0] {
		case '{':
			kind = "an object"
		case '[':
			kind = "a list"
		case '"':
			kind = "a string"
		case 't', 'f':
			kind = "true or false"
		}
	}
	return fmt.Errorf("%w: it is %s and should be %s", errType, kind, want)
}

// unquote reads a JSON string. Most have no escape and are only copied.
func unquote(b []byte) (string, error) {
	if in := b[1 : len(b)-1]; bytes.IndexByte(in, '\\') < 0 && utf8.Valid(in) {
		return string(in), nil
	}
	var s string
	err := json.Unmarshal(b, &s)
	return s, err
}

// mendSurrogates takes halves of surrogate pairs that stand alone out of the
// escapes of b, and says how many. Texts that were cut in the middle of an
// emoji hold them; they are no character, and a JSON decoder would put U+FFFD
// in their place without a word.
func mendSurrogates(b []byte) ([]byte, int) {
	if !bytes.Contains(b, []byte(`\ud`)) && !bytes.Contains(b, []byte(`\uD`)) {
		return b, 0
	}
	var out []byte
	n, from := 0, 0
	for i := 0; i < len(b); {
		k := bytes.IndexByte(b[i:], '\\')
		if k < 0 {
			break
		}
		i += k
		switch u, ok := escaped(b[i:]); {
		case !ok:
			i += 2
		case u >= 0xD800 && u < 0xDC00:
			if low, ok := escaped(b[i+6:]); ok && low >= 0xDC00 && low < 0xE000 {
				i += 12
				continue
			}
			fallthrough
		case u >= 0xDC00 && u < 0xE000:
			out = append(out, b[from:i]...)
			i += 6
			from = i
			n++
		default:
			i += 6
		}
	}
	if n == 0 {
		return b, 0
	}
	return append(out, b[from:]...), n
}

// escaped reads \uXXXX at the start of b.
func escaped(b []byte) (u rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, c := range b[2:6] {
		switch {
		case '0' <= c && c <= '9':
			u = u<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			u = u<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return u, true
}

// mendNumbers writes null for the NaN, Infinity and -Infinity that Python's
// json module writes and JSON does not have.
func mendNumbers(b []byte) []byte {
	var out []byte
	inside := false
	for i := 0; i < len(b); i++ {
		c := b[i]
		switch {
		case inside && c == '\\' && i+1 < len(b):
			out = append(out, c)
			i++
			c = b[i]
		case c == '"':
			inside = !inside
		case inside:
		case c == 'N' || c == 'I' || c == '-':
			word := false
			for _, w := range []string{"NaN", "Infinity", "-Infinity"} {
				if bytes.HasPrefix(b[i:], []byte(w)) {
					out = append(out, "null"...)
					i += len(w) - 1
					word = true
					break
				}
			}
			if word {
				continue
			}
		}
		out = append(out, c)
	}
	return out
}
