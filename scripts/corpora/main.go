// SPDX-License-Identifier: Apache-2.0

// Command corpora reads corpora as ingest does and prints what came out: files,
// stories, queries, what was set aside by reason, words, MB/s and peak memory.
//
//	go run ./scripts/corpora -dir ../shared/corpora                     # every folder there named after a corpus
//	go run ./scripts/corpora -corpus longlamp=/data/longlamp.json       # one corpus, anywhere
//	go run ./scripts/corpora -corpus writingprompts=DIR -sample 10      # and ten random records, to be read
//	go run ./scripts/corpora -fetch writingprompts -to DIR              # download it from its upstream first
//	go run ./scripts/corpora -corpus longbench_write=DIR -settings 'longbench_write={"languages":[]}'
//
// Each corpus runs in a process of its own, so that its peak memory and processor
// time are its own; on a busy machine MB/CPU s is the figure that counts. Nothing
// is written but by -fetch.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/retcon-bench/retcon/ingest"
	"github.com/retcon-bench/retcon/ingest/all"
	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/internal/pipeline"
	"github.com/retcon-bench/retcon/internal/report"
	"github.com/retcon-bench/retcon/schemas"
)

// named is a repeatable flag name=value.
type named [][2]string

func (n *named) String() string { return "" }

func (n *named) Set(s string) error {
	name, value, ok := strings.Cut(s, "=")
	if !ok {
		return errors.New("want name=value")
	}
	*n = append(*n, [2]string{name, value})
	return nil
}

type options struct {
	dir      string
	corpora  named
	settings named
	workers  int
	sample   int
	seed     uint64
	chars    int
	format   string
	fetch    string
	to       string
	child    bool
}

func main() {
	var o options
	flag.StringVar(&o.dir, "dir", "", "folder with one folder a corpus, named as recipes name it")
	flag.Var(&o.corpora, "corpus", "name=path of one corpus; repeatable, beside or in place of -dir")
	flag.Var(&o.settings, "settings", `name={"key":value} over the corpus's defaults; repeatable`)
	flag.IntVar(&o.workers, "workers", runtime.NumCPU(), "parsers side by side")
	flag.IntVar(&o.sample, "sample", 0, "print so many random records of each corpus")
	flag.Uint64Var(&o.seed, "seed", 1, "of the sample")
	flag.IntVar(&o.chars, "chars", 1500, "of each sampled text's beginning, and a third as many of its end")
	flag.StringVar(&o.format, "format", report.Text, "text, markdown, csv or json")
	flag.StringVar(&o.fetch, "fetch", "", "download this corpus to the folder -to")
	flag.StringVar(&o.to, "to", "", "folder for -fetch")
	flag.BoolVar(&o.child, "child", false, "internal: read the one corpus named and print JSON")
	flag.Parse()
	if err := run(context.Background(), o, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "corpora:", err)
		os.Exit(1)
	}
}

// result is what reading a corpus came to.
type result struct {
	Files, Rows, Stories, Queries, Words, Bad int
	Bytes                                     int64
	Reasons                                   map[string]int
	Seconds                                   float64
	Peak                                      int64 // kB resident
	Error                                     string
}

func run(ctx context.Context, o options, stdout, stderr io.Writer) error {
	if o.child {
		return child(ctx, o, stdout)
	}
	if o.fetch != "" {
		return download(ctx, o, stdout)
	}
	list := slices.Clone(o.corpora)
	if o.dir != "" {
		for _, c := range all.Corpora {
			p := filepath.Join(o.dir, c.Name)
			if _, err := os.Stat(p); err == nil {
				list = append(list, [2]string{c.Name, p})
			}
		}
	}
	if len(list) == 0 {
		return errors.New("no corpus named: use -dir or -corpus name=path")
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	counts := &report.Table{Title: "What was read", Columns: []string{"corpus", "format tested on", "files", "rows", "stories", "queries", "words", "set aside", "unreadable", "MB", "MB/s", "MB/CPU s", "peak MB"}}
	reasons := &report.Table{Title: "Set aside, by reason", Columns: []string{"corpus", "reason", "records"}}
	failed := false
	for _, n := range list {
		c, ok := all.Find(n[0])
		if !ok {
			return fmt.Errorf("no corpus is called %q (known: %s)", n[0], strings.Join(all.Names(), ", "))
		}
		args := []string{"-child", "-corpus", n[0] + "=" + n[1], "-workers", fmt.Sprint(o.workers), "-sample", fmt.Sprint(o.sample), "-seed", fmt.Sprint(o.seed), "-chars", fmt.Sprint(o.chars)}
		for _, s := range o.settings {
			args = append(args, "-settings", s[0]+"="+s[1])
		}
		cmd := exec.CommandContext(ctx, self, args...)
		cmd.Stderr = stderr
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("%s: %w", n[0], err)
		}
		cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		head, sample, _ := strings.Cut(string(out), "\n")
		var r result
		if err := json.Unmarshal([]byte(head), &r); err != nil {
			return fmt.Errorf("%s: %w", n[0], err)
		}
		if r.Error != "" {
			failed = true
			fmt.Fprintf(stderr, "%s: %s\n", n[0], r.Error)
		}
		aside := 0
		var keys []string
		for k, v := range r.Reasons {
			aside += v
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			reasons.Add(n[0], k, r.Reasons[k])
		}
		mb := float64(r.Bytes) / 1e6
		counts.Add(n[0], c.Tested, r.Files, r.Rows, r.Stories, r.Queries, r.Words, aside, r.Bad,
			fmt.Sprintf("%.2f", mb), fmt.Sprintf("%.1f", mb/max(r.Seconds, 1e-9)), fmt.Sprintf("%.1f", mb/max(cpu.Seconds(), 1e-9)), fmt.Sprintf("%.0f", float64(r.Peak)/1024))
		if o.sample > 0 {
			fmt.Fprintf(stdout, "======== %s\n%s\n", n[0], sample)
		}
	}
	if err := counts.Write(stdout, o.format); err != nil {
		return err
	}
	fmt.Fprintln(stdout)
	if err := reasons.Write(stdout, o.format); err != nil {
		return err
	}
	if failed {
		return errors.New("some corpora could not be read")
	}
	return nil
}

