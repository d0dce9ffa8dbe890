// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// diskBlob is a regular file on disk. info is what it was when it was listed;
// every later look must find the same size and time. (A write of equal length
// within one tick of the file system's clock escapes this; the hash that goes
// into a manifest is of the bytes really read.)
func (w *walker) diskBlob(path, name string, info fs.FileInfo, open func() (*os.File, error)) blob {
	ctx, lim := w.ctx, w.lim
	openChecked := func() (*os.File, error) {
		f, err := open()
		if err != nil {
			return nil, &Error{"open", path, osKind(err), err}
		}
		if err := unchanged(f, path, info); err != nil {
			f.Close()
			return nil, err
		}
		return f, nil
	}
	return blob{
		name: name, stored: name, path: path, size: info.Size(), mod: info.ModTime(),
		budget: &budget{disk: info.Size(), lim: lim},
		open: func() (io.ReadCloser, error) {
			f, err := openChecked()
			if err != nil {
				return nil, err
			}
			c := &capped{ctx: ctx, r: f, path: path, max: -1}
			c.atEOF = func() error {
				if c.n != info.Size() {
					return changed(path, fmt.Sprintf("%d bytes were listed, %d read", info.Size(), c.n))
				}
				return unchanged(f, path, info)
			}
			c.close = []func() error{f.Close, func() error {
				if c.err != nil { // told already, or complete
					return nil
				}
				return unchanged(f, path, info)
			}}
			return c, nil
		},
		at: func() (ReaderAt, error) {
			f, err := openChecked()
			if err != nil {
				return nil, err
			}
			return &diskAt{f, path, info}, nil
		},
	}
}

// OneFile is the file at path, as [Walk] gives a file of a tree, for a caller who
// names it: unpacked if it is compressed, an archive refused. Nothing is looked
// at before it is opened.
func OneFile(path string) File {
	open := func() (*os.File, error) {
		f, err := os.Open(path)
		if err != nil {
			return nil, &Error{"open", path, Input, err}
		}
		return f, nil
	}
	read := func() (io.ReadCloser, error) {
		f, err := open()
		if err != nil {
			return nil, err
		}
		r, err := Decompress(f, path, Limits{})
		if err != nil {
			f.Close()
			return nil, err
		}
		c := r.(*capped)
		c.close = append(c.close, f.Close)
		return c, nil
	}
	at := func() (ReaderAt, error) {
		f, err := open()
		if err != nil {
			return nil, err
		}
		info, err := f.Stat()
		if err != nil {
			f.Close()
			return nil, &Error{"read", path, Disk, err}
		}
		head, err := readHead(io.NewSectionReader(f, 0, headSize))
		if err != nil {
			f.Close()
			return nil, &Error{"read", path, Input, err}
		}
		if format, err := sniff(head, path); err != nil || format.compressed() {
			f.Close()
			return spool(read, path, "")
		}
		return &diskAt{f, path, info}, nil
	}
	return File{Name: cleanOS(filepath.Base(path)), Path: path, Size: -1, Open: read,
		node: &node{maxWhole: DefaultLimits().MaxWhole, at: at}}
}

// HashFile returns the SHA-256 (lower-case hex) and length of a file's bytes as
// they are stored.
func HashFile(path string) (sum string, size int64, err error) {
	return Sum(File{Open: func() (io.ReadCloser, error) { return os.Open(path) }})
}

func changed(path, how string) error {
	return &Error{"read", path, Input, fmt.Errorf("%w (%s); run again when nothing writes to it", ErrChanged, how)}
}

// unchanged compares an open file with what was listed.
func unchanged(f *os.File, path string, was fs.FileInfo) error {
	is, err := f.Stat()
	if err != nil {
		return &Error{"read", path, Disk, err}
	}
	switch {
	case !is.Mode().IsRegular():
		return &Error{"open", path, Input, special(is.Mode())}
	case is.Size() != was.Size():
		return changed(path, fmt.Sprintf("%d bytes before, %d now", was.Size(), is.Size()))
	case !is.ModTime().Equal(was.ModTime()):
		return changed(path, "another modification time")
	}
	return nil
}

type diskAt struct {
	*os.File
	path string
	info fs.FileInfo
}

func (d *diskAt) Size() int64  { return d.info.Size() }
func (d *diskAt) check() error { return unchanged(d.File, d.path, d.info) }
func (d *diskAt) Close() error {
	err := d.check()
	if cerr := d.File.Close(); err == nil && cerr != nil {
		err = &Error{"read", d.path, Disk, cerr}
	}
	return err
}

