// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

// The staged protocol. A category of a story costs at most
//
//	extract   one call a window
//	pair      MaxPairs / PairsPerAsk calls
//	settle    one call a window, for each MaxPassages singles (timeline_plot only)
//	evidence  (pairs judged contradictory + singles left open) / CasesPerAsk calls
//
// and nothing at all after a stage that found nothing. Windows need no facts of
// earlier ones: their passages are the established facts, and they are compared
// across windows.

type extractInput struct {
	Category    schemas.Category
	Story       string
	Part, Parts int
	Most        int
	Subtypes    []string
}

// extracted is a passage as the model gave it.
type extracted struct {
	Subtype, Quote, Subject, Claim string
}

// passage is an extracted one that stands in the story.
type passage struct {
	extracted
	place
	key string // of the answer
}

type shown struct {
	Tag, Text, NoteTag, Note string
}

type pairInput struct {
	Passages []shown
	Pairs    []numberedPair
}

type numberedPair struct{ Number, A, B int }

type settleInput struct {
	Story       string
	Part, Parts int
	Passages    []shown
	numbers     []int
}

type evidenceInput struct {
	Category schemas.Category
	Cases    []shownCase
	Subtypes []string
}

type shownCase struct {
	Number           int
	Subtype          string
	TagA, A, TagB, B string
}

// chain is the chain of evidence of one case.
type chain struct {
	Item
	Contradictory bool
	Subtype       string // "" where the answer named none of the category
}

// singles are the subtypes of which one passage alone may be the error.
var singles = []string{"causeless_effects", "abandoned_plot_elements"}

func (c *checker) makeStaged() []*llm.Template {
	var templates []*llm.Template
	c.extract = map[string]llm.Call[extractInput, []extracted]{}
	c.pair = map[string]llm.Call[pairInput, map[int]bool]{}
	c.evidence = map[string]llm.Call[evidenceInput, map[int]chain]{}
	for _, cat := range schemas.Categories {
		ex := llm.Call[extractInput, []extracted]{Stage: StageExtract, Template: templateOf("extract", cat.Name), Params: c.Params, Decode: decodeExtract, AskUnread: true}
		pr := llm.Call[pairInput, map[int]bool]{Stage: StagePair, Template: templateOf("pair", cat.Name), Params: c.Params, Decode: decodePairs, AskUnread: true}
		ev := llm.Call[evidenceInput, map[int]chain]{Stage: StageEvidence, Template: templateOf("evidence", cat.Name), Params: c.Params, Decode: decodeChains, AskUnread: true}
		c.extract[cat.Name], c.pair[cat.Name], c.evidence[cat.Name] = ex, pr, ev
		templates = append(templates, ex.Template, pr.Template, ev.Template)
		c.measure(ex.Template, extractInput{Category: cat, Part: 1, Parts: 2, Most: c.MaxPassages, Subtypes: names(cat)})
	}
	c.settle = &llm.Call[settleInput, map[int]bool]{Stage: StageSettle, Template: templateOf("settle", ""), Params: c.Params, Decode: decodeSettled, AskUnread: true}
	return append(templates, c.settle.Template)
}

func decodeExtract(r *llm.Reply, in extractInput) ([]extracted, error) {
	var out []extracted
	err := eachItem(r, listSpec(in.Category, append([]string{"passage"}, factFields...)...), func(key string, it Item, raw json.RawMessage) {
		var about struct {
			Subject string `json:"subject,omitempty"`
			Claim   string `json:"claim,omitempty"`
			Quote   any    `json:"quote,omitempty"` // at least one key is known
		}
		if _, err := llm.DecodeItem(raw, &about); err != nil {
			r.Mark(llm.Repaired, key+": subject or claim cannot be read")
		}
		for _, q := range it.Fact { // a list is several passages here
			out = append(out, extracted{key, q, about.Subject, about.Claim})
		}
	})
	return out, err
}

