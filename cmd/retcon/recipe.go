// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/retcon-bench/retcon/ingest/all"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform/flawed"
)

//go:embed recipes/tales.yaml
var talesRecipe []byte

// defaultName is what a release made without a recipe file from given corpora
// is called.
const defaultName = "retcon-local"

// resolve makes the complete recipe: flag beats recipe beats default. Without
// a recipe file, --corpus replaces the embedded tales.
func (f chainFlags) resolve() (schemas.Recipe, error) {
	name, data := f.Recipe, talesRecipe
	if name != "" {
		var err error
		if data, err = os.ReadFile(name); err != nil {
			return schemas.Recipe{}, withHint(exitUsage, "", fmt.Errorf("recipe: %w", err))
		}
	} else {
		name = "recipes/tales.yaml"
	}
	r, err := parseRecipe(name, data)
	if err != nil {
		return r, &codedError{code: exitUsage, err: err}
	}
	if f.Recipe == "" && len(f.Corpus) > 0 {
		r.Name, r.Description, r.Release.Title = defaultName, "", ""
		r.Corpora = nil
		r.Prompts.Target = 0
		for _, n := range all.Names() { // the list's order, not the flags'
			if _, ok := f.Corpus[n]; ok {
				r.Corpora = append(r.Corpora, schemas.CorpusRecipe{Name: n})
			}
		}
	}
	for n := range f.Corpus {
		if !slices.ContainsFunc(r.Corpora, func(c schemas.CorpusRecipe) bool { return c.Name == n }) {
			if _, ok := all.Find(n); !ok {
				return r, usagef("--corpus %s: no corpus is called that (known: %s)", n, strings.Join(all.Names(), ", "))
			}
			return r, usagef("--corpus %s: the recipe %s does not name that corpus", n, name)
		}
	}
	for i := range r.Corpora {
		c := &r.Corpora[i]
		corpus, ok := all.Find(c.Name)
		if !ok {
			return r, usagef("%s: corpora: no corpus is called %q (known: %s)", name, c.Name, strings.Join(all.Names(), ", "))
		}
		if slices.ContainsFunc(r.Corpora[:i], func(o schemas.CorpusRecipe) bool { return o.Name == c.Name }) {
			return r, usagef("%s: corpora: %s stands there twice", name, c.Name)
		}
		if c.Settings, err = overlay(corpus.Defaults, c.Settings); err != nil {
			return r, usagef("%s: corpora: %s: settings: %w", name, c.Name, err)
		}
		if c.MaxBad == 0 {
			c.MaxBad = defaultMaxBad
		}
	}
	for _, l := range []struct {
		flag map[string]string
		list *string
	}{{f.Against, &r.Dedup.Against}, {f.Earlier, &r.Dedup.Earlier}, {f.Benchmark, &r.Dedup.Benchmarks}} {
		names := append(againstNames(*l.list), slices.Collect(maps.Keys(l.flag))...)
		*l.list = strings.Join(againstNames(strings.Join(names, ",")), ",")
	}
	if f.Seed != nil {
		r.Seed = *f.Seed
	}
	if f.Prompts != nil {
		r.Prompts.Target = *f.Prompts
	}
	if err := checkPrompts(r); err != nil {
		return r, usagef("%s: prompts: %w", name, err)
	}
	if f.Engine != "" {
		r.Make.Engine = f.Engine
	}
	if len(f.Kinds) > 0 {
		r.Make.Kinds = f.Kinds
	}
	if err := (flawed.Config{Make: r.Make}).Check(); err != nil {
		return r, usagef("%s: %w", name, err)
	}
	if f.Model != "" && !slices.ContainsFunc(r.Make.Models, func(m schemas.ModelRecipe) bool { return m.Name == f.Model }) {
		r.Make.Models = append([]schemas.ModelRecipe{{Name: f.Model}}, r.Make.Models...)
	}
	return r, nil
}

// checkPrompts checks what the JSON Schema cannot say of the section prompts.
func checkPrompts(r schemas.Recipe) error {
	p := r.Prompts
	if p.Target < 0 {
		return fmt.Errorf("target is %d", p.Target)
	}
	if p.MinWords > p.MaxWords {
		return fmt.Errorf("min_words %d is above max_words %d", p.MinWords, p.MaxWords)
	}
	for _, q := range p.Corpora {
		if !slices.ContainsFunc(r.Corpora, func(c schemas.CorpusRecipe) bool { return c.Name == q.Name }) {
			return fmt.Errorf("corpora: a quota for %q, which the recipe does not name", q.Name)
		}
	}
	for name, list := range map[string][]schemas.Count{"tasks": p.Tasks, "corpora": p.Corpora, "languages": p.Languages} {
		seen := map[string]bool{}
		for _, q := range list {
			if seen[q.Name] {
				return fmt.Errorf("%s: two quotas for %q", name, q.Name)
			}
			seen[q.Name] = true
		}
	}
	return nil
}

