// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

// compose writes the rules' prompt of a story for a task: a frame, the source's
// passages, two phrases on the craft, and the length. All choices come from
// the record's random stream.
func (w *work) compose() (prompt string, used []piece, err error) {
	o := w.offers[w.task]
	if o == nil {
		return "", nil, fmt.Errorf("the rules have no %s to offer of this source: %w", w.task, llm.ErrNoRule)
	}
	b := &english
	if w.zhPrompt(o) {
		b = &chinese
	}
	ph := b.tasks[w.task]
	fill := map[string]string{"premise": o.premise.show, "opening": o.opening.show, "ending": o.ending.show}
	for _, p := range []piece{o.premise, o.opening} {
		if p.text != "" {
			used = append(used, p)
		}
	}
	if len(o.outline) > 0 {
		var lines []string
		for i, p := range o.outline {
			if w.task == schemas.TaskExpansion {
				lines = append(lines, fmt.Sprintf("%d. %s", i+1, p.show))
			} else {
				lines = append(lines, "- "+p.show)
			}
			used = append(used, p)
		}
		fill["outline"] = strings.Join(lines, "\n")
		if len(ph.middle) > 0 {
			fill["middle"] = expand(pick(w.rand, ph.middle), fill)
		}
	}
	if o.ending.text != "" {
		used = append(used, o.ending)
	}
	craft := w.craft(ph, fill, &used)
	fill["craft"] = strings.Join(craft, b.blank)
	fill["min"], fill["max"] = thousands(w.cfg.MinWords, b.comma), thousands(w.cfg.MaxWords, b.comma)
	fill["length"] = expand(pick(w.rand, ph.length), fill)
	frame := pick(w.rand, ph.frames)
	if w.task == schemas.TaskGeneration && o.premise.in == sourcePrompt && requests.MatchString(o.premise.text) {
		frame = "{premise}\n\n{craft} {length}" // it says itself what to write
	}
	prompt = expand(frame, fill)
	return text.Trim(text.Freeze(prompt)), used, nil
}

// requests starts a premise that is itself a request.
var requests = regexp.MustCompile(`(?i)^(?:write|tell|retell|describe|make|create|take|use|give|start|begin|end|choose|pick|explain|imagine|set|combine|show|let)\b`)

// zhPrompt reports whether the prompt is to be in Chinese.
func (w *work) zhPrompt(o *offer) bool {
	if w.task == schemas.TaskGeneration && o.premise.in == sourcePrompt {
		return isZhText(o.premise.text)
	}
	return w.r.zh
}

// craft picks two phrases, one of them about a figure or the place of the
// story where it has one.
func (w *work) craft(ph phrases, fill map[string]string, used *[]piece) []string {
	var out []string
	people := w.r.people()
	visible := fill["premise"] + fill["opening"] + fill["outline"] + fill["ending"]
	known := people[:0:0]
	for _, f := range people { // only those whom the prompt's reader has met
		if holdsWord(visible, strings.TrimPrefix(f.name, "the ")) {
			known = append(known, f)
		}
	}
	quote := func(role string, f figure) piece {
		t := f.at.Of(w.r.text)
		return piece{role, sourceText, t, t}
	}
	choice := w.rand.IntN(4)
	switch {
	case choice == 0 && len(known) >= 2 && len(ph.two) > 0:
		fill["a"], fill["b"] = known[0].name, known[1].name
		out = append(out, expand(pick(w.rand, ph.two), fill))
		*used = append(*used, quote("character", known[0]), quote("character", known[1]))
	case choice <= 1 && len(known) >= 1 && len(ph.one) > 0:
		fill["a"] = known[0].name
		out = append(out, expand(pick(w.rand, ph.one), fill))
		*used = append(*used, quote("character", known[0]))
	case choice == 2 && len(ph.where) > 0:
		if f, ok := w.r.place(); ok && holdsWord(visible, strings.TrimPrefix(f.name, "the ")) {
			fill["place"] = f.name
			out = append(out, expand(pick(w.rand, ph.where), fill))
			*used = append(*used, quote("setting", f))
		}
	}
	first := w.rand.IntN(len(ph.craft))
	step := 1 + w.rand.IntN(len(ph.craft)-1)
	general := []string{ph.craft[first]}
	if len(out) == 0 || w.rand.IntN(3) == 0 {
		general = append(general, ph.craft[(first+step)%len(ph.craft)])
	}
	return append(general, out...)
}

// holdsWord reports whether name stands in s as words of its own.
func holdsWord(s, name string) bool {
	for from := 0; ; {
		i := strings.Index(s[from:], name)
		if i < 0 {
			return false
		}
		i += from
		before, _ := utf8.DecodeLastRuneInString(s[:i])
		after, _ := utf8.DecodeRuneInString(s[i+len(name):])
		if !unicode.IsLetter(before) && !unicode.IsLetter(after) {
			return true
		}
		from = i + len(name)
	}
}

func pick(r *rand.Rand, list []string) string { return list[r.IntN(len(list))] }

// expand fills in braces; what has no value vanishes.
func expand(s string, fill map[string]string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(s, "{")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		name, after, _ := strings.Cut(rest, "}")
		b.WriteString(fill[name])
		s = after
	}
}

// thousands writes a number with its thousands parted.
func thousands(n int, comma string) string {
	s := strconv.Itoa(n)
	if comma == "" || n < 1000 {
		return s
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + comma + s[i:]
	}
	return s
}