// verdicts reads a list of numbered verdicts. Every number that was asked about
// must have one: what is left out was not judged.
func verdicts(r *llm.Reply, key string, asked []int, yes, no []string) (map[int]bool, error) {
	lists, err := r.Lists(llm.ListSpec{Keys: []string{"verdicts"}, Evidence: []string{"verdict"}})
	if err != nil {
		return nil, err
	}
	out := map[int]bool{}
	for _, raw := range lists[0].Items {
		var v struct {
			Pair    *int   `json:"pair,omitempty"`
			Passage *int   `json:"passage,omitempty"`
			Verdict string `json:"verdict"`
		}
		if _, err := llm.DecodeItem(raw, &v); err != nil {
			return nil, llm.Failed(llm.ParseFailed, "a verdict that cannot be read: "+err.Error())
		}
		n := v.Pair
		if key == "passage" {
			n = v.Passage
		}
		if n == nil || !slices.Contains(asked, *n) {
			r.Mark(llm.Repaired, "a verdict on a "+key+" that was not asked about")
			continue
		}
		said, ok := wordOf(v.Verdict, yes, no)
		if out[*n] = said; !ok {
			return nil, llm.Failed(llm.ParseFailed, fmt.Sprintf("the verdict on %s %d is neither %s nor %s", key, *n, yes[0], no[0]))
		}
	}
	if len(out) < len(asked) {
		return nil, llm.Failed(llm.ParseFailed, fmt.Sprintf("%d of %d %ss have no verdict", len(asked)-len(out), len(asked), key))
	}
	return out, nil
}

var (
	contradictoryWords = []string{"contradictory", "contradiction", "contradicts", "contradicting", "inconsistent", "contradicted", "矛盾"}
	consistentWords    = []string{"consistent", "no contradiction", "not contradictory", "non-contradictory", "compatible", "一致"}
)

// wordOf reads a verdict: one of the words, alone or with a reason behind a stop
// or in brackets.
func wordOf(s string, yes, no []string) (said, ok bool) {
	s = strings.ToLower(strings.TrimSpace(s))
	first := s
	if i := strings.IndexAny(s, ".,:;(–—\n"); i > 0 {
		first = s[:i]
	}
	first, _, _ = strings.Cut(first, " - ")
	for _, w := range []string{s, first} {
		w = strings.Trim(w, " .*()\"'[]")
		if slices.Contains(yes, w) {
			return true, true
		}
		if slices.Contains(no, w) {
			return false, true
		}
	}
	return false, false
}

func decodePairs(r *llm.Reply, in pairInput) (map[int]bool, error) {
	var asked []int
	for _, p := range in.Pairs {
		asked = append(asked, p.Number)
	}
	return verdicts(r, "pair", asked, contradictoryWords, consistentWords)
}

func decodeSettled(r *llm.Reply, in settleInput) (map[int]bool, error) {
	return verdicts(r, "passage", in.numbers, []string{"settled", "resolved", "yes"}, []string{"open", "unsettled", "not settled", "unresolved", "no"})
}

func decodeChains(r *llm.Reply, in evidenceInput) (map[int]chain, error) {
	lists, err := r.Lists(llm.ListSpec{Keys: []string{"chains"}, Evidence: []string{"conclusion", "reasoning"}})
	if err != nil {
		return nil, err
	}
	out := map[int]chain{}
	for _, raw := range lists[0].Items {
		var v struct {
			Case       int    `json:"case"`
			Conclusion string `json:"conclusion"`
			Kind       string `json:"error_category,omitempty"`
		}
		if _, err := llm.DecodeItem(raw, &v); err != nil {
			return nil, llm.Failed(llm.ParseFailed, "a chain of evidence that cannot be read: "+err.Error())
		}
		if !slices.ContainsFunc(in.Cases, func(c shownCase) bool { return c.Number == v.Case }) {
			r.Mark(llm.Repaired, "a chain of evidence for a case that was not asked about")
			continue
		}
		ch := chain{}
		ch.Item, _ = ReadItem(raw) // quotes may be missing: the extracted passages stand
		for _, quote := range [][]string{ch.Fact, ch.Contra} {
			for i, q := range quote {
				quote[i] = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(q), ">>>"), "<<<"))
			}
		}
		var ok bool
		if ch.Contradictory, ok = wordOf(v.Conclusion, contradictoryWords, consistentWords); !ok {
			return nil, llm.Failed(llm.ParseFailed, fmt.Sprintf("the conclusion on case %d is neither contradictory nor consistent", v.Case))
		}
		if ch.Contradictory {
			name, ok := subtypeOf(in.Category, v.Kind)
			if !ok {
				r.Mark(llm.Repaired, fmt.Sprintf("case %d: %q is no kind of the category; the suspected one stands", v.Case, v.Kind))
			}
			ch.Subtype = name
		}
		out[v.Case] = ch
	}
	if len(out) < len(in.Cases) {
		return nil, llm.Failed(llm.ParseFailed, fmt.Sprintf("%d of %d cases have no chain of evidence", len(in.Cases)-len(out), len(in.Cases)))
	}
	return out, nil
}

