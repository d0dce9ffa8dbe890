// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"strings"
	"testing"

	"github.com/retcon-bench/retcon/internal/llm/rules"
	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

// A request keeps all it asks for but the length; what is no request for a
// story, or cannot be answered, is set aside under the check's name.
func TestQueries(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("The keeper climbed the stair and looked out over the water, where no ship had come for a year. ", 12))
	cases := []struct {
		query  string
		reason string
		task   string
		has    []string // in the prompt
		not    []string
	}{
		{query: "Write a 2500-word ghost story in the first person, set in a lighthouse, for readers of twelve.",
			task: schemas.TaskGeneration, has: []string{"Write an 8,000- to 10,000-word ghost story in the first person, set in a lighthouse, for readers of twelve."}, not: []string{"2500"}},
		{query: "Write a detective story featuring a locked-room murder in 2,800 words. The narrator is the culprit.",
			task: schemas.TaskGeneration, has: []string{"featuring a locked-room murder in 8,000 to 10,000 words. The narrator is the culprit."}, not: []string{"2,800"}},
		{query: "Please write a story about a beekeeper who loses her hearing. Approximately 3000 words.",
			task: schemas.TaskGeneration, has: []string{"Approximately 8,000 to 10,000 words."}},
		{query: "Write a novel about two brothers who find a map, told in letters to their mother, never naming the country.",
			task: schemas.TaskGeneration, has: []string{"told in letters to their mother, never naming the country.", "The story should be 8,000 to 10,000 words long."}},
		{query: "Write a story of at least 6,000 words about a lighthouse keeper and the fog that answers her.",
			task: schemas.TaskGeneration, has: []string{"at least 6,000 words", "8,000 to 10,000 words long"}},
		{query: "Write an anti-war story about a painter from Vienna. The story should be at least 20000 words long.",
			task: schemas.TaskGeneration, has: []string{"should be 8,000 to 10,000 words long."}, not: []string{"20000", "at least"}},
		{query: "Write a 9000 word story about the last ferry over a drying lake and the child who buys every ticket.", task: schemas.TaskGeneration, has: []string{"9000 word story"}, not: []string{"8,000"}},
		{query: "请写一篇关于老渔夫和他失踪的儿子的小说，第三人称，语言朴素，3000～4000字。", task: schemas.TaskGeneration, has: []string{"第三人称，语言朴素，8000至10000字"}, not: []string{"3000"}},
		{query: "Write a story with these sections:\n1. The keeper finds a boat.\n2. The boat is empty.\n3. The town denies it.\n4. The keeper rows out.", task: schemas.TaskExpansion, has: []string{"4. The keeper rows out."}},
		{query: "Continue this story in the same voice:\n\n" + long, task: schemas.TaskContinuation, has: []string{long, "Continue this story in the same voice:"}},
		{query: "You wake up every morning in the body of the person who wronged you last, and today it is your own.", task: schemas.TaskGeneration, has: []string{"You wake up every morning", "8,000"}},

		{query: "Write a poem about the sea in the voice of a drowned sailor who misses his garden.", reason: "not_a_story"},
		{query: "Write a screenplay for a ten-minute film about two sisters and a piano.", reason: "not_a_story"},
		{query: "Please help me write an outline for a novel about a courier in a flooded city.", reason: "not_a_story"},
		{query: "Write a story outline about a courier in a flooded city and the letter nobody signs.", reason: "not_a_story"},
		{query: "Design a character for a story about smugglers: background, appearance, three secrets.", reason: "not_a_story"},
		{query: "请写一篇以老唱片为主题的散文，加入几首八九十年代的曲目。", reason: "not_a_story"},
		{query: "请帮我完成一部玄幻修仙小说的详细大纲，主角是十六岁的山村少年。", reason: "not_a_story"},
		{query: "Write a story based on the attached picture and the notes in it.", reason: "unanswerable"},
		{query: "Please continue the story and give it a happy ending for both sisters.", reason: "unanswerable"},
		{query: "Write a 50-page novel about a man's quest for the meaning of life in a town named Dilivila.", reason: "word_target"},
		{query: "Write a story in three chapters of 500 words each and an epilogue of 200 words about a bridge.", reason: "word_target"},
		{query: "Write a 200 word story about a fox, an umbrella maker and the longest rain of the century.", reason: "word_target"},
		{query: "Write a short story about anything you want, whatever comes to your mind today.", reason: "unanswerable"},
		{query: "Write a story about love.", reason: "length"},
	}
	for _, c := range cases {
		s := story("q", "writingbench", schemas.KindQuery, schemas.RedistributeText, c.query)
		m, reason, detail := make1(t, config(), rules.New(), s)
		if reason != c.reason {
			got := ""
			if m != nil {
				got = m.Prompt.Prompt
			}
			t.Errorf("%s\n  set aside for %q (%s), want %q\n  %s", clip(c.query), reason, detail, c.reason, got)
		}
		if m == nil || c.reason != "" {
			continue
		}
		checkElements(t, m.Prompt, s)
		if m.Prompt.TaskType != c.task {
			t.Errorf("%s: task %s, want %s", clip(c.query), m.Prompt.TaskType, c.task)
		}
		for _, w := range c.has {
			if !strings.Contains(m.Prompt.Prompt, w) {
				t.Errorf("%q is not in\n%s", w, m.Prompt.Prompt)
			}
		}
		for _, w := range c.not {
			if strings.Contains(m.Prompt.Prompt, w) {
				t.Errorf("%q is in\n%s", w, m.Prompt.Prompt)
			}
		}
	}
}

