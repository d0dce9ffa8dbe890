// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/schemas"
)

// Rebuild makes a release again from its manifest's recipe and compares. build
// writes the release of a recipe to a folder; it joins the steps, which this
// package does not know. The rows must be the same, by their logical digests;
// the files too, where this very version on this kind of machine wrote them.
// Commitments to hidden rows are compared by id: another workspace has another
// salt.
func Rebuild(ctx context.Context, dir string, build func(ctx context.Context, recipe schemas.Recipe, out string) error) (*Report, error) {
	old, err := Open(dir)
	if err != nil {
		return nil, err
	}
	tmp, err := os.MkdirTemp("", "retcon-rebuild-")
	if err != nil {
		return nil, &fetch.Error{Op: "create", Name: "a folder to rebuild in", Kind: fetch.Disk, Err: err}
	}
	defer os.RemoveAll(tmp)
	out := filepath.Join(tmp, "release")
	if err := build(ctx, old.Manifest.Recipe, out); err != nil {
		return nil, fmt.Errorf("rebuild %s: %w", old.ID(), err)
	}
	fresh, err := Open(out)
	if err != nil {
		return nil, err
	}
	rep := &Report{Problems: []Problem{}, Notes: []string{}}
	say := func(format string, args ...any) { rep.add(ManifestFile, -1, "", format, args...) }
	for _, in := range [][2]*Release{{old, fresh}, {fresh, old}} {
		for _, c := range in[0].Manifest.Configs {
			for _, s := range c.Splits {
				again, err := in[1].Split(c.Name, s.Name)
				switch {
				case err != nil && in[0] == old:
					say("%s/%s: the rebuilt release does not have it", c.Name, s.Name)
				case err != nil:
					say("%s/%s: only the rebuilt release has it", c.Name, s.Name)
				case in[0] == old && again.Digest != s.Digest:
					say("%s/%s: rebuilt it has %d rows of digest %s, here are %d of %s", c.Name, s.Name, again.Rows, again.Digest, s.Rows, s.Digest)
				}
				if in[0] == old {
					rep.Rows += s.Rows
				}
			}
		}
	}
	if got, want := hiddenIDs(fresh.Manifest), hiddenIDs(old.Manifest); got != want {
		say("the rebuilt release hides other rows")
	}
	if old.Manifest.Generator != fresh.Manifest.Generator || old.Manifest.Compressor != fresh.Manifest.Compressor {
		rep.note("written by %s with %s, rebuilt by %s with %s: rows were compared, bytes were not",
			old.Manifest.Generator, old.Manifest.Compressor, fresh.Manifest.Generator, fresh.Manifest.Compressor)
		return rep, nil
	}
	for _, f := range old.Manifest.Files {
		rep.Files++
		rep.Bytes += f.Bytes
		h, err := HashFile(out, f.Path)
		if err != nil {
			rep.add(f.Path, -1, "", "the rebuilt release does not have it")
		} else if h.SHA256 != f.SHA256 {
			rep.add(f.Path, -1, "", "rebuilt its %d bytes have SHA-256 %s, the manifest says %d and %s", h.Bytes, h.SHA256, f.Bytes, f.SHA256)
		}
	}
	return rep, nil
}

// hiddenIDs is the list of hidden rows without their salted hashes.
func hiddenIDs(m schemas.Manifest) string {
	s := ""
	for _, c := range m.Hidden {
		s += c.Config + "/" + c.ExampleID + "\n"
	}
	return s
}
