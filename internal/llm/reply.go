// SPDX-License-Identifier: Apache-2.0

package llm

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// Reply is an answer as a decoder sees it: reasoning split off, finish reason
// and refusals dealt with. Its methods read the usual forms ([Reply.Tag],
// [Reply.JSON], [Reply.Lists], [Reply.Sections], [Reply.Plain]) and note how
// much had to be forgiven, which becomes the outcome of the call.
type Reply struct {
	Text      string // the answer, valid UTF-8, white space at both ends trimmed
	Reasoning string
	Request   Request
	Answer    Answer

	allowUnclosed bool
	outcome       Outcome
	notes         []string
	shown         map[string]bool // JSON values of the prompt, when first asked for
}

// NewReply makes a Reply of a bare text, for tests of decoders.
func NewReply(text string) *Reply { return &Reply{Text: strings.TrimSpace(text)} }

// Outcome returns the class so far; OK when nothing was marked.
func (r *Reply) Outcome() Outcome {
	if r.outcome == "" {
		return OK
	}
	return r.outcome
}

// Notes returns what was forgiven, in order.
func (r *Reply) Notes() []string { return r.notes }

var rank = map[Outcome]int{OK: 0, Fenced: 1, Repaired: 2, UnclosedTag: 3}

// Mark notes what was forgiven. The outcome only gets worse: ok, fenced,
// repaired, unclosed_tag; a decoder that cannot read an answer at all returns
// [Failed] instead.
func (r *Reply) Mark(o Outcome, note string) {
	if rank[o] > rank[r.Outcome()] {
		r.outcome = o
	}
	if note != "" {
		r.notes = append(r.notes, note)
	}
}

// Plain returns the whole answer as text, without a code fence around all of
// it. What stands beside a fence stays: in prose a fence is part of the text.
func (r *Reply) Plain() (string, error) {
	t := r.Text
	if fs := fences(t); len(fs) == 1 {
		before, after := t[:fs[0].start], t[fs[0].end:]
		if n := strings.IndexByte(before, '\n'); (n < 0 || n == len(before)-1) && strings.Trim(after, "`~ \t\r\n") == "" {
			r.Mark(Fenced, "the answer stands in a code fence")
			t = strings.TrimSpace(t[fs[0].start:fs[0].end])
		}
	}
	if blank(t) {
		return "", Failed(Empty, "no content")
	}
	if err := r.echo("", t); err != nil {
		return "", err
	}
	return t, nil
}

// Tag returns the text between <name> and </name>, trimmed. Case does not
// matter and attributes are passed over.
//
//   - Several pairs: the last one, since a model that writes twice corrects
//     itself; an opening tag at the start of a line wins over one in a sentence.
//   - A tag that the prompt opened (the last message ends with it): the answer
//     up to the closing tag, whole.
//   - A closing tag alone, not opened by the prompt: the text before it, repaired.
//   - Never closed: whole when the request stops at the closing tag; otherwise
//     outcome unclosed_tag, and the text only where the call allows it.
//   - Nothing inside: empty. A refusal inside: refusal. The prompt's own text
//     inside: echo.
func (r *Reply) Tag(name string) (string, error) {
	texts, err := r.Tags(name)
	if err != nil {
		return "", err
	}
	if n := len(texts); n > 1 {
		r.Mark(OK, "<"+name+"> stands "+strconv.Itoa(n)+" times, the last was read")
	}
	return texts[len(texts)-1], nil
}

// Tags returns the text of every <name> pair, by the rules of [Reply.Tag].
func (r *Reply) Tags(name string) ([]string, error) {
	pairs, err := r.tagSpans(name)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, p := range pairs {
		t := strings.TrimSpace(p)
		if inner := r.unfence(t); inner != t {
			t = inner
		}
		if blank(t) {
			continue
		}
		out = append(out, t)
	}
	if len(out) == 0 {
		return nil, Failed(Empty, "nothing inside <"+name+">")
	}
	last := out[len(out)-1]
	if LooksLikeRefusal(last) && !structured(last) {
		return nil, Failed(Refusal, "a refusal in words inside <"+name+">")
	}
	if err := r.echo(name, last); err != nil {
		return nil, err
	}
	return out, nil
}

