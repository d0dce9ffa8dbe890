// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
)

// maxNesting is how deep arrays and objects may be nested, as in encoding/json.
const maxNesting = 10_000

// JSONArray yields the elements of a top-level array, or of the array under
// opt.Key in a top-level object (other members are passed over unread), one at
// a time: memory is that of the largest element.
//
// Only what decides where an element ends is checked: strings, brackets,
// commas. An element that is wrong inside is a whole row for the caller's
// json.Unmarshal to refuse; brackets that do not fit, or an array that ends
// too early, end the sequence, naming row and line.
func JSONArray(r io.Reader, opt RowOptions) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		w := newWindow(r, opt)
		if err := w.start(); err != nil {
			yield(Row{}, err)
			return
		}
		w.jsonArray(opt.Key, yield)
	}
}

func (w *window) jsonArray(key string, yield func(Row, error) bool) {
	if key == "" {
		key = "data"
	}
	err := w.array(key, yield)
	if err != nil && err != errStop {
		yield(Row{}, err)
	}
}

// errStop says that the consumer left the loop.
var errStop = errors.New("stop")

func (w *window) array(key string, yield func(Row, error) bool) error {
	c, ok := w.token()
	switch {
	case !ok:
		return w.early("before the array begins")
	case c == '[':
		w.take(1)
		if err := w.elements(yield); err != nil {
			return err
		}
	case c == '{':
		w.take(1)
		if err := w.object(key, yield); err != nil {
			return err
		}
	default:
		return w.syntax("an array or an object with the member %q", key)
	}
	if _, ok := w.token(); ok {
		return w.syntax("the end of the file after the end of its value (JSON Lines, or several arrays in one file?)")
	}
	return w.broken()
}

// object reads the members of the top-level object after its '{'.
func (w *window) object(want string, yield func(Row, error) bool) error {
	var seen []string
	found := false
	c, ok := w.token()
	if ok && c == '}' {
		w.take(1)
		return w.noMember(want, seen)
	}
	for {
		c, ok := w.token()
		if !ok {
			return w.early("inside the top-level object")
		}
		if c != '"' {
			return w.syntax("the name of a member")
		}
		const maxKey = 4096
		line := w.line
		n, long, err := w.value(maxKey)
		if err != nil {
			return w.inValue(line, "the name of a member", err)
		}
		var key string
		if !long {
			if err := json.Unmarshal(w.buf[w.lo:w.lo+n], &key); err != nil {
				return w.fatal(w.line, fmt.Errorf("%w: the name of a member: %v", ErrFormat, err))
			}
		}
		w.take(n)
		if c, ok = w.token(); !ok {
			return w.early("inside the top-level object")
		} else if c != ':' {
			return w.syntax("':' after the member name %q", key)
		}
		w.take(1)
		if c, ok = w.token(); !ok {
			return w.early("inside the top-level object")
		}
		switch {
		case !long && key == want && found:
			return w.fatal(w.line, fmt.Errorf("%w: the member %q occurs twice", ErrFormat, key))
		case !long && key == want && c != '[':
			return w.syntax("an array under the member %q", key)
		case !long && key == want:
			found = true
			w.take(1)
			if err := w.elements(yield); err != nil {
				return err
			}
		default:
			if len(seen) < 10 {
				seen = append(seen, fmt.Sprintf("%.40q", key))
			}
			line := w.line
			n, _, err := w.value(0)
			if err != nil {
				return w.inValue(line, fmt.Sprintf("the member %.40q", key), err)
			}
			w.take(n)
		}
		if c, ok = w.token(); !ok {
			return w.early("inside the top-level object")
		}
		switch c {
		case ',':
			w.take(1)
		case '}':
			w.take(1)
			if !found {
				return w.noMember(want, seen)
			}
			return nil
		default:
			return w.syntax("',' or '}' after a member")
		}
	}
}

func (w *window) noMember(want string, seen []string) error {
	return w.fatal(w.line, fmt.Errorf("%w: the top-level object has no member %q; it has: %s", ErrFormat, want, strings.Join(seen, ", ")))
}

// elements yields the elements of an array after its '['.
func (w *window) elements(yield func(Row, error) bool) error {
	open := w.line
	c, ok := w.token()
	if ok && c == ']' {
		w.take(1)
		return nil
	}
	for n := 1; ; n++ {
		if c, ok = w.token(); !ok {
			return w.early(fmt.Sprintf("where row %d of the array from line %d should begin", n, open))
		}
		if c == ',' || c == ']' {
			return w.syntax("row %d of the array", n)
		}
		row := Row{N: n, Line: w.line, Offset: w.offset()}
		size, long, err := w.value(w.max)
		if err != nil {
			return w.inValue(row.Line, fmt.Sprintf("row %d", n), err)
		}
		if long {
			w.take(size)
			err = w.rowTooLong(n, row.Line)
		} else {
			row.Data = w.buf[w.lo : w.lo+size : w.lo+size]
			w.take(size)
			err = w.notUTF8(n, row.Line, w.line, row.Data)
		}
		if !yield(row, err) {
			return errStop
		}
		if c, ok = w.token(); !ok {
			return w.early(fmt.Sprintf("after row %d of the array from line %d", n, open))
		}
		switch c {
		case ',':
			w.take(1)
		case ']':
			w.take(1)
			return nil
		default:
			return w.syntax("',' or ']' after row %d", n)
		}
	}
}

