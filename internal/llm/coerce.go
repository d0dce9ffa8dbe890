// SPDX-License-Identifier: Apache-2.0

package llm

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// JSON reads the JSON value of the answer into v, a pointer as for
// encoding/json, with json tags and these liberties, each of them noted:
// code fences, prose around, the repairs of a sloppy JSON (trailing commas,
// quotation marks of other kinds or not escaped, keys without marks, comments,
// Python's literals), a wrapper key around, an array of one around, one value
// where a list is wanted and a list of one where a value is, keys in another
// case, numbers and booleans as strings.
//
// A field whose tag has no omitempty must be there: a missing label is
// parse_failed, not a zero. Of several values that fit, the last is read,
// since a model that writes twice corrects itself. Text that ends inside the
// value is truncated, whatever the finish reason says, unless every field is
// there and only brackets are missing. An answer that repeats the prompt's
// example is an echo.
func (r *Reply) JSON(v any) error {
	target := reflect.ValueOf(v)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		panic("llm: Reply.JSON needs a pointer")
	}
	values := findJSON(r.Text)
	if len(values) == 0 {
		return Failed(ParseFailed, "no JSON in the answer")
	}
	var firstErr error
	fits := 0
	for i := len(values) - 1; i >= 0; i-- {
		f := values[i]
		c := coercer{}
		fresh := reflect.New(target.Type().Elem())
		err := c.top(f.node, fresh.Elem())
		if f.cut && (err != nil || !f.whole || c.missing) {
			if fits == 0 {
				// The last word was cut; an earlier version is not it.
				return Failed(Truncated, "the text ends inside its JSON")
			}
			continue
		}
		if err != nil {
			if firstErr == nil {
				firstErr = Failed(ParseFailed, err.Error())
			}
			continue
		}
		if f.cut {
			c.note("closing brackets missing at the end")
		}
		if fits++; fits > 1 {
			r.Mark(OK, "several JSON values fit, the last was read")
			break
		}
		if r.echoJSON(f.node) {
			return Failed(Echo, "the prompt's example came back")
		}
		r.marks(f)
		if len(c.notes) > 0 {
			r.Mark(Repaired, strings.Join(c.notes, "; "))
		}
		target.Elem().Set(fresh.Elem())
	}
	if fits == 0 {
		return firstErr
	}
	return nil
}

// marks notes how a value was found.
func (r *Reply) marks(f found) {
	switch {
	case f.fenced:
		r.Mark(Fenced, "JSON in a code fence")
	case f.prose:
		r.Mark(Fenced, "text around the JSON")
	}
	if len(f.notes) > 0 {
		r.Mark(Repaired, strings.Join(f.notes, "; "))
	}
}

// echoJSON reports whether a value stands in the prompt too, and says enough
// for that not to be chance: {"label": "yes"} may well be the example and the
// answer, a sentence of an example is nobody's finding.
func (r *Reply) echoJSON(n *node) bool {
	if len(r.Request.Messages) == 0 || !n.hasLongString() {
		return false
	}
	if r.shown == nil {
		r.shown = map[string]bool{}
		for _, m := range r.Request.Messages {
			if strings.ContainsAny(m.Content, "{[") {
				for _, f := range findJSON(m.Content) {
					f.node.each(func(n *node) { r.shown[string(n.appendJSON(nil))] = true })
				}
			}
		}
	}
	return r.shown[string(n.appendJSON(nil))]
}

func (n *node) hasLongString() bool {
	hit := n.kind == 's' && len(n.str) >= echoMin
	n.children(func(v *node) { hit = hit || v.hasLongString() })
	return hit
}

// each calls f for n and every object and list inside that says something.
func (n *node) each(f func(*node)) {
	if n.kind != 'o' && n.kind != 'a' || !n.hasLongString() {
		return
	}
	f(n)
	n.children(func(v *node) { v.each(f) })
}

func (n *node) children(f func(*node)) {
	for _, m := range n.obj {
		f(m.val)
	}
	for _, v := range n.arr {
		f(v)
	}
}

// DecodeItem reads one JSON value, such as an item of [List], into v by the
// rules of [Reply.JSON]. It returns what was forgiven.
func DecodeItem(raw json.RawMessage, v any) (notes []string, err error) {
	target := reflect.ValueOf(v)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		panic("llm: DecodeItem needs a pointer")
	}
	budget := 10*len(raw) + 1000
	rd := reader{s: string(raw), budget: &budget}
	n, err := rd.value(false)
	if err != nil {
		return nil, Failed(ParseFailed, err.Error())
	}
	c := coercer{}
	fresh := reflect.New(target.Type().Elem())
	if err := c.top(n, fresh.Elem()); err != nil {
		return nil, Failed(ParseFailed, err.Error())
	}
	target.Elem().Set(fresh.Elem())
	return c.notes, nil
}

