// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/compress/snappy"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/internal/parquetfile"
	"github.com/retcon-bench/retcon/schemas"
)

// Limits of a row group. The rows given to one write call are part of the byte
// format, so rows go to the writer one at a time. Rows are counted before they
// are encoded, so a group ends a little below its limit.
const (
	groupRows  = 1000
	groupBytes = 64 << 20
	groupFill  = groupBytes - groupBytes/16
)

// Table is one split of one config, ready to be written: records in the order
// in which they will stand.
type Table struct {
	Config string
	Split  string
	Schema string // name of the record: example, prompt, ...

	typ  reflect.Type
	rows iter.Seq2[reflect.Value, error]
}

// NewTable makes a table of records. Rows come in order of their id.
func NewTable[T any](config, split, schema string, rows iter.Seq2[T, error]) Table {
	return Table{Config: config, Split: split, Schema: schema, typ: reflect.TypeFor[T](),
		rows: func(yield func(reflect.Value, error) bool) {
			for v, err := range rows {
				if !yield(reflect.ValueOf(v), err) {
					return
				}
			}
		}}
}

// SplitName is what names of configs and splits must match. The hub takes no
// hyphen: test_hidden, never test-hidden.
var SplitName = regexp.MustCompile(`^\w+(\.\w+)*$`)

// notInDigest are columns that say when and by what a row was made, not what
// it is.
var notInDigest = map[string]bool{"dataset_version": true, "canary": true, "provenance": true}

// rowDigest is the SHA-256 of a record's columns as JSON, without those of
// notInDigest. It does not depend on how the row is encoded.
func (l *layout) rowDigest(v reflect.Value) ([]byte, error) {
	h := sha256.New()
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	for _, f := range l.root {
		if notInDigest[f.name] {
			continue
		}
		buf.Reset()
		if err := enc.Encode(v.FieldByIndex(f.index).Interface()); err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		fmt.Fprintf(h, "%s=%s", f.name, buf.Bytes())
	}
	return h.Sum(nil), nil
}

// writeOptions are the settings that change a shard's bytes.
type writeOptions struct {
	compression  string
	rowsPerShard int
	groupRows    int          // 0 = groupRows
	meta         [][2]string  // footer keys, sorted
	second       SecondReader // nil: no second look
}

// One of each for all shards: they keep their encoders.
var (
	zstdCodec   = &zstd.Codec{Level: zstd.SpeedDefault}
	snappyCodec = &snappy.Codec{}
)

func codec(name string) (compress.Codec, error) {
	switch name {
	case "", "zstd":
		return zstdCodec, nil
	case "snappy":
		return snappyCodec, nil
	}
	return nil, fmt.Errorf("compression %q: want zstd or snappy", name)
}

// write puts the table's shards into dir/data/CONFIG and describes them.
func (t Table) write(dir string, opt writeOptions, see func(reflect.Value) error) (schemas.SplitInfo, error) {
	info := schemas.SplitInfo{Name: t.Split}
	l, err := layoutOf(t.typ)
	if err != nil {
		return info, err
	}
	folder := filepath.Join(dir, "data", t.Config)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return info, &fetch.Error{Op: "create", Name: folder, Kind: fetch.Disk, Err: err}
	}
	var paths []string
	w := newShardWriter(l, opt, func(n int) (io.WriteCloser, error) {
		path := filepath.Join(folder, fmt.Sprintf(".%s-%05d.tmp", t.Split, n))
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o644)
		paths = append(paths, path)
		return syncedFile{f}, err
	})
	defer w.abort()
	for v, err := range t.rows {
		if err != nil {
			return info, err
		}
		if err := see(v); err != nil {
			return info, err
		}
		if err := w.add(v); err != nil {
			return info, err
		}
	}
	shards, err := w.finish()
	if err != nil {
		return info, err
	}
	info.Rows, info.Digest = w.total, hex.EncodeToString(w.sum.Sum(nil))
	for _, s := range shards {
		if opt.second != nil {
			if err := secondLook(opt.second, paths[s.n], s, l, t.typ); err != nil {
				return info, fmt.Errorf("shard %d, read again by another library: %w", s.n, err)
			}
		}
		name := fmt.Sprintf("%s-%05d-of-%05d.parquet", t.Split, s.n, len(shards))
		if err := os.Rename(paths[s.n], filepath.Join(folder, name)); err != nil {
			return info, &fetch.Error{Op: "rename", Name: name, Kind: fetch.Disk, Err: err}
		}
		h, err := HashFile(dir, "data/"+t.Config+"/"+name)
		if err != nil {
			return info, err
		}
		h.Rows = s.rows
		info.Files = append(info.Files, h)
		info.Bytes += h.Bytes
	}
	return info, nil
}

