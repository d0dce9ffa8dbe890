// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"fmt"
	"io"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/retcon-bench/retcon/schemas"
)

// citation is a CITATION.cff 1.2.0.
type citation struct {
	CFF      string       `yaml:"cff-version"`
	Message  string       `yaml:"message"`
	Type     string       `yaml:"type"`
	Title    string       `yaml:"title"`
	Abstract string       `yaml:"abstract,omitempty"`
	Authors  []citeAuthor `yaml:"authors"`
	Version  string       `yaml:"version"`
	Released string       `yaml:"date-released"`
	Licence  string       `yaml:"license,omitempty"` // an SPDX id
	URL      string       `yaml:"url,omitempty"`
	Keywords []string     `yaml:"keywords"`
	IDs      []citeID     `yaml:"identifiers"`
}

type citeAuthor struct {
	Family string `yaml:"family-names,omitempty"`
	Given  string `yaml:"given-names,omitempty"`
	Name   string `yaml:"name,omitempty"` // of an organisation
}

type citeID struct {
	Type        string `yaml:"type"`
	Value       string `yaml:"value"`
	Description string `yaml:"description"`
}

// authors splits names as "Given Family" or "Family, Given". A single word, or
// no author at all, is an organisation.
func authors(m schemas.Manifest) []citeAuthor {
	var out []citeAuthor
	for _, a := range m.Recipe.Release.Authors {
		a = strings.Join(strings.Fields(a), " ")
		if family, given, ok := strings.Cut(a, ", "); ok {
			out = append(out, citeAuthor{Family: family, Given: given})
		} else if at := strings.LastIndexByte(a, ' '); at > 0 {
			out = append(out, citeAuthor{Family: a[at+1:], Given: a[:at]})
		} else if a != "" {
			out = append(out, citeAuthor{Name: a})
		}
	}
	if len(out) == 0 {
		out = []citeAuthor{{Name: "The contributors of " + m.Name}}
	}
	return out
}

func writeCitation(w io.Writer, in sidecarInput) error {
	m := in.Manifest
	c := citation{CFF: "1.2.0", Message: "If you use this data set, please cite it as below.", Type: "dataset", Title: title(m),
		Abstract: m.Recipe.Description, Authors: authors(m), Version: m.Version, Released: m.Date,
		Keywords: []string{"story consistency", "plot holes", "evaluation"},
		IDs:      []citeID{{"other", m.Canary, "canary of this release"}, {"other", "sha256:" + LogicalDigest(m), "logical digest of its rows"}}}
	if len(m.Corpora) > 0 && hubLicences[m.Corpora[0].Licence] != "" {
		if id, name, _ := licence(m); name == "" && id != "other" {
			c.Licence = m.Corpora[0].Licence
		}
	}
	if r := m.Recipe.Release.Repository; r != "" {
		c.URL = hubURL(r)
	}
	b, err := yaml.Marshal(c)
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// hubURL is the page of a data set on the hub.
func hubURL(repository string) string {
	if strings.Contains(repository, "://") {
		return repository
	}
	return "https://huggingface.co/datasets/" + repository
}

func bibTeX(m schemas.Manifest) string {
	var names []string
	for _, a := range authors(m) {
		if a.Name != "" {
			names = append(names, "{"+tex(a.Name)+"}")
		} else {
			names = append(names, tex(a.Family)+", "+tex(a.Given))
		}
	}
	key := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(m.Name))
	var b strings.Builder
	fmt.Fprintf(&b, "@misc{%s%s,\n  title = {%s},\n  author = {%s},\n  year = {%s},\n  note = {Version %s}",
		key, year(m), tex(title(m)), strings.Join(names, " and "), year(m), m.Version)
	if r := m.Recipe.Release.Repository; r != "" {
		fmt.Fprintf(&b, ",\n  url = {%s}", hubURL(r))
	}
	b.WriteString("\n}\n")
	return b.String()
}

func year(m schemas.Manifest) string {
	y, _, _ := strings.Cut(m.Date, "-")
	return y
}

func tex(s string) string {
	return strings.NewReplacer("&", `\&`, "%", `\%`, "$", `\$`, "#", `\#`, "_", `\_`, "{", "", "}", "", "\\", "", "`", "'").Replace(strings.Join(strings.Fields(s), " "))
}

func apa(m schemas.Manifest) string {
	var names []string
	for _, a := range authors(m) {
		if a.Name != "" {
			names = append(names, a.Name)
			continue
		}
		initials := ""
		for _, g := range strings.Fields(a.Given) {
			initials += " " + string([]rune(g)[:1]) + "."
		}
		names = append(names, a.Family+","+initials)
	}
	s := fmt.Sprintf("%s (%s). %s (Version %s) [Data set].", strings.Join(names, ", "), year(m), title(m), m.Version)
	if r := m.Recipe.Release.Repository; r != "" {
		s += " " + hubURL(r)
	}
	return s
}
