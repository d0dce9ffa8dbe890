// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/schemas"
)

// scored answers pairs from a table of (I, J); others are neutral.
type scored map[[2]int]PairScore

func (scored) Name() string { return "table" }

func (s scored) ScorePairs(_ context.Context, pairs []Pair) ([]PairScore, error) {
	out := make([]PairScore, len(pairs))
	for k, p := range pairs {
		sc, ok := s[[2]int{p.I, p.J}]
		if !ok {
			sc = PairScore{0.1, 0.8, 0.1}
		}
		out[k] = sc
	}
	return out, nil
}

func textOf(sentences ...string) Text {
	story := strings.Join(sentences, " ")
	return Text{ID: "rc-x", TextHash: schemas.HashText(story), Story: story}
}

func TestEntailment(t *testing.T) {
	story := textOf("The cat slept.", "It rained.", "The dog ran.", "The cat was awake.")
	for _, c := range []struct {
		name   string
		scores scored
		want   []int // contradicted, error; nil = no error
	}{
		{"no pair contradicts", scored{}, nil},
		{"argmax decides, not a threshold", scored{{0, 1}: {0.3, 0.3, 0.4}}, []int{0, 1}},
		{"a high but second class is none", scored{{0, 1}: {0.02, 0.5, 0.48}}, nil},
		{"a tie of classes is none", scored{{0, 1}: {0.1, 0.45, 0.45}}, nil},
		{"the most probable pair", scored{{0, 1}: {0, 0.4, 0.6}, {1, 3}: {0, 0.1, 0.9}, {2, 3}: {0, 0.3, 0.7}}, []int{1, 3}},
		{"of equal ones the first by i, then j", scored{{1, 2}: {0, 0.1, 0.9}, {0, 3}: {0, 0.1, 0.9}, {0, 2}: {0, 0.1, 0.9}}, []int{0, 2}},
	} {
		p, err := Entailment(context.Background(), c.scores, story)
		if err != nil {
			t.Fatal(err)
		}
		label := schemas.LabelConsistent
		if c.want != nil {
			label = schemas.LabelError
		}
		if got := append(p.ContradictedSentences, p.ErrorSentences...); p.Label != label || !cmp.Equal(got, c.want) {
			t.Errorf("%s: %s %v, want %s %v", c.name, p.Label, got, label, c.want)
		}
		if c.want != nil && (p.ErrorLines[0] == "" || p.Confidence == nil) {
			t.Errorf("%s: no lines or confidence: %+v", c.name, p)
		}
	}
	// A row's frozen sentences are used where there are any, and pairs come in
	// blocks, whatever their number.
	var long []string
	for i := range 60 {
		long = append(long, fmt.Sprintf("Sentence %d.", i))
	}
	big := textOf(long...)
	seen, last := 0, [2]int{-1, -1}
	if err := EachPair(big, func(ps []Pair) error {
		for _, p := range ps {
			if at := [2]int{p.I, p.J}; at[0] < last[0] || at[0] == last[0] && at[1] <= last[1] || p.I >= p.J {
				t.Fatalf("pair %v after %v", at, last)
			} else {
				last = at
			}
		}
		seen += len(ps)
		return nil
	}); err != nil || seen != 60*59/2 {
		t.Errorf("%d pairs, %v", seen, err)
	}
	cutRow := Text{ID: "rc-y", Story: "Zoë ran. She hid.", Sentences: []schemas.Bounds{{Start: 0, End: 8}, {Start: 9, End: 17}}}
	if got, err := cutRow.cut(); err != nil || !cmp.Equal(got, []string{"Zoë ran.", "She hid."}) {
		t.Errorf("cut: %q, %v", got, err)
	}
}

// nli is a loopback server that finds "not" contradictory, in either form.
type nli struct {
	*httptest.Server
	asked   atomic.Int64
	largest atomic.Int64
	before  func(n int64, w http.ResponseWriter) bool // true: it has answered
	answer  func(n int) string                        // "" = as it should
}