// suspicion is what the first two stages leave: a pair, or a single passage.
type suspicion struct {
	a, b *passage // b is nil for a single one
	keys []string
}

// askStages takes the category through the four stages. A stage that fails in
// part goes on with what was answered; the status says that it failed.
func (j *job) askStages(ctx context.Context) error {
	passages, err := j.askExtract(ctx)
	if err != nil || j.pending {
		return err
	}
	suspects, err := j.askPairs(ctx, passages)
	if err != nil {
		return err
	}
	open, err := j.askSettle(ctx, passages)
	if err != nil || j.pending {
		return err
	}
	return j.askEvidence(ctx, append(suspects, open...))
}

// askExtract is stage 1: one question a window. Passages that are not in the
// story, or copies of the prompt's examples, are left out and counted.
func (j *job) askExtract(ctx context.Context) ([]*passage, error) {
	var out []*passage
	lost := 0
	for _, w := range j.windows {
		found, key, ok, err := call(ctx, j, j.extract[j.category.Name], extractInput{Category: j.category, Story: w.Of(j.text.Story),
			Part: w.part, Parts: w.parts, Most: j.MaxPassages, Subtypes: names(j.category)})
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		if len(found) > j.MaxPassages {
			j.say(fmt.Sprintf("%s: %d passages in part %d, %d were asked for; the rest is left out", StageExtract, len(found), w.part, j.MaxPassages))
			found = found[:j.MaxPassages]
		}
		for _, e := range found {
			p := passage{extracted: e, place: j.loc.find([]string{e.Quote}, "", j.near(w)), key: key}
			switch {
			case !p.found() || p.copied:
				lost++
			case slices.ContainsFunc(out, func(o *passage) bool { return o.bytes() == p.bytes() && o.Subtype == p.Subtype }):
			default:
				out = append(out, &p)
			}
		}
	}
	if lost > 0 {
		j.say(fmt.Sprintf("%s: %d passages are not in the story or copy the prompt, and were left out", StageExtract, lost))
	}
	slices.SortStableFunc(out, func(a, b *passage) int {
		x, y := a.bytes(), b.bytes()
		return cmp.Or(cmp.Compare(x.Start, y.Start), cmp.Compare(x.End, y.End))
	})
	return out, nil
}

// candidate is a pair of passages with how likely the two speak of one thing.
type candidate struct{ a, b, score int }

