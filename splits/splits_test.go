// SPDX-License-Identifier: Apache-2.0

package splits

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

// world makes n short and n long sources, each with a story and one or two drafts.
func world(n int) (drafts, stories []Item) {
	for i := range 2 * n {
		g := fmt.Sprintf("c:%03d", i)
		words := 400 + 10*i%700
		if i >= n {
			words = 1200 + 37*i%2800
		}
		stories = append(stories, Item{ID: g, GroupID: g, Public: true, Corpus: "c", Words: words})
		if i%3 == 0 { // a story nobody could flaw
			continue
		}
		for k := range 1 + i%2 {
			d := Item{ID: fmt.Sprintf("%s#%d", g, k), GroupID: g, Public: true, Corpus: "c", Words: words, Verification: schemas.VerifiedRules,
				Class: []string{"colour", "name", "count"}[i%3], Variants: []string{schemas.VariantPatched}}
			if i%5 != 0 {
				d.Variants = append(d.Variants, schemas.VariantCounterfactual, schemas.VariantResolved)
			}
			drafts = append(drafts, d)
		}
	}
	return drafts, stories
}

func settings() schemas.SplitsRecipe { return schemas.DefaultRecipe().Splits }

func rowsOf(c Choices, config, variant string) (ids, groups []string) {
	for _, r := range c.Rows {
		if r.Config == config && (variant == "" || r.Variant == variant) {
			ids = append(ids, r.ID)
			groups = append(groups, r.GroupID)
		}
	}
	return ids, groups
}

func TestChooseBalancesAndKeepsGroupsApart(t *testing.T) {
	drafts, stories := world(60)
	set := settings()
	set.HiddenShare = 0.3
	c := Choose(drafts, stories, set, 7)

	for _, config := range []string{FlawedFictions, Long} {
		pos, posGroups := rowsOf(c, config, schemas.VariantPatched)
		neg, _ := rowsOf(c, config, schemas.VariantOriginal)
		if len(pos) == 0 || len(pos) != len(neg) {
			t.Errorf("%s: %d positives, %d negatives", config, len(pos), len(neg))
		}
		if distinct(neg) != len(neg) {
			t.Errorf("%s: an original serves twice", config)
		}
		for _, g := range posGroups { // the positives' own sources come first
			if !slices.Contains(neg, g) {
				t.Errorf("%s: source %s of a positive is no negative though others are", config, g)
			}
		}
	}
	pos, _ := rowsOf(c, FlawedFictions, schemas.VariantPatched)
	for _, config := range []string{Counterfactual, Resolved} {
		same, _ := rowsOf(c, config, schemas.VariantPatched)
		if diff := cmp.Diff(pos, same); diff != "" {
			t.Errorf("%s has other positives than flawed_fictions: %s", config, diff)
		}
	}
	// A source is in one split, and the few-shot pool's are nowhere else.
	split := map[string]string{}
	for _, r := range c.Rows {
		if old, ok := split[r.GroupID]; ok && old != r.Split {
			t.Errorf("source %s stands in %s and %s", r.GroupID, old, r.Split)
		}
		split[r.GroupID] = r.Split
	}
	shots, _ := rowsOf(c, FewShot, "")
	if len(shots) != 2*set.FewShot {
		t.Errorf("%d few-shot rows, want %d", len(shots), 2*set.FewShot)
	}
	// Counterfactuals that do not exist are reported, not padded.
	if !slices.ContainsFunc(c.Shortfalls, func(s Shortfall) bool { return s.Config == Counterfactual && s.Got < s.Wanted }) {
		t.Errorf("no shortfall of counterfactuals is reported: %+v", c.Shortfalls)
	}
}

func TestChooseDoesNotDependOnOrder(t *testing.T) {
	drafts, stories := world(40)
	want := Choose(drafts, stories, settings(), 3)
	for range 5 {
		rand.Shuffle(len(drafts), func(i, j int) { drafts[i], drafts[j] = drafts[j], drafts[i] })
		rand.Shuffle(len(stories), func(i, j int) { stories[i], stories[j] = stories[j], stories[i] })
		if diff := cmp.Diff(want, Choose(drafts, stories, settings(), 3)); diff != "" {
			t.Fatal(diff)
		}
	}
	set := settings()
	set.ShortTarget = 10
	if cmp.Equal(Choose(drafts, stories, set, 3), Choose(drafts, stories, set, 4)) {
		t.Error("another seed draws the same rows")
	}
}

