// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"unicode/utf8"
)

// kinds are ten kinds of text; a sample holds one passage of each, from one of
// its sources. Paths are in the shared folder, and * stands for any name.
var kinds = [][]string{
	{"corpora/gutenberg/files/503/503-0.txt", "corpora/gutenberg/files/640/640.txt", "corpora/gutenberg/files/3454/3454-0.txt"},
	{"corpora/gutenberg/files/8933/8933-8.txt", "corpora/gutenberg/files/14241/14241-8.txt", "corpora/gutenberg/files/7439/7439-0.txt"},
	{"corpora/gutenberg/files/2814/2814-0.txt", "corpora/gutenberg/files/13707/13707-8.txt", "corpora/gutenberg/files/15250/15250-8.txt"},
	{"corpora/gutenberg/files/16981/16981.txt", "corpora/gutenberg/files/2892/2892-0.txt", "corpora/gutenberg/files/4018/4018.txt"},
	{"corpora/gutenberg/renamed/pg-sherlock_holmes.txt", "corpora/gutenberg/renamed/pg-metamorphosis.txt"},
	{"corpora/gutenberg/files/5314/5314-8.txt", "corpora/gutenberg/cache/epub/2591/pg2591.txt", "corpora/gutenberg/files/7277/old/8gfry10.txt"},
	{"corpora/gutenberg/files/2781/2781-0.txt", "corpora/gutenberg/files/1597/1597-0.txt", "corpora/gutenberg/cache/epub/500/pg500.txt", "corpora/gutenberg/files/873/873-0.txt"},
	{"corpora/fairytaleqa/data-by-origin/section-stories/*/*-story.csv"},
	{"oracles/constory/data/stories/claude_sonnet_45_mem.jsonl"},
	{"oracles/constory/data/stories/gpt_4o_mini_mem.jsonl"},
}

// passage is a piece of a text, and later what a reader made of it: a row of
// the judged file. Offsets are code points in the frozen record.
type passage struct {
	Source     string `json:"source"`
	Record     string `json:"record"`
	TextHash   string `json:"text_hash"` // SHA-256 of the passage, in hex
	Start      int    `json:"start"`
	End        int    `json:"end"`
	Boundaries []int  `json:"boundaries,omitempty"` // sentence ends
	Reader     string `json:"reader,omitempty"`

	text string
}

// indexName is the file that tells collect what the passages are.
const indexName = "passages.json"

func sample(_ context.Context, args []string, stdout, stderr io.Writer) error {
	fs, shared := newFlags("sample", stderr)
	out := fs.String("out", "", "`folder` for the passages, outside the repository: texts are not committed")
	seed := fs.Uint64("seed", 1, "draws other passages")
	want := fs.Int("boundaries", 35, "about so many sentences a passage")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if *out == "" {
		return fmt.Errorf("%w: sample needs -out FOLDER", errUsage)
	}
	if err := needShared(*shared); err != nil {
		return err
	}
	passages, err := draw(*shared, *seed, *want)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(*out, 0o777); err != nil {
		return err
	}
	index, err := json.MarshalIndent(passages, "", "  ")
	if err != nil {
		return err
	}
	for i, p := range passages {
		name := passageName(i)
		if err := os.WriteFile(filepath.Join(*out, name), []byte(p.text+"\n"), 0o666); err != nil {
			return err
		}
		fmt.Fprintf(stdout, "%s  %s %s [%d,%d)\n", name, p.Source, p.Record, p.Start, p.End)
	}
	return os.WriteFile(filepath.Join(*out, indexName), append(index, '\n'), 0o666)
}

func passageName(i int) string { return fmt.Sprintf("passage-%02d.txt", i+1) }

// draw picks a passage of each kind. Same seed and files, same passages.
func draw(shared string, seed uint64, want int) ([]passage, error) {
	var out []passage
	for i, patterns := range kinds {
		rng := random(seed, i)
		var files []string
		for _, p := range patterns {
			found, err := filepath.Glob(filepath.Join(shared, filepath.FromSlash(p)))
			if err != nil {
				return nil, err
			}
			files = append(files, found...)
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("no file %s in %s", strings.Join(patterns, " or "), shared)
		}
		sort.Strings(files)
		p, err := drawFrom(shared, files, rng, want)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// random returns the stream of one kind, so that a new kind moves no other.
func random(seed uint64, kind int) *rand.Rand {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:8], seed)
	binary.LittleEndian.PutUint64(b[8:], uint64(kind))
	h := sha256.Sum256(b[:])
	return rand.New(rand.NewPCG(binary.LittleEndian.Uint64(h[:8]), binary.LittleEndian.Uint64(h[8:16])))
}

