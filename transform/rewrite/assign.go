// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/schemas"
)

// assignment is the answer to: which task is this source for?
type assignment struct {
	task   string // one of schemas.Tasks, or none
	reason string
}

const noTask = "none"

// assignCalls ask in the source's language.
var assignCalls = perLanguage("assign", llm.Call[*work, assignment]{
	Stage:  "prompts/assign",
	Params: llm.Params{MaxTokens: 400},
	Decode: decodeAssign,
	Rule:   ruleAssign,
})

// decodeAssign reads <task> and, if it is there, <reason>.
func decodeAssign(r *llm.Reply, _ *work) (assignment, error) {
	t, err := r.Tag("task")
	if err != nil {
		return assignment{}, err
	}
	task := strings.ToLower(strings.Trim(strings.TrimSpace(t), ".*_`\"'"))
	if !slices.Contains(schemas.Tasks, task) && task != noTask {
		return assignment{}, llm.Failed(llm.ParseFailed, fmt.Sprintf("no task is called %q", clip(task)))
	}
	a := assignment{task: task}
	if why, err := r.Tag("reason"); err == nil {
		a.reason = strings.Join(strings.Fields(why), " ")
	}
	return a, nil
}

// ruleAssign weighs what the source offers by the share of each task that is
// wanted, and draws.
func ruleAssign(w *work) (string, error) {
	if w.r.story.Kind == schemas.KindQuery {
		task := schemas.TaskGeneration
		if asks.MatchString(w.r.text) {
			task = queryTask(w.r.text)
		}
		return answer("task", task), nil
	}
	w.offers = w.r.offers(w.quote())
	total := 0.0
	for _, t := range schemas.Tasks {
		if o := w.offers[t]; o != nil {
			total += o.fit * w.cfg.share(t)
		}
	}
	if total == 0 {
		return answer("task", noTask) + answer("reason", "no premise, opening, outline or ending of it can stand alone"), nil
	}
	x := w.rand.Float64() * total
	for _, t := range schemas.Tasks {
		if o := w.offers[t]; o != nil {
			if x -= o.fit * w.cfg.share(t); x < 0 {
				return answer("task", t), nil
			}
		}
	}
	return "", fmt.Errorf("no task was drawn of %v", w.offers)
}

// answer is one tagged part of an answer.
func answer(tag, s string) string { return "<" + tag + ">\n" + s + "\n</" + tag + ">\n" }

func clip(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return s
}
