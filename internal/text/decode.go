// SPDX-License-Identifier: Apache-2.0

package text

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
)

// Decoded is a text read from bytes, and how it was read.
type Decoded struct {
	Text string // valid UTF-8, not yet frozen: see [Freeze]

	// Charset is the encoding the bytes were read in: "utf-8",
	// "windows-1252", "utf-16le", "utf-16be", "utf-32le", "utf-32be", or the
	// WHATWG name of the declared one. Plain ASCII is "utf-8".
	Charset string

	// Repaired counts the bytes that were no part of any character of
	// Charset and were read as Windows-1252 instead.
	Repaired int

	// Replacements counts the U+FFFD characters that stand in the source.
	// Decoding makes none of its own.
	Replacements int
}

const (
	utf8Name = "utf-8"
	cp1252   = "windows-1252"

	// maxBadShare is the share of non-ASCII sequences, as one in so many,
	// that may be no UTF-8 in a text that is still read as UTF-8.
	maxBadShare = 1000
)

// Decode reads data as text. It accepts every input: there is no byte it
// fails on, and it never makes a U+FFFD.
//
// The first rule that fits decides:
//
//  1. A byte order mark (UTF-8, UTF-16, UTF-32). It is not part of the text.
//  2. UTF-16 without a mark, if declared says so or every second byte of an
//     ASCII text is zero.
//  3. UTF-8, if it is valid, or if at most one in 1,000 of its non-ASCII
//     sequences is not: one stray byte does not turn a whole book into
//     mojibake.
//  4. The declared charset, if it is known and has a character for every byte
//     of data. ASCII and Latin-1 labels stand for Windows-1252, as on the web:
//     books that declare ISO-8859-1 hold Windows-1252 quotation marks.
//  5. Windows-1252.
//
// Declared is a hint, and may be empty or nonsense ("UTF-9" occurs).
//
// Bytes that are no part of a character under rules 1 to 3 are read as
// Windows-1252 and counted in Repaired. The five bytes that Windows-1252
// leaves undefined (81, 8D, 8F, 90, 9D) become the C1 control of the same
// number, as the WHATWG encoding standard has it; Freeze later drops them like
// any other control.
//
// Record files (CSV, JSON Lines) should be decoded record by record, so that
// one bad record does not decide for the others.
func Decode(data []byte, declared string) Decoded {
	d := decode(data, declared)
	d.Replacements = strings.Count(d.Text, "\uFFFD")
	return d
}

func decode(data []byte, declared string) Decoded {
	label := strings.ToLower(strings.Trim(declared, " \t\r\n\"'"))
	switch {
	case bytes.HasPrefix(data, []byte{0xEF, 0xBB, 0xBF}):
		return repairUTF8(data[3:])
	case bytes.HasPrefix(data, []byte{0xFF, 0xFE, 0, 0}) && len(data)%4 == 0:
		return decodeUTF32(data[4:], binary.LittleEndian, "utf-32le")
	case bytes.HasPrefix(data, []byte{0, 0, 0xFE, 0xFF}):
		return decodeUTF32(data[4:], binary.BigEndian, "utf-32be")
	case bytes.HasPrefix(data, []byte{0xFF, 0xFE}):
		return decodeUTF16(data[2:], binary.LittleEndian, "utf-16le")
	case bytes.HasPrefix(data, []byte{0xFE, 0xFF}):
		return decodeUTF16(data[2:], binary.BigEndian, "utf-16be")
	}
	switch bareUTF16(data, label) {
	case "utf-16le":
		return decodeUTF16(data, binary.LittleEndian, "utf-16le")
	case "utf-16be":
		return decodeUTF16(data, binary.BigEndian, "utf-16be")
	}
	if bad, all := countSequences(data); bad*maxBadShare <= all {
		return repairUTF8(data)
	}
	if enc, name := lookup(label); enc != nil {
		// A decoder writes U+FFFD for a byte it does not know. Then the
		// declaration is wrong, or the text is; Windows-1252 loses nothing.
		if out, err := enc.NewDecoder().Bytes(data); err == nil && !bytes.ContainsRune(out, utf8.RuneError) {
			return Decoded{Text: string(out), Charset: name}
		}
	}
	return Decoded{Text: decode1252(data), Charset: cp1252}
}

// decode1252 reads all of data as Windows-1252.
func decode1252(data []byte) string {
	var b strings.Builder
	b.Grow(len(data) + len(data)/32)
	for {
		n := asciiPrefix(data)
		b.Write(data[:n])
		if n == len(data) {
			return b.String()
		}
		b.WriteString(text1252[data[n]-utf8.RuneSelf])
		data = data[n+1:]
	}
}

// text1252 is rune1252 of the bytes from 80 on, in UTF-8.
var text1252 = func() (t [128]string) {
	for i := range t {
		t[i] = string(rune1252(byte(i + utf8.RuneSelf)))
	}
	return t
}()

// lookup returns the decoder of a declared charset and its name, or nil for
// those that the caller tries by itself (UTF-8, Windows-1252) or that do not
// exist.
func lookup(label string) (encoding.Encoding, string) {
	switch label {
	case "ibm437", "cp437", "437":
		return charmap.CodePage437, "ibm437"
	case "ibm850", "cp850", "850":
		return charmap.CodePage850, "ibm850"
	}
	enc, err := htmlindex.Get(label)
	if err != nil {
		return nil, ""
	}
	name, err := htmlindex.Name(enc)
	if err != nil {
		return nil, ""
	}
	switch name {
	case utf8Name, cp1252, "replacement", "x-user-defined", "utf-16le", "utf-16be":
		return nil, ""
	}
	return enc, name
}

