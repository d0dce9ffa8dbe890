// SPDX-License-Identifier: Apache-2.0

package parquetfile

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"github.com/retcon-bench/retcon/internal/fetch"
)

// Map makes plain values of a row: a map from column to string, bool, number,
// list, map or nil; a column of type null gives nil. Text must be UTF-8, and so
// must bytes that the file says nothing of: some programs write text so, and
// what is no text cannot be told from text in another encoding. The error names
// the column. Bytes of other types (an interval) stay []byte.
func (f *File) Map(row parquet.Row) (map[string]any, error) {
	for _, v := range row {
		i := v.Column()
		if i < 0 || i >= len(f.leaves) {
			return nil, fmt.Errorf("a value of column %d, but there are %d", i, len(f.leaves))
		}
		l := &f.leaves[i]
		if l.kind != textKind && l.kind != bytesKind || v.IsNull() || utf8.Valid(v.ByteArray()) {
			continue
		}
		if l.kind == bytesKind {
			return nil, fmt.Errorf("column %s: %w in a column of bytes: write it as text, or leave it out", l.name, fetch.ErrUTF8)
		}
		return nil, fmt.Errorf("column %s: %w", l.name, fetch.ErrUTF8)
	}
	return f.Values(row)
}

// Values is Map for who decodes text: what is not UTF-8 is []byte.
func (f *File) Values(row parquet.Row) (map[string]any, error) {
	a := assembler{cols: make([][]parquet.Value, len(f.leaves))}
	for from := 0; from < len(row); {
		i, to := row[from].Column(), from+1
		for to < len(row) && row[to].Column() == i {
			to++
		}
		if i < 0 || i >= len(a.cols) || a.cols[i] != nil {
			return nil, errDamaged
		}
		a.cols[i], from = row[from:to], to
	}
	var m map[string]any
	err := Guard(func() error {
		v, err := a.value(f.root)
		m, _ = v.(map[string]any)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, c := range a.cols {
		if len(c) > 0 {
			return nil, errDamaged
		}
	}
	return m, nil
}

var errDamaged = errors.New("damaged Parquet: the levels of a row's values do not fit the schema; write the file anew")

// node is a part of the schema as a reader of values sees it: the groups that
// only serve a list or a map are not there. The library has one of its own,
// which knows neither maps in maps nor lists in them, and panics at the lists
// of older writers.
type node struct {
	name     string
	form     nodeForm
	optional bool
	def      int // level from which it is there, if optional
	item     int // of a list or a map: level from which it has an element
	rep      int // and at which a further element repeats
	from, to int // columns of values
	parts    []*node
	value    func(parquet.Value) (any, error) // of a leaf
}

type nodeForm uint8

const (
	leafNode nodeForm = iota
	groupNode
	listNode
	mapNode
)

// treeOf makes nodes of a schema that [leavesOf] has passed.
func treeOf(elems []format.SchemaElement) *node {
	t := treeMaker{elems: elems}
	root := &node{form: groupNode}
	t.at++
	for range elems[0].NumChildren.V {
		root.parts = append(root.parts, t.node(0, 0))
	}
	root.to = t.leaf
	return root
}

type treeMaker struct {
	elems    []format.SchemaElement
	at, leaf int
}

// node makes the next element's, which lies at the levels def and rep.
func (t *treeMaker) node(def, rep int) *node {
	e := &t.elems[t.at]
	if e.RepetitionType.V == format.Repeated { // without a list around it
		n := &node{name: e.Name, form: listNode, item: def + 1, rep: rep + 1, from: t.leaf}
		n.parts = []*node{t.required(def+1, rep+1)}
		n.to = t.leaf
		return n
	}
	if e.RepetitionType.V != format.Optional {
		return t.required(def, rep)
	}
	n := t.required(def+1, rep)
	n.optional, n.def = true, def+1
	return n
}

// required is node without regard to what the element says of its repetition.
func (t *treeMaker) required(def, rep int) *node {
	e := &t.elems[t.at]
	t.at++
	n := &node{name: e.Name, from: t.leaf}
	defer func() { n.to = t.leaf }()
	if e.Type.Valid {
		n.value = valueOf(e)
		t.leaf++
		return n
	}
	var inner *format.SchemaElement // what repeats in a list or a map
	if e.NumChildren.V == 1 && t.elems[t.at].RepetitionType.V == format.Repeated {
		inner = &t.elems[t.at]
	}
	switch is := annotated(e); {
	case inner != nil && is == listNode:
		n.form, n.item, n.rep = listNode, def+1, rep+1
		// Older writers repeat the element itself: https://github.com/apache/parquet-format/blob/master/LogicalTypes.md#lists
		if inner.Type.Valid || inner.NumChildren.V != 1 || inner.Name == "array" || inner.Name == e.Name+"_tuple" {
			n.parts = []*node{t.required(def+1, rep+1)}
			return n
		}
		t.at++
		n.parts = []*node{t.node(def+1, rep+1)}
	case inner != nil && is == mapNode && !inner.Type.Valid && inner.NumChildren.V == 2:
		n.form, n.item, n.rep = mapNode, def+1, rep+1
		t.at++
		n.parts = []*node{t.node(def+1, rep+1), t.node(def+1, rep+1)}
	default:
		n.form = groupNode
		for range e.NumChildren.V {
			n.parts = append(n.parts, t.node(def, rep))
		}
	}
	return n
}

// annotated is what a group is said to be.
func annotated(e *format.SchemaElement) nodeForm {
	switch e.LogicalType.Value.(type) {
	case *format.ListType:
		return listNode
	case *format.MapType:
		return mapNode
	case nil:
		if e.ConvertedType.Valid {
			switch e.ConvertedType.V {
			case deprecated.List:
				return listNode
			case deprecated.Map, deprecated.MapKeyValue:
				return mapNode
			}
		}
	}
	return groupNode
}

// assembler makes a value of what is left of a row's columns.
type assembler struct{ cols [][]parquet.Value }

func (a *assembler) value(n *node) (any, error) {
	first := a.cols[n.from]
	if len(first) == 0 {
		return nil, errDamaged
	}
	def := first[0].DefinitionLevel()
	if n.optional && def < n.def {
		return nil, a.pass(n)
	}
	switch n.form {
	case leafNode:
		a.cols[n.from] = first[1:]
		if first[0].IsNull() {
			return nil, nil
		}
		v, err := n.value(first[0])
		if err != nil {
			err = fmt.Errorf("column %s: %w", n.name, err)
		}
		return v, err
	case groupNode:
		m := make(map[string]any, len(n.parts))
		for _, p := range n.parts {
			v, err := a.value(p)
			if err != nil {
				return nil, err
			}
			m[p.name] = v
		}
		return m, nil
	}
	list, m := []any{}, map[string]any{}
	if def < n.item {
		if err := a.pass(n); err != nil {
			return nil, err
		}
	} else {
		for again := true; again; again = len(a.cols[n.from]) > 0 && a.cols[n.from][0].RepetitionLevel() == n.rep {
			v, err := a.value(n.parts[0])
			if err != nil {
				return nil, err
			}
			if n.form == listNode {
				list = append(list, v)
				continue
			}
			key := keyOf(v)
			if _, twice := m[key]; twice || v == nil {
				return nil, unusable("column %s: key %q stands twice in a map, or is null", n.name, key)
			}
			if m[key], err = a.value(n.parts[1]); err != nil {
				return nil, err
			}
		}
	}
	if n.form == listNode {
		return list, nil
	}
	return m, nil
}

// keyOf is a map's key as JSON would have it.
func keyOf(v any) string {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	return fmt.Sprint(v)
}

// pass takes what stands in each column for a value that is not there.
func (a *assembler) pass(n *node) error {
	for i := n.from; i < n.to; i++ {
		if len(a.cols[i]) == 0 {
			return errDamaged
		}
		a.cols[i] = a.cols[i][1:]
	}
	return nil
}

// valueOf says how the values of a column are read: numbers as they are
// meant, text as string, JSON as what it says, times as the number in the file.
func valueOf(e *format.SchemaElement) func(parquet.Value) (any, error) {
	unsigned := false
	switch t := e.LogicalType.Value.(type) {
	case *format.DecimalType:
		return decimal(e.Type.V, t.Scale)
	case *format.IntType:
		unsigned = !t.IsSigned
	case *format.UUIDType:
		return func(v parquet.Value) (any, error) { return uuid(v.ByteArray()), nil }
	case *format.JsonType:
		return jsonValue
	case *format.Float16Type:
		return func(v parquet.Value) (any, error) { return half(v.ByteArray()) }
	case nil:
		if !e.ConvertedType.Valid {
			break
		}
		switch e.ConvertedType.V {
		case deprecated.Decimal:
			return decimal(e.Type.V, e.Scale.V)
		case deprecated.Uint8, deprecated.Uint16, deprecated.Uint32, deprecated.Uint64:
			unsigned = true
		case deprecated.Json:
			return jsonValue
		}
	}
	switch e.Type.V {
	case format.Boolean:
		return func(v parquet.Value) (any, error) { return v.Boolean(), nil }
	case format.Int32:
		if unsigned {
			return func(v parquet.Value) (any, error) { return int64(v.Uint32()), nil }
		}
		return func(v parquet.Value) (any, error) { return v.Int32(), nil }
	case format.Int64:
		if unsigned {
			return func(v parquet.Value) (any, error) {
				if n := v.Uint64(); n > math.MaxInt64 {
					return json.Number(strconv.FormatUint(n, 10)), nil
				}
				return v.Int64(), nil
			}
		}
		return func(v parquet.Value) (any, error) { return v.Int64(), nil }
	case format.Int96: // nanoseconds of a day, and the day, as old timestamps are
		return func(v parquet.Value) (any, error) {
			t := v.Int96()
			return (int64(t[2])-2440588)*86400e9 + int64(t[1])<<32 + int64(t[0]), nil
		}
	case format.Float:
		return func(v parquet.Value) (any, error) { return v.Float(), nil }
	case format.Double:
		return func(v parquet.Value) (any, error) { return v.Double(), nil }
	}
	return func(v parquet.Value) (any, error) {
		if b := v.ByteArray(); !utf8.Valid(b) {
			return bytes.Clone(b), nil
		}
		return string(v.ByteArray()), nil
	}
}

func jsonValue(v parquet.Value) (x any, err error) {
	if err = json.Unmarshal(v.ByteArray(), &x); err != nil {
		return nil, fmt.Errorf("not the JSON it is said to be: %w", err)
	}
	return x, nil
}

// decimal reads numbers of so many digits behind the point.
func decimal(kind format.Type, scale int32) func(parquet.Value) (any, error) {
	below := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)
	return func(v parquet.Value) (any, error) {
		n := new(big.Int)
		switch kind {
		case format.Int32:
			n.SetInt64(int64(v.Int32()))
		case format.Int64:
			n.SetInt64(v.Int64())
		default: // big-endian, two's complement
			b := v.ByteArray()
			n.SetBytes(b)
			if len(b) > 0 && b[0] >= 0x80 {
				n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
			}
		}
		f, _ := new(big.Rat).SetFrac(n, below).Float64()
		return f, nil
	}
}

// half reads a number of sixteen bits.
func half(b []byte) (any, error) {
	if len(b) != 2 {
		return nil, errDamaged
	}
	n := binary.LittleEndian.Uint16(b)
	exp, frac := int(n>>10&31), float64(n&1023)
	f := math.Ldexp(1024+frac, exp-25)
	switch {
	case exp == 0:
		f = math.Ldexp(frac, -24)
	case exp == 31 && frac == 0:
		f = math.Inf(1)
	case exp == 31:
		f = math.NaN()
	}
	if n>>15 == 1 {
		f = -f
	}
	return float32(f), nil
}

// uuid writes the sixteen bytes of an id as people do.
func uuid(b []byte) any {
	if len(b) != 16 {
		return slices.Clone(b)
	}
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
