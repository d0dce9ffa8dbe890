// SPDX-License-Identifier: Apache-2.0

package arrowio

import (
	"fmt"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"

	"github.com/retcon-bench/retcon/datasets"
)

// batch is how many levels are read at once.
const batch = 4096

// Columns is a [datasets.SecondReader] by arrow-go.
func Columns(path string, see func(datasets.LeafColumn) error) (err error) {
	defer func() { // the library panics on some damage
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: damaged Parquet: arrow-go breaks off reading it", path)
		}
	}()
	r, err := file.OpenParquetFile(path, false)
	if err != nil {
		return err
	}
	defer r.Close()
	for g := range r.NumRowGroups() {
		group := r.RowGroup(g)
		for c := range group.NumColumns() {
			col, err := column(group, g, c)
			if err != nil {
				return fmt.Errorf("row group %d, column %s: %w", g, col.Path, err)
			}
			if err := see(col); err != nil {
				return err
			}
		}
	}
	return nil
}

func column(group *file.RowGroupReader, g, c int) (datasets.LeafColumn, error) {
	col := datasets.LeafColumn{Group: g}
	r, err := group.Column(c)
	if err != nil {
		return col, err
	}
	col.Path = r.Descriptor().Path()
	nested := r.Descriptor().MaxRepetitionLevel() > 0
	switch r := r.(type) {
	case *file.ByteArrayColumnChunkReader:
		err = drain(r, nested, &col, func(v []parquet.ByteArray) {
			for _, b := range v {
				col.Strings = append(col.Strings, string(b))
			}
		})
	case *file.Int64ColumnChunkReader:
		err = drain(r, nested, &col, func(v []int64) { col.Ints = append(col.Ints, v...) })
	case *file.Float64ColumnChunkReader:
		err = drain(r, nested, &col, func(v []float64) { col.Floats = append(col.Floats, v...) })
	case *file.BooleanColumnChunkReader:
		err = drain(r, nested, &col, func(v []bool) { col.Bools = append(col.Bools, v...) })
	default:
		err = fmt.Errorf("physical type %s stands in no release", r.Type())
	}
	return col, err
}

type batchReader[T any] interface {
	HasNext() bool
	Err() error
	ReadBatch(n int64, values []T, def, rep []int16) (total int64, read int, err error)
}

func drain[T any](r batchReader[T], nested bool, col *datasets.LeafColumn, add func([]T)) error {
	values, def := make([]T, batch), make([]int16, batch)
	var rep []int16
	if nested {
		rep = make([]int16, batch)
		col.Rep = []int16{}
	}
	for r.HasNext() {
		total, read, err := r.ReadBatch(batch, values, def, rep)
		if err != nil {
			return err
		}
		if total == 0 {
			break
		}
		col.Def = append(col.Def, def[:total]...)
		if nested {
			col.Rep = append(col.Rep, rep[:total]...)
		}
		add(values[:read])
	}
	return r.Err()
}
