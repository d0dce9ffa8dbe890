// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// Limits of a Parquet file. A release that Write made stays far below them; a
// file that claims more is refused before anything is allocated for it.
const (
	maxFooter     = 16 << 20
	maxChunk      = 256 << 20 // one column of one row group, compressed
	maxPage       = 128 << 20 // decompressed
	maxPageValues = 4 << 20
)

// damage is what is wrong with a Parquet file; row is the first row that cannot
// be read.
type damage struct {
	row int
	err error
}

func (d *damage) Error() string { return d.err.Error() }
func (d *damage) Unwrap() error { return d.err }

func damaged(row int, format string, args ...any) *damage {
	return &damage{row, fmt.Errorf(format, args...)}
}

// scanParquet looks at a Parquet file before the library does: that the footer
// is a footer and claims nothing that the file cannot hold, that every page
// lies in its column, has a CRC and holds to it, and decompresses to the size
// it says and not to gigabytes, and that the page index points at the pages.
// The library checks CRCs too, but trusts sizes and lists.
func scanParquet(r io.ReaderAt, size int64) error {
	meta, end, err := readFooter(r, size)
	if err != nil {
		return &damage{0, err}
	}
	s := &scanner{r: r, end: end, first: 0}
	defer s.close()
	for g := range meta.RowGroups {
		group := &meta.RowGroups[g]
		if group.NumRows < 0 || group.NumRows > 1<<31 {
			return damaged(0, "footer: row group %d claims %d rows", g, group.NumRows)
		}
		for c := range group.Columns {
			if err := s.chunk(&group.Columns[c]); err != nil {
				err.err = fmt.Errorf("row group %d, column %v: %w", g, group.Columns[c].MetaData.PathInSchema, err.err)
				return err
			}
		}
		s.first += int(group.NumRows)
	}
	if int64(s.first) != meta.NumRows {
		return damaged(0, "footer: %d rows in all, but %d in the row groups", meta.NumRows, s.first)
	}
	return nil
}

// readFooter reads the file's metadata, after walkThrift has found it sane. end
// is where the footer starts.
func readFooter(r io.ReaderAt, size int64) (*format.FileMetaData, int64, error) {
	var head [4]byte
	var tail [8]byte
	if size < 12 {
		return nil, 0, fmt.Errorf("%d bytes are no Parquet file", size)
	}
	if err := readFull(r, head[:], 0); err != nil {
		return nil, 0, err
	}
	if err := readFull(r, tail[:], size-8); err != nil {
		return nil, 0, err
	}
	if string(head[:]) != "PAR1" || string(tail[4:]) != "PAR1" {
		return nil, 0, errors.New("not a Parquet file: it does not start and end with PAR1")
	}
	n := int64(binary.LittleEndian.Uint32(tail[:4]))
	if n > size-12 || n > maxFooter {
		return nil, 0, fmt.Errorf("footer claims %d bytes; the file has %d, and a footer may have %d", n, size, maxFooter)
	}
	buf := make([]byte, n)
	if err := readFull(r, buf, size-8-n); err != nil {
		return nil, 0, err
	}
	used, err := walkThrift(buf, func(thriftField) error { return nil }, nil)
	if err != nil {
		return nil, 0, fmt.Errorf("footer: %w", err)
	}
	if int64(used) != n {
		return nil, 0, fmt.Errorf("footer: %d bytes are left over", n-int64(used))
	}
	meta := &format.FileMetaData{}
	if err := unmarshalThrift(buf, meta); err != nil {
		return nil, 0, fmt.Errorf("footer: %w", err)
	}
	return meta, size - 8 - n, nil
}

// unmarshalThrift decodes what walkThrift has passed.
func unmarshalThrift(b []byte, v any) (err error) {
	defer recovered(&err)
	return thrift.Unmarshal(new(thrift.CompactProtocol), b, v)
}

