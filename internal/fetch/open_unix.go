// SPDX-License-Identifier: Apache-2.0

//go:build unix

package fetch

import "syscall"

// openNonblock keeps an open from waiting for the other end of a named pipe
// that took a file's place.
const openNonblock = syscall.O_NONBLOCK

// openNofollow keeps a link that somebody put in a temporary file's place from
// being written through.
const openNofollow = syscall.O_NOFOLLOW
