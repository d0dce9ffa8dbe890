// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/retcon-bench/retcon/schemas"
)

func candidates(corpus, language string, by map[string]int) []Candidate {
	var out []Candidate
	for _, t := range schemas.Tasks {
		for i := range by[t] {
			out = append(out, Candidate{fmt.Sprintf("%s-%s-%s-%d", corpus, language, t, i), t, corpus, language})
		}
	}
	return out
}

func all4(n int) map[string]int {
	return map[string]int{schemas.TaskGeneration: n, schemas.TaskContinuation: n, schemas.TaskExpansion: n, schemas.TaskCompletion: n}
}

func tally(list []Candidate, taken map[string]bool, dim func(Candidate) string) map[string]int {
	n := map[string]int{}
	for _, c := range list {
		if taken[c.PromptID] {
			n[dim(c)]++
		}
	}
	return n
}

func byTask(c Candidate) string     { return c.Task }
func byCorpus(c Candidate) string   { return c.Corpus }
func byLanguage(c Candidate) string { return c.Language }

// The paper's counts, when there is enough of everything.
func TestPaperCounts(t *testing.T) {
	r := schemas.DefaultRecipe().Prompts
	r.Target = PaperTarget
	var list []Candidate
	for i := range 7 {
		list = append(list, candidates(fmt.Sprint("c", i), "en", all4(300))...)
	}
	taken, short := Choose(list, r, 1)
	want := map[string]int{schemas.TaskGeneration: 751, schemas.TaskContinuation: 432, schemas.TaskExpansion: 422, schemas.TaskCompletion: 395}
	if diff := cmp.Diff(want, tally(list, taken, byTask)); diff != "" || len(short) > 0 {
		t.Errorf("%s, short %v", diff, short)
	}
	for name, n := range tally(list, taken, byCorpus) {
		if n < 285 || n > 286 {
			t.Errorf("corpus %s gives %d of 2,000, not a seventh", name, n)
		}
	}
}

// What one quota lacks comes from others or is said, and nothing is padded.
func TestTopUp(t *testing.T) {
	r := schemas.DefaultRecipe().Prompts
	r.Target = 40
	r.Tasks = []schemas.Count{{Name: schemas.TaskGeneration, N: 1}, {Name: schemas.TaskContinuation, N: 1}, {Name: schemas.TaskExpansion, N: 1}, {Name: schemas.TaskCompletion, N: 1}}
	list := slices.Concat(candidates("a", "en", map[string]int{schemas.TaskGeneration: 50}), candidates("b", "en", map[string]int{schemas.TaskContinuation: 6, schemas.TaskExpansion: 20}))
	taken, short := Choose(list, r, 1)
	if got := tally(list, taken, byTask); len(taken) != 40 || got[schemas.TaskContinuation] != 6 || got[schemas.TaskGeneration] < 10 {
		t.Errorf("%d taken: %v", len(taken), got)
	}
	if want := []Shortfall{{"task", schemas.TaskContinuation, 10, 6}, {"task", schemas.TaskCompletion, 10, 0}}; !slices.Equal(short, want) {
		t.Errorf("short %v", short)
	}
	r.TopUp = false
	taken, short = Choose(list, r, 1)
	if got := tally(list, taken, byTask); len(taken) != 26 || got[schemas.TaskGeneration] != 10 || got[schemas.TaskExpansion] != 10 {
		t.Errorf("without topping up %d taken: %v", len(taken), got)
	}
	if len(short) != 3 || short[0] != (Shortfall{"all", "", 40, 26}) {
		t.Errorf("short %v", short)
	}
	r.TopUp, r.Target = true, 500
	if taken, short = Choose(list, r, 1); len(taken) != len(list) || short[0].Got != len(list) {
		t.Errorf("%d taken of %d, short %v", len(taken), len(list), short)
	}
}

