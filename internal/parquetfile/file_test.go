// SPDX-License-Identifier: Apache-2.0

package parquetfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"

	"github.com/retcon-bench/retcon/internal/fetch"
)

func rows(path string) iter.Seq2[map[string]any, error] { return Rows(fetch.OneFile(path)) }

// TestFilesOfOthers reads what other programs write (testdata/make.py) and
// what cannot be read without loss. Every fault names the file.
func TestFilesOfOthers(t *testing.T) {
	for _, c := range []struct {
		file, want string // rows as JSON, then the error without the file's name
	}{
		{"twice-pyarrow", `: column "text" stands twice; rename one`},
		{"twice-inside-pyarrow", `: field "x" stands twice in column "s"; rename one`},
		{"none-pyarrow", `: the table has no columns (and no rows): was it written from an empty one?`},
		{"none-pandas", `: the table has no columns (and no rows): was it written from an empty one?`},
		{"none-polars", `: the table has no columns (and no rows): was it written from an empty one?`},
		{"bytes-pyarrow", `{"id":"a","text":"café"}: row 2: column text: invalid UTF-8 in a column of bytes: write it as text, or leave it out`},
		{"bytes-polars", `{"id":"a","text":"café"}: row 2: column text: invalid UTF-8 in a column of bytes: write it as text, or leave it out`},
		{"bytes-duckdb", `{"id":"a","text":"café"}: row 2: column text: invalid UTF-8 in a column of bytes: write it as text, or leave it out`},
		{"bytes-in-list-pyarrow", `{"id":"a","l":["ok"]}: row 2: column l.list.element: invalid UTF-8 in a column of bytes: write it as text, or leave it out`},
		{"zero-pyarrow", ``},
		{"none-rows-pandas", ``},
		{"groups-pyarrow", `{"example_id":"a","label":"error"}{"example_id":"b","label":"consistent"}`},
		{"maps-pyarrow", `{"list":{"a":["x",null],"b":[],"c":null},"lists":[{"a":1}],"map":{"a":{"1":"x"}},"struct":{"a":{"n":[[1],[]],"w":["x"]}}}` +
			`{"list":null,"lists":[null,{}],"map":{},"struct":{"b":null}}` + `{"list":{},"lists":[],"map":null,"struct":null}`},
		{"key-twice-pyarrow", `{"m":{"a":1}}: row 2: column m: key "a" stands twice in a map, or is null`},
		{"numbers-pyarrow", `{"dec":-1.25,"half":-1.5,"ids":["30313233-3435-3637-3839-616263646566"],"small":5.9604645e-8,"u32":4294967295,"u64":18446744073709551615}`},
		{"int96-pyarrow", `{"t":-1}{"t":86400000000001}`},
		{"wide-pyarrow", `: row group 0 needs more than 2048 MiB for one page of each column: write smaller pages or row groups`},
		{"types-duckdb", `{"e":"y","id":"f81d4fae-7dec-11d0-a765-00a0c91e6bf6","j":{"a":1},"l":[1,2],"m":{"a":1},"n":1.5,"s":{"x":1},"x":null}`},
	} {
		path := filepath.Join("testdata", c.file+".parquet")
		var got strings.Builder
		for m, err := range rows(path) {
			if err != nil {
				rest, ok := strings.CutPrefix(err.Error(), "read "+path)
				if !ok || fetch.KindOf(err) != fetch.Input {
					t.Errorf("%s: %v does not name the file, or is not of the kind input", c.file, err)
				}
				got.WriteString(rest)
				break
			}
			js, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			got.Write(js)
		}
		if got.String() != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.file, got.String(), c.want)
		}
	}
}

// TestCompressions: what is read is what was written, and LZ4, which the library
// reads wrong, is refused.
func TestCompressions(t *testing.T) {
	for _, codec := range []string{"snappy", "gzip", "brotli", "zstd", "lz4"} {
		n, fault := 0, ""
		for m, err := range rows(filepath.Join("testdata", codec+"-pyarrow.parquet")) {
			if err != nil {
				fault = err.Error()
				break
			}
			if m["id"] != fmt.Sprint(n) {
				t.Errorf("%s: row %d is %v", codec, n, m)
			}
			n++
		}
		if want := `lz4-pyarrow.parquet: column "id" is compressed with LZ4_RAW, which cannot be read here`; codec == "lz4" {
			if n > 0 || !strings.Contains(fault, want) {
				t.Errorf("%d rows, %s, want %s", n, fault, want)
			}
		} else if n != 400 || fault != "" {
			t.Errorf("%s: %d rows, %s", codec, n, fault)
		}
	}
}

// TestLongPage: writers that are told to put many rows into a group put them
// into one page, if there is little to say of them.
func TestLongPage(t *testing.T) {
	n := 0
	for m, err := range rows("testdata/long-page-pyarrow.parquet") {
		if err != nil || m["b"] != true {
			t.Fatal(m, err)
		}
		if n++; n == 100 {
			return
		}
	}
	t.Errorf("%d rows", n)
}

