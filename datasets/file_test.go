// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"

	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/schemas"
)

func TestFileOfOneTable(t *testing.T) {
	story, failed := "Zoë sat.\n", "refusal: no"
	rows := []schemas.Generated{
		{ID: 1, GeneratedID: "p1/m", GeneratedStory: &story, Notes: []string{}, LogProbs: json.RawMessage(`{}`)},
		{ID: 2, GeneratedID: "p2/m", GenerationError: &failed, Settings: []schemas.KeyValue{{Key: "top_k", Value: "20"}}},
	}
	seq := func() iter.Seq2[schemas.Generated, error] {
		return func(yield func(schemas.Generated, error) bool) {
			for _, r := range rows {
				if !yield(r, nil) {
					return
				}
			}
		}
	}
	var buf bytes.Buffer
	n, err := WriteFile(&buf, seq(), [2]string{"retcon.record", "generated"})
	if err != nil || n != 2 {
		t.Fatalf("%d rows, %v", n, err)
	}
	path := filepath.Join(t.TempDir(), "g.parquet")
	if err := os.WriteFile(path, buf.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	rows[0].LogProbs = nil // raw JSON has no column
	var got []schemas.Generated
	for g, err := range ReadFile[schemas.Generated](path) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, g)
	}
	if diff := cmp.Diff(rows, got); diff != "" {
		t.Errorf("read back (-written +read):\n%s", diff)
	}
	var stories []any
	for m, err := range AnyRows(path) {
		if err != nil {
			t.Fatal(err)
		}
		stories = append(stories, m["generated_story"], m["generation_error"])
	}
	if diff := cmp.Diff([]any{story, nil, nil, failed}, stories); diff != "" {
		t.Errorf("as any rows: %s", diff)
	}
	for name, bad := range map[string][]byte{"cut": buf.Bytes()[:buf.Len()/2], "empty": nil, "text": []byte("id,story\n")} {
		if err := os.WriteFile(path, bad, 0o644); err != nil {
			t.Fatal(err)
		}
		var last error
		for _, err := range AnyRows(path) {
			last = err
		}
		if last == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestAnyRowsText reads columns of text that is none, columns of bytes, and a
// packed file.
func TestAnyRowsText(t *testing.T) {
	type part struct {
		Said string `parquet:"said"`
	}
	type row struct {
		ID    string   `parquet:"id"`
		Label string   `parquet:"label,optional,enum"`
		Image []byte   `parquet:"image"`
		Tags  []string `parquet:"tags,list"`
		Part  part     `parquet:"part"`
	}
	good := row{ID: "a", Label: "x", Image: []byte("Zoë"), Tags: []string{"ü"}, Part: part{"é"}}
	for _, c := range []struct {
		name   string
		change func(*row)
		want   string
	}{
		{"all well", func(*row) {}, ""},
		{"bytes are bytes", func(r *row) { r.Image = []byte{0xff} }, ""},
		{"text", func(r *row) { r.ID = "M\xe4dchen" }, "row 2: column id: invalid UTF-8"},
		{"enum", func(r *row) { r.Label = "\xff" }, "row 2: column label: invalid UTF-8"},
		{"list", func(r *row) { r.Tags = []string{"a", "\xff"} }, "row 2: column tags.list.element: invalid UTF-8"},
		{"group", func(r *row) { r.Part.Said = "\xff" }, "row 2: column part.said: invalid UTF-8"},
	} {
		var buf bytes.Buffer
		w := parquet.NewGenericWriter[row](&buf)
		second := good
		c.change(&second)
		_, err := w.Write([]row{good, second})
		if err = errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "a.parquet")
		if err := os.WriteFile(path, buf.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		enc, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path+".zst", enc.EncodeAll(buf.Bytes(), nil), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, p := range []string{path, path + ".zst"} {
			n, last := 0, error(nil)
			for m, err := range AnyRows(p) {
				if last = err; err != nil {
					break
				}
				image := any(string(second.Image))
				if n == 0 {
					image = "Zoë"
				} else if c.name == "bytes are bytes" {
					image = second.Image
				}
				if diff := cmp.Diff(image, m["image"]); diff != "" {
					t.Errorf("%s: row %d: %s", c.name, n, diff)
				}
				n++
			}
			switch {
			case c.want == "" && (last != nil || n != 2):
				t.Errorf("%s: %d rows, %v", c.name, n, last)
			case c.want != "" && (n != 1 || fetch.KindOf(last) != fetch.Input || !strings.HasSuffix(fmt.Sprint(last), p+": "+c.want)):
				t.Errorf("%s: %d rows and then %v, want %s", c.name, n, last, c.want)
			}
		}
	}
}

// TestAnyRowsMaps: the values of a map are plain too, however deep.
func TestAnyRowsMaps(t *testing.T) {
	type said struct {
		Words []string `parquet:"words,list"`
		By    *string  `parquet:"by,optional"`
	}
	type row struct {
		Text map[string]string `parquet:"text"`
		Said map[string]said   `parquet:"said"`
	}
	who := "Zoë"
	var buf bytes.Buffer
	w := parquet.NewGenericWriter[row](&buf)
	_, err := w.Write([]row{{map[string]string{"en": "Once"}, map[string]said{"a": {[]string{"b", "c"}, &who}, "d": {}}}})
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a.parquet")
	if err := os.WriteFile(path, buf.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	for m, err := range AnyRows(path) {
		if err != nil {
			t.Fatal(err)
		}
		js, err := json.Marshal(m)
		want := `{"said":{"a":{"by":"Zoë","words":{"list":[{"element":"b"},{"element":"c"}]}},"d":{"by":null,"words":{"list":[]}}},"text":{"en":"Once"}}`
		if err != nil || string(js) != want {
			t.Errorf("%s, %v, want %s", js, err, want)
		}
	}
}
