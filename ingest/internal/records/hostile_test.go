// SPDX-License-Identifier: Apache-2.0

package records_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/retcon-bench/retcon/ingest"
	"github.com/retcon-bench/retcon/ingest/internal/records"
	"github.com/retcon-bench/retcon/ingest/internal/records/recordstest"
	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/schemas"
)

// toy is a corpus of {id, text} with lists that may be of any type.
var toySource = &records.Source{Corpus: "toy", Where: "nowhere", Terms: toyTerms, Keys: [][]string{{"id", "text"}}}

var toyTerms = ingest.Terms{Licence: "CC0-1.0", LicenceURL: "x", Redistribute: schemas.RedistributeText, Attribution: "nobody"}

var toy = ingest.Corpus{
	Name: "toy", Terms: toyTerms, Defaults: json.RawMessage(`{}`),
	Open: func(ctx context.Context, root string, _ json.RawMessage) iter.Seq2[ingest.Item, error] {
		return toySource.Stream(ctx, root, toyFile(ctx))
	},
}

func toyFile(ctx context.Context) func(o *records.Opened) iter.Seq2[ingest.Item, error] {
	return func(o *records.Opened) iter.Seq2[ingest.Item, error] {
		if !o.Fits {
			return toySource.NotOurs(o)
		}
		return toySource.Items(ctx, o, func(b *ingest.Batch, r records.Row) {
			var v struct {
				ID   records.String  `json:"id"`
				Text records.String  `json:"text"`
				Tags records.Strings `json:"tags"`
				Done records.Bool    `json:"done"`
				Sub  records.List[struct {
					Name records.String `json:"name"`
				}] `json:"sub"`
			}
			if reason, err := r.Decode(&v); err != nil {
				toySource.Bad(b, r, "", reason, err.Error())
				return
			}
			st := toySource.Story(r, string(v.ID), schemas.KindStory, "", "en", string(v.Text))
			if st.Text == "" {
				toySource.Skip(b, r, st.StoryID, records.ReasonEmpty, "no text")
				return
			}
			records.Add(&st, "tags", strings.Join(v.Tags, "|"))
			records.Add(&st, "subs", fmt.Sprint(len(v.Sub)))
			b.Stories = append(b.Stories, st)
		})
	}
}

