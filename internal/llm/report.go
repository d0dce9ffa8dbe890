// SPDX-License-Identifier: Apache-2.0

package llm

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// StageReport counts what one stage asked one model in this run.
type StageReport struct {
	Stage string `json:"stage"`
	Model string `json:"model"`
	// Requests are distinct keys; the same question asked again is the same.
	Requests int             `json:"requests"`
	Outcomes map[Outcome]int `json:"outcomes"` // of calls, so of records; see Call.Do
	// Usage and Cost are summed over the answers that were used, stored ones
	// included: they depend on the data, not on how often the command ran.
	Usage Usage   `json:"usage"`
	Cost  float64 `json:"cost_usd"`

	// What this run did; not for an artifact.
	Asked     int     `json:"-"` // requests that went to the engine
	Cached    int     `json:"-"` // answers taken from the store
	Attempts  int     `json:"-"` // tries, repetitions included
	Spent     Usage   `json:"-"`
	SpentCost float64 `json:"-"`
}

// Progress is a snapshot for people.
type Progress struct {
	Expected int // calls announced by Expect; 0 = unknown
	Done     int // answered, of any outcome, cached ones included
	Failed   int // of these, without a value
	Cached   int
	Pending  int
	InFlight int
	Spent    float64       // USD, this run
	Elapsed  time.Duration // since the first call
	Left     time.Duration // estimate; 0 = unknown
}

type stageKey struct{ stage, model string }

type stageCount struct {
	StageReport
	templates map[string]bool // hashes; a stage may have one a category
}

// counters collect what happened. One lock for all of them is 0.1 µs a call.
type counters struct {
	mu       sync.Mutex
	stages   map[stageKey]*stageCount
	used     map[[16]byte]struct{} // half keys whose usage was counted
	expected int
	done     int
	failed   int
	cached   int
	pending  int
	inflight int
	began    time.Time
}

func (c *counters) stage(req Request) *stageCount {
	k := stageKey{req.Stage, req.Model}
	s := c.stages[k]
	if s == nil {
		s = &stageCount{StageReport: StageReport{Stage: req.Stage, Model: req.Model, Outcomes: map[Outcome]int{}}, templates: map[string]bool{}}
		c.stages[k] = s
	}
	if req.TemplateHash != "" {
		s.templates[req.TemplateHash] = true
	}
	return s
}

// exchanged counts an answer that was used.
func (c *counters) exchanged(m Model, req Request, ex Exchange) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stage(req)
	half := [16]byte(ex.Key[:16])
	if _, again := c.used[half]; again {
		return
	}
	if ex.Outcome == Pending {
		return // counted when it is answered
	}
	c.used[half] = struct{}{}
	s.Requests++
	s.Usage = s.Usage.Add(ex.Answer.Usage)
	s.Cost += m.Cost(ex.Answer.Usage)
	if ex.Cached {
		s.Cached++
	}
}

// finished counts the outcome of one call.
func (c *counters) finished(req Request, o Outcome, ok, cached bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stage(req).Outcomes[o]++
	if o == Pending {
		c.pending++
		return
	}
	c.done++
	if cached {
		c.cached++
	}
	if !ok {
		c.failed++
	}
}

// Expect announces n more calls, so that Progress can tell the time left.
func (c *Client) Expect(n int) {
	c.count.mu.Lock()
	c.count.expected += n
	c.count.mu.Unlock()
}

// Progress returns a snapshot; it is cheap enough to be polled.
func (c *Client) Progress() Progress {
	c.count.mu.Lock()
	p := Progress{
		Expected: c.count.expected, Done: c.count.done, Failed: c.count.failed, Cached: c.count.cached,
		Pending: c.count.pending, InFlight: c.count.inflight,
	}
	if !c.count.began.IsZero() {
		p.Elapsed = time.Since(c.count.began)
	}
	c.count.mu.Unlock()
	p.Spent = c.budget.total()
	// Stored answers cost no time: the rate is that of the others.
	if asked := p.Done - p.Cached; asked > 0 && p.Expected > p.Done+p.Pending {
		p.Left = time.Duration(float64(p.Elapsed) / float64(asked) * float64(p.Expected-p.Done-p.Pending))
	}
	return p
}

// Report returns what was asked, by stage and model, in that order.
func (c *Client) Report() []StageReport {
	c.count.mu.Lock()
	defer c.count.mu.Unlock()
	var out []StageReport
	for _, s := range c.count.stages {
		r := s.StageReport
		r.Outcomes = maps.Clone(r.Outcomes)
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b StageReport) int {
		return cmp.Or(cmp.Compare(a.Stage, b.Stage), cmp.Compare(a.Model, b.Model))
	})
	return out
}

// Label is what the stored answers of one kind have in common.
type Label struct {
	Stage        string
	Model        string
	Revision     string
	TemplateHash string
	Params       string // JSON
	Class        Outcome
	N            int
}

// Labeled is a store that can tell what it holds.
type Labeled interface {
	Labels(ctx context.Context) ([]Label, error)
}

// Unused says, for each stage that had to ask, which stored answers of the same
// stage were of no use and why: another template, model, revision or other
// parameters (C49: one more blank in a prompt is another prompt).
func (c *Client) Unused(ctx context.Context) ([]string, error) {
	store, ok := c.opts.Store.(Labeled)
	if !ok {
		return nil, nil
	}
	labels, err := store.Labels(ctx)
	if err != nil {
		return nil, err
	}
	// What the run put to the stages that had to ask: of each, its models, and
	// the templates of each model.
	type use struct {
		asks   bool
		models map[string][]string
	}
	uses := map[string]use{}
	c.count.mu.Lock()
	for k, s := range c.count.stages {
		u, ok := uses[k.stage]
		if !ok {
			u.models = map[string][]string{}
		}
		u.asks = u.asks || s.Asked > 0 || s.Outcomes[Pending] > 0
		u.models[k.model] = slices.Sorted(maps.Keys(s.templates))
		uses[k.stage] = u
	}
	c.count.mu.Unlock()
	sums := map[string]int{}
	for _, l := range labels {
		u := uses[l.Stage]
		if !u.asks {
			continue
		}
		templates, used := u.models[l.Model]
		m := c.models[l.Model]
		why := ""
		switch {
		case !used:
			why = fmt.Sprintf("another model (%s, now %s)", l.Model, strings.Join(slices.Sorted(maps.Keys(u.models)), ", "))
		case l.Revision != m.Revision:
			why = fmt.Sprintf("another revision of %s (%q, now %q)", l.Model, l.Revision, m.Revision)
		case slices.Contains(templates, l.TemplateHash):
			continue
		case len(templates) == 1:
			why = fmt.Sprintf("the prompt template changed (%.8s, now %.8s)", l.TemplateHash, templates[0])
		default:
			why = fmt.Sprintf("the prompt template changed (%.8s, none of the %d asked now)", l.TemplateHash, len(templates))
		}
		sums[fmt.Sprintf("%s: stored answers not used: %s", l.Stage, why)] += l.N
	}
	var out []string
	for _, text := range slices.Sorted(maps.Keys(sums)) {
		out = append(out, fmt.Sprintf("%s: %d", text, sums[text]))
	}
	return out, nil
}
