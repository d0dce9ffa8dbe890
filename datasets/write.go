// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/scoring"
)

// Version is retcon's version as releases name it. It stands in the footer of
// every shard, so it is a constant and not what the build happened to know.
const Version = "0.1.0"

// Names of files in a release.
const (
	CardFile     = "README.md"
	ManifestFile = "manifest.json"
	SumsFile     = "SHA256SUMS"

	CroissantFile   = "croissant.json"
	AttestationFile = "attestation.json"
)

// ErrExists says that the output folder holds something already. A release is
// never overwritten.
var ErrExists = errors.New("the folder is not empty; a release is never overwritten")

// WriteOptions are what a release needs beside its tables.
type WriteOptions struct {
	// Second reads every shard again, by another library than the writer's.
	Second SecondReader
	// Hidden are tables whose rows stay out of the release: it publishes their
	// ids and salted hashes alone ([Commit]). The rows go to HiddenDir, a
	// folder of the same form that nobody publishes.
	Hidden    []Table
	HiddenDir string
	Salt      []byte
}

// Write makes the release folder dir: Parquet shards of the tables, then
// manifest, card and sidecars, then SHA256SUMS. It fills the manifest's
// configs, files and commitments and returns it. Everything is written into a
// folder beside dir that is renamed at the end, so dir appears whole or not at
// all.
func Write(ctx context.Context, dir string, m schemas.Manifest, tables []Table, opt WriteOptions) (schemas.Manifest, error) {
	if err := checkNames(append(slices.Clone(tables), opt.Hidden...)); err != nil {
		return m, err
	}
	m.Generator, m.Compressor = "retcon "+Version, compressor()
	if err := writeHidden(ctx, &m, opt); err != nil {
		return m, err
	}
	err := Publish(dir, func(tmp string) error {
		sum, err := writeTables(ctx, tmp, &m, tables, opt)
		if err != nil {
			return err
		}
		if err := writeManifest(tmp, m); err != nil {
			return err
		}
		if err := writeSidecars(tmp, m, sum); err != nil {
			return err
		}
		return writeSums(tmp)
	})
	return m, err
}

// Publish calls write with a new folder beside dir and renames it to dir, so
// that dir appears whole or not at all. A folder that holds something is never
// overwritten ([ErrExists]).
func Publish(dir string, write func(tmp string) error) error {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s: %w", dir, ErrExists)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &fetch.Error{Op: "open", Name: dir, Kind: fetch.Disk, Err: err}
	}
	tmp := filepath.Clean(dir) + ".new~"
	if err := os.RemoveAll(tmp); err != nil {
		return &fetch.Error{Op: "remove", Name: tmp, Kind: fetch.Disk, Err: err}
	}
	defer os.RemoveAll(tmp)
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		return &fetch.Error{Op: "create", Name: tmp, Kind: fetch.Disk, Err: err}
	}
	if err := write(tmp); err != nil {
		return err
	}
	if err := syncTree(tmp); err != nil {
		return err
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) { // an empty folder
		return &fetch.Error{Op: "replace", Name: dir, Kind: fetch.Disk, Err: err}
	}
	if err := os.Rename(tmp, dir); err != nil {
		return &fetch.Error{Op: "rename", Name: dir, Kind: fetch.Disk, Err: err}
	}
	return fetch.SyncDir(filepath.Dir(filepath.Clean(dir)))
}

// writeTables writes the shards of all tables and fills the manifest's configs
// and files.
func writeTables(ctx context.Context, dir string, m *schemas.Manifest, tables []Table, opt WriteOptions) (*summary, error) {
	m.Configs, m.Files = nil, nil
	sum := newSummary()
	for _, t := range tables {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		info, err := writeTable(dir, t, *m, opt, sum)
		if err != nil {
			return nil, fmt.Errorf("config %s, split %s: %w", t.Config, t.Split, err)
		}
		if n := len(m.Configs); n == 0 || m.Configs[n-1].Name != t.Config {
			m.Configs = append(m.Configs, schemas.ConfigInfo{Name: t.Config, Schema: t.Schema})
		}
		c := &m.Configs[len(m.Configs)-1]
		c.Splits = append(c.Splits, info)
		m.Files = append(m.Files, info.Files...)
	}
	return sum, nil
}

