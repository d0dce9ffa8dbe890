// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"

	"github.com/retcon-bench/retcon/schemas"
)

func testKey(t testing.TB) *Key {
	k := keyOf(t, millRow(), row("rc-clean", "clean", millStory[:12], nil, nil), row("rc-two", "two", millStory[1:9], []int{5}, []int{0}))
	k.Release, k.Digest = "mill@1.0.0", "d1"
	return k
}

func source(ps ...schemas.Prediction) func(func(schemas.Prediction, error) bool) {
	return func(yield func(schemas.Prediction, error) bool) {
		for _, p := range ps {
			if !yield(p, nil) {
				return
			}
		}
	}
}

func pred(id, label string) schemas.Prediction {
	return schemas.Prediction{ExampleID: id, Model: "m", Prompt: "cot", Outcome: "ok", Label: label}
}

// TestBinding: what does not fit is a named error, or a count where allowed.
func TestBinding(t *testing.T) {
	key := testKey(t)
	good := []schemas.Prediction{pred("rc-mill", "error"), pred("rc-clean", "consistent"), pred("rc-two", "consistent")}
	with := func(f func(p *schemas.Prediction)) []schemas.Prediction {
		ps := slices.Clone(good)
		f(&ps[0])
		return ps
	}
	for _, c := range []struct {
		name    string
		preds   []schemas.Prediction
		say     string // in the error
		allow   Allow
		binding Binding
		acc     string // once allowed
	}{
		{"complete", good, "", Allow{}, Binding{Rows: 3, Bound: 3, Unchecked: 3}, "0.667"},
		{"missing", good[:2], "1 of 3 rows have none: rc-two of m, cot", Allow{Missing: true}, Binding{Rows: 3, Bound: 2, Missing: 1, Unchecked: 2}, "0.667"},
		{"unknown", append(with(func(*schemas.Prediction) {}), pred("rc-xyz", "error")), "1 of rows that test does not hold (another config or release?): rc-xyz (prediction 4)", Allow{Unknown: true}, Binding{Rows: 3, Bound: 3, Unknown: 1, Unchecked: 3}, "0.667"},
		{"doubled", append(with(func(*schemas.Prediction) {}), pred("rc-mill", "consistent")), "has one already (number repeats as samples): rc-mill of m, cot (prediction 4)", Allow{Doubled: true}, Binding{Rows: 3, Bound: 3, Doubled: 1, Unchecked: 3}, "0.667"},
		{"stale", with(func(p *schemas.Prediction) { p.TextHash = schemas.HashText("other") }), "text_hash differs): rc-mill of m, cot (prediction 1)", Allow{Stale: true}, Binding{Rows: 3, Bound: 3, Stale: 1, Unchecked: 2}, "0.333"},
		{"another digest", with(func(p *schemas.Prediction) { p.Digest = "d2" }), "another version of the data than mill@1.0.0 d1: rc-mill of m, cot (prediction 1) names d2", Allow{Release: true}, Binding{Rows: 3, Bound: 3, Release: 1, Unchecked: 3}, "0.667"},
		{"another release", with(func(p *schemas.Prediction) { p.Release = "mill@2.0.0" }), "names mill@2.0.0", Allow{Release: true}, Binding{Rows: 3, Bound: 3, Release: 1, Unchecked: 3}, "0.667"},
		{"a sample of one row alone", append(slices.Clone(good), func() schemas.Prediction { p := pred("rc-mill", "error"); p.Sample = 1; return p }()), "2 of 6 rows have none", Allow{Missing: true}, Binding{Rows: 6, Bound: 4, Missing: 2, Unchecked: 4}, "0.500"},
	} {
		ev, err := Evaluate(key, source(c.preds...), Options{})
		if c.say == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
		} else {
			var be *BindError
			if !errors.As(err, &be) || !strings.Contains(err.Error(), c.say) || be.Binding != c.binding {
				t.Errorf("%s: error %v\nbinding %+v", c.name, err, be)
			}
			if ev, err = Evaluate(key, source(c.preds...), Options{Allow: c.allow}); err != nil {
				t.Errorf("%s, allowed: %v", c.name, err)
				continue
			}
		}
		if ev.Binding != c.binding {
			t.Errorf("%s: binding %+v, want %+v", c.name, ev.Binding, c.binding)
		}
		if got := value(t, FlawedFictions.Score(ev.Sheets[0].Verdicts), "accuracy").String(); got != c.acc {
			t.Errorf("%s: accuracy %s, want %s", c.name, got, c.acc)
		}
	}
	if _, err := Evaluate(key, source(), Options{Allow: Allow{Missing: true}}); err == nil {
		t.Error("no predictions at all were scored")
	}
	if _, err := Evaluate(key, source(pred("rc-zzz", "error")), Options{Allow: Allow{Missing: true}}); err == nil || !strings.Contains(err.Error(), "rc-zzz") {
		t.Errorf("predictions of other rows alone: %v", err)
	}
}