// candidates lists the pairs of passages, the likeliest to clash first: same
// subject, words in common, same kind. Passages that overlap are no pair, nor
// are those of kinds that a single passage makes. A passage that was collected
// for two kinds is compared once with each other one.
func candidates(ps []*passage) []candidate {
	words := make([]map[string]bool, len(ps))
	for i, p := range ps {
		words[i] = wordSet(p.Subject + " " + p.Claim)
	}
	var out []candidate
	for i, a := range ps {
		for k := i + 1; k < len(ps); k++ {
			b := ps[k]
			if slices.Contains(singles, a.Subtype) || slices.Contains(singles, b.Subtype) {
				continue
			}
			x, y := a.bytes(), b.bytes()
			if x.Start < y.End && y.Start < x.End {
				continue
			}
			c := candidate{a: i, b: k}
			for w := range words[i] {
				if words[k][w] {
					c.score++
				}
			}
			if s := text.Fold(a.Subject); s != "" && s == text.Fold(b.Subject) {
				c.score += 3
			}
			if a.Subtype == b.Subtype {
				c.score++
			}
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(x, y candidate) int { return y.score - x.score })
	seen := map[[2]text.Range]bool{}
	return slices.DeleteFunc(out, func(c candidate) bool {
		places := [2]text.Range{ps[c.a].bytes(), ps[c.b].bytes()}
		twice := seen[places]
		seen[places] = true
		return twice
	})
}

// wordSet are the words of more than two letters in a text, and its ideographs.
func wordSet(s string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.FieldsFunc(text.Fold(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if r, _ := utf8.DecodeRuneInString(w); unicode.Is(unicode.Han, r) {
			for _, r := range w {
				out[string(r)] = true
			}
		} else if utf8.RuneCountInString(w) > 2 {
			out[w] = true
		}
	}
	return out
}

// askPairs is stage 2: the pairs are judged two by two, many a question.
func (j *job) askPairs(ctx context.Context, ps []*passage) ([]suspicion, error) {
	all := candidates(ps)
	if len(all) > j.MaxPairs {
		j.say(fmt.Sprintf("%s: %d pairs of %d were compared, the likeliest ones", StagePair, j.MaxPairs, len(all)))
		all = all[:j.MaxPairs]
	}
	var out []suspicion
	for batch := range slices.Chunk(all, j.PairsPerAsk) {
		in := pairInput{}
		used := map[int]bool{}
		for i, c := range batch {
			in.Pairs = append(in.Pairs, numberedPair{i + 1, c.a + 1, c.b + 1})
			used[c.a], used[c.b] = true, true
		}
		for i, p := range ps {
			if used[i] {
				in.Passages = append(in.Passages, j.show(p, i+1))
			}
		}
		v, key, ok, err := call(ctx, j, j.pair[j.category.Name], in)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		for i, c := range batch {
			if v[i+1] {
				out = append(out, suspicion{ps[c.a], ps[c.b], []string{ps[c.a].key, ps[c.b].key, key}})
			}
		}
	}
	return out, nil
}

func (j *job) show(p *passage, number int) shown {
	note := p.Subtype
	for _, s := range []string{p.Subject, p.Claim} {
		if s = strings.Join(strings.Fields(s), " "); s != "" {
			note += "; " + s
		}
	}
	return shown{Tag: fmt.Sprintf("passage_%d", number), Text: p.text(), NoteTag: fmt.Sprintf("note_%d", number), Note: note}
}

// text is the story's own text of a place.
func (p *place) text() string {
	var parts []string
	for _, s := range p.Spans {
		parts = append(parts, s.Text)
	}
	return strings.Join(parts, "\n")
}

// askSettle judges the passages that may be errors by themselves, against each
// window in which the answer may stand: what is open in all of them is
// suspected.
func (j *job) askSettle(ctx context.Context, ps []*passage) ([]suspicion, error) {
	var alone []*passage
	for _, p := range ps {
		if slices.Contains(singles, p.Subtype) {
			alone = append(alone, p)
		}
	}
	state := make([]struct {
		settled, failed bool
		keys            []string
	}, len(alone))
	for _, w := range j.windows {
		var at []int
		for i, p := range alone {
			r := p.bytes()
			if p.Subtype == "causeless_effects" && w.Start < r.End || p.Subtype == "abandoned_plot_elements" && w.End > r.Start {
				at = append(at, i)
			}
		}
		for batch := range slices.Chunk(at, j.MaxPassages) {
			in := settleInput{Story: w.Of(j.text.Story), Part: w.part, Parts: w.parts}
			for _, i := range batch {
				in.Passages = append(in.Passages, j.show(alone[i], i+1))
				in.numbers = append(in.numbers, i+1)
			}
			v, key, ok, err := call(ctx, j, *j.settle, in)
			if err != nil {
				return nil, err
			}
			for _, i := range batch {
				state[i].settled = state[i].settled || ok && v[i+1]
				state[i].failed = state[i].failed || !ok
				if ok {
					state[i].keys = append(state[i].keys, key)
				}
			}
		}
	}
	var out []suspicion
	for i, p := range alone {
		if !state[i].settled && !state[i].failed {
			out = append(out, suspicion{a: p, keys: append([]string{p.key}, state[i].keys...)})
		}
	}
	return out, nil
}

// askEvidence is stage 3, and its answers make the findings of stage 4.
func (j *job) askEvidence(ctx context.Context, suspects []suspicion) error {
	for batch := range slices.Chunk(suspects, j.CasesPerAsk) {
		in := evidenceInput{Category: j.category, Subtypes: names(j.category)}
		for i, s := range batch {
			c := shownCase{Number: i + 1, Subtype: s.a.Subtype, TagA: fmt.Sprintf("case_%d_first", i+1), A: j.around(s.a)}
			if s.b != nil {
				c.TagB, c.B = fmt.Sprintf("case_%d_second", i+1), j.around(s.b)
				if s.b.Subtype != s.a.Subtype {
					c.Subtype += " or " + s.b.Subtype
				}
			}
			in.Cases = append(in.Cases, c)
		}
		v, key, ok, err := call(ctx, j, j.evidence[j.category.Name], in)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		for i, s := range batch {
			ch := v[i+1]
			if !ch.Contradictory {
				continue
			}
			a, b := j.narrow(s.a, ch.Fact, ch.Contra), place{}
			if s.b != nil {
				b = j.narrow(s.b, ch.Contra, ch.Fact)
			}
			name := ch.Subtype
			if name == "" {
				name = s.a.Subtype
			}
			f := j.loc.pair(j.category.Name, name, ch.Item, a, b)
			for _, k := range append(s.keys, key) {
				if !slices.Contains(f.AnswerKeys, k) {
					f.AnswerKeys = append(f.AnswerKeys, k)
				}
			}
			j.findings = append(j.findings, f)
		}
	}
	return nil
}

// narrow returns the place of a quote of the chain of evidence when it lies
// within the extracted passage or overlaps it; otherwise the passage stands.
// The model may have given the two the other way round.
func (j *job) narrow(p *passage, quotes ...[]string) place {
	r := p.bytes()
	for _, q := range quotes {
		if len(q) == 0 {
			continue
		}
		n := j.loc.find(q, "", r.Start)
		if n.found() && !n.copied && n.bytes().Start < r.End && r.Start < n.bytes().End {
			return n
		}
	}
	return p.place
}

// aroundBytes is how much of the story a case shows on both sides of a passage,
// in bytes.
const aroundBytes = 300

// around is the passage with the sentences around it, marked.
func (j *job) around(p *passage) string {
	r := p.bytes()
	from, to := max(r.Start-aroundBytes, 0), min(r.End+aroundBytes, len(j.text.Story))
	from, to = wordStart(j.text.Story, from, r.Start), wordEnd(j.text.Story, to, r.End)
	return j.text.Story[from:r.Start] + ">>>" + r.Of(j.text.Story) + "<<<" + j.text.Story[r.End:to]
}

// wordStart moves a cut forward to the next beginning of a word, at most to
// limit; in a text without blanks, to the next character. wordEnd moves one
// back to the end of a word.
func wordStart(s string, at, limit int) int {
	if at == 0 {
		return 0
	}
	if i := strings.IndexAny(s[at:limit], " \n"); i >= 0 {
		return at + i + 1
	}
	for at < limit && !utf8.RuneStart(s[at]) {
		at++
	}
	return at
}

func wordEnd(s string, at, limit int) int {
	if at == len(s) {
		return at
	}
	if i := strings.LastIndexAny(s[limit:at], " \n"); i >= 0 {
		return limit + i
	}
	for at > limit && !utf8.RuneStart(s[at]) {
		at--
	}
	return at
}
