// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
)

// tarStream is a tar being read from its start.
type tarStream struct {
	rc   io.ReadCloser
	pos  func() int64
	tr   *tar.Reader
	next int   // index of the entry that advance gives next
	end  int64 // where the header after the current entry must stand, -1 if not known
}

func (w *walker) openTar(b blob, s *shared) (*tarStream, error) {
	if s != nil {
		if err := s.acquire(); err != nil {
			return nil, err
		}
		sec := &section{SectionReader: io.NewSectionReader(s, 0, s.size), s: s}
		pos := func() int64 { n, _ := sec.Seek(0, io.SeekCurrent); return n }
		return &tarStream{rc: sec, pos: pos, tr: tar.NewReader(sec)}, nil
	}
	rc, err := b.open()
	if err != nil {
		return nil, err
	}
	c := &counter{r: rc}
	return &tarStream{rc: rc, pos: func() int64 { return c.n }, tr: tar.NewReader(c)}, nil
}

// advance goes to the next entry. At the end it makes sure that there was an
// end: a tar cut off between two members reads like a shorter one.
func (s *tarStream) advance() (*tar.Header, error) {
	h, err := s.tr.Next()
	if errors.Is(err, tar.ErrInsecurePath) && h != nil {
		err = nil // names are judged by cleanMember
	}
	if err == io.EOF {
		if s.end >= 0 && s.pos() <= s.end {
			return nil, fmt.Errorf("%w: the end mark after entry %d is missing", ErrTruncated, s.next)
		}
		return nil, s.drain()
	}
	if err != nil {
		if errors.Is(err, tar.ErrHeader) {
			err = fmt.Errorf("%w: no valid header after entry %d (%v)", ErrFormat, s.next, err)
		}
		return nil, err
	}
	s.next++
	s.end = s.pos() + (h.Size+511)&^511
	if sparse(h) {
		s.end = -1
	}
	return h, nil
}

// drain reads what follows the end mark, so that a compressed stream's
// checksum is verified, and returns io.EOF if that is padding.
func (s *tarStream) drain() error {
	var r io.Reader = s.rc
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		if len(bytes.Trim(buf[:n], "\x00")) > 0 {
			return fmt.Errorf("%w: data after the end mark of the tar (several tars in one file? split them first)", ErrFormat)
		}
		if err != nil {
			return err
		}
	}
}

// sparse files are holes described in a header: a terabyte in a few bytes, and
// no corpus needs them.
func sparse(h *tar.Header) bool {
	if h.Typeflag == tar.TypeGNUSparse {
		return true
	}
	for k := range h.PAXRecords {
		if strings.HasPrefix(k, "GNU.sparse.") {
			return true
		}
	}
	return false
}

// tar lists the members of a tar in archive order.
func (w *walker) tar(b blob) {
	var sh *shared
	if b.at != nil {
		sh = w.newShared(b)
	}
	st, err := w.openTar(b, sh)
	if err != nil {
		w.failWith(b, err)
		return
	}
	// The end of a stream that was lent out and not brought back is its
	// reader's business, hence the indirection.
	defer func() {
		if st != nil {
			st.rc.Close()
		}
	}()
	late := &lateOpens{unpacked: w.newShared(b)}
	seen := make(map[string]bool)
	for w.live() {
		h, err := st.advance()
		if err == io.EOF {
			err = st.rc.Close()
			st = nil
			if err != nil && !w.stopped {
				w.failWith(b, err)
			}
			return
		}
		if err != nil {
			w.failWith(b, readError(b.path, err))
			return
		}
		if w.entries++; w.lim.MaxEntries >= 0 && w.entries > w.lim.MaxEntries {
			w.fail(b, "open", Input, fmt.Errorf("%w of %d", ErrEntries, w.lim.MaxEntries))
			return
		}
		mb, ok := w.tarMember(b, h, seen)
		if !ok {
			continue
		}
		if sh != nil {
			w.placed(&mb, sh, st.pos())
			w.visit(mb, seen, false)
			continue
		}
		l := &loan{w: w, tar: b, late: late, index: st.next - 1, off: st.pos(), header: h, st: st}
		if mb.head, err = readHead(st.tr); err != nil {
			w.failWith(b, readError(b.path, err))
			return
		}
		l.member = mb
		mb.open = l.open
		w.streamed(mb, seen)
		if st = l.reclaim(); st == nil {
			if !w.live() {
				return
			}
			if st, err = w.reopen(b, l.index, h); err != nil {
				w.failWith(b, readError(b.path, err))
				return
			}
		}
	}
}

// streamed visits a member whose bytes pass only once. If there is more to it
// than a plain file it is put aside for as long as the visit lasts, because
// looking inside takes several opens.
func (w *walker) streamed(mb blob, seen map[string]bool) {
	if f, err := sniff(mb.head, mb.stored); err != nil || f == plain {
		w.visit(mb, seen, false)
		return
	}
	aside := w.newShared(mb)
	if err := aside.acquire(); err != nil {
		w.failWith(mb, err)
		return
	}
	w.placed(&mb, aside, 0)
	w.visit(mb, seen, false)
	aside.release()
}

