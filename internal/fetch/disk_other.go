// SPDX-License-Identifier: Apache-2.0

//go:build !linux && !darwin && !freebsd && !windows

package fetch

import (
	"errors"
	"os"
)

func syncDir(string) error { return nil }

func freeSpace(string) (int64, error) { return 0, errors.ErrUnsupported }

func lock(*os.File) error { return nil }

func isLocked(error) bool { return false }
