// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/retcon-bench/retcon/internal/llm/batch"
)

// llm export writes each request once, and prints what it wrote.
func TestExportWritesOnce(t *testing.T) {
	dir := t.TempDir()
	line := `{"custom_id":"c%","method":"POST","url":"/v1/chat/completions","body":{"model":"m"}}` + "\n"
	round := strings.ReplaceAll(strings.Repeat(line, 5), "%", "1")
	work := filepath.Join(dir, "w")
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	src := filepath.Join(work, batch.RequestsFile)
	if err := os.WriteFile(src, []byte(round), 0o644); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "r.jsonl")
	part := func(n string) string { return filepath.Join(dir, "r-00"+n+".jsonl") }
	for _, c := range []struct {
		max  string
		want []string
	}{
		{"2", []string{part("1"), part("2"), part("3")}},
		{"0", []string{out}},
		{"5", []string{out}},
	} {
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), []string{"llm", "export", "--work", work, "--out", out, "--max-lines", c.max}, &stdout, &stderr); code != exitOK {
			t.Fatalf("exit code %d: %s", code, &stderr)
		}
		if got := strings.Join(c.want, "\n") + "\n"; stdout.String() != got {
			t.Errorf("--max-lines %s prints\n%swant\n%s", c.max, &stdout, got)
		}
		files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
		if err != nil || len(files) != len(c.want) {
			t.Errorf("--max-lines %s leaves %q", c.max, files)
		}
		var all []byte
		for _, f := range c.want {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, b...)
		}
		if string(all) != round {
			t.Errorf("--max-lines %s: %d bytes of %d", c.max, len(all), len(round))
		}
	}
	// The round itself is never taken away.
	if code := run(t.Context(), []string{"llm", "export", "--work", work, "--out", src, "--max-lines", "2"}, &bytes.Buffer{}, &bytes.Buffer{}); code != exitOK {
		t.Error("exit code", code)
	}
	if b, err := os.ReadFile(src); err != nil || string(b) != round {
		t.Errorf("the workspace's requests: %d bytes, %v", len(b), err)
	}
}
