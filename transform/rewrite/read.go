// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

// reading is a source as the rules see it. Ranges are bytes of text.
type reading struct {
	story *schemas.Story
	text  string
	zh    bool
	paras []paragraph
	sents []sentence // of running prose, in order
	words int        // of the text; ideographs count singly

	person int // 1 for a story told in the first person, 3 otherwise; 0 not known yet

	// asked is the prompt that the upstream keeps beside a story, if it can be
	// shown to people as it is.
	asked string
}

type paragraph struct {
	text.Range
	first, last int  // sentences [first, last)
	prose       bool // no heading, verse, rule or list
}

type sentence struct {
	text.Range
	words int
	para  int
}

// sourceText and sourcePrompt are values of Element.In.
const (
	sourceText   = "text"
	sourcePrompt = "prompt"
)

// maxRead bounds how much of a book the rules read: its first and last bytes.
// A prompt needs beginning, ending and an outline of what lies between.
const maxRead = 600_000

// read takes a source apart.
func read(s *schemas.Story) *reading {
	r := &reading{story: s, text: s.Text, zh: isZh(s.Language)}
	r.words = countWords(s.Text, r.zh)
	for _, kv := range s.Meta {
		if kv.Key == sourcePrompt {
			r.asked = usablePrompt(kv.Value)
		}
	}
	if s.Kind == schemas.KindQuery {
		return r
	}
	r.cutParagraphs()
	return r
}

func isZh(language string) bool { return language == "zh" || strings.HasPrefix(language, "zh-") }

// countWords counts as people of the language do.
func countWords(s string, zh bool) int {
	if zh {
		return text.WordsCJK(s)
	}
	return text.Words(s)
}

// artefact is a request that was made by a data set's builders, not by people.
var artefact = regexp.MustCompile(`(?i)^\s*(?:generate|write|create) the (?:content|body|text) (?:for|of) (?:a|an|the|this) |^\s*(?:summari[sz]e|title)\b`)

// usablePrompt returns the upstream's prompt if it stands for itself.
func usablePrompt(s string) string {
	s = text.Trim(text.Freeze(s))
	if artefact.MatchString(s) {
		return ""
	}
	return s
}

// cutParagraphs finds paragraphs and the sentences of those that are prose.
func (r *reading) cutParagraphs() {
	marked := r.markedRanges()
	s := r.text
	head, tail := len(s), 0
	if len(s) > maxRead {
		head, tail = maxRead/2, len(s)-maxRead/2
	}
	for start := 0; start < len(s); {
		end := strings.Index(s[start:], "\n\n")
		next := len(s)
		if end < 0 {
			end = len(s)
		} else {
			end += start
			next = end + 2
		}
		rng := trimRange(s, text.Range{Start: start, End: end})
		if rng.Start < rng.End && (rng.End <= head || rng.Start >= tail) {
			p := paragraph{Range: rng, first: len(r.sents), prose: r.isProse(rng, marked)}
			if p.prose {
				for _, sr := range text.Sentences(s[rng.Start:rng.End]) {
					sr.Start, sr.End = sr.Start+rng.Start, sr.End+rng.Start
					r.sents = append(r.sents, sentence{Range: sr, words: countWords(sr.Of(s), r.zh), para: len(r.paras)})
				}
			}
			p.last = len(r.sents)
			r.paras = append(r.paras, p)
		}
		start = next
	}
}

// markedRanges are the stretches that the reader of the corpus marked as
// something else than prose, in bytes.
func (r *reading) markedRanges() []text.Range {
	if len(r.story.Marks) == 0 {
		return nil
	}
	ix := text.NewIndex(r.text)
	var out []text.Range
	for _, m := range r.story.Marks {
		if sp, err := ix.FromRunes(m.Start, m.End); err == nil {
			out = append(out, text.Range{Start: sp.ByteStart, End: sp.ByteEnd})
		}
	}
	return out
}

func trimRange(s string, r text.Range) text.Range {
	for r.Start < r.End {
		c, n := utf8.DecodeRuneInString(s[r.Start:r.End])
		if !unicode.IsSpace(c) {
			break
		}
		r.Start += n
	}
	for r.Start < r.End {
		c, n := utf8.DecodeLastRuneInString(s[r.Start:r.End])
		if !unicode.IsSpace(c) {
			break
		}
		r.End -= n
	}
	return r
}

// isProse tells paragraphs of prose from headings, rules, verse, lists and
// what is marked as something else.
func (r *reading) isProse(rng text.Range, marked []text.Range) bool {
	for _, m := range marked {
		if m.Start < rng.End && rng.Start < m.End {
			return false
		}
	}
	p := rng.Of(r.text)
	letters := 0
	for _, c := range p {
		if unicode.IsLetter(c) {
			letters++
		}
	}
	if letters*2 < utf8.RuneCountInString(p) || letters < 2 {
		return false
	}
	if !ends(p) && countWords(p, r.zh) < 12 { // a heading, a signature, a list item
		return false
	}
	if lines := strings.Count(p, "\n"); lines >= 2 && countWords(p, r.zh) < 9*(lines+1) { // verse
		return false
	}
	return true
}

// ends reports whether a passage ends like a sentence: a mark, then closing
// quotes and brackets.
func ends(s string) bool {
	s = strings.TrimRight(s, " \n\"'”’»)]』」")
	c, _ := utf8.DecodeLastRuneInString(s)
	return strings.ContainsRune(".!?…。！？", c)
}

// element makes an element of a byte range of the text.
func (r *reading) element(ix *text.Index, role string, rng text.Range) schemas.Element {
	sp := ix.Span(rng)
	return schemas.Element{Role: role, In: sourceText, Span: schemas.Span{Offsets: schemas.Offsets(sp), Sentence: -1, Text: rng.Of(r.text)}}
}

// of is a sentence's text.
func (r *reading) of(s sentence) string { return s.Of(r.text) }

// meta returns the first value of a meta field.
func meta(s *schemas.Story, key string) string {
	for _, kv := range s.Meta {
		if kv.Key == key {
			return kv.Value
		}
	}
	return ""
}

// summary reports a text that tells a story in brief: its whole is an outline.
func (r *reading) summary() bool { return r.story.Source.Corpus == "wikiplots" }

// notProse says what a text is when it is no prose, "" otherwise.
func (r *reading) notProse() string {
	switch form := meta(r.story, "form"); form {
	case "script", "play", "verse":
		return form
	}
	prose, all := 0, 0
	for _, p := range r.paras {
		all += p.End - p.Start
		if p.prose {
			prose += p.End - p.Start
		}
	}
	if all > 0 && prose*2 < all {
		return "text with little prose"
	}
	return ""
}
