// SPDX-License-Identifier: Apache-2.0

package wikiplots

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"path"
	"strconv"
	"strings"

	"github.com/retcon-bench/retcon/ingest"
	"github.com/retcon-bench/retcon/ingest/internal/records"
	"github.com/retcon-bench/retcon/internal/fetch"
)

// ReasonPartner marks a file of plots without titles.
const ReasonPartner = "no_partner"

// eos is the line behind a plot.
var eos = []byte("<EOS>")

func isEOS(line []byte) bool { return bytes.Equal(bytes.TrimSpace(line), eos) }

// part is a file of plots with its titles.
type part struct {
	plots, titles fetch.File
	n             int // plots
}

// roles sorts files into plots with titles, files of records, and others.
func roles(ctx context.Context, files []fetch.File) (parts []part, tables []fetch.File, others []ingest.Item, err error) {
	var plots, lines []fetch.File
	counts := map[string]int{}
	for _, f := range files {
		o, err := source.Look(f)
		if err != nil {
			others = append(others, source.Set(f.Name, records.ReasonUnreadable, err.Error(), true))
			continue
		}
		o.Close()
		switch {
		case o.Fits:
			tables = append(tables, f)
			continue
		case o.Format != records.TextLines:
			others = append(others, source.Set(f.Name, records.ReasonOther, o.Describe(), false))
			continue
		}
		if n, err := records.CountLines(ctx, f, isEOS); err != nil {
			if ctx.Err() != nil {
				return nil, nil, nil, err
			}
			others = append(others, source.Set(f.Name, records.ReasonUnreadable, err.Error(), true))
		} else if n > 0 {
			counts[f.Name] = n
			plots = append(plots, f)
		} else {
			lines = append(lines, f)
		}
	}
	used := map[string]bool{}
	for _, p := range plots {
		t, err := titlesOf(ctx, p, counts[p.Name], lines, used)
		if err != nil {
			return nil, nil, nil, err
		}
		if t == nil {
			others = append(others, source.Set(p.Name, ReasonPartner, fmt.Sprintf("it has %d plots, and no file of titles (a title a line) is beside it", counts[p.Name]), true))
			continue
		}
		used[t.Name] = true
		parts = append(parts, part{p, *t, counts[p.Name]})
	}
	for _, f := range lines {
		if !used[f.Name] {
			others = append(others, source.Set(f.Name, records.ReasonOther, "lines of text without <EOS>, and no plots that they could be the titles of", false))
		}
	}
	return parts, tables, others, nil
}

// titlesOf finds the titles of n plots: a file of that name in the same folder,
// else one with n lines. Titles by name with another count are an error: every
// plot behind the fault would stand under another's title.
func titlesOf(ctx context.Context, plots fetch.File, n int, files []fetch.File, used map[string]bool) (*fetch.File, error) {
	dir := path.Dir(plots.Name)
	var byCount *fetch.File
	for i := range files {
		f := &files[i]
		if path.Dir(f.Name) != dir || used[f.Name] {
			continue
		}
		m, err := records.CountLines(ctx, *f, nil)
		if err != nil {
			return nil, err
		}
		if strings.Contains(strings.ToLower(path.Base(f.Name)), "title") {
			// The extractor writes a title even if no sentence follows, so the
			// counts are equal in a whole download.
			if m != n {
				return nil, &fetch.Error{Op: "pair", Name: plots.Name, Kind: fetch.Input,
					Err: fmt.Errorf("it has %d plots (lines <EOS>) and %s has %d titles, so titles and plots cannot be told to belong together; get both files anew", n, f.Name, m)}
			}
			return f, nil
		}
		if m == n && byCount == nil {
			byCount = f
		}
	}
	return byCount, nil
}

// paired are the items of a file of plots and its titles.
func (rd *reader) paired(ctx context.Context, p part) iter.Seq2[ingest.Item, error] {
	stem := rd.stems.Name(p.plots.Name, records.Stem(p.plots.Name))
	// A record is the title's line and the plot's, parted by LF.
	return source.Groups(ctx, p.titles, p.plots, isEOS, func(r *records.Row) {
		title, _, _ := bytes.Cut(r.Data, []byte("\n"))
		key := underscored(string(title))
		if key == "" {
			r.Tag = stem + ":" + strconv.Itoa(r.N)
			return
		}
		rd.titles[key]++
		if n := rd.titles[key]; n > 1 {
			key += "-" + strconv.Itoa(n)
		}
		r.Tag = key
	}, func(b *ingest.Batch, r records.Row) {
		title, body, _ := strings.Cut(string(r.Data), "\n")
		lines := strings.Split(body, "\n")
		n := 0
		for _, l := range lines {
			if strings.TrimSpace(l) != "" {
				n++
			}
		}
		rd.add(b, r, plot{key: r.Tag, title: title, body: Join(lines), sentences: n})
	})
}

// table are the items of a file of records.
func (rd *reader) table(ctx context.Context, f fetch.File) iter.Seq2[ingest.Item, error] {
	o, err := source.Look(f)
	if err != nil {
		return records.One(source.Set(f.Name, records.ReasonUnreadable, err.Error(), true))
	}
	stem := rd.stems.Name(f.Name, records.Stem(f.Name))
	type record struct {
		ID    records.String `json:"id"`
		Title records.String `json:"title"`
		Text  records.String `json:"text"`
		Plot  records.String `json:"plot"`
		URL   records.String `json:"url"`
	}
	first := func(r *records.Row) (string, bool) {
		var v struct {
			ID records.String `json:"id"`
		}
		if reason, _ := r.Decode(&v); reason != "" || v.ID == "" {
			r.Tag = r.Key(stem, o.Format == records.JSONLines)
			return "", true
		}
		return rd.ids.First(string(v.ID), r)
	}
	return source.Unique(ctx, o, first, func(b *ingest.Batch, r records.Row) {
		var v record
		if reason, err := r.Decode(&v); err != nil {
			source.Bad(b, r, "", reason, err.Error())
			return
		}
		body := string(v.Text)
		if body == "" {
			body = string(v.Plot)
		}
		rd.add(b, r, plot{key: r.Tag, title: string(v.Title), body: body, url: string(v.URL)})
	})
}
