// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/sentences"
	punkt "github.com/neurosnap/sentences"
	"github.com/neurosnap/sentences/english"

	"github.com/retcon-bench/retcon/internal/text"
)

// system is a segmenter: it returns the sentence ends of a text as byte
// offsets, white space behind a sentence not included.
type system struct {
	name string
	ends func(s string) []int
}

// goSystems returns those that run in this process. All but ours get what
// anyone would give them: paragraphs one by one, wrapped lines joined (a
// single line end becomes a blank, so that offsets stay).
func goSystems() ([]system, error) {
	tok, err := english.NewSentenceTokenizer(nil)
	if err != nil {
		return nil, fmt.Errorf("punkt: %w", err)
	}
	return []system{
		{"retcon", retconEnds},
		{"uax29 alone", func(s string) []int { return byParagraph(s, uaxEnds) }},
		{"punkt (english)", func(s string) []int {
			return byParagraph(s, func(p string) []int { return punktEnds(tok, p) })
		}},
	}, nil
}

func retconEnds(s string) []int {
	rs := text.Sentences(s)
	ends := make([]int, len(rs))
	for i, r := range rs {
		ends[i] = r.End
	}
	return ends
}

func uaxEnds(p string) []int {
	var ends []int
	it := sentences.FromString(p)
	at := 0
	for it.Next() {
		v := it.Value()
		at += len(v)
		ends = append(ends, at-len(v)+len(strings.TrimSpace(v))+leading(v))
	}
	return ends
}

func leading(s string) int { return len(s) - len(strings.TrimLeft(s, " \n\t")) }

func punktEnds(tok *punkt.DefaultSentenceTokenizer, p string) []int {
	var ends []int
	at := 0
	for _, sent := range tok.Tokenize(p) {
		t := strings.TrimSpace(sent.Text)
		k := strings.Index(p[at:], t)
		if k < 0 || t == "" {
			continue
		}
		at += k + len(t)
		ends = append(ends, at)
	}
	return ends
}

// byParagraph joins the wrapped lines of each paragraph and shifts the ends it
// gets back to the whole text.
func byParagraph(s string, ends func(string) []int) []int {
	var out []int
	for _, p := range paragraphs(s) {
		for _, e := range ends(strings.ReplaceAll(p.text, "\n", " ")) {
			out = append(out, p.at+e)
		}
	}
	return out
}

type paragraph struct {
	at   int // bytes
	text string
}

var paragraphBreak = regexp.MustCompile(`\n[ \n]*\n`)

func paragraphs(s string) []paragraph {
	var out []paragraph
	at := 0
	for _, b := range append(paragraphBreak.FindAllStringIndex(s, -1), []int{len(s), len(s)}) {
		if strings.TrimSpace(s[at:b[0]]) != "" {
			out = append(out, paragraph{at, s[at:b[0]]})
		}
		at = b[1]
	}
	return out
}

// speed measures MB/s on texts, one core, for at least a second.
func (sys system) speed(texts []string) float64 {
	total := 0
	for _, s := range texts {
		total += len(s)
	}
	for _, s := range texts {
		sys.ends(s) // warm up
	}
	runtime.GC()
	start := time.Now()
	rounds := 0
	for time.Since(start) < time.Second {
		for _, s := range texts {
			sys.ends(s)
		}
		rounds++
	}
	return float64(total) * float64(rounds) / 1e6 / time.Since(start).Seconds()
}

// peersPy runs pysbd and BlingFire, where they are installed.
//
//go:embed peers.py
var peersPy string

// peerResult is what peers.py prints for one system.
type peerResult struct {
	System string  `json:"system"`
	Error  string  `json:"error"`
	Ends   [][]int `json:"ends"` // code points, for each text
	MBps   float64 `json:"mbps"`
}

// peers runs the Python segmenters on texts, and times them on bulk.
func peers(ctx context.Context, python string, texts, bulk []string) ([]peerResult, error) {
	type job struct {
		At    int    `json:"at"` // code points
		Text  string `json:"text"`
		Index int    `json:"index"`
	}
	jobs := func(texts []string) []job {
		var out []job
		for i, s := range texts {
			for _, p := range paragraphs(s) {
				out = append(out, job{utf8.RuneCountInString(s[:p.at]), strings.ReplaceAll(p.text, "\n", " "), i})
			}
		}
		return out
	}
	in, err := json.Marshal(map[string]any{"texts": len(texts), "jobs": jobs(texts), "bulk": jobs(bulk)})
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, python, "-c", peersPy)
	cmd.Stdin = bytes.NewReader(in)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s peers.py: %w\n%s", python, err, stderr.String())
	}
	var out []peerResult
	if err := json.Unmarshal(stdout.Bytes(), &out); err != nil {
		return nil, fmt.Errorf("peers.py printed no JSON: %w", err)
	}
	return out, nil
}
