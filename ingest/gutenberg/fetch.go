// SPDX-License-Identifier: Apache-2.0

package gutenberg

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/retcon-bench/retcon/internal/fetch"
)

// FetchOptions say which books come from where.
type FetchOptions struct {
	// Mirror is a mirror's address. Project Gutenberg asks robots to use a
	// mirror and not its site, so there is no default.
	Mirror string
	// Layout of the mirror: "site" (files/503/503-0.txt, cache/epub/503/...),
	// "digits" (5/0/503/503-0.txt, as rsync mirrors have it), or "" to try both.
	Layout string
	// IDs are ebook numbers. Without any, the catalogue is fetched and the
	// books that Settings select are taken.
	IDs []string
	// Limit caps the number of books chosen by the catalogue; 0 = no cap.
	Limit int
	// Catalogue is the catalogue's path below the mirror; "" is
	// cache/epub/feeds/pg_catalog.csv.
	Catalogue string
	RDF       bool // also get each book's RDF record
	Settings  Settings
	// SHA256 holds expected hashes by path below the folder, as Fetch reports
	// them (files/503/503-0.txt).
	SHA256  map[string]string
	Refetch bool
	// Progress is called after each book, if it is not nil.
	Progress func(Fetched)
}

// Fetched is what became of one book or of the catalogue.
type Fetched struct {
	ID          string
	Path        string // below the folder; "" if there is no text of it on the mirror
	URL         string
	Size        int64
	SHA256      string
	NotModified bool
	Resumed     bool
	Missing     bool // no encoding of it is on the mirror
}

// Fetch downloads books into dir, laid out as [Corpus] reads them: of each book
// the first of -0.txt, pg<id>.txt, -8.txt, .txt and HTML that the mirror has.
// What is there already is asked for conditionally; a stopped run goes on where
// it was. A book that the mirror does not have is reported and no error;
// any other failure ends the run with the books fetched so far.
func Fetch(ctx context.Context, c *fetch.Client, dir string, opt FetchOptions) ([]Fetched, error) {
	base := strings.TrimRight(opt.Mirror, "/")
	if base == "" {
		return nil, fmt.Errorf("no mirror named; see https://www.gutenberg.org/MIRRORS.ALL for a list and name one with --mirror")
	}
	switch opt.Layout {
	case "", "site", "digits":
	default:
		return nil, fmt.Errorf("layout %q is neither site nor digits", opt.Layout)
	}
	for _, id := range opt.IDs {
		if !digits(id) || len(id) > 7 || id[0] == '0' {
			return nil, fmt.Errorf("%q is no ebook number", id)
		}
	}
	f := fetcher{c: c, dir: dir, base: base, opt: opt}
	var out []Fetched
	report := func(r Fetched) {
		out = append(out, r)
		if opt.Progress != nil {
			opt.Progress(r)
		}
	}
	ids := opt.IDs
	if len(ids) == 0 {
		r, err := f.catalogue(ctx)
		if err != nil {
			return out, err
		}
		report(r)
		if ids, err = f.selected(r.Path); err != nil {
			return out, err
		}
	}
	for _, id := range ids {
		r, err := f.book(ctx, id)
		if err != nil {
			return out, err
		}
		report(r)
		if opt.RDF && !r.Missing {
			p := "cache/epub/" + id + "/pg" + id + ".rdf"
			r, err := f.get(ctx, id, p, p)
			if err != nil && !missing(err) {
				return out, err
			}
			if err == nil {
				report(r)
			}
		}
	}
	return out, nil
}

type fetcher struct {
	c    *fetch.Client
	dir  string
	base string
	opt  FetchOptions
}

// missing reports that the server has no such file.
func missing(err error) bool {
	var s *fetch.StatusError
	return errors.As(err, &s) && (s.Code == http.StatusNotFound || s.Code == http.StatusGone)
}

