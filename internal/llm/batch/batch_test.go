// SPDX-License-Identifier: Apache-2.0

package batch_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/llm/batch"
	"github.com/retcon-bench/retcon/internal/llm/llmtest"
	"github.com/retcon-bench/retcon/internal/llm/replay"
	"github.com/retcon-bench/retcon/internal/llm/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// round is a batch engine in front of which stands what was imported.
type round struct {
	*batch.Engine
	st llm.Store
}

func (r round) Generate(ctx context.Context, req llm.Request) (llm.Answer, error) {
	if ctx.Err() == nil {
		if rec, ok, err := r.st.Get(ctx, req.Key()); ok || err != nil {
			return rec.Answer, err
		}
	}
	return r.Engine.Generate(ctx, req)
}

func TestContract(t *testing.T) {
	llmtest.Run(t, llmtest.Provider{
		New: func(t *testing.T, reqs []llm.Request, answer func(llm.Request) llm.Answer) llm.Generator {
			dir := t.TempDir()
			e := batch.New(nil)
			t.Cleanup(func() { e.Close() })
			st := &llm.MemStore{}
			byPrompt := map[string]llm.Answer{}
			for _, r := range reqs {
				if _, err := e.Generate(t.Context(), r); !errors.Is(err, llm.ErrPending) {
					t.Fatal(err)
				}
				byPrompt[r.Messages[1].Content] = answer(r)
			}
			file, out := filepath.Join(dir, "requests.jsonl"), filepath.Join(dir, "out.jsonl")
			if n, err := e.WriteRequests(t.Context(), file, st); n != len(reqs) || err != nil {
				t.Fatal(n, err)
			}
			if _, err := llmtest.AnswerBatch(file, out, func(c llmtest.Chat) llm.Answer { return byPrompt[c.Prompt()] }); err != nil {
				t.Fatal(err)
			}
			if rep, err := batch.Import(t.Context(), st, out); err != nil || rep.Missing != 0 || rep.Answered != len(reqs) {
				t.Fatal(rep, err)
			}
			return round{e, st}
		},
		Unknown: func(err error) bool { return errors.Is(err, llm.ErrPending) },
	})
}

func request(stage, text string) llm.Request {
	return llm.Request{Stage: stage, Model: "m", Params: llm.Params{Temperature: llm.Float(0)}, Messages: []llm.Message{{Role: "user", Content: text}}}
}

