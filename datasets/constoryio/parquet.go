// SPDX-License-Identifier: Apache-2.0

package constoryio

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/retcon-bench/retcon/datasets"
	"github.com/retcon-bench/retcon/scoring"
)

// OpenParquet reads the first row of a Parquet file, which tells its columns:
// those of the reference in their order, then any others by name. Texts,
// numbers and truth values are read, and columns of nothing but nulls, which
// have no type of their own; lists and groups are left out. The table may be
// read as often as wanted.
func OpenParquet(path string) (*scoring.CheckTable, error) {
	t := &scoring.CheckTable{}
	for row, err := range datasets.AnyRows(path) {
		if err != nil {
			return nil, err
		}
		for name, v := range row {
			switch v.(type) {
			case []any, map[string]any:
			default:
				t.Columns = append(t.Columns, name)
			}
		}
		break
	}
	if len(t.Columns) == 0 {
		return nil, fmt.Errorf("%s: a table without rows or without columns", path)
	}
	slices.Sort(t.Columns)
	place := func(c string) int {
		if i := slices.Index(Columns, c); i >= 0 {
			return i
		}
		return len(Columns)
	}
	slices.SortStableFunc(t.Columns, func(a, b string) int { return place(a) - place(b) })
	t.Rows = func(yield func([]*string, error) bool) {
		out := make([]*string, len(t.Columns))
		for row, err := range datasets.AnyRows(path) {
			if err != nil {
				yield(nil, err)
				return
			}
			for i, c := range t.Columns {
				out[i] = textOf(row[c])
			}
			if !yield(out, nil) {
				return
			}
		}
	}
	return t, nil
}

// textOf writes a value as a CSV file would hold it; nil for null. A number
// that a library made a float for want of a null integer is an integer again.
func textOf(v any) *string {
	var s string
	switch v := v.(type) {
	case nil, []any, map[string]any:
		return nil
	case string:
		s = v
	case float64:
		if math.IsNaN(v) {
			return nil
		}
		s = strconv.FormatFloat(v, 'f', -1, 64)
	case float32:
		return textOf(float64(v))
	default:
		s = fmt.Sprint(v)
	}
	return &s
}
