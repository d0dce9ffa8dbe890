// SPDX-License-Identifier: Apache-2.0

package gutenberg

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/retcon-bench/retcon/internal/sharedtest"
)

// benchBook is a made-up collection of about one megabyte, or a real one where
// there is one.
func benchBook(b *testing.B, rel string, made func() string) []byte {
	if sharedtest.Root() != "" {
		data, err := os.ReadFile(sharedtest.Path(b, "corpora/gutenberg/"+rel))
		if err != nil {
			b.Fatal(err)
		}
		return data
	}
	return []byte(made())
}

const benchParagraph = `The miller's daughter had a lantern of green glass, and every evening she
carried it down to the weir to see whether the eels were running. "If they
run," said the miller, "we shall eat; and if they do not, we shall talk about
eating, which is cheaper." She had heard him say it so often that she _knew_
the day of the week by the way he said it--and it was Thursday.

`

func madeBook() string {
	var b strings.Builder
	b.WriteString("The Project Gutenberg EBook of Lantern Tales, by A. Nobody\n\nTitle: Lantern Tales\n\nAuthor: A. Nobody\n\nRelease Date: May 1, 2005 [EBook #999999]\n\nLanguage: English\n\n\n*** START OF THIS PROJECT GUTENBERG EBOOK LANTERN TALES ***\n\n\n\n\nCONTENTS\n\n")
	for i := 1; i <= 40; i++ {
		b.WriteString("THE TALE OF LANTERN " + formatRoman(i) + "\n\n")
	}
	for i := 1; i <= 40; i++ {
		b.WriteString("\n\n\nTHE TALE OF LANTERN " + formatRoman(i) + "\n\n\n")
		b.WriteString(strings.Repeat(benchParagraph, 60))
	}
	b.WriteString("\n\n\n*** END OF THIS PROJECT GUTENBERG EBOOK LANTERN TALES ***\n")
	return b.String()
}

func madeHTML() string {
	var b strings.Builder
	b.WriteString("<html><head><title>x</title></head><body><p>*** START OF THIS PROJECT GUTENBERG EBOOK LANTERN TALES ***</p>\n<h1>Lantern Tales</h1>\n")
	p := strings.ReplaceAll(strings.TrimSpace(benchParagraph), "--", "&mdash;")
	p = strings.ReplaceAll(p, "_knew_", "<i>knew</i>")
	for i := 1; i <= 40; i++ {
		b.WriteString("<h2><a name=\"c" + itoa(i) + "\"></a>THE TALE OF LANTERN " + formatRoman(i) + "</h2>\n")
		for k := 0; k < 60; k++ {
			b.WriteString("<p>" + p + "</p>\n")
			if k%8 == 0 {
				b.WriteString("<span class=\"pagenum\">[Pg " + itoa(i+k) + "]</span>\n")
			}
		}
	}
	b.WriteString("<p>*** END OF THIS PROJECT GUTENBERG EBOOK LANTERN TALES ***</p></body></html>\n")
	return b.String()
}

func benchRead(b *testing.B, name string, data []byte) {
	r := Reader{Corpus: Name, Settings: DefaultSettings(), Terms: Terms}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if bk := r.Read(name, data, nil); len(bk.Stories) < 2 {
			b.Fatalf("%d stories", len(bk.Stories))
		}
	}
}

func BenchmarkPlain(b *testing.B) {
	benchRead(b, "x.txt", benchBook(b, "files/503/503-0.txt", madeBook))
}
func BenchmarkPlainASCII(b *testing.B) {
	benchRead(b, "x.txt", benchBook(b, "files/640/640.txt", madeBook))
}
func BenchmarkPlainLatin(b *testing.B) {
	benchRead(b, "x.txt", benchBook(b, "files/5314/5314-8.txt", madeBook))
}
func BenchmarkHTML(b *testing.B) {
	benchRead(b, "x.htm", benchBook(b, "files/503/503-h/503-h.htm", madeHTML))
}

// BenchmarkGunzip and BenchmarkTokenizer are the yardsticks: the least that any
// reader of a packed book, or of HTML, has to do.
func BenchmarkGunzip(b *testing.B) {
	data := benchBook(b, "files/503/503-0.txt", madeBook)
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write(data)
	w.Close()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		r, err := gzip.NewReader(bytes.NewReader(z.Bytes()))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, r); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTokenizer(b *testing.B) {
	data := benchBook(b, "files/503/503-h/503-h.htm", madeHTML)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		z := html.NewTokenizer(bytes.NewReader(data))
		for z.Next() != html.ErrorToken {
		}
	}
}
