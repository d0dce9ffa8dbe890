// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

// Item is one contradiction as a judge wrote it down, before its quotes are
// looked for in the story.
type Item struct {
	Subtype string // of the list it stood in
	// Fact and Contra are the pieces of the two quotes: one as a rule, more
	// where the judge gave a list. Contra is nil where it gave none.
	Fact, Contra []string
	FactAt       string // the judge's own word for the place, not used
	ContraAt     string
	Element      string
	Context      string
	Reasoning    string
}

// Fields of an item. The paper calls the first quote fact_quote, its published
// code exact_quote; the others were seen in answers.
var (
	factFields   = []string{"fact_quote", "exact_quote", "quote"}
	contraFields = []string{"contradiction_pair", "contradiction_quote", "contradicting_quote"}
	// quoteFields are where an object in place of a quote has its text.
	quoteFields = slices.Concat([]string{"text", "passage", "sentence"}, factFields, contraFields)
)

// kinds are names for subtypes that answers use in error_category beside the
// subtype's own: those of the paper's examples.
var kinds = map[string]string{
	"absolute_time_error":  "absolute_time_contradictions",
	"duration_error":       "duration_timeline_contradictions",
	"timeline_error":       "duration_timeline_contradictions",
	"simultaneity_error":   "simultaneity_contradictions",
	"effect_without_cause": "causeless_effects",
	"causal_logic_error":   "causal_logic_violations",
	"dangling_plot_thread": "abandoned_plot_elements",
	"skill_fluctuation":    "skill_power_fluctuations",
	"power_fluctuation":    "skill_power_fluctuations",
	"forgotten_ability":    "forgotten_abilities",
}

// listSpec is the form of an answer: an object of lists, one a subtype.
func listSpec(c schemas.Category, evidence ...string) llm.ListSpec {
	spec := llm.ListSpec{By: "error_category", Evidence: evidence, Aliases: map[string]string{}}
	own := map[string]bool{}
	for _, s := range c.Subtypes {
		spec.Keys = append(spec.Keys, s.Name)
		own[s.Name] = true
		for _, a := range s.Aliases {
			spec.Aliases[a] = s.Name
		}
	}
	for alias, name := range kinds {
		if own[name] {
			spec.Aliases[alias] = name
		}
	}
	return spec
}

// subtypeOf returns the category's subtype that a judge's word means.
func subtypeOf(c schemas.Category, word string) (string, bool) {
	fold := func(s string) string {
		return strings.Map(func(r rune) rune {
			if r == ' ' || r == '-' {
				return '_'
			}
			return r
		}, strings.ToLower(strings.TrimSpace(s)))
	}
	w := fold(word)
	if name, ok := kinds[w]; ok {
		w = name
	}
	for _, s := range c.Subtypes {
		for _, n := range append([]string{s.Name}, s.Aliases...) {
			if w == n || w+"s" == n || w+"es" == n || strings.TrimSuffix(w, "y")+"ies" == n || w == strings.ToLower(fold(s.Title)) {
				return s.Name, true
			}
		}
	}
	return "", false
}

// items reads an answer with the findings of a category: one item an element
// of its lists, in the order of the subtypes.
func items(r *llm.Reply, c schemas.Category) ([]Item, error) {
	var out []Item
	err := eachItem(r, listSpec(c, append(factFields, contraFields...)...), func(key string, it Item, _ json.RawMessage) {
		it.Subtype = key
		out = append(out, it)
	})
	return out, err
}

// eachItem calls f with the items of an answer that can be read, list by list.
func eachItem(r *llm.Reply, spec llm.ListSpec, f func(key string, it Item, raw json.RawMessage)) error {
	lists, err := r.Lists(spec)
	if err != nil {
		return err
	}
	for _, l := range lists {
		for _, raw := range l.Items {
			it, err := ReadItem(raw)
			if err != nil {
				r.Mark(llm.Repaired, l.Key+": "+err.Error())
				continue
			}
			f(l.Key, it, raw)
		}
	}
	return nil
}

// ReadItem reads one finding of an answer, or of a cell of the reference's
// files: a JSON object whose quotes are strings, null, or lists of strings or
// objects. A missing field is empty; an item without any quote is an error.
func ReadItem(raw json.RawMessage) (Item, error) {
	var obj map[string]json.RawMessage
	if err := json.Unmarshal(raw, &obj); err != nil || obj == nil {
		return Item{}, fmt.Errorf("an item that is no object")
	}
	at := map[string]json.RawMessage{}
	for k, v := range obj {
		at[strings.ReplaceAll(strings.ReplaceAll(strings.ToLower(strings.TrimSpace(k)), " ", "_"), "-", "_")] = v
	}
	first := func(names []string) []string {
		for _, n := range names {
			if q := pieces(at[n]); len(q) > 0 {
				return q
			}
		}
		return nil
	}
	word := func(name string) string { return strings.Join(pieces(at[name]), "; ") }
	it := Item{Fact: first(factFields), Contra: first(contraFields), FactAt: word("location"), ContraAt: word("contradiction_location"),
		Element: word("error_element"), Context: word("context"), Reasoning: word("reasoning")}
	if it.Fact == nil { // one passage alone, in the wrong field
		it.Fact, it.Contra, it.FactAt, it.ContraAt = it.Contra, nil, it.ContraAt, ""
	}
	if it.Fact == nil {
		return it, fmt.Errorf("an item without a quote")
	}
	return it, nil
}

// pieces reads a quote field: text, a list of texts or objects, or nothing.
func pieces(raw json.RawMessage) []string { return text.QuoteField(raw, quoteFields, nothing) }

// nothing reports whether a field says that there is no quote. The word alone
// counts: a sentence that says more is looked for in the story.
func nothing(s string) bool {
	switch strings.ToLower(strings.Trim(strings.TrimSpace(s), ".()[]\"'")) {
	case "", "null", "none", "n/a", "na", "nil", "-", "–", "—", "not applicable", "无", "没有":
		return true
	}
	return false
}
