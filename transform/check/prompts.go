// SPDX-License-Identifier: Apache-2.0

package check

import (
	"embed"
	"regexp"
	"strings"
	"sync"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

// Prompts: what all share (common.tmpl), a guide for each category with the
// content of the paper's appendix A.2, and one file a kind of question.
//
//go:embed prompts/*.tmpl
var prompts embed.FS

func promptFile(name string) string {
	b, err := prompts.ReadFile("prompts/" + name + ".tmpl")
	if err != nil {
		panic(err) // embedded
	}
	return string(b)
}

// templateOf joins the files of a question, so that one hash covers them all.
// Category is empty for a question that has no guide.
func templateOf(kind, category string) *llm.Template {
	var b strings.Builder
	b.WriteString(promptFile("common"))
	name := kind
	if category != "" {
		b.WriteString(promptFile(category))
		name += "-" + category
	}
	b.WriteString(promptFile(kind))
	t, err := llm.ParseTemplate(name+".tmpl", b.String())
	if err != nil {
		panic(err)
	}
	return t
}

// shownRE finds the examples of a guide: they stand between curly quotation
// marks, and nothing else there does (a test holds it).
var shownRE = regexp.MustCompile(`“([^”]+)”`)

// placeholderRE finds what the prompts write where a quote is wanted.
var placeholderRE = regexp.MustCompile(`"(\([^"]+\))"`)

// Examples returns the passages that the prompts show a model: the examples of
// all guides, and the placeholders of the answer forms.
func Examples() []string {
	var out []string
	for _, c := range schemas.Categories {
		for _, m := range shownRE.FindAllStringSubmatch(promptFile(c.Name), -1) {
			out = append(out, m[1])
		}
	}
	seen := map[string]bool{}
	for _, kind := range []string{"reference", "facts", "extract", "evidence"} {
		for _, m := range placeholderRE.FindAllStringSubmatch(promptFile(kind), -1) {
			if !seen[m[1]] {
				seen[m[1]] = true
				out = append(out, m[1])
			}
		}
	}
	return out
}

// echoes knows the examples; quotes that copy one are told from the story's own.
var echoes = sync.OnceValue(func() *text.Echoes { return text.NewEchoes(Examples()) })