func readFull(r io.ReaderAt, b []byte, at int64) error {
	n, err := r.ReadAt(b, at)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("bytes [%d,%d): %w", at, at+int64(len(b)), err)
}

type scanner struct {
	r     io.ReaderAt
	end   int64 // where the footer starts
	first int   // row at which the row group starts

	buf   []byte
	plain []byte
	zstd  *zstd.Decoder
}

func (s *scanner) close() {
	if s.zstd != nil {
		s.zstd.Close()
	}
}

// inside reports whether [at, at+n) lies before the footer.
func (s *scanner) inside(at, n int64) bool {
	return at >= 4 && n >= 0 && at <= s.end && n <= s.end-at
}

// chunk scans the pages and the page index of one column of one row group.
func (s *scanner) chunk(c *format.ColumnChunk) *damage {
	m := &c.MetaData
	at := m.DataPageOffset
	if d := m.DictionaryPageOffset; d > 0 {
		at = min(at, d)
	}
	n := m.TotalCompressedSize
	if !s.inside(at, n) || n > maxChunk {
		return damaged(s.first, "%d bytes at %d do not lie in the file, or are more than %d", n, at, maxChunk)
	}
	s.buf = slices.Grow(s.buf[:0], int(n))[:n]
	if err := readFull(s.r, s.buf, at); err != nil {
		return &damage{s.first, err}
	}
	row, values := s.first, int64(0)
	var pages []format.PageLocation
	for off := 0; off < len(s.buf); {
		p, err := readPageHeader(s.buf[off:])
		if err != nil {
			return damaged(row, "page at byte %d: %w", at+int64(off), err)
		}
		body := s.buf[off+p.header : off+p.header+p.compressed]
		if err := s.page(p, body, m.Codec); err != nil {
			return damaged(row, "page at byte %d: %w", at+int64(off), err)
		}
		if !p.dictionary {
			pages = append(pages, format.PageLocation{Offset: at + int64(off), CompressedPageSize: int32(p.header + p.compressed), FirstRowIndex: int64(row - s.first)})
			values += int64(p.values)
			row += p.rows
		}
		off += p.header + p.compressed
	}
	if values != m.NumValues {
		return damaged(s.first, "its pages hold %d values, the footer says %d", values, m.NumValues)
	}
	return s.index(c, pages)
}

// pageHead is what a page header says.
type pageHead struct {
	header, compressed, plain int // bytes
	values, rows              int
	dictionary, v2            bool
	levels                    int // bytes of levels before the body of a page of version 2
	packed                    bool
	crc                       *uint32
}

func readPageHeader(buf []byte) (pageHead, error) {
	p := pageHead{plain: -1, compressed: -1, values: -1, packed: true}
	var bad error
	num := func(f thriftField, most int64) int {
		if f.n < 0 || f.n > most {
			bad = fmt.Errorf("header: field %v says %d", f.path, f.n)
			return 0
		}
		return int(f.n)
	}
	n, err := walkThrift(buf, func(f thriftField) error {
		switch {
		case f.is(2):
			p.plain = num(f, maxPage)
		case f.is(3):
			p.compressed = num(f, maxPage)
		case f.is(4):
			crc := uint32(f.n)
			p.crc = &crc
		case f.is(5, 1), f.is(7, 1), f.is(8, 1):
			p.values = num(f, maxPageValues)
			p.dictionary, p.v2 = f.path[0] == 7, f.path[0] == 8
		case f.is(8, 3):
			p.rows = num(f, maxPageValues)
		case f.is(8, 5), f.is(8, 6):
			p.levels += num(f, maxPage)
		case f.is(8, 7):
			p.packed = f.n == 1
		}
		return bad
	}, nil)
	switch {
	case err != nil:
		return p, err
	case p.plain < 0 || p.compressed < 0 || p.values < 0:
		return p, errors.New("the header lacks a size")
	case p.compressed > len(buf)-n:
		return p, fmt.Errorf("it claims %d bytes, %d are left in the column", p.compressed, len(buf)-n)
	case p.levels > p.compressed || p.levels > p.plain:
		return p, errors.New("its levels are longer than the page")
	}
	p.header = n
	return p, nil
}

