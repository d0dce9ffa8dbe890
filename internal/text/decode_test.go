// SPDX-License-Identifier: Apache-2.0

package text

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"

	"github.com/retcon-bench/retcon/internal/sharedtest"
)

func TestDecode(t *testing.T) {
	le := func(s string) []byte {
		var b []byte
		for _, u := range utf16.Encode([]rune(s)) {
			b = append(b, byte(u), byte(u>>8))
		}
		return b
	}
	be := func(s string) []byte {
		b := le(s)
		for i := 0; i+1 < len(b); i += 2 {
			b[i], b[i+1] = b[i+1], b[i]
		}
		return b
	}
	koi, err := charmap.KOI8R.NewEncoder().Bytes([]byte("Жил-был царь"))
	if err != nil {
		t.Fatal(err)
	}
	sjis, err := japanese.ShiftJIS.NewEncoder().Bytes([]byte("昔々"))
	if err != nil {
		t.Fatal(err)
	}
	good := strings.Repeat("é", 999) // non-ASCII sequences

	for _, c := range []struct {
		name     string
		data     []byte
		declared string
		want     Decoded
	}{
		{"empty", nil, "", Decoded{"", "utf-8", 0, 0}},
		{"ASCII", []byte("Mara"), "", Decoded{"Mara", "utf-8", 0, 0}},
		{"UTF-8", []byte("Esmé"), "", Decoded{"Esmé", "utf-8", 0, 0}},
		{"UTF-8 whatever is declared", []byte("Esmé"), "ISO-8859-1", Decoded{"Esmé", "utf-8", 0, 0}},
		{"UTF-8 mark", []byte("\xef\xbb\xbfMara"), "", Decoded{"Mara", "utf-8", 0, 0}},
		{"UTF-8 mark rules over the declaration and over bad bytes", []byte("\xef\xbb\xbfEsm\xe9"), "latin-1", Decoded{"Esmé", "utf-8", 1, 0}},
		{"cases.md C14", []byte{0x45, 0x73, 0x6D, 0xE9}, "", Decoded{"Esmé", "windows-1252", 0, 0}},
		{"C14 declared as UTF-8", []byte{0x45, 0x73, 0x6D, 0xE9}, "utf-8", Decoded{"Esmé", "windows-1252", 0, 0}},
		{"Latin-1 means Windows-1252", []byte("\x91Ah\x92 \x97"), "ISO-Latin-1", Decoded{"‘Ah’ —", "windows-1252", 0, 0}},
		{"so does ISO-8859-1", []byte("\x93Ah\x94"), "ISO-8859-1", Decoded{"“Ah”", "windows-1252", 0, 0}},
		{"and ASCII", []byte("\x85"), "ISO-646-US (US-ASCII)", Decoded{"…", "windows-1252", 0, 0}},
		{"a declaration that is none", []byte("\xe9"), "UTF-9", Decoded{"é", "windows-1252", 0, 0}},
		{"bytes that Windows-1252 leaves undefined", []byte("\x81\x8d\x8f\x90\x9d"), "", Decoded{"\u0081\u008d\u008f\u0090\u009d", "windows-1252", 0, 0}},
		{"a declared charset", koi, "KOI8-R", Decoded{"Жил-был царь", "koi8-r", 0, 0}},
		{"a declared charset of many bytes", sjis, "shift_jis", Decoded{"昔々", "shift_jis", 0, 0}},
		{"a declared charset that does not fit", []byte("\xff\xff"), "shift_jis", Decoded{"ÿÿ", "windows-1252", 0, 0}},
		{"a DOS code page", []byte("caf\x82"), "CP437", Decoded{"café", "ibm437", 0, 0}},
		{"one bad sequence in 1,000", []byte(good + "\xe9 x"), "", Decoded{good + "é x", "utf-8", 1, 0}},
		{"one bad sequence of two bytes counts once", []byte(good + "\xe2\x80 x"), "", Decoded{good + "â€ x", "utf-8", 2, 0}},
		{"one bad sequence in 999", []byte(good[2:] + "\xe9"), "", Decoded{strings.Repeat("Ã©", 998) + "é", "windows-1252", 0, 0}},
		{"U+FFFD in the source", []byte("a\uFFFDb\uFFFD"), "", Decoded{"a\uFFFDb\uFFFD", "utf-8", 0, 2}},
		{"a surrogate in UTF-8 is none", []byte("\xed\xa0\x80"), "", Decoded{"í\u00a0€", "windows-1252", 0, 0}},
		{"UTF-16 little-endian", append([]byte{0xFF, 0xFE}, le("Zoë 👒")...), "", Decoded{"Zoë 👒", "utf-16le", 0, 0}},
		{"UTF-16 big-endian", append([]byte{0xFE, 0xFF}, be("Zoë 👒")...), "", Decoded{"Zoë 👒", "utf-16be", 0, 0}},
		{"UTF-16 without a mark", le("The lamp was lit."), "", Decoded{"The lamp was lit.", "utf-16le", 0, 0}},
		{"UTF-16 big-endian without a mark", be("The lamp was lit."), "", Decoded{"The lamp was lit.", "utf-16be", 0, 0}},
		{"UTF-16 cut off", append([]byte{0xFF, 0xFE}, 'a', 0, 'b'), "", Decoded{"ab", "utf-16le", 1, 0}},
		{"half a surrogate pair", append([]byte{0xFF, 0xFE}, 0x3D, 0xD8, 'b', 0), "", Decoded{"=Øb", "utf-16le", 2, 0}},
		{"U+FFFD in UTF-16", append([]byte{0xFE, 0xFF}, 0xFF, 0xFD), "", Decoded{"\uFFFD", "utf-16be", 0, 1}},
		{"UTF-32", []byte{0xFF, 0xFE, 0, 0, 'a', 0, 0, 0, 0x52, 0xF4, 1, 0}, "", Decoded{"a👒", "utf-32le", 0, 0}},
		{"a zero byte does not make UTF-16", []byte("one\x00 two three"), "", Decoded{"one\x00 two three", "utf-8", 0, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Decode(c.data, c.declared); got != c.want {
				t.Errorf("Decode = %#v\nwant     %#v", got, c.want)
			}
		})
	}
}

