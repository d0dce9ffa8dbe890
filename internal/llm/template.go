// SPDX-License-Identifier: Apache-2.0

package llm

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"strings"
	"text/template"
)

// Template is a prompt: a text/template file, its name, and the SHA-256 of its
// bytes. The file may define the blocks "system", "user" and "assistant" (the
// beginning of the answer, which the model goes on from); without blocks the
// whole file is the user's message. One line break at either end of a block is
// not part of it; everything else is, to the blank.
//
// Beside the standard functions a template has
//
//	delimit NAME TEXT   TEXT between <NAME> and </NAME> on lines of their own;
//	                    when TEXT itself holds such a tag, NAME gets a number,
//	                    so that no story can close its own quotation
type Template struct {
	Name string // file name without folder, e.g. "facts.tmpl"
	Hash string // SHA-256 of the file, hexadecimal
	tmpl *template.Template
}

// ParseTemplate makes a Template from the bytes of a file.
func ParseTemplate(name, text string) (*Template, error) {
	sum := sha256.Sum256([]byte(text))
	t, err := template.New(name).Option("missingkey=error").Funcs(template.FuncMap{"delimit": Delimit}).Parse(text)
	if err != nil {
		return nil, fmt.Errorf("prompt template %s: %w", name, err)
	}
	return &Template{Name: name, Hash: hex.EncodeToString(sum[:]), tmpl: t}, nil
}

// MustTemplate reads a template from an embedded file system; it panics when
// the file is missing or broken, which a test of the package finds.
func MustTemplate(fsys fs.FS, path string) *Template {
	text, err := fs.ReadFile(fsys, path)
	if err != nil {
		panic(fmt.Sprintf("prompt template %s: %v", path, err))
	}
	name := path[strings.LastIndexByte(path, '/')+1:]
	t, err := ParseTemplate(name, string(text))
	if err != nil {
		panic(err)
	}
	return t
}

// Messages renders the template with data as dot.
func (t *Template) Messages(data any) ([]Message, error) {
	var out []Message
	for _, role := range []string{"system", "user", "assistant"} {
		if t.tmpl.Lookup(role) == nil {
			continue
		}
		text, err := t.execute(role, data)
		if err != nil {
			return nil, err
		}
		if text != "" {
			out = append(out, Message{Role: role, Content: text})
		}
	}
	if out == nil {
		text, err := t.execute(t.tmpl.Name(), data)
		if err != nil {
			return nil, err
		}
		out = []Message{{Role: "user", Content: text}}
	}
	return out, nil
}

func (t *Template) execute(name string, data any) (string, error) {
	var b strings.Builder
	if err := t.tmpl.ExecuteTemplate(&b, name, data); err != nil {
		return "", fmt.Errorf("prompt template %s: %w", t.Name, err)
	}
	s := b.String()
	s = strings.TrimPrefix(s, "\n")
	s = strings.TrimSuffix(s, "\n")
	return s, nil
}

// Delimit returns text between <name> and </name>, each on a line of its own.
// When text holds such a tag already, name gets the smallest number that makes
// it unlike any in the text.
func Delimit(name, text string) string {
	tag := name
	for n := 2; hasTag(text, tag); n++ {
		tag = fmt.Sprintf("%s-%d", name, n)
	}
	return "<" + tag + ">\n" + text + "\n</" + tag + ">"
}

func hasTag(text, tag string) bool {
	low := strings.ToLower(text)
	tag = strings.ToLower(tag)
	return strings.Contains(low, "<"+tag+">") || strings.Contains(low, "</"+tag+">")
}
