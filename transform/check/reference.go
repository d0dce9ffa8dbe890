// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/schemas"
)

// referenceInput is one question of the reference protocol.
type referenceInput struct {
	Category    schemas.Category
	Story       string // the window
	Part, Parts int
	Facts       string // of earlier windows, one a line
	Subtypes    []string
}

type factsInput struct {
	Story       string
	Part, Parts int
	Most        int
}

// fact is what a window established, with the sentence that says it.
type fact struct {
	Subject, Fact, Quote string
}

// maxFacts is how many facts are noted of one window.
const maxFacts = 40

// notes are the facts of a story's windows.
type notes struct {
	before  [][]fact // before[i] are the facts of the windows before window i
	outcome llm.Outcome
	unclear []string // notes of the calls
	keys    []string
}

func (c *checker) makeReference() []*llm.Template {
	var templates []*llm.Template
	c.reference = map[string]llm.Call[referenceInput, []Item]{}
	for _, cat := range schemas.Categories {
		call := llm.Call[referenceInput, []Item]{
			Stage: StageReference, Template: templateOf("reference", cat.Name), Params: c.Params,
			Decode: func(r *llm.Reply, in referenceInput) ([]Item, error) { return items(r, in.Category) },
			Rule:   ruleAnswer, AskUnread: true,
		}
		c.reference[cat.Name] = call
		templates = append(templates, call.Template)
		c.measure(call.Template, referenceInput{Category: cat, Subtypes: names(cat), Facts: "-", Part: 1, Parts: 2})
	}
	c.facts = &llm.Call[factsInput, []fact]{Stage: StageFacts, Template: templateOf("facts", ""), Params: c.Params, Decode: decodeFacts, AskUnread: true}
	return append(templates, c.facts.Template)
}

// measure raises the overhead to that of a template's prompt.
func (c *checker) measure(t *llm.Template, in any) {
	msgs, err := t.Messages(in)
	if err != nil {
		panic(fmt.Sprintf("check: %s: %v", t.Name, err)) // found by every test
	}
	n := tokens(" ")
	for _, m := range msgs {
		n += tokens(m.Content) + 4
	}
	c.overhead = max(c.overhead, n)
}

func names(c schemas.Category) []string {
	out := make([]string, len(c.Subtypes))
	for i, s := range c.Subtypes {
		out[i] = s.Name
	}
	return out
}

func decodeFacts(r *llm.Reply, _ factsInput) ([]fact, error) {
	lists, err := r.Lists(llm.ListSpec{Keys: []string{"facts"}, Evidence: []string{"quote"}})
	if err != nil {
		return nil, err
	}
	var out []fact
	for _, raw := range lists[0].Items {
		var f struct {
			Subject string `json:"subject,omitempty"`
			Fact    string `json:"fact,omitempty"`
			Quote   string `json:"quote"`
		}
		if _, err := llm.DecodeItem(raw, &f); err != nil {
			r.Mark(llm.Repaired, "facts: an item that cannot be read")
			continue
		}
		out = append(out, fact(f))
	}
	return out, nil
}

// noter returns the function that notes the facts of a sample's windows: one
// question a window but the last, shared by all categories. A story of one
// window needs none.
func (c *checker) noter(t Text, parts []window, budget, sample int, loc *Locator, client *llm.Client) func(context.Context) (notes, error) {
	return onceFor(func(ctx context.Context) (notes, error) {
		n := notes{before: make([][]fact, len(parts)), outcome: llm.OK}
		if c.facts == nil || len(parts) == 1 {
			return n, nil
		}
		j := &job{checker: c, sample: sample, client: client}
		var all []fact
		used, left := 0, 0
		for i, w := range parts {
			n.before[i] = slices.Clone(all)
			if i == len(parts)-1 {
				break
			}
			found, _, ok, err := call(ctx, j, *c.facts, factsInput{Story: w.Of(t.Story), Part: w.part, Parts: w.parts, Most: maxFacts})
			if err != nil {
				return n, err
			}
			if !ok {
				continue
			}
			for _, f := range found {
				p := loc.find([]string{f.Quote}, "", w.Start)
				if !p.found() || p.copied {
					continue // what is not in the story establishes nothing
				}
				f.Quote = p.Spans[0].Text
				size := tokens(f.line())
				if used+size > budget {
					left++
					continue
				}
				used += size
				all = append(all, f)
			}
		}
		if left > 0 {
			j.say(fmt.Sprintf("%s: %d facts had no room in the context budget", StageFacts, left))
		}
		n.outcome, n.unclear, n.keys = j.outcome, j.details, j.keys
		if j.pending {
			n.outcome = llm.Pending
		}
		return n, nil
	})
}

func (f fact) line() string {
	flat := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	return flat(f.Subject) + " - " + flat(f.Fact) + ": " + flat(f.Quote) + "\n"
}

// askReference asks the category's one question, for each window.
func (j *job) askReference(ctx context.Context) error {
	n, err := j.noted(ctx)
	if err != nil {
		return err
	}
	// What could not be noted leaves later windows without it: the category is
	// then not judged as a whole.
	if n.outcome != llm.OK && n.outcome != "" {
		if n.outcome == llm.Pending {
			j.pending = true
		}
		if severity(n.outcome) > severity(j.outcome) {
			j.outcome = n.outcome
		}
	}
	for _, s := range n.unclear {
		j.say(s)
	}
	j.keys = append(j.keys, n.keys...)
	c := j.reference[j.category.Name]
	for i, w := range j.windows {
		if n.outcome == llm.Pending && i > 0 {
			break // the prompt is not known yet
		}
		var facts strings.Builder
		for _, f := range n.before[i] {
			facts.WriteString(f.line())
		}
		found, key, ok, err := call(ctx, j, c, referenceInput{Category: j.category, Story: w.Of(j.text.Story), Part: w.part, Parts: w.parts,
			Facts: strings.TrimSuffix(facts.String(), "\n"), Subtypes: names(j.category)})
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		for _, it := range found {
			f := j.loc.Finding(j.category.Name, it.Subtype, it, j.near(w))
			f.AnswerKeys = []string{key}
			j.findings = append(j.findings, f)
		}
	}
	return nil
}

// near is the place near which a window's quotes are expected: nowhere where the
// story is one window.
func (j *job) near(w window) int {
	if w.parts == 1 {
		return -1
	}
	return w.Start
}
