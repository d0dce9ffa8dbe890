// SPDX-License-Identifier: Apache-2.0

// Command jsonarray shows that an array of several GB needs no more memory
// than its largest element.
//
// It generates an array in the shape of a LongLaMP topic-writing split (rows
// are generated, not real: LongLaMP itself is not redistributable here), reads
// it with fetch.JSONArray and prints rows, MB/s and the process's peak memory:
//
//	go run ./scripts/bench/jsonarray -gb 5
//	go run ./scripts/bench/jsonarray -gb 5 -file /tmp/longlamp.json   # through a real file and fetch.Walk
//	go run ./scripts/bench/jsonarray -gb 5 -file x.json -keep         # leave it for retcon ingest
//
// Elements have between 1 kB and about 2 MB, the spread of profiles with up to
// 2,458 entries; the same size and seed give the same bytes.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/retcon-bench/retcon/internal/fetch"
)

func main() {
	gb := flag.Float64("gb", 5, "size of the array in GB (10^9 bytes)")
	file := flag.String("file", "", "write the array to this file and read that; empty: read it as it is generated")
	keep := flag.Bool("keep", false, "keep the file")
	decode := flag.Bool("decode", false, "decode each row too, as an ingest step does")
	flag.Parse()
	if err := run(int64(*gb*1e9), *file, *keep, *decode); err != nil {
		fmt.Fprintln(os.Stderr, "jsonarray:", err)
		os.Exit(1)
	}
}

func run(size int64, file string, keep, decode bool) error {
	g := newGenerator(size)
	if file == "" {
		return measure("generated on the fly", g, decode)
	}
	if err := fetch.WriteFileAtomic(file, 0o644, func(w io.Writer) error { _, err := io.Copy(w, g); return err }); err != nil {
		return err
	}
	if !keep {
		defer os.Remove(file)
	}
	// A bare pass over the same file first: what the disk alone costs.
	start := time.Now()
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	n, err := io.Copy(struct{ io.Writer }{io.Discard}, f)
	f.Close()
	if err != nil {
		return err
	}
	fmt.Printf("bare read: %.0f MB/s\n", float64(n)/1e6/time.Since(start).Seconds())
	for f, err := range fetch.Walk(context.Background(), file, fetch.Limits{}) {
		if err != nil {
			return err
		}
		r, err := f.Open()
		if err != nil {
			return err
		}
		err = measure(filepath.Base(file), r, decode)
		if cerr := r.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// row is what an ingest step wants of an element.
type row struct {
	Author  string `json:"author"`
	Input   string `json:"input"`
	Output  string `json:"output"`
	Profile []struct {
		Content string `json:"content"`
	} `json:"profile"`
}

func measure(name string, r io.Reader, decode bool) error {
	start := time.Now()
	c := &counter{r: r}
	rows, largest := 0, 0
	for e, err := range fetch.JSONArray(c, fetch.RowOptions{Name: name}) {
		if err != nil {
			return err
		}
		rows++
		largest = max(largest, len(e.Data))
		if decode {
			var v row
			if err := json.Unmarshal(e.Data, &v); err != nil {
				return fmt.Errorf("row %d: %w", e.N, err)
			}
		}
	}
	took := time.Since(start)
	fmt.Printf("%s: %.2f GB, %d rows, largest %.1f MB, %.1f s, %.0f MB/s, peak memory %s\n",
		name, float64(c.n)/1e9, rows, float64(largest)/1e6, took.Seconds(), float64(c.n)/1e6/took.Seconds(), peak())
	return nil
}

type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// peak is the process's highest resident size, where the system tells it.
func peak() string {
	if f, err := os.Open("/proc/self/status"); err == nil {
		defer f.Close()
		for s := bufio.NewScanner(f); s.Scan(); {
			if rest, ok := strings.CutPrefix(s.Text(), "VmHWM:"); ok {
				return strings.TrimSpace(rest) + " resident"
			}
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return fmt.Sprintf("%d kB from the system (Go's count)", m.Sys/1024)
}

// A generator hands out "[", elements from a fixed pool in a random order, "]".
type generator struct {
	rng  *rand.Rand
	pool [][]byte
	left int64
	buf  []byte
	end  bool
}

func newGenerator(size int64) *generator {
	g := &generator{rng: rand.New(rand.NewPCG(1, 2)), left: size, buf: []byte("[\n")}
	for i := range 64 {
		entries := 1 + g.rng.IntN(40)
		if i == 0 {
			entries = 2458
		}
		g.pool = append(g.pool, g.element(entries))
	}
	return g
}

var words = strings.Fields(`the old lamp stood by a window and nobody knew who had lit it when winter came to town "Where?" she said, never mind \ über 你好`)

func (g *generator) text(n int) string {
	var b strings.Builder
	for range n {
		b.WriteString(words[g.rng.IntN(len(words))])
		b.WriteByte(" \n"[min(1, g.rng.IntN(12)/11)])
	}
	return b.String()
}

func (g *generator) element(entries int) []byte {
	type entry struct {
		Author  string `json:"author"`
		ID      string `json:"id"`
		Summary string `json:"summary"`
		Content string `json:"content"`
	}
	author := fmt.Sprintf("author%d", g.rng.IntN(1e6))
	v := struct {
		Author  string  `json:"author"`
		Input   string  `json:"input"`
		Output  string  `json:"output"`
		Profile []entry `json:"profile"`
	}{Author: author, Input: "Generate the content for a reddit post " + g.text(12), Output: g.text(200)}
	for range entries {
		v.Profile = append(v.Profile, entry{author, fmt.Sprint(g.rng.IntN(1e9)), g.text(12), g.text(150)})
	}
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // no value of this type fails
	}
	return data
}

func (g *generator) Read(p []byte) (int, error) {
	if len(g.buf) == 0 {
		if g.end {
			return 0, io.EOF
		}
		g.buf = g.pool[g.rng.IntN(len(g.pool))]
		if g.left -= int64(len(g.buf)); g.left <= 0 {
			g.buf, g.end = append(g.buf[:len(g.buf):len(g.buf)], "\n]\n"...), true
		} else {
			g.buf = append(g.buf[:len(g.buf):len(g.buf)], ",\n"...)
		}
	}
	n := copy(p, g.buf)
	g.buf = g.buf[n:]
	return n, nil
}