func TestChooseTargets(t *testing.T) {
	drafts, stories := world(60)
	set := settings()
	set.FewShot, set.ShortTarget, set.LongTarget = 0, 25, 10_000
	c := Choose(drafts, stories, set, 1)
	_, groups := rowsOf(c, FlawedFictions, schemas.VariantPatched)
	if len(groups) != 25 || distinct(groups) != 25 {
		t.Errorf("%d positives from %d sources; a second fact of a source must wait for other sources", len(groups), distinct(groups))
	}
	if !slices.ContainsFunc(c.Shortfalls, func(s Shortfall) bool { return s.Config == Long && s.What == "positives" }) {
		t.Errorf("the missed target of the long tier is not reported: %+v", c.Shortfalls)
	}
}

// Quotas are filled with what fits, each draft counted once and a source's
// second one last; what is not there is reported and nothing else takes its place.
func TestQuotas(t *testing.T) {
	var drafts, stories []Item
	for i := range 40 { // two drafts a source: of one kind near, of another far
		g := fmt.Sprintf("c:%02d", i)
		words := 1200 + 500*i // up to 20,700
		stories = append(stories, Item{ID: g, GroupID: g, Public: true, Words: words})
		kind := []string{"continuity", "continuity", "continuity", "out_of_character"}[i%4]
		for k, far := range []int{20, 900} {
			d := &schemas.Difficulty{Words: far, Sites: 1 + i%3, Explicit: i%2 == 0, Voice: []string{"narrator", "speech"}[k]}
			drafts = append(drafts, Item{ID: fmt.Sprintf("%s#%d", g, k), GroupID: g, Public: true, Words: words, Kind: kind, Difficulty: d, Variants: []string{schemas.VariantPatched}})
		}
	}
	set := settings()
	set.FewShot, set.LongMaxWords = 0, 32_000
	set.Quotas = []schemas.QuotaRecipe{
		{Tier: "long", Positives: 8, Kind: "out_of_character"},
		{Tier: "long", Positives: 5, Kind: "continuity", MinWords: 4000, MaxWords: 8000, MinDistance: 500},
		{Tier: "long", Positives: 3, Kind: "continuity", Fact: "inferred", Voice: "speech", MaxSites: 2, MaxWords: 3999},
		{Tier: "long", Positives: 9, Kind: "factual"},
		{Tier: "short", Positives: 4},
	}
	sort := func(c Choices) map[string]int {
		n := map[string]int{}
		for _, r := range c.Rows {
			i := slices.IndexFunc(drafts, func(d Item) bool { return d.ID == r.ID })
			if r.Config != Long || i < 0 {
				continue
			}
			d := drafts[i]
			n["all"]++
			switch {
			case d.Kind == "out_of_character":
				n["out_of_character"]++
			case d.Words >= 4000 && d.Words <= 8000 && d.Difficulty.Words >= 500:
				n["long and far"]++
			case d.Words < 4000 && d.Difficulty.Voice == "speech" && !d.Difficulty.Explicit && d.Difficulty.Sites <= 2:
				n["inferred speech"]++
			default:
				n["other"]++
			}
		}
		return n
	}
	set.LongTarget = 8 + 5 + 3 + 9 + 7
	c := Choose(drafts, stories, set, 1)
	if diff := cmp.Diff(map[string]int{"all": 21, "out_of_character": 8, "long and far": 5, "inferred speech": 1, "other": 7}, sort(c)); diff != "" {
		t.Error(diff)
	}
	var short []string
	for _, s := range c.Shortfalls {
		if s.Config == Long || s.Config == FlawedFictions && s.What != schemas.VariantOriginal {
			short = append(short, s.String())
		}
	}
	if diff := cmp.Diff([]string{"flawed_fictions: wanted 4 positives, got 0",
		"flawed_fictions_long: wanted 3 positives, kind continuity, words up to 3999, sites up to 2, fact inferred, voice speech, got 1",
		"flawed_fictions_long: wanted 9 positives, kind factual, got 0"}, short); diff != "" {
		t.Error(diff)
	}
	_, groups := rowsOf(c, Long, schemas.VariantPatched)
	if distinct(groups) != len(groups) {
		t.Errorf("%d positives from %d sources, of 40", len(groups), distinct(groups))
	}
	// Without a target all that fits no quota comes too; a quota is never passed.
	set.LongTarget = 0
	if n := sort(Choose(drafts, stories, set, 1)); n["out_of_character"] != 8 || n["long and far"] != 5 || n["inferred speech"] != 1 || n["other"] != 40*2-20-6-1 {
		t.Errorf("without a target: %v", n)
	}
	slices.Reverse(drafts)
	if !cmp.Equal(c.Rows, Choose(drafts, stories, func() schemas.SplitsRecipe { set.LongTarget = 32; return set }(), 1).Rows) {
		t.Error("the order of the drafts matters")
	}
}

