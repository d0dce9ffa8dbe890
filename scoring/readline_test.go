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
