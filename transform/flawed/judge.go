// SPDX-License-Identifier: Apache-2.0

package flawed

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform"
)

const judgeVersion = "4"

// judge asks several times whether the marked lines contradict the story, and
// makes the gold sets.
func (m *maker) judge() transform.Step[schemas.Draft, schemas.Draft] {
	return transform.Step[schemas.Draft, schemas.Draft]{
		Name: "judge", Version: judgeVersion, Requires: []string{"filter"},
		Templates: []*llm.Template{judgeCall.Template},
		Doc: "asks judge_ask times (5) whether the marked lines contradict the story; judge_need (4) must say that they do. All are asked; none is believed that cannot be read.\n\n" +
			"Gold: S_err are the changed sentences that more than half of the yes votes cite (none: all of them), S_contr the sentences before the first of those that more than half cite, " +
			"and the fact's evidence in act 1. The offline rules have no votes: their gold is the edited sentences and the evidence.\n\n" +
			"A yes vote with a quote that stands nowhere is left out of the shares of that list, as long as half of the votes are left.\n\n" +
			"Reasons: judge_says_no, no_gold_error, no_gold_contradicted; for a quote of a vote: quote_not_found.",
		Run: func(ctx context.Context, pass *transform.Pass, d schemas.Draft) ([]schemas.Draft, error) {
			mod := changed(d.Patched)
			in := prompt{Title: d.Title, Story: d.Patched.Text, Marked: markSentences(d.Patched, mod), draft: &d, maker: m}
			p, err := m.poll(ctx, pass, judgeCall, in, d.Patched)
			if err != nil {
				return nil, err
			}
			var yes []vote
			if p != nil {
				d.Judge = p.counts()
				if p.yes() < m.cfg.Make.JudgeNeed {
					return nil, transform.Drop("judge_says_no", fmt.Sprintf("%d of %d say that there is an error, %d that there is none, %d cannot be read; %d are needed",
						p.yes(), len(p.votes), p.no(), p.bad(), m.cfg.Make.JudgeNeed))
				}
				yes = p.said(sayYes)
				for i, v := range yes {
					for _, l := range slices.Concat(v.lostErrors, v.lostContradicted) {
						pass.SetAside(d.DraftID, "quote_not_found", fmt.Sprintf("yes vote %d of %d cites a sentence that stands nowhere in the story", i+1, len(yes)), schemas.KeyValue{Key: "quote", Value: clip(l)})
					}
				}
				stamp(&d, pass, "judge", judgeVersion, judgeCall.Template, p.model, p.keys...)
			} else {
				stamp(&d, pass, "judge", judgeVersion, nil, "")
			}
			if err := gold(&d, mod, yes); err != nil {
				return nil, err
			}
			d.Explanation = explain(&d, yes)
			d.Difficulty = Difficulty(&d)
			return []schemas.Draft{d}, nil
		},
	}
}

// What a judge said.
type said int

const (
	unreadable said = iota
	sayYes
	sayNo
)

// vote is one completion of a judge.
type vote struct {
	said         said
	errors       []int // sentences of the judged story
	contradicted []int
	explanation  string
	// Quotes of the two lists that stand nowhere in the story.
	lostErrors, lostContradicted []string
}

// ballot is what all completions of a judge said, in sample order.
type ballot struct {
	votes []vote
	keys  []llm.Key
	model string
}

func (p *ballot) count(s said) (n int) { return len(p.said(s)) }
func (p *ballot) yes() int             { return p.count(sayYes) }
func (p *ballot) no() int              { return p.count(sayNo) }
func (p *ballot) bad() int             { return p.count(unreadable) }

// counts returns the ballot as records keep it.
func (p *ballot) counts() *schemas.JudgeVotes {
	return &schemas.JudgeVotes{Asked: len(p.votes), Yes: p.yes(), No: p.no(), Bad: p.bad()}
}

func (p *ballot) said(s said) (out []vote) {
	for _, v := range p.votes {
		if v.said == s {
			out = append(out, v)
		}
	}
	return out
}

