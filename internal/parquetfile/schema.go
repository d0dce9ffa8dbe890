// SPDX-License-Identifier: Apache-2.0

package parquetfile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// leaf is a column of values, as the schema declares it.
type leaf struct {
	name string // path, with dots
	kind leafKind
}

type leafKind uint8

const (
	otherKind leafKind = iota // numbers, truth values, times, decimals
	textKind                  // said to be UTF-8
	bytesKind                 // of bytes that the file says nothing of
)

const maxDepth = 32

// SchemaError is a sound file whose table cannot be read without loss.
type SchemaError struct{ text string }

func (e *SchemaError) Error() string { return e.text }

func unusable(format string, args ...any) error {
	return &SchemaError{fmt.Sprintf(format, args...)}
}

// leavesOf lists the columns of values in file order. A table that has none, or
// two of one name in one place, is a [SchemaError]: of two columns readers take one,
// each its own.
func leavesOf(meta *format.FileMetaData) ([]leaf, error) {
	elems := meta.Schema
	if len(elems) == 0 {
		return nil, errors.New("footer: there is no schema in it")
	}
	if len(elems) == 1 {
		rows := "no rows"
		if meta.NumRows > 0 {
			rows = fmt.Sprintf("%d rows", meta.NumRows)
		}
		return nil, unusable("the table has no columns (and %s): was it written from an empty one?", rows)
	}
	var leaves []leaf
	at := 0
	var group func(path []string) error
	group = func(path []string) error {
		children := elems[at].NumChildren.V
		at++
		var names []string
		for range children {
			if at >= len(elems) {
				return fmt.Errorf("footer: the schema claims more columns than it has, below %q", strings.Join(path, "."))
			}
			e := &elems[at]
			here := append(slices.Clip(path), e.Name)
			name := strings.Join(here, ".")
			if slices.Contains(names, e.Name) {
				if len(path) == 0 {
					return unusable("column %q stands twice; rename one", e.Name)
				}
				return unusable("field %q stands twice in column %q; rename one", e.Name, strings.Join(path, "."))
			}
			names = append(names, e.Name)
			switch {
			case e.Type.Valid:
				at++
				if err := checkDecimal(e); err != nil {
					return fmt.Errorf("footer: column %q: %w", name, err)
				}
				leaves = append(leaves, leaf{name, kindOf(e)})
			case e.NumChildren.V <= 0:
				return unusable("column %q is a group without fields", name)
			case len(here) > maxDepth:
				return unusable("column %q is nested deeper than %d", name, maxDepth)
			default:
				if err := group(here); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := group(nil); err != nil {
		return nil, err
	}
	if at != len(elems) {
		return nil, fmt.Errorf("footer: %d columns of the schema belong nowhere", len(elems)-at)
	}
	return leaves, nil
}

// maxDigits of a decimal are more than any writer has. The library computes
// with as many as the schema says, be it a billion.
const maxDigits = 100

func checkDecimal(e *format.SchemaElement) error {
	digits := [][2]int32{{e.Precision.V, e.Scale.V}}
	if d, ok := e.LogicalType.Value.(*format.DecimalType); ok {
		digits = append(digits, [2]int32{d.Precision, d.Scale})
	}
	for _, d := range digits {
		if d[1] < 0 || d[0] < d[1] || d[0] > maxDigits {
			return fmt.Errorf("a decimal of %d digits, %d of them behind the point", d[0], d[1])
		}
	}
	return nil
}

func kindOf(e *format.SchemaElement) leafKind {
	if e.Type.V != format.ByteArray && e.Type.V != format.FixedLenByteArray {
		return otherKind
	}
	switch e.LogicalType.Value.(type) {
	case *format.StringType, *format.EnumType, *format.JsonType:
		return textKind
	case nil:
	default:
		return otherKind
	}
	if !e.ConvertedType.Valid {
		return bytesKind
	}
	switch e.ConvertedType.V {
	case deprecated.UTF8, deprecated.Enum, deprecated.Json:
		return textKind
	}
	return otherKind
}
