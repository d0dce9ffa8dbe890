// SPDX-License-Identifier: Apache-2.0

package pipeline

import "runtime"

// HeapFloor lets the garbage collector wait until about twice floor bytes are
// in use, and returns what takes that back. A command whose stories stream has
// so small a live heap that it would be collected hundreds of times a second;
// a model client spends a fifth of its processor time on that. The floor costs
// garbage of its own size at most, whatever the live heap grows to, which a
// larger GOGC would not promise.
//
// It is memory that is reserved and never touched, so it has no pages.
func HeapFloor(floor int) (release func()) {
	ballast := make([]byte, floor)
	return func() { runtime.KeepAlive(ballast) }
}