// token skips white space and returns the byte after it without taking it.
func (w *window) token() (byte, bool) {
	for {
		rest := w.buf[w.lo:w.hi]
		i := 0
		for i < len(rest) && (rest[i] == ' ' || rest[i] == '\n' || rest[i] == '\t' || rest[i] == '\r') {
			i++
		}
		w.take(i)
		if w.lo < w.hi {
			return w.buf[w.lo], true
		}
		if !w.more() {
			return 0, false
		}
	}
}

// value finds the end of the value at lo and returns its length. A value
// longer than keep (no limit if negative) is dropped as it is read: then long
// is true, lo and line have moved on, and n counts only what is left of it.
func (w *window) value(keep int64) (n int, long bool, err error) {
	var (
		v        scanner
		i        = 0 // scanned so far, from lo
		skipping = keep == 0
	)
	for {
		used, done, err := v.scan(w.buf[w.lo+i : w.hi])
		i += used
		if err != nil {
			w.take(i)
			return 0, long, err
		}
		if done {
			return i, long || !skipping && keep >= 0 && int64(i) > keep, nil
		}
		if skipping || keep >= 0 && int64(i) > keep {
			skipping, long = true, true
			w.take(i)
			i = 0
		}
		if !w.more() {
			w.take(i)
			return 0, long, fmt.Errorf("%w: the file is cut off inside a value", ErrTruncated)
		}
	}
}

// early is an end where there should be more.
func (w *window) early(where string) error {
	if err := w.broken(); err != nil {
		return err
	}
	return w.fatal(w.line, fmt.Errorf("%w: the file is cut off %s", ErrTruncated, where))
}

// inValue places an error that value returned.
func (w *window) inValue(line int, what string, err error) error {
	if e := w.broken(); e != nil {
		return e
	}
	return &Error{"read", at(w.name, line, w.line), Input, fmt.Errorf("%s: %w", what, err)}
}

func (w *window) syntax(want string, args ...any) error {
	got := "the end"
	if w.lo < w.hi {
		got = fmt.Sprintf("%q", w.buf[w.lo:w.lo+1])
	}
	return w.fatal(w.line, fmt.Errorf("%w: %s wanted, found %s at byte %d", ErrFormat, fmt.Sprintf(want, args...), got, w.offset()))
}

// A scanner finds the end of one JSON value in bytes that come in pieces.
type scanner struct {
	stack   []byte // open brackets, as the byte that closes them
	started bool
	inStr   bool
	esc     bool // the next byte of the string is escaped
	scalar  bool // number or literal at top level
}

// scan reads p and returns how many bytes of it belong to the value.
func (s *scanner) scan(p []byte) (used int, done bool, err error) {
	i := 0
	for i < len(p) {
		if s.inStr {
			i += s.str(p[i:])
			if !s.inStr && len(s.stack) == 0 {
				return i, true, nil
			}
			continue
		}
		c := p[i]
		if s.scalar {
			if !scalarByte(c) {
				if strings.IndexByte(" \t\r\n,]}", c) < 0 {
					return i, false, fmt.Errorf("%w: unexpected %q in a value", ErrFormat, c)
				}
				return i, true, nil
			}
			i++
			continue
		}
		switch c {
		case '"':
			s.inStr, s.started = true, true
		case '{', '[':
			if len(s.stack) >= maxNesting {
				return i, false, fmt.Errorf("%w: nested deeper than %d", ErrFormat, maxNesting)
			}
			s.stack = append(s.stack, c+2) // '{'+2 is '}', '['+2 is ']'
			s.started = true
		case '}', ']':
			if len(s.stack) == 0 || s.stack[len(s.stack)-1] != c {
				return i, false, fmt.Errorf("%w: %q closes what is not open", ErrFormat, c)
			}
			s.stack = s.stack[:len(s.stack)-1]
			if len(s.stack) == 0 {
				return i + 1, true, nil
			}
		default:
			if !s.started {
				if !scalarByte(c) {
					return i, false, fmt.Errorf("%w: no value begins with %q", ErrFormat, c)
				}
				s.started, s.scalar = true, true
			}
		}
		i++
	}
	return i, false, nil
}

// str reads inside a string and returns how far. Quotes are looked up once,
// also in text full of escapes, so the time is linear.
func (s *scanner) str(p []byte) int {
	i := 0
	if s.esc && len(p) > 0 {
		s.esc = false
		i = 1
	}
	quote := -1
	for i < len(p) {
		if quote < i {
			if quote = bytes.IndexByte(p[i:], '"'); quote < 0 {
				quote = len(p)
			} else {
				quote += i
			}
		}
		back := bytes.IndexByte(p[i:quote], '\\')
		if back < 0 {
			if quote < len(p) {
				s.inStr = false
				return quote + 1
			}
			return len(p)
		}
		i += back + 2
		if i > len(p) {
			s.esc = true
			return len(p)
		}
	}
	return len(p)
}

func scalarByte(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || c == '-' || c == '+' || c == '.'
}
