// SPDX-License-Identifier: Apache-2.0

package schemas

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed jsonschema/*.json
var jsonSchemas embed.FS

// JSONSchemaNames lists the records that have a JSON Schema: what people write
// by hand or with other tools, and what they read of a workspace or a release.
func JSONSchemaNames() []string {
	entries, err := jsonSchemas.ReadDir("jsonschema")
	if err != nil {
		panic(err) // embedded
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".json"))
	}
	return names
}

// JSONSchema returns the JSON Schema (draft 2020-12) of a record by name:
// recipe, prediction, vote, example, story, draft and so on.
func JSONSchema(name string) ([]byte, error) {
	b, err := jsonSchemas.ReadFile("jsonschema/" + name + ".json")
	if err != nil {
		return nil, fmt.Errorf("no JSON Schema is called %q (there are %s)", name, strings.Join(JSONSchemaNames(), ", "))
	}
	return b, nil
}
