// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestResidue(t *testing.T) {
	for in, want := range map[string]string{
		"Visit www.gutenberg.org for more.":     "gutenberg.org",
		"one\nPROJECT\n GUTENBERG":              "PROJECT\n GUTENBERG",
		"the Project Gutenberg-tm licence":      "Project Gutenberg",
		"PGLAF and others":                      "PGLAF",
		"made at pgdp by":                       "pgdp",
		"Distributed Proofreaders":              "Distributed Proofread",
		"*THE SMALL PRINT! FOR":                 "THE SMALL PRINT",
		"THE \u017fMALL PRINT":                  "THE \u017fMALL PRINT", // folds to s
		"[eBook #503]":                          "eBook #503",
		"EText # 12":                            "EText # 12",
		"Johannes Gutenberg printed a book.":    "",
		"He read the small sign in the window.": "",
		"room #5 was shut":                      "",
	} {
		if got, _ := Residue(in); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("Residue(%q) = %q, want %q", in, got, want)
		}
	}
	if _, line := Residue("a\nb\nsee gutenberg.org"); line != 3 {
		t.Errorf("line %d", line)
	}
}

// The quick look before the expression never changes what is found.
func TestResidueQuickLook(t *testing.T) {
	parts := []string{"project", "Gutenberg", "\u017f", "\u212a", ".org", "-tm", " ", "\n", "the", "SMALL", "print", "pgdp", "PGLAF", "ebook", "text", "#", "12", "distributed", "proofreaders", "literary archive", "x"}
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 8).Draw(t, "parts"), rapid.SampledFrom([]string{"", " "}).Draw(t, "glue"))
		want := residue.FindString(s)
		if got, _ := Residue(s); got != want {
			t.Fatalf("Residue(%q) = %q, the expression alone finds %q", s, got, want)
		}
	})
}
