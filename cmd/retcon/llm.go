// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/llm/batch"
	"github.com/retcon-bench/retcon/internal/llm/replay"
	"github.com/retcon-bench/retcon/internal/llm/store"
	"github.com/retcon-bench/retcon/internal/pipeline"
	"github.com/retcon-bench/retcon/internal/report"
)

type llmCmd struct {
	Export llmExportCmd `cmd:"" help:"Copy the round's requests, cut into parts that a batch service takes."`
	Import llmImportCmd `cmd:"" help:"Read answers and errors of a batch into the answer store."`
	Cache  llmCacheCmd  `cmd:"" help:"Look into the answer store."`
}

// storeFlags say which answer store is meant.
type storeFlags struct {
	Work    string `help:"Workspace." default:"out.work" placeholder:"DIR"`
	Answers string `help:"Answer store, in place of the workspace's." placeholder:"FILE"`
}

func (f storeFlags) path() string {
	if f.Answers != "" {
		return f.Answers
	}
	return filepath.Join(f.Work, pipeline.AnswersFile)
}

func (f storeFlags) open(ctx context.Context, readOnly bool) (*store.Store, error) {
	if _, err := os.Stat(f.path()); err != nil {
		return nil, withHint(exitInput, "run a command with --engine openai or batch first, or name another store with --work or --answers",
			fmt.Errorf("no answer store: %w", err))
	}
	return store.Open(ctx, f.path(), store.Options{ReadOnly: readOnly, Wait: 2 * time.Second})
}

type llmExportCmd struct {
	storeFlags
	Out      string `help:"File to write; where the round has several parts, they are numbered before the ending." default:"requests.jsonl" placeholder:"FILE"`
	MaxLines int    `help:"Requests a part, at most; 0 = the usual services' limit." default:"0"`
}

func (*llmExportCmd) Help() string {
	return `A round that fits one file of the service is that file; a larger one, or one of
several models, becomes FILE-001.jsonl, FILE-002.jsonl and so on. What was
written is printed. After a command that stopped with exit code 5:

  retcon llm export --work w --out requests.jsonl`
}

func (cmd *llmExportCmd) Run(e *env) error {
	dir := cmd.Work
	if cmd.Answers != "" {
		dir = filepath.Dir(cmd.Answers)
	}
	src := filepath.Join(dir, batch.RequestsFile)
	in, err := os.Open(src)
	if err != nil {
		return withHint(exitInput, "a command with --engine batch writes it when answers are missing", fmt.Errorf("no open requests: %w", err))
	}
	defer in.Close()
	if err := fetch.WriteFileAtomic(cmd.Out, 0o644, func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	}); err != nil {
		return err
	}
	parts, err := batch.Split(e.ctx, cmd.Out, batch.Limits{Lines: cmd.MaxLines})
	if err != nil {
		return err
	}
	// The round once: whole, or in parts.
	switch {
	case len(parts) == 1:
		if err := os.Remove(parts[0]); err != nil {
			return err
		}
		parts[0] = cmd.Out
	case !sameFile(cmd.Out, src):
		if err := os.Remove(cmd.Out); err != nil {
			return err
		}
	}
	for _, p := range parts {
		fmt.Fprintln(e.stdout, p)
	}
	return nil
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

type llmImportCmd struct {
	storeFlags
	Files []string `arg:"" help:"Output and error files of the batch, in any order."`
}

func (*llmImportCmd) Help() string {
	return `Reads the output and error files of the OpenAI Batch format: a line of JSON an
answer, with custom_id, response (status_code, and the body of a chat completion)
and error. The least that is read:

  {"custom_id": "8d0f...", "response": {"status_code": 200, "body": {"choices":
    [{"message": {"content": "The answer."}, "finish_reason": "stop"}]}}, "error": null}

A refusal, an answer cut off at max_tokens (finish_reason length), an empty one
and an error line are kept as such, not as answers: the item goes on without,
or is set aside with that as its reason; --ask-again asks once more. Answers are
joined by custom_id. Lines that are unknown, repeated or broken are counted,
never silently dropped. Run the command that asked again afterwards.

  retcon llm import --work w output.jsonl errors.jsonl`
}

func (cmd *llmImportCmd) Run(e *env) error {
	s, err := cmd.open(e.ctx, false)
	if err != nil {
		return err
	}
	defer s.Close()
	for _, f := range cmd.Files {
		if info, err := os.Stat(f); err == nil && info.IsDir() {
			return inputError(f, errFolder)
		}
	}
	rep, err := batch.Import(e.ctx, s, cmd.Files...)
	fmt.Fprint(e.stdout, rep)
	var files *batch.FilesError
	if errors.As(err, &files) {
		return withHint(exitInput, "", err)
	}
	return err
}

