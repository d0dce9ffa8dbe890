// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
)

// peakMB is the most resident memory that a process had.
func peakMB(p *os.ProcessState) string {
	r, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return "n/a"
	}
	unit := 1024.0
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		unit = 1
	}
	return fmt.Sprintf("%.0f", float64(r.Maxrss)*unit/1e6)
}
