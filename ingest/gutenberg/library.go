// SPDX-License-Identifier: Apache-2.0

package gutenberg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"
	"sort"
	"strconv"
	"strings"

	"github.com/retcon-bench/retcon/ingest"
	"github.com/retcon-bench/retcon/ingest/internal/cause"
	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

// walk lists root's files, with a hint where root is missing.
func walk(ctx context.Context, root string) iter.Seq2[fetch.File, error] {
	return func(yield func(fetch.File, error) bool) {
		for f, err := range fetch.Walk(ctx, root, fetch.Limits{}) {
			if err != nil && errors.Is(err, fs.ErrNotExist) && f.Name == "" {
				err = fmt.Errorf("%w; name the folder with --corpus %s=DIR, or get books with retcon corpora fetch %s", err, Name, Name)
			}
			if !yield(f, err) {
				return
			}
		}
	}
}

// copyOf is one encoding of a book.
type copyOf struct {
	file fetch.File
	rank int
}

// volume is a book with all its encodings.
type volume struct {
	key    string
	copies []copyOf
}

// Library lists the books among files as items in a stable order: by ebook
// number, then those without one by name. Each item is a book; what is wrong
// with one file is that item's affair.
func (r *Reader) Library(ctx context.Context, files iter.Seq2[fetch.File, error]) iter.Seq2[ingest.Item, error] {
	return func(yield func(ingest.Item, error) bool) {
		var lib library
		var broken []ingest.Item
		for f, err := range files {
			if err != nil {
				if f.Name == "" || ctx.Err() != nil {
					yield(ingest.Item{}, err)
					return
				}
				broken = append(broken, r.brokenItem(f.Name, err))
				continue
			}
			if err := lib.add(f); err != nil {
				if ctx.Err() != nil {
					yield(ingest.Item{}, ctx.Err())
					return
				}
				broken = append(broken, r.brokenItem(f.Name, err))
			}
		}
		vols := lib.volumes(r.Settings)
		wanted := map[string]bool{}
		for _, v := range vols {
			wanted[v.key] = true
		}
		cat, item, err := lib.catalogue(wanted, r.Corpus)
		if err != nil {
			yield(ingest.Item{}, err)
			return
		}
		if item != nil && !yield(*item, nil) {
			return
		}
		for _, v := range vols {
			if !yield(r.item(v, cat, lib.rdf[v.key]), nil) {
				return
			}
		}
		for _, b := range broken {
			if !yield(b, nil) {
				return
			}
		}
	}
}

func (r *Reader) brokenItem(name string, err error) ingest.Item {
	return ingest.Item{Name: name, Load: func(context.Context) (ingest.Batch, error) {
		return ingest.Batch{Rows: 1, Bad: 1, Dropped: []schemas.Dropped{{
			ID: r.Corpus + ":" + slugOf(name), Stage: stage, Reason: ReasonUnreadable,
			Detail:   cause.Of(name, err),
			Evidence: []schemas.KeyValue{{Key: "file", Value: name}},
		}}}, nil
	}}
}

// library collects a folder's files by book.
type library struct {
	books map[string]*volume
	order []string
	rdf   map[string]*fetch.File
	csv   []fetch.File
}

// peekBytes is how much of a file is read to find its number: the headers of
// style A are up to 15 kB long, but the number stands in the first lines.
const peekBytes = 16 << 10

func (l *library) add(f fetch.File) error {
	base := path.Base(f.Name)
	low := strings.ToLower(base)
	if strings.HasPrefix(base, ".") || strings.Contains("/"+f.Name, "/__MACOSX/") {
		return nil
	}
	switch ext := path.Ext(low); {
	case ext == ".rdf":
		if id := idOfName(strings.TrimSuffix(f.Name, path.Ext(f.Name))); id != "" {
			if l.rdf == nil {
				l.rdf = map[string]*fetch.File{}
			}
			l.rdf[id] = &f
		}
		return nil
	case ext == ".csv":
		if strings.Contains(low, "catalog") {
			l.csv = append(l.csv, f)
		}
		return nil
	case textName(low):
	case ext == "" || len(ext) > 6 || digits(ext[1:]):
		// Any name will do if the file says what it is.
	default:
		return nil
	}
	head, err := peek(f, peekBytes)
	if err != nil {
		return err
	}
	known := textName(low)
	if !known && !strings.Contains(string(head), "Gutenberg") && !strings.Contains(string(head), "*** START OF") {
		return nil
	}
	// A clone, or the number would hold the file's first bytes in memory.
	key := strings.Clone(keyOf(f.Name, head))
	if l.books == nil {
		l.books = map[string]*volume{}
	}
	v := l.books[key]
	if v == nil {
		v = &volume{key: key}
		l.books[key] = v
		l.order = append(l.order, key)
	}
	v.copies = append(v.copies, copyOf{f, rank(f.Name, head)})
	return nil
}

func textName(low string) bool {
	for _, e := range []string{".txt", ".text", ".htm", ".html", ".xhtml", ".utf8", ".utf-8"} {
		if strings.HasSuffix(low, e) {
			return true
		}
	}
	return strings.Contains(low, ".txt.")
}

func peek(f fetch.File, n int) ([]byte, error) {
	rc, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer rc.Close()
	head := make([]byte, n)
	m, err := io.ReadFull(rc, head)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return head[:m], err
}

