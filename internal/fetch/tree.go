// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"io"
	"iter"
	"time"
)

// File is one file of a tree, wherever it is stored.
type File struct {
	// Name is the slash-separated path below the root: valid UTF-8, never
	// absolute, without "." or ".." elements, unique in the walk. An archive
	// that is not the root is a folder in it ("data.zip/data/a.jsonl"); a
	// single compressed file loses its suffix ("a.jsonl" for a.jsonl.gz)
	// unless that name is taken.
	Name string
	// Stored is the same path as it is stored, compression suffix included.
	Stored string
	// Path says where the bytes are, for messages only (it begins with the
	// root as given to Walk).
	Path string
	// Size in bytes after decompression, -1 if only reading can tell.
	Size int64
	// ModTime as the file system or archive states it; zero if it does not.
	ModTime time.Time
	// Open returns the decompressed bytes from the start. It may be called
	// again, and after the walk. Reads stop with the walk's context.
	Open func() (io.ReadCloser, error)

	node *node
}

type node struct{}

// ReaderAt is a file open for random access.
type ReaderAt interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// OpenAt opens the file for random access, as a Parquet reader needs it: in
// place for a plain file, else through a temporary copy that is gone on Close.
func (f File) OpenAt() (ReaderAt, error) { panic("fetch: not yet written") }

// Walk lists the files of root: a folder, an archive or a single file.
//
// An error that concerns one entry (a name that leaves the root, a device)
// comes with a File that has only Name and Path, and the walk goes on if the
// caller does; after an error without a Name nothing follows.
func Walk(ctx context.Context, root string, lim Limits) iter.Seq2[File, error] {
	panic("fetch: not yet written")
}

// ReadFile returns the whole file and the lower-case hex SHA-256 of the bytes
// returned, that is after decompression.
func ReadFile(f File) (data []byte, sha256 string, err error) { panic("fetch: not yet written") }

// Sum reads the file through and returns the SHA-256 and length of its
// decompressed bytes without holding them.
func Sum(f File) (sha256 string, size int64, err error) { panic("fetch: not yet written") }

// Decompress returns the decompressed bytes of r, or r's own if they are not
// compressed.
func Decompress(r io.Reader, name string, lim Limits) (io.ReadCloser, error) {
	panic("fetch: not yet written")
}