func TestTierLimitsAreInclusive(t *testing.T) {
	c := chooser{set: settings()}
	for words, want := range map[int][2]bool{1199: {true, false}, 1200: {false, true}, 3999: {false, true}, 4000: {false, false}} {
		it := Item{Words: words}
		if got := [2]bool{c.inTier(it, false), c.inTier(it, true)}; got != want {
			t.Errorf("%d words: short, long = %v, want %v", words, got, want)
		}
	}
}

func distinct(s []string) int {
	s = slices.Clone(s)
	slices.Sort(s)
	return len(slices.Compact(s))
}

func draft() schemas.Draft {
	variant := func(name, s string) *schemas.Variant {
		v := &schemas.Variant{Name: name, Text: s, TextHash: schemas.HashText(s), Words: text.Words(s), Edits: []schemas.Edit{}}
		ix := text.NewIndex(s)
		for _, r := range text.Sentences(s) {
			sp := ix.Span(r)
			v.Sentences = append(v.Sentences, schemas.Bounds{Start: sp.Start, End: sp.End})
		}
		return v
	}
	orig := variant(schemas.VariantOriginal, "Zoë had a red 👒 hat. It rained. The red hat dripped.")
	orig.Edits = nil
	return schemas.Draft{
		StoryID: "c:hat", GroupID: "c:hat", MatchID: "c:hat#01234567", SourceWords: 10,
		Original: *orig,
		Patched:  variant(schemas.VariantPatched, "Zoë had a red 👒 hat. It rained. The blue hat dripped."),
		Fact:     &schemas.Fact{Statement: "The hat is red", Counterfactual: "The hat is blue"},
		Flaw:     &schemas.Flaw{Kind: "continuity", Subtype: "appearance_mismatches", Class: "colour", Sites: 1},
		Errors:   []schemas.GoldSentence{{Sentence: 2}}, Contradicted: []schemas.GoldSentence{{Sentence: 0}},
		Explanation: "The hat was red.",
	}
}

