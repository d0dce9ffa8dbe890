// SPDX-License-Identifier: Apache-2.0

package parquetfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// Limits of a file by whatever program. One that claims more is refused before
// anything is allocated for it.
const (
	MaxFooter = 16 << 20 // bytes of the footer, and of one page header

	maxPage       = 512 << 20 // bytes of a page, compressed or not
	maxPageValues = 8 << 20
	maxGroupRows  = 1 << 31

	// maxAtOnce bounds what the pages of a row group take that are held at
	// once, one a column and its dictionary: some kilobytes of pages can stand
	// for any number of values. valueBytes is what the library takes for each.
	maxAtOnce  = 2 << 30
	valueBytes = 10
)

// Footer reads a file's metadata, after [WalkThrift] has found it sane. end is
// the byte at which the footer starts.
func Footer(r io.ReaderAt, size int64) (meta *format.FileMetaData, end int64, err error) {
	var head [4]byte
	var tail [8]byte
	if size < 12 {
		return nil, 0, fmt.Errorf("%d bytes are no Parquet file", size)
	}
	if err := ReadFull(r, head[:], 0); err != nil {
		return nil, 0, err
	}
	if err := ReadFull(r, tail[:], size-8); err != nil {
		return nil, 0, err
	}
	switch magic := string(head[:]) + string(tail[4:]); magic {
	case "PAR1PAR1":
	case "PAREPARE", "PAR1PARE":
		return nil, 0, errors.New("this Parquet file is encrypted: write it without")
	default:
		return nil, 0, errors.New("not a Parquet file: it does not start and end with PAR1")
	}
	n := int64(binary.LittleEndian.Uint32(tail[:4]))
	if n > size-12 || n > MaxFooter {
		return nil, 0, fmt.Errorf("footer claims %d bytes; the file has %d, and a footer may have %d", n, size, MaxFooter)
	}
	buf := make([]byte, n)
	if err := ReadFull(r, buf, size-8-n); err != nil {
		return nil, 0, err
	}
	used, err := WalkThrift(buf, func(ThriftField) error { return nil }, nil)
	if err != nil {
		return nil, 0, fmt.Errorf("footer: %w", err)
	}
	if int64(used) != n {
		return nil, 0, fmt.Errorf("footer: %d bytes are left over", n-int64(used))
	}
	meta = &format.FileMetaData{}
	if err := Unmarshal(buf, meta); err != nil {
		return nil, 0, fmt.Errorf("footer: %w", err)
	}
	return meta, size - 8 - n, nil
}

// Unmarshal decodes what [WalkThrift] has passed.
func Unmarshal(b []byte, v any) error {
	return Guard(func() error { return thrift.Unmarshal(new(thrift.CompactProtocol), b, v) })
}

// ReadFull fills b with the bytes at an offset.
func ReadFull(r io.ReaderAt, b []byte, at int64) error {
	n, err := r.ReadAt(b, at)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("bytes [%d,%d): %w", at, at+int64(len(b)), err)
}

// PageHead is what a page header says.
type PageHead struct {
	Header, Compressed, Plain int // bytes: of the header, and of the page behind it
	Values, Rows              int
	Dictionary, V2            bool
	Levels                    int // bytes of levels before the body of a page of version 2
	Packed                    bool
	CRC                       *uint32
}

