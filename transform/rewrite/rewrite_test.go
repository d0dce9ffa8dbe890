// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retcon-bench/retcon/ingest/tales"
	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/llm/llmtest"
	"github.com/retcon-bench/retcon/internal/llm/rules"
	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform"
)

// config is the default recipe's section with the paper's target.
func config() Config {
	r := schemas.DefaultRecipe().Prompts
	r.Target = PaperTarget
	return Config{r}
}

func story(id, corpus, kind, redistribute, s string, meta ...string) schemas.Story {
	st := schemas.Story{StoryID: corpus + ":" + id, GroupID: corpus + ":" + id, Kind: kind, Language: "en", Text: s, TextHash: schemas.HashText(s), Words: text.Words(s),
		Source: schemas.Source{Corpus: corpus, ID: id, Licence: "CC0-1.0", Redistribute: redistribute}}
	if isZhText(s) {
		st.Language = "zh"
	}
	for i := 0; i+1 < len(meta); i += 2 {
		st.Meta = append(st.Meta, schemas.KeyValue{Key: meta[i], Value: meta[i+1]})
	}
	return st
}

// make1 runs the step on one source. reason is "" or why it was set aside.
func make1(t testing.TB, cfg Config, engine llm.Generator, s schemas.Story) (m *Made, reason, detail string) {
	t.Helper()
	client, err := llm.New(llm.Options{Engine: engine})
	if err != nil {
		t.Fatal(err)
	}
	pass := transform.NewPass(7, StepName, s.StoryID, client, nil)
	outs, dropped, pending, err := transform.Apply(context.Background(), Step(cfg), pass, s)
	if err != nil || pending > 0 {
		t.Fatalf("%s: %v, %d pending", s.StoryID, err, pending)
	}
	if len(outs) == 1 {
		return &outs[0], "", ""
	}
	if len(dropped) == 0 {
		t.Fatalf("%s: neither a prompt nor a reason", s.StoryID)
	}
	d := dropped[len(dropped)-1]
	return nil, d.Reason, d.Detail
}

// checkElements checks every element of a prompt against its source.
func checkElements(t testing.TB, p schemas.Prompt, s schemas.Story) {
	t.Helper()
	if len(p.Elements) == 0 {
		t.Errorf("%s: no elements", p.StoryID)
	}
	for _, e := range p.Elements {
		in := s.Text
		if e.In == sourcePrompt {
			in = usablePrompt(meta(&s, sourcePrompt))
		}
		if err := e.Check(in); err != nil {
			t.Errorf("%s: %s: %v", p.StoryID, e.Role, err)
		}
	}
}

func embedded(t testing.TB) []schemas.Story {
	t.Helper()
	var out []schemas.Story
	for item, err := range tales.Corpus.Open(context.Background(), "", tales.Corpus.Defaults) {
		if err != nil {
			t.Fatal(err)
		}
		b, err := item.Load(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b.Stories...)
	}
	if len(out) < 10 {
		t.Fatalf("%d embedded tales", len(out))
	}
	return out
}

// Every tale gives a prompt or a reason; elements stand where they say, the
// prompt holds the passages and asks for the length once; a second run gives
// the same.
func TestRulesOnTales(t *testing.T) {
	cfg := config()
	tasks := map[string]int{}
	texts := map[string]bool{}
	made := 0
	all := embedded(t)
	for _, s := range all {
		m, _, _ := make1(t, cfg, rules.New(), s)
		again, _, _ := make1(t, cfg, rules.New(), s)
		if diff := cmp.Diff(m, again); diff != "" {
			t.Fatalf("%s: two runs differ: %s", s.StoryID, diff)
		}
		if m == nil {
			continue
		}
		made++
		p := m.Prompt
		tasks[p.TaskType]++
		checkElements(t, p, s)
		if p.PromptID != schemas.NewPromptID(p.GroupID, p.TaskType) || p.ID != schemas.PromptNumber(p.PromptID) || p.PromptHash != schemas.HashText(p.Prompt) || p.TextHash != s.TextHash {
			t.Errorf("%s: ids or hashes are not the prompt's: %+v", s.StoryID, p)
		}
		if n := strings.Count(p.Prompt, "8,000"); n != 1 {
			t.Errorf("%s: the length stands %d times in\n%s", s.StoryID, n, p.Prompt)
		}
		if strings.ContainsAny(p.Prompt, "{}") {
			t.Errorf("%s: a brace is left in\n%s", s.StoryID, p.Prompt)
		}
		if texts[p.Prompt] {
			t.Errorf("%s: the same prompt as another tale's", s.StoryID)
		}
		texts[p.Prompt] = true
	}
	if made*10 < len(all)*8 || len(tasks) != 4 {
		t.Errorf("%d prompts of %d tales, tasks %v", made, len(all), tasks)
	}
}

