// SPDX-License-Identifier: Apache-2.0

// Package layering holds one test: which package may lean on which. The table
// in it is the picture of ARCHITECTURE.md in a form that cannot go stale.
package layering
