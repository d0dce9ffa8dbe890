// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/retcon-bench/retcon/datasets"
	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/internal/pipeline"
	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform/check"
)

// checked is a story to judge, and where it comes from.
type checked struct {
	check.Text
	where   string
	lines   int // of the file before the story's first
	source  schemas.Source
	written bool // by a model, after its source
}

// plainText says by its name that a file is one text.
func plainText(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".txt", ".md", ".text", "":
		return true
	}
	return false
}

// checkFiles are the files that paths name, in their order: a file itself; of a
// workspace its latest stories; of any other folder a table of generated
// stories, or else all texts and tables in it, by name. plain reports that all
// of them are single texts.
func checkFiles(paths []string) (files []string, plain bool, err error) {
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			return nil, false, &fetch.Error{Op: "open", Name: p, Kind: fetch.Input, Err: err}
		}
		if !info.IsDir() {
			files = append(files, p)
			continue
		}
		found, err := releaseStories(p)
		if err != nil {
			return nil, false, err
		}
		if files = append(files, found...); len(found) > 0 {
			continue
		}
		known, err := inputFile(p, generatedFile, "*.parquet", dedupDir+"/"+pipeline.RecordsFile, ingestDir+"/"+pipeline.RecordsFile, pipeline.RecordsFile)
		if err == nil && filepath.Ext(known) != ".parquet" {
			files = append(files, known)
			continue
		}
		n := len(files)
		err = filepath.WalkDir(p, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".") {
				return err
			}
			if !d.Type().IsRegular() && d.Type()&fs.ModeSymlink == 0 {
				return nil // a pipe or a device would be waited for
			}
			if kind := tableKind(path); kind != "" && kind != ".json" || plainText(path) && filepath.Ext(path) != "" {
				files = append(files, path)
			}
			return nil
		})
		if err != nil {
			return nil, false, &fetch.Error{Op: "list", Name: p, Kind: fetch.Input, Err: err}
		}
		if len(files) == n {
			return nil, false, withHint(exitInput, "name a text (.txt), a table (.jsonl, .csv, .parquet) or a workspace",
				inputError(p, errors.New("there are no stories in this folder")))
		}
	}
	return files, !slices.ContainsFunc(files, func(f string) bool { return !plainText(f) }), nil
}

// releaseStories are the files of a release's only config that holds stories.
// Of several one must be named: most have the same stories. A folder that is no
// release has none.
func releaseStories(dir string) ([]string, error) {
	r, err := datasets.Open(dir)
	if err != nil {
		return nil, nil // a step's output, or somebody else's manifest
	}
	var files, names []string
	for _, c := range r.Manifest.Configs {
		if c.Schema != "example" {
			continue
		}
		names = append(names, c.Name)
		for _, s := range c.Splits {
			for _, f := range s.Files {
				files = append(files, filepath.Join(dir, filepath.FromSlash(f.Path)))
			}
		}
	}
	if len(names) > 1 {
		return nil, withHint(exitInput, "name one: "+filepath.Join(dir, "data", names[0]),
			inputError(dir, fmt.Errorf("a release with several configs of stories: %s", strings.Join(names, ", "))))
	}
	return files, nil
}

// checkTexts reads the stories of files. Rows without a story are given to skip.
func checkTexts(files []string, limit int, skip func(id, reason string)) iter.Seq2[checked, error] {
	return func(yield func(checked, error) bool) {
		seen := map[string]string{}
		n := 0
		emit := func(c checked, err error) bool {
			if err == nil {
				if before, twice := seen[c.ID]; twice {
					err = inputError(c.where, fmt.Errorf("story %s stands in %s already", c.ID, before))
				}
				seen[c.ID] = c.where
			}
			n++
			return yield(c, err) && err == nil && (limit <= 0 || n < limit)
		}
		for _, f := range files {
			if plainText(f) {
				c, err := readPlain(f)
				for n, id := 2, c.ID; seen[c.ID] != ""; n++ { // files of one name in several folders
					c.ID = fmt.Sprintf("%s-%d", id, n)
				}
				if !emit(c, err) {
					return
				}
				continue
			}
			for row, err := range tableRows(f) {
				var c checked
				reason := ""
				if err == nil {
					c, reason, err = checkedRow(row)
				}
				if err == nil && reason != "" {
					skip(c.ID, reason)
					continue
				}
				if !emit(c, err) {
					return
				}
			}
		}
	}
}

// maxPlain caps a file that is one story: a long novel has 4 MB.
const maxPlain = 64 << 20

