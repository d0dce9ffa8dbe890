// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/schemas"
)

// Names of the files in a step's folder.
const (
	RecordsFile  = "records.jsonl"
	IndexFile    = "records.idx" // id, offset, length, tab-separated
	DroppedFile  = "dropped.jsonl"
	ManifestFile = "manifest.json"

	newSuffix = ".new~"
	oldSuffix = ".old~"
)

// Fingerprint is what makes a step's output current: while it is equal, the
// step need not run again.
type Fingerprint struct {
	Step      string
	Version   string
	Settings  any // hashed as JSON
	Templates []schemas.NamedHash
	Inputs    []schemas.NamedHash
}

// Manifest returns a manifest with the fingerprint's fields set.
func (f Fingerprint) Manifest() (schemas.StepManifest, error) {
	settings, err := HashJSON(f.Settings)
	if err != nil {
		return schemas.StepManifest{}, fmt.Errorf("step %s: settings: %w", f.Step, err)
	}
	return schemas.StepManifest{
		Step: f.Step, Version: f.Version, Settings: settings,
		Templates: f.Templates, Inputs: f.Inputs, State: schemas.StateComplete,
	}, nil
}

// HashJSON is the SHA-256 of v's JSON, in hex.
func HashJSON(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}

// ReadManifest reads the manifest of a step's folder. errors.Is(err,
// fs.ErrNotExist) when the step has no output.
func ReadManifest(dir string) (schemas.StepManifest, error) {
	var m schemas.StepManifest
	b, err := os.ReadFile(filepath.Join(dir, ManifestFile))
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return m, fmt.Errorf("%s: %w", filepath.Join(dir, ManifestFile), schemas.JSONFault(err))
	}
	return m, nil
}

// Current returns the manifest of the step in the folder name when its output
// is complete and has the fingerprint want; otherwise why says what differs.
func (w *Workspace) Current(name string, want Fingerprint) (m schemas.StepManifest, ok bool, why string, err error) {
	fresh, err := want.Manifest()
	if err != nil {
		return m, false, "", err
	}
	m, err = ReadManifest(w.Step(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return m, false, "no output yet", nil
	case err != nil: // a damaged manifest: the step is run again
		return m, false, err.Error(), nil
	case m.Step != fresh.Step || m.Version != fresh.Version:
		return m, false, fmt.Sprintf("made by %s %s", m.Step, m.Version), nil
	case m.Settings != fresh.Settings:
		return m, false, "settings changed", nil
	case !slices.Equal(m.Templates, fresh.Templates):
		return m, false, "prompt templates changed", nil
	case !slices.Equal(m.Inputs, fresh.Inputs):
		return m, false, "inputs changed", nil
	case m.State != schemas.StateComplete:
		return m, false, "partial", nil
	}
	why = Changed(w.Step(name), m)
	return m, why == "", why, nil
}

// Changed names a file in a step's folder that is not as the step wrote it, by
// its manifest; it is empty where there is none.
func Changed(dir string, m schemas.StepManifest) (why string) {
	for _, f := range m.Outputs {
		info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(f.Path)))
		if err != nil || info.Size() != f.Bytes {
			return f.Path + " is missing or has another size"
		}
	}
	// Sizes first, as they cost nothing; but a byte that a disk or a hand changed
	// shows in the hash alone, and would be released as if the recipe gave it.
	for _, f := range m.Outputs {
		sum, _, err := fetch.HashFile(filepath.Join(dir, filepath.FromSlash(f.Path)))
		if err != nil || sum != f.SHA256 {
			return f.Path + " is not what the step wrote"
		}
	}
	return ""
}

// Output is a step's folder in the making. Nothing of it shows until Publish.
type Output struct {
	w       *Workspace
	name    string
	dir     string
	records *countingFile
	index   *countingFile
	dropped *countingFile
	extra   []*countingFile
	ids     map[string]bool
	reasons map[string]int
	line    []byte
}

