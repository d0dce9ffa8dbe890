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
//
// With -memory it reads the corpus once and ten times over (each copy under
// ebook numbers of its own), each in a process of its own, and prints the two
// peaks: a book at a time must be all that is held.
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"sort"
	"strings"
	"time"

	"golang.org/x/net/html"

	"github.com/retcon-bench/retcon/ingest/gutenberg"
	"github.com/retcon-bench/retcon/internal/pipeline"
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
	memory := flag.Bool("memory", false, "compare the peak memory of reading the corpus once and ten times over")
	read := flag.Bool("read", false, "read the folder as a corpus and print the stories and the peak memory (what -memory runs)")
	flag.Parse()
	defer pipeline.HeapFloor(32 << 20)() // as cmd/retcon has it
	if *memory || *read {
		if err := peaks(*corpora, *read, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "clean:", err)
			os.Exit(2)
		}
		return
	}
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

// peaks prints the peak of reading the folder corpora, if read is set. Without, it
// makes folders that hold the books once and ten times, reads each in a process
// of its own, and prints the ratio of the peaks.
func peaks(corpora string, read bool, w io.Writer) error {
	if corpora == "" {
		return fmt.Errorf("-memory needs -corpora")
	}
	if read {
		stories, err := readAll(corpora)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(w, stories, peakRSS())
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "retcon-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var peak [2]int64
	for i, n := range []int{1, 10} {
		folder := filepath.Join(dir, fmt.Sprint(n))
		for k := 1; k <= n; k++ {
			if err := copyBooks(filepath.Join(corpora, "gutenberg"), filepath.Join(folder, fmt.Sprint("copy", k)), k); err != nil {
				return err
			}
		}
		out, err := exec.Command(self, "-corpora", folder, "-read").Output()
		if err != nil {
			return fmt.Errorf("%d copies: %w", n, err)
		}
		var stories int
		if _, err := fmt.Sscan(string(out), &stories, &peak[i]); err != nil {
			return err
		}
		fmt.Fprintf(w, "%2d copies: %6d stories, peak %6.1f MB\n", n, stories, float64(peak[i])/1e6)
	}
	if peak[0] > 0 {
		fmt.Fprintf(w, "ratio %.2f\n", float64(peak[1])/float64(peak[0]))
	}
	return nil
}

var number = regexp.MustCompile(`#(\d+)\]`)

// copyBooks copies the books below root, under ebook numbers of their own.
func copyBooks(root, to string, k int) error {
	plain, pages, err := books(filepath.Dir(root))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o777); err != nil {
		return err
	}
	for _, b := range append(plain, pages...) {
		data := number.ReplaceAll(b.data, fmt.Appendf(nil, "#%d0$1]", k))
		if err := os.WriteFile(filepath.Join(to, b.name), data, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// readAll reads the folder as a corpus and counts the stories.
func readAll(folder string) (int, error) {
	ctx := context.Background()
	stories := 0
	for item, err := range gutenberg.Corpus.Open(ctx, folder, nil) {
		if err != nil {
			return stories, err
		}
		b, err := item.Load(ctx)
		if err != nil {
			return stories, err
		}
		stories += len(b.Stories)
	}
	return stories, nil
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