// readPlain reads a file that is one story. Its id is the file's name.
func readPlain(path string) (checked, error) {
	f, err := os.Open(path)
	if err != nil {
		return checked{}, &fetch.Error{Op: "open", Name: path, Kind: fetch.Input, Err: err}
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxPlain+1))
	if err != nil {
		return checked{}, &fetch.Error{Op: "read", Name: path, Kind: fetch.Input, Err: err}
	}
	if len(data) > maxPlain {
		return checked{}, inputError(path, fmt.Errorf("more than %d MB; a story is one text, a table of stories is .jsonl, .csv or .parquet", maxPlain>>20))
	}
	decoded := text.Decode(data, "").Text
	if what := binaryText(decoded); what != "" {
		return checked{}, inputError(path, fmt.Errorf("the file holds %s: it is no text, or in a charset nobody can tell", what))
	}
	frozen := text.Freeze(decoded)
	story := text.Trim(frozen)
	if story == "" {
		return checked{}, inputError(path, errors.New("the file holds no text"))
	}
	lead := frozen[:strings.Index(frozen, story)]
	name := filepath.ToSlash(filepath.Clean(path))
	if filepath.IsAbs(path) {
		name = filepath.Base(path) // no place of this machine gets into a record
	}
	if strings.ContainsAny(name, "\t\n\r") || !utf8.ValidString(name) {
		return checked{}, inputError(strconv.Quote(path), errors.New("a story's id is its file's name, and this one holds a tab, a newline or bytes that are no UTF-8; rename the file"))
	}
	return checked{Text: check.Text{ID: name, TextHash: schemas.HashText(story), Story: story, Title: filepath.Base(path)},
		where: path, lines: strings.Count(lead, "\n")}, nil
}

// binaryText names what no text holds many of, control characters, if more than
// one in a hundred of s are such; else it is empty. A few occur in real files.
func binaryText(s string) string {
	controls, all := 0, 0
	for _, r := range s {
		if all++; all > 1<<20 {
			break
		}
		if unicode.IsControl(r) && !unicode.IsSpace(r) && r != 0x1A {
			controls++
		}
	}
	if controls > 3 && controls*100 > all {
		return fmt.Sprintf("%d control characters among its first %d", controls, all)
	}
	return ""
}

// checkedRow reads a row of a table: a generated story (generated_story, or
// what a published table calls it), a story (text) or a released row (story).
// reason says why there is none.
func checkedRow(row tableRow) (c checked, reason string, err error) {
	get := func(names ...string) string {
		for _, n := range names {
			if v, ok := row.get(n); ok {
				return v
			}
		}
		return ""
	}
	has := func(name string) bool { return slices.Contains(row.names, name) }
	for _, name := range []string{"generated_story", "text", "story"} { // in the order of the cases below
		if !has(name) {
			continue
		}
		if _, _, err := row.text(name); err != nil {
			return c, "", err
		}
		break
	}
	c = checked{where: row.where, source: sourceOf(row)}
	switch {
	case has("generated_story"):
		g := schemas.Generated{GeneratedID: get("generated_id"), PromptID: get("prompt_id"), ModelName: get("model_name", "model"), Language: get("language")}
		if n, err := strconv.Atoi(strings.TrimSuffix(get("id"), ".0")); err == nil {
			g.ID = n
		} else if g.PromptID == "" {
			g.PromptID = get("id")
		}
		if s, ok := row.get("generated_story"); ok {
			g.GeneratedStory = &s
		}
		t, ok := check.TextOf(g)
		if !ok || get("outcome") != "" && get("outcome") != "ok" {
			reason = get("outcome")
			if reason == "" || reason == "ok" {
				reason = "no_story"
			}
			c.ID = get("generated_id", "prompt_id", "id")
			return c, reason, nil
		}
		c.Text, c.written = t, get("task_type") != schemas.TaskDiagnostic
	case has("text") && has("story_id"):
		c.Text = check.Text{ID: get("story_id"), Story: get("text"), Title: get("title"), Language: get("language")}
		if get("kind") == schemas.KindQuery {
			return c, "query", nil
		}
	case has("story"):
		c.Text = check.Text{ID: get("example_id", "diagnostic_id", "story_id", "id"), Story: get("story"), Title: get("title"), Language: get("language"), Model: get("model_name")}
	default:
		return c, "", inputError(row.where, fmt.Errorf("no story in this row: want a column generated_story, text (with story_id) or story; it has %s", strings.Join(row.names, ", ")))
	}
	c.TextHash = schemas.HashText(c.Story)
	switch {
	case c.ID == "":
		return c, "", inputError(row.where, errors.New("a story without an id"))
	case strings.TrimSpace(c.Story) == "":
		return c, "no_story", nil
	case strings.ContainsAny(c.ID, "\t\n\r"):
		return c, "", inputError(row.where, fmt.Errorf("id %q holds a tab or a newline", c.ID))
	}
	return c, "", nil
}
