// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"archive/zip"
	"bytes"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"
)

const (
	zipBzip2     = 12
	zipZstd      = 93
	zipEncrypted = 1 // general purpose flag bit 0
)

// zip lists the members of a zip in byte order of their names. Everything the
// directory declares is judged before the first member is read; what it
// declares falsely fails when the member is read.
func (w *walker) zip(b blob) {
	s := w.newShared(b)
	if err := s.acquire(); err != nil {
		w.failWith(b, err)
		return
	}
	released := false
	release := func() error { released = true; return s.release() }
	defer func() {
		if !released {
			s.release()
		}
	}()

	left := math.MaxInt - 1<<16
	if w.lim.MaxEntries >= 0 {
		left = w.lim.MaxEntries - w.entries
	}
	z, err := zip.NewReader(&entryGuard{ReaderAt: s, left: left + entrySlack}, s.size)
	if err == nil || errors.Is(err, zip.ErrInsecurePath) {
		err = nil
		if len(z.File) > left {
			err = errTooManyEntries
		}
	}
	switch {
	case errors.Is(err, errTooManyEntries):
		w.entries = w.lim.MaxEntries
		w.fail(b, "open", Input, fmt.Errorf("%w of %d", ErrEntries, w.lim.MaxEntries))
		return
	case errors.Is(err, zip.ErrFormat), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		w.fail(b, "open", Input, fmt.Errorf("%w: its directory, which stands at the end of a zip, is missing or damaged (%v); get it again", ErrTruncated, err))
		return
	case err != nil:
		w.failWith(b, readError(b.path, err))
		return
	}
	w.entries += len(z.File)
	z.RegisterDecompressor(zip.Deflate, func(r io.Reader) io.ReadCloser { return flate.NewReader(r) })
	z.RegisterDecompressor(zipBzip2, func(r io.Reader) io.ReadCloser { return io.NopCloser(bzip2.NewReader(r)) })
	z.RegisterDecompressor(zipZstd, zstd.ZipDecompressor(zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(128<<20)))

	if err := judgeZip(z, s, b.budget, w.lim); err != nil {
		w.fail(b, "open", Input, err)
		return
	}
	members := make([]zipMember, 0, len(z.File))
	taken := make(map[string]bool, len(z.File))
	for _, zf := range z.File {
		m := zipMember{zf: zf, name: safeName(zf.Name)}
		isDir := zf.Mode().IsDir() || strings.HasSuffix(zf.Name, "/") || strings.HasSuffix(zf.Name, `\`)
		if isDir && strings.Trim(zf.Name, `./\`) == "" && !strings.Contains(zf.Name, "..") {
			continue
		}
		clean, err := cleanMember(zf.Name, true)
		switch {
		case err != nil:
			m.err = err
		case isDir || hiddenPath(clean):
			continue
		default:
			m.name = clean
			if taken[clean] {
				m.err = fmt.Errorf("%w: %s", ErrDuplicate, quoteName(zf.Name))
			}
			taken[clean] = true
		}
		members = append(members, m)
	}
	slices.SortStableFunc(members, func(a, b zipMember) int { return strings.Compare(a.name, b.name) })
	inTree := make(map[string]bool, len(taken))
	for name := range taken {
		inTree[joinName(b.name, name)] = true
	}
	for _, m := range members {
		if !w.live() {
			return
		}
		w.zipMember(b, s, m, inTree)
	}
	if err := release(); err != nil && !w.stopped {
		w.failWith(b, err)
	}
}

type zipMember struct {
	zf   *zip.File
	name string
	err  error
}

func (w *walker) zipMember(b blob, s *shared, m zipMember, taken map[string]bool) {
	zf := m.zf
	mb := blob{
		name: joinName(b.name, m.name), stored: joinName(b.stored, m.name), path: b.path + "/" + m.name,
		size: int64(zf.UncompressedSize64), mod: zf.Modified, depth: b.depth, budget: b.budget,
	}
	meter := &meter{budget: b.budget}
	ctx, lim := w.ctx, w.lim
	mb.open = func() (io.ReadCloser, error) {
		if err := s.acquire(); err != nil {
			return nil, err
		}
		rc, err := zf.Open()
		if err != nil {
			s.release()
			if errors.Is(err, zip.ErrAlgorithm) {
				err = fmt.Errorf("%w: zip compression method %d is not read here, unpack it first", ErrFormat, zf.Method)
			}
			return nil, readError(mb.path, err)
		}
		return &capped{ctx: ctx, r: rc, path: mb.path, max: lim.MaxFile, ratio: lim.MaxRatio, floor: lim.RatioFloor,
			packed: int64(zf.CompressedSize64), meter: meter, atEOF: s.check, close: []func() error{s.release, rc.Close}}, nil
	}
	mode := zf.Mode()
	switch {
	case m.err != nil:
		w.fail(mb, "open", Input, m.err)
	case mode&fs.ModeSymlink != 0:
		w.archiveLink(mb, m.name, func() (string, error) {
			rc, err := mb.open()
			if err != nil {
				return "", err
			}
			defer rc.Close()
			target, err := io.ReadAll(io.LimitReader(rc, maxName+1))
			return string(target), err
		})
	case !mode.IsRegular():
		w.fail(mb, "open", Input, special(mode))
	case zf.Flags&zipEncrypted != 0:
		w.fail(mb, "open", Input, fmt.Errorf("%w: unpack it with its password first", ErrEncrypted))
	case mb.size < 0 || lim.MaxFile >= 0 && mb.size > lim.MaxFile:
		w.fail(mb, "open", Input, fmt.Errorf("%w: the zip declares %d bytes, limit %d", ErrTooLarge, zf.UncompressedSize64, lim.MaxFile))
	case lim.MaxRatio >= 0 && mb.size > lim.RatioFloor && float64(mb.size) > lim.MaxRatio*float64(zf.CompressedSize64):
		w.fail(mb, "open", Input, fmt.Errorf("%w of %g: %d compressed bytes declare %d", ErrRatio, lim.MaxRatio, zf.CompressedSize64, mb.size))
	default:
		w.visit(mb, taken, false)
	}
}

// archiveLink refuses a link in an archive that leaves it and passes over one
// that does not: its target is a member itself.
func (w *walker) archiveLink(b blob, name string, target func() (string, error)) {
	to, err := target()
	if err != nil {
		w.fail(b, "open", Input, err)
		return
	}
	slashed := strings.ReplaceAll(to, `\`, "/")
	joined := path.Join(path.Dir(name), slashed)
	if to == "" || strings.HasPrefix(slashed, "/") || joined == ".." || strings.HasPrefix(joined, "../") || len(slashed) > 1 && slashed[1] == ':' {
		w.fail(b, "open", Input, fmt.Errorf("%w: it points to %s", ErrLink, quoteName(to)))
	}
}

// judgeZip refuses a zip as a whole: entries that share bytes (a few MB can
// declare petabytes that way without any single ratio above 1032), and sums
// above the caps.
func judgeZip(z *zip.Reader, s *shared, budget *budget, lim Limits) error {
	type span struct {
		from, to int64
		name     string
	}
	var sum int64
	spans := make([]span, 0, len(z.File))
	for _, f := range z.File {
		if f.UncompressedSize64 > math.MaxInt64-uint64(sum) || f.CompressedSize64 > math.MaxInt64 {
			return fmt.Errorf("%w: %s declares %d bytes", ErrTooLarge, quoteName(f.Name), f.UncompressedSize64)
		}
		sum += int64(f.UncompressedSize64)
		off, err := f.DataOffset()
		if err != nil {
			return fmt.Errorf("%w: no data where the directory says %s is (%v)", ErrFormat, quoteName(f.Name), err)
		}
		to := off + int64(f.CompressedSize64)
		if to < off || to > s.size {
			return fmt.Errorf("%w: %s reaches past the end of the file", ErrTruncated, quoteName(f.Name))
		}
		spans = append(spans, span{off, to, f.Name})
	}
	slices.SortFunc(spans, func(a, b span) int {
		if a.from != b.from {
			if a.from < b.from {
				return -1
			}
			return 1
		}
		return strings.Compare(a.name, b.name)
	})
	for i := 1; i < len(spans); i++ {
		if spans[i].from < spans[i-1].to {
			return fmt.Errorf("%w: %s and %s", ErrOverlap, quoteName(spans[i-1].name), quoteName(spans[i].name))
		}
	}
	budget.mu.Lock()
	defer budget.mu.Unlock()
	return budget.check(budget.spent + sum)
}

var errTooManyEntries = errors.New("too many entries")

// entrySlack allows for directory headers read twice while the end record is
// looked for.
const entrySlack = 4096

// entryGuard stops zip.NewReader, which keeps every directory entry in memory,
// by counting entry signatures as they are read. It may miss one that two
// reads cut in half; the exact count is checked afterwards.
type entryGuard struct {
	io.ReaderAt
	left int
}

func (g *entryGuard) ReadAt(p []byte, off int64) (int, error) {
	n, err := g.ReaderAt.ReadAt(p, off)
	if g.left >= 0 {
		if g.left -= bytes.Count(p[:n], []byte("PK\x01\x02")); g.left < 0 {
			return 0, errTooManyEntries
		}
	}
	return n, err
}

func joinName(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}
