// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/retcon-bench/retcon/schemas"
)

func TestAgree(t *testing.T) {
	threes := func(yes, mixed int) [][]int {
		var u [][]int
		for range yes {
			u = append(u, []int{1, 1, 1})
		}
		for range mixed {
			u = append(u, []int{1, 0, 1})
		}
		return u
	}
	nan := math.NaN()
	for _, c := range []struct {
		name               string
		units              [][]int
		raw, fleiss, alpha float64
		n, skipped         int
	}{
		// Eight 3:0, two 2:1: people agree, and kappa is negative.
		{"lopsided", threes(8, 2), 26.0 / 30, -1.0 / 14, 1 - 29*4.0/(2*28*2), 10, 0},
		{"all the same", threes(10, 0), 1, nan, nan, 10, 0},
		// The last unit pairs with nothing.
		{"missing ratings", [][]int{{1, 1, 1}, {1, 1}, {0, 0, 0}, {0, 1}, {1}}, 0.75, nan, 0.625, 4, 1},
		{"perfect on both", [][]int{{1, 1}, {0, 0}, {1, 1}}, 1, 1, 1, 3, 0},
		{"systematic disagreement", [][]int{{1, 0}, {0, 1}}, 0, -1, 1 - 3*4.0/8, 2, 0},
		{"three categories", [][]int{{0, 0}, {1, 1}, {2, 2}, {0, 1}}, 0.75, (0.75 - 22.0/64) / (1 - 22.0/64), 1 - 7*2.0/42, 4, 0},
		{"nothing", nil, nan, nan, nan, 0, 0},
		{"single ratings", [][]int{{1}, {0}}, nan, nan, nan, 0, 2},
	} {
		a := Agree(c.units)
		if !same(a.Raw.Value, c.raw) || !same(a.Fleiss.Value, c.fleiss) || !same(a.Alpha.Value, c.alpha) {
			t.Errorf("%s: raw %v kappa %v alpha %v, want %v %v %v", c.name, a.Raw.Value, a.Fleiss.Value, a.Alpha.Value, c.raw, c.fleiss, c.alpha)
		}
		if a.Alpha.N != c.n || a.Alpha.Skipped != c.skipped {
			t.Errorf("%s: over %d, %d skipped, want %d, %d", c.name, a.Alpha.N, a.Alpha.Skipped, c.n, c.skipped)
		}
	}
	if a := Agree(threes(8, 2)); a.Raw.String() != "0.867" || a.Fleiss.String() != "-0.071" {
		t.Errorf("printed %s and %s", a.Raw, a.Fleiss)
	}
	if a := Agree(threes(10, 0)); a.Fleiss.String() != "n/a" || len(a.Fleiss.Warnings) == 0 {
		t.Errorf("undefined kappa prints %s, warns %q", a.Fleiss, a.Fleiss.Warnings)
	}
	if r := Agree(threes(10, 0)).Record("c", 12, 10); r.Fleiss != nil || *r.Raw != 1 || r.Shown != 12 {
		t.Errorf("%+v", r)
	}
}

func TestMajority(t *testing.T) {
	for _, c := range []struct {
		yes, no, min int
		want, final  State
	}{
		{3, 0, 2, Accepted, Accepted},
		{2, 0, 2, Accepted, Accepted},
		{0, 3, 2, Rejected, Rejected},
		{1, 1, 2, Undecided, Rejected},
		{1, 0, 2, Undecided, Rejected}, // one vote is too few
		{2, 0, 3, Undecided, Rejected},
		{2, 1, 3, Accepted, Accepted},
		{2, 2, 3, Undecided, Rejected},
		{3, 2, 3, Accepted, Accepted},
		{0, 0, 0, Undecided, Rejected},
	} {
		if got := Majority(c.yes, c.no, c.min); got != c.want || Final(got) != c.final {
			t.Errorf("%d:%d of at least %d: %v, then %v; want %v, %v", c.yes, c.no, c.min, got, Final(got), c.want, c.final)
		}
	}
}