type shard struct {
	n    int
	rows int
	sum  hash.Hash // of its rows' digests
}

// syncedFile is durable once it is closed.
type syncedFile struct{ *os.File }

func (f syncedFile) Close() error {
	err := f.Sync()
	if cerr := f.File.Close(); err == nil {
		err = cerr
	}
	return err
}

// shardWriter writes rows into as many shards as they need.
type shardWriter struct {
	layout *layout
	opt    writeOptions
	create func(n int) (io.WriteCloser, error)
	cols   [][]parquet.Value
	row    parquet.Row
	sum    hash.Hash

	file   io.WriteCloser
	w      *parquet.GenericWriter[any]
	shards []shard
	inRows int // rows and bytes in the open row group
	inSize int
	total  int
}

func newShardWriter(l *layout, opt writeOptions, create func(n int) (io.WriteCloser, error)) *shardWriter {
	return &shardWriter{layout: l, opt: opt, create: create, cols: make([][]parquet.Value, l.leaves), sum: sha256.New()}
}

func (s *shardWriter) add(v reflect.Value) error {
	if s.w != nil && s.opt.rowsPerShard > 0 && s.shards[len(s.shards)-1].rows >= s.opt.rowsPerShard {
		if err := s.closeShard(); err != nil {
			return err
		}
	}
	if s.w == nil {
		if err := s.openShard(); err != nil {
			return err
		}
	}
	digest, err := s.layout.rowDigest(v)
	if err != nil {
		return err
	}
	s.sum.Write(digest)
	s.shards[len(s.shards)-1].sum.Write(digest)
	s.row = s.layout.shred(v, s.cols, s.row)
	size := 0
	for _, val := range s.row {
		if val.Kind() == parquet.ByteArray {
			size += len(val.ByteArray()) + 4
		} else {
			size += 8
		}
	}
	most := s.opt.groupRows
	if most == 0 {
		most = groupRows
	}
	if s.inRows >= most || s.inRows > 0 && s.inSize+size > groupFill {
		if err := s.w.Flush(); err != nil {
			return diskError(err)
		}
		s.inRows, s.inSize = 0, 0
	}
	if _, err := s.w.WriteRows([]parquet.Row{s.row}); err != nil {
		return diskError(err)
	}
	s.inRows++
	s.inSize += size
	s.shards[len(s.shards)-1].rows++
	s.total++
	return nil
}

func (s *shardWriter) openShard() error {
	f, err := s.create(len(s.shards))
	if err != nil {
		return diskError(err)
	}
	c, err := codec(s.opt.compression)
	if err != nil {
		f.Close()
		return err
	}
	options := []parquet.WriterOption{s.layout.schema, parquet.Compression(c), parquet.CreatedBy("retcon", Version, "go"),
		parquet.DataPageStatistics(false)} // they would repeat least and greatest texts in every page header; the page index has what readers prune by
	for _, kv := range s.opt.meta {
		options = append(options, parquet.KeyValueMetadata(kv[0], kv[1]))
	}
	for _, c := range s.layout.longText() {
		options = append(options, parquet.SkipPageBounds(c...))
	}
	s.file, s.w = f, parquet.NewGenericWriter[any](f, options...)
	s.shards = append(s.shards, shard{n: len(s.shards), sum: sha256.New()})
	s.inRows, s.inSize = 0, 0
	return nil
}

