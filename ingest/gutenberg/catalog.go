// SPDX-License-Identifier: Apache-2.0

package gutenberg

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/retcon-bench/retcon/ingest"
	"github.com/retcon-bench/retcon/ingest/internal/cause"
	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/schemas"
)

// catalogColumns are the columns of pg_catalog.csv.
var catalogColumns = []string{"Text#", "Type", "Issued", "Title", "Language", "Authors", "Subjects", "LoCC", "Bookshelves"}

// ReadCatalog reads a pg_catalog.csv and calls keep with each record. A record
// that cannot be read is given to bad and does not stop the reading. The file
// people have is often a cut-off download: the feed ends with a newline, so a
// last record without one is taken for cut off and given to bad too, however
// whole it looks.
func ReadCatalog(r io.Reader, name string, keep func(*Info), bad func(*fetch.RowError)) error {
	var col map[string]int
	tail := &lastByte{r: r}
	r = tail
	// A record is kept when the next one is there or the file ends well.
	var held *Info
	var heldAt fetch.Row
	defer func() {
		if held != nil && tail.last == '\n' {
			keep(held)
		} else if held != nil {
			bad(&fetch.RowError{Name: name, N: heldAt.N, Line: heldAt.Line, EndLine: heldAt.Line,
				Err: fmt.Errorf("%w: the file ends inside this record, without a newline", fetch.ErrTruncated)})
		}
	}()
	next := func() {
		if held != nil {
			keep(held)
			held = nil
		}
	}
	for row, err := range fetch.CSV(r, fetch.RowOptions{Name: name, Ragged: true}) {
		var re *fetch.RowError
		next()
		if err != nil {
			if errors.As(err, &re) {
				bad(re)
				continue
			}
			return err
		}
		if col == nil {
			col = map[string]int{}
			for i, f := range row.Fields {
				row.Fields[i] = strings.TrimPrefix(strings.TrimSpace(f), "\ufeff")
				col[row.Fields[i]] = i
			}
			if err := schemas.ColumnsOnce(row.Fields); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			for _, c := range catalogColumns[:5] {
				if _, ok := col[c]; !ok {
					return fmt.Errorf("%s: no column %q in the header line; expected %s", name, c, strings.Join(catalogColumns, ","))
				}
			}
			continue
		}
		if len(row.Fields) < len(col) {
			bad(&fetch.RowError{Name: name, N: row.N, Line: row.Line, EndLine: row.Line,
				Err: fmt.Errorf("%w: %d of %d; the record may be cut off", fetch.ErrFields, len(row.Fields), len(col))})
			continue
		}
		get := func(c string) string {
			if i, ok := col[c]; ok && i < len(row.Fields) {
				return strings.TrimSpace(row.Fields[i])
			}
			return ""
		}
		heldAt = fetch.Row{N: row.N, Line: row.Line}
		held = &Info{
			ID: strings.TrimLeft(get("Text#"), "0"), Type: get("Type"), Title: strings.Join(strings.Fields(get("Title")), " "),
			Languages: split(get("Language")), Authors: split(get("Authors")), Subjects: split(get("Subjects")),
			LoCC: split(get("LoCC")), Shelves: split(get("Bookshelves")),
		}
	}
	return nil
}

// lastByte remembers the last byte that was read.
type lastByte struct {
	r    io.Reader
	last byte
}

func (l *lastByte) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if n > 0 {
		l.last = p[n-1]
	}
	return n, err
}

