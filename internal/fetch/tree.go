// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// File is one file of a tree, wherever it is stored.
//
// A File may also be made by hand (tests do): Name and Open are enough.
type File struct {
	// Name is the slash-separated path below the root: valid UTF-8 (other
	// bytes and control characters as %XX), never absolute, without "." or
	// ".." elements, unique in the walk. An archive that is not the root is a
	// folder in it ("data.zip/data/a.jsonl"); a single compressed file loses
	// its suffix ("a.jsonl" for a.jsonl.gz) unless that name is taken.
	Name string
	// Stored is the same path as it is stored, compression suffix included.
	Stored string
	// Path says where the bytes are, for messages only: it begins with the
	// root as given to Walk, so it must not get into an artifact.
	Path string
	// Size in bytes after decompression, -1 if only reading can tell.
	Size int64
	// ModTime as the file system or archive states it; zero if it does not.
	ModTime time.Time
	// Open returns the decompressed bytes from the start. It may be called
	// again, and after the walk; reads stop when the walk's context ends.
	// At the end, a file that is not as Walk saw it is [ErrChanged], a
	// compressed one that was cut off is [ErrTruncated].
	//
	// A member of a compressed tar is read straight from the stream while the
	// loop body that received it runs. If it is still open when the loop goes
	// on, or opened later, the archive is decompressed again from its start,
	// and from the third time on unpacked to Limits.TempDir once for all.
	Open func() (io.ReadCloser, error)

	node *node
}

// node is what Walk knows of a File beyond its public face.
type node struct {
	maxWhole int64
	tempDir  string
	at       func() (ReaderAt, error) // in place, nil if only a copy will do
}

// ReaderAt is a file open for random access.
type ReaderAt interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// OpenAt opens the file for random access, as a Parquet reader needs it: in
// place for a plain file, else through a temporary copy (in Limits.TempDir)
// that is gone on Close. Close reports a plain file that changed meanwhile.
func (f File) OpenAt() (ReaderAt, error) {
	if f.node != nil && f.node.at != nil {
		return f.node.at()
	}
	dir := ""
	if f.node != nil {
		dir = f.node.tempDir
	}
	return spool(f.Open, f.label(), dir)
}

func (f File) label() string {
	if f.Path != "" {
		return f.Path
	}
	return f.Name
}

// ReadFile returns the whole file and the lower-case hex SHA-256 of the bytes
// returned, that is after decompression: the hash of a story does not depend
// on how it was packed. A file above Limits.MaxWhole is refused.
func ReadFile(f File) (data []byte, sum string, err error) {
	limit := DefaultLimits().MaxWhole
	if f.node != nil {
		limit = f.node.maxWhole
	}
	tooLarge := func() error {
		return &Error{"read", f.label(), Input, fmt.Errorf("%w of %d bytes for a file read whole", ErrTooLarge, limit)}
	}
	if limit >= 0 && f.Size > limit {
		return nil, "", tooLarge()
	}
	r, err := f.Open()
	if err != nil {
		return nil, "", err
	}
	var buf bytes.Buffer
	if f.Size > 0 {
		// A declared size is a hint from untrusted input: trust it for a large
		// book, beyond that the buffer grows with what really arrives.
		buf.Grow(int(min(f.Size, 16<<20)) + bytes.MinRead)
	}
	src := io.Reader(r)
	if limit >= 0 {
		src = io.LimitReader(r, limit+1)
	}
	_, err = buf.ReadFrom(src)
	if cerr := r.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, "", err
	}
	if limit >= 0 && int64(buf.Len()) > limit {
		return nil, "", tooLarge()
	}
	h := sha256.Sum256(buf.Bytes())
	return buf.Bytes(), hex.EncodeToString(h[:]), nil
}

// Sum reads the file through and returns the SHA-256 (lower-case hex) and
// length of its decompressed bytes without holding them.
func Sum(f File) (sum string, size int64, err error) {
	r, err := f.Open()
	if err != nil {
		return "", 0, err
	}
	h := sha256.New()
	size, err = io.Copy(h, r)
	if cerr := r.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return "", 0, err
	}
	return hex.EncodeToString(h.Sum(nil)), size, nil
}

// Walk lists the files of root: a folder, an archive or a single file.
//
// Formats are told by their first bytes: zip, tar, and gzip, zstd or bzip2
// around a tar or a single file. A name that promises one of them over other
// bytes is an error, because an empty or half-written download looks like
// that. Zip-based documents (EPUB, DOCX and their kin) are single files.
// Archives in archives are opened down to Limits.MaxDepth.
//
// Order: folders and zips by stored path, byte by byte, so it does not depend
// on the file system; tar in archive order, because its stream is read once.
//
// Not listed: anything with a path element that begins with a dot (among
// those are the notes [Client.Get] keeps beside its files), macOS's __MACOSX,
// links to folders of the same root and links inside archives (their targets
// are listed under their own names). A link to a file of the same root is
// followed.
//
// An error concerns the entry in the accompanying File (only Name, Stored and
// Path are set; an unsafe name has its dots and slashes as %XX), and the walk
// goes on after it if the caller does and the data allow it. Refused entries
// (a name or link that leaves the root, a device, a bomb) come this way, so
// ignoring the error leaves only that entry out.
func Walk(ctx context.Context, root string, lim Limits) iter.Seq2[File, error] {
	return func(yield func(File, error) bool) {
		w := &walker{ctx: ctx, lim: lim.resolve(), yield: yield, root: root}
		w.run()
	}
}

