// SPDX-License-Identifier: Apache-2.0

package schemas

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// described are the records whose JSON Schema and FORMAT.md section must list
// the fields of the Go type, in its order.
var described = map[string]reflect.Type{
	"recipe":     reflect.TypeFor[Recipe](),
	"prediction": reflect.TypeFor[Prediction](),
	"vote":       reflect.TypeFor[Vote](),
	"example":    reflect.TypeFor[Example](),
	"story":      reflect.TypeFor[Story](),
	"draft":      reflect.TypeFor[Draft](),
	"dropped":    reflect.TypeFor[Dropped](),
	"duplicate":  reflect.TypeFor[Duplicate](),
	"prompt":     reflect.TypeFor[Prompt](),
	"finding":    reflect.TypeFor[Finding](),
	"manifest":   reflect.TypeFor[Manifest](),
	"generated":  reflect.TypeFor[Generated](),
	"diagnostic": reflect.TypeFor[Diagnostic](),
	"marking":    reflect.TypeFor[Marking](),

	"source_story":   reflect.TypeFor[SourceStory](),
	"row_provenance": reflect.TypeFor[RowProvenance](),
	"annotation":     reflect.TypeFor[Annotation](),

	"check_status": reflect.TypeFor[CheckStatus](),
	"check_report": reflect.TypeFor[CheckReport](),
}

func TestNoDrift(t *testing.T) {
	if got := JSONSchemaNames(); len(got) != len(described) {
		t.Errorf("JSON Schemas %v, described records %d", got, len(described))
	}
	format, err := os.ReadFile("FORMAT.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, typ := range described {
		js, err := JSONSchema(name)
		if err != nil {
			t.Error(err)
			continue
		}
		compare(t, name, typ, json.RawMessage(js))
		section := formatSection(string(format), name)
		if section == "" {
			t.Errorf("FORMAT.md has no section %q", name)
			continue
		}
		want := columns(typ)
		if diff := cmp.Diff(want, formatColumns(section)); diff != "" {
			t.Errorf("FORMAT.md, section %s, lists other fields than the Go type (-type +document):\n%s", name, diff)
		}
	}
}

type node struct {
	Type                 any             `json:"type"`
	Properties           json.RawMessage `json:"properties"`
	Items                json.RawMessage `json:"items"`
	AdditionalProperties *bool           `json:"additionalProperties"`
	Required             []string        `json:"required"`
}

// compare walks type and schema together.
func compare(t *testing.T, path string, typ reflect.Type, raw json.RawMessage) {
	t.Helper()
	var n node
	if err := json.Unmarshal(raw, &n); err != nil {
		t.Errorf("%s: %v", path, err)
		return
	}
	nullable := false
	if typ.Kind() == reflect.Pointer {
		nullable, typ = true, typ.Elem()
	}
	types := typeList(n.Type)
	if nullable && !slices.Contains(types, "null") {
		t.Errorf("%s: may be null in Go, not in the schema", path)
	}
	var want string
	switch typ.Kind() {
	case reflect.String:
		want = "string"
	case reflect.Bool:
		want = "boolean"
	case reflect.Int, reflect.Int64, reflect.Uint64:
		want = "integer"
	case reflect.Float64:
		want = "number"
	case reflect.Map:
		want = "object"
	case reflect.Slice:
		if typ.Elem().Kind() == reflect.Uint8 { // raw JSON of a corpus's own shape
			return
		}
		want = "array"
		compare(t, path+"[]", typ.Elem(), n.Items)
	case reflect.Struct:
		want = "object"
		if n.AdditionalProperties == nil || *n.AdditionalProperties {
			t.Errorf("%s: unknown keys are not forbidden", path)
		}
		fields, props := flatFields(typ), propertyNames(t, n.Properties)
		var names []string
		var values map[string]json.RawMessage
		if err := json.Unmarshal(n.Properties, &values); err != nil {
			t.Errorf("%s: %v", path, err)
			return
		}
		for _, f := range fields {
			name := jsonName(f)
			names = append(names, name)
			if v, ok := values[name]; ok {
				compare(t, path+"."+name, f.Type, v)
			}
		}
		if diff := cmp.Diff(names, props); diff != "" {
			t.Errorf("%s: fields differ (-type +schema):\n%s", path, diff)
		}
		for _, r := range n.Required {
			if !slices.Contains(names, r) {
				t.Errorf("%s: requires %q, which is no field", path, r)
			}
		}
	}
	if !slices.Contains(types, want) {
		t.Errorf("%s: type %v in the schema, %s in Go", path, types, want)
	}
}

