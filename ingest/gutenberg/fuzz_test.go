// SPDX-License-Identifier: Apache-2.0

package gutenberg

import (
	"strings"
	"testing"

	"github.com/retcon-bench/retcon/internal/text"
)

// fuzzRead reads data under a name and checks what holds for every input: no
// panic, frozen stories, removals in order and inside the file.
func fuzzRead(t *testing.T, name string, data []byte) {
	if len(data) > 1<<16 {
		return
	}
	r := Reader{Corpus: Name, Settings: DefaultSettings(), Terms: Terms}
	bk := r.Read(name, data, nil)
	checkBook(t, string(data), bk)
	if len(bk.Stories) == 0 && len(bk.Dropped) == 0 {
		t.Errorf("nothing came of the file, and nothing says why")
	}
}

// FuzzFrame looks for the text between markers.
func FuzzFrame(f *testing.F) {
	for _, s := range []string{
		"", "***", "*** START OF", startC + endC, endC + startC, smallPrint, smallPrint + "x",
		"***START OF THE PROJECT GUTENBERG EBOOK\nX***\na\n***END OF THE PROJECT GUTENBERG EBOOK\nX***",
		startC + "a\n" + startC + "b\n" + endC + "c\n" + endC,
		"End of Project Gutenberg's\nEnd of the Project Gutenberg", "Title: x\n  y\nAuthor: z\n   w\n\n[EBook #1]\n*END*THE SMALL PRINT!\n*END*THE SMALL PRINT!",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = text.Decode([]byte(s), "").Text
		fr := findFrame(s, []string{"PROJECT GUTENBERG"})
		// Body and cuts are the whole file, in order.
		at, b, c := 0, 0, 0
		for at < len(s) {
			switch {
			case b < len(fr.body) && fr.body[b].start == at:
				at = fr.body[b].end
				b++
			case c < len(fr.cuts) && fr.cuts[c].start == at:
				at = fr.cuts[c].end
				c++
			default:
				t.Fatalf("byte %d of %d is in neither body %v nor cuts %v", at, len(s), fr.body, fr.cuts)
			}
		}
		if b != len(fr.body) || c != len(fr.cuts) {
			t.Fatalf("ranges behind the end: %v %v", fr.body, fr.cuts)
		}
	})
}

// FuzzPlain splits and cleans plain text.
func FuzzPlain(f *testing.F) {
	for _, s := range []string{
		collection("CONTENTS\n\nTHE RED LAMP\nTHE BLUE LAMP\n", gap3, "\n\n", "THE RED LAMP", "THE BLUE LAMP"),
		startC + "\nI\n\nII\n\n\n\nIII. X\n\n[Illustration\n[1] a\n(2) b\n* c\n{3}\n_x\n\n__\n_y_z_\n" + endC,
		"CONTENTS\n\nI. A II. B III. C IV. D\n\n\n\n\n\nA\n\n\nx\n\n\n\n\nB\n\n\ny",
		"[Transcriber's Note:\n\n[[[[[[\n\n]]]]\n<<COPYRIGHT>>\n- - - -\n-\na-\nb",
		"CHAPTER I\n\nX.\n\n\nCHAPTER II\n\nY\n\n\n  a\n    b\n  c\n",
		"\x00\x91\xff\xfe\u2028\u0085\ufeff", "e\u0301\n\u0301\n\n\u0301",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) { fuzzRead(t, "x.txt", data) })
}

// FuzzHTML walks HTML, by the tree and by the tokens.
func FuzzHTML(f *testing.F) {
	for _, s := range []string{
		htmlBook("<p>a<br>b</p><table><tr><td>x<td>y</table><h2>T</h2><pre>\n a\n\n b</pre>"),
		"<p>&nbsp;<span class=pagenum>12</span><a href='#x'>[1]</a><p id=x>[1] n", strings.Repeat("<div>", 600) + "x",
		"<!--@5--><p>x<!--@99999999999999999999-->y", "<p <p <p>", "<table><p>x<table><td><p>y</table>z", "<![CDATA[ x ]]><?xml ?><!DOCTYPE <",
		"<textarea>x<p>y", "<svg><p>x</svg><math><p>y", "<title>a</title>b<plaintext>c<p>", "<b><p><i></b>x</i>", "<select><option>x<p>y",
		"<frameset><frame>", "<template><p>x</template>y", "<pre>\r\n\r\nx\r\n\r\n</pre>\r\ny", "\xef\xbb\xbf<html>\xe9", "<h1>" + strings.Repeat("<h2>x", 50),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzzRead(t, "x.htm", data)
		// The fallback must stand everything too.
		s := text.Decode(data, "").Text
		if len(s) > 1<<16 {
			return
		}
		p := &page{src: s}
		p.tokens()
		p.block(0)
		for _, g := range p.segs {
			if g.src < 0 || g.m < 0 || g.src+g.m > len(s) || g.dst+g.n > len(p.out) {
				t.Fatalf("segment %+v in %d bytes of source and %d of text", g, len(s), len(p.out))
			}
		}
	})
}