// drawFrom tries files, records and places until a passage will do.
func drawFrom(shared string, files []string, rng *rand.Rand, want int) (passage, error) {
	for range 500 {
		file := files[rng.IntN(len(files))]
		rel, err := filepath.Rel(shared, file)
		if err != nil {
			return passage{}, err
		}
		p := passage{Source: filepath.ToSlash(rel)}
		ids, err := recordIDs(shared, p.Source)
		if err != nil {
			return passage{}, err
		}
		if len(ids) == 0 {
			return passage{}, fmt.Errorf("%s has no record with a story", p.Source)
		}
		p.Record = ids[rng.IntN(len(ids))]
		s, err := frozen(shared, p.Source, p.Record)
		if err != nil {
			return passage{}, err
		}
		if cutPassage(s, rng, want, &p) {
			return p, nil
		}
	}
	return passage{}, fmt.Errorf("no passage of %d sentences in %s and %d others", want, files[0], len(files)-1)
}

var (
	blankLines = regexp.MustCompile(`\n\n+`)
	// roughEnd counts sentences for the passage's length only. It knows
	// nothing of the segmenter under test.
	roughEnd = regexp.MustCompile(`[.!?…]["'”’)*_]*(\s|$)`)
	// unfit is front and back matter, tables, notes and contents lists.
	unfit = regexp.MustCompile(`Gutenberg|[|]|_Source|_Parallels|   +\d+\n|Illustration|\bEdition\b|\[\d+\]|Copyright`)
)

// cutPassage sets p to whole paragraphs of s with about want sentences, or
// reports false if the place it hit on is no running story.
func cutPassage(s string, rng *rand.Rand, want int, p *passage) bool {
	breaks := blankLines.FindAllStringIndex(s, -1)
	if len(breaks) < 8 {
		return false
	}
	// Stay clear of licence and contents, which only books have.
	lo, hi := 0, len(breaks)
	if len(breaks) > 200 {
		lo, hi = len(breaks)*3/20, len(breaks)*16/20
	}
	first := lo + rng.IntN(hi-lo)
	start := breaks[first][1]
	for _, b := range append(breaks[first+1:], []int{len(s), len(s)}) {
		piece := strings.TrimRight(s[start:b[0]], "\n")
		n := len(roughEnd.FindAllString(piece, -1))
		if n > want+15 || utf8.RuneCountInString(piece) > 250*want {
			return false
		}
		if n < want {
			continue
		}
		indented := 0
		lines := strings.Split(piece, "\n")
		for _, l := range lines {
			if strings.HasPrefix(l, " ") {
				indented++
			}
		}
		if unfit.MatchString(piece) || strings.Contains(piece, marker) || indented*3 > len(lines) {
			return false
		}
		p.text = piece
		p.Start = utf8.RuneCountInString(s[:start])
		p.End = p.Start + utf8.RuneCountInString(piece)
		p.TextHash = hash(piece)
		return true
	}
	return false
}

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// readIndex reads what sample wrote, with each passage's text.
func readIndex(dir string) ([]passage, error) {
	data, err := os.ReadFile(filepath.Join(dir, indexName))
	if err != nil {
		return nil, err
	}
	var passages []passage
	if err := json.Unmarshal(data, &passages); err != nil {
		return nil, fmt.Errorf("%s: %w", indexName, err)
	}
	for i := range passages {
		b, err := os.ReadFile(filepath.Join(dir, passageName(i)))
		if err != nil {
			return nil, err
		}
		passages[i].text = strings.TrimSuffix(string(b), "\n")
		if hash(passages[i].text) != passages[i].TextHash {
			return nil, fmt.Errorf("%s in %s has changed since it was drawn; mark a copy, in a folder of its own", passageName(i), dir)
		}
	}
	if len(passages) == 0 {
		return nil, errors.New("no passages")
	}
	return passages, nil
}
