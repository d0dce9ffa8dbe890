// SPDX-License-Identifier: Apache-2.0

// Command realmodel asks a small real model in every form of answer that stages
// use, over the embedded tales, and prints what became of each call. run.sh
// starts the model. It fails when a call is not classified: a model may be
// poor, the run may not.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/llm/openai"
	"github.com/retcon-bench/retcon/internal/llm/store"
)

// form is a call without its types.
type form struct {
	stage string
	do    func(ctx context.Context, c *llm.Client, text string) (llm.Outcome, string, error)
}

func of[Out any](c llm.Call[string, Out]) form {
	return form{c.Stage, func(ctx context.Context, client *llm.Client, text string) (llm.Outcome, string, error) {
		r, err := c.Do(ctx, client, text, 0)
		why := r.Reason
		if why == "" {
			why = strings.Join(r.Notes, "; ")
		}
		return r.Outcome, why, err
	}}
}

func tmpl(text string) *llm.Template {
	t, err := llm.ParseTemplate("realmodel.tmpl", text)
	if err != nil {
		panic(err)
	}
	return t
}

type cast struct {
	Names []string `json:"names"`
}

var castSchema = json.RawMessage(`{"type":"object","properties":{"names":{"type":"array","items":{"type":"string"}}},"required":["names"],"additionalProperties":false}`)

const castPrompt = "{{delimit \"story\" .}}\nList the characters of the story. Answer with JSON only, like {\"names\": [\"Mara\"]}."

func plain(r *llm.Reply, _ string) (string, error) { return r.Plain() }

func names(r *llm.Reply, _ string) (cast, error) {
	var c cast
	err := r.JSON(&c)
	return c, err
}

var cold = llm.Params{Temperature: llm.Float(0), MaxTokens: 160}

func with(p llm.Params, o llm.Params) llm.Params { return p.Over(o) }

var forms = []form{
	of(llm.Call[string, string]{Stage: "plain", Params: cold, Decode: plain,
		Template: tmpl("{{delimit \"story\" .}}\nTell the story above in two sentences.")}),
	of(llm.Call[string, string]{Stage: "tag", Params: cold,
		Template: tmpl("{{delimit \"story\" .}}\nWrite a new last sentence for the story, between <ending> and </ending>."),
		Decode:   func(r *llm.Reply, _ string) (string, error) { return r.Tag("ending") }}),
	of(llm.Call[string, string]{Stage: "tag, opened by the prompt", Params: cold,
		Template: tmpl("{{delimit \"story\" .}}\nWrite a new last sentence for the story and close the tag.\n<ending>"),
		Decode:   func(r *llm.Reply, _ string) (string, error) { return r.Tag("ending") }}),
	of(llm.Call[string, cast]{Stage: "json", Params: cold, Template: tmpl(castPrompt), Decode: names}),
	of(llm.Call[string, cast]{Stage: "json, by schema", Params: with(cold, llm.Params{Schema: castSchema}), Template: tmpl(castPrompt), Decode: names}),
	of(llm.Call[string, []llm.List]{Stage: "lists", Params: cold,
		Template: tmpl("{{delimit \"story\" .}}\nWhich facts of the story contradict each other? Answer with JSON: {\"name_errors\": [], \"time_errors\": []}; each item is {\"quote\": \"...\"}."),
		Decode: func(r *llm.Reply, _ string) ([]llm.List, error) {
			return r.Lists(llm.ListSpec{Keys: []string{"name_errors", "time_errors"}, Evidence: []string{"quote"}})
		}}),
	of(llm.Call[string, map[string]string]{Stage: "headings", Params: cold,
		Template: tmpl("{{delimit \"story\" .}}\nDoes the story contain a continuity error? Write a line \"Reason:\" and a line \"Answer:\" (yes or no)."),
		Decode:   func(r *llm.Reply, _ string) (map[string]string, error) { return r.Sections("Reason", "Answer") }}),
	of(llm.Call[string, string]{Stage: "too few tokens", Params: with(cold, llm.Params{MaxTokens: 12}), Decode: plain,
		Template: tmpl("{{delimit \"story\" .}}\nTell the story above at length.")}),
	of(llm.Call[string, string]{Stage: "too long a prompt", Params: cold, Decode: plain,
		Render: func(text string) ([]llm.Message, error) {
			return []llm.Message{{Role: "user", Content: strings.Repeat(text+"\n\n", 100)}}, nil
		}}),
}

