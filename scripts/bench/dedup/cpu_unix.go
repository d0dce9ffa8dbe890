// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import "syscall"

// processorTime is the user and system time of this process in seconds.
func processorTime() (float64, error) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0, err
	}
	return float64(r.Utime.Sec+r.Stime.Sec) + float64(r.Utime.Usec+r.Stime.Usec)/1e6, nil
}
