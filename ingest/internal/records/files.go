// SPDX-License-Identifier: Apache-2.0

package records

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"sort"
	"strings"

	"github.com/retcon-bench/retcon/ingest"
	"github.com/retcon-bench/retcon/internal/fetch"
)

// Stream opens the files of root one after the other, in the order of the
// walk, so that even a compressed archive of several GB is read once and
// nothing of it is kept. Use gets each opened file and yields its items; a file
// it does not want it answers with NotOurs. Use must close the file, as Items
// does.
func (s *Source) Stream(ctx context.Context, root string, use func(o *Opened) iter.Seq2[ingest.Item, error]) iter.Seq2[ingest.Item, error] {
	return func(yield func(ingest.Item, error) bool) {
		for f, err := range s.Files(ctx, root) {
			if err == nil {
				var o *Opened
				if o, err = s.Look(f); err == nil {
					for it, err := range use(o) {
						if !yield(it, err) || err != nil {
							return
						}
					}
					continue
				}
			}
			if Fatal(ctx, f, err) {
				yield(ingest.Item{}, err)
				return
			}
			if !yield(s.Set(f.Name, ReasonUnreadable, err.Error(), true), nil) {
				return
			}
		}
	}
}

// List lists the files of root ordered by name, for corpora that need to see
// several files at once. Files that cannot be read come as items.
func (s *Source) List(ctx context.Context, root string) (files []fetch.File, broken []ingest.Item, err error) {
	for f, err := range s.Files(ctx, root) {
		switch {
		case err == nil:
			files = append(files, f)
		case Fatal(ctx, f, err):
			return nil, nil, err
		default:
			broken = append(broken, s.Set(f.Name, ReasonUnreadable, err.Error(), true))
		}
	}
	sort.SliceStable(files, func(i, j int) bool { return files[i].Name < files[j].Name })
	return files, broken, nil
}

// NotOurs closes a file that holds no records of the corpus and says what it
// is instead.
func (s *Source) NotOurs(o *Opened) iter.Seq2[ingest.Item, error] {
	o.Close()
	return One(s.Set(o.File.Name, ReasonOther, o.Describe(), false))
}

// Describe says for people what the file is.
func (o *Opened) Describe() string {
	switch o.Format {
	case Empty:
		return "an empty file"
	case JSONLines, JSONArray, CSV:
		what := map[Format]string{JSONLines: "JSON Lines", JSONArray: "a JSON array", CSV: "a table"}[o.Format]
		if len(o.Fields) == 0 {
			return what + " without records that could be read"
		}
		return fmt.Sprintf("%s with other fields than the corpus has: %s", what, quoteList(o.Fields))
	case JSONObject:
		return "one JSON object, no records"
	case Parquet:
		return "a Parquet file"
	case TextLines:
		return "lines of text"
	}
	if bytes.HasPrefix(o.Head, []byte("\xff\xfe")) || bytes.HasPrefix(o.Head, []byte("\xfe\xff")) {
		return "UTF-16 text; convert it to UTF-8 first"
	}
	return "no format that is read here"
}

func quoteList(l []string) string {
	const most = 12
	more := ""
	if len(l) > most {
		l, more = l[:most], ", ..."
	}
	q := make([]string, len(l))
	for i, s := range l {
		q[i] = fmt.Sprintf("%.40q", s)
	}
	return strings.Join(q, ", ") + more
}

// One is a sequence of one item.
func One(it ingest.Item) iter.Seq2[ingest.Item, error] {
	return func(yield func(ingest.Item, error) bool) { yield(it, nil) }
}

// Fail is a sequence that ends in err at once.
func Fail(err error) iter.Seq2[ingest.Item, error] {
	return func(yield func(ingest.Item, error) bool) { yield(ingest.Item{}, err) }
}