// ReadPageHead reads the page header at the front of buf; left counts the bytes
// of the column from there on, of which buf may hold fewer.
func ReadPageHead(buf []byte, left int64) (PageHead, error) {
	p := PageHead{Plain: -1, Compressed: -1, Values: -1, Packed: true}
	var bad error
	num := func(f ThriftField, most int64) int {
		if f.N < 0 || f.N > most {
			bad = fmt.Errorf("header: field %v says %d", f.Path, f.N)
			return 0
		}
		return int(f.N)
	}
	n, err := WalkThrift(buf, func(f ThriftField) error {
		switch {
		case f.Is(2):
			p.Plain = num(f, maxPage)
		case f.Is(3):
			p.Compressed = num(f, maxPage)
		case f.Is(4):
			crc := uint32(f.N)
			p.CRC = &crc
		case f.Is(5, 1), f.Is(7, 1), f.Is(8, 1):
			if p.Values = num(f, maxPageValues); bad != nil {
				bad = fmt.Errorf("it claims %d values, a page may have %d: write smaller pages or row groups", f.N, maxPageValues)
			}
			p.Dictionary, p.V2 = f.Path[0] == 7, f.Path[0] == 8
		case f.Is(8, 3):
			p.Rows = num(f, maxPageValues)
		case f.Is(8, 5), f.Is(8, 6):
			p.Levels += num(f, maxPage)
		case f.Is(8, 7):
			p.Packed = f.N == 1
		}
		return bad
	}, nil)
	switch {
	case err != nil:
		return p, err
	case p.Plain < 0 || p.Compressed < 0 || p.Values < 0:
		return p, errors.New("the header lacks a size")
	case int64(p.Compressed) > left-int64(n):
		return p, fmt.Errorf("it claims %d bytes, %d are left in the column", p.Compressed, left-int64(n))
	case p.Levels > p.Compressed || p.Levels > p.Plain:
		return p, errors.New("its levels are longer than the page")
	}
	p.Header = n
	return p, nil
}

// checkPages walks the page headers of all columns, so that no page is read
// that the file cannot hold.
func checkPages(r io.ReaderAt, meta *format.FileMetaData, end int64) error {
	var buf []byte
	for g := range meta.RowGroups {
		group := &meta.RowGroups[g]
		if group.NumRows < 0 || group.NumRows > maxGroupRows {
			return fmt.Errorf("footer: row group %d claims %d rows", g, group.NumRows)
		}
		if group.NumRows == 0 {
			continue // nobody reads it, and what writers say of its columns points nowhere
		}
		atOnce := int64(0)
		for c := range group.Columns {
			m := &group.Columns[c].MetaData
			if unread(m.Codec) {
				return unusable("column %q is compressed with %s, which cannot be read here: write the file with zstd, snappy or gzip", strings.Join(m.PathInSchema, "."), m.Codec)
			}
			n, err := checkChunk(r, m, end, &buf)
			if err != nil {
				return fmt.Errorf("row group %d, column %v: %w", g, m.PathInSchema, err)
			}
			if atOnce += n; atOnce > maxAtOnce {
				return unusable("row group %d needs more than %d MiB for one page of each column: write smaller pages or row groups", g, maxAtOnce>>20)
			}
		}
	}
	return nil
}

// unread reports compressions that the library does not know, and LZ4_RAW,
// which it gets wrong: its column.go (v0.32.0) drops what a codec decompressed
// into a buffer of its own if the length is as expected, as this codec does,
// and takes whatever bytes a page before left behind.
func unread(c format.CompressionCodec) bool {
	switch c {
	case format.Uncompressed, format.Snappy, format.Gzip, format.Brotli, format.Zstd:
		return false
	}
	return true
}

// checkChunk returns what the chunk's largest page and its dictionary take in
// memory, in bytes.
func checkChunk(r io.ReaderAt, m *format.ColumnMetaData, end int64, buf *[]byte) (int64, error) {
	at := m.DataPageOffset
	if d := m.DictionaryPageOffset; d > 0 {
		at = min(at, d)
	}
	left := m.TotalCompressedSize
	if at < 4 || left < 0 || at > end || left > end-at {
		return 0, fmt.Errorf("%d bytes at %d do not lie in the file", left, at)
	}
	var page, dictionary int64
	for left > 0 {
		// Most headers are of some fifty bytes; those with long texts in their
		// statistics are not, and nothing says so before they are read.
		var head PageHead
		for size := min(left, 4<<10); ; size = min(left, 8*size) {
			*buf = slices.Grow((*buf)[:0], int(size))[:size]
			if err := ReadFull(r, *buf, at); err != nil {
				return 0, err
			}
			var err error
			if head, err = ReadPageHead(*buf, left); err == nil {
				break
			}
			if size == left || size >= MaxFooter {
				return 0, fmt.Errorf("page at byte %d: %w", at, err)
			}
		}
		if n := int64(head.Plain) + valueBytes*int64(head.Values); head.Dictionary {
			dictionary += n
		} else {
			page = max(page, n)
		}
		n := int64(head.Header + head.Compressed)
		at, left = at+n, left-n
	}
	return page + dictionary, nil
}
