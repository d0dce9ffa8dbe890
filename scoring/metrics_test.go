// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/retcon-bench/retcon/schemas"
)

// tableVerdicts makes verdicts from a line of letters each: gold + or -, and what
// was said: e both sides hit, E strictly, h error side alone, l contradicted
// side alone, m labelled without a hit, n "no", t unanswered.
func tableVerdicts(group string, letters ...string) []Verdict {
	var out []Verdict
	for i, l := range letters {
		it := &Item{ID: fmt.Sprintf("%s-%d", group, i), Group: group, Match: group, Variant: "original"}
		v := Verdict{Item: it, Outcome: "ok", Answered: true}
		if l[0] == '+' {
			it.Error = true
			v.Sides[0].Gold, v.Sides[1].Gold = 1, 2
		}
		hit := func(s Side, named, hits int32) { v.Sides[s].Named, v.Sides[s].Hits = named, hits }
		switch l[1] {
		case 'E':
			v.Error = true
			hit(0, 1, 1)
			hit(1, 2, 2)
		case 'e':
			v.Error = true
			hit(0, 3, 1)
			hit(1, 2, 1)
		case 'h':
			v.Error = true
			hit(0, 1, 1)
			hit(1, 1, 0)
		case 'l':
			v.Error = true
			hit(0, 0, 0)
			hit(1, 1, 1)
		case 'm':
			v.Error = true
		case 'n':
		case 't':
			v.Outcome, v.Answered = "truncated", false
		}
		if !it.Error {
			v.Sides[0].Hits, v.Sides[1].Hits = 0, 0
		}
		out = append(out, v)
	}
	return out
}

func value(t *testing.T, scores []Score, name string) Score {
	t.Helper()
	for _, s := range scores {
		if s.Metric == name {
			return s
		}
	}
	t.Fatalf("no metric %s", name)
	return Score{}
}

// TestMetricsByHand: 6 positives (one strict, one localised, one of each
// half, one missed, one truncated), 4 negatives (two passed, one claimed, one
// truncated).
func TestMetricsByHand(t *testing.T) {
	vs := tableVerdicts("g", "+E", "+e", "+h", "+l", "+n", "+t", "-n", "-n", "-m", "-t")
	scores := FlawedFictions.Score(vs)
	for _, c := range []struct {
		name    string
		want    float64
		n, skip int
	}{
		{"accuracy", 6.0 / 10, 10, 2},
		{"accuracy_answered", 6.0 / 8, 8, 2},
		{"coverage", 8.0 / 10, 10, 2},
		{"precision", 4.0 / 5, 5, 2},
		{"recall", 4.0 / 6, 6, 2},
		{"f1", 8.0 / 11, 10, 2},
		{"ceeval_pos", 2.0 / 6, 6, 2},
		{"ceeval_full", 4.0 / 10, 10, 2},
		{"true_negative_rate", 2.0 / 4, 4, 2},
		{"balanced_ceeval", 2 * (1.0 / 3) * 0.5 / (1.0/3 + 0.5), 10, 2},
		{"strict", 3.0 / 10, 10, 2},
		{"strict_pos", 1.0 / 6, 6, 2},
		{"error_hit", 3.0 / 6, 6, 2},
		{"contradicted_hit", 3.0 / 6, 6, 2},
		{"localisation", 2.0 / 4, 4, 2},
		// E: 1 and 1. e: 2*1/(3+1) and 2*1/(2+2). h: 1 and 0. l: 0 and 2/(1+2).
		{"sentence_f1", (1 + 0.5 + 0.5 + 1.0/3) / 6, 6, 2},
		{"paired_accuracy", math.NaN(), 0, 2},
	} {
		s := value(t, scores, c.name)
		if !same(s.Value, c.want) || s.N != c.n || s.Skipped != c.skip {
			t.Errorf("%s = %v over %d, %d skipped; want %v over %d, %d", c.name, s.Value, s.N, s.Skipped, c.want, c.n, c.skip)
		}
	}
	c := Count(vs).Confusion()
	if want := (Confusion{TP: 4, FP: 1, TN: 2, FN: 1, UnansweredPos: 1, UnansweredNeg: 1}); c != want {
		t.Errorf("confusion %+v, want %+v", c, want)
	}
}

func same(a, b float64) bool {
	return math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) < 1e-12
}