// encodeManifest gives the manifest's one form: what is read from it and
// encoded again is the same bytes.
func encodeManifest(w io.Writer, m schemas.Manifest) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(m)
}

func writeManifest(dir string, m schemas.Manifest) error {
	return writeFile(dir, ManifestFile, func(w io.Writer) error { return encodeManifest(w, m) })
}

// sidecar is a file of the release that follows from manifest and rows alone.
// [Verify] makes each again and compares.
type sidecar struct {
	name  string
	write func(w io.Writer, s sidecarInput) error
}

// sidecarInput is all that a sidecar is made from.
type sidecarInput struct {
	schemas.Manifest
	rows *summary
	// files are those of the release that exist before this one is made, with
	// their hashes, sorted by path.
	files []schemas.FileHash
}

// sidecars lists them in the order in which they are written, after the
// manifest. The attestation names all others.
func sidecars(m schemas.Manifest) []sidecar {
	out := []sidecar{{"LICENSE", writeLicence}, {"CITATION.cff", writeCitation}, {CroissantFile, writeCroissant}}
	out = append(out, evalSidecars(m)...)
	return append(out, sidecar{ReportFile, writeReport}, sidecar{CardFile, writeCard}, sidecar{AttestationFile, writeAttestation})
}

func writeSidecars(dir string, m schemas.Manifest, rows *summary) error {
	in := sidecarInput{Manifest: m, rows: rows}
	names, err := listFiles(dir)
	if err != nil {
		return err
	}
	for _, n := range names {
		h, err := HashFile(dir, n)
		if err != nil {
			return err
		}
		in.add(h)
	}
	for _, s := range sidecars(m) {
		if err := writeFile(dir, s.name, func(w io.Writer) error { return s.write(w, in) }); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		h, err := HashFile(dir, s.name)
		if err != nil {
			return err
		}
		in.add(h)
	}
	return nil
}

// add puts a file into the list, keeping its order.
func (s *sidecarInput) add(h schemas.FileHash) {
	at, _ := slices.BinarySearchFunc(s.files, h.Path, func(f schemas.FileHash, n string) int { return strings.Compare(f.Path, n) })
	s.files = slices.Insert(s.files, at, h)
}

func checkNames(tables []Table) error {
	seen := map[string]bool{}
	for _, t := range tables {
		for _, n := range []string{t.Config, t.Split} {
			if err := checkName(n); err != nil {
				return err
			}
		}
		if seen[t.Config+"/"+t.Split] {
			return fmt.Errorf("config %s: split %s stands twice", t.Config, t.Split)
		}
		seen[t.Config+"/"+t.Split] = true
	}
	return nil
}

// skipRowChecks lets a test write what another program might have written.
var skipRowChecks bool

