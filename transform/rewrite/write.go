// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"embed"
	"strings"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

//go:embed prompts/*.tmpl
var templates embed.FS

// perLanguage gives a call the templates of both languages: name.tmpl and
// name_zh.tmpl. The rules engine renders neither: its rule reads the source.
func perLanguage[Out any](name string, c llm.Call[*work, Out]) map[bool]llm.Call[*work, Out] {
	out := map[bool]llm.Call[*work, Out]{}
	for _, zh := range []bool{false, true} {
		file := "prompts/" + name + ".tmpl"
		if zh {
			file = "prompts/" + name + "_zh.tmpl"
		}
		one := c
		one.Template = llm.MustTemplate(templates, file)
		tmpl := one.Template
		one.Render = func(w *work) ([]llm.Message, error) {
			if w.offline {
				return []llm.Message{{Role: "user", Content: w.r.story.StoryID + " " + w.task}}, nil
			}
			return tmpl.Messages(w.view())
		}
		out[zh] = one
	}
	return out
}

// view is what a template sees of a source.
type view struct {
	Task     string
	Query    bool   // the source is a request or a bare idea
	Summary  bool   // it tells a story in brief
	Source   string // its text, or of a long one parts of it
	Cut      bool   // Source is parts
	Asked    string // the prompt that people wrote for the story
	MinWords int
	MaxWords int
	Quote    int    // words in a row that may be taken from it; 0 = no bound
	Prompt   string // for the judge
}

// maxShown is how much of a source a model is shown, in bytes; of a longer one
// the beginning, the salient sentences and the end.
const maxShown = 24_000

func (w *work) view() view {
	s := w.r.story
	v := view{Task: w.task, Query: s.Kind == schemas.KindQuery, Summary: w.r.summary(), Source: s.Text, Asked: w.r.asked,
		MinWords: w.cfg.MinWords, MaxWords: w.cfg.MaxWords, Quote: w.quote(), Prompt: w.written.prompt}
	if len(s.Text) > maxShown {
		v.Cut, v.Source = true, w.r.excerpt(maxShown)
	}
	return v
}

// excerpt is the beginning, the salient sentences and the end of a long text.
func (r *reading) excerpt(most int) string {
	var head, tail strings.Builder
	last := 0
	for i := range r.paras {
		p := r.paras[i].Of(r.text)
		if head.Len()+len(p) > most*2/5 {
			break
		}
		head.WriteString(p + "\n\n")
		last = i
	}
	first := len(r.paras)
	for i := len(r.paras) - 1; i > last; i-- {
		n := len(r.paras[i].Of(r.text))
		if tail.Len()+n > most/5 {
			break
		}
		tail.WriteString(strings.Repeat("x", n))
		first = i
	}
	if head.Len() == 0 { // one paragraph: cut at a character
		cut := most * 2 / 5
		for cut > 0 && r.text[cut]&0xC0 == 0x80 {
			cut--
		}
		return r.text[:cut]
	}
	var b strings.Builder
	b.WriteString(head.String())
	from, to := r.paras[last].last, len(r.sents)
	if first < len(r.paras) {
		to = r.paras[first].first
	}
	if from < to {
		for _, s := range r.beats(40, from, to) {
			b.WriteString("[…] " + r.of(s) + "\n\n")
		}
	}
	for i := first; i < len(r.paras); i++ {
		b.WriteString(r.paras[i].Of(r.text) + "\n\n")
	}
	return strings.TrimSpace(b.String())
}

// written is a prompt with the passages it is grounded in.
type written struct {
	prompt   string
	elements []schemas.Element
	lost     []string // passages that stand nowhere in the source
}

// roleTags are the tags of an answer and the roles they stand for.
var roleTags = []struct{ tag, role string }{
	{"premise", "premise"}, {"opening", "opening"}, {"beat", "outline"}, {"ending", "ending"},
	{"character", "character"}, {"setting", "setting"}, {"request", "request"},
}

var writeCalls = perLanguage("rewrite", llm.Call[*work, written]{
	Stage:  "prompts/rewrite",
	Params: llm.Params{MaxTokens: 4000},
	Decode: decodeWritten,
	Rule:   ruleWrite,
})

// decodeWritten reads <prompt> and finds the passages in the source.
func decodeWritten(r *llm.Reply, w *work) (written, error) {
	p, err := r.Tag("prompt")
	if err != nil {
		return written{}, err
	}
	out := written{prompt: text.Trim(text.Freeze(p))}
	if out.prompt == "" {
		return written{}, llm.Failed(llm.Empty, "nothing inside <prompt>")
	}
	find := newFinder(w.r)
	for _, t := range roleTags {
		texts, err := r.Tags(t.tag)
		if err != nil {
			continue // none of that kind
		}
		for _, q := range texts {
			if e, ok := find.element(t.role, text.Trim(text.Freeze(q))); ok {
				out.elements = append(out.elements, e)
			} else {
				out.lost = append(out.lost, q)
			}
		}
	}
	return out, nil
}

// ruleWrite writes the rules' prompt as a model would.
func ruleWrite(w *work) (string, error) {
	var prompt string
	var used []piece
	var err error
	if w.r.story.Kind == schemas.KindQuery {
		prompt, used, err = w.composeQuery()
	} else {
		prompt, used, err = w.compose()
	}
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(answer("prompt", prompt))
	for _, p := range used {
		for _, t := range roleTags {
			if t.role == p.role {
				b.WriteString(answer(t.tag, p.text))
			}
		}
	}
	return b.String(), nil
}

// finder finds quoted passages in a source, in the order of the source where
// a passage stands in it more than once.
type finder struct {
	r      *reading
	ix     *text.Index
	anchor *text.Anchorer
	askIx  *text.Index
	from   map[string]int // by role: where the last one ended
}

func newFinder(r *reading) *finder {
	return &finder{r: r, ix: text.NewIndex(r.text), from: map[string]int{}}
}

func (f *finder) element(role, quote string) (schemas.Element, bool) {
	if quote == "" {
		return schemas.Element{}, false
	}
	s := f.r.text
	at := -1
	if from := f.from[role]; from < len(s) {
		if i := strings.Index(s[from:], quote); i >= 0 {
			at = from + i
		}
	}
	if at < 0 {
		at = strings.Index(s, quote)
	}
	if at >= 0 {
		f.from[role] = at + len(quote)
		return f.r.element(f.ix, role, text.Range{Start: at, End: at + len(quote)}), true
	}
	if asked := f.r.asked; asked != "" {
		if i := strings.Index(asked, quote); i >= 0 {
			if f.askIx == nil {
				f.askIx = text.NewIndex(asked)
			}
			sp := f.askIx.Span(text.Range{Start: i, End: i + len(quote)})
			return schemas.Element{Role: role, In: sourcePrompt, Span: schemas.Span{Offsets: schemas.Offsets(sp), Sentence: -1, Text: quote}}, true
		}
	}
	if f.anchor == nil {
		f.anchor = text.NewAnchorer(s)
	}
	m := f.anchor.Find(quote, f.from[role])
	if !m.Class.Normalised() && m.Class != text.ClassPieces && m.Class != text.ClassFuzzy || len(m.Ranges) == 0 {
		return schemas.Element{}, false
	}
	rng := m.Range()
	if m.Class == text.ClassPieces { // the first piece stands for all: what lies between was not used
		rng = m.Ranges[0]
	}
	f.from[role] = rng.End
	return f.r.element(f.ix, role, rng), true
}
