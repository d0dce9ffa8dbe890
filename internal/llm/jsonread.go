// SPDX-License-Identifier: Apache-2.0

package llm

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// A value as it was written: members keep their order and their repetitions,
// numbers their spelling. Models repeat keys, and the last of two lists of
// findings is not all findings.
type node struct {
	kind byte // 'o' object, 'a' array, 's' string, 'n' number, 't', 'f', '0' null
	obj  []member
	arr  []*node
	str  string // decoded string, or the number's text
}

type member struct {
	key string
	val *node
}

// reader reads one JSON value, strictly or with the liberties models take.
// Each liberty taken is noted; none of them may change what is said, so text
// that ends inside its own structure is never completed here.
type reader struct {
	s       string
	i       int
	lenient bool
	notes   []string
	depth   int
	// cut is set when the text ended inside the value; whole says that what
	// was there ended after a complete member, so that only closing brackets
	// are missing.
	cut, whole bool
	budget     *int
}

const maxDepth = 200

var (
	errNotJSON = errors.New("not JSON")
	errCut     = errors.New("the text ends inside a JSON value")
)

func (r *reader) note(s string) {
	for _, n := range r.notes {
		if n == s {
			return
		}
	}
	r.notes = append(r.notes, s)
}

func (r *reader) space() {
	for r.i < len(r.s) {
		switch c := r.s[r.i]; {
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
			r.i++
		case !r.lenient:
			return
		case c == '/' && strings.HasPrefix(r.s[r.i:], "//"):
			r.note("comment in JSON")
			if n := strings.IndexByte(r.s[r.i:], '\n'); n >= 0 {
				r.i += n
			} else {
				r.i = len(r.s)
			}
		case c == '/' && strings.HasPrefix(r.s[r.i:], "/*"):
			r.note("comment in JSON")
			if n := strings.Index(r.s[r.i+2:], "*/"); n >= 0 {
				r.i += n + 4
			} else {
				r.i = len(r.s)
			}
		case c >= utf8.RuneSelf:
			q, n := utf8.DecodeRuneInString(r.s[r.i:])
			if !unicode.IsSpace(q) && q != '\u200b' && q != '\ufeff' {
				return
			}
			r.note("odd white space in JSON")
			r.i += n
		default:
			return
		}
	}
}

// value reads the value at i. inObject says whether it is a member's value.
func (r *reader) value(inObject bool) (*node, error) {
	r.space()
	if r.i >= len(r.s) {
		r.cut = true
		return nil, errCut
	}
	if *r.budget--; *r.budget < 0 {
		return nil, errNotJSON
	}
	switch c := r.s[r.i]; {
	case c == '{':
		return r.object()
	case c == '[':
		return r.array()
	case c == '"':
		s, err := r.text('"', roleOf(inObject))
		return &node{kind: 's', str: s}, err
	case c == '-' || c >= '0' && c <= '9' || r.lenient && (c == '+' || c == '.'):
		return r.number()
	}
	if q, ok := r.openQuote(); ok {
		r.note("other quotation marks than JSON's")
		s, err := r.text(q, roleOf(inObject))
		return &node{kind: 's', str: s}, err
	}
	return r.word()
}

func (r *reader) number() (*node, error) {
	start := r.i
	for r.i < len(r.s) && strings.IndexByte("+-.0123456789eE", r.s[r.i]) >= 0 {
		r.i++
	}
	lit := r.s[start:r.i]
	if !json.Valid([]byte(lit)) {
		f, err := strconv.ParseFloat(lit, 64)
		if !r.lenient || err != nil {
			return nil, errNotJSON
		}
		r.note("odd number in JSON")
		lit = strconv.FormatFloat(f, 'g', -1, 64)
		if !json.Valid([]byte(lit)) {
			return nil, errNotJSON
		}
	}
	if r.i == len(r.s) && r.depth > 0 {
		r.cut = true // 1 may be the beginning of 12
		return nil, errCut
	}
	return &node{kind: 'n', str: lit}, nil
}

