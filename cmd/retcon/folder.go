// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/internal/pipeline"
	"github.com/retcon-bench/retcon/schemas"
)

// replaceFolder calls write with a new folder beside dir and puts it in dir's
// place: the old table, the new one, or none, never a mixture. A folder that
// holds anything but the output of the same step is left alone.
func replaceFolder(dir, step string, write func(tmp string) error) error {
	dir = filepath.Clean(dir)
	switch entries, err := os.ReadDir(dir); {
	case errors.Is(err, fs.ErrNotExist), err == nil && len(entries) == 0:
	case err != nil:
		return &fetch.Error{Op: "open", Name: dir, Kind: fetch.Disk, Err: err}
	default:
		if m, err := pipeline.ReadManifest(dir); err != nil || m.Step != step {
			return withHint(exitUsage, "name another folder with --out", fmt.Errorf("%s holds something that is no output of %s", dir, step))
		}
	}
	tmp, old := dir+".new~", dir+".old~"
	for _, d := range []string{tmp, old} {
		if err := os.RemoveAll(d); err != nil {
			return &fetch.Error{Op: "remove", Name: d, Kind: fetch.Disk, Err: err}
		}
	}
	defer os.RemoveAll(tmp)
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		return &fetch.Error{Op: "create", Name: tmp, Kind: fetch.Disk, Err: err}
	}
	if err := write(tmp); err != nil {
		return err
	}
	if err := fetch.SyncDir(tmp); err != nil {
		return err
	}
	if err := os.Rename(dir, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &fetch.Error{Op: "rename", Name: dir, Kind: fetch.Disk, Err: err}
	}
	if err := os.Rename(tmp, dir); err != nil {
		return &fetch.Error{Op: "rename", Name: tmp, Kind: fetch.Disk, Err: err}
	}
	if err := os.RemoveAll(old); err != nil {
		return &fetch.Error{Op: "remove", Name: old, Kind: fetch.Disk, Err: err}
	}
	return fetch.SyncDir(filepath.Dir(dir))
}

// remember passes rows on and keeps the error that ended them, for a caller who
// tells of it without the files that were being written.
func remember[T any](rows iter.Seq2[T, error]) (iter.Seq2[T, error], *error) {
	failed := new(error)
	return func(yield func(T, error) bool) {
		for r, err := range rows {
			if err != nil {
				*failed = err
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}, failed
}

// writeManifestFile writes a folder's manifest, by which it is known again.
func writeManifestFile(dir string, m *schemas.StepManifest) error {
	return fetch.WriteFileAtomic(filepath.Join(dir, pipeline.ManifestFile), 0o644, func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(m)
	})
}

// writeLines writes records as JSON Lines into a file of a folder.
func writeLines[T any](dir, name string, rows iter.Seq2[T, error]) error {
	return fetch.WriteFileAtomic(filepath.Join(dir, name), 0o644, func(w io.Writer) error { return encodeLines(w, rows) })
}

// encodeLines writes records as JSON Lines.
func encodeLines[T any](w io.Writer, rows iter.Seq2[T, error]) error {
	var line []byte
	for r, err := range rows {
		if err != nil {
			return err
		}
		if line, err = schemas.AppendLine(line[:0], r); err != nil {
			return err
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	return nil
}
