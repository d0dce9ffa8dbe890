// SPDX-License-Identifier: Apache-2.0

// Package transform answers: what is a step, and what may it touch?
//
// A [Step] is a value with a name, a doc text, a version and a Run function.
// Whatever Run may use arrives in the [Pass]: the model client, the record's
// own random stream, a place to set parts aside. It touches nothing else, so
// the same input gives the same output in any order and with any number of
// workers; joining steps and running them is somebody else's work
// (internal/pipeline and cmd/retcon).
//
// The sub-packages hold the steps: dedup (which stories are the same?), flawed
// (FlawedFictionsMaker), rewrite (prompts), generate, detect, check.
package transform

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"regexp"
	"slices"

	"crypto/sha256"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/schemas"
)

// Step turns one record into zero or more. Lists of steps hold one
// instantiation, such as []Step[schemas.Draft, schemas.Draft].
type Step[In, Out any] struct {
	Name    string // lower_snake, unique in its list
	Doc     string // one sentence, then paragraphs; printed by --help and in reports
	Version string // changes whenever the same input may give other output
	// Requires names steps that must stand earlier in the list.
	Requires []string
	// Templates are the prompt templates it renders, for its manifest.
	Templates []*llm.Template
	// Run returns what becomes of in: records, an error made by [Drop] when it
	// is set aside, or [ErrPending] when an answer is missing. Any other error
	// stops the whole run.
	Run func(ctx context.Context, pass *Pass, in In) ([]Out, error)
	// Enough, when it is set, has Chain take what Run returned one after the
	// other, and only as long as too few have come through a later step.
	Enough *Enough[Out]
}

// Enough says when the records that a step returned suffice.
type Enough[T any] struct {
	N     int    // records, each with all that comes of it
	After string // they count once they leave this later step; one that waits for an answer counts for now
	// Spare is told of each record that is not needed, in the step's own pass.
	Spare func(pass *Pass, rec T)
}

// Pass carries everything a step may touch while it works on one record.
type Pass struct {
	ID    string      // of the record
	Model *llm.Client // nil in steps that ask nothing
	Rand  *rand.Rand  // from (seed, step, record id)
	Log   *slog.Logger

	stage   string
	dropped []schemas.Dropped
	pending int
}

// NewPass makes the pass of one record in one step. Its random stream depends
// on seed, step and id alone.
func NewPass(seed uint64, step, id string, model *llm.Client, log *slog.Logger) *Pass {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Pass{ID: id, Model: model, Rand: Random(seed, step, id), Log: log, stage: step}
}

// Random returns the random stream of (seed, step, record id).
func Random(seed uint64, step, id string) *rand.Rand {
	return rand.New(rand.NewChaCha8(sha256.Sum256(fmt.Appendf(nil, "%d|%d:%s|%d:%s", seed, len(step), step, len(id), id))))
}

// SetAside records that a part of the record was set aside while the record
// itself goes on: a fact nobody could read, one of two rewrites.
func (p *Pass) SetAside(id, reason, detail string, evidence ...schemas.KeyValue) {
	p.dropped = append(p.dropped, schemas.Dropped{ID: id, Stage: p.stage, Reason: reason, Detail: detail, Evidence: evidence})
}

// Await notes that an answer is missing for a part of the record. The record
// counts as pending; Run may go on asking what else it can, so that one round
// of a batch asks everything askable.
func (p *Pass) Await() { p.pending++ }

// Engine says who answers, as records name it: rules, or model. A hosted
// server, a batch file and a replay of stored answers give the same records.
func (p *Pass) Engine() string {
	if p.Model == nil {
		return ""
	}
	if name := p.Model.Engine(); name == "rules" {
		return name
	}
	return "model"
}

// Dropped returns what was set aside, and Pending how many answers are missing.
func (p *Pass) Dropped() []schemas.Dropped { return p.dropped }

// Pending returns how many parts wait for an answer.
func (p *Pass) Pending() int { return p.pending }

// ErrPending says that the record waits for an answer.
var ErrPending = errors.New("waiting for answers")

// DropError sets the whole record aside.
type DropError struct {
	Reason   string
	Detail   string
	Evidence []schemas.KeyValue
}

func (e *DropError) Error() string { return e.Reason + ": " + e.Detail }

// Drop makes the error with which Run sets a record aside. Reason is a code of
// the step's documented list, detail a sentence for people.
func Drop(reason, detail string, evidence ...schemas.KeyValue) error {
	return &DropError{Reason: reason, Detail: detail, Evidence: evidence}
}

// Apply runs one step on one record and sorts the outcome: records, records
// set aside, number of missing answers. The error stops the run and names
// record and step.
func Apply[In, Out any](ctx context.Context, s Step[In, Out], pass *Pass, in In) (outs []Out, dropped []schemas.Dropped, pending int, err error) {
	outs, dropped, pending, _, err = apply(ctx, s, pass, in)
	return outs, dropped, pending, err
}

