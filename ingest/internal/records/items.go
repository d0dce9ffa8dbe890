// SPDX-License-Identifier: Apache-2.0

package records

import (
	"context"
	"crypto/sha256"
	"errors"
	"iter"
	"strconv"
	"strings"

	"github.com/retcon-bench/retcon/ingest"
	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/schemas"
)

// An item holds up to itemRows rows, and no more once it has itemBytes: long
// rows go alone.
const (
	itemRows  = 64
	itemBytes = 512 << 10
)

// Parse makes of one row what it gives to the batch.
type Parse func(b *ingest.Batch, r Row)

// Items cuts the records of an opened file into items and closes it. The last
// item holds the file's hash, and where the file breaks off that too.
func (s *Source) Items(ctx context.Context, o *Opened, parse Parse) iter.Seq2[ingest.Item, error] {
	return s.items(ctx, o, s.Rows(ctx, o), parse)
}

func (s *Source) items(ctx context.Context, o *Opened, rows iter.Seq2[Row, error], parse Parse) iter.Seq2[ingest.Item, error] {
	return func(yield func(ingest.Item, error) bool) {
		defer o.Close()
		var slice []Row
		size, n := 0, 0
		flush := func() bool {
			if len(slice) == 0 {
				return true
			}
			it := s.item(slice, parse)
			slice, size = nil, 0
			return yield(it, nil)
		}
		var ended error
		for r, err := range rows {
			if err != nil {
				ended = err
				break
			}
			n++
			r.Data = append([]byte(nil), r.Data...)
			slice = append(slice, r)
			size += len(r.Data)
			if len(slice) == itemRows || size >= itemBytes {
				if !flush() {
					return
				}
			}
		}
		if ctx.Err() != nil {
			yield(ingest.Item{}, ctx.Err())
			return
		}
		if ended != nil && fetch.KindOf(ended) == fetch.Disk {
			yield(ingest.Item{}, ended)
			return
		}
		if flush() {
			yield(s.last(o, n, ended), nil)
		}
	}
}

// item parses rows when it is loaded.
func (s *Source) item(rows []Row, parse Parse) ingest.Item {
	name := rows[0].File + ":" + strconv.Itoa(rows[0].N)
	return ingest.Item{Name: name, Load: func(ctx context.Context) (ingest.Batch, error) {
		b := ingest.Batch{Rows: len(rows)}
		for _, r := range rows {
			if err := ctx.Err(); err != nil {
				return b, err
			}
			if r.Err != nil {
				s.Bad(&b, r, "", r.reason(), r.Err.Error())
				continue
			}
			if r.repeats != "" {
				s.Skip(&b, r, "", ReasonRepeated, "the same text as "+r.repeats)
				continue
			}
			r.sha = r.SHA256()
			parse(&b, r)
		}
		return b, nil
	}}
}

// Bad sets a record aside that cannot be read.
func (s *Source) Bad(b *ingest.Batch, r Row, id, reason, detail string) {
	b.Bad++
	s.Skip(b, r, id, reason, detail)
}

// Skip sets a record aside that is not wanted.
func (s *Source) Skip(b *ingest.Batch, r Row, id, reason, detail string) {
	b.Dropped = append(b.Dropped, s.Drop(id, r.File, r.Line, r.N, reason, detail))
}

// last is the item behind a file's rows: what was read, and how it ended.
func (s *Source) last(o *Opened, rows int, ended error) ingest.Item {
	var b ingest.Batch
	if o.Format == Parquet {
		// Read out of order, so hashed apart.
		if sum, size, err := fetch.Sum(o.File); err == nil {
			b.Files = append(b.Files, schemas.FileHash{Path: o.File.Name, Bytes: size, SHA256: sum, Rows: rows})
		} else if ended == nil {
			ended = err
		}
	} else {
		err := drain(o)
		if ended == nil {
			ended = err
		}
		sum, size := o.Sum()
		hash := schemas.FileHash{Path: o.File.Name, Bytes: size, SHA256: sum}
		if o.Upstream != nil {
			hash = *o.Upstream
		}
		hash.Rows = rows
		b.Files = append(b.Files, hash)
	}
	if ended != nil {
		b.Rows, b.Bad = 1, 1
		reason := ReasonCutOff
		if !errors.Is(ended, fetch.ErrTruncated) && !errors.Is(ended, fetch.ErrFormat) && !errors.Is(ended, errParquet) {
			reason = ReasonUnreadable
		}
		b.Dropped = append(b.Dropped, s.Drop("", o.File.Name, 0, 0, reason, "what follows its record "+strconv.Itoa(rows)+" cannot be read: "+ended.Error()))
	}
	return ingest.Item{Name: o.File.Name, Load: func(context.Context) (ingest.Batch, error) { return b, nil }}
}

// Seen finds texts that occurred before, white space apart, by their hashes.
type Seen map[[16]byte]string

// First notes a text under key. If it occurred before it returns the earlier
// key and false.
func (s Seen) First(body, key string) (earlier string, first bool) {
	sum := sha256.Sum256([]byte(strings.Join(strings.Fields(body), " ")))
	h := [16]byte(sum[:16])
	if k, ok := s[h]; ok {
		return k, false
	}
	s[h] = key
	return "", true
}

// Unique is Items for corpora whose files repeat records. First is asked for
// each record in order, by the goroutine that reads; a record that is not the
// first of its kind is set aside and never parsed. What first puts into the
// row's Tag, parse finds there.
func (s *Source) Unique(ctx context.Context, o *Opened, first func(r *Row) (of string, isFirst bool), parse Parse) iter.Seq2[ingest.Item, error] {
	rows := func(yield func(Row, error) bool) {
		for r, err := range s.Rows(ctx, o) {
			if err == nil && r.Err == nil {
				probe := r
				of, ok := first(&probe)
				if r.Tag = probe.Tag; !ok {
					r.Data, r.repeats = nil, of
				}
			}
			if !yield(r, err) {
				return
			}
		}
	}
	return s.items(ctx, o, rows, parse)
}
