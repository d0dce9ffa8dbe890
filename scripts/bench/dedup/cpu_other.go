// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package main

import "errors"

func processorTime() (float64, error) {
	return 0, errors.New("this benchmark measures processor time on Unix only")
}
