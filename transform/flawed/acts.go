// SPDX-License-Identifier: Apache-2.0

package flawed

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform"
	"github.com/retcon-bench/retcon/transform/flawed/offline"
)

// actsVersion covers the rules that answer this stage offline.
var actsVersion = "3+" + offline.Version()

// actsTries is how often the first lines are asked for before a story is set
// aside.
const actsTries = 3

// acts finds the three acts of a story.
func (m *maker) acts() transform.Step[schemas.Draft, schemas.Draft] {
	return transform.Step[schemas.Draft, schemas.Draft]{
		Name: "acts", Version: actsVersion, Requires: []string{"draw"},
		Templates: []*llm.Template{actsCall.Template},
		Doc: "asks for the first line of each act and finds it in the story.\n\n" +
			"A line is looked for exactly at a sentence start, then with quotes, dashes and blanks folded, then by a unique beginning of six words or more, " +
			"then as the sentence that shares most words in order with it. Each act holds at least 5 % of the words; three tries.\n\n" +
			"Reasons: acts_not_found, language, no_rule, and the classes of unreadable answers.",
		Run: func(ctx context.Context, pass *transform.Pass, d schemas.Draft) ([]schemas.Draft, error) {
			in := m.source(&d)
			res, err := ask(ctx, pass, actsCall, in, actsTries, nil)
			if err != nil {
				return nil, err
			}
			if res.Outcome == llm.NoRule {
				return nil, transform.Drop("acts_not_found", res.Reason)
			}
			d.Acts = &res.Value
			stamp(&d, pass, "acts", actsVersion, actsCall.Template, res.Model, res.Key)
			return []schemas.Draft{d}, nil
		},
	}
}

var actsCall = llm.Call[prompt, schemas.Acts]{
	Stage:    "flawed/acts",
	Template: template("acts"),
	Params:   llm.Params{Temperature: llm.Float(0.5), MaxTokens: 1024},
	Decode:   decodeActs,
	Rule: func(in prompt) (string, error) {
		if !english(in.draft.Language) {
			return "", fmt.Errorf("the rules read English only, not %s: %w", in.draft.Language, llm.ErrNoRule)
		}
		st := in.maker.offline(in.draft)
		act2, act3, ok := st.Acts(in.maker.flips(in.draft, st))
		if !ok {
			return "", fmt.Errorf("no paragraph starts where acts could: %w", llm.ErrNoRule)
		}
		line := func(i int) string { return st.Sents[i].Of(st.Text) }
		return fmt.Sprintf("### Act 1: The Setup\n**First Line:** %s\n\n### Act 2: Confrontation\n**First Line:** %s\n\n### Act 3: Resolution\n**First Line:** %s\n",
			line(0), line(act2), line(act3)), nil
	},
}

var firstLine = regexp.MustCompile(`(?i)^\s*(?:[-*][ \t]+)?\**[ \t]*First Line[ \t]*:?\**[ \t]*:?`)

func decodeActs(r *llm.Reply, in prompt) (schemas.Acts, error) {
	s := text.Freeze(r.Text)
	var lines [4]string
	at := actHeads(s, 3)
	for i, h := range at {
		end := len(s)
		if i+1 < len(at) {
			end = at[i+1].start
		}
		body := s[h.end:end]
		loc := firstLine.FindStringIndex(body)
		if loc == nil {
			continue
		}
		lines[h.act] = stripAnswer(body[loc[1]:])
	}
	for n := 1; n <= 3; n++ {
		if lines[n] == "" {
			return schemas.Acts{}, llm.Failed(llm.ParseFailed, fmt.Sprintf("no first line of act %d", n))
		}
		if isPlaceholder(lines[n]) {
			return schemas.Acts{}, llm.Failed(llm.Echo, "the prompt's own placeholder came back")
		}
	}
	return locateActs(in.draft.Original.Text, lines[2], lines[3])
}

// minAct is the least share of the story's words that an act holds.
const minAct = 0.05

// locateActs finds acts 2 and 3 by their first lines. Act 1 starts with the
// story, whatever its line says.
func locateActs(story, line2, line3 string) (schemas.Acts, error) {
	f := newFinder(story)
	total := text.Words(story)
	before := func(at int) float64 { return float64(text.Words(story[:at])) / float64(max(total, 1)) }

	c2, how2 := f.find(line2)
	c3, how3 := f.find(line3)
	// A repeated line is told apart by its place: act borders that leave every
	// act its words, nearest to a quarter and three quarters.
	best, found := schemas.Acts{}, false
	var bestAt [2]int
	bestOff := 0.0
	for _, a := range c2 {
		for _, b := range c3 {
			p, q := before(a), before(b)
			if a >= b || p < minAct || q-p < minAct || 1-q < minAct {
				continue
			}
			off := (p-0.25)*(p-0.25) + (q-0.75)*(q-0.75)
			if !found || off < bestOff {
				found, bestOff, bestAt = true, off, [2]int{a, b}
			}
		}
	}
	switch {
	case len(c2) == 0:
		return best, llm.Failed(llm.ParseFailed, "acts_not_found: the first line of act 2 does not stand in the story")
	case len(c3) == 0:
		return best, llm.Failed(llm.ParseFailed, "acts_not_found: the first line of act 3 does not stand in the story")
	case !found:
		return best, llm.Failed(llm.ParseFailed, "acts_not_found: acts are out of order or hold less than 5 % of the words")
	}
	ix := text.NewIndex(story)
	sp := ix.Span(text.Range{Start: bestAt[0], End: bestAt[1]})
	return schemas.Acts{Act2: sp.Start, Act3: sp.End, How2: how2, How3: how3}, nil
}

// stripAnswer takes off what belongs to the answer: a fence or a rule around
// the line, and quotation marks or asterisks that enclose it as a whole.
func stripAnswer(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	for len(lines) > 0 && (isFence(lines[0]) || isRuleLine(lines[0]) || strings.TrimSpace(lines[0]) == "") {
		lines = lines[1:]
	}
	for len(lines) > 0 {
		l := lines[len(lines)-1]
		if !isFence(l) && !isRuleLine(l) && strings.TrimSpace(l) != "" {
			break
		}
		lines = lines[:len(lines)-1]
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}
