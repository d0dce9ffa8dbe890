// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// layout says how records of one Go type lie in Parquet columns. It is made
// from the type's JSON tags:
//
//   - every column is OPTIONAL, lists are three-level list/element with
//     OPTIONAL elements. One REQUIRED column makes the datasets library drop
//     the footer's features;
//   - a pointer that is nil is null; any other scalar is a value, zero
//     included. parquet-go's own reflection writes a zero scalar in an
//     optional column as null, which is why rows are shredded here;
//   - a nil slice is a null list, an empty one an empty list;
//   - embedded structs lie flat in their parent;
//   - a field of raw JSON has no column.
type layout struct {
	schema *parquet.Schema
	root   []*field
	leaves int
}

var rawJSON = reflect.TypeFor[json.RawMessage]()

type fieldKind uint8

const (
	leafField fieldKind = iota
	groupField
	listField
)

// field is one column or group of columns.
type field struct {
	name   string
	kind   fieldKind
	index  []int // in the parent struct, through embedded ones
	ptr    bool
	typ    reflect.Type // of the value, without pointer
	fields []*field     // of a group
	elem   *field       // of a list
	first  int          // first leaf column
	n      int          // leaf columns
}

// layoutOf makes the layout of a struct type.
func layoutOf(t reflect.Type) (*layout, error) {
	l := &layout{}
	var err error
	if l.root, err = l.fieldsOf(t, nil); err != nil {
		return nil, fmt.Errorf("%s: %w", t, err)
	}
	l.schema = parquet.SchemaOf(reflect.New(rowType(l.root)).Interface())
	if got := len(l.schema.Columns()); got != l.leaves {
		return nil, fmt.Errorf("%s: %d leaf columns, schema has %d", t, l.leaves, got)
	}
	return l, nil
}

func (l *layout) fieldsOf(t reflect.Type, index []int) ([]*field, error) {
	var out []*field
	for i := range t.NumField() {
		sf := t.Field(i)
		at := append(append([]int{}, index...), i)
		if sf.Anonymous {
			inner, err := l.fieldsOf(sf.Type, at)
			if err != nil {
				return nil, err
			}
			out = append(out, inner...)
			continue
		}
		if sf.Type == rawJSON {
			continue
		}
		name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			return nil, fmt.Errorf("field %s has no JSON name", sf.Name)
		}
		f, err := l.fieldOf(name, sf.Type)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		f.index = at
		out = append(out, f)
	}
	return out, nil
}

func (l *layout) fieldOf(name string, t reflect.Type) (*field, error) {
	f := &field{name: name, first: l.leaves}
	if t.Kind() == reflect.Pointer {
		f.ptr, t = true, t.Elem()
	}
	f.typ = t
	var err error
	switch t.Kind() {
	case reflect.String, reflect.Int, reflect.Int64, reflect.Float64, reflect.Bool:
		l.leaves++
	case reflect.Struct:
		f.kind = groupField
		f.fields, err = l.fieldsOf(t, nil)
		if len(f.fields) == 0 && err == nil {
			err = fmt.Errorf("empty struct %s cannot be a column", t)
		}
	case reflect.Slice:
		f.kind = listField
		f.elem, err = l.fieldOf("element", t.Elem())
	default:
		err = fmt.Errorf("no column type for %s", t)
	}
	f.n = l.leaves - f.first
	return f, err
}

// rowType is a struct type whose parquet tags give the schema; only the
// schema is made from it, in field order.
func rowType(fields []*field) reflect.Type {
	sf := make([]reflect.StructField, len(fields))
	for i, f := range fields {
		t, tag := columnType(f)
		sf[i] = reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: t, Tag: reflect.StructTag(fmt.Sprintf("parquet:%q", f.name+","+tag))}
	}
	return reflect.StructOf(sf)
}

func columnType(f *field) (reflect.Type, string) {
	switch f.kind {
	case groupField:
		return reflect.PointerTo(rowType(f.fields)), "optional"
	case listField:
		t, _ := columnType(f.elem)
		return reflect.SliceOf(t), "optional,list"
	}
	return reflect.PointerTo(f.typ), "optional"
}

// shred turns a record into a row. cols is scratch, one slice a leaf.
func (l *layout) shred(v reflect.Value, cols [][]parquet.Value, row parquet.Row) parquet.Row {
	for i := range cols {
		cols[i] = cols[i][:0]
	}
	for _, f := range l.root {
		f.shred(v.FieldByIndex(f.index), cols, 0, 0, 0)
	}
	row = row[:0]
	for _, c := range cols {
		row = append(row, c...)
	}
	return row
}