// unfence takes a code fence off that is all there is.
func (r *Reply) unfence(t string) string {
	if !strings.HasPrefix(t, "```") && !strings.HasPrefix(t, "~~~") {
		return t
	}
	fs := fences(t)
	if len(fs) != 1 || strings.Trim(t[fs[0].end:], "`~ \t\r\n") != "" {
		return t
	}
	r.Mark(Fenced, "a code fence inside a tag")
	return strings.TrimSpace(t[fs[0].start:fs[0].end])
}

type tagMark struct {
	start, end int
	close      bool
	atLine     bool
}

var tagREs = newCache(func(name string) *regexp.Regexp {
	// Blanks, dashes and underscores are one to models.
	q := strings.NewReplacer(" ", `[ _-]`, "_", `[ _-]`, "-", `[ _-]`).Replace(regexp.QuoteMeta(name))
	q = strings.ReplaceAll(q, `\[ _-]`, `[ _-]`)
	return regexp.MustCompile(`(?i)<\s*(/?)\s*` + q + `(?:\s[^<>]*)?>`)
})

func (r *Reply) tagSpans(name string) ([]string, error) {
	var marks []tagMark
	for _, m := range tagREs.get(name).FindAllStringSubmatchIndex(r.Text, -1) {
		before := strings.TrimRight(r.Text[:m[0]], " \t*`")
		marks = append(marks, tagMark{m[0], m[1], m[3] > m[2], before == "" || strings.HasSuffix(before, "\n")})
	}
	opened := r.promptOpens(name)
	var out []string
	from, first := 0, 0 // no opening tag is looked for before
	for i := 0; i < len(marks); i++ {
		if !marks[i].close {
			continue
		}
		open := -1
		for j := first; j < i; j++ {
			if marks[j].close {
				continue
			}
			if open < 0 || marks[j].atLine && !marks[open].atLine {
				open = j
			}
		}
		switch {
		case open >= 0:
			out = append(out, r.Text[marks[open].end:marks[i].start])
		case len(out) > 0:
			first = i + 1
			continue // a closing tag too many
		case opened:
			out = append(out, r.Text[:marks[i].start])
		default:
			r.Mark(Repaired, "<"+name+"> is closed but was not opened")
			out = append(out, r.Text[:marks[i].start])
		}
		from, first = marks[i].end, i+1
	}
	// What is opened after the last closing tag.
	open := -1
	for j, m := range marks {
		if m.close || m.start < from {
			continue
		}
		if open < 0 || m.atLine && !marks[open].atLine {
			open = j
		}
	}
	switch {
	case open >= 0 && (len(out) == 0 || marks[open].atLine):
		t, err := r.unclosed(name, r.Text[marks[open].end:])
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	case len(out) == 0 && opened:
		t, err := r.unclosed(name, r.Text)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	case len(out) == 0:
		return nil, Failed(ParseFailed, "no <"+name+"> in the answer")
	}
	return out, nil
}

func (r *Reply) unclosed(name, text string) (string, error) {
	for _, s := range r.Request.Params.Stop {
		if m := tagREs.get(name).FindStringSubmatch(strings.TrimSpace(s)); m != nil && m[1] == "/" {
			return text, nil // the server took the stop sequence off
		}
	}
	if !r.allowUnclosed {
		return "", Failed(UnclosedTag, "<"+name+"> is never closed")
	}
	r.Mark(UnclosedTag, "<"+name+"> is never closed")
	return text, nil
}

// promptOpens reports whether the prompt ends with the opening tag, so that
// the answer goes on from it.
func (r *Reply) promptOpens(name string) bool {
	ms := r.Request.Messages
	if len(ms) == 0 {
		return false
	}
	last := strings.TrimRight(ms[len(ms)-1].Content, " \t\r\n")
	loc := tagREs.get(name).FindAllStringSubmatchIndex(last, -1)
	if len(loc) == 0 {
		return false
	}
	end := loc[len(loc)-1]
	if end[3] > end[2] {
		return false // a closing one
	}
	if end[1] == len(last) {
		return true
	}
	// A beginning that the model goes on from may hold text already.
	return ms[len(ms)-1].Role == "assistant"
}

// echoMin is the length, in bytes, from which a text that stands in the prompt
// as well cannot be chance.
const echoMin = 24

