// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/retcon-bench/retcon/schemas"
)

// PaperTasks are the paper's counts by task (table 1).
var PaperTasks = []schemas.Count{
	{Name: schemas.TaskGeneration, N: 751}, {Name: schemas.TaskContinuation, N: 432},
	{Name: schemas.TaskExpansion, N: 422}, {Name: schemas.TaskCompletion, N: 395},
}

// PaperTarget is their sum.
const PaperTarget = 2000

// taskQuotas scales a recipe's quotas of tasks to its target, so that they add
// up to it (largest remainders, the earlier task first among equals).
func taskQuotas(r schemas.PromptsRecipe) []schemas.Count {
	given := r.Tasks
	if len(given) == 0 {
		given = PaperTasks
	}
	sum := 0
	for _, q := range given {
		sum += q.N
	}
	out := make([]schemas.Count, 0, len(schemas.Tasks))
	type part struct{ i, rest int }
	var parts []part
	left := r.Target
	for i, t := range schemas.Tasks {
		n := 0
		for _, q := range given {
			if q.Name == t {
				n += q.N
			}
		}
		c := schemas.Count{Name: t}
		if sum > 0 {
			c.N = r.Target * n / sum
			parts = append(parts, part{i, r.Target * n % sum})
		}
		left -= c.N
		out = append(out, c)
	}
	slices.SortStableFunc(parts, func(a, b part) int { return b.rest - a.rest })
	for _, p := range parts {
		if left <= 0 {
			break
		}
		out[p.i].N++
		left--
	}
	return out
}

// Candidate is a prompt that passed, as [Choose] needs it.
type Candidate struct {
	PromptID string
	Task     string
	Corpus   string
	Language string
}

// Shortfall is a quota that was not met.
type Shortfall struct {
	Quota string `json:"quota"` // all, task, corpus, language
	Name  string `json:"name"`
	Want  int    `json:"want"`
	Got   int    `json:"got"`
}

func (s Shortfall) String() string {
	if s.Quota == "all" {
		return fmt.Sprintf("prompts: %d wanted, %d made", s.Want, s.Got)
	}
	return fmt.Sprintf("prompts: %s %s: %d wanted, %d made", s.Quota, s.Name, s.Want, s.Got)
}

// order is a candidate's place in the shuffle by seed.
func order(seed uint64, id string) uint64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d|%s|%d:%s", seed, StepName, len(id), id))
	return binary.BigEndian.Uint64(sum[:8])
}

// Choose takes the prompts that the quotas want, in a shuffle by seed: first
// within all quotas, the scarcest task first, corpora evenly; then, where the
// recipe lets it top up, beyond the quotas of corpora, of tasks and last of
// languages, as far as the target goes. What is missing is a shortfall; nothing
// is taken twice. The choice does not depend on the order of the candidates.
func Choose(list []Candidate, r schemas.PromptsRecipe, seed uint64) (taken map[string]bool, short []Shortfall) {
	c := chooser{r: r, taken: map[string]bool{}, cells: map[cell][]string{}, got: map[[2]string]int{}, want: map[[2]string]int{}, supply: map[string]int{}}
	for _, cand := range list {
		if len(r.Languages) > 0 && !named(r.Languages, cand.Language) {
			continue
		}
		k := cell{cand.Task, cand.Corpus, cand.Language}
		c.cells[k] = append(c.cells[k], cand.PromptID)
		c.supply[cand.Task]++
	}
	for k, ids := range c.cells {
		slices.SortFunc(ids, func(a, b string) int {
			return cmp.Or(cmp.Compare(order(seed, a), order(seed, b)), strings.Compare(a, b))
		})
		c.keys = append(c.keys, k)
	}
	slices.SortFunc(c.keys, func(a, b cell) int {
		return cmp.Or(strings.Compare(a.task, b.task), strings.Compare(a.corpus, b.corpus), strings.Compare(a.language, b.language))
	})
	c.quotas()
	tasks := taskQuotas(r)
	slices.SortStableFunc(tasks, func(a, b schemas.Count) int { // scarcest first
		return cmp.Compare(float64(c.supply[a.Name])/float64(max(a.N, 1)), float64(c.supply[b.Name])/float64(max(b.N, 1)))
	})
	for _, t := range tasks {
		c.fill(t.Name, true, true)
	}
	if r.TopUp {
		for _, t := range tasks {
			c.fill(t.Name, false, true)
		}
		c.fill("", true, true)
		c.fill("", false, true)
		c.fill("", false, false)
	}
	return c.taken, c.shortfalls()
}

type cell struct{ task, corpus, language string }

type chooser struct {
	r      schemas.PromptsRecipe
	cells  map[cell][]string // ids left, in order
	keys   []cell
	taken  map[string]bool
	got    map[[2]string]int // by dimension and name
	want   map[[2]string]int // quotas; a missing one has no bound
	supply map[string]int    // by task
}

func named(list []schemas.Count, name string) bool {
	return slices.ContainsFunc(list, func(c schemas.Count) bool { return c.Name == name })
}

