// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"strings"
	"testing"

	"github.com/retcon-bench/retcon/schemas"
)

// Every check fails what it is for, by its name, and passes the good prompt.
func TestChecks(t *testing.T) {
	const good = "Write a story about Ada, a lamplighter in a harbour town whose lamps go out one by one, and of the boy she finds asleep beneath the last of them. Aim for 8,000 to 10,000 words."
	type variant struct {
		prompt string
		change func(p *schemas.Prompt, s *schemas.Story)
	}
	same := func(*schemas.Prompt, *schemas.Story) {}
	cases := map[string][]variant{
		"":       {{good, same}, {good + " Let a “quoted” line stand.", same}, {strings.Replace(good, "Ada", "Zoë", 1), same}},
		"length": {{"Write a story. Aim for 8,000 to 10,000 words.", same}, {strings.Repeat(good+" ", 80), same}},
		"language": {{good + " " + strings.Repeat("от начала до конца и снова ", 6), same},
			{"Schreibe eine Geschichte über einen Lampenwärter, der nachts keine Ruhe findet, weil jemand das Öl stiehlt: 8,000 to 10,000 words.", same},
			{good, func(p *schemas.Prompt, s *schemas.Story) { s.Language = "zh" }}},
		"markup": {{strings.Replace(good, "Ada", "<i>Ada</i>", 1), same}, {strings.Replace(good, "Ada", "Ada &amp; Tom", 1), same}, {strings.Replace(good, "Ada", "[WP] Ada", 1), same},
			{strings.Replace(good, "Ada", "Ada <newline>", 1), same}, {strings.Replace(good, "Ada", "[Illustration: a lamp] Ada", 1), same}, {good + " See https://example.org/x.", same},
			{strings.Replace(good, "Ada", "[insert name]", 1), same}, {strings.ReplaceAll(good, ",", " ,") + " She did n't know .", same}, {good + "\n\n-----------", same}},
		"mentions":  {{strings.Replace(good, "Write", "For r/WritingPrompts: write", 1), same}, {good + " This Wikipedia plot is yours.", same}, {good + " EDIT: thanks.", same}, {good + " It is from the FairytaleQA dataset.", same}},
		"offensive": {{good + " The story is porn.", same}},
		"word_target": {{strings.Replace(good, "8,000 to 10,000 words", "some words", 1), same}, {good + " Keep it under 500 words.", same}, {good + " It has 8,000 to 10,000 words.", same},
			{strings.Replace(good, "8,000 to 10,000", "800 to 1,000", 1), same}},
		"not_a_story": {{strings.Replace(good, "a story", "a poem", 1), func(p *schemas.Prompt, s *schemas.Story) {
			s.Kind, s.Text = schemas.KindQuery, "Write a poem about Ada."
		}}},
		"unanswerable": {{good + " Tell me your favourite.", same}, {good + " Use the attached file.", same}},
		"broken":       {{strings.TrimSuffix(good, ".") + " and", same}, {strings.Replace(good, "Ada", "(Ada", 1), same}},
		"trivial":      {{"Write a long story of your own about some people and what they do in it. Aim for 8,000 to 10,000 words.", same}},
		"leak":         {{"Write this story: " + lamp + " Aim for 8,000 to 10,000 words.", same}},
		"quotes_source": {{good + " " + strings.SplitN(lamp, "\n\n", 3)[0] + " " + strings.SplitN(lamp, "\n\n", 3)[1], func(p *schemas.Prompt, s *schemas.Story) {
			s.Source.Redistribute = schemas.RedistributeDerived
		}}},
		"famous_name": {{strings.Replace(good, "Ada", "Harry Potter", 1), same}},
		"long":        {{strings.Replace(good, "Ada", "Ada"+strings.Repeat(", who walked the pier at night with the can of oil", 60), 1), same}},
	}
	for _, c := range Checks {
		if len(cases[c.Name]) == 0 {
			t.Errorf("check %s: no case", c.Name)
		}
		if c.Doc == "" {
			t.Errorf("check %s: no doc", c.Name)
		}
	}
	for name, list := range cases {
		for _, v := range list {
			s := story("lamp", "tales", schemas.KindStory, schemas.RedistributeText, lamp)
			p := schemas.Prompt{Language: "en", Prompt: v.prompt, TaskType: schemas.TaskGeneration, MinWords: 8000, MaxWords: 10000, Engine: "model", Source: s.Source}
			v.change(&p, &s)
			got := ""
			sub := newSubject(&p, read(&s), 60)
			for _, c := range Checks {
				if why := c.fault(sub); why != "" {
					got = c.Name
					break
				}
			}
			if got != name {
				t.Errorf("fails %q, want %q: %s", got, name, clip(v.prompt))
			}
		}
	}
}

func TestSharedRuns(t *testing.T) {
	const source = "One two three four five six seven eight nine ten. Eleven twelve."
	for _, c := range []struct {
		prompt         string
		words, longest int
	}{
		{"nothing of it", 0, 0},
		{"one two three four five six seven", 0, 0},
		{"ONE, two; three four — five six seven eight!", 8, 8},
		{"he said: two three four five six seven eight nine ten eleven twelve", 11, 11},
	} {
		if w, l := sharedRuns(source, c.prompt, false); w != c.words || l != c.longest {
			t.Errorf("%q: %d words, longest %d; want %d, %d", c.prompt, w, l, c.words, c.longest)
		}
	}
	if w, _ := sharedRuns("从前有一个点灯人住在海边", "他说从前有一个点灯人啊", true); w != 8 {
		t.Errorf("ideographs: %d", w)
	}
}

func TestUncap(t *testing.T) {
	for in, want := range map[string]string{
		"ONCE upon a time": "Once upon a time", "ONCE UPON A TIME there": "Once upon a time there", "I was there": "I was there", "A KING lived": "A king lived",
		"There was": "There was", "FAR, far from here": "Far, far from here", "A king": "A king", "“IN THE days": "“In the days", "O king": "O king", "NASA": "NASA",
	} {
		if got := uncap(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}