// TestEvaluateOrder: order and workers change nothing, runs come sorted, and
// every scorer has its sheet.
func TestEvaluateOrder(t *testing.T) {
	key := testKey(t)
	var ps []schemas.Prediction
	for _, m := range []string{"b", "a"} {
		for s := range 3 {
			for _, it := range key.Items() {
				p := pred(it.ID, "error")
				p.Model, p.Sample = m, s
				p.ErrorLines, p.ContradictedLines = []string{"His blue cloak caught on"}, []string{redCloak}
				ps = append(ps, p)
			}
		}
	}
	ev, err := Evaluate(key, source(ps...), Options{Scorers: Scorers, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(ps)
	again, err := Evaluate(key, source(ps...), Options{Scorers: Scorers, Workers: 5})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, s := range ev.Sheets {
		got = append(got, fmt.Sprintf("%s %s %d", s.Run, s.Scorer.Name, len(s.Verdicts)))
		if !reflect.DeepEqual(s.Verdicts, again.Sheets[i].Verdicts) {
			t.Errorf("%s: another order gives other verdicts", s.Run)
		}
	}
	if want := []string{"a, cot default 9", "a, cot compat 9", "b, cot default 9", "b, cot compat 9"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// logs of one answer in each format. All must give the same verdict.
func oneAnswer(t *testing.T) map[Format][]byte {
	r := millRow()
	completion := said(blueCloak, redCloak, foundIt)
	js := func(v any) []byte {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return append(b, '\n')
	}
	line, err := schemas.AppendLine(nil, schemas.Prediction{
		ExampleID: r.ExampleID, TextHash: r.TextHash, Model: "m", Prompt: "cot", Outcome: "ok", Label: "error",
		ErrorLines: []string{blueCloak}, ContradictedLines: []string{redCloak}, Raw: completion, CompletionTokens: 7,
	})
	if err != nil {
		t.Fatal(err)
	}
	type m = map[string]any
	sample := m{
		"id": r.ExampleID, "epoch": 1, "input": "...", "target": "error", "metadata": m{"text_hash": r.TextHash},
		"output": m{
			"model": "m", "completion": completion,
			"choices": []any{m{"message": m{"role": "assistant", "content": []any{
				m{"type": "reasoning", "reasoning": "hm"}, m{"type": "text", "text": completion}}}, "stop_reason": "stop"}},
			"usage": m{"input_tokens": 9, "output_tokens": 7, "total_tokens": 16},
		},
		"scores": m{"x": m{"value": "C"}}, "events": []any{m{"nested": []any{1, m{}}}},
	}
	eval := m{"run_id": "r", "task": "flawed", "model": "m", "task_args": m{"prompt": "cot"}}
	return map[Format][]byte{
		FormatPredictions: line,
		FormatCompletions: js(m{"example_id": r.ExampleID, "text_hash": r.TextHash, "completion": completion, "model": "m", "prompt": "cot", "finish_reason": "stop", "completion_tokens": 7, "note": "kept out"}),
		FormatPublished: js(m{"example_id": r.ExampleID, "story": r.Story, "cont_error": 1.0, "cont_error_expl": "x", "cont_error_lines": "<li>" + blueCloak + "</li>",
			"contradicted_lines": "<li>" + redCloak + "</li>", "model": "m", "prompt": "cot"}),
		FormatLMEval: js(m{"doc_id": 0, "doc": m{"example_id": r.ExampleID, "story": r.Story, "label": "error"}, "target": "error",
			"arguments": m{"gen_args_0": m{"arg_0": "..."}}, "resps": []any{[]any{completion}}, "filtered_resps": []any{completion}, "filter": "none", "metrics": []any{"acc"}, "acc": 1}),
		FormatInspect: []byte(strings.ReplaceAll(string(js(m{"version": 2, "status": "success", "eval": eval, "plan": m{"steps": []any{}}, "results": nil, "samples": []any{sample}})), `,"`, ",\n  \"")),
	}
}

// TestFormats: the same answer in every form gives the same verdict, is
// recognised by itself, and binds to its text.
func TestFormats(t *testing.T) {
	key := testKey(t)
	files := oneAnswer(t)
	if len(files) != 5 {
		t.Fatal("a format is missing")
	}
	for format, file := range files {
		head := file[:min(len(file), 1<<16)]
		if got, err := DetectFormat(head); err != nil || got != format {
			t.Errorf("%s is taken for %q (%v)", format, got, err)
		}
		ev, err := Evaluate(key, ReadPredictions(bytes.NewReader(file), ReadOptions{Name: "f", Model: "m", Prompt: "cot"}), Options{Allow: Allow{Missing: true}})
		if err != nil {
			t.Errorf("%s: %v", format, err)
			continue
		}
		v := ev.Sheets[0].Verdicts[0]
		if ev.Sheets[0].Run != (Run{"m", "cot"}) || !v.Strict() || v.Outcome != "ok" || ev.Binding.Unchecked != 0 {
			t.Errorf("%s: run %v, verdict %+v, binding %+v", format, ev.Sheets[0].Run, v, ev.Binding)
		}
		other := row("rc-mill", "mill", append(slices.Clone(millStory), "The end."), []int{6, 8}, []int{1})
		if _, err := Evaluate(keyOf(t, other), ReadPredictions(bytes.NewReader(file), ReadOptions{}), Options{Allow: Allow{Missing: true}}); err == nil || !strings.Contains(err.Error(), "another text") {
			t.Errorf("%s, another text: %v", format, err)
		}
	}
}

// TestInspectZip reads .eval logs: packed with deflate as older versions
// do, with zstd as newer ones, finished or not.
func TestInspectZip(t *testing.T) {
	var log struct {
		Eval    json.RawMessage
		Samples []json.RawMessage
	}
	if err := json.Unmarshal(oneAnswer(t)[FormatInspect], &log); err != nil {
		t.Fatal(err)
	}
	for name, method := range map[string]uint16{"deflate": zip.Deflate, "zstd": methodZstd} {
		for _, start := range []string{"header.json", "_journal/start.json"} {
			var b bytes.Buffer
			z := zip.NewWriter(&b)
			z.RegisterCompressor(methodZstd, zstd.ZipCompressor())
			add := func(name string, data []byte) {
				w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: method})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := w.Write(data); err != nil {
					t.Fatal(err)
				}
			}
			add(start, []byte(`{"version":2,"eval":`+string(log.Eval)+`}`))
			add("samples/rc-mill_epoch_1.json", log.Samples[0])
			add("samples/rc-clean_epoch_1.json", bytes.ReplaceAll(log.Samples[0], []byte(`"id":"rc-mill"`), []byte(`"id":"rc-clean","error":{"message":"timeout"}`)))
			add("summaries.json", []byte(`[]`))
			if err := z.Close(); err != nil {
				t.Fatal(err)
			}
			var got []string
			for p, err := range ReadPredictions(&b, ReadOptions{}) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, p.ExampleID+" "+p.Model+" "+p.Prompt+" "+p.Outcome+" "+p.Label)
			}
			if want := []string{"rc-clean m cot api_error ", "rc-mill m cot ok error"}; !slices.Equal(got, want) {
				t.Errorf("%s, %s: %q, want %q", name, start, got, want)
			}
		}
	}
}

