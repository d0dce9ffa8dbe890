// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/retcon-bench/retcon/schemas"
)

func spanAt(start, end int) schemas.Span {
	return schemas.Span{Offsets: schemas.Offsets{Start: start, End: end}}
}

func claim(subtype string, fact, contra [2]int) PairClaim {
	cat, _, _ := schemas.FindSubtype(subtype)
	return PairClaim{Category: cat.Name, Subtype: subtype, Fact: [][2]int{fact}, Contra: [][2]int{contra}}
}

// Two injections of one category, one of another, and every way to be wrong.
//
//	I1 appearance    fact [0,10)   contra [50,60), also [70,80)
//	I2 nomenclature  fact [20,30)  contra [50,60)
//	I3 memory        fact [40,45)  contra [90,99)
func diagnosticStory() schemas.Diagnostic {
	inject := func(id, subtype string, fact, contra schemas.Span, also ...schemas.Span) schemas.Injection {
		cat, _, _ := schemas.FindSubtype(subtype)
		return schemas.Injection{ID: id, Category: cat.Name, Subtype: subtype, Fact: fact, Contra: contra, Contras: also}
	}
	return schemas.Diagnostic{DiagnosticID: "d", Injections: []schemas.Injection{
		inject("I1", "appearance_mismatches", spanAt(0, 10), spanAt(50, 60), spanAt(70, 80)),
		inject("I2", "nomenclature_confusions", spanAt(20, 30), spanAt(50, 60)),
		inject("I3", "memory_contradictions", spanAt(40, 45), spanAt(90, 99)),
	}}
}

func TestMatchClaims(t *testing.T) {
	appearance, naming, memory := "appearance_mismatches", "nomenclature_confusions", "memory_contradictions"
	character, factual := categoryIndex("characterization"), categoryIndex("factual_detail")
	only := func(skip int) func(int) bool { return func(c int) bool { return c != skip } }
	for _, c := range []struct {
		name                           string
		claims                         []PairClaim
		judged                         func(int) bool
		right, same, claimed, unjudged int
	}{
		{"both passages, either order", []PairClaim{claim(appearance, [2]int{55, 58}, [2]int{9, 12})}, nil, 1, 1, 1, 0},
		{"a passage that says the same", []PairClaim{claim(appearance, [2]int{0, 5}, [2]int{79, 90})}, nil, 1, 1, 1, 0},
		{"touching is not overlapping", []PairClaim{claim(appearance, [2]int{10, 12}, [2]int{50, 60})}, nil, 0, 0, 1, 0},
		{"one passage only", []PairClaim{claim(appearance, [2]int{0, 10}, [2]int{30, 40})}, nil, 0, 0, 1, 0},
		{"the same passage for both sides", []PairClaim{claim(appearance, [2]int{0, 10}, [2]int{0, 10})}, nil, 0, 0, 1, 0},
		{"another category", []PairClaim{claim("tone_inconsistencies", [2]int{0, 10}, [2]int{50, 60})}, nil, 0, 0, 1, 0},
		{"another subtype of the category", []PairClaim{claim("quantitative_mismatches", [2]int{0, 10}, [2]int{50, 60})}, nil, 1, 0, 1, 0},
		{"one to one", []PairClaim{claim(memory, [2]int{40, 45}, [2]int{90, 99}), claim(memory, [2]int{40, 45}, [2]int{90, 99})}, nil, 1, 1, 2, 0},
		// The first claim fits I1 and I2, the second I1 alone: the most pairs.
		{"as many as can be", []PairClaim{claim("quantitative_mismatches", [2]int{0, 30}, [2]int{50, 60}), claim("quantitative_mismatches", [2]int{0, 5}, [2]int{50, 60})}, nil, 2, 0, 2, 0},
		{"equal subtypes first", []PairClaim{claim(naming, [2]int{0, 30}, [2]int{50, 60}), claim(appearance, [2]int{0, 30}, [2]int{50, 60})}, nil, 2, 2, 2, 0},
		{"not judged is neither found nor missed", []PairClaim{claim(memory, [2]int{40, 45}, [2]int{90, 99}), claim(appearance, [2]int{0, 10}, [2]int{50, 60})}, only(character), 1, 1, 1, 1},
		{"quarantined", []PairClaim{{Category: schemas.Categories[factual].Name, Subtype: appearance, Fact: [][2]int{{0, 10}}, Contra: [][2]int{{50, 60}}, Quarantined: true}}, nil, 0, 0, 0, 0},
	} {
		n, err := MatchClaims(diagnosticStory(), c.claims, c.judged)
		if err != nil {
			t.Fatal(err)
		}
		sum := func(x [CheckCategories]int) (s int) {
			for _, v := range x {
				s += v
			}
			return s
		}
		if sum(n.Right) != c.right || sum(n.Subtype) != c.same || sum(n.Claimed) != c.claimed || n.Unjudged != c.unjudged || sum(n.Injected) != 3-c.unjudged {
			t.Errorf("%s: %+v", c.name, n)
		}
	}
	if _, err := MatchClaims(diagnosticStory(), []PairClaim{{Category: "typos"}}, nil); err == nil {
		t.Error("an unknown category is taken")
	}
}