func typeList(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, x := range v {
			out = append(out, fmt.Sprint(x))
		}
		return out
	}
	return nil
}

func flatFields(typ reflect.Type) []reflect.StructField {
	var out []reflect.StructField
	for i := range typ.NumField() {
		f := typ.Field(i)
		if f.Anonymous {
			out = append(out, flatFields(f.Type)...)
			continue
		}
		out = append(out, f)
	}
	return out
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func propertyNames(t *testing.T, raw json.RawMessage) []string {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.Token(); err != nil {
		t.Error(err)
		return nil
	}
	var names []string
	for dec.More() {
		k, err := dec.Token()
		if err != nil {
			t.Error(err)
			return names
		}
		names = append(names, k.(string))
		var skip json.RawMessage
		if err := dec.Decode(&skip); err != nil {
			t.Error(err)
			return names
		}
	}
	return names
}

func columns(typ reflect.Type) []string {
	var names []string
	for _, f := range flatFields(typ) {
		names = append(names, jsonName(f))
	}
	return names
}

// formatSection returns the text of "### `name`" up to the next heading.
func formatSection(doc, name string) string {
	_, rest, ok := strings.Cut(doc, "\n### `"+name+"`")
	if !ok {
		return ""
	}
	rest, _, _ = strings.Cut(rest, "\n##")
	return rest
}

var tableRow = regexp.MustCompile("(?m)^\\| `([a-z0-9_]+)` \\|")

func formatColumns(section string) []string {
	var names []string
	for _, m := range tableRow.FindAllStringSubmatch(section, -1) {
		names = append(names, m[1])
	}
	return names
}

func TestIDs(t *testing.T) {
	if got, want := StoryID("gutenberg", "503", "The Sea King’s Gift"), "gutenberg:503/the-sea-kings-gift"; got != want {
		t.Errorf("StoryID = %q, want %q", got, want)
	}
	slugs := Slugs{}
	var got []string
	for _, h := range []string{"The Fox", "THE FOX.", "The Fox 2", "the fox", "***", "…"} {
		got = append(got, slugs.Next(h))
	}
	want := []string{"the-fox", "the-fox-2", "the-fox-2-2", "the-fox-3", "untitled", "untitled-2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("slugs of repeated headings: %s", diff)
	}
	a := MatchID("g", "The hat is red.", "The hat is blue")
	if b := MatchID("g", " the hat  is RED", "the hat is blue."); a != b {
		t.Errorf("a fact's case, blanks and stop change the match: %s, %s", a, b)
	}
	if MatchID("g", "ab", "c") == MatchID("g", "a", "bc") {
		t.Error("fact and counterfactual run together")
	}
	id := ExampleID(a, VariantPatched)
	if !regexp.MustCompile(`^rc-[a-z2-7]{16}$`).MatchString(id) || id == ExampleID(a, VariantOriginal) {
		t.Errorf("ExampleID = %q", id)
	}
	// Pinned: an id that changes orphans every prediction made so far.
	if want := "rc-5vwjfpkuc3ze2mdd"; ExampleID("tales:lamp#00000000", VariantPatched) != want {
		t.Errorf("ExampleID = %q, pinned %q", ExampleID("tales:lamp#00000000", VariantPatched), want)
	}
}

func TestSpanCheck(t *testing.T) {
	const story = "Zoë’s 👒 hat fell.\nShe laughed."
	good := Span{Offsets: Offsets{8, 17, 14, 23, 9, 18}, Text: "hat fell."}
	if err := good.Check(story); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Span){
		"text":          func(s *Span) { s.Text = "hat fell," },
		"code points":   func(s *Span) { s.Start, s.End = 9, 18 },
		"utf-16":        func(s *Span) { s.UTF16Start = 8 },
		"bytes":         func(s *Span) { s.ByteStart = 13 },
		"inside a rune": func(s *Span) { s.ByteStart, s.ByteEnd = 3, 5 },
		"past the end":  func(s *Span) { s.End, s.ByteEnd, s.UTF16End = 99, 99, 99 },
		"backwards":     func(s *Span) { s.End, s.ByteEnd = s.Start-1, s.ByteStart-1 },
		"negative":      func(s *Span) { s.Start, s.ByteStart = -1, -1 },
		"crlf was there": func(s *Span) {
			s.Start, s.End, s.ByteStart, s.ByteEnd, s.UTF16Start, s.UTF16End = 19, 31, 25, 37, 20, 32
		},
	} {
		s := good
		change(&s)
		if err := s.Check(story); err == nil {
			t.Errorf("%s: a span that does not hold was accepted", name)
		}
	}
	if got, err := (Bounds{8, 17}).Slice(story); got != "hat fell." || err != nil {
		t.Errorf("Slice = %q, %v", got, err)
	}
	for _, b := range []Bounds{{0, 99}, {99, 100}, {3, 2}, {-1, 2}} {
		if got, err := b.Slice(story); err == nil {
			t.Errorf("Slice(%v) = %q", b, got)
		}
	}
}

