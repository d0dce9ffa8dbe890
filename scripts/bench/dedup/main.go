// SPDX-License-Identifier: Apache-2.0

// Command dedup measures transform/dedup against datasketch, rensa, datatrove
// and github.com/ekzhu/minhash-lsh: on the same file, in alternating runs, each
// in a process of its own on one core. It prints documents and megabytes a
// second of processor time, peak memory, recall on planted duplicates and
// precision against true Jaccard and containment, and the ratios of medians.
//
// Everything counts from a file of lines on: reading, cutting into words,
// signing, indexing, finding pairs; for ours also verifying every pair on the
// texts and deciding. run.sh makes the Python environment and calls it.
//
//	scripts/bench/dedup/run.sh -n 10000
//	scripts/bench/dedup/run.sh -n 10000,100000,1000000 -tools retcon   # time and memory as the input grows
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform/dedup"
)

func main() {
	log.SetFlags(0)
	sizes := flag.String("n", "10000", "documents, several parted by commas")
	words := flag.Int("words", 700, "words a document, on average")
	rounds := flag.Int("rounds", 3, "runs of each tool")
	tools := flag.String("tools", "retcon,rensa,datasketch,datatrove,minhash-lsh", "tools, parted by commas")
	python := flag.String("python", "", "python with datasketch, rensa and datatrove; empty = Go alone")
	dir := flag.String("dir", "", "working folder; empty = a temporary one, removed at the end")
	memory := flag.Int64("memory", 0, "Settings.Memory of retcon, in bytes")
	profile := flag.String("cpuprofile", "", "write a profile of a run (-one) to this file")
	one := flag.String("one", "", "run retcon or minhash-lsh on a file and write pairs: what is timed")
	flag.Parse()
	var err error
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			log.Fatal(err)
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			log.Fatal(err)
		}
		defer pprof.StopCPUProfile()
	}
	if *one != "" {
		err = runOne(*one, flag.Arg(0), flag.Arg(1), *memory)
	} else {
		err = compare(*sizes, *words, *rounds, strings.Split(*tools, ","), *python, *dir, *memory)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// took is what a run reports.
type took struct {
	CPU  float64 `json:"cpu"`  // seconds of processor time
	Wall float64 `json:"wall"` // seconds
	Peak int64   `json:"peak"` // resident bytes
	Base int64   `json:"base"` // before the run
	Live int64   `json:"live"` // bytes a choice holds for all documents (ours)
}

func compare(sizes string, words, rounds int, tools []string, python, dir string, memory int64) error {
	if dir == "" {
		tmp, err := os.MkdirTemp("", "dedup-bench")
		if err != nil {
			return err
		}
		defer os.RemoveAll(tmp)
		dir = tmp
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	type point struct{ n, cpu float64 }
	var growth []point
	for _, field := range strings.Split(sizes, ",") {
		n, err := strconv.Atoi(field)
		if err != nil {
			return fmt.Errorf("-n: %w", err)
		}
		file := filepath.Join(dir, fmt.Sprintf("%d.tsv", n))
		truth, err := generate(file, n, words, 1)
		if err != nil {
			return err
		}
		texts, bytes, err := newTruth(file)
		if err != nil {
			return err
		}
		planted := len(truth)
		for i := range truth[:min(planted, sampled)] { // in order of a shuffle already
			truth[i].jaccard, _ = texts.measure(truth[i].id, truth[i].of)
		}
		truth = truth[:min(planted, sampled)]
		fmt.Printf("%d documents, %.1f MB, %d planted near-duplicates and excerpts, %s, %d rounds\n",
			n, float64(bytes)/1e6, planted, runtime.Version(), rounds)
		runs := map[string][]took{}
		for range rounds {
			for _, tool := range tools {
				pairs := filepath.Join(dir, tool+".pairs")
				cmd := exec.Command(self, "-one", tool, "-memory", fmt.Sprint(memory), file, pairs)
				if tool != "retcon" && tool != "minhash-lsh" {
					if python == "" {
						continue
					}
					cmd = exec.Command(python, filepath.Join("scripts", "bench", "dedup", "peers.py"), tool, file, pairs)
				}
				cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", "RAYON_NUM_THREADS=1")
				var log strings.Builder
				cmd.Stderr = &log
				out, err := cmd.Output()
				if err != nil {
					return fmt.Errorf("%s: %w\n%s", tool, err, log.String())
				}
				var t took
				if err := json.Unmarshal(out[strings.LastIndexByte(strings.TrimSpace(string(out)), '\n')+1:], &t); err != nil {
					return fmt.Errorf("%s printed %q: %w", tool, out, err)
				}
				runs[tool] = append(runs[tool], t)
			}
		}
		median := func(tool string, f func(took) float64) float64 {
			var v []float64
			for _, t := range runs[tool] {
				v = append(v, f(t))
			}
			slices.Sort(v)
			return v[len(v)/2]
		}
		cpu := func(t took) float64 { return t.CPU }
		fmt.Printf("%-12s %10s %8s %9s %10s %8s %8s %9s %9s\n", "tool", "docs/s", "MB/s", "peak MB", "bytes/doc", "near", "excerpt", "precision", "time/ours")
		for _, tool := range tools {
			if len(runs[tool]) == 0 {
				continue
			}
			s := median(tool, cpu)
			near, excerpt, precision, err := judge(filepath.Join(dir, tool+".pairs"), truth, texts)
			if err != nil {
				return err
			}
			live := median(tool, func(t took) float64 { return float64(t.Live) }) / float64(n)
			if live == 0 {
				live = median(tool, func(t took) float64 { return float64(t.Peak - t.Base) }) / float64(n)
			}
			fmt.Printf("%-12s %10.0f %8.1f %9.0f %10.0f %7.2f%% %7.2f%% %8.2f%% %9.2f\n", tool, float64(n)/s, float64(bytes)/1e6/s,
				median(tool, func(t took) float64 { return float64(t.Peak) })/1e6, live, 100*near, 100*excerpt, 100*precision, s/median(tools[0], cpu))
		}
		growth = append(growth, point{float64(n), median(tools[0], cpu)})
	}
	for i := 1; i < len(growth); i++ {
		a, b := growth[i-1], growth[i]
		fmt.Printf("%s: from %.0f to %.0f documents the time grows with exponent %.3f\n", tools[0], a.n, b.n, math.Log(b.cpu/a.cpu)/math.Log(b.n/a.n))
	}
	return nil
}

// sampled is how many planted documents and pairs of a tool are measured on
// their texts.
const sampled = 10_000

// judge reads a tool's pairs. Recall: planted documents that the pairs connect
// with what they were made from, of those over the thresholds. Precision: pairs
// that are duplicates by true Jaccard or containment.
func judge(path string, truth []planted, texts *truthTexts) (near, excerpt, precision float64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, 0, 0, err
	}
	defer f.Close()
	parent := map[string]string{}
	var find func(x string) string
	find = func(x string) string {
		if p, ok := parent[x]; ok && p != x {
			parent[x] = find(p)
			return parent[x]
		}
		return x
	}
	all, right := 0, 0
	for sc := bufio.NewScanner(f); sc.Scan(); {
		a, b, _ := strings.Cut(sc.Text(), "\t")
		if all < sampled {
			all++
			if j, c := texts.measure(a, b); j >= 0.30 || c >= 0.80 {
				right++
			}
		}
		parent[find(a)] = find(b)
	}
	var found, total [2]float64
	for _, p := range truth {
		kind := 0
		if p.kind == "excerpt" {
			kind = 1
		} else if p.jaccard < 0.30 {
			continue
		}
		total[kind]++
		if find(p.id) == find(p.of) {
			found[kind]++
		}
	}
	return found[0] / total[0], found[1] / total[1], float64(right) / math.Max(float64(all), 1), nil
}

// truthTexts measures pairs without the package under test, from the file.
type truthTexts struct {
	file *os.File
	at   map[string][2]int64
}

func newTruth(path string) (*truthTexts, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	t := &truthTexts{file: f, at: map[string][2]int64{}}
	var offset, bytes int64
	err = eachLine(f, func(line []byte) error {
		s := parse(line)
		t.at[s.StoryID] = [2]int64{offset, int64(len(line))}
		offset += int64(len(line))
		bytes += int64(len(s.Text))
		return nil
	})
	return t, bytes, err
}

func (t *truthTexts) shingles(id string) map[string]bool {
	at := t.at[id]
	b := make([]byte, at[1])
	if _, err := t.file.ReadAt(b, at[0]); err != nil {
		log.Fatal(err)
	}
	w := strings.FieldsFunc(strings.ToLower(parse(b).Text), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	set := map[string]bool{}
	for i := 0; i+5 <= len(w); i++ {
		set[strings.Join(w[i:i+5], " ")] = true
	}
	return set
}

func (t *truthTexts) measure(a, b string) (jaccard, containment float64) {
	x, y := t.shingles(a), t.shingles(b)
	both := 0
	for k := range x {
		if y[k] {
			both++
		}
	}
	return float64(both) / float64(len(x)+len(y)-both), float64(both) / float64(min(len(x), len(y)))
}

// parse reads a line of a generated file.
func parse(line []byte) schemas.Story {
	id, text, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), "\t")
	return schemas.Story{StoryID: strings.Clone(id), Kind: schemas.KindStory, Text: text, Source: schemas.Source{Corpus: "gen"}}
}