func vote(item, who, valid string, seconds float64) schemas.Vote {
	v := schemas.Vote{ExampleID: item, Annotator: who, Seconds: seconds}
	switch valid {
	case "y":
		yes := true
		v.Valid = &yes
	case "n":
		no := false
		v.Valid = &no
	}
	return v
}

func at(v schemas.Vote, time string) schemas.Vote { v.Time = time; return v }

func TestCountVotes(t *testing.T) {
	hashed := func(v schemas.Vote, h string) schemas.Vote { v.TextHash = h; return v }
	votes := []schemas.Vote{
		vote("i1", "ann", "n", 30),
		vote("i1", "bob", "y", 40),
		vote("i1", "cyd", "y", 50),
		vote("i1", "ann", "y", 4), // changes her mind; 34 s in all
		vote("i2", "ann", "y", 3), // too fast
		vote("i2", "bob", "", 40), // cannot say
		vote("i2", "cyd", "y", 50),
		vote("i2", "dan", "y", 60), // fails the gate
		vote("gate", "dan", "y", 60),
		vote("gate", "ann", "n", 60),
		vote("gate", "bob", "y", 10),
		vote("gate", "bob", "n", 60),
		hashed(vote("i2", "eve", "y", 60), "old text"),
		vote("nowhere", "eve", "y", 60),
		// Times decide, not the order of the file.
		at(vote("i3", "ann", "y", 60), "2026-01-02T10:00:00Z"),
		at(vote("i3", "ann", "n", 60), "2026-01-02T10:30:00+01:00"),
	}
	p := CountVotes(votes, VoteRules{
		MinSeconds: 20, Gates: map[string]bool{"gate": false},
		TextHash: func(id string) (string, bool) { return "new text", id != "nowhere" },
	})
	var got []string
	for _, iv := range p.Items {
		who := ""
		for _, v := range iv.Votes {
			who += v.Annotator + " "
		}
		got = append(got, fmt.Sprintf("%s %v %s: %s", iv.ExampleID, iv.Ballot(), p.Accept(iv), strings.TrimSpace(who)))
	}
	want := []string{"i1 3:0 accepted: ann bob cyd", "i2 1:0 (1 cannot say) undecided: bob cyd", "i3 1:0 undecided: ann"}
	if !slices.Equal(got, want) {
		t.Errorf("items\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	var aside []string
	for _, a := range p.SetAside {
		aside = append(aside, a.Vote.ExampleID+" "+a.Vote.Annotator+" "+a.Reason)
	}
	slices.Sort(aside)
	if want := []string{"i2 ann too_fast", "i2 dan gate", "i2 eve stale", "nowhere eve unknown"}; !slices.Equal(aside, want) {
		t.Errorf("set aside %q, want %q", aside, want)
	}
	if len(p.History) != 3 || *p.History[0].Valid || p.History[0].Annotator != "ann" {
		t.Errorf("history %+v", p.History)
	}
	var people []string
	for _, a := range p.Annotators {
		people = append(people, fmt.Sprintf("%s %d %d/%d %v", a.Name, a.Votes, a.GatesRight, a.Gates, a.Passed))
	}
	if want := []string{"ann 2 1/1 true", "bob 2 1/1 true", "cyd 2 0/0 true", "dan 0 0/1 false"}; !slices.Equal(people, want) {
		t.Errorf("annotators %q, want %q", people, want)
	}
	// Nobody ever has two votes.
	for _, iv := range p.Items {
		seen := map[string]bool{}
		for _, v := range iv.Votes {
			if seen[v.Annotator] {
				t.Errorf("%s counts %s twice", iv.ExampleID, v.Annotator)
			}
			seen[v.Annotator] = true
		}
	}
}

func TestSentenceMajorities(t *testing.T) {
	mark := func(marks ...any) schemas.Vote {
		var v schemas.Vote
		for i := 0; i < len(marks); i += 3 {
			v.Sentences = append(v.Sentences, schemas.SentenceVote{Set: marks[i].(string), Sentence: marks[i+1].(int), Valid: marks[i+2].(bool)})
		}
		return v
	}
	iv := ItemVotes{Votes: []schemas.Vote{
		mark("error", 6, true, "error", 8, true, "contradicted", 1, true),
		mark("error", 6, true, "error", 8, false, "contradicted", 1, false),
		mark("error", 6, false, "error", 6, true, "error", 9, true), // the last mark counts; 9 is no gold
	}}
	var got []string
	for _, b := range append(iv.SentenceMajorities(SideError, []int{6, 8, 11}), iv.SentenceMajorities(SideContradicted, []int{1})...) {
		got = append(got, fmt.Sprint(b.Set, b.Sentence, " ", b.Ballot, " ", b.Kept))
	}
	if want := []string{"error6 3:0 true", "error8 1:1 false", "error11 0:0 true", "contradicted1 1:1 false"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestRereview(t *testing.T) {
	pos := millRow()
	neg := row("rc-o", "other", millStory, nil, nil)
	cf := row("rc-cf", "third", millStory, nil, nil)
	cf.Variant = schemas.VariantCounterfactual
	neg2 := row("rc-o2", "fourth", millStory, nil, nil)
	key := keyOf(t, pos, neg, cf, neg2)
	said := func(id, model, label string) schemas.Prediction {
		return schemas.Prediction{ExampleID: id, Model: model, Prompt: "cot", Outcome: "ok", Label: label}
	}
	preds := []schemas.Prediction{
		said("rc-mill", "m1", "error"), said("rc-o", "m1", "error"), said("rc-cf", "m1", "error"), said("rc-o2", "m1", "error"),
		said("rc-mill", "m2", "consistent"), said("rc-o", "m2", "consistent"), said("rc-cf", "m2", "error"), said("rc-o2", "m2", "error"),
	}
	source := func(yield func(schemas.Prediction, error) bool) {
		for _, p := range preds {
			if !yield(p, nil) {
				return
			}
		}
	}
	claims, err := Claims(key, source)
	if err != nil {
		t.Fatal(err)
	}
	if len(claims) != 3 { // on originals alone
		t.Fatalf("%d claims: %+v", len(claims), claims)
	}
	id := func(example, model string) string { return ClaimID(example, model, "cot", 0) }
	kind := func(v schemas.Vote, k string) schemas.Vote { v.Kind = k; return v }
	panel := CountVotes([]schemas.Vote{
		vote(id("rc-o", "m1"), "a", "y", 9), vote(id("rc-o", "m1"), "b", "y", 9), vote(id("rc-o", "m1"), "c", "n", 9),
		kind(vote(id("rc-o2", "m1"), "a", "n", 9), "genre"), kind(vote(id("rc-o2", "m1"), "b", "n", 9), "genre"), kind(vote(id("rc-o2", "m1"), "c", "n", 9), "state"),
		vote(id("rc-o2", "m2"), "a", "n", 9), vote(id("rc-o2", "m2"), "b", "y", 9), // open
	}, VoteRules{})
	r := Rereview(claims, panel)
	var got []string
	for _, row := range r.Rows {
		got = append(got, fmt.Sprintf("%s %d/%d/%d %v %v %d", row.Model, row.Claims, row.Reviewed, row.Accepted, row.Rate.Value, row.Kinds, row.NoKind))
	}
	if want := []string{"m1 2/2/1 0.5 map[genre:1] 0", "m2 1/0/0 NaN map[] 0"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}

	// The accepted row goes for both systems, though only one claimed it.
	ev, err := Evaluate(key, source, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct{ all, audited float64 }{{1.0 / 4, 1.0 / 3}, {1.0 / 4, 0.0 / 3}} {
		a := FlawedFictions.Audited(ev.Sheets[i].Verdicts, r)
		if all, audited := value(t, a.All, "accuracy"), value(t, a.Audited, "accuracy"); !same(all.Value, want.all) || !same(audited.Value, want.audited) || a.Excluded != 1 {
			t.Errorf("%s: all %v, audited %v, %d excluded; want %v, %v, 1", ev.Sheets[i].Run, all.Value, audited.Value, a.Excluded, want.all, want.audited)
		}
	}
}

func TestHuman(t *testing.T) {
	key := keyOf(t, millRow(), row("rc-o", "other", millStory, nil, nil), row("rc-p", "third", millStory, nil, nil))
	ans := func(id, who, label string, errors, contradicted []int) schemas.Prediction {
		return schemas.Prediction{ExampleID: id, Model: who, Outcome: "ok", Label: label, ErrorSentences: errors, ContradictedSentences: contradicted}
	}
	answers := []schemas.Prediction{
		ans("rc-mill", "ann", "consistent", nil, nil), // changed below
		ans("rc-mill", "bob", "error", []int{6, 4}, []int{1}),
		ans("rc-mill", "cyd", "consistent", nil, nil),
		ans("rc-mill", "ann", "error", []int{6, 0}, []int{1, 2}),
		ans("rc-o", "ann", "error", []int{3}, []int{1}),
		ans("rc-o", "bob", "consistent", nil, nil),
	}
	h, err := Human(key, Default, answers)
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Majority) != 2 || len(h.Single) != 5 || h.Least != 2 || h.Most != 3 {
		t.Fatalf("%d rows, %d answers, %d to %d a row", len(h.Majority), len(h.Single), h.Least, h.Most)
	}
	// 6 and 1 were named by both who said error; 4, 0 and 2 by one of two.
	if m := h.Majority[0]; !m.Strict() || m.Sides[0] != (SideVerdict{1, 1, 2}) {
		t.Errorf("majority: %+v", m)
	}
	if m := h.Majority[1]; m.Answered || m.Outcome != OutcomeUndecided {
		t.Errorf("even split: %+v", m)
	}
	if s := value(t, FlawedFictions.Score(h.Single), "ceeval_full"); !same(s.Value, 3.0/5) {
		t.Errorf("mean of single answers: CEEval-Full %v, want 0.6", s.Value)
	}
	if _, err := Human(key, Default, []schemas.Prediction{ans("rc-zzz", "ann", "error", nil, nil)}); err == nil || !strings.Contains(err.Error(), "rc-zzz") {
		t.Errorf("unknown row: %v", err)
	}
}

func TestSample(t *testing.T) {
	var rows []schemas.Example
	for i := range 40 {
		g := fmt.Sprint("g", i/2) // a positive and a negative of each source
		if i%2 == 0 {
			rows = append(rows, row(fmt.Sprint("rc-", i), g, millStory, []int{6}, []int{1}))
		} else {
			rows = append(rows, row(fmt.Sprint("rc-", i), g, millStory, nil, nil))
		}
	}
	a := keyOf(t, rows...).Sample(10, 7)
	slices.Reverse(rows)
	b := keyOf(t, rows...).Sample(10, 7)
	names := func(items []*Item) string {
		s, pos, groups := "", 0, map[string]bool{}
		for _, it := range items {
			s += it.ID + " "
			groups[it.Group] = true
			if it.Error {
				pos++
			}
		}
		return fmt.Sprintf("%s: %d of %d, %d sources", s, pos, len(items), len(groups))
	}
	if names(a) != names(b) || !strings.HasSuffix(names(a), ": 5 of 10, 10 sources") {
		t.Errorf("%s\n%s", names(a), names(b))
	}
	if c := keyOf(t, rows...).Sample(10, 8); names(c) == names(a) {
		t.Error("another seed draws the same rows")
	}
	if all := keyOf(t, rows...).Sample(100, 7); len(all) != 20 {
		t.Errorf("%d rows of 20 sources", len(all))
	}
}