var words = map[string]byte{"true": 't', "false": 'f', "null": '0', "none": '0', "undefined": '0'}

func (r *reader) word() (*node, error) {
	start := r.i
	for r.i < len(r.s) && (r.s[r.i] >= 'a' && r.s[r.i] <= 'z' || r.s[r.i] >= 'A' && r.s[r.i] <= 'Z') {
		r.i++
	}
	w := r.s[start:r.i]
	if r.i == len(r.s) && r.depth > 0 {
		r.cut = true
		return nil, errCut
	}
	if w == "true" || w == "false" || w == "null" {
		return &node{kind: words[w]}, nil
	}
	k, ok := words[strings.ToLower(w)]
	if !ok || !r.lenient {
		return nil, errNotJSON
	}
	r.note("literal " + w + " in JSON")
	return &node{kind: k}, nil
}

func (r *reader) object() (*node, error) {
	if r.depth++; r.depth > maxDepth {
		return nil, errNotJSON
	}
	defer func() { r.depth-- }()
	r.i++ // {
	n := &node{kind: 'o'}
	for first := true; ; first = false {
		r.space()
		if r.i >= len(r.s) {
			r.cut, r.whole = true, !first
			return n, errCut
		}
		if r.s[r.i] == '}' {
			r.i++
			return n, nil
		}
		if !first {
			switch {
			case r.s[r.i] == ',':
				r.i++
				r.space()
				if r.i >= len(r.s) {
					r.cut = true
					return n, errCut
				}
				if r.s[r.i] == '}' {
					if !r.lenient {
						return n, errNotJSON
					}
					r.note("comma before a closing bracket")
					r.i++
					return n, nil
				}
			case r.lenient && (r.s[r.i] == '"' || r.s[r.i] == '\''):
				r.note("missing comma")
			case r.lenient && r.s[r.i] == ']':
				r.note("missing closing bracket")
				return n, nil // the array around us takes it
			default:
				return n, errNotJSON
			}
		}
		key, err := r.key()
		if err != nil {
			return n, err
		}
		r.space()
		if r.i >= len(r.s) {
			r.cut = true
			return n, errCut
		}
		if r.s[r.i] != ':' {
			return n, errNotJSON
		}
		r.i++
		v, err := r.value(true)
		if v != nil && (err == nil || v.kind == 'o' || v.kind == 'a') {
			n.obj = append(n.obj, member{key, v})
		}
		if err != nil {
			return n, err
		}
	}
}

func (r *reader) key() (string, error) {
	if r.s[r.i] == '"' {
		return r.text('"', roleKey)
	}
	if !r.lenient {
		return "", errNotJSON
	}
	if q, ok := r.openQuote(); ok {
		r.note("other quotation marks than JSON's")
		return r.text(q, roleKey)
	}
	start := r.i
	for r.i < len(r.s) {
		c, n := utf8.DecodeRuneInString(r.s[r.i:])
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '_' && c != '-' && c != '$' {
			break
		}
		r.i += n
	}
	if r.i == start {
		return "", errNotJSON
	}
	r.note("key without quotation marks")
	return r.s[start:r.i], nil
}

func (r *reader) array() (*node, error) {
	if r.depth++; r.depth > maxDepth {
		return nil, errNotJSON
	}
	defer func() { r.depth-- }()
	r.i++ // [
	n := &node{kind: 'a'}
	for first := true; ; first = false {
		r.space()
		if r.i >= len(r.s) {
			r.cut, r.whole = true, !first
			return n, errCut
		}
		if r.s[r.i] == ']' {
			r.i++
			return n, nil
		}
		if !first {
			switch {
			case r.s[r.i] == ',':
				r.i++
				r.space()
				if r.i >= len(r.s) {
					r.cut = true
					return n, errCut
				}
				if r.s[r.i] == ']' {
					if !r.lenient {
						return n, errNotJSON
					}
					r.note("comma before a closing bracket")
					r.i++
					return n, nil
				}
			case r.lenient && (r.s[r.i] == '{' || r.s[r.i] == '"'):
				r.note("missing comma")
			case r.lenient && r.s[r.i] == '}':
				r.note("missing closing bracket")
				return n, nil
			default:
				return n, errNotJSON
			}
		}
		v, err := r.value(false)
		if v != nil && (err == nil || v.kind == 'o' || v.kind == 'a') {
			n.arr = append(n.arr, v)
		}
		if err != nil {
			return n, err
		}
	}
}

