// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/retcon-bench/retcon/internal/sharedtest"
)

type rowReader func(io.Reader, RowOptions) iter.Seq2[Row, error]

// show prints what a reader yields, one line a step, through readers that hand
// out one byte, half a buffer or all, which must make no difference.
func show(t *testing.T, read rowReader, input string, opt RowOptions) string {
	t.Helper()
	var first string
	for i, r := range []io.Reader{strings.NewReader(input), iotest.OneByteReader(strings.NewReader(input)), iotest.DataErrReader(strings.NewReader(input))} {
		var b strings.Builder
		for row, err := range read(r, opt) {
			if row.Data != nil && input[row.Offset:int(row.Offset)+len(row.Data)] != string(row.Data) {
				t.Errorf("row %d: %q is not at its offset %d", row.N, row.Data, row.Offset)
			}
			switch {
			case AsRowError(err) != nil:
				fmt.Fprintf(&b, "bad %d @%d: %v\n", row.N, row.Line, err)
			case err != nil:
				fmt.Fprintf(&b, "END %v\n", err)
			case row.Fields != nil:
				fmt.Fprintf(&b, "%d @%d: %q\n", row.N, row.Line, row.Fields)
			default:
				fmt.Fprintf(&b, "%d @%d: %s\n", row.N, row.Line, row.Data)
			}
		}
		if i == 0 {
			first = b.String()
		} else if d := cmp.Diff(first, b.String()); d != "" {
			t.Errorf("reader %d gives other rows (-strings.Reader +it):\n%s", i, d)
		}
	}
	return first
}