// TestDecodeUpstream decodes the books whose bytes the rules were made for.
func TestDecodeUpstream(t *testing.T) {
	books := sharedtest.Path(t, "corpora/gutenberg/files")
	for _, c := range []struct {
		path, declared, charset string
		holds                   string
		times                   int
	}{
		// Declares ISO-Latin-1 and opens quotations with byte 0x91.
		{"7277/old/8gfry10.txt", "ISO-Latin-1", "windows-1252", "‘", 1662},
		{"1597/1597-0.txt", "UTF-9", "utf-8", "“", -1},
		{"7439/7439-0.txt", "UTF-8", "utf-8", "é", -1},
		{"7439/7439-8.txt", "ISO-8859-1", "windows-1252", "é", -1},
	} {
		data, err := os.ReadFile(filepath.Join(books, filepath.FromSlash(c.path)))
		if err != nil {
			t.Error(err)
			continue
		}
		d := Decode(data, c.declared)
		n := strings.Count(d.Text, c.holds)
		if d.Charset != c.charset || d.Replacements != 0 || c.times >= 0 && n != c.times || n == 0 {
			t.Errorf("%s: charset %s, %d replacements, %d times %q; want %s, 0, %d", c.path, d.Charset, d.Replacements, n, c.holds, c.charset, c.times)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("Esm\xe9"), "")
	f.Add([]byte("\xef\xbb\xbfa\xff"), "utf-8")
	f.Add([]byte("\xff\xfea\x00\x3d\xd8"), "utf-16")
	f.Add([]byte("\x00\x00\xfe\xff\x00\x11\x00\x00"), "")
	f.Add([]byte("\x81\x9d\xef\xbf\xbd"), "iso-8859-1")
	f.Add([]byte("\x82\xa0\xff"), "shift_jis")
	f.Add([]byte("\x1b$B\x1b"), "iso-2022-jp")
	f.Add([]byte("a\x00b\x00c\x00d"), "")
	f.Fuzz(func(t *testing.T, data []byte, declared string) {
		d := Decode(data, declared)
		if !utf8.ValidString(d.Text) {
			t.Fatalf("Decode(%q, %q) is not UTF-8: %q", data, declared, d.Text)
		}
		if n := strings.Count(d.Text, "\uFFFD"); n != d.Replacements {
			t.Fatalf("Decode(%q, %q) has %d U+FFFD, counted %d", data, declared, n, d.Replacements)
		}
		// What it holds of U+FFFD has to stand in the source, in one encoding
		// or another.
		if d.Replacements > 0 && !bytes.Contains(data, []byte("\uFFFD")) && !bytes.Contains(data, []byte{0xFD, 0xFF}) &&
			!bytes.Contains(data, []byte{0xFF, 0xFD}) && d.Charset != "gb18030" {
			t.Fatalf("Decode(%q, %q) made a U+FFFD: %q", data, declared, d.Text)
		}
		if utf8.Valid(data) && d.Charset == "utf-8" && d.Repaired != 0 {
			t.Fatalf("Decode(%q, %q) repaired %d bytes of valid UTF-8", data, declared, d.Repaired)
		}
	})
}
