// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package main

import "time"

// clock is the time of day where processor time is not at hand.
func clock() time.Duration { return wall() }

// peakRSS is not known here.
func peakRSS() int64 { return 0 }
