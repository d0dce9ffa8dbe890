// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"errors"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

func syncDir(string) error { return nil }

func freeSpace(dir string) (int64, error) {
	p, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, err
	}
	var free uint64
	if err := windows.GetDiskFreeSpaceEx(p, &free, nil, nil); err != nil {
		return 0, &os.PathError{Op: "GetDiskFreeSpaceEx", Path: dir, Err: err}
	}
	return int64(min(free, math.MaxInt64)), nil
}

// lock takes the last byte a file can have, so that readers of the file are
// not in the way.
func lock(f *os.File) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0,
		&windows.Overlapped{Offset: math.MaxUint32, OffsetHigh: math.MaxInt32})
}

func isLocked(err error) bool { return errors.Is(err, windows.ERROR_LOCK_VIOLATION) }
