// SPDX-License-Identifier: Apache-2.0

package schemas

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// KeysOnce reports an object of a JSON text, however deep it lies, that has a
// key twice. Readers differ in which of the two they take (RFC 8259, section
// 4; encoding/json takes the last, and says nothing), so that a text which has
// one means another thing to everybody. The error names the path to the key.
//
// What is no JSON is somebody else's to say: of such a text only what stands
// before the fault is looked at.
func KeysOnce(data []byte) error {
	s := keyScanner{b: data}
	s.value(0, nil)
	return s.err
}

// keysOnceFor is KeysOnce for what is decoded into v. encoding/json does not
// tell capital letters from small ones in the names of a struct's fields: of
// "label" and "Label" it takes the last.
func keysOnceFor(data []byte, v any) error {
	s := keyScanner{b: data}
	s.value(0, reflect.TypeOf(v))
	return s.err
}

// fields are the names that a struct has in JSON, with their types.
type fields map[string]reflect.Type

var (
	fieldsOf    sync.Map // of [fields] by reflect.Type
	unmarshaler = reflect.TypeFor[json.Unmarshaler]()
)

// insideOf is what an object or a list decoded into typ holds: the fields of a
// struct, the elements of a map or a list, neither where nothing is known.
func insideOf(typ reflect.Type) (f fields, elem reflect.Type) {
	for typ != nil && typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if typ == nil || reflect.PointerTo(typ).Implements(unmarshaler) {
		return nil, nil
	}
	switch typ.Kind() {
	case reflect.Map, reflect.Slice, reflect.Array:
		return nil, typ.Elem()
	case reflect.Struct:
	default:
		return nil, nil
	}
	if f, ok := fieldsOf.Load(typ); ok {
		return f.(fields), nil
	}
	f = fields{}
	for _, sf := range reflect.VisibleFields(typ) {
		name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
		if !sf.IsExported() || sf.Tag.Get("json") == "-" || sf.Anonymous && name == "" {
			continue
		}
		f[cmp.Or(name, sf.Name)] = sf.Type
	}
	fieldsOf.Store(typ, f)
	return f, nil
}

// named is the field that a key is decoded into, else the key.
func (f fields) named(key []byte) ([]byte, reflect.Type) {
	if typ, ok := f[string(key)]; ok {
		return key, typ
	}
	for name, typ := range f {
		if strings.EqualFold(name, string(key)) {
			return []byte(name), typ
		}
	}
	return key, nil
}

// keyScanner walks a JSON text without decoding it.
type keyScanner struct {
	b    []byte
	at   int
	path []step
	err  error
}

// step is a key of an object or a place in a list.
type step struct {
	key []byte
	n   int
}

// maxKeyDepth bounds the walk's recursion; encoding/json refuses deeper texts.
const maxKeyDepth = 10_000

// manyKeys is from how many keys on an object's are kept in a map.
const manyKeys = 24

// value passes over one value, and reports false at a fault of the text.
func (s *keyScanner) value(depth int, typ reflect.Type) bool {
	switch c := s.next(); {
	case depth > maxKeyDepth:
		return false
	case c == '"':
		return s.str() != nil
	case c == '{':
		return s.object(depth, typ)
	case c == '[':
		s.at++
		if s.next() == ']' {
			s.at++
			return true
		}
		_, elem := insideOf(typ)
		for i := 0; ; i++ {
			s.path = append(s.path, step{n: i})
			if !s.value(depth+1, elem) {
				return false
			}
			s.path = s.path[:len(s.path)-1]
			if again, ok := s.more(']'); !again {
				return ok
			}
		}
	}
	from := s.at
	for s.at < len(s.b) && strings.IndexByte(",]} \t\r\n", s.b[s.at]) < 0 {
		s.at++
	}
	return s.at > from
}

func (s *keyScanner) object(depth int, typ reflect.Type) bool {
	s.at++
	known, elem := insideOf(typ)
	if s.next() == '}' {
		s.at++
		return true
	}
	var few [][]byte
	var many map[string]bool
	for {
		if s.next() != '"' {
			return false
		}
		key := s.str()
		if key == nil || s.next() != ':' {
			return false
		}
		s.at++
		key = characters(key)
		inside := elem
		if known != nil {
			key, inside = known.named(key)
		}
		twice := many[string(key)] || slices.ContainsFunc(few, func(k []byte) bool { return bytes.Equal(k, key) })
		s.path = append(s.path, step{key: key})
		if twice {
			s.err = fmt.Errorf("key %q stands twice", s.where())
			return false
		}
		if few = append(few, key); len(few) > manyKeys {
			if many == nil {
				many = map[string]bool{}
			}
			for _, k := range few {
				many[string(k)] = true
			}
			few = few[:0]
		}
		if !s.value(depth+1, inside) {
			return false
		}
		s.path = s.path[:len(s.path)-1]
		if again, ok := s.more('}'); !again {
			return ok
		}
	}
}

// more passes over what stands behind an element: a comma, or the end.
func (s *keyScanner) more(end byte) (again, ok bool) {
	c := s.next()
	if ok = c == ',' || c == end; ok {
		s.at++
	}
	return c == ',', ok
}

// next passes over white space and returns the byte there, 0 at the end.
func (s *keyScanner) next() byte {
	for ; s.at < len(s.b); s.at++ {
		switch c := s.b[s.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// str passes over the string that begins here and returns it with its quotes.
func (s *keyScanner) str() []byte {
	from := s.at
	for s.at++; ; {
		n := bytes.IndexByte(s.b[s.at:], '"')
		if n < 0 {
			return nil
		}
		end, back := s.at+n, 0
		for end-1-back > from && s.b[end-1-back] == '\\' {
			back++
		}
		s.at = end + 1
		if back%2 == 0 { // else the quote is one of the text
			return s.b[from:s.at]
		}
	}
}

// characters are those of a string with its quotes.
func characters(raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') >= 0 {
		var text string
		if json.Unmarshal(raw, &text) == nil {
			return []byte(text)
		}
	}
	return raw[1 : len(raw)-1]
}

// where is the path with dots, places in lists from 0.
func (s *keyScanner) where() string {
	var names []string
	for _, p := range s.path {
		if p.key == nil {
			names = append(names, strconv.Itoa(p.n))
			continue
		}
		names = append(names, string(p.key))
	}
	return strings.Join(names, ".")
}

// ColumnsOnce reports a name that stands twice in a table's header. Columns
// without a name may be several.
func ColumnsOnce(header []string) error {
	seen := make(map[string]bool, len(header))
	for _, name := range header {
		if name != "" && seen[name] {
			return fmt.Errorf("column %q stands twice in the header; rename one", name)
		}
		seen[name] = true
	}
	return nil
}