// poll asks all samples of a judge about a story. It returns nil when nobody
// can judge (no rule), and ErrPending while an answer is missing; every sample
// is asked before that, so that one round of a batch asks all of them.
func (m *maker) poll(ctx context.Context, pass *transform.Pass, c llm.Call[prompt, verdict], in prompt, v *schemas.Variant) (*ballot, error) {
	req, err := c.Request(pass.Model, in, 0)
	if err != nil {
		return nil, err
	}
	if t := req.Params.Temperature; t != nil && *t == 0 && m.cfg.Make.JudgeAsk > 1 {
		return nil, fmt.Errorf("stage %s: temperature 0 would give %d identical votes; set a temperature above 0 in the recipe", c.Stage, m.cfg.Make.JudgeAsk)
	}
	p := &ballot{}
	q := quotesOf(v, -1)
	mod := changed(v)
	waiting := false
	for n := range m.cfg.Make.JudgeAsk {
		res, err := c.Do(ctx, pass.Model, in, n)
		switch {
		case err != nil:
			return nil, err
		case res.Outcome == llm.NoRule:
			return nil, nil
		case res.Pending():
			waiting = true
			continue
		}
		p.keys, p.model = append(p.keys, res.Key), res.Model
		if !res.OK() {
			p.votes = append(p.votes, vote{})
			continue
		}
		p.votes = append(p.votes, res.Value.vote(q, mod))
	}
	if waiting {
		return nil, transform.ErrPending
	}
	return p, nil
}

// verdict is a read answer of a judge, with its quotes not yet mapped.
type verdict struct {
	yes          bool
	errors       []string
	contradicted []string
	explanation  string
}

// vote maps the quotes. A yes whose lines stand nowhere in the story is none.
// A repeated sentence means the changed one where it is called an error, and
// one before the first change where it is called contradicted.
func (v verdict) vote(q *quotes, mod []int) vote {
	if !v.yes {
		return vote{said: sayNo, explanation: v.explanation}
	}
	out := vote{said: sayYes, explanation: v.explanation}
	read := func(items []string, prefer func(int) bool) (ids []int, lost []string) {
		for _, l := range items {
			found := q.find(l, prefer)
			if len(found) == 0 {
				lost = append(lost, l)
			}
			ids = union(ids, found)
		}
		return ids, lost
	}
	out.errors, out.lostErrors = read(v.errors, func(id int) bool { return slices.Contains(mod, id) })
	out.contradicted, out.lostContradicted = read(v.contradicted, func(id int) bool { return len(mod) == 0 || id < mod[0] })
	if len(out.errors) == 0 || len(out.contradicted) == 0 {
		out.said = unreadable
	}
	return out
}

// common counts the numbers of a that are in b.
func common(a, b []int) (n int) {
	for _, x := range a {
		if slices.Contains(b, x) {
			n++
		}
	}
	return n
}

func union(a, b []int) []int {
	for _, x := range b {
		if !slices.Contains(a, x) {
			a = append(a, x)
		}
	}
	slices.Sort(a)
	return a
}

var judgeCall = llm.Call[prompt, verdict]{
	Stage:    "flawed/judge",
	Template: template("judge"),
	Params:   llm.Params{Temperature: llm.Float(0.5), MaxTokens: 4096},
	Decode:   decodeVerdict,
}

var (
	analysisHead = lineHeadingOf(`Detailed Analysis`)
	judgeHead    = lineHeadingOf(`Final Judge?ment`)
	errorLines   = lineHeadingOf(`(?:Lines?|Sentences?) that introduces?`)
	contraLines  = lineHeadingOf(`(?:Lines?|Sentences?) earlier`)
	explHead     = headingOf(`Explanation`)
	decHead      = headingOf(`Decision`)
	verdictHeads = []*regexp.Regexp{analysisHead, judgeHead, errorLines, contraLines, explHead, decHead}
	saysYes      = regexp.MustCompile(`(?i)\bthere is (?:a|one) continuity error\b`)
	saysNo       = regexp.MustCompile(`(?i)\bno continuity errors?(?: was| is| were| are)?(?: found)?\b`)
)

