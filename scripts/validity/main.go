// SPDX-License-Identifier: Apache-2.0

// Validity is the study behind the claim that rule-made plot holes are valid:
// people who wrote none of the engine read a sample of stories and judge them
// from story and spans alone.
//
//	validity sample  -records WORK/30-make/records.jsonl -commit HASH -out DIR
//	validity collect -sample DIR/sample.jsonl -out judgements.jsonl reader-a.jsonl reader-b.jsonl
//
// sample draws, for each kind of story, those with the lowest SHA-256 of
// (commit hash, example id): nobody can choose them, and everybody with the
// commit can draw them again. It writes one file a story with numbered
// sentences, an index, and a form for each reader. Nothing in them tells how a
// story was made.
//
// collect joins filled forms by example id and text hash, sets aside what
// belongs to another text, and prints the rates of each reader, of both
// together, and how far they agree.
package main

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/retcon-bench/retcon/schemas"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "validity:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) == 0 {
		return errors.New("want a command: sample or collect; -h after it shows its flags")
	}
	switch args[0] {
	case "sample":
		return sample(args[1:], out)
	case "collect":
		return collect(args[1:], out)
	}
	return fmt.Errorf("no command %q; there are sample and collect", args[0])
}

// questions are what a reader answers, by kind of story; an item is valid when
// every answer is yes.
var questions = map[string][]question{
	schemas.VariantPatched: {
		{"contradiction", "Do the sentences E contradict the sentences C, so that no reading of the story reconciles them?"},
		{"noticeable", "Must an attentive reader notice it?"},
		{"errors_right", "Does every sentence E carry the contradiction, and no other sentence behind the first E?"},
		{"contradicted_right", "Is every sentence C contradicted, and no other sentence before the first E?"},
		{"grammatical", "Are the sentences E grammatical?"},
		{"natural", "Do the sentences E read as if the story had been written so, nothing bolted on?"},
	},
	schemas.VariantCounterfactual: {
		{"coherent", "Does the story hold together, with no contradiction and nothing that depends on what it no longer says?"},
		{"grammatical", "Is it grammatical throughout?"},
	},
	schemas.VariantResolved: {
		{"resolved", "Does the sentence R explain how and when the change came about, so that C and E are both true?"},
		{"fits", "Does R fit the place it stands in: time, people, mood and voice?"},
		{"grammatical", "Is R grammatical?"},
	},
}

type question struct{ key, text string }

// kinds in the order of the study.
var kinds = []string{schemas.VariantPatched, schemas.VariantCounterfactual, schemas.VariantResolved}

// Item is a line of sample.jsonl.
type Item struct {
	Number    int    `json:"number"` // of the reader file
	Kind      string `json:"kind"`
	ExampleID string `json:"example_id"`
	TextHash  string `json:"text_hash"`
}

// Judgement is what one reader says of one story.
type Judgement struct {
	Reader    string           `json:"reader"`
	Number    int              `json:"number"`
	Kind      string           `json:"kind"`
	ExampleID string           `json:"example_id"`
	TextHash  string           `json:"text_hash"`
	Answers   map[string]*bool `json:"answers"` // by question; null or missing: not judged
	Reason    string           `json:"reason"`  // in a sentence, always for a no
}

// valid reports whether all questions are answered, and all with yes.
func (j Judgement) valid() (valid, complete bool) {
	valid = true
	for _, q := range questions[j.Kind] {
		yes := j.Answers[q.key]
		if yes == nil {
			return false, false
		}
		valid = valid && *yes
	}
	return valid, true
}

// story is a drawn story with what its reader sees.
type story struct {
	Item
	title string
	v     schemas.Variant
	marks map[int]string // sentence -> E, C, R
	order string
}

