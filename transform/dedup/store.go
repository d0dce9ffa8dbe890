// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"fmt"
	"slices"
	"strings"
)

// signatures holds many signatures in few allocations without a pointer in
// them, so that a million cost the garbage collector nothing: 40 bytes each and
// the id in blocks of records, and 4 bytes a key and 8 more in blocks of keys.
//
// A signature is named by a number: its block and its place in the block. The
// numbers of the signatures that were added are 0, 1, 2 and so on; behind them
// come those of other signatures (see attach), with a gap up to the next
// multiple of blockSize.
type signatures struct {
	blocks []*block
	keys   []keyBlock
	n      int   // added or attached
	held   int64 // bytes of the blocks of keys
}

// blockSize is the number of records in a block but the last.
const blockSize = 1 << 10

type block struct {
	records []record
	ids     strings.Builder // one behind the other; ids cut from it are no copies
}

// record is a signature without its id and keys: 40 bytes.
type record struct {
	hash   [2]uint64
	words  int32
	litter int32
	marks  int32  // excerpt marks
	idEnd  uint32 // in ids of the block, in bytes
	corpus uint16
	query  bool
}

// keyBlock holds the keys of up to cap(sigs) signatures that have keys.
type keyBlock struct {
	base  uint32   // to be added to sigs
	sigs  []uint32 // the signature of each row, in order
	keys  []uint32 // one column behind the other, each of cap(sigs)
	marks []uint32 // one row behind the other
	ends  []uint32 // of the marks of each row
}

const (
	// keyRows is the number of rows of a block of keys: 63 cache lines to a
	// column, so that the places of one row in the columns do not compete for
	// the same cache lines.
	keyRows = 63 * 16

	longestID = 1 << 20 // bytes; blockSize of them fit idEnd
)

// add adds a signature of so many keys before the excerpt marks. A new block of
// keys has so many rows.
func (s *signatures) add(sig Signature, keys, rows int) error {
	marks := max(len(sig.Keys)-keys, 0)
	switch {
	case sig.ID == "":
		return fmt.Errorf("dedup: signature %d has no story id", s.n+1)
	case len(sig.ID) > longestID:
		return fmt.Errorf("dedup: signature %d has a story id of %d bytes; %d are the most", s.n+1, len(sig.ID), longestID)
	case len(sig.Keys) > 0 && len(sig.Keys) < keys:
		return fmt.Errorf("dedup: %s was signed with other settings: %d keys where %d bands are set", sig.ID, len(sig.Keys), keys)
	}
	if s.n%blockSize == 0 {
		if err := s.room(blockSize); err != nil {
			return err
		}
		b := &block{records: make([]record, 0, blockSize)}
		if s.n > 0 {
			b.ids.Grow(s.blocks[len(s.blocks)-1].ids.Len())
		}
		s.blocks = append(s.blocks, b)
	}
	b := s.blocks[len(s.blocks)-1]
	b.ids.WriteString(sig.ID)
	b.records = append(b.records, record{
		hash: sig.Hash, words: sig.Words, litter: sig.Litter, marks: int32(marks), idEnd: uint32(b.ids.Len()),
		corpus: sig.Corpus, query: sig.Query,
	})
	if len(sig.Keys) > 0 {
		s.addKeys(uint32(s.n), sig.Keys, keys, rows)
	}
	s.n++
	return nil
}

// full reports whether more keys need a new block.
func (s *signatures) full() bool {
	last := len(s.keys) - 1
	return last < 0 || len(s.keys[last].sigs) == cap(s.keys[last].sigs)
}

func (s *signatures) addKeys(sig uint32, all []uint32, keys, rows int) {
	if s.full() {
		next := keyBlock{sigs: make([]uint32, 0, rows), ends: make([]uint32, 0, rows), keys: make([]uint32, keys*rows)}
		if last := len(s.keys) - 1; last >= 0 { // stories that follow each other are much alike in length
			next.marks = make([]uint32, 0, len(s.keys[last].marks)+len(s.keys[last].marks)/16)
		}
		s.keys = append(s.keys, next)
		s.held += next.size()
	}
	b := &s.keys[len(s.keys)-1]
	s.held -= b.size()
	at := len(b.sigs)
	for _, k := range all[:keys] {
		b.keys[at] = k
		at += rows
	}
	b.sigs = append(b.sigs, sig)
	b.marks = append(b.marks, all[keys:]...)
	b.ends = append(b.ends, uint32(len(b.marks)))
	s.held += b.size()
}

// room refuses more blocks than numbers of 31 bits name, see pair.
func (s *signatures) room(n int) error {
	if len(s.blocks)*blockSize+n > maxStories {
		return fmt.Errorf("dedup: more than %d stories", maxStories)
	}
	return nil
}

// attach puts other signatures of so many keys behind those of s, without a
// copy. Nothing must be added to s from then on. It returns the number of the first of them.
func (s *signatures) attach(o *signatures, keys int) (first int, err error) {
	if err := s.room(len(o.blocks) * blockSize); err != nil {
		return 0, err
	}
	first = len(s.blocks) * blockSize
	s.blocks = append(s.blocks, o.blocks...)
	for _, b := range o.keys {
		if len(b.keys) != keys*cap(b.sigs) {
			return 0, fmt.Errorf("%s was signed with other settings: %d keys where %d bands are set", o.id(int32(b.sigs[0])), len(b.keys)/cap(b.sigs), keys)
		}
		b.base = uint32(first)
		s.keys = append(s.keys, b)
	}
	s.n += o.n
	s.held += o.held
	return first, nil
}

func (s *signatures) record(sig int32) *record {
	return &s.blocks[uint32(sig)/blockSize].records[uint32(sig)%blockSize]
}

// id returns the story id of a signature.
func (s *signatures) id(sig int32) string {
	b := s.blocks[uint32(sig)/blockSize]
	start, at := uint32(0), uint32(sig)%blockSize
	if at > 0 {
		start = b.records[at-1].idEnd
	}
	return b.ids.String()[start:b.records[at].idEnd]
}

// size is the memory that the block takes, in bytes.
func (b *keyBlock) size() int64 {
	return 4 * int64(cap(b.sigs)+cap(b.keys)+cap(b.marks)+cap(b.ends))
}

// column appends the keys of a column in order of the signatures: key in the
// upper half, signature in the lower.
func (b *keyBlock) column(dst []uint64, col int) []uint64 {
	at := col * cap(b.sigs)
	for i, k := range b.keys[at : at+len(b.sigs)] {
		dst = append(dst, uint64(k)<<32|uint64(b.base+b.sigs[i]))
	}
	return dst
}

// marksBetween appends the excerpt marks from low to high in the same way.
func (b *keyBlock) marksBetween(dst []uint64, low, high uint32) []uint64 {
	start := uint32(0)
	for i, end := range b.ends {
		marks := b.marks[start:end]
		start = end
		if low > 0 {
			at, _ := slices.BinarySearch(marks, low)
			marks = marks[at:]
		}
		for _, k := range marks {
			if k > high {
				break
			}
			dst = append(dst, uint64(k)<<32|uint64(b.base+b.sigs[i]))
		}
	}
	return dst
}
