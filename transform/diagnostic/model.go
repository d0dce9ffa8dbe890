// SPDX-License-Identifier: Apache-2.0

package diagnostic

import (
	"context"
	"embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform"
)

//go:embed prompts/*.tmpl definitions.tsv
var files embed.FS

var (
	injectTemplate = llm.MustTemplate(files, "prompts/inject.tmpl")
	judgeTemplate  = llm.MustTemplate(files, "prompts/judge.tmpl")
)

// Templates are the prompts of the model's way.
func Templates() []*llm.Template { return []*llm.Template{injectTemplate, judgeTemplate} }

// Stages of the calls, for recipes and reports.
const (
	InjectStage = "diagnostic/inject"
	JudgeStage  = "diagnostic/judge"
)

// tries is how often an answer that cannot be used is asked for again.
const tries = 2

// mostSubtypes is how many subtypes of a category are asked for, one after the
// other, while the model finds no place for them.
const mostSubtypes = 2

// noPlace is the reason of a story that gives no place for a contradiction.
const noPlace = "no_place"

// mostNew is the largest number of words that a changed passage may have: more
// is another story, not a slip in this one.
const mostNew = 90

// definitions are the sentences of definitions.tsv by subtype.
var definitions = sync.OnceValue(func() map[string]string {
	b, err := files.ReadFile("definitions.tsv")
	if err != nil {
		panic(err) // embedded
	}
	m := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		if name, text, ok := strings.Cut(line, "\t"); ok {
			m[name] = text
		}
	}
	return m
})

// question is what the templates see.
type question struct {
	Text, Story, Fact, Contra               string
	CategoryTitle, SubtypeTitle, Definition string
	Telling                                 bool // the contradiction is one of the telling, not of what is told
	subtype                                 string
}

func questionOf(subtype string) question {
	c, s, _ := schemas.FindSubtype(subtype)
	return question{CategoryTitle: c.Title, SubtypeTitle: s.Title, Definition: definitions()[subtype],
		Telling: c.Name == "narrative_style", subtype: subtype}
}

// claim is a read answer: what the model says it did.
type claim struct {
	none                                    string
	fact, passage, replacement, explanation string
}

func injectCall(model string) llm.Call[question, claim] {
	return llm.Call[question, claim]{
		Stage: InjectStage, Model: model, Template: injectTemplate, Params: llm.Params{Temperature: llm.Float(0.7), MaxTokens: 4096},
		Decode: func(r *llm.Reply, _ question) (claim, error) {
			if none, err := r.Tag("none"); err == nil {
				return claim{none: none}, nil
			}
			if bareNone.MatchString(r.Text) {
				return claim{none: "no reason given"}, nil
			}
			var c claim
			// Headings in place of the tags say the same, when all are there.
			names := []string{"fact", "passage", "replacement", "explanation"}
			var under map[string]string
			if !strings.ContainsAny(r.Text, "<>") {
				if under, _ = r.Sections(names...); len(under) < len(names) {
					under = nil
				}
			}
			for i, to := range []*string{&c.fact, &c.passage, &c.replacement, &c.explanation} {
				s, ok := under[names[i]]
				if !ok {
					var err error
					if s, err = r.Tag(names[i]); err != nil {
						return c, err
					}
				}
				*to = text.Trim(text.Freeze(s))
			}
			return c, nil
		},
	}
}

// bareNone matches the tag of an answer that gives no reason.
var bareNone = regexp.MustCompile(`(?i)<none\s*/>|<none>\s*</none>`)

// yesNo matches an answer that begins with its one word and a stop of any sort.
var yesNo = regexp.MustCompile(`(?is)^(yes|no)[*\]"']*(?:$|[.,:;!]|\s*[-–—(\n])`)

func judgeCall(model string) llm.Call[question, bool] {
	return llm.Call[question, bool]{
		Stage: JudgeStage, Model: model, Template: judgeTemplate, Params: llm.Params{Temperature: llm.Float(0), MaxTokens: 2048}, AskUnread: true,
		Decode: func(r *llm.Reply, _ question) (bool, error) {
			a, err := r.Tag("answer")
			if err != nil {
				return false, err
			}
			// "Yes, the robe differs." says yes; "Yes and no" says nothing.
			if m := yesNo.FindStringSubmatch(strings.Trim(a, " \t\r\n*\"'[]`")); m != nil {
				return strings.EqualFold(m[1], "yes"), nil
			}
			return false, llm.Failed(llm.ParseFailed, "the answer is neither Yes nor No")
		},
	}
}

