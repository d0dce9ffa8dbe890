// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"

	"github.com/retcon-bench/retcon/internal/parquetfile"
)

// Limits of a Parquet file. A release that Write made stays far below them; a
// file that claims more is refused before anything is allocated for it.
const (
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
	meta, end, err := parquetfile.Footer(r, size)
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
	if err := parquetfile.ReadFull(s.r, s.buf, at); err != nil {
		return &damage{s.first, err}
	}
	row, values := s.first, int64(0)
	var pages []format.PageLocation
	for off := 0; off < len(s.buf); {
		p, err := parquetfile.ReadPageHead(s.buf[off:], int64(len(s.buf)-off))
		if err != nil {
			return damaged(row, "page at byte %d: %w", at+int64(off), err)
		}
		if p.Plain > maxPage || p.Values > maxPageValues {
			return damaged(row, "page at byte %d: header: %d values in %d bytes, a release's page has at most %d in %d", at+int64(off), p.Values, p.Plain, maxPageValues, maxPage)
		}
		body := s.buf[off+p.Header : off+p.Header+p.Compressed]
		if err := s.page(p, body, m.Codec); err != nil {
			return damaged(row, "page at byte %d: %w", at+int64(off), err)
		}
		if !p.Dictionary {
			pages = append(pages, format.PageLocation{Offset: at + int64(off), CompressedPageSize: int32(p.Header + p.Compressed), FirstRowIndex: int64(row - s.first)})
			values += int64(p.Values)
			row += p.Rows
		}
		off += p.Header + p.Compressed
	}
	if values != m.NumValues {
		return damaged(s.first, "its pages hold %d values, the footer says %d", values, m.NumValues)
	}
	return s.index(c, pages)
}

// page checks a page's CRC and that it decompresses to the size it says.
func (s *scanner) page(p parquetfile.PageHead, body []byte, codec format.CompressionCodec) error {
	if p.CRC == nil {
		return errors.New("it has no CRC")
	}
	if got := crc32.ChecksumIEEE(body); got != *p.CRC {
		return fmt.Errorf("its CRC is %08x, the header says %08x", got, *p.CRC)
	}
	body = body[p.Levels:]
	want := p.Plain - p.Levels
	if !p.Packed {
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
		if !s.inside(at, int64(n)) || n > parquetfile.MaxFooter {
			return damaged(s.first, "%s: %d bytes at %d do not lie in the file", what, n, at)
		}
		s.buf = slices.Grow(s.buf[:0], int(n))[:n]
		if err := parquetfile.ReadFull(s.r, s.buf, at); err != nil {
			return &damage{s.first, err}
		}
		if _, err := parquetfile.WalkThrift(s.buf, func(parquetfile.ThriftField) error { return nil }, nil); err != nil {
			return damaged(s.first, "%s: %w", what, err)
		}
		if err := parquetfile.Unmarshal(s.buf, v); err != nil {
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