// coercer fills Go values from what a model wrote.
type coercer struct {
	notes   []string
	missing bool // a field with omitempty was not there
}

func (c *coercer) note(s string) {
	for _, n := range c.notes {
		if n == s {
			return
		}
	}
	c.notes = append(c.notes, s)
}

// top also looks through wrappers, {"result": {…}} or {"answer": "{…}"}: the
// only member that fits.
func (c *coercer) top(n *node, v reflect.Value) error { return c.unwrap(n, v, 0) }

func (c *coercer) unwrap(n *node, v reflect.Value, depth int) error {
	const deepest = 3
	err := c.set(n, v, "the answer")
	if err == nil || n.kind != 'o' || depth == deepest {
		return err
	}
	var hit *coercer
	var value reflect.Value
	for _, m := range n.obj {
		inner := m.val
		if inner.kind == 's' {
			inner = parseString(inner.str)
		}
		if inner == nil || inner.kind != 'o' && inner.kind != 'a' {
			continue
		}
		try := &coercer{}
		fresh := reflect.New(v.Type()).Elem()
		if try.unwrap(inner, fresh, depth+1) != nil {
			continue
		}
		if hit != nil {
			return err // two would fit: do not guess
		}
		hit, value = try, fresh
	}
	if hit == nil {
		return err
	}
	v.Set(value)
	c.notes, c.missing = hit.notes, hit.missing
	c.note("a wrapper key around the value")
	return nil
}

func parseString(s string) *node {
	s = strings.TrimSpace(s)
	if s == "" || s[0] != '{' && s[0] != '[' {
		return nil
	}
	budget := 10*len(s) + 1000
	r := reader{s: s, budget: &budget}
	n, err := r.value(false)
	if err != nil || strings.TrimSpace(s[r.i:]) != "" {
		return nil
	}
	return n
}

var unmarshalerType = reflect.TypeFor[json.Unmarshaler]()

func (c *coercer) set(n *node, v reflect.Value, path string) error {
	if v.Kind() == reflect.Pointer {
		if n.kind == '0' {
			v.SetZero()
			return nil
		}
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		return c.set(n, v.Elem(), path)
	}
	if v.CanAddr() && v.Addr().Type().Implements(unmarshalerType) || v.Type() == reflect.TypeFor[json.RawMessage]() {
		return json.Unmarshal(n.appendJSON(nil), v.Addr().Interface())
	}
	wrong := func() error { return fmt.Errorf("%s: a %s where a %s is wanted", path, n.kindName(), v.Kind()) }
	if n.kind == 'a' && v.Kind() != reflect.Slice && v.Kind() != reflect.Array && v.Kind() != reflect.Interface && len(n.arr) == 1 {
		c.note("a list of one where a value is wanted")
		return c.set(n.arr[0], v, path)
	}
	switch v.Kind() {
	case reflect.Interface:
		return json.Unmarshal(n.appendJSON(nil), v.Addr().Interface())
	case reflect.Struct:
		if n.kind != 'o' {
			return wrong()
		}
		return c.setStruct(n, v, path)
	case reflect.Map:
		if n.kind != 'o' || v.Type().Key().Kind() != reflect.String {
			return wrong()
		}
		out := reflect.MakeMap(v.Type())
		for _, m := range n.obj {
			e := reflect.New(v.Type().Elem()).Elem()
			if err := c.set(m.val, e, path+"."+m.key); err != nil {
				return err
			}
			out.SetMapIndex(reflect.ValueOf(m.key).Convert(v.Type().Key()), e)
		}
		v.Set(out)
		return nil
	case reflect.Slice:
		return c.setSlice(n, v, path)
	case reflect.String:
		switch n.kind {
		case 's':
			v.SetString(n.str)
		case 'n':
			c.note("a number where text is wanted")
			v.SetString(n.str)
		case 't', 'f':
			c.note("a boolean where text is wanted")
			v.SetString(n.kindWord())
		case '0':
			v.SetString("")
		default:
			return wrong()
		}
		return nil
	case reflect.Bool:
		b, ok := n.boolean()
		if !ok {
			return wrong()
		}
		if n.kind == 's' {
			c.note("a boolean in quotation marks")
		}
		v.SetBool(b)
		return nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		f, ok := c.number(n)
		if !ok || f != float64(int64(f)) || v.OverflowInt(int64(f)) {
			return wrong()
		}
		v.SetInt(int64(f))
		return nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		f, ok := c.number(n)
		if !ok || f < 0 || f != float64(uint64(f)) || v.OverflowUint(uint64(f)) {
			return wrong()
		}
		v.SetUint(uint64(f))
		return nil
	case reflect.Float32, reflect.Float64:
		f, ok := c.number(n)
		if !ok {
			return wrong()
		}
		v.SetFloat(f)
		return nil
	}
	return fmt.Errorf("%s: %s cannot be read from an answer", path, v.Type())
}

