// SPDX-License-Identifier: Apache-2.0

package schemas

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestKeysOnce(t *testing.T) {
	wide := `{"k0":0`
	for i := 1; i < 100; i++ {
		wide += fmt.Sprintf(`,"k%d":{"k%d":[%d]}`, i, i, i)
	}
	for _, c := range []struct{ in, want string }{
		{`{}`, ""},
		{`[]`, ""},
		{`"a"`, ""},
		{`{"a":1,"b":{"a":2},"c":[{"a":3},{"a":4}]}`, ""},
		{`{"a":"{\"b\":1,\"b\":2}"}`, ""},
		{`{"a":"x\\","b":1}`, ""},
		{`{"a":1,"A":2}`, ""},
		{`{"":1,"a":2}`, ""},
		{wide + "}", ""},
		{`{"a":1,"a":1}`, `key "a" stands twice`},
		{` { "a" : "\\\"" , "b" : [ ] , "a" : null } `, `key "a" stands twice`},
		{`{"\u0061":1,"a":2}`, `key "a" stands twice`},
		{`{"":1,"":2}`, `key "" stands twice`},
		{`{"rows":[{"x":1},{"x":1,"y":{"z":1,"z":2}}]}`, `key "rows.1.y.z" stands twice`},
		{wide + `,"k3":0}`, `key "k3" stands twice`},
		{wide + `,"k99":0}`, `key "k99" stands twice`},
		// Faults are the decoder's.
		{`{"a":1,`, ""}, {`{"a"}`, ""}, {`{"a":1 "a":2}`, ""}, {`{"a`, ""}, {``, ""}, {`[,]`, ""}, {`{"a":}`, ""},
		{strings.Repeat("[", 20_000), ""},
	} {
		got := ""
		if err := KeysOnce([]byte(c.in)); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%.60s: %q, want %q", c.in, got, c.want)
		}
	}
	if err := ParseLine([]byte(`{"example_id":"a","label":"error","label":"consistent"}`), &Prediction{}); err == nil || err.Error() != `key "label" stands twice` {
		t.Errorf("ParseLine: %v", err)
	}
}

// TestKeysOnceForFields: a field has one name, however its letters are written;
// what is no field of the struct has its own.
func TestKeysOnceForFields(t *testing.T) {
	type inner struct {
		Plain int
		Named int `json:"named_thing"`
	}
	type outer struct {
		inner
		One   *inner           `json:"one"`
		List  []inner          `json:"list"`
		Map   map[string]inner `json:"map"`
		Any   any              `json:"any"`
		Raw   json.RawMessage  `json:"raw"`
		Never int              `json:"-"`
	}
	for _, c := range []struct{ in, want string }{
		{`{"ONE":{"named_thing":1,"PLAIN":2},"List":[{"plain":1},{"Plain":1}],"plain":1}`, ""},
		{`{"map":{"a":{"plain":1},"A":{"plain":1}},"any":{"a":1,"A":2},"raw":{"a":1,"A":2}}`, ""},
		{`{"id":1,"ID":2,"never":1,"NEVER":2}`, ""},
		{`{"one":{},"One":{}}`, `key "one" stands twice`},
		{`{"plain":1,"Plain":1}`, `key "Plain" stands twice`},
		{`{"one":{"Named_Thing":1,"named_thing":1}}`, `key "one.named_thing" stands twice`},
		{`{"LIST":[{},{"plain":1,"PLAIN":1}]}`, `key "list.1.Plain" stands twice`},
		{`{"map":{"x":{"plain":1,"PLAIN":1}}}`, `key "map.x.Plain" stands twice`},
		{`{"any":{"a":1,"a":2}}`, `key "any.a" stands twice`},
		{`{"li\u017ft":[],"list":[]}`, `key "list" stands twice`}, // a long s is an s to encoding/json
	} {
		got := ""
		if err := ParseForeign([]byte(c.in), &outer{}); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.in, got, c.want)
		}
	}
}

// FuzzKeysOnce holds the walk to encoding/json's own tokens.
func FuzzKeysOnce(f *testing.F) {
	for _, s := range []string{`{"a":1,"a":2}`, `[{"a":[{"b":1}]}, {"\u0062":"\\\"","b":-1e3}]`, `{"x":{"y":{}},"x":true}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got := KeysOnce(data) != nil
		if !json.Valid(data) || !bytes.Equal(data, bytes.ToValidUTF8(data, nil)) {
			return
		}
		if want := keyTwice(t, data); got != want {
			t.Errorf("%s: %v, by tokens %v", data, got, want)
		}
	})
}

func keyTwice(t *testing.T, data []byte) bool {
	type level struct {
		keys map[string]bool // nil in a list
		key  bool            // the next token is one
	}
	var open []level
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	for {
		tok, err := dec.Token()
		if err == io.EOF {
			return false
		}
		if err != nil {
			t.Fatal(err)
		}
		top := len(open) - 1
		switch tok {
		case json.Delim('{'):
			open = append(open, level{map[string]bool{}, true})
			continue
		case json.Delim('['):
			open = append(open, level{})
			continue
		case json.Delim('}'), json.Delim(']'):
			if open, top = open[:top], top-1; top < 0 {
				continue
			}
		default:
			if top >= 0 && open[top].key {
				if open[top].keys[tok.(string)] {
					return true
				}
				open[top].keys[tok.(string)] = true
				open[top].key = false
				continue
			}
		}
		if top >= 0 && open[top].keys != nil {
			open[top].key = true
		}
	}
}