// writeTable writes one split and counts what its rows say.
func writeTable(dir string, t Table, m schemas.Manifest, opt WriteOptions, sum *summary) (schemas.SplitInfo, error) {
	l, err := layoutOf(t.typ)
	if err != nil {
		return schemas.SplitInfo{}, err
	}
	meta, err := footerKeys(l, m)
	if err != nil {
		return schemas.SplitInfo{}, err
	}
	shards := writeOptionsOf(m, meta)
	shards.second = opt.Second
	var count exampleCount
	last, lastPrompt := "", -1
	info, err := t.write(dir, shards, func(v reflect.Value) error {
		if p, ok := v.Interface().(schemas.Prompt); ok {
			sum.addPrompt(t.Config, t.Split, p)
			err := count.addPrompt(p)
			if err == nil {
				err = promptRow(p, m, lastPrompt)
			}
			lastPrompt = p.ID
			if skipRowChecks {
				return nil
			}
			return err
		}
		if r, ok := sideOf(v.Interface()); ok {
			err := r.check(m, last)
			last = r.id
			return err
		}
		e, ok := v.Interface().(schemas.Example)
		if !ok {
			return nil
		}
		sum.add(t.Config, t.Split, e)
		err := count.add(e)
		switch {
		case skipRowChecks:
			return nil
		case err != nil:
			return err
		case e.ExampleID <= last:
			return fmt.Errorf("row %s does not follow %s: rows stand in order of their ids", e.ExampleID, last)
		case e.Split != t.Split || e.Canary != m.Canary || e.DatasetVersion != m.Version:
			return fmt.Errorf("row %s says split %q, canary %q, dataset_version %q; they are %q, %q, %q", e.ExampleID, e.Split, e.Canary, e.DatasetVersion, t.Split, m.Canary, m.Version)
		}
		last = e.ExampleID
		if found, column, line := ResidueOf(e); found != "" && !slices.Contains(m.Recipe.Release.Residue, e.ExampleID) {
			return fmt.Errorf("row %s: the %s holds %q in line %d, which a release must not (list the id under release.residue to allow it)", e.ExampleID, column, found, line)
		}
		return nil
	})
	if err != nil {
		return info, err
	}
	count.fill(&info)
	return info, nil
}

// writeOptionsOf are the settings of the manifest's recipe.
func writeOptionsOf(m schemas.Manifest, meta [][2]string) writeOptions {
	return writeOptions{compression: m.Recipe.Release.Compression, rowsPerShard: m.Recipe.Release.RowsPerShard, meta: meta}
}

// footerKeys are the key-value pairs of every shard's footer, sorted.
func footerKeys(l *layout, m schemas.Manifest) ([][2]string, error) {
	features, err := l.footer()
	return [][2]string{
		{"huggingface", features},
		{"retcon.canary", m.Canary}, {"retcon.dataset", m.Name}, {"retcon.recipe_sha256", m.RecipeHash}, {"retcon.version", m.Version},
	}, err
}

// exampleCount sums up the rows of an evaluation split.
type exampleCount struct {
	words               []int
	groups              map[string]bool
	positives, negative int
}

// add counts a row and checks it as [Verify] will.
func (c *exampleCount) add(e schemas.Example) error {
	if c.groups == nil {
		c.groups = map[string]bool{}
	}
	c.groups[e.GroupID] = true
	c.words = append(c.words, e.Words)
	if e.Label == schemas.LabelError {
		c.positives++
	} else {
		c.negative++
	}
	if err := CheckExample(e); err != nil {
		return fmt.Errorf("row %s: %w", e.ExampleID, err)
	}
	return nil
}

func (c *exampleCount) fill(info *schemas.SplitInfo) {
	info.Positives, info.Negatives, info.Groups = c.positives, c.negative, len(c.groups)
	if len(c.words) > 0 {
		info.Words = scoring.Lengths(c.words)
	}
}

func writeFile(dir, name string, write func(io.Writer) error) error {
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return &fetch.Error{Op: "create", Name: name, Kind: fetch.Disk, Err: err}
	}
	return fetch.WriteFileAtomic(path, 0o644, write)
}

// writeSums writes SHA256SUMS over every other file, in the format of
// sha256sum.
func writeSums(dir string) error {
	names, err := listFiles(dir)
	if err != nil {
		return err
	}
	return writeFile(dir, SumsFile, func(w io.Writer) error {
		for _, n := range names {
			if n == SumsFile {
				continue
			}
			h, err := HashFile(dir, n)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(w, "%s  %s\n", h.SHA256, n); err != nil {
				return err
			}
		}
		return nil
	})
}

func syncTree(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return fetch.SyncDir(path)
	})
}

// compressor names the library and the platform behind the bytes; another
// version or platform may write others.
func compressor() string {
	const path = "github.com/klauspost/compress"
	version := "(unknown)"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Path == path {
				version = d.Version
			}
		}
	}
	return path + " " + version + " on " + runtime.GOARCH
}
