// SPDX-License-Identifier: Apache-2.0

// Command parquet measures writing and reading a release's Parquet against
// pyarrow, polars and DuckDB, on the same rows.
//
//	go run ./scripts/bench/parquet -python PYTHON [-rows 200000] [-rounds 3] [-dir DIR]
//
// Rows are made up: stories of about 1,000 characters in sentences, with spans,
// all columns of an example. Every round runs each writer and each reader once,
// in turn, so that a busy machine is busy for all; the median of the rounds
// counts, and only ratios do. The others write what they read from our file, by
// the same compression and rows a group, and read that; a reader reads all
// columns.
//
// 200,000 rows on two quiet cores, 2026-11-30: ours wrote in 12.4 s (pyarrow 2.4,
// polars 1.1, duckdb 1.5) and read in 4.2 s (1.5, 0.5, 0.8), in 79.4 MB (77.0,
// 72.4, 70.0). What binds ours: a release is checked span by span as it is
// written, each row has a digest, and reading looks at every page's CRC first.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/retcon-bench/retcon/datasets"
	"github.com/retcon-bench/retcon/internal/report"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/splits"
)

const canary = "4f1c7a52-90de-4b7e-8f39-6d2b1c05e8a7"

func main() {
	python := flag.String("python", "python3", "interpreter with pyarrow, polars and duckdb")
	rows := flag.Int("rows", 200_000, "rows")
	rounds := flag.Int("rounds", 3, "rounds")
	profile := flag.String("cpuprofile", "", "write a CPU profile of our own part to this file")
	dir := flag.String("dir", "", "folder to work in; default: a temporary one")
	flag.Parse()
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			log.Fatal(err)
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			log.Fatal(err)
		}
		defer pprof.StopCPUProfile()
	}
	if *dir == "" {
		var err error
		if *dir, err = os.MkdirTemp("", "retcon-bench-"); err != nil {
			log.Fatal(err)
		}
		defer os.RemoveAll(*dir)
	}
	if err := bench(*python, *dir, *rows, *rounds); err != nil {
		log.Print(err) // not Fatal: the profile is written and the folder removed
		return
	}
}

func bench(python, dir string, n, rounds int) error {
	list := makeRows(n)
	peers, err := start(python)
	if err != nil {
		return err
	}
	defer peers.close()

	write, read := map[string][]float64{}, map[string][]float64{}
	size := map[string]int64{}
	names := []string{"retcon", "pyarrow", "polars", "duckdb"}
	first := ""
	for round := range rounds {
		out := filepath.Join(dir, fmt.Sprintf("r%d", round))
		t := time.Now()
		m, err := writeRelease(out, list)
		if err != nil {
			return err
		}
		write["retcon"] = append(write["retcon"], time.Since(t).Seconds())
		size["retcon"] = m.Files[0].Bytes
		switch first {
		case "":
			first = m.Files[0].SHA256
		case m.Files[0].SHA256:
		default:
			return fmt.Errorf("round %d wrote other bytes", round)
		}
		ours := filepath.Join(out, filepath.FromSlash(m.Files[0].Path))
		for _, name := range names[1:] {
			path := filepath.Join(dir, name+".parquet")
			r, err := peers.ask(name, ours, path)
			if err != nil {
				return err
			}
			if r.Rows != n {
				return fmt.Errorf("%s read %d rows", name, r.Rows)
			}
			write[name], read[name], size[name] = append(write[name], r.Write), append(read[name], r.Read), r.Bytes
		}
		t = time.Now()
		r, err := datasets.Open(out)
		if err != nil {
			return err
		}
		got := 0
		for _, err := range datasets.Rows[schemas.Example](r, splits.FlawedFictions, splits.Test) {
			if err != nil {
				return err
			}
			got++
		}
		if got != n {
			return fmt.Errorf("read %d rows", got)
		}
		read["retcon"] = append(read["retcon"], time.Since(t).Seconds())
		if err := os.RemoveAll(out); err != nil {
			return err
		}
	}
	t := &report.Table{Title: fmt.Sprintf("%d rows, median of %d rounds; a ratio above 1 is in our favour", n, rounds),
		Columns: []string{"", "write s", "write ratio", "read s", "read ratio", "bytes", "size ratio"}}
	for _, name := range names {
		t.Add(name, median(write[name]), median(write[name])/median(write["retcon"]), median(read[name]), median(read[name])/median(read["retcon"]),
			int(size[name]), float64(size[name])/float64(size["retcon"]))
	}
	t.Notes = append(t.Notes, "Our writing makes a whole release: it checks every span, digests and counts each row, and writes card and report. "+
		"Our reading scans every page's CRC and size first and builds Go records. The others write and read columns in memory.",
		fmt.Sprintf("All %d rounds wrote the same bytes.", rounds))
	return t.Write(os.Stdout, report.Text)
}