// Table A1 by hand: two stories with three injections each and two controls.
// Of the first story two claims are right (one by its category alone) and one
// is false; of the second nothing is claimed; one control has one claim and one
// in quarantine.
//
//	GT 6, pred 4, TP 2: recall 1/3, precision 1/2, F1 2*2/(6+4) = 0.4
//	with quarantined: precision 2/5, F1 4/11
//	false positives a control 1/2, controls with one 1/2
func TestCalibrateHand(t *testing.T) {
	var counts []DiagnosticCounts
	for _, s := range []struct {
		d      schemas.Diagnostic
		claims []PairClaim
	}{
		{diagnosticStory(), []PairClaim{claim("quantitative_mismatches", [2]int{0, 10}, [2]int{50, 60}), claim("memory_contradictions", [2]int{90, 99}, [2]int{44, 46}), claim("style_shifts", [2]int{0, 1}, [2]int{2, 3})}},
		{diagnosticStory(), nil},
		{schemas.Diagnostic{Control: true}, []PairClaim{claim("style_shifts", [2]int{0, 1}, [2]int{2, 3}), {Category: "narrative_style", Quarantined: true}}},
		{schemas.Diagnostic{Control: true}, nil},
	} {
		n, err := MatchClaims(s.d, s.claims, nil)
		if err != nil {
			t.Fatal(err)
		}
		counts = append(counts, n)
	}
	c := Calibrate("judge", 0, counts, &Resampling{N: 200, Seed: 1})
	total := c.Rows[CheckCategories]
	for _, v := range []struct {
		s    Score
		want float64
	}{
		{total.Recall, 1. / 3}, {total.Precision, 0.5}, {total.F1, 0.4}, {total.PrecisionWith, 0.4}, {total.F1With, 4. / 11},
		{total.Subtype, 0.5}, {c.FalsePerControl, 0.5}, {c.ControlsWith, 0.5},
		{c.Rows[categoryIndex("factual_detail")].Recall, 0.25}, {c.Rows[categoryIndex("characterization")].F1, 2. / 3},
		{c.Rows[categoryIndex("narrative_style")].Precision, 0}, {c.Rows[categoryIndex("narrative_style")].Recall, math.NaN()},
		{c.Rows[categoryIndex("world_building")].F1, math.NaN()},
	} {
		if math.Abs(v.s.Value-v.want) > 1e-12 || math.IsNaN(v.s.Value) != math.IsNaN(v.want) {
			t.Errorf("%s = %v, want %v", v.s.Metric, v.s.Value, v.want)
		}
	}
	if total.Recall.Interval == nil || c.Stories != 2 || c.Controls != 2 || len(c.Warnings) != 0 {
		t.Errorf("%+v", c)
	}
	// Two experts who say the same: counts are means, figures the same.
	doubled := slices.Clone(counts)
	for i := range doubled {
		doubled[i].Add(counts[i])
	}
	two := Calibrate("experts", 2, doubled, &Resampling{N: 200, Seed: 1})
	if r := two.Rows[CheckCategories]; r.Injected != 6 || r.Claimed != 4 || r.Right != 2 || r.F1.Value != total.F1.Value || *r.F1.Interval != *total.F1.Interval ||
		two.FalsePerControl.Value != 0.5 || two.ControlsWith.Value != 0.5 || two.Controls != 2 {
		t.Errorf("two experts: %+v", two)
	}
	if b, err := json.Marshal(c); err != nil || !strings.Contains(string(b), `"category":"world_building","gt":0,"pred":0`) {
		t.Errorf("%s, %v", b, err)
	}
}

