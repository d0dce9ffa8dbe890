// SPDX-License-Identifier: Apache-2.0

package diagnostic

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform"
	"github.com/retcon-bench/retcon/transform/flawed"
)

// Version changes whenever the same story may be given other injections.
const Version = "2"

// Config of an [Injector].
type Config struct {
	Seed uint64
	// Survey knows the names of each collection, from which the rules draw new
	// ones; nil draws none.
	Survey *flawed.Survey
	// Model and Judge name models of the client's table. With an empty Model the
	// rules propose; with an empty Judge nobody looks at a model's proposals
	// again.
	Model, Judge string
}

// change replaces bytes of the source. An empty range is an insertion.
type change struct {
	text.Range
	New string
	// sentence says that New is a sentence of its own, with the blank before it;
	// a result in which it runs into its neighbours is refused.
	sentence bool
}

// place is a passage that a proposal points at: bytes of the source that stay,
// or, from 0 on, what one of its changes put there.
type place struct {
	text.Range
	change int
}

func standing(r text.Range) place { return place{r, -1} }
func changed(i int) place         { return place{change: i} }

// proposal is a contradiction that could be put into a story.
type proposal struct {
	subtype string
	class   string
	changes []change
	fact    place
	contra  place
	facts   []place // further passages that say the same
	contras []place

	explanation string
	alleged     string
	checked     string
}

func (p *proposal) category() string {
	c, _, _ := schemas.FindSubtype(p.subtype)
	return c.Name
}

// Injector puts contradictions into stories.
type Injector struct{ cfg Config }

// New returns an Injector.
func New(cfg Config) *Injector { return &Injector{cfg} }

// ID names a story of a set. It gives away neither what it was made of nor
// whether anything was injected.
func ID(seed uint64, storyID string) string {
	return "dg-" + schemas.ExampleID(storyID, "diagnostic "+strconv.FormatUint(seed, 10))[len("rc-"):]
}

// Inject returns the story with everything that can be injected, at most one
// contradiction a category; with none it is a control. Proposals that were
// turned down are set aside in the pass, with a reason:
//
//	touches_another  shares a sentence with a contradiction that is in, or stands
//	                 right beside one
//	not_a_text       the result would not be a frozen text
//	no_sentence      what was put in is no sentence of the result
//
// and, from a model, those of [Injector.ask].
func (in *Injector) Inject(ctx context.Context, pass *transform.Pass, s schemas.Story) (schemas.Diagnostic, error) {
	_, d, err := in.inject(ctx, pass, s)
	return d, err
}

// With returns the story with the contradictions of the named categories only.
func (in *Injector) With(ctx context.Context, pass *transform.Pass, s schemas.Story, categories []string) (schemas.Diagnostic, error) {
	kept, _, err := in.inject(ctx, pass, s)
	if err != nil {
		return schemas.Diagnostic{}, err
	}
	kept = slices.DeleteFunc(kept, func(p proposal) bool { return !slices.Contains(categories, p.category()) })
	d, reason, err := in.build(s, kept)
	if err == nil && reason != "" {
		err = fmt.Errorf("%s: leaving a contradiction out: %s", s.StoryID, reason)
	}
	in.stamp(pass, &d)
	return d, err
}

// Control returns the story as it is.
func (in *Injector) Control(s schemas.Story) (schemas.Diagnostic, error) {
	d, _, err := in.build(s, nil)
	return d, err
}