// tarMember judges a header; ok means there is a file to look at.
func (w *walker) tarMember(b blob, h *tar.Header, seen map[string]bool) (mb blob, ok bool) {
	isDir := h.Typeflag == tar.TypeDir
	if h.Typeflag == tar.TypeXGlobalHeader || isDir && strings.Trim(h.Name, "./") == "" && !strings.Contains(h.Name, "..") {
		return mb, false
	}
	safe := safeName(h.Name)
	mb = blob{size: h.Size, mod: h.ModTime, depth: b.depth, budget: b.budget}
	place := func(name string) {
		mb.name, mb.stored, mb.path = joinName(b.name, name), joinName(b.stored, name), b.path+"/"+name
	}
	place(safe)
	name, err := cleanMember(h.Name, false)
	if err != nil {
		w.fail(mb, "open", Input, err)
		return mb, false
	}
	if isDir || hiddenPath(name) {
		return mb, false
	}
	place(name)
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeCont:
	case tar.TypeSymlink:
		w.archiveLink(mb, name, func() (string, error) { return h.Linkname, nil })
		return mb, false
	case tar.TypeLink: // relative to the root of the archive
		w.archiveLink(mb, "x", func() (string, error) { return h.Linkname, nil })
		return mb, false
	default:
		if !sparse(h) {
			w.fail(mb, "open", Input, special(h.FileInfo().Mode()))
			return mb, false
		}
	}
	switch {
	case sparse(h):
		w.fail(mb, "open", Input, fmt.Errorf("%w but a sparse file; pack it again without --sparse", ErrSpecial))
	case seen[mb.name]:
		w.fail(mb, "open", Input, fmt.Errorf("%w: %s", ErrDuplicate, quoteName(h.Name)))
	case w.lim.MaxFile >= 0 && h.Size > w.lim.MaxFile:
		w.fail(mb, "open", Input, fmt.Errorf("%w: the tar declares %d bytes, limit %d", ErrTooLarge, h.Size, w.lim.MaxFile))
	default:
		seen[mb.name] = true
		return mb, true
	}
	return mb, false
}

// placed gives a member of an uncompressed tar its place in the file.
func (w *walker) placed(mb *blob, sh *shared, off int64) {
	ctx, path, size := w.ctx, mb.path, mb.size
	mb.at = func() (ReaderAt, error) {
		if err := sh.acquire(); err != nil {
			return nil, err
		}
		return &section{SectionReader: io.NewSectionReader(sh, off, size), s: sh}, nil
	}
	at := mb.at
	mb.open = func() (io.ReadCloser, error) {
		r, err := at()
		if err != nil {
			return nil, err
		}
		c := &capped{ctx: ctx, r: io.NewSectionReader(r, 0, size), path: path, max: -1, close: []func() error{r.Close}}
		c.atEOF = func() error {
			if c.n != size {
				return io.ErrUnexpectedEOF
			}
			return sh.check()
		}
		return c, nil
	}
}

// reopen reads a compressed tar from its start up to entry index.
func (w *walker) reopen(b blob, index int, want *tar.Header) (*tarStream, error) {
	st, err := w.openTar(b, nil)
	if err != nil {
		return nil, err
	}
	for {
		h, err := st.advance()
		if err == nil && st.next <= index {
			continue
		}
		if err == nil && (h.Name != want.Name || h.Size != want.Size) {
			err = changed(b.path, fmt.Sprintf("entry %d was %s, is %s", index+1, quoteName(want.Name), quoteName(h.Name)))
		}
		if err == io.EOF {
			err = changed(b.path, fmt.Sprintf("entry %d is gone", index+1))
		}
		if err != nil {
			st.rc.Close()
			return nil, err
		}
		return st, nil
	}
}

// A loan lends the walk's own stream to the first Open of the current member,
// so that the usual loop (open, read, close, next) reads a compressed tar
// once. Any other Open reads the archive again from its start or, from the
// third on, in a temporary copy of the unpacked tar: slower, but never wrong,
// whatever order or goroutine it comes from.
type loan struct {
	w      *walker
	tar    blob
	late   *lateOpens
	index  int
	off    int64 // of the member's bytes in the unpacked tar
	header *tar.Header
	member blob

	mu   sync.Mutex
	st   *tarStream // the walk's stream, nil once it has moved on
	lent bool       // a reader holds it
	used bool       // its bytes are no longer at the start of the member
}

func (l *loan) open() (io.ReadCloser, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if st := l.st; st != nil && !l.used {
		l.lent, l.used = true, true
		r := io.MultiReader(bytes.NewReader(l.member.head), st.tr)
		return l.reader(r, func() error {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.lent = false
			if l.st != nil {
				return nil // back to the walk
			}
			return st.rc.Close()
		}), nil
	}
	if l.late.n.Add(1) > lateStreams {
		mb := l.member
		l.w.placed(&mb, l.late.unpacked, l.off)
		return mb.open()
	}
	st, err := l.w.reopen(l.tar, l.index, l.header)
	if err != nil {
		return nil, readError(l.member.path, err)
	}
	return l.reader(st.tr, st.rc.Close), nil
}

// lateOpens are the opens of one compressed tar's members that found its
// stream gone. A few, as of two files that belong together, are cheaper
// streamed again; a list of them all would be quadratic.
type lateOpens struct {
	n        atomic.Int32
	unpacked *shared
}

const lateStreams = 2

func (l *loan) reader(r io.Reader, close func() error) io.ReadCloser {
	c := &capped{ctx: l.w.ctx, r: r, path: l.member.path, max: l.w.lim.MaxFile, close: []func() error{close}}
	c.atEOF = func() error {
		if c.n != l.member.size {
			return io.ErrUnexpectedEOF
		}
		return nil
	}
	return c
}

// reclaim ends the loan. It returns nil if a reader still holds the stream,
// which then belongs to that reader.
func (l *loan) reclaim() *tarStream {
	l.mu.Lock()
	defer l.mu.Unlock()
	st := l.st
	l.st = nil
	if l.lent {
		return nil
	}
	return st
}