// TestLongStatistics: a page header that holds two long texts is read whole,
// however it lies in the file.
func TestLongStatistics(t *testing.T) {
	type row struct {
		Text string `parquet:"text"`
	}
	long := strings.Repeat("a story ", 100_000)
	var buf bytes.Buffer
	w := parquet.NewGenericWriter[row](&buf, parquet.DataPageStatistics(true), parquet.ColumnIndexSizeLimit(func([]string) int { return 1 << 30 }))
	_, err := w.Write([]row{{long + "a"}, {long + "b"}})
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a.parquet")
	if err := os.WriteFile(path, buf.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	meta, _, err := Footer(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		t.Fatal(err)
	}
	m := meta.RowGroups[0].Columns[0].MetaData
	if head, err := ReadPageHead(buf.Bytes()[m.DataPageOffset:], m.TotalCompressedSize); err != nil || head.Header < len(long) {
		t.Fatalf("a header of %d bytes, %v: this tests nothing", head.Header, err)
	}
	n := 0
	for _, err := range rows(path) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 2 {
		t.Errorf("%d rows", n)
	}
}

// drain reads all rows from bytes and returns the error.
func drain(data []byte) error {
	f, err := Open(bytes.NewReader(data), int64(len(data)))
	if err == nil {
		_, err = f.Each(func(r parquet.Row) (bool, error) {
			_, err := f.Map(r)
			return err == nil, err
		})
	}
	return err
}

func says(err error, words ...string) bool {
	return err != nil && slices.ContainsFunc(words, func(w string) bool { return strings.Contains(err.Error(), w) })
}

// TestDamage changes every byte of files in turn: rows or an error come out,
// and no text of a panic.
func TestDamage(t *testing.T) {
	for _, name := range []string{"bytes-polars", "types-duckdb"} {
		data, err := os.ReadFile(filepath.Join("testdata", name+".parquet"))
		if err != nil {
			t.Fatal(err)
		}
		for i := range data {
			bad := bytes.Clone(data)
			bad[i] ^= 0x55
			if err := drain(bad); says(err, "runtime error", "reflect") {
				t.Errorf("%s: byte %d: %v", name, i, err)
			}
		}
	}
}

// FuzzFile: whatever the bytes are, rows or an error come out.
func FuzzFile(f *testing.F) {
	files, err := filepath.Glob("testdata/*.parquet")
	if err != nil || len(files) == 0 {
		f.Fatal(err, "no files")
	}
	for _, name := range files {
		if strings.Contains(name, "long-page") { // five million rows
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := drain(data); says(err, "runtime error", "reflect") {
			t.Error(err)
		}
	})
}

// TestGuard: whatever a panic holds, its text stays inside.
func TestGuard(t *testing.T) {
	for _, v := range []any{"reflect: call of nil", errors.New("oops"), 7} {
		err := Guard(func() error { panic(v) })
		if err == nil || strings.Contains(err.Error(), fmt.Sprint(v)) {
			t.Errorf("%v: %v", v, err)
		}
	}
	err := Guard(func() error { var list []int; return fmt.Errorf("%d", list[len(list)]) })
	var p *Panic
	if !errors.As(err, &p) || strings.Contains(err.Error(), "runtime") {
		t.Fatal(err)
	}
	if _, ok := p.Value.(runtime.Error); !ok {
		t.Errorf("the value is %T", p.Value)
	}
}

// TestText reads columns of text that is none, columns of bytes, and a
// packed file.
func TestText(t *testing.T) {
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
		{"bytes", func(r *row) { r.Image = []byte{0xff} }, "row 2: column image: invalid UTF-8 in a column of bytes: write it as text, or leave it out"},
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
			for m, err := range rows(p) {
				if last = err; err != nil {
					break
				}
				if diff := cmp.Diff(any("Zoë"), m["image"]); diff != "" {
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

// TestOldLists reads lists as older writers have them: the element itself
// repeats, whether it is a value or a group.
func TestOldLists(t *testing.T) {
	list := func(inner parquet.Node) parquet.Node {
		return parquet.Optional(oldList{parquet.Group{"array": parquet.Repeated(inner)}})
	}
	schema := parquet.NewSchema("old", parquet.Group{
		"groups": list(parquet.Group{"x": parquet.Optional(parquet.String())}),
		"values": list(parquet.String()),
	})
	var buf bytes.Buffer
	w := parquet.NewWriter(&buf, schema)
	value := func(column, rep, def int, text string) parquet.Value {
		if text == "" {
			return parquet.NullValue().Level(rep, def, column)
		}
		return parquet.ByteArrayValue([]byte(text)).Level(rep, def, column)
	}
	_, err := w.WriteRows([]parquet.Row{
		{value(0, 0, 3, "a"), value(0, 1, 2, ""), value(1, 0, 2, "b"), value(1, 1, 2, "c")},
		{value(0, 0, 1, ""), value(1, 0, 0, "")},
	})
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a.parquet")
	if err := os.WriteFile(path, buf.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for m, err := range rows(path) {
		if err != nil {
			t.Fatal(err)
		}
		js, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		got.Write(js)
	}
	if want := `{"groups":[{"x":"a"},{"x":null}],"values":["b","c"]}{"groups":[],"values":null}`; got.String() != want {
		t.Errorf("got  %s\nwant %s", got.String(), want)
	}
}

// oldList is said to be a list, whatever its form.
type oldList struct{ parquet.Group }

func (oldList) Type() parquet.Type { return parquet.List(parquet.String()).Type() }

// TestMaps: the values of a map are plain too, however deep.
func TestMaps(t *testing.T) {
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
	for m, err := range rows(path) {
		if err != nil {
			t.Fatal(err)
		}
		js, err := json.Marshal(m)
		want := `{"said":{"a":{"by":"Zoë","words":["b","c"]},"d":{"by":null,"words":[]}},"text":{"en":"Once"}}`
		if err != nil || string(js) != want {
			t.Errorf("%s, %v, want %s", js, err, want)
		}
	}
}