// decodeVerdict reads the last Decision of the answer and the sections before
// it. A decision that says both, or neither, is unreadable.
func decodeVerdict(r *llm.Reply, _ prompt) (verdict, error) {
	s := text.Freeze(r.Text)
	at := decHead.FindAllStringIndex(s, -1)
	if len(at) == 0 {
		return verdict{}, llm.Failed(llm.ParseFailed, "no Decision")
	}
	dec := at[len(at)-1]
	decision := s[dec[0]:]
	v := verdict{yes: saysYes.MatchString(decision)}
	if no := saysNo.MatchString(decision); v.yes == no {
		return verdict{}, llm.Failed(llm.ParseFailed, "the Decision says neither, or both")
	}
	body := s[:dec[0]]
	v.errors = bullets(section(body, errorLines, verdictHeads...))
	v.contradicted = bullets(section(body, contraLines, verdictHeads...))
	v.explanation = oneLine(section(body, explHead, verdictHeads...))
	if isNA(v.explanation) {
		v.explanation = ""
	}
	if v.yes && (len(v.errors) == 0 || len(v.contradicted) == 0) {
		return v, llm.Failed(llm.ParseFailed, "an error is claimed without lines")
	}
	for _, l := range slices.Concat(v.errors, v.contradicted) {
		if isPlaceholder(l) {
			return v, llm.Failed(llm.Echo, "the prompt's own placeholder came back")
		}
	}
	return v, nil
}

// markSentences returns a story with the given sentences between <m> and </m>.
func markSentences(v *schemas.Variant, ids []int) string {
	return wrap(v, ids, markOpen, markClose)
}

func wrap(v *schemas.Variant, ids []int, open, end string) string {
	ix := text.NewIndex(v.Text)
	var b strings.Builder
	at := 0
	for _, id := range ids {
		r := byteRange(ix, v.Sentences[id])
		b.WriteString(v.Text[at:r.Start] + open + v.Text[r.Start:r.End] + end)
		at = r.End
	}
	return b.String() + v.Text[at:]
}

// gold makes the gold sets of a draft from the changed sentences, the yes votes
// and the fact's evidence.
func gold(d *schemas.Draft, mod []int, yes []vote) error {
	errs := sharesOf(yes, func(v vote) ([]int, []string) { return v.errors, v.lostErrors })
	contr := sharesOf(yes, func(v vote) ([]int, []string) { return v.contradicted, v.lostContradicted })

	d.Errors, d.Contradicted = nil, nil
	for _, id := range mod {
		if len(yes) > 0 {
			if s := errs(id); s > 0.5 {
				d.Errors = append(d.Errors, schemas.GoldSentence{Sentence: id, Share: &s, From: "votes"})
			}
		}
	}
	if len(d.Errors) == 0 {
		for _, id := range mod {
			g := schemas.GoldSentence{Sentence: id, From: "edit"}
			if len(yes) > 0 {
				s := errs(id)
				g.Share = &s
			}
			d.Errors = append(d.Errors, g)
		}
	}
	if len(d.Errors) == 0 {
		return transform.Drop("no_gold_error", "no changed sentence is left")
	}
	first := d.Errors[0].Sentence
	for id := range first {
		evidence := slices.Contains(d.Fact.Evidence, id)
		if len(yes) == 0 {
			if evidence {
				d.Contradicted = append(d.Contradicted, schemas.GoldSentence{Sentence: id, From: "evidence"})
			}
			continue
		}
		s := contr(id)
		switch {
		case s > 0.5:
			d.Contradicted = append(d.Contradicted, schemas.GoldSentence{Sentence: id, Share: &s, From: "votes"})
		case evidence:
			d.Contradicted = append(d.Contradicted, schemas.GoldSentence{Sentence: id, Share: &s, From: "evidence"})
		}
	}
	if len(d.Contradicted) == 0 {
		return transform.Drop("no_gold_contradicted", "no sentence before the error is known to be contradicted")
	}
	return nil
}

// sharesOf returns the share of yes votes that cite a sentence. A vote one of
// whose quotes stands nowhere meant a sentence that nobody knows: it is left
// out, for the list that the quote stands in, as long as half of the votes or
// more are left.
func sharesOf(yes []vote, list func(vote) (ids []int, lost []string)) func(id int) float64 {
	var votes [][]int
	for _, v := range yes {
		if ids, lost := list(v); len(lost) == 0 {
			votes = append(votes, ids)
		}
	}
	if 2*len(votes) < len(yes) {
		votes = nil
		for _, v := range yes {
			ids, _ := list(v)
			votes = append(votes, ids)
		}
	}
	return func(id int) float64 {
		n := 0
		for _, ids := range votes {
			if slices.Contains(ids, id) {
				n++
			}
		}
		return round4(float64(n) / float64(len(votes)))
	}
}

