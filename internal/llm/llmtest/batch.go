// SPDX-License-Identifier: Apache-2.0

package llmtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"github.com/retcon-bench/retcon/internal/llm"
)

// BatchFaults are what a batch service may do to a round.
type BatchFaults struct {
	Reverse bool                         // lines in another order than asked
	Repeat  bool                         // every line twice
	Drop    func(Chat) bool              // these requests get no line at all
	Errors  string                       // path of an error file for failed requests; "" = into the output file
	Inside  bool                         // failures as a response with a status, not in error (C41)
	CutTail bool                         // the last line ends in its middle
	Ends    func(n int, b []byte) []byte // changes a line before it is written
}

// AnswerBatch answers a requests.jsonl by a function and writes the output
// file that a batch service would. It returns the number of requests.
func AnswerBatch(requests, output string, answer func(Chat) llm.Answer) (int, error) {
	return AnswerBatchWith(requests, output, answer, BatchFaults{})
}

// AnswerBatchWith is AnswerBatch with faults. An answer with an Error is a
// failed request.
func AnswerBatchWith(requests, output string, answer func(Chat) llm.Answer, f BatchFaults) (int, error) {
	in, err := os.ReadFile(requests)
	if err != nil {
		return 0, err
	}
	var out, failed [][]byte
	n := 0
	for i, text := range bytes.Split(in, []byte("\n")) {
		if len(text) == 0 {
			continue
		}
		n++
		var req struct {
			CustomID string          `json:"custom_id"`
			Method   string          `json:"method"`
			URL      string          `json:"url"`
			Body     json.RawMessage `json:"body"`
		}
		if err := json.Unmarshal(text, &req); err != nil {
			return n, fmt.Errorf("%s:%d: %w", requests, i+1, err)
		}
		if req.CustomID == "" || req.Method != "POST" || req.URL != "/v1/chat/completions" {
			return n, fmt.Errorf("%s:%d: no batch request: custom_id %q, method %q, url %q", requests, i+1, req.CustomID, req.Method, req.URL)
		}
		chat := Chat{CustomID: req.CustomID, Raw: req.Body}
		if err := json.Unmarshal(req.Body, &chat); err != nil {
			return n, fmt.Errorf("%s:%d: %w", requests, i+1, err)
		}
		if f.Drop != nil && f.Drop(chat) {
			continue
		}
		a := answer(chat)
		line := map[string]any{"id": fmt.Sprint("batch_req_", n), "custom_id": req.CustomID, "error": nil}
		var body any = Completion(chat.Model, a)
		status := 200
		switch {
		case a.Error != nil && f.Inside:
			status, body = a.Error.Status, map[string]any{"error": a.Error}
		case a.Error != nil:
			line["error"], body = a.Error, nil
		}
		line["response"] = nil
		if body != nil {
			line["response"] = map[string]any{"status_code": status, "request_id": fmt.Sprint("req-", n), "body": body}
		}
		b, err := json.Marshal(line)
		if err != nil {
			return n, err
		}
		if f.Ends != nil {
			b = f.Ends(n, b)
		}
		for range 1 + btoi(f.Repeat) {
			if a.Error != nil && f.Errors != "" {
				failed = append(failed, b)
			} else {
				out = append(out, b)
			}
		}
	}
	write := func(path string, lines [][]byte) error {
		if f.Reverse {
			for i, j := 0, len(lines)-1; i < j; i, j = i+1, j-1 {
				lines[i], lines[j] = lines[j], lines[i]
			}
		}
		var b bytes.Buffer
		for _, l := range lines {
			b.Write(l)
			b.WriteByte('\n')
		}
		if f.CutTail && b.Len() > 40 {
			b.Truncate(b.Len() - 40)
		}
		return os.WriteFile(path, b.Bytes(), 0o644)
	}
	if f.Errors != "" {
		if err := write(f.Errors, failed); err != nil {
			return n, err
		}
	}
	return n, write(output, out)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