func median(x []float64) float64 {
	s := slices.Sorted(slices.Values(x))
	return s[len(s)/2]
}

func writeRelease(out string, list []schemas.Example) (schemas.Manifest, error) {
	r := schemas.DefaultRecipe()
	r.Name, r.Version, r.Date, r.Canary = "bench", "1.0.0", "2026-11-29", canary
	r.Release.RowsPerShard = len(list)
	m := schemas.Manifest{Format: 1, Name: r.Name, Version: r.Version, Date: r.Date, Canary: r.Canary, Recipe: r, State: schemas.StateComplete,
		Corpora: []schemas.CorpusUse{{Name: "bench", Licence: "CC0-1.0"}}}
	var err error
	if m.RecipeHash, err = datasets.RecipeHash(r); err != nil {
		return m, err
	}
	return datasets.Write(context.Background(), out, m, []datasets.Table{datasets.NewTable(splits.FlawedFictions, splits.Test, "example",
		func(yield func(schemas.Example, error) bool) {
			for _, e := range list {
				if !yield(e, nil) {
					return
				}
			}
		})}, datasets.WriteOptions{})
}

// makeRows makes originals of random sentences, in order of their ids.
func makeRows(n int) []schemas.Example {
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("the a miller river lamp walked slept found lost red blue old king daughter under over bread night and but he she it was had to of in " +
		"café Zoë harbour window stone bridge quiet sudden winter letter garden horse brother morning silver candle door answered carried whispered")
	list := make([]schemas.Example, 0, n)
	for i := range n {
		var b strings.Builder
		for s := range 10 + r.IntN(14) {
			if s > 0 {
				b.WriteString(" ")
			}
			b.WriteString("The")
			for range 6 + r.IntN(8) {
				b.WriteString(" " + words[r.IntN(len(words))])
			}
			b.WriteString(".")
		}
		text := b.String()
		story := schemas.Story{StoryID: fmt.Sprintf("bench:%06d", i), GroupID: fmt.Sprintf("bench:%06d", i), TextHash: schemas.HashText(text), Language: "en",
			Title: "A Tale", Words: len(strings.Fields(text)), Text: text,
			Source: schemas.Source{Corpus: "bench", ID: fmt.Sprint(i), Licence: "CC0-1.0", Redistribute: schemas.RedistributeText}}
		e, err := splits.Original(story, splits.Choice{Config: splits.FlawedFictions, Split: splits.Test, Variant: schemas.VariantOriginal}, splits.Stamp{Version: "1.0.0", Canary: canary})
		if err != nil {
			log.Fatal(err)
		}
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b schemas.Example) int { return strings.Compare(a.ExampleID, b.ExampleID) })
	return list
}

// peers is a Python process that stays, so that no start of an interpreter is
// measured.
type peers struct {
	cmd *exec.Cmd
	in  *json.Encoder
	out *bufio.Scanner
}

type answer struct {
	Write, Read float64
	Bytes       int64
	Rows        int
	Error       string
}

func start(python string) (*peers, error) {
	cmd := exec.Command(python, "scripts/bench/parquet/peers.py")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &peers{cmd, json.NewEncoder(in), bufio.NewScanner(out)}, cmd.Start()
}

func (p *peers) ask(name, from, to string) (answer, error) {
	var a answer
	if err := p.in.Encode(map[string]string{"peer": name, "from": from, "to": to}); err != nil {
		return a, err
	}
	if !p.out.Scan() {
		return a, fmt.Errorf("%s: Python is gone: %v", name, p.out.Err())
	}
	if err := json.Unmarshal(p.out.Bytes(), &a); err != nil {
		return a, err
	}
	if a.Error != "" {
		return a, fmt.Errorf("%s: %s", name, a.Error)
	}
	return a, nil
}

func (p *peers) close() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}