// Requests that differ in their length alone have one core.
func TestCoreWithoutLength(t *testing.T) {
	cores := map[string]bool{}
	for _, n := range []string{"1000", "2,000", "10000", "20000"} {
		s := story("q"+n, "longbench_write", schemas.KindQuery, schemas.RedistributeText, "Write a "+n+"-word novel about a teenage heroine who grows up and ends up changing the world")
		m, reason, _ := make1(t, config(), rules.New(), s)
		if m == nil {
			t.Fatal(n, reason)
		}
		cores[m.Core] = true
	}
	if len(cores) != 1 {
		t.Errorf("cores %v", cores)
	}
}

func TestTargets(t *testing.T) {
	for q, want := range map[string][2]int{
		"a 500-word story": {500, 500}, "of 8,000 to 10,000 words": {8000, 10000}, "8000–10000 words": {8000, 10000}, "at least 6,000 words": {6000, 0},
		"no more than 900 words": {0, 900}, "about 2k words": {2000, 2000}, "8000-10000字": {8000, 10000}, "不少于3000字": {3000, 0}, "一万字左右": {10000, 10000}, "两千字以内": {0, 2000}, "1.5万字": {},
	} {
		ts := targets(q)
		if want == [2]int{} {
			continue
		}
		if len(ts) != 1 || ts[0].min != want[0] || ts[0].max != want[1] {
			t.Errorf("%s: %+v, want %v", q, ts, want)
		}
	}
	for _, q := range []string{"in other words", "a word with 3 people", "the 12 characters", "two pages of notes", "30字"} {
		for _, x := range targets(q) {
			if x.unit == "words" || x.unit == "字" {
				t.Errorf("%s: %+v", q, x)
			}
		}
	}
}

// Whatever a request is, asking for the long form loses nothing but lengths.
func FuzzAskLong(f *testing.F) {
	f.Add("Write a 500-word story about a fox.")
	f.Add("写一篇3000～4000字的小说")
	f.Add("at least 5000 words, no more than 6000 words")
	f.Fuzz(func(t *testing.T, q string) {
		q = text.Trim(text.Freeze(q))
		if q == "" {
			return
		}
		out, replaced, err := askLong(q, 8000, 10000, isZhText(q))
		if err != nil {
			return
		}
		if !replaced && !strings.HasPrefix(out, q) {
			t.Errorf("%q became %q", q, out)
		}
		if replaced {
			x := targets(q)[0]
			if !strings.HasSuffix(out, strings.TrimPrefix(q[x.at.End:], "左右")) {
				t.Errorf("%q became %q", q, out)
			}
		}
		withoutTargets(q)
		queryTask(q)
		noStory(q)
	})
}
