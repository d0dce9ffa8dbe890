// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/retcon-bench/retcon/internal/text"
)

const defaultJudged = "scripts/segeval/testdata/judged.jsonl"

// judged is a passage with what its readers say of it. Offsets are code points
// from the passage's start.
type judged struct {
	passage
	yes   map[int]bool // all readers mark a boundary here
	split map[int]bool // some do: counted neither way
	inner map[int]bool // places inside paragraphs
}

// counts of one segmenter.
type counts struct {
	Right  int `json:"right"`
	Extra  int `json:"extra"`
	Missed int `json:"missed"`
}

func (c counts) precision() float64 { return ratio(c.Right, c.Right+c.Extra) }
func (c counts) recall() float64    { return ratio(c.Right, c.Right+c.Missed) }
func (c counts) f1() float64        { return ratio(2*c.Right, 2*c.Right+c.Extra+c.Missed) }

func ratio(a, b int) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// result is a line of the table.
type result struct {
	System    string  `json:"system"`
	Counts    counts  `json:"counts"` // all boundaries but the passages' ends
	Inner     counts  `json:"inside_paragraphs"`
	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"`
	F1        float64 `json:"f1"`
	InnerF1   float64 `json:"inside_f1"`
	MBps      float64 `json:"mb_per_s"`
	Error     string  `json:"error,omitempty"`
}

func score(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs, shared := newFlags("score", stderr)
	file := fs.String("judged", defaultJudged, "judged `file`")
	python := fs.String("python", "", "`path` of a Python that has pysbd and blingfire; without it they are left out")
	asJSON := fs.Bool("json", false, "print JSON")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if err := needShared(*shared); err != nil {
		return err
	}
	rows, err := readJudged(*file)
	if err != nil {
		return err
	}
	passages, readers, err := merge(*shared, rows)
	if err != nil {
		return err
	}

	var texts, bulk []string
	seen := map[string]bool{}
	for _, p := range passages {
		texts = append(texts, p.text)
		if key := p.Source + "\x00" + p.Record; !seen[key] {
			seen[key] = true
			whole, err := frozen(*shared, p.Source, p.Record)
			if err != nil {
				return err
			}
			bulk = append(bulk, whole)
		}
	}
	var results []result
	systems, err := goSystems()
	if err != nil {
		return err
	}
	for _, sys := range systems {
		ends := make([][]int, len(texts))
		for i, s := range texts {
			for _, b := range sys.ends(s) {
				ends[i] = append(ends[i], utf8.RuneCountInString(s[:b]))
			}
		}
		results = append(results, compare(sys.name, passages, ends, sys.speed(bulk)))
	}
	if *python != "" {
		found, err := peers(ctx, *python, texts, bulk)
		if err != nil {
			return err
		}
		for _, p := range found {
			if p.Error != "" {
				results = append(results, result{System: p.System, Error: p.Error})
				continue
			}
			results = append(results, compare(p.System, passages, p.Ends, p.MBps))
		}
	}

	agreed, disputed := 0, 0
	for _, p := range passages {
		agreed += len(p.yes)
		disputed += len(p.split)
	}
	if *asJSON {
		enc := json.NewEncoder(stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(map[string]any{
			"passages": len(passages), "readers": readers, "boundaries": agreed, "disputed": disputed, "systems": results,
		})
	}
	fmt.Fprintf(stdout, "%d passages, %d boundaries, readers: %s\n", len(passages), agreed, strings.Join(readers, ", "))
	if len(readers) > 1 {
		fmt.Fprintf(stdout, "readers agree: F1 %.4f (%d places only some mark; they count neither way)\n", ratio(2*agreed, 2*agreed+disputed), disputed)
	}
	fmt.Fprintln(stdout, "Passages' ends are not counted. Inside: without boundaries at blank lines, which are easy.")
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "segmenter\tright\textra\tmissed\tprecision\trecall\tF1\tF1 inside\tMB/s\t")
	for _, r := range results {
		if r.Error != "" {
			fmt.Fprintf(w, "%s\t%s\t\t\t\t\t\t\t\t\n", r.System, r.Error)
			continue
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%.4f\t%.4f\t%.4f\t%.4f\t%.1f\t\n",
			r.System, r.Counts.Right, r.Counts.Extra, r.Counts.Missed, r.Precision, r.Recall, r.F1, r.InnerF1, r.MBps)
	}
	return w.Flush()
}

