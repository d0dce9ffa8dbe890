// SPDX-License-Identifier: Apache-2.0

// Command constory measures retcon score constory: it writes runs of several
// models in both forms (the published tools' CSV, and reports of retcon check
// beside the stories they are of), scores each with the command itself, in a
// process of its own, and prints wall time, processor time and peak memory. The
// memory must not grow with the texts, and with the stories by a kilobyte or so
// each.
//
//	go run ./scripts/bench/constory -n 1000,10000
//	go run ./scripts/bench/constory -n 10000 -words 900,9000 -keep DIR
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/retcon-bench/retcon/datasets/constoryio"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/scoring"
)

func main() {
	log.SetFlags(0)
	sizes := flag.String("n", "1000,10000", "stories in all, several parted by commas")
	lengths := flag.String("words", "9000", "words of a story, on average; several parted by commas")
	models := flag.Int("models", 5, "models that wrote them")
	resamples := flag.Int("resamples", 1000, "resamples of the bootstrap")
	keep := flag.String("keep", "", "working folder, kept; empty = a temporary one")
	flag.Parse()
	if err := run(*sizes, *lengths, *models, *resamples, *keep); err != nil {
		log.Fatal(err)
	}
}

func run(sizes, lengths string, models, resamples int, dir string) error {
	if dir == "" {
		tmp, err := os.MkdirTemp("", "constory")
		if err != nil {
			return err
		}
		defer os.RemoveAll(tmp)
		dir = tmp
	} else if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	bin := filepath.Join(dir, "retcon")
	if out, err := exec.Command("go", "build", "-o", bin, "./cmd/retcon").CombinedOutput(); err != nil {
		return fmt.Errorf("build the command (run this from the top of the repository): %w\n%s", err, out)
	}
	fmt.Printf("%-8s %8s %8s %9s %10s %10s %10s\n", "form", "stories", "words", "input MB", "wall s", "cpu s", "peak MB")
	for _, n := range strings.Split(sizes, ",") {
		for _, w := range strings.Split(lengths, ",") {
			stories, err := strconv.Atoi(n)
			if err != nil {
				return err
			}
			words, err := strconv.Atoi(w)
			if err != nil {
				return err
			}
			at := filepath.Join(dir, n+"x"+w)
			if err := write(at, stories, words, models); err != nil {
				return err
			}
			for _, form := range []struct {
				name  string
				args  []string
				files []string
			}{
				{"csv", []string{filepath.Join(at, "judged.csv")}, []string{"judged.csv"}},
				{"reports", []string{filepath.Join(at, "work"), "--stories", filepath.Join(at, "stories.jsonl")}, []string{"work/60-check/records.jsonl", "stories.jsonl"}},
			} {
				size := int64(0)
				for _, f := range form.files {
					info, err := os.Stat(filepath.Join(at, f))
					if err != nil {
						return err
					}
					size += info.Size()
				}
				cmd := exec.Command(bin, append([]string{"score", "constory", "--all", "--resamples", fmt.Sprint(resamples)}, form.args...)...)
				var stderr strings.Builder
				cmd.Stdout, cmd.Stderr = io.Discard, &stderr
				start := time.Now()
				if err := cmd.Run(); err != nil {
					return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, stderr.String())
				}
				wall := time.Since(start).Seconds()
				cpu := cmd.ProcessState.UserTime().Seconds() + cmd.ProcessState.SystemTime().Seconds()
				fmt.Printf("%-8s %8d %8d %9.0f %10.2f %10.2f %10s\n", form.name, stories, words, float64(size)/1e6, wall, cpu, peakMB(cmd.ProcessState))
			}
		}
	}
	fmt.Printf("%d resamples, %d models, GOMAXPROCS %d, %s\n", resamples, models, runtime.GOMAXPROCS(0), runtime.Version())
	return nil
}