// split cuts a catalogue list: parts stand between "; ".
func split(s string) []string {
	var out []string
	for _, p := range strings.Split(s, ";") {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return out
}

// catalogue reads the CSV catalogues among the files, records of wanted ids
// only. Records that cannot be read come back as an item with their notes;
// they count as no rows, for they are no stories.
func (l *library) catalogue(wanted map[string]bool, corpus string) (map[string]*Info, *ingest.Item, error) {
	if len(l.csv) == 0 {
		return nil, nil, nil
	}
	out := map[string]*Info{}
	var batch ingest.Batch
	for _, f := range l.csv {
		rc, err := f.Open()
		if err != nil {
			return nil, nil, err
		}
		err = ReadCatalog(rc, f.Name, func(i *Info) {
			if wanted[i.ID] && out[i.ID] == nil {
				out[i.ID] = i
			}
		}, func(e *fetch.RowError) {
			batch.Dropped = append(batch.Dropped, schemas.Dropped{
				ID: fmt.Sprintf("%s:%s:%d", corpus, f.Name, e.N), Stage: stage, Reason: ReasonCatalogue,
				Detail:   e.Error() + "; the book it describes is read as one without a record",
				Evidence: []schemas.KeyValue{{Key: "file", Value: f.Name}, {Key: "line", Value: fmt.Sprint(e.Line)}},
			})
		})
		rc.Close()
		if err != nil {
			batch.Dropped = append(batch.Dropped, schemas.Dropped{ID: corpus + ":" + f.Name, Stage: stage, Reason: ReasonCatalogue,
				Detail: cause.Of(f.Name, err), Evidence: []schemas.KeyValue{{Key: "file", Value: f.Name}}})
		}
	}
	if len(batch.Dropped) == 0 {
		return out, nil, nil
	}
	return out, &ingest.Item{Name: l.csv[0].Name, Load: func(context.Context) (ingest.Batch, error) { return batch, nil }}, nil
}

// rdfFile is the part of pg<id>.rdf that is read.
type rdfFile struct {
	Books []struct {
		About    string `xml:"about,attr"`
		Title    string `xml:"title"`
		Rights   string `xml:"rights"`
		Type     string `xml:"type>Description>value"`
		Creators []struct {
			Name string `xml:"agent>name"`
		} `xml:"creator"`
		Languages []string `xml:"language>Description>value"`
		Subjects  []struct {
			Member struct {
				Resource string `xml:"resource,attr"`
			} `xml:"Description>memberOf"`
			Value string `xml:"Description>value"`
		} `xml:"subject"`
		Shelves []string `xml:"bookshelf>Description>value"`
	} `xml:"ebook"`
}

// ParseRDF reads a pg<id>.rdf.
func ParseRDF(data []byte) (*Info, error) {
	var f rdfFile
	dec := xml.NewDecoder(bytes.NewReader(data))
	dec.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	if err := dec.Decode(&f); err != nil {
		return nil, fmt.Errorf("RDF: %w", err)
	}
	if len(f.Books) == 0 {
		return nil, errors.New("RDF: no pgterms:ebook in it")
	}
	b := f.Books[0]
	i := &Info{ID: b.About[strings.LastIndexByte(b.About, '/')+1:], Type: b.Type, Title: strings.Join(strings.Fields(b.Title), " "),
		Languages: b.Languages, Shelves: b.Shelves, Rights: b.Rights}
	for _, c := range b.Creators {
		i.Authors = append(i.Authors, c.Name)
	}
	for _, s := range b.Subjects {
		if strings.HasSuffix(s.Member.Resource, "LCC") {
			i.LoCC = append(i.LoCC, s.Value)
		} else {
			i.Subjects = append(i.Subjects, s.Value)
		}
	}
	return i, nil
}

// Select returns "" for a book that the settings ask for, else why not.
func (s Settings) Select(i *Info) string {
	if len(s.Types) > 0 && i.Type != "" && !listed(s.Types, i.Type) {
		return "the catalogue's type is " + i.Type
	}
	if len(s.Languages) > 0 && len(i.Languages) > 0 {
		ok := false
		for _, l := range i.Languages {
			ok = ok || listed(s.Languages, l)
		}
		if !ok {
			return "the catalogue's language is " + strings.Join(i.Languages, "; ")
		}
	}
	for _, sub := range i.Subjects {
		for _, not := range s.NotSubjects {
			if hasHeading(sub, not) {
				return "the catalogue's subjects have " + sub
			}
		}
	}
	for _, sub := range i.Subjects {
		for _, yes := range s.Subjects {
			if hasHeading(sub, yes) {
				return ""
			}
		}
	}
	for _, c := range i.LoCC {
		for _, yes := range s.LoCC {
			if strings.HasPrefix(c, yes) {
				return ""
			}
		}
	}
	for _, sh := range i.Shelves {
		for _, yes := range s.Shelves {
			if strings.TrimPrefix(sh, "Category: ") == yes || strings.TrimPrefix(sh, "Browsing: ") == yes {
				return ""
			}
		}
	}
	return "no subject, class or shelf of the catalogue is one of story collections: " + strings.Join(append(append([]string{}, i.Subjects...), i.LoCC...), "; ")
}

// hasHeading reports that subject is want, or has it as a part: "Fairy tales",
// "Folklore -- England", "Children's stories, Short stories".
func hasHeading(subject, want string) bool {
	if subject == want {
		return true
	}
	for _, p := range strings.Split(subject, "--") {
		if p = strings.TrimSpace(p); p == want || strings.HasPrefix(p, want+",") || strings.HasPrefix(p, want+" (") || strings.HasSuffix(p, ", "+want) {
			return true
		}
		// "Short stories, English", "Mythology, Greek", "English fiction -- Drama"
		for _, q := range strings.Split(p, ",") {
			if strings.TrimSpace(q) == want {
				return true
			}
		}
	}
	return false
}
