// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/retcon-bench/retcon/internal/report"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/splits"
)

// RecipeHash is the SHA-256 of a resolved recipe's JSON, in hex.
func RecipeHash(r schemas.Recipe) (string, error) {
	b, err := json.Marshal(r)
	return schemas.HashText(string(b)), err
}

// cardHeader is the YAML at the top of the card, in the hub's words. Configs
// have explicit paths, each item exactly split and path: without them the hub
// takes any data file for a split.
type cardHeader struct {
	Language       []string     `yaml:"language"`
	Licence        string       `yaml:"license"`
	LicenceName    string       `yaml:"license_name,omitempty"`
	LicenceLink    string       `yaml:"license_link,omitempty"`
	PrettyName     string       `yaml:"pretty_name"`
	SizeCategories []string     `yaml:"size_categories"`
	TaskCategories []string     `yaml:"task_categories"`
	Tags           []string     `yaml:"tags"`
	Configs        []cardConfig `yaml:"configs"`
	DatasetInfo    []cardInfo   `yaml:"dataset_info"`
}

type cardConfig struct {
	Name    string         `yaml:"config_name"`
	Default bool           `yaml:"default,omitempty"`
	Files   []cardDataFile `yaml:"data_files"`
}

type cardDataFile struct {
	Split string   `yaml:"split"`
	Path  []string `yaml:"path"`
}

type cardInfo struct {
	Name         string          `yaml:"config_name"`
	Features     []yaml.MapSlice `yaml:"features"`
	Splits       []cardSplit     `yaml:"splits"`
	DownloadSize int64           `yaml:"download_size"`
	DatasetSize  int64           `yaml:"dataset_size"`
}

type cardSplit struct {
	Name     string `yaml:"name"`
	NumBytes int64  `yaml:"num_bytes"`
	NumRows  int    `yaml:"num_examples"`
}

// cardFeatures writes a layout as the card's YAML has it: name and dtype, list
// of fields under list, never sequence of structs.
func cardFeatures(fields []*field) []yaml.MapSlice {
	out := make([]yaml.MapSlice, 0, len(fields))
	for _, f := range fields {
		item := yaml.MapSlice{{Key: "name", Value: f.name}}
		switch f.kind {
		case leafField:
			item = append(item, yaml.MapItem{Key: "dtype", Value: dtype(f.typ)})
		case groupField:
			item = append(item, yaml.MapItem{Key: "struct", Value: cardFeatures(f.fields)})
		case listField:
			item = append(item, cardList(f.elem))
		}
		out = append(out, item)
	}
	return out
}

func cardList(elem *field) yaml.MapItem {
	switch elem.kind {
	case groupField:
		return yaml.MapItem{Key: "list", Value: cardFeatures(elem.fields)}
	case listField:
		return yaml.MapItem{Key: "list", Value: yaml.MapSlice{cardList(elem.elem)}}
	}
	return yaml.MapItem{Key: "list", Value: dtype(elem.typ)}
}

func header(m schemas.Manifest) (cardHeader, error) {
	h := cardHeader{
		Language: []string{"en"}, PrettyName: title(m), TaskCategories: []string{"text-classification", "question-answering"},
		Tags: []string{"story-consistency", "plot-holes", "narrative", "evaluation"},
	}
	h.Licence, h.LicenceName, h.LicenceLink = licence(m)
	rows := 0
	for i, c := range m.Configs {
		conf := cardConfig{Name: c.Name, Default: i == 0}
		info := cardInfo{Name: c.Name}
		for _, s := range c.Splits {
			file := cardDataFile{Split: s.Name}
			for _, f := range s.Files {
				file.Path = append(file.Path, f.Path)
			}
			conf.Files = append(conf.Files, file)
			info.Splits = append(info.Splits, cardSplit{s.Name, s.Bytes, s.Rows})
			info.DownloadSize += s.Bytes
			info.DatasetSize += s.Bytes
			rows += s.Rows
		}
		l, err := layoutOfSchema(c.Schema)
		if err != nil {
			return h, fmt.Errorf("config %s: %w", c.Name, err)
		}
		info.Features = cardFeatures(l.root)
		h.Configs = append(h.Configs, conf)
		h.DatasetInfo = append(h.DatasetInfo, info)
	}
	h.SizeCategories = []string{sizeCategory(rows)}
	return h, nil
}

func title(m schemas.Manifest) string {
	if m.Recipe.Release.Title != "" {
		return m.Recipe.Release.Title
	}
	return m.Name
}