// write makes the runs. A story is sentences of which some contradict earlier
// ones; two findings in three quote them word for word, one changes the words.
func write(dir string, stories, words, models int) error {
	if err := os.MkdirAll(filepath.Join(dir, "work", "60-check"), 0o755); err != nil {
		return err
	}
	var closers []func() error
	open := func(name string) (*bufio.Writer, error) {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		w := bufio.NewWriterSize(f, 1<<20)
		closers = append(closers, func() error {
			if err := w.Flush(); err != nil {
				return err
			}
			return f.Close()
		})
		return w, nil
	}
	text, err := open("stories.jsonl")
	if err != nil {
		return err
	}
	reports, err := open("work/60-check/records.jsonl")
	if err != nil {
		return err
	}
	judged, err := open("judged.csv")
	if err != nil {
		return err
	}
	var line []byte
	table := &scoring.CheckTable{Columns: constoryio.Columns, Rows: func(yield func([]*string, error) bool) {
		for i := range stories {
			g, rep := story(i, words, models)
			for _, x := range []struct {
				w *bufio.Writer
				v any
			}{{text, g}, {reports, rep}} {
				var err error
				if line, err = schemas.AppendLine(line[:0], x.v); err == nil {
					_, err = x.w.Write(line)
				}
				if err != nil {
					yield(nil, err)
					return
				}
			}
			if !yield(constoryio.Row(g, &rep, scoring.VoteAny)) {
				return
			}
		}
	}}
	if err := constoryio.WriteCSV(judged, table); err != nil {
		return err
	}
	for _, c := range closers {
		if err := c(); err != nil {
			return err
		}
	}
	return nil
}

var (
	people  = []string{"Ann", "Bertil", "Cecilia", "Dov", "Elin", "Farid", "Greta", "Hugo"}
	things  = []string{"lantern", "boat", "letter", "stable", "river", "orchard", "bell", "map"}
	actions = []string{"found", "lost", "painted", "hid", "mended", "sold", "dreamt of", "remembered"}
	colours = []string{"green", "brown", "grey", "blue", "black"}
)

func story(i, words, models int) (schemas.Generated, schemas.CheckReport) {
	rng := rand.New(rand.NewPCG(uint64(i), 7))
	pick := func(list []string) string { return list[rng.IntN(len(list))] }
	var b strings.Builder
	type place struct {
		start int
		text  string
	}
	var facts []place
	target := words/2 + rng.IntN(words+1)
	for n := 0; n < target; n += 9 {
		if rng.IntN(100) == 0 {
			s := fmt.Sprintf("%s had %s eyes.", pick(people), pick(colours))
			facts = append(facts, place{b.Len(), s})
			b.WriteString(s + " ")
			continue
		}
		fmt.Fprintf(&b, "On day %d %s %s the old %s again. ", n, pick(people), pick(actions), pick(things))
	}
	s := strings.TrimSpace(b.String())
	g := schemas.Generated{ID: 1 + i/models, GeneratedID: fmt.Sprintf("g%d", i), PromptID: fmt.Sprintf("p%d", i/models), Language: "en", TaskType: schemas.TaskTypes[i/models%4],
		Prompt: "Write.", ModelName: fmt.Sprintf("model-%d", i%models), GeneratedStory: &s, Outcome: "ok", TextHash: schemas.HashText(s),
		ModelClass: schemas.ModelClasses[i%models%4], ModelFamily: fmt.Sprintf("family-%d", i%models/2)}
	rep := schemas.CheckReport{StoryID: g.GeneratedID, TextHash: g.TextHash, Model: g.ModelName, Judge: "bench", Protocol: "reference", Samples: 1}
	for _, c := range schemas.Categories {
		rep.Status = append(rep.Status, schemas.CheckStatus{StoryID: g.GeneratedID, Category: c.Name, Status: "ok", TextHash: g.TextHash})
	}
	subtypes := []string{"appearance_mismatches", "quantitative_mismatches", "memory_contradictions", "absolute_time_contradictions", "core_rules_violations"}
	for k := 0; k+1 < len(facts) && k < 2+i%models; k += 2 {
		quote := func(p place) schemas.Evidence {
			return schemas.Evidence{Quote: p.text, Spans: []schemas.Span{{Offsets: ascii(p.start, p.start+len(p.text)), Text: p.text}}}
		}
		f := schemas.Finding{StoryID: g.GeneratedID, FindingID: fmt.Sprint(k), Subtype: subtypes[rng.IntN(len(subtypes))], Fact: quote(facts[k]), Contra: quote(facts[k+1]),
			Status: "anchored", Support: 1, Asked: 1, Judge: "bench", Protocol: "reference"}
		if rng.IntN(3) == 0 { // the CSV's reader has to look for it
			f.Contra.Quote = strings.Replace(f.Contra.Quote, "had", "has", 1)
		}
		cat, _, _ := schemas.FindSubtype(f.Subtype)
		f.Category = cat.Name
		rep.Findings = append(rep.Findings, f)
	}
	return g, rep
}

// ascii is a range of a text in which code points, bytes and UTF-16 units are
// the same.
func ascii(start, end int) schemas.Offsets {
	return schemas.Offsets{Start: start, End: end, ByteStart: start, ByteEnd: end, UTF16Start: start, UTF16End: end}
}
