// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/retcon-bench/retcon/internal/report"
	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

// PromptsConfig is the config of ConStory-Bench prompts, a table of
// [schemas.Prompt] whose split is test.
const PromptsConfig = "constory_prompts"

// PublicPrompt is the prompt as a release may carry it, by the terms of its
// source: with its elements' text where the source may be passed on as text,
// with their offsets alone where only what was derived from it may, and not at
// all (ok is false) where ids are all.
func PublicPrompt(p schemas.Prompt) (out schemas.Prompt, ok bool) {
	switch {
	case p.Source.MayReleaseText():
		return p, true
	case p.Source.MayReleaseDerived():
		p.Elements = slices.Clone(p.Elements)
		for i := range p.Elements {
			p.Elements[i].Text = ""
		}
		return p, true
	}
	return p, false
}

// CheckPrompt checks everything a row of prompts says about itself: ids,
// hashes, the text's form, the length it asks for, its terms, and that each
// element's three ranges can be those of its text. The source itself is not in
// the release.
func CheckPrompt(p schemas.Prompt) error {
	switch {
	case p.GroupID == "" || p.StoryID == "" || p.Language == "":
		return errors.New("group_id, story_id or language is empty")
	case !slices.Contains(schemas.Tasks, p.TaskType):
		return fmt.Errorf("task_type is %q", p.TaskType)
	case p.PromptID != schemas.NewPromptID(p.GroupID, p.TaskType):
		return fmt.Errorf("prompt_id is not that of group %s and task %s", p.GroupID, p.TaskType)
	case p.ID != schemas.PromptNumber(p.PromptID):
		return fmt.Errorf("id is not the number of prompt %s", p.PromptID)
	case p.PromptHash != schemas.HashText(p.Prompt):
		return errors.New("prompt_hash is not the prompt's")
	case strings.TrimSpace(p.Prompt) != p.Prompt || p.Prompt == "":
		return errors.New("the prompt is empty or has white space at an end")
	case p.MinWords <= 0 || p.MaxWords < p.MinWords:
		return fmt.Errorf("min_words %d and max_words %d are no range", p.MinWords, p.MaxWords)
	case len(p.TextHash) != 64:
		return errors.New("text_hash is no SHA-256")
	}
	if err := text.CheckFrozen(p.Prompt); err != nil {
		return fmt.Errorf("prompt: %w", err)
	}
	if err := checkPromptTerms(p); err != nil {
		return err
	}
	for i, e := range p.Elements {
		if err := checkElement(e, p.Source); err != nil {
			return fmt.Errorf("elements[%d]: %w", i, err)
		}
	}
	return nil
}

// checkPromptTerms is checkTerms for what is derived from a text.
func checkPromptTerms(p schemas.Prompt) error {
	s := p.Source
	switch {
	case s.Corpus == "" || s.ID == "" || s.Licence == "":
		return errors.New("source: corpus, id or licence is empty")
	case !s.MayReleaseDerived():
		return fmt.Errorf("source: the terms of %s let a release carry %q, no prompts made from its texts", s.Corpus, s.Redistribute)
	case strings.HasPrefix(strings.ToUpper(s.Licence), "CC-BY") && s.Attribution == "":
		return fmt.Errorf("source: licence %s asks for attribution, and there is none", s.Licence)
	}
	return nil
}

func checkElement(e schemas.Element, of schemas.Source) error {
	if e.Role == "" || e.In == "" {
		return errors.New("role or in is empty")
	}
	if e.Start < 0 || e.End <= e.Start || e.ByteStart < e.Start || e.UTF16Start < e.Start {
		return fmt.Errorf("range [%d,%d) is empty, or its three units cannot belong together", e.Start, e.End)
	}
	if !of.MayReleaseText() {
		if e.Text != "" {
			return errors.New("it quotes a source that a release may not pass on as text")
		}
		return nil
	}
	units := 0
	for _, r := range e.Text {
		units++
		if r > 0xFFFF {
			units++
		}
	}
	if n := utf8.RuneCountInString(e.Text); n != e.End-e.Start || len(e.Text) != e.ByteEnd-e.ByteStart || units != e.UTF16End-e.UTF16Start {
		return fmt.Errorf("its ranges are of %d code points, %d bytes and %d UTF-16 units, its text has %d, %d and %d",
			e.End-e.Start, e.ByteEnd-e.ByteStart, e.UTF16End-e.UTF16Start, n, len(e.Text), units)
	}
	return nil
}

// promptWords is the length of a prompt in words, ideographs counted singly.
func promptWords(p schemas.Prompt) int { return text.WordsCJK(p.Prompt) }

// addPrompt counts a row of prompts and checks it as [Verify] will.
func (c *exampleCount) addPrompt(p schemas.Prompt) error {
	if c.groups == nil {
		c.groups = map[string]bool{}
	}
	c.groups[p.GroupID] = true
	c.words = append(c.words, promptWords(p))
	if err := CheckPrompt(p); err != nil {
		return fmt.Errorf("prompt %s: %w", p.PromptID, err)
	}
	return nil
}

