// SPDX-License-Identifier: Apache-2.0

// Command prompts writes made-up corpora in the formats of the readers that
// have no real sample here (WikiPlots, LongLaMP, Tell Me A Story, STORIUM,
// LongBench) and of WritingPrompts, for timing and trying retcon prompts on any
// number of sources:
//
//	go run ./scripts/bench/prompts -n 100000 -out DIR
//
// run.sh times the command on them; -step times the step alone, without reading
// and dedup. Texts are put together from word lists, so
// that no two stories share long runs of words; they are no literature.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	log.SetFlags(0)
	n := flag.Int("n", 1000, "sources in all")
	out := flag.String("out", "", "folder to write to")
	alone := flag.Bool("step", false, "write nothing: run the step alone on so many sources")
	flag.Parse()
	if *alone {
		if err := step(*n); err != nil {
			log.Fatal(err)
		}
		return
	}
	if *out == "" {
		log.Fatal("say where to write: -out DIR")
	}
	if err := run(*out, *n); err != nil {
		log.Fatal(err)
	}
}

// run writes half of the sources as plots, a third as WritingPrompts, the rest
// evenly as the others.
func run(dir string, n int) error {
	g := newMaker()
	plots, wp := n/2, n/3
	rest := max(1, (n-plots-wp)/4)
	if err := g.plots(filepath.Join(dir, "wikiplots"), plots); err != nil {
		return err
	}
	files := []struct {
		path string
		n    int
		row  func(i int) any
	}{
		{"writingprompts/rows.jsonl", wp, func(i int) any {
			return map[string]any{"id": fmt.Sprint("p", i), "title": "[ WP ] " + g.idea(), "text": g.story(250)}
		}},
		{"longlamp/train.jsonl", rest, func(i int) any {
			return map[string]any{"author": fmt.Sprint("a", i), "input": "Generate the content for a reddit post " + g.idea(), "output": g.first(g.story(280)), "profile": []any{}}
		}},
		{"tellmeastory/tell-me-a-story-train.jsonl", rest, func(i int) any {
			return map[string]any{"example_id": fmt.Sprint("t", i), "inputs": "Write a story about the following: " + g.idea() + " " + g.idea(), "targets": g.story(600)}
		}},
		{"longbench/narrativeqa.jsonl", rest, func(i int) any {
			return map[string]any{"input": "Who carried it?", "context": g.story(3000), "answers": []string{"nobody"}, "length": 3000, "dataset": "narrativeqa", "language": "en", "all_classes": nil, "_id": fmt.Sprintf("%032d", i)}
		}},
		{"storium/games.jsonl", rest, func(i int) any { return g.game(i) }},
	}
	for _, f := range files {
		if err := lines(filepath.Join(dir, f.path), f.n, f.row); err != nil {
			return err
		}
	}
	return nil
}

func create(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	return os.Create(path)
}