func TestLanguagesAndCorpora(t *testing.T) {
	r := schemas.DefaultRecipe().Prompts
	r.Target = 40
	r.Languages = []schemas.Count{{Name: "en", N: 30}, {Name: "zh", N: 10}}
	r.Corpora = []schemas.Count{{Name: "a", N: 30}, {Name: "b", N: 10}}
	list := slices.Concat(candidates("a", "en", all4(20)), candidates("a", "zh", all4(20)), candidates("b", "en", all4(20)), candidates("c", "fr", all4(20)), candidates("c", "en", all4(20)))
	taken, short := Choose(list, r, 3)
	if got := tally(list, taken, byLanguage); got["en"] != 30 || got["zh"] != 10 || got["fr"] != 0 {
		t.Errorf("languages %v, short %v", got, short)
	}
	if got := tally(list, taken, byCorpus); got["a"] != 30 || got["b"] != 10 {
		t.Errorf("corpora %v", got)
	}
}

// For any candidates and quotas: no more than wanted, quotas hold where nothing
// is topped up, the order of the candidates does not matter, a shortfall is
// what is missing.
func TestChooseProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []Candidate
		for i := range rapid.IntRange(1, 4).Draw(t, "corpora") {
			for _, lang := range []string{"en", "zh"} {
				by := map[string]int{}
				for _, task := range schemas.Tasks {
					by[task] = rapid.IntRange(0, 12).Draw(t, task)
				}
				list = append(list, candidates(fmt.Sprint("c", i), lang, by)...)
			}
		}
		r := schemas.DefaultRecipe().Prompts
		r.Target = rapid.IntRange(1, 80).Draw(t, "target")
		r.TopUp = rapid.Bool().Draw(t, "top up")
		if rapid.Bool().Draw(t, "languages") {
			r.Languages = []schemas.Count{{Name: "en", N: rapid.IntRange(0, 40).Draw(t, "en")}}
		}
		taken, short := Choose(list, r, 5)
		shuffled := slices.Clone(list)
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		again, shortAgain := Choose(shuffled, r, 5)
		if !cmp.Equal(taken, again) || !slices.Equal(short, shortAgain) {
			t.Fatal("the choice depends on the order of the candidates")
		}
		if len(taken) > r.Target {
			t.Fatalf("%d taken, %d wanted", len(taken), r.Target)
		}
		sum := 0
		for _, q := range taskQuotas(r) {
			sum += q.N
			if got := tally(list, taken, byTask)[q.Name]; !r.TopUp && got > q.N {
				t.Fatalf("%s: %d taken, quota %d", q.Name, got, q.N)
			}
		}
		if sum != r.Target {
			t.Fatalf("quotas of tasks add up to %d, target %d", sum, r.Target)
		}
		usable := 0
		for _, c := range list {
			if len(r.Languages) == 0 || c.Language == "en" {
				usable++
			}
		}
		if r.TopUp && len(taken) != min(usable, r.Target) {
			t.Fatalf("topped up to %d of %d usable, target %d", len(taken), usable, r.Target)
		}
		if missing := len(taken) < r.Target; missing != (len(short) > 0 && short[0].Quota == "all") {
			t.Fatalf("%d of %d taken, short %v", len(taken), r.Target, short)
		}
	})
}

// The pool draws evenly, and the same whatever else there is of a corpus.
func TestPool(t *testing.T) {
	r := schemas.DefaultRecipe().Prompts
	r.Target, r.Draw = 10, 3
	p := NewPool(r, 9)
	var all []schemas.Story
	for corpus, n := range map[string]int{"a": 500, "b": 40, "c": 4} {
		for i := range n {
			s := schemas.Story{StoryID: fmt.Sprintf("%s:%d", corpus, i), Source: schemas.Source{Corpus: corpus}}
			all = append(all, s)
			p.Add(s)
		}
	}
	got := map[string]int{}
	for _, s := range all {
		if p.Drawn(s) {
			got[s.Source.Corpus]++
		}
	}
	if got["a"] != 13 || got["b"] != 13 || got["c"] != 4 {
		t.Errorf("drawn %v", got)
	}
	r.Draw = 0
	if p := NewPool(r, 9); !p.Drawn(all[0]) {
		t.Error("draw 0 leaves a source out")
	}
}

func TestSample(t *testing.T) {
	ids := []string{"a", "b", "c", "d", "e"}
	one, two := Sample(ids, 3, 1), Sample([]string{"e", "d", "c", "b", "a"}, 3, 1)
	if !slices.Equal(one, two) || len(Sample(ids, 9, 1)) != 5 {
		t.Errorf("%v, %v", one, two)
	}
}