const lamp = `Once upon a time a lamplighter named Ada lived in a harbour town where the lamps went out one by one, and nobody knew why. Every evening she climbed the hill with her ladder and her can of oil.

One night Ada found a boy asleep beneath the seventh lamp. The boy told her that his name was Tom and that he had walked from the hills to look for his brother. Ada gave him bread, and she took him to the house of the harbour master.

The harbour master did not believe a word of it. He ordered Tom to leave the town before the tide turned, and he locked the gate of the harbour behind him. Ada followed the boy along the shore with her lantern, and there they saw a ship without a light.

The captain of the ship had bought the oil of every lamp from the harbour master himself. Tom climbed on board while the sailors slept, and he found his brother tied to the mast. Ada cut the rope with the knife that she used for her wicks.

The harbour master ran down to the shore and struck the great bell, but the people of the town had followed the light of the lantern. They caught him on the pier, and they made him give back every drop of oil that he had stolen.

From that night on the seven lamps burned until morning. Tom and his brother stayed in the town, and each of them carried one end of the ladder up the hill.`

const lampZh = `从前，海边的小城里住着一个名叫阿达的点灯人。每天傍晚，阿达都扛着梯子、提着油壶走上山坡，把七盏路灯一盏一盏点亮。

一天夜里，阿达在第七盏灯下发现了一个熟睡的男孩。男孩告诉阿达，自己叫小汤，从山里走来寻找失散的哥哥。阿达给了男孩面包，把男孩带到港务长的家里。

港务长一个字也不相信。港务长命令小汤在退潮之前离开小城，还锁上了港口的大门。阿达提着灯笼沿着海岸追上男孩，两个人在那里看见了一艘没有灯火的船。

船长从港务长手里买走了所有路灯的灯油。小汤趁水手们睡着的时候爬上船，发现哥哥被绑在桅杆上。阿达用剪灯芯的小刀割断了绳子。

港务长跑到岸边敲响了大钟，可是城里的人们已经跟着灯笼的光赶来了。人们在码头上抓住了港务长，逼港务长交出偷来的每一滴灯油。

从那天夜里起，七盏路灯一直亮到天明。小汤和哥哥留在了小城，每天傍晚一人扛着梯子的一头走上山坡。`

// Each task of one story, in both languages.
func TestTasks(t *testing.T) {
	for _, c := range []struct{ name, text, length string }{{"en", lamp, "8,000"}, {"zh", lampZh, "8000"}} {
		s := story("lamp-"+c.name, "tales", schemas.KindStory, schemas.RedistributeText, c.text)
		r := read(&s)
		offers := r.offers(0)
		for _, task := range schemas.Tasks {
			if offers[task] == nil {
				t.Errorf("%s: the story offers no %s", c.name, task)
				continue
			}
			cfg := config()
			cfg.Tasks = []schemas.Count{{Name: task, N: 1}}
			m, reason, detail := make1(t, cfg, rules.New(), s)
			if m == nil {
				t.Errorf("%s, %s: %s: %s", c.name, task, reason, detail)
				continue
			}
			p := m.Prompt
			if p.TaskType != task || p.Language != c.name || !strings.Contains(p.Prompt, c.length) {
				t.Errorf("%s: %s in %s:\n%s", task, p.TaskType, p.Language, p.Prompt)
			}
			checkElements(t, p, s)
			roles := map[string]int{}
			for _, e := range p.Elements {
				roles[e.Role]++
				if (e.Role == "opening" || e.Role == "ending" || e.Role == "premise") && !strings.Contains(p.Prompt, e.Text) {
					t.Errorf("%s: the %s is not in the prompt", task, e.Role)
				}
			}
			want := map[string]string{schemas.TaskGeneration: "premise", schemas.TaskContinuation: "opening", schemas.TaskExpansion: "outline", schemas.TaskCompletion: "ending"}[task]
			if roles[want] == 0 || task == schemas.TaskExpansion && roles["outline"] < leastBeats || task == schemas.TaskCompletion && roles["opening"] != 1 {
				t.Errorf("%s, %s: elements %v", c.name, task, roles)
			}
			if task == schemas.TaskGeneration && strings.Contains(p.Prompt, "seven lamps burned until morning") {
				t.Error("a premise gives the ending away")
			}
		}
	}
}

