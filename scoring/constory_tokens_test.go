// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/retcon-bench/retcon/schemas"
)

func tok(s string, p float64, top ...float64) Token {
	t := Token{Bytes: []byte(s), LogProb: math.Log(p)}
	for _, p := range top {
		t.Top = append(t.Top, math.Log(p))
	}
	return t
}

// Worked by hand. The story is "An é sat."; é (code points 3 to 4) is the one
// error passage and is split over two tokens, of which the first also makes
// the blank before it.
//
//	token    p    top        H raw  sum  H renormalised              -log2 p  1/p
//	An       1/2  1/2 1/4    1      3/4  1/(3/4)+log2(3/4) = 0.9183  1        2
//	 \xc3    1/4  1/2 1/4    1      3/4  0.9183                      2        4
//	\xa9     1/2  1/2 1/2    1      1    1                           1        2
//	 sat     1/8  1/8 1/2    7/8    5/8  1.4+log2(5/8) = 0.7219      3        8
//	.        1    1          0      1    0                           0        1
//
//	                whole                      segment
//	raw             3.875/5 = 0.775            1
//	renormalised    3.558521/5 = 0.711704      0.959148
//	probability     2.375/5 = 0.475            0.375
//	exp(-mean log)  2^(7/5) = 2.639016         2^(3/2) = 2.828427
//	mean of 1/p     17/5 = 3.4                 3
func TestTokensHand(t *testing.T) {
	const story = "An é sat."
	tokens := []Token{tok("An", .5, .5, .25), tok(" \xc3", .25, .5, .25), tok("\xa9", .5, .5, .5), tok(" sat", .125, .125, .5), tok(".", 1, 1)}
	spans, err := TokenSpans(story, tokens)
	if err != nil || fmt.Sprint(spans) != "[[0 2] [2 4] [3 4] [4 8] [8 9]]" {
		t.Fatalf("spans %v, %v", spans, err)
	}
	// The same passage twice is one passage, and its tokens count once.
	rec, err := TokensOf(story, tokens, nil, [][2]int{{3, 4}, {3, 4}})
	if err != nil {
		t.Fatal(err)
	}
	a := TokenUncertainty([]CheckRecord{{HasText: true, Tokens: &rec}, {HasText: true}, {HasText: true, Tokens: &TokenRecord{Err: "x"}}}, &Resampling{N: 10})
	if a.Stories != 1 || a.Without != 1 || a.Unaligned != 1 || a.Tokens != 5 || len(a.Warnings) != 1 {
		t.Errorf("coverage %+v", a)
	}
	for m, w := range [tokMeasures][3]float64{
		{0.775, 1, 1/0.775 - 1}, {0.711704, 0.959148, 0.347678}, {0.475, 0.375, -0.210526}, {2.639016, 2.828427, 0.071773}, {3.4, 3, -0.117647},
	} {
		for _, set := range []int{SegmentBoth, SegmentContra} {
			row := a.Tables[set].Rows[m]
			for i, got := range []float64{row.Whole.Value, row.Segments.Value, row.Difference.Value, float64(row.WholeMean), float64(row.SegmentsMean)} {
				want := []float64{w[0], w[1], w[2], w[0], w[1]}[i]
				if math.Abs(got-want) > 1e-6 {
					t.Errorf("%s, %s, figure %d: %.6f, want %.6f", a.Tables[set].Segments, row.Measure, i, got, want)
				}
			}
			if row.Difference.Interval == nil || row.Segments.N != 2 || row.Whole.N != 5 {
				t.Errorf("%s: %+v", row.Measure, row)
			}
		}
		if none := a.Tables[SegmentFact].Rows[m]; !math.IsNaN(none.Segments.Value) || none.SegmentsMean.Defined() {
			t.Errorf("a figure of no passage: %+v", none)
		}
	}
}

