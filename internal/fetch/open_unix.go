// SPDX-License-Identifier: Apache-2.0

//go:build unix

package fetch

import "syscall"

// openNonblock keeps an open from waiting for the other end of a named pipe
// that took a file's place.
const openNonblock = syscall.O_NONBLOCK
