// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"reflect"

	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/schemas"
)

// Release is a release folder opened for reading. Opening trusts the
// manifest; [Verify] does not.
type Release struct {
	Dir      string
	Manifest schemas.Manifest
}

// Open reads the manifest of a release folder.
func Open(dir string) (*Release, error) {
	path := filepath.Join(dir, ManifestFile)
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, &fetch.Error{Op: "open release", Name: dir, Kind: fetch.Input, Err: err}
	}
	r := &Release{Dir: dir}
	if err := json.Unmarshal(b, &r.Manifest); err != nil {
		return nil, &fetch.Error{Op: "read", Name: path, Kind: fetch.Input, Err: schemas.JSONFault(err)}
	}
	if err := r.readable(); err != nil {
		return nil, &fetch.Error{Op: "read", Name: path, Kind: fetch.Input, Err: err}
	}
	return r, nil
}

// readable says why the manifest is none that can be read by: any JSON object
// would otherwise do for a release without rows, which shares nothing with
// anybody and lacks what everybody has.
func (r *Release) readable() error {
	m := r.Manifest
	switch {
	case m.Format != 1:
		return fmt.Errorf("it is no manifest of a release, or of another version of retcon: its format is %d, this version reads 1", m.Format)
	case m.Name == "" || m.Version == "":
		return errors.New("it names no release: name or version is empty")
	}
	for _, c := range m.Configs {
		for _, s := range c.Splits {
			for _, f := range s.Files {
				if !fs.ValidPath(f.Path) {
					return fmt.Errorf("config %s, split %s: path %q leaves the release", c.Name, s.Name, f.Path)
				}
			}
		}
	}
	return nil
}

// ID is name@version, as predictions name a release.
func (r *Release) ID() string { return r.Manifest.Name + "@" + r.Manifest.Version }

// Config finds a config by name.
func (r *Release) Config(name string) (schemas.ConfigInfo, error) {
	var known []string
	for _, c := range r.Manifest.Configs {
		if c.Name == name {
			return c, nil
		}
		known = append(known, c.Name)
	}
	return schemas.ConfigInfo{}, fmt.Errorf("release %s has no config %q; it has %v", r.ID(), name, known)
}

// Split finds a split of a config.
func (r *Release) Split(config, name string) (schemas.SplitInfo, error) {
	c, err := r.Config(config)
	if err != nil {
		return schemas.SplitInfo{}, err
	}
	var known []string
	for _, s := range c.Splits {
		if s.Name == name {
			return s, nil
		}
		known = append(known, s.Name)
	}
	return schemas.SplitInfo{}, fmt.Errorf("config %s has no split %q; it has %v", config, name, known)
}

// Rows reads the records of a split in order. An error names the file and the
// row and ends the sequence.
func Rows[T any](r *Release, config, split string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		info, err := r.Split(config, split)
		if err != nil {
			var zero T
			yield(zero, err)
			return
		}
		for _, f := range info.Files {
			for v, err := range readRows[T](filepath.Join(r.Dir, filepath.FromSlash(f.Path))) {
				if !yield(v, err) || err != nil {
					return
				}
			}
		}
	}
}

// Records reads the records of a split in order, each as a value of the
// config's [RecordType]. An error names the file and the row and ends the
// sequence.
func (r *Release) Records(config, split string) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		c, err := r.Config(config)
		if err != nil {
			yield(nil, err)
			return
		}
		info, err := r.Split(config, split)
		if err != nil {
			yield(nil, err)
			return
		}
		l, err := layoutOfSchema(c.Schema)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, f := range info.Files {
			for v, err := range readRecords(filepath.Join(r.Dir, filepath.FromSlash(f.Path)), l, recordTypes[c.Schema]) {
				if err != nil {
					yield(nil, err)
					return
				}
				if !yield(v.Interface(), nil) {
					return
				}
			}
		}
	}
}

// RecordType is the Go type of a config's schema name.
func RecordType(schema string) (reflect.Type, error) {
	if t, ok := recordTypes[schema]; ok {
		return t, nil
	}
	return nil, fmt.Errorf("unknown schema %q", schema)
}

// Features describes a schema's columns as the datasets library does: the value
// of the key huggingface in Parquet footers and Arrow schemas.
func Features(schema string) (string, error) {
	l, err := layoutOfSchema(schema)
	if err != nil {
		return "", err
	}
	return l.footer()
}

// recordTypes are the Go types of a config's schema names.
var recordTypes = map[string]reflect.Type{
	"example": reflect.TypeFor[schemas.Example](),
	"prompt":  reflect.TypeFor[schemas.Prompt](),

	"source_story":   reflect.TypeFor[schemas.SourceStory](),
	"row_provenance": reflect.TypeFor[schemas.RowProvenance](),
	"annotation":     reflect.TypeFor[schemas.Annotation](),
}

// layoutOfSchema is the layout of a record by its schema's name.
func layoutOfSchema(name string) (*layout, error) {
	typ, ok := recordTypes[name]
	if !ok {
		return nil, fmt.Errorf("unknown schema %q", name)
	}
	return layoutOf(typ)
}
