// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/retcon-bench/retcon/internal/pipeline"
	"github.com/retcon-bench/retcon/schemas"
)

var update = flag.Bool("update", false, "rewrite golden files")

// testdata/steps.lock holds what each step makes of the embedded tales. Bytes
// that change while version, settings and inputs do not are an error, with
// -update too: whoever has a workspace would be told that it is up to date.
func TestStepsLock(t *testing.T) {
	dir := t.TempDir()
	if out, err := command(t, dir, "-q", "build").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var fresh bytes.Buffer
	for _, step := range []string{ingestDir, dedupDir, makeDir, promptsDir, splitsDir} {
		m, err := pipeline.ReadManifest(filepath.Join(dir, "out.work", step))
		if err != nil {
			t.Fatal(err)
		}
		in, err := pipeline.HashJSON(struct {
			Settings  string
			Templates []schemas.NamedHash
			Inputs    []schemas.NamedHash
		}{m.Settings, m.Templates, m.Inputs})
		if err != nil {
			t.Fatal(err)
		}
		out, err := pipeline.HashJSON(m.Outputs)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&fresh, "%s\tversion %s\tin %s\tout %s\n", step, strings.TrimSpace(m.Version), in[:16], out[:16])
	}
	const path = "testdata/steps.lock"
	old, err := os.ReadFile(path)
	if err != nil && !*update {
		t.Fatal(err)
	}
	was, is := lines(old), lines(fresh.Bytes())
	for step, now := range is {
		before, known := was[step]
		if !known || before == now {
			continue
		}
		if before[0] == now[0] && before[1] == now[1] {
			t.Errorf("%s: the same %s and input, other bytes: raise the step's version", step, now[0])
		} else if !*update {
			t.Errorf("%s: %s, %s instead of %s, %s: run this test with -update and look at what changed", step, now[0], now[1], before[0], before[1])
		}
	}
	if len(was) != len(is) && !*update {
		t.Errorf("%s has %d steps, the chain %d", path, len(was), len(is))
	}
	if *update && !t.Failed() {
		if err := os.WriteFile(path, fresh.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// lines splits a lock file by step into version, input and output.
func lines(b []byte) map[string][3]string {
	out := map[string][3]string{}
	for line := range strings.Lines(string(b)) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if len(f) == 4 {
			out[f[0]] = [3]string{f[1], f[2], f[3]}
		}
	}
	return out
}