func TestLines(t *testing.T) {
	line, err := AppendLine(nil, Section{ID: "a<b&c"})
	if err != nil || string(line) != `{"id":"a<b&c","start":0,"end":0}`+"\n" {
		t.Errorf("AppendLine = %q, %v", line, err)
	}
	for _, v := range []any{Section{ID: "\xff"}, []string{"ok", "\xed\xa0\x80"}, Draft{Facts: []Fact{{Statement: "\x80"}}}, map[string]string{"k": "\xff"}} {
		if _, err := AppendLine(nil, v); !errors.Is(err, ErrInvalidUTF8) {
			t.Errorf("%#v: %v, want an error: JSON would hold U+FFFD in its place", v, err)
		}
	}
	var s Section
	for _, bad := range []string{`{"id":"a","x":1}`, `{"id":"a"} {}`, `{"id":`, "{\"id\":\"\xff\"}"} {
		if err := ParseLine([]byte(bad), &s); err == nil {
			t.Errorf("ParseLine took %q", bad)
		}
	}
}

func TestJSONFault(t *testing.T) {
	type inner struct {
		Rows [][]string `json:"rows"`
		N    *uint16    `json:"n"`
	}
	type outer struct {
		In   inner             `json:"in"`
		Some map[string]string `json:"some"`
		Rate float64           `json:"rate"`
		Yes  bool              `json:"yes"`
		N    int               `json:"n"`
	}
	for line, want := range map[string]string{
		`[]`:                        "this is a JSON array, want an object",
		`{"in":{"rows":["a"]}}`:     "in.rows is a JSON string, want a list",
		`{"in":{"rows":[["a",5]]}}`: "in.rows is a JSON number, want a string",
		`{"in":{"n":-1}}`:           "in.n is a JSON number -1, want a whole number from 0",
		`{"some":[]}`:               "some is a JSON array, want an object",
		`{"rate":"high"}`:           "rate is a JSON string, want a number",
		`{"yes":"no"}`:              "yes is a JSON string, want true or false",
		`{"n":1.5}`:                 "n is a JSON number 1.5, want a whole number",
		`{"m":1}`:                   `unknown field "m"`,
		`{"n":1`:                    "unexpected EOF",
		` `:                         "there is no JSON here",
		`{"n":1}`:                   "",
	} {
		got := ""
		if err := ParseLine([]byte(line), new(outer)); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	if err := io.ErrClosedPipe; JSONFault(err) != err || JSONFault(nil) != nil {
		t.Error("an error of somebody else's does not come back as it is")
	}
}

func TestTaxonomy(t *testing.T) {
	n := 0
	for _, c := range Categories {
		n += len(c.Subtypes)
	}
	if n != 19 || len(Categories) != 5 {
		t.Errorf("%d subtypes in %d categories", n, len(Categories))
	}
	if c, s, ok := FindSubtype("duration_contradictions"); !ok || c.Column(s) != "timeline_plot_duration_timeline_contradictions" {
		t.Errorf("the reference's own name of a subtype is not found: %v %v", c.Name, s.Name)
	}
}

// TestTerms: what nobody stated gives no right.
func TestTerms(t *testing.T) {
	for redistribute, want := range map[string]struct{ text, derived bool }{
		RedistributeText:    {true, true},
		RedistributeDerived: {false, true},
		RedistributeIDs:     {},
		"":                  {},
		"Text":              {},
		"text ":             {},
		"all":               {},
		"unstated":          {},
	} {
		s := Source{Corpus: "c", ID: "1", Licence: "CC0-1.0", Redistribute: redistribute}
		if text, derived := s.MayReleaseText(), s.MayReleaseDerived(); text != want.text || derived != want.derived {
			t.Errorf("terms %q: text %v, derived %v; want %+v", redistribute, text, derived, want)
		}
	}
}