func (in *Injector) inject(ctx context.Context, pass *transform.Pass, s schemas.Story) ([]proposal, schemas.Diagnostic, error) {
	var offers []proposal
	if in.cfg.Model == "" {
		offers = in.rules(s)
	} else {
		var err error
		if offers, err = in.ask(ctx, pass, s); err != nil {
			return nil, schemas.Diagnostic{}, err
		}
	}
	var kept []proposal
	have := map[string]bool{}
	d, _, err := in.build(s, nil)
	if err != nil {
		return nil, d, err
	}
	for _, p := range offers {
		if have[p.category()] {
			continue
		}
		next, reason, err := in.build(s, append(slices.Clone(kept), p))
		if err != nil {
			return nil, d, err
		}
		if reason != "" {
			pass.SetAside(s.StoryID, reason, strings.TrimSuffix(p.subtype+", "+p.class, ", "))
			continue
		}
		kept, d, have[p.category()] = append(kept, p), next, true
	}
	in.stamp(pass, &d)
	return kept, d, nil
}

func (in *Injector) stamp(pass *transform.Pass, d *schemas.Diagnostic) {
	if d.Control {
		return
	}
	d.Engine = "rules"
	prov := schemas.Provenance{Step: "diagnostic", Version: Version, Engine: d.Engine, InputHash: d.SourceHash}
	if in.cfg.Model != "" {
		d.Engine, prov.Engine = pass.Engine(), pass.Engine()
		prov.Model, prov.PromptHash = in.cfg.Model, injectTemplate.Hash
	}
	d.Provenance = append(slices.Clone(d.Provenance), prov)
}

