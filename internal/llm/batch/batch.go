// SPDX-License-Identifier: Apache-2.0

// Package batch is the engine for which files are the interface: a provider's
// batch service, a vLLM batch run, a colleague with a script.
//
//  1. [Engine] answers nothing: it writes each request down and says pending.
//     A step walks all its input, so a round asks everything that can be asked.
//  2. [Engine.WriteRequests] writes requests.jsonl, in the OpenAI Batch input
//     format, sorted by stage and key: the same round is the same file. [Split]
//     makes parts of it that a service takes.
//  3. Somebody has it answered.
//  4. [Import] reads output and error files into the answer store, joined by
//     custom_id. The same command then goes on, and may need a further round,
//     because later stages depend on earlier answers.
package batch

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/llm/openai"
)

// Endpoint is the url of a batch line.
const Endpoint = "/v1/chat/completions"

// RequestsFile is the usual name of a round's file.
const RequestsFile = "requests.jsonl"

// Ledger is the store's memory of which requests were handed out.
type Ledger interface {
	Ask(ctx context.Context, recs []llm.Record) error
	Pending(ctx context.Context) ([]llm.Record, error)
}

// Engine writes requests down. Bodies wait in a temporary file, so that memory
// holds about 100 bytes a request, not its story.
type Engine struct {
	models map[string]llm.Model

	mu    sync.Mutex
	spool *os.File
	gone  bool // the spool's name, from the file system
	size  int64
	lines map[llm.Key]line
}

type line struct {
	rec      llm.Record
	off, len int64
}

// New returns an engine for the models of the recipe. Close it.
func New(models []llm.Model) *Engine {
	e := &Engine{models: map[string]llm.Model{}, lines: map[llm.Key]line{}}
	for _, m := range models {
		e.models[m.Name] = m
	}
	return e
}

// Name returns "batch".
func (e *Engine) Name() string { return "batch" }

// request is a line of the OpenAI Batch input format.
type request struct {
	CustomID string          `json:"custom_id"`
	Method   string          `json:"method"`
	URL      string          `json:"url"`
	Body     json.RawMessage `json:"body"`
}

// Generate writes the request down and returns [llm.ErrPending].
func (e *Engine) Generate(ctx context.Context, req llm.Request) (llm.Answer, error) {
	if err := ctx.Err(); err != nil {
		return llm.Answer{}, err
	}
	m, ok := e.models[req.Model]
	if !ok {
		m = llm.Model{Name: req.Model}
	}
	rec := llm.NewRecord(req)
	body, err := openai.Body(m, req)
	if err != nil {
		return llm.Answer{}, err
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(request{rec.Key.CustomID(), "POST", Endpoint, body}); err != nil {
		return llm.Answer{}, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, ok := e.lines[rec.Key]; ok {
		return llm.Answer{}, llm.ErrPending
	}
	if e.spool == nil {
		if e.spool, err = os.CreateTemp("", "retcon-batch-*"); err != nil {
			return llm.Answer{}, llm.Stop(llm.StopDisk, fmt.Errorf("requests of the round: %w", err))
		}
		// Where the system allows it the name goes at once, so that a killed
		// process leaves nothing behind; Windows removes it on Close.
		e.gone = os.Remove(e.spool.Name()) == nil
	}
	if _, err := e.spool.WriteAt(b.Bytes(), e.size); err != nil {
		return llm.Answer{}, llm.Stop(llm.StopDisk, fmt.Errorf("requests of the round: %w", err))
	}
	e.lines[rec.Key] = line{rec, e.size, int64(b.Len())}
	e.size += int64(b.Len())
	return llm.Answer{}, llm.ErrPending
}

// Len returns the number of requests written down.
func (e *Engine) Len() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.lines)
}

// StageCount is how many requests a stage has written down.
type StageCount struct {
	Stage    string
	Requests int
}

// Stages counts the requests written down by stage, in the order of their names.
func (e *Engine) Stages() []StageCount {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := map[string]int{}
	for _, l := range e.lines {
		n[l.rec.Stage]++
	}
	var out []StageCount
	for _, s := range slices.Sorted(maps.Keys(n)) {
		out = append(out, StageCount{s, n[s]})
	}
	return out
}

