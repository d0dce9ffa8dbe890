// SPDX-License-Identifier: Apache-2.0

package writingprompts

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func readFile(t *testing.T, dir, name string) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

var blanks = regexp.MustCompile(` {2,}`)

// rebuild turns a run of k blanks into k-1 <newline> tokens.
func rebuild(l string) string {
	return blanks.ReplaceAllStringFunc(l, func(run string) string {
		return " " + strings.Repeat("<newline> ", len(run)-1)
	})
}