// get downloads remote, a path below the mirror, to local, one below dir.
func (f *fetcher) get(ctx context.Context, id, remote, local string) (Fetched, error) {
	dest := filepath.Join(f.dir, filepath.FromSlash(local))
	if err := os.MkdirAll(filepath.Dir(dest), 0o777); err != nil {
		return Fetched{}, &fetch.Error{Op: "write", Name: filepath.Dir(dest), Kind: fetch.Disk, Err: err}
	}
	res, err := f.c.Get(ctx, f.base+"/"+remote, dest, fetch.GetOptions{SHA256: f.opt.SHA256[local], Refetch: f.opt.Refetch})
	if err != nil {
		// Do not leave empty folders for files that are not there.
		if missing(err) {
			os.Remove(filepath.Dir(dest))
		}
		return Fetched{}, err
	}
	return Fetched{ID: id, Path: local, URL: res.URL, Size: res.Size, SHA256: res.SHA256, NotModified: res.NotModified, Resumed: res.Resumed}, nil
}

func (f *fetcher) catalogue(ctx context.Context) (Fetched, error) {
	p := f.opt.Catalogue
	if p == "" {
		p = "cache/epub/feeds/pg_catalog.csv"
	}
	r, err := f.get(ctx, "", p, p)
	if err != nil {
		return r, fmt.Errorf("the catalogue: %w; name ebook numbers with --ids to do without it", err)
	}
	return r, nil
}

// selected lists the books that the catalogue and the settings choose.
func (f *fetcher) selected(p string) ([]string, error) {
	file, err := os.Open(filepath.Join(f.dir, filepath.FromSlash(p)))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	rc, err := fetch.Decompress(file, path.Base(p), fetch.Limits{})
	if err != nil {
		return nil, err
	}
	defer rc.Close()
	var ids []string
	err = ReadCatalog(rc, path.Base(p), func(i *Info) {
		if digits(i.ID) && f.opt.Settings.Select(i) == "" && (f.opt.Limit <= 0 || len(ids) < f.opt.Limit) && !listed(f.opt.Settings.NotIDs, i.ID) &&
			(len(f.opt.Settings.IDs) == 0 || listed(f.opt.Settings.IDs, i.ID)) {
			ids = append(ids, i.ID)
		}
	}, func(*fetch.RowError) {})
	return ids, err
}

// book tries a book's encodings in order.
func (f *fetcher) book(ctx context.Context, id string) (Fetched, error) {
	tries := candidates(id, f.opt.Layout)
	// An encoding that an earlier run found is asked about first, so that the
	// server is not asked again for those it does not have.
	for i, c := range tries {
		if _, err := os.Stat(filepath.Join(f.dir, filepath.FromSlash(c[1]))); err == nil {
			tries = append([][2]string{c}, append(append([][2]string{}, tries[:i]...), tries[i+1:]...)...)
			break
		}
	}
	for _, c := range tries {
		r, err := f.get(ctx, id, c[0], c[1])
		if err == nil {
			return r, nil
		}
		if !missing(err) {
			return r, fmt.Errorf("book %s: %w", id, err)
		}
	}
	return Fetched{ID: id, Missing: true}, nil
}

// candidates lists the places of a book's encodings: path on the mirror and
// path below the folder.
func candidates(id, layout string) [][2]string {
	site := "files/" + id + "/"
	cache := "cache/epub/" + id + "/"
	deep := ""
	for i := 0; i < len(id)-1; i++ {
		deep += id[i:i+1] + "/"
	}
	if deep == "" {
		deep = "0/"
	}
	deep += id + "/"
	var out [][2]string
	add := func(file string) {
		if layout != "digits" {
			out = append(out, [2]string{site + file, site + file})
		}
		if layout != "site" {
			out = append(out, [2]string{deep + file, site + file})
		}
	}
	add(id + "-0.txt")
	out = append(out, [2]string{cache + "pg" + id + ".txt", cache + "pg" + id + ".txt"})
	add(id + "-8.txt")
	add(id + ".txt")
	add(id + "-h/" + id + "-h.htm")
	out = append(out, [2]string{cache + "pg" + id + "-images.html", cache + "pg" + id + "-images.html"})
	return out
}
