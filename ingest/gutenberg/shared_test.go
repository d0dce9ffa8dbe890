// SPDX-License-Identifier: Apache-2.0

package gutenberg

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/retcon-bench/retcon/internal/sharedtest"
	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

var update = flag.Bool("update", false, "rewrite golden files")

// sharedBooks is the folder of real books, or skips.
func sharedBooks(t testing.TB) string {
	t.Helper()
	return sharedtest.Path(t, "corpora/gutenberg")
}

// sharedFiles lists the books among the real files, by slash path.
func sharedFiles(t testing.TB) []string {
	root := sharedBooks(t)
	var out []string
	err := filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		if n := filepath.ToSlash(rel); textName(strings.ToLower(n)) {
			out = append(out, n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 40 {
		t.Fatalf("only %d books in %s", len(out), root)
	}
	sort.Strings(out)
	return out
}

// TestSharedGolden holds, for each real file read alone: key, how it was split,
// stories, words, a hash over all ids and texts, and the reasons of drops.
func TestSharedGolden(t *testing.T) {
	root := sharedBooks(t)
	var b strings.Builder
	b.WriteString("file\tkey\tsplit_by\tstories\twords\thash\tdropped\n")
	for _, name := range sharedFiles(t) {
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		r := Reader{Corpus: Name, Settings: DefaultSettings(), Terms: Terms}
		bk := r.Read(name, data, nil)
		checkBook(t, string(data), bk)
		h := sha256.New()
		words := 0
		for _, s := range bk.Stories {
			fmt.Fprintf(h, "%s %s\n", s.StoryID, s.TextHash)
			words += s.Words
		}
		fmt.Fprintf(&b, "%s\t%s\t%s\t%d\t%d\t%x\t%s\n", name, bk.Key, bk.Outline, len(bk.Stories), words, h.Sum(nil)[:8], counts(bk.Dropped))
	}
	golden(t, "shared.tsv", b.String())
}

func counts(ds []schemas.Dropped) string {
	n := map[string]int{}
	for _, d := range ds {
		n[d.Reason]++
	}
	var out []string
	for r, c := range n {
		out = append(out, fmt.Sprintf("%s=%d", r, c))
	}
	sort.Strings(out)
	return strings.Join(out, ",")
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	g, w := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := 0; i < len(g) || i < len(w); i++ {
		a, b := "", ""
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			t.Errorf("%s line %d:\n got %s\nwant %s", name, i+1, a, b)
		}
	}
}

// No story of a real book has a word of its distributor, an illustration mark, a
// page number or a credit.
func TestSharedResidue(t *testing.T) {
	root := sharedBooks(t)
	for _, name := range sharedFiles(t) {
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		r := Reader{Corpus: Name, Settings: DefaultSettings(), Terms: Terms}
		for _, s := range r.Read(name, data, nil).Stories {
			low := strings.ToLower(s.Text)
			for _, w := range []string{"gutenberg", "e-text", " etext", " ebook", "[illustration", "illustration]", "[pg ", "[page", "transcriber", "proofread", "www.", "http:", "small print",
				"full license", "<p", "</", "&nbsp;", "&amp;", "\uFFFD", "[footnote"} {
				if i := strings.Index(low, w); i >= 0 {
					t.Errorf("%s (%s): %q at byte %d", s.StoryID, name, w, i)
				}
			}
		}
	}
}

// Every line of a real plain-text book is in a story's part of the file, in a
// removal or in a dropped piece's range.
func TestSharedAccounted(t *testing.T) {
	root := sharedBooks(t)
	for _, name := range sharedFiles(t) {
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		if looksHTML(name, data) {
			continue
		}
		r := Reader{Corpus: Name, Settings: DefaultSettings(), Terms: Terms}
		bk := r.Read(name, data, nil)
		if len(bk.Stories) == 0 {
			continue
		}
		s := text.Decode(data, declaredCharset(data, false)).Text
		in := make([]bool, len(s))
		fill := func(a, b int) {
			for i := a; i < b; i++ {
				in[i] = true
			}
		}
		for _, p := range bk.Parts {
			fill(p.Start, p.End)
		}
		for _, st := range bk.Stories {
			for _, c := range st.Removed {
				fill(c.ByteStart, c.ByteEnd)
			}
		}
		for _, d := range bk.Dropped {
			for _, e := range d.Evidence {
				if a, b := 0, 0; e.Key == "bytes" {
					if _, err := fmt.Sscanf(e.Value, "%d-%d", &a, &b); err != nil {
						t.Fatal(err)
					}
					fill(a, b)
				}
			}
		}
		lost := 0
		for i := 0; i < len(s); i++ {
			if s[i] > ' ' && s[i] < 0x7F && !in[i] {
				if lost == 0 {
					t.Errorf("%s: unaccounted from byte %d: %.60q", name, i, s[i:])
				}
				lost++
			}
		}
		if lost > 0 {
			t.Errorf("%s: %d characters", name, lost)
		}
	}
}

// The folder as a corpus: one item a book, no book twice.
func TestSharedLibrary(t *testing.T) {
	root := sharedBooks(t)
	books, stories, rows, bad := 0, 0, 0, 0
	seen := map[string]bool{}
	reasons := map[string]int{}
	for item, err := range Corpus.Open(context.Background(), root, nil) {
		if err != nil {
			t.Fatal(err)
		}
		b, err := item.Load(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Stories) > 0 {
			books++
		}
		for _, s := range b.Stories {
			stories++
			if seen[s.StoryID] {
				t.Errorf("%s twice", s.StoryID)
			}
			seen[s.StoryID] = true
		}
		for _, d := range b.Dropped {
			reasons[d.Reason]++
			if strings.Contains(d.Detail, root) {
				t.Errorf("a path of this machine: %s", d.Detail)
			}
		}
		rows += b.Rows
		bad += b.Bad
	}
	if books != 24 || rows != 28 || bad != 0 || stories < 1000 {
		t.Errorf("%d books of %d, %d bad, %d stories", books, rows, bad, stories)
	}
	if reasons[ReasonCatalogue] != 1 {
		t.Errorf("the catalogue's last record is cut off, one note is right: %v", reasons)
	}
}