// apply is Apply that also tells whether the last of dropped set the record
// itself aside.
func apply[In, Out any](ctx context.Context, s Step[In, Out], pass *Pass, in In) (outs []Out, dropped []schemas.Dropped, pending int, ended bool, err error) {
	pass.stage = s.Name
	n, waiting := len(pass.dropped), pass.pending
	outs, err = s.Run(ctx, pass, in)
	var drop *DropError
	switch {
	case errors.As(err, &drop):
		pass.SetAside(pass.ID, drop.Reason, drop.Detail, drop.Evidence...)
		outs, ended, err = nil, true, nil
	case errors.Is(err, ErrPending):
		pass.Await()
		outs, err = nil, nil
	case err != nil:
		return nil, nil, 0, false, fmt.Errorf("%s: %s: %w", pass.ID, s.Name, err)
	}
	return outs, pass.dropped[n:], pass.pending - waiting, ended, nil
}

var stepName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// Validate checks a list of steps before anything runs: names, versions, Run,
// and that what a step requires stands before it.
func Validate[In, Out any](steps []Step[In, Out]) error {
	seen := map[string]bool{}
	for i, s := range steps {
		switch {
		case !stepName.MatchString(s.Name):
			return fmt.Errorf("step %d: name %q is not lower_snake", i, s.Name)
		case seen[s.Name]:
			return fmt.Errorf("step %s stands twice in the list", s.Name)
		case s.Doc == "" || s.Version == "":
			return fmt.Errorf("step %s: doc and version must be set", s.Name)
		case s.Run == nil:
			return fmt.Errorf("step %s: nothing to run", s.Name)
		}
		for _, r := range s.Requires {
			if !seen[r] {
				return fmt.Errorf("step %s requires %s, which does not stand before it", s.Name, r)
			}
		}
		if e := s.Enough; e != nil {
			if e.N < 1 || e.Spare == nil || !slices.ContainsFunc(steps[i+1:], func(l Step[In, Out]) bool { return l.Name == e.After }) {
				return fmt.Errorf("step %s: enough is %d after %s, which must be a later step, with something to do with the rest", s.Name, e.N, e.After)
			}
		}
		seen[s.Name] = true
	}
	return nil
}

// Env is what all passes of a run share.
type Env struct {
	Seed  uint64
	Model *llm.Client
	Log   *slog.Logger
}

// Outcome is what became of one record in a chain of steps.
type Outcome[T any] struct {
	Outs    []T
	Dropped []schemas.Dropped
	// Ended says of each of Dropped whether it set a record aside; else a part
	// of one, and the record went on.
	Ended   []bool
	Tallies []Tally // one a step, in the order of the list
	Pending int     // answers missing
}

// Tally counts the records of one step.
type Tally struct {
	In, Out int
	Waiting int // records that an answer is missing for, in whole or in part
}

// Chain takes one record through steps, depth first: what a step returns goes
// on at once, so that a record set aside or waiting holds up nobody else, and
// everything that can be asked is asked. Id names a record for its pass.
func Chain[T any](ctx context.Context, env Env, steps []Step[T, T], id func(T) string, in T) (Outcome[T], error) {
	o := Outcome[T]{Tallies: make([]Tally, len(steps))}
	var walk func(i int, rec T) error
	walk = func(i int, rec T) error {
		if i == len(steps) {
			o.Outs = append(o.Outs, rec)
			return nil
		}
		pass := NewPass(env.Seed, steps[i].Name, id(rec), env.Model, env.Log)
		outs, dropped, pending, ended, err := apply(ctx, steps[i], pass, rec)
		if err != nil {
			return err
		}
		for k, d := range dropped {
			o.Dropped = append(o.Dropped, d)
			o.Ended = append(o.Ended, ended && k == len(dropped)-1)
		}
		t := &o.Tallies[i]
		t.In++
		if pending > 0 {
			t.Waiting++
		}
		o.Pending += pending
		enough, through, got := steps[i].Enough, 0, 0
		if enough != nil {
			through = slices.IndexFunc(steps, func(s Step[T, T]) bool { return s.Name == enough.After })
		}
		for k, out := range outs {
			if enough != nil && got >= enough.N {
				n := len(pass.dropped)
				for _, rest := range outs[k:] {
					enough.Spare(pass, rest)
				}
				for _, d := range pass.dropped[n:] {
					o.Dropped = append(o.Dropped, d)
					o.Ended = append(o.Ended, false)
				}
				break
			}
			t.Out++
			before, waited := 0, o.Pending
			if enough != nil {
				before = o.Tallies[through].Out
			}
			if err := walk(i+1, out); err != nil {
				return err
			}
			if enough != nil && (o.Tallies[through].Out > before || o.Pending > waited) {
				got++
			}
		}
		return nil
	}
	err := walk(0, in)
	return o, err
}