func TestRows(t *testing.T) {
	bom := "\xef\xbb\xbf"
	long := strings.Repeat("x", 30)
	tests := []struct {
		name string
		read rowReader
		in   string
		opt  RowOptions
		want string
	}{
		{"lines keep blanks and other line breaks", Lines, bom + "a\u2028b\r\n\n\xff\x85c\rd", RowOptions{},
			"1 @1: a\u2028b\n2 @2: \n3 @3: \xff\x85c\rd\n"},
		{"csv with a CR for a line end", CSV, "a,b\r1,2\r", RowOptions{Name: "f.csv"},
			"END read f.csv: line 1: not in the format it should have: its lines end in a CR alone, as those of old Macs; save it with LF or CRLF (as CSV UTF-8)\n"},
		{"csv with a CR for a line end, quoted", CSV, "\"a\",\"b\"\r\"1\",\"x\ny\"\r", RowOptions{Name: "f.csv"},
			"END read f.csv: line 1: not in the format it should have: its lines end in a CR alone, as those of old Macs; save it with LF or CRLF (as CSV UTF-8)\n"},
		{"plain with a CR for a line end", CSV, "a\tb\r1\t2", RowOptions{Name: "f.tsv", Comma: '\t', Plain: true},
			"END read f.tsv: line 1: not in the format it should have: its lines end in a CR alone, as those of old Macs; save it with LF or CRLF (as CSV UTF-8)\n"},
		{"csv with a CR in a header's quotes, and two before LF", CSV, "\"a\rb\",c\r\r\n1,2\n", RowOptions{},
			"1 @1: [\"a\\rb\" \"c\\r\"]\n2 @2: [\"1\" \"2\"]\n"},
		{"empty", Lines, "", RowOptions{}, ""},
		{"one empty line", Lines, "\n", RowOptions{}, "1 @1: \n"},
		{"json lines", JSONLines, "{\"a\":1}\n\n  \r\n{\"a\":2}", RowOptions{},
			"1 @1: {\"a\":1}\n2 @4: {\"a\":2}\n"},
		{"latin-1 row is set aside, the next is not", JSONLines, "{\"a\":\"Esm\xe9\"}\n{\"a\":2}\n", RowOptions{Name: "f.jsonl"},
			"bad 1 @1: f.jsonl: line 1: row 1: invalid UTF-8: byte 0xe9 at byte 9 of the row\n2 @2: {\"a\":2}\n"},
		{"long line", JSONLines, "1\n\"" + long + "\"\r\n3\n" + long, RowOptions{MaxRow: 10},
			"1 @1: 1\nbad 2 @2: line 2: row 2: larger than the limit of 10 bytes for one row\n3 @3: 3\nbad 4 @4: line 4: row 4: larger than the limit of 10 bytes for one row\n"},
		{"line as long as the limit", Lines, "0123456789\r\n", RowOptions{MaxRow: 10}, "1 @1: 0123456789\n"},
		{"utf-16", JSONLines, "\xff\xfe{\x00}\x00", RowOptions{Name: "f"},
			"END read f: line 1: not in the format it should have: this is UTF-16, UTF-8 is wanted; convert it first\n"},

		{"array", JSONArray, bom + " [ {\"a\":[1,2,{\"b\":\"]}\\\"\"}]} ,\n\n\"x\\\\\",\n12.5e-3,null,[]\n] \n", RowOptions{},
			"1 @1: {\"a\":[1,2,{\"b\":\"]}\\\"\"}]}\n2 @3: \"x\\\\\"\n3 @4: 12.5e-3\n4 @4: null\n5 @4: []\n"},
		{"empty array", JSONArray, "[ ]", RowOptions{}, ""},
		{"object", JSONArray, `{"version":{"data":[9]},"n":1,"d\u0061ta":[{"a":1},{"a":2}],"more":[[]]}`, RowOptions{},
			"1 @1: {\"a\":1}\n2 @1: {\"a\":2}\n"},
		{"object with another key", JSONArray, `{"task":"t","golds":[1]}`, RowOptions{Key: "golds"}, "1 @1: 1\n"},
		{"object without the key", JSONArray, `{"task":"t","golds":[1]}`, RowOptions{},
			"END read line 1: not in the format it should have: the top-level object has no member \"data\"; it has: \"task\", \"golds\"\n"},
		{"key twice", JSONArray, `{"data":[1],"data":[2]}`, RowOptions{},
			"1 @1: 1\nEND read line 1: not in the format it should have: the member \"data\" occurs twice\n"},
		{"not utf-8", JSONArray, "[\"\xe9\",1]", RowOptions{},
			"bad 1 @1: line 1: row 1: invalid UTF-8: byte 0xe9 at byte 1 of the row\n2 @1: 1\n"},
		{"long element", JSONArray, "[1,\n{\"a\":\n\"" + long + "\"}\n,2]", RowOptions{MaxRow: 10},
			"1 @1: 1\nbad 2 @2: lines 2-3: row 2: larger than the limit of 10 bytes for one row\n3 @4: 2\n"},
		{"cut off in an element", JSONArray, "[{\"a\":1},\n{\"a\":\"x", RowOptions{Name: "f.json"},
			"1 @1: {\"a\":1}\nEND read f.json: line 2: row 2: data ends too early: the file is cut off inside a value\n"},
		{"cut off in a number", JSONArray, "[12", RowOptions{},
			"END read line 1: row 1: data ends too early: the file is cut off inside a value\n"},
		{"cut off between elements", JSONArray, "[1,2", RowOptions{},
			"1 @1: 1\nEND read line 1: row 2: data ends too early: the file is cut off inside a value\n"},
		{"cut off after a comma", JSONArray, "[[],", RowOptions{},
			"1 @1: []\nEND read line 1: data ends too early: the file is cut off where row 2 of the array from line 1 should begin\n"},
		{"trailing comma", JSONArray, "[1,]", RowOptions{},
			"1 @1: 1\nEND read line 1: not in the format it should have: row 2 of the array wanted, found \"]\" at byte 3\n"},
		{"brackets that do not fit", JSONArray, "[{},\n{\"a\":[1}]", RowOptions{},
			"1 @1: {}\nEND read line 2: row 2: not in the format it should have: '}' closes what is not open\n"},
		{"json lines as an array", JSONArray, "{\"data\":[1]}\n{\"data\":[2]}", RowOptions{},
			"1 @1: 1\nEND read line 2: not in the format it should have: the end of the file after the end of its value (JSON Lines, or several arrays in one file?) wanted, found \"{\" at byte 13\n"},
		{"empty file as an array", JSONArray, " \n", RowOptions{},
			"END read line 2: data ends too early: the file is cut off before the array begins\n"},
		{"rows of an array", JSONRows, bom + "\n [1,\n2]", RowOptions{}, "1 @2: 1\n2 @3: 2\n"},
		{"rows of lines", JSONRows, bom + "\n{}\n{}", RowOptions{}, "1 @2: {}\n2 @3: {}\n"},

		{"csv", CSV, bom + "id,text\r\n1,\"a \"\"b\"\",\r\nc\"\r\n\r\n2,\n", RowOptions{},
			"1 @1: [\"id\" \"text\"]\n2 @2: [\"1\" \"a \\\"b\\\",\\r\\nc\"]\n3 @5: [\"2\" \"\"]\n"},
		{"csv without last line end", CSV, "a,b\n\"1\",\"2\"", RowOptions{}, "1 @1: [\"a\" \"b\"]\n2 @2: [\"1\" \"2\"]\n"},
		{"csv lone CR", CSV, "a,b\n1\r2,3\r\r\n", RowOptions{}, "1 @1: [\"a\" \"b\"]\n2 @2: [\"1\\r2\" \"3\\r\"]\n"},
		{"tsv", CSV, "a\tb,c\n", RowOptions{Comma: '\t'}, "1 @1: [\"a\" \"b,c\"]\n"},
		{"ragged rows", CSV, "a,b\n1,2,\n3\n4,5\n", RowOptions{Name: "s.csv"},
			"1 @1: [\"a\" \"b\"]\nbad 2 @2: s.csv: line 2: row 2: wrong number of fields: 3 where the first row has 2\n" +
				"bad 3 @3: s.csv: line 3: row 3: wrong number of fields: 1 where the first row has 2\n4 @4: [\"4\" \"5\"]\n"},
		{"ragged rows allowed", CSV, "a,b\n1,2,\n3\n", RowOptions{Ragged: true}, "1 @1: [\"a\" \"b\"]\n2 @2: [\"1\" \"2\" \"\"]\n3 @3: [\"3\"]\n"},
		{"broken quote", CSV, "a,b\n1,\"x\ny\" z\nno,\"w\"\n", RowOptions{Name: "s.csv"},
			"1 @1: [\"a\" \"b\"]\nbad 2 @2: s.csv: lines 2-3: row 2: broken CSV quoting: \" \" after a closing quote on line 3\n3 @4: [\"no\" \"w\"]\n"},
		{"after a broken quote ragged rows are suspect", CSV, "a,b\n1,\"x\"y\ninside, the, field\n2,3\n4\n", RowOptions{Ragged: true},
			"1 @1: [\"a\" \"b\"]\nbad 2 @2: line 2: row 2: broken CSV quoting: \"y\" after a closing quote on line 2\n" +
				"bad 3 @3: line 3: row 3: wrong number of fields: 3 where the first row has 2\n4 @4: [\"2\" \"3\"]\n5 @5: [\"4\"]\n"},
		{"quote in a bare field", CSV, "a\nx\"y\nz\n", RowOptions{},
			"1 @1: [\"a\"]\nbad 2 @2: line 2: row 2: broken CSV quoting: a quote inside an unquoted field on line 2\n3 @3: [\"z\"]\n"},
		{"quote never closed", CSV, "a,b\n1,2\n3,\"4\n5,6\n", RowOptions{},
			"1 @1: [\"a\" \"b\"]\n2 @2: [\"1\" \"2\"]\nbad 3 @3: lines 3-5: row 3: broken CSV quoting: the quote opened on line 3 is not closed at the end of the file\n"},
		{"broken header", CSV, "a\"b,c\n1,2\n", RowOptions{Name: "s.csv"},
			"END read s.csv: line 1: row 1, which gives the rows their columns: broken CSV quoting: a quote inside an unquoted field on line 1\n"},
		{"long csv row", CSV, "a,b\n1,\"" + long + "\n\"\r\n2,3\n", RowOptions{MaxRow: 10},
			"1 @1: [\"a\" \"b\"]\nbad 2 @2: lines 2-3: row 2: larger than the limit of 10 bytes for one row\n3 @4: [\"2\" \"3\"]\n"},
		{"csv not utf-8", CSV, "a,b\n1,Esm\xe9\n", RowOptions{},
			"1 @1: [\"a\" \"b\"]\nbad 2 @2: line 2: row 2: invalid UTF-8: byte 0xe9 at byte 5 of the row\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, show(t, tt.read, tt.in, tt.opt)); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

// A reader that fails must not pass for the end of the data, and the half row
// it left must not pass for a row.
func TestRowsReaderFails(t *testing.T) {
	cause := &Error{"read", "f.gz", Input, ErrTruncated}
	for name, tt := range map[string]struct {
		read rowReader
		in   string
	}{
		"lines": {Lines, "1\n2"}, "json lines": {JSONLines, "1\n2"}, "array": {JSONArray, "[1,2"}, "csv": {CSV, "1\n2"},
		"array complete": {JSONArray, "[1] "}, "csv complete": {CSV, "1\n"}, "csv in quotes": {CSV, "1\n\"2"},
	} {
		var rows []string
		var last error
		for row, err := range tt.read(io.MultiReader(strings.NewReader(tt.in), iotest.ErrReader(cause)), RowOptions{Name: "f"}) {
			if last = err; err == nil {
				rows = append(rows, string(row.Data))
			}
		}
		if !slices.Equal(rows, []string{"1"}) || !errors.Is(last, ErrTruncated) || KindOf(last) != Input || AsRowError(last) != nil {
			t.Errorf("%s: rows %q, then error %v; want row 1 and the reader's error", name, rows, last)
		}
	}
}

// A consumer may leave at any row.
func TestRowsBreak(t *testing.T) {
	for _, read := range []rowReader{Lines, JSONLines, JSONArray, JSONRows, CSV} {
		n := 0
		for range read(strings.NewReader("[1,\n2]"), RowOptions{}) {
			n++
			break
		}
		if n != 1 {
			t.Errorf("%d rows after break", n)
		}
	}
}

// Escapes and quotes are where a scanner turns quadratic or loses its place.
func TestJSONArrayEscapes(t *testing.T) {
	var want []string
	for i := range 300 {
		s := strings.Repeat(`\`, i%7) + strings.Repeat(`"`, i%3) + strings.Repeat("line\n\"quoted\"\t", i%50) + strings.Repeat(`\`, i%5)
		b, _ := json.Marshal(map[string]string{"s" + s: s})
		want = append(want, string(b))
	}
	in := "[" + strings.Join(want, ",\n") + "]"
	for _, size := range []int{1, 2, 3, 7, 4096} {
		var got []string
		for row, err := range JSONArray(&chunks{s: in, n: size}, RowOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(row.Data))
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("chunks of %d (-want +got):\n%s", size, d)
		}
	}
}

type chunks struct {
	s string
	n int
}

func (c *chunks) Read(p []byte) (int, error) {
	if c.s == "" {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), c.n)], c.s)
	c.s = c.s[n:]
	return n, nil
}

// The real tables: every record of FairytaleQA and of the Gutenberg catalogue
// as encoding/csv reads them, apart from what that cannot tell.
func TestCSVReal(t *testing.T) {
	dir := sharedtest.Path(t, "corpora")
	var files []string
	for _, pattern := range []string{"fairytaleqa/*.csv", "fairytaleqa/data-by-origin/*/*/*.csv", "gutenberg/cache/epub/feeds/*.csv"} {
		m, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, m...)
	}
	if len(files) < 500 {
		t.Fatalf("%d CSV files below %s, want those of the whole sample", len(files), dir)
	}
	rows, bad := 0, 0
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		ref := csv.NewReader(bytes.NewReader(data))
		ref.FieldsPerRecord = -1
		for row, err := range CSV(bytes.NewReader(data), RowOptions{Name: filepath.Base(name), Ragged: true}) {
			want, refErr := ref.Read()
			if err != nil {
				bad++
				t.Logf("%v (encoding/csv: %v)", err, refErr)
				if AsRowError(err) == nil {
					t.Errorf("%v ends the file", err)
				}
				continue
			}
			rows++
			line, _ := ref.FieldPos(0)
			for i := range row.Fields {
				row.Fields[i] = strings.ReplaceAll(row.Fields[i], "\r\n", "\n") // encoding/csv does
			}
			if d := cmp.Diff(want, row.Fields); d != "" || refErr != nil || line != row.Line {
				t.Fatalf("%s row %d line %d (encoding/csv: line %d, %v):\n%s", name, row.N, row.Line, line, refErr, d)
			}
		}
		if _, err := ref.Read(); err != io.EOF {
			t.Errorf("%s: encoding/csv has more: %v", name, err)
		}
	}
	t.Logf("%d files, %d rows, %d set aside", len(files), rows, bad)
}

// endless hands out its pieces in turn until n bytes have passed, so that a
// file of any size costs no memory.
type endless struct {
	head, tail string
	piece      []byte
	n          int64
	off        int
	state      int
}

func (e *endless) Read(p []byte) (int, error) {
	switch {
	case e.state == 0 && e.head != "":
		n := copy(p, e.head)
		e.head = e.head[n:]
		return n, nil
	case e.n > 0 || e.off > 0:
		e.state = 1
		n := copy(p, e.piece[e.off:])
		e.off = (e.off + n) % len(e.piece)
		e.n -= int64(n)
		return n, nil
	case e.tail != "":
		n := copy(p, e.tail)
		e.tail = e.tail[n:]
		return n, nil
	}
	return 0, io.EOF
}

// Reading 200 MB allocates no more than reading 20 MB: what is held is one
// row, whatever the file's size. (The form of several GB, with peak memory as
// the system sees it, is scripts/bench/jsonarray.)
func TestRowsFlatMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 1 GB")
	}
	element := []byte(`{"author":"a","input":"Generate \"it\"","output":"` + strings.Repeat(`word \n`, 2000) + `","profile":[` +
		strings.Repeat(`{"id":"1","summary":"[","content":"}\\"},`, 500) + "{}]}")
	for _, tt := range []struct {
		name       string
		read       rowReader
		head, tail string
		sep        string
	}{
		{"JSONArray", JSONArray, "[", "null]", ",\n"},
		{"JSONArray in an object", JSONArray, `{"skipped":[` + strings.Repeat("0,", 1<<20) + `0],"data":[`, "null]}", ",\n"},
		{"JSONLines", JSONLines, "", "null", "\n"},
		{"Lines", Lines, "", "null", "\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			piece := append(bytes.Clone(element), tt.sep...)
			use := func(size int64) (rows int, allocated uint64) {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				for row, err := range tt.read(&endless{head: tt.head, tail: tt.tail, piece: piece, n: size}, RowOptions{}) {
					if err != nil {
						t.Fatal(err)
					}
					if len(row.Data) != len(element) && string(row.Data) != "null" {
						t.Fatalf("row %d has %d bytes", row.N, len(row.Data))
					}
					rows++
				}
				runtime.ReadMemStats(&after)
				return rows, after.TotalAlloc - before.TotalAlloc
			}
			small, a20 := use(20 << 20)
			large, a200 := use(200 << 20)
			t.Logf("20 MB: %d rows, %d kB allocated; 200 MB: %d rows, %d kB", small, a20>>10, large, a200>>10)
			if large < 9*small || a200 > a20+256<<10 || a200 > 8<<20 {
				t.Errorf("allocated %d bytes for 20 MB, %d for 200 MB", a20, a200)
			}
		})
	}
}

// A row that never ends must not fill the memory either.
func TestRowsEndlessRow(t *testing.T) {
	for name, tt := range map[string]struct {
		read rowReader
		head string
	}{
		"JSONArray, string": {JSONArray, `["`}, "JSONArray, arrays": {JSONArray, `[[`}, "JSONArray, key": {JSONArray, `{"`}, "JSONArray, skipped": {JSONArray, `{"a":"`},
		"JSONLines": {JSONLines, "{"}, "CSV, quoted": {CSV, "a\n\""}, "CSV, bare": {CSV, "a\n"}, "CSV, header": {CSV, "\""},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var last error
		for _, err := range tt.read(&endless{head: tt.head, piece: bytes.Repeat([]byte("1, "), 4096), n: 50 << 20}, RowOptions{MaxRow: 1 << 20}) {
			last = err
		}
		runtime.ReadMemStats(&after)
		if last == nil || after.TotalAlloc-before.TotalAlloc > 8<<20 {
			t.Errorf("%s: %d bytes allocated, %v", name, after.TotalAlloc-before.TotalAlloc, last)
		}
	}
}

func BenchmarkJSONArray(b *testing.B) { benchRows(b, JSONArray, "[", ",\n", "0]") }
func BenchmarkJSONLines(b *testing.B) { benchRows(b, JSONLines, "", "\n", "") }
func BenchmarkLines(b *testing.B)     { benchRows(b, Lines, "", "\n", "") }

// BenchmarkNothing is the same input only read, for the ratio.
func BenchmarkNothing(b *testing.B) {
	benchRows(b, func(r io.Reader, _ RowOptions) iter.Seq2[Row, error] {
		return func(func(Row, error) bool) { io.CopyBuffer(struct{ io.Writer }{io.Discard}, r, make([]byte, 64<<10)) }
	}, "[", ",\n", "0]")
}

func benchRows(b *testing.B, read rowReader, head, sep, tail string) {
	const size = 16 << 20
	piece := []byte(`{"author":"a","output":"` + strings.Repeat(`It was a \"fine\" day in the old town.\n`, 50) + `","profile":[{"id":"1"}]}` + sep)
	b.SetBytes(size)
	for b.Loop() {
		for _, err := range read(&endless{head: head, tail: tail, piece: piece, n: size}, RowOptions{}) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkCSV(b *testing.B) {
	const size = 16 << 20
	piece := []byte("12,\"" + strings.Repeat("It was a \"\"fine\"\" day in the old town.\n", 50) + "\",x\n")
	b.Run("fetch", func(b *testing.B) {
		b.SetBytes(size)
		for b.Loop() {
			for _, err := range CSV(&endless{piece: piece, n: size}, RowOptions{}) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("encoding", func(b *testing.B) {
		b.SetBytes(size)
		for b.Loop() {
			r := csv.NewReader(&endless{piece: piece, n: size})
			for {
				if _, err := r.Read(); err == io.EOF {
					break
				} else if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