// TestBaselines: what the trivial systems score.
func TestBaselines(t *testing.T) {
	repeat := func(l string, n int) []string { return slices.Repeat([]string{l}, n) }
	for _, c := range []struct {
		name    string
		letters []string
		want    map[string]float64
	}{
		{"always no", append(repeat("+n", 5), repeat("-n", 5)...), map[string]float64{
			"accuracy": 0.5, "precision": math.NaN(), "recall": 0, "f1": 0, "ceeval_pos": 0,
			"ceeval_full": 0.5, "true_negative_rate": 1, "balanced_ceeval": 0, "localisation": math.NaN(),
		}},
		{"always yes, never where", append(repeat("+m", 5), repeat("-m", 5)...), map[string]float64{
			"accuracy": 0.5, "precision": 0.5, "recall": 1, "f1": 2.0 / 3, "ceeval_pos": 0,
			"ceeval_full": 0, "true_negative_rate": 0, "balanced_ceeval": 0, "localisation": 0,
		}},
		{"never answers", append(repeat("+t", 5), repeat("-t", 5)...), map[string]float64{
			"accuracy": 0, "accuracy_answered": math.NaN(), "coverage": 0, "precision": math.NaN(), "f1": 0,
			"ceeval_full": 0, "balanced_ceeval": 0,
		}},
		{"negatives only", repeat("-n", 4), map[string]float64{
			"accuracy": 1, "recall": math.NaN(), "f1": math.NaN(), "ceeval_pos": math.NaN(), "ceeval_full": 1, "balanced_ceeval": math.NaN(),
		}},
		{"nothing", nil, map[string]float64{"accuracy": math.NaN(), "coverage": math.NaN(), "balanced_ceeval": math.NaN()}},
	} {
		scores := FlawedFictions.Score(tableVerdicts("g", c.letters...))
		for name, want := range c.want {
			if got := value(t, scores, name); !same(got.Value, want) {
				t.Errorf("%s: %s = %v, want %v", c.name, name, got.Value, want)
			}
		}
	}
}

// TestTruncatedCount is the case of 10 rows, 6 right, 1 wrong, 3 truncated:
// all three figures.
func TestTruncatedCount(t *testing.T) {
	vs := tableVerdicts("g", "+E", "+E", "+E", "-n", "-n", "-n", "-m", "+t", "+t", "-t")
	scores := FlawedFictions.Score(vs)
	for name, want := range map[string]string{"accuracy": "0.600", "accuracy_answered": "0.857", "coverage": "0.700"} {
		if got := value(t, scores, name).String(); got != want {
			t.Errorf("%s = %s, want %s", name, got, want)
		}
	}
	if w := value(t, scores, "accuracy").Warnings; len(w) != 1 || !strings.Contains(w[0], "3 of 10") {
		t.Errorf("warnings of accuracy: %q", w)
	}
}

// TestPaired: a matched group is right if all its rows are; the original
// belongs to every match of its source.
func TestPaired(t *testing.T) {
	item := func(id, match, variant string) *Item {
		return &Item{ID: id, Group: "g", Match: match, Variant: variant, Error: variant == schemas.VariantPatched}
	}
	verdict := func(it *Item, right bool) Verdict {
		return Verdict{Item: it, Answered: true, Error: it.Error == right}
	}
	orig := item("o", "g", schemas.VariantOriginal)
	p1, c1 := item("p1", "g#1", schemas.VariantPatched), item("c1", "g#1", schemas.VariantCounterfactual)
	p2, c2 := item("p2", "g#2", schemas.VariantPatched), item("c2", "g#2", schemas.VariantCounterfactual)
	alone := &Item{ID: "x", Group: "h", Match: "h", Variant: schemas.VariantOriginal}
	vs := []Verdict{
		verdict(orig, true), verdict(p1, true), verdict(c1, false), verdict(p2, true), verdict(c2, true), verdict(alone, true),
		verdict(p1, false), // the same row out of another config: the first counts
	}
	s := PairedAccuracy.Score(Count(vs))
	if s.Value != 0.5 || s.N != 2 {
		t.Errorf("paired accuracy %v over %d, want 0.5 over 2", s.Value, s.N)
	}
	got := map[string]string{}
	for _, sl := range PairedByNegative(vs) {
		got[sl.Value] = fmt.Sprint(sl.Scores[0].Value, sl.Scores[0].N)
	}
	if got["original"] != "1 2" || got["counterfactual"] != "0.5 2" || len(got) != 2 {
		t.Errorf("by negative: %v", got)
	}
	// Without its original and counterfactual a positive pairs with nothing.
	if s := PairedAccuracy.Score(Count(vs[1:2])); !math.IsNaN(s.Value) || s.N != 0 {
		t.Errorf("a lone positive gives %v over %d", s.Value, s.N)
	}
}