// merge brings the readings of each passage together and checks its text.
func merge(shared string, rows []passage) (passages []judged, readers []string, err error) {
	byKey := map[string]int{}
	readings := map[string][]passage{}
	var order []string
	for _, p := range rows {
		key := fmt.Sprintf("%s\x00%s\x00%d\x00%d", p.Source, p.Record, p.Start, p.End)
		if len(readings[key]) == 0 {
			order = append(order, key)
			byKey[key] = len(order)
		}
		readings[key] = append(readings[key], p)
		if !slices.Contains(readers, p.Reader) {
			readers = append(readers, p.Reader)
		}
	}
	for _, key := range order {
		read := readings[key]
		p := judged{passage: read[0], yes: map[int]bool{}, split: map[int]bool{}, inner: map[int]bool{}}
		whole, err := frozen(shared, p.Source, p.Record)
		if err != nil {
			return nil, nil, err
		}
		sp, err := text.NewIndex(whole).FromRunes(p.Start, p.End)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", p.Source, err)
		}
		p.text = whole[sp.ByteStart:sp.ByteEnd]
		if hash(p.text) != p.TextHash {
			return nil, nil, fmt.Errorf("%s [%d,%d): the text there is not the one that was read; were the source or the rules of freezing changed?", p.Source, p.Start, p.End)
		}
		votes := map[int]int{}
		for _, r := range read {
			for _, b := range r.Boundaries {
				votes[b-p.Start]++
			}
		}
		delete(votes, p.End-p.Start)
		for at, n := range votes {
			if n == len(read) {
				p.yes[at] = true
			} else {
				p.split[at] = true
			}
		}
		for _, par := range paragraphs(p.text) {
			from := utf8.RuneCountInString(p.text[:par.at])
			to := from + utf8.RuneCountInString(strings.TrimRight(par.text, " \n"))
			for i := from; i < to; i++ {
				p.inner[i] = true
			}
		}
		passages = append(passages, p)
	}
	if len(passages) == 0 {
		return nil, nil, fmt.Errorf("the judged file is empty")
	}
	return passages, readers, nil
}

// compare counts one segmenter's ends, given in code points of each passage.
func compare(name string, passages []judged, ends [][]int, mbps float64) result {
	r := result{System: name, MBps: mbps}
	for i, p := range passages {
		got := map[int]bool{}
		for _, e := range ends[i] {
			if e != p.End-p.Start && !p.split[e] {
				got[e] = true
			}
		}
		count := func(c *counts, where func(int) bool) {
			for e := range got {
				switch {
				case !where(e):
				case p.yes[e]:
					c.Right++
				default:
					c.Extra++
				}
			}
			for e := range p.yes {
				if where(e) && !got[e] {
					c.Missed++
				}
			}
		}
		count(&r.Counts, func(int) bool { return true })
		count(&r.Inner, func(e int) bool { return p.inner[e] })
	}
	r.Precision, r.Recall, r.F1, r.InnerF1 = r.Counts.precision(), r.Counts.recall(), r.Counts.f1(), r.Inner.f1()
	return r
}

// mistakes prints each place where a segmenter differs from the readers.
func mistakes(_ context.Context, args []string, stdout, stderr io.Writer) error {
	fs, shared := newFlags("errors", stderr)
	file := fs.String("judged", defaultJudged, "judged `file`")
	name := fs.String("system", "retcon", "`segmenter`: retcon, uax29 alone, punkt (english), or readers for where they differ")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if err := needShared(*shared); err != nil {
		return err
	}
	rows, err := readJudged(*file)
	if err != nil {
		return err
	}
	passages, _, err := merge(*shared, rows)
	if err != nil {
		return err
	}
	systems, err := goSystems()
	if err != nil {
		return err
	}
	k := slices.IndexFunc(systems, func(s system) bool { return s.name == *name })
	if k < 0 && *name != "readers" {
		return fmt.Errorf("%w: no segmenter %q", errUsage, *name)
	}
	for _, p := range passages {
		runes := []rune(p.text)
		places := map[int]string{}
		if *name == "readers" {
			for e := range p.split {
				places[e] = "disputed"
			}
		} else {
			got := map[int]bool{}
			for _, b := range systems[k].ends(p.text) {
				e := utf8.RuneCountInString(p.text[:b])
				got[e] = true
				if !p.yes[e] && !p.split[e] && e != len(runes) {
					places[e] = "extra"
				}
			}
			for e := range p.yes {
				if !got[e] {
					places[e] = "missed"
				}
			}
		}
		var at []int
		for e := range places {
			at = append(at, e)
		}
		slices.Sort(at)
		for _, e := range at {
			fmt.Fprintf(stdout, "%-8s %s %s %d: %q <> %q\n", places[e], p.Source, p.Record, p.Start+e,
				string(runes[max(0, e-60):e]), string(runes[e:min(len(runes), e+60)]))
		}
	}
	return nil
}