func eachLine(r io.Reader, f func([]byte) error) error {
	br := bufio.NewReaderSize(r, 1<<20)
	for {
		line, err := br.ReadBytes('\n')
		if len(line) > 0 {
			if err := f(line); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// runOne is a timed run of ours: signatures, choice, pairs of duplicate and
// kept story.
func runOne(tool, file, pairs string, memory int64) error {
	set := dedup.Settings{DedupRecipe: schemas.DefaultRecipe().Dedup, Memory: memory}
	set.MaxCluster = 0
	if tool == "minhash-lsh" {
		set.Index, set.Excerpts, set.Memory = dedup.IndexMinhashLSH, false, 0
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	out, err := os.Create(pairs)
	if err != nil {
		return err
	}
	defer out.Close()
	var t took
	_, t.Base = usage()
	start, _ := usage()
	wall := time.Now()

	x := dedup.NewIndex(set)
	defer x.Close()
	starts := []int64{0} // of each line; ids are numbered as the lines are
	err = eachLine(f, func(line []byte) error {
		starts = append(starts, starts[len(starts)-1]+int64(len(line)))
		return x.Add(dedup.Sign(parse(line), set))
	})
	if err != nil {
		return err
	}
	fetch := func(id string) (s schemas.Story, err error) {
		i, err := strconv.Atoi(strings.TrimPrefix(id, "gen:"))
		if err != nil {
			return s, err
		}
		b := make([]byte, starts[i+1]-starts[i])
		if _, err := f.ReadAt(b, starts[i]); err != nil {
			return s, err
		}
		return parse(b), nil
	}
	d, err := x.Choose(context.Background(), fetch)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(out)
	for _, dup := range d.Duplicates {
		fmt.Fprintf(w, "%s\t%s\n", dup.StoryID, dup.KeptID)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	end, peak := usage()
	t.CPU, t.Wall, t.Peak = end-start, time.Since(wall).Seconds(), peak
	if tool == "retcon" {
		t.Live, err = live(f, set)
		if err != nil {
			return err
		}
	}
	return json.NewEncoder(os.Stdout).Encode(t)
}

// live signs the file again, untimed, and returns what the signatures hold.
func live(f *os.File, set dedup.Settings) (int64, error) {
	heap := func() int64 {
		debug.FreeOSMemory()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	before := heap()
	x := dedup.NewIndex(set)
	defer x.Close()
	err := eachLine(f, func(line []byte) error {
		return x.Add(dedup.Sign(parse(line), set))
	})
	held := heap() - before
	runtime.KeepAlive(x)
	return held, err
}

// usage returns the processor time in seconds and the peak resident bytes. The
// peak of getrusage would be inherited from the process that started this one.
func usage() (cpu float64, peak int64) {
	cpu, err := processorTime()
	if err != nil {
		log.Fatal(err)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		log.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	if _, err := fmt.Sscan(rest, &peak); err != nil {
		log.Fatal("peak memory: ", err)
	}
	return cpu, peak << 10
}
