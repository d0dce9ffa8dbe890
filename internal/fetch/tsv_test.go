// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func readTSV(data string) (rows [][]string, faults []string) {
	open := func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(data)), nil }
	for row, err := range TSV(open, RowOptions{Name: "t.tsv"}) {
		if err != nil {
			faults = append(faults, err.Error())
			continue
		}
		rows = append(rows, row.Fields)
	}
	return rows, faults
}

// TestTSV reads files of both kinds.
func TestTSV(t *testing.T) {
	const head = "id\ttext\n"
	for _, c := range []struct{ name, in, want string }{
		{"bare quotes", head + "1\tThe \"old\" king\n2\t\"Yes,\" she said\n3\tsaid \"no\"\n", `[["id" "text"] ["1" "The \"old\" king"] ["2" "\"Yes,\" she said"] ["3" "said \"no\""]]`},
		{"nothing but whole quotations", head + "1\t\"Yes, and no.\"\n2\tx\n", `[["id" "text"] ["1" "\"Yes, and no.\""] ["2" "x"]]`},
		{"a quote opened on one line, closed on the next", head + "1\t\"Yes.\n2\tNo.\"\n", `[["id" "text"] ["1" "\"Yes."] ["2" "No.\""]]`},
		{"a quote never closed", head + "1\t\"Yes.\n2\tNo.\n", `[["id" "text"] ["1" "\"Yes."] ["2" "No."]]`},
		{"quotes in the header", "id\tthe \"text\"\n1\tx\n", `[["id" "the \"text\""] ["1" "x"]]`},
		{"CR LF, a mark, blank lines", "\xef\xbb\xbfid\ttext\r\n\r\n1\t5\" wide\r\n\n", `[["id" "text"] ["1" "5\" wide"]]`},
		{"empty fields", head + "\t\n1\t\"\n", `[["id" "text"] ["" ""] ["1" "\""]]`},
		// As pandas, polars, DuckDB and spreadsheets write.
		{"doubled quotes", head + "1\t\"The \"\"old\"\" king\"\n2\t\"Yes, and no.\"\n", `[["id" "text"] ["1" "The \"old\" king"] ["2" "Yes, and no."]]`},
		{"line breaks", head + "1\t\"one\n\ntwo\"\n2\tthree\n", `[["id" "text"] ["1" "one\n\ntwo"] ["2" "three"]]`},
		{"tabs", head + "1\t\"one\ttwo\"\n", `[["id" "text"] ["1" "one\ttwo"]]`},
		{"nothing, which is not null", head + "1\t\"\"\n2\t\n", `[["id" "text"] ["1" ""] ["2" ""]]`},
		{"everything quoted", "\"id\"\t\"text\"\n\"1\"\t\"Yes.\"\n", `[["id" "text"] ["1" "Yes."]]`},
		{"all but numbers quoted", "\"id\"\t\"text\"\n1\t\"Yes.\"\n", `[["id" "text"] ["1" "Yes."]]`},
		{"one column", "text\n\"one\ntwo\"\nthree\n", `[["text"] ["one\ntwo"] ["three"]]`},
		// What breaks the kind that most of the file is of is an error.
		{"cut off", head + "1\t\"The \"\"old\"\" king\"\n2\t\"a \"\"b\"\"\"\n3\t\"The \"\"ol", `[["id" "text"] ["1" "The \"old\" king"] ["2" "a \"b\""]] t.tsv: line 4: row 4: broken CSV quoting: the quote opened on line 4 is not closed at the end of the file`},
		{"a stray quote", head + "1\t\"The \"\"old\"\" king\"\n2\ta \"b\"\n3\t\"a \"\"b\"\"\"\n", `[["id" "text"] ["1" "The \"old\" king"] ["3" "a \"b\""]] t.tsv: line 3: row 3: broken CSV quoting: a quote inside an unquoted field on line 3`},
		{"one doubled quote among many bare ones", head + "1\tThe \"old\" king\n2\ta \"b\"\n3\t\"a \"\"b\"\"\"\n", `[["id" "text"] ["1" "The \"old\" king"] ["2" "a \"b\""] ["3" "\"a \"\"b\"\"\""]]`},
		{"everything quoted, but one", "\"id\"\t\"text\"\n\"1\"\t\"Yes \\\"no\\\".\"\n", `[["id" "text"]] t.tsv: line 2: row 2: broken CSV quoting: "n" after a closing quote on line 2`},
		{"a field too many", head + "1\ta \"b\"\tc\n", `[["id" "text"]] t.tsv: line 2: row 2: wrong number of fields: 3 where the first row has 2`},
		{"not UTF-8", head + "1\ta \"\xe9\"\n", `[["id" "text"]] t.tsv: line 2: row 2: invalid UTF-8: byte 0xe9 at byte 5 of the row`},
		{"empty", "", `[]`},
	} {
		rows, faults := readTSV(c.in)
		got := strings.TrimSpace(fmt.Sprintf("%q %s", rows, strings.Join(faults, "; ")))
		if got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
	broken := errors.New("the disk is gone")
	for _, err := range TSV(func() (io.ReadCloser, error) { return nil, broken }, RowOptions{}) {
		if !errors.Is(err, broken) {
			t.Error(err)
		}
	}
	if _, err := QuotedTabs(io.MultiReader(strings.NewReader(head), &failing{broken}), RowOptions{}); !errors.Is(err, broken) {
		t.Error(err)
	}
}

// TestTSVKeepsBytes: a table of lines whose fields do not begin with a quote
// comes back byte for byte, and so does one that a CSV writer quoted.
func TestTSVKeepsBytes(t *testing.T) {
	field := rapid.StringMatching(`[a-z é,.']?["a-z é,\\]{0,6}`)
	quoting := rapid.StringMatching("[\"a-z é,\\\\\t\n]{0,6}")
	rapid.Check(t, func(t *rapid.T) {
		columns := rapid.IntRange(2, 4).Draw(t, "columns")
		table := func(field *rapid.Generator[string]) [][]string {
			head := []string{"id", "text", "more", "most"}[:columns]
			return append([][]string{head}, rapid.SliceOfN(rapid.SliceOfN(field, columns, columns), 1, 6).Draw(t, "rows")...)
		}
		plain := table(field.Filter(func(s string) bool { return !strings.HasPrefix(s, `"`) }))
		var in strings.Builder
		for _, row := range plain {
			in.WriteString(strings.Join(row, "\t") + "\n")
		}
		if got, faults := readTSV(in.String()); faults != nil || !slices.EqualFunc(got, plain, slices.Equal) {
			t.Errorf("plain %q: %q %q", in.String(), got, faults)
		}
		rows := append(table(quoting), append([]string{`a "quote"`}, make([]string, columns-1)...))
		var b bytes.Buffer
		w := csv.NewWriter(&b)
		w.Comma = '\t'
		if err := w.WriteAll(rows); err != nil {
			t.Fatal(err)
		}
		if got, faults := readTSV(b.String()); faults != nil || !slices.EqualFunc(got, rows, slices.Equal) {
			t.Errorf("quoted %q: %q %q", b.String(), got, faults)
		}
	})
}