// build makes the record of a story with proposals. reason says why they cannot
// stand in one text together; an error is a bug.
func (in *Injector) build(s schemas.Story, ps []proposal) (d schemas.Diagnostic, reason string, err error) {
	d = schemas.Diagnostic{
		DiagnosticID: ID(in.cfg.Seed, s.StoryID), StoryID: s.StoryID, GroupID: s.GroupID, Title: s.Title, Language: s.Language,
		Control: len(ps) == 0, SourceHash: s.TextHash, Injections: []schemas.Injection{}, Source: s.Source, Provenance: s.Provenance,
	}
	type owned struct {
		change
		p, i int
	}
	var all []owned
	for p := range ps {
		for i, c := range ps[p].changes {
			all = append(all, owned{c, p, i})
		}
	}
	slices.SortStableFunc(all, func(a, b owned) int {
		if a.Start != b.Start {
			return a.Start - b.Start
		}
		return a.End - b.End
	})
	final := make([]byte, 0, len(s.Text)+256)
	at := 0
	places := make([][]text.Range, len(ps))
	for p := range ps {
		places[p] = make([]text.Range, len(ps[p].changes))
	}
	for k, c := range all {
		if c.Start < at || k > 0 && c.Start == all[k-1].Start || c.End < c.Start || c.End > len(s.Text) ||
			!utf8.RuneStart(byteAt(s.Text, c.Start)) || !utf8.RuneStart(byteAt(s.Text, c.End)) {
			return d, "touches_another", nil
		}
		final = append(final, s.Text[at:c.Start]...)
		from := len(final)
		final = append(final, c.New...)
		places[c.p][c.i] = text.Range{Start: from, End: len(final)}
		at = c.End
	}
	final = append(final, s.Text[at:]...)
	d.Story = string(final)
	if text.CheckFrozen(d.Story) != nil || text.Trim(d.Story) != d.Story {
		return d, "not_a_text", nil
	}
	d.TextHash, d.Words = schemas.HashText(d.Story), text.Words(d.Story)
	// moved brings a range of the source, which no change touches, to the result.
	moved := func(r text.Range) text.Range {
		shift := func(to int, closing bool) (n int) {
			for _, c := range all {
				if c.End < to || c.End == to && !(closing && c.Start == c.End) {
					n += len(c.New) - c.Len()
				}
			}
			return n
		}
		return text.Range{Start: r.Start + shift(r.Start, false), End: r.End + shift(r.End, true)}
	}
	ix, src, sents := text.NewIndex(d.Story), text.NewIndex(s.Text), text.Sentences(d.Story)
	owner := map[int]int{} // sentence -> proposal
	span := func(p int, at place) (schemas.Span, string) {
		r := at.Range
		if at.change >= 0 {
			r = places[p][at.change]
			for r.Start < r.End && d.Story[r.Start] == ' ' {
				r.Start++
			}
		} else {
			r = moved(r)
		}
		first, last := -1, -1
		for i, t := range sents {
			if t.Start < r.End && r.Start < t.End {
				if first < 0 {
					first = i
				}
				last = i
				for _, k := range []int{i - 1, i, i + 1} {
					if by, taken := owner[k]; taken && by != p {
						return schemas.Span{}, "touches_another"
					}
				}
				owner[i] = p
			}
		}
		if first < 0 {
			return schemas.Span{}, "no_sentence"
		}
		whole := text.Range{Start: sents[first].Start, End: sents[last].End}
		if at.change >= 0 && ps[p].changes[at.change].sentence && whole != r {
			return schemas.Span{}, "no_sentence"
		}
		return schemas.Span{Offsets: schemas.Offsets(ix.Span(whole)), Sentence: first, Text: whole.Of(d.Story)}, ""
	}
	for p := range ps {
		pr := &ps[p]
		i := schemas.Injection{Category: pr.category(), Subtype: pr.subtype, Class: pr.class, Facts: []schemas.Span{}, Contras: []schemas.Span{},
			Edits: []schemas.Edit{}, Explanation: pr.explanation, Alleged: pr.alleged, Checked: pr.checked}
		if i.Fact, reason = span(p, pr.fact); reason != "" {
			return d, reason, nil
		}
		if i.Contra, reason = span(p, pr.contra); reason != "" {
			return d, reason, nil
		}
		if i.Fact.End > i.Contra.Start {
			return d, "touches_another", nil
		}
		for _, more := range []struct {
			from []place
			to   *[]schemas.Span
			not  schemas.Span
		}{{pr.facts, &i.Facts, i.Fact}, {pr.contras, &i.Contras, i.Contra}} {
			for _, at := range more.from {
				sp, why := span(p, at)
				if why != "" {
					return d, why, nil
				}
				if sp.Offsets != more.not.Offsets && !slices.ContainsFunc(*more.to, func(o schemas.Span) bool { return o.Offsets == sp.Offsets }) {
					*more.to = append(*more.to, sp)
				}
			}
		}
		for k, c := range pr.changes {
			old, err := src.FromBytes(c.Start, c.End)
			if err != nil {
				return d, "", err
			}
			at := places[p][k]
			e := schemas.Edit{Span: schemas.Span{Offsets: schemas.Offsets(ix.Span(at)), Sentence: sentenceAt(sents, at.Start), Text: at.Of(d.Story)},
				Old: c.Of(s.Text), SourceStart: old.Start}
			i.Edits = append(i.Edits, e)
		}
		d.Injections = append(d.Injections, i)
	}
	slices.SortStableFunc(d.Injections, func(a, b schemas.Injection) int { return a.Edits[0].Start - b.Edits[0].Start })
	for k := range d.Injections {
		d.Injections[k].ID = "I" + strconv.Itoa(k+1)
	}
	return d, "", d.Check()
}

func byteAt(s string, i int) byte {
	if i < 0 || i >= len(s) {
		return 0
	}
	return s[i]
}

// sentenceAt returns the sentence that holds byte i, or the one before it.
func sentenceAt(sents []text.Range, i int) int {
	at := 0
	for k, r := range sents {
		if r.Start > i {
			break
		}
		at = k
	}
	return at
}

// Row is the story of a diagnostic record as a checker reads it.
func Row(d schemas.Diagnostic, n int, writer string) schemas.Generated {
	story := d.Story
	return schemas.Generated{ID: n, Language: d.Language, TaskType: schemas.TaskDiagnostic, ModelName: writer, GeneratedStory: &story,
		GeneratedID: d.DiagnosticID, Outcome: "ok", TextHash: d.TextHash, Words: d.Words, Source: d.Source, Settings: []schemas.KeyValue{}, Notes: []string{},
		Provenance: []schemas.Provenance{}}
}