type walker struct {
	ctx     context.Context
	lim     Limits
	root    string
	yield   func(File, error) bool
	stopped bool
	entries int
	keep    keeper
}

// A blob is stored bytes that can be opened again and again.
type blob struct {
	name   string // in the tree; "" for a root archive
	stored string
	path   string
	size   int64 // of what open gives, -1 if unknown
	mod    time.Time
	depth  int // archives and compressions around it
	budget *budget
	head   []byte // first bytes, if already known
	open   func() (io.ReadCloser, error)
	at     func() (ReaderAt, error)
}

func (w *walker) emit(b blob) bool {
	f := File{Name: b.name, Stored: b.stored, Path: b.path, Size: b.size, ModTime: b.mod, Open: b.open,
		node: &node{maxWhole: w.lim.MaxWhole, tempDir: w.lim.TempDir, at: b.at}}
	w.stopped = w.stopped || !w.yield(f, nil)
	return !w.stopped
}

func (w *walker) fail(b blob, op string, kind Kind, err error) bool {
	if KindOf(err) == 0 && !isContext(err) {
		err = &Error{op, b.path, kind, err}
	}
	return w.failWith(b, err)
}

func (w *walker) failWith(b blob, err error) bool {
	w.stopped = w.stopped || !w.yield(File{Name: b.name, Stored: b.stored, Path: b.path, Size: -1}, err)
	return !w.stopped
}

// live reports whether the walk may go on; a cancelled context is yielded once.
func (w *walker) live() bool {
	if w.stopped {
		return false
	}
	if w.ctx.Err() != nil {
		w.failWith(blob{path: w.root}, contextError(w.ctx, "walk", w.root))
		w.stopped = true
	}
	return !w.stopped
}

func (w *walker) run() {
	if !w.live() {
		return
	}
	self := blob{path: w.root}
	info, err := os.Stat(w.root)
	if err != nil {
		w.fail(self, "open", osKind(err), err)
		return
	}
	if info.IsDir() {
		// Root keeps every later open below this folder, links included, also
		// against somebody who swaps a folder for a link while we walk.
		r, err := os.OpenRoot(w.root)
		if err != nil {
			w.fail(self, "open", osKind(err), err)
			return
		}
		defer r.Close()
		w.folder(r, "")
		return
	}
	base := cleanOS(filepath.Base(w.root))
	b := w.diskBlob(w.root, base, info, func() (*os.File, error) { return os.OpenFile(w.root, os.O_RDONLY|openNonblock, 0) })
	if !info.Mode().IsRegular() {
		w.fail(b, "open", Input, special(info.Mode()))
		return
	}
	w.visit(b, map[string]bool{}, true)
}

// folder walks dir (slash-separated, "" for the root) in the order of full
// paths: a folder sorts as its name with a slash.
func (w *walker) folder(r *os.Root, dir string) {
	open := dir
	if open == "" {
		open = "."
	}
	self := blob{name: cleanOS(dir), stored: cleanOS(dir), path: filepath.Join(w.root, filepath.FromSlash(dir))}
	d, err := r.Open(filepath.FromSlash(open))
	if err != nil {
		w.fail(self, "open", osKind(err), err)
		return
	}
	entries, err := d.ReadDir(-1)
	d.Close()
	if err != nil {
		w.fail(self, "read", Disk, err)
		return
	}
	key := func(e fs.DirEntry) string {
		if e.IsDir() {
			return e.Name() + "/"
		}
		return e.Name()
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(key(a), key(b)) })
	taken := make(map[string]bool, len(entries))
	join := func(name string) string {
		if dir == "" {
			return name
		}
		return dir + "/" + name
	}
	for _, e := range entries {
		taken[cleanOS(join(e.Name()))] = true
	}
	for _, e := range entries {
		if !w.live() {
			return
		}
		if hidden(e.Name()) {
			continue
		}
		if e.IsDir() {
			w.folder(r, join(e.Name()))
			continue
		}
		w.folderEntry(r, join(e.Name()), e.Type(), taken)
	}
}

