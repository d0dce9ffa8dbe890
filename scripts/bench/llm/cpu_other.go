// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package main

import "time"

var began = time.Now()

// cpu returns the time since the start: CPU time is measured on unix only.
func cpu() time.Duration { return time.Since(began) }