// ask asks for one contradiction a category, of a subtype drawn by seed, all
// on the source story, so that one round of a batch asks everything. Where the
// model finds no place for that subtype, the next one of the draw is asked for,
// up to mostSubtypes. What the model claims is held against the text before it
// counts:
//
//	no_place              the model finds none
//	fact_not_found        the earlier passage is not in the story, word for word
//	passage_not_found     the later one is not
//	passage_ambiguous     it stands there more than once
//	wrong_order           the fact does not stand before the passage
//	noop_edit             the new passage differs in blanks or punctuation only
//	too_different         over 90 words, or hardly a word of the old passage left
//	points_at_itself      the new passage speaks of contradictions, or holds marks
//	judge_says_no         the judge sees no contradiction of the kind
//	judge_unreadable      and what became of an answer else: refusal, truncated, ...
func (in *Injector) ask(ctx context.Context, pass *transform.Pass, s schemas.Story) ([]proposal, error) {
	var out []proposal
	anchors := text.NewAnchorer(s.Text)
	for _, c := range schemas.Categories {
		order := transform.Random(in.cfg.Seed, "diagnostic-subtype-"+c.Name, s.StoryID).Perm(len(c.Subtypes))
		for _, k := range order[:min(len(order), mostSubtypes)] {
			subtype := c.Subtypes[k].Name
			p, reason, detail, err := in.propose(ctx, pass, s, anchors, subtype)
			if err != nil {
				return nil, err
			}
			switch reason {
			case "":
				out = append(out, p)
			case string(llm.Pending):
				pass.Await()
			default:
				pass.SetAside(s.StoryID, reason, strings.TrimSuffix(subtype+": "+detail, ": "))
			}
			if reason != noPlace {
				break
			}
		}
	}
	return out, nil
}

// propose asks for one contradiction, again when the answer cannot be used. That
// there is no place for one can be used.
func (in *Injector) propose(ctx context.Context, pass *transform.Pass, s schemas.Story, anchors *text.Anchorer, subtype string) (p proposal, reason, detail string, err error) {
	q := questionOf(subtype)
	q.Text = s.Text
	call := injectCall(in.cfg.Model)
	for sample := range tries {
		res, err := call.Do(ctx, pass.Model, q, sample)
		if err != nil {
			return p, "", "", err
		}
		if res.Pending() {
			return p, string(llm.Pending), "", nil
		}
		if !res.OK() {
			reason, detail = string(res.Outcome), res.Reason
			continue
		}
		if p, reason, detail = verify(s, anchors, subtype, res.Value); reason == "" || reason == noPlace {
			break
		}
	}
	if reason != "" || in.cfg.Judge == "" {
		return p, reason, detail, nil
	}
	d, why, err := in.build(s, []proposal{p})
	if err != nil || why != "" {
		return p, why, "alone in its story", err
	}
	j := questionOf(subtype)
	j.Story, j.Fact, j.Contra = d.Story, d.Injections[0].Fact.Text, d.Injections[0].Contra.Text
	res, err := judgeCall(in.cfg.Judge).Do(ctx, pass.Model, j, 0)
	switch {
	case err != nil:
		return p, "", "", err
	case res.Pending():
		return p, string(llm.Pending), "", nil
	case !res.OK():
		return p, "judge_unreadable", string(res.Outcome) + ": " + res.Reason, nil
	case !res.Value:
		return p, "judge_says_no", p.alleged, nil
	}
	p.checked = "judge"
	return p, "", "", nil
}