// rune1252 reads one byte as Windows-1252. Charmap gives U+FFFD for the five
// undefined bytes, and Decode must not.
func rune1252(c byte) rune {
	if r := charmap.Windows1252.DecodeByte(c); r != utf8.RuneError {
		return r
	}
	return rune(c)
}

// sequence returns the length of the UTF-8 character at the start of data, or
// the length of the longest start of one and false.
func sequence(data []byte) (n int, ok bool) {
	if _, n := utf8.DecodeRune(data); n > 1 || data[0] < utf8.RuneSelf {
		return n, true
	}
	// A start is what could still become a character with more bytes.
	for n := min(3, len(data)); n > 1; n-- {
		if !utf8.FullRune(data[:n]) {
			return n, false
		}
	}
	return 1, false
}

// countSequences counts the non-ASCII sequences of data, and those among them
// that are not UTF-8.
func countSequences(data []byte) (bad, all int) {
	if utf8.Valid(data) {
		return 0, 0
	}
	for {
		data = data[asciiPrefix(data):]
		if len(data) == 0 {
			return bad, all
		}
		n, ok := sequence(data)
		data = data[n:]
		all++
		if !ok {
			bad++
		}
	}
}

// asciiPrefix returns how many bytes at the start of data are ASCII.
func asciiPrefix(data []byte) int {
	i := 0
	for ; i+8 <= len(data); i += 8 {
		if top := binary.LittleEndian.Uint64(data[i:]) & highBits; top != 0 {
			return i + bits.TrailingZeros64(top)/8
		}
	}
	for i < len(data) && data[i] < utf8.RuneSelf {
		i++
	}
	return i
}

func repairUTF8(data []byte) Decoded {
	if utf8.Valid(data) {
		return Decoded{Text: string(data), Charset: utf8Name}
	}
	s, repaired := repair(string(data))
	return Decoded{Text: s, Charset: utf8Name, Repaired: repaired}
}

// repair reads the bytes of s that are not UTF-8 as Windows-1252.
func repair(s string) (string, int) {
	var b strings.Builder
	b.Grow(len(s) + 16)
	repaired := 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			b.WriteRune(rune1252(s[i]))
			repaired++
		} else {
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String(), repaired
}

// bareUTF16 names the byte order of UTF-16 text without a mark, or "".
// Such text is often valid UTF-8 too, with a zero beside each ASCII letter, so
// this has to be asked before. Real text has no zero byte.
func bareUTF16(data []byte, label string) string {
	if len(data) < 4 || bytes.IndexByte(data, 0) < 0 {
		return ""
	}
	head := data[:min(len(data), 4096)]
	var zeros [2]int
	for i, c := range head {
		if c == 0 {
			zeros[i%2]++
		}
	}
	half := len(head) / 2
	declared := strings.HasPrefix(label, "utf-16") || strings.HasPrefix(label, "utf16") || label == "unicode" || label == "ucs-2"
	switch {
	case zeros[1] > half*8/10 && zeros[0] <= half/10:
		return "utf-16le"
	case zeros[0] > half*8/10 && zeros[1] <= half/10:
		return "utf-16be"
	case declared && strings.HasSuffix(label, "be"), declared && zeros[0] > zeros[1]:
		return "utf-16be"
	case declared:
		return "utf-16le"
	}
	return ""
}

func decodeUTF16(data []byte, order binary.ByteOrder, name string) Decoded {
	d := Decoded{Charset: name}
	var b strings.Builder
	b.Grow(len(data))
	asBytes := func(bad []byte) {
		for _, c := range bad {
			b.WriteRune(rune1252(c))
		}
		d.Repaired += len(bad)
	}
	for len(data) >= 2 {
		r, n := rune(order.Uint16(data)), 2
		if utf16.IsSurrogate(r) {
			// DecodeRune gives U+FFFD for anything but a proper pair, and
			// no pair stands for U+FFFD.
			if len(data) >= 4 {
				r = utf16.DecodeRune(r, rune(order.Uint16(data[2:])))
			} else {
				r = utf8.RuneError
			}
			if r == utf8.RuneError {
				asBytes(data[:2])
				data = data[2:]
				continue
			}
			n = 4
		}
		b.WriteRune(r)
		data = data[n:]
	}
	asBytes(data)
	d.Text = b.String()
	return d
}

func decodeUTF32(data []byte, order binary.ByteOrder, name string) Decoded {
	d := Decoded{Charset: name}
	var b strings.Builder
	b.Grow(len(data) / 2)
	for len(data) > 0 {
		n := min(4, len(data))
		if n == 4 {
			if u := order.Uint32(data); u <= utf8.MaxRune && utf8.ValidRune(rune(u)) {
				b.WriteRune(rune(u))
				data = data[4:]
				continue
			}
		}
		for _, c := range data[:n] {
			b.WriteRune(rune1252(c))
		}
		d.Repaired += n
		data = data[n:]
	}
	d.Text = b.String()
	return d
}
