// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/retcon-bench/retcon/internal/fetch"
)

// TestOddStories gives check what is no story, and what only looks like none.
// Everything refused is bad input that names its file, never a clean verdict
// and never a bug.
func TestOddStories(t *testing.T) {
	noise := make([]byte, 20_000)
	for i := range noise {
		noise[i] = byte(rand.IntN(256)) // any bytes will do
	}
	story := "Anna had blue eyes. Later her eyes were green.\n"
	for _, c := range []struct {
		name, content string
		want          string // part of the error; empty: a story
		notWindows    bool
	}{
		{"noise.txt", string(noise), "control characters", false},
		{"program.txt", "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00>\x00\x01\x00", "control characters", false},
		{"story.txt", story, "", false},
		{"bell.txt", strings.Repeat(story, 9) + "\a\x00\x1b[0m", "", false},
		{"dos.txt", story + "\x1a", "", false},
		{"utf16.txt", "\xff\xfe" + strings.Join(strings.Split(story, ""), "\x00") + "\x00", "", false},
		{"latin1.txt", "Das M\xe4dchen ging \xfcber die Br\xfccke. " + story, "", false},
		{"tab\tname.txt", story, "rename", true},
		{"new\nline.txt", story, "rename", true},
		{"bytes\xff.txt", story, "rename", true},
	} {
		if c.notWindows && runtime.GOOS != "linux" {
			continue // such a name cannot be made there
		}
		path := filepath.Join(t.TempDir(), c.name)
		if err := os.WriteFile(path, []byte(c.content), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := readPlain(path)
		if code, _ := classify(err); err != nil && code != exitInput {
			t.Errorf("%q: exit code %d for %v", c.name, code, err)
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.name, err, c.want)
		}
	}
}

// TestOddRows reads rows in which a story is no text, or nothing says which
// column is meant.
func TestOddRows(t *testing.T) {
	for _, c := range []struct{ name, content, want string }{
		{"a.jsonl", `{"story_id":"a","text":["Once","upon"]}`, "a.jsonl:1: text is a list or an object"},
		{"a.jsonl", `{"story_id":"a","text":{"en":"Once"}}`, "text is a list or an object"},
		{"a.jsonl", `{"id":1,"model_name":"m","generated_story":5}`, "generated_story is 5, not a text"},
		{"a.jsonl", `{"id":1,"model_name":"m","generated_story":"Once.","story":{"title":"x"}}`, ""},
		{"a.jsonl", "null", "a.jsonl:1: want a JSON object a row: this is null"},
		{"a.jsonl", "[1]", "a.jsonl:1: want a JSON object a row: this is a"},
		{"a.csv", "story_id,text,text\na,Once.,Twice.\n", `a.csv:1: column "text" stands twice`},
		{"a.jsonl", `{"story_id":"a","text":"Once."}{"story_id":"b","text":"Twice."}`, "a.jsonl:1: this row is not JSON: more stands behind its end"},
		{"a.jsonl", `{"story_id":"a","text":"Once."} there`, "more stands behind its end"},
		{"a.csv", ",,story_id,text\n0,0,a,Once.\n", ""},
		{"a.csv", "", "the file is empty"},
		{"a.csv", "story_id;text;n\r\na;\"Once, there; \"\"so\"\".\";1,5\r\n", ""},
		{"a.csv", "story_id\ttext\na\tOnce, \"there\".\n", ""},
		{"a.csv", "story_id,text,a;b\na,Once.,1\n", ""},
		{"a.csv", "story_id,text\ra,Once.\r", "DIR/a.csv: line 1: not in the format it should have: its lines end in a CR alone"},
		{"a.tsv", "story_id\ttext\na\tOnce, there.\n", ""},
		{"a.csv", "story_id,text\na,M\xe4dchen\n", "read DIR/a.csv: line 2: row 2: invalid UTF-8"},
		{"a.jsonl", "{\"story_id\":\"a\",\"text\":\"M\xe4dchen\"}", "read DIR/a.jsonl: line 1: row 1: invalid UTF-8"},
		{"a.json", "[{\"story_id\":\"a\",\"text\":\"Once.\"},\n", "read DIR/a.json: line 2: data ends too early"},
		{"a.jsonl", "[{", "read DIR/a.jsonl: line 1: row 1: data ends too early"},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, c.name)
		if err := os.WriteFile(path, []byte(c.content), 0o644); err != nil {
			t.Fatal(err)
		}
		c.want = strings.ReplaceAll(c.want, "DIR/", dir+string(filepath.Separator)) // named once
		var err error
		for row, rowErr := range tableRows(path) {
			if err = rowErr; err == nil {
				_, _, err = checkedRow(row)
			}
		}
		if code, _ := classify(err); err != nil && code != exitInput {
			t.Errorf("%s: exit code %d for %v", c.content, code, err)
		}
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "%!")) {
			t.Errorf("%s: %v, want %q", c.content, err, c.want)
		}
	}
	if v, ok := (tableRow{value: map[string]any{"id": math.NaN()}}).get("id"); ok {
		t.Errorf("NaN is the id %q", v)
	}
	deep := tableRow{value: map[string]any{"logprobs": map[string]any{"tokens": []any{"a", nil}, "n": json.Number("1.50")}}}
	if v, ok := deep.get("logprobs"); !ok || v != `{"n":1.50,"tokens":["a",null]}` {
		t.Errorf("an object in a cell is %q", v)
	}
	bytes := tableRow{value: map[string]any{"story": []byte{0xff}}}
	if v, ok := bytes.get("story"); ok {
		t.Errorf("bytes are the id %q", v)
	}
	if _, _, err := bytes.text("story"); !errors.Is(err, fetch.ErrUTF8) {
		t.Errorf("bytes in place of a story: %v", err)
	}
}

// TestOddBenchmarks: no string of a benchmark is lost without a word.
func TestOddBenchmarks(t *testing.T) {
	for _, c := range []struct{ name, content, want string }{
		{"a.csv", ",,q\nOnce,upon,a time\n", "a.csv:1=Once a.csv:1:column 2=upon a.csv:1:q=a time"},
		{"a.jsonl", `{"q":"Once"}{"q":"upon"}`, "more stands behind its end"},
		{"a.json", "{\n\"q\": [\"Once\"]\n}\n", "a.json:1:q.0=Once"},
		{"a.json", "{\n\"q\": \"M\xe4dchen\"\n}\n", "a.json: invalid UTF-8"},
		{"a.jsonl", "{\"q\": \"M\xe4dchen\"}\n", "invalid UTF-8"},
	} {
		path := filepath.Join(t.TempDir(), c.name)
		if err := os.WriteFile(path, []byte(c.content), 0o644); err != nil {
			t.Fatal(err)
		}
		var got []string
		for it, err := range benchmarkItems(t.Context(), fetch.OneFile(path)) {
			if err != nil {
				got = append(got, err.Error())
				if code, _ := classify(err); code != exitInput {
					t.Errorf("%q: exit code %d for %v", c.content, code, err)
				}
				break
			}
			got = append(got, it.ID+"="+it.Text)
		}
		if !strings.Contains(strings.Join(got, " "), c.want) {
			t.Errorf("%q: %q, want %q", c.content, got, c.want)
		}
	}
}

func TestSampling(t *testing.T) {
	for v, want := range map[float64]bool{0: true, 0.7: true, 2: true, -1: false, math.Inf(1): false} {
		if sampling(&v) != want {
			t.Errorf("sampling(%v) = %v", v, !want)
		}
	}
	if nan := math.NaN(); sampling(&nan) || !sampling(nil) {
		t.Error("NaN can be asked for, or nothing cannot")
	}
}
