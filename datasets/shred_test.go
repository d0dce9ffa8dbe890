// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"github.com/retcon-bench/retcon/schemas"
)

type nested struct {
	Bounds
	Tags  []string  `json:"tags"`
	Note  *string   `json:"note"`
	Deep  []inner   `json:"deep"`
	Lists [][]int   `json:"lists"`
	Share *float64  `json:"share"`
	Maybe *inner    `json:"maybe"`
	Many  []*string `json:"many"`
	OK    bool      `json:"ok"`
}

type Bounds struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

type inner struct {
	N     int      `json:"n"`
	Words []inner2 `json:"words"`
}

type inner2 struct {
	W string  `json:"w"`
	F float64 `json:"f"`
}

// What is shredded assembles to the same record: zero is not null, an empty
// list is not a missing one, at every depth.
func TestShredRoundTrip(t *testing.T) {
	l, err := layoutOf(reflect.TypeFor[nested]())
	if err != nil {
		t.Fatal(err)
	}
	words := rapid.Custom(func(t *rapid.T) inner2 {
		return inner2{rapid.String().Draw(t, "w"), rapid.Float64Range(-1, 1).Draw(t, "f")}
	})
	list := func(t *rapid.T, name string) bool { return rapid.Bool().Draw(t, name+" is null") }
	innerGen := rapid.Custom(func(t *rapid.T) inner {
		i := inner{N: rapid.IntRange(-2, 2).Draw(t, "n")}
		if !list(t, "words") {
			i.Words = rapid.SliceOfN(words, 0, 3).Draw(t, "words")
		}
		return i
	})
	rapid.Check(t, func(t *rapid.T) {
		want := nested{Bounds: Bounds{rapid.IntRange(0, 2).Draw(t, "start"), 0}, OK: rapid.Bool().Draw(t, "ok"),
			Note: rapid.Ptr(rapid.String(), true).Draw(t, "note"), Share: rapid.Ptr(rapid.Float64Range(0, 1), true).Draw(t, "share"),
			Maybe: rapid.Ptr(innerGen, true).Draw(t, "maybe")}
		if !list(t, "tags") {
			want.Tags = rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, "tags")
		}
		if !list(t, "deep") {
			want.Deep = rapid.SliceOfN(innerGen, 0, 3).Draw(t, "deep")
		}
		if !list(t, "lists") {
			want.Lists = rapid.SliceOfN(rapid.SliceOfN(rapid.Int(), 0, 3), 0, 3).Draw(t, "lists")
		}
		if !list(t, "many") {
			want.Many = rapid.SliceOfN(rapid.Ptr(rapid.String(), true), 0, 3).Draw(t, "many")
		}
		row := l.shred(reflect.ValueOf(want), make([][]parquet.Value, l.leaves), nil)
		var got nested
		if err := l.assemble(row, reflect.ValueOf(&got).Elem()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

// A row that does not fit is refused, not read half.
func TestAssembleRefuses(t *testing.T) {
	l, err := layoutOf(reflect.TypeFor[nested]())
	if err != nil {
		t.Fatal(err)
	}
	good := l.shred(reflect.ValueOf(nested{Tags: []string{"a", "b"}, Deep: []inner{{1, []inner2{{"x", 1}}}}}), make([][]parquet.Value, l.leaves), nil)
	rapid.Check(t, func(t *rapid.T) {
		row := append(parquet.Row{}, good...)
		i := rapid.IntRange(0, len(row)-1).Draw(t, "value")
		switch rapid.IntRange(0, 3).Draw(t, "damage") {
		case 0:
			row = append(row[:i], row[i+1:]...)
		case 1:
			row[i] = row[i].Level(rapid.IntRange(0, 3).Draw(t, "rep"), rapid.IntRange(0, 6).Draw(t, "def"), row[i].Column())
		case 2:
			row[i] = row[i].Level(row[i].RepetitionLevel(), row[i].DefinitionLevel(), rapid.IntRange(0, l.leaves+1).Draw(t, "column"))
		case 3:
			row = append(row, row[i])
		}
		var got nested
		_ = l.assemble(row, reflect.ValueOf(&got).Elem()) // must not panic
	})
}

func TestReleasedRecordsHaveLayouts(t *testing.T) {
	for _, typ := range []reflect.Type{reflect.TypeFor[schemas.Example]()} {
		l, err := layoutOf(typ)
		if err != nil {
			t.Errorf("%s: %v", typ, err)
			continue
		}
		for _, c := range l.schema.Columns() {
			if leaf, _ := l.schema.Lookup(c...); leaf.MaxDefinitionLevel == 0 {
				t.Errorf("%s: column %v is required", typ, c)
			}
		}
	}
}