// Where a string stands decides what may follow its end.
type role int

const (
	roleElement role = iota
	roleKey
	roleValue
)

func roleOf(inObject bool) role {
	if inObject {
		return roleValue
	}
	return roleElement
}

var closers = map[rune]string{'"': `"`, '\'': `'`, '“': `”“"`, '„': `“”"`, '‘': `’'`, '«': `»`, '`': "`"}

func (r *reader) openQuote() (rune, bool) {
	if !r.lenient {
		return 0, false
	}
	q, n := utf8.DecodeRuneInString(r.s[r.i:])
	if q == '"' || q == '”' {
		// A closing mark in front is a typing machine's idea of an opening one.
		if q == '”' {
			q = '“'
		} else {
			return 0, false
		}
	}
	if _, ok := closers[q]; !ok || n == 0 {
		return 0, false
	}
	return q, true
}

// text reads the string at i, which starts with a quotation mark of kind open.
func (r *reader) text(open rune, what role) (string, error) {
	_, n := utf8.DecodeRuneInString(r.s[r.i:])
	r.i += n
	from := r.i
	defer func() { *r.budget -= r.i - from }()
	var b strings.Builder
	for r.i < len(r.s) {
		c := r.s[r.i]
		switch {
		case c == '\\':
			if err := r.escape(&b); err != nil {
				return "", err
			}
			continue
		case c < 0x20:
			if !r.lenient {
				return "", errNotJSON
			}
			r.note("control character inside a string")
			b.WriteByte(c)
			r.i++
			continue
		case c == '"' && open == '"' && !r.lenient:
			r.i++
			return b.String(), nil
		case c < utf8.RuneSelf && c != '"' && c != '\'' && c != '`':
			b.WriteByte(c)
			r.i++
			continue
		}
		q, n := utf8.DecodeRuneInString(r.s[r.i:])
		if strings.ContainsRune(closers[open], q) && (r.lenient || q == '"') {
			if r.ends(r.i+n, what) {
				r.i += n
				return b.String(), nil
			}
			if q == '"' {
				r.note("quotation mark not escaped inside a string")
			}
		}
		b.WriteString(r.s[r.i : r.i+n])
		r.i += n
	}
	r.cut = true
	return "", errCut
}

// ends reports whether a quotation mark before j ends a string, by what
// follows: inside a string somebody may quote, but nobody quotes what reads
// like the next member.
func (r *reader) ends(j int, what role) bool {
	j = skipSpace(r.s, j)
	if j >= len(r.s) {
		return true
	}
	switch c := r.s[j]; {
	case what == roleKey:
		return c == ':'
	case c == '}' || c == ']':
		return true
	case c == ',':
		k := skipSpace(r.s, j+1)
		if k >= len(r.s) {
			return true
		}
		if what == roleValue {
			return r.s[k] == '}' || looksLikeKey(r.s[k:])
		}
		return strings.IndexByte("\"'{[]-0123456789tfnTFN", r.s[k]) >= 0 || r.s[k] >= utf8.RuneSelf
	case what == roleValue && (c == '"' || c == '\''):
		return looksLikeKey(r.s[j:]) // a missing comma
	case c == '/':
		return strings.HasPrefix(r.s[j:], "//") || strings.HasPrefix(r.s[j:], "/*")
	}
	return false
}