// addPrompt counts what card and licence say of a prompt.
func (s *summary) addPrompt(config, split string, p schemas.Prompt) {
	sp := s.of(config, split)
	sp.corpora[p.Source.Corpus]++
	sp.licences[p.Source.Licence]++
	sp.languages[p.Language]++
	sp.terms(p.Source)
	sp.sources[p.GroupID] = true
	sp.engines[p.Engine]++
	if sp.tasks == nil {
		sp.tasks = map[string]map[string]int{}
	}
	if sp.tasks[p.Source.Corpus] == nil {
		sp.tasks[p.Source.Corpus] = map[string]int{}
	}
	sp.tasks[p.Source.Corpus][p.TaskType]++
}

// promptRow checks a row of prompts against the release it stands in. last is
// the id of the row before.
func promptRow(p schemas.Prompt, m schemas.Manifest, last int) error {
	switch {
	case p.ID <= last:
		return fmt.Errorf("prompt %s (%d) does not follow %d: rows stand in order of their ids, each once", p.PromptID, p.ID, last)
	case p.Canary != m.Canary || p.DatasetVersion != m.Version:
		return fmt.Errorf("prompt %s says canary %q, dataset_version %q; they are %q, %q", p.PromptID, p.Canary, p.DatasetVersion, m.Canary, m.Version)
	case m.Canary != "" && strings.Contains(p.Prompt, m.Canary):
		return fmt.Errorf("prompt %s: the canary stands in its text", p.PromptID)
	case !slices.ContainsFunc(m.Corpora, func(c schemas.CorpusUse) bool { return c.Name == p.Source.Corpus }):
		return fmt.Errorf("prompt %s is from corpus %q, which the manifest does not name", p.PromptID, p.Source.Corpus)
	}
	if found, line := Residue(p.Prompt); found != "" && !slices.Contains(m.Recipe.Release.Residue, p.PromptID) {
		return fmt.Errorf("prompt %s holds %q in line %d, which a release must not (list the id under release.residue to allow it)", p.PromptID, found, line)
	}
	return nil
}

// prompt checks one row of prompts on its own and against what was read before.
func (v *verifier) prompt(file string, row int, config, split string, p schemas.Prompt, last int) {
	say := func(format string, args ...any) { v.rep.add(file, row, p.PromptID, format, args...) }
	if err := CheckPrompt(p); err != nil {
		say("%v", err)
	}
	if err := promptRow(p, v.Manifest, last); err != nil {
		say("%v", err)
	}
	if slices.Contains(v.Manifest.Recipe.Release.Residue, p.PromptID) {
		if found, _ := Residue(p.Prompt); found != "" {
			if v.residue == nil {
				v.residue = map[string]bool{}
			}
			v.residue[p.PromptID] = true
		}
	}
	v.rep.Spans += len(p.Elements)
	v.seen[p.PromptID] = true
	now := place{side(config, split), config + "/" + split}
	if old, ok := v.side[p.GroupID]; ok && old.side != now.side {
		say("source %s stands in %s too: no source may stand on two sides of a cut", p.GroupID, old.at)
	} else if !ok {
		v.side[p.GroupID] = now
	}
}

// prompts is the card's section on the config of prompts, where there is one.
func (c *cardWriter) prompts() {
	if !slices.ContainsFunc(c.Configs, func(conf schemas.ConfigInfo) bool { return conf.Schema == "prompt" }) {
		return
	}
	r := c.Recipe.Prompts
	c.printf("### Story-writing prompts\n\n`%s` asks a model to write a long story of %d to %d words, in one of four ways: from a premise (`generation`), from an opening passage (`continuation`), "+
		"from an outline (`expansion`), or from a beginning and an ending (`completion`). The stories are then searched for contradictions (ConStory-Bench). "+
		"The published columns are `id`, `language`, `task_type` and `prompt`; `elements` says which passages of the source a prompt is grounded in.\n\n", PromptsConfig, r.MinWords, r.MaxWords)
	engines := map[string]int{}
	t := &report.Table{Columns: append([]string{"source corpus"}, append(slices.Clone(schemas.Tasks), "all")...)}
	for _, s := range c.rows.splits {
		for _, corpus := range slices.Sorted(maps.Keys(s.tasks)) {
			row, all := []any{md(corpus)}, 0
			for _, task := range schemas.Tasks {
				row = append(row, s.tasks[corpus][task])
				all += s.tasks[corpus][task]
			}
			t.Add(append(row, all)...)
		}
		if s.tasks != nil {
			for e, n := range s.engines {
				engines[e] += n
			}
		}
	}
	c.table(t)
	for _, e := range counted(engines) {
		switch e.Name {
		case "rules":
			c.printf("%d prompts were made by rules: their premises, passages and outlines are sentences of the source, put into instructions of our own. ", e.N)
		default:
			c.printf("%d prompts were written by a model (engine `%s`) from the source. ", e.N, md(e.Name))
		}
	}
	c.printf("Near-duplicates were removed, and every prompt passed the named checks whose counts stand under stage `prompts` among the records set aside. " +
		"Of sources that may not be passed on as text, elements have offsets and no text; of sources that may not be passed on at all, prompts stay out of the release.\n\n")
	c.printf("Columns of `%s`:\n\n", PromptsConfig)
	t = &report.Table{Columns: []string{"column", "meaning"}}
	docs, err := columnDocs("prompt")
	if err != nil && c.err == nil {
		c.err = err
	}
	for _, d := range docs {
		t.Add("`"+d[0]+"`", md(d[1]))
	}
	c.table(t)
}
