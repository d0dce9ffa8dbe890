// SPDX-License-Identifier: Apache-2.0

//go:build unix

package pipeline

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// acquire takes an advisory lock that the kernel gives up when the process
// ends, however it ends.
func acquire(path string) (io.Closer, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, diskError("open", path, err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		holder := make([]byte, 32)
		n, _ := f.ReadAt(holder, 0)
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("%w (process %s); wait for it or use another --work folder", ErrLocked, strings.TrimSpace(string(holder[:n])))
		}
		return nil, diskError("lock", path, err)
	}
	// For the message above only; the lock itself is the kernel's.
	if err := f.Truncate(0); err == nil {
		fmt.Fprintf(f, "%d\n", os.Getpid())
	}
	return f, nil
}