func skipSpace(s string, j int) int {
	for j < len(s) && (s[j] == ' ' || s[j] == '\n' || s[j] == '\t' || s[j] == '\r') {
		j++
	}
	return j
}

// looksLikeKey reports whether s starts with a short word, in some quotation
// marks or none, and a colon.
func looksLikeKey(s string) bool {
	const longest = 80
	q, n := utf8.DecodeRuneInString(s)
	end := closers[q]
	if end == "" {
		n = 0
	}
	for j := n; j < len(s) && j < longest; {
		c, n := utf8.DecodeRuneInString(s[j:])
		if end != "" && strings.ContainsRune(end, c) {
			j = skipSpace(s, j+n)
			return j < len(s) && s[j] == ':'
		}
		if end == "" && !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '_' && c != '-' {
			j = skipSpace(s, j)
			return j > 0 && j < len(s) && s[j] == ':'
		}
		if c == '\n' || c == ',' || c == '{' || c == '}' {
			return false
		}
		j += n
	}
	return false
}

func (r *reader) escape(b *strings.Builder) error {
	if r.i+1 >= len(r.s) {
		r.cut = true
		return errCut
	}
	c := r.s[r.i+1]
	if k := strings.IndexByte(`"\/bfnrt`, c); k >= 0 {
		b.WriteByte("\"\\/\b\f\n\r\t"[k])
		r.i += 2
		return nil
	}
	if c == 'u' {
		u, ok := r.hex4(r.i + 2)
		if ok {
			r.i += 6
			if utf16.IsSurrogate(u) && strings.HasPrefix(r.s[r.i:], `\u`) {
				if v, ok := r.hex4(r.i + 2); ok {
					if w := utf16.DecodeRune(u, v); w != utf8.RuneError {
						r.i += 6
						u = w
					}
				}
			}
			b.WriteRune(u) // half a surrogate pair becomes U+FFFD, as in encoding/json
			return nil
		}
		if r.i+6 > len(r.s) {
			r.cut = true
			return errCut
		}
	}
	if !r.lenient {
		return errNotJSON
	}
	r.note("unknown escape in a string")
	if c == '\'' {
		r.i++ // keep the apostrophe, drop the backslash
		b.WriteByte(c)
		r.i++
		return nil
	}
	b.WriteByte('\\')
	r.i++
	return nil
}

func (r *reader) hex4(i int) (rune, bool) {
	if i+4 > len(r.s) {
		return 0, false
	}
	u, err := strconv.ParseUint(r.s[i:i+4], 16, 32)
	return rune(u), err == nil
}

// appendJSON writes the node as strict JSON.
func (n *node) appendJSON(b []byte) []byte {
	switch n.kind {
	case 'o':
		b = append(b, '{')
		for i, m := range n.obj {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendString(b, m.key)
			b = append(b, ':')
			b = m.val.appendJSON(b)
		}
		return append(b, '}')
	case 'a':
		b = append(b, '[')
		for i, v := range n.arr {
			if i > 0 {
				b = append(b, ',')
			}
			b = v.appendJSON(b)
		}
		return append(b, ']')
	case 's':
		return appendString(b, n.str)
	case 'n':
		return append(b, n.str...)
	case 't':
		return append(b, "true"...)
	case 'f':
		return append(b, "false"...)
	}
	return append(b, "null"...)
}

func appendString(b []byte, s string) []byte {
	q, err := json.Marshal(s)
	if err != nil { // a string always marshals
		panic(err)
	}
	return append(b, q...)
}

// found is one JSON value of an answer.
type found struct {
	node       *node
	notes      []string
	cut, whole bool
	fenced     bool // inside a code fence
	prose      bool // with other text around it
	start, end int
}

// fence is the inside of a code fence.
type fence struct {
	start, end int // of the content
	closed     bool
}