func (c *coercer) number(n *node) (float64, bool) {
	switch n.kind {
	case 'n':
		f, err := strconv.ParseFloat(n.str, 64)
		return f, err == nil
	case 's':
		f, err := strconv.ParseFloat(strings.TrimSpace(n.str), 64)
		if err != nil || f != f || f-f != 0 { // NaN and Inf parse too
			return 0, false
		}
		c.note("a number in quotation marks")
		return f, true
	}
	return 0, false
}

func (n *node) boolean() (v, ok bool) {
	switch n.kind {
	case 't':
		return true, true
	case 'f':
		return false, true
	case 's':
		switch strings.ToLower(strings.TrimSpace(n.str)) {
		case "true", "yes":
			return true, true
		case "false", "no":
			return false, true
		}
	}
	return false, false
}

func (n *node) kindWord() string {
	if n.kind == 't' {
		return "true"
	}
	return "false"
}

func (n *node) kindName() string {
	switch n.kind {
	case 'o':
		return "object"
	case 'a':
		return "list"
	case 's':
		return "string"
	case 'n':
		return "number"
	case '0':
		return "null"
	}
	return "boolean"
}

func (c *coercer) setSlice(n *node, v reflect.Value, path string) error {
	elem := v.Type().Elem()
	switch n.kind {
	case '0':
		v.SetZero()
		return nil
	case 'a':
	case 's':
		if none(n.str) {
			if strings.TrimSpace(n.str) != "" {
				c.note("the word " + strings.TrimSpace(n.str) + " for an empty list")
			}
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
			return nil
		}
		if elem.Kind() != reflect.String {
			return fmt.Errorf("%s: a string where a list is wanted", path)
		}
		fallthrough
	default:
		c.note("one value where a list is wanted")
		n = &node{kind: 'a', arr: []*node{n}}
	}
	out := reflect.MakeSlice(v.Type(), len(n.arr), len(n.arr))
	for i, e := range n.arr {
		if err := c.set(e, out.Index(i), fmt.Sprintf("%s[%d]", path, i)); err != nil {
			return err
		}
	}
	v.Set(out)
	return nil
}

// none reports whether a text says "nothing here". A sentence that says more
// than that is not it.
func none(s string) bool {
	switch strings.Trim(strings.ToLower(strings.TrimSpace(s)), ".[]()") {
	case "", "none", "n/a", "na", "null", "nil", "nothing", "none found", "empty", "no", "-", "–", "—",
		"no errors", "no errors found", "no issues", "no issues found", "no contradictions", "no contradictions found":
		return true
	}
	return false
}

func (c *coercer) setStruct(n *node, v reflect.Value, path string) error {
	known := 0
	t := v.Type()
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		if f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct {
			if err := c.setStruct(n, v.Field(i), path); err != nil {
				return err
			}
			known++
			continue
		}
		if name == "" {
			name = f.Name
		}
		val, exact := n.member(name)
		if val == nil {
			if strings.Contains(opts, "omitempty") || strings.Contains(opts, "omitzero") {
				c.missing = true
				continue
			}
			return fmt.Errorf("%s: no %q", path, name)
		}
		if !exact {
			c.note("key " + name + " spelled in another way")
		}
		known++
		if err := c.set(val, v.Field(i), path+"."+name); err != nil {
			return err
		}
	}
	if known == 0 && len(n.obj) > 0 && t.NumField() > 0 {
		return fmt.Errorf("%s: none of its keys is known", path)
	}
	return nil
}

// member returns the last member of that name; exact says that the spelling is
// the same. Another spelling differs by case, blanks, dashes and underscores.
func (n *node) member(name string) (val *node, exact bool) {
	want := foldKey(name)
	for _, m := range n.obj {
		switch {
		case m.key == name:
			val, exact = m.val, true
		case !exact && foldKey(m.key) == want:
			val = m.val
		}
	}
	return val, exact
}