func TestClaims(t *testing.T) {
	m := schemas.Marking{StoryID: "d", Annotator: "a", Marks: []schemas.PairMark{
		{Subtype: "duration_contradictions", Fact: []schemas.Bounds{{Start: 1, End: 2}}, Contra: []schemas.Bounds{{Start: 4, End: 6}, {Start: 8, End: 9}}},
		{Category: "world_building"},
	}}
	got, err := ClaimsOfMarking(m)
	if err != nil || len(got) != 2 || got[0].Category != "timeline_plot" || got[0].Subtype != "duration_timeline_contradictions" || len(got[0].Contra) != 2 || got[1].Category != "world_building" {
		t.Errorf("%+v, %v", got, err)
	}
	for want, m := range map[string]schemas.Marking{
		"needs story_id":            {},
		`unknown subtype "typos"`:   {StoryID: "d", Annotator: "a", Marks: []schemas.PairMark{{Subtype: "typos"}}},
		`unknown category ""`:       {StoryID: "d", Annotator: "a", Marks: []schemas.PairMark{{}}},
		"not of category":           {StoryID: "d", Annotator: "a", Marks: []schemas.PairMark{{Category: "world_building", Subtype: "style_shifts"}}},
		"the range [3,3) is empty":  {StoryID: "d", Annotator: "a", Marks: []schemas.PairMark{{Category: "world_building", Fact: []schemas.Bounds{{Start: 3, End: 3}}}}},
		`unknown category "nature"`: {StoryID: "d", Annotator: "a", Marks: []schemas.PairMark{{Category: "nature"}}},
	} {
		if _, err := ClaimsOfMarking(m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	c, err := ClaimOfFinding(schemas.Finding{Subtype: "style_shifts", Status: "copied", Fact: schemas.Evidence{Spans: []schemas.Span{spanAt(1, 2), spanAt(3, 4)}}})
	if err != nil || !c.Quarantined || c.Category != "narrative_style" || len(c.Fact) != 2 {
		t.Errorf("%+v, %v", c, err)
	}
}

// Three samples of one story. Of category factual_detail: {A, B}, {A}, not
// judged. One pair: both report A, either A or B. Of narrative_style: {}, {C},
// {C} in the other order: pairs 0-1 and 0-2 differ, 1-2 agree.
func TestSelfAgreementHand(t *testing.T) {
	const story = "Ann is tall. Bob is old. Ann is short. Bob is young."
	row := func(cells map[string]string) CheckRow {
		r := NewCheckRow("s", func(n string) (string, bool) {
			if n == "s" {
				return story, true
			}
			if v, ok := cells[n]; ok {
				return v, true
			}
			_, sub := subtypeIndex[n]
			return "[]", sub
		})
		Measure(r, MeasureOptions{})
		return r
	}
	const a = `{"exact_quote":"Ann is tall","contradiction_pair":"Ann is short"}`
	const again = `{"exact_quote":"Ann is short.","contradiction_pair":"Ann is tall."}`
	const b = `{"exact_quote":"Bob is old","contradiction_pair":"Bob is young"}`
	rows := []CheckRow{
		row(map[string]string{"factual_detail_appearance_mismatches": "[" + a + "," + b + "]", "factual_detail_nomenclature_confusions": "[" + again + "]"}),
		row(map[string]string{"factual_detail_quantitative_mismatches": "[" + again + "]", "narrative_style_style_shifts": "[" + b + "]"}),
		row(map[string]string{"factual_detail_quantitative_mismatches": "ERROR: HTTP 429", "narrative_style_tone_inconsistencies": "[" + b + "]"}),
	}
	list := CompareSamples(rows)
	got, err := SelfAgreement([][]schemas.CheckAgreement{list, nil}, &Resampling{N: 20})
	if err != nil {
		t.Fatal(err)
	}
	f, n, w := got.Rows[categoryIndex("factual_detail")], got.Rows[categoryIndex("narrative_style")], got.Rows[categoryIndex("world_building")]
	if f.Pairs != 1 || f.Findings.Value != 0.5 || f.Same.Value != 1 {
		t.Errorf("factual detail: %+v", f)
	}
	if n.Pairs != 3 || n.Findings.Value != 1./3 || math.Abs(n.Same.Value-1./3) > 1e-12 {
		t.Errorf("style: %+v", n)
	}
	if w.Pairs != 3 || !math.IsNaN(w.Findings.Value) || w.Same.Value != 1 {
		t.Errorf("world: %+v", w)
	}
	if all := got.Rows[CheckCategories]; all.Pairs != 13 || all.Either != 5 || all.Findings.Value != 0.4 || got.Samples != 3 || got.Stories != 1 || all.Same.Interval == nil {
		t.Errorf("all: %+v, %d samples", all, got.Samples)
	}
}

// A report of our checker: what several samples say is put to the vote, and
// what no sample answered is not judged.
func TestCheckRowOfReport(t *testing.T) {
	story := "Ann is tall. Bob is old. Ann is short. Bob is young."
	g := schemas.Generated{ID: 4, GeneratedStory: &story, ModelName: "m", TaskType: "summary"}
	ev := func(a, b int) schemas.Evidence {
		return schemas.Evidence{Quote: story[a:b], Spans: []schemas.Span{spanAt(a, b)}}
	}
	rep := schemas.CheckReport{StoryID: "g", TextHash: schemas.HashText(story), Judge: "j", Protocol: "staged", Samples: 3, NotJudged: []string{"narrative_style"},
		Findings: []schemas.Finding{
			{Subtype: "appearance_mismatches", Fact: ev(0, 11), Contra: ev(25, 37), Support: 2, Asked: 3},
			{Subtype: "quantitative_mismatches", Fact: ev(13, 23), Contra: ev(39, 51), Support: 1, Asked: 2},
		}}
	for _, c := range schemas.Categories[:4] {
		rep.Status = append(rep.Status, schemas.CheckStatus{Category: c.Name, Sample: 0, Status: StatusRefused}, schemas.CheckStatus{Category: c.Name, Sample: 1, Status: StatusOK})
	}
	rep.Status[1].Status = StatusTruncated
	for vote, want := range map[Vote]int{VoteMajority: 1, VoteAny: 2, VoteAll: 0} {
		row, err := CheckRowOfReport(g, rep, vote)
		if err != nil {
			t.Fatal(err)
		}
		if r := Measure(row, MeasureOptions{}); r.Counts[Instances].Total() != want || r.Judge != "j" || r.Protocol != "staged" || r.ID != "4/summary" {
			t.Errorf("%v: %+v", vote, r)
		}
		if row.Status != [CheckCategories]string{StatusRefused, StatusOK, StatusOK, StatusOK, StatusNotJudged} {
			t.Errorf("statuses %v", row.Status)
		}
	}
	for _, bad := range []schemas.Span{spanAt(40, 99), spanAt(9, 4), {Text: "Ann is big.", Offsets: schemas.Offsets{End: 11, ByteEnd: 11, UTF16End: 11}}} {
		edited := rep
		edited.Findings = []schemas.Finding{rep.Findings[0]}
		edited.Findings[0].Contra.Spans = []schemas.Span{bad}
		if _, err := CheckRowOfReport(g, edited, VoteAny); err == nil || !strings.Contains(err.Error(), "span [") {
			t.Errorf("a finding at %+v: %v", bad, err)
		}
	}
	rep.TextHash = schemas.HashText("other")
	if _, err := CheckRowOfReport(g, rep, VoteAny); err == nil || !strings.Contains(err.Error(), "another text") {
		t.Errorf("a report of another text: %v", err)
	}
	g.GeneratedStory = nil
	if _, err := CheckRowOfReport(g, rep, VoteAny); err == nil {
		t.Error("a report of no story is taken")
	}
}
