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
)

// ErrExists says that the output folder holds something already. A release is
// never overwritten.
var ErrExists = errors.New("the folder is not empty; a release is never overwritten")

// Write makes the release folder dir: Parquet shards of the tables, then
// manifest, card and sidecars, then SHA256SUMS. It fills the manifest's
// configs and files and returns it. Everything is written into a folder
// beside dir that is renamed at the end, so dir appears whole or not at all.
func Write(ctx context.Context, dir string, m schemas.Manifest, tables []Table) (schemas.Manifest, error) {
	if err := checkNames(tables); err != nil {
		return m, err
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return m, fmt.Errorf("%s: %w", dir, ErrExists)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return m, &fetch.Error{Op: "open", Name: dir, Kind: fetch.Disk, Err: err}
	}
	tmp := filepath.Clean(dir) + ".new~"
	if err := os.RemoveAll(tmp); err != nil {
		return m, &fetch.Error{Op: "remove", Name: tmp, Kind: fetch.Disk, Err: err}
	}
	defer os.RemoveAll(tmp)
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		return m, &fetch.Error{Op: "create", Name: tmp, Kind: fetch.Disk, Err: err}
	}

	m.Generator, m.Compressor = "retcon "+Version, compressor()
	m.Configs, m.Files = nil, nil
	for _, t := range tables {
		if err := ctx.Err(); err != nil {
			return m, err
		}
		info, err := writeTable(tmp, t, m)
		if err != nil {
			return m, fmt.Errorf("config %s, split %s: %w", t.Config, t.Split, err)
		}
		if n := len(m.Configs); n == 0 || m.Configs[n-1].Name != t.Config {
			m.Configs = append(m.Configs, schemas.ConfigInfo{Name: t.Config, Schema: t.Schema})
		}
		c := &m.Configs[len(m.Configs)-1]
		c.Splits = append(c.Splits, info)
		m.Files = append(m.Files, info.Files...)
	}
	if err := writeFile(tmp, ManifestFile, func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(m)
	}); err != nil {
		return m, err
	}
	for _, s := range sidecars {
		if err := writeFile(tmp, s.name, func(w io.Writer) error { return s.write(w, m, tables) }); err != nil {
			return m, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	if err := writeSums(tmp); err != nil {
		return m, err
	}
	if err := syncTree(tmp); err != nil {
		return m, err
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) { // an empty folder
		return m, &fetch.Error{Op: "replace", Name: dir, Kind: fetch.Disk, Err: err}
	}
	if err := os.Rename(tmp, dir); err != nil {
		return m, &fetch.Error{Op: "rename", Name: dir, Kind: fetch.Disk, Err: err}
	}
	return m, fetch.SyncDir(filepath.Dir(filepath.Clean(dir)))
}

// sidecar is a file of the release that follows from manifest and tables.
type sidecar struct {
	name  string
	write func(w io.Writer, m schemas.Manifest, tables []Table) error
}

// sidecars are written in this order, after the manifest.
var sidecars = []sidecar{
	{CardFile, writeCard},
	{"LICENSE", writeLicence},
}

func checkNames(tables []Table) error {
	seen := map[string]bool{}
	for _, t := range tables {
		for _, n := range []string{t.Config, t.Split} {
			if !SplitName.MatchString(n) {
				hint := ""
				if fixed := strings.NewReplacer("-", "_", " ", "_").Replace(n); SplitName.MatchString(fixed) {
					hint = fmt.Sprintf(" (try %s)", fixed)
				}
				return fmt.Errorf("name %q: only letters, digits, _ and inner dots load everywhere%s", n, hint)
			}
		}
		if seen[t.Config+"/"+t.Split] {
			return fmt.Errorf("config %s: split %s stands twice", t.Config, t.Split)
		}
		seen[t.Config+"/"+t.Split] = true
	}
	return nil
}

// writeTable writes one split and counts what its rows say.
func writeTable(dir string, t Table, m schemas.Manifest) (schemas.SplitInfo, error) {
	l, err := layoutOf(t.typ)
	if err != nil {
		return schemas.SplitInfo{}, err
	}
	footer, err := l.footer()
	if err != nil {
		return schemas.SplitInfo{}, err
	}
	opt := writeOptions{compression: m.Recipe.Release.Compression, rowsPerShard: m.Recipe.Release.RowsPerShard, meta: [][2]string{
		{"huggingface", footer},
		{"retcon.canary", m.Canary}, {"retcon.dataset", m.Name}, {"retcon.recipe_sha256", m.RecipeHash}, {"retcon.version", m.Version},
	}}
	var count exampleCount
	last := ""
	info, err := t.write(dir, opt, func(v reflect.Value) error {
		e, ok := v.Interface().(schemas.Example)
		if !ok {
			return nil
		}
		if e.ExampleID <= last {
			return fmt.Errorf("row %s does not follow %s: rows stand in order of their ids", e.ExampleID, last)
		}
		last = e.ExampleID
		return count.add(e)
	})
	if err != nil {
		return info, err
	}
	count.fill(&info)
	return info, nil
}

// exampleCount sums up the rows of an evaluation split.
type exampleCount struct {
	words               []int
	groups              map[string]bool
	positives, negative int
}

// add checks a row as [Verify] will and counts it.
func (c *exampleCount) add(e schemas.Example) error {
	if err := CheckExample(e); err != nil {
		return fmt.Errorf("row %s: %w", e.ExampleID, err)
	}
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
			h, err := hashFile(dir, n)
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

// listFiles returns the slash paths of all files below dir, sorted byte-wise.
func listFiles(dir string) ([]string, error) {
	var names []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return nil
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		names = append(names, filepath.ToSlash(rel))
		return nil
	})
	if err != nil {
		return nil, &fetch.Error{Op: "list", Name: dir, Kind: fetch.Input, Err: err}
	}
	slices.Sort(names)
	return names, nil
}

func syncTree(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return fetch.SyncDir(path)
	})
}

// compressor names the library behind the bytes; another version of it may
// write others.
func compressor() string {
	const path = "github.com/klauspost/compress"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Path == path {
				return path + " " + d.Version
			}
		}
	}
	return path
}
