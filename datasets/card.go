// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/retcon-bench/retcon/schemas"
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
	AnnotationsCreators []string     `yaml:"annotations_creators"`
	LanguageCreators    []string     `yaml:"language_creators"`
	Language            []string     `yaml:"language"`
	Licence             string       `yaml:"license"`
	LicenceName         string       `yaml:"license_name,omitempty"`
	LicenceLink         string       `yaml:"license_link,omitempty"`
	Multilinguality     []string     `yaml:"multilinguality"`
	PrettyName          string       `yaml:"pretty_name"`
	SizeCategories      []string     `yaml:"size_categories"`
	SourceDatasets      []string     `yaml:"source_datasets"`
	TaskCategories      []string     `yaml:"task_categories"`
	Tags                []string     `yaml:"tags"`
	GatedPrompt         string       `yaml:"extra_gated_prompt"`
	Configs             []cardConfig `yaml:"configs"`
	DatasetInfo         []cardInfo   `yaml:"dataset_info"`
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

func header(m schemas.Manifest, rows *summary) (cardHeader, error) {
	h := cardHeader{
		AnnotationsCreators: annotators(m), LanguageCreators: []string{"found", "machine-generated"},
		Language: languages(rows), Multilinguality: []string{"monolingual"}, PrettyName: title(m), SourceDatasets: []string{"extended"},
		TaskCategories: []string{"text-classification", "question-answering"},
		Tags:           []string{"story-consistency", "plot-holes", "narrative", "evaluation", "croissant"},
		GatedPrompt:    evaluationOnly(m),
	}
	if len(h.Language) > 1 {
		h.Multilinguality = []string{"multilingual"}
	}
	h.Licence, h.LicenceName, h.LicenceLink = licence(m)
	total := 0
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
			total += s.Rows
		}
		l, err := layoutOfSchema(c.Schema)
		if err != nil {
			return h, fmt.Errorf("config %s: %w", c.Name, err)
		}
		info.Features = cardFeatures(l.root)
		h.Configs = append(h.Configs, conf)
		h.DatasetInfo = append(h.DatasetInfo, info)
	}
	h.SizeCategories = []string{sizeCategory(total)}
	return h, nil
}

func title(m schemas.Manifest) string {
	if m.Recipe.Release.Title != "" {
		return m.Recipe.Release.Title
	}
	return m.Name
}

// evaluationOnly is said in the card and to everyone who asks a hub for access.
func evaluationOnly(m schemas.Manifest) string {
	return "This data set is for evaluation only. Please do not train on it, and do not publish its texts together with their labels where a crawler finds them. Its canary is " + m.Canary + "."
}

// languages lists the rows' languages.
func languages(rows *summary) []string {
	all := map[string]int{}
	for _, s := range rows.splits {
		for l, n := range s.languages {
			all[l] += n
		}
	}
	out := slices.Sorted(maps.Keys(all))
	if len(out) == 0 {
		out = []string{"en"}
	}
	return out
}

// annotators says in the hub's words who made the labels.
func annotators(m schemas.Manifest) []string {
	out := []string{"machine-generated"}
	if len(m.Agreement) > 0 {
		out = append(out, "crowdsourced")
	}
	return out
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
