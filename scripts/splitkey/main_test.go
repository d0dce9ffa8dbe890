// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/retcon-bench/retcon/internal/sharedtest"
)

// At least 97 % of the tales of each book of the key are right, and nothing
// that is no tale gets into one. The held-out books are a check, not a goal;
// run the command with -key for them.
func TestKey(t *testing.T) {
	corpora := filepath.Dir(sharedtest.Path(t, "corpora/gutenberg"))
	keys, err := filepath.Glob("key/*.tsv")
	if err != nil || len(keys) < 5 {
		t.Fatalf("%d keys: %v", len(keys), err)
	}
	for _, k := range keys {
		rows, err := readKey(k)
		if err != nil {
			t.Fatal(err)
		}
		res, err := judge(corpora, rows)
		if err != nil {
			t.Fatal(err)
		}
		if res.tales == 0 || res.right*100 < res.tales*97 || len(res.leaks) > 0 || len(res.extra) > 0 {
			t.Errorf("%s: %d of %d right\nwrong %q\nextra %q\nleaks %q", k, res.right, res.tales, res.wrong, res.extra, res.leaks)
		}
	}
}

// words follows key/README.md.
func TestWords(t *testing.T) {
	for in, want := range map[string][]string{
		"Esmé's _lamp_, the 'red' one—":                  {"esm", "s", "lamp", "the", "red", "one"},
		"He sailed[1] at (12) dawn{7} [A] [*] (123).":    {"he", "sailed", "at", "dawn", "123"},
		"[Illustration: THE LAMP\nat night] It’s a ‘k’.": {"it's", "a", "k"},
		"well-known 2nd": {"well", "known", "2nd"},
	} {
		if got := words(in); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