// download gets a corpus's files from its upstream.
func download(ctx context.Context, o options, stdout io.Writer) error {
	if o.to == "" {
		return errors.New("-fetch needs a folder: -to DIR")
	}
	files, err := all.Downloads(o.fetch)
	if err != nil {
		return err
	}
	client := &fetch.Client{}
	defer client.Close()
	return all.Fetch(ctx, client, files, o.to, func(d all.Download, r fetch.Result) {
		fmt.Fprintf(stdout, "%s  %d bytes  sha256 %s\n", d.Path, r.Size, r.SHA256)
	})
}

// child reads one corpus.
func child(ctx context.Context, o options, stdout io.Writer) error {
	name, root := o.corpora[0][0], o.corpora[0][1]
	c, _ := all.Find(name)
	settings, err := over(c, o.settings)
	if err != nil {
		return err
	}
	r := result{Reasons: map[string]int{}}
	rng := rand.New(rand.NewPCG(o.seed, 9))
	var kept []schemas.Story
	seen := 0
	ids := map[string]bool{}
	start := time.Now()
	load := func(ctx context.Context, it ingest.Item) (ingest.Batch, error) { return it.Load(ctx) }
	for b, err := range pipeline.Map(ctx, o.workers, c.Open(ctx, root, settings), load) {
		if err != nil {
			r.Error = err.Error()
			break
		}
		r.Rows += b.Rows
		r.Bad += b.Bad
		for _, f := range b.Files {
			r.Files++
			r.Bytes += f.Bytes
		}
		for _, d := range b.Dropped {
			r.Reasons[d.Reason]++
		}
		for _, s := range b.Stories {
			if ids[s.StoryID] {
				r.Reasons["repeated_id"]++
				continue
			}
			ids[s.StoryID] = true
			if s.Kind == schemas.KindQuery {
				r.Queries++
			} else {
				r.Stories++
			}
			r.Words += s.Words
			if seen++; len(kept) < o.sample {
				kept = append(kept, s)
			} else if k := rng.IntN(seen); k < o.sample {
				kept[k] = s
			}
		}
	}
	r.Seconds = time.Since(start).Seconds()
	r.Peak = peak()
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s\n", line)
	for _, s := range kept {
		show(stdout, s, o.chars)
	}
	return nil
}

// over lays the settings given for c over its defaults, as a recipe does.
func over(c ingest.Corpus, settings named) (json.RawMessage, error) {
	m := map[string]json.RawMessage{}
	if err := json.Unmarshal(c.Defaults, &m); err != nil {
		return nil, err
	}
	for _, s := range settings {
		if s[0] != c.Name {
			continue
		}
		if err := json.Unmarshal([]byte(s[1]), &m); err != nil {
			return nil, fmt.Errorf("settings of %s: %w", c.Name, err)
		}
	}
	return json.Marshal(m)
}

func show(w io.Writer, s schemas.Story, chars int) {
	body := []rune(s.Text)
	text := s.Text
	if len(body) > chars*4/3 {
		text = string(body[:chars]) + "\n   [...]\n" + string(body[len(body)-chars/3:])
	}
	fmt.Fprintf(w, "-- %s  %s  %s  %d words  %s/%s\n   title %q  file %s\n   meta %v\n   removed %d, facts %d, sections %d, repaired %d\n%s\n",
		s.StoryID, s.Kind, s.Language, s.Words, s.Source.Licence, s.Source.Redistribute, s.Title, s.Source.File, s.Meta,
		len(s.Removed), len(s.Facts), len(s.Sections), s.Source.Repaired, text)
	if s.Target != "" {
		t := []rune(s.Target)
		fmt.Fprintf(w, "   target: %s\n", string(t[:min(len(t), chars/3)]))
	}
	fmt.Fprintln(w)
}

// peak is the process's highest resident size in kB, 0 where the system does
// not tell.
func peak() int64 {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if rest, ok := strings.CutPrefix(s.Text(), "VmHWM:"); ok {
			var kb int64
			if _, err := fmt.Sscanf(rest, "%d", &kb); err == nil {
				return kb
			}
		}
	}
	return 0
}
