// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"encoding/json"
	"reflect"
	"strings"
)

// features describes a layout in the words of the datasets library: the
// footer's huggingface key, from which it restores column types. A list is a
// JSON list of one element, the form that both old and new versions read.
func (l *layout) features() any {
	return featuresOf(l.root)
}

// ordered keeps columns in order; a Go map would sort them.
type ordered []struct {
	name  string
	value any
}

// MarshalJSON writes the pairs in order.
func (o ordered) MarshalJSON() ([]byte, error) {
	var b strings.Builder
	b.WriteByte('{')
	for i, kv := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		k, err := json.Marshal(kv.name)
		if err != nil {
			return nil, err
		}
		v, err := json.Marshal(kv.value)
		if err != nil {
			return nil, err
		}
		b.Write(k)
		b.WriteByte(':')
		b.Write(v)
	}
	b.WriteByte('}')
	return []byte(b.String()), nil
}

func featuresOf(fields []*field) ordered {
	out := make(ordered, 0, len(fields))
	for _, f := range fields {
		out = append(out, struct {
			name  string
			value any
		}{f.name, featureOf(f)})
	}
	return out
}

func featureOf(f *field) any {
	switch f.kind {
	case groupField:
		return featuresOf(f.fields)
	case listField:
		return []any{featureOf(f.elem)}
	}
	return struct {
		DType string `json:"dtype"`
		Type  string `json:"_type"`
	}{dtype(f.typ), "Value"}
}

// dtype is the library's name of a scalar type.
func dtype(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "bool"
	case reflect.Float64:
		return "float64"
	}
	return "int64"
}

// footer returns the huggingface footer value.
func (l *layout) footer() (string, error) {
	b, err := json.Marshal(map[string]any{"info": map[string]any{"features": l.features()}})
	return string(b), err
}