// TestMatchesCounted: counting and listing find the same matched groups.
func TestMatchesCounted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var items []*Item
		for i := range rapid.IntRange(1, 12).Draw(t, "items") {
			group := rapid.SampledFrom([]string{"g", "h"}).Draw(t, "group")
			it := &Item{ID: fmt.Sprint(group, rapid.IntRange(0, 9).Draw(t, "id")), Group: group, Match: group, Variant: fmt.Sprint(i), Error: rapid.Bool().Draw(t, "error")}
			if rapid.Bool().Draw(t, "matched") {
				it.Match += rapid.SampledFrom([]string{"#1", "#2"}).Draw(t, "match")
			}
			items = append(items, it)
		}
		var vs []Verdict
		for range rapid.IntRange(0, 40).Draw(t, "verdicts") {
			vs = append(vs, Verdict{Item: rapid.SampledFrom(items).Draw(t, "item"), Sample: rapid.IntRange(0, 2).Draw(t, "sample"), Answered: true, Error: rapid.Bool().Draw(t, "said")})
		}
		var want, got []string
		for _, m := range Matches(vs) {
			want = append(want, fmt.Sprint(m.Group, m.Right))
		}
		eachMatch(vs, func(group string, right bool) { got = append(got, fmt.Sprint(group, right)) })
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(want, got) {
			t.Fatalf("listed %v, counted %v", want, got)
		}
	})
}

func TestDimensions(t *testing.T) {
	kind, sub, severity := "continuity", "appearance_mismatches", "harmless"
	pos := millRow()
	pos.FlawKind, pos.FlawSubtype, pos.Severity, pos.Words = &kind, &sub, &severity, 1200
	pos.Difficulty = &schemas.Difficulty{Words: 250, Supports: 2, Sites: 1, Voice: "narrator"}
	neg := row("rc-clean", "clean", millStory, nil, nil)
	neg.Words = 1199
	key := keyOf(t, pos, neg)
	var vs []Verdict
	for _, it := range key.Items() {
		p := schemas.Prediction{Outcome: "ok", Label: schemas.LabelConsistent}
		vs = append(vs, Default.Judge(it, &p))
	}
	for name, want := range map[string]string{
		"length": "800-1199 words:1 1200-1999 words:0", "kind": "continuity:0", "severity": "harmless:0", "subtype": "appearance_mismatches:0", "class": "",
		"distance": "250-499 words:0", "supports": "2:0", "sites": "under 2:0", "explicit": "inferred:0", "voice": "narrator:0",
		"importance": "", "negative": "original:1", "verification": "", "corpus": "",
	} {
		d, ok := DimensionNamed(name)
		if !ok {
			t.Fatalf("no dimension %s", name)
		}
		var got []string
		for _, s := range FlawedFictions.By(vs, d) {
			got = append(got, fmt.Sprintf("%s:%v", s.Value, s.Scores[0].Value))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if len(Dimensions) != 14 {
		t.Errorf("%d dimensions, 14 tested", len(Dimensions))
	}
}

// TestScoreJSON: undefined is null, and comes back as NaN.
func TestScoreJSON(t *testing.T) {
	in := []Score{
		{Metric: "precision", Value: math.NaN(), Skipped: 1, Warnings: []string{"w"}, Interval: &Interval{Low: math.NaN(), High: math.NaN(), Level: 0.95, Method: "m", Resamples: 3, Undefined: 3, Groups: 2}},
		{Metric: "accuracy", Value: 0.25, N: 4},
	}
	b, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	if want := `[{"metric":"precision","value":null,"n":0,"skipped":1,"warnings":["w"],"interval":{"low":null,"high":null,"level":0.95,"method":"m","resamples":3,"undefined":3,"groups":2}},{"metric":"accuracy","value":0.25,"n":4,"skipped":0}]`; string(b) != want {
		t.Errorf("got  %s\nwant %s", b, want)
	}
	var out []Score
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	if !math.IsNaN(out[0].Value) || !math.IsNaN(out[0].Interval.High) || out[1].Value != 0.25 || out[0].String() != "n/a" {
		t.Errorf("came back as %+v", out)
	}
}
