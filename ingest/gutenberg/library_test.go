// SPDX-License-Identifier: Apache-2.0

package gutenberg

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/retcon-bench/retcon/ingest"
	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/schemas"
)

// tree writes files below a new folder.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, s := range files {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(s), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// load reads all of root; settings are changed by set.
func load(t testing.TB, root string, set func(*Settings)) (ids []string, dropped []schemas.Dropped, rows, bad int) {
	t.Helper()
	s := DefaultSettings()
	if set != nil {
		set(&s)
	}
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	for item, err := range Corpus.Open(context.Background(), root, raw) {
		if err != nil {
			t.Fatal(err)
		}
		b, err := item.Load(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for _, st := range b.Stories {
			ids = append(ids, st.StoryID)
		}
		dropped = append(dropped, b.Dropped...)
		rows += b.Rows
		bad += b.Bad
	}
	return ids, dropped, rows, bad
}

func book(id, title, text string) string {
	return "Title: " + title + "\n\n[EBook #" + id + "]\n\nLanguage: English\n\n" + startC + "\n\n" + text + "\n\n" + endC
}

// Of several encodings one is read, in the order of the format notes; ids never
// name the encoding.
func TestOneEncoding(t *testing.T) {
	html := func(id, text string) string {
		return strings.Replace(strings.Replace(htmlBook("<p>"+text+"</p>"), "#4321", "#"+id, 1), "Lamp Tales", "Lamp", 1)
	}
	all := []struct{ name, file string }{
		{"files/503/503-0.txt", book("503", "Lamp", "from -0")},
		{"cache/epub/503/pg503.txt", book("503", "Lamp", "from pg")},
		{"files/503/503-8.txt", book("503", "Lamp", "from -8")},
		{"files/503/503.txt", book("503", "Lamp", "from ascii")},
		{"loose/my lamp.txt", book("503", "Lamp", "from loose")},
		{"files/503/503-h/503-h.htm", html("503", "from html")},
		{"files/503/old/lamp10.txt", book("503", "Lamp", "from old")},
		{"files/503/old/lamp10h.htm", html("503", "from old html")},
	}
	want := []string{"from pg", "from -0", "from -8", "from ascii", "from loose", "from html", "from old", "from old html"}
	for n := range all {
		files := map[string]string{}
		for _, f := range all[n:] {
			files[f.name] = f.file
		}
		root := tree(t, files)
		count := 0
		for item, err := range Corpus.Open(context.Background(), root, nil) {
			if err != nil {
				t.Fatal(err)
			}
			b, err := item.Load(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			count++
			w := want[n]
			if n == 0 {
				w = "from pg" // both UTF-8 forms are equally good: the first by name
			} else if n == 1 {
				w = "from pg"
			}
			if len(b.Stories) != 1 || b.Stories[0].Text != w || b.Stories[0].StoryID != "gutenberg:503" {
				t.Errorf("%d: %+v", n, b.Stories)
			}
			if len(b.Dropped) != len(files)-1 {
				t.Errorf("%d: %d files left out, %d notes", n, len(files)-1, len(b.Dropped))
			}
			if b.Rows != 1 || b.Bad != 0 || len(b.Files) != 1 || b.Files[0].SHA256 != b.Stories[0].Source.RawSHA256 || b.Files[0].Path != b.Stories[0].Source.File {
				t.Errorf("%d: %+v", n, b.Files)
			}
		}
		if count != 1 {
			t.Errorf("%d items", count)
		}
	}
}

// A broken encoding gives way to the next.
func TestNextEncoding(t *testing.T) {
	root := tree(t, map[string]string{
		"files/503/503-0.txt": "\x89PNG not a text",
		"files/503/503-8.txt": "Title: Lamp\n\n[EBook #503]\n\n" + startC + endC,
		"files/503/503.txt":   book("503", "Lamp", "The lamp was lit."),
	})
	ids, dropped, rows, bad := load(t, root, nil)
	if !slices.Equal(ids, []string{"gutenberg:503"}) || rows != 1 || bad != 0 || len(dropped) != 2 {
		t.Errorf("%v %v %d %d", ids, dropped, rows, bad)
	}
}

func TestLibraryOrder(t *testing.T) {
	files := map[string]string{"zebra.txt": "A zebra.", "b/10.txt": book("10", "B", "Ten."), "a/9.txt": book("9", "A", "Nine."), "apple.txt": "An apple.", "x.jpg": "no", "readme.md": "no",
		"notes": "nothing of the kind", "old": book("7", "Seven", "Seven.")}
	want := []string{"gutenberg:7", "gutenberg:9", "gutenberg:10", "gutenberg:apple", "gutenberg:zebra"}
	root := tree(t, files)
	if ids, _, _, _ := load(t, root, nil); !slices.Equal(ids, want) {
		t.Errorf("%v", ids)
	}
	// The same from archives.
	var zipped, tarred bytes.Buffer
	z := zip.NewWriter(&zipped)
	g := gzip.NewWriter(&tarred)
	tw := tar.NewWriter(g)
	for name, s := range files {
		w, err := z.Create("books/" + name)
		if err != nil {
			t.Fatal(err)
		}
		w.Write([]byte(s))
		tw.WriteHeader(&tar.Header{Name: "books/" + name, Mode: 0o644, Size: int64(len(s))})
		tw.Write([]byte(s))
	}
	z.Close()
	tw.Close()
	g.Close()
	arch := tree(t, map[string]string{"b.zip": zipped.String(), "sub/b.tar.gz": tarred.String()})
	for _, root := range []string{filepath.Join(arch, "b.zip"), filepath.Join(arch, "sub"), filepath.Join(arch, "sub", "b.tar.gz")} {
		if ids, _, _, _ := load(t, root, nil); !slices.Equal(ids, want) {
			t.Errorf("%s: %v", root, ids)
		}
	}
	// A single file is a root too.
	if ids, _, _, _ := load(t, filepath.Join(root, "zebra.txt"), nil); !slices.Equal(ids, []string{"gutenberg:zebra"}) {
		t.Errorf("%v", ids)
	}
	if ids, _, _, _ := load(t, root, func(s *Settings) { s.IDs = []string{"9", "zebra"} }); !slices.Equal(ids, []string{"gutenberg:9", "gutenberg:zebra"}) {
		t.Errorf("ids: %v", ids)
	}
	if ids, _, _, _ := load(t, root, func(s *Settings) { s.NotIDs = []string{"9", "zebra"} }); len(ids) != 3 {
		t.Errorf("not_ids: %v", ids)
	}
}

func TestBadRoots(t *testing.T) {
	open := func(root, set string) error {
		for _, err := range Corpus.Open(context.Background(), root, json.RawMessage(set)) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	for _, root := range []string{filepath.Join(t.TempDir(), "nowhere"), ""} {
		err := open(root, "")
		if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(fmt.Sprint(err), "--corpus gutenberg=DIR") {
			t.Errorf("%q: %v", root, err)
		}
	}
	if err := open(t.TempDir(), `{"subjets":[]}`); err == nil || !strings.Contains(err.Error(), "subjets") {
		t.Errorf("unknown setting: %v", err)
	}
	if err := open(t.TempDir(), `{"dashes":"en"}`); err == nil || !strings.Contains(err.Error(), "dashes") {
		t.Errorf("wrong setting: %v", err)
	}
	root := tree(t, map[string]string{"empty.txt": "", "binary.txt": "\x00\x01\x02\x03\x00\x00", "good.txt": "The lamp."})
	ids, dropped, rows, bad := load(t, root, nil)
	if !slices.Equal(ids, []string{"gutenberg:good"}) || rows != 3 || bad != 2 || len(dropped) != 2 {
		t.Errorf("%v %v %d %d", ids, dropped, rows, bad)
	}
	for _, d := range dropped {
		if d.Evidence[0].Value != "empty.txt" && d.Evidence[0].Value != "binary.txt" {
			t.Errorf("%+v does not name the file", d)
		}
	}
}

func TestCancelled(t *testing.T) {
	root := tree(t, map[string]string{"a.txt": "The lamp.", "b.txt": "The key."})
	ctx, cancel := context.WithCancel(context.Background())
	var items []ingest.Item
	for item, err := range Corpus.Open(ctx, root, nil) {
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, item)
	}
	cancel()
	if _, err := items[0].Load(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Load: %v", err)
	}
	for _, err := range Corpus.Open(ctx, root, nil) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Open: %v", err)
		}
	}
}

