// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package fetch

const (
	openNonblock = 0
	openNofollow = 0
)
