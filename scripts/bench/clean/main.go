// SPDX-License-Identifier: Apache-2.0

// Command clean measures how fast books become cleaned stories, without
// sentence segmentation, on one core.
//
// It prints megabytes of upstream bytes a second for plain text and for HTML,
// and in the same run the two yardsticks: gunzip of the same bytes, and a bare
// pass of the HTML tokenizer. Each figure is the best of several rounds, in
// processor time where the system tells it, so that a busy machine does not
// decide.
//
//	go run ./scripts/bench/clean -corpora ../shared/corpora
//
// Without a corpora folder it uses made-up books.
package main

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sort"
	"strings"
	"time"

	"golang.org/x/net/html"

	"github.com/retcon-bench/retcon/ingest/gutenberg"
)

type book struct {
	name string
	data []byte
}

func main() {
	shared := os.Getenv("RETCON_SHARED")
	if shared != "" {
		shared = filepath.Join(shared, "corpora")
	}
	corpora := flag.String("corpora", shared, "folder that holds gutenberg/ (default: corpora in $RETCON_SHARED; none: made-up books)")
	rounds := flag.Int("rounds", 7, "rounds; the best counts")
	flag.Parse()
	if err := run(*corpora, *rounds, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "clean:", err)
		os.Exit(2)
	}
}

func run(corpora string, rounds int, w io.Writer) error {
	runtime.GOMAXPROCS(1)
	plain, pages, err := books(corpora)
	if err != nil {
		return err
	}
	r := gutenberg.Reader{Corpus: gutenberg.Name, Settings: gutenberg.DefaultSettings(), Terms: gutenberg.Terms}
	stories := 0
	read := func(bs []book) func() {
		return func() {
			stories = 0
			for _, b := range bs {
				stories += len(r.Read(b.name, b.data, nil).Stories)
			}
		}
	}
	packed := make([][]byte, len(plain))
	for i, b := range plain {
		var z bytes.Buffer
		g := gzip.NewWriter(&z)
		if _, err := g.Write(b.data); err != nil {
			return err
		}
		if err := g.Close(); err != nil {
			return err
		}
		packed[i] = z.Bytes()
	}
	gunzip := func() {
		for _, z := range packed {
			g, err := gzip.NewReader(bytes.NewReader(z))
			if err == nil {
				_, err = io.Copy(io.Discard, g)
			}
			if err != nil {
				panic(err) // our own bytes
			}
		}
	}
	tokenize := func() {
		for _, b := range pages {
			z := html.NewTokenizer(bytes.NewReader(b.data))
			for z.Next() != html.ErrorToken {
			}
		}
	}
	fmt.Fprintf(w, "%-34s %6s %8s %8s %8s  %s\n", "what", "files", "MB", "MB/s", "stories", "against")
	line := func(what string, bs []book, f func(), base float64, name string) float64 {
		n := size(bs)
		v := best(rounds, n, f)
		against := ""
		if base > 0 {
			against = fmt.Sprintf("%.2f of %s", v/base, name)
		}
		count := ""
		if base > 0 {
			count = fmt.Sprint(stories)
		}
		fmt.Fprintf(w, "%-34s %6d %8.1f %8.1f %8s  %s\n", what, len(bs), float64(n)/1e6, v, count, against)
		return v
	}
	zip := line("gunzip of the plain text", plain, gunzip, 0, "")
	line("plain text to cleaned stories", plain, read(plain), zip, "gunzip")
	tok := line("bare tokenizer pass over the HTML", pages, tokenize, 0, "")
	line("HTML to cleaned stories", pages, read(pages), tok, "the tokenizer")
	return nil
}

func size(bs []book) int {
	n := 0
	for _, b := range bs {
		n += len(b.data)
	}
	return n
}

var begun = time.Now()

func wall() time.Duration { return time.Since(begun) }

// best returns the most megabytes a second of several rounds.
func best(rounds, n int, f func()) float64 {
	most := 0.0
	for i := 0; i < rounds; i++ {
		runtime.GC()
		start := clock()
		f()
		if d := (clock() - start).Seconds(); d > 0 {
			most = max(most, float64(n)/1e6/d)
		}
	}
	debug.FreeOSMemory()
	return most
}

// books reads the corpus's plain-text and HTML books, or makes some.
func books(corpora string) (plain, pages []book, err error) {
	if corpora == "" {
		text := madeUp()
		return []book{{"made.txt", []byte(text)}}, []book{{"made.htm", []byte(asHTML(text))}}, nil
	}
	root := filepath.Join(corpora, "gutenberg")
	err = filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		low := strings.ToLower(d.Name())
		isText := strings.HasSuffix(low, ".txt") || strings.Contains(low, ".txt.")
		isHTML := strings.HasSuffix(low, ".htm") || strings.HasSuffix(low, ".html")
		if !isText && !isHTML {
			return nil
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		if isHTML {
			pages = append(pages, book{d.Name(), data})
		} else {
			plain = append(plain, book{d.Name(), data})
		}
		return nil
	})
	if err == nil && (len(plain) == 0 || len(pages) == 0) {
		err = fmt.Errorf("%s: %d plain-text and %d HTML books; both kinds are needed", root, len(plain), len(pages))
	}
	sort.Slice(plain, func(i, j int) bool { return plain[i].name < plain[j].name })
	sort.Slice(pages, func(i, j int) bool { return pages[i].name < pages[j].name })
	return plain, pages, err
}

const paragraph = `The miller's daughter had a lantern of green glass, and every evening she
carried it down to the weir to see whether the eels were running. "If they
run," said the miller, "we shall eat; and if they do not, we shall talk about
eating, which is cheaper." She had heard him say it so often that she _knew_
the day of the week by the way he said it--and it was Thursday.

`

func madeUp() string {
	var b strings.Builder
	b.WriteString("Title: Lantern Tales\n\n[EBook #999999]\n\nLanguage: English\n\n*** START OF THIS PROJECT GUTENBERG EBOOK LANTERN TALES ***\n")
	for i := 0; i < 60; i++ {
		fmt.Fprintf(&b, "\n\n\n\nTHE TALE OF LANTERN %c%c\n\n\n", 'A'+i/26, 'A'+i%26)
		b.WriteString(strings.Repeat(paragraph, 60))
	}
	b.WriteString("\n\n\n*** END OF THIS PROJECT GUTENBERG EBOOK LANTERN TALES ***\n")
	return b.String()
}

func asHTML(text string) string {
	var b strings.Builder
	b.WriteString("<html><body>\n")
	for _, p := range strings.Split(text, "\n\n") {
		switch p = strings.TrimSpace(p); {
		case p == "":
		case strings.HasPrefix(p, "THE TALE"):
			b.WriteString("<h2>" + p + "</h2>\n")
		default:
			b.WriteString("<p>" + strings.ReplaceAll(p, "--", "&mdash;") + "</p>\n")
		}
	}
	b.WriteString("</body></html>\n")
	return b.String()
}
