// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/schemas"
)

// saltBytes is the length of a salt.
const saltBytes = 32

// Commit is the published hash of a hidden row:
//
//	nonce      = HMAC-SHA256(salt, "retcon hidden row " + example_id)
//	commitment = SHA-256(nonce + row digest), in hex
//
// The row digest covers text, label and spans. Without the salt nobody can try
// texts against it; with its nonce alone a single row can be opened, and no
// other.
func Commit(salt []byte, exampleID string, rowDigest []byte) string {
	mac := hmac.New(sha256.New, salt)
	mac.Write([]byte("retcon hidden row " + exampleID))
	sum := sha256.Sum256(append(mac.Sum(nil), rowDigest...))
	return hex.EncodeToString(sum[:])
}

// Salt reads the salt of hidden rows from a file, and makes the file with a
// new one where it is not there. The salt is the one thing here that does not
// follow from the recipe: whoever could derive it could open the commitments.
func Salt(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		salt := make([]byte, saltBytes)
		rand.Read(salt)
		err := fetch.WriteFileAtomic(path, 0o600, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "%x\n", salt)
			return err
		})
		return salt, err
	}
	if err != nil {
		return nil, &fetch.Error{Op: "read salt", Name: path, Kind: fetch.Disk, Err: err}
	}
	salt, err := hex.DecodeString(string(bytes.TrimSpace(b)))
	if err != nil || len(salt) != saltBytes {
		return nil, &fetch.Error{Op: "read salt", Name: path, Kind: fetch.Input, Err: fmt.Errorf("want %d bytes in hex", saltBytes)}
	}
	return salt, nil
}

// writeHidden puts the hidden rows into their own folder and the commitments
// to them into the manifest.
func writeHidden(ctx context.Context, m *schemas.Manifest, opt WriteOptions) error {
	m.Hidden = nil
	if len(opt.Hidden) == 0 {
		return nil
	}
	if len(opt.Salt) != saltBytes || opt.HiddenDir == "" {
		return errors.New("hidden rows need a salt and a folder of their own")
	}
	if err := os.RemoveAll(opt.HiddenDir); err != nil { // made anew from the same rows
		return &fetch.Error{Op: "remove", Name: opt.HiddenDir, Kind: fetch.Disk, Err: err}
	}
	private := *m
	private.Notes = append(slices.Clone(m.Notes), "hidden rows; never publish this folder")
	if err := Publish(opt.HiddenDir, func(tmp string) error {
		if _, err := writeTables(ctx, tmp, &private, opt.Hidden, opt); err != nil {
			return err
		}
		if err := writeManifest(tmp, private); err != nil {
			return err
		}
		return writeSums(tmp)
	}); err != nil {
		return fmt.Errorf("hidden rows: %w", err)
	}
	var err error
	m.Hidden, err = commitments(&Release{Dir: opt.HiddenDir, Manifest: private}, opt.Salt)
	return err
}

// commitments makes the commitments to all rows of a folder of hidden rows,
// sorted by config and id.
func commitments(r *Release, salt []byte) ([]schemas.Commitment, error) {
	var out []schemas.Commitment
	for _, c := range r.Manifest.Configs {
		l, err := layoutOfSchema(c.Schema)
		if err != nil {
			return nil, err
		}
		for _, s := range c.Splits {
			for _, f := range s.Files {
				for v, err := range readRecords(filepath.Join(r.Dir, filepath.FromSlash(f.Path)), l, recordTypes[c.Schema]) {
					if err != nil {
						return nil, err
					}
					e, ok := v.Interface().(schemas.Example)
					if !ok {
						return nil, fmt.Errorf("config %s: rows of schema %s cannot be hidden", c.Name, c.Schema)
					}
					digest, err := l.rowDigest(v)
					if err != nil {
						return nil, err
					}
					out = append(out, schemas.Commitment{Config: c.Name, ExampleID: e.ExampleID, SHA256: Commit(salt, e.ExampleID, digest)})
				}
			}
		}
	}
	slices.SortFunc(out, compareCommitments)
	return out, nil
}

func compareCommitments(a, b schemas.Commitment) int {
	if c := strings.Compare(a.Config, b.Config); c != 0 {
		return c
	}
	return strings.Compare(a.ExampleID, b.ExampleID)
}

// hidden checks the hidden rows against the release's commitments.
func (v *verifier) hidden(checks Checks) {
	fail := func(err error) { v.rep.add("hidden", -1, "", "%v", err) }
	r, err := Open(checks.HiddenDir)
	if err != nil {
		fail(err)
		return
	}
	got, err := commitments(r, checks.Salt)
	if err != nil {
		fail(err)
		return
	}
	type key struct{ config, id string }
	want := map[key]string{}
	for _, c := range v.Manifest.Hidden {
		want[key{c.Config, c.ExampleID}] = c.SHA256
	}
	for _, c := range got {
		k := key{c.Config, c.ExampleID}
		switch sum, ok := want[k]; {
		case !ok:
			v.rep.add("hidden", -1, c.ExampleID, "row %s of %s is not one the release committed to", c.ExampleID, c.Config)
		case sum != c.SHA256:
			v.rep.add("hidden", -1, c.ExampleID, "row %s of %s is not the row the release committed to, or the salt is another", c.ExampleID, c.Config)
		}
		delete(want, k)
	}
	for _, c := range v.Manifest.Hidden {
		if _, left := want[key{c.Config, c.ExampleID}]; left {
			v.rep.add("hidden", -1, c.ExampleID, "row %s of %s, which the release committed to, is missing", c.ExampleID, c.Config)
		}
	}
	for _, c := range r.Manifest.Configs {
		for _, s := range c.Splits {
			n := 0
			for e, err := range Rows[schemas.Example](r, c.Name, s.Name) {
				if err != nil {
					fail(err)
					break
				}
				if err := CheckExample(e); err != nil {
					v.rep.add("hidden", n, e.ExampleID, "%v", err)
				}
				if at, ok := v.side[e.GroupID]; ok {
					v.rep.add("hidden", n, e.ExampleID, "source %s stands in %s too: no source may stand on two sides of a cut", e.GroupID, at.at)
				}
				n++
			}
		}
	}
}