func sample(args []string, out io.Writer) error {
	f := flag.NewFlagSet("sample", flag.ContinueOnError)
	records := f.String("records", "", "records.jsonl of the make step")
	commit := f.String("commit", "", "hash of the commit the records were made at")
	dir := f.String("out", "", "folder for the reader files; must not exist")
	n := f.Int("n", 40, "plot holes to draw")
	m := f.Int("others", 20, "counterfactual and resolved stories to draw, each")
	maxWords := f.Int("max-words", 3999, "longest source that lands in a config, in words")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *records == "" || *commit == "" || *dir == "" {
		return errors.New("sample: -records, -commit and -out must be given")
	}
	drawn := map[string][]story{}
	err := lines(*records, func(n int, raw []byte) error {
		var d schemas.Draft
		if err := json.Unmarshal(raw, &d); err != nil {
			return err
		}
		if d.Patched == nil || d.SourceWords > *maxWords {
			return nil
		}
		for _, s := range stories(d) {
			sum := sha256.Sum256([]byte(*commit + "\n" + s.ExampleID))
			s.order = hex.EncodeToString(sum[:])
			drawn[s.Kind] = append(drawn[s.Kind], s)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := os.Mkdir(*dir, 0o755); err != nil {
		return fmt.Errorf("sample: %w; give a folder that does not exist, so that no old file mixes in", err)
	}
	var index, form strings.Builder
	number := 0
	for _, kind := range kinds {
		list := drawn[kind]
		slices.SortFunc(list, func(a, b story) int { return cmp.Compare(a.order, b.order) })
		want := *m
		if kind == schemas.VariantPatched {
			want = *n
		}
		have := len(list)
		list = list[:min(want, have)]
		for _, s := range list {
			number++
			s.Number = number
			if err := os.WriteFile(filepath.Join(*dir, fmt.Sprintf("%03d.md", number)), []byte(s.page()), 0o644); err != nil {
				return err
			}
			blank := map[string]*bool{}
			for _, q := range questions[kind] {
				blank[q.key] = nil
			}
			if err := line(&index, s.Item); err != nil {
				return err
			}
			if err := line(&form, Judgement{Number: number, Kind: kind, ExampleID: s.ExampleID, TextHash: s.TextHash, Answers: blank}); err != nil {
				return err
			}
		}
		fmt.Fprintf(out, "%-15s %3d of %d\n", kind, len(list), have)
	}
	for _, f := range [][2]string{{"sample.jsonl", index.String()}, {"form.jsonl", form.String()}, {"README.md", readme}} {
		if err := os.WriteFile(filepath.Join(*dir, f[0]), []byte(f[1]), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// line writes v as a line of JSON.
func line(b *strings.Builder, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	b.Write(raw)
	b.WriteByte('\n')
	return nil
}

// stories returns the stories of a draft that are judged.
func stories(d schemas.Draft) []story {
	item := func(v *schemas.Variant) story {
		return story{Item: Item{Kind: v.Name, ExampleID: schemas.ExampleID(d.MatchID, v.Name), TextHash: v.TextHash}, title: d.Title, v: *v, marks: map[int]string{}}
	}
	patched := item(d.Patched)
	for _, g := range d.Contradicted {
		patched.marks[g.Sentence] = "C"
	}
	for _, g := range d.Errors {
		patched.marks[g.Sentence] = "E"
	}
	out := []story{patched}
	if d.Counterfactual != nil {
		out = append(out, item(d.Counterfactual))
	}
	if d.Resolved != nil {
		s := item(d.Resolved)
		// The one edit more than the plot hole's is the explanation. Sentences
		// before it have their old numbers.
		at := -1
		for i, e := range d.Resolved.Edits {
			if i >= len(d.Patched.Edits) || d.Patched.Edits[i].SourceStart != e.SourceStart || d.Patched.Edits[i].Text != e.Text {
				at = i
				break
			}
		}
		if at >= 0 {
			e := d.Resolved.Edits[at]
			added, behind := 0, 0
			for k, b := range s.v.Sentences {
				if b.Start < e.End && e.Start < b.End {
					s.marks[k] = "R"
					added, behind = added+1, k+1
				}
			}
			for _, g := range d.Contradicted {
				if k := g.Sentence; k+added < behind {
					s.marks[k] = "C"
				} else {
					s.marks[k+added] = "C"
				}
			}
			for _, g := range d.Errors {
				s.marks[g.Sentence+added] = "E"
			}
		}
		out = append(out, s)
	}
	return out
}

// page is the file a reader reads: sentences with their numbers, nothing of
// how they came about.
func (s story) page() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %d: %s\n\nKind: %s\n\n", s.Number, s.title, s.Kind)
	for _, mark := range []string{"C", "R", "E"} {
		var at []string
		for k := range s.v.Sentences {
			if s.marks[k] == mark {
				at = append(at, fmt.Sprint(k))
			}
		}
		if len(at) > 0 {
			fmt.Fprintf(&b, "Sentences %s: %s\n", mark, strings.Join(at, ", "))
		}
	}
	b.WriteString("\nQuestions:\n")
	for _, q := range questions[s.Kind] {
		fmt.Fprintf(&b, "- `%s`: %s\n", q.key, q.text)
	}
	b.WriteString("\n---\n\n")
	runes := []rune(s.v.Text)
	last := 0
	for k, sp := range s.v.Sentences {
		if gap := string(runes[last:sp.Start]); k > 0 && strings.Contains(gap, "\n") {
			b.WriteString("\n")
		}
		mark := ""
		if m := s.marks[k]; m != "" {
			mark = " " + m
		}
		fmt.Fprintf(&b, "[%d%s] %s\n", k, mark, strings.Join(strings.Fields(string(runes[sp.Start:sp.End])), " "))
		last = sp.End
	}
	return b.String()
}

const readme = `# For the reader

Each numbered file holds one story with numbered sentences and the questions about it. Read the whole story before you
answer. Judge from the story and the marked sentences alone; what the story may have been taken from does not matter.
Be strict: when in doubt, answer no and say why.

Copy form.jsonl, put your name into "reader", answer each question with true or false, and give a reason, in one
sentence, for every item with a false. Do not talk with the other reader before both are done.
`

func collect(args []string, out io.Writer) error {
	f := flag.NewFlagSet("collect", flag.ContinueOnError)
	samplePath := f.String("sample", "", "sample.jsonl of the sample command")
	outPath := f.String("out", "", "file for the joined judgements")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *samplePath == "" || f.NArg() == 0 {
		return errors.New("collect: -sample and at least one file of judgements must be given")
	}
	var items []Item
	if err := lines(*samplePath, func(_ int, raw []byte) error {
		var it Item
		if err := json.Unmarshal(raw, &it); err != nil {
			return err
		}
		items = append(items, it)
		return nil
	}); err != nil {
		return err
	}
	hash := map[string]string{}
	for _, it := range items {
		hash[it.ExampleID] = it.TextHash
	}
	var readers []string
	by := map[string]map[string]Judgement{} // reader -> example id -> the last one given
	stale, foreign := 0, 0
	for _, path := range f.Args() {
		err := lines(path, func(n int, raw []byte) error {
			var j Judgement
			if err := json.Unmarshal(raw, &j); err != nil {
				return err
			}
			if j.Reader == "" {
				return errors.New("no reader")
			}
			h, known := hash[j.ExampleID]
			switch {
			case !known:
				foreign++
				return nil
			case h != j.TextHash:
				stale++
				return nil
			}
			if valid, complete := j.valid(); complete && !valid && strings.TrimSpace(j.Reason) == "" {
				return fmt.Errorf("%s: a no without a reason", j.ExampleID)
			}
			if by[j.Reader] == nil {
				by[j.Reader] = map[string]Judgement{}
				readers = append(readers, j.Reader)
			}
			by[j.Reader][j.ExampleID] = j
			return nil
		})
		if err != nil {
			return err
		}
	}
	slices.Sort(readers)
	for _, kind := range kinds {
		total := 0
		for _, it := range items {
			if it.Kind == kind {
				total++
			}
		}
		if total == 0 {
			continue
		}
		fmt.Fprintf(out, "%s: %d drawn\n", kind, total)
		for _, r := range readers {
			judged, valid := 0, 0
			no := map[string]int{}
			for _, it := range items {
				j, ok := by[r][it.ExampleID]
				if it.Kind != kind || !ok {
					continue
				}
				v, complete := j.valid()
				if !complete {
					continue
				}
				judged++
				if v {
					valid++
				}
				for _, q := range questions[kind] {
					if !*j.Answers[q.key] {
						no[q.key]++
					}
				}
			}
			fmt.Fprintf(out, "  %-10s valid %d of %d judged", r, valid, judged)
			for _, q := range questions[kind] {
				if no[q.key] > 0 {
					fmt.Fprintf(out, "; %s no: %d", q.key, no[q.key])
				}
			}
			fmt.Fprintln(out)
		}
		both, all, same := 0, 0, 0
		for _, it := range items {
			if it.Kind != kind || len(readers) < 2 {
				continue
			}
			yes, n := 0, 0
			for _, r := range readers {
				if v, complete := by[r][it.ExampleID].valid(); complete {
					n++
					if v {
						yes++
					}
				}
			}
			if n < len(readers) {
				continue
			}
			all++
			if yes == n {
				both++
			}
			if yes == n || yes == 0 {
				same++
			}
		}
		if all > 0 {
			fmt.Fprintf(out, "  all readers valid %d of %d, in agreement on %d\n", both, all, same)
		}
	}
	if stale+foreign > 0 {
		fmt.Fprintf(out, "set aside: %d of another text (stale), %d of other examples\n", stale, foreign)
	}
	if *outPath == "" {
		return nil
	}
	var b strings.Builder
	for _, it := range items {
		for _, r := range readers {
			if j, ok := by[r][it.ExampleID]; ok {
				if err := line(&b, j); err != nil {
					return err
				}
			}
		}
	}
	return os.WriteFile(*outPath, []byte(b.String()), 0o644)
}

// lines calls f for each line of a JSON Lines file; an error names the line.
func lines(path string, f func(n int, raw []byte) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	r := bufio.NewReaderSize(file, 1<<16)
	for n := 1; ; n++ {
		raw, err := r.ReadBytes('\n')
		if len(raw) > 0 && len(strings.TrimSpace(string(raw))) > 0 {
			if err := f(n, raw); err != nil {
				return fmt.Errorf("%s:%d: %w", path, n, err)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", path, n, err)
		}
	}
}
