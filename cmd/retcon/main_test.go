// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/retcon-bench/retcon/internal/sharedtest"
)

// asRetcon makes the test binary behave as the command, for tests that need a
// process of its own to kill.
const asRetcon = "RETCON_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asRetcon) != "" {
		main()
		return
	}
	testscript.Main(m, map[string]func(){"retcon": main})
}

// TestScripts runs testdata/*.txt: what a person types, and what comes back.
func TestScripts(t *testing.T) {
	if scripts, _ := filepath.Glob("testdata/*.txt"); len(scripts) == 0 {
		t.Fatal("no scripts in testdata")
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			parquet, err := filepath.Abs("../../internal/parquetfile/testdata") // files of other programs
			if err != nil {
				return err
			}
			env.Setenv("PARQUET", parquet)
			if shared := sharedtest.Root(); shared != "" {
				env.Setenv("SHARED", shared)
			}
			return nil
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "shared":
				return sharedtest.Root() != "", nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			// code N retcon ...: the exit code is N.
			"code": func(ts *testscript.TestScript, neg bool, args []string) {
				var stdout, stderr bytes.Buffer
				exe, err := os.Executable()
				ts.Check(err)
				c := exec.Command(exe, args[2:]...)
				c.Dir, c.Stdout, c.Stderr = ts.MkAbs("."), &stdout, &stderr
				c.Env = append(os.Environ(), asRetcon+"=1")
				got := 0
				if err := c.Run(); err != nil {
					var exit *exec.ExitError
					if !errors.As(err, &exit) {
						ts.Fatalf("%v", err)
					}
					got = exit.ExitCode()
				}
				ts.Logf("[stdout]\n%s[stderr]\n%s", &stdout, &stderr)
				if fmt.Sprint(got) != args[0] {
					ts.Fatalf("exit code %d, want %s", got, args[0])
				}
				ts.Check(os.WriteFile(ts.MkAbs("stderr.txt"), stderr.Bytes(), 0o644))
				ts.Check(os.WriteFile(ts.MkAbs("stdout.txt"), stdout.Bytes(), 0o644))
			},
			// flip FILE OFFSET: damages one byte.
			"flip": func(ts *testscript.TestScript, neg bool, args []string) {
				b := []byte(ts.ReadFile(args[0]))
				var at int
				_, err := fmt.Sscan(args[1], &at)
				ts.Check(err)
				if at < 0 {
					at += len(b)
				}
				b[at] ^= 0x40
				ts.Check(os.WriteFile(ts.MkAbs(args[0]), b, 0o644))
			},
			// sametree A B: the folders hold the same files and bytes.
			"sametree": func(ts *testscript.TestScript, neg bool, args []string) {
				a, err := tree(ts.MkAbs(args[0]))
				ts.Check(err)
				b, err := tree(ts.MkAbs(args[1]))
				ts.Check(err)
				if diff := cmp.Diff(a, b); (diff == "") == neg {
					ts.Fatalf("trees differ: %s", diff)
				}
			},
		},
	})
}

// tree maps slash paths to hashes of bytes.
func tree(dir string) (map[string]string, error) {
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		sum := sha256.Sum256(b)
		out[filepath.ToSlash(rel)] = hex.EncodeToString(sum[:])
		return err
	})
	return out, err
}

// command is the command as a process.
func command(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(exe, args...)
	c.Dir = dir
	c.Env = append(os.Environ(), asRetcon+"=1")
	return c
}

// A build that is killed at any moment leaves the release whole or absent, and
// the same command makes the same bytes from there.
func TestKilledAnywhere(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("kills by signal")
	}
	ref := t.TempDir()
	start := time.Now()
	if out, err := command(t, ref, "build").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	took := time.Since(start)
	want, err := tree(filepath.Join(ref, "out"))
	if err != nil {
		t.Fatal(err)
	}
	const kills = 12
	for i := range kills {
		dir := t.TempDir()
		c := command(t, dir, "build")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(took * time.Duration(i+1) / (kills + 1))
		_ = c.Process.Kill() // it may have finished
		_ = c.Wait()
		if _, err := os.Stat(filepath.Join(dir, "out")); err == nil {
			if out, err := command(t, dir, "verify", "out").CombinedOutput(); err != nil {
				t.Errorf("kill %d: a release appeared that does not verify: %v\n%s", i, err, out)
			}
		}
		if out, err := command(t, dir, "build").CombinedOutput(); err != nil {
			t.Fatalf("kill %d: building again: %v\n%s", i, err, out)
		}
		got, err := tree(filepath.Join(dir, "out"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("kill %d: other bytes: %s", i, diff)
		}
		left, _ := filepath.Glob(filepath.Join(dir, "*~"))
		inWork, _ := filepath.Glob(filepath.Join(dir, "out.work", "*~"))
		if names := append(left, inWork...); len(names) > 0 {
			t.Errorf("kill %d: left behind: %s", i, strings.Join(names, ", "))
		}
	}
}
