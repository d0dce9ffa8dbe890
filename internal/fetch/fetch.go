// SPDX-License-Identifier: Apache-2.0

// Package fetch answers one question: how do bytes arrive?
//
// Everything that comes from outside (a folder somebody downloaded, an archive,
// a server's answer) passes through here before any parser sees it, and meets
// the same caps. In the order in which an ingest step uses it:
//
//  1. [Client.Get] downloads to a file that appears whole or not at all, from
//     public addresses only unless told otherwise.
//  2. [Walk] lists a folder, a single file or an archive as [File] values with
//     slash-separated names, in a stable order; [File.Open] gives decompressed,
//     capped bytes; [ReadFile] and [Sum] give their SHA-256.
//  3. [Lines], [JSONLines], [JSONArray] and [CSV] cut a stream into rows with
//     their line and byte offset, holding one row at a time. A bad row is a
//     value ([RowError]), so that a caller can set it aside and go on.
//  4. [WriteFileAtomic] is the way back to disk: temporary name, fsync, rename.
//
// Errors that decide an exit code are [*Error] values; see [Kind].
//
// The package imports nothing of ours. Corpus knowledge (which files, which
// columns) lives in ingest; Parquet is read in internal/parquetfile, through
// [File.OpenAt].
package fetch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Kind says whose trouble an [Error] is, which is what an exit code reports.
type Kind uint8

const (
	// Input: the bytes or their name are bad (truncated, hostile, changed
	// while read, checksum differs, refused address). Exit code 3.
	Input Kind = iota + 1
	// Disk: the local file system failed (full, read-only, I/O error). Exit code 7.
	Disk
	// Network: the server or the way to it failed. Exit code 7.
	Network
)

// String returns "input", "disk" or "network".
func (k Kind) String() string {
	switch k {
	case Input:
		return "input"
	case Disk:
		return "disk"
	case Network:
		return "network"
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Error is what this package returns for anything that went wrong with a named
// thing. Find it with errors.As; find the cause (the Err sentinels below,
// context.Canceled, fs.ErrNotExist, ...) with errors.Is.
type Error struct {
	Op   string // what was being done: "open", "read", "get", "write"
	Name string // to what: path, archive member ("a.zip/b.txt") or URL without password
	Kind Kind
	Err  error
}

// Error names the thing once, also where the cause names it too.
func (e *Error) Error() string {
	if e.Name == "" {
		return e.Op + ": " + e.Err.Error()
	}
	cause := e.Err.Error()
	switch in := e.Err.(type) {
	case *Error:
		if rest, ok := strings.CutPrefix(in.Name, e.Name); ok && (rest == "" || strings.ContainsAny(rest[:1], `/\:`) || os.IsPathSeparator(e.Name[len(e.Name)-1])) {
			return cause
		}
	case *fs.PathError:
		switch rest, ok := strings.CutPrefix(in.Path, e.Name); {
		case ok && rest == "":
			cause = in.Err.Error()
		case ok && os.IsPathSeparator(rest[0]):
			cause = rest[1:] + ": " + in.Err.Error()
		}
	case *RowError:
		cause = strings.TrimPrefix(cause, e.Name+": ")
	}
	return e.Op + " " + e.Name + ": " + cause
}

func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of the outermost [*Error] in err's tree, 0 if there is none.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return 0
}

// Causes, for errors.Is. The error text around them names file and figures.
var (
	ErrName      = errors.New("name leaves its root")
	ErrLink      = errors.New("symbolic link leaves its root")
	ErrSpecial   = errors.New("not a regular file")
	ErrTooLarge  = errors.New("larger than the limit")
	ErrRatio     = errors.New("decompression ratio above the limit")
	ErrEntries   = errors.New("more archive entries than the limit")
	ErrDepth     = errors.New("archives nested deeper than the limit")
	ErrDuplicate = errors.New("name occurs twice in the archive")
	ErrOverlap   = errors.New("archive entries overlap")
	ErrEncrypted = errors.New("archive entry is encrypted")
	ErrFormat    = errors.New("not in the format it should have")
	ErrTruncated = errors.New("data ends too early")
	ErrChanged   = errors.New("file changed while it was read")
	ErrChecksum  = errors.New("checksum differs")
	ErrAddress   = errors.New("address is not public")
	ErrRedirect  = errors.New("redirect refused")
	ErrSlow      = errors.New("server too slow")
	ErrSpace     = errors.New("not enough free disk space")
	ErrUTF8      = errors.New("invalid UTF-8")
	ErrQuote     = errors.New("broken CSV quoting")
	ErrFields    = errors.New("wrong number of fields")
)

// Limits caps what untrusted input may cost. A zero field means the value of
// [DefaultLimits], a negative one no limit.
type Limits struct {
	MaxFile    int64   // bytes of one file after decompression
	MaxTotal   int64   // bytes decompressed from one file on disk, all members together
	MaxRatio   float64 // decompressed bytes over compressed bytes, of each compressed stream
	RatioFloor int64   // bytes a stream may always decompress to, whatever its ratio
	MaxEntries int     // members of all archives met in one walk
	MaxDepth   int     // archives and compressed files inside each other; a tar.gz counts once
	MaxWhole   int64   // bytes held in memory by ReadFile, or by one row of a row reader
	TempDir    string  // for temporary copies of what needs random access and has none (archives in archives, see File.Open and OpenAt); "" = os.TempDir()
}

// DefaultLimits are generous for text corpora: the largest files in use here
// are arrays of several GB, real corpora pack to about 1:20 (a file of
// repeated contexts), and deflate alone reaches 1:1032.
func DefaultLimits() Limits {
	return Limits{
		MaxFile:    64 << 30,
		MaxTotal:   256 << 30,
		MaxRatio:   200,
		RatioFloor: 16 << 20,
		MaxEntries: 500_000,
		MaxDepth:   4,
		MaxWhole:   256 << 20,
	}
}

// resolve fills zero fields with the defaults; a negative cap stays, as "none".
func (l Limits) resolve() Limits {
	d := DefaultLimits()
	set := func(v *int64, def int64) {
		if *v == 0 {
			*v = def
		}
	}
	set(&l.MaxFile, d.MaxFile)
	set(&l.MaxTotal, d.MaxTotal)
	set(&l.RatioFloor, d.RatioFloor)
	set(&l.MaxWhole, d.MaxWhole)
	if l.MaxRatio == 0 {
		l.MaxRatio = d.MaxRatio
	}
	if l.MaxEntries == 0 {
		l.MaxEntries = d.MaxEntries
	}
	if l.MaxDepth == 0 {
		l.MaxDepth = d.MaxDepth
	}
	return l
}