// keyOf is the ebook number in a file's header, else in its path, else the slug
// of its name.
func keyOf(name string, head []byte) string {
	if binary(head) == "" {
		s := text.Decode(head, "").Text
		for at, n := 0, 0; at < len(s) && n < 400; n++ {
			end := lineEnd(s, at)
			l := s[at:end]
			if strings.Contains(l, "***") && strings.Contains(l, "START OF") {
				break
			}
			if id := ebookID(l); id != "" {
				return id
			}
			at = end
		}
	}
	if id := idOfName(name); id != "" {
		return id
	}
	return slugOf(name)
}

// rank orders the encodings of one book: lower is better.
func rank(name string, head []byte) int {
	base := strings.ToLower(path.Base(name))
	stem := base
	if i := strings.IndexByte(stem, '.'); i > 0 {
		stem = stem[:i]
	}
	n := 0
	switch {
	case looksHTML(name, head):
		n = 40
	case strings.HasSuffix(stem, "-0") || strings.HasPrefix(stem, "pg") && digits(stem[2:]):
		n = 0
	case strings.HasSuffix(stem, "-8"):
		n = 10
	case digits(stem):
		n = 20
	default:
		n = 30 // a loose file
	}
	if strings.Contains("/"+name, "/old/") {
		n += 50
	}
	return n
}

// volumes sorts the books and their encodings, and leaves out those the
// settings do not ask for.
func (l *library) volumes(set Settings) []*volume {
	var out []*volume
	for _, k := range l.order {
		v := l.books[k]
		if len(set.IDs) > 0 && !listed(set.IDs, k) || listed(set.NotIDs, k) {
			continue
		}
		sort.SliceStable(v.copies, func(i, j int) bool {
			a, b := v.copies[i], v.copies[j]
			if a.rank != b.rank {
				return a.rank < b.rank
			}
			return a.file.Name < b.file.Name
		})
		out = append(out, v)
	}
	sort.Slice(out, func(i, j int) bool {
		a, errA := strconv.Atoi(out[i].key)
		b, errB := strconv.Atoi(out[j].key)
		switch {
		case errA == nil && errB == nil:
			return a < b
		case (errA == nil) != (errB == nil):
			return errA == nil
		}
		return out[i].key < out[j].key
	})
	return out
}

// item reads one book: the best encoding that can be read.
func (r *Reader) item(v *volume, cat map[string]*Info, rdf *fetch.File) ingest.Item {
	return ingest.Item{Name: v.copies[0].file.Name, Load: func(ctx context.Context) (ingest.Batch, error) {
		b := ingest.Batch{Rows: 1}
		info := cat[v.key]
		if info == nil && rdf != nil {
			data, _, err := fetch.ReadFile(*rdf)
			if err == nil {
				info, err = ParseRDF(data)
			}
			if err != nil {
				if ctx.Err() != nil {
					return b, ctx.Err()
				}
				b.Dropped = append(b.Dropped, schemas.Dropped{ID: r.Corpus + ":" + v.key, Stage: stage, Reason: ReasonCatalogue,
					Detail: cause.Of(rdf.Name, err), Evidence: []schemas.KeyValue{{Key: "file", Value: rdf.Name}}})
			}
		}
		if info != nil && r.Settings.Filter {
			if why := r.Settings.Select(info); why != "" {
				b.Dropped = append(b.Dropped, schemas.Dropped{ID: r.Corpus + ":" + v.key, Stage: stage, Reason: ReasonNotSelected, Detail: why,
					Evidence: []schemas.KeyValue{{Key: "file", Value: v.copies[0].file.Name}, {Key: "title", Value: info.Title}}})
				return b, nil
			}
		}
		done := false
		bad := 0
		for _, c := range v.copies {
			if err := ctx.Err(); err != nil {
				return b, err
			}
			if done {
				b.Dropped = append(b.Dropped, schemas.Dropped{ID: r.Corpus + ":" + v.key, Stage: stage, Reason: ReasonEncoding,
					Detail:   "another file of the same book was read",
					Evidence: []schemas.KeyValue{{Key: "file", Value: c.file.Name}}})
				continue
			}
			data, sum, err := fetch.ReadFile(c.file)
			if err != nil {
				if ctx.Err() != nil {
					return b, ctx.Err()
				}
				bad++
				b.Dropped = append(b.Dropped, r.unreadable(v.key, c.file.Name, err))
				continue
			}
			b.Files = append(b.Files, schemas.FileHash{Path: c.file.Name, Bytes: int64(len(data)), SHA256: sum, Rows: 1})
			bk := r.read(c.file.Name, data, sum, info)
			b.Dropped = append(b.Dropped, bk.Dropped...)
			if bk.Bad {
				bad++
				continue
			}
			b.Stories = append(b.Stories, bk.Stories...)
			// A book that was set aside for what it is would be set aside in
			// its other encodings too.
			done = len(bk.Stories) > 0 || !quarantined(bk.Dropped)
		}
		if bad == len(v.copies) {
			b.Bad = 1
		}
		return b, nil
	}}
}

func quarantined(ds []schemas.Dropped) bool {
	for _, d := range ds {
		if d.Reason == ReasonEmpty || d.Reason == ReasonShrank {
			return true
		}
	}
	return false
}

func (r *Reader) unreadable(key, name string, err error) schemas.Dropped {
	return schemas.Dropped{ID: r.Corpus + ":" + key, Stage: stage, Reason: ReasonUnreadable, Detail: cause.Of(name, err),
		Evidence: []schemas.KeyValue{{Key: "file", Value: name}}}
}