func sizeCategory(rows int) string {
	limits := []struct {
		below int
		name  string
	}{{1_000, "n<1K"}, {10_000, "1K<n<10K"}, {100_000, "10K<n<100K"}, {1_000_000, "100K<n<1M"}}
	for _, l := range limits {
		if rows < l.below {
			return l.name
		}
	}
	return "1M<n<10M"
}

// hubLicences maps the licences of corpora to the hub's identifiers.
var hubLicences = map[string]string{"CC0-1.0": "cc0-1.0", "Apache-2.0": "apache-2.0", "CC-BY-4.0": "cc-by-4.0", "CC-BY-SA-4.0": "cc-by-sa-4.0", "MIT": "mit"}

// licence gives the card's licence: the corpora's when they have one and the
// hub knows it, else other with a name and a link.
func licence(m schemas.Manifest) (id, name, link string) {
	var all []string
	for _, c := range m.Corpora {
		if !slices.Contains(all, c.Licence) {
			all = append(all, c.Licence)
		}
	}
	if len(all) == 1 && hubLicences[all[0]] != "" {
		return hubLicences[all[0]], "", ""
	}
	slices.Sort(all)
	return "other", strings.ToLower(strings.Join(all, "-and-")), "LICENSE"
}

func writeCard(w io.Writer, in sidecarInput) error {
	m := in.Manifest
	h, err := header(m)
	if err != nil {
		return err
	}
	front, err := yaml.Marshal(h)
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "---\n%s---\n\n# %s\n\n", front, title(m))
	if m.Recipe.Description != "" {
		b.WriteString(m.Recipe.Description + "\n\n")
	}
	fmt.Fprintf(&b, "Version %s of %s. Stories with plot holes whose every sentence is known, and stories without. "+
		"**For evaluation only**: please do not train on it. Canary: `%s`.\n\n", m.Version, m.Date, m.Canary)

	b.WriteString("## Configs\n\n")
	t := &report.Table{Columns: []string{"config", "split", "rows", "errors", "consistent", "sources", "mean words"}}
	for _, c := range m.Configs {
		for _, s := range c.Splits {
			var mean any
			if s.Words != nil {
				mean = int(s.Words.Mean + 0.5)
			}
			t.Add("`"+c.Name+"`", s.Name, s.Rows, s.Positives, s.Negatives, s.Groups, mean)
		}
	}
	if err := t.Write(&b, report.Markdown); err != nil {
		return err
	}
	b.WriteString("\n")
	for _, s := range splits.All {
		fmt.Fprintf(&b, "- `%s`: %s\n", s.Config, s.Doc)
	}
	b.WriteString("\n## Use\n\n```python\nfrom datasets import load_dataset\n\n" +
		fmt.Sprintf("rows = load_dataset(\"path/to/this/folder\", %q, split=\"test\")\nfor row in rows:\n    for span in row[\"error_spans\"]:\n        assert row[\"story\"][span[\"start\"]:span[\"end\"]] == span[\"text\"]\n```\n", m.Configs[0].Name))

	b.WriteString("\n## Sources\n\n")
	src := &report.Table{Columns: []string{"corpus", "licence", "stories read", "kept"}}
	for _, c := range m.Corpora {
		src.Add(c.Name, c.Licence, c.Read, c.Kept)
	}
	if err := src.Write(&b, report.Markdown); err != nil {
		return err
	}
	b.WriteString("\n## Set aside\n\n")
	drops := &report.Table{Columns: []string{"stage/reason", "records"}}
	for _, d := range m.Drops {
		drops.Add("`"+d.Name+"`", d.N)
	}
	if err := drops.Write(&b, report.Markdown); err != nil {
		return err
	}
	for _, n := range m.Notes {
		fmt.Fprintf(&b, "\nNote: %s.\n", n)
	}
	if m.Recipe.Make.Engine == "rules" {
		b.WriteString("\n## Limits\n\nPlot holes were made by deterministic rules, not by a model, and checked by rules, not by people. " +
			"They are simpler than those a model writes; the set is a control and a starting point, not a replacement.\n")
	}
	_, err = io.WriteString(w, b.String())
	return err
}

func writeLicence(w io.Writer, m sidecarInput) error {
	var b strings.Builder
	b.WriteString("Licences of the texts in this data set, by corpus:\n\n")
	for _, c := range m.Corpora {
		fmt.Fprintf(&b, "%s: %s\n", c.Name, c.Licence)
	}
	b.WriteString("\nThe licence of each row stands in its column source. Annotations (spans, labels,\nfacts) are dedicated to the public domain under CC0 1.0.\n")
	_, err := io.WriteString(w, b.String())
	return err
}
