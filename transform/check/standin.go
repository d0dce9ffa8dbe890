// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

// suspectedOf is how many compared pairs a plan takes one to be suspected of.
const suspectedOf = 10

// StandIn writes what a model could answer, so that a plan counts the stages
// behind an answer too ([llm.Plan]): as many passages and facts as are asked
// for, one compared pair in ten suspected, every second single passage open,
// and short chains of evidence. It is no judgement of anything.
func (c Config) StandIn() func(llm.Request) string {
	c = c.withDefaults()
	return func(req llm.Request) string {
		if len(req.Messages) == 0 {
			return ""
		}
		prompt := req.Messages[len(req.Messages)-1].Content
		switch req.Stage {
		case StageFacts:
			type fact struct {
				Subject string `json:"subject"`
				Fact    string `json:"fact"`
				Quote   string `json:"quote"`
			}
			var out []fact
			for _, s := range spread(prompt, maxFacts) {
				out = append(out, fact{"somebody", "something", s})
			}
			return encode(map[string]any{"facts": out})
		case StageReference, StageExtract:
			lists := map[string]any{}
			cat := guideOf(prompt)
			var quotes []string
			if req.Stage == StageExtract {
				quotes = spread(prompt, c.MaxPassages)
			}
			for i, s := range cat.Subtypes {
				list := []any{}
				for k := i; k < len(quotes); k += len(cat.Subtypes) {
					list = append(list, map[string]string{"quote": quotes[k], "subject": "somebody", "claim": "something"})
				}
				lists[s.Name] = list
			}
			return encode(lists)
		case StagePair:
			return standVerdicts("pair", pairNumber.FindAllStringSubmatch(prompt, -1), func(i int) string {
				if i%suspectedOf == 0 {
					return "contradictory"
				}
				return "consistent"
			})
		case StageSettle:
			return standVerdicts("passage", passageNumber.FindAllStringSubmatch(prompt, -1), func(i int) string {
				if i%2 == 0 {
					return "open"
				}
				return "settled"
			})
		case StageEvidence:
			var out []any
			for _, m := range caseNumber.FindAllStringSubmatch(prompt, -1) {
				n, _ := strconv.Atoi(m[1])
				out = append(out, map[string]any{"case": n, "reasoning": strings.Repeat("so and so ", 20), "fact_quote": "a passage of some words",
					"contradiction_pair": "a passage of some words", "conclusion": "consistent", "error_category": "", "error_element": "", "context": "one sentence of some words"})
			}
			return encode(map[string]any{"chains": out})
		}
		return ""
	}
}

var (
	pairNumber    = regexp.MustCompile(`(?m)^pair (\d+): passages`)
	passageNumber = regexp.MustCompile(`(?m)^<passage_(\d+)>$`)
	caseNumber    = regexp.MustCompile(`(?m)^case (\d+) \(suspected`)
	storyTag      = regexp.MustCompile(`(?m)^<(story(?:-\d+)?)>$`)
)

// guideOf finds the category whose guide a prompt holds.
func guideOf(prompt string) schemas.Category {
	for _, c := range schemas.Categories {
		if strings.Contains(prompt, "\n1. "+c.Subtypes[0].Name+":") {
			return c
		}
	}
	return schemas.Category{}
}

// spread returns n sentences of the prompt's story, evenly over it.
func spread(prompt string, n int) []string {
	m := storyTag.FindStringSubmatchIndex(prompt)
	if m == nil {
		return nil
	}
	story := prompt[m[1]:]
	if end := strings.Index(story, "\n</"+prompt[m[2]:m[3]]+">"); end >= 0 {
		story = story[:end]
	}
	all := text.Sentences(story)
	var out []string
	for i := range min(n, len(all)) {
		out = append(out, all[i*len(all)/min(n, len(all))].Of(story))
	}
	return out
}

func standVerdicts(key string, numbers [][]string, verdict func(int) string) string {
	var out []string
	for i, m := range numbers {
		out = append(out, fmt.Sprintf(`{%q: %s, "verdict": %q}`, key, m[1], verdict(i)))
	}
	return `{"verdicts": [` + strings.Join(out, ", ") + `]}`
}

func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps of strings
	}
	return string(b)
}