func (w *walker) folderEntry(r *os.Root, rel string, mode fs.FileMode, taken map[string]bool) {
	osRel := filepath.FromSlash(rel)
	full := filepath.Join(w.root, osRel)
	self := blob{name: cleanOS(rel), stored: cleanOS(rel), path: full}
	info, err := r.Stat(osRel) // follows links, only below the root
	switch {
	case err != nil && mode&fs.ModeSymlink != 0:
		target, _ := os.Readlink(full)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ELOOP) {
			w.fail(self, "open", Input, fmt.Errorf("symbolic link to %q: %w", target, errors.Unwrap(err)))
			return
		}
		w.fail(self, "open", Input, fmt.Errorf("%w: it points to %q; give the target itself as the root, or a folder that holds both", ErrLink, target))
		return
	case err != nil:
		w.fail(self, "open", osKind(err), err)
		return
	case info.IsDir(): // a link: the folder is walked under its own name
		return
	case !info.Mode().IsRegular():
		w.fail(self, "open", Input, special(info.Mode()))
		return
	}
	root := w.root
	b := w.diskBlob(full, self.name, info, func() (*os.File, error) {
		r, err := os.OpenRoot(root)
		if err != nil {
			return nil, err
		}
		defer r.Close()
		return r.OpenFile(osRel, os.O_RDONLY|openNonblock, 0)
	})
	w.visit(b, taken, false)
}

// visit yields b, or what is in it. taken holds the names already used around
// it. A root archive has no name of its own in the tree.
func (w *walker) visit(b blob, taken map[string]bool, isRoot bool) bool {
	if !w.live() {
		return false
	}
	if b.head == nil {
		head, err := peek(b)
		if err != nil {
			return w.fail(b, "read", Input, err)
		}
		b.head = head
	}
	format, err := sniff(b.head, b.stored)
	if err != nil {
		return w.fail(b, "open", Input, err)
	}
	if format == plain {
		if b.size >= 0 && w.lim.MaxFile >= 0 && b.size > w.lim.MaxFile {
			return w.fail(b, "open", Input, fmt.Errorf("%w: %d bytes, limit %d", ErrTooLarge, b.size, w.lim.MaxFile))
		}
		return w.emit(b)
	}
	if w.lim.MaxDepth >= 0 && b.depth >= w.lim.MaxDepth {
		return w.fail(b, "open", Input, fmt.Errorf("%w of %d: unpack it first", ErrDepth, w.lim.MaxDepth))
	}
	if format.compressed() {
		in := w.inflate(b, format, w.lim.MaxFile)
		head, err := peek(in)
		if err != nil {
			return w.fail(b, "read", Input, err)
		}
		in.head = head
		// Judge the inner bytes by the inner name: a.zip.gz holds a zip.
		inner := trimSuffix(b.stored, format)
		innerFormat, err := sniff(head, inner)
		if err != nil {
			return w.fail(b, "open", Input, err)
		}
		if innerFormat == tarFormat {
			stream := w.inflate(b, format, w.lim.MaxTotal)
			if isRoot {
				stream.name, stream.stored = "", ""
			}
			w.tar(stream)
			return !w.stopped
		}
		name := trimSuffix(b.name, format)
		if name != b.name && taken[name] {
			name = b.name
		}
		taken[name] = true
		in.name = name
		if innerFormat == plain {
			return w.emit(in)
		}
		in.stored = inner
		return w.visit(in, taken, isRoot)
	}
	b.depth++
	if isRoot {
		b.name, b.stored = "", ""
	}
	if format == tarFormat {
		w.tar(b)
	} else {
		w.zip(b)
	}
	return !w.stopped
}

// inflate is b decompressed; max caps the bytes that come out.
func (w *walker) inflate(b blob, f format, max int64) blob {
	in := b
	in.depth++
	in.size = -1
	in.head = nil
	in.at = nil
	m := &meter{budget: b.budget}
	ctx, lim := w.ctx, w.lim
	in.open = func() (io.ReadCloser, error) {
		rc, err := b.open()
		if err != nil {
			return nil, err
		}
		return inflate(ctx, rc, b.path, f, lim, max, m)
	}
	return in
}

// peek returns up to headSize first bytes.
func peek(b blob) ([]byte, error) {
	rc, err := b.open()
	if err != nil {
		return nil, err
	}
	head, err := readHead(rc)
	rc.Close() // whatever is wrong past the head is for the reader of all of it
	return head, err
}

func readHead(r io.Reader) ([]byte, error) {
	head := make([]byte, headSize)
	n, err := io.ReadFull(r, head)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return head[:n], err
}

// hidden reports whether a path element is left out of every listing.
func hidden(element string) bool {
	return strings.HasPrefix(element, ".") || element == "__MACOSX"
}

func special(m fs.FileMode) error {
	what := "a special file"
	switch {
	case m&fs.ModeNamedPipe != 0:
		what = "a named pipe"
	case m&fs.ModeSocket != 0:
		what = "a socket"
	case m&fs.ModeDevice != 0:
		what = "a device"
	}
	return fmt.Errorf("%w but %s", ErrSpecial, what)
}

// osKind sorts an operating system's error: a missing file is what the user
// named wrongly, the rest is the disk's trouble.
func osKind(err error) Kind {
	if errors.Is(err, fs.ErrNotExist) {
		return Input
	}
	return Disk
}

func isContext(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// contextError says what was interrupted; it Is the context's error and its cause.
func contextError(ctx context.Context, op, name string) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == err {
		return fmt.Errorf("%s %s: %w", op, name, err)
	}
	return fmt.Errorf("%s %s: %w: %w", op, name, err, cause)
}
