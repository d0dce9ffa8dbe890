// SPDX-License-Identifier: Apache-2.0

package arrowio

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/retcon-bench/retcon/datasets"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/splits"
)

const canary = "4f1c7a52-90de-4b7e-8f39-6d2b1c05e8a7"

// rows are n originals with all that makes encoding hard: empty lists, nulls,
// characters of one to four bytes, a long text.
func rows(t *testing.T, n int) []schemas.Example {
	var out []schemas.Example
	for i := range n {
		text := fmt.Sprintf("Zoë’s 👒 hat number %d fell. “Ah!” she said. 李雷 laughed.%s", i, strings.Repeat(" The road went on.", i*7%50))
		s := schemas.Story{StoryID: fmt.Sprintf("tales:%04d", i), GroupID: fmt.Sprintf("tales:%04d", i), TextHash: schemas.HashText(text), Language: "en",
			Words: len(strings.Fields(text)), Text: text,
			Source: schemas.Source{Corpus: "tales", ID: fmt.Sprint(i), Licence: "CC0-1.0", Redistribute: schemas.RedistributeText}}
		e, err := splits.Original(s, splits.Choice{Config: "c", Split: "test", Variant: schemas.VariantOriginal}, splits.Stamp{Version: "1.0.0", Canary: canary})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b schemas.Example) int { return cmp.Compare(a.ExampleID, b.ExampleID) })
	return out
}

func release(t *testing.T, list []schemas.Example, second datasets.SecondReader) (*datasets.Release, error) {
	r := schemas.DefaultRecipe()
	r.Name, r.Version, r.Date, r.Canary = "hats", "1.0.0", "2026-11-29", canary
	r.Release.RowsPerShard = 1500
	m := schemas.Manifest{Format: 1, Name: r.Name, Version: r.Version, Date: r.Date, Canary: r.Canary, Recipe: r, State: schemas.StateComplete,
		Corpora: []schemas.CorpusUse{{Name: "tales", Licence: "CC0-1.0"}}}
	m.RecipeHash, _ = datasets.RecipeHash(r)
	dir := filepath.Join(t.TempDir(), "r")
	tables := []datasets.Table{
		datasets.NewTable("flawed_fictions", "test", "example", seq(list)),
		datasets.NewTable("flawed_fictions_long", "test", "example", seq[schemas.Example](nil)),
	}
	if _, err := datasets.Write(context.Background(), dir, m, tables, datasets.WriteOptions{Second: second}); err != nil {
		return nil, err
	}
	return datasets.Open(dir)
}

func seq[T any](list []T) func(func(T, error) bool) {
	return func(yield func(T, error) bool) {
		for _, v := range list {
			if !yield(v, nil) {
				return
			}
		}
	}
}

// What the second library reads is what was written, over pages, row groups
// and shards.
func TestSecondReader(t *testing.T) {
	list := rows(t, 2100)
	if _, err := release(t, list, Columns); err != nil {
		t.Fatal(err)
	}
	// A second reader that reads something else stops the release.
	for name, spoil := range map[string]func(c *datasets.LeafColumn){
		"another character": func(c *datasets.LeafColumn) {
			if c.Path == "story" {
				c.Strings[7] += "x"
			}
		},
		"null for an empty list": func(c *datasets.LeafColumn) {
			if strings.HasPrefix(c.Path, "edits.") {
				c.Def[3]--
			}
		},
		"a row less": func(c *datasets.LeafColumn) {
			if c.Path == "words" {
				c.Def, c.Ints = c.Def[1:], c.Ints[1:]
			}
		},
	} {
		bad := func(path string, see func(datasets.LeafColumn) error) error {
			return Columns(path, func(c datasets.LeafColumn) error {
				spoil(&c)
				return see(c)
			})
		}
		if _, err := release(t, list[:50], bad); err == nil || !strings.Contains(err.Error(), "another library") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Damage is an error of the second reader too, not a panic.
func TestColumnsOfDamagedFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.parquet")
	for _, b := range []string{"", "PAR1\x00\x00\x00\x00", "PAR1" + strings.Repeat("x", 200) + "\xff\xff\xff\x7fPAR1"} {
		if err := os.WriteFile(path, []byte(b), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := Columns(path, func(datasets.LeafColumn) error { return nil }); err == nil {
			t.Errorf("%q was read", b)
		}
	}
}

// An exported split holds the rows as JSON has them, null and empty apart.
func TestExport(t *testing.T) {
	list := rows(t, 1234)
	list[5].Edits, list[6].Sentences = nil, list[6].Sentences[:len(list[6].Sentences):len(list[6].Sentences)]
	r, err := release(t, list, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "arrow")
	files, err := Export(context.Background(), r, dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 2 || files[0].Path != "flawed_fictions/test.arrow" || files[0].Rows != 1234 || files[1].Rows != 0 {
		t.Fatalf("files %+v", files)
	}
	f, err := os.Open(filepath.Join(dir, files[0].Path))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in, err := ipc.NewFileReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	at := 0
	for i := range in.NumRecords() {
		rec, err := in.RecordBatch(i)
		if err != nil {
			t.Fatal(err)
		}
		st := array.RecordToStructArray(rec)
		js, err := st.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var got []schemas.Example
		if err := json.Unmarshal(js, &got); err != nil {
			t.Fatal(err)
		}
		for _, e := range got {
			a, _ := json.Marshal(e)
			b, _ := json.Marshal(list[at])
			if string(a) != string(b) {
				t.Fatalf("row %d:\n%s\nwant\n%s", at, a, b)
			}
			at++
		}
	}
	if at != len(list) {
		t.Errorf("%d rows", at)
	}
	if _, err := Export(context.Background(), r, dir); err == nil {
		t.Error("a folder that holds something was overwritten")
	}
}
