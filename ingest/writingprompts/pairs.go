// SPDX-License-Identifier: Apache-2.0

package writingprompts

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"path"
	"strings"

	"github.com/retcon-bench/retcon/ingest"
	"github.com/retcon-bench/retcon/ingest/internal/records"
	"github.com/retcon-bench/retcon/internal/fetch"
)

// ReasonPartner marks a line file whose other half is missing.
const ReasonPartner = "no_partner"

// pair is two line files, prompts and stories.
type pair struct {
	stem    string
	prompts fetch.File
	stories fetch.File
	lines   int
	lost    bool // no <newline> in the stories
}

// endings of the two files' names, without .txt; what is before is the stem.
var endings = [][2]string{
	{".wp_source", ".wp_target"}, {".source", ".target"}, {".src", ".tgt"},
	{"_ipt", "_opt"}, {"_source", "_target"}, {"_src", "_tgt"}, {"_input", "_output"}, {"_prompts", "_stories"}, {"_prompt", "_story"},
	{"prompts", "stories"}, {"source", "target"},
}

// half splits a file's name into stem and side (0 prompts, 1 stories).
func half(name string) (stem string, side int, ok bool) {
	base := strings.TrimSuffix(path.Base(name), ".txt")
	for _, e := range endings {
		for side, end := range e {
			if s, ok := strings.CutSuffix(strings.ToLower(base), end); ok {
				if s = base[:len(s)]; s == "" {
					if s = path.Base(path.Dir(name)); s == "." || s == "/" {
						s = end
					}
				}
				return s, side, true
			}
		}
	}
	return "", 0, false
}

// roles sorts the files into pairs, files of records and others.
func (rd *reader) roles(ctx context.Context, files []fetch.File) (pairs []pair, tables []fetch.File, others []ingest.Item, err error) {
	type halves [2]*fetch.File
	named := map[string]*halves{} // by folder and stem
	var order []string
	loose := map[string][]fetch.File{} // by folder
	var dirs []string
	for _, f := range files {
		o, err := source.Look(f)
		if err != nil {
			others = append(others, source.Set(f.Name, records.ReasonUnreadable, err.Error(), true))
			continue
		}
		o.Close()
		stem, side, ok := half(f.Name)
		switch {
		case o.Fits:
			tables = append(tables, f)
		case o.Format == records.TextLines && ok:
			key := path.Join(path.Dir(f.Name), stem)
			if named[key] == nil {
				named[key] = &halves{}
				order = append(order, key)
			}
			if named[key][side] == nil {
				named[key][side] = &f
				continue
			}
			others = append(others, source.Set(f.Name, records.ReasonOther, "a second file of this name: "+named[key][side].Name, false))
		case o.Format == records.TextLines && pairShape(o.Head):
			dir := path.Dir(f.Name)
			if loose[dir] == nil {
				dirs = append(dirs, dir)
			}
			loose[dir] = append(loose[dir], f)
		default:
			others = append(others, source.Set(f.Name, records.ReasonOther, o.Describe(), false))
		}
	}
	for _, key := range order {
		h := named[key]
		switch {
		case h[0] == nil:
			others = append(others, source.Set(h[1].Name, ReasonPartner, "the file with the prompts of these lines is missing (x.wp_source beside x.wp_target)", true))
		case h[1] == nil:
			others = append(others, source.Set(h[0].Name, ReasonPartner, "the file with the stories of these lines is missing (x.wp_target beside x.wp_source)", true))
		default:
			stem, _, _ := half(h[0].Name)
			pairs = append(pairs, pair{stem: stem, prompts: *h[0], stories: *h[1]})
		}
	}
	for _, dir := range dirs {
		found, rest, err := byContent(ctx, loose[dir])
		if err != nil {
			return nil, nil, nil, err
		}
		pairs = append(pairs, found...)
		for _, f := range rest {
			others = append(others, source.Set(f.Name, ReasonPartner, "it has prompts or stories a line, and no other file of the folder has as many lines", true))
		}
	}
	for i := range pairs {
		if err := pairs[i].count(ctx); err != nil {
			return nil, nil, nil, err
		}
	}
	return pairs, tables, others, nil
}

