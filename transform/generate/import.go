// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

// EngineImport marks stories that were written elsewhere.
const EngineImport = "import"

// System is one line of the models table: what wrote the stories of a model's
// name (ConStory paper, table 3 and figure B1).
type System struct {
	Name   string
	Class  string // one of schemas.ModelClasses
	Family string
}

// Models is the models table.
type Models struct {
	order  []string
	byName map[string]System
}

// NewModels makes a table of its lines. Names are unique, classes known.
func NewModels(systems []System) (*Models, error) {
	m := &Models{byName: map[string]System{}}
	for i, s := range systems {
		s.Name, s.Class, s.Family = strings.TrimSpace(s.Name), strings.ToLower(strings.TrimSpace(s.Class)), strings.TrimSpace(s.Family)
		switch _, twice := m.byName[s.Name]; {
		case s.Name == "":
			return nil, fmt.Errorf("model %d of the table has no name", i+1)
		case twice:
			return nil, fmt.Errorf("model %q stands twice in the table", s.Name)
		case !slices.Contains(schemas.ModelClasses, s.Class):
			return nil, fmt.Errorf("model %q: class %q (want %s)", s.Name, s.Class, strings.Join(schemas.ModelClasses, ", "))
		}
		m.order = append(m.order, s.Name)
		m.byName[s.Name] = s
	}
	return m, nil
}

// Find returns the line of a model.
func (m *Models) Find(name string) (System, bool) {
	if m == nil {
		return System{}, false
	}
	s, ok := m.byName[name]
	return s, ok
}

// describe puts class and family into a row.
func (m *Models) describe(g *schemas.Generated) {
	if s, ok := m.Find(g.ModelName); ok {
		g.ModelClass, g.ModelFamily = s.Class, s.Family
	}
}

// Import says how rows of stories written elsewhere are read.
type Import struct {
	StoryColumn string // column of the story
	Model       string // where a row names none
	Task        string // task type where a row names none
	Models      *Models
	// Strict refuses a model that the table does not have.
	Strict bool
}

// Row makes a row of one of another system. Column returns the text of a
// column, and false where the column is absent or the value null.
//
// A cell that begins with "ERROR:" is a failed row, as the reference writes
// it; so is an empty one. The error says what the row lacks.
func (im Import) Row(column func(name string) (string, bool)) (schemas.Generated, error) {
	get := func(names ...string) string {
		for _, n := range names {
			if v, ok := column(n); ok && strings.TrimSpace(v) != "" {
				return strings.TrimSpace(v)
			}
		}
		return ""
	}
	g := schemas.Generated{
		Language: get("language", "lang"), TaskType: get("task_type", "task"), ModelName: get("model_name", "model"), Engine: EngineImport,
		PromptID: get("prompt_id"), StoryID: get("story_id"), GroupID: get("group_id"), Outcome: OutcomeOK,
		Settings: []schemas.KeyValue{}, Notes: []string{},
		Provenance: []schemas.Provenance{{Step: "generate", Version: Version, Engine: EngineImport}},
	}
	g.Prompt, _ = column("prompt")
	if g.TaskType == "" {
		g.TaskType = im.Task
	}
	if g.ModelName == "" {
		g.ModelName = im.Model
	}
	if g.ModelName == "" {
		return g, fmt.Errorf("it names no model: add a column model_name, or give --model")
	}
	if id := get("id"); id != "" {
		n, err := strconv.Atoi(strings.TrimSuffix(id, ".0"))
		if err != nil && g.PromptID == "" {
			g.PromptID = id
		} else if err == nil {
			g.ID = n
		}
	}
	if g.PromptID == "" && g.StoryID == "" {
		if get("id") == "" {
			return g, fmt.Errorf("it has no id: add a column id, prompt_id or story_id")
		}
		g.PromptID = strconv.Itoa(g.ID)
	}
	g.GeneratedID = GeneratedID(Item{PromptID: g.PromptID, StoryID: g.StoryID, TaskType: g.TaskType}, g.ModelName)
	if _, ok := im.Models.Find(g.ModelName); !ok && im.Strict {
		return g, fmt.Errorf("model %q is not in the models table", g.ModelName)
	}
	im.Models.describe(&g)
	story, _ := column(im.StoryColumn)
	given := get("generation_error")
	switch t := strings.TrimSpace(story); {
	case strings.HasPrefix(t, "ERROR:") || t == "ERROR":
		fail(&g, "api_error", strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(t, "ERROR"), ":")))
	case text.Trim(text.Freeze(story)) == "" && given != "":
		fail(&g, importedOutcome(given), strings.TrimPrefix(given, importedOutcome(given)+": "))
	case text.Trim(text.Freeze(story)) == "":
		fail(&g, "empty", "no story in the row")
	default:
		if given != "" {
			g.Notes = append(g.Notes, "generation_error beside a story: "+given)
		}
		keep(&g, text.Trim(text.Freeze(story)))
	}
	g.Provenance[0].Model, g.Provenance[0].InputHash = g.ModelName, schemas.HashText(story)
	return g, nil
}

// Ours checks a row of a table of our own before it joins another, and gives it
// the models table's class and family.
func (im Import) Ours(g schemas.Generated) (schemas.Generated, error) {
	if _, ok := im.Models.Find(g.ModelName); !ok && im.Strict {
		return g, fmt.Errorf("model %q is not in the models table", g.ModelName)
	}
	if (g.GeneratedStory == nil) == (g.Outcome == OutcomeOK) {
		return g, fmt.Errorf("%s: outcome %s, story %v", g.GeneratedID, g.Outcome, g.GeneratedStory != nil)
	}
	if g.GeneratedStory != nil && schemas.HashText(*g.GeneratedStory) != g.TextHash {
		return g, fmt.Errorf("%s: text_hash is not the story's", g.GeneratedID)
	}
	im.Models.describe(&g)
	return g, nil
}

// importedOutcome reads the outcome off an error of our own form; any other
// error is the other system's.
func importedOutcome(e string) string {
	for _, o := range []string{"refusal", "truncated_in_reasoning", "truncated", "empty", "unclosed_tag", "parse_failed", "prompt_cut", "echo", OutcomeOverLimit} {
		if e == o || strings.HasPrefix(e, o+": ") {
			return o
		}
	}
	return "api_error"
}
