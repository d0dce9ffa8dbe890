// SPDX-License-Identifier: Apache-2.0

package schemas

import (
	"math"
	"strings"
	"testing"
)

func TestLogProbs(t *testing.T) {
	story := "Zoë sat."
	toks := []TokenLogProb{
		{0, 3, -0.123456, []float64{-0.123456, -2.5}}, // ends inside ë
		{3, 4, -9999, []float64{-0.00001, -14}},
		{4, 9, 0, nil},
	}
	raw, err := EncodeLogProbs(toks, 2)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"format":1,"top_k":2,"scale":100000,"lengths":[3,1,5],"logprobs":[-12346,-999900000,0],"top":[[-12346,-250000],[-1,-1400000],[]]}`; string(raw) != want {
		t.Errorf("encoded\n%s, want\n%s", raw, want)
	}
	g := Generated{GeneratedID: "p1/m", GeneratedStory: &story, LogProbs: raw}
	got, err := g.Tokens()
	if err != nil || len(got) != 3 {
		t.Fatalf("%v, %v", got, err)
	}
	for i := range toks {
		if got[i].Start != toks[i].Start || got[i].End != toks[i].End || math.Abs(got[i].LogProb-toks[i].LogProb) > 5e-6 || len(got[i].Top) != len(toks[i].Top) {
			t.Errorf("token %d is %+v, was %+v", i, got[i], toks[i])
		}
	}
	other := "another text of another length"
	g.GeneratedStory = &other
	if _, err := g.Tokens(); err == nil || !strings.Contains(err.Error(), "p1/m") {
		t.Errorf("log-probabilities of another text: %v", err)
	}
	for name, bad := range map[string][]TokenLogProb{
		"a gap":               {{0, 3, -1, nil}, {4, 9, -1, nil}},
		"an empty token":      {{0, 0, -1, nil}},
		"not a probability":   {{0, 9, 0.5, nil}},
		"not a number":        {{0, 9, math.NaN(), nil}},
		"the lowest at first": {{0, 9, -1, []float64{-3, -1}}},
	} {
		if _, err := EncodeLogProbs(bad, 2); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	for _, bad := range []string{`{"format":2}`, `{"format":1,"scale":1,"lengths":[9],"logprobs":[],"top":[]}`, `{"format":1,"scale":1,"lengths":[-1,10],"logprobs":[0,0],"top":[[],[]]}`,
		`{"format":1,"scale":0,"lengths":[9],"logprobs":[0],"top":[[]]}`, `[]`,
		`{"format":1,"scale":1,"lengths":[9],"logprobs":[1],"top":[[]]}`, `{"format":1,"scale":1,"lengths":[9],"logprobs":[0],"top":[[-2,-1]]}`} {
		if _, _, err := DecodeLogProbs([]byte(bad), 9); err == nil {
			t.Errorf("DecodeLogProbs took %s", bad)
		}
	}
}

// One injection of "Her hat was red. She ran. The red hat fell.", whose hat is
// blue at the end.
func diagnostic() Diagnostic {
	const story, source = "Her hat was red. She ran. The blue hat fell.", "Her hat was red. She ran. The red hat fell."
	span := func(sentence, from int, s string) Span {
		return Span{Offsets{from, from + len(s), from, from + len(s), from, from + len(s)}, sentence, s}
	}
	return Diagnostic{DiagnosticID: "d", Story: story, TextHash: HashText(story), SourceHash: HashText(source), Injections: []Injection{{
		ID: "I1", Category: "factual_detail", Subtype: "appearance_mismatches", Fact: span(0, 0, "Her hat was red."), Contra: span(2, 26, "The blue hat fell."),
		Edits: []Edit{{Span: span(2, 30, "blue"), Old: "red", SourceStart: 30}},
	}}}
}

func TestDiagnosticCheck(t *testing.T) {
	d := diagnostic()
	if err := d.Check(); err != nil {
		t.Fatal(err)
	}
	if s, err := d.Undo(func(Injection) bool { return false }); err != nil || s != d.Story {
		t.Errorf("undoing nothing: %q, %v", s, err)
	}
	for name, change := range map[string]func(*Diagnostic){
		"another category":     func(d *Diagnostic) { d.Injections[0].Category = "world_building" },
		"the other order":      func(d *Diagnostic) { in := &d.Injections[0]; in.Fact, in.Contra = in.Contra, in.Fact },
		"another text":         func(d *Diagnostic) { d.Story += "!" },
		"another source":       func(d *Diagnostic) { d.Injections[0].Edits[0].Old = "green" },
		"a control":            func(d *Diagnostic) { d.Control = true },
		"no control":           func(d *Diagnostic) { d.Injections = nil },
		"no edits":             func(d *Diagnostic) { d.Injections[0].Edits = nil },
		"a span that is wrong": func(d *Diagnostic) { d.Injections[0].Fact.End-- },
		"the same id twice":    func(d *Diagnostic) { d.Injections = append(d.Injections, d.Injections[0]) },
	} {
		d := diagnostic()
		change(&d)
		if err := d.Check(); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// What is read is written again the same.
func FuzzDecodeLogProbs(f *testing.F) {
	f.Add([]byte(`{"format":1,"top_k":2,"scale":100000,"lengths":[3,1,5],"logprobs":[-12346,-999900000,0],"top":[[-12346,-250000],[-1,-1400000],[]]}`), 9)
	f.Add([]byte(`{"format":1,"top_k":0,"scale":100000,"lengths":[],"logprobs":[],"top":[]}`), 0)
	f.Add([]byte(`{"format":1,"scale":-1,"lengths":[9223372036854775807,1],"logprobs":[0,0],"top":[[],[]]}`), 2)
	f.Fuzz(func(t *testing.T, raw []byte, n int) {
		toks, topK, err := DecodeLogProbs(raw, n)
		if err != nil || len(toks) > 0 && toks[0].LogProb < -1e6 {
			return
		}
		again, err := EncodeLogProbs(toks, topK)
		if err != nil {
			t.Fatalf("%s was read and cannot be written: %v", raw, err)
		}
		if _, _, err := DecodeLogProbs(again, n); err != nil {
			t.Fatalf("%s became %s: %v", raw, again, err)
		}
	})
}