func main() {
	path := flag.String("store", "", "answer store")
	n := flag.Int("texts", 6, "how many texts")
	flag.Parse()
	if err := run(context.Background(), *path, *n, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, path string, n int, w io.Writer) error {
	models := []llm.Model{{Name: "smollm2-135m", Schema: true, Context: 0, Concurrency: 2, TimeoutSeconds: 300}}
	cfg := openai.FromEnv(os.Getenv)
	cfg.Models = models
	e, err := openai.New(cfg)
	if err != nil {
		return err
	}
	defer e.Close()
	opts := llm.Options{Engine: e, Models: models}
	if path != "" {
		st, err := store.Open(ctx, path, store.Options{})
		if err != nil {
			return err
		}
		defer st.Close()
		opts.Store = st
	}
	c, err := llm.New(opts)
	if err != nil {
		return err
	}
	began := time.Now()
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "form\tcalls\toutcomes\tfor example")
	for _, f := range forms {
		counts := map[llm.Outcome]int{}
		example := ""
		for _, text := range texts[:min(n, len(texts))] {
			o, why, err := f.do(ctx, c, text)
			if err != nil {
				return fmt.Errorf("%s: %w", f.stage, err)
			}
			if o == "" || o == llm.Pending {
				return fmt.Errorf("%s: a call without a class: %q %s", f.stage, o, why)
			}
			counts[o]++
			if why != "" {
				example = why
			}
		}
		var all []string
		for o, k := range counts {
			all = append(all, fmt.Sprintf("%s %d", o, k))
		}
		slices.Sort(all)
		if len(example) > 70 {
			example = example[:70] + "…"
		}
		fmt.Fprintf(tw, "%s\t%d\t%s\t%s\n", f.stage, min(n, len(texts)), strings.Join(all, ", "), example)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	var asked, prompt, answer int
	for _, r := range c.Report() {
		asked += r.Asked
		prompt += r.Usage.PromptTokens
		answer += r.Usage.CompletionTokens
	}
	_, err = fmt.Fprintf(w, "%d requests, %d prompt tokens, %d answer tokens, %.0f s\n", asked, prompt, answer, time.Since(began).Seconds())
	return err
}

// texts are beginnings of small tales of our own.
var texts = []string{
	"The lamp in the tower was red. Every evening Mara climbed the ninety steps and lit it. One night the wind took her hat, and Tom, who mended nets below, brought it back. “You light it, I mend under it,” he said. From then on they shared their bread.",
	"Old Ruiz kept three goats on the hill: Salt, Pepper and Thyme. In the dry year he sold Salt to the miller. The other two cried all night. In the morning he walked to the mill, paid back the money, and carried Salt home on his shoulders.",
	"There was a clock in our village that nobody wound. It stood at ten past four, and people agreed to call any time they liked ten past four. When the new teacher mended it, the baker was late for the first time in his life.",
	"Ada found a map in a bottle. It showed the beach on which she stood, the bottle, and a cross under her own feet. She dug until noon and found a second bottle. In it was a note: keep the map, and thank you for the hole.",
	"The giant had promised the king to carry the bell over the mountain. He set it down only once, to drink. A bird built her nest in it, and the giant, who was a careful man, waited on the mountain until the young ones flew.",
	"My grandmother could whistle rain. She did it twice: once for my uncle's barley, and once, by mistake, at a wedding. After that she hummed. On the day she died it rained for an hour although the sky was blue.",
}
