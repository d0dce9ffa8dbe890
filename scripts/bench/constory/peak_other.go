// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package main

import "os"

func peakMB(*os.ProcessState) string { return "n/a" }
