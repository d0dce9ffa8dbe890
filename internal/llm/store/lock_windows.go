// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// tryLock takes the file for this process; the system gives it back when the
// process ends. The locked byte lies past the text that names the holder, so
// that others can read it.
func tryLock(f *os.File) (bool, error) {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	return err == nil, err
}
