// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/bzip2"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// format is what the first bytes of a file say.
type format uint8

const (
	plain format = iota
	gzipFormat
	zstdFormat
	bzip2Format
	tarFormat
	zipFormat
)

func (f format) compressed() bool { return f == gzipFormat || f == zstdFormat || f == bzip2Format }

func (f format) String() string {
	return [...]string{"plain", "gzip", "zstd", "bzip2", "tar", "zip"}[f]
}

// headSize is one tar block, the most any of the formats needs.
const headSize = 512

// byName lists what a name promises.
var byName = map[string]format{
	".gz": gzipFormat, ".gzip": gzipFormat, ".tgz": gzipFormat,
	".zst": zstdFormat, ".zstd": zstdFormat, ".tzst": zstdFormat,
	".bz2": bzip2Format, ".bzip2": bzip2Format, ".tbz": bzip2Format, ".tbz2": bzip2Format,
	".tar": tarFormat, ".zip": zipFormat,
}

// documents are zips that are files to their users.
var documents = map[string]bool{
	".epub": true, ".docx": true, ".xlsx": true, ".pptx": true, ".odt": true, ".ods": true, ".odp": true,
	".jar": true, ".apk": true, ".whl": true, ".npz": true, ".kepub": true, ".cbz": true,
}

// foreign are formats not read here; handing their bytes out as text would
// only move the error away from its cause.
var foreign = []struct{ name, magic string }{
	{"xz", "\xfd7zXZ\x00"},
	{"7z", "7z\xbc\xaf\x27\x1c"},
	{"rar", "Rar!\x1a\x07"},
	{"lz4", "\x04\x22\x4d\x18"},
	{"lzip", "LZIP\x01"},
	{"Unix compress (.Z)", "\x1f\x9d"},
}

// sniff tells the format by the first bytes and holds the name to it.
func sniff(head []byte, name string) (format, error) {
	f := magic(head)
	ext := strings.ToLower(path.Ext(name))
	if f == zipFormat && ext != ".zip" && (documents[ext] || len(head) > 38 && string(head[30:38]) == "mimetype") {
		return plain, nil
	}
	for _, x := range foreign {
		if bytes.HasPrefix(head, []byte(x.magic)) {
			return plain, fmt.Errorf("%w: %s is not read here, unpack it first (gzip, zstd, bzip2, tar and zip are)", ErrFormat, x.name)
		}
	}
	want, promised := byName[ext]
	if promised && want == tarFormat && len(head) == headSize && len(bytes.Trim(head, "\x00")) == 0 {
		return tarFormat, nil // a tar with no member
	}
	// A gzip named .zip is read as what it is; plain bytes under such a name
	// are more likely an error page or an unfinished file than a text.
	if promised && f == plain {
		if len(head) == 0 {
			return plain, fmt.Errorf("%w: the file is empty, its name promises %s", ErrTruncated, want)
		}
		return plain, fmt.Errorf("%w: its name promises %s, but it begins with %s; if it is unpacked already, drop %s from its name",
			ErrFormat, want, strconv.QuoteToASCII(string(head[:min(len(head), 8)])), ext)
	}
	return f, nil
}

func magic(head []byte) format {
	has := func(s string) bool { return bytes.HasPrefix(head, []byte(s)) }
	switch {
	case has("\x1f\x8b\x08"):
		return gzipFormat
	case has("\x28\xb5\x2f\xfd"), len(head) > 4 && head[0]&0xf0 == 0x50 && string(head[1:4]) == "\x2a\x4d\x18": // or a skippable frame
		return zstdFormat
	case has("BZh") && len(head) >= 10 && '1' <= head[3] && head[3] <= '9' &&
		(string(head[4:10]) == "\x31\x41\x59\x26\x53\x59" || string(head[4:10]) == "\x17\x72\x45\x38\x50\x90"):
		return bzip2Format
	case has("PK\x03\x04"), has("PK\x05\x06"), has("PK\x07\x08PK\x03\x04"):
		return zipFormat
	case isTar(head):
		return tarFormat
	}
	return plain
}

