// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/retcon-bench/retcon/schemas"
)

// ModelInfo says what kind of system a model is, for the groups of table 3 and
// the families of figure B1.
type ModelInfo struct {
	Name   string `json:"name"`
	Class  string `json:"class"`  // one of [schemas.ModelClasses], or empty
	Family string `json:"family"` // or empty
}

// ReadModels reads a table of models: CSV with a header (name or model, class,
// family; further columns are left alone), with or without a byte order mark,
// or a JSON array of objects with these keys.
func ReadModels(r io.Reader) ([]ModelInfo, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("models table: %w", err)
	}
	b = bytes.TrimSpace(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")))
	var out []ModelInfo
	if len(b) > 0 && b[0] == '[' {
		var list []struct {
			ModelInfo
			Model string `json:"model"`
		}
		if err := json.Unmarshal(b, &list); err != nil {
			return nil, fmt.Errorf("models table: %w", err)
		}
		for _, m := range list {
			if m.Name == "" {
				m.Name = m.Model
			}
			out = append(out, m.ModelInfo)
		}
	} else {
		rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
		if err != nil {
			return nil, fmt.Errorf("models table: %w", err)
		}
		if len(rows) == 0 {
			return nil, errors.New("models table: the file is empty")
		}
		column := func(names ...string) int {
			return slices.IndexFunc(rows[0], func(h string) bool { return slices.Contains(names, strings.ToLower(strings.TrimSpace(h))) })
		}
		name, class, family := column("name", "model", "model_name"), column("class", "model_class"), column("family", "model_family")
		if name < 0 || class < 0 {
			return nil, fmt.Errorf("models table: it needs the columns name and class; its header is %s", strings.Join(rows[0], ", "))
		}
		for _, row := range rows[1:] {
			m := ModelInfo{Name: strings.TrimSpace(row[name]), Class: strings.TrimSpace(row[class])}
			if family >= 0 {
				m.Family = strings.TrimSpace(row[family])
			}
			out = append(out, m)
		}
	}
	seen := map[string]bool{}
	for i, m := range out {
		switch {
		case m.Name == "":
			return nil, fmt.Errorf("models table: row %d has no name", i+1)
		case m.Class != "" && !slices.Contains(schemas.ModelClasses, m.Class):
			return nil, fmt.Errorf("models table: %s: unknown class %q; want %s", m.Name, m.Class, strings.Join(schemas.ModelClasses, ", "))
		case seen[m.Name]:
			return nil, fmt.Errorf("models table: %s is there twice", m.Name)
		}
		seen[m.Name] = true
	}
	return out, nil
}
