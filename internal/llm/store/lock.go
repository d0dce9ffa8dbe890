// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// ErrInUse says that another process has the store.
var ErrInUse = errors.New("the answer store is in use")

// lock takes path+".lock" for this process, or waits for it up to wait. The
// file stays behind: taking it away would let a third process lock another.
func lock(ctx context.Context, path string, wait time.Duration) (*os.File, error) {
	f, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	deadline := time.Now().Add(wait)
	for {
		ok, err := tryLock(f)
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("locking %s: %w", f.Name(), err)
		}
		if ok {
			break
		}
		if !time.Now().Before(deadline) {
			holder := holderOf(f)
			f.Close()
			return nil, fmt.Errorf("%s: %w by %s: wait until it has finished, or stop it", path, ErrInUse, holder)
		}
		t := time.NewTimer(100 * time.Millisecond)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			f.Close()
			return nil, ctx.Err()
		}
	}
	if err := f.Truncate(0); err == nil {
		_, _ = f.WriteAt(fmt.Appendf(nil, "process %d\n", os.Getpid()), 0) // only for the other's message
	}
	return f, nil
}

func holderOf(f *os.File) string {
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 64))
	if s := strings.TrimSpace(string(b)); err == nil && s != "" {
		return s
	}
	return "another process"
}