// TestLMEvalRepeats: repeats are samples, further filters are the same answers.
func TestLMEvalRepeats(t *testing.T) {
	in := `{"doc_id":3,"doc":{"example_id":"rc-a"},"resps":[["yes","no","?"]],"filter":"strict"}
{"doc_id":3,"doc":{"example_id":"rc-a"},"resps":[["yes","no","?"]],"filter":"loose"}
{"doc_id":4,"doc":{"id":9},"resps":[["yes"]],"filter":"strict"}
{"doc_id":5,"doc":{"example_id":"rc-b"},"resps":[[[-1.5,false]],[[-2,true]]],"filter":"none"}
`
	var got []string
	for p, err := range ReadPredictions(strings.NewReader(in), ReadOptions{Name: "samples.jsonl"}) {
		if err != nil {
			got = append(got, err.Error())
			continue
		}
		got = append(got, fmt.Sprintf("%s %d %s %s", p.ExampleID, p.Sample, p.Outcome, p.Label))
	}
	want := []string{
		"rc-a 0 ok error", "rc-a 1 ok consistent", "rc-a 2 parse_failed ",
		"samples.jsonl:3: doc has no example_id: was the task made from this data set?",
		"samples.jsonl:4: resps of rc-b is not one list of generated texts: only generate_until tasks can be scored",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestBadLines: a bad line is named and the rest is read; a broken file is an
// error that Allow.Bad does not swallow.
func TestBadLines(t *testing.T) {
	line := string(oneAnswer(t)[FormatPredictions])
	in := "\ufeff" + line + "\n" + `{"example_id":"rc-two","label":"yes","outcome":"ok"}` + "\n" + `{"example_id":` + "\n" +
		`{"example_id":"rc-two","outcome":"ok"}` + "\n" + `{"label":"error"}` + "\n" + `{"example_id":"rc-two","lable":"error"}` + "\n" +
		`{"example_id":"rc-two","label":"error","error_sentences":[3,null]}` + "\n" + `{"example_id":"rc-two","label":"error","error_lines":"one"}` + "\n" +
		`{"example_id":"rc-two","label":"error","completion_tokens":2147483648}` + "\n" +
		`{"example_id":"rc-clean","model":"m","prompt":"cot","label":"consistent"}` // no line end
	var errs []string
	n := 0
	for _, err := range ReadPredictions(strings.NewReader(in), ReadOptions{Name: "p.jsonl"}) {
		if err != nil {
			errs = append(errs, err.Error())
		} else {
			n++
		}
	}
	want := []string{
		`p.jsonl:3: label "yes" of rc-two is neither "error" nor "consistent"`,
		`p.jsonl:4: unexpected EOF`,
		`p.jsonl:5: rc-two has no label, but its outcome "ok" says that it was answered`,
		`p.jsonl:6: no example_id`,
		`p.jsonl:7: unknown field "lable"`,
		`p.jsonl:8: error_sentences has a null among its elements`,
		`p.jsonl:9: error_lines is a JSON string, want a list`,
		`p.jsonl:10: 2147483648 is no number of tokens, as rc-two has it`,
	}
	if n != 2 || !slices.Equal(errs, want) {
		t.Errorf("%d read, errors\n%s\nwant\n%s", n, strings.Join(errs, "\n"), strings.Join(want, "\n"))
	}
	read := func() func(func(schemas.Prediction, error) bool) {
		return ReadPredictions(strings.NewReader(in), ReadOptions{Name: "p.jsonl"})
	}
	key := testKey(t)
	if _, err := Evaluate(key, read(), Options{Allow: Allow{Missing: true}}); err == nil || err.Error() != want[0] {
		t.Errorf("the first bad line: %v", err)
	}
	ev, err := Evaluate(key, read(), Options{Allow: Allow{Missing: true, Bad: true}})
	if err != nil || ev.Binding.Bad != 8 || ev.Binding.Missing != 1 {
		t.Errorf("allowed: %v, %+v", err, ev)
	}

	broken := io.MultiReader(strings.NewReader(line), iotest.ErrReader(errors.New("disk gone")))
	_, err = Evaluate(key, ReadPredictions(broken, ReadOptions{Format: FormatPredictions}), Options{Allow: Allow{Missing: true, Bad: true}})
	if err == nil || !strings.Contains(err.Error(), "disk gone") {
		t.Errorf("broken file: %v", err)
	}
	for in, say := range map[string]string{
		"": "no predictions", " \n": "no predictions", "PAR1....": "Parquet", "example_id,label\n": "name the format", `{"a":1}`: "name the format",
		`{"version":2,"status":"success","eval":{"model":"m"},"samples":[{"id":`: "unexpected EOF",
		`{"version":2,"status":"success","eval":{"model":"m"}}`:                  "no samples",
		"PK\x03\x04nonsense": "zip", "[{}]": "array", "\x1f\x8b\x08": "unpack", "\xff\xfe{": "UTF-16",
		`{"version":2,"status":"success","eval":{"model":"m"},"samples":[{"id":"rc-mill","output":{"choices":"x"}}]}`: "1: output.choices is a JSON string, want a list",
	} {
		_, err := Evaluate(key, ReadPredictions(strings.NewReader(in), ReadOptions{}), Options{})
		if err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%q: %v, want %q", in, err, say)
		}
	}
}

func TestNewKeyRefuses(t *testing.T) {
	edit := func(f func(*schemas.Example)) schemas.Example {
		r := millRow()
		f(&r)
		return r
	}
	for say, rows := range map[string][]schemas.Example{
		"stands in the rows twice":  {millRow(), millRow()},
		"no example_id":             {edit(func(e *schemas.Example) { e.ExampleID = "" })},
		"neither":                   {edit(func(e *schemas.Example) { e.Label = "yes" })},
		"no sentences":              {edit(func(e *schemas.Example) { e.Sentences = nil })},
		"end is past the text":      {edit(func(e *schemas.Example) { e.Sentences[15].End++ })},
		"inside the one before it":  {edit(func(e *schemas.Example) { e.Sentences[3].Start = e.Sentences[2].Start })},
		"error_spans is empty":      {edit(func(e *schemas.Example) { e.ErrorSpans = nil })},
		"contradicted_spans: names": {edit(func(e *schemas.Example) { e.ContradictedSpans[0].Sentence = 16 })},
		"the rows were edited":      {edit(func(e *schemas.Example) { e.Story += "!" })},
		"no rows":                   {},
	} {
		if _, err := KeyOf("c", rows...); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%v, want %q", err, say)
		}
	}
	// A span that names no sentence stands for those it overlaps.
	k := keyOf(t, edit(func(e *schemas.Example) {
		e.ErrorSpans[0].Sentence = -1
		e.ErrorSpans[0].End = e.Sentences[7].Start + 1
	}))
	if got := k.Item("rc-mill").Gold[SideError]; !slices.Equal(got, []int{6, 7, 8}) {
		t.Errorf("gold %v", got)
	}
}

func FuzzReadPredictions(f *testing.F) {
	for _, file := range oneAnswer(&testing.T{}) {
		f.Add(file)
	}
	f.Add([]byte("PK\x03\x04"))
	key := testKey(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		for p, err := range ReadPredictions(bytes.NewReader(b), ReadOptions{}) {
			if err != nil {
				continue
			}
			if p.ExampleID == "" || usable(p.Outcome) != (p.Label != "") && p.Label == "" {
				t.Fatalf("%q gives %+v", b, p)
			}
			for _, s := range Scorers {
				s.Judge(key.Items()[0], &p)
			}
		}
	})
}