func TestReadLogProbs(t *testing.T) {
	const content = `[{"token":"A\ufffd","logprob":-0.5,"bytes":[65,195],"top_logprobs":[{"token":"A","logprob":-0.5},{"token":"B","logprob":-9999.0}]},{"token":"\ufffd","logprob":null,"bytes":null,"top_logprobs":[]}]`
	for name, raw := range map[string]string{
		"chat":    `{"content":` + content + `,"refusal":null}`,
		"list":    content,
		"nested":  `{"logprobs":{"content":` + content + `}}`,
		"nested2": `{"logprobs":` + content + `}`,
	} {
		ts, err := ReadLogProbs(json.RawMessage(raw), "")
		if err != nil || len(ts) != 2 {
			t.Errorf("%s: %v, %v", name, ts, err)
			continue
		}
		a, b := ts[0], ts[1]
		if string(a.Bytes) != "A\xc3" || a.Opaque || a.LogProb != -0.5 || len(a.Top) != 1 || string(b.Bytes) != "\ufffd" || !b.Opaque || !math.IsNaN(b.LogProb) || len(b.Top) != 0 {
			t.Errorf("%s: %+v", name, ts)
		}
	}
	ours, err := schemas.EncodeLogProbs([]schemas.TokenLogProb{{Start: 0, End: 2, LogProb: -0.5, Top: []float64{-0.5, -9999}}, {Start: 2, End: 4, LogProb: -9999}}, 2)
	if err != nil {
		t.Fatal(err)
	}
	if ts, err := ReadLogProbs(ours, "Aéz"); err != nil || string(ts[0].Bytes) != "A\xc3" || len(ts[0].Top) != 1 || !math.IsNaN(ts[1].LogProb) || ts[1].Opaque {
		t.Errorf("ours: %+v, %v", ts, err)
	}
	if _, err := ReadLogProbs(ours, "Aé"); err == nil {
		t.Error("tokens of a longer story are taken")
	}
	if ts, err := ReadLogProbs(json.RawMessage(`{"tokens":["a","b"],"token_logprobs":[null,-1],"top_logprobs":[null,{"b":-1,"c":-2}],"text_offset":[0,1]}`), ""); err != nil || len(ts[1].Top) != 2 || !math.IsNaN(ts[0].LogProb) {
		t.Errorf("completions: %v, %v", ts, err)
	}
	for _, none := range []string{"", "null", " "} {
		if ts, err := ReadLogProbs(json.RawMessage(none), ""); ts != nil || err != nil {
			t.Errorf("%q: %v, %v", none, ts, err)
		}
	}
	for _, bad := range []string{`{`, `{}`, `"x"`, `{"tokens":["a"],"token_logprobs":[]}`, `{"tokens":["a"],"token_logprobs":[1.5]}`, `{"tokens":["a","b"],"token_logprobs":[-1,-1],"top_logprobs":[{}]}`,
		`{"format":2}`, `{"logprobs":[1]}`, `[{"token":"a","logprob":-1,"bytes":[300]}]`, `{"tokens":["a"]}`} {
		if ts, err := ReadLogProbs(json.RawMessage(bad), ""); err == nil {
			t.Errorf("%s is read as %v", bad, ts)
		}
	}
}

func TestTokenSpans(t *testing.T) {
	opaque := func(s string) Token { return Token{Bytes: []byte(s), Opaque: strings.Contains(s, "\ufffd")} }
	for _, c := range []struct {
		name, story string
		tokens      []Token
		want        string
	}{
		{"white space at the ends gone", "a b", []Token{tok("\n a", 1), tok(" b", 1), tok("\n", 1)}, "[[0 1] [1 3] [-1 -1]]"},
		{"another line end", "a.\nb", []Token{tok("<s>", 1), tok("a.", 1), tok("\r\n", 1), tok("b", 1), tok("</s>", 1)}, "[[-1 -1] [0 2] [2 3] [3 4] [-1 -1]]"},
		{"a wide character in three tokens", "x語y", []Token{tok("x\xe8", 1), tok("\xaa", 1), tok("\x9ey", 1)}, "[[0 2] [1 2] [1 3]]"},
		{"the same after cleaning", "x語y z", []Token{tok("x\xe8", 1), tok("\xaa", 1), tok("\x9ey", 1), tok("\t z", 1)}, "[[0 2] [1 2] [1 3] [4 5]]"},
		{"no bytes given", "x語y", []Token{opaque("x\ufffd"), opaque("\ufffd"), opaque("\ufffdy")}, "[[0 2] [1 2] [1 3]]"},
		{"two characters in three tokens without bytes", "é語.", []Token{opaque("\ufffd"), opaque("\ufffd"), opaque("\ufffd."), opaque("")}, "[[0 2] [0 2] [0 3] [-1 -1]]"},
	} {
		got, err := TokenSpans(c.story, c.tokens)
		if err != nil || fmt.Sprint(got) != c.want {
			t.Errorf("%s: %v, %v; want %s", c.name, got, err, c.want)
		}
	}
	for _, bad := range [][]Token{nil, {tok("other", 1)}, {tok("a", 1)}, {opaque("a\ufffdz")}} {
		if got, err := TokenSpans("ab c", bad); err == nil {
			t.Errorf("%v spell the story: %v", bad, got)
		}
	}
}

