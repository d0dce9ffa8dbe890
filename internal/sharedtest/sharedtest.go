// SPDX-License-Identifier: Apache-2.0

// Package sharedtest finds the real corpora and oracles that tests compare with.
// They are not part of the repository: the environment variable RETCON_SHARED
// names their folder, and tests that need it are skipped without. All tests ask
// here, so that they skip alike; .ci/run looks for [Missing] in what they say.
package sharedtest

import (
	"os"
	"path/filepath"
	"testing"
)

// Missing is how the message of a skipped test begins.
const Missing = "RETCON_SHARED is not set"

// Root is the folder, "" where there is none.
func Root() string { return os.Getenv("RETCON_SHARED") }

// Path is the place of a file or folder below [Root], its elements parted by
// slashes. Without a root the test is skipped; a root that does not have it
// fails the test.
func Path(t testing.TB, rel string) string {
	t.Helper()
	if Root() == "" {
		t.Skipf("%s; it names the folder that holds %s", Missing, rel)
	}
	path := filepath.Join(Root(), filepath.FromSlash(rel))
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("the folder that RETCON_SHARED names has no %s: %v", rel, err)
	}
	return path
}
