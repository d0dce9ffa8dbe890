// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/retcon-bench/retcon/schemas"
)

// FuzzParsePrediction holds the fast reader to the strict one: the same lines
// are accepted, and with the same content.
func FuzzParsePrediction(f *testing.F) {
	for _, s := range []string{
		`{}`, ` { "example_id" : "a" , "sample" : 3 } `,
		`{"example_id":"a","label":"error","outcome":"ok","error_lines":["x","y\u00e9\n"],"contradicted_lines":[],"error_sentences":[0,-1,22],"contradicted_sentences":null,"confidence":0.25,"raw":"a \"b\" \ud83d\ude00"}`,
		`{"sample":01}`, `{"sample":1.0}`, `{"sample":1e2}`, `{"sample":-0}`, `{"confidence":-1.50}`, `{"confidence":1e400}`, `{"confidence":.5}`, `{"confidence":1.}`,
		`{"Example_ID":"a"}`, `{"label":"x","label":"y"}`, `{"raw":null,"error_lines":[null]}`, `{"error_sentences":[null,1]}`, `{"error_sentences":[1,]}`, `{"raw":"\ud800"}`,
		`{"raw":"a` + "\t" + `"}`, `{"raw":"\x"}`, `{"other":1}`, `{} {}`, `[]`, `{"sample":9999999999999999999}`, `{"raw":"` + "\xff" + `"}`, `{"sample":nullx}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var want, got schemas.Prediction
		wantErr := schemas.ParseLine(line, &want)
		if wantErr == nil {
			wantErr = noNulls(line)
		}
		gotErr := parsePrediction(line, &got, &schemas.Prediction{Label: "error", Model: "m"})
		if (wantErr == nil) != (gotErr == nil) {
			t.Fatalf("%q: ParseLine says %v, parsePrediction %v", line, wantErr, gotErr)
		}
		if wantErr == nil && !reflect.DeepEqual(want, got) {
			t.Fatalf("%q:\nParseLine       %+v\nparsePrediction %+v", line, want, got)
		}
	})
}

// TestNotUTF8: no answer is read with holes in it.
func TestNotUTF8(t *testing.T) {
	for _, line := range []string{
		`{"example_id":"a","label":"error","explanation":"caf` + "\xe9" + `"}`,
		`{"example_id":"a","completion":"caf` + "\xe9" + `"}`,
		`{"example_id":"a","story":"Once.","cont_error":1,"cont_error_expl":"caf` + "\xe9" + `"}`,
	} {
		for p, err := range ReadPredictions(strings.NewReader(line+"\n"), ReadOptions{Name: "p.jsonl"}) {
			if err == nil || err.Error() != "p.jsonl:1: "+schemas.ErrInvalidUTF8.Error() {
				t.Errorf("%q: %+v, %v", line, p, err)
			}
		}
	}
}

// TestKeyTwice: of two answers under one key none is taken, in any format.
func TestKeyTwice(t *testing.T) {
	for _, line := range []string{
		`{"example_id":"a","label":"error","label":"consistent"}`,
		`{"example_id":"a","completion":"x","completion":"y"}`,
		`{"example_id":"a","story":"Once.","cont_error":1,"cont_error":0}`,
	} {
		var got []string
		for p, err := range ReadPredictions(strings.NewReader(line+"\n"), ReadOptions{Name: "p.jsonl"}) {
			got = append(got, fmt.Sprint(p.ExampleID, err))
		}
		if len(got) != 1 || !strings.HasPrefix(got[0], "p.jsonl:1: key ") || !strings.HasSuffix(got[0], " stands twice") {
			t.Errorf("%s: %q", line, got)
		}
	}
}

// TestReadsOnce: the readers of other tools' files refuse what could be read in
// two ways, and bytes that are no text, sample by sample.
func TestReadsOnce(t *testing.T) {
	log := func(samples string) string {
		return `{"version":2,"status":"success","eval":{"model":"m","task":"t"},"samples":[` + samples + `]}`
	}
	yes := `{"id":"e1","epoch":1,"output":{"completion":"<decision>No continuity error found</decision>"}}`
	for _, c := range []struct{ in, want string }{
		{log(yes), "e1"},
		{"\xef\xbb\xbf" + log(yes), "e1"},
		{log(`{"id":"e0","id":"e2","epoch":1},` + yes), `p:1: key "id" stands twice; e1`},
		{log(`{"id":"e0","Id":"e2","epoch":1},` + yes), `p:1: key "id" stands twice; e1`},
		{log(yes + ",{\"id\":\"caf\xe9\",\"epoch\":1}"), "e1; p:2: record holds invalid UTF-8"},
		{log(yes) + " x", "e1; p: more stands behind the end of the log"},
		{strings.TrimSuffix(log(yes), "}") + `,"samples":[` + yes + `]}`, `e1; p: key "samples" stands twice`},
		{`{"example_id":"e1","label":"error","Label":"consistent"}`, `p:1: key "label" stands twice`},
		{`{"example_id":"e1","completion":"a","Completion":"b"}`, `p:1: key "completion" stands twice`},
		{`{"example_id":"e1","cont_error":1,"CONT_ERROR":0}`, `p:1: key "cont_error" stands twice`},
		{`{"doc_id":0,"doc":{"example_id":"e1","Example_ID":"e2"},"resps":[["a"]]}`, `p:1: key "doc.example_id" stands twice`},
	} {
		var got []string
		for p, err := range ReadPredictions(strings.NewReader(c.in), ReadOptions{Name: "p"}) {
			if err != nil {
				got = append(got, err.Error())
			} else {
				got = append(got, p.ExampleID)
			}
		}
		if s := strings.Join(got, "; "); s != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.in, s, c.want)
		}
	}
}
