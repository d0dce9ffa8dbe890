// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

// rejoin checks that the rows of input, in order and at their offsets, with
// nothing but separators between them, are the input, and that reading it byte
// by byte gives the same. It returns the rows, their errors (nil or row
// errors), and the error that ended the sequence.
func rejoin(t *testing.T, read rowReader, input []byte, opt RowOptions, between string) (rows []Row, rowErrs []error, end error) {
	t.Helper()
	pos := 0
	if bytes.HasPrefix(input, []byte("\xef\xbb\xbf")) {
		pos = 3
	}
	line := 1
	for row, err := range read(bytes.NewReader(input), opt) {
		if end != nil {
			t.Fatalf("a step after the error that ends the sequence: %v", end)
		}
		if err != nil && AsRowError(err) == nil {
			end = err
			continue
		}
		from, to := int(row.Offset), int(row.Offset)+len(row.Data)
		if from < pos || to > len(input) || !bytes.Equal(input[from:to], row.Data) {
			t.Fatalf("row %d: %q is not at %d, or before %d", row.N, row.Data, from, pos)
		}
		if gap := input[pos:from]; len(bytes.Trim(gap, between)) > 0 {
			t.Fatalf("row %d: %q before it is in no row", row.N, gap)
		}
		line += bytes.Count(input[pos:from], lf)
		if row.Line != line {
			t.Fatalf("row %d: line %d, want %d", row.N, row.Line, line)
		}
		line += bytes.Count(row.Data, lf)
		pos = to
		if row.N != len(rows)+1 {
			t.Fatalf("row %d after row %d", row.N, len(rows))
		}
		row.Data = bytes.Clone(row.Data)
		rows, rowErrs = append(rows, row), append(rowErrs, err)
	}
	if end == nil && len(bytes.Trim(input[pos:], between)) > 0 {
		t.Fatalf("%q at the end is in no row", input[pos:])
	}
	i := 0
	for row, err := range read(iotest.OneByteReader(bytes.NewReader(input)), opt) {
		if err != nil && AsRowError(err) == nil {
			if end == nil || end.Error() != err.Error() {
				t.Fatalf("byte by byte the end is %v, else %v", err, end)
			}
			continue
		}
		same := i < len(rows) && bytes.Equal(row.Data, rows[i].Data) && row.Line == rows[i].Line && row.Offset == rows[i].Offset && (err == nil) == (rowErrs[i] == nil)
		if !same || err != nil && err.Error() != rowErrs[i].Error() {
			t.Fatalf("byte by byte row %d is %q, %v", i+1, row.Data, err)
		}
		i++
	}
	if i != len(rows) {
		t.Fatalf("byte by byte %d rows, else %d", i, len(rows))
	}
	return rows, rowErrs, end
}

func FuzzJSONLines(f *testing.F) {
	for _, s := range []string{"{\"a\":1}\n{\"a\":2}\n", "\xef\xbb\xbf{}\r\n\r\n[]", "\xe9\n1", "", "\n", "a\u2028b\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		rows, rowErrs, end := rejoin(t, JSONLines, input, RowOptions{}, " \t\r\n")
		if end != nil {
			if !bytes.HasPrefix(input, []byte("\xff\xfe")) && !bytes.HasPrefix(input, []byte("\xfe\xff")) {
				t.Fatalf("ends with %v", end)
			}
			return
		}
		n := 0
		for line := range bytes.SplitSeq(bytes.TrimPrefix(input, []byte("\xef\xbb\xbf")), lf) {
			line = bytes.TrimSuffix(line, []byte("\r"))
			if len(bytes.Trim(line, " \t\r")) == 0 {
				continue
			}
			if n >= len(rows) || !bytes.Equal(rows[n].Data, line) || (rowErrs[n] == nil) != utf8.Valid(line) {
				t.Fatalf("line %q is not row %d", line, n+1)
			}
			n++
		}
		if n != len(rows) {
			t.Fatalf("%d rows of %d lines", len(rows), n)
		}
	})
}