// However a text is cut into tokens, each byte's character is in the span of
// its token, and spans ascend.
func TestTokenSpansProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		story := rapid.StringOfN(rapid.RuneFrom([]rune("ab é語😀\n\u0301")), 1, 40, -1).Draw(t, "story")
		var tokens []Token
		var firstByte []int
		for at := 0; at < len(story); {
			n := rapid.IntRange(1, min(6, len(story)-at)).Draw(t, "n")
			tokens, firstByte = append(tokens, Token{Bytes: []byte(story[at : at+n])}), append(firstByte, at)
			at += n
		}
		spans, err := TokenSpans(story, tokens)
		if err != nil {
			t.Fatal(err)
		}
		points := func(b int) int { // code point that byte b is part of
			for !utf8.RuneStart(story[b]) {
				b--
			}
			return utf8.RuneCountInString(story[:b])
		}
		for i, s := range spans {
			last := firstByte[i] + len(tokens[i].Bytes) - 1
			if want := [2]int{points(firstByte[i]), points(last) + 1}; s != want {
				t.Fatalf("token %d of %q: %v, want %v", i, story, s, want)
			}
		}
	})
}

// From the record of a generated story to the tokens of its findings.
func TestTokensOfRecord(t *testing.T) {
	story := "She is tall. She is short."
	g := schemas.Generated{ID: 1, GeneratedStory: &story,
		LogProbs: json.RawMessage(`{"tokens":["She is"," tall","."," She is short."],"token_logprobs":[-1,-2,-3,-4]}`)}
	ev := func(spans ...[2]int) (e schemas.Evidence) {
		for _, s := range spans {
			e.Spans = append(e.Spans, schemas.Span{Offsets: schemas.Offsets{Start: s[0], End: s[1]}})
		}
		return e
	}
	f := schemas.Finding{Subtype: "appearance_mismatches", Status: "anchored", Fact: ev([2]int{13, 16}), Contra: ev([2]int{0, 3}, [2]int{7, 11})}
	row, err := CheckRowOf(g, []schemas.Finding{f}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := Measure(row, MeasureOptions{})
	if r.Tokens == nil || r.Tokens.Err != "" {
		t.Fatalf("%+v", r.Tokens)
	}
	// The earlier passage is the one of two pieces, whatever it is called.
	if s := r.Tokens.segments; s[SegmentFact].Sum[tokLog] != 3 || s[SegmentContra].Sum[tokLog] != 4 || s[SegmentBoth].N != 3 || r.Tokens.passages[SegmentBoth] != 3 {
		t.Errorf("%+v", s)
	}
	g.LogProbs = json.RawMessage(`{"tokens":["other"],"token_logprobs":[-1]}`)
	row, _ = CheckRowOf(g, nil, nil)
	if r := Measure(row, MeasureOptions{}); r.Tokens == nil || r.Tokens.Err == "" {
		t.Error("tokens of another text are taken")
	}
}

func FuzzReadLogProbs(f *testing.F) {
	for _, s := range []string{`{"content":[{"token":"a","logprob":-1,"top_logprobs":[{"logprob":-1}]}]}`, `{"tokens":["a"],"token_logprobs":[-1],"top_logprobs":[{"a":-1}]}`, `{"format":1,"top_k":1,"scale":10,"lengths":[3],"logprobs":[-1],"top":[[-1]]}`} {
		f.Add(s, "a é")
	}
	f.Fuzz(func(t *testing.T, raw, story string) {
		tokens, err := ReadLogProbs(json.RawMessage(raw), story)
		if err != nil {
			return
		}
		for i := range tokens {
			raw, renorm := tokens[i].Entropy()
			if tokens[i].LogProb > 0 || raw < 0 || renorm < -1e-9 {
				t.Errorf("%+v: %v %v", tokens[i], raw, renorm)
			}
		}
		if _, err := TokensOf(story, tokens, [][2]int{{0, 2}}, nil); err != nil {
			return
		}
	})
}
