// SPDX-License-Identifier: Apache-2.0

// Command dedup measures the package transform/dedup.
package main

func main() {}
