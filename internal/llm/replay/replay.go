// SPDX-License-Identifier: Apache-2.0

// Package replay is the engine that asks nobody: every answer must be in the
// store already. A miss is an error; it never goes live.
//
// [Write] makes a recording of a store, one JSON object a line, sorted by
// stage and key; [Read] makes a store of a recording, for tests and for people
// who want to see what was said.
package replay

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/retcon-bench/retcon/internal/llm"
)

// Engine answers from a recording, or, without one, nothing: the client's own
// store is asked before the engine.
type Engine struct {
	// Recording holds answers beside the client's store; nil for none.
	Recording llm.Store
}

// New returns an engine; recording may be nil.
func New(recording llm.Store) Engine { return Engine{recording} }

// Name returns "replay".
func (Engine) Name() string { return "replay" }

// Generate returns the recorded answer, or a [llm.StopError] of class missing.
func (e Engine) Generate(ctx context.Context, req llm.Request) (llm.Answer, error) {
	if err := ctx.Err(); err != nil {
		return llm.Answer{}, err
	}
	key := req.Key()
	if e.Recording != nil {
		rec, ok, err := e.Recording.Get(ctx, key)
		if err != nil {
			return llm.Answer{}, err
		}
		if ok {
			if rec.Answer.Error != nil {
				return llm.Answer{}, rec.Answer.Error
			}
			return rec.Answer, nil
		}
	}
	return llm.Answer{}, llm.Stop(llm.StopMissing, fmt.Errorf("replay: no stored answer to stage %s, model %s, sample %d (%s): the prompt, a parameter or the model changed since they were stored, or they were never asked for",
		req.Stage, req.Model, req.Sample, key.CustomID()))
}

// line is a line of a recording.
type line struct {
	Key          string          `json:"key"`
	Stage        string          `json:"stage"`
	Model        string          `json:"model"`
	Revision     string          `json:"revision,omitempty"`
	Sample       int             `json:"sample,omitempty"`
	TemplateHash string          `json:"template,omitempty"`
	Params       json.RawMessage `json:"params,omitempty"`
	Class        llm.Outcome     `json:"class"`
	Answer       llm.Answer      `json:"answer"`
}

// Source is a store that can be gone through.
type Source interface {
	Each(ctx context.Context, f func(llm.Record) error) error
}

// Write records a store. The same answers make the same bytes.
func Write(ctx context.Context, w io.Writer, src Source) (int, error) {
	type item struct {
		stage string
		key   llm.Key
		text  []byte
	}
	var items []item
	err := src.Each(ctx, func(r llm.Record) error {
		l := line{r.Key.String(), r.Stage, r.Model, r.Revision, r.Sample, r.TemplateHash, json.RawMessage(r.Params), r.Class, r.Answer}
		if len(l.Params) == 0 {
			l.Params = nil
		}
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(l); err != nil {
			return fmt.Errorf("answer %s: %w", r.Key.CustomID(), err)
		}
		items = append(items, item{r.Stage, r.Key, b.Bytes()})
		return nil
	})
	if err != nil {
		return 0, err
	}
	slices.SortFunc(items, func(a, b item) int {
		return cmp.Or(cmp.Compare(a.stage, b.stage), bytes.Compare(a.key[:], b.key[:]))
	})
	for _, it := range items {
		if _, err := w.Write(it.text); err != nil {
			return 0, err
		}
	}
	return len(items), nil
}

// Read reads a recording. A last line that is half written is left out and
// reported by cut (C47); any other fault is an error that names the line.
func Read(r io.Reader) (s *llm.MemStore, n int, cut bool, err error) {
	s = &llm.MemStore{}
	br := bufio.NewReaderSize(r, 1<<20)
	for i := 1; ; i++ {
		text, err := br.ReadBytes('\n')
		end := err == io.EOF
		if err != nil && !end {
			return nil, 0, false, fmt.Errorf("recording, line %d: %w", i, err)
		}
		if len(bytes.TrimSpace(text)) > 0 {
			var l line
			err := json.Unmarshal(text, &l)
			if err == nil && !utf8.Valid(text) {
				err = fmt.Errorf("not valid UTF-8")
			}
			var key llm.Key
			if err == nil {
				key, err = llm.ParseKey(l.Key)
			}
			switch {
			case err != nil && end:
				return s, n, true, nil
			case err != nil:
				return nil, 0, false, fmt.Errorf("recording, line %d: %w", i, err)
			}
			rec := llm.Record{Key: key, Stage: l.Stage, Model: l.Model, Revision: l.Revision, Sample: l.Sample,
				TemplateHash: l.TemplateHash, Params: string(l.Params), Class: l.Class, Answer: l.Answer}
			if err := s.Put(context.Background(), rec); err != nil {
				return nil, 0, false, err
			}
			n++
		}
		if end {
			return s, n, false, nil
		}
	}
}