type llmCacheCmd struct {
	Ls     cacheLsCmd     `cmd:"" help:"Stored answers by stage, model and class."`
	Show   cacheShowCmd   `cmd:"" help:"One stored answer."`
	Gc     cacheGcCmd     `cmd:"" help:"Remove answers of a stage or class."`
	Record cacheRecordCmd `cmd:"" help:"Write all answers as JSON Lines, for --engine replay elsewhere."`
}

type cacheLsCmd struct {
	storeFlags
	JSON bool `name:"json" help:"As JSON."`
}

func (*cacheLsCmd) Help() string { return "  retcon llm cache ls --work w" }

func (cmd *cacheLsCmd) Run(e *env) error {
	s, err := cmd.open(e.ctx, true)
	if err != nil {
		return err
	}
	defer s.Close()
	labels, err := s.Labels(e.ctx)
	if err != nil {
		return err
	}
	t := &report.Table{Columns: []string{"stage", "model", "revision", "class", "answers", "template"}}
	for _, l := range labels {
		hash := l.TemplateHash
		if len(hash) > 12 && !cmd.JSON {
			hash = hash[:12]
		}
		t.Add(l.Stage, l.Model, l.Revision, string(l.Class), l.N, hash)
	}
	if cmd.JSON {
		return t.Write(e.stdout, report.JSON)
	}
	return t.Write(e.stdout, report.Text)
}

type cacheShowCmd struct {
	storeFlags
	Key string `arg:"" help:"Key or custom_id, or the beginning of one."`
}

func (*cacheShowCmd) Help() string { return "  retcon llm cache show --work w 3f9a" }

func (cmd *cacheShowCmd) Run(e *env) error {
	s, err := cmd.open(e.ctx, true)
	if err != nil {
		return err
	}
	defer s.Close()
	recs, err := s.Find(e.ctx, cmd.Key)
	if err != nil {
		return usagef("%w", err)
	}
	if len(recs) == 0 {
		return &codedError{code: exitInput, err: fmt.Errorf("no stored answer has a key that begins with %s", cmd.Key)}
	}
	for _, r := range recs {
		fmt.Fprintf(e.stdout, "key      %s\nstage    %s\nmodel    %s %s\nsample   %d\nclass    %s\nfinish   %s\nusage    %d prompt, %d answer, %d reasoning\ntemplate %s\n\n%s\n\n",
			r.Key, r.Stage, r.Model, r.Revision, r.Sample, r.Class, r.Answer.FinishReason,
			r.Answer.Usage.PromptTokens, r.Answer.Usage.CompletionTokens, r.Answer.Usage.ReasoningTokens, r.TemplateHash, r.Answer.Text)
	}
	return nil
}

type cacheGcCmd struct {
	storeFlags
	Stage  string `help:"Remove answers of this stage." placeholder:"NAME"`
	Class  string `help:"Remove answers of this class (ok, refusal, truncated, ...)." placeholder:"NAME"`
	DryRun bool   `help:"Only count."`
}

func (*cacheGcCmd) Help() string {
	return `Answers cost money: say which to remove.

  retcon llm cache gc --work w --class truncated`
}

func (cmd *cacheGcCmd) Run(e *env) error {
	if cmd.Stage == "" && cmd.Class == "" {
		return usagef("say what to remove: --stage, --class or both")
	}
	match := func(l llm.Label) bool {
		return (cmd.Stage == "" || l.Stage == cmd.Stage) && (cmd.Class == "" || string(l.Class) == cmd.Class)
	}
	s, err := cmd.open(e.ctx, cmd.DryRun)
	if err != nil {
		return err
	}
	defer s.Close()
	n := 0
	if cmd.DryRun {
		labels, err := s.Labels(e.ctx)
		if err != nil {
			return err
		}
		for _, l := range labels {
			if match(l) {
				n += l.N
			}
		}
	} else if n, err = s.GC(e.ctx, match); err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.stdout, "%d answers\n", n)
	return err
}

type cacheRecordCmd struct {
	storeFlags
	Out string `help:"File to write; - for standard output." default:"-" placeholder:"FILE"`
}

func (*cacheRecordCmd) Help() string { return "  retcon llm cache record --work w --out answers.jsonl" }

func (cmd *cacheRecordCmd) Run(e *env) error {
	s, err := cmd.open(e.ctx, true)
	if err != nil {
		return err
	}
	defer s.Close()
	return writeTo(e, cmd.Out, func(w io.Writer) error {
		_, err := replay.Write(e.ctx, w, s)
		return err
	})
}
