// SPDX-License-Identifier: Apache-2.0

package sharedtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recorder notes how a test ended instead of ending.
type recorder struct {
	testing.TB
	skipped, failed string
}

func (r *recorder) Helper()                   {}
func (r *recorder) Skipf(f string, a ...any)  { r.skipped = fmt.Sprintf(f, a...); panic(r) }
func (r *recorder) Fatalf(f string, a ...any) { r.failed = fmt.Sprintf(f, a...); panic(r) }

func TestPath(t *testing.T) {
	ask := func(rel string) (r *recorder, path string) {
		r = &recorder{TB: t}
		defer func() {
			if v := recover(); v != nil && v != any(r) {
				panic(v)
			}
		}()
		path = Path(r, rel)
		return r, path
	}
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "corpora", "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("RETCON_SHARED", root)
	if r, path := ask("corpora/x"); path != filepath.Join(root, "corpora", "x") || r.skipped+r.failed != "" {
		t.Errorf("%q, %+v", path, r)
	}
	if r, _ := ask("corpora/y"); !strings.Contains(r.failed, "has no corpora/y") || r.skipped != "" {
		t.Errorf("a folder that is not there: %+v", r)
	}
	t.Setenv("RETCON_SHARED", "")
	if r, _ := ask("corpora/x"); r.skipped != Missing+"; it names the folder that holds corpora/x" || r.failed != "" {
		t.Errorf("without the variable: %+v", r)
	}
	// .ci/run knows skipped tests by this text.
	ci, err := os.ReadFile("../../.ci/run")
	if err != nil || !strings.Contains(string(ci), Missing) {
		t.Errorf("%q is not in .ci/run: %v", Missing, err)
	}
}
