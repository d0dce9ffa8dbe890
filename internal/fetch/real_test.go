// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"archive/tar"
	"archive/zip"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/retcon-bench/retcon/internal/sharedtest"
)

// The whole sample, packed in each way, is the same tree: names and hashes do
// not depend on how somebody's download was packed.
func TestWalkRealTree(t *testing.T) {
	root := sharedtest.Path(t, "corpora")
	tree := func(root string) map[string]string {
		t.Helper()
		sums := map[string]string{}
		for f, err := range Walk(t.Context(), root, Limits{}) {
			if err != nil {
				t.Fatal(err)
			}
			_, sum, err := ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			sums[f.Name] = sum
		}
		return sums
	}
	want := tree(root)
	if len(want) < 600 {
		t.Fatalf("%d files in the sample, want about 640 and the questions", len(want))
	}
	dir := t.TempDir()
	pack := func(name string, write func(w io.Writer) error) string {
		path := filepath.Join(dir, name)
		if err := WriteFileAtomic(path, 0o644, write); err != nil {
			t.Fatal(err)
		}
		return path
	}
	asTar := func(w io.Writer) error {
		tw := tar.NewWriter(w)
		if err := tw.AddFS(os.DirFS(root)); err != nil {
			return err
		}
		return tw.Close()
	}
	asZip := func(w io.Writer) error {
		zw := zip.NewWriter(w)
		if err := zw.AddFS(os.DirFS(root)); err != nil {
			return err
		}
		return zw.Close()
	}
	for _, path := range []string{
		pack("a.zip", asZip),
		pack("a.tar", asTar),
		pack("a.tgz", func(w io.Writer) error { z := gzip.NewWriter(w); defer z.Close(); return asTar(z) }),
		pack("a.tar.zst", func(w io.Writer) error {
			z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
			if err != nil {
				return err
			}
			defer z.Close()
			return asTar(z)
		}),
	} {
		if d := cmp.Diff(want, tree(path)); d != "" {
			t.Errorf("%s (-folder +archive):\n%s", filepath.Base(path), d)
		}
	}
}