// WriteRequests writes the round to path, which appears whole, tells the
// ledger (nil for none) which answers to wait for, and returns their number.
// Without requests it writes nothing.
func (e *Engine) WriteRequests(ctx context.Context, path string, ledger Ledger) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.lines) == 0 {
		return 0, nil
	}
	lines := make([]line, 0, len(e.lines))
	recs := make([]llm.Record, 0, len(e.lines))
	for _, l := range e.lines {
		lines = append(lines, l)
	}
	slices.SortFunc(lines, func(a, b line) int {
		return cmp.Or(cmp.Compare(a.rec.Stage, b.rec.Stage), bytes.Compare(a.rec.Key[:], b.rec.Key[:]))
	})
	for _, l := range lines {
		recs = append(recs, l.rec)
	}
	// First the ledger: a file whose answers nobody expects would be worse than
	// expecting answers to a file that is not there yet.
	if ledger != nil {
		if err := ledger.Ask(ctx, recs); err != nil {
			return 0, err
		}
	}
	err := writeWhole(path, func(w *bufio.Writer) error {
		for _, l := range lines {
			if err := ctx.Err(); err != nil {
				return err
			}
			if _, err := io.Copy(w, io.NewSectionReader(e.spool, l.off, l.len)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, stopDisk(fmt.Errorf("writing %s: %w", path, err))
	}
	return len(lines), nil
}

// Close removes the temporary file.
func (e *Engine) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.spool == nil {
		return nil
	}
	err := e.spool.Close()
	if !e.gone {
		err = errors.Join(err, os.Remove(e.spool.Name()))
	}
	e.spool, e.lines = nil, map[llm.Key]line{}
	return err
}

func stopDisk(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return llm.Stop(llm.StopDisk, err)
}

// newFile is where a file is written before it is renamed to path. In a
// workspace the next run sweeps away, by the ending, what a killed one left.
func newFile(path string) (*os.File, error) {
	return os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*.new~")
}

// writeWhole writes a file under another name and renames it when it is on the
// disk.
func writeWhole(path string, write func(*bufio.Writer) error) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := newFile(path)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	w := bufio.NewWriterSize(f, 1<<20)
	if err := write(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	if dir, err := os.Open(filepath.Dir(path)); err == nil {
		_ = dir.Sync() // not every system can
		dir.Close()
	}
	return nil
}

// Limits bound the parts that [Split] makes; zero fields mean OpenAI's.
type Limits struct {
	Lines int   // 50,000
	Bytes int64 // 200 MB
}

// Split copies a file of requests into parts that a batch service takes: one
// model a file, so many lines, so many bytes. The parts are called like the
// file with a number before the ending, in the order of the lines. Parts of an
// earlier split are replaced.
func Split(ctx context.Context, path string, lim Limits) (parts []string, err error) {
	lim.Lines = cmp.Or(lim.Lines, 50_000)
	lim.Bytes = cmp.Or(lim.Bytes, 200_000_000)
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	ext := filepath.Ext(path)
	stem := path[:len(path)-len(ext)]
	old, err := filepath.Glob(glob(stem) + "-[0-9][0-9][0-9]" + glob(ext))
	if err != nil {
		return nil, err
	}
	for _, f := range old {
		if err := os.Remove(f); err != nil {
			return nil, err
		}
	}
	type part struct {
		file  *os.File
		w     *bufio.Writer
		lines int
		bytes int64
	}
	open := map[string]*part{}
	var models []string
	defer func() {
		for _, p := range open {
			if p.file != nil { // given up
				p.file.Close()
				os.Remove(p.file.Name())
			}
		}
	}()
	flush := func(p *part) error {
		name := fmt.Sprintf("%s-%03d%s", stem, len(parts)+1, ext)
		err := errors.Join(p.w.Flush(), p.file.Chmod(0o644), p.file.Sync(), p.file.Close())
		if err == nil {
			err = os.Rename(p.file.Name(), name)
		}
		if err != nil {
			return stopDisk(fmt.Errorf("writing %s: %w", name, err))
		}
		parts = append(parts, name)
		*p = part{}
		return nil
	}
	r := bufio.NewReaderSize(in, 1<<20)
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return parts, err
		}
		text, rerr := r.ReadBytes('\n')
		if rerr != nil && rerr != io.EOF {
			return parts, fmt.Errorf("%s:%d: %w", path, n, rerr)
		}
		if len(bytes.TrimSpace(text)) > 0 {
			var req struct {
				Body struct {
					Model string `json:"model"`
				} `json:"body"`
			}
			if err := json.Unmarshal(text, &req); err != nil {
				return parts, fmt.Errorf("%s:%d: no batch request: %w", path, n, err)
			}
			p := open[req.Body.Model]
			if p == nil {
				p = &part{}
				open[req.Body.Model] = p
				models = append(models, req.Body.Model)
			}
			if p.lines > 0 && (p.lines >= lim.Lines || p.bytes+int64(len(text)) > lim.Bytes) {
				if err := flush(p); err != nil {
					return parts, err
				}
			}
			if p.file == nil {
				if p.file, err = newFile(path); err != nil {
					return parts, stopDisk(err)
				}
				p.w = bufio.NewWriterSize(p.file, 1<<16)
			}
			if _, err := p.w.Write(text); err != nil {
				return parts, stopDisk(fmt.Errorf("splitting %s: %w", path, err))
			}
			p.lines++
			p.bytes += int64(len(text))
		}
		if rerr == io.EOF {
			break
		}
	}
	for _, m := range models {
		if open[m].lines > 0 {
			if err := flush(open[m]); err != nil {
				return parts, err
			}
		}
	}
	return parts, nil
}

// glob escapes what a pattern would take for its own.
func glob(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(s)
}
