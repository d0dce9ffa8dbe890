// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/retcon-bench/retcon/internal/pipeline"
	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/scoring"
	"github.com/retcon-bench/retcon/transform"
	"github.com/retcon-bench/retcon/transform/check"
)

// importAll takes in what another checker found: tables with a column a
// subtype, or lines with an object of cells.
func (cmd *checkCmd) importAll(e *env, files []string) error {
	if cmd.Model != "" || cmd.Engine != "" || cmd.Protocol != "" || cmd.Plan || cmd.Reparse || cmd.Samples != 1 {
		return usagef("--import asks nobody: leave out --model, --engine, --protocol, --samples, --plan and --reparse")
	}
	shown, err := readExamples(cmd.Examples)
	if err != nil {
		return err
	}
	var set *scoring.StorySet
	if cmd.Stories != "" {
		f, err := openInput(cmd.Stories)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return inputError(cmd.Stories, err)
		}
		if set, err = scoring.OpenStorySet(f, info.Size()); err != nil {
			return inputError(cmd.Stories, err)
		}
	}
	cmd.Work = cmp.Or(cmd.Work, "check.work")
	run := &checkRun{checkCmd: cmd, env: e, engine: engineModel, tally: newCheckTally(), cfg: check.Config{Protocol: check.Reference}}
	run.step = transform.Step[check.Text, check.Result]{Name: "check", Version: check.Version}
	if run.ws, err = pipeline.Open(cmd.Work, map[string]string{"command": "check"}); err != nil {
		return err
	}
	defer run.ws.Close()
	if err := run.open(); err != nil {
		return err
	}
	defer run.discard()
	seen := map[string]bool{}
files:
	for _, f := range files {
		for row, err := range tableRows(f) {
			if err == nil {
				err = e.ctx.Err()
			}
			if err != nil {
				return err
			}
			j, reason, err := judgedRow(row, set, shown)
			switch {
			case err != nil:
				return err
			case reason != "":
				run.skip(j.from.ID, reason)
				continue
			case seen[j.from.ID]:
				return inputError(row.where, fmt.Errorf("story %s for the second time", j.from.ID))
			}
			seen[j.from.ID] = true
			run.back.addRow(j.from.source, j.from.written)
			if err := run.take(j); err != nil {
				return err
			}
			if cmd.Limit > 0 && run.tally.stories >= cmd.Limit {
				break files
			}
		}
	}
	if err := run.finish(files); err != nil {
		return err
	}
	return run.verdict()
}

// judgedRow reads a row of another checker. reason says why there is no story.
func judgedRow(row tableRow, set *scoring.StorySet, shown *text.Echoes) (j judged, reason string, err error) {
	cell := row.get
	var cells struct {
		Cells map[string]json.RawMessage `json:"cells"`
	}
	if row.json != nil {
		if err := json.Unmarshal(row.json, &cells); err != nil {
			return j, "", inputError(row.where, schemas.JSONFault(err))
		}
	}
	if cells.Cells != nil {
		cell = func(column string) (string, bool) {
			raw, ok := cells.Cells[column]
			if !ok {
				return "[]", true // such lines leave empty lists out
			}
			var s string
			if json.Unmarshal(raw, &s) == nil {
				return s, true
			}
			return string(raw), true
		}
	} else if !hasSubtypes(row) {
		return j, "", inputError(row.where, errors.New("none of the 19 subtype columns is here, and no cells: it is no judged table"))
	}
	if set != nil {
		id, _ := row.get("id")
		st, ok, err := set.Story(strings.TrimSuffix(id, ".0"))
		switch {
		case err != nil:
			return j, "", inputError(row.where, err)
		case !ok:
			return j, "", inputError(row.where, fmt.Errorf("story %q is not among the stories: are they those that were judged?", id))
		}
		g := schemas.Generated{PromptID: id, ModelName: st.Model, Language: st.Language}
		if st.HasText {
			g.GeneratedStory = &st.Text
		}
		if j.from.Text, ok = check.TextOf(g); !ok {
			j.from.ID = id
			return j, "no_story", nil
		}
		j.from.where = row.where
	} else if j.from, reason, err = checkedRow(row); err != nil || reason != "" {
		return j, reason, err
	}
	judge, _ := row.get("judge_model")
	state, _ := row.get("evaluation_status")
	j.Result = check.FromCells(j.from.Text, cmp.Or(judge, "unnamed"), state, cell, shown)
	return j, "", nil
}

func hasSubtypes(row tableRow) bool {
	for _, c := range schemas.Categories {
		for _, s := range c.Subtypes {
			for _, n := range c.Columns(s) {
				if slices.Contains(row.names, n) {
					return true
				}
			}
		}
	}
	return false
}

// readExamples reads a JSON list of texts, or of objects with a text.
func readExamples(path string) (*text.Echoes, error) {
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, inputError(path, err)
	}
	var list []json.RawMessage
	if err := schemas.ParseForeign(data, &list); err != nil {
		return nil, inputError(path, fmt.Errorf("want a JSON list of texts: %w", err))
	}
	var out []string
	for i, raw := range list {
		var s string
		var o struct {
			Text string `json:"text"`
		}
		if json.Unmarshal(raw, &s) != nil {
			if err := json.Unmarshal(raw, &o); err != nil || o.Text == "" {
				return nil, inputError(path, fmt.Errorf("element %d is neither a text nor an object with a text", i))
			}
			s = o.Text
		}
		out = append(out, s)
	}
	return text.NewEchoes(out), nil
}