func TestRow(t *testing.T) {
	d := draft()
	e, err := Row(d, Choice{Config: FlawedFictions, Split: Test, Variant: schemas.VariantPatched, Verification: schemas.VerifiedRules}, Stamp{Version: "1.0.0", Canary: "c", Engine: "rules"})
	if err != nil {
		t.Fatal(err)
	}
	if e.Label != schemas.LabelError || e.ContError != 1 || len(e.ErrorSpans) != 1 || e.ErrorSpans[0].Text != "The blue hat dripped." {
		t.Errorf("positive row: %+v", e)
	}
	for _, s := range slices.Concat(e.ErrorSpans, e.ContradictedSpans) {
		if err := s.Check(e.Story); err != nil {
			t.Error(err)
		}
	}
	if want := "<li>The blue hat dripped.</li>"; e.ContErrorLines != want {
		t.Errorf("cont_error_lines = %q, want %q", e.ContErrorLines, want)
	}
	o, err := Row(d, Choice{Config: FlawedFictions, Split: Test, Variant: schemas.VariantOriginal}, Stamp{})
	if err != nil {
		t.Fatal(err)
	}
	if o.Label != schemas.LabelConsistent || o.ErrorSpans == nil || len(o.ErrorSpans) != 0 || *o.NegativeKind != "original" || o.ContErrorExpl != "NA" {
		t.Errorf("original row: %+v", o)
	}
	if o.MatchID != d.GroupID || o.ExampleID != schemas.ExampleID(d.GroupID, "original") {
		t.Errorf("an original belongs to every match of its group: %s, %s", o.MatchID, o.ExampleID)
	}
	st, err := Original(schemas.Story{StoryID: "c:hat", GroupID: "c:hat", Text: d.Original.Text, TextHash: d.Original.TextHash, Words: 10}, Choice{Variant: schemas.VariantOriginal}, Stamp{})
	if err != nil || !cmp.Equal(st.Sentences, o.Sentences) || st.ExampleID != o.ExampleID {
		t.Errorf("a story's own row differs from the draft's original: %v\n%s", err, cmp.Diff(st, o))
	}
}

func TestRowRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*schemas.Draft)
		want  string
	}{
		"no such variant": {func(d *schemas.Draft) { d.Patched = nil }, "no patched variant"},
		"hash":            {func(d *schemas.Draft) { d.Patched.TextHash = "00" }, "text_hash"},
		"not frozen": {func(d *schemas.Draft) {
			d.Patched.Text += "\r\n"
			d.Patched.TextHash = schemas.HashText(d.Patched.Text)
		}, "not frozen"},
		"no gold":             {func(d *schemas.Draft) { d.Errors = nil }, "needs error and contradicted"},
		"sentence past end":   {func(d *schemas.Draft) { d.Errors[0].Sentence = 3 }, "past the last"},
		"sentence past text":  {func(d *schemas.Draft) { d.Patched.Sentences[2].End = 900 }, "sentence 2"},
		"sentences backwards": {func(d *schemas.Draft) { d.Errors = []schemas.GoldSentence{{Sentence: 2}, {Sentence: 1}} }, "out of order"},
		"no fact":             {func(d *schemas.Draft) { d.Fact = nil }, "no fact"},
	} {
		t.Run(name, func(t *testing.T) {
			d := draft()
			c.spoil(&d)
			_, err := Row(d, Choice{Variant: schemas.VariantPatched}, Stamp{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("err = %v, want one that says %q", err, c.want)
			}
		})
	}
}

// TestTerms: what the terms of a corpus keep back gets into no config, and is
// set aside with its reason.
func TestTerms(t *testing.T) {
	var drafts, stories []Item
	for i := range 12 {
		id, terms := fmt.Sprintf("s%02d", i), []string{schemas.RedistributeText, schemas.RedistributeDerived, schemas.RedistributeIDs, ""}[i%4]
		source := schemas.Source{Corpus: "c" + terms, Redistribute: terms}
		drafts = append(drafts, DraftItem(schemas.Draft{MatchID: id, GroupID: id, SourceWords: 900, Source: source,
			Patched: &schemas.Variant{Name: schemas.VariantPatched}}, schemas.VerifiedRules))
		stories = append(stories, StoryItem(schemas.Story{StoryID: id, GroupID: id, Words: 900, Source: source}))
	}
	set := schemas.DefaultRecipe().Splits
	set.FewShot = 1
	got := Choose(drafts, stories, set, 1)
	if len(got.Rows) == 0 {
		t.Fatal("no rows")
	}
	for _, r := range got.Rows {
		var n int
		if _, err := fmt.Sscanf(r.ID, "s%d", &n); err != nil || n%4 != 0 {
			t.Errorf("row %+v of a text that stays back", r)
		}
	}
	reasons := map[string]int{}
	for _, d := range got.Dropped {
		reasons[d.ID+" "+d.Reason]++
	}
	if len(reasons) != 9 || reasons["s01 terms"] != 2 { // once as a draft, once as a story
		t.Errorf("set aside: %v", reasons)
	}
}