// TestHostileFiles gives each kind of damage that public files and readers
// show. What can be read is read; what cannot is set aside with file, line and
// reason, and the run goes on.
func TestHostileFiles(t *testing.T) {
	for _, tt := range []struct{ name, file, data, want string }{
		{"good lines", "a.jsonl", `{"id":"1","text":"One."}` + "\n" + `{"id":"2","text":"Two."}`, `
story toy:1
story toy:2
rows 2 bad 0`},
		{"byte order mark and CRLF", "a.jsonl", "\xef\xbb\xbf" + `{"id":"1","text":"One.\r\nMore."}` + "\r\n" + `{"id":"2","text":"Two."}` + "\r\n\r\n", `
story toy:1
story toy:2
rows 2 bad 0`},
		{"a broken line between good ones", "a.jsonl", `{"id":"1","text":"One."}` + "\n" + `{"id":"2","text":"Tw` + "\n" + `{"id":"3","text":"Three."}` + "\n", `
story toy:1
story toy:3
- bad_json toy:a.jsonl:2
rows 3 bad 1`},
		{"the first line broken", "a.jsonl", `{"id":"1","text":"One.` + "\n" + `{"id":"3","text":"Three."}` + "\n", `
story toy:3
- bad_json toy:a.jsonl:1
rows 2 bad 1`},
		{"lines cut off", "a.jsonl", `{"id":"1","text":"One."}` + "\n" + `{"id":"2","te`, `
story toy:1
- bad_json toy:a.jsonl:2
rows 2 bad 1`},
		{"an array cut off in a record", "a.json", `[{"id":"1","text":"One."},` + "\n" + `{"id":"2","text":"Tw`, `
story toy:1
- cut_off toy:a.json
rows 2 bad 1`},
		{"an array cut off between records", "a.json", `[{"id":"1","text":"One."},`, `
story toy:1
- cut_off toy:a.json
rows 2 bad 1`},
		{"an array with a broken record", "a.json", `[{"id":"1","text":"One."}, {"id":"2" "text":3}, {"id":"3","text":"Three."}]`, `
story toy:1
story toy:3
- bad_json toy:a.json:1
rows 3 bad 1`},
		{"numbers, booleans and nulls for strings", "a.jsonl", `{"id":16.0,"text":"One.","done":1,"tags":null}` + "\n" + `{"id":17,"text":"Two.","done":"True","tags":"x"}` + "\n" + `{"id":"18","text":null,"done":null}`, `
story toy:16
story toy:17
- empty toy:18
rows 3 bad 0`},
		{"objects for strings", "a.jsonl", `{"id":"1","text":"One."}` + "\n" + `{"id":"2","text":{"a":1}}` + "\n" + `{"id":["3"],"text":"x"}` + "\n" + `{"id":"4","text":"x","done":"maybe"}`, `
story toy:1
- wrong_type toy:a.jsonl:2
- wrong_type toy:a.jsonl:3
- wrong_type toy:a.jsonl:4
rows 4 bad 3`},
		{"records that are no objects", "a.jsonl", `{"id":"1","text":"One."}` + "\n[1,2]\n\"x\"\nnull\n7", `
story toy:1
- wrong_type toy:a.jsonl:2
- wrong_type toy:a.jsonl:3
- empty toy:
- wrong_type toy:a.jsonl:5
rows 5 bad 3`},
		{"nested nulls, and a list in a string", "a.jsonl", `{"id":"1","text":"One.","sub":[null,{"name":null},{}],"tags":[null,"a",2]}` + "\n" + `{"id":"2","text":"Two.","sub":"[{\"name\":\"x\"}]"}` + "\n" + `{"id":"3","text":"T","sub":"oops"}`, `
story toy:1
story toy:2
- wrong_type toy:a.jsonl:3
rows 3 bad 1`},
		{"NaN as Python writes it", "a.jsonl", `{"id":NaN,"text":"Not a NaN, \"Infinity\".","done":-Infinity}`, `
story toy:
rows 1 bad 0`},
		{"half an emoji", "a.jsonl", `{"id":"1","text":"cut \ud83d here, \\ud83d stays, \ud83d\ude00 whole, \ude00 low"}`, `
story toy:1
rows 1 bad 0`},
		{"a table", "a.csv", "id,text\r\n1,\"One,\nwith \"\"quotes\"\".\"\r\n2,Two.,\r\n3\r\n4,Four.,x\r\n5,\"Five.", `
story toy:1
story toy:2
- bad_row toy:a.csv:5
- bad_row toy:a.csv:6
- bad_row toy:a.csv:7
rows 5 bad 3`},
		{"tabs and bare quotes", "a.tsv", "id\ttext\n\"1\t\"Yes,\" she said.\n2\tThe \"old\" king.\n", `
story toy:"1
story toy:2
rows 2 bad 0`},
		{"tabs and quoting", "a.dat", "id\ttext\n1\t\"Yes,\n\"\"no\"\".\"\n2\tTwo.\n", `
story toy:1
story toy:2
rows 2 bad 0`},
		{"columns without names", "a.csv", ",id,text,\n0,1,One.,x\n", `
story toy:1
rows 1 bad 0`},
		{"a column twice", "a.csv", "id,text,text\n1,One.,Two.\n", `
- unreadable toy:a.csv
rows 1 bad 1`},
		{"a key twice", "a.jsonl", `{"id":"1","text":"One."}` + "\n" + `{"id":"2","text":"Two.","text":"Three."}`, `
story toy:1
- bad_json toy:a.jsonl:2
rows 2 bad 1`},
		{"tabs under any name", "a.dat", "text\tid\nOne.\t1\n", `
story toy:1
rows 1 bad 0`},
		{"an object around the array", "a.json", `{"version": 2, "rows": {"n": [1]}, "data": [ {"id":"1","text":"One."} ], "x": []}`, `
story toy:1
rows 1 bad 0`},
		{"an array that looks like text, text that looks like an array", "a.txt", "[ WP ] You wake up .\n", `
- other_file toy:a.txt
rows 0 bad 0`},
		{"other records", "a.jsonl", `{"question":"x"}` + "\n", `
- other_file toy:a.jsonl
rows 0 bad 0`},
		{"settings, pretty-printed", "a.json", "{\n  \"id\": 3,\n  \"b\": {}\n}\n", `
- other_file toy:a.json
rows 0 bad 0`},
		{"nothing", "a.jsonl", " \n", `
- other_file toy:a.jsonl
rows 0 bad 0`},
		{"UTF-16", "a.jsonl", "\xff\xfe{\x00\"\x00i\x00", `
- other_file toy:a.jsonl
rows 0 bad 0`},
		{"Parquet cut off", "a.parquet", "PAR1\x00\x00\x00\x00", `
- cut_off toy:a.parquet
rows 1 bad 1`},
		{"Parquet with a wild footer", "a.parquet", "PAR1" + strings.Repeat("\xff", 40) + "\x24\x00\x00\x00PAR1", `
- cut_off toy:a.parquet
rows 1 bad 1`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := read(t, map[string]string{tt.file: tt.data})
			if got := r.Summary(); got != strings.TrimPrefix(tt.want, "\n")+"\n" {
				t.Errorf("got\n%s\nwant%s\n%+v", got, tt.want, r.Dropped)
			}
			for _, d := range r.Dropped {
				if !strings.HasPrefix(d.Detail, tt.file+":") {
					t.Errorf("detail does not name the file: %q", d.Detail)
				}
			}
		})
	}
}

