// SPDX-License-Identifier: Apache-2.0

package flawed

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform"
)

const scoreVersion = "2"

// score asks how much of acts 2 and 3 hangs on each fact.
func (m *maker) score() transform.Step[schemas.Draft, schemas.Draft] {
	return transform.Step[schemas.Draft, schemas.Draft]{
		Name: "score", Version: scoreVersion, Requires: []string{"facts"},
		Templates: []*llm.Template{scoreCall.Template},
		Doc: "asks for the importance of each fact, 1 to 4, and keeps the recipe's (2 and 3 by default).\n\n" +
			"Scores are joined to facts by their F-number, never by their text. Where nobody can know (the offline rules), importance stays null and all facts go on.\n\n" +
			"Reasons, for a fact: not_scored, unimportant; for the story: no_facts, and the classes of unreadable answers.",
		Run: func(ctx context.Context, pass *transform.Pass, d schemas.Draft) ([]schemas.Draft, error) {
			res, err := ask(ctx, pass, scoreCall, m.source(&d), readTries, nil)
			if err != nil {
				return nil, err
			}
			if res.Outcome == llm.NoRule {
				return []schemas.Draft{d}, nil
			}
			var kept []schemas.Fact
			for _, f := range d.Facts {
				n, ok := res.Value[f.ID]
				switch {
				case !ok:
					pass.SetAside(d.DraftID, "not_scored", f.ID+": no readable score from 1 to 4")
				case !slices.Contains(m.cfg.Make.Importance, n):
					pass.SetAside(d.DraftID, "unimportant", fmt.Sprintf("%s: importance %d; the recipe keeps %v", f.ID, n, m.cfg.Make.Importance))
				default:
					f.Importance = &n
					kept = append(kept, f)
				}
			}
			if d.Facts = kept; len(kept) == 0 {
				return nil, transform.Drop("no_facts", "no fact has an importance that the recipe keeps")
			}
			stamp(&d, pass, "score", scoreVersion, scoreCall.Template, res.Model, res.Key)
			return []schemas.Draft{d}, nil
		},
	}
}

var scoreCall = llm.Call[prompt, map[string]int]{
	Stage:    "flawed/score",
	Template: template("score"),
	Params:   llm.Params{Temperature: llm.Float(0.5), MaxTokens: 4096},
	Decode:   decodeScores,
}

var (
	scoreHead = regexp.MustCompile(`(?mi)^[ \t]*(?:#{1,6}|\*\*|[-*])?[ \t]*\**\[*(F\d+)\b[^\n]*$`)
	scoreLine = regexp.MustCompile(`(?mi)Importance(?:[ \t]+Score)?[ \t]*\**[ \t]*:[ \t*\[]*(\d+(?:\.\d+)?)([ \t]*(?:/|out of)[ \t]*\d+)?`)
)

// decodeScores reads "## F1 … ### Importance Score: 3". A fact scored twice
// with two numbers has no score; neither has one off the scale.
func decodeScores(r *llm.Reply, _ prompt) (map[string]int, error) {
	s := text.Freeze(r.Text)
	heads := scoreHead.FindAllStringSubmatchIndex(s, -1)
	out := map[string]int{}
	clash := map[string]bool{}
	for i, h := range heads {
		end := len(s)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		id := strings.ToUpper(s[h[2]:h[3]])
		m := scoreLine.FindAllStringSubmatch(s[h[0]:end], -1)
		if len(m) == 0 {
			continue
		}
		n, err := strconv.Atoi(m[len(m)-1][1])
		if err != nil || n < 1 || n > 4 {
			continue
		}
		if old, ok := out[id]; ok && old != n {
			clash[id] = true
		}
		out[id] = n
	}
	for id := range clash {
		delete(out, id)
	}
	if len(out) == 0 {
		return nil, llm.Failed(llm.ParseFailed, "no importance score under an F-number")
	}
	return out, nil
}