// defaultMaxBad is the share of unreadable records that stops an ingest.
const defaultMaxBad = 0.05

// parseRecipe reads YAML over the defaults. An unknown key, a wrong type and a
// value out of range are errors that name file and key.
func parseRecipe(name string, data []byte) (schemas.Recipe, error) {
	r := schemas.DefaultRecipe()
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		return r, fmt.Errorf("%s: the recipe is empty", name)
	case len(data) > maxRecipe:
		return r, fmt.Errorf("%s: %d bytes; a recipe is one page, at most %d", name, len(data), maxRecipe)
	}
	if err := plainYAML(data); err != nil {
		return r, fmt.Errorf("%s: %w", name, err)
	}
	js, err := yaml.YAMLToJSON(data)
	if err != nil {
		return r, fmt.Errorf("%s: %s", name, yaml.FormatError(err, false, true))
	}
	if err := validateJSON("recipe", js); err != nil {
		return r, fmt.Errorf("%s: %w", name, err)
	}
	dec := json.NewDecoder(bytes.NewReader(js))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil {
		return r, fmt.Errorf("%s: %w", name, schemas.JSONFault(err))
	}
	if _, err := time.Parse(time.DateOnly, r.Date); err != nil {
		return r, fmt.Errorf("%s: date: there is no day %s", name, r.Date)
	}
	return r, nil
}

// maxRecipe is the size of a recipe in bytes.
const maxRecipe = 1 << 20

// plainYAML refuses what a recipe never needs: aliases, by which a few lines
// can stand for more than any memory holds, and numbers that are none, which JSON
// does not have.
func plainYAML(data []byte) error {
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return errors.New(yaml.FormatError(err, false, true))
	}
	var found unplain
	for _, doc := range file.Docs {
		if doc.Body != nil {
			ast.Walk(&found, doc.Body)
		}
	}
	if found.at == nil {
		return nil
	}
	line := found.at.GetToken().Position.Line
	switch found.at.Type() {
	case ast.NanType, ast.InfinityType:
		return fmt.Errorf("line %d: %s is no number that a recipe takes", line, found.at)
	}
	return fmt.Errorf("line %d: a recipe takes no YAML aliases; write the value out", line)
}

type unplain struct{ at ast.Node }

// Visit keeps the first alias, or number that is none.
func (u *unplain) Visit(n ast.Node) ast.Visitor {
	switch n.Type() {
	case ast.AliasType, ast.MergeKeyType, ast.NanType, ast.InfinityType:
		if u.at == nil {
			u.at = n
		}
		return nil
	}
	return u
}

// overlay lays settings over defaults; a key the defaults do not have is an
// error. The result has the defaults' keys, sorted.
func overlay(defaults, settings json.RawMessage) (json.RawMessage, error) {
	base := map[string]any{}
	if len(defaults) > 0 {
		if err := json.Unmarshal(defaults, &base); err != nil {
			return nil, fmt.Errorf("defaults: %w", err)
		}
	}
	var over map[string]any
	if len(settings) > 0 {
		if err := json.Unmarshal(settings, &over); err != nil {
			return nil, errors.New("want a mapping")
		}
	}
	for k, v := range over {
		if _, ok := base[k]; !ok {
			return nil, fmt.Errorf("unknown key %q", k)
		}
		base[k] = v
	}
	return json.Marshal(base)
}

// validateJSON checks a document against a JSON Schema of package schemas. The
// error names each key that is wrong.
func validateJSON(schema string, doc []byte) error {
	raw, err := schemas.JSONSchema(schema)
	if err != nil {
		return err
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(schema+".json", parsed); err != nil {
		return err
	}
	compiled, err := c.Compile(schema + ".json")
	if err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		return err
	}
	err = compiled.Validate(v)
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return err
	}
	var lines []string
	var walk func(e *jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if len(e.Causes) == 0 {
			at := strings.Join(e.InstanceLocation, ".")
			if at != "" {
				at += ": "
			}
			lines = append(lines, at+e.ErrorKind.LocalizedString(message.NewPrinter(language.English)))
		}
		for _, cause := range e.Causes {
			walk(cause)
		}
	}
	walk(invalid)
	return errors.New(strings.Join(lines, "; "))
}
