// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOf(t *testing.T) {
	dir := t.TempDir()
	_, err := os.ReadFile(filepath.Join(dir, "tale.txt"))
	got := Of("books/tale.txt", fmt.Errorf("reading: %w", err))
	if strings.Contains(got, dir) || !strings.HasPrefix(got, "books/tale.txt: ") {
		t.Errorf("%q", got)
	}
	if got := Of("x", fmt.Errorf("row 3: a bare quote")); got != "x: row 3: a bare quote" {
		t.Errorf("%q", got)
	}
}