// page checks a page's CRC and that it decompresses to the size it says.
func (s *scanner) page(p pageHead, body []byte, codec format.CompressionCodec) error {
	if p.crc == nil {
		return errors.New("it has no CRC")
	}
	if got := crc32.ChecksumIEEE(body); got != *p.crc {
		return fmt.Errorf("its CRC is %08x, the header says %08x", got, *p.crc)
	}
	body = body[p.levels:]
	want := p.plain - p.levels
	if !p.packed {
		codec = format.Uncompressed
	}
	got, err := 0, error(nil)
	switch codec {
	case format.Uncompressed:
		got = len(body)
	case format.Snappy:
		if got, err = snappy.DecodedLen(body); err == nil && got > maxPage {
			err = fmt.Errorf("it claims %d bytes", got)
		}
	case format.Zstd:
		if s.zstd == nil {
			if s.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxPage), zstd.WithDecodeAllCapLimit(true)); err != nil {
				return err
			}
		}
		// The capacity is the limit: what is longer is an error, not memory.
		s.plain = slices.Grow(s.plain[:0], want)
		var out []byte
		out, err = s.zstd.DecodeAll(body, s.plain[:0:want])
		got = len(out)
	default:
		err = fmt.Errorf("compression %s is not one of a release's", codec)
	}
	if err != nil {
		return fmt.Errorf("decompress: %w", err)
	}
	if got != want {
		return fmt.Errorf("it decompresses to %d bytes, the header says %d", got, want)
	}
	return nil
}

// index checks the page index: readers skip pages by it.
func (s *scanner) index(c *format.ColumnChunk, pages []format.PageLocation) *damage {
	read := func(what string, at int64, n int32, v any) *damage {
		if at == 0 && len(pages) == 0 {
			return nil // no rows, no pages
		}
		if !s.inside(at, int64(n)) || n > maxFooter {
			return damaged(s.first, "%s: %d bytes at %d do not lie in the file", what, n, at)
		}
		s.buf = slices.Grow(s.buf[:0], int(n))[:n]
		if err := readFull(s.r, s.buf, at); err != nil {
			return &damage{s.first, err}
		}
		if _, err := walkThrift(s.buf, func(thriftField) error { return nil }, nil); err != nil {
			return damaged(s.first, "%s: %w", what, err)
		}
		if err := unmarshalThrift(s.buf, v); err != nil {
			return damaged(s.first, "%s: %w", what, err)
		}
		return nil
	}
	var columns format.ColumnIndex
	var offsets format.OffsetIndex
	if err := read("column index", c.ColumnIndexOffset, c.ColumnIndexLength, &columns); err != nil {
		return err
	}
	if err := read("offset index", c.OffsetIndexOffset, c.OffsetIndexLength, &offsets); err != nil {
		return err
	}
	if n := len(columns.NullPages); n != len(pages) || len(columns.MinValues) != n || len(columns.MaxValues) != n {
		return damaged(s.first, "column index: it lists %d pages, there are %d", n, len(pages))
	}
	if len(offsets.PageLocations) != len(pages) {
		return damaged(s.first, "offset index: it lists %d pages, there are %d", len(offsets.PageLocations), len(pages))
	}
	for i, p := range offsets.PageLocations {
		if p.Offset != pages[i].Offset || p.CompressedPageSize != pages[i].CompressedPageSize || p.FirstRowIndex != pages[i].FirstRowIndex {
			return damaged(s.first+int(pages[i].FirstRowIndex), "offset index: page %d is said to be %d bytes at %d from row %d; it is %d at %d from %d",
				i, p.CompressedPageSize, p.Offset, p.FirstRowIndex, pages[i].CompressedPageSize, pages[i].Offset, pages[i].FirstRowIndex)
		}
	}
	return nil
}
