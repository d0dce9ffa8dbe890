// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"io"
	"io/fs"
)

// WriteFileAtomic makes path appear whole or not at all: write fills a
// temporary file in the same folder, which is synced and renamed.
func WriteFileAtomic(path string, perm fs.FileMode, write func(io.Writer) error) error {
	panic("fetch: not yet written")
}

// SyncDir makes renames in dir durable. It does nothing on Windows.
func SyncDir(dir string) error { panic("fetch: not yet written") }

// FreeSpace returns the bytes an unprivileged user may still write below dir.
func FreeSpace(dir string) (int64, error) { panic("fetch: not yet written") }
