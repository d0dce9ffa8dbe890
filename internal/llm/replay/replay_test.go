// SPDX-License-Identifier: Apache-2.0

package replay_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/llm/llmtest"
	"github.com/retcon-bench/retcon/internal/llm/replay"
)

func recorded(t *testing.T, reqs []llm.Request, answer func(llm.Request) llm.Answer) []byte {
	t.Helper()
	src := &llm.MemStore{}
	for _, r := range reqs {
		rec := llm.NewRecord(r)
		rec.Answer = answer(r)
		if err := src.Put(t.Context(), rec); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	if _, err := replay.Write(t.Context(), &b, src); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestContract(t *testing.T) {
	llmtest.Run(t, llmtest.Provider{
		New: func(t *testing.T, reqs []llm.Request, answer func(llm.Request) llm.Answer) llm.Generator {
			st, n, cut, err := replay.Read(bytes.NewReader(recorded(t, reqs, answer)))
			if n != len(reqs) || cut || err != nil {
				t.Fatal(n, cut, err)
			}
			return replay.New(st)
		},
		Unknown: func(err error) bool { return llm.StopClassOf(err) == llm.StopMissing },
	})
}

// C47: a half-written last line is cut, all full lines are used; a broken line
// elsewhere is an error.
func TestHalfWritten(t *testing.T) {
	var reqs []llm.Request
	for _, q := range []string{"a", "b", "c"} {
		reqs = append(reqs, llm.Request{Stage: "s", Model: "m", Messages: []llm.Message{{Role: "user", Content: q}}})
	}
	whole := recorded(t, reqs, func(llm.Request) llm.Answer { return llm.Answer{Text: "Yes.", FinishReason: "stop"} })
	for end := len(whole) - 1; end > 0; end -= 7 {
		_, n, cut, err := replay.Read(bytes.NewReader(whole[:end]))
		full := bytes.Count(whole[:end], []byte("\n"))
		rest := whole[:end][bytes.LastIndexByte(whole[:end], '\n')+1:]
		if err != nil || n < full || n > full+1 || cut == (len(rest) == 0 || n > full) {
			t.Fatalf("%d bytes: %d answers, cut %v, %v", end, n, cut, err)
		}
	}
	broken := strings.Replace(string(whole), `"class"`, `"class`, 1)
	if _, _, _, err := replay.Read(strings.NewReader(broken)); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("%v", err)
	}
}