// An outline goes through the whole story in its order.
func TestOutlineInOrder(t *testing.T) {
	s := story("lamp", "tales", schemas.KindStory, schemas.RedistributeText, lamp)
	at := -1
	for _, p := range read(&s).plot(8) {
		i := strings.Index(lamp, p.text)
		if i <= at {
			t.Errorf("%q stands at %d, the point before it at %d", p.text, i, at)
		}
		at = i
	}
	if at < len(lamp)*3/4 {
		t.Errorf("the last point stands at byte %d of %d", at, len(lamp))
	}
}

// Of a text that may not be passed on no long run is taken, from either engine.
func TestQuoteLimit(t *testing.T) {
	cfg := config()
	cfg.QuoteWords = 30
	for _, task := range schemas.Tasks {
		cfg.Tasks = []schemas.Count{{Name: task, N: 1}}
		s := story("lamp", "writingprompts", schemas.KindStory, schemas.RedistributeDerived, lamp)
		m, reason, _ := make1(t, cfg, rules.New(), s)
		if m == nil {
			if reason != "no_task" {
				t.Errorf("%s: %s", task, reason)
			}
			continue
		}
		if _, longest := sharedRuns(lamp, m.Prompt.Prompt, false); longest > 30 {
			t.Errorf("%s: %d words in a row:\n%s", task, longest, m.Prompt.Prompt)
		}
	}
	first := strings.SplitN(lamp, "\n\n", 2)[0]
	bad := &llmtest.Script{Func: func(req llm.Request) (llm.Answer, error) {
		if req.Stage == "prompts/assign" {
			return says("<task>continuation</task>"), nil
		}
		return says("<prompt>Continue this story: " + first + " Write about 8000–10000 words.</prompt><opening>" + first + "</opening>"), nil
	}}
	cfg.Tasks = nil
	if _, reason, _ := make1(t, cfg, bad, story("lamp", "longlamp", schemas.KindStory, schemas.RedistributeDerived, lamp)); reason != "quotes_source" {
		t.Errorf("a model's prompt with 45 words of a text in a row: %q", reason)
	}
	if m, reason, _ := make1(t, cfg, bad, story("lamp", "tales", schemas.KindStory, schemas.RedistributeText, lamp)); m == nil {
		t.Errorf("the same of a free text: %s", reason)
	}
}

func says(s string) llm.Answer { return llm.Answer{Text: s, FinishReason: "stop"} }

const goodPrompt = `Write a story about Ada, a lamplighter in a harbour town whose lamps go out one by one. One night she finds Tom, a boy from the hills, asleep beneath the seventh lamp, looking for his brother. Explore trust and what a town owes to strangers, with scenes on the hill, in the harbour master's house and aboard a ship without a light. About 8000–10000 words.`