// isTar checks the header checksum, which also the oldest tars without "ustar"
// have and which no text meets by accident.
func isTar(head []byte) bool {
	if len(head) < headSize || head[0] == 0 {
		return false
	}
	field := strings.Trim(string(head[148:156]), " \x00")
	want, err := strconv.ParseInt(field, 8, 64)
	if err != nil {
		return false
	}
	var unsigned, signed int64 // old tars summed signed bytes
	for i, c := range head[:headSize] {
		if 148 <= i && i < 156 {
			c = ' '
		}
		unsigned += int64(c)
		signed += int64(int8(c))
	}
	return want == unsigned || want == signed
}

// Decompress returns the decompressed bytes of r (gzip, zstd, bzip2, told by
// the first bytes) or r's own bytes if they are not compressed, capped by
// MaxFile and MaxRatio of lim. name is for messages and for holding a
// promising suffix (.gz over other bytes is an error). Archives are for [Walk].
//
// Closing it does not close r.
func Decompress(r io.Reader, name string, lim Limits) (io.ReadCloser, error) {
	lim = lim.resolve()
	br := bufio.NewReaderSize(r, 64<<10)
	head, err := br.Peek(headSize)
	if err != nil && err != io.EOF {
		return nil, readError(name, err)
	}
	f, err := sniff(head, name)
	if err != nil {
		return nil, &Error{"open", name, Input, err}
	}
	switch f {
	case tarFormat, zipFormat:
		return nil, &Error{"open", name, Input, fmt.Errorf("%w: a single file is wanted here, this is a %s archive", ErrFormat, f)}
	case plain:
		return &capped{ctx: context.Background(), r: br, path: name, max: lim.MaxFile}, nil
	}
	return inflate(context.Background(), io.NopCloser(br), name, f, lim, lim.MaxFile, &meter{})
}

// inflate wraps rc, which it owns, in a decompressor with caps.
func inflate(ctx context.Context, rc io.ReadCloser, path string, f format, lim Limits, max int64, m *meter) (io.ReadCloser, error) {
	in := &counter{r: rc}
	c := &capped{ctx: ctx, path: path, max: max, ratio: lim.MaxRatio, floor: lim.RatioFloor, in: in, meter: m, close: []func() error{rc.Close}}
	var err error
	switch f {
	case gzipFormat:
		var z *gzip.Reader
		if z, err = gzip.NewReader(in); err == nil {
			c.r = z
		}
	case zstdFormat:
		var z *zstd.Decoder
		// One at a time: no goroutines to leak, and the frame's window is the
		// memory; 128 MiB is what `zstd --long` asks for.
		z, err = zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(128<<20))
		if err == nil {
			c.r = z
			c.close = append(c.close, func() error { z.Close(); return nil })
		}
	case bzip2Format:
		c.r = bzip2.NewReader(in)
	}
	if err != nil {
		rc.Close()
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, readError(path, sourceError(err, in))
	}
	return c, nil
}

// sourceError prefers what the compressed side said: not being able to read is
// not the same trouble as having read nonsense.
func sourceError(err error, in *counter) error {
	if in == nil || in.err == nil || err == io.EOF {
		return err
	}
	if KindOf(in.err) == 0 && !isContext(in.err) && !errors.Is(in.err, io.ErrUnexpectedEOF) {
		return &Error{"read", "compressed data", Disk, in.err}
	}
	return in.err
}

// counter counts the bytes that pass, so the compressed side of a ratio.
type counter struct {
	r   io.Reader
	n   int64
	err error // the source's own error, which decompressors may rewrite
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	if err != nil && err != io.EOF {
		c.err = err
	}
	return n, err
}

// A budget is what one file on disk may decompress to, in all its layers and
// members together. Without it, a thousand members each just below the cap of
// one, or a modest ratio in each of three nested archives, would pass.
type budget struct {
	mu    sync.Mutex
	spent int64
	disk  int64 // bytes of the file on disk
	lim   Limits
}