// asked makes a round of n requests and returns its file and the store.
func asked(t *testing.T, n int) (string, *store.Store) {
	t.Helper()
	dir := t.TempDir()
	st, err := store.Open(t.Context(), filepath.Join(dir, "answers.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	e := batch.New(nil)
	defer e.Close()
	for i := range n {
		if _, err := e.Generate(t.Context(), request("s", fmt.Sprint("q", i))); !errors.Is(err, llm.ErrPending) {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "requests.jsonl")
	if got, err := e.WriteRequests(t.Context(), path, st); got != n || err != nil {
		t.Fatal(got, err)
	}
	return path, st
}

func echo(c llmtest.Chat) llm.Answer {
	return llm.Answer{Text: "answer to " + c.Prompt(), FinishReason: "stop", Usage: llm.Usage{PromptTokens: 3, CompletionTokens: 2}}
}

func stored(t *testing.T, st *store.Store, text string) (llm.Record, bool) {
	t.Helper()
	rec, ok, err := st.Get(t.Context(), request("s", text).Key())
	if err != nil {
		t.Fatal(err)
	}
	return rec, ok
}

// The same round is the same file, in whatever order it was asked.
func TestRequestsFile(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	var first []byte
	for try := range 3 {
		e := batch.New([]llm.Model{{Name: "m", ID: "org/m"}})
		order := rand.New(rand.NewPCG(uint64(try), 1)).Perm(20)
		for _, i := range append(order, order[:5]...) { // some twice
			if _, err := e.Generate(t.Context(), request(fmt.Sprint("stage", i%2), fmt.Sprint("Zoë & <", i))); !errors.Is(err, llm.ErrPending) {
				t.Fatal(err)
			}
		}
		// A process that is killed here leaves nothing.
		if files, _ := os.ReadDir(tmp); len(files) > 0 && runtime.GOOS != "windows" {
			t.Errorf("%s has a name", files[0].Name())
		}
		path := filepath.Join(t.TempDir(), "sub", "requests.jsonl")
		if n, err := e.WriteRequests(t.Context(), path, nil); n != 20 || err != nil {
			t.Fatal(n, err)
		}
		e.Close()
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if try == 0 {
			first = b
		} else if !bytes.Equal(b, first) {
			t.Error("another order of asking made another file")
		}
	}
	line := string(first[:bytes.IndexByte(first, '\n')])
	if !strings.HasPrefix(line, `{"custom_id":"`) || !strings.HasSuffix(line, `","method":"POST","url":"/v1/chat/completions","body":{"messages":[{"content":"Zoë & <`+line[strings.Index(line, "<")+1:]) {
		t.Error(line)
	}
	e := batch.New(nil)
	path := filepath.Join(t.TempDir(), "requests.jsonl")
	if n, err := e.WriteRequests(t.Context(), path, nil); n != 0 || err != nil {
		t.Error(n, err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Error("an empty round wrote a file")
	}
}

// C41 and what else services do to the order and number of lines.
func TestImport(t *testing.T) {
	tooLong := &llm.CallError{Status: 400, Code: "context_length_exceeded", Message: "too long"}
	limited := &llm.CallError{Status: 429, Code: "rate_limit_exceeded", Message: "slow down"}
	answer := func(c llmtest.Chat) llm.Answer {
		switch c.Prompt() {
		case "q1":
			return llm.Answer{Error: tooLong}
		case "q2":
			return llm.Answer{Error: limited}
		}
		return echo(c)
	}
	for _, f := range []llmtest.BatchFaults{
		{},
		{Reverse: true, Repeat: true},
		{Inside: true},
		{Inside: true, Errors: "errors.jsonl"},
		{Errors: "errors.jsonl", Reverse: true},
	} {
		f.Drop = func(c llmtest.Chat) bool { return c.Prompt() == "q3" }
		t.Run(fmt.Sprintf("reverse %v, repeat %v, inside %v, errors %q", f.Reverse, f.Repeat, f.Inside, f.Errors), func(t *testing.T) {
			file, st := asked(t, 10)
			dir := filepath.Dir(file)
			paths := []string{filepath.Join(dir, "out.jsonl")}
			if f.Errors != "" {
				f.Errors = filepath.Join(dir, f.Errors)
				paths = append([]string{f.Errors}, paths...)
			}
			if _, err := llmtest.AnswerBatchWith(file, filepath.Join(dir, "out.jsonl"), answer, f); err != nil {
				t.Fatal(err)
			}
			rep, err := batch.Import(t.Context(), st, paths...)
			if err != nil {
				t.Fatal(err)
			}
			if rep.Answered != 7 || rep.Refused["context_length_exceeded"] != 1 || rep.Again["rate_limit_exceeded"] == 0 || rep.Missing != 2 {
				t.Errorf("%+v", rep)
			}
			for i := range 10 {
				rec, ok := stored(t, st, fmt.Sprint("q", i))
				switch {
				case i == 2 || i == 3:
					if ok {
						t.Errorf("q%d has an answer: %+v", i, rec)
					}
				case i == 1:
					if rec.Class != llm.APIError || rec.Answer.Error == nil || rec.Answer.Error.Code != "context_length_exceeded" {
						t.Errorf("q1: %+v", rec)
					}
				case !ok || rec.Answer.Text != fmt.Sprint("answer to q", i) || rec.Stage != "s" || rec.Class != llm.OK:
					t.Errorf("q%d: %+v", i, rec)
				}
			}
			// Once more: nothing changes, nothing is counted as new.
			rep, err = batch.Import(t.Context(), st, paths...)
			if err != nil || rep.Answered != 0 || rep.Known < 8 || rep.Missing != 2 {
				t.Errorf("second import: %+v, %v", rep, err)
			}
		})
	}
}

// An answer and an error for one request: the answer counts, in either order.
func TestAnswerBeforeError(t *testing.T) {
	for _, errorFirst := range []bool{true, false} {
		file, st := asked(t, 1)
		dir := filepath.Dir(file)
		ok, bad := filepath.Join(dir, "ok.jsonl"), filepath.Join(dir, "bad.jsonl")
		if _, err := llmtest.AnswerBatch(file, ok, echo); err != nil {
			t.Fatal(err)
		}
		fail := func(llmtest.Chat) llm.Answer {
			return llm.Answer{Error: &llm.CallError{Code: "context_length_exceeded", Message: "x"}}
		}
		if _, err := llmtest.AnswerBatch(file, bad, fail); err != nil {
			t.Fatal(err)
		}
		paths := []string{ok, bad}
		if errorFirst {
			paths = []string{bad, ok}
		}
		if rep, err := batch.Import(t.Context(), st, paths...); err != nil || rep.Answered != 1 || len(rep.Refused) != 0 || rep.Missing != 0 {
			t.Errorf("%+v, %v", rep, err)
		}
		if rec, _ := stored(t, st, "q0"); rec.Class != llm.OK {
			t.Errorf("%+v", rec)
		}
	}
}

// C42: nothing came to good.
func TestAllFailed(t *testing.T) {
	file, st := asked(t, 9)
	dir := filepath.Dir(file)
	out, bad := filepath.Join(dir, "out.jsonl"), filepath.Join(dir, "errors.jsonl")
	n := 0
	fail := func(llmtest.Chat) llm.Answer {
		if n++; n == 1 {
			return llm.Answer{Error: &llm.CallError{Status: 400, Code: "odd", Message: "another reason"}}
		}
		return llm.Answer{Error: &llm.CallError{Status: 400, Code: "bad_format", Message: "the commonest reason"}}
	}
	if _, err := llmtest.AnswerBatchWith(file, out, fail, llmtest.BatchFaults{Errors: bad, Inside: true}); err != nil {
		t.Fatal(err)
	}
	rep, err := batch.Import(t.Context(), st, bad)
	if err == nil || !strings.Contains(err.Error(), "9 of 9") || !strings.Contains(err.Error(), "the commonest reason") {
		t.Errorf("%v", err)
	}
	if rep.Missing != 9 {
		t.Errorf("%d wait, want 9: a mistake common to all is not an answer", rep.Missing)
	}
	// The batch object alone says where the reasons are; "" means no file.
	for object, want := range map[string]string{
		`{"object":"batch","status":"completed","output_file_id":null,"error_file_id":"file-x","request_counts":{"total":9,"completed":0,"failed":9}}`: "9 of 9 failed, no output file: import its error file file-x",
		"{\n \"object\": \"batch\",\n \"status\": \"failed\",\n \"errors\": {\"data\": [{\"message\": \"the file is empty\"}]}\n}\n":                   "the file is empty",
		`{"object":"batch","status":"in_progress","output_file_id":"","error_file_id":""}`:                                                             "in_progress",
		`{"object":"batch","status":"completed","output_file_id":"file-y","error_file_id":""}`:                                                         "hold no answers",
	} {
		path := filepath.Join(dir, "batch.json")
		if err := os.WriteFile(path, []byte(object), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := batch.Import(t.Context(), st, path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", object, err)
		}
	}
}

// A prompt too long for the model, and nothing else in the files: reported, and
// known from then on.
func TestOneFailedForItself(t *testing.T) {
	file, st := asked(t, 1)
	out := filepath.Join(filepath.Dir(file), "out.jsonl")
	fail := func(llmtest.Chat) llm.Answer {
		return llm.Answer{Error: &llm.CallError{Status: 400, Code: "context_length_exceeded", Message: "x"}}
	}
	if _, err := llmtest.AnswerBatchWith(file, out, fail, llmtest.BatchFaults{Inside: true}); err != nil {
		t.Fatal(err)
	}
	if rep, err := batch.Import(t.Context(), st, out); err == nil || rep.Missing != 0 {
		t.Errorf("%+v, %v", rep, err)
	}
	if rec, ok := stored(t, st, "q0"); !ok || rec.Class != llm.APIError {
		t.Errorf("%+v", rec)
	}
}

// What is given up may come in a file of its own, after the answers of the
// others: the store then shows that it is not the way of asking that is wrong.
func TestErrorsAfterAnswers(t *testing.T) {
	file, st := asked(t, 3)
	dir := filepath.Dir(file)
	ids := map[string]string{}
	for i := range 3 {
		q := fmt.Sprint("q", i)
		ids[q] = request("s", q).Key().CustomID()
	}
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if rep, err := batch.Import(t.Context(), st, filepath.Join(dir, "nowhere.jsonl")); err == nil || rep.Missing != 3 {
		t.Errorf("a file that is not there: %+v, %v", rep, err)
	}
	lost := write("lost.jsonl", fmt.Sprintf(`{"custom_id": %q, "response": null, "error": {"code": "no_answer", "message": "given up"}}`+"\n", ids["q2"]))
	if rep, err := batch.Import(t.Context(), st, lost); llm.StopClassOf(err) != llm.StopSetting || rep.Missing != 3 {
		t.Errorf("before any answer: %+v, %v", rep, err)
	}
	good := ""
	for _, q := range []string{"q0", "q1"} {
		good += fmt.Sprintf(`{"custom_id": %q, "response": {"status_code": 200, "body": {"choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}]}}}`+"\n", ids[q])
	}
	if rep, err := batch.Import(t.Context(), st, write("good.jsonl", good)); err != nil || rep.Missing != 1 {
		t.Fatalf("%+v, %v", rep, err)
	}
	if rep, err := batch.Import(t.Context(), st, lost); err != nil || rep.Missing != 0 || rep.Refused["no_answer"] != 1 {
		t.Errorf("after answers: %+v, %v", rep, err)
	}
	if rec, ok := stored(t, st, "q2"); !ok || rec.Class != llm.APIError {
		t.Errorf("%+v", rec)
	}
}

// C45 and C43 in a batch: the run stops and says what to change.
func TestSettingInBatch(t *testing.T) {
	file, st := asked(t, 2)
	out := filepath.Join(filepath.Dir(file), "out.jsonl")
	fail := func(llmtest.Chat) llm.Answer {
		return llm.Answer{Error: &llm.CallError{Status: 400, Code: "unsupported_parameter", Param: "temperature", Message: "Unsupported parameter: 'temperature'"}}
	}
	if _, err := llmtest.AnswerBatchWith(file, out, fail, llmtest.BatchFaults{Inside: true}); err != nil {
		t.Fatal(err)
	}
	rep, err := batch.Import(t.Context(), st, out)
	if llm.StopClassOf(err) != llm.StopSetting || !strings.Contains(err.Error(), "no_temperature") || rep.Missing != 2 {
		t.Errorf("%+v, %v", rep, err)
	}
}

// C47 and other ways in which lines are not lines.
func TestBrokenLines(t *testing.T) {
	file, st := asked(t, 6)
	out := filepath.Join(filepath.Dir(file), "out.jsonl")
	f := llmtest.BatchFaults{CutTail: true, Ends: func(n int, b []byte) []byte {
		switch n {
		case 2:
			return b[:len(b)-5] // cut in the middle of the file
		case 3:
			return bytes.Replace(b, []byte("answer to"), []byte("answ\xe9r to"), 1)
		case 4:
			return bytes.Replace(b, []byte(`"custom_id"`), []byte(`"custom"`), 1)
		case 5:
			return append([]byte("\n  \n"), b...) // blank lines
		}
		return b
	}}
	if _, err := llmtest.AnswerBatchWith(file, out, echo, f); err != nil {
		t.Fatal(err)
	}
	rep, err := batch.Import(t.Context(), st, out)
	if err != nil {
		t.Fatal(err)
	}
	if rep.Answered != 2 || rep.NBroken != 3 || len(rep.Cut) != 1 || rep.Missing != 4 || !strings.HasSuffix(rep.Cut[0], "out.jsonl:8") {
		t.Errorf("%s\n%+v", rep, rep)
	}
	for _, want := range []string{"out.jsonl:2: no JSON", "out.jsonl:3: not valid UTF-8", "out.jsonl:4: no custom_id"} {
		if !strings.Contains(rep.String(), want) {
			t.Errorf("no %q in\n%s", want, rep)
		}
	}
}

func TestImportOfOthers(t *testing.T) {
	_, st := asked(t, 1)
	otherFile, _ := asked(t, 3)
	dir := t.TempDir()
	out := filepath.Join(dir, "out.jsonl")
	// Requests of another workspace: other prompts, other ids.
	b, err := os.ReadFile(otherFile)
	if err != nil {
		t.Fatal(err)
	}
	b = bytes.ReplaceAll(b, []byte(`"custom_id":"`), []byte(`"custom_id":"x`))
	if err := os.WriteFile(otherFile, b, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := llmtest.AnswerBatch(otherFile, out, echo); err != nil {
		t.Fatal(err)
	}
	rep, err := batch.Import(t.Context(), st, out)
	if err == nil || rep.Unknown != 3 || rep.Missing != 1 || !strings.Contains(err.Error(), "same workspace") {
		t.Errorf("%+v, %v", rep, err)
	}
	if _, err := batch.Import(t.Context(), st, filepath.Join(dir, "none.jsonl")); !os.IsNotExist(err) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// The whole round trip through a client: pending, answered, not asked again.
func TestRounds(t *testing.T) {
	dir := t.TempDir()
	st, err := store.Open(t.Context(), filepath.Join(dir, "answers.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	tmpl, err := llm.ParseTemplate("t.tmpl", "{{.}}")
	if err != nil {
		t.Fatal(err)
	}
	call := func(stage string) llm.Call[string, string] {
		return llm.Call[string, string]{Stage: stage, Template: tmpl, Decode: func(r *llm.Reply, _ string) (string, error) { return r.Plain() }}
	}
	first, second := call("first"), call("second")
	models := []llm.Model{{Name: "m"}}
	rounds := 0
	for ; rounds < 5; rounds++ {
		e := batch.New(models)
		c, err := llm.New(llm.Options{Engine: e, Models: models, Store: st})
		if err != nil {
			t.Fatal(err)
		}
		done := 0
		for i := range 4 {
			res, err := first.Do(t.Context(), c, fmt.Sprint("q", i), 0)
			if err != nil {
				t.Fatal(err)
			}
			if res.Pending() {
				continue
			}
			if res, err = second.Do(t.Context(), c, res.Value, 0); err != nil {
				t.Fatal(err)
			}
			if res.OK() && res.Value == fmt.Sprintf("answer to answer to q%d", i) {
				done++
			}
		}
		n, err := e.WriteRequests(t.Context(), filepath.Join(dir, batch.RequestsFile), st)
		e.Close()
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			if done != 4 {
				t.Errorf("%d done", done)
			}
			break
		}
		out := filepath.Join(dir, fmt.Sprint("out", rounds, ".jsonl"))
		if _, err := llmtest.AnswerBatch(filepath.Join(dir, batch.RequestsFile), out, echo); err != nil {
			t.Fatal(err)
		}
		if _, err := batch.Import(t.Context(), st, out); err != nil {
			t.Fatal(err)
		}
	}
	if rounds != 2 {
		t.Errorf("%d rounds, want 2", rounds)
	}

	// The store as a recording answers the same calls, and nothing else.
	var rec bytes.Buffer
	if n, err := replay.Write(t.Context(), &rec, st); n != 8 || err != nil {
		t.Fatal(n, err)
	}
	mem, n, cut, err := replay.Read(bytes.NewReader(rec.Bytes()))
	if n != 8 || cut || err != nil {
		t.Fatal(n, cut, err)
	}
	c, err := llm.New(llm.Options{Engine: replay.New(mem), Models: models})
	if err != nil {
		t.Fatal(err)
	}
	if res, err := first.Do(t.Context(), c, "q3", 0); err != nil || res.Value != "answer to q3" {
		t.Errorf("%+v, %v", res, err)
	}
	if _, err := first.Do(t.Context(), c, "q4", 0); llm.StopClassOf(err) != llm.StopMissing {
		t.Errorf("a question that nobody recorded: %v", err)
	}
}

func TestSplit(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "requests.jsonl")
	e := batch.New(nil)
	for i := range 25 {
		r := request("s", fmt.Sprint("q", i))
		if i%5 == 0 {
			r.Model = "big"
		}
		if _, err := e.Generate(t.Context(), r); !errors.Is(err, llm.ErrPending) {
			t.Fatal(err)
		}
	}
	if _, err := e.WriteRequests(t.Context(), path, nil); err != nil {
		t.Fatal(err)
	}
	e.Close()
	for range 2 { // a second split replaces the first
		parts, err := batch.Split(t.Context(), path, batch.Limits{Lines: 8})
		if err != nil || len(parts) != 4 {
			t.Fatal(parts, err)
		}
		total := 0
		for _, p := range parts {
			b, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			models := map[string]bool{}
			for _, l := range bytes.Split(bytes.TrimSpace(b), []byte("\n")) {
				var r struct{ Body struct{ Model string } }
				if err := json.Unmarshal(l, &r); err != nil {
					t.Fatal(err)
				}
				models[r.Body.Model] = true
				total++
			}
			if len(models) != 1 {
				t.Errorf("%s holds models %v", p, models)
			}
		}
		if total != 25 {
			t.Errorf("%d lines in all parts", total)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 5 {
		t.Errorf("%v, %v", files, err)
	}
}

func FuzzImport(f *testing.F) {
	f.Add([]byte(`{"custom_id":"x","response":{"status_code":200,"body":{"choices":[]}},"error":null}` + "\n"))
	f.Add([]byte(`{"object":"batch","errors":{"data":[{}]}}`))
	f.Add([]byte("{\"custom_id\":\"x\",\"error\":\"y\"}\n{"))
	f.Fuzz(func(t *testing.T, b []byte) {
		st := &llm.MemStore{}
		r := request("s", "q")
		if err := st.Ask(t.Context(), []llm.Record{llm.NewRecord(r)}); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "out.jsonl")
		b = bytes.ReplaceAll(b, []byte(`"x"`), []byte(`"`+r.Key().CustomID()+`"`))
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		rep, err := batch.Import(t.Context(), st, path)
		if rep.Missing+st.Len() != 1 {
			t.Fatalf("%+v, %v, %d stored", rep, err, st.Len())
		}
	})
}