func (s *shardWriter) closeShard() error {
	err := s.w.Close()
	if cerr := s.file.Close(); err == nil {
		err = cerr
	}
	s.w, s.file = nil, nil
	if err != nil {
		return diskError(err)
	}
	return nil
}

// finish closes the last shard. A split without rows still has one, with the
// full schema.
func (s *shardWriter) finish() ([]shard, error) {
	if len(s.shards) == 0 {
		if err := s.openShard(); err != nil {
			return nil, err
		}
	}
	if s.w != nil {
		if err := s.closeShard(); err != nil {
			return nil, err
		}
	}
	return s.shards, nil
}

func (s *shardWriter) abort() {
	if s.file != nil {
		s.file.Close()
	}
}

func diskError(err error) error {
	return &fetch.Error{Op: "write", Name: "shard", Kind: fetch.Disk, Err: err}
}

// longText lists columns whose smallest and largest value would put whole
// stories into the footer.
func (l *layout) longText() [][]string {
	var out [][]string
	for _, c := range l.schema.Columns() {
		switch c[len(c)-1] {
		case "story", "text", "prompt", "generated_story", "explanation", "cont_error_expl", "cont_error_lines", "contradicted_lines", "quote":
			out = append(out, c)
		}
	}
	return out
}

// readRows reads the records of one Parquet file in order. Its schema must be
// the record's.
func readRows[T any](path string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		typ := reflect.TypeFor[T]()
		l, err := layoutOf(typ)
		if err != nil {
			var zero T
			yield(zero, err)
			return
		}
		for v, err := range readRecords(path, l, typ) {
			if err != nil {
				var zero T
				yield(zero, err)
				return
			}
			if !yield(v.Interface().(T), nil) {
				return
			}
		}
	}
}

// readRecords is readRows for a type known only at run time. An error ends the
// sequence; its text names the row where there is one.
func readRecords(path string, l *layout, typ reflect.Type) iter.Seq2[reflect.Value, error] {
	return func(yield func(reflect.Value, error) bool) {
		where := path
		fail := func(err error) {
			if fetch.KindOf(err) == 0 {
				err = &fetch.Error{Op: "read", Name: where, Kind: fetch.Input, Err: err}
			}
			yield(reflect.Value{}, err)
		}
		in, err := fetch.OneFile(path).OpenAt()
		if err != nil {
			fail(err)
			return
		}
		defer in.Close()
		if err := scanParquet(in, in.Size()); err != nil {
			fail(err)
			return
		}
		f, err := parquetfile.Open(in, in.Size())
		if err != nil {
			fail(err)
			return
		}
		if want := l.schema.String(); f.Description != want {
			fail(fmt.Errorf("schema is not that of %s: %s", typ, firstDifference(want, f.Description)))
			return
		}
		n, err := f.Each(func(r parquet.Row) (bool, error) {
			v := reflect.New(typ).Elem()
			err := l.assemble(r, v)
			return err == nil && yield(v, nil), err
		})
		if err != nil {
			where = fmt.Sprintf("%s: row %d", path, n+1)
			fail(&damage{n, err})
		}
	}
}

// firstDifference names the first line in which two texts differ.
func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range w {
		if i >= len(g) {
			return fmt.Sprintf("line %d, %q, is missing", i+1, clip(strings.TrimSpace(w[i])))
		}
		if w[i] != g[i] {
			return fmt.Sprintf("line %d: want %q, found %q", i+1, clip(strings.TrimSpace(w[i])), clip(strings.TrimSpace(g[i])))
		}
	}
	return fmt.Sprintf("it goes on after line %d", len(w))
}

// HashFile describes a file of a folder; rel is its path in it, with slashes.
func HashFile(dir, rel string) (schemas.FileHash, error) {
	path := filepath.Join(dir, filepath.FromSlash(rel))
	sum, n, err := fetch.HashFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return schemas.FileHash{}, &fetch.Error{Op: "open", Name: path, Kind: fetch.Input, Err: err}
	case err != nil:
		return schemas.FileHash{}, &fetch.Error{Op: "read", Name: path, Kind: fetch.Disk, Err: err}
	}
	return schemas.FileHash{Path: rel, Bytes: n, SHA256: sum}, nil
}