func newNLI(t *testing.T) *nli {
	s := &nli{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			fmt.Fprint(w, `{"model_id":"org/nli","model_sha":"0123456789abcdef","max_client_batch_size":8}`)
			return
		}
		if n := s.asked.Add(1); s.before != nil && s.before(n, w) {
			return
		}
		var body struct{ Inputs []json.RawMessage }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		s.largest.Store(max(s.largest.Load(), int64(len(body.Inputs))))
		if s.answer != nil {
			fmt.Fprint(w, s.answer(len(body.Inputs)))
			return
		}
		var out [][]map[string]any
		for _, in := range body.Inputs {
			c := 0.05
			if bytes.Contains(in, []byte(" not ")) {
				c = 0.9
			}
			out = append(out, []map[string]any{{"label": "CONTRADICTION", "score": c}, {"label": "neutral", "score": 0.95 - c}, {"label": "entailment", "score": 0.05}})
		}
		_ = json.NewEncoder(w).Encode(out)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *nli) scorer(t *testing.T, cfg PairServerConfig) *PairServer {
	t.Helper()
	cfg.URL = s.URL + cfg.URL
	cfg.firstWait, cfg.Log = time.Millisecond, slog.New(slog.DiscardHandler)
	p, err := NewPairServer(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var nliStory = textOf("The cat slept.", "It rained.", "The dog ran.", "The cat did not sleep.", "All was well.", "They ate.")

func TestPairServer(t *testing.T) {
	for _, path := range []string{"/predict", "/models/nli"} {
		s := newNLI(t)
		scorer := s.scorer(t, PairServerConfig{URL: path})
		p, err := Entailment(context.Background(), scorer, nliStory)
		if err != nil || p.Label != schemas.LabelError || !cmp.Equal(p.ErrorSentences, []int{3}) || !cmp.Equal(p.ContradictedSentences, []int{0}) {
			t.Errorf("%s: %+v, %v", path, p, err)
		}
		want, name := int64(15), "text-classification" // 6 sentences
		if path == "/predict" {
			want, name = 8, "org/nli@0123456789ab"
		}
		if s.largest.Load() != want || scorer.Name() != name {
			t.Errorf("%s: batches of %d, want %d; named %s, want %s", path, s.largest.Load(), want, scorer.Name(), name)
		}
	}
}

func TestPairServerFaults(t *testing.T) {
	fail := func(status int, header, body string) func(int64, http.ResponseWriter) bool {
		return func(n int64, w http.ResponseWriter) bool {
			if n > 2 {
				return false
			}
			if header != "" {
				w.Header().Set("Retry-After", header)
			}
			w.WriteHeader(status)
			fmt.Fprint(w, body)
			return true
		}
	}
	always := func(f func(int64, http.ResponseWriter) bool) func(int64, http.ResponseWriter) bool {
		return func(_ int64, w http.ResponseWriter) bool { return f(1, w) }
	}
	one := func(s string) func(int) string {
		return func(n int) string { return "[" + strings.TrimSuffix(strings.Repeat(s+",", n), ",") + "]" }
	}
	for _, c := range []struct {
		name   string
		before func(int64, http.ResponseWriter) bool
		answer func(int) string
		labels []string
		class  llm.StopClass // "" = it ends well
		want   string        // in the error
	}{
		{name: "overloaded, then well", before: fail(429, "0", `{"error":"Model is overloaded","error_type":"overloaded"}`)},
		{name: "loading, then well", before: fail(503, "", `{"error":"Model is loading","estimated_time":20}`)},
		{name: "the connection breaks, then well", before: func(n int64, w http.ResponseWriter) bool {
			if n > 2 {
				return false
			}
			c, _, _ := w.(http.Hijacker).Hijack()
			c.Close()
			return true
		}},
		{name: "overloaded for ever", before: always(fail(429, "", `{"error":"Model is overloaded"}`)), class: llm.StopNetwork, want: "Model is overloaded"},
		{name: "come back tomorrow", before: always(fail(503, "86400", "")), class: llm.StopNetwork, want: "24h"},
		{name: "no such route", before: always(fail(404, "", "nothing here")), class: llm.StopSetting, want: "nothing here"},
		{name: "the key is repeated", before: always(fail(401, "", "bad key sk-canary-42")), class: llm.StopSetting, want: "[secret]"},
		{name: "redirect", before: func(_ int64, w http.ResponseWriter) bool {
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(307)
			return true
		}, class: llm.StopSetting, want: "307"},
		{name: "not JSON", answer: func(int) string { return "<html>" }, class: llm.StopSetting, want: "no list of labels"},
		{name: "too few results", answer: func(int) string { return `[[{"label":"neutral","score":1}]]` }, class: llm.StopSetting, want: "1 results"},
		{name: "raw outputs", answer: one(`[{"label":"contradiction","score":3.2},{"label":"neutral","score":-1},{"label":"entailment","score":0}]`), class: llm.StopSetting, want: "softmax"},
		{name: "independent sigmoids", answer: one(`[{"label":"contradiction","score":0.9},{"label":"neutral","score":0.8},{"label":"entailment","score":0.1}]`), class: llm.StopSetting, want: "softmax"},
		{name: "numbered labels", answer: one(`[{"label":"LABEL_2","score":1}]`), class: llm.StopSetting, want: "LABEL_2"},
		{name: "another model", answer: one(`[{"label":"POSITIVE","score":1}]`), class: llm.StopSetting, want: "POSITIVE"},
		{name: "two classes", answer: one(`[{"label":"not_entailment","score":1}]`), class: llm.StopSetting, want: "not_entailment"},
		{name: "numbered labels, told", answer: one(`[{"label":"LABEL_0","score":0.9}]`), labels: []string{"contradiction", "neutral", "entailment"}},
		{name: "first class only", answer: one(`{"label":"contradiction","score":0.9}`)},
		{name: "a label twice", answer: one(`[{"label":"neutral","score":0.5},{"label":"neutral","score":0.5}]`), class: llm.StopSetting, want: "twice"},
		{name: "a class without score", answer: one(`[{"label":"neutral"}]`), class: llm.StopSetting, want: "without label or score"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newNLI(t)
			s.before, s.answer = c.before, c.answer
			scorer := s.scorer(t, PairServerConfig{URL: "/predict", Key: "sk-canary-42", Labels: c.labels, Tries: 3})
			p, err := Entailment(context.Background(), scorer, nliStory)
			if c.class == "" {
				if err != nil || p.Label != schemas.LabelError {
					t.Errorf("%+v, %v", p, err)
				}
				return
			}
			if llm.StopClassOf(err) != c.class || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "rc-x") || strings.Contains(err.Error(), "canary") {
				t.Errorf("err = %v (class %q), want %q with %q", err, llm.StopClassOf(err), c.class, c.want)
			}
		})
	}
	t.Run("too large a batch is halved", func(t *testing.T) {
		s := newNLI(t)
		s.Config.Handler = limitTo(s.Config.Handler, 3)
		p, err := Entailment(context.Background(), s.scorer(t, PairServerConfig{URL: "/x"}), nliStory)
		if err != nil || !cmp.Equal(p.ErrorSentences, []int{3}) || s.largest.Load() > 3 {
			t.Errorf("%+v, %v, batches of %d", p, err, s.largest.Load())
		}
	})
	t.Run("a single pair too large", func(t *testing.T) {
		s := newNLI(t)
		s.Config.Handler = limitTo(s.Config.Handler, 0)
		if _, err := Entailment(context.Background(), s.scorer(t, PairServerConfig{URL: "/x"}), nliStory); llm.StopClassOf(err) != llm.StopSetting {
			t.Errorf("err = %v", err)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		s := newNLI(t)
		ctx, cancel := context.WithCancel(context.Background())
		s.before = func(int64, http.ResponseWriter) bool { cancel(); return false }
		if _, err := Entailment(ctx, s.scorer(t, PairServerConfig{URL: "/predict"}), nliStory); err == nil || ctx.Err() == nil {
			t.Errorf("err = %v", err)
		}
	})
	for _, bad := range []PairServerConfig{
		{URL: "localhost:8080"}, {URL: "ftp://x/y"}, {URL: "http://x/predict", Form: "grpc"}, {URL: "http://x/predict", Key: "a b"},
		{URL: "http://x/predict", Labels: []string{"neutral", "neutral", "entailment"}}, {URL: "http://x/predict", Labels: []string{"yes", "no"}},
	} {
		if _, err := NewPairServer(context.Background(), bad); llm.StopClassOf(err) != llm.StopSetting {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// limitTo answers 413 to more than n pairs, as text-embeddings-inference does.
func limitTo(h http.Handler, n int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var buf bytes.Buffer
		_, _ = buf.ReadFrom(r.Body)
		var body struct{ Inputs []json.RawMessage }
		if json.Unmarshal(buf.Bytes(), &body) == nil && len(body.Inputs) > n {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			fmt.Fprintf(w, `{"error":"batch size %d > maximum allowed batch size %d","error_type":"Validation"}`, len(body.Inputs), n)
			return
		}
		r.Body = http.NoBody
		r2 := r.Clone(r.Context())
		r2.Body = readCloser{bytes.NewReader(buf.Bytes())}
		h.ServeHTTP(w, r2)
	})
}

type readCloser struct{ *bytes.Reader }

func (readCloser) Close() error { return nil }

// What WritePairs writes, with scores filled in, is what ReadPairScores reads.
func TestPairFile(t *testing.T) {
	story := textOf("A cat slept.", "It rained.", "No cat slept.")
	var written bytes.Buffer
	if err := WritePairs(&written, story); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for l := range strings.Lines(written.String()) {
		var p PairLine
		if err := json.Unmarshal([]byte(l), &p); err != nil {
			t.Fatal(err)
		}
		e, n, c := 0.1, 0.8, 0.1
		if *p.I == 0 && *p.J == 2 {
			n, c = 0.1, 0.8
		}
		p.Entailment, p.Neutral, p.Contradiction = &e, &n, &c
		b, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		lines = append([]string{string(b)}, lines...) // any order
	}
	f, err := ReadPairScores(strings.NewReader("\ufeff"+strings.Join(lines, "\r\n")), "scores.jsonl", "deberta")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Entailment(context.Background(), f, story)
	if err != nil || p.Prompt != "deberta" || !cmp.Equal(p.ErrorSentences, []int{2}) || !cmp.Equal(p.ContradictedSentences, []int{0}) {
		t.Errorf("%+v, %v", p, err)
	}
	for name, c := range map[string]struct {
		story Text
		want  string
	}{
		"another text": {Text{ID: story.ID, TextHash: "other", Story: story.Story}, "text_hash differs"},
		"unknown text": {Text{ID: "rc-z", Story: story.Story}, "no pair of this text"},
		"more pairs":   {Text{ID: story.ID, TextHash: story.TextHash, Story: story.Story + " More."}, "lack sentences 0 and 3"},
	} {
		if _, err := Entailment(context.Background(), f, c.story); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for line, want := range map[string]string{
		`{"example_id":"a","i":0,"j":1}`:                                                                "no contradiction score",
		`{"example_id":"a","i":1,"j":1,"entailment":0,"neutral":0,"contradiction":1}`:                   "0 <= i < j",
		`{"example_id":"a","j":1,"entailment":0,"neutral":0,"contradiction":1}`:                         "no i",
		`{"i":0,"j":1,"entailment":0,"neutral":0,"contradiction":1}`:                                    "no example_id",
		`{"example_id":"a","i":0,"j":1,"entailment":-3,"neutral":0,"contradiction":5}`:                  "softmax",
		`{"example_id":"a","i":0,"j":1,"contradiction":1}`:                                              "all of entailment",
		`{"example_id":"a","i":0,"j":1,"entailment":0,"neutral":0,"contradiction":1,"contradiction":0}`: "stands twice",
		`{"example_id":"a","i":0,"j":1,"entailment":0,"neutral":0,"contradiction":NaN}`:                 "invalid character",
		lines[0] + "\n" + lines[0]:                                                                      "line 1",
		lines[0] + "\n" + strings.Replace(lines[1], story.TextHash, strings.Repeat("0", 64), 1):         "text_hash",
		"\n\n": "no scores",
	} {
		_, err := ReadPairScores(strings.NewReader(line), "s.jsonl", "x")
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "s.jsonl") {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}

// What was kept is not asked again, whatever order texts come in; a changed
// text is asked anew.
func TestKeepPairs(t *testing.T) {
	s := newNLI(t)
	var kept bytes.Buffer
	ask := func(earlier *PairFile, story Text) schemas.Prediction {
		t.Helper()
		p, err := Entailment(context.Background(), KeepPairs(s.scorer(t, PairServerConfig{URL: "/predict"}), earlier, &kept), story)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	first := ask(nil, nliStory)
	// Stopped in the middle: half of the lines are there.
	lines := slices.Collect(strings.Lines(kept.String()))
	half, err := ReadPairScores(strings.NewReader(strings.Join(lines[:7], "")), "kept.jsonl", "x")
	if err != nil || len(lines) != 15 {
		t.Fatal(err, len(lines))
	}
	before := s.asked.Load()
	if again := ask(half, nliStory); !cmp.Equal(first, again) || s.asked.Load() != before+1 {
		t.Errorf("%d requests for 8 open pairs; %s", s.asked.Load()-before, cmp.Diff(first, again))
	}
	whole, err := ReadPairScores(strings.NewReader(strings.Join(lines, "")), "kept.jsonl", "x")
	if err != nil {
		t.Fatal(err)
	}
	before = s.asked.Load()
	if again := ask(whole, nliStory); !cmp.Equal(first, again) || s.asked.Load() != before {
		t.Errorf("%d requests for nothing; %s", s.asked.Load()-before, cmp.Diff(first, again))
	}
	changed := nliStory
	changed.TextHash = "other"
	if ask(whole, changed); s.asked.Load() == before {
		t.Error("scores of another text were taken")
	}
}

func TestLexicalPairs(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"The red fox slept in the barn.", "The red fox never slept in the barn.", true},
		{"The widow had three sons at home.", "The widow's five sons stayed home with the widow.", true},
		{"The old king rode his horse to town.", "The young king rode his horse to town.", true},
		{"The red fox slept in the barn.", "The red fox slept in the barn.", false},
		{"It rained.", "It did not rain.", false}, // too little in common
		{"The fox slept in the barn.", "Nobody came to the wedding of the miller.", false},
	} {
		s, err := LexicalPairs{}.ScorePairs(context.Background(), []Pair{{Premise: c.a, Hypothesis: c.b}})
		if err != nil || s[0].Contradicts() != c.want || s[0].check() != nil {
			t.Errorf("%s / %s: %+v, %v", c.a, c.b, s, err)
		}
	}
}

// FuzzPairs: no answer of a server and no file of scores breaks the readers,
// and what they take are probabilities.
func FuzzPairs(f *testing.F) {
	for _, s := range []string{
		`[[{"label":"contradiction","score":0.9},{"label":"neutral","score":0.1}],[{"label":"LABEL_2","score":1}]]`,
		`[{"label":"entailment","score":0.5},{"label":"neutral","score":0.5}]`, `[[null],[{}]]`, `[[],[]]`, `{"error":"x"}`, `null`,
		`{"example_id":"a","i":0,"j":2,"entailment":0,"neutral":0.5,"contradiction":0.5}`,
	} {
		f.Add([]byte(s))
	}
	server, err := NewPairServer(context.Background(), PairServerConfig{URL: "http://127.0.0.1:1/x", Labels: []string{"contradiction", "neutral", "entailment"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if scores, err := server.parse(b, 2); err == nil && len(scores) != 2 {
			t.Errorf("%d scores of 2 pairs", len(scores))
		} else if err == nil {
			for _, s := range scores {
				if s.check() != nil {
					t.Errorf("%+v: %v", s, s.check())
				}
			}
		}
		if file, err := ReadPairScores(bytes.NewReader(b), "s.jsonl", "x"); err == nil {
			for _, text := range file.texts {
				for _, p := range text.pairs {
					if p.score.check() != nil || p.i >= p.j {
						t.Errorf("%+v", p)
					}
				}
			}
		}
	})
}