func (b *budget) add(n int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spent += n
	return b.check(b.spent)
}

func (b *budget) check(n int64) error {
	if b.lim.MaxTotal >= 0 && n > b.lim.MaxTotal {
		return fmt.Errorf("%w: its contents decompress to more than %d bytes in all", ErrTooLarge, b.lim.MaxTotal)
	}
	if b.lim.MaxRatio >= 0 && n > b.lim.RatioFloor && float64(n) > b.lim.MaxRatio*float64(b.disk) {
		return fmt.Errorf("%w of %g: %d bytes on disk decompress to %d bytes or more in all", ErrRatio, b.lim.MaxRatio, b.disk, n)
	}
	return nil
}

// A meter charges one stream's bytes to the budget, once, however often the
// stream is read again.
type meter struct {
	budget *budget
	mu     sync.Mutex
	high   int64
}

func (m *meter) reached(pos int64) error {
	if m == nil || m.budget == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if pos <= m.high {
		return nil
	}
	d := pos - m.high
	m.high = pos
	return m.budget.add(d)
}

// capped is the reader behind File.Open: it stops at the caps and with the
// context, and says which file it was.
type capped struct {
	ctx   context.Context
	r     io.Reader
	path  string
	max   int64
	ratio float64 // checked if in != nil or packed > 0
	floor int64
	in    *counter
	// packed is the compressed size where it is known beforehand (zip).
	packed int64
	meter  *meter
	close  []func() error // in reverse order
	atEOF  func() error
	n      int64
	err    error
}

func (c *capped) Read(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	if c.ctx.Err() != nil {
		c.err = contextError(c.ctx, "read", c.path)
		return 0, c.err
	}
	n, err := c.r.Read(p)
	c.n += int64(n)
	if cap := c.check(); cap != nil {
		c.err = &Error{"read", c.path, Input, cap}
		return 0, c.err
	}
	if err == io.EOF && c.atEOF != nil {
		if e := c.atEOF(); e != nil {
			err = e
		}
	}
	if err != nil {
		c.err = readError(c.path, sourceError(err, c.in))
	}
	return n, c.err
}

func (c *capped) check() error {
	if c.max >= 0 && c.n > c.max {
		return fmt.Errorf("%w of %d bytes", ErrTooLarge, c.max)
	}
	packed := c.packed
	if c.in != nil {
		packed = c.in.n
	}
	if packed > 0 && c.ratio >= 0 && c.n > c.floor && float64(c.n) > c.ratio*float64(packed) {
		return fmt.Errorf("%w of %g: %d compressed bytes gave %d", ErrRatio, c.ratio, packed, c.n)
	}
	return c.meter.reached(c.n)
}

func (c *capped) Close() error {
	var err error
	for i := len(c.close) - 1; i >= 0; i-- {
		if e := c.close[i](); err == nil {
			err = e
		}
	}
	c.close = nil
	if c.err == nil || c.err == io.EOF {
		c.err = &Error{"read", c.path, Input, fs.ErrClosed}
	}
	return err
}

// readError gives a decompressor's or the system's error its name and kind.
func readError(path string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	if KindOf(err) != 0 || isContext(err) {
		return err
	}
	var errno syscall.Errno
	if errors.As(err, &errno) || errors.As(err, new(*fs.PathError)) || errors.Is(err, os.ErrClosed) {
		return &Error{"read", path, Disk, err}
	}
	switch {
	case errors.Is(err, ErrTruncated), errors.Is(err, ErrFormat): // said already
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		err = fmt.Errorf("%w: the file is cut off (%v)", ErrTruncated, err)
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		err = fmt.Errorf("%w: its window needs more than 128 MiB of memory (%v)", ErrTooLarge, err)
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, zip.ErrChecksum), errors.Is(err, zstd.ErrCRCMismatch):
		err = fmt.Errorf("%w: the stored checksum does not fit the bytes (%v)", ErrFormat, err)
	default:
		err = fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return &Error{"read", path, Input, err}
}