// shred appends the values below one field. def and rep are the levels so
// far, depth how many lists are open.
func (f *field) shred(v reflect.Value, cols [][]parquet.Value, def, rep, depth int) {
	if f.ptr {
		if v.IsNil() {
			f.null(cols, def, rep)
			return
		}
		v = v.Elem()
	}
	switch f.kind {
	case leafField:
		cols[f.first] = append(cols[f.first], leafValue(v).Level(rep, def+1, f.first))
	case groupField:
		for _, c := range f.fields {
			c.shred(v.FieldByIndex(c.index), cols, def+1, rep, depth)
		}
	case listField:
		switch {
		case v.IsNil():
			f.null(cols, def, rep)
		case v.Len() == 0:
			f.null(cols, def+1, rep)
		}
		for i := range v.Len() {
			if i > 0 {
				rep = depth + 1
			}
			f.elem.shred(v.Index(i), cols, def+2, rep, depth+1)
		}
	}
}

func (f *field) null(cols [][]parquet.Value, def, rep int) {
	for i := f.first; i < f.first+f.n; i++ {
		cols[i] = append(cols[i], parquet.Value{}.Level(rep, def, i))
	}
}

func leafValue(v reflect.Value) parquet.Value {
	switch v.Kind() {
	case reflect.String:
		return parquet.ByteArrayValue([]byte(v.String()))
	case reflect.Float64:
		return parquet.DoubleValue(v.Float())
	case reflect.Bool:
		return parquet.BooleanValue(v.Bool())
	default:
		return parquet.Int64Value(v.Int())
	}
}

// assemble is the inverse of shred. It trusts nothing: a row whose levels do
// not fit the layout is an error, never a panic.
func (l *layout) assemble(row parquet.Row, v reflect.Value) error {
	cols := make([][]parquet.Value, l.leaves)
	for _, val := range row {
		c := val.Column()
		if c < 0 || c >= l.leaves {
			return fmt.Errorf("value of column %d, but there are %d", c, l.leaves)
		}
		cols[c] = append(cols[c], val)
	}
	for _, f := range l.root {
		if err := f.assemble(v.FieldByIndex(f.index), cols, 0, 0); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	for c, rest := range cols {
		if len(rest) > 0 {
			return fmt.Errorf("column %d has %d values left over", c, len(rest))
		}
	}
	return nil
}

// assemble takes one value of the field off the front of its columns.
func (f *field) assemble(v reflect.Value, cols [][]parquet.Value, def, depth int) error {
	if f.first >= len(cols) || len(cols[f.first]) == 0 {
		return fmt.Errorf("no value in column %d", f.first)
	}
	head := cols[f.first][0]
	if head.DefinitionLevel() <= def { // null here or above
		return f.skip(cols)
	}
	if f.ptr {
		p := reflect.New(f.typ)
		v.Set(p)
		v = p.Elem()
	}
	switch f.kind {
	case leafField:
		cols[f.first] = cols[f.first][1:]
		return setLeaf(v, head)
	case groupField:
		for _, c := range f.fields {
			if err := c.assemble(v.FieldByIndex(c.index), cols, def+1, depth); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
		return nil
	}
	v.Set(reflect.MakeSlice(v.Type(), 0, 4))
	if head.DefinitionLevel() == def+1 {
		return f.skip(cols)
	}
	for {
		e := reflect.New(f.elem.goType()).Elem()
		if err := f.elem.assemble(e, cols, def+2, depth+1); err != nil {
			return err
		}
		v.Set(reflect.Append(v, e))
		next := cols[f.first]
		if len(next) == 0 || next[0].RepetitionLevel() != depth+1 {
			return nil
		}
	}
}

func (f *field) goType() reflect.Type {
	if f.ptr {
		return reflect.PointerTo(f.typ)
	}
	return f.typ
}

// skip takes the one null off the front of each column below the field.
func (f *field) skip(cols [][]parquet.Value) error {
	for i := f.first; i < f.first+f.n; i++ {
		if len(cols[i]) == 0 {
			return fmt.Errorf("no value in column %d", i)
		}
		if !cols[i][0].IsNull() {
			return fmt.Errorf("column %d has a value where its neighbours are null", i)
		}
		cols[i] = cols[i][1:]
	}
	return nil
}

func setLeaf(v reflect.Value, val parquet.Value) error {
	if val.IsNull() {
		return fmt.Errorf("null at a level that is defined")
	}
	switch kind := val.Kind(); {
	case v.Kind() == reflect.String && kind == parquet.ByteArray:
		v.SetString(string(val.ByteArray()))
	case v.Kind() == reflect.Float64 && kind == parquet.Double:
		v.SetFloat(val.Double())
	case v.Kind() == reflect.Bool && kind == parquet.Boolean:
		v.SetBool(val.Boolean())
	case (v.Kind() == reflect.Int || v.Kind() == reflect.Int64) && kind == parquet.Int64:
		n := val.Int64()
		if v.Kind() == reflect.Int && (n > math.MaxInt || n < math.MinInt) {
			return fmt.Errorf("%d does not fit an int", n)
		}
		v.SetInt(n)
	default:
		return fmt.Errorf("column holds %s, the record wants %s", kind, v.Type())
	}
	return nil
}