// encoding/json is the oracle: an array whose elements it takes is an array it
// takes, and the other way round.
func FuzzJSONArray(f *testing.F) {
	for _, s := range []string{`[{"a":[1,"]\"\\"]},2 , "x"]`, `{"v":{"data":[1]},"data":[{"a":1},{}],"z":[[]]}`, "[]", " [1,\n\ttrue]\n", "[1,]", `[{"a":"é"},{"a":tru}]`, `[{"a":1}`, "\xef\xbb\xbf[1]", `{"d\u0061ta":[7]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		text := bytes.TrimPrefix(input, []byte("\xef\xbb\xbf"))
		first := bytes.TrimLeft(text, " \t\r\n")
		if bytes.HasPrefix(first, []byte("{")) {
			// What is passed over unread is not in rows, so only the oracle's yes counts.
			var want map[string]json.RawMessage
			var elements []json.RawMessage
			if json.Unmarshal(text, &want) != nil || json.Unmarshal(want["data"], &elements) != nil || elements == nil || dataTwice(text) {
				for range JSONArray(bytes.NewReader(input), RowOptions{}) { // must not panic
				}
				return
			}
			i := 0
			for row, err := range JSONArray(bytes.NewReader(input), RowOptions{}) {
				if err != nil && !errors.Is(err, ErrUTF8) {
					t.Fatal(err)
				}
				if i >= len(elements) || !bytes.Equal(row.Data, elements[i]) || int(row.Offset)+len(row.Data) > len(input) || !bytes.Equal(input[row.Offset:int(row.Offset)+len(row.Data)], row.Data) {
					t.Fatalf("element %d: %q at %d", i+1, row.Data, row.Offset)
				}
				i++
			}
			if i != len(elements) {
				t.Fatalf("%d rows, want %d", i, len(elements))
			}
			return
		}
		rows, rowErrs, end := rejoin(t, JSONArray, input, RowOptions{}, " \t\r\n,[]")
		valid := end == nil
		for i, row := range rows {
			valid = valid && json.Valid(row.Data)
			if rowErrs[i] != nil && utf8.Valid(row.Data) {
				t.Fatalf("row %d: %v", row.N, rowErrs[i])
			}
		}
		if want := json.Valid(text) && bytes.HasPrefix(first, []byte("[")); valid != want {
			t.Fatalf("array with sound elements: %t, encoding/json: %t (%v)", valid, want, end)
		}
		if valid {
			var elements []json.RawMessage
			if err := json.Unmarshal(text, &elements); err != nil || len(elements) != len(rows) {
				t.Fatalf("%d rows, want %d (%v)", len(rows), len(elements), err)
			}
			for i := range rows {
				if !bytes.Equal(elements[i], rows[i].Data) {
					t.Fatalf("row %d is %q, want %q", i+1, rows[i].Data, elements[i])
				}
			}
		}
	})
}

// dataTwice reports whether the top-level object has two members "data", which
// encoding/json allows.
func dataTwice(text []byte) bool {
	d := json.NewDecoder(bytes.NewReader(text))
	d.Token()
	n := 0
	for d.More() {
		k, err := d.Token()
		var skip json.RawMessage
		if err != nil || d.Decode(&skip) != nil {
			return true
		}
		if k == "data" {
			n++
		}
	}
	return n > 1
}

// encoding/csv is the oracle up to its first error.
func FuzzCSV(f *testing.F) {
	for _, s := range []string{"a,b\n1,\"x \"\"y\"\"\r\nz\"\r\n\r\n2,\n", "\"a\"\r", "a\r\r\n\rb", "\rA", "a,b\r1,2\r", "a,b\n\"1\"2,3\n4,5", "\"", "\xef\xbb\xbf\"a\"\n", "a\n\"\xe9\"", ",\n,,"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		if bytes.HasPrefix(input, []byte("\xff\xfe")) || bytes.HasPrefix(input, []byte("\xfe\xff")) {
			return
		}
		rows, rowErrs, end := rejoin(t, CSV, input, RowOptions{Ragged: true}, "\r\n")
		if errors.Is(end, errLoneCR) {
			if len(rows) > 0 || !bytes.Contains(bytes.TrimRight(input, "\r\n"), []byte("\r")) {
				t.Fatalf("%d rows, and then %v", len(rows), end)
			}
			return // encoding/csv makes one row of such a table
		}
		ref := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(input, []byte("\xef\xbb\xbf"))))
		ref.FieldsPerRecord = -1
		for i := 0; ; i++ {
			want, err := ref.Read()
			if errors.Is(err, csv.ErrQuote) || errors.Is(err, csv.ErrBareQuote) {
				if i == 0 && !errors.Is(end, ErrQuote) || i > 0 && (i >= len(rows) || !errors.Is(rowErrs[i], ErrQuote)) {
					t.Fatalf("row %d: encoding/csv says %v", i+1, err)
				}
				return
			}
			if err == io.EOF {
				if i != len(rows) || end != nil {
					t.Fatalf("%d rows and %v, want %d", len(rows), end, i)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if i >= len(rows) || len(rows[i].Fields) != len(want) || rowErrs[i] != nil && !errors.Is(rowErrs[i], ErrUTF8) {
				t.Fatalf("row %d: want %q, end %v", i+1, want, end)
			}
			for j, field := range rows[i].Fields {
				if strings.ReplaceAll(field, "\r\n", "\n") != want[j] {
					t.Fatalf("row %d: %q, want %q", i+1, rows[i].Fields, want)
				}
			}
		}
	})
}

// FuzzWalk feeds Walk damaged archives: whatever they hold, names stay inside
// and caps hold.
func FuzzWalk(f *testing.F) {
	f.Add(zipOf(f, entry{name: "a/b", body: "hello"}, entry{name: "../c", body: "x"}))
	f.Add(tarOf(f, entry{name: "a/b", body: "hello"}))
	f.Add(gz(f, tarOf(f, entry{name: "a/b", body: "hello"})))
	f.Add(zst(f, []byte("hello")))
	f.Add(bz2)
	f.Fuzz(func(t *testing.T, data []byte) {
		root := put(t, t.TempDir()+"/in", data)
		lim := Limits{MaxFile: 1 << 20, MaxTotal: 4 << 20, RatioFloor: 1 << 16, MaxEntries: 100}
		var total int64
		seen := map[string]bool{}
		for f, err := range Walk(t.Context(), root, lim) {
			if err != nil {
				if KindOf(err) != Input {
					t.Fatalf("%v: %v", KindOf(err), err)
				}
				continue
			}
			if strings.HasPrefix(f.Name, "/") || strings.Contains("/"+f.Name+"/", "/../") || !utf8.ValidString(f.Name) || seen[f.Name] {
				t.Fatalf("name %q", f.Name)
			}
			seen[f.Name] = true
			_, n, err := Sum(f)
			if err != nil && KindOf(err) != Input {
				t.Fatalf("%v: %v", KindOf(err), err)
			}
			if total += n; n > lim.MaxFile || total > lim.MaxTotal {
				t.Fatalf("%d bytes, %d in all", n, total)
			}
		}
	})
}
