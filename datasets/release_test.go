// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/retcon-bench/retcon/internal/fetch"
)

// TestOpenRefuses opens folders whose manifest is JSON and no release's: as a
// release without rows they would share nothing with anybody.
func TestOpenRefuses(t *testing.T) {
	for _, c := range []struct{ manifest, want string }{
		{"null", "format is 0"},
		{"{}", "format is 0"},
		{`{"format": 2, "name": "a", "version": "1.0.0"}`, "format is 2"},
		{`{"format": 1, "version": "1.0.0"}`, "names no release"},
		{`{"format": 1, "name": "a", "version": "1.0.0", "configs": [{"name": "c", "splits": [{"name": "s", "files": [{"path": "../x.parquet"}]}]}]}`, "leaves the release"},
		{`{"format": 1, "name": "a", "version": "1.0.0", "configs": [{"name": "c", "splits": [{"name": "s", "files": [{"path": "/etc/hosts"}]}]}]}`, "leaves the release"},
		{"[]", "array"},
		{"", "end of JSON"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, ManifestFile), []byte(c.manifest), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Open(dir)
		if fetch.KindOf(err) != fetch.Input || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), ManifestFile) {
			t.Errorf("%s: %v, want %q", c.manifest, err, c.want)
		}
	}
}

// TestVerifyThroughLink verifies a release by a link to its folder.
func TestVerifyThroughLink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a right there")
	}
	link := filepath.Join(t.TempDir(), "latest")
	if err := os.Symlink(testRelease(t), link); err != nil {
		t.Fatal(err)
	}
	if rep := mustVerify(t, link); !rep.OK() {
		t.Error(rep.Problems)
	}
}