// count checks that both files have as many lines: with one line lost every
// later story would stand under another's prompt.
func (p *pair) count(ctx context.Context) error {
	n, err := records.CountLines(ctx, p.prompts, nil)
	if err != nil {
		return err
	}
	tokens := false
	_, err = records.CountLines(ctx, p.stories, func(l []byte) bool {
		tokens = tokens || bytes.Contains(l, []byte(newlineToken))
		return false
	})
	if err != nil {
		return err
	}
	m, err := records.CountLines(ctx, p.stories, nil)
	if err != nil {
		return err
	}
	if n != m {
		return &fetch.Error{Op: "pair", Name: p.prompts.Name, Kind: fetch.Input,
			Err: fmt.Errorf("it has %d lines and %s has %d, so prompts and stories cannot be told to belong together; get both files anew", n, p.stories.Name, m)}
	}
	p.lines, p.lost = n, !tokens
	return nil
}

// pairShape reports the beginning of a file of prompts or stories.
func pairShape(head []byte) bool { return bytes.Contains(head, []byte(newlineToken)) || tagged(head) }

// tagged reports lines of which half begin with a tag.
func tagged(head []byte) bool {
	n, all := 0, 0
	for _, l := range bytes.SplitN(head, []byte("\n"), 100) {
		if len(bytes.TrimSpace(l)) == 0 {
			continue
		}
		all++
		if tags, _ := Tags(string(l)); len(tags) > 0 {
			n++
		}
	}
	return all > 0 && n*2 >= all
}

// byContent pairs files of one folder that have as many lines.
func byContent(ctx context.Context, files []fetch.File) (pairs []pair, rest []fetch.File, err error) {
	used := make([]bool, len(files))
	counts := make([]int, len(files))
	prompts := make([]bool, len(files))
	for i, f := range files {
		if counts[i], err = records.CountLines(ctx, f, nil); err != nil {
			return nil, nil, err
		}
		o, err := source.Look(f)
		if err != nil {
			return nil, nil, err
		}
		o.Close()
		prompts[i] = tagged(o.Head)
	}
	for i := range files {
		for j := range files {
			if i != j && !used[i] && !used[j] && prompts[i] && !prompts[j] && counts[i] == counts[j] {
				used[i], used[j] = true, true
				pairs = append(pairs, pair{stem: records.Stem(files[j].Name), prompts: files[i], stories: files[j]})
			}
		}
	}
	for i, f := range files {
		if !used[i] {
			rest = append(rest, f)
		}
	}
	return pairs, rest, nil
}

func (rd *reader) pair(ctx context.Context, p pair) iter.Seq2[ingest.Item, error] {
	name := rd.stems.Name(p.stories.Name, p.stem)
	split := records.Split(p.stories.Name)
	return source.Pairs(ctx, p.prompts, p.stories, p.lines, func(b *ingest.Batch, r records.Row) {
		prompt, story, _ := strings.Cut(string(r.Data), "\n")
		rd.add(b, r, post{key: r.Key(name, true), prompt: prompt, story: story, split: split, lost: p.lost})
	})
}

func (rd *reader) table(ctx context.Context, f fetch.File) iter.Seq2[ingest.Item, error] {
	o, err := source.Look(f)
	if err != nil {
		return records.One(source.Set(f.Name, records.ReasonUnreadable, err.Error(), true))
	}
	stem := rd.stems.Name(f.Name, records.Stem(f.Name))
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
		p := post{key: r.Tag, prompt: firstOf(v.Prompt, v.WPSource, v.Source, v.Title), story: firstOf(v.Story, v.WPTarget, v.Target, v.Text), split: string(v.Split)}
		if p.split == "" {
			p.split = records.Split(f.Name)
		}
		if p.prompt == "" && p.story == "" {
			source.Bad(b, r, schemasID(r.Tag), records.ReasonMissing, "neither prompt nor story")
			return
		}
		rd.add(b, r, p)
	})
}

func schemasID(key string) string { return Name + ":" + key }
