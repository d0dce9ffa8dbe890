// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBoundaries(t *testing.T) {
	const plain = "“Stop!” Tom cried.\nHe ran. \n\nSo did Ada"
	for _, c := range []struct {
		name, marked string
		want         []int
		err          string
	}{
		{"as told", "“Stop!” Tom cried. |||\nHe ran. ||| \n\nSo did Ada |||", []int{18, 26, 39}, ""},
		{"without blanks, end not marked", "“Stop!” Tom cried.|||\nHe ran.|||\n\nSo did Ada", []int{18, 26, 39}, ""},
		{"lines re-wrapped", "“Stop!”\nTom cried. ||| He ran.\n|||\nSo did Ada", []int{18, 26, 39}, ""},
		{"twice and at the start", "||| “Stop!” Tom cried. ||| |||\nHe ran.\n\nSo did Ada", []int{18, 39}, ""},
		{"inside a word", "“Sto|||p!” Tom cried.\nHe ran.\n\nSo did Ada", []int{4, 39}, ""},
		{"a character changed", "\"Stop!” Tom cried.", nil, `at code point 0 the passage has "“Stop!” Tom cried.\nHe ran. \n\nS", the marked copy "\"Stop!” Tom cried."`},
		{"the end missing", "“Stop!” Tom cried.", nil, `the marked copy lacks the end, from "He ran. \n\nSo did Ada"`},
		{"text added", "“Stop!” Tom cried.\nHe ran.\n\nSo did Ada. Yes", nil, `text after the passage's end: ". Yes"`},
	} {
		got, err := boundaries(plain, c.marked)
		if c.err != "" {
			if err == nil || err.Error() != c.err {
				t.Errorf("%s: error %v, want %s", c.name, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// fakeShared makes a shared folder with made-up texts under the names that
// sample knows.
func fakeShared(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, data []byte) {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	story := func(mark string) string {
		var b strings.Builder
		for i := range 300 {
			fmt.Fprintf(&b, "“Is it %s %d?” Tom asked. He saw\nMr. Vane. It rained.\n\n", mark, i)
		}
		return b.String()
	}
	for i, patterns := range kinds {
		name := strings.Replace(patterns[0], "*/*", "green/one", 1)
		s := story(fmt.Sprint("kind ", i))
		switch filepath.Ext(name) {
		case ".csv":
			write(name, []byte("section,text\n1,\""+s+"\"\n2,\"The end.\"\n"))
		case ".jsonl":
			row, err := json.Marshal(map[string]any{"id": 7, "generated_story": s})
			if err != nil {
				t.Fatal(err)
			}
			write(name, append(row, '\n'))
		default:
			write(name, []byte(strings.ReplaceAll(s, "\n", "\r\n")))
		}
	}
	return dir
}

// TestRoundTrip goes the readers' way with made-up texts: passages are drawn,
// marked by two readers, collected and scored.
func TestRoundTrip(t *testing.T) {
	shared, dir := fakeShared(t), t.TempDir()
	segeval := func(args ...string) string {
		t.Helper()
		var stdout, stderr bytes.Buffer
		args = append(args[:1:1], append([]string{"-shared", shared}, args[1:]...)...)
		if err := run(t.Context(), args, &stdout, &stderr); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, stderr.String())
		}
		return stdout.String()
	}
	passages := filepath.Join(dir, "passages")
	first := segeval("sample", "-out", passages)
	if again := segeval("sample", "-out", filepath.Join(dir, "again")); again != first {
		t.Errorf("the same seed drew other passages:\n%s%s", first, again)
	}
	if other := segeval("sample", "-seed", "2", "-out", filepath.Join(dir, "other")); other == first {
		t.Error("another seed drew the same passages")
	}

	// Reader A marks what is right, B forgets the boundary before It.
	right := strings.NewReplacer("asked. ", "asked. ||| ", "Vane. ", "Vane. ||| ", "rained.", "rained. |||")
	for reader, r := range map[string]*strings.Replacer{
		"A": right,
		"B": strings.NewReplacer("asked. ", "asked. ||| ", "rained.", "rained. |||"),
	} {
		marked := filepath.Join(dir, reader)
		if err := os.Mkdir(marked, 0o777); err != nil {
			t.Fatal(err)
		}
		for i := range kinds {
			b, err := os.ReadFile(filepath.Join(passages, passageName(i)))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(marked, passageName(i)), []byte(r.Replace(string(b))), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	file := filepath.Join(dir, "judged.jsonl")
	for _, reader := range []string{"A", "A", "B"} { // a second time replaces
		segeval("collect", "-passages", passages, "-marked", filepath.Join(dir, reader), "-reader", reader, "-out", file)
	}
	rows, err := readJudged(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 2*len(kinds) {
		t.Fatalf("%d rows, want %d", len(rows), 2*len(kinds))
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(b, []byte("Tom asked")) {
		t.Error("the judged file holds text")
	}

	merged, _, err := merge(shared, rows)
	if err != nil {
		t.Fatal(err)
	}
	// On these texts the segmenter is right but where only A marks, which
	// counts neither way.
	var texts [][]int
	for _, p := range merged {
		var ends []int
		for _, e := range retconEnds(p.text) {
			ends = append(ends, len([]rune(p.text[:e])))
		}
		texts = append(texts, ends)
		if len(p.split) == 0 {
			t.Errorf("no disputed place in %s", p.Source)
		}
	}
	got := compare("retcon", merged, texts, 0)
	if got.Counts.Extra != 0 || got.Counts.Missed != 0 || got.Counts.Right < 100 || got.Inner.Right >= got.Counts.Right {
		t.Errorf("got %+v", got)
	}
	// A segmenter that finds nothing misses all; one that cuts everywhere
	// has all and many extra.
	if c := compare("none", merged, make([][]int, len(merged)), 0).Counts; c.Right != 0 || c.Missed != got.Counts.Right {
		t.Errorf("nothing found: %+v", c)
	}

	// A source that has changed since is found by its hash.
	rows[0].TextHash = strings.Repeat("0", 64)
	if _, _, err := merge(shared, rows); err == nil || !strings.Contains(err.Error(), "not the one that was read") {
		t.Errorf("a changed text was taken: %v", err)
	}
}

func TestPeersPrepared(t *testing.T) {
	// Lines are joined and offsets stay.
	got := byParagraph("One\ntwo.  \n\n Three. Four.", func(p string) []int {
		if strings.Contains(p, "\n") {
			t.Errorf("a line end in %q", p)
		}
		return []int{len(strings.TrimRight(p, " "))}
	})
	if diff := cmp.Diff([]int{8, 25}, got); diff != "" {
		t.Error(diff)
	}
	ends := uaxEnds("One two. Three four.  ")
	if diff := cmp.Diff([]int{8, 20}, ends); diff != "" {
		t.Error(diff)
	}
}
