// SPDX-License-Identifier: Apache-2.0

package parquetfile

import (
	"errors"
	"fmt"
)

// A Parquet footer and page header are Thrift structs in the compact
// protocol. A general decoder allocates what a list claims to hold before it
// has seen any of it, so a footer of a few bytes can ask for gigabytes. [WalkThrift]
// looks at a struct without building it: it holds nothing, and it refuses
// lists longer than the bytes that are left, deep nesting and too many
// elements. Only what passes goes to the library.

// Limits of one Thrift struct.
const (
	thriftDepth    = 16
	thriftElements = 1 << 20
)

var errThrift = errors.New("not a Thrift struct in the compact protocol")

// Types of the compact protocol.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftI16    = 4
	thriftI32    = 5
	thriftI64    = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftStruct = 12 // 11 is a map, which Parquet does not use
)

// ThriftField is a scalar that [WalkThrift] came by: ids of the fields it lies in,
// outermost first (elements of lists share their list's path), and its value.
type ThriftField struct {
	Path []int16
	N    int64  // integers and booleans
	B    []byte // binary
}

// Is compares the path.
func (f ThriftField) Is(path ...int16) bool {
	if len(path) != len(f.Path) {
		return false
	}
	for i, p := range path {
		if f.Path[i] != p {
			return false
		}
	}
	return true
}

type thriftWalker struct {
	buf      []byte
	at       int
	elements int
	path     []int16
	see      func(ThriftField) error
	list     func(path []int16, n int)
}

// WalkThrift walks one struct at the front of buf and returns its length in
// bytes. list, if not nil, is told of each list before its elements.
func WalkThrift(buf []byte, see func(ThriftField) error, list func(path []int16, n int)) (int, error) {
	w := &thriftWalker{buf: buf, see: see, list: list}
	if err := w.structure(0); err != nil {
		return 0, err
	}
	return w.at, nil
}

func (w *thriftWalker) byte() (byte, error) {
	if w.at >= len(w.buf) {
		return 0, fmt.Errorf("%w: it ends too early", errThrift)
	}
	w.at++
	return w.buf[w.at-1], nil
}

func (w *thriftWalker) varint() (uint64, error) {
	var n uint64
	for shift := 0; shift < 64; shift += 7 {
		b, err := w.byte()
		if err != nil {
			return 0, err
		}
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n, nil
		}
	}
	return 0, fmt.Errorf("%w: a number has more than 64 bits", errThrift)
}

func (w *thriftWalker) zigzag() (int64, error) {
	n, err := w.varint()
	return int64(n>>1) ^ -int64(n&1), err
}

func (w *thriftWalker) structure(depth int) error {
	if depth > thriftDepth {
		return fmt.Errorf("%w: nested deeper than %d", errThrift, thriftDepth)
	}
	id := int16(0)
	for {
		head, err := w.byte()
		if err != nil {
			return err
		}
		if head == 0 {
			return nil
		}
		if delta := head >> 4; delta != 0 {
			id += int16(delta)
		} else {
			n, err := w.zigzag()
			if err != nil {
				return err
			}
			if n != int64(int16(n)) {
				return fmt.Errorf("%w: field id %d", errThrift, n)
			}
			id = int16(n)
		}
		w.path = append(w.path, id)
		typ := head & 15
		if typ == thriftTrue || typ == thriftFalse { // the value stands in the field's head
			err = w.see(ThriftField{Path: w.path, N: int64(2 - typ)})
		} else {
			err = w.value(typ, depth)
		}
		if err != nil {
			return err
		}
		w.path = w.path[:len(w.path)-1]
	}
}

func (w *thriftWalker) value(typ byte, depth int) error {
	if w.elements++; w.elements > thriftElements {
		return fmt.Errorf("%w: more than %d values", errThrift, thriftElements)
	}
	switch typ {
	case thriftTrue, thriftFalse, thriftByte: // a boolean in a list is one byte
		b, err := w.byte()
		if err != nil {
			return err
		}
		return w.see(ThriftField{Path: w.path, N: int64(b)})
	case thriftI16, thriftI32, thriftI64:
		n, err := w.zigzag()
		if err != nil {
			return err
		}
		return w.see(ThriftField{Path: w.path, N: n})
	case thriftDouble:
		if len(w.buf)-w.at < 8 {
			return fmt.Errorf("%w: it ends in a number", errThrift)
		}
		w.at += 8
		return nil
	case thriftBinary:
		n, err := w.varint()
		if err != nil {
			return err
		}
		if n > uint64(len(w.buf)-w.at) {
			return fmt.Errorf("%w: a string of %d bytes, %d are left", errThrift, n, len(w.buf)-w.at)
		}
		b := w.buf[w.at : w.at+int(n)]
		w.at += int(n)
		return w.see(ThriftField{Path: w.path, B: b})
	case thriftList, thriftSet:
		head, err := w.byte()
		if err != nil {
			return err
		}
		n := uint64(head >> 4)
		if n == 15 {
			if n, err = w.varint(); err != nil {
				return err
			}
		}
		if n > uint64(len(w.buf)-w.at) {
			return fmt.Errorf("%w: a list of %d elements, %d bytes are left", errThrift, n, len(w.buf)-w.at)
		}
		if w.list != nil {
			w.list(w.path, int(n))
		}
		for range n {
			if err := w.value(head&15, depth+1); err != nil {
				return err
			}
		}
		return nil
	case thriftStruct:
		return w.structure(depth + 1)
	}
	return fmt.Errorf("%w: no value of type %d stands in Parquet", errThrift, typ)
}