// quotas sets what is wanted. Corpora without quotas get equal shares; what one
// of them cannot give is shared by the others.
func (c *chooser) quotas() {
	for _, t := range taskQuotas(c.r) {
		c.want[[2]string{"task", t.Name}] = t.N
	}
	for _, l := range c.r.Languages {
		c.want[[2]string{"language", l.Name}] = l.N
	}
	has := map[string]int{}
	for k, ids := range c.cells {
		has[k.corpus] += len(ids)
	}
	if len(c.r.Corpora) > 0 {
		for name := range has {
			c.want[[2]string{"corpus", name}] = 0
		}
		for _, q := range c.r.Corpora {
			c.want[[2]string{"corpus", q.Name}] = q.N
		}
		return
	}
	for name, n := range Even(has, c.r.Target) {
		c.want[[2]string{"corpus", name}] = n
	}
}

// Even shares total as evenly among names as what each has allows.
func Even(has map[string]int, total int) map[string]int {
	names := slices.SortedFunc(maps.Keys(has), func(a, b string) int { return cmp.Or(has[a]-has[b], strings.Compare(a, b)) })
	out := map[string]int{}
	for i, n := range names {
		left := len(names) - i
		share := (total + left - 1) / left
		out[n] = min(has[n], share)
		total -= out[n]
	}
	return out
}

// fill takes candidates of a task (of any, for "") until its quota or the
// target is full. corpora and languages say whether their quotas bind.
func (c *chooser) fill(task string, corpora, languages bool) {
	for len(c.taken) < c.r.Target {
		best := -1
		var score [2]float64
		for i, k := range c.keys {
			if len(c.cells[k]) == 0 || task != "" && (k.task != task || c.full("task", task)) ||
				corpora && c.full("corpus", k.corpus) || languages && c.full("language", k.language) {
				continue
			}
			s := [2]float64{c.filled("corpus", k.corpus), c.filled("language", k.language)}
			if task == "" {
				s[1] = c.filled("task", k.task)
			}
			if best < 0 || s[0] < score[0] || s[0] == score[0] && s[1] < score[1] {
				best, score = i, s
			}
		}
		if best < 0 {
			return
		}
		k := c.keys[best]
		c.taken[c.cells[k][0]] = true
		c.cells[k] = c.cells[k][1:]
		c.got[[2]string{"task", k.task}]++
		c.got[[2]string{"corpus", k.corpus}]++
		c.got[[2]string{"language", k.language}]++
	}
}

func (c *chooser) full(dim, name string) bool {
	want, bound := c.want[[2]string{dim, name}]
	return bound && c.got[[2]string{dim, name}] >= want
}

// filled is how far a quota is met.
func (c *chooser) filled(dim, name string) float64 {
	want, bound := c.want[[2]string{dim, name}]
	n := float64(c.got[[2]string{dim, name}])
	if !bound || want == 0 {
		return n
	}
	return n / float64(want)
}

func (c *chooser) shortfalls() []Shortfall {
	var out []Shortfall
	if len(c.taken) < c.r.Target {
		out = append(out, Shortfall{"all", "", c.r.Target, len(c.taken)})
	}
	add := func(dim string, list []schemas.Count) {
		for _, q := range list {
			if got := c.got[[2]string{dim, q.Name}]; got < q.N {
				out = append(out, Shortfall{dim, q.Name, q.N, got})
			}
		}
	}
	add("task", taskQuotas(c.r))
	add("corpus", c.r.Corpora)
	add("language", c.r.Languages)
	return out
}

// Pool draws the sources to work on: for each prompt wanted as many as the
// recipe's draw says, evenly from the corpora. It is told of every source
// first, and then says which are drawn. Of each it holds 16 bytes.
type Pool struct {
	r     schemas.PromptsRecipe
	seed  uint64
	keys  map[string][]uint64
	limit map[string]uint64 // by corpus: the last that is drawn
}

// NewPool makes an empty pool.
func NewPool(r schemas.PromptsRecipe, seed uint64) *Pool {
	return &Pool{r: r, seed: seed, keys: map[string][]uint64{}}
}

// Add tells of a source.
func (p *Pool) Add(s schemas.Story) {
	if p.r.Draw > 0 && p.r.Target > 0 {
		p.keys[s.Source.Corpus] = append(p.keys[s.Source.Corpus], order(p.seed, s.StoryID))
	}
}

// Drawn reports whether a source is among those drawn. All sources must have
// been added before.
func (p *Pool) Drawn(s schemas.Story) bool {
	if p.r.Draw <= 0 || p.r.Target <= 0 {
		return true
	}
	if p.limit == nil {
		p.limit = map[string]uint64{}
		has := map[string]int{}
		for name, keys := range p.keys {
			has[name] = len(keys)
		}
		for name, n := range Even(has, p.r.Draw*p.r.Target) {
			if n > 0 {
				slices.Sort(p.keys[name])
				p.limit[name] = p.keys[name][n-1]
			}
		}
		p.keys = nil
	}
	limit, ok := p.limit[s.Source.Corpus]
	return ok && order(p.seed, s.StoryID) <= limit
}

// Sample draws at most n of ids by seed, for people to review.
func Sample(ids []string, n int, seed uint64) []string {
	ids = slices.Clone(ids)
	slices.SortFunc(ids, func(a, b string) int {
		return cmp.Or(cmp.Compare(order(seed, "sample/"+a), order(seed, "sample/"+b)), strings.Compare(a, b))
	})
	return ids[:min(n, len(ids))]
}