// fences finds code fences of three or more backticks or tildes, in any
// language. A fence that never closes goes to the end.
func fences(s string) []fence {
	var out []fence
	open := ""
	start := 0
	for i := 0; i < len(s); {
		line := s[i:]
		next := len(s)
		if n := strings.IndexByte(line, '\n'); n >= 0 {
			line, next = line[:n], i+n+1
		}
		t := strings.TrimSpace(line)
		mark := t[:len(t)-len(strings.TrimLeft(t, "`"))]
		if mark == "" {
			mark = t[:len(t)-len(strings.TrimLeft(t, "~"))]
		}
		switch {
		case open == "" && len(mark) >= 3:
			// One-line fences: ```json {"a": 1}```
			if rest := t[len(mark):]; strings.HasSuffix(rest, mark) {
				at := strings.Index(line, mark) + len(mark)
				end := strings.LastIndex(line, mark)
				for at < end && (isWordByte(line[at])) {
					at++
				}
				out = append(out, fence{i + at, i + end, true})
				break
			}
			open, start = mark, next
			// ```json {"a": … on the opening line
			if at := strings.IndexAny(line, "{["); at >= 0 {
				start = i + at
			}
		case open != "" && strings.HasPrefix(mark, open) && t == mark:
			out = append(out, fence{start, i, true})
			open = ""
		case open != "" && strings.HasSuffix(t, open):
			// }``` on the last line
			out = append(out, fence{start, i + strings.LastIndex(line, open), true})
			open = ""
		}
		i = next
	}
	if open != "" {
		out = append(out, fence{start, len(s), false})
	}
	return out
}

func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '+'
}

// findJSON returns the JSON values of a text in the order in which they stand:
// the whole text, or each code fence, or what stands in prose.
func findJSON(s string) []found {
	budget := 10*len(s) + 1000 // bytes read; an answer of nothing but brackets is given up
	trimmed := strings.TrimSpace(s)
	offset := strings.Index(s, trimmed)
	if f, ok := readAt(trimmed, 0, &budget, false); ok && f.end == len(trimmed) {
		f.start, f.end = f.start+offset, f.end+offset
		return []found{f}
	}
	var out []found
	for _, fe := range fences(s) {
		sub := s[fe.start:fe.end]
		for _, f := range scanJSON(sub, &budget) {
			f.fenced = true
			f.start, f.end = f.start+fe.start, f.end+fe.start
			out = append(out, f)
		}
	}
	if len(out) > 0 {
		return out
	}
	for _, f := range scanJSON(s, &budget) {
		f.prose = f.start > offset || f.end < offset+len(trimmed)
		out = append(out, f)
	}
	return out
}

func scanJSON(s string, budget *int) []found {
	var out []found
	for i := 0; i < len(s); {
		n := strings.IndexAny(s[i:], "{[")
		if n < 0 {
			break
		}
		i += n
		f, ok := readAt(s, i, budget, true)
		if !ok {
			i++
			continue
		}
		out = append(out, f)
		i = f.end
	}
	return out
}

// readAt reads the object or array at i, strictly when that works.
func readAt(s string, i int, budget *int, lenient bool) (found, bool) {
	r := reader{s: s, i: i, budget: budget}
	n, err := r.value(false)
	if err == nil && (n.kind == 'o' || n.kind == 'a') {
		return found{node: n, start: i, end: r.i}, true
	}
	if !lenient || *budget < 0 {
		return found{}, false
	}
	r = reader{s: s, i: i, budget: budget, lenient: true}
	n, err = r.value(false)
	switch {
	case n == nil || n.kind != 'o' && n.kind != 'a':
		return found{}, false
	case err == nil:
		return found{node: n, start: i, end: r.i, notes: r.notes}, true
	case errors.Is(err, errCut) && (len(n.obj) > 0 || len(n.arr) > 0 || strings.ContainsAny(s[i:], `"'`)):
		return found{node: n, start: i, end: len(s), notes: r.notes, cut: true, whole: r.whole}, true
	}
	return found{}, false
}