// echo reports an answer that is the prompt's own example or placeholder: what
// the prompt shows between the same tags (name != ""), or, for a whole answer,
// a message of the prompt.
func (r *Reply) echo(name, text string) error {
	t := fold(text)
	if t == "..." || t == "…" || t == "[...]" || t == "[…]" {
		return Failed(Echo, "the placeholder came back")
	}
	if len(t) < echoMin {
		return nil
	}
	for _, m := range r.Request.Messages {
		if name == "" {
			if fold(m.Content) == t {
				return Failed(Echo, "the prompt came back")
			}
			continue
		}
		probe := Reply{Text: m.Content, allowUnclosed: true}
		spans, err := probe.tagSpans(name)
		if err != nil {
			continue
		}
		for _, s := range spans {
			if fold(s) == t {
				return Failed(Echo, "what the prompt shows inside <"+name+"> came back")
			}
		}
	}
	return nil
}

// fold makes white space one blank.
func fold(s string) string { return strings.Join(strings.Fields(s), " ") }

// foldKey is what is left of a key or heading when case, blanks, underscores
// and marks are taken off.
func foldKey(s string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsLetter(c) || unicode.IsDigit(c) {
			return unicode.ToLower(c)
		}
		return -1
	}, s)
}

// Sections reads an answer under headings: markdown (`## Facts`), numbered
// (`1. Facts`), bold (`**Facts:**`), or a label with its text on the same line
// (`Facts: none`). Case does not matter. It returns the text under each
// heading, by the name given; a heading that is missing is missing in the map,
// and none at all is parse_failed. Where a heading stands twice, the last one
// with text counts.
func (r *Reply) Sections(headings ...string) (map[string]string, error) {
	type at struct {
		name       string
		start, end int // of the heading's mark
	}
	want := map[string]string{}
	for _, h := range headings {
		want[foldKey(h)] = h
	}
	var marks []at
	for i := 0; i <= len(r.Text); {
		next := len(r.Text) + 1
		line := r.Text[i:]
		if n := strings.IndexByte(line, '\n'); n >= 0 {
			line, next = line[:n], i+n+1
		}
		if name, width, ok := heading(line, want); ok {
			marks = append(marks, at{name, i, i + width})
		}
		i = next
	}
	out := map[string]string{}
	for i, m := range marks {
		end := len(r.Text)
		if i+1 < len(marks) {
			end = marks[i+1].start
		}
		t := strings.TrimSpace(r.Text[m.end:end])
		if old, ok := out[m.name]; !ok || t != "" {
			if ok && old != "" {
				r.Mark(Repaired, "heading "+m.name+" stands twice, the last was read")
			}
			out[m.name] = t
		}
	}
	if len(out) == 0 {
		return nil, Failed(ParseFailed, "none of the headings "+strings.Join(headings, ", ")+" in the answer")
	}
	for _, h := range headings {
		if t, ok := out[h]; ok && LooksLikeRefusal(t) && !structured(t) {
			return nil, Failed(Refusal, "a refusal in words under "+h)
		}
	}
	return out, nil
}

var headingRE = regexp.MustCompile(`^[ \t]*((?:#{1,6}|>|[-*+•])[ \t]+)?(?:\(?(?:\d{1,2}|[A-Za-z])[.)][ \t]+)?(\*\*|__)?(?:\(?\d{1,2}[.)][ \t]+)?([^:*_\n#]{1,60}(?:_[^:*_\n#]{1,40})*)(\*\*|__)?[ \t]*([:：]?)[ \t]*(\*\*|__)?[ \t]*#*[ \t]*`)

// heading reports whether a line begins with one of the wanted headings, and
// how many bytes of it are heading.
func heading(line string, want map[string]string) (name string, width int, ok bool) {
	m := headingRE.FindStringSubmatchIndex(line)
	if m == nil {
		return "", 0, false
	}
	name, ok = want[foldKey(line[m[6]:m[7]])]
	if !ok {
		return "", 0, false
	}
	marked := m[2] >= 0 && strings.HasPrefix(strings.TrimSpace(line[m[2]:m[3]]), "#") || m[4] >= 0
	colon := m[11] > m[10]
	alone := strings.TrimSpace(line[m[1]:]) == ""
	if !colon && !marked && !alone {
		return "", 0, false // a sentence that begins with the word
	}
	return name, m[1], true
}