// read reads the toy corpus. Ids may be empty there, so the rules of stories
// are not checked.
func read(t *testing.T, files map[string]string) recordstest.Result {
	t.Helper()
	r := recordstest.Result{}
	for it, err := range toy.Open(t.Context(), recordstest.Tree(t, files), nil) {
		if err != nil {
			t.Fatal(err)
		}
		b, err := it.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r.Stories = append(r.Stories, b.Stories...)
		r.Dropped = append(r.Dropped, b.Dropped...)
		r.Files = append(r.Files, b.Files...)
		r.Rows, r.Bad = r.Rows+b.Rows, r.Bad+b.Bad
	}
	return r
}

// TestTextsAreMended: each record is decoded for itself, nothing becomes
// U+FFFD, and what was mended is counted.
func TestTextsAreMended(t *testing.T) {
	r := read(t, map[string]string{"a.jsonl": strings.Join([]string{
		`{"id":"1","text":"Esm` + "\xe9" + `"}`,
		`{"id":"2","text":"` + "“Esmé” — and caf\xe9, “twice”" + `"}`,
		`{"id":"3","text":"cut \ud83d here, \\ud83d stays, \ud83d\ude00 whole, \ude00 low"}`,
		`{"id":"4","text":"a\u2028b\u0000c e\u0301"}`,
		`{"id":"5","text":"kept \ufffd"}`,
	}, "\n")})
	for i, want := range []struct {
		text     string
		charset  string
		repaired int
	}{
		{"Esmé", "windows-1252", 0},
		{"“Esmé” — and café, “twice”", "utf-8", 1},
		{`cut  here, \ud83d stays, 😀 whole,  low`, "utf-8", 2},
		{"a\nbc é", "utf-8", 0},
		{"kept \ufffd", "utf-8", 0},
	} {
		s := r.Stories[i]
		if s.Text != want.text || s.Source.Charset != want.charset || s.Source.Repaired != want.repaired {
			t.Errorf("row %d: %q %s %d, want %+v", i+1, s.Text, s.Source.Charset, s.Source.Repaired, want)
		}
	}
}

