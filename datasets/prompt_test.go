// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

// prompts makes n rows of prompts, in order of ids.
func prompts(n int, redistribute string) []schemas.Prompt {
	var out []schemas.Prompt
	for i := range n {
		source := tale(i, "grey")
		p := schemas.Prompt{Language: "en", TaskType: schemas.Tasks[i%4], GroupID: fmt.Sprintf("tales:source-%03d", i), MinWords: 8000, MaxWords: 10000,
			TextHash: schemas.HashText(source), Quality: []string{}, Engine: "rules", DatasetVersion: "1.0.0", Canary: testCanary,
			Source: schemas.Source{Corpus: "tales", ID: fmt.Sprint(i), Licence: "CC0-1.0", Redistribute: redistribute}}
		p.StoryID, p.PromptID = p.GroupID, schemas.NewPromptID(p.GroupID, p.TaskType)
		p.ID = schemas.PromptNumber(p.PromptID)
		sp := text.NewIndex(source).Span(text.Sentences(source)[0])
		p.Elements = []schemas.Element{{Role: "premise", In: "text", Span: schemas.Span{Offsets: schemas.Offsets(sp), Sentence: -1, Text: source[sp.ByteStart:sp.ByteEnd]}}}
		p.Prompt = "Write a story of 8,000 to 10,000 words that begins so: " + p.Elements[0].Text
		p.PromptHash = schemas.HashText(p.Prompt)
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b schemas.Prompt) int { return a.ID - b.ID })
	return out
}

func promptTable(list []schemas.Prompt) Table {
	return NewTable(PromptsConfig, "test", "prompt", func(yield func(schemas.Prompt, error) bool) {
		for _, p := range list {
			if !yield(p, nil) {
				return
			}
		}
	})
}

func TestPromptsRelease(t *testing.T) {
	var rows []schemas.Prompt
	for i, p := range prompts(10, schemas.RedistributeText) {
		if i%2 == 0 {
			p.Source.Redistribute = schemas.RedistributeDerived
		}
		p, ok := PublicPrompt(p)
		if !ok || (p.Elements[0].Text == "") != (i%2 == 0) {
			t.Fatalf("prompt %d: %v, %q", i, ok, p.Elements[0].Text)
		}
		rows = append(rows, p)
	}
	if _, ok := PublicPrompt(prompts(1, schemas.RedistributeIDs)[0]); ok {
		t.Error("a prompt made from a text of which ids alone may be passed on is published")
	}
	dir := filepath.Join(t.TempDir(), "hats")
	m, err := Write(context.Background(), dir, testManifest(t), append(testTables(), promptTable(rows)), WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s := m.Configs[len(m.Configs)-1].Splits[0]
	if s.Rows != 10 || s.Groups != 10 || s.Words == nil || s.Words.N != 10 {
		t.Errorf("split %+v", s)
	}
	rep := mustVerify(t, dir)
	if !rep.OK() || rep.Rows != 38 {
		t.Fatalf("%d rows, problems %v", rep.Rows, rep.Problems)
	}
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []schemas.Prompt
	for p, err := range Rows[schemas.Prompt](r, PromptsConfig, "test") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, p)
	}
	if diff := cmp.Diff(rows, got); diff != "" {
		t.Errorf("rows read are not those written: %s", diff)
	}
	card, err := os.ReadFile(filepath.Join(dir, CardFile))
	if err != nil || !bytes.Contains(card, []byte("10 prompts were made by rules")) {
		t.Errorf("the card says nothing of its prompts (%v)", err)
	}
}

// Whatever is wrong with a row of prompts, it is not written.
func TestPromptRowsChecked(t *testing.T) {
	for name, change := range map[string]func(p *schemas.Prompt){
		"another number":         func(p *schemas.Prompt) { p.ID++ },
		"another task":           func(p *schemas.Prompt) { p.TaskType = "summary" },
		"another source":         func(p *schemas.Prompt) { p.GroupID += "x" },
		"edited text":            func(p *schemas.Prompt) { p.Prompt += "!" },
		"white space at end":     func(p *schemas.Prompt) { p.Prompt += " "; p.PromptHash = schemas.HashText(p.Prompt) },
		"no range of words":      func(p *schemas.Prompt) { p.MinWords = 20000 },
		"ids only":               func(p *schemas.Prompt) { p.Source.Redistribute = schemas.RedistributeIDs },
		"quotes what it may not": func(p *schemas.Prompt) { p.Source.Redistribute = schemas.RedistributeDerived },
		"units do not agree":     func(p *schemas.Prompt) { p.Elements[0].UTF16End++ },
		"empty element":          func(p *schemas.Prompt) { p.Elements[0].End = p.Elements[0].Start },
		"canary in the text":     func(p *schemas.Prompt) { p.Prompt += testCanary; p.PromptHash = schemas.HashText(p.Prompt) },
		"unknown corpus":         func(p *schemas.Prompt) { p.Source.Corpus = "elsewhere" },
		"another canary":         func(p *schemas.Prompt) { p.Canary = "x" },
		"residue":                func(p *schemas.Prompt) { p.Prompt += " (Project Gutenberg)"; p.PromptHash = schemas.HashText(p.Prompt) },
		"no attribution":         func(p *schemas.Prompt) { p.Source.Licence = "CC-BY-SA-3.0" },
		"no form of its text": func(p *schemas.Prompt) {
			p.Prompt = strings.ReplaceAll(p.Prompt, " ", "\t")
			p.PromptHash = schemas.HashText(p.Prompt)
		},
	} {
		rows := prompts(3, schemas.RedistributeText)
		change(&rows[1])
		if _, err := Write(context.Background(), filepath.Join(t.TempDir(), "hats"), testManifest(t), []Table{promptTable(rows)}, WriteOptions{}); err == nil {
			t.Errorf("%s: the row was written", name)
		}
	}
	rows := prompts(2, schemas.RedistributeText)
	rows[0], rows[1] = rows[1], rows[0]
	if _, err := Write(context.Background(), filepath.Join(t.TempDir(), "hats"), testManifest(t), []Table{promptTable(rows)}, WriteOptions{}); err == nil {
		t.Error("rows out of order were written")
	}
}