// What a model may answer, good and bad, and what becomes of it.
func TestModel(t *testing.T) {
	good := "<prompt>\n" + goodPrompt + "\n</prompt>\n<premise>One night Ada found a boy asleep beneath the seventh lamp.</premise>\n<character>his name was Tom</character>"
	cases := []struct {
		name, assign, write, judge string
		reason                     string // "" for a prompt
	}{
		{"good", "<task>generation</task><reason>A situation.</reason>", good, "<verdict>keep</verdict>", ""},
		{"good with thinking and a fence", "<think>hm</think><task> Generation. </task>", "```\n" + good + "\n```", "<verdict>**Keep**</verdict>", ""},
		{"typographic quote", "<task>generation</task>", strings.Replace(good, "One night Ada found a boy", "one night  Ada found a boy", 1), "<verdict>keep</verdict>", ""},
		{"nothing to write from", "<task>none</task><reason>A list.</reason>", good, "", "unsuitable"},
		{"no task of ours", "<task>summary</task>", good, "", "parse_failed"},
		{"no tag", "generation", good, "", "parse_failed"},
		{"refusal", "<task>generation</task>", "I'm sorry, but I can't help with that.", "", "refusal"},
		{"empty", "<task>generation</task>", "", "", "empty"},
		{"no prompt", "<task>generation</task>", "Here you are: a nice prompt.", "", "parse_failed"},
		{"passages invented", "<task>generation</task>", "<prompt>" + goodPrompt + "</prompt><premise>The dragon ate every clock in Vienna.</premise>", "", "ungrounded"},
		{"no passages", "<task>generation</task>", "<prompt>" + goodPrompt + "</prompt>", "", "ungrounded"},
		{"another length", "<task>generation</task>", strings.Replace(good, "8000–10000", "1500", 1), "", "word_target"},
		{"no length", "<task>generation</task>", strings.Replace(good, " About 8000–10000 words.", "", 1), "", "word_target"},
		{"two lengths", "<task>generation</task>", strings.Replace(good, "about Ada", "of 500 words about Ada", 1), "", "word_target"},
		{"names the corpus", "<task>generation</task>", strings.Replace(good, "Write a story", "From WritingPrompts: write a story", 1), "", "mentions"},
		{"markup", "<task>generation</task>", strings.Replace(good, "Ada, a", "<b>Ada</b>, a", 1), "", "markup"},
		{"the whole story", "<task>continuation</task>", "<prompt>Continue: " + lamp + " Write about 8000–10000 words.</prompt><opening>One night Ada found a boy asleep beneath the seventh lamp.</opening>", "", "leak"},
		{"another language", "<task>generation</task>", "<prompt>从前，海边的小城里住着一个名叫阿达的点灯人，请写一个故事，全文约8000至10000字。</prompt><character>his name was Tom</character>", "", "language"},
		{"judged bad", "<task>generation</task>", good, "<verdict>drop</verdict><reason>Trivial.</reason>", "judged_bad"},
		{"no verdict", "<task>generation</task>", good, "<verdict>maybe</verdict>", "parse_failed"},
	}
	for _, c := range cases {
		script := &llmtest.Script{Func: func(req llm.Request) (llm.Answer, error) {
			switch req.Stage {
			case "prompts/assign":
				return says(c.assign), nil
			case "prompts/rewrite":
				return says(c.write), nil
			case "prompts/judge":
				return says(c.judge), nil
			}
			return llm.Answer{}, fmt.Errorf("stage %s", req.Stage)
		}}
		cfg := config()
		cfg.Judge = true
		s := story("lamp", "tales", schemas.KindStory, schemas.RedistributeText, lamp)
		m, reason, detail := make1(t, cfg, script, s)
		if reason != c.reason {
			t.Errorf("%s: set aside for %q (%s), want %q", c.name, reason, detail, c.reason)
		}
		if m == nil {
			continue
		}
		checkElements(t, m.Prompt, s)
		if m.Prompt.Engine != "model" || m.Prompt.Prompt != goodPrompt || len(m.Prompt.Elements) != 2 || m.Core != goodPrompt {
			t.Errorf("%s: %+v", c.name, m.Prompt)
		}
	}
}

// The prompts that ask a model hold the source, the bounds and the language.
func TestTemplates(t *testing.T) {
	for _, c := range []struct{ text, has string }{{lamp, "You write prompts for authors"}, {lampZh, "你为长篇故事的作者撰写题目"}} {
		var asked []string
		script := &llmtest.Script{Func: func(req llm.Request) (llm.Answer, error) {
			for _, m := range req.Messages {
				asked = append(asked, m.Content)
			}
			if req.Stage == "prompts/assign" {
				return says("<task>completion</task>"), nil
			}
			return says("I can't help with that."), nil
		}}
		make1(t, config(), script, story("lamp", "wikiplots", schemas.KindStory, schemas.RedistributeDerived, c.text, "prompt", "A harbour town loses its lamps."))
		all := strings.Join(asked, "\n")
		for _, want := range []string{c.has, c.text, "10000", "A harbour town loses its lamps.", "60"} {
			if !strings.Contains(all, want) {
				t.Errorf("the prompts do not hold %q", clip(want))
			}
		}
		if strings.Contains(all, "<no value>") || strings.Contains(all, "{{") {
			t.Error("a template has a hole")
		}
	}
}

// A long source is shown in parts; the parts are its own.
func TestExcerpt(t *testing.T) {
	var b strings.Builder
	for i := range 400 {
		fmt.Fprintf(&b, "On day %d the miller went to the river and found another stone of the old bridge there. The water had carried it far.\n\n", i)
	}
	s := story("long", "tales", schemas.KindStory, schemas.RedistributeText, strings.TrimSpace(b.String()))
	w := &work{cfg: config(), r: read(&s), task: schemas.TaskExpansion}
	v := w.view()
	if !v.Cut || len(v.Source) > maxShown || !strings.Contains(v.Source, "On day 0 ") || !strings.Contains(v.Source, "On day 399 ") || !strings.Contains(v.Source, "[…] ") {
		t.Errorf("cut %v, %d bytes", v.Cut, len(v.Source))
	}
}