func lines(path string, n int, row func(i int) any) error {
	f, err := create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for i := range n {
		if err := enc.Encode(row(i)); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

// plots writes WikiPlots' two files.
func (g *maker) plots(dir string, n int) error {
	p, err := create(filepath.Join(dir, "plots"))
	if err != nil {
		return err
	}
	defer p.Close()
	t, err := create(filepath.Join(dir, "titles"))
	if err != nil {
		return err
	}
	defer t.Close()
	pw, tw := bufio.NewWriterSize(p, 1<<20), bufio.NewWriter(t)
	for i := range n {
		g.cast()
		for range 8 + g.r.IntN(10) {
			fmt.Fprintln(pw, g.sentence())
		}
		fmt.Fprintln(pw, "<EOS>")
		fmt.Fprintf(tw, "%s %s %d\n", g.name(), g.name(), i)
	}
	if err := pw.Flush(); err != nil {
		return err
	}
	return tw.Flush()
}

type maker struct {
	r   *rand.Rand
	who []string
}

func newMaker() *maker { return &maker{r: rand.New(rand.NewPCG(1, 2))} }

func (g *maker) one(list []string) string { return list[g.r.IntN(len(list))] }

// cast chooses who a story is about.
func (g *maker) cast() {
	g.who = []string{g.name(), g.name(), "The " + g.one(people), "The " + g.one(people)}
}

// name makes one up: dedup's report on retellings would compare all stories
// that share one of fifty names.
func (g *maker) name() string {
	return g.one(names) + g.one(syllables) + g.one(syllables)
}

func (g *maker) sentence() string {
	who, other := g.one(g.who), g.one(g.who)
	if g.r.IntN(3) == 0 {
		return fmt.Sprintf("%s %s the %s %s and %s %s to the %s.", who, g.one(verbs), g.one(adjectives), g.one(nouns), g.one(verbs), strings.ToLower(other[:1])+other[1:], g.one(places))
	}
	return fmt.Sprintf("%s %s %s's %s %s near the %s %s.", who, g.one(verbs), other, g.one(adjectives), g.one(nouns), g.one(places), g.one(times))
}

func (g *maker) story(words int) string {
	g.cast()
	var b strings.Builder
	fmt.Fprintf(&b, "Once there was a %s named %s who lived by the %s with a %s %s.", g.one(people), g.who[0], g.one(places), g.one(adjectives), g.one(nouns))
	for n := 1; len(b.String()) < words*6; n++ {
		if n%5 == 0 {
			b.WriteString("\n\n")
		} else {
			b.WriteString(" ")
		}
		b.WriteString(g.sentence())
	}
	return b.String()
}

// first tells a story in the first person, as posts do.
func (g *maker) first(s string) string {
	return strings.ReplaceAll(s, g.who[0]+" ", "I ")
}

func (g *maker) idea() string {
	return fmt.Sprintf("A %s finds a %s %s in the %s and learns that %s %s it %s.", g.one(people), g.one(adjectives), g.one(nouns), g.one(places), g.name(), g.one(verbs), g.one(times))
}

// game is a STORIUM game of three scenes.
func (g *maker) game(i int) any {
	var scenes []any
	for s := range 3 {
		var entries []any
		for e := range 3 {
			entries = append(entries, map[string]any{"entry_pid": fmt.Sprintf("e%d-%d-%d", i, s, e), "seq_id": fmt.Sprint(e), "format": "move", "role": "narrator", "description": g.story(60)})
		}
		scenes = append(scenes, map[string]any{"scene_pid": fmt.Sprintf("s%d-%d", i, s), "is_ended": true, "entries": entries})
	}
	return map[string]any{"game_pid": fmt.Sprintf("game%06d", i), "scenes": scenes, "characters": []any{}, "details": map[string]any{"is_completed": true}}
}

var (
	names = strings.Fields(`Ada Tom Mara Otto Zoe Esme Harrow Vane Ruiz Anselm Bruno Carla Dagny Edda Falk Greta Hanno Ilse Jorun Kasimir Lotte Magnus Nadia Orla Petra
		Quint Rosa Sven Tilda Ulrik Vera Wanda Xenia Yrsa Zeno Alba Boris Cosima Dario Enzo Fritz Gerda Hilda Ivo Jana Klaus Lena Milo Nora Olaf`)
	syllables = strings.Fields("bar bel dan dor fen gar hil jor kel lan mor nor pel quin ran sel tor ul ver win yan zor bri cla dre fro gri kla")
	people    = strings.Fields(`miller sailor baker weaver captain widow smith clerk gardener thief painter nurse soldier teacher beggar pilot judge potter fiddler doctor
		shepherd hunter cook tailor monk lawyer singer butcher carpenter ferryman`)
	verbs = strings.Fields(`carried found hid stole buried mended sold followed promised opened burned painted traded dropped counted guarded borrowed broke forgot returned
		claimed dragged lifted measured refused recovered sealed shook signed swallowed threw tied traced washed weighed wrapped chose cleaned cursed defended`)
	adjectives = strings.Fields(`old broken silver heavy narrow quiet wet golden crooked hollow patient bitter cold empty famous green hidden iron lost painted plain rusty
		sealed secret small stolen strange torn white wooden yellow blue burned cracked dull enormous faded gentle humble idle`)
	nouns = strings.Fields(`ladder lantern mirror compass key letter bell boat coin drum engine feather gate hammer inkwell jar kettle ledger map needle oar pillow quilt
		ring saddle table umbrella violin wagon yoke anvil basket candle dagger easel flute globe harp island jug knife loom mask net orchard pebble rope scale trumpet urn`)
	places = strings.Fields(`harbour tower bridge mill market river station garden quarry cellar chapel attic island forest lighthouse orchard square tunnel valley well
		barn cliff dock ferry hill inn jetty kiln lake meadow north-gate oven pier ridge school theatre vineyard wharf yard`)
	times = []string{"before dawn", "after the storm", "on the third day", "in the winter", "at midnight", "during the fair", "before the trial", "after the funeral", "in the spring",
		"while the others slept", "under a red moon", "for the last time", "without a word", "against all advice", "at low tide", "on market day"}
)