// explain says what contradicts what: in the words of the yes vote that cites
// most of the gold sentences and least beside them, else in ours.
func explain(d *schemas.Draft, yes []vote) string {
	best, most := "", 0
	errs, contr := goldIDs(d.Errors), goldIDs(d.Contradicted)
	for _, v := range yes {
		e, c := common(v.errors, errs), common(v.contradicted, contr)
		if v.explanation == "" || e == 0 || c == 0 {
			continue
		}
		if n := 2*(e+c) - len(v.errors) - len(v.contradicted) + len(errs) + len(contr); best == "" || n > most {
			best, most = v.explanation, n
		}
	}
	if best != "" {
		return best
	}
	sents := sentencesOf(d.Patched)
	fact := strings.TrimRight(d.Fact.Statement, ".")
	counter := strings.TrimRight(d.Fact.Counterfactual, ".")
	return fmt.Sprintf("Early in the story this holds: %s. (“%s”) Later, with no change told, the story goes by another fact: %s. (“%s”)",
		lowerFirst(fact), oneLine(sents[d.Contradicted[0].Sentence]), lowerFirst(counter), oneLine(sents[d.Errors[0].Sentence]))
}

func lowerFirst(s string) string {
	for _, w := range []string{"The ", "A ", "An ", "There ", "One ", "Her ", "His ", "It "} {
		if strings.HasPrefix(s, w) {
			return strings.ToLower(s[:1]) + s[1:]
		}
	}
	return s
}

// Difficulty measures how far apart and how plain the two sides of a draft with
// gold sets are. Whoever changes the gold sets measures again.
func Difficulty(d *schemas.Draft) *schemas.Difficulty {
	first := d.Errors[0].Sentence
	last := d.Contradicted[0].Sentence
	for _, c := range d.Contradicted {
		if c.Sentence < first {
			last = c.Sentence
		}
	}
	ix := text.NewIndex(d.Patched.Text)
	from, to := byteRange(ix, d.Patched.Sentences[last]).End, byteRange(ix, d.Patched.Sentences[first]).Start
	out := &schemas.Difficulty{
		Words: text.Words(d.Patched.Text[from:to]), Sentences: first - last, Supports: len(changed(d.Patched)), Sites: d.Flaw.Sites,
		Explicit: stated(d), Voice: "narrator",
	}
	st := readVariant(d.Patched)
	at := byteRange(ix, d.Patched.Sentences[first]).Start
	for _, e := range d.Patched.Edits {
		if e.Sentence == first {
			at = e.ByteStart
			break
		}
	}
	if st.Spoken(at) {
		out.Voice = "speech"
	}
	return out
}

// stated reports whether the fact's evidence says what the fact says, in its
// words: half or more of the words that the counterfactual puts others for
// stand in it. Else a reader infers the fact.
func stated(d *schemas.Draft) bool {
	source := sentencesOf(&d.Original)
	var said []string
	for _, id := range d.Fact.Evidence {
		words, _ := foldWords(source[id])
		said = append(said, words...)
	}
	if f := d.Fact; f.Class != "" && f.Old != "" {
		return len(said) > 0 // the rules' evidence holds the value
	}
	other, _ := foldWords(d.Fact.Counterfactual)
	fact, _ := foldWords(d.Fact.Statement)
	n, found := 0, 0
	for _, w := range fact {
		if slices.Contains(other, w) || slices.Contains(functionWords, w) {
			continue
		}
		n++
		if slices.ContainsFunc(said, func(s string) bool { return sameStem(s, w) }) {
			found++
		}
	}
	if n == 0 { // a bare denial: the fact's own words
		for _, w := range fact {
			if slices.Contains(functionWords, w) {
				continue
			}
			n++
			if slices.ContainsFunc(said, func(s string) bool { return sameStem(s, w) }) {
				found++
			}
		}
	}
	return n > 0 && 2*found >= n
}

var functionWords = strings.Fields("a an the of to in on at by for with from as and or but is are was were be been being has have had do does did not no " +
	"he she it they we i you his her its their him them who that which this these those there than then so")

// sameStem reports words that differ in an ending of up to three letters:
// lives and lived, farm and farmer.
func sameStem(a, b string) bool {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return a == b || n >= 3 && len(a)-n <= 3 && len(b)-n <= 3 && 3*n >= 2*min(len(a), len(b))
}

func round4(f float64) float64 { return float64(int(f*10000+0.5)) / 10000 }