const catalogHead = "Text#,Type,Issued,Title,Language,Authors,Subjects,LoCC,Bookshelves\n"

func TestSelect(t *testing.T) {
	for _, c := range []struct {
		row  string
		want bool
	}{
		{`1,Text,2001-01-01,Lamp,en,,Fairy tales,PZ,`, true},
		{`1,Text,2001-01-01,Lamp,en,,Folklore -- England,,`, true},
		{`1,Text,2001-01-01,Lamp,en,,"Short stories, English",PR,`, true},
		{`1,Text,2001-01-01,Lamp,en,,Fables,,`, true},
		{`1,Text,2001-01-01,Lamp,en,,Mythology -- China,BL,`, true},
		{`1,Text,2001-01-01,Lamp,en,,"Legends -- Rhine River",GR,`, true},
		{`1,Text,2001-01-01,Lamp,en,,Sea stories,,"Children's Myths, Fairy Tales, etc."`, true},
		{`1,Text,2001-01-01,Lamp,en; de,,Fairy tales,PZ,`, true},
		{`1,Text,2001-01-01,"Lamp
and Light",en,"A; B",Fairy tales,PZ,`, true},
		{`1,Sound,2001-01-01,Lamp,en,,Fairy tales,PZ,`, false},
		{`1,Text,2001-01-01,Lampe,de,,Fairy tales,PZ,`, false},
		{`1,Text,2001-01-01,Lamp,en,,Fairy tales -- Drama,PZ,`, false},
		{`1,Text,2001-01-01,Lamp,en,,Fairy tales; Children's poetry; Poetry,PZ,`, false},
		{`1,Text,2001-01-01,Lamp,en,,Folklore -- Bibliography,GR,`, false},
		{`1,Text,2001-01-01,Lamp,en,,Psychological fiction,PT,Horror`, false},
	} {
		var got *Info
		err := ReadCatalog(strings.NewReader(catalogHead+c.row+"\n"), "c.csv", func(i *Info) { got = i }, func(e *fetch.RowError) { t.Error(e) })
		if err != nil || got == nil {
			t.Fatal(err)
		}
		if why := DefaultSettings().Select(got); (why == "") != c.want {
			t.Errorf("%s: %q", c.row, why)
		}
	}
}

