// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// SecondReader reads a Parquet file with another library than the one that
// wrote it, and hands over its leaf columns: row group by row group, in each
// all columns in schema order. A release is read so on write, because a writer
// that errs in the same way as its own reader notices nothing. Package arrowio
// has one; this package does not import it, since it takes longer to build
// than everything else.
type SecondReader func(path string, see func(LeafColumn) error) error

// LeafColumn is a leaf column of a row group: levels as the Parquet format
// defines them, and the values that are not null, in one of the four slices.
type LeafColumn struct {
	Group   int
	Path    string // joined by dots
	Def     []int16
	Rep     []int16 // nil where the column lies in no list
	Strings []string
	Ints    []int64
	Floats  []float64
	Bools   []bool
}

// secondLook reads a shard by another library and compares the digest of its
// rows with that of what was written.
func secondLook(read SecondReader, path string, s shard, l *layout, typ reflect.Type) error {
	columns := l.schema.Columns()
	sum := sha256.New()
	rows := 0
	var cols [][]parquet.Value
	group := 0
	flush := func() error {
		if len(cols) == 0 {
			return nil
		}
		if len(cols) != len(columns) {
			return fmt.Errorf("row group %d has %d columns, the schema %d", group, len(cols), len(columns))
		}
		for {
			row, err := takeRow(cols)
			if err != nil {
				return fmt.Errorf("row %d: %w", rows, err)
			}
			if row == nil {
				break
			}
			v := reflect.New(typ).Elem()
			if err := l.assemble(row, v); err != nil {
				return fmt.Errorf("row %d: %w", rows, err)
			}
			digest, err := l.rowDigest(v)
			if err != nil {
				return fmt.Errorf("row %d: %w", rows, err)
			}
			sum.Write(digest)
			rows++
		}
		cols = cols[:0]
		return nil
	}
	err := read(path, func(c LeafColumn) error {
		if c.Group != group {
			if err := flush(); err != nil {
				return err
			}
			group = c.Group
		}
		n := len(cols)
		if n >= len(columns) || strings.Join(columns[n], ".") != c.Path {
			return fmt.Errorf("column %d is %s", n, c.Path)
		}
		leaf, _ := l.schema.Lookup(columns[n]...)
		values, err := leafValues(c, n, int16(leaf.MaxDefinitionLevel))
		if err != nil {
			return fmt.Errorf("column %s: %w", c.Path, err)
		}
		cols = append(cols, values)
		return nil
	})
	if err == nil {
		err = flush()
	}
	if err != nil {
		return err
	}
	if rows != s.rows {
		return fmt.Errorf("it finds %d rows, %d were written", rows, s.rows)
	}
	if !bytes.Equal(sum.Sum(nil), s.sum.Sum(nil)) {
		return errors.New("the rows it finds are not those that were written")
	}
	return nil
}

// takeRow takes the values of one row off the front of all columns; nil at the
// end of all of them.
func takeRow(cols [][]parquet.Value) (parquet.Row, error) {
	var row parquet.Row
	ended := 0
	for i, c := range cols {
		if len(c) == 0 {
			ended++
			continue
		}
		n := 1
		for n < len(c) && c[n].RepetitionLevel() > 0 {
			n++
		}
		row = append(row, c[:n]...)
		cols[i] = c[n:]
	}
	if ended > 0 && ended < len(cols) {
		return nil, fmt.Errorf("%d of %d columns have no value for it", ended, len(cols))
	}
	return row, nil
}

func leafValues(c LeafColumn, column int, most int16) ([]parquet.Value, error) {
	if c.Rep != nil && len(c.Rep) != len(c.Def) {
		return nil, fmt.Errorf("%d repetition levels, %d definition levels", len(c.Rep), len(c.Def))
	}
	out := make([]parquet.Value, len(c.Def))
	n := 0
	for i, d := range c.Def {
		var v parquet.Value
		if d == most {
			switch {
			case n < len(c.Strings):
				v = parquet.ByteArrayValue([]byte(c.Strings[n]))
			case n < len(c.Ints):
				v = parquet.Int64Value(c.Ints[n])
			case n < len(c.Floats):
				v = parquet.DoubleValue(c.Floats[n])
			case n < len(c.Bools):
				v = parquet.BooleanValue(c.Bools[n])
			default:
				return nil, fmt.Errorf("only %d values for %d levels", n, len(c.Def))
			}
			n++
		}
		rep := 0
		if c.Rep != nil {
			rep = int(c.Rep[i])
		}
		out[i] = v.Level(rep, int(d), column)
	}
	if n != len(c.Strings)+len(c.Ints)+len(c.Floats)+len(c.Bools) {
		return nil, errors.New("more values than levels that define one")
	}
	return out, nil
}
