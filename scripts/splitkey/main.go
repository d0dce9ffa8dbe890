// SPDX-License-Identifier: Apache-2.0

// Command splitkey measures how well the Gutenberg reader takes collections of
// tales apart.
//
// It reads each book named in a key (see key/README.md) alone, compares the
// stories with the key's tales by title, start and end, and prints per book:
// tales in the key, tales right, the wrong ones with the reason, stories the key
// has not, and regions that are no tale (preface, notes, licence) of which text
// got into a story.
//
//	go run ./scripts/splitkey -corpora ../shared/corpora
//	go run ./scripts/splitkey -corpora ../shared/corpora -key scripts/splitkey/key/held-out
//
// The exit code is 1 if a book falls below -least.
package main

import (
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/retcon-bench/retcon/ingest/gutenberg"
	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

func main() {
	shared := os.Getenv("RETCON_SHARED")
	if shared != "" {
		shared = filepath.Join(shared, "corpora")
	}
	corpora := flag.String("corpora", shared, "folder that holds gutenberg/ (default: corpora in $RETCON_SHARED)")
	keys := flag.String("key", "scripts/splitkey/key", "folder of key files, or one key file")
	least := flag.Float64("least", 97, "least percentage of tales right in each book")
	verbose := flag.Bool("v", false, "list every wrong and extra tale")
	flag.Parse()
	if *corpora == "" {
		fmt.Fprintln(os.Stderr, "splitkey: name the corpora folder with -corpora, or set RETCON_SHARED")
		os.Exit(2)
	}
	ok, err := run(*corpora, *keys, *least, *verbose)
	if err != nil {
		fmt.Fprintln(os.Stderr, "splitkey:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// row is a line of a key.
type row struct {
	book           string
	ordinal        int
	title          string
	start, end     int
	first, last    string
	kind, label    string
	altFirst       string
	altLast        string
	altStart, note string
}

func readKey(path string) ([]row, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comma = '\t'
	r.LazyQuotes = true
	r.FieldsPerRecord = -1
	recs, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var out []row
	for _, c := range recs[1:] {
		for len(c) < 15 {
			c = append(c, "")
		}
		n := func(i int) int { v, _ := strconv.Atoi(c[i]); return v }
		out = append(out, row{book: c[0], ordinal: n(1), title: c[2], start: n(3), end: n(4), first: c[5], last: c[6],
			kind: c[8], label: c[9], altStart: c[10], altFirst: c[11], altLast: c[13], note: c[14]})
	}
	return out, nil
}

func run(corpora, keys string, least float64, verbose bool) (bool, error) {
	files := []string{keys}
	if st, err := os.Stat(keys); err != nil {
		return false, err
	} else if st.IsDir() {
		if files, err = filepath.Glob(filepath.Join(keys, "*.tsv")); err != nil {
			return false, err
		}
	}
	sort.Strings(files)
	if len(files) == 0 {
		return false, fmt.Errorf("no *.tsv in %s", keys)
	}
	all := true
	fmt.Printf("%-36s %6s %6s %7s %6s %6s %7s\n", "book", "tales", "right", "%", "extra", "leaks", "split by")
	var details strings.Builder
	for _, f := range files {
		rows, err := readKey(f)
		if err != nil {
			return false, err
		}
		res, err := judge(corpora, rows)
		if err != nil {
			return false, err
		}
		share := 100 * float64(res.right) / float64(max(1, res.tales))
		if share < least || len(res.leaks) > 0 {
			all = false
		}
		fmt.Printf("%-36s %6d %6d %6.1f%% %6d %6d %s\n", strings.TrimPrefix(rows[0].book, "gutenberg/"), res.tales, res.right, share, len(res.extra), len(res.leaks), res.how)
		if len(res.wrong)+len(res.extra)+len(res.leaks) > 0 {
			fmt.Fprintf(&details, "\n%s\n", rows[0].book)
			list := func(name string, l []string) {
				for i, s := range l {
					if i >= 12 && !verbose {
						fmt.Fprintf(&details, "  %s: ... %d more (-v)\n", name, len(l)-i)
						break
					}
					fmt.Fprintf(&details, "  %s: %s\n", name, s)
				}
			}
			list("wrong", res.wrong)
			list("extra", res.extra)
			list("leak", res.leaks)
		}
	}
	fmt.Print(details.String())
	return all, nil
}

type result struct {
	tales, right        int
	wrong, extra, leaks []string
	how                 string
}

func judge(corpora string, rows []row) (result, error) {
	var res result
	path := filepath.Join(corpora, filepath.FromSlash(rows[0].book))
	data, err := os.ReadFile(path)
	if err != nil {
		return res, err
	}
	r := gutenberg.Reader{Corpus: gutenberg.Name, Settings: gutenberg.DefaultSettings(), Terms: gutenberg.Terms}
	bk := r.Read(strings.TrimPrefix(rows[0].book, "gutenberg/"), data, nil)
	res.how = bk.Outline
	type got struct {
		s           *schemas.Story
		first, last string
		used        bool
	}
	stories := make([]got, len(bk.Stories))
	for i := range bk.Stories {
		w := words(bk.Stories[i].Text)
		stories[i] = got{s: &bk.Stories[i], first: hash(w[:min(8, len(w))]), last: hash(w[max(0, len(w)-8):])}
	}
	at := 0
	for _, k := range rows {
		if k.kind != "tale" {
			continue
		}
		res.tales++
		// The nearest unused story, from the last match on, that has the title
		// or the start.
		best, why := -1, "no story with this title or start"
		for i := at; i < len(stories); i++ {
			g := &stories[i]
			start := g.first == k.first || k.altFirst != "" && g.first == k.altFirst
			if start || fold(g.s.Title) == fold(k.title) {
				best = i
				break
			}
		}
		if best < 0 {
			res.wrong = append(res.wrong, fmt.Sprintf("%d %s: %s", k.ordinal, k.title, why))
			continue
		}
		g := &stories[best]
		g.used = true
		at = best + 1
		var bad []string
		if fold(g.s.Title) != fold(k.title) {
			bad = append(bad, fmt.Sprintf("title is %q", g.s.Title))
		}
		if g.first != k.first && (k.altFirst == "" || g.first != k.altFirst) {
			bad = append(bad, fmt.Sprintf("start differs (line %d): %.50q", k.start, g.s.Text))
		}
		if g.last != k.last && (k.altLast == "" || g.last != k.altLast) {
			bad = append(bad, fmt.Sprintf("end differs (line %d): %q", k.end, tail(g.s.Text)))
		}
		if len(bad) > 0 {
			res.wrong = append(res.wrong, fmt.Sprintf("%d %s: %s", k.ordinal, k.title, strings.Join(bad, "; ")))
			continue
		}
		res.right++
	}
	either := map[string]bool{} // may be a story or not
	for _, k := range rows {
		if k.kind == "either" {
			either[fold(k.title)] = true
		}
	}
	for _, g := range stories {
		if !g.used && !either[fold(g.s.Title)] {
			res.extra = append(res.extra, fmt.Sprintf("%s (%d words)", g.s.Title, g.s.Words))
		}
	}
	res.leaks = leaks(data, rows, bk)
	return res, nil
}

// leaks lists the regions of the key that are no tale of which lines lie in a
// story's part of the file and were not taken out.
func leaks(data []byte, rows []row, bk gutenberg.Book) []string {
	var lineAt []int // byte offsets in the decoded text
	s := text.Decode(data, "").Text
	lineAt = append(lineAt, 0)
	for i := 0; i < len(s); i++ {
		if s[i] == '\n' {
			lineAt = append(lineAt, i+1)
		}
	}
	offset := func(line int) int {
		if line-1 < len(lineAt) {
			return lineAt[line-1]
		}
		return len(s)
	}
	var out []string
	for _, k := range rows {
		if k.kind == "tale" || k.kind == "frame" || k.kind == "either" {
			continue
		}
		start, end := offset(k.start), offset(k.end+1)
		for _, p := range bk.Parts {
			if p.Rule != "tale" || p.End <= start || p.Start >= end {
				continue
			}
			var st *schemas.Story
			for i := range bk.Stories {
				if bk.Stories[i].Title == p.Title {
					st = &bk.Stories[i]
				}
			}
			if st == nil {
				continue
			}
			kept := 0
			for at := max(start, p.Start); at < min(end, p.End); at++ {
				if c := s[at]; c > ' ' && !removed(st.Removed, at) {
					kept++
				}
			}
			if kept > 0 {
				out = append(out, fmt.Sprintf("%s at line %d (%s): %d characters in %q", k.kind, k.start, k.title, kept, p.Title))
			}
		}
	}
	return out
}

func removed(rs []schemas.Removal, at int) bool {
	i := sort.Search(len(rs), func(i int) bool { return rs[i].ByteEnd > at })
	return i < len(rs) && rs[i].ByteStart <= at
}

func tail(s string) string {
	r := []rune(s)
	return string(r[max(0, len(r)-50):])
}

func fold(s string) string { return strings.Join(words(s), " ") }

func hash(w []string) string {
	if len(w) == 0 {
		return "-"
	}
	sum := sha256.Sum256([]byte(strings.Join(w, " ")))
	return hex.EncodeToString(sum[:])
}

// words normalises as key/README.md says.
func words(s string) []string {
	if !utf8.ValidString(s) {
		s = text.Decode([]byte(s), "").Text
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if strings.HasPrefix(s[i:], "[Illustration") {
			if n := strings.IndexByte(s[i:], ']'); n >= 0 {
				b.WriteByte(' ')
				i += n + 1
				continue
			}
		}
		if n := call(s[i:]); n > 0 {
			b.WriteByte(' ')
			i += n
			continue
		}
		b.WriteByte(s[i])
		i++
	}
	s = strings.NewReplacer("_", "", "‘", "'", "’", "'").Replace(b.String())
	s = strings.ToLower(s)
	var out []string
	for _, w := range strings.FieldsFunc(s, func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '\'') }) {
		if w = strings.Trim(w, "'"); w != "" {
			out = append(out, w)
		}
	}
	return out
}

// call returns the length of a footnote call at the start of s, 0 for none.
func call(s string) int {
	if s == "" {
		return 0
	}
	shut := byte(0)
	most := 3
	switch s[0] {
	case '[':
		shut = ']'
	case '{':
		shut = '}'
	case '(':
		shut, most = ')', 2
	default:
		return 0
	}
	n := strings.IndexByte(s[:min(len(s), 6)], shut)
	if n < 2 {
		return 0
	}
	in := s[1:n]
	digits := strings.Trim(in, "0123456789") == "" && len(in) <= most
	stars := strings.Trim(in, "*") == ""
	capital := len(in) == 1 && in[0] >= 'A' && in[0] <= 'Z' && s[0] == '['
	if digits || stars || capital {
		return n + 1
	}
	return 0
}