// TestOneTreePackedManyWays: however files are packed, the same records come
// out, with the same hashes.
func TestOneTreePackedManyWays(t *testing.T) {
	files := map[string]string{
		"b/rows.jsonl": `{"id":"1","text":"One."}` + "\n" + `{"id":"2","text":"Two."}` + "\n",
		"b/rows.json":  `[{"id":"3","text":"Three."}]`,
		"c.csv":        "id,text\n4,Four.\n",
		"LICENSE":      "Some licence.\n",
	}
	want := ""
	for name, root := range recordstest.Packed(t, files) {
		r := recordstest.Read(t, toy, root, "")
		var sums []string
		for _, f := range r.Files {
			sums = append(sums, fmt.Sprint(f.Bytes, f.SHA256, f.Rows))
		}
		got := r.Summary()
		got = strings.ReplaceAll(got, "all.zip/", "") + strings.Join(sums, "\n")
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
}

// TestParquetRows: nested lists, nulls, bytes without the string annotation and
// any subset of the columns arrive as the JSON that says the same.
func TestParquetRows(t *testing.T) {
	type sub struct {
		Name *string `parquet:"name,optional"`
	}
	type row struct {
		ID    *int64   `parquet:"id,optional"`
		Text  []byte   `parquet:"text,optional"`
		Tags  []string `parquet:"tags,list,optional"`
		Sub   []*sub   `parquet:"sub,optional,list"`
		Extra float64  `parquet:"extra"`
	}
	name := "x"
	one, two := int64(1), int64(2)
	var buf bytes.Buffer
	w := parquet.NewGenericWriter[row](&buf)
	if _, err := w.Write([]row{
		{ID: &one, Text: []byte("One."), Tags: []string{"a", "b"}, Sub: []*sub{{&name}, {nil}}},
		{ID: &two, Text: []byte("Two.")},
	}); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil { // a second row group
		t.Fatal(err)
	}
	if _, err := w.Write([]row{{Text: []byte("Three.")}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r := read(t, map[string]string{"x/train-00000-of-00001.parquet": buf.String()})
	want := "story toy:1\nstory toy:2\nstory toy:\nrows 3 bad 0\n"
	if got := r.Summary(); got != want {
		t.Fatalf("got\n%s%+v", got, r.Dropped)
	}
	if got := recordstest.Meta(r.Stories[0], "tags") + recordstest.Meta(r.Stories[0], "subs"); got != "a|b2" {
		t.Errorf("lists: %q", got)
	}
	if r.Files[0].Rows != 3 || r.Files[0].Bytes != int64(buf.Len()) {
		t.Errorf("file: %+v", r.Files[0])
	}
	// Every flip of a byte is an error or other rows, never a panic.
	data := buf.Bytes()
	for i := 0; i < len(data); i += 7 {
		bad := bytes.Clone(data)
		bad[i] ^= 0x55
		read(t, map[string]string{"a.parquet": string(bad)})
	}
}

// TestParquetText: text that is not UTF-8 is decoded as that of other files,
// and counted; a column that stands twice is no table.
func TestParquetText(t *testing.T) {
	type row struct {
		ID   string `parquet:"id"`
		Text []byte `parquet:"text"`
	}
	var buf bytes.Buffer
	w := parquet.NewGenericWriter[row](&buf)
	_, err := w.Write([]row{{"1", []byte("Esm\xe9")}, {"2", []byte("Esmé")}, {"3", []byte(strings.Repeat("é", 2000) + "\xe9")}})
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	r := read(t, map[string]string{"a.parquet": buf.String()})
	if len(r.Stories) != 3 {
		t.Fatalf("%d stories, %+v", len(r.Stories), r.Dropped)
	}
	for i, want := range []string{"Esmé windows-1252 0", "Esmé utf-8 0", strings.Repeat("é", 2001) + " utf-8 1"} {
		if s := r.Stories[i]; fmt.Sprint(s.Text, " ", s.Source.Charset, " ", s.Source.Repaired) != want {
			t.Errorf("row %d: %q %s %d, want %s", i+1, s.Text, s.Source.Charset, s.Source.Repaired, want)
		}
	}
	twice, err := os.ReadFile("../../../internal/parquetfile/testdata/twice-pyarrow.parquet")
	if err != nil {
		t.Fatal(err)
	}
	r = read(t, map[string]string{"a.parquet": string(twice)})
	if got := r.Summary(); got != "- unreadable toy:a.parquet\nrows 1 bad 1\n" || !strings.Contains(r.Dropped[0].Detail, `column "text" stands twice`) {
		t.Errorf("%s%+v", got, r.Dropped)
	}
}

// TestLineAboveTheCap reads a line of 300 MB between two good ones in little
// memory, and sets it aside.
func TestLineAboveTheCap(t *testing.T) {
	f := fetch.File{Name: "long.jsonl", Open: func() (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(
			strings.NewReader(`{"id":"1","text":"One."}`+"\n"+`{"id":"2","text":"`),
			&repeated{b: bytes.Repeat([]byte("long "), 20_000), n: 3000},
			strings.NewReader("\"}\n"+`{"id":"3","text":"Three."}`),
		)), nil
	}}
	o, err := toySource.Look(f)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	for it, err := range toyFile(t.Context())(o) {
		if err != nil {
			t.Fatal(err)
		}
		b, _ := it.Load(t.Context())
		for _, s := range b.Stories {
			got = append(got, s.StoryID)
		}
		for _, d := range b.Dropped {
			got = append(got, d.Reason+" "+d.ID)
		}
	}
	var after runtime.MemStats
	runtime.ReadMemStats(&after)
	if want := "[toy:1 toy:3 too_large toy:long.jsonl:2]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if held := int64(after.Sys) - int64(before.Sys); held > 400<<20 {
		t.Errorf("the line took %d MB", held>>20)
	}
}

type repeated struct {
	b   []byte
	n   int
	off int
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.n == 0 {
		return 0, io.EOF
	}
	k := copy(p, r.b[r.off:])
	if r.off += k; r.off == len(r.b) {
		r.off, r.n = 0, r.n-1
	}
	return k, nil
}

// TestRowsStream: an item holds some rows, not the file.
func TestRowsStream(t *testing.T) {
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, `{"id":"%d","text":"Row %d."}`+"\n", i, i)
	}
	items, rows := 0, 0
	for it, err := range toy.Open(t.Context(), recordstest.Tree(t, map[string]string{"a.jsonl": b.String()}), nil) {
		if err != nil {
			t.Fatal(err)
		}
		batch, err := it.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		items++
		if batch.Rows > 64 {
			t.Errorf("%s holds %d rows", it.Name, batch.Rows)
		}
		rows += batch.Rows
	}
	if rows != 1000 || items < 16 {
		t.Errorf("%d rows in %d items", rows, items)
	}
}

// TestRoot: an absent or wrong root says what to do.
func TestRoot(t *testing.T) {
	for _, root := range []string{"", t.TempDir() + "/nowhere"} {
		for _, err := range toy.Open(t.Context(), root, nil) {
			if err == nil || !strings.Contains(err.Error(), "--corpus toy=PATH") {
				t.Errorf("%q: %v", root, err)
			}
		}
	}
	if _, err := records.Settings("toy", struct{ A int }{1}, json.RawMessage(`{"a":2,"b":3}`)); err == nil || !strings.Contains(err.Error(), `"b"`) {
		t.Errorf("an unknown setting: %v", err)
	}
}