// verify makes a proposal of a claim: both passages are the story's own, and
// the change is what differs between the old passage and the new one.
func verify(s schemas.Story, anchors *text.Anchorer, subtype string, c claim) (p proposal, reason, detail string) {
	if c.none != "" {
		return p, noPlace, c.none
	}
	passage := anchors.Find(c.passage, -1)
	switch {
	case !passage.Class.Normalised() || len(passage.Ranges) != 1:
		return p, "passage_not_found", notWhole(passage)
	case passage.Occurrences > 1:
		return p, "passage_ambiguous", fmt.Sprintf("it stands there %d times", passage.Occurrences)
	}
	at := passage.Ranges[0]
	fact := anchors.Find(c.fact, 0)
	switch {
	case !fact.Class.Normalised() || len(fact.Ranges) != 1:
		return p, "fact_not_found", notWhole(fact)
	case fact.Ranges[0].End > at.Start:
		return p, "wrong_order", "the fact stands behind the passage that should deny it"
	}
	ch, why := difference(s.Text, at, c.replacement)
	if why != "" {
		return p, why, "the passage that was written anew"
	}
	// The two must not share a sentence: the fact stays as it is.
	for _, t := range text.Sentences(s.Text) {
		if t.Start < fact.Ranges[0].End && fact.Ranges[0].Start < t.End && t.Start < ch.End && ch.Start < t.End {
			return p, "wrong_order", "fact and change stand in one sentence"
		}
	}
	return proposal{subtype: subtype, changes: []change{ch}, fact: standing(fact.Ranges[0]), contra: changed(0),
		explanation: c.explanation, alleged: c.explanation, checked: "nobody"}, "", ""
}

// notWhole says why a match is no passage that stands in one piece, word for
// word.
func notWhole(m text.Match) string {
	if m.Class.Found() && !m.Class.Normalised() || len(m.Ranges) > 1 {
		return strings.TrimSuffix("quoted with changes: "+string(m.Class)+"; "+m.Why, "; ")
	}
	return m.Why
}

// bold matches words that Markdown prints bold.
var bold = regexp.MustCompile(`\*\*([^*\n]+)\*\*`)

// difference is the shortest run of words in which a new passage differs from
// the story's own at r.
func difference(s string, r text.Range, now string) (change, string) {
	old := r.Of(s)
	if !strings.Contains(old, "**") {
		now = bold.ReplaceAllString(now, "$1") // how a chat shows what changed
	}
	if letters(old) == letters(now) {
		return change{}, "noop_edit"
	}
	low := strings.ToLower(now)
	for _, w := range []string{"contradict", "inconsisten", "<", ">", "[", "]", "```", "**"} {
		if strings.Contains(low, w) && !strings.Contains(strings.ToLower(old), w) {
			return change{}, "points_at_itself"
		}
	}
	a, b := pieces(old), pieces(now)
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	j := 0
	for j < len(a)-i && j < len(b)-i && a[len(a)-1-j] == b[len(b)-1-j] {
		j++
	}
	if len(b)-i-j == 0 { // words were taken out: what stands beside them shows where
		if i > 0 {
			i--
		} else if j > 0 {
			j--
		}
	}
	from := r.Start + len(strings.Join(a[:i], ""))
	to := r.End - len(strings.Join(a[len(a)-j:], ""))
	c := change{Range: text.Range{Start: from, End: to}, New: strings.Join(b[i:len(b)-j], "")}
	if text.Words(now) > mostNew {
		return c, "too_different"
	}
	had := wordsOf(old)
	kept := 0
	for _, w := range wordsOf(now) {
		if slices.Contains(had, w) {
			kept++
		}
	}
	if kept*4 < len(had) {
		return c, "too_different"
	}
	return c, ""
}

// pieces cuts a text into words and the runs between them; joined they are it.
func pieces(s string) []string {
	var out []string
	start := 0
	kind := -1
	for i, c := range s {
		k := 0
		if unicode.IsLetter(c) || unicode.IsDigit(c) || unicode.Is(unicode.M, c) {
			k = 1
		}
		if kind >= 0 && (k != kind || k == 0) {
			out = append(out, s[start:i])
			start = i
		}
		kind = k
	}
	if start < len(s) {
		out = append(out, s[start:])
	}
	return out
}

// letters folds a text to its letters and digits.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.M, r) {
			return r
		}
		return -1
	}, s)
}