// Begin starts the output of a step anew.
func (w *Workspace) Begin(name string) (*Output, error) {
	dir := w.Step(name) + newSuffix
	if err := os.RemoveAll(dir); err != nil {
		return nil, diskError("remove", dir, err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, diskError("create", dir, err)
	}
	o := &Output{w: w, name: name, dir: dir, ids: map[string]bool{}, reasons: map[string]int{}}
	for _, f := range []struct {
		name string
		dst  **countingFile
	}{{RecordsFile, &o.records}, {IndexFile, &o.index}, {DroppedFile, &o.dropped}} {
		var err error
		if *f.dst, err = createCounting(dir, f.name); err != nil {
			o.Discard()
			return nil, err
		}
	}
	return o, nil
}

// Record appends a record. Ids are unique within a step and hold no tab or
// newline.
func (o *Output) Record(id string, v any) error {
	if id == "" || strings.ContainsAny(id, "\t\n\r") {
		return fmt.Errorf("%s: record id %q is empty or holds a tab or newline", o.name, id)
	}
	if o.ids[id] {
		return fmt.Errorf("%s: two records have the id %s", o.name, id)
	}
	o.ids[id] = true
	line, err := schemas.AppendLine(o.line[:0], v)
	if err != nil {
		return fmt.Errorf("%s: %s: %w", o.name, id, err)
	}
	o.line = line
	offset := o.records.bytes
	if err := o.records.write(line); err != nil {
		return err
	}
	return o.index.write(fmt.Appendf(nil, "%s\t%d\t%d\n", id, offset, len(line)))
}

// Has reports whether a record of that id was written.
func (o *Output) Has(id string) bool { return o.ids[id] }

// Drop appends a record that was set aside.
func (o *Output) Drop(d schemas.Dropped) error {
	line, err := schemas.AppendLine(o.line[:0], d)
	if err != nil {
		// The record that cannot be written may itself be why it was dropped.
		return fmt.Errorf("%s: dropped %q: %w", o.name, d.ID, err)
	}
	o.line = line
	o.reasons[d.Stage+"/"+d.Reason]++
	return o.dropped.write(line)
}

// Table creates a further JSON Lines file in the step's folder and returns the
// function that appends to it.
func (o *Output) Table(name string) (add func(v any) error, err error) {
	f, err := createCounting(o.dir, name)
	if err != nil {
		return nil, err
	}
	o.extra = append(o.extra, f)
	return func(v any) error {
		line, err := schemas.AppendLine(o.line[:0], v)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", o.name, name, err)
		}
		o.line = line
		return f.write(line)
	}, nil
}

// Publish completes m with files and counts, writes it and puts the folder in
// place of the old one. A crash at any moment leaves the old output, the new
// one, or none, never a mixture.
func (o *Output) Publish(m schemas.StepManifest) (schemas.StepManifest, error) {
	defer o.Discard()
	m.Outputs = nil
	for _, f := range append([]*countingFile{o.records, o.index, o.dropped}, o.extra...) {
		h, err := f.close()
		if err != nil {
			return m, err
		}
		m.Outputs = append(m.Outputs, h)
	}
	m.Out, m.Dropped, m.Reasons = o.records.rows, o.dropped.rows, SortedCounts(o.reasons)
	if err := writeJSON(filepath.Join(o.dir, ManifestFile), m); err != nil {
		return m, err
	}
	if err := fetch.SyncDir(o.dir); err != nil {
		return m, err
	}
	final, old := o.w.Step(o.name), o.w.Step(o.name)+oldSuffix
	if err := os.Rename(final, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return m, diskError("rename", final, err)
	}
	if err := os.Rename(o.dir, final); err != nil {
		return m, diskError("rename", o.dir, err)
	}
	if err := fetch.SyncDir(o.w.dir); err != nil {
		return m, err
	}
	if err := os.RemoveAll(old); err != nil {
		return m, diskError("remove", old, err)
	}
	return m, nil
}

// Discard removes what was written, if it was not published.
func (o *Output) Discard() {
	for _, f := range append([]*countingFile{o.records, o.index, o.dropped}, o.extra...) {
		if f != nil {
			f.file.Close()
		}
	}
	os.RemoveAll(o.dir)
}

// SortedCounts turns a count by name into a list sorted by name.
func SortedCounts(m map[string]int) []schemas.Count {
	list := make([]schemas.Count, 0, len(m))
	for name, n := range m {
		list = append(list, schemas.Count{Name: name, N: n})
	}
	slices.SortFunc(list, func(a, b schemas.Count) int { return strings.Compare(a.Name, b.Name) })
	return list
}

func writeJSON(path string, v any) error {
	return fetch.WriteFileAtomic(path, 0o644, func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(v)
	})
}

type countingFile struct {
	name  string
	file  *os.File
	buf   *bufio.Writer
	sum   hash.Hash
	bytes int64
	rows  int
}

func createCounting(dir, name string) (*countingFile, error) {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, diskError("create", name, err)
	}
	return &countingFile{name: name, file: f, buf: bufio.NewWriterSize(f, 1<<18), sum: sha256.New()}, nil
}

func (c *countingFile) write(line []byte) error {
	if _, err := c.buf.Write(line); err != nil {
		return diskError("write", c.file.Name(), err)
	}
	c.sum.Write(line)
	c.bytes += int64(len(line))
	c.rows++
	return nil
}

func (c *countingFile) close() (schemas.FileHash, error) {
	h := schemas.FileHash{Path: c.name, Bytes: c.bytes, SHA256: hex.EncodeToString(c.sum.Sum(nil)), Rows: c.rows}
	err := c.buf.Flush()
	if err == nil {
		err = c.file.Sync()
	}
	if err == nil {
		err = c.file.Close()
	}
	if err != nil {
		return h, diskError("write", c.file.Name(), err)
	}
	return h, nil
}
