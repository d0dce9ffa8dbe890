// SPDX-License-Identifier: Apache-2.0

// Package texttest holds what tests of anchoring share, here and where findings
// are anchored: the folder of real answers with the places of their quotes
// ([Oracle], [EachLine], [Genuine]), and how well two places agree ([Overlap]).
package texttest

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/retcon-bench/retcon/internal/sharedtest"
)

// Oracle is the folder of real stories, answers and anchors. Without it the test
// is skipped.
func Oracle(t testing.TB) string {
	t.Helper()
	return sharedtest.Path(t, "oracles/constory")
}

// EachLine calls f with the lines of a file of JSON Lines.
func EachLine[T any](t testing.TB, path string, f func(T)) {
	t.Helper()
	in, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	sc := bufio.NewScanner(in)
	sc.Buffer(nil, 1<<26)
	for sc.Scan() {
		var v T
		if err := json.Unmarshal(sc.Bytes(), &v); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		f(v)
	}
	if err := sc.Err(); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// Genuine reports whether the oracle's class is of a quote of the story: not
// null, no missing key, no copy of the prompt's example.
func Genuine(class string) bool {
	return class != "null" && class != "missing_key" && !strings.HasPrefix(class, "x_")
}

// Overlap is intersection over union of two sets of places, in code points.
func Overlap(a, b [][2]int) float64 {
	in := map[int]int{}
	for bit, list := range [][][2]int{a, b} {
		for _, r := range list {
			for i := r[0]; i < r[1]; i++ {
				in[i] |= 1 << bit
			}
		}
	}
	both := 0
	for _, v := range in {
		if v == 3 {
			both++
		}
	}
	return float64(both) / float64(max(1, len(in)))
}
