// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// WriteFileAtomic makes path appear whole or not at all: write fills a
// temporary file in the same folder (hidden, so [Walk] passes over what a
// killed process left), which is synced and renamed over path. If write or the
// disk fails, path is as it was and the temporary file is gone. A link at path
// is replaced, not followed.
//
// A disk's error is an [*Error] of kind [Disk]; an error that write returns
// for a reason of its own comes back wrapped.
func WriteFileAtomic(path string, perm fs.FileMode, write func(io.Writer) error) (err error) {
	dir, base := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	f, err := os.CreateTemp(dir, "."+base+".*.tmp")
	if err != nil {
		return &Error{"write", path, Disk, err}
	}
	done := false
	defer func() { // also if write panics
		if !done {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	w := bufio.NewWriterSize(f, 64<<10)
	if err := write(w); err != nil {
		return writeError(path, err)
	}
	if err := w.Flush(); err != nil {
		return writeError(path, err)
	}
	if err := f.Chmod(perm); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return writeError(path, err)
	}
	if err := publish(f, path); err != nil {
		return err
	}
	done = true
	return nil
}

// publish syncs and closes f and gives it its final name. On error f may be
// closed, but keeps its old name.
func publish(f *os.File, path string) error {
	if err := f.Sync(); err != nil {
		return writeError(path, err)
	}
	if err := f.Close(); err != nil {
		return writeError(path, err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return writeError(path, err)
	}
	// The file is in place; only a power cut could still take the name away.
	return SyncDir(filepath.Dir(path))
}

// SyncDir makes the creations and renames in dir durable. Windows has no such
// call and needs none; there it does nothing.
func SyncDir(dir string) error {
	if err := syncDir(dir); err != nil {
		return &Error{"sync", dir, Disk, err}
	}
	return nil
}

// FreeSpace returns how many bytes an unprivileged user may still write to the
// file system that holds dir. Where it cannot be asked for, the error Is
// errors.ErrUnsupported.
func FreeSpace(dir string) (int64, error) {
	n, err := freeSpace(dir)
	if err != nil {
		return 0, &Error{"ask for free space of", dir, Disk, err}
	}
	return n, nil
}

func writeError(path string, err error) error {
	var errno syscall.Errno
	switch {
	case KindOf(err) != 0 || isContext(err):
		return fmt.Errorf("write %s: %w", path, err)
	case errors.Is(err, syscall.ENOSPC):
		return &Error{"write", path, Disk, fmt.Errorf("%w: %w; free some and run again", ErrSpace, err)}
	case errors.As(err, &errno), errors.As(err, new(*fs.PathError)), errors.As(err, new(*os.LinkError)), errors.Is(err, io.ErrShortWrite):
		return &Error{"write", path, Disk, err}
	}
	return fmt.Errorf("write %s: %w", path, err)
}
