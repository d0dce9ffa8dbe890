// SPDX-License-Identifier: Apache-2.0

//go:build arrow

package main

import "github.com/retcon-bench/retcon/datasets/arrowio"

func init() {
	arrowExport, arrowReader = arrowio.Export, arrowio.Columns
}