// The catalogue people have is often cut off: a note, no stop.
func TestCutCatalogue(t *testing.T) {
	csv := catalogHead + "1,Text,2001-01-01,Lamp,en,,Fairy tales,PZ,\n2,Text,2001-01-01,A Play,en,,Fairy tales -- Drama,PZ,\n" +
		"3,Text,2001-01-01,\"Lamp,\nSecond Volume\",en,\"Other, A., 1850-1900\",Folklore,GR,\n4,Text,2001-01-01,\"Lamp, Third"
	root := tree(t, map[string]string{"cache/epub/feeds/pg_catalog.csv": csv, "1.txt": book("1", "Lamp", "One."), "2.txt": book("2", "A Play", "Two."), "3.txt": book("3", "Lamp", "Three."), "4.txt": book("4", "Lamp", "Four.")})
	ids, dropped, rows, bad := load(t, root, nil)
	if !slices.Equal(ids, []string{"gutenberg:1", "gutenberg:3", "gutenberg:4"}) || rows != 4 || bad != 0 {
		t.Errorf("%v, rows %d, bad %d", ids, rows, bad)
	}
	var got []string
	for _, d := range dropped {
		got = append(got, d.Reason+" "+d.ID)
	}
	if want := []string{"catalogue_row gutenberg:cache/epub/feeds/pg_catalog.csv:5", "not_selected gutenberg:2"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if !strings.Contains(dropped[0].Detail, "pg_catalog.csv") {
		t.Errorf("%q", dropped[0].Detail)
	}
	if ids, _, _, _ := load(t, root, func(s *Settings) { s.Filter = false }); len(ids) != 4 {
		t.Errorf("without the filter: %v", ids)
	}
	// A column that stands twice, and another table under the name.
	root = tree(t, map[string]string{"pg_catalog.csv": strings.Replace(catalogHead, "Issued", "Title", 1) + "1,Text,Lamp,Lamps,en,,Fairy tales,PZ,\n", "1.txt": book("1", "Lamp", "One.")})
	if _, dropped, _, _ := load(t, root, nil); len(dropped) != 1 || !strings.Contains(dropped[0].Detail, `column "Title" stands twice`) {
		t.Errorf("%v", dropped)
	}
	root = tree(t, map[string]string{"pg_catalog.csv": "a,b\n1,2\n", "1.txt": book("1", "Lamp", "One.")})
	if ids, dropped, _, _ := load(t, root, nil); len(ids) != 1 || len(dropped) != 1 || dropped[0].Reason != ReasonCatalogue {
		t.Errorf("%v %v", ids, dropped)
	}
}

const rdfText = `<?xml version="1.0" encoding="utf-8"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:dcterms="http://purl.org/dc/terms/" xmlns:pgterms="http://www.gutenberg.org/2009/pgterms/" xmlns:dcam="http://purl.org/dc/dcam/">
<pgterms:ebook rdf:about="ebooks/4321">
<dcterms:title>Lamp
Tales</dcterms:title>
<dcterms:rights>Public domain in the USA.</dcterms:rights>
<dcterms:type><rdf:Description><dcam:memberOf rdf:resource="http://purl.org/dc/terms/DCMIType"/><rdf:value>Text</rdf:value></rdf:Description></dcterms:type>
<dcterms:creator><pgterms:agent><pgterms:name>Other, A.</pgterms:name></pgterms:agent></dcterms:creator>
<dcterms:language><rdf:Description><rdf:value rdf:datatype="http://purl.org/dc/terms/RFC4646">en</rdf:value></rdf:Description></dcterms:language>
<dcterms:subject><rdf:Description><dcam:memberOf rdf:resource="http://purl.org/dc/terms/LCSH"/><rdf:value>Fairy tales -- England</rdf:value></rdf:Description></dcterms:subject>
<dcterms:subject><rdf:Description><dcam:memberOf rdf:resource="http://purl.org/dc/terms/LCC"/><rdf:value>GR</rdf:value></rdf:Description></dcterms:subject>
<pgterms:bookshelf><rdf:Description><rdf:value>Folklore</rdf:value></rdf:Description></pgterms:bookshelf>
</pgterms:ebook></rdf:RDF>`

func TestRDF(t *testing.T) {
	i, err := ParseRDF([]byte(rdfText))
	if err != nil {
		t.Fatal(err)
	}
	if i.ID != "4321" || i.Title != "Lamp Tales" || i.Type != "Text" || !slices.Equal(i.Languages, []string{"en"}) || !slices.Equal(i.Authors, []string{"Other, A."}) ||
		!slices.Equal(i.Subjects, []string{"Fairy tales -- England"}) || !slices.Equal(i.LoCC, []string{"GR"}) || !slices.Equal(i.Shelves, []string{"Folklore"}) {
		t.Errorf("%+v", i)
	}
	files := map[string]string{"cache/epub/4321/pg4321.rdf": rdfText, "files/4321/4321-0.txt": book("4321", "Lamp", "The lamp.")}
	if ids, _, _, _ := load(t, tree(t, files), nil); len(ids) != 1 {
		t.Errorf("%v", ids)
	}
	files["cache/epub/4321/pg4321.rdf"] = strings.ReplaceAll(strings.ReplaceAll(rdfText, "Fairy tales -- England", "Comedy plays"), "GR<", "PR<")
	files["cache/epub/4321/pg4321.rdf"] = strings.Replace(files["cache/epub/4321/pg4321.rdf"], ">Folklore<", ">Plays<", 1)
	if ids, dropped, _, _ := load(t, tree(t, files), nil); len(ids) != 0 || dropped[0].Reason != ReasonNotSelected {
		t.Errorf("%v %v", ids, dropped)
	}
	files["cache/epub/4321/pg4321.rdf"] = strings.Replace(rdfText, "Public domain in the USA.", "Copyrighted. Read the copyright notice inside this book for details.", 1)
	if ids, dropped, _, _ := load(t, tree(t, files), nil); len(ids) != 0 || dropped[0].Reason != ReasonCopyright {
		t.Errorf("%v %v", ids, dropped)
	}
	// A broken record is a note, and the book is read without it.
	files["cache/epub/4321/pg4321.rdf"] = rdfText[:300]
	if ids, dropped, _, _ := load(t, tree(t, files), nil); len(ids) != 1 || len(dropped) != 1 || dropped[0].Reason != ReasonCatalogue {
		t.Errorf("%v %v", ids, dropped)
	}
}