// spool copies what open gives to a temporary file for random access.
func spool(open func() (io.ReadCloser, error), path, dir string) (ReaderAt, error) {
	rc, err := open()
	if err != nil {
		return nil, err
	}
	defer rc.Close()
	f, err := os.CreateTemp(dir, "retcon-fetch-*")
	if err != nil {
		return nil, &Error{"unpack", path, Disk, err}
	}
	t := &tempAt{File: f}
	// Where the system allows it the name goes at once, so that a killed
	// process leaves nothing behind; Windows removes on Close.
	t.gone = os.Remove(f.Name()) == nil
	if t.size, err = io.Copy(f, rc); err != nil {
		t.Close()
		if KindOf(err) == 0 && !isContext(err) {
			err = &Error{"unpack", path, Disk, fmt.Errorf("to %s: %w", f.Name(), err)}
		}
		return nil, err
	}
	return t, nil
}

type tempAt struct {
	*os.File
	size int64
	gone bool
}

func (t *tempAt) Size() int64 { return t.size }
func (t *tempAt) Close() error {
	err := t.File.Close()
	if !t.gone {
		os.Remove(t.File.Name())
		t.gone = true
	}
	return err
}

// shared is one open archive behind all its members: open while the walk is in
// it, and again while a member is read later.
type shared struct {
	open func() (ReaderAt, error)
	keep *keeper // nil if opening costs nothing
	path string
	size int64

	mu   sync.Mutex
	refs int
	cur  ReaderAt // may stay open without refs, if keep has it
}

func (w *walker) newShared(b blob) *shared {
	if b.at != nil {
		return &shared{open: b.at, path: b.path}
	}
	dir := w.lim.TempDir
	return &shared{open: func() (ReaderAt, error) { return spool(b.open, b.path, dir) }, keep: &w.keep, path: b.path}
}

// acquire opens the archive if it is not open. Each needs a release.
func (s *shared) acquire() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cur == nil {
		r, err := s.open()
		if err != nil {
			return err
		}
		if s.size != 0 && r.Size() != s.size {
			r.Close()
			return changed(s.path, fmt.Sprintf("%d bytes before, %d now", s.size, r.Size()))
		}
		s.cur, s.size = r, r.Size()
	}
	s.refs++
	return nil
}

func (s *shared) release() error {
	s.mu.Lock()
	s.refs--
	idle := s.refs == 0
	s.mu.Unlock()
	switch {
	case !idle:
		return nil
	case s.keep == nil:
		return s.closeIdle()
	}
	if old := s.keep.put(s); old != nil {
		return old.closeIdle()
	}
	return nil
}

// closeIdle closes the archive unless somebody has acquired it meanwhile.
func (s *shared) closeIdle() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refs > 0 || s.cur == nil {
		return nil
	}
	r := s.cur
	s.cur = nil
	return r.Close()
}

func (s *shared) current() ReaderAt {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cur
}

// A keeper holds on to the temporary copies used last. A caller that lists a
// whole archive first and reads its members afterwards would otherwise have it
// unpacked anew for each of them. What is still kept when nobody can reach the
// walk's Files any more is closed by the garbage collector.
type keeper struct {
	mu   sync.Mutex
	kept []*shared // in order of use
}

const keepAtMost = 4

// put notes a use of s and returns the copy that has to go for it, if any.
func (k *keeper) put(s *shared) (old *shared) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kept = append(slices.DeleteFunc(k.kept, func(o *shared) bool { return o == s }), s)
	if len(k.kept) > keepAtMost {
		old = k.kept[0]
		k.kept = slices.Delete(k.kept, 0, 1)
	}
	return old
}

// ReadAt reads the archive; the caller holds an acquire.
func (s *shared) ReadAt(p []byte, off int64) (int, error) {
	n, err := s.current().ReadAt(p, off)
	if err != nil && err != io.EOF {
		err = readError(s.path, err)
	}
	return n, err
}

// check says whether the archive is still the file that was listed.
func (s *shared) check() error {
	if c, ok := s.current().(interface{ check() error }); ok {
		return c.check()
	}
	return nil
}

// section is a stretch of a shared archive.
type section struct {
	*io.SectionReader
	s    *shared
	once sync.Once
}

func (s *section) Close() (err error) {
	s.once.Do(func() { err = s.s.release() })
	return err
}
